//! `if`.

use tangle_program::ops::UnaryOp;
use tangle_program::tree::{Block, Expr, Stmt, ends_in_jump};
use tangle_program::types::Scalar;

use super::super::Builder;
use super::super::cond::{Cond, Outlook};
use super::super::estimate::EstimatedMask;
use super::super::frame::Kind;
use super::super::log::Moment;
use crate::class::Flow;

/// Where the arms of a branch end.
struct Ends {
    flows: Vec<Flow>,
    estimated: EstimatedMask,
}

impl Builder<'_> {
    pub(crate) fn if_statement(&mut self, out: &mut Block) {
        let mut cond = self.condition();
        let size = 1 + self.draw.below(3);
        let mut else_size = if self.draw.percent(55) { 1 + self.draw.below(3) } else { 0 };
        match self.outlook(&cond.expr) {
            Outlook::Mixed => {}
            Outlook::Always => else_size = 0,
            Outlook::Never => {
                cond.expr = Expr::unary(UnaryOp::Not, cond.expr);
                else_size = 0;
            }
        }
        let arms = if else_size > 0 { 2 } else { 1 };
        let stmt = self.branch(
            cond,
            |b| b.sharing(arms, |b| b.arm(size)),
            |b| if else_size > 0 { b.arm(else_size) } else { Vec::new() },
        );
        out.push(stmt);
    }

    /// What is believed of a condition here.
    pub(crate) fn outlook(&self, cond: &Expr) -> Outlook {
        let Some(holds) = self.estimate(|guess| guess.holds(cond)) else { return Outlook::Mixed };
        let here = self.frame.estimated;
        match (here.and(holds).is_empty(), here.without(holds).is_empty()) {
            (_, true) => Outlook::Always,
            (true, _) => Outlook::Never,
            _ => Outlook::Mixed,
        }
    }

    fn arm(&mut self, size: u32) -> Block {
        let mut out = Vec::new();
        self.observe(Moment::Place, &[], &mut out);
        self.extend(size, &mut out);
        self.nonempty(out)
    }

    /// `if (cond) { then } else { otherwise }`
    pub(crate) fn branch(
        &mut self,
        cond: Cond,
        then: impl FnOnce(&mut Self) -> Block,
        otherwise: impl FnOnce(&mut Self) -> Block,
    ) -> Stmt {
        self.step();
        let (before, here) = (self.frame.flow, self.frame.estimated);
        let holds = self.estimate(|guess| guess.holds(&cond.expr));
        let (yes, no) = holds.map_or((here, here), |holds| (here.and(holds), here.without(holds)));
        self.frame.open(Kind::If);
        self.frame.tested.push(cond.source);
        let mut ends = Ends { flows: Vec::with_capacity(2), estimated: EstimatedMask::NONE };
        let inside = before.arm(cond.decision);
        let then = self.branch_arm(inside, yes, then, &mut ends);
        let otherwise = self.branch_arm(inside, no, otherwise, &mut ends);
        self.frame.tested.pop();
        let leaving = self.frame.close();
        self.frame.flow = before.after_branch(cond.decision, leaving, &ends.flows);
        self.frame.estimated = ends.estimated;
        let control = self.selection_control();
        let cond = self.with_expectation(cond.expr, Scalar::Bool);
        Stmt::If { cond, then, otherwise, control }
    }

    fn branch_arm(
        &mut self,
        flow: Flow,
        estimated: EstimatedMask,
        make: impl FnOnce(&mut Self) -> Block,
        ends: &mut Ends,
    ) -> Block {
        self.frame.flow = flow;
        self.frame.estimated = estimated;
        let block = self.knowing([], make);
        if !ends_in_jump(&block) {
            ends.flows.push(self.frame.flow);
            ends.estimated = ends.estimated.or(self.frame.estimated);
        }
        block
    }
}
