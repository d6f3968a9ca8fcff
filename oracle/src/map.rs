//! The lane map: which invocation sits in which subgroup and lane. It is observed, never assumed.
//!
//! Every generated shader starts with a prologue that records, before any control flow, the subgroup built-ins, a token that names the
//! real subgroup, and a ballot (docs/rules.md, section M). [`LaneMap::check`] reads these records, checks them against the rules of the
//! specification, and gives the layout on which the oracle then runs. A rule that only concerns `gl_SubgroupID` or
//! `gl_NumSubgroups` does not stop the run: subgroups are named by their token.

use tangle_program::api::Api;
use tangle_program::case::interface::{MAP_WORDS, MAP_WRITTEN, MAP_WRITTEN_ARB, NOT_OBSERVED};
use tangle_program::case::{Case, GroupId, InvocationId, Launch, SpirvVersion, Stage};
use tangle_program::subgroup::{first_lanes, lanes};

use crate::fragment;
use crate::items;
pub(crate) use crate::layout::layout;
pub use crate::layout::{Layout, MapFault, MapRule, Subgroup, SubgroupPromise};

/// A record of the prologue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub lane: u32,
    pub size: u32,
    pub id: u32,
    pub subgroups: u32,
    pub token: u32,
    pub ballot: u128,
    /// True if it is of ARB_shader_ballot ([`MAP_WRITTEN_ARB`]).
    pub is_arb: bool,
}

impl Record {
    fn read(words: &[u32]) -> Option<Record> {
        let ballot = words[5..9].iter().rev().fold(0, |mask, &word| mask << 32 | u128::from(word));
        let is_arb = words[9] == MAP_WRITTEN_ARB;
        (is_arb || words[9] == MAP_WRITTEN).then_some(Record {
            lane: words[0],
            size: words[1],
            id: words[2],
            subgroups: words[3],
            token: words[4],
            ballot,
            is_arb,
        })
    }

    pub fn write(&self) -> [u32; MAP_WORDS] {
        let ballot = |c: u32| (self.ballot >> (32 * c)) as u32;
        let Record { lane, size, id, subgroups, token, .. } = *self;
        [lane, size, id, subgroups, token, ballot(0), ballot(1), ballot(2), ballot(3), MAP_WRITTEN]
    }
}

/// The layouts of all groups of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneMap {
    /// In the order of [`GroupId`], from 0; one for a draw or for items.
    pub groups: Vec<Layout>,
}

impl LaneMap {
    /// Reads and checks the map buffer of a dispatch. Without a usable map the result is `None`; every broken rule is
    /// listed either way, each at most once in a group.
    pub fn check(case: &Case, words: &[u32], promise: SubgroupPromise) -> (Option<LaneMap>, Vec<MapFault>) {
        let entry_point = &case.entry_point;
        let check = match entry_point.launch {
            Launch::Workgroups(_) => None,
            Launch::Draw(_) => Some(fragment::check(case, words, promise)),
            Launch::Items(_) => Some(items::check(case, words, promise)),
        };
        if let Some((layout, faults)) = check {
            return (layout.map(|layout| LaneMap { groups: vec![layout] }), faults);
        }
        let words_of_group = entry_point.group_size() as usize * MAP_WORDS;
        let mut checker = Checker { case, promise, group: GroupId(0), faults: Vec::new(), dispatch_size: None };
        let mut groups = Vec::new();
        for group in entry_point.group_ids() {
            checker.group = group;
            let first = entry_point.ordinal(InvocationId { group, index: 0 }) * MAP_WORDS;
            let Some(words) = words.get(first..first + words_of_group) else {
                checker.fault(MapRule::Written, "the map buffer is too short".into());
                break;
            };
            groups.extend(checker.layout(words));
        }
        checker.payload(words);
        let usable = groups.len() == entry_point.groups() as usize;
        (usable.then_some(LaneMap { groups }), checker.faults)
    }

