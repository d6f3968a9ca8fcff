//! What a compiler makes of expressions and statements, wrongly.

use std::collections::BTreeSet;

use tangle_analysis::idiom::{Idiom, adjacent_stores, guarded_load, idiom, rotation};
use tangle_program::ops::{BinaryOp, Gives, Intrinsic};
use tangle_program::tree::{Block, Builtin, Expr, Function, LoopKind, Stmt, walk_block};
use tangle_program::types::{Scalar, Type};

fn bin(op: BinaryOp, x: &Expr, y: &Expr) -> Expr {
    Expr::binary(op, x.clone(), y.clone())
}

fn call(op: Intrinsic, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::Intrinsic(op, args.into())
}

fn component(x: &Expr, c: u8) -> Expr {
    Expr::Component(Box::new(x.clone()), c)
}

/// The components of a vector in another order.
fn reordered(x: &Expr, ty: Type, of: impl Fn(u8) -> u8) -> Expr {
    Expr::Vector(ty, (0..ty.width).map(|c| component(x, of(c))).collect())
}

pub(super) fn rotate_goes_back(expr: &Expr, _: &Function) -> Option<Expr> {
    let Expr::Binary(op, left, right) = expr else { return None };
    match (idiom(expr)?, &**left, &**right) {
        (Idiom::Rotate(x), Expr::Binary(_, _, by), Expr::Binary(_, _, rest)) => {
            Some(Expr::binary(*op, bin(BinaryOp::Shl, x, rest), bin(BinaryOp::Shr, x, by)))
        }
        _ => None,
    }
}

pub(super) fn funnel_swapped(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::Funnel(op, [high, left, low, right]) => {
            Some(Expr::binary(op, bin(BinaryOp::Shl, low, left), bin(BinaryOp::Shr, high, right)))
        }
        _ => None,
    }
}

pub(super) fn never_carries(expr: &Expr, _: &Function) -> Option<Expr> {
    (idiom(expr)? == Idiom::CarryCompare).then_some(Expr::Bool(false))
}

pub(super) fn next_byte(expr: &Expr, _: &Function) -> Option<Expr> {
    match (idiom(expr)?, expr) {
        (Idiom::ByteSelect(x, by @ 8..=16), Expr::Binary(op, _, mask)) => {
            Some(Expr::binary(*op, bin(BinaryOp::Shr, x, &Expr::Uint(by + 8)), Expr::clone(mask)))
        }
        _ => None,
    }
}

pub(super) fn difference_wraps(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::AbsDifference(x, y) => Some(bin(BinaryOp::Sub, x, y)),
        _ => None,
    }
}

pub(super) fn sum_wraps(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::SaturatingSum(x, y) => Some(bin(BinaryOp::Add, x, y)),
        _ => None,
    }
}

pub(super) fn xor_of_same(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::Same(BinaryOp::BitXor, x) => Some(x.clone()),
        _ => None,
    }
}

pub(super) fn logic_regrouped(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::Logic([inner, outer], [x, y, z]) if inner != outer => {
            Some(Expr::binary(inner, x.clone(), bin(outer, y, z)))
        }
        _ => None,
    }
}

pub(super) fn abs_is_nothing(expr: &Expr, _: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::BranchlessAbs(x) => Some(x.clone()),
        _ => None,
    }
}

pub(super) fn quotient_of_24_bits(expr: &Expr, function: &Function) -> Option<Expr> {
    match idiom(expr)? {
        Idiom::Quotient(x, y) if x.ty(function) == Some(Type::UINT) => {
            Some(Expr::binary(BinaryOp::Div, bin(BinaryOp::BitAnd, x, &Expr::Uint(0xFF_FFFF)), y.clone()))
        }
        _ => None,
    }
}

