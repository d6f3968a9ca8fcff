//! Which floating-point values every device computes alike: a float expression of a valid program has an [`Extent`].
//!
//! The specifications leave most floating-point results open: rounding, the order of sums, contraction, rearrangement of expressions,
//! denormals, infinities, the sign of zero (rules P7, P8, F1 and F5). None of these matters to a result that is exact in whatever order
//! it is computed. So the numbers of a program stay in a corner where all of them are.
//!
//! # Lattice
//!
//! An extent `(most, grain)` says of an expression over leaves `l` (variables, conversions, results of functions and subgroup operations):
//! multiplied out into a signed sum of products of leaves, each product is a multiple of `2^grain`, and the absolute values of the
//! products add up to at most `most`. Its *units* are `most / 2^grain`.
//!
//! | expression | most | grain |
//! |---|---|---|
//! | `x + y`, `x - y` | sum | smaller one |
//! | `x * y` | product | sum |
//! | `-x`, `abs(x)`, a component, a value from another lane | that of `x` | that of `x` |
//! | `c ? x : y`, `min`, `max`, a vector | larger one | smaller one |
//! | `clamp(x, lo, hi)` | the larger bound, at most that of `x` | smallest |
//! | `floor`, `ceil`, `trunc` | rounded up | 0 |
//! | sum over `n` lanes | `n` times | same |
//! | `dFdx`, `dFdy`; `fwidth` | 2 times; 4 times | same |
//! | product over `n` lanes | power | `n` times |
//! | a conversion from an integer | its range ([`crate::bounds`]) | 0 |
//!
//! # Why that is enough
//!
//! Let units be at most `2^(p-1)` for a significand of `p` bits, and `most` no larger than the type's greatest power of
//! two. Every intermediate result of any order of evaluation and of any rearrangement by the laws of rings is a sum of some
//! of the products, or of factors of them; factors of a non-zero product have no more units than it has. So each is a
//! multiple of its grain by at most `2^p`, neither denormal nor too large: representable, and correct rounding gives it as it
//! is, fused or not. The spare bit admits one addition that is moved through a `min`, `max` or `clamp`. Moving values between
//! lanes, comparing and converting them is exact besides.
//!
//! Double-precision instructions need no more than the precision of single ones (Vulkan, "Precision and Operation of SPIR-V
//! Instructions"), so `double` has `p = 24`, too.
//!
//! A variable has the extent of its type, and what is stored to it must be within that: so nothing needs to be known of what runs before. So
//! do the parts of a nested aggregate, whose types may be several.

use crate::bounds::Scope;
pub use crate::extent::Extent;
use crate::info::ExprInfo;
use crate::interval::Interval;
use tangle_program::case::SubgroupSize;
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, Gives, MAX_SUBGROUP_SIZE};
use tangle_program::tree::{Expr, SubgroupCall};
use tangle_program::types::Scalar;