    /// The usual map: subgroups of `size` consecutive invocations, or quads.
    pub fn linear(case: &Case, size: u32) -> LaneMap {
        match &case.entry_point.launch {
            Launch::Workgroups(_) => {}
            Launch::Draw(draw) => return LaneMap { groups: vec![fragment::linear(draw, size as usize)] },
            Launch::Items(items) => {
                return LaneMap::of_executions(&(0..items.identities()).collect::<Vec<u32>>(), size);
            }
        }
        let (n, workgroups) = (case.entry_point.group_size(), case.entry_point.workgroups());
        let place = |index: u32| {
            let place = workgroups.quad(index).map_or(index, |(quad, position)| 4 * quad + position);
            (place / size, place % size)
        };
        LaneMap::from_fn(case, size, place, n.div_ceil(size))
    }

    /// The map of a draw before rasterisation in which these invocations are executed, in subgroups of `size` that follow each other.
    pub fn of_executions(executed: &[u32], size: u32) -> LaneMap {
        LaneMap { groups: vec![items::packed(executed, size as usize)] }
    }

    /// A map made from `place(index in the group) = (subgroup, lane)`, the same in every group.
    pub fn from_fn(case: &Case, size: u32, place: impl Fn(u32) -> (u32, u32), subgroups: u32) -> LaneMap {
        let n = case.entry_point.group_size();
        let mut members = vec![Vec::new(); subgroups as usize];
        for index in 0..n {
            let (subgroup, lane) = place(index);
            members[subgroup as usize].push((lane, index));
        }
        members.retain(|lanes| !lanes.is_empty());
        let records = |subgroup: usize| (subgroup as u32, members.len() as u32);
        let first = layout(GroupId(0), size as usize, &members, records);
        LaneMap { groups: case.entry_point.group_ids().map(|group| Layout { group, ..first.clone() }).collect() }
    }

    /// The map buffer a correct device with this map writes.
    pub fn words(&self, case: &Case) -> Vec<u32> {
        match (&case.entry_point.launch, self.groups.as_slice()) {
            (Launch::Draw(draw), [layout]) => return fragment::words(draw, layout),
            (Launch::Items(_), [layout]) => return items::words(case, layout),
            _ => {}
        }
        let invocations = case.entry_point.invocations() as usize;
        let mut words = vec![0; invocations * MAP_WORDS];
        let found = |ordinal| vec![case.entry_point.payload_word(ordinal); case.entry_point.payload_copies()];
        words.extend((0..invocations).flat_map(found));
        for layout in &self.groups {
            for subgroup in &layout.subgroups {
                let token = layout.index[subgroup.first + subgroup.live.trailing_zeros() as usize];
                for lane in lanes(subgroup.live) {
                    let slot = subgroup.first + lane;
                    let (id, subgroups) = layout.reported[slot];
                    let size = subgroup.size as u32;
                    let (lane, ballot) = (lane as u32, subgroup.live);
                    let record = Record { lane, size, id, subgroups, token, ballot, is_arb: false };
                    let at = case.entry_point.ordinal(layout.invocation(slot)) * MAP_WORDS;
                    words[at..at + MAP_WORDS].copy_from_slice(&record.write());
                }
            }
        }
        words
    }
}
struct Checker<'a> {
    case: &'a Case,
    promise: SubgroupPromise,
    group: GroupId,
    faults: Vec<MapFault>,
    dispatch_size: Option<u32>,
}

