//! Operations in operands that not every lane evaluates: in branches instead.
//!
//! ```text
//!   x = a || subgroupAny(b);
//!   bool kept = a; if (!kept) { kept = subgroupAny(b); }  x = kept;
//! ```

use tangle_program::control::SelectionControl;
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::tree::{Block, Expr, Function, Stmt, VarId};
use tangle_program::types::Type;

/// Which operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operands {
    /// The right ones of `&&` and `||`.
    Right,
    /// The second and the third of `?:`.
    Selected,
}

/// Puts the operands with operations into branches, where a statement evaluates them once.
pub fn branch(function: &mut Function, which: Operands) {
    function.change_body(|function, body| in_block(function, which, body));
}

fn in_block(function: &mut Function, which: Operands, block: &mut Block) {
    let mut changed = Block::with_capacity(block.len());
    for mut stmt in std::mem::take(block) {
        match &mut stmt {
            // Its expressions are evaluated again in each iteration.
            Stmt::Loop(l) => in_block(function, which, &mut l.body),
            stmt => {
                for expr in stmt.direct_exprs_mut() {
                    in_expr(function, which, expr, &mut changed);
                }
                for block in stmt.nested_blocks_mut() {
                    in_block(function, which, block);
                }
            }
        }
        changed.push(stmt);
    }
    *block = changed;
}

/// Changes an expression that is evaluated behind these statements.
fn in_expr(function: &mut Function, which: Operands, expr: &mut Expr, before: &mut Block) {
    match expr {
        Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
            in_expr(function, which, left, before);
            if which == Operands::Right && has_operation(right) {
                let kept = function.add_fresh_local("kept", Type::BOOL);
                let cond = if *op == BinaryOp::And { Expr::Var(kept) } else { not(Expr::Var(kept)) };
                before.push(Stmt::Assign { var: kept, value: take(left) });
                let then = arm(function, which, kept, right);
                before.push(Stmt::If { cond, then, otherwise: Block::new(), control: SelectionControl::default() });
                *expr = Expr::Var(kept);
            }
        }
        Expr::Select(cond, yes, no) => {
            in_expr(function, which, cond, before);
            let ty = yes.ty(function);
            if which == Operands::Selected
                && (has_operation(yes) || has_operation(no))
                && let Some(ty) = ty
            {
                let kept = function.add_fresh_local("kept", ty);
                let then = arm(function, which, kept, yes);
                let otherwise = arm(function, which, kept, no);
                let cond = take(cond);
                before.push(Stmt::If { cond, then, otherwise, control: SelectionControl::default() });
                *expr = Expr::Var(kept);
            }
        }
        other => {
            for operand in other.operands_mut() {
                in_expr(function, which, operand, before);
            }
        }
    }
}

/// `kept = operand;`
fn arm(function: &mut Function, which: Operands, kept: VarId, operand: &mut Expr) -> Block {
    let mut block = Block::new();
    in_expr(function, which, operand, &mut block);
    block.push(Stmt::Assign { var: kept, value: take(operand) });
    block
}

fn has_operation(expr: &Expr) -> bool {
    expr.any(&mut |expr| matches!(expr, Expr::Subgroup(_)))
}

fn not(expr: Expr) -> Expr {
    Expr::Unary(UnaryOp::Not, Box::new(expr))
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Bool(false))
}
