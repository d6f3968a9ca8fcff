//! Launch and data.

use tangle_program::case::{Case, DerivativeGroup, Launch, SpecConstant, SpirvVersion, SubgroupSize, Tier};
use tangle_program::variant::{Freedom, PASSES, Printing, Variant};

use crate::dice::Dice;

/// Workgroups as they are asked for, and as nobody asks for them.
const WORKGROUPS: [[u32; 3]; 14] = [
    [64, 1, 1],
    [32, 1, 1],
    [16, 1, 1],
    [8, 1, 1],
    [128, 1, 1],
    [1, 1, 1],
    [3, 1, 1],
    [13, 1, 1],
    [33, 1, 1],
    [63, 1, 1],
    [8, 8, 1],
    [4, 4, 4],
    [1, 32, 1],
    [5, 3, 2],
];

/// Changes one thing about the launch, the tier or the variant.
pub fn launch(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let entry_point = &mut case.entry_point;
    let Launch::Workgroups(workgroups) = &mut entry_point.launch else { return None };
    match dice.below(10) {
        0 | 1 => workgroups.size = dice.one(WORKGROUPS),
        2 => workgroups.size.rotate_left(1),
        3 => {
            let axis = dice.below(3);
            workgroups.size[axis] = (workgroups.size[axis] + dice.one([1, 3, 7]) - 2).max(1);
        }
        4 => {
            let axis = dice.below(3);
            workgroups.count = [1; 3];
            workgroups.count[axis] = 1 + dice.below(3) as u32;
        }
        5 => entry_point.subgroup_size = another_size(entry_point.subgroup_size, dice),
        6 => entry_point.full_subgroups = !entry_point.full_subgroups,
        7 => entry_point.spirv = dice.one(SpirvVersion::ALL),
        8 => case.variant = variant(dice),
        _ => case.tier = dice.one(Tier::ALL),
    }
    fit(case);
    Some(())
}

fn variant(dice: &mut Dice) -> Variant {
    match dice.below(7) {
        0 => Variant::Unoptimised,
        1 => Variant::DriverUnoptimised,
        2 => Variant::Performance,
        3 => Variant::Size,
        4 => {
            let freedoms = Freedom::ALL.iter().copied().filter(|_| dice.percent(50)).collect();
            Variant::Printed(Printing::new(dice.below(1 << 16) as u32, freedoms))
        }
        _ => Variant::of_passes((0..=dice.below(4)).map(|_| dice.one(PASSES)).collect::<Vec<_>>()),
    }
}

fn another_size(size: SubgroupSize, dice: &mut Dice) -> SubgroupSize {
    match size {
        SubgroupSize::Required(_) if dice.percent(30) => SubgroupSize::Default,
        _ => SubgroupSize::Required(1 << (2 + dice.below(5))),
    }
}

/// Gives every invocation an input again: what is there is repeated.
pub fn fit(case: &mut Case) {
    if let Launch::Workgroups(workgroups) = &mut case.entry_point.launch {
        let sizes = [Some(workgroups.size), workgroups.default_size];
        let divides = |group: &DerivativeGroup| sizes.into_iter().flatten().all(|size| group.divides(size));
        workgroups.derivative_group = workgroups.derivative_group.filter(divides);
    }
    let invocations = case.entry_point.invocations() as usize;
    for input in &mut case.data.inputs {
        *input = resized(input, invocations);
    }
}

/// Words repeated up to a length.
pub fn resized(words: &[u32], len: usize) -> Vec<u32> {
    let repeated = words.iter().copied().cycle().take(len);
    if words.is_empty() { vec![0; len] } else { repeated.collect() }
}

/// Changes some words that the program reads.
pub fn data(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let invocations = case.entry_point.group_size();
    let data = &mut case.data;
    if !data.constants.is_empty() && dice.percent(10) {
        let which = dice.below(data.constants.len());
        let SpecConstant { default, value } = &mut data.constants[which];
        std::mem::swap(default, value);
        return Some(());
    }
    let mut sources: Vec<&mut [u32]> = data.inputs.iter_mut().map(Vec::as_mut_slice).collect();
    sources.push(&mut data.uniforms);
    sources.push(&mut data.push);
    sources.push(&mut data.resources);
    sources.extend(data.flats.iter_mut().map(Vec::as_mut_slice));
    sources.retain(|words| !words.is_empty());
    let chosen = dice.below(sources.len());
    let words = sources.into_iter().nth(chosen)?;
    let start = dice.below(words.len());
    let len = 1 + if dice.percent(50) { 0 } else { dice.below(words.len() - start) };
    let (bit, word) = (dice.below(32), dice.one([0, 1, 2, 3, 7, 31, u32::MAX, 0x8000_0000]));
    let form = dice.below(5);
    for (i, at) in (0..).zip(&mut words[start..start + len]) {
        *at = match form {
            0 => *at ^ 1 << bit,
            1 => word,
            2 => at.wrapping_add(1),
            3 => i % invocations.max(1),
            _ => u32::from(i & 1 << (bit % 5) != 0),
        };
    }
    Some(())
}
