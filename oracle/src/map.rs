//! The lane map: which invocation sits in which subgroup and lane. It is observed, never assumed.
//!
//! Every generated shader starts with a prologue that records, before any control flow, the subgroup built-ins, a token that names the
//! real subgroup, and a ballot (semantics.md §2.3). [`LaneMap::check`] reads these records, checks them against the rules of the
//! specification, and gives the layout on which the oracle then runs. A rule that only concerns `gl_SubgroupID` or
//! `gl_NumSubgroups` does not stop the run: subgroups are named by their token.

use serde::{Deserialize, Serialize};
use tangle_program::case::interface::{MAP_WORDS, MAP_WRITTEN};
use tangle_program::case::{Case, SpirvVersion, SubgroupSize};
use tangle_program::subgroup::{first_lanes, lanes};

use crate::mask::Mask;

/// What a device promises about subgroup sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizePromise {
    /// `VkPhysicalDeviceSubgroupProperties::subgroupSize`
    pub default: u32,
    /// `minSubgroupSize`; the default size without subgroup size control.
    pub min: u32,
    /// `maxSubgroupSize`
    pub max: u32,
}

/// The rules a lane map must keep, each with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapRule {
    /// Every invocation runs the prologue.
    Written,
    /// The token, a `subgroupBroadcastFirst`, names an invocation of the same subgroup (semantics.md §1.4).
    Token,
    /// `gl_SubgroupInvocationID < gl_SubgroupSize`, different for every lane of a subgroup (Vulkan, SubgroupLocalInvocationId).
    LaneIds,
    /// `gl_SubgroupSize` is a power of two up to 128, one for all subgroups of the dispatch, and the one the pipeline asks for
    /// (Vulkan, SubgroupSize; semantics.md §2.1 item 3).
    Size,
    /// At entry control flow is uniform: the ballot is exactly the set of the subgroup's lanes (SPIR-V 1.6 §2.2.5).
    EntryBallot,
    /// Full subgroups where they are promised (Vulkan, full subgroups; semantics.md §2.1 item 4).
    FullSubgroups,
    /// `gl_SubgroupID < gl_NumSubgroups` (Vulkan, SubgroupId).
    SubgroupIdRange,
    /// `gl_NumSubgroups` is one number for the workgroup, and at least the number of subgroups there are.
    NumSubgroups,
    /// `gl_SubgroupID` is one number in a subgroup and differs between subgroups of a workgroup.
    SubgroupIds,
}

impl MapRule {
    /// What the rule says, in one line.
    pub const fn text(self) -> &'static str {
        match self {
            MapRule::Written => "every invocation executes the shader (its lane map record is missing)",
            MapRule::Token => "subgroupBroadcastFirst at entry gives the value of a lane of the same subgroup",
            MapRule::LaneIds => {
                "gl_SubgroupInvocationID is below gl_SubgroupSize and differs between the lanes of a subgroup"
            }
            MapRule::Size => "gl_SubgroupSize is the size that the pipeline asked for, one for the whole dispatch",
            MapRule::EntryBallot => "subgroupBallot(true) at entry is the set of the subgroup's lanes",
            MapRule::FullSubgroups => "subgroups are full (SPIR-V 1.6 or the flag, and x a multiple of the size)",
            MapRule::SubgroupIdRange => "gl_SubgroupID is below gl_NumSubgroups",
            MapRule::NumSubgroups => "gl_NumSubgroups is one number, not smaller than the number of subgroups",
            MapRule::SubgroupIds => "gl_SubgroupID is one number in each subgroup and differs between subgroups",
        }
    }

    /// True if values cannot be judged on a map that breaks the rule.
    const fn is_fatal(self) -> bool {
        matches!(self, MapRule::Written | MapRule::Token | MapRule::LaneIds | MapRule::Size | MapRule::EntryBallot)
    }
}

/// A broken rule of the lane map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapFault {
    /// The rule.
    pub rule: MapRule,
    /// Linear index of the workgroup.
    pub workgroup: u32,
    /// What was seen.
    pub seen: String,
}

/// A record of the prologue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub lane: u32,
    pub size: u32,
    pub id: u32,
    pub subgroups: u32,
    pub token: u32,
    pub ballot: u128,
}

