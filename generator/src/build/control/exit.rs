//! `break`, `continue` and `return` under a condition, in the shapes that compilers got wrong.

use tangle_program::tree::{Block, Expr, Stmt, ends_in_jump};

use super::super::Builder;
use super::super::cond::Cond;
use super::super::frame::Jump;
use super::super::term::Want;
use crate::class::Decision;

impl Builder<'_> {
    /// True if some way out may stand here.
    pub(crate) fn can_exit(&self) -> bool {
        let deep = self.frame.opens.len() as u32 > self.size.depth;
        !deep && (self.exit_condition_fits(Decision::Divergent) || self.exit_condition_fits(Decision::Uniform))
    }

    /// True if a jump is allowed under a condition of that kind.
    fn exit_condition_fits(&self, decision: Decision) -> bool {
        !self.jumps(decision).is_empty()
    }

    fn jumps(&self, decision: Decision) -> Vec<Jump> {
        // A frame's flow decides; a divergent condition makes it divergent.
        let inside = self.frame.flow.arm(decision);
        let fits = |jump: &Jump| self.frame.can_jump_from(inside, *jump);
        [Jump::Break, Jump::Continue, Jump::Return].into_iter().filter(fits).collect()
    }

    /// A break, continue or return under a condition, in one of the shapes that compilers got wrong.
    pub(crate) fn exit(&mut self, out: &mut Block) {
        let divergent = self.exit_condition_fits(Decision::Divergent);
        let decision = if divergent { Decision::Divergent } else { Decision::Uniform };
        match self.draw.below(12) {
            0..=2 => self.guarded_jump(decision, 0, out),
            3..=5 => {
                let size = 1 + self.draw.below(2);
                self.guarded_jump(decision, size, out);
            }
            6 | 7 => {
                // Two in a row.
                self.guarded_jump(decision, 0, out);
                let size = self.draw.below(2);
                self.guarded_jump(decision, size, out);
            }
            8 | 9 => self.jump_in_jump(decision, out),
            10 => self.jump_or_go_on(decision, out),
            _ => self.jump_either_way(decision, out),
        }
    }

    pub(crate) fn exit_condition(&mut self, decision: Decision) -> Cond {
        let mut cond = self.exit_condition_once(decision);
        for _ in 0..2 {
            if self.leaves_enough(&cond.expr) {
                break;
            }
            cond = self.exit_condition_once(decision);
        }
        cond
    }

    /// True if some are believed to take an exit, and enough to go on without them.
    pub(crate) fn leaves_enough(&self, cond: &Expr) -> bool {
        let here = self.frame.estimated;
        let Some(holds) = self.estimate(|guess| guess.holds(cond)) else { return true };
        !here.and(holds).is_empty() && 4 * here.without(holds).count() >= here.count()
    }

    fn exit_condition_once(&mut self, decision: Decision) -> Cond {
        match decision {
            Decision::Uniform => Cond::uniform(self.uniform_condition()),
            Decision::Divergent if self.frame.in_loop() && self.draw.percent(45) => self.turning_condition(),
            Decision::Divergent => self.condition(),
        }
    }

    fn exit_jump(&mut self, decision: Decision) -> Option<Jump> {
        let weight = |jump: Jump| match jump {
            Jump::Break => 6,
            Jump::Continue => 4,
            Jump::Return => 4,
        };
        let jumps = self.jumps(decision);
        if jumps.is_empty() {
            return None;
        }
        Some(jumps[self.draw.index(jumps.iter().map(|&jump| weight(jump)))])
    }

    /// The jump itself, if it may stand here.
    pub(crate) fn push_jump(&mut self, jump: Jump, out: &mut Block) {
        if !self.frame.can_jump(jump) || ends_in_jump(out) {
            return;
        }
        let stmt = match jump {
            Jump::Break => Stmt::Break,
            Jump::Continue => Stmt::Continue,
            Jump::Return => Stmt::Return(self.return_value()),
        };
        self.frame.note_jump(jump);
        self.step();
        out.push(stmt);
    }

    fn return_value(&mut self) -> Option<Expr> {
        let (ty, class) = self.frame.result?;
        Some(self.expr(ty, Want::of(class, 1)))
    }

    /// `if (c) { …; break; }`
    fn guarded_jump(&mut self, decision: Decision, size: u32, out: &mut Block) {
        let Some(jump) = self.exit_jump(decision) else { return };
        let cond = self.exit_condition(decision);
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = b.block(size);
                b.push_jump(jump, &mut block);
                b.nonempty(block)
            },
            |_| Vec::new(),
        );
        out.push(stmt);
    }

    /// `if (c) { if (d) { …; continue; } …; break; }`
    fn jump_in_jump(&mut self, decision: Decision, out: &mut Block) {
        let Some(jump) = self.exit_jump(decision) else { return };
        let size = self.draw.below(2);
        let cond = self.exit_condition(decision);
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                b.guarded_jump(decision, size, &mut block);
                b.extend(1, &mut block);
                b.push_jump(jump, &mut block);
                b.nonempty(block)
            },
            |_| Vec::new(),
        );
        out.push(stmt);
    }

    /// `if (c) { break; } else { … }`
    fn jump_or_go_on(&mut self, decision: Decision, out: &mut Block) {
        let Some(jump) = self.exit_jump(decision) else { return };
        let cond = self.exit_condition(decision);
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                b.push_jump(jump, &mut block);
                b.nonempty(block)
            },
            |b| b.filled(2),
        );
        out.push(stmt);
    }

    /// `if (c) { …; break; } else { …; continue; }`
    fn jump_either_way(&mut self, decision: Decision, out: &mut Block) {
        let (Some(first), Some(second)) = (self.exit_jump(decision), self.exit_jump(decision)) else { return };
        let cond = self.exit_condition(decision);
        let arm = |jump: Jump| {
            move |b: &mut Self| {
                let mut block = b.block(1);
                b.push_jump(jump, &mut block);
                b.nonempty(block)
            }
        };
        let stmt = self.branch(cond, arm(first), arm(second));
        out.push(stmt);
    }
}
