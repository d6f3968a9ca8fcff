//! The table of templates: shapes that real bugs had in drivers and compilers, each varied in its parts.

use tangle_program::case::Tier;
use tangle_program::subgroup::{Fold, SubgroupOp};

use crate::build::Builder;
use crate::build::frame::Cost;
use crate::build::row::{ROW, Row};
use crate::profile::Profile;
use crate::weights::Weight;

/// What more live values than registers cost at least.
const PRESSURE: Cost = Cost { words: 8, steps: 120 };
/// Where a function has more variables, no more are brought in by the dozen: it may have [`tangle_analysis::validate::MAX_VARS`].
const MOST_VARIABLES: usize = 120;

impl Builder<'_> {
    /// True if the tangle is known here, and control flow may depend on it.
    fn exact_maximal(&self) -> bool {
        self.is_maximal() && self.frame.flow.is_exact()
    }

    /// True if a loop of so many iterations may stand here, with a construct in it.
    fn has_loop(&self, trips: u32) -> bool {
        self.frame.opens.len() as u32 + 2 <= self.size.depth && self.affordable_trips() >= trips
    }
}

pub(super) const TEMPLATES: &[Row] = &[
    // `for (;;) { first = subgroupBroadcastFirst(key); if (key == first) { …; break; } }`
    Row {
        weight: Weight::of(9),
        fits: |b| b.exact_maximal() && b.has_loop(4) && b.has(SubgroupOp::BroadcastFirst),
        build: |b, out| b.waterfall(out),
        ..ROW
    },
    // `for (;;) { if (subgroupElect()) { …; break; } … }`
    Row {
        weight: Weight::of(7),
        fits: |b| b.exact_maximal() && b.has_loop(3) && b.has(SubgroupOp::Elect),
        build: |b, out| b.elect_loop(out),
        ..ROW
    },
    // `while (subgroupAny(todo)) { … }`
    Row {
        weight: Weight::of(6),
        fits: |b| {
            let together = b.config.tier == Tier::SubgroupUniform && b.frame.flow.is_uniform();
            (b.exact_maximal() || together) && b.has_loop(4) && b.has(SubgroupOp::Any)
        },
        build: |b, out| b.while_any(out),
        ..ROW
    },
    // Lanes counted into dense places by a ballot.
    Row { weight: Weight::of(6), fits: |b| b.has(SubgroupOp::Ballot), build: |b, out| b.compaction(out), ..ROW },
    // A uniform fast path beside a divergent slow one.
    Row {
        weight: Weight::of(6),
        fits: |b| b.frame.flow.is_exact() && b.has(SubgroupOp::Any),
        build: |b, out| b.vote_fast_path(out),
        ..ROW
    },
    // The same operation in both arms.
    Row { weight: Weight::of(8), build: |b, out| b.sibling_arms(out), ..ROW },
    // The same operation in a loop and after it.
    Row {
        weight: Weight::with(9, &[(Profile::Loops, 200)]),
        fits: |b| b.has_loop(3),
        build: |b, out| b.in_and_after_loop(out),
        ..ROW
    },
    // The same operation several times in sequence.
    Row { weight: Weight::of(4), build: |b, out| b.repeated(out), ..ROW },
    // Operations with lane 0 or the last lane inactive.
    Row { weight: Weight::of(8), build: |b, out| b.edge_lanes(out), ..ROW },
    // A lane-dependent number of iterations, the value used after the loop.
    Row {
        weight: Weight::with(10, &[(Profile::Loops, 200)]),
        fits: |b| b.has_loop(3),
        build: |b, out| b.carried_loop(out),
        ..ROW
    },
    // An inner loop that makes the outer one stop.
    Row {
        weight: Weight::with(7, &[(Profile::Loops, 200)]),
        fits: |b| b.has_loop(8),
        build: |b, out| b.nested_exit(out),
        ..ROW
    },
    // A prefix sum of shuffles.
    Row {
        weight: Weight::of(4),
        fits: |b| b.has_loop(3) && b.has(SubgroupOp::ShuffleUp),
        build: |b, out| b.shuffle_scan(out),
        ..ROW
    },
    // A reduction of xor shuffles.
    Row { weight: Weight::of(4), fits: |b| b.has(SubgroupOp::ShuffleXor), build: |b, out| b.butterfly(out), ..ROW },
    // Values exchanged in quads.
    Row {
        weight: Weight::of(4),
        fits: |b| b.has(SubgroupOp::QuadSwapDiagonal),
        build: |b, out| b.quad_exchange(out),
        ..ROW
    },
    // The extreme of each cluster, which its first lane takes.
    Row {
        weight: Weight::of(3),
        fits: |b| b.has(SubgroupOp::Clustered(Fold::Max)),
        build: |b, out| b.max_pooling(out),
        ..ROW
    },
    // One lane after another, lowest first.
    Row {
        weight: Weight::of(6),
        fits: |b| b.exact_maximal() && b.has_loop(3),
        build: |b, out| b.lane_by_lane(out),
        ..ROW
    },
    // Ballot, operation, ballot: what the observed-tangle checks want.
    Row { weight: Weight::of(3), fits: |b| b.has(SubgroupOp::Ballot), build: |b, out| b.sandwich(out), ..ROW },
    // A value that a loop sets only for the lanes that leave by one of its exits.
    Row {
        weight: Weight::with(7, &[(Profile::Loops, 200)]),
        fits: |b| b.has_loop(3),
        build: |b, out| b.exit_value(out),
        ..ROW
    },
    // Short-circuit operators with operations on their right.
    Row {
        weight: Weight::of(8),
        fits: |b| b.frame.flow.tolerates_choices() && b.has(SubgroupOp::Any),
        build: |b, out| b.short_circuit(out),
        ..ROW
    },
    // Where a key is known, operations whose operand has to be uniform.
    Row { weight: Weight::of(5), fits: |b| b.has_uniform_operands(), build: |b, out| b.keyed(out), ..ROW },
    // Values exchanged through memory between lanes that a subgroup barrier orders.
    Row {
        weight: Weight::of(5),
        fits: |b| b.may_exchange_in_subgroup(),
        build: |b, out| b.subgroup_exchange(out),
        ..ROW
    },
    // A resource chosen by an index that is the same where it is used, and is something else in the other lanes.
    Row { weight: Weight::of(4), fits: |b| b.has_resources(), build: |b, out| b.descriptor(out), ..ROW },
    // Loads by variable indices from a buffer that nothing writes, in the arms of branches.
    Row { weight: Weight::of(5), fits: |b| !b.data.inputs.is_empty(), build: |b, out| b.guarded_loads(out), ..ROW },
    // More live values than registers, through a loop that lanes leave one by one.
    Row {
        weight: Weight::of(3),
        fits: |b| b.has_loop(3) && b.frame.affords(PRESSURE) && b.frame.vars.len() < MOST_VARIABLES,
        build: |b, out| b.pressure(out),
        ..ROW
    },
    // `for (;;)` without a counter, which all lanes leave by what they have of their own.
    Row { weight: Weight::of(7), fits: |b| b.has_loop(32), build: |b, out| b.endless(out), ..ROW },
    // A loop of tens of thousands of iterations that only sum something up.
    Row { weight: Weight::of(3), fits: |b| b.may_run_long() && b.has_loop(1), build: |b, out| b.long_sum(out), ..ROW },
    // A loop of one trip in which comparisons choose a vector and an index its elements.
    Row { weight: Weight::of(3), fits: |b| b.has_loop(1), build: |b, out| b.chosen_index(out), ..ROW },
];
