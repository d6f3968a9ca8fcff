//! Segments of switches at tier maximal (docs/rules.md, section X).
//!
//! Lanes with different selectors come together at a label of a switch, or do not; the segment behind it is then executed by each of these
//! tangles by the exact rules. So at every operation in one execution of a segment, nested constructs and loops included, two
//! lanes that are both there are together always, or never: they come together again, or part, nowhere but where control
//! flow merges for the tangle that entered. A segment of a switch inside divides its tangles further: lanes together there are together
//! in the segment around it, too.

use std::collections::BTreeMap;

use tangle_program::subgroup::lanes;

use super::trace::Step;

/// For each lane, the lanes that it is certainly together with, and those that it is certainly not with.
#[derive(Clone, Default)]
struct Facts {
    together: BTreeMap<usize, u128>,
    apart: BTreeMap<usize, u128>,
}

/// What is known of the executions of segments: by subgroup and number of the execution.
#[derive(Default)]
pub(crate) struct Segments(BTreeMap<(usize, u32), Facts>);

impl Segments {
    /// The lanes were seen together at a step.
    pub fn join(&mut self, step: &Step<'_>, mask: u128) {
        for &segment in &step.segments {
            let facts = self.0.entry((step.subgroup, segment)).or_default();
            // All that any of them is together with, they all are.
            let all = lanes(mask).fold(mask, |all, lane| all | facts.together.get(&lane).copied().unwrap_or(0));
            lanes(all).for_each(|lane| *facts.together.entry(lane).or_default() |= all);
        }
    }

    /// Lanes of the one set were not seen with lanes of the other.
    pub fn part(&mut self, step: &Step<'_>, one: u128, other: u128) {
        let Some(&segment) = step.segments.last() else { return };
        let facts = self.0.entry((step.subgroup, segment)).or_default();
        lanes(one).for_each(|lane| *facts.apart.entry(lane).or_default() |= other);
        lanes(other).for_each(|lane| *facts.apart.entry(lane).or_default() |= one);
    }

    /// True if no lane of the one set can be with one of the other at this step.
    pub fn apart(&self, step: &Step<'_>, one: u128, other: u128) -> bool {
        step.segments.iter().any(|&segment| {
            self.0.get(&(step.subgroup, segment)).is_some_and(|facts| {
                let with = |lane: usize| facts.together.get(&lane).copied().unwrap_or(0) | 1 << lane;
                let one = lanes(one).fold(0, |all, lane| all | with(lane));
                let other = lanes(other).fold(0, |all, lane| all | with(lane));
                lanes(one).any(|lane| facts.apart.get(&lane).copied().unwrap_or(0) & other != 0)
            })
        })
    }

    /// True if lanes of the two sets are together at this step.
    pub fn together(&self, step: &Step<'_>, one: u128, other: u128) -> bool {
        let facts = step.segments.last().and_then(|&segment| self.0.get(&(step.subgroup, segment)));
        facts.is_some_and(|facts| lanes(one).any(|lane| facts.together.get(&lane).copied().unwrap_or(0) & other != 0))
    }

    /// True if lanes that are together are seen apart, in the segment of this step or one around it.
    pub fn contradict(&self, step: &Step<'_>) -> bool {
        lanes(step.lanes).any(|lane| self.apart(step, 1 << lane, 1 << lane))
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::subgroup::SubgroupOp;
    use tangle_program::types::Scalar;

    use super::*;
    use crate::lower::OpNode;

    fn elect() -> OpNode {
        let info = SubgroupOp::Elect.info();
        OpNode { info, id: 0, scalar: Scalar::Bool, width: 1, cluster: 0, preserved: false, args: Vec::new() }
    }

    /// Rule S3: together with one is together with all that this one is together with, however often it is seen.
    #[test]
    fn lanes_that_are_together() {
        let op = elect();
        let step = Step::of_lanes(&op, 0xFF, &[0]);
        let mut segments = Segments::default();
        assert!(!segments.together(&step, 0b0001, 0b0010));
        for _ in 0..2 {
            segments.join(&step, 0b0011);
            segments.join(&step, 0b0110);
            for (one, other, are_together) in [
                (0b0001, 0b0010, true),
                (0b0010, 0b0100, true),
                (0b0001, 0b0100, true),
                (0b0100, 0b0001, true),
                (0b1100, 0b0001, true),
                (0b1000, 0b0001, false),
                (0b1000, 0b0111, false),
            ] {
                assert_eq!(segments.together(&step, one, other), are_together, "{one:b} {other:b}");
                assert!(!segments.apart(&step, one, other), "{one:b} {other:b}");
            }
        }
        assert!(!segments.together(&Step::of_lanes(&op, 0xFF, &[1]), 0b0001, 0b0010), "another execution");
    }

    /// Who is apart from one is apart from all that this one is together with.
    #[test]
    fn lanes_that_are_apart() {
        let op = elect();
        let step = Step::of_lanes(&op, 0xFF, &[0]);
        let mut segments = Segments::default();
        segments.join(&step, 0b0011);
        for _ in 0..2 {
            segments.part(&step, 0b0001, 0b0100);
            for (one, other, are_apart) in [
                (0b0001, 0b0100, true),
                (0b0100, 0b0001, true),
                (0b0010, 0b0100, true),
                (0b0100, 0b0010, true),
                (0b0001, 0b0010, false),
                (0b1000, 0b0111, false),
            ] {
                assert_eq!(segments.apart(&step, one, other), are_apart, "{one:b} {other:b}");
            }
        }
        assert!(!segments.contradict(&step));
        // Lanes 1 and 2 cannot be both.
        segments.join(&step, 0b0110);
        assert!([0b0001, 0b0010, 0b0100].iter().all(|&lane| segments.contradict(&Step::of_lanes(&op, lane, &[0]))));
        assert!(!segments.contradict(&Step::of_lanes(&op, 0b1000, &[0])));
    }

    /// In a segment within a segment lanes may be apart that are together around it, and not the other way round.
    #[test]
    fn segments_within_segments() {
        let op = elect();
        let (outer, inner) = (Step::of_lanes(&op, 0xFF, &[0]), Step::of_lanes(&op, 0xFF, &[0, 1]));
        let mut segments = Segments::default();
        segments.part(&inner, 0b0001, 0b0010);
        segments.join(&inner, 0b1100);
        assert!(segments.apart(&inner, 0b0001, 0b0010) && !segments.apart(&outer, 0b0001, 0b0010));
        assert!(segments.together(&inner, 0b0100, 0b1000) && segments.together(&outer, 0b0100, 0b1000));
        segments.part(&outer, 0b0001, 0b0100);
        assert!(segments.apart(&outer, 0b0001, 0b0100) && segments.apart(&inner, 0b0001, 0b0100));
        segments.join(&outer, 0b0011);
        assert!(!segments.contradict(&inner) && !segments.contradict(&outer));
    }
}