impl Record {
    fn read(words: &[u32]) -> Option<Record> {
        let ballot = words[5..9].iter().rev().fold(0, |mask, &word| mask << 32 | u128::from(word));
        (words[9] == MAP_WRITTEN).then_some(Record {
            lane: words[0],
            size: words[1],
            id: words[2],
            subgroups: words[3],
            token: words[4],
            ballot,
        })
    }

    pub fn write(&self) -> [u32; MAP_WORDS] {
        let ballot = |c: u32| (self.ballot >> (32 * c)) as u32;
        let Record { lane, size, id, subgroups, token, .. } = *self;
        [lane, size, id, subgroups, token, ballot(0), ballot(1), ballot(2), ballot(3), MAP_WRITTEN]
    }
}

/// One subgroup of a workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subgroup {
    /// Its lane 0 sits in this slot.
    pub first: usize,
    /// `gl_SubgroupSize`
    pub size: usize,
    /// The lanes that exist.
    pub live: u128,
}

/// The slots of one workgroup: `size` slots for each subgroup, so that lane `k` of a subgroup is slot `first + k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The subgroups in slot order.
    pub subgroups: Vec<Subgroup>,
    /// Number of slots, those of lanes that do not exist included.
    pub slots: usize,
    /// All slots with an invocation.
    pub live: Mask,
    /// The local invocation index in each slot; 0 in slots without one.
    pub local_index: Vec<u32>,
    /// `gl_SubgroupID` and `gl_NumSubgroups` as the device reports them, by slot: adopted, since they are free.
    pub(crate) reported: Vec<(u32, u32)>,
}

impl Layout {
    /// The subgroup that a slot belongs to, and its lane.
    pub fn lane_of(&self, slot: usize) -> (usize, usize) {
        // All subgroups of a dispatch have one size (checked), so the division is exact.
        let size = self.subgroups[0].size;
        (slot / size, slot % size)
    }
}

/// The layouts of all workgroups of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneMap {
    /// By linear workgroup index.
    pub workgroups: Vec<Layout>,
}

impl LaneMap {
    /// Reads and checks the map buffer of a dispatch. Without a usable map the result is `None`; every broken rule is
    /// listed either way, each at most once in a workgroup.
    pub fn check(case: &Case, words: &[u32], promise: SizePromise) -> (Option<LaneMap>, Vec<MapFault>) {
        let invocations = case.launch.invocations() as usize;
        let mut checker = Checker { case, promise, workgroup: 0, faults: Vec::new(), dispatch_size: None };
        let mut workgroups = Vec::new();
        for workgroup in 0..case.launch.workgroups() {
            checker.workgroup = workgroup;
            let first = workgroup as usize * invocations * MAP_WORDS;
            let Some(words) = words.get(first..first + invocations * MAP_WORDS) else {
                checker.fault(MapRule::Written, "the map buffer is too short".into());
                break;
            };
            workgroups.extend(checker.workgroup(words));
        }
        let usable = workgroups.len() == case.launch.workgroups() as usize;
        (usable.then_some(LaneMap { workgroups }), checker.faults)
    }

    /// The usual map: subgroups of `size` consecutive local indices.
    pub fn linear(case: &Case, size: u32) -> LaneMap {
        let n = case.launch.invocations();
        LaneMap::from_fn(case, size, |index| (index / size, index % size), n.div_ceil(size))
    }

    /// A map made from `place(local index) = (subgroup, lane)`, the same in every workgroup.
    pub fn from_fn(case: &Case, size: u32, place: impl Fn(u32) -> (u32, u32), subgroups: u32) -> LaneMap {
        let n = case.launch.invocations();
        let mut members = vec![Vec::new(); subgroups as usize];
        for index in 0..n {
            let (subgroup, lane) = place(index);
            members[subgroup as usize].push((lane, index));
        }
        members.retain(|lanes| !lanes.is_empty());
        let records = |subgroup: usize| (subgroup as u32, members.len() as u32);
        let layout = layout(size as usize, &members, records);
        LaneMap { workgroups: vec![layout; case.launch.workgroups() as usize] }
    }