pub(super) fn dot_does_not_saturate(expr: &Expr, _: &Function) -> Option<Expr> {
    match expr {
        Expr::Intrinsic(Intrinsic::DotAccSat, args) => match &args[..] {
            [x, y, sum] => Some(Expr::binary(BinaryOp::Add, call(Intrinsic::Dot, [x.clone(), y.clone()]), sum.clone())),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn rounded_twice(expr: &Expr, function: &Function) -> Option<Expr> {
    let Expr::Intrinsic(op @ (Intrinsic::FloatToHalfRte | Intrinsic::FloatToHalfRtz), args) = expr else { return None };
    let first = match op {
        Intrinsic::FloatToHalfRte => Intrinsic::DoubleToFloatRte,
        _ => Intrinsic::DoubleToFloatRtz,
    };
    let is_double = args.first()?.ty(function)?.scalar == Scalar::Uint64;
    is_double.then(|| call(*op, [call(first, args.clone())]))
}

/// Of a float of 32 bits the lost digits are 1 and then zeros in the middle between two results: with a last digit more it lies above it.
pub(super) fn ties_away(expr: &Expr, function: &Function) -> Option<Expr> {
    let Expr::Intrinsic(op @ Intrinsic::FloatToHalfRte, args) = expr else { return None };
    let ty = args.first()?.ty(function)?;
    let one = Expr::Cast(ty.scalar, Box::new(Expr::Uint(1)));
    let one = if ty.width == 1 { one } else { Expr::Vector(ty, vec![one; ty.width.into()]) };
    Some(call(*op, [bin(BinaryOp::BitOr, args.first()?, &one)]))
}

pub(super) fn packed_backwards(expr: &Expr, function: &Function) -> Option<Expr> {
    match expr {
        Expr::Intrinsic(op, args) if matches!(op.info().gives, Gives::Whole(_)) => {
            let ty = args.first()?.ty(function)?;
            Some(call(*op, [reordered(&args[0], ty, |c| ty.width - 1 - c)]))
        }
        _ => None,
    }
}

pub(super) fn unpacked_backwards(expr: &Expr, function: &Function) -> Option<Expr> {
    match expr {
        Expr::Intrinsic(op, _) if matches!(op.info().gives, Gives::Parts(_)) => {
            let ty = expr.ty(function)?;
            Some(reordered(expr, ty, |c| ty.width - 1 - c))
        }
        _ => None,
    }
}

pub(super) fn mix_of_the_other(expr: &Expr, _: &Function) -> Option<Expr> {
    match expr {
        Expr::Intrinsic(Intrinsic::Mix, args) => match &args[..] {
            [x, y, cond] => Some(call(Intrinsic::Mix, [y.clone(), x.clone(), cond.clone()])),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn compares_first_components(expr: &Expr, function: &Function) -> Option<Expr> {
    match expr {
        Expr::Binary(op, x, _) if op.is_comparison() => {
            let width = x.ty(function)?.width;
            (width > 1).then(|| reordered(expr, Type::vector(Scalar::Bool, width), |_| 0))
        }
        _ => None,
    }
}

/// The last variable gets what the first one holds by then, and not what it held.
pub(super) fn ring_without_a_temporary(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let count = rotation(stmts)?;
    let mut stmts = stmts[..count].to_vec();
    let first = match stmts.first() {
        Some(Stmt::Assign { value, .. }) => value.clone(),
        _ => return None,
    };
    if let Some(Stmt::Assign { value, .. }) = stmts.last_mut() {
        *value = first;
    }
    Some((count, stmts))
}

/// `return` in a loop without a counter leaves the loop only.
pub(super) fn return_from_endless_breaks(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    fn leave(block: &mut Block) -> bool {
        let mut found = false;
        for stmt in block {
            match stmt {
                Stmt::Return(_) => (*stmt, found) = (Stmt::Break, true),
                Stmt::Loop(_) | Stmt::Switch { .. } => {}
                _ => found |= stmt.nested_blocks_mut().into_iter().fold(false, |found, block| leave(block) | found),
            }
        }
        found
    }
    let Some(Stmt::Loop(l)) = stmts.first() else { return None };
    let mut l = l.clone();
    (l.kind == LoopKind::Endless && leave(&mut l.body)).then(|| (1, vec![Stmt::Loop(l)]))
}

/// A load at the head of an arm is made before the branch, together with the assignment of what it finds.
pub(super) fn guarded_load_hoisted(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let Some(Stmt::If { cond, then, otherwise, control }) = stmts.first() else { return None };
    let var = guarded_load(then)?;
    if cond.any(&mut |part| *part == Expr::Var(var)) {
        return None;
    }
    let rest = then[1..].to_vec();
    let branch = Stmt::If { cond: cond.clone(), then: rest, otherwise: otherwise.clone(), control: *control };
    Some((1, vec![then[0].clone(), branch]))
}

/// Where both arms of a branch begin with a load into one variable, what the second one loads is used in both.
pub(super) fn load_of_the_other_arm(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let Some(Stmt::If { cond, then, otherwise, control }) = stmts.first() else { return None };
    if guarded_load(then)? != guarded_load(otherwise)? {
        return None;
    }
    let mut then = then.clone();
    then[0] = otherwise[0].clone();
    Some((1, vec![Stmt::If { cond: cond.clone(), then, otherwise: otherwise.clone(), control: *control }]))
}

/// Each of the two gets what the other one should.
pub(super) fn adjacent_stores_swapped(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    adjacent_stores(stmts)?;
    let [Stmt::Store { array, element: first, value: one }, Stmt::Store { element: second, value: two, .. }, ..] =
        stmts
    else {
        return None;
    };
    let store = |element: &Option<Expr>, value: &Expr| Stmt::Store {
        array: *array,
        element: element.clone(),
        value: value.clone(),
    };
    Some((2, vec![store(second, one), store(first, two)]))
}

/// The second of two stores beside each other is made with the first, whatever its condition.
pub(super) fn adjacent_store_without_condition(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    adjacent_stores(stmts)?;
    match stmts {
        [first, Stmt::If { then, .. }, ..] => Some((2, [std::slice::from_ref(first), then.as_slice()].concat())),
        _ => None,
    }
}

/// Of two stores beside each other the second is lost.
pub(super) fn adjacent_store_lost(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    adjacent_stores(stmts)?;
    match stmts {
        [first, Stmt::Store { .. }, ..] => Some((2, vec![first.clone()])),
        _ => None,
    }
}

pub(super) fn single_store_of_lane_zero(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let Some(Stmt::If { cond, then, otherwise, control }) = stmts.first() else { return None };
    let stores = then.iter().any(|stmt| matches!(stmt, Stmt::Store { .. }));
    cond.single_invocation().filter(|_| stores)?;
    let lowest = Expr::binary(BinaryOp::Eq, Expr::Builtin(Builtin::Lane), Expr::Uint(0));
    let cond = Expr::binary(BinaryOp::And, cond.clone(), lowest);
    Some((1, vec![Stmt::If { cond, then: then.clone(), otherwise: otherwise.clone(), control: *control }]))
}

pub(super) fn element_lost_in_one_trip(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let Some(Stmt::Loop(l)) = stmts.first() else { return None };
    let writes_element = |stmt: &Stmt| matches!(stmt, Stmt::SetElement { .. });
    if l.bound != Expr::Uint(1) || !l.body.iter().any(writes_element) {
        return None;
    }
    let mut kept = l.clone();
    kept.body.retain(|stmt| !writes_element(stmt));
    Some((1, vec![Stmt::Loop(kept)]))
}

pub(super) fn spilled_operand_lost(expr: &Expr, function: &Function) -> Option<Expr> {
    match expr {
        Expr::Binary(BinaryOp::BitXor, x, y) if matches!(**y, Expr::Var(_)) => {
            x.ty(function).is_some_and(|ty| ty.width > 1 && components_read(function) > 100).then(|| Expr::clone(x))
        }
        _ => None,
    }
}

/// Components of the variables that a function reads.
fn components_read(function: &Function) -> usize {
    let mut read = BTreeSet::new();
    walk_block(&function.body, &mut |stmt| {
        stmt.direct_exprs().for_each(|expr| {
            expr.walk(&mut |part| {
                if let Expr::Var(var) = part {
                    read.insert(*var);
                }
            });
        });
    });
    read.into_iter().filter_map(|var| function.var_type(var)).map(Type::components).sum()
}
