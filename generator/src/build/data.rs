//! What a program reads: inputs with patterns that make lanes agree, disagree and meet boundaries.

use tangle_program::case::{Data, EntryPoint, SpecConstant};
use tangle_program::interface::MAX_FLATS;

use crate::config::Config;
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

/// A cheap stream of numbers, so that what is made of many of them takes four bytes of the source and not thousands (SplitMix64).
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u32) -> Stream {
        Stream(seed.into())
    }

    /// A number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u32
    }
}

/// The data of a case. Without push constants the words of these are behind those of the uniform buffer.
pub(crate) fn data(draw: &mut Draw<'_>, entry_point: &EntryPoint, config: &Config) -> Data {
    let invocations = entry_point.invocations();
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
    let mut uniforms: Vec<u32> = (0..uniforms).map(|k| constant(draw, k)).collect();
    let mut push: Vec<u32> = (0..push).map(|k| constant(draw, k)).collect();
    if !config.push_constants {
        uniforms.append(&mut push);
    }
    Data {
        inputs,
        uniforms,
        push,
        resources: if config.resources.is_empty() { Vec::new() } else { resource_words(draw) },
        constants: (0..constants).map(|k| specialised(draw, k)).collect(),
        flats: flats(draw, entry_point),
    }
}

/// Words of triangles, in two of three draws.
fn flats(draw: &mut Draw<'_>, entry_point: &EntryPoint) -> Vec<Vec<u32>> {
    let Some(triangles) = entry_point.draw().map(|draw| draw.triangles.len() as u32) else { return Vec::new() };
    let count = draw.weighted(&[(3, 0), (4, 1), (2, 2), (1, MAX_FLATS)]);
    (0..count)
        .map(|_| {
            let pattern = draw.weighted(&PATTERNS);
            column(draw, pattern, triangles)
        })
        .collect()
}

fn column(draw: &mut Draw<'_>, pattern: Pattern, count: u32) -> Vec<u32> {
    let mut stream = Stream::new(draw.word());
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

/// As many as a power of two, so that a mask makes an index; no two are equal, so that each shows which resource it is from.
fn resource_words(draw: &mut Draw<'_>) -> Vec<u32> {
    let count = draw.weighted(&[(4, 4), (1, 2), (1, 8)]);
    let (first, step) = (draw.word(), draw.pick(&[1, 3, 0x9E37_79B9, 0x8000_0001]));
    (0..count).map(|k: u32| first.wrapping_add(k.wrapping_mul(step))).collect()
}

/// How far other data of a program may be from those that it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// Each invocation may get what another one had: nothing is read that was not read before.
    Order,
    /// Values between the least and the greatest of an input, so that what was known of its range still holds.
    Range,
    /// Whatever an input may be, and other words of the constant buffers.
    Anything,
}

/// Other data for a program that was made for these, none farther away than that. Specialisation constants stay: they belong to the
/// pipeline.
pub(crate) fn other(draw: &mut Draw<'_>, of: &Data, farthest: Distance) -> Data {
    let inputs = (0..).zip(&of.inputs).map(|(k, words)| other_column(draw, k, words, farthest)).collect();
    // What is added to all leaves them different.
    let added = if farthest == Distance::Anything && draw.percent(50) { draw.word() } else { 0 };
    let resources = of.resources.iter().map(|word| word.wrapping_add(added)).collect();
    let mut words = |words: &[u32]| -> Vec<u32> {
        let word = |(k, &word)| match farthest {
            Distance::Anything if draw.percent(50) => constant(draw, k),
            _ => word,
        };
        (0..).zip(words).map(word).collect()
    };
    let (uniforms, push) = (words(&of.uniforms), words(&of.push));
    // Behind the first input, which is small numbers.
    let flats = of.flats.iter().map(|words| other_column(draw, 1, words, farthest)).collect();
    Data { inputs, uniforms, push, resources, constants: of.constants.clone(), flats }
}

fn other_column(draw: &mut Draw<'_>, k: u32, words: &[u32], farthest: Distance) -> Vec<u32> {
    let count = words.len() as u32;
    let (Some(&least), Some(&greatest)) = (words.iter().min(), words.iter().max()) else { return Vec::new() };
    let distance = draw.weighted(&[(2, Distance::Order), (3, Distance::Range), (5, Distance::Anything)]);
    // The first input is small numbers.
    let pattern = if k == 0 { Pattern::Small } else { draw.weighted(&PATTERNS) };
    match distance.min(farthest) {
        Distance::Order => {
            // A step that has no divisor in common with the count visits every place once.
            let step = (0..count).map(|_| 1 + draw.below(count)).find(|&step| gcd(step, count) == 1).unwrap_or(1);
            let from = draw.below(count);
            let place = |i: u32| (u64::from(i) * u64::from(step) + u64::from(from)) % u64::from(count);
            (0..count).map(|i| words[place(i) as usize]).collect()
        }
        Distance::Range => {
            let width = u64::from(greatest - least) + 1;
            let fit = |word: u32| least + (u64::from(word) % width) as u32;
            column(draw, pattern, count).into_iter().map(fit).collect()
        }
        Distance::Anything => column(draw, pattern, count),
    }
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
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