    /// The map buffer a correct device with this map writes.
    pub fn words(&self, case: &Case) -> Vec<u32> {
        let n = case.launch.invocations() as usize;
        let mut words = vec![0; self.workgroups.len() * n * MAP_WORDS];
        for (w, layout) in self.workgroups.iter().enumerate() {
            for subgroup in &layout.subgroups {
                let token = layout.local_index[subgroup.first + subgroup.live.trailing_zeros() as usize];
                for lane in lanes(subgroup.live) {
                    let slot = subgroup.first + lane;
                    let (id, subgroups) = layout.reported[slot];
                    let size = subgroup.size as u32;
                    let record = Record { lane: lane as u32, size, id, subgroups, token, ballot: subgroup.live };
                    let at = (w * n + layout.local_index[slot] as usize) * MAP_WORDS;
                    words[at..at + MAP_WORDS].copy_from_slice(&record.write());
                }
            }
        }
        words
    }
}

fn layout(size: usize, members: &[Vec<(u32, u32)>], reported: impl Fn(usize) -> (u32, u32)) -> Layout {
    let slots = size * members.len();
    let mut layout = Layout {
        subgroups: Vec::with_capacity(members.len()),
        slots,
        live: Mask::empty(slots),
        local_index: vec![0; slots],
        reported: vec![(0, 0); slots],
    };
    for (s, lanes) in members.iter().enumerate() {
        let first = s * size;
        let live = lanes.iter().fold(0, |live, &(lane, _)| live | 1u128 << lane);
        layout.live.insert_lanes(first, live);
        for &(lane, index) in lanes {
            layout.local_index[first + lane as usize] = index;
            layout.reported[first + lane as usize] = reported(s);
        }
        layout.subgroups.push(Subgroup { first, size, live });
    }
    layout
}

struct Checker<'a> {
    case: &'a Case,
    promise: SizePromise,
    workgroup: u32,
    faults: Vec<MapFault>,
    dispatch_size: Option<u32>,
}