impl Scope<'_> {
    /// The extent of a float expression, or of the components of a vector, `operands` being what is known of its operands; `None` if it
    /// has none, because something in it may be inexact or is no float.
    pub(crate) fn extent_from(&self, expr: &Expr, scalar: Scalar, operands: &[ExprInfo]) -> Option<Extent> {
        if !scalar.is_float() {
            return None;
        }
        if expr.is_preserved() {
            // It may be anything.
            return None;
        }
        let of = |i: usize| operands.get(i)?.extent;
        let extent = match expr {
            Expr::Float(_, quarters) => {
                let grain = quarters.trailing_zeros() as i32 - 2;
                Extent { most: f64::from(quarters.unsigned_abs()) / 4.0, grain }
            }
            Expr::Var(_) => Extent::of_variables(scalar),
            Expr::Element(..) if operands.first().is_some_and(ExprInfo::is_nested) => Extent::of_variables(scalar),
            Expr::Unary(..) | Expr::Component(..) | Expr::Element(..) => of(0)?,
            Expr::Binary(op, ..) => match op {
                BinaryOp::Add | BinaryOp::Sub => of(0)?.plus(of(1)?),
                BinaryOp::Mul => of(0)?.times(of(1)?),
                _ => return None,
            },
            Expr::Select(..) => of(1)?.or(of(2)?),
            Expr::Cast(..) => match operands.first()? {
                x if x.scalar() == Scalar::Bool => Extent::integers(1.0),
                x if x.scalar().is_float() => x.extent?,
                x => Extent::integers(magnitude(x.range)),
            },
            Expr::Intrinsic(Intrinsic::Mix, _) => of(0)?.or(of(1)?),
            Expr::Intrinsic(op, _) => {
                let first = of(0)?;
                let rest = all(operands.get(1..)?)?;
                match (op, rest) {
                    (Intrinsic::Clamp, Some(bounds)) => {
                        Extent { most: first.most.min(bounds.most), ..first.or(bounds) }
                    }
                    (Intrinsic::Sign, _) => Extent::integers(1.0),
                    (Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc, _) => Extent::integers(first.most.ceil()),
                    _ => rest.map_or(first, |rest| first.or(rest)),
                }
            }
            Expr::Vector(..) => all(operands)??,
            Expr::Subgroup(call) => self.extent_of_call(call, of(0)?)?,
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Builtin(_)
            | Expr::Input(_)
            | Expr::InputOf(..)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_)
            | Expr::Load(_)
            | Expr::Resource(_) => return None,
        };
        extent.is_exact(scalar).then_some(extent)
    }

    fn extent_of_call(&self, call: &SubgroupCall, value: Extent) -> Option<Extent> {
        if call.op.info().gives != Gives::Same {
            return None;
        }
        let lanes = match self.entry_point().subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => MAX_SUBGROUP_SIZE,
        };
        // The identities of scans: zero, one, and infinities, which are undefined (`SubgroupOp::starts_infinite`).
        let folded = call.op.fold().map(|fold| value.folded(fold, call.cluster.unwrap_or(lanes)));
        Some(folded.unwrap_or_else(|| value.folded(Fold::Add, call.op.terms())))
    }
}

/// The extent that covers all of these; `None` if one of them has none, and in it `None` if there are none.
fn all(operands: &[ExprInfo]) -> Option<Option<Extent>> {
    operands.iter().try_fold(None::<Extent>, |all, operand| {
        let extent = operand.extent?;
        Some(Some(all.map_or(extent, |all| all.or(extent))))
    })
}