impl Checker<'_> {
    fn fault(&mut self, rule: MapRule, seen: String) {
        let group = self.group;
        if !self.faults.iter().any(|fault| fault.rule == rule && fault.group == group) {
            self.faults.push(MapFault { rule, group, seen });
        }
    }

    fn layout(&mut self, words: &[u32]) -> Option<Layout> {
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
        if records.iter().any(|record| record.is_arb) {
            return self.layout_of_arb(&records);
        }
        let groups = self.group_by_token(&records);
        for group in &groups {
            self.subgroup(&records, group);
        }
        if self.fatal_since(before) {
            return None;
        }
        self.quads(&records, &groups);
        if self.fatal_since(before) {
            return None;
        }
        self.subgroup_ids(&records, &groups);
        match self.promise.api {
            Api::WebGpu => self.dense_lanes(&records, &groups),
            Api::Vulkan => self.full_subgroups(&records, &groups),
            // Nothing says that subgroups are full (GL_KHR_shader_subgroup).
            Api::OpenGl => {}
        }
        let size = records[0].size as usize;
        let members: Vec<Vec<(u32, u32)>> =
            groups.iter().map(|group| group.iter().map(|&i| (records[i].lane, i as u32)).collect()).collect();
        let mut layout = layout(self.group, size, &members, |_| (0, 0));
        for (slot, reported) in layout.reported.iter_mut().enumerate() {
            let record = &records[layout.index[slot] as usize];
            *reported = (record.id, record.subgroups);
        }
        Some(layout)
    }

    /// Rule M10: what mesh workgroups found in the payload, in the words behind the records.
    fn payload(&mut self, words: &[u32]) {
        let entry_point = &self.case.entry_point;
        let copies = entry_point.payload_copies();
        if copies == 0 {
            return;
        }
        let found = words.get(entry_point.invocations() as usize * MAP_WORDS..).unwrap_or_default();
        for (ordinal, found) in found.chunks(copies).enumerate() {
            let InvocationId { group, index } = entry_point.invocation(ordinal);
            let right = entry_point.payload_word(ordinal);
            let Some((mesh, word)) = found.iter().enumerate().find(|(_, word)| **word != right) else { continue };
            self.group = group;
            let seen = match entry_point.stage {
                Stage::Mesh => format!("invocation {index} found {word:#x} in the payload, not {right:#x}"),
                _ => format!(
                    "mesh workgroup {mesh} found {word:#x} of invocation {index} in the payload, not {right:#x}"
                ),
            };
            self.fault(MapRule::Payload, seen);
        }
    }

    /// The layout where the subgroups are those of ARB_shader_ballot. That extension relates them to workgroups as little as the other one
    /// does its groups: where one has lanes of other workgroups there is no layout, and nothing is wrong.
    fn layout_of_arb(&mut self, records: &[Record]) -> Option<Layout> {
        let before = self.faults.len();
        let mut groups = std::collections::BTreeMap::<u32, Vec<usize>>::new();
        for (index, record) in records.iter().enumerate() {
            groups.entry(record.token).or_default().push(index);
        }
        let spans = |group: &Vec<usize>| {
            let seen = group.iter().fold(0u128, |seen, &i| seen | 1u128.checked_shl(records[i].lane).unwrap_or(0));
            // Two lanes with one index are wrong wherever the others are.
            let is_one_lane_each = seen.count_ones() as usize == group.len();
            // Bits past the size are nobody's.
            let below = |size: u32| 1u128.checked_shl(size).map_or(u128::MAX, |bit| bit - 1);
            is_one_lane_each && group.iter().any(|&i| records[i].ballot & below(records[i].size) & !seen != 0)
        };
        if groups.values().any(spans) {
            return None;
        }
        let groups = self.group_by_token(records);
        for group in &groups {
            self.subgroup(records, group);
        }
        if self.fatal_since(before) {
            return None;
        }
        let size = records[0].size as usize;
        let members: Vec<Vec<(u32, u32)>> =
            groups.iter().map(|group| group.iter().map(|&i| (records[i].lane, i as u32)).collect()).collect();
        let count = members.len() as u32;
        let layout = layout(self.group, size, &members, |subgroup| (subgroup as u32, count));
        Some(Layout { votes_are_free: true, ..layout })
    }

    fn fatal_since(&self, before: usize) -> bool {
        self.faults[before..].iter().any(|fault| fault.rule.is_fatal())
    }

    /// Indices in the group by token, in ascending order of token.
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

    /// Rule M9. All four invocations of a quad are there, since the workgroup is whole quads.
    fn quads(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        let workgroups = self.case.entry_point.workgroups();
        for group in groups {
            let mut of_lanes = std::collections::BTreeMap::<u32, u32>::new();
            for &index in group {
                let Some((quad, position)) = workgroups.quad(index as u32) else { return };
                let lane = records[index].lane;
                let first = *of_lanes.entry(lane / 4).or_insert(quad);
                if lane % 4 != position {
                    self.fault(
                        MapRule::Quads,
                        format!("invocation {index}, number {position} of its quad, is lane {lane}"),
                    );
                } else if first != quad {
                    self.fault(
                        MapRule::Quads,
                        format!(
                            "lanes {} to {} are not one quad: invocation {index} is of another",
                            lane / 4 * 4,
                            lane / 4 * 4 + 3
                        ),
                    );
                }
            }
        }
    }

    fn size(&mut self, records: &[Record], group: &[usize]) {
        let promise = self.promise;
        let entry_point = &self.case.entry_point;
        for &index in group {
            let size = records[index].size;
            let expected = *self.dispatch_size.get_or_insert(size);
            if size != expected || !promise.allows(entry_point, size) {
                self.fault(
                    MapRule::Size,
                    format!(
                        "invocation {index} has gl_SubgroupSize {size} (asked for {:?}, device {promise:?})",
                        entry_point.subgroup_size
                    ),
                );
            }
        }
    }

    /// True if the language of the shader cannot read `SubgroupId` and `NumSubgroups`, and the records say so.
    fn has_no_ids(&self, records: &[Record]) -> bool {
        let not_observed = |record: &Record| (record.id, record.subgroups) == (NOT_OBSERVED, NOT_OBSERVED);
        !self.case.variant.language().has_subgroup_id() && records.iter().all(not_observed)
    }

    fn subgroup_ids(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        if self.has_no_ids(records) {
            return;
        }
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

    /// "In a compute shader, IDs begin at zero and are dense." (WGSL, subgroup_invocation_id)
    fn dense_lanes(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        for group in groups {
            let live = group.iter().fold(0u128, |live, &index| live | 1 << records[index].lane);
            if live != first_lanes(group.len()) {
                self.fault(MapRule::DenseLanes, format!("a subgroup of {} lanes has the lanes {live:#x}", group.len()));
            }
        }
    }

    /// "When full subgroups are required:, subgroups must: be launched with all invocations active" (Vulkan, Full Subgroups). The x dimension
    /// decides, not the product. No subgroup can then be without lanes, so that `gl_NumSubgroups`, "the number of subgroups in the local
    /// workgroup" (Vulkan, NumSubgroups), counts those seen; elsewhere one without lanes may be counted, too (docs/rules.md, rules M4 and M6).
    fn full_subgroups(&mut self, records: &[Record], groups: &[Vec<usize>]) {
        let entry_point = &self.case.entry_point;
        let size = records[0].size;
        let promised = entry_point.spirv >= SpirvVersion::V1_6 || entry_point.full_subgroups;
        let [x, ..] = entry_point.workgroups().size;
        if !promised || x % size != 0 {
            return;
        }
        for group in groups {
            let live = group.iter().fold(0u128, |live, &index| live | 1 << records[index].lane);
            if live != first_lanes(size as usize) {
                self.fault(MapRule::FullSubgroups, format!("a subgroup of size {size} has the lanes {live:#x}"));
            }
        }
        let number = records[0].subgroups;
        if number as usize > groups.len() && !self.has_no_ids(records) {
            let seen = format!("gl_NumSubgroups is {number}, there are {} and all are full", groups.len());
            self.fault(MapRule::NumSubgroups, seen);
        }
    }
}
