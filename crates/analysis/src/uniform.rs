//! Which expressions have one value for all the lanes that evaluate them together.
//!
//! The lane of `subgroupBroadcast`, the delta of `subgroupRotate` and the mask of `subgroupInverseBallot` must be equal over the
//! tangle that executes the operation; otherwise the behaviour is undefined (rule P6). Which lanes that may be depends on
//! the tier (rule P6), so what counts is visible in the expression itself, never in a variable: constants, words of the
//! uniform buffer and of the push constants, and, where tangles are [`Tangles::Exact`], the results that a subgroup operation gives
//! to all of its lanes.

use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::Uniform;
use tangle_program::tree::{Expr, SubgroupCall};

/// How much is known about tangles where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tangles {
    /// The operations of one expression run in one and the same tangle: tier maximal, not inside a switch.
    Exact,
    /// A tangle may be larger than the one of the operation before: the weaker tiers, and the segments of a switch.
    Loose,
}

/// Where every lane of the tangle that evaluates an expression gets the same value. What varies, comes first. It may say less than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uniformity {
    /// Not known.
    Varying,
    /// Where tangles are [`Tangles::Exact`].
    InExactTangles,
    /// Everywhere.
    Everywhere,
}

impl Uniformity {
    /// True if all lanes get the same where so much is known of tangles.
    pub fn holds_in(self, tangles: Tangles) -> bool {
        match tangles {
            Tangles::Exact => self >= Uniformity::InExactTangles,
            Tangles::Loose => self == Uniformity::Everywhere,
        }
    }

    /// That of an expression, `of` being those of its operands, by their numbers.
    pub(crate) fn from(expr: &Expr, of: impl Fn(usize) -> Uniformity) -> Uniformity {
        let all = |count: usize| (0..count).map(&of).min().unwrap_or(Uniformity::Everywhere);
        match expr {
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_) => Uniformity::Everywhere,
            Expr::Var(_) | Expr::Builtin(_) | Expr::Input(_) | Expr::Load(_) => Uniformity::Varying,
            Expr::Unary(..) | Expr::Cast(..) | Expr::Component(..) => all(1),
            // These evaluate some operands with a part of the lanes.
            Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) | Expr::Select(..) => Uniformity::Varying,
            Expr::Binary(..) | Expr::Element(..) => all(2),
            Expr::Intrinsic(_, args) | Expr::Vector(_, args) => all(args.len()),
            Expr::Subgroup(call) if gives_all_the_same(call, |i| of(i).holds_in(Tangles::Exact)) => {
                Uniformity::InExactTangles
            }
            Expr::Subgroup(_) => Uniformity::Varying,
        }
    }

    fn of(expr: &Expr) -> Uniformity {
        Uniformity::from(expr, |i| expr.operands().nth(i).map_or(Uniformity::Varying, Uniformity::of))
    }
}

/// True if every lane of the tangle that evaluates the expression gets the same value. May say false of one that is uniform too.
pub fn is_uniform(expr: &Expr, tangles: Tangles) -> bool {
    Uniformity::of(expr).holds_in(tangles)
}

/// `uniform` says of an operand, by its number, whether it is.
fn gives_all_the_same(call: &SubgroupCall, uniform: impl Fn(usize) -> bool) -> bool {
    match call.op.info().uniform {
        Uniform::Always => true,
        Uniform::BySecond => call.args.len() > 1 && uniform(1),
        Uniform::ByAll => (0..call.args.len()).all(uniform),
        Uniform::No => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::subgroup::{Fold, SubgroupOp};
    use tangle_program::tree::Builtin;

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
