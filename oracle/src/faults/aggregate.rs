//! What faulty compilers make of statements that copy whole aggregates.

use tangle_program::tree::{Expr, Stmt, VarId, walk_block};

/// `copy = of;` of whole variables
fn copied(stmt: &Stmt) -> Option<(VarId, VarId)> {
    match stmt {
        Stmt::Assign { var, value: Expr::Var(of) } if var != of => Some((*var, *of)),
        _ => None,
    }
}

/// True if something holds for one of the statements, or one within them.
fn any(stmts: &[Stmt], holds: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    walk_block(stmts, &mut |stmt| found |= holds(stmt));
    found
}

fn writes(stmts: &[Stmt], of: VarId) -> bool {
    any(stmts, |stmt| stmt.written().any(|var| var == of))
}

/// True if a part of the variable is written, as only aggregates and vectors have them.
fn writes_part(stmts: &[Stmt], of: VarId) -> bool {
    any(stmts, |stmt| matches!(stmt, Stmt::SetElement { var, .. } if *var == of))
}

/// A copy that the rest of the list does not write: who reads it reads the original, which is written there in part.
pub(super) fn copy_elided(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let (first, rest) = stmts.split_first()?;
    let (copy, of) = copied(first)?;
    if writes(rest, copy) || !writes_part(rest, of) {
        return None;
    }
    let mut changed = rest.to_vec();
    changed.iter_mut().for_each(|stmt| read_instead(stmt, copy, of));
    Some((stmts.len(), std::iter::once(first.clone()).chain(changed).collect()))
}

fn read_instead(stmt: &mut Stmt, copy: VarId, of: VarId) {
    fn replace(expr: &mut Expr, copy: VarId, of: VarId) {
        if *expr == Expr::Var(copy) {
            *expr = Expr::Var(of);
        }
        expr.operands_mut().into_iter().for_each(|operand| replace(operand, copy, of));
    }
    stmt.direct_exprs_mut().into_iter().for_each(|expr| replace(expr, copy, of));
    stmt.nested_blocks_mut().into_iter().flatten().for_each(|stmt| read_instead(stmt, copy, of));
}

/// A variable that the end of a branch assigns from another variable: the other side does so too, or leaves it as it is. That it has parts is
/// seen where one is read or written.
pub(super) fn phi_of_first_part(stmts: &[Stmt]) -> Option<(usize, Vec<Stmt>)> {
    let Stmt::If { cond, then, otherwise, control } = stmts.first()? else { return None };
    let (then_last, rest) = then.split_last()?;
    let (var, of) = copied(then_last)?;
    let other = otherwise.iter().rev().find_map(|stmt| copied(stmt).filter(|(assigned, _)| *assigned == var));
    let other = other.map_or(var, |(_, other)| other);
    let is_part = |part: &Expr| matches!(part, Expr::Element(of, _) if **of == Expr::Var(var));
    let reads_part = any(stmts, |stmt| stmt.direct_exprs().any(|expr| expr.any(&mut |part| is_part(part))));
    if of == other || writes(rest, other) || !(reads_part || writes_part(stmts, var)) {
        return None;
    }
    let first = Expr::element(Expr::Var(of), Expr::Uint(0));
    let mut changed = rest.to_vec();
    changed.push(Stmt::Assign { var, value: Expr::Var(other) });
    changed.push(Stmt::SetElement { var, index: Expr::Uint(0), inner: Vec::new(), value: first });
    Some((1, vec![Stmt::If { cond: cond.clone(), then: changed, otherwise: otherwise.clone(), control: *control }]))
}
