//! The lane map of a fragment shader: fragments and the helper invocations beside them (docs/rules.md, section H).
//!
//! Which fragments there are is known from the triangles ([`Draw::covers`]). A fragment writes down its own lane, the ballot at entry, the
//! token that names its subgroup, and what its three neighbours in the quad report of themselves: that is how helpers, which can write
//! nothing, are known. Nothing is known of quads in which nobody is a fragment; who may be in one is in [`Layout::others`].

use std::collections::BTreeMap;

use tangle_program::api::Api;
use tangle_program::case::interface::{FRAGMENT_MAP_WORDS, MAP_WRITTEN, neighbour};
use tangle_program::case::{Case, Draw, GroupId, InvocationId, Tier};
use tangle_program::subgroup::{first_lanes, lanes};

use crate::layout::{Layout, MapFault, MapRule, SubgroupPromise, layout};

/// A record, as [`tangle_program::case::interface::FRAGMENT_MAP_WORDS`] has it.
#[derive(Clone, Copy, Debug)]
struct Record {
    lane: u32,
    size: u32,
    token: u32,
    ballot: u128,
    /// What the lane 1, 2 and 3 away (by exclusive or) reports of itself.
    quad: [u32; 3],
}

impl Record {
    fn read(words: &[u32]) -> Option<Record> {
        let [lane, size, token, b0, b1, b2, b3, h, v, d, mark] = *words else { return None };
        let ballot = [b3, b2, b1, b0].iter().fold(0, |mask, &word| mask << 32 | u128::from(word));
        (mark == MAP_WRITTEN).then_some(Record { lane, size, token, ballot, quad: [h, v, d] })
    }

    fn write(&self) -> [u32; FRAGMENT_MAP_WORDS] {
        let b = |c: u32| (self.ballot >> (32 * c)) as u32;
        let [h, v, d] = self.quad;
        [self.lane, self.size, self.token, b(0), b(1), b(2), b(3), h, v, d, MAP_WRITTEN]
    }
}

/// A subgroup, by the records of its fragments.
struct Found {
    /// Its lanes with the numbers of their invocations.
    lanes: Vec<(u32, u32)>,
    /// Those that are helpers.
    helpers: u128,
    /// Those of the helpers that should be active, and are not.
    absent: u128,
    /// Lanes that may be there, of which nothing is known.
    unknown: u128,
}

/// Number and helper flag of a neighbour that reports `word`, if it is in that lane.
fn reported(word: u32, lane: u32) -> Option<(u32, bool)> {
    (word >> 1 & 127 == lane).then_some((word >> 8, word & 1 == 1))
}

/// Reads and checks the records of a draw.
pub(crate) fn check(case: &Case, words: &[u32], promise: SubgroupPromise) -> (Option<Layout>, Vec<MapFault>) {
    let Some(draw) = case.entry_point.draw() else { return (None, Vec::new()) };
    let mut checker = Checker { case, draw, promise, faults: Vec::new(), is_off_grid: false };
    let layout = checker.layout(words);
    (layout.filter(|_| checker.faults.iter().all(|fault| !fault.rule.is_fatal())), checker.faults)
}

struct Checker<'a> {
    case: &'a Case,
    draw: &'a Draw,
    promise: SubgroupPromise,
    faults: Vec<MapFault>,
    /// True if a quad is none of the grid, so that its places have no numbers.
    is_off_grid: bool,
}

