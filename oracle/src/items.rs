//! The lane map of a stage before rasterisation (docs/rules.md, section I).
//!
//! An invocation has a place of its own for each execution of its vertex or primitive ([`Items::EXECUTIONS`]), by an atomic count. Nothing says which of
//! them share a subgroup: the token and the ballot at entry show it.

use std::collections::BTreeMap;

use tangle_program::case::interface::{ITEM_MAP_WORDS, MAP_WRITTEN};
use tangle_program::case::{Case, GroupId, InvocationId, Items, Tier};
use tangle_program::subgroup::lanes;

use crate::layout::{Layout, MapFault, MapRule, SubgroupPromise, layout};

/// A record, as [`ITEM_MAP_WORDS`] has it.
#[derive(Clone, Copy, Debug)]
struct Record {
    lane: u32,
    size: u32,
    token: u32,
    ballot: u128,
}

impl Record {
    fn read(words: &[u32]) -> Option<Record> {
        let [lane, size, token, b0, b1, b2, b3, mark] = *words else { return None };
        let ballot = [b3, b2, b1, b0].iter().fold(0, |mask, &word| mask << 32 | u128::from(word));
        (mark == MAP_WRITTEN).then_some(Record { lane, size, token, ballot })
    }

    fn write(&self) -> [u32; ITEM_MAP_WORDS] {
        let b = |c: u32| (self.ballot >> (32 * c)) as u32;
        [self.lane, self.size, self.token, b(0), b(1), b(2), b(3), MAP_WRITTEN]
    }
}

/// Reads and checks the records of a draw. There is neither layout nor fault where nothing can be said: if there were more executions of an
/// invocation than have a place, if subgroups may be parts of one, or if they have several sizes and may.
pub(crate) fn check(case: &Case, words: &[u32], promise: SubgroupPromise) -> (Option<Layout>, Vec<MapFault>) {
    match read(case, words, promise) {
        Ok(layout) => (layout, Vec::new()),
        Err((rule, seen)) => (None, vec![MapFault { rule, group: GroupId(0), seen }]),
    }
}

/// A broken rule, and what was seen.
type Broken = (MapRule, String);

fn read(case: &Case, words: &[u32], promise: SubgroupPromise) -> Result<Option<Layout>, Broken> {
    let entry_point = &case.entry_point;
    let name = |index: u32| entry_point.describe(InvocationId { group: GroupId(0), index });
    let identities = entry_point.items().map_or(0, Items::identities);
    let counts_at = entry_point.invocations() as usize * ITEM_MAP_WORDS;
    let Some(counts) = words.get(counts_at..counts_at + identities as usize) else {
        return Err((MapRule::Executions, "the map buffer is too short".into()));
    };
    if let Some(lost) = counts.iter().position(|&count| count == 0) {
        return Err((MapRule::Executions, format!("{} was not executed", name(lost as u32))));
    }
    if counts.iter().any(|&count| count > Items::EXECUTIONS) {
        return Ok(None);
    }
    let mut groups = BTreeMap::<u32, Vec<(u32, Record)>>::new();
    for (index, words) in (0..).zip(words[..counts_at].chunks_exact(ITEM_MAP_WORDS)) {
        let is_executed = index / identities < counts[(index % identities) as usize];
        match Record::read(words) {
            Some(record) if is_executed => groups.entry(record.token).or_default().push((index, record)),
            None if is_executed => return Err((MapRule::Executions, format!("{} wrote no record", name(index)))),
            _ if words.iter().any(|&word| word != 0) => {
                return Err((MapRule::Executions, format!("{} was not executed, and wrote a record", name(index))));
            }
            _ => {}
        }
    }
    let invocations = groups.values().flatten().map(|&(index, record)| (index, record.token, record.size));
    let size = promise.size_of_draw(entry_point, invocations).map_err(|(index, own)| {
        (MapRule::Size, format!("{} has gl_SubgroupSize {own} (device {promise:?})", name(index)))
    })?;
    let Some(size) = size else { return Ok(None) };
    let mut members = Vec::new();
    for (&token, group) in &groups {
        let mut present = 0u128;
        for &(index, record) in group {
            let Record { lane, size: own, .. } = record;
            if lane >= own || present >> lane & 1 == 1 {
                let seen = format!("{} has gl_SubgroupInvocationID {lane} in a subgroup of size {own}", name(index));
                return Err((MapRule::LaneIds, seen));
            }
            present |= 1 << lane;
        }
        if let Some((index, record)) = group.iter().find(|(_, record)| record.ballot != present) {
            let seen = format!("{} got {:#x}; the lanes of its subgroup are {present:#x}", name(*index), record.ballot);
            let rule = if record.ballot & present == present { MapRule::NoHelpers } else { MapRule::EntryBallot };
            return Err((rule, seen));
        }
        // The token is the value of the lowest lane (OpGroupNonUniformBroadcastFirst).
        let lowest = group.iter().min_by_key(|(_, record)| record.lane);
        if lowest.is_none_or(|&(index, _)| index != token) {
            return Err((
                MapRule::Token,
                format!("token {token} is not the number of the lowest lane of the subgroup"),
            ));
        }
        members.push((present, group.iter().map(|&(index, record)| (record.lane, index)).collect::<Vec<_>>()));
    }
    let is_divided = |&(present, _): &(u128, _)| members.iter().any(|&(other, _)| present & other == 0);
    if case.tier == Tier::Plain && members.iter().any(is_divided) {
        return Ok(None);
    }
    let members: Vec<_> = members.into_iter().map(|(_, lanes)| lanes).collect();
    Ok(Some(layout(GroupId(0), size as usize, &members, |_| (0, 0))))
}

/// These invocations as they follow each other, in subgroups of `size`; a last subgroup has fewer.
pub(crate) fn packed(executed: &[u32], size: usize) -> Layout {
    let numbered = |indices: &[u32]| (0..).zip(indices.iter().copied()).collect();
    let members: Vec<Vec<(u32, u32)>> = executed.chunks(size).map(numbered).collect();
    layout(GroupId(0), size, &members, |_| (0, 0))
}

/// The map buffer that a correct device with this map writes.
pub(crate) fn words(case: &Case, layout: &Layout) -> Vec<u32> {
    let identities = case.entry_point.items().map_or(1, Items::identities) as usize;
    let counts_at = case.entry_point.invocations() as usize * ITEM_MAP_WORDS;
    let mut words = vec![0; case.entry_point.map_len()];
    for subgroup in &layout.subgroups {
        let token = layout.index[subgroup.first + subgroup.live.trailing_zeros() as usize];
        for lane in lanes(subgroup.live) {
            let index = layout.index[subgroup.first + lane] as usize;
            let record = Record { lane: lane as u32, size: subgroup.size as u32, token, ballot: subgroup.live };
            words[index * ITEM_MAP_WORDS..][..ITEM_MAP_WORDS].copy_from_slice(&record.write());
            words[counts_at + index % identities] += 1;
        }
    }
    words
}
