//! Which expressions have one value for all the lanes that evaluate them together.
//!
//! The lane of `subgroupBroadcast`, the delta of `subgroupRotate` and the mask of `subgroupInverseBallot` must be equal over the
//! tangle that executes the operation; otherwise the behaviour is undefined (rule P6). Which lanes that may be depends on
//! the tier (rule P6). Uniform by themselves are constants, words of the uniform buffer and of the push constants, and, where tangles are
//! [`Tangles::Exact`], the results that a subgroup operation gives to all of its lanes. Others are so at a place ([`Here`]): a variable
//! that a uniform value was assigned to, and what a condition around the place compared with one.

use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::Uniform;
use tangle_program::tree::{Expr, SubgroupCall, VarId};

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
    /// Nowhere that is known: lanes may get different values.
    Varying,
    /// Where tangles are [`Tangles::Exact`].
    InExactTangles,
    /// Whatever the tangles are.
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
            // Lanes of a subgroup may be of several triangles.
            Expr::Flat(_) => Uniformity::Varying,
            Expr::Var(_) | Expr::Builtin(_) | Expr::Input(_) | Expr::Load(_) => Uniformity::Varying,
            Expr::Unary(..) | Expr::Cast(..) | Expr::Component(..) | Expr::Resource(_) | Expr::InputOf(..) => all(1),
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

/// What assignments and conditions make uniform at a place, beside what is uniform by itself.
///
/// A variable is as uniform as the value of the one assignment that reaches the place: every lane that comes there executed it.
/// In the first arm of `if (x == y)` with a uniform `y`, `x` is `y` in every lane. Both hold for less lanes, too, so in what is nested
/// in the place; they end where a variable is written that they speak of. What is known [in exact tangles](Tangles::Exact) holds on
/// because, outside of switches, the tangle of a later statement of the same iteration has no lane that the earlier one did not have. The
/// next iteration has none, either: what each iteration assigns, all of its lanes together, it holds there, too ([`Here::carrying`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Here {
    expressions: Vec<(Expr, Uniformity)>,
}

impl Here {
    /// How uniform an expression is here, by what is known of the whole of it.
    pub(crate) fn of(&self, expr: &Expr) -> Uniformity {
        let known = self.expressions.iter().filter(|(known, _)| known == expr);
        known.map(|(_, uniformity)| *uniformity).max().unwrap_or(Uniformity::Varying)
    }

    /// A variable gets a value that is this uniform, where so much is known of tangles.
    pub(crate) fn assign(&mut self, var: VarId, uniformity: Uniformity, tangles: Tangles) {
        self.forget(&[var]);
        self.learn(Expr::Var(var), uniformity, tangles);
    }

    /// These variables are written, in some way.
    pub(crate) fn forget(&mut self, written: &[VarId]) {
        let mentions = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Var(var) if written.contains(var)));
        self.expressions.retain(|(expr, _)| !mentions(expr));
    }

    /// Which of these variables are uniform.
    pub(crate) fn variables(&self, among: &[VarId]) -> Vec<VarId> {
        let of = |(expr, _): &(Expr, Uniformity)| if let Expr::Var(var) = expr { Some(*var) } else { None };
        self.expressions.iter().filter_map(of).filter(|var| among.contains(var)).collect()
    }

    /// What is known in every iteration of a loop that writes variables, of which some stay uniform as it goes on: in exact tangles, since lanes
    /// of several iterations may come together in others.
    pub(crate) fn carrying(&self, written: &[VarId], carried: &[VarId]) -> Here {
        let mut inside = self.clone();
        inside.forget(written);
        carried.iter().for_each(|var| inside.learn(Expr::Var(*var), Uniformity::InExactTangles, Tangles::Exact));
        inside
    }

    /// A condition holds, `of` telling how uniform what it compares is.
    pub(crate) fn assume(&mut self, cond: &Expr, tangles: Tangles, of: &dyn Fn(&Expr) -> Uniformity) {
        match cond {
            Expr::Binary(BinaryOp::Eq, x, y) => {
                for (x, y) in [(x, y), (y, x)] {
                    if stays(x) {
                        self.learn((**x).clone(), of(y), tangles);
                    }
                }
            }
            Expr::Binary(BinaryOp::And, x, y) => [x, y].into_iter().for_each(|part| self.assume(part, tangles, of)),
            // Its value is that of the first operand.
            Expr::Intrinsic(Intrinsic::Expect, args) => {
                args.iter().take(1).for_each(|arg| self.assume(arg, tangles, of))
            }
            _ => {}
        }
    }

    fn learn(&mut self, expr: Expr, uniformity: Uniformity, tangles: Tangles) {
        if uniformity.holds_in(tangles) && uniformity > Uniformity::Varying {
            self.expressions.push((expr, uniformity));
        }
    }
}