impl Checker<'_> {
    fn fault(&mut self, rule: MapRule, seen: String) {
        if !self.faults.iter().any(|fault| fault.rule == rule) {
            self.faults.push(MapFault { rule, group: GroupId(0), seen });
        }
    }

    /// Column, row and depth of a number in the grid.
    fn place(&self, index: u32) -> [u32; 3] {
        self.case.entry_point.workgroups().position(index)
    }

    fn name(&self, index: u32) -> String {
        self.case.entry_point.describe(InvocationId { group: GroupId(0), index })
    }

    fn layout(&mut self, words: &[u32]) -> Option<Layout> {
        let count = self.case.entry_point.group_size();
        let mut records = BTreeMap::new();
        for (index, words) in (0..count).zip(words.chunks_exact(FRAGMENT_MAP_WORDS)) {
            let record = Record::read(words);
            match (self.draw.covers(self.place(index)), record) {
                (true, Some(record)) => drop(records.insert(index, record)),
                (true, None) => self.fault(MapRule::Coverage, format!("{} wrote no record", self.name(index))),
                (false, _) if words.iter().any(|&word| word != 0) => {
                    self.fault(MapRule::Coverage, format!("{} is no fragment, and wrote a record", self.name(index)));
                }
                (false, _) => {}
            }
        }
        if !self.faults.is_empty() {
            return None;
        }
        // Nothing to compare where nothing is covered; valid cases cover something.
        let size = self.size(&records)?;
        let mut groups = BTreeMap::<u32, Vec<u32>>::new();
        records.iter().for_each(|(&index, record)| groups.entry(record.token).or_default().push(index));
        let mut members = Vec::new();
        let mut helpers = Vec::new();
        let mut others = Vec::new();
        for (token, group) in groups {
            let found = self.subgroup(&records, token, &group)?;
            members.push(found.lanes);
            helpers.push((found.helpers, found.absent));
            others.push(found.unknown);
        }
        if self.is_off_grid {
            return None;
        }
        let mut layout = layout(GroupId(0), size as usize, &members, |_| (0, 0));
        for (subgroup, (helpers, absent)) in layout.subgroups.iter().zip(&helpers) {
            layout.helpers.insert_lanes(subgroup.first, *helpers);
            layout.absent.insert_lanes(subgroup.first, *absent);
        }
        layout.others = others;
        if !layout.absent.is_empty() {
            // Where helpers need not be active, a quad of them may be where no ballot shows it.
            for (others, subgroup) in layout.others.iter_mut().zip(&layout.subgroups) {
                *others = first_lanes(subgroup.size) & !subgroup.live;
            }
        }
        Some(layout)
    }

    fn size(&mut self, records: &BTreeMap<u32, Record>) -> Option<u32> {
        let invocations = records.iter().map(|(&index, record)| (index, record.token, record.size));
        match self.promise.size_of_draw(&self.case.entry_point, invocations) {
            Ok(size) => size,
            Err((index, size)) => {
                let promise = self.promise;
                let seen = format!("{} has gl_SubgroupSize {size} (device {promise:?})", self.name(index));
                self.fault(MapRule::Size, seen);
                None
            }
        }
    }

    fn subgroup(&mut self, records: &BTreeMap<u32, Record>, token: u32, group: &[u32]) -> Option<Found> {
        let size = records[&group[0]].size;
        let mut by_lane = BTreeMap::<u32, (u32, bool)>::new();
        for &index in group {
            let Record { lane, .. } = records[&index];
            if lane >= size || by_lane.insert(lane, (index, false)).is_some() {
                let seen =
                    format!("{} has gl_SubgroupInvocationID {lane} in a subgroup of size {size}", self.name(index));
                self.fault(MapRule::LaneIds, seen);
                return None;
            }
        }
        let real = by_lane.keys().fold(0u128, |lanes, lane| lanes | 1 << lane);
        // The token is the number of the lowest lane that is no helper.
        if by_lane.first_key_value().is_none_or(|(_, &(index, _))| index != token) {
            self.fault(
                MapRule::Token,
                format!("token {token} is not the number of the lowest fragment of the subgroup"),
            );
            return None;
        }
        for &index in group {
            let record = &records[&index];
            if self.promise.api == Api::OpenGl {
                self.quad_in_any_order(&mut by_lane, index, record)?;
                continue;
            }
            for (which, word) in (1..).zip(record.quad) {
                self.neighbour(&mut by_lane, index, record, which, word)?;
            }
        }
        // Who says that it is a fragment is one of this subgroup.
        if let Some((lane, (index, _))) = by_lane.iter().find(|(lane, (_, helper))| !helper && real >> **lane & 1 == 0)
        {
            let seen = format!("lane {lane} says that it is {}, which is in another subgroup", self.name(*index));
            self.fault(MapRule::Quads, seen);
            return None;
        }
        let known = by_lane.keys().fold(0u128, |lanes, lane| lanes | 1 << lane);
        let is_maximal = self.case.tier == Tier::Maximal;
        let ballot = records[&group[0]].ballot;
        for &index in group {
            let seen = records[&index].ballot;
            if seen != ballot || seen & real != real || seen & !first_lanes(size as usize) != 0 {
                let seen = format!("{} got {seen:#x}; the fragments of its subgroup are {real:#x}", self.name(index));
                self.fault(MapRule::EntryBallot, seen);
                return None;
            }
        }
        if is_maximal && ballot & known != known {
            let seen = format!("the ballot is {ballot:#x}; the quads of the fragments are {known:#x}");
            self.fault(MapRule::ActiveHelpers, seen);
        }
        let absent = if is_maximal { known & !ballot } else { 0 };
        let unknown = if is_maximal { ballot & !known } else { first_lanes(size as usize) & !real };
        let lanes = by_lane.iter().map(|(&lane, &(index, _))| (lane, index)).collect();
        Some(Found { lanes, helpers: known & !real, absent, unknown })
    }

    /// Checks what a neighbour in the quad reports of itself, and notes it if it is a helper.
    fn neighbour(
        &mut self,
        by_lane: &mut BTreeMap<u32, (u32, bool)>,
        index: u32,
        record: &Record,
        which: u32,
        word: u32,
    ) -> Option<()> {
        let lane = record.lane ^ which;
        let [x, y, depth] = self.place(index);
        // Lane 4q is at the left above; the others follow by rows.
        let along = |side: u32, bit: u32| if bit == 1 { side.checked_sub(1) } else { side.checked_add(1) };
        let x = if which & 1 == 1 { along(x, record.lane & 1) } else { Some(x) };
        let y = if which & 2 == 2 { along(y, record.lane >> 1 & 1) } else { Some(y) };
        // A pixel at the left or upper edge has no neighbour on that side. Layer and sample are the same.
        let place = x.zip(y).map(|(x, y)| [x, y, depth]);
        let [columns, rows, _] = self.draw.grid();
        let expected = place.map(|[x, y, depth]| (depth * rows + y) * columns + x);
        let report = reported(word, lane).filter(|&(number, _)| Some(number) == expected);
        let Some(report) = report else {
            let neighbour = place.map_or("outside of the framebuffer".to_owned(), |[x, y, _]| format!("at ({x}, {y})"));
            let seen = format!(
                "{} is lane {}; lane {lane} has to be its neighbour {neighbour}, and reports {word:#x}",
                self.name(index),
                record.lane
            );
            self.fault(MapRule::Quads, seen);
            return None;
        };
        self.note(by_lane, MapRule::Quads, lane, report)
    }

    /// The same of a whole quad in OpenGL, which does not say which lane is where in it, nor where quads begin (rule H12): each lane is next to the others, on a
    /// row, on a column or across. Of a quad that is none of the grid, whose places are numbered by twos, nothing is said, nor of its draw: a helper outside of the
    /// framebuffer takes itself to be at its edge.
    fn quad_in_any_order(
        &mut self,
        by_lane: &mut BTreeMap<u32, (u32, bool)>,
        index: u32,
        record: &Record,
    ) -> Option<()> {
        let place @ [x, y, depth] = self.place(index);
        let is_beside = |[there_x, there_y, there_depth]: [u32; 3]| {
            there_x.abs_diff(x) <= 1 && there_y.abs_diff(y) <= 1 && there_depth == depth
        };
        let of_grid = |[x, y, _]: [u32; 3]| [x / 2, y / 2];
        let mut places = vec![place];
        for (which, word) in (1..).zip(record.quad) {
            let lane = record.lane ^ which;
            let report = reported(word, lane).filter(|&(number, helper)| {
                let there = self.place(number);
                number < self.case.entry_point.group_size() && is_beside(there) && (helper || !places.contains(&there))
            });
            let Some(report) = report else {
                let seen = format!(
                    "{} is lane {}; lane {lane} has to be at another place of its quad, and reports {word:#x}",
                    self.name(index),
                    record.lane
                );
                self.fault(MapRule::QuadsInAnyOrder, seen);
                return None;
            };
            let there = self.place(report.0);
            self.is_off_grid |= places.contains(&there) || of_grid(there) != of_grid(place);
            places.push(there);
            self.note(by_lane, MapRule::QuadsInAnyOrder, lane, report)?;
        }
        Some(())
    }

    /// Notes what a lane reports of itself, if that is what it reports to others, too.
    fn note(
        &mut self,
        by_lane: &mut BTreeMap<u32, (u32, bool)>,
        rule: MapRule,
        lane: u32,
        report @ (number, helper): (u32, bool),
    ) -> Option<()> {
        let there = *by_lane.entry(lane).or_insert(report);
        if there != report || !helper && !self.draw.covers(self.place(number)) {
            let seen = format!("lane {lane} is {there:?} to one lane of the quad and {report:?} to another");
            self.fault(rule, seen);
            return None;
        }
        Some(())
    }
}