impl Checker<'_> {
    fn fault(&mut self, rule: MapRule, seen: String) {
        let workgroup = self.workgroup;
        if !self.faults.iter().any(|fault| fault.rule == rule && fault.workgroup == workgroup) {
            self.faults.push(MapFault { rule, workgroup, seen });
        }
    }

    fn workgroup(&mut self, words: &[u32]) -> Option<Layout> {
        let before = self.faults.len();
        let mut records = Vec::with_capacity(words.len() / MAP_WORDS);
        for (index, words) in words.chunks_exact(MAP_WORDS).enumerate() {
            match Record::read(words) {
                Some(record) => records.push(record),
                None => self.fault(MapRule::Written, format!("invocation {index} wrote no record")),
            }
        }
        if self.fatal_since(before) {
            return None;
        }
        let groups = self.group_by_token(&records);
        for group in &groups {
            self.subgroup(&records, group);
        }
        if self.fatal_since(before) {
            return None;
        }
        self.subgroup_ids(&records, &groups);
        self.full_subgroups(&records, &groups);
        let size = records[0].size as usize;
        let members: Vec<Vec<(u32, u32)>> =
            groups.iter().map(|group| group.iter().map(|&i| (records[i].lane, i as u32)).collect()).collect();
        let mut layout = layout(size, &members, |_| (0, 0));
        for (slot, reported) in layout.reported.iter_mut().enumerate() {
            let record = &records[layout.local_index[slot] as usize];
            *reported = (record.id, record.subgroups);
        }
        Some(layout)
    }

    fn fatal_since(&self, before: usize) -> bool {
        self.faults[before..].iter().any(|fault| fault.rule.is_fatal())
    }

    /// Local indices by token, in ascending order of token.
    fn group_by_token(&mut self, records: &[Record]) -> Vec<Vec<usize>> {
        let mut by_token = std::collections::BTreeMap::<u32, Vec<usize>>::new();
        for (index, record) in records.iter().enumerate() {
            by_token.entry(record.token).or_default().push(index);
        }
        for (&token, group) in &by_token {
            if !group.contains(&(token as usize)) {
                self.fault(MapRule::Token, format!("invocations {group:?} got the token {token}, none of their own"));
            }
        }
        by_token.into_values().collect()
    }

    fn subgroup(&mut self, records: &[Record], group: &[usize]) {
        let first = records[group[0]];
        self.size(records, group);
        let mut seen = 0u128;
        for &index in group {
            let Record { lane, size, .. } = records[index];
            if lane >= size || lane > 127 || seen >> lane & 1 == 1 {
                self.fault(
                    MapRule::LaneIds,
                    format!("invocation {index} has gl_SubgroupInvocationID {lane} in a subgroup of size {size}"),
                );
                return;
            }
            seen |= 1 << lane;
        }
        for &index in group {
            let ballot = records[index].ballot;
            if ballot != seen {
                self.fault(
                    MapRule::EntryBallot,
                    format!("invocation {index} got {ballot:#x}; the lanes of its subgroup are {seen:#x}"),
                );
            }
        }
        // The token is the value of the lowest lane (OpGroupNonUniformBroadcastFirst).
        let lowest = group.iter().min_by_key(|&&index| records[index].lane);
        if lowest != Some(&(first.token as usize)) {
            self.fault(
                MapRule::Token,
                format!("token {} is not the index of the lowest lane, {lowest:?}", first.token),
            );
        }
    }

    fn size(&mut self, records: &[Record], group: &[usize]) {
        let promise = self.promise;
        let launch = &self.case.launch;
        for &index in group {
            let size = records[index].size;
            let expected = *self.dispatch_size.get_or_insert(size);
            let allowed = match launch.subgroup_size {
                SubgroupSize::Required(required) => size == required,
                SubgroupSize::Default if launch.spirv < SpirvVersion::V1_6 => size == promise.default,
                _ => (promise.min..=promise.max).contains(&size),
            };
            if !allowed || size != expected || !size.is_power_of_two() || size > 128 {
                self.fault(
                    MapRule::Size,
                    format!(
                        "invocation {index} has gl_SubgroupSize {size} (asked for {:?}, device {promise:?})",
                        launch.subgroup_size
                    ),
                );
            }
        }
    }

    fn subgroup_ids(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        let number = records[0].subgroups;
        if let Some(index) = records.iter().position(|record| record.subgroups != number) {
            self.fault(
                MapRule::NumSubgroups,
                format!("invocation {index} has {}, invocation 0 has {number}", records[index].subgroups),
            );
        } else if (number as usize) < groups.len() {
            self.fault(MapRule::NumSubgroups, format!("gl_NumSubgroups is {number}, there are {}", groups.len()));
        }
        if let Some(index) = records.iter().position(|record| record.id >= record.subgroups) {
            let Record { id, subgroups, .. } = records[index];
            self.fault(
                MapRule::SubgroupIdRange,
                format!("invocation {index} has gl_SubgroupID {id}, gl_NumSubgroups is {subgroups}"),
            );
        }
        let mut owners = std::collections::BTreeMap::new();
        for group in groups {
            let id = records[group[0]].id;
            if let Some(index) = group.iter().find(|&&index| records[index].id != id) {
                let other = records[*index].id;
                self.fault(MapRule::SubgroupIds, format!("one subgroup has gl_SubgroupID {id} and {other}"));
            }
            if let Some(other) = owners.insert(id, group[0]) {
                self.fault(
                    MapRule::SubgroupIds,
                    format!("the subgroups of invocations {other} and {} both have gl_SubgroupID {id}", group[0]),
                );
            }
        }
    }

    /// Semantics.md §2.1 item 4. The x dimension decides, not the product.
    fn full_subgroups(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        let launch = &self.case.launch;
        let size = records[0].size;
        let promised = launch.spirv >= SpirvVersion::V1_6 || launch.full_subgroups;
        if !promised || launch.workgroup[0] % size != 0 {
            return;
        }
        for group in groups {
            let live = group.iter().fold(0u128, |live, &index| live | 1 << records[index].lane);
            if live != first_lanes(size as usize) {
                self.fault(MapRule::FullSubgroups, format!("a subgroup of size {size} has the lanes {live:#x}"));
            }
        }
    }
}
