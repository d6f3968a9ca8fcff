//! What an expression may be, and the terms that expressions are made of.

use tangle_analysis::exact::Extent;
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Builtin, Expr};
use tangle_program::types::Scalar;

use crate::class::Class;

/// Whether an expression may contain subgroup operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operations {
    Allowed,
    /// For expressions that are moved to another place: the class of an operation depends on where it stands.
    None,
}

/// What an expression may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// The class it must not exceed.
    pub(super) class: Class,
    /// How many operators deep.
    pub(super) depth: u32,
    pub(super) operations: Operations,
}

impl Want {
    pub(crate) fn of(class: Class, depth: u32) -> Want {
        Want { class, depth, operations: Operations::Allowed }
    }

    /// From a lane's own data alone.
    pub(crate) fn own(depth: u32) -> Want {
        Want { class: Class::Clean, depth, operations: Operations::None }
    }

    pub(crate) fn class(self) -> Class {
        self.class
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.depth == 0
    }

    pub(crate) fn deeper(self) -> Want {
        Want { depth: self.depth.saturating_sub(1), ..self }
    }

    /// For operands that decide what is evaluated.
    pub(super) fn steering(self) -> Want {
        Want { class: Class::Clean, ..self.deeper() }
    }

    /// For operands that must not be undefined.
    pub(crate) fn defined(self) -> Want {
        Want { class: self.class.min(Class::Unpredictable), ..self.deeper() }
    }
}

/// How deep an expression nests.
pub(crate) fn nesting(expr: &Expr) -> usize {
    1 + expr.operands().map(nesting).max().unwrap_or(0)
}

pub(crate) fn uint(value: u32) -> Expr {
    Expr::Uint(value)
}

pub(crate) fn bin(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    Expr::binary(op, lhs, rhs)
}

pub(crate) fn cast(to: Scalar, expr: Expr) -> Expr {
    Expr::Cast(to, Box::new(expr))
}

pub(crate) fn lane() -> Expr {
    Expr::Builtin(Builtin::Lane)
}

/// `value` as a literal of a number type; of a float, it must be a small one.
pub(crate) fn number(scalar: Scalar, value: u32) -> Expr {
    match scalar {
        Scalar::Int => Expr::Int(value as i32),
        _ if scalar.is_float() => Expr::Float(scalar, 4 * value as i32),
        _ => as_number(scalar, Expr::Uint(value)),
    }
}

/// A uint as a value of a number type; the low bits of it as a float.
pub(crate) fn as_number(scalar: Scalar, word: Expr) -> Expr {
    match scalar {
        Scalar::Uint => word,
        _ if scalar.is_float() => cast(scalar, bin(BinaryOp::BitAnd, word, uint(largest(scalar)))),
        _ => cast(scalar, word),
    }
}

/// Integers up to this, all ones in binary, can be stored to variables.
pub(crate) const fn largest(scalar: Scalar) -> u32 {
    Extent::of_variables(scalar).most as u32 - 1
}
