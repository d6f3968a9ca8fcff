//! Wrong rules of algebraic rewriting. Each matches an operand that stands in several places, or a constant beside one.

use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::{Expr, Function};
use tangle_program::types::Scalar;

use BinaryOp::{Add, BitAnd, BitOr, BitXor, Lt, Shl, Shr, Sub};

fn integer(expr: &Expr, function: &Function) -> Option<Scalar> {
    expr.ty(function).filter(|ty| ty.is_scalar() && ty.scalar.is_integer()).map(|ty| ty.scalar)
}

/// The two operands of an operator.
fn of(op: BinaryOp, expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::Binary(found, x, y) if *found == op => Some((x, y)),
        _ => None,
    }
}

fn inner(op: UnaryOp, expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Unary(found, x) if *found == op => Some(x),
        _ => None,
    }
}

/// Both operands of a function of two.
fn args(op: Intrinsic, expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::Intrinsic(found, args) if *found == op => match &args[..] {
            [x, y] => Some((x, y)),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn minus_of_a_negation(expr: &Expr, function: &Function) -> Option<Expr> {
    let (x, y) = of(Sub, expr)?;
    integer(x, function)?;
    Some(Expr::binary(Sub, x.clone(), inner(UnaryOp::Neg, y)?.clone()))
}

pub(super) fn shifts_cancel(expr: &Expr, _: &Function) -> Option<Expr> {
    let (shifted, by) = of(Shr, expr)?;
    let (x, before) = of(Shl, shifted)?;
    (before == by).then(|| x.clone())
}

pub(super) fn order_of_the_other_sign(expr: &Expr, function: &Function) -> Option<Expr> {
    let Expr::Intrinsic(Intrinsic::Mix, operands) = expr else { return None };
    let [x, y, cond] = &operands[..] else { return None };
    let (low, high) = of(Lt, cond)?;
    let scalar = integer(low, function).filter(|_| (low, high) == (x, y) || (low, high) == (y, x))?;
    let other = if scalar.is_signed() { scalar.unsigned() } else { scalar.signed() };
    let to = |x: &Expr| Expr::Cast(other, Box::new(x.clone()));
    Some(Expr::Intrinsic(Intrinsic::Mix, vec![x.clone(), y.clone(), Expr::binary(Lt, to(low), to(high))]))
}

pub(super) fn bits_past_a_mask(expr: &Expr, function: &Function) -> Option<Expr> {
    let (either, mask) = of(BitAnd, expr)?;
    let (x, y) = of(BitOr, either)?;
    integer(x, function)?;
    Some(Expr::binary(BitOr, Expr::binary(BitAnd, x.clone(), mask.clone()), y.clone()))
}

pub(super) fn sum_keeps_the_difference(expr: &Expr, function: &Function) -> Option<Expr> {
    let (difference, z) = of(Add, expr)?;
    let (x, y) = of(Sub, difference)?;
    integer(x, function)?;
    (y == z).then(|| difference.clone())
}

pub(super) fn xor_twice(expr: &Expr, function: &Function) -> Option<Expr> {
    let (once, z) = of(BitXor, expr)?;
    let (x, y) = of(BitXor, once)?;
    integer(x, function)?;
    (x == z && x != y).then(|| x.clone())
}

pub(super) fn absorbed(expr: &Expr, function: &Function) -> Option<Expr> {
    let (larger, z) = args(Intrinsic::Min, expr)?;
    let (x, y) = args(Intrinsic::Max, larger)?;
    integer(x, function)?;
    (y == z).then(|| x.clone())
}

pub(super) fn shift_without_sign(expr: &Expr, function: &Function) -> Option<Expr> {
    let Expr::Cast(to, shifted) = expr else { return None };
    let (signed, by) = of(Shr, shifted)?;
    let Expr::Cast(_, x) = signed else { return None };
    (integer(x, function)? == *to && !to.is_signed() && integer(signed, function)? == to.signed())
        .then(|| Expr::binary(Shr, (**x).clone(), by.clone()))
}

pub(super) fn inverse_of_a_difference(expr: &Expr, function: &Function) -> Option<Expr> {
    let (x, y) = of(Sub, inner(UnaryOp::BitNot, expr)?)?;
    integer(x, function)?;
    Some(Expr::binary(Sub, y.clone(), x.clone()))
}
