//! Shapes of expressions that compilers recognise and make something shorter of: rotates, saturating sums, three-operand logic.

use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::tree::{Expr, Function, Loop, LoopKind, Stmt, VarId};

/// A shape, with its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idiom<'a> {
    /// `x << a | x >> b`
    Rotate(&'a Expr),
    /// `x << a | y >> b`; also with `+` and `^`.
    Funnel(BinaryOp, [&'a Expr; 4]),
    /// `x + y < x`: whether the sum wraps around.
    CarryCompare,
    /// `x >> n & 255`
    ByteSelect(&'a Expr, u32),
    /// `max(x, y) - min(x, y)`
    AbsDifference(&'a Expr, &'a Expr),
    /// `x + min(y, ~x)`
    SaturatingSum(&'a Expr, &'a Expr),
    /// `x ^ x`, `x & x` or `x | x`
    Same(BinaryOp, &'a Expr),
    /// `(x op y) op z`, each `&`, `|` or `^`.
    Logic([BinaryOp; 2], [&'a Expr; 3]),
    /// `(x ^ x >> n) - (x >> n)`
    BranchlessAbs(&'a Expr),
    /// `x / y` with a divisor that is no literal.
    Quotient(&'a Expr, &'a Expr),
}

const fn is_logic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
}

/// A literal, perhaps converted.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(_, x) => is_literal(x),
        _ => matches!(expr, Expr::Uint(_) | Expr::Int(_)),
    }
}

fn has_mask(expr: &Expr, mask: u32) -> bool {
    match expr {
        Expr::Cast(_, x) => has_mask(x, mask),
        _ => *expr == Expr::Uint(mask) || *expr == Expr::Int(mask as i32),
    }
}

/// How many statements at the start of these exchange variables by way of another one: `t = a; a = b; b = t;`, or a longer ring. `None` if
/// they do not.
pub fn rotation(stmts: &[Stmt]) -> Option<usize> {
    let copy = |stmt: &Stmt| match stmt {
        Stmt::Assign { var, value: Expr::Var(from) } => Some((*var, *from)),
        _ => None,
    };
    let (kept, mut next) = copy(stmts.first()?)?;
    for (k, stmt) in stmts.iter().enumerate().skip(1) {
        let (_, from) = copy(stmt).filter(|&(to, _)| to == next && to != kept)?;
        if from == kept {
            return (k > 1).then_some(k + 1);
        }
        next = from;
    }
    None
}

/// The shape of an expression, if it has one of them.
pub fn idiom(expr: &Expr) -> Option<Idiom<'_>> {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Div, Lt, Shl, Shr, Sub};
    let Expr::Binary(op, x, y) = expr else { return None };
    match (op, &**x, &**y) {
        (BitOr | BitXor | Add, Expr::Binary(Shl, high, left), Expr::Binary(Shr, low, right)) => {
            if high == low {
                return Some(Idiom::Rotate(high));
            }
            Some(Idiom::Funnel(*op, [high, left, low, right]))
        }
        (Lt, Expr::Binary(Add, part, _), whole) if **part == *whole => Some(Idiom::CarryCompare),
        (BitAnd, Expr::Binary(Shr, of, by), mask) if has_mask(mask, 0xFF) => match **by {
            Expr::Uint(by) => Some(Idiom::ByteSelect(of, by)),
            _ => None,
        },
        (Sub, Expr::Intrinsic(Intrinsic::Max, most), Expr::Intrinsic(Intrinsic::Min, least)) if most == least => {
            Some(Idiom::AbsDifference(most.first()?, most.get(1)?))
        }
        (Add, x, Expr::Intrinsic(Intrinsic::Min, args)) => match args.get(1)? {
            Expr::Unary(UnaryOp::BitNot, not) if **not == *x => Some(Idiom::SaturatingSum(x, args.first()?)),
            _ => None,
        },
        (Sub, Expr::Binary(BitXor, x, sign), other) => match &**sign {
            Expr::Binary(Shr, of, _) if **sign == *other && of == x => Some(Idiom::BranchlessAbs(x)),
            _ => None,
        },
        (op, x, y) if is_logic(*op) && x == y => Some(Idiom::Same(*op, x)),
        (outer, Expr::Binary(inner, x, y), z) if is_logic(*outer) && is_logic(*inner) => {
            Some(Idiom::Logic([*inner, *outer], [x, y, z]))
        }
        (Div, x, y) if !is_literal(y) => Some(Idiom::Quotient(x, y)),
        _ => None,
    }
}

/// True for a loop whose body only sums something up: each statement is `x = x + e` or `x = x ^ e` on an integer `x` of its own, with an `e` that is made of
/// literals, built-in variables, data and variables that the loop leaves alone, by operators that are defined for all operands.
pub fn only_sums(l: &Loop, function: &Function) -> bool {
    let is_plain = match &l.kind {
        LoopKind::For { update, .. } => update.is_empty(),
        LoopKind::While | LoopKind::DoWhile | LoopKind::Forever => true,
        LoopKind::Endless => false,
    };
    let mut changed = vec![l.counter];
    let sums = l.body.iter().map(|stmt| match stmt {
        Stmt::Assign { var, value: Expr::Binary(BinaryOp::Add | BinaryOp::BitXor, x, by) }
            if **x == Expr::Var(*var) =>
        {
            let ty = function.var_type(*var)?;
            (ty.is_scalar() && ty.scalar.is_integer()).then_some((*var, &**by))
        }
        _ => None,
    });
    let Some(sums) = sums.collect::<Option<Vec<_>>>().filter(|sums| is_plain && l.test.is_none() && !sums.is_empty())
    else {
        return false;
    };
    for &(var, _) in &sums {
        if changed.contains(&var) {
            return false;
        }
        changed.push(var);
    }
    sums.iter().map(|(_, by)| *by).chain([&l.bound]).all(|expr| is_fixed(expr, &changed))
}

/// True for a value that follows from what a loop that changes these variables leaves alone.
fn is_fixed(expr: &Expr, changed: &[VarId]) -> bool {
    let may_stand = match expr {
        Expr::Var(var) => !changed.contains(var),
        Expr::Int(_)
        | Expr::Uint(_)
        | Expr::Builtin(_)
        | Expr::Input(_)
        | Expr::Uniform(_)
        | Expr::Push(_)
        | Expr::Constant(_)
        | Expr::Unary(..)
        | Expr::Cast(..) => true,
        Expr::Binary(op, ..) => {
            matches!(
                op,
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor
            )
        }
        Expr::Bool(_)
        | Expr::Float(..)
        | Expr::Flat(_)
        | Expr::InputOf(..)
        | Expr::Select(..)
        | Expr::Intrinsic(..)
        | Expr::Vector(..)
        | Expr::Component(..)
        | Expr::Subgroup(_)
        | Expr::Load(_)
        | Expr::Resource(_)
        | Expr::Element(..) => false,
    };
    may_stand && expr.operands().all(|operand| is_fixed(operand, changed))
}

/// The variable that the first statement of an arm of a branch sets to a value that it loads by a variable index.
pub fn guarded_load(arm: &[Stmt]) -> Option<VarId> {
    let loads = |part: &Expr| match part {
        Expr::InputOf(_, index) => !index.is_constant(),
        Expr::Load(load) => !load.index.is_constant(),
        _ => false,
    };
    match arm.first()? {
        Stmt::Assign { var, value } => value.any(&mut |part| loads(part)).then_some(*var),
        _ => None,
    }
}

/// The elements that the first two statements store to, if these stand beside each other in one array: each by a literal, the second without a condition
/// or with one.
pub fn adjacent_stores(stmts: &[Stmt]) -> Option<[u32; 2]> {
    let [Stmt::Store { array, element: Some(Expr::Uint(first)), .. }, second, ..] = stmts else { return None };
    let second = match second {
        Stmt::If { then, otherwise, .. } if otherwise.is_empty() && then.len() == 1 => &then[0],
        plain => plain,
    };
    match second {
        Stmt::Store { array: other, element: Some(Expr::Uint(second)), .. } if other == array => {
            (first.abs_diff(*second) == 1).then_some([*first, *second])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_program::types::Scalar;

    #[test]
    fn shapes() {
        use BinaryOp::*;
        let bin = |op, x: &Expr, y: &Expr| Expr::binary(op, x.clone(), y.clone());
        let (x, y, n) = (&Expr::Var(0), &Expr::Var(1), &Expr::Uint(8));
        let call = |op, x: &Expr, y: &Expr| Expr::Intrinsic(op, vec![x.clone(), y.clone()]);
        let sign = &bin(Shr, x, &Expr::Uint(31));
        for (expr, want) in [
            (bin(BitOr, &bin(Shl, x, n), &bin(Shr, x, y)), Some(Idiom::Rotate(x))),
            (bin(Add, &bin(Shl, x, n), &bin(Shr, y, n)), Some(Idiom::Funnel(Add, [x, n, y, n]))),
            (bin(Lt, &bin(Add, x, y), x), Some(Idiom::CarryCompare)),
            (bin(Lt, &bin(Add, x, y), y), None),
            (bin(BitAnd, &bin(Shr, x, n), &Expr::Uint(255)), Some(Idiom::ByteSelect(x, 8))),
            (bin(Sub, &call(Intrinsic::Max, x, y), &call(Intrinsic::Min, x, y)), Some(Idiom::AbsDifference(x, y))),
            (bin(Sub, &call(Intrinsic::Max, x, y), &call(Intrinsic::Min, x, n)), None),
            (
                bin(Add, x, &call(Intrinsic::Min, y, &Expr::unary(UnaryOp::BitNot, x.clone()))),
                Some(Idiom::SaturatingSum(x, y)),
            ),
            (bin(BitXor, x, x), Some(Idiom::Same(BitXor, x))),
            (bin(BitOr, &bin(BitAnd, x, y), n), Some(Idiom::Logic([BitAnd, BitOr], [x, y, n]))),
            (bin(Sub, &bin(BitXor, x, sign), sign), Some(Idiom::BranchlessAbs(x))),
            (bin(Div, x, y), Some(Idiom::Quotient(x, y))),
            (bin(Div, x, &Expr::Cast(Scalar::Int8, Box::new(n.clone()))), None),
            (bin(Sub, x, x), None),
        ] {
            assert_eq!(idiom(&expr), want, "{expr:?}");
        }
    }
}