/// True if the expression keeps its value as long as its variables do. Equal floats may be zeros of either sign.
fn stays(expr: &Expr) -> bool {
    !expr.any(&mut |part| {
        matches!(part, Expr::Subgroup(_) | Expr::Load(_) | Expr::Float(..))
            || matches!(part, Expr::Cast(to, _) if to.is_float())
    })
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
    use tangle_program::types::Scalar;

    /// What a condition and assignments make uniform, and what ends it.
    #[test]
    fn uniform_here_table() {
        use Uniformity::{Everywhere, InExactTangles, Varying};
        let var = Expr::Var;
        let eq = |x, y| Expr::binary(BinaryOp::Eq, x, y);
        let and = |x, y| Expr::binary(BinaryOp::And, x, y);
        let low = |x| Expr::binary(BinaryOp::BitAnd, x, Expr::Uint(3));
        let first = |x| Expr::subgroup(SubgroupOp::BroadcastFirst, [x]);
        let expected = |x| Expr::Intrinsic(Intrinsic::Expect, vec![x, Expr::Bool(true)]);
        let float = |x| Expr::Cast(Scalar::Float, Box::new(x));
        for (cond, expr, exact, loose) in [
            (eq(var(0), Expr::Uint(2)), var(0), Everywhere, Everywhere),
            (eq(Expr::Push(0), var(0)), var(0), Everywhere, Everywhere),
            (eq(low(Expr::Input(0)), Expr::Uniform(1)), low(Expr::Input(0)), Everywhere, Everywhere),
            // Only the whole of what was compared.
            (eq(low(Expr::Input(0)), Expr::Uniform(1)), Expr::Input(0), Varying, Varying),
            (eq(var(0), first(var(0))), var(0), InExactTangles, Varying),
            (eq(var(0), var(1)), var(0), Varying, Varying),
            (and(eq(var(0), Expr::Uint(2)), eq(var(1), first(var(1)))), var(1), InExactTangles, Varying),
            (expected(eq(var(0), Expr::Uint(2))), var(0), Everywhere, Everywhere),
            (Expr::binary(BinaryOp::Ne, var(0), Expr::Uint(2)), var(0), Varying, Varying),
            (Expr::binary(BinaryOp::Or, eq(var(0), Expr::Uint(2)), Expr::Bool(true)), var(0), Varying, Varying),
            // Zeros of both signs are equal.
            (eq(float(var(0)), float(Expr::Uint(0))), float(var(0)), Varying, Varying),
        ] {
            for (tangles, uniformity) in [(Tangles::Exact, exact), (Tangles::Loose, loose)] {
                let mut here = Here::default();
                here.assume(&cond, tangles, &Uniformity::of);
                assert_eq!(here.of(&expr), uniformity, "{cond:?} {expr:?} {tangles:?}");
                here.forget(&[0, 1]);
                let reads = expr.any(&mut |part| matches!(part, Expr::Var(_)));
                assert_eq!(
                    here.of(&expr),
                    if reads { Varying } else { uniformity },
                    "{cond:?} {expr:?}, after a write"
                );
            }
        }
        let mut here = Here::default();
        here.assign(0, Everywhere, Tangles::Loose);
        assert_eq!(here.of(&var(0)), Everywhere);
        here.assign(0, InExactTangles, Tangles::Loose);
        assert_eq!(here.of(&var(0)), Varying, "another tangle than that of the operation");
        here.assign(0, InExactTangles, Tangles::Exact);
        assert_eq!(here.of(&var(0)), InExactTangles);
    }

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
            (Expr::Flat(0), false, false),
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
