//! Exits of loops, moved: a lane that breaks in an `if` does nothing in the rest of the iteration and leaves at its end.
//!
//! ```text
//!   loop { A; if (c) { B; break; } C; }
//!   left = false; loop { A; if (c) { B; left = true; } if (!left) { C; } if (left) { break; } }
//! ```
//!
//! The same lanes execute each statement together as before, in the same order.

use tangle_program::ops::UnaryOp;
use tangle_program::tree::{Block, Expr, Function, Stmt, VarId};
use tangle_program::types::Type;

/// Moves the exits of all loops of a function.
pub fn move_exits(function: &mut Function) {
    function.change_body(in_block);
}

fn in_block(function: &mut Function, block: &mut Block) {
    let mut at = 0;
    while at < block.len() {
        block[at].nested_blocks_mut().into_iter().for_each(|inner| in_block(function, inner));
        if let Stmt::Loop(l) = &mut block[at]
            && l.body.iter().any(breaks_in_an_if)
        {
            let left = function.add_fresh_local("left", Type::BOOL);
            l.body = deferred(std::mem::take(&mut l.body), left);
            l.body.push(branch(Expr::Var(left), vec![Stmt::Break]));
            block.insert(at, Stmt::Assign { var: left, value: Expr::Bool(false) });
            at += 1;
        }
        at += 1;
    }
}

/// True if it is an `if` with a `break` of the loop around it.
fn breaks_in_an_if(stmt: &Stmt) -> bool {
    let breaks = |block: &Block| block.iter().any(|stmt| *stmt == Stmt::Break || breaks_in_an_if(stmt));
    matches!(stmt, Stmt::If { then, otherwise, .. } if breaks(then) || breaks(otherwise))
}

/// The statements with `left = true;` in the place of `break;`. What stands behind is for those that have not left.
fn deferred(block: Block, left: VarId) -> Block {
    let mut done = Block::new();
    let mut rest = block.into_iter();
    while let Some(mut stmt) = rest.next() {
        if stmt == Stmt::Break {
            done.push(Stmt::Assign { var: left, value: Expr::Bool(true) });
            break;
        }
        let breaks = breaks_in_an_if(&stmt);
        if let (true, Stmt::If { then, otherwise, .. }) = (breaks, &mut stmt) {
            [then, otherwise].into_iter().for_each(|side| *side = deferred(std::mem::take(side), left));
        }
        done.push(stmt);
        if breaks {
            let rest = deferred(rest.collect(), left);
            if !rest.is_empty() {
                done.push(branch(Expr::unary(UnaryOp::Not, Expr::Var(left)), rest));
            }
            break;
        }
    }
    done
}

fn branch(cond: Expr, then: Block) -> Stmt {
    Stmt::If { cond, then, otherwise: Vec::new(), control: Default::default() }
}