/// The largest absolute value of an interval.
fn magnitude(range: Interval) -> f64 {
    range.lo.unsigned_abs().max(range.hi.unsigned_abs()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::case::{Data, EntryPoint, SpirvVersion};
    use tangle_program::ops::UnaryOp;
    use tangle_program::subgroup::Fold;
    use tangle_program::subgroup::SubgroupOp;
    use tangle_program::tree::{Builtin, Function, Local};
    use tangle_program::types::Type;

    const SIZES: [SubgroupSize; 2] = [SubgroupSize::Default, SubgroupSize::Required(8)];

    /// The extent by the sizes of the subgroup: unknown, or 8. Variable `k` is a vector of the `k`-th float type.
    fn extents(expr: &Expr) -> [Option<(f64, i32)>; 2] {
        let local = |scalar| Local::new("x", Type::vector(scalar, 2));
        let locals = [Scalar::Float16, Scalar::Float, Scalar::Double].map(local).into();
        let function = Function { name: "main".into(), params: vec![], result: None, locals, body: vec![] };
        SIZES.map(|subgroup_size| {
            let compute = EntryPoint::compute([8, 1, 1], [1, 1, 1], SpirvVersion::V1_3);
            let entry_point = EntryPoint { subgroup_size, ..compute };
            let data = Data::default();
            let scope = Scope::unfinished(&function, &entry_point, &data);
            scope.info(expr).extent.map(|extent| (extent.most, extent.grain))
        })
    }

    #[test]
    fn extents_table() {
        use BinaryOp::{Add, Mul, Sub};
        let (half, float, double) = (Expr::Var(0), Expr::Var(1), Expr::Var(2));
        let small = |scalar, most| {
            Expr::Cast(
                scalar,
                Box::new(Expr::binary(BinaryOp::BitAnd, Expr::Builtin(Builtin::SubgroupId), Expr::Uint(most))),
            )
        };
        let literal = |quarters| Expr::Float(Scalar::Float, quarters);
        let op = |op, x: &Expr| Expr::subgroup(op, [x.clone()]);
        let clustered = |fold, x: Expr, cluster| {
            Expr::Subgroup(SubgroupCall { op: SubgroupOp::Clustered(fold), args: vec![x], cluster: Some(cluster) })
        };
        let call = |op, args: &[&Expr]| Expr::Intrinsic(op, args.iter().map(|&arg| arg.clone()).collect());
        let bin = |x: &Expr, op, y: &Expr| Expr::binary(op, x.clone(), y.clone());
        let both = |most, grain| [Some((most, grain)); 2];
        for (expr, want) in [
            (literal(8), both(2.0, 1)),
            (literal(-6), both(1.5, -1)),
            (half.clone(), both(128.0, -2)),
            (bin(&half, Add, &half), both(256.0, -2)),
            (bin(&bin(&half, Add, &half), Sub, &half), [None; 2]),
            (bin(&half, Mul, &small(Scalar::Float16, 2)), both(256.0, -2)),
            (bin(&half, Mul, &half), [None; 2]),
            (bin(&float, Mul, &float), [None; 2]),
            (bin(&float, Mul, &literal(1)), both(4096.0, -4)),
            (bin(&double, Add, &double), both(2_097_152.0, -2)),
            (bin(&double, Mul, &double), [None; 2]),
            (Expr::unary(UnaryOp::Neg, float.clone()), both(16_384.0, -2)),
            (small(Scalar::Float, 15), both(15.0, 0)),
            (Expr::Cast(Scalar::Float, Box::new(Expr::Input(0))), [None; 2]),
            (Expr::Cast(Scalar::Float16, Box::new(float.clone())), [None; 2]),
            (Expr::Cast(Scalar::Double, Box::new(float.clone())), both(16_384.0, -2)),
            (Expr::Cast(Scalar::Float, Box::new(Expr::Bool(true))), both(1.0, 0)),
            (call(Intrinsic::Floor, &[&half]), both(128.0, 0)),
            (call(Intrinsic::Sign, &[&half]), both(1.0, 0)),
            (call(Intrinsic::Abs, &[&half]), both(128.0, -2)),
            (call(Intrinsic::Max, &[&float, &literal(1)]), both(16_384.0, -2)),
            (call(Intrinsic::Clamp, &[&float, &literal(-8), &literal(28)]), both(7.0, -2)),
            (op(SubgroupOp::BroadcastFirst, &half), both(128.0, -2)),
            (op(SubgroupOp::Reduce(Fold::Add), &float), [Some((2_097_152.0, -2)), Some((131_072.0, -2))]),
            (op(SubgroupOp::Reduce(Fold::Add), &half), [None; 2]),
            (op(SubgroupOp::Inclusive(Fold::Add), &small(Scalar::Float16, 7)), [Some((896.0, 0)), Some((56.0, 0))]),
            (op(SubgroupOp::Reduce(Fold::Min), &half), both(128.0, -2)),
            (op(SubgroupOp::Reduce(Fold::Mul), &small(Scalar::Float, 1)), both(1.0, 0)),
            (op(SubgroupOp::Reduce(Fold::Mul), &small(Scalar::Float, 3)), [None, Some((6561.0, 0))]),
            (clustered(Fold::Mul, small(Scalar::Float16, 3), 4), both(81.0, 0)),
            // As large as 2^256: one unit, and no float.
            (op(SubgroupOp::Reduce(Fold::Mul), &literal(16)), [None, Some((65_536.0, 16))]),
            (op(SubgroupOp::Reduce(Fold::Mul), &Expr::Float(Scalar::Float16, 16)), [None; 2]),
            (clustered(Fold::Add, half.clone(), 2), both(256.0, -2)),
            (op(SubgroupOp::AllEqual, &half), [None; 2]),
            (op(SubgroupOp::DFdxFine, &float), both(32_768.0, -2)),
            (op(SubgroupOp::Fwidth, &float), both(65_536.0, -2)),
        ] {
            assert_eq!(extents(&expr), want, "{expr:?}");
        }
    }

    /// All that variables can hold can be logged, converted to int, and added.
    #[test]
    fn variables_have_room() {
        for scalar in [Scalar::Float16, Scalar::Float, Scalar::Double] {
            let variable = Extent::of_variables(scalar);
            assert!(variable.plus(variable).is_exact(scalar), "{}", scalar.name());
            assert!(variable.most < f64::from(i32::MAX));
        }
    }
}
