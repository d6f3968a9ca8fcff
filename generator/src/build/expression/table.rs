//! The table of numbers: each kind of expression, for integers and for floats.

use tangle_program::ops::BinaryOp::{Add, BitAnd, BitOr, BitXor, Mul, Shl, Shr, Sub};
use tangle_program::ops::UnaryOp;
use tangle_program::tree::Expr;
use tangle_program::types::{Scalar, Type};

use crate::build::Builder;
use crate::build::term::{Want, bin};
use crate::weights::Weight;

/// Writes an expression of a type.
type Build = fn(&mut Builder<'_>, Scalar, Want) -> Expr;

/// A kind of number.
pub(in crate::build) struct Arithmetic {
    /// How often it is chosen.
    pub(in crate::build) weight: Weight,
    /// Writes an expression of an integer type.
    pub(in crate::build) integer: Build,
    /// Writes an expression of a float type.
    pub(in crate::build) float: Build,
}

/// The first is in every case.
pub(in crate::build) const ARITHMETIC: &[Arithmetic] = &[
    // A variable, a literal or another word.
    Arithmetic {
        weight: Weight::of(40),
        integer: |b, scalar, want| b.leaf(scalar, want),
        float: |b, scalar, want| b.float_leaf(scalar, want),
    },
    // A sum.
    Arithmetic {
        weight: Weight::of(20),
        integer: |b, scalar, want| b.binary(&[Add, Sub], scalar, want),
        float: |b, scalar, want| b.binary(&[Add, Sub], scalar, want),
    },
    // Bits.
    Arithmetic {
        weight: Weight::of(14),
        integer: |b, scalar, want| {
            if b.draw.percent(12) {
                let op = b.draw.pick(&[UnaryOp::BitNot, UnaryOp::Neg]);
                return Expr::unary(op, b.arithmetic(scalar, want.deeper()));
            }
            b.binary(&[BitXor, BitAnd, BitOr], scalar, want)
        },
        float: |b, scalar, want| Expr::unary(UnaryOp::Neg, b.varying(scalar, want.deeper())),
    },
    // A product.
    Arithmetic {
        weight: Weight::of(6),
        integer: |b, scalar, want| b.binary(&[Mul], scalar, want),
        float: |b, scalar, want| b.binary(&[Mul], scalar, want),
    },
    // A shift, or a small factor.
    Arithmetic {
        weight: Weight::of(9),
        integer: |b, scalar, want| {
            let op = b.draw.pick(&[Shl, Shr]);
            let lhs = b.varying(scalar, want.deeper());
            bin(op, lhs, b.shift_amount(scalar, want))
        },
        float: |b, scalar, want| {
            let factor = b.draw.pick(&[2, 1, 3, 8, -4, 6]);
            bin(Mul, b.varying(scalar, want.deeper()), Expr::Float(scalar, factor))
        },
    },
    // A quotient.
    Arithmetic {
        weight: Weight::of(6),
        integer: |b, scalar, want| b.quotient(scalar, want),
        float: |b, scalar, want| b.float_intrinsic(scalar, want),
    },
    // A built-in function.
    Arithmetic {
        weight: Weight::of(10),
        integer: |b, scalar, want| b.intrinsic(scalar, want),
        float: |b, scalar, want| b.float_intrinsic(scalar, want),
    },
    // One of the shapes of [`crate::build::idiom`].
    Arithmetic {
        weight: Weight::of(12),
        integer: |b, scalar, want| b.idiom(scalar, want),
        float: |b, scalar, want| b.float_intrinsic(scalar, want),
    },
    // Of few leaves ([`crate::build::algebra`]).
    Arithmetic {
        weight: Weight::of(9),
        integer: |b, scalar, want| b.algebra(scalar, want),
        float: |b, scalar, want| b.float_intrinsic(scalar, want),
    },
    // `?:`
    Arithmetic {
        weight: Weight::of(5),
        integer: |b, scalar, want| b.select(scalar, want),
        float: |b, scalar, want| b.select(scalar, want),
    },
    // A conversion.
    Arithmetic {
        weight: Weight::of(6),
        integer: |b, scalar, want| b.integer_conversion(scalar, want),
        float: |b, scalar, want| b.converted(scalar, want),
    },
    // A component of a vector.
    Arithmetic {
        weight: Weight::of(3),
        integer: |b, scalar, want| b.component(scalar, want),
        float: |b, scalar, want| b.component(scalar, want),
    },
    // A component of what an operator makes of vectors.
    Arithmetic {
        weight: Weight::of(5),
        integer: |b, scalar, want| b.component_of_operated(scalar, want),
        float: |b, scalar, want| b.component_of_operated(scalar, want),
    },
    // A subgroup operation inside the expression.
    Arithmetic {
        weight: Weight::of(6),
        integer: |b, scalar, want| match b.operation_in(Type::scalar(scalar), want) {
            Some(expr) => expr,
            None => b.leaf(scalar, want),
        },
        float: |b, scalar, want| match b.operation_in(Type::scalar(scalar), want) {
            Some(expr) => expr,
            None => b.float_leaf(scalar, want),
        },
    },
];
