//! What a program reads: inputs with patterns that make lanes agree, disagree and meet boundaries.

use tangle_program::case::{Data, Launch, SpecConstant};

use crate::draw::Draw;

/// Values at which arithmetic changes.
pub(crate) const BOUNDARIES: [u32; 8] = [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF];

#[derive(Clone, Copy)]
enum Pattern {
    Small,
    Local,
    Reversed,
    Scaled,
    Runs,
    Equal,
    Outlier,
    Bit,
    SparseBits,
    Flag,
    Boundary,
    Random,
}

const PATTERNS: [(u32, Pattern); 12] = [
    (22, Pattern::Small),
    (8, Pattern::Local),
    (6, Pattern::Reversed),
    (7, Pattern::Scaled),
    (9, Pattern::Runs),
    (4, Pattern::Equal),
    (6, Pattern::Outlier),
    (6, Pattern::Bit),
    (6, Pattern::SparseBits),
    (5, Pattern::Flag),
    (6, Pattern::Boundary),
    (15, Pattern::Random),
];

/// A cheap stream of numbers, so that data take four bytes of the source and not thousands (SplitMix64).
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u32
    }
}

/// The data of a case.
pub(crate) fn data(draw: &mut Draw<'_>, launch: &Launch) -> Data {
    let invocations = launch.invocations() * launch.workgroups();
    // The first input is small numbers: there is always something that makes some lanes meet.
    let first = column(draw, Pattern::Small, invocations);
    let others = draw.range(1, 3);
    let mut inputs = vec![first];
    for _ in 0..others {
        let pattern = draw.weighted(&PATTERNS);
        inputs.push(column(draw, pattern, invocations));
    }
    let (uniforms, push) = (draw.range(2, 4), draw.range(1, 3));
    let constants = draw.weighted(&[(6, 0), (2, 1), (2, 3)]);
    Data {
        inputs,
        uniforms: (0..uniforms).map(|k| constant(draw, k)).collect(),
        push: (0..push).map(|k| constant(draw, k)).collect(),
        constants: (0..constants).map(|k| specialised(draw, k)).collect(),
    }
}

fn column(draw: &mut Draw<'_>, pattern: Pattern, count: u32) -> Vec<u32> {
    let mut stream = Stream(u64::from(draw.word()));
    let (a, b) = (stream.next(), stream.next());
    let word = |i: u32| {
        let noise = stream.next();
        match pattern {
            Pattern::Small => noise % [4, 5, 8, 16][a as usize % 4],
            Pattern::Local => i,
            Pattern::Reversed => count - 1 - i,
            Pattern::Scaled => i.wrapping_mul(1 + a % 9).wrapping_add(b % 7),
            Pattern::Runs => i / (1 + a % 7) + b % 3,
            Pattern::Equal => a % 16,
            Pattern::Outlier => {
                if i == b % count {
                    a
                } else {
                    a % 7
                }
            }
            Pattern::Bit => 1 << (i.wrapping_add(a) % 32),
            Pattern::SparseBits => noise & noise.rotate_left(7) & noise.rotate_left(13),
            Pattern::Flag => noise & 1,
            Pattern::Boundary => BOUNDARIES[noise as usize % BOUNDARIES.len()],
            Pattern::Random => noise,
        }
    };
    (0..count).map(word).collect()
}

/// A specialisation constant with two values.
fn specialised(draw: &mut Draw<'_>, k: u32) -> SpecConstant {
    let value = constant(draw, k);
    let default = match constant(draw, k) {
        same if same == value => same ^ 1,
        other => other,
    };
    SpecConstant { default, value }
}

/// A word of a constant buffer. The first is small, for bounds.
fn constant(draw: &mut Draw<'_>, k: u32) -> u32 {
    match draw.below(8) {
        _ if k == 0 => draw.range(1, 5),
        0..=3 => draw.below(8),
        4 => draw.below(64),
        5 | 6 => draw.pick(&BOUNDARIES),
        _ => draw.word(),
    }
}