/// The quads of a draw with a fragment, as they follow each other, in subgroups of `size`; a last subgroup has fewer.
pub(crate) fn linear(draw: &Draw, size: usize) -> Layout {
    let [columns, rows, depths] = draw.grid();
    let mut quads: Vec<[u32; 4]> = Vec::new();
    let mut helpers: Vec<[bool; 4]> = Vec::new();
    for depth in 0..depths {
        for y in (0..rows).step_by(2) {
            for x in (0..columns).step_by(2) {
                let places = [[x, y], [x + 1, y], [x, y + 1], [x + 1, y + 1]];
                let covered = places.map(|[x, y]| draw.covers([x, y, depth]));
                if covered.contains(&true) {
                    quads.push(places.map(|[x, y]| (depth * rows + y) * columns + x));
                    helpers.push(covered.map(|covered| !covered));
                }
            }
        }
    }
    // Quads do not fit into smaller subgroups.
    let in_subgroup = (size / 4).max(1);
    let numbered = |quads: &[[u32; 4]]| (0..).zip(quads.iter().flatten().copied()).collect::<Vec<(u32, u32)>>();
    let mut members: Vec<Vec<(u32, u32)>> = quads.chunks(in_subgroup).map(numbered).collect();
    if members.is_empty() {
        members.push(vec![(0, 0)]);
    }
    let mut layout = layout(GroupId(0), size.max(4), &members, |_| (0, 0));
    for (subgroup, helpers) in layout.subgroups.iter().zip(helpers.chunks(in_subgroup)) {
        let lanes = (0..).zip(helpers.iter().flatten()).filter(|(_, helper)| **helper);
        layout.helpers.insert_lanes(subgroup.first, lanes.fold(0, |lanes, (lane, _): (u32, _)| lanes | 1 << lane));
    }
    layout
}

