//! Floating-point numbers: expressions that stay exact ([`tangle_analysis::exact`]).
//!
//! An expression is first made like any other, then [`Builder::fitted`] makes what could round or grow too large small again: by a way
//! through the integers (`float(int(x) & 127)`), which keeps sums in a loop going round, or by a clamp where the value may be
//! undefined, as such a value must not be converted to an integer.

use tangle_analysis::bounds::Scope;
use tangle_analysis::exact::Extent;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Expr;
use tangle_program::tree::MAX_EXPR_DEPTH;
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::expression::ARITHMETIC;
use super::term::{Want, as_number, bin, cast, lane, largest, nesting, number, uint};
use crate::class::Class;

/// Up to this even a sum over the largest subgroup can.
const fn small(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::Float16 => 7,
        Scalar::Float => 127,
        _ => 1023,
    }
}

/// A literal of so many quarters.
fn quarters(scalar: Scalar, quarters: i32) -> Expr {
    Expr::Float(scalar, quarters)
}

/// An expression with one scalar in all components.
pub(crate) fn splat(ty: Type, scalar: Expr) -> Expr {
    if ty.is_scalar() { scalar } else { Expr::Vector(ty, vec![scalar; usize::from(ty.width)]) }
}

impl Builder<'_> {
    /// A number of a floating-point type.
    pub(crate) fn floating(&mut self, scalar: Scalar, want: Want) -> Expr {
        let expr = self.unfitted(scalar, want);
        self.fitted(expr, Type::scalar(scalar), want.class())
    }

    fn unfitted(&mut self, scalar: Scalar, want: Want) -> Expr {
        if want.is_leaf() || self.draw.is_exhausted() {
            return self.float_leaf(scalar, want);
        }
        let row = &ARITHMETIC[self.draw.index(self.weights.rows.arithmetic.iter().copied())];
        (row.float)(self, scalar, want)
    }

    /// A float that is converted from a bool, an integer or another float.
    pub(super) fn converted(&mut self, scalar: Scalar, want: Want) -> Expr {
        let other = self.extended_scalar().filter(|&other| other != scalar);
        match (self.draw.below(4), other) {
            (0, _) => cast(scalar, self.boolean(want.deeper())),
            (1 | 2, Some(other)) if other.is_float() => cast(scalar, self.floating(other, want.deeper())),
            _ => {
                let bits = bin(BinaryOp::BitAnd, self.varying(Scalar::Int, want.deeper()), Expr::Int(63));
                cast(scalar, bin(BinaryOp::Sub, bits, Expr::Int(self.draw.below(64) as i32)))
            }
        }
    }

    pub(super) fn float_intrinsic(&mut self, scalar: Scalar, want: Want) -> Expr {
        use Intrinsic::{Abs, Ceil, Clamp, Floor, Max, Min, Sign, Trunc};
        let op = self.draw.pick(&[Min, Max, Floor, Abs, Clamp, Trunc, Sign, Ceil]);
        let first = self.varying(scalar, want.deeper());
        let args = match op {
            Min | Max => {
                let second = self.other_than(&first, scalar, want.deeper());
                vec![first, second]
            }
            Clamp => {
                let low = self.draw.below(32) as i32 - 24;
                vec![first, quarters(scalar, low), quarters(scalar, low + self.draw.below(96) as i32)]
            }
            _ => vec![first],
        };
        Expr::Intrinsic(op, args)
    }

    /// The word of a number by a few operators on two small values, each perhaps in several places: what compilers rewrite of minima,
    /// signs, comparisons and choices.
    pub(crate) fn float_algebra(&mut self, scalar: Scalar) -> Expr {
        let values = [(); 2].map(|()| {
            let bits = bin(BinaryOp::BitAnd, self.varying(Scalar::Int, Want::own(0)), Expr::Int(63));
            let value = cast(scalar, bin(BinaryOp::Sub, bits, Expr::Int(self.draw.range(8, 40) as i32)));
            if self.draw.percent(25) { bin(BinaryOp::Mul, value, quarters(scalar, 1)) } else { value }
        });
        let depth = self.draw.pick(&[2, 2, 3]);
        let number = self.float_node(scalar, &values, depth);
        let fitted = self.fitted(number, Type::scalar(scalar), Class::Clean);
        hashed(fitted, scalar)
    }

    fn float_node(&mut self, scalar: Scalar, values: &[Expr; 2], depth: u32) -> Expr {
        use Intrinsic::{Abs, Ceil, Clamp, Floor, Max, Min, Mix, Sign, Trunc};
        if depth == 0 || self.draw.is_exhausted() {
            let constant = quarters(scalar, self.draw.below(65) as i32 - 32);
            return self.draw.weighted(&[(5, &values[0]), (4, &values[1]), (2, &constant)]).clone();
        }
        // The front end does not know the first operand.
        let first = self.float_node(scalar, values, depth - 1);
        let first = if matches!(first, Expr::Float(..)) { values[0].clone() } else { first };
        match self.draw.below(100) {
            0..22 => {
                let op = self.draw.pick(&[Min, Max]);
                let mut args = vec![first, self.float_node(scalar, values, depth - 1)];
                if self.draw.percent(30) {
                    args.swap(0, 1);
                }
                Expr::Intrinsic(op, args)
            }
            22..38 => Expr::unary(UnaryOp::Neg, first),
            38..46 => Expr::Intrinsic(Abs, vec![first]),
            46..60 => {
                let op = self.draw.pick(&[BinaryOp::Add, BinaryOp::Sub]);
                bin(op, first, self.float_node(scalar, values, depth - 1))
            }
            60..68 => bin(BinaryOp::Mul, first, quarters(scalar, self.draw.pick(&[2, 8, -4, 0, 1, 12]))),
            68..84 => {
                use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
                let [x, y] = [(); 2].map(|()| self.float_node(scalar, values, depth - 1));
                let second = self.float_node(scalar, values, 0);
                let cond = bin(self.draw.pick(&[Lt, Lt, Gt, Le, Ge, Eq, Ne]), first, second);
                Expr::Intrinsic(Mix, vec![x, y, cond])
            }
            84..90 => {
                let low = self.draw.below(32) as i32 - 24;
                let high = low + self.draw.below(64) as i32;
                Expr::Intrinsic(Clamp, vec![first, quarters(scalar, low), quarters(scalar, high)])
            }
            _ => Expr::Intrinsic(self.draw.pick(&[Floor, Trunc, Sign, Ceil]), vec![first]),
        }
    }

    pub(crate) fn float_leaf(&mut self, scalar: Scalar, want: Want) -> Expr {
        let word = |b: &mut Self| as_number(scalar, b.leaf(Scalar::Uint, want));
        match self.draw.below(12) {
            0..=4 => match self.variable(Type::scalar(scalar), want.class()) {
                Some(var) => Expr::Var(var),
                None => word(self),
            },
            5 | 6 => word(self),
            // Some of them negative.
            7 => {
                let bits = bin(BinaryOp::BitAnd, self.leaf(Scalar::Uint, want), uint(small(scalar)));
                bin(BinaryOp::Sub, cast(scalar, bits), number(scalar, self.draw.range(1, 7)))
            }
            8 => number(scalar, self.draw.below(8)),
            9 | 10 => self.fraction(scalar, want),
            _ => quarters(scalar, self.draw.below(65) as i32 - 32),
        }
    }

    /// Quarters. Those of doubles reach into the low word.
    pub(crate) fn fraction(&mut self, scalar: Scalar, want: Want) -> Expr {
        let word = self.leaf(Scalar::Uint, want);
        let (word, factor) = match scalar {
            Scalar::Double => {
                let bits = bin(BinaryOp::BitAnd, word, uint(0x3F_FFFF));
                (bin(BinaryOp::BitOr, bits, uint(0x20_0000)), self.draw.pick(&[1, -1]))
            }
            _ => (bin(BinaryOp::BitAnd, word, uint(largest(scalar))), self.draw.pick(&[1, 2, 3, -1])),
        };
        bin(BinaryOp::Mul, cast(scalar, word), quarters(scalar, factor))
    }

    /// For a comparison: mostly equal to one of a few numbers.
    pub(crate) fn float_comparison(&mut self, op: BinaryOp, scalar: Scalar, want: Want) -> Expr {
        let lhs = self.varying(scalar, want.deeper());
        if want.class() < Class::MaybeUndefined && self.draw.percent(60) {
            let few = self.turned(lhs, Type::scalar(scalar), 3);
            return bin(op, few, number(scalar, self.draw.range(1, 2)));
        }
        let rhs = self.other_than(&lhs, scalar, want.deeper());
        bin(op, lhs, rhs)
    }

    /// What is known of the values of expressions that stand here.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope::unfinished(&self.frame.function, &self.entry_point, &self.data)
    }

    /// The value, or one made of it that a variable of the type can hold. Of other types: the value.
    pub(crate) fn fitted(&self, value: Expr, ty: Type, class: Class) -> Expr {
        if !ty.scalar.is_float() {
            return value;
        }
        let value = self.exact(value, class);
        if nesting(&value) > MAX_EXPR_DEPTH / 2 {
            // Every operand that is cut down nests three deeper.
            return splat(ty, cast(ty.scalar, bin(BinaryOp::BitAnd, lane(), uint(7))));
        }
        if self.scope().info(&value).fits(ty) { value } else { self.cut(value, ty, largest(ty.scalar), class) }
    }

    /// The value with operands cut down until all of it is exact.
    fn exact(&self, mut value: Expr, class: Class) -> Expr {
        match &mut value {
            Expr::Unary(_, x) | Expr::Component(x, _) => self.make_exact(x, class),
            Expr::Binary(_, x, y) | Expr::Select(_, x, y) => {
                self.make_exact(x, class);
                self.make_exact(y, class);
            }
            Expr::Intrinsic(_, args) | Expr::Vector(_, args) => {
                args.iter_mut().for_each(|arg| self.make_exact(arg, class));
            }
            Expr::Subgroup(call) => call.args.iter_mut().take(1).for_each(|arg| self.make_exact(arg, class)),
            Expr::Cast(_, x) => self.make_exact(x, class),
            _ => {}
        }
        let ty = self.type_of(&value);
        if !ty.scalar.is_float() || self.scope().info(&value).extent.is_some() {
            return value;
        }
        let less = |x: &mut Expr, most: u32| {
            let ty = self.type_of(x);
            let old = std::mem::replace(x, Expr::Bool(false));
            *x = self.cut(old, ty, most, class);
        };
        match &mut value {
            Expr::Binary(_, x, y) => {
                less(x, small(ty.scalar));
                less(y, small(ty.scalar).min(31));
            }
            Expr::Cast(_, x) if self.type_of(x).scalar.is_float() => less(x, small(ty.scalar)),
            // One of fine grain, one that is large.
            Expr::Intrinsic(_, args) => {
                let floats = args.iter_mut().filter(|arg| self.type_of(arg).scalar.is_float());
                floats.for_each(|arg| less(arg, small(ty.scalar)));
            }
            Expr::Subgroup(call) => match call.op {
                SubgroupOp::Reduce(Fold::Mul)
                | SubgroupOp::Inclusive(Fold::Mul)
                | SubgroupOp::Exclusive(Fold::Mul)
                | SubgroupOp::Clustered(Fold::Mul) => {
                    let old = std::mem::replace(&mut call.args[0], Expr::Bool(false));
                    call.args[0] = self.factor(old, ty, call.cluster, class);
                }
                _ => less(&mut call.args[0], small(ty.scalar)),
            },
            _ => {}
        }
        value
    }

    fn make_exact(&self, value: &mut Expr, class: Class) {
        let old = std::mem::replace(value, Expr::Bool(false));
        *value = self.exact(old, class);
    }

    fn type_of(&self, expr: &Expr) -> Type {
        expr.ty(&self.frame.function).unwrap_or(Type::UINT)
    }

    /// Something of the value that is at most `most`, which is all ones in binary.
    fn cut(&self, value: Expr, ty: Type, most: u32, class: Class) -> Expr {
        if class < Class::MaybeUndefined {
            return self.turned(value, ty, most);
        }
        let bound = |sign: i32| splat(ty, quarters(ty.scalar, sign * 4 * most as i32));
        let clamped = Expr::Intrinsic(Intrinsic::Clamp, vec![value, bound(-1), bound(1)]);
        Expr::Intrinsic(Intrinsic::Floor, vec![clamped])
    }

    /// `float(int(x) & 127)`
    fn turned(&self, value: Expr, ty: Type, most: u32) -> Expr {
        let mask = splat(Type { scalar: Scalar::Int, ..ty }, Expr::Int(most as i32));
        cast(ty.scalar, bin(BinaryOp::BitAnd, cast(Scalar::Int, value), mask))
    }

    /// A factor of a product over lanes: up to 3 in small clusters, else 1 or -1 by whether the value is even.
    fn factor(&self, value: Expr, ty: Type, cluster: Option<u32>, class: Class) -> Expr {
        if class == Class::MaybeUndefined {
            return Expr::Intrinsic(Intrinsic::Sign, vec![value]);
        }
        if cluster.is_some_and(|cluster| cluster <= 4) {
            return self.turned(value, ty, 3);
        }
        let odd = self.turned(value, ty, 1);
        let literal = |quarters: i32| splat(ty, Expr::Float(ty.scalar, quarters));
        // Of integers, so that the range is known: 1 - 2 * odd.
        let Expr::Cast(scalar, odd) = odd else { return literal(4) };
        let ints = |value: i32| splat(Type { scalar: Scalar::Int, ..ty }, Expr::Int(value));
        cast(scalar, bin(BinaryOp::Sub, ints(1), bin(BinaryOp::Mul, ints(2), *odd)))
    }
}

/// The words of a value for a hash, as uint.
pub(crate) fn hashed(part: Expr, scalar: Scalar) -> Expr {
    debug_assert!(Extent::of_variables(scalar).grain == -2);
    cast(Scalar::Uint, cast(Scalar::Int, bin(BinaryOp::Mul, part, quarters(scalar, 16))))
}
