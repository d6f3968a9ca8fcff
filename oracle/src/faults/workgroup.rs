//! Planted faults of the stages with workgroups, compute, task and mesh: a device that gets one rule of section M (docs/rules.md) wrong.

use tangle_program::case::interface::{MAP_WORDS, MAP_WRITTEN};
use tangle_program::case::{DerivativeGroup, EntryPoint, Stage};
use tangle_program::tree::Builtin;

use crate::mask::highest;
use crate::rules::Rules;

/// Where a fault takes hold.
pub(super) enum Hook {
    /// The record of an invocation.
    Record(fn(&mut [u32])),
    /// The records of a workgroup.
    Workgroup(fn(&mut [u32])),
    /// The lane that an invocation reads as its own, where the module says how invocations form quads.
    QuadLane(DerivativeGroup, fn(u32) -> u32),
    /// What was found in the payload: so many words of each invocation of a workgroup, one workgroup after the other.
    Payload(fn(&EntryPoint, &mut [u32])),
    /// A built-in variable of the program, of its lane and its value.
    Builtin(fn(Builtin, u128, u128) -> u128),
}

// Words of a record.
const LANE: usize = 0;
const SIZE: usize = 1;
const ID: usize = 2;
const COUNT: usize = 3;
const TOKEN: usize = 4;

/// What was found in the payload, workgroup by workgroup.
fn of_groups<'a>(entry_point: &EntryPoint, found: &'a mut [u32]) -> std::slice::ChunksMut<'a, u32> {
    found.chunks_mut(entry_point.group_size() as usize * entry_point.payload_copies().max(1))
}

/// Changes the ballot at entry in a record, by the lane.
fn ballot(record: &mut [u32], change: fn(u128, u32) -> u128) {
    let (lane, words) = (record[LANE], &mut record[5..9]);
    let mask = words.iter().rev().fold(0, |mask, &word| mask << 32 | u128::from(word));
    let changed = change(mask, lane);
    (0..).zip(words).for_each(|(c, word)| *word = (changed >> (32 * c)) as u32);
}

faults! {
    /// A planted fault of the lane map of workgroups.
    WorkgroupFault:
    // What is executed.
    /// The last invocation of each workgroup is not executed.
    LastNotExecuted => Hook::Workgroup(|records| {
        let last = records.len() - MAP_WORDS;
        records[last..].fill(0);
    }),
    // Lanes.
    /// All lanes have the number 0.
    LaneIsZero => Hook::Record(|record| record[LANE] = 0),
    /// The numbers of lanes begin with 1.
    LaneFromOne => Hook::Record(|record| record[LANE] += 1),
    /// The lane is the local index.
    LaneIsLocalIndex => Hook::Workgroup(|records| {
        (0..).zip(records.chunks_exact_mut(MAP_WORDS)).for_each(|(index, record)| record[LANE] = index);
    }),
    /// The lanes of a subgroup are numbered from the end, but not in ballots.
    LaneReversed => Hook::Record(|record| record[LANE] = record[SIZE] - 1 - record[LANE]),
    /// The quads of `DerivativeGroupQuadsKHR` have their columns as rows.
    QuadTransposed => Hook::QuadLane(DerivativeGroup::Quads, |lane| lane & !3 | lane >> 1 & 1 | lane << 1 & 2),
    /// The right halves of two quads of `DerivativeGroupQuadsKHR` are exchanged.
    QuadHalvesExchanged => Hook::QuadLane(DerivativeGroup::Quads, |lane| if lane & 1 == 1 { lane ^ 4 } else { lane }),
    /// With `DerivativeGroupLinearKHR` the second half of each quad is exchanged with the first half of the next.
    QuadRowsInterleaved => Hook::QuadLane(DerivativeGroup::Linear, |lane| lane & !6 | lane >> 1 & 2 | lane << 1 & 4),
    // Sizes.
    /// The subgroup is said to be twice as large.
    SizeTwice => Hook::Record(|record| record[SIZE] *= 2),
    /// The size is the number of lanes that are there.
    SizeIsCount => Hook::Record(|record| record[SIZE] = record[5..9].iter().map(|word| word.count_ones()).sum()),
    /// The size is 0.
    SizeIsZero => Hook::Record(|record| record[SIZE] = 0),
    // Ballots and broadcasts.
    /// The ballot at entry is empty.
    BallotEmpty => Hook::Record(|record| ballot(record, |_, _| 0)),
    /// The ballot at entry has the lane itself alone.
    BallotOfSelf => Hook::Record(|record| ballot(record, |_, lane| 1 << lane)),
    /// The ballot at entry lacks the highest lane.
    BallotWithoutHighest => Hook::Record(|record| ballot(record, |mask, _| mask & !highest(mask))),
    /// The ballot at entry has one lane too many.
    BallotTooWide => Hook::Record(|record| ballot(record, |mask, _| mask << 1 | 1)),
    /// A broadcast from the first lane gives the lane's own value.
    TokenOfSelf => Hook::Workgroup(|records| {
        (0..).zip(records.chunks_exact_mut(MAP_WORDS)).for_each(|(index, record)| record[TOKEN] = index);
    }),
    /// A broadcast from the first lane gives the value of the next subgroup.
    TokenOfNext => Hook::Record(|record| record[TOKEN] += record[SIZE]),
    // Names of subgroups.
    /// `gl_SubgroupID` is 0.
    SubgroupIdIsZero => Hook::Record(|record| record[ID] = 0),
    /// `gl_SubgroupID` begins with 1.
    SubgroupIdFromOne => Hook::Record(|record| record[ID] += 1),
    /// `gl_SubgroupID` is the lane.
    SubgroupIdIsLane => Hook::Record(|record| record[ID] = record[LANE]),
    /// `gl_NumSubgroups` is 1.
    NumSubgroupsIsOne => Hook::Record(|record| record[COUNT] = 1),
    /// `gl_NumSubgroups` is the subgroup's number and one.
    NumSubgroupsGrows => Hook::Record(|record| record[COUNT] = record[ID] + 1),
    // The task payload.
    /// The first word of the payload is lost.
    PayloadFirstWordLost => Hook::Payload(|entry_point, found| of_groups(entry_point, found).for_each(|group| group[0] = 0)),
    /// The last word of the payload is lost.
    PayloadLastWordLost => Hook::Payload(|entry_point, found| {
        of_groups(entry_point, found).for_each(|group| group[group.len() - 1] = 0);
    }),
    /// The last word of the payload is that of the invocation before.
    PayloadLastWordOfOther => Hook::Payload(|entry_point, found| of_groups(entry_point, found).for_each(|group| {
        let last = group.len() - 1;
        group[last] = group[last].wrapping_add(1);
    })),
    /// The payload has only what the first eight invocations wrote.
    PayloadOfFirstSubgroup => Hook::Payload(|entry_point, found| {
        let copies = entry_point.payload_copies();
        of_groups(entry_point, found).filter_map(|group| group.get_mut(8 * copies..)).for_each(|rest| rest.fill(0));
    }),
    /// Every mesh workgroup finds the payload of the first task.
    PayloadOfFirstTask => Hook::Payload(|entry_point, found| {
        let count = entry_point.groups();
        let is_mesh = entry_point.stage == Stage::Mesh;
        let first: Vec<u32> = of_groups(entry_point, found).next().map_or_else(Vec::new, |group| group.to_vec());
        for (k, group) in (0..).zip(of_groups(entry_point, found)) {
            // What mesh workgroups find is added up where it belongs.
            let times = if is_mesh { 1 } else if k == 0 { count } else { 0 };
            group.iter_mut().zip(&first).for_each(|(found, word)| *found = word.wrapping_mul(times));
        }
    }),
    /// The last of the mesh workgroups of a task is not executed.
    MeshLost => Hook::Payload(|entry_point, found| {
        found.chunks_mut(entry_point.payload_copies()).for_each(|words| words[words.len() - 1] = 0);
    }),
    /// The mesh workgroups of a task are executed twice.
    MeshTwice => Hook::Payload(|_, found| found.iter_mut().for_each(|word| *word = word.wrapping_mul(2))),
    // Who an invocation is, in the program.
    /// The local index is the lane.
    LocalIndexIsLane => Hook::Builtin(|builtin, lane, value| if builtin == Builtin::LocalIndex { lane } else { value }),
    /// The first component of the local id is the lane.
    LocalIdIsLane => Hook::Builtin(|builtin, lane, value| if builtin == Builtin::LocalX { lane } else { value }),
    /// The second component of the local id is 0.
    LocalIdHasOneRow => Hook::Builtin(|builtin, _, value| if builtin == Builtin::LocalY { 0 } else { value }),
}

