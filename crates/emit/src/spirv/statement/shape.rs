//! Questions about statements that decide which forms of control flow they can have.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Arm, Block, Expr, Function, Label, Stmt, VarId, walk_block};

use crate::spirv::body::Body;
use crate::spirv::expression::root;

impl Body<'_, '_> {
    pub(super) fn all_straight(&self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| self.stmt_is_straight(stmt))
    }

    /// True if a statement needs no branch, and lanes that begin it together end it together: a call may part them, except at tier maximal. In the
    /// header of a loop that would leave open whether control flow is uniform "upon entry into a structured loop" (R6).
    pub(super) fn stmt_is_straight(&self, stmt: &Stmt) -> bool {
        let is_simple = matches!(
            stmt,
            Stmt::Assign { .. }
                | Stmt::Log { .. }
                | Stmt::SubgroupBarrier(_)
                | Stmt::SetElement { .. }
                | Stmt::Store { .. }
                | Stmt::Atomic(_)
                | Stmt::Assume(_)
        );
        (is_simple || self.is_maximal() && matches!(stmt, Stmt::Call { .. }))
            && stmt.direct_exprs().all(|expr| self.is_straight(expr))
    }
}

/// True for the variables of which an element is picked by an index that is no literal, if they are no vectors.
pub(super) fn dynamically_indexed(function: &Function) -> Vec<bool> {
    let mut found = vec![false; function.var_count()];
    let mut mark = |var: VarId, index: &Expr| {
        if let (Some(found), false) = (found.get_mut(var as usize), matches!(index, Expr::Uint(_))) {
            *found = true;
        }
    };
    walk_block(&function.body, &mut |stmt| {
        if let Stmt::SetElement { var, index, inner, .. } = stmt {
            std::iter::once(index).chain(inner).for_each(|index| mark(*var, index));
        }
        for expr in stmt.direct_exprs() {
            expr.walk(&mut |expr| {
                if let Expr::Element(x, index) = expr
                    && let (Expr::Var(var), _) = root(x)
                {
                    mark(*var, index);
                }
            });
        }
    });
    found
}

pub(super) fn has_stmt(block: &Block, holds: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    walk_block(block, &mut |stmt| found |= holds(stmt));
    found
}

/// True if a break in the statements goes to a construct around them.
pub(super) fn has_break(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::If { then, otherwise, .. } => has_break(then) || has_break(otherwise),
        _ => false,
    })
}

/// True if there is a return before the end, and none of them in a loop or switch.
pub(super) fn returns_outside_loops_and_switches(body: &Block) -> bool {
    let is_return = |stmt: &Stmt| matches!(stmt, Stmt::Return(_));
    let mut inside = false;
    walk_block(body, &mut |stmt| {
        if matches!(stmt, Stmt::Loop(_) | Stmt::Switch { .. }) {
            inside |= stmt.nested_blocks().any(|block| has_stmt(block, is_return));
        }
    });
    has_stmt(body, is_return) && !inside
}

/// True if all who begin a statement come to its end, with no jump out of it. At the weaker tiers calls may part lanes.
pub(super) fn is_closed(stmt: &Stmt, is_maximal: bool, in_breakable: bool, in_loop: bool) -> bool {
    let (breakable, looped) = match stmt {
        Stmt::Call { .. } => return is_maximal,
        Stmt::Break => return in_breakable,
        Stmt::Continue => return in_loop,
        Stmt::Loop(_) => (true, true),
        Stmt::Switch { .. } => (true, in_loop),
        Stmt::Assign { .. }
        | Stmt::Log { .. }
        | Stmt::If { .. }
        | Stmt::SubgroupBarrier(_)
        | Stmt::SetElement { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic(_)
        | Stmt::Assume(_) => (in_breakable, in_loop),
        // Of another one that is not known.
        _ => return false,
    };
    stmt.nested_blocks().all(|block| block.iter().all(|stmt| is_closed(stmt, is_maximal, breakable, looped)))
}

/// True if statements can be a continue construct: nothing in them jumps, and they have no loops and switches of their own.
pub(super) fn can_be_continue(block: &Block) -> bool {
    !has_stmt(block, |stmt| {
        stmt.is_jump() || matches!(stmt, Stmt::Loop(_) | Stmt::Switch { .. } | Stmt::ControlBarrier(_))
    })
}

/// True if the labels have every value of the selector, by the form of the expression alone: other data of the program go through the
/// same module.
pub(super) fn has_every_value(selector: &Expr, arms: &[Arm]) -> bool {
    let most = match selector {
        Expr::Binary(BinaryOp::BitAnd, _, y) => match **y {
            Expr::Uint(k) => k,
            _ => return false,
        },
        Expr::Binary(BinaryOp::Mod, _, y) => match **y {
            Expr::Uint(k @ 1..) => k - 1,
            _ => return false,
        },
        _ => return false,
    };
    let has = |value: i64| arms.iter().any(|arm| arm.labels.contains(&Label::Case(value)));
    most < 64 && (0..=i64::from(most)).all(has)
}
