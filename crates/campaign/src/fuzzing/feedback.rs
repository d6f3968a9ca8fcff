//! What happened when a case ran, for libFuzzer: extra counters beside code coverage.
//!
//! A machine that interprets programs runs the same code for a ballot in a loop that half of the lanes have left as for one that all
//! execute. [`Watched`] distinguishes them: it counts
//!
//! - operations: row of the table × component type × construct around it × shape of the mask;
//! - divergence: how many constructs around it have divided the lanes × construct;
//! - reconvergence: kind of the merge × how many of the lanes came together there;
//! - jumps: kind × construct × depth of divergence.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tangle_oracle::mask::Mask;
use tangle_oracle::rules::{Construct, Jump, Merge, Merging, Rules, Scope, Spec};
use tangle_program::subgroup::{Instance, OpInfo, TABLE, Ub, first_lanes};
use tangle_program::types::Scalar;

/// How many counters there are.
pub const COUNTERS: usize = 1 << 16;

static SINK: OnceLock<&'static [AtomicU8; COUNTERS]> = OnceLock::new();

/// Counts from now on into these counters, which libFuzzer reads and clears.
pub fn count_into(counters: &'static [AtomicU8; COUNTERS]) {
    let _ = SINK.set(counters);
}

/// True if somebody reads the counters.
pub fn is_on() -> bool {
    SINK.get().is_some()
}

/// What is counted. Its place among the counters is a hash of it: a collision loses a distinction, no more.
#[derive(Hash)]
enum Event {
    Operation { row: usize, scalar: Scalar, construct: Option<Construct>, shape: Shape },
    Divergence { construct: Option<Construct>, depth: usize },
    Merge { merge: Merge, shape: Shape },
    Jump { jump: Jump, construct: Option<Construct>, depth: usize },
}

fn count(event: &Event) {
    let Some(counters) = SINK.get() else { return };
    use std::hash::{Hash, Hasher};
    // Fixed keys: the same event has the same counter in every process.
    let mut hasher = std::hash::DefaultHasher::new();
    event.hash(&mut hasher);
    let counter = &counters[hasher.finish() as usize % COUNTERS];
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
}

/// What a set of lanes looks like among those that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    None,
    Full,
    /// One lane, lane 0 or another.
    First,
    Single,
    /// Without gaps: from lane 0 on, to the last lane, or between.
    Low,
    High,
    Run,
    /// With gaps: with lane 0, or without.
    Gaps,
    GapsAbove,
}

impl Shape {
    fn of(lanes: u128, live: u128) -> Shape {
        if lanes == 0 {
            return Shape::None;
        }
        let run = lanes >> lanes.trailing_zeros();
        let has_gaps = run & run.wrapping_add(1) != 0;
        match (lanes & live == live, lanes.count_ones(), lanes & 1 == 1, has_gaps) {
            (true, ..) => Shape::Full,
            (_, 1, true, _) => Shape::First,
            (_, 1, false, _) => Shape::Single,
            (_, _, true, false) => Shape::Low,
            (_, _, true, true) => Shape::Gaps,
            (_, _, false, true) => Shape::GapsAbove,
            _ if lanes.leading_zeros() == live.leading_zeros() => Shape::High,
            _ => Shape::Run,
        }
    }
}

/// The deepest divergence that is counted by itself.
const DEEPEST: usize = 6;

fn depth(scopes: &[Scope]) -> usize {
    scopes.iter().filter(|scope| scope.entered != scope.reached).count().min(DEEPEST)
}

fn innermost(scopes: &[Scope]) -> Option<Construct> {
    scopes.last().map(|scope| scope.construct)
}

/// Behaves as the specification says, and counts.
#[derive(Debug, Default)]
pub struct Watched {
    construct: Option<Construct>,
    live: u128,
}

impl Rules for Watched {
    fn merged(&mut self, merging: &Merging<'_>, merged: Mask) -> Mask {
        let shape = match (merged.count(), merging.reached.count()) {
            (0, _) => Shape::None,
            (merged, reached) if merged == reached => Shape::Full,
            (1, _) => Shape::Single,
            _ => Shape::Gaps,
        };
        count(&Event::Merge { merge: merging.merge, shape });
        Spec.merged(merging, merged)
    }

    fn tangle(&mut self, scopes: &[Scope], live: u128, tangle: u128, of: &dyn Fn(&Mask) -> u128) -> u128 {
        (self.construct, self.live) = (innermost(scopes), live);
        count(&Event::Divergence { construct: self.construct, depth: depth(scopes) });
        Spec.tangle(scopes, live, tangle, of)
    }

    fn jump(&mut self, scopes: &[Scope], jump: Jump) -> Jump {
        count(&Event::Jump { jump, construct: innermost(scopes), depth: depth(scopes) });
        Spec.jump(scopes, jump)
    }

    fn operate(&mut self, info: &OpInfo, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        let row = TABLE.iter().position(|row| row.op == info.op).unwrap_or(TABLE.len());
        let shape = Shape::of(instance.tangle, self.live & first_lanes(instance.size));
        count(&Event::Operation { row, scalar: instance.scalar, construct: self.construct, shape });
        Spec.operate(info, instance, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_masks() {
        for (lanes, live, shape) in [
            (0, 0xFF, Shape::None),
            (0xFF, 0xFF, Shape::Full),
            (0x01, 0xFF, Shape::First),
            (0x10, 0xFF, Shape::Single),
            (0x0F, 0xFF, Shape::Low),
            (0xF0, 0xFF, Shape::High),
            (0x3C, 0xFF, Shape::Run),
            (0x55, 0xFF, Shape::Gaps),
            (0xAA, 0xFF, Shape::GapsAbove),
            (u128::MAX, u128::MAX, Shape::Full),
        ] {
            assert_eq!(Shape::of(lanes, live), shape, "{lanes:x} of {live:x}");
        }
    }
}
