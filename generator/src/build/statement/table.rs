//! The table of statements.

use tangle_program::subgroup::SubgroupOp;

use crate::build::Builder;
use crate::build::row::{ROW, Row};
use crate::profile::Profile;
use crate::weights::Weight;

/// What is long stands in loops of so many iterations at most.
const FEW_TRIPS: u32 = 4;

/// A statement with others in it. Deep nests are rare, so that their insides are reached.
const NEST: Row = Row { share: room_for_nests, ..ROW };

fn room_for_nests(b: &Builder<'_>) -> (u32, u32) {
    (b.size.depth.saturating_sub(b.frame.opens.len() as u32), b.size.depth)
}

/// The first is what an exhausted source gives; it and the second are in every case.
pub(super) const STATEMENTS: &[Row] = &[
    // An assignment of a lane's own data.
    Row { weight: Weight::of(12), build: |b, out| b.assignment(out), ..ROW },
    // A subgroup operation, its result kept and perhaps logged. Where nothing exact is seen: some, for the checks of observed tangles.
    Row {
        weight: Weight::with(24, &[(Profile::Ops, 400), (Profile::Shapes, 200)]),
        share: |b| match (b.frame.flow.is_exact(), b.is_maximal()) {
            (false, _) => (1, 3),
            (true, false) => (3, 2),
            (true, true) => (1, 1),
        },
        build: |b, out| b.operation_statement(out),
        ..ROW
    },
    // An `if`.
    Row { weight: Weight::of(15), build: |b, out| b.if_statement(out), ..NEST },
    // A `switch`.
    Row {
        weight: Weight::with(6, &[(Profile::Loops, 50), (Profile::Switch, 700)]),
        build: |b, out| b.switch_statement(out),
        ..NEST
    },
    // A loop of one of the forms.
    Row {
        weight: Weight::with(11, &[(Profile::Loops, 250), (Profile::Ops, 30), (Profile::Shapes, 50)]),
        fits: |b| b.affordable_trips() >= 2,
        build: |b, out| b.loop_statement(out),
        ..NEST
    },
    // A call.
    Row {
        weight: Weight::with(7, &[(Profile::Ops, 30), (Profile::Calls, 500)]),
        fits: |b| b.can_call(),
        build: |b, out| b.call_statement(out),
        ..ROW
    },
    // One of the templates.
    Row {
        weight: Weight::with(20, &[(Profile::Ops, 50), (Profile::Switch, 50), (Profile::Idioms, 800)]),
        build: |b, out| b.template(out),
        ..NEST
    },
    // A subgroup barrier.
    Row { weight: Weight::of(2), fits: |b| b.has(SubgroupOp::Barrier), build: |b, out| b.barrier(out), ..ROW },
    // A log of the tangle itself.
    Row {
        weight: Weight::with(4, &[(Profile::Shapes, 400)]),
        share: |b| if b.frame.flow.is_exact() { (1, 1) } else { (1, 3) },
        build: |b, out| b.witness(out),
        ..ROW
    },
    // A break, continue or return in one of its shapes.
    Row {
        weight: Weight::with(8, &[(Profile::Loops, 200), (Profile::Switch, 150), (Profile::Calls, 200)]),
        fits: |b| b.can_exit(),
        build: |b, out| b.exit(out),
        ..ROW
    },
    // A write and a read of elements of an array, matrix, struct or vector.
    Row { weight: Weight::of(7), fits: |b| b.weights.aggregates > 0, build: |b, out| b.element_statement(out), ..ROW },
    // Something that the compiler may assume.
    Row { weight: Weight::of(3), fits: |b| b.weights.hints > 0, build: |b, out| b.assumption(out), ..ROW },
    // Numbers or operations of several types in a row.
    Row { weight: Weight::of(4), fits: |b| b.frame.trips <= FEW_TRIPS, build: |b, out| b.series(out), ..ROW },
    // In a loop, variables that exchange what they hold.
    Row { weight: Weight::of(9), fits: |b| b.frame.in_loop(), build: |b, out| b.rotation(out), ..ROW },
    // A variable for operands that have to be uniform.
    Row { weight: Weight::of(5), fits: |b| b.has_uniform_operands(), build: |b, out| b.uniform_variable(out), ..ROW },
];
