//! Which floating-point values every device computes alike: a float expression of a valid program has an [`Extent`].
//!
//! The specifications leave most floating-point results open: rounding, the order of sums, contraction, rearrangement of expressions,
//! denormals, infinities, the sign of zero (semantics.md §1.6, §5.2). None of these matters to a result that is exact in whatever order
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
//! | product over `n` lanes | power | `n` times |
//! | a conversion from an integer | its range ([`crate::bounds`]) | 0 |
//!
//! # Why that is enough
//!
//! Let units be at most `2^(p-1)` for a significand of `p` bits. Every intermediate result of any order of evaluation and of any
//! rearrangement by the laws of rings is a sum of some of the products, or of factors of them; factors of a non-zero product have no
//! more units than it has. So each is a multiple of its grain by at most `2^p`, neither denormal nor too large: representable, and correct
//! rounding gives it as it is, fused or not. The spare bit admits one addition that is moved through a `min`, `max` or `clamp`. Moving
//! values between lanes, comparing and converting them is exact besides.
//!
//! Double-precision instructions need no more than the precision of single ones (Vulkan, "Precision and Operation of SPIR-V
//! Instructions"), so `double` has `p = 24`, too.
//!
//! A variable has the extent of its type, and what is stored to it must be within that: so nothing needs to be known of what runs before.

use crate::bounds::{Interval, MAX_SUBGROUP_SIZE, Scope};
use crate::case::SubgroupSize;
use crate::ops::{BinaryOp, Intrinsic};
use crate::subgroup::{Fold, Gives, SubgroupOp};
use crate::tree::{Expr, SubgroupCall};
use crate::types::{Scalar, Type};

/// The least grain: far from the denormals of `float16_t`.
const LEAST_GRAIN: i32 = -10;

/// How large and how fine the values of a float expression can be: see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The sum of the absolute values of what the expression adds up.
    pub most: f64,
    /// All of it is a multiple of `2^grain`.
    pub grain: i32,
}

impl Extent {
    /// Integers up to `most` and down to `-most`.
    pub const fn integers(most: f64) -> Extent {
        Extent { most, grain: 0 }
    }

    /// What a variable of the type can hold: quarters.
    pub const fn of_variables(scalar: Scalar) -> Extent {
        let most = match scalar {
            Scalar::Float16 => 128.0,
            Scalar::Float => 16_384.0,
            // Beyond the 20 bits of a significand that the high word holds.
            _ => 1_048_576.0,
        };
        Extent { most, grain: -2 }
    }

    /// True if every value of it is within the other.
    pub fn is_within(self, other: Extent) -> bool {
        self.most <= other.most && self.grain >= other.grain
    }

    /// True if all intermediate results are representable.
    fn is_exact(self, scalar: Scalar) -> bool {
        let precision = if scalar == Scalar::Float16 { 11 } else { 24 };
        self.grain >= LEAST_GRAIN && self.most * f64::from(-self.grain).exp2() <= f64::from(precision - 1).exp2()
    }

    fn plus(self, other: Extent) -> Extent {
        Extent { most: self.most + other.most, grain: self.grain.min(other.grain) }
    }

    fn times(self, other: Extent) -> Extent {
        Extent { most: self.most * other.most, grain: self.grain + other.grain }
    }

    fn or(self, other: Extent) -> Extent {
        Extent { most: self.most.max(other.most), grain: self.grain.min(other.grain) }
    }

    /// A combination of as many values.
    fn folded(self, fold: Fold, lanes: u32) -> Extent {
        match fold {
            Fold::Add => Extent { most: self.most * f64::from(lanes), ..self },
            // Of fewer lanes the product may be larger, if the values are below 1.
            Fold::Mul => {
                Extent { most: self.most.max(1.0).powi(lanes as i32), grain: self.grain.saturating_mul(lanes as i32) }
            }
            _ => self,
        }
    }
}

