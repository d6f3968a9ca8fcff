//! Loops that all lanes leave, with no counter and no bound to make them.
//!
//! The body of such a loop has, where all lanes that stay in it come by (in its own list of statements, before a `continue` may come), one of
//! these ways out:
//!
//! | way | every lane has left after |
//! |---|---|
//! | `x = x >> k;` or `x = x & (x - 1);` on an unsigned `x` that nothing else in the loop writes, then `if (x == 0) { …; break; }`, or `switch (x) { case 0: …; return; … }` | as many iterations as `x` has bits: each has one less that may be set |
//! | `if (subgroupElect()) { …; break; }` | as many as a subgroup has lanes: of every tangle, whoever is in it, one lane leaves (rule O11) |
//! | `y = subgroupBroadcastFirst(x);` on an `x` that the loop does not write, then `if (x == y) { …; break; }` | the same: the lowest lane of every tangle leaves |
//!
//! `return` is as good as `break` for all of them. There may be other ways out besides.

use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Expr, Function, Label, Loop, Stmt, VarId, walk_block};

/// After how many iterations all lanes have left the loop; `None` if that is not known. `lanes`: how many a subgroup has at most, `None` if helper invocations may be
/// considered inactive, which are never elected then, nor the first (rule H3).
pub fn rounds(l: &Loop, function: &Function, lanes: Option<u32>) -> Option<u32> {
    let by_all: Vec<&Stmt> = l.body.iter().take_while(|stmt| !may_continue(stmt)).collect();
    by_all.iter().enumerate().find_map(|(k, stmt)| {
        let before = || by_all[..k].iter().filter_map(|stmt| assignment(stmt));
        let until_zero = |x: VarId| {
            let ty = function.var_type(x)?;
            let shrinks = ty.is_scalar()
                && ty.scalar.is_integer()
                && !ty.scalar.is_signed()
                && before().any(|(var, value)| var == x && has_less_bits(value, x));
            (shrinks && writes(l, x) == 1).then_some(ty.scalar.size())
        };
        if let Some(x) = exit_of_zero(stmt) {
            return until_zero(x);
        }
        match exit(stmt)? {
            Expr::Subgroup(call) if call.op == SubgroupOp::Elect => lanes,
            Expr::Binary(BinaryOp::Eq, x, y) => match (&**x, &**y) {
                (Expr::Var(x), Expr::Var(y)) => {
                    let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Var(*x)]);
                    let is_first = before().any(|(var, value)| var == *y && *value == first);
                    lanes.filter(|_| is_first && writes(l, *x) == 0 && writes(l, *y) == 1)
                }
                (Expr::Var(x), zero) if is_zero(zero) => until_zero(*x),
                _ => None,
            },
            _ => None,
        }
    })
}

/// The condition under which lanes leave here.
fn exit(stmt: &Stmt) -> Option<&Expr> {
    match stmt {
        Stmt::If { cond, then, .. } if matches!(then.last(), Some(Stmt::Break | Stmt::Return(_))) => {
            Some(without_expectation(cond))
        }
        _ => None,
    }
}

/// The variable that lanes return by here if it is 0: a `break` would leave the switch.
fn exit_of_zero(stmt: &Stmt) -> Option<VarId> {
    let Stmt::Switch { selector: Expr::Var(x), arms, .. } = stmt else { return None };
    let arm = arms.iter().find(|arm| arm.labels.contains(&Label::Case(0)))?;
    let (last, before) = arm.body.split_last()?;
    (matches!(last, Stmt::Return(_)) && !before.iter().any(may_break)).then_some(*x)
}

/// True if a `break` of the switch around may be in the statement.
fn may_break(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Break => true,
        Stmt::Loop(_) | Stmt::Switch { .. } => false,
        _ => stmt.nested_blocks().any(|block| block.iter().any(may_break)),
    }
}

/// What is left of a condition without what the compiler may expect of it.
fn without_expectation(cond: &Expr) -> &Expr {
    match cond {
        Expr::Intrinsic(Intrinsic::Expect, args) => args.first().map_or(cond, without_expectation),
        _ => cond,
    }
}

fn assignment(stmt: &Stmt) -> Option<(VarId, &Expr)> {
    match stmt {
        Stmt::Assign { var, value } => Some((*var, value)),
        _ => None,
    }
}

/// `x >> k` or `x & (x - 1)`
fn has_less_bits(value: &Expr, x: VarId) -> bool {
    let Expr::Binary(op, left, right) = value else { return false };
    if **left != Expr::Var(x) {
        return false;
    }
    match (op, &**right) {
        (BinaryOp::Shr, Expr::Uint(1..)) => true,
        (BinaryOp::BitAnd, Expr::Binary(BinaryOp::Sub, less, one)) => **less == Expr::Var(x) && literal(one) == Some(1),
        _ => false,
    }
}

fn is_zero(expr: &Expr) -> bool {
    literal(expr) == Some(0)
}

/// The value of a small literal of any type of integers.
fn literal(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Uint(value) => Some(*value),
        Expr::Cast(to, inner) if to.is_integer() => literal(inner).filter(|value| *value < 2),
        _ => None,
    }
}

/// How often a variable is written in the loop.
fn writes(l: &Loop, var: VarId) -> usize {
    let mut count = 0;
    walk_block(&l.body, &mut |stmt| count += stmt.written().filter(|written| *written == var).count());
    count
}

/// True if a `continue` of the loop around may be in the statement.
pub(crate) fn may_continue(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Continue => true,
        Stmt::Loop(_) => false,
        _ => stmt.nested_blocks().any(|block| block.iter().any(may_continue)),
    }
}