impl WorkgroupFault {
    /// True if a shader of this stage can show it.
    pub fn shows_in(self, stage: Stage) -> bool {
        match self.hook() {
            Hook::QuadLane(..) => stage == Stage::Compute,
            // Found by the mesh workgroups that a task emits.
            Hook::Payload(_) if matches!(self, WorkgroupFault::MeshLost | WorkgroupFault::MeshTwice) => {
                stage == Stage::Task
            }
            Hook::Payload(_) => stage != Stage::Compute,
            Hook::Record(_) | Hook::Workgroup(_) | Hook::Builtin(_) => true,
        }
    }
}

/// A device with one fault of the lane map of workgroups.
#[derive(Clone, Copy, Debug)]
pub struct PlantedWorkgroup(pub WorkgroupFault);

impl Rules for PlantedWorkgroup {
    fn map_written(&mut self, entry_point: &EntryPoint, words: &mut [u32]) {
        let (words, found) = words.split_at_mut(entry_point.invocations() as usize * MAP_WORDS);
        let is_written = |record: &&mut [u32]| record.last() == Some(&MAP_WRITTEN);
        let records = |words| <[u32]>::chunks_exact_mut(words, MAP_WORDS).filter(is_written);
        match self.0.hook() {
            Hook::Record(change) => records(words).for_each(change),
            Hook::Workgroup(change) => {
                words.chunks_exact_mut(entry_point.group_size() as usize * MAP_WORDS).for_each(change);
            }
            Hook::QuadLane(group, lane) if entry_point.workgroups().derivative_group == Some(group) => {
                records(words).for_each(|record| record[LANE] = lane(record[LANE]));
            }
            Hook::Payload(change) if entry_point.payload_copies() > 0 => change(entry_point, found),
            Hook::Payload(_) | Hook::QuadLane(..) | Hook::Builtin(_) => {}
        }
    }

    fn builtin(&mut self, builtin: Builtin, lane: usize, value: u128) -> u128 {
        match self.0.hook() {
            Hook::Builtin(change) => change(builtin, lane as u128, value),
            _ => value,
        }
    }
}