impl Scope<'_> {
    /// The type and extent of a float expression, or of the components of a vector; `None` if it has none, because something in it may
    /// be inexact or is no float.
    pub fn extent(&self, expr: &Expr) -> Option<(Scalar, Extent)> {
        let (scalar, extent) = match expr {
            Expr::Float(scalar, quarters) => {
                let grain = quarters.trailing_zeros() as i32 - 2;
                (*scalar, Extent { most: f64::from(quarters.unsigned_abs()) / 4.0, grain })
            }
            Expr::Var(var) => {
                let scalar = self.function().var_type(*var)?.scalar;
                (scalar, Extent::of_variables(scalar))
            }
            Expr::Unary(_, x) | Expr::Component(x, _) | Expr::Element(x, _) => self.extent(x)?,
            Expr::Binary(op, x, y) => {
                let ((scalar, x), (_, y)) = (self.extent(x)?, self.extent(y)?);
                let extent = match op {
                    BinaryOp::Add | BinaryOp::Sub => x.plus(y),
                    BinaryOp::Mul => x.times(y),
                    _ => return None,
                };
                (scalar, extent)
            }
            Expr::Select(_, x, y) => {
                let ((scalar, x), (_, y)) = (self.extent(x)?, self.extent(y)?);
                (scalar, x.or(y))
            }
            Expr::Cast(to, x) => {
                let from = x.ty(self.function())?.scalar;
                let extent = match from {
                    Scalar::Bool => Extent::integers(1.0),
                    _ if from.is_float() => self.extent(x)?.1,
                    _ => Extent::integers(magnitude(self.range(x))),
                };
                (*to, extent)
            }
            Expr::Intrinsic(op, args) => {
                let mut parts = args.iter().map(|arg| self.extent(arg));
                let (scalar, first) = parts.next()??;
                let rest = parts.try_fold(None::<Extent>, |rest, part| {
                    let (_, part) = part?;
                    Some(Some(rest.map_or(part, |rest| rest.or(part))))
                })?;
                let all = rest.map_or(first, |rest| first.or(rest));
                let extent = match (op, rest) {
                    (Intrinsic::Clamp, Some(bounds)) => Extent { most: first.most.min(bounds.most), ..all },
                    (Intrinsic::Sign, _) => Extent::integers(1.0),
                    (Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc, _) => Extent::integers(first.most.ceil()),
                    _ => all,
                };
                (scalar, extent)
            }
            Expr::Vector(_, args) => {
                let parts = args.iter().map(|arg| self.extent(arg)).collect::<Option<Vec<_>>>()?;
                parts.into_iter().reduce(|(scalar, x), (_, y)| (scalar, x.or(y)))?
            }
            Expr::Subgroup(call) => self.extent_of_call(call)?,
            _ => return None,
        };
        (scalar.is_float() && extent.is_exact(scalar)).then_some((scalar, extent))
    }

    fn extent_of_call(&self, call: &SubgroupCall) -> Option<(Scalar, Extent)> {
        if call.op.info().gives != Gives::Same {
            return None;
        }
        let (scalar, value) = self.extent(call.args.first()?)?;
        let lanes = match self.launch().subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => MAX_SUBGROUP_SIZE,
        };
        let extent = match call.op {
            SubgroupOp::Reduce(fold) | SubgroupOp::Inclusive(fold) | SubgroupOp::Exclusive(fold) => {
                // The identities: zero, one, and infinities, which are undefined (`SubgroupOp::starts_infinite`).
                value.folded(fold, lanes)
            }
            SubgroupOp::Clustered(fold) => value.folded(fold, call.cluster.unwrap_or(lanes)),
            _ => value,
        };
        Some((scalar, extent))
    }

    /// True if a value can be stored to a variable of the type.
    pub fn fits(&self, expr: &Expr, ty: Type) -> bool {
        !ty.scalar.is_float()
            || self.extent(expr).is_some_and(|(_, extent)| extent.is_within(Extent::of_variables(ty.scalar)))
    }
}

/// The largest absolute value of an interval.
fn magnitude(range: Interval) -> f64 {
    range.lo.unsigned_abs().max(range.hi.unsigned_abs()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Data, Launch, SpirvVersion};
    use crate::ops::UnaryOp;
    use crate::tree::{Builtin, Function, Local};

    const SIZES: [SubgroupSize; 2] = [SubgroupSize::Default, SubgroupSize::Required(8)];

    /// The extent by the sizes of the subgroup: unknown, or 8. Variable `k` is a vector of the `k`-th float type.
    fn extents(expr: &Expr) -> [Option<(f64, i32)>; 2] {
        let local = |scalar| Local::new("x", Type::vector(scalar, 2));
        let locals = [Scalar::Float16, Scalar::Float, Scalar::Double].map(local).into();
        let function = Function { name: "main".into(), params: vec![], result: None, locals, body: vec![] };
        SIZES.map(|subgroup_size| {
            let launch = Launch {
                workgroup: [8, 1, 1],
                groups: [1, 1, 1],
                subgroup_size,
                full_subgroups: false,
                default_workgroup: None,
                spirv: SpirvVersion::V1_3,
            };
            let data = Data::default();
            let scope = Scope::unfinished(&function, &launch, &data);
            scope.extent(expr).map(|(_, extent)| (extent.most, extent.grain))
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
            (clustered(Fold::Add, half.clone(), 2), both(256.0, -2)),
            (op(SubgroupOp::AllEqual, &half), [None; 2]),
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
