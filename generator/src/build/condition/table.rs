//! The table of conditions.

use tangle_program::ops::UnaryOp;
use tangle_program::tree::Expr;
use tangle_program::types::Type;

use crate::build::Builder;
use crate::build::cond::Cond;
use crate::build::frame::Source;
use crate::class::Class;
use crate::profile::Profile;
use crate::weights::Weight;

/// A kind of condition.
pub(super) struct Condition {
    /// How often it is chosen.
    pub(super) weight: Weight,
    /// Writes a condition of this kind.
    pub(super) build: fn(&mut Builder<'_>) -> Cond,
}

/// The first is in every case.
pub(super) const CONDITIONS: &[Condition] = &[
    // Some bits of a word.
    Condition { weight: Weight::of(26), build: |b| b.bits() },
    // A comparison of small fields.
    Condition { weight: Weight::of(14), build: |b| b.compare() },
    // Of the number of the lane.
    Condition { weight: Weight::of(10), build: |b| b.lanes() },
    // Of the iteration.
    Condition { weight: Weight::with(12, &[(Profile::Loops, 200)]), build: |b| b.iteration_or_bits() },
    // A bool.
    Condition {
        weight: Weight::of(6),
        build: |b| match b.variable(Type::BOOL, Class::Clean) {
            Some(var) => Cond::new(Expr::Var(var), Source::Var(var)),
            None => b.bits(),
        },
    },
    // One that is the same everywhere.
    Condition { weight: Weight::of(6), build: |b| Cond::uniform(b.uniform_condition()) },
    // A vote.
    Condition { weight: Weight::of(12), build: |b| if b.frame.flow.is_exact() { b.vote() } else { b.compare() } },
    // Two of them.
    Condition { weight: Weight::of(9), build: |b| b.join() },
    // The opposite.
    Condition {
        weight: Weight::of(3),
        build: |b| {
            let cond = b.condition();
            Cond { expr: Expr::unary(UnaryOp::Not, cond.expr), ..cond }
        },
    },
];
