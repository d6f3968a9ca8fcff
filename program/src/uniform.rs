//! Which expressions have one value for all the lanes that evaluate them together.
//!
//! The lane of `subgroupBroadcast`, the delta of `subgroupRotate` and the mask of `subgroupInverseBallot` must be equal over the
//! tangle that executes the operation; otherwise the behaviour is undefined (semantics.md §1.10). Which lanes that may be depends on
//! the tier (§3.7, "UB hygiene"), so what counts is visible in the expression itself, never in a variable: constants, words of the
//! uniform buffer and of the push constants, and, where tangles are [`Tangles::Exact`], the results that a subgroup operation gives
//! to all of its lanes.

use crate::ops::BinaryOp;
use crate::subgroup::SubgroupOp;
use crate::tree::{Expr, SubgroupCall};

/// How much is known about tangles where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tangles {
    /// The operations of one expression run in one and the same tangle: tier maximal, not inside a switch.
    Exact,
    /// A tangle may be larger than the one of the operation before: the weaker tiers, and the segments of a switch.
    Loose,
}

/// True if every lane of the tangle that evaluates the expression gets the same value. May say false of one that is uniform too.
pub fn is_uniform(expr: &Expr, tangles: Tangles) -> bool {
    match expr {
        Expr::Bool(_)
        | Expr::Int(_)
        | Expr::Uint(_)
        | Expr::Float(..)
        | Expr::Uniform(_)
        | Expr::Push(_)
        | Expr::Constant(_) => true,
        Expr::Var(_) | Expr::Builtin(_) | Expr::Input(_) | Expr::Load(_) => false,
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Component(x, _) => is_uniform(x, tangles),
        // These evaluate some operands with a part of the lanes.
        Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) | Expr::Select(..) => false,
        Expr::Binary(_, x, y) | Expr::Element(x, y) => is_uniform(x, tangles) && is_uniform(y, tangles),
        Expr::Intrinsic(_, args) | Expr::Vector(_, args) => args.iter().all(|arg| is_uniform(arg, tangles)),
        Expr::Subgroup(call) => tangles == Tangles::Exact && gives_all_the_same(call),
    }
}

fn gives_all_the_same(call: &SubgroupCall) -> bool {
    let uniform = |arg: &Expr| is_uniform(arg, Tangles::Exact);
    match call.op {
        SubgroupOp::All
        | SubgroupOp::Any
        | SubgroupOp::AllEqual
        | SubgroupOp::BroadcastFirst
        | SubgroupOp::Ballot
        | SubgroupOp::Reduce(_) => true,
        // One source lane, which the operand names.
        SubgroupOp::Broadcast | SubgroupOp::Shuffle => call.args.get(1).is_some_and(uniform),
        // The same function of the same mask; the scans depend on the lane besides.
        SubgroupOp::BallotBitCount
        | SubgroupOp::BallotBitExtract
        | SubgroupOp::BallotFindLsb
        | SubgroupOp::BallotFindMsb => call.args.iter().all(uniform),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subgroup::Fold;
    use crate::tree::Builtin;

    #[test]
    fn uniform_table() {
        let lane = || Expr::Builtin(Builtin::Lane);
        let first = || Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]);
        let ballot = || Expr::subgroup(SubgroupOp::Ballot, [Expr::binary(BinaryOp::Lt, lane(), Expr::Uint(3))]);
        let plus = |x, y| Expr::binary(BinaryOp::Add, x, y);
        for (expr, exact, loose) in [
            (Expr::Uint(3), true, true),
            (plus(Expr::Uniform(0), Expr::Push(1)), true, true),
            (Expr::Constant(0), true, true),
            (Expr::Input(0), false, false),
            (Expr::Var(0), false, false),
            (lane(), false, false),
            (first(), true, false),
            (plus(first(), Expr::Uint(1)), true, false),
            (plus(first(), lane()), false, false),
            (ballot(), true, false),
            (Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [lane()]), true, false),
            (Expr::subgroup(SubgroupOp::Inclusive(Fold::Add), [Expr::Uint(1)]), false, false),
            (Expr::subgroup(SubgroupOp::Elect, []), false, false),
            (Expr::subgroup(SubgroupOp::BallotBitCount, [ballot()]), true, false),
            (Expr::subgroup(SubgroupOp::BallotInclusiveBitCount, [ballot()]), false, false),
            (Expr::subgroup(SubgroupOp::Shuffle, [lane(), first()]), true, false),
            (Expr::subgroup(SubgroupOp::Shuffle, [Expr::Uint(1), lane()]), false, false),
            (Expr::binary(BinaryOp::And, Expr::Bool(true), Expr::Bool(true)), false, false),
            (Expr::binary(BinaryOp::Xor, Expr::Bool(true), Expr::Bool(true)), true, true),
            (Expr::Select(Box::new(Expr::Bool(true)), Box::new(first()), Box::new(first())), false, false),
        ] {
            assert_eq!(is_uniform(&expr, Tangles::Exact), exact, "{expr:?}");
            assert_eq!(is_uniform(&expr, Tangles::Loose), loose, "{expr:?}");
        }
    }
}
