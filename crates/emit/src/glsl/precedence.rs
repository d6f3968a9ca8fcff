//! Where an expression needs parentheses.

use tangle_program::case::Case;
use tangle_program::memory::ArrayId;
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::tree::Expr;

use crate::plan::is_sliced;

/// Where an expression stands: decides whether it needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Between commas, parentheses, or `=` and `;`.
    Open,
    /// Condition of `?:`, or one of its arms.
    Conditional,
    /// Left operand of a binary operator.
    Left(BinaryOp),
    /// Right operand of a binary operator.
    Right(BinaryOp),
    /// Operand of a unary operator.
    Unary(UnaryOp),
    /// The operand of a postfix: before `.x` or `[i]`.
    Postfix,
}

impl Context {
    /// Where an index of a shared array stands: behind the sum of where the slice of the workgroup begins, if the array has slices.
    pub(crate) fn of_index(case: &Case, array: ArrayId) -> Context {
        let is_sum = case.program.shared.get(array as usize).is_some_and(|array| is_sliced(case, array));
        if is_sum { Context::Right(BinaryOp::Add) } else { Context::Open }
    }

    pub(crate) fn needs_parentheses(self, expr: &Expr) -> bool {
        match (self, expr) {
            (Context::Open, _) => false,
            (_, Expr::Select(..)) => true,
            (Context::Conditional, _) => false,
            (Context::Left(outer), Expr::Binary(inner, ..)) => {
                !reads_well(outer, *inner) && !groups_left(outer, *inner)
            }
            (Context::Right(outer), Expr::Binary(inner, ..)) => !reads_well(outer, *inner),
            (Context::Left(_) | Context::Right(_), _) => false,
            (Context::Unary(_) | Context::Postfix, Expr::Binary(..)) => true,
            // `--x` would be a decrement. (The least int is printed as a conversion.)
            (
                Context::Unary(UnaryOp::Neg),
                Expr::Unary(UnaryOp::Neg, _) | Expr::Int(-0x7FFF_FFFF..=-1) | Expr::Float(_, ..=-1),
            ) => true,
            (Context::Unary(_), _) => false,
            (Context::Postfix, Expr::Unary(..)) => true,
            (Context::Postfix, _) => false,
        }
    }
}

pub(super) const fn is_sum(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub)
}

const fn is_product(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod)
}

/// True if the inner operator binds tighter than the outer one, and everybody knows it: not `a & b == c`, not `a && b || c`, not
/// `a + b << c`.
const fn reads_well(outer: BinaryOp, inner: BinaryOp) -> bool {
    if is_sum(outer) {
        is_product(inner)
    } else if outer.is_comparison() {
        is_sum(inner) || is_product(inner)
    } else {
        outer.is_logical() && inner.is_comparison()
    }
}

/// True if `a inner b outer c` is `(a inner b) outer c`, and everybody knows it.
fn groups_left(outer: BinaryOp, inner: BinaryOp) -> bool {
    is_sum(outer) && is_sum(inner)
        || is_product(outer) && is_product(inner)
        || outer == inner && !outer.is_shift() && !outer.is_comparison()
}