/// The map buffer that a correct device with this map writes.
pub(crate) fn words(draw: &Draw, layout: &Layout) -> Vec<u32> {
    let [columns, rows, depths] = draw.grid();
    let mut words = vec![0; (columns * rows * depths) as usize * FRAGMENT_MAP_WORDS];
    for subgroup in &layout.subgroups {
        let helpers = layout.helpers.lanes(subgroup.first, subgroup.size);
        let real = subgroup.live & !helpers;
        let index = |lane: usize| layout.index[subgroup.first + lane];
        for lane in lanes(real) {
            let other = |which: usize| {
                let lane = lane ^ which;
                neighbour(index(lane), lane as u32, helpers >> lane & 1 == 1)
            };
            let record = Record {
                lane: lane as u32,
                size: subgroup.size as u32,
                token: index(real.trailing_zeros() as usize),
                ballot: subgroup.live,
                quad: [other(1), other(2), other(3)],
            };
            let at = index(lane) as usize * FRAGMENT_MAP_WORDS;
            words[at..at + FRAGMENT_MAP_WORDS].copy_from_slice(&record.write());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use tangle_program::case::Launch;

    use super::*;
    use crate::map::LaneMap;

    /// A quad of three fragments in a subgroup of 8. Where its helper is active (rule H4), the other lanes are known not to be; where it is not, any may be.
    #[test]
    fn h4_who_may_be_in_other_quads() {
        let case = include_str!("../../corpus/fragments/load_of_helper.json");
        let mut case = Case::from_json(case).expect("a case of the corpus");
        case.entry_point.launch = Launch::Draw(Draw::new([2, 2], vec![[[0, 0], [2, 0], [0, 4]]]));
        let promise = SubgroupPromise::vulkan(8, 8, 8);
        let right = LaneMap::linear(&case, 8).words(&case);
        for (tier, ballot, absent, others, broken) in [
            (Tier::Maximal, 0b1111, 0, 0, vec![]),
            (Tier::Maximal, 0b0111, 0b1000, 0b1111_0000, vec![MapRule::ActiveHelpers]),
            (Tier::Plain, 0b0111, 0, 0b1111_1000, vec![]),
        ] {
            case.tier = tier;
            let mut words = right.clone();
            words.chunks_mut(FRAGMENT_MAP_WORDS).take(3).for_each(|record| record[3] = ballot);
            let (layout, faults) = check(&case, &words, promise);
            let rules: Vec<MapRule> = faults.iter().map(|fault| fault.rule).collect();
            let Some(layout) = layout else { panic!("{tier:?}, {ballot:#b}: {faults:?}") };
            let found = (layout.absent.lanes(0, 8), layout.others, rules);
            assert_eq!(found, (absent, vec![others], broken), "{tier:?}, {ballot:#b}");
        }
    }

    /// The records agree with each other, and the first pixel's neighbour would be outside of the framebuffer.
    #[test]
    fn h2_quads_that_are_mirrored_are_wrong_at_the_edge() {
        let case = include_str!("../../corpus/fragments/demote_invocation.json");
        let case = Case::from_json(case).expect("a case of the corpus");
        let promise = SubgroupPromise::vulkan(8, 8, 8);
        let map = LaneMap::linear(&case, 8);
        assert_eq!(check(&case, &map.words(&case), promise).1, []);
        for across in [1, 2] {
            let mut mirrored = map.groups[0].clone();
            mirrored.index = (0..mirrored.slots).map(|slot| map.groups[0].index[slot ^ across]).collect();
            let draw = case.entry_point.draw().expect("it is a fragment shader");
            let words = words(draw, &mirrored);
            let (layout, faults) = check(&case, &words, promise);
            let rules: Vec<MapRule> = faults.iter().map(|fault| fault.rule).collect();
            assert_eq!((layout, rules), (None, vec![MapRule::Quads]));
            // H12: in OpenGL that is an order as good as another.
            let in_opengl = SubgroupPromise { api: Api::OpenGl, ..promise };
            let (layout, faults) = check(&case, &words, in_opengl);
            assert_eq!((layout.map(|layout| layout.index), faults), (Some(mirrored.index), vec![]));
        }
    }

    /// What is a quad in no order: a lane that reports another one's number, a pixel further off, or two fragments in one place. Of helpers in one place nothing is said,
    /// since a quad may begin outside of the framebuffer.
    #[test]
    fn h12_quads_in_no_order() {
        let case = include_str!("../../corpus/fragments/demote_invocation.json");
        let case = Case::from_json(case).expect("a case of the corpus");
        let promise = SubgroupPromise { api: Api::OpenGl, ..SubgroupPromise::vulkan(8, 8, 8) };
        let right = LaneMap::linear(&case, 8).words(&case);
        let [columns, ..] = case.entry_point.draw().expect("it is a fragment shader").grid();
        for (first, rules) in [
            (neighbour(0, 1, true), vec![MapRule::QuadsInAnyOrder]),
            (neighbour(0, 1, false), vec![MapRule::QuadsInAnyOrder]),
            (neighbour(1, 2, false), vec![MapRule::QuadsInAnyOrder]),
            (neighbour(2, 1, false), vec![MapRule::QuadsInAnyOrder]),
            (neighbour(2 * columns, 1, true), vec![MapRule::QuadsInAnyOrder]),
        ] {
            let mut words = right.clone();
            // What the first fragment hears of the lane next to it.
            words[7] = first;
            let (layout, faults) = check(&case, &words, promise);
            let broken: Vec<MapRule> = faults.iter().map(|fault| fault.rule).collect();
            assert_eq!((layout, broken), (None, rules), "{first:#x}");
        }
        let mut case = case;
        case.entry_point.launch = Launch::Draw(Draw::new([1, 1], vec![[[0, 0], [2, 0], [0, 2]]]));
        let mut words = LaneMap::linear(&case, 8).words(&case);
        words[7..10].copy_from_slice(&[1, 2, 3].map(|lane| neighbour(0, lane, true)));
        assert_eq!(check(&case, &words, promise), (None, vec![]));
    }
}
