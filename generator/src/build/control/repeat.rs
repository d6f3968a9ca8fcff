//! Loops of all four forms.

use tangle_program::tree::{Block, Expr, Loop, LoopKind, Stmt, Test, VarId, ends_in_jump};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::cond::Outlook;
use super::super::estimate::Guess;
use super::super::frame::{Kind, Role};
use super::super::log::Moment;
use super::super::term::uint;
use crate::class::{Class, Decision};
use crate::weights::LoopForm;

/// Steps that an iteration takes at least, roughly.
const LEAST_BODY: u32 = 8;
/// Product of the bounds of nested loops.
const MOST_TRIPS: u32 = 128;

/// The fixed parts of a loop.
pub(crate) struct LoopHead {
    pub(crate) form: LoopForm,
    /// The bound and its greatest value.
    pub(crate) bound: (Expr, u32),
    /// Whether its test, bound and exits can part the lanes of the group.
    pub(crate) decision: Decision,
}

impl Builder<'_> {
    /// How many iterations a loop may have here; 0 for none.
    pub(crate) fn affordable_trips(&self) -> u32 {
        let room = self.frame.room().steps / (2 * LEAST_BODY);
        room.min(MOST_TRIPS / self.frame.trips)
    }

    /// One of the loop forms.
    pub(crate) fn form(&mut self) -> LoopForm {
        LoopForm::ALL[self.draw.index(self.weights.loops.iter().copied())].0
    }

    fn trips(&mut self) -> u32 {
        let most = self.affordable_trips();
        let outermost = self.frame.trips == 1 && self.frame.level == 0;
        let wish = if outermost && self.draw.percent(5) {
            self.draw.range(12, 40)
        } else {
            self.draw.weighted(&[(5, 3), (6, 4), (4, 2), (3, 5), (2, 6), (2, 8), (1, 1)])
        };
        wish.min(most).max(1)
    }

    /// In the weaker tiers half of the loops keep their lanes together, so that what is in them can be checked.
    pub(crate) fn loop_decision(&mut self) -> Decision {
        if !self.is_maximal() && self.frame.flow.is_uniform() && self.draw.percent(45) {
            Decision::Uniform
        } else {
            Decision::Divergent
        }
    }

    pub(crate) fn loop_statement(&mut self, out: &mut Block) {
        let decision = self.loop_decision();
        let outermost = self.frame.trips == 1 && self.frame.level == 0;
        let (mut form, mut is_light) = (self.form(), false);
        let bound = match self.draw.below(100) {
            // None, or one, and the compiler knows.
            0..=5 => {
                is_light = true;
                let count = self.draw.below(2);
                (uint(count), count)
            }
            // A body without branches.
            6..=13 => {
                (form, is_light) = (LoopForm::DoWhile, true);
                let trips = self.trips();
                self.bound(trips, decision)
            }
            14..=17 if outermost && self.affordable_trips() >= MOST_TRIPS / 2 => {
                is_light = true;
                let most = self.draw.pick(&[MOST_TRIPS, MOST_TRIPS / 2]).min(self.affordable_trips());
                self.long_bound(most, decision)
            }
            _ => {
                let trips = self.trips();
                self.bound(trips, decision)
            }
        };
        // Long loops are light ones.
        let size = if bound.1 > 8 { 2 } else { 2 + self.draw.below(3) };
        let carried = self.carried_variable(out);
        let written = self.frame.clock;
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound, decision },
            |b, _| if is_light { None } else { b.test(form, decision) },
            |b, _| {
                let rest = |b: &mut Self| if is_light { b.light_body() } else { b.loop_body(size, form) };
                match carried {
                    Some(var) => b.carrying(var, rest),
                    None => rest(b),
                }
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    /// Now and then, where the lanes of an iteration are known, a variable that is the same in all of them.
    fn carried_variable(&mut self, out: &mut Block) -> Option<VarId> {
        let wanted = self.frame.flow.tangle_is_stable() && self.has_uniform_operands() && self.draw.percent(12);
        wanted.then(|| {
            let var = self.private("same", Type::UINT);
            let start = self.uniform_uint(7);
            self.set(var, start, out);
            var
        })
    }

    /// One or two assignments, perhaps an operation.
    fn light_body(&mut self) -> Block {
        let mut out = Vec::new();
        self.assignment(&mut out);
        match self.draw.below(4) {
            0 => self.assignment(&mut out),
            1 => self.operation_statement(&mut out),
            2 => self.rotation(&mut out),
            _ => {}
        }
        out
    }

    /// Observes what the loop leaves behind.
    pub(crate) fn after_loop(&mut self, counter: VarId, written: u32, out: &mut Block) {
        let mut left: Vec<VarId> = Vec::new();
        for (id, var) in self.frame.vars.iter().enumerate().rev() {
            let wide = var.ty.components() > 2 && !left.is_empty();
            if var.written > written && var.role == Role::Data && left.len() < 3 && !wide {
                left.push(id as VarId);
            }
        }
        left.push(counter);
        self.observe(Moment::Loop, &left, out);
    }

    fn loop_body(&mut self, size: u32, form: LoopForm) -> Block {
        let mut out = Vec::new();
        self.observe(Moment::Place, &[], &mut out);
        let exit_at = self.draw.below(size + 1);
        let wants_exit = form == LoopForm::Forever || self.draw.percent(65);
        for k in 0..size {
            if k == exit_at && wants_exit && self.can_exit() && !ends_in_jump(&out) {
                self.exit(&mut out);
            }
            self.extend(1, &mut out);
        }
        self.nonempty(out)
    }

    fn test(&mut self, form: LoopForm, decision: Decision) -> Option<Test> {
        let percent = match form {
            LoopForm::For => 35,
            LoopForm::While => 75,
            LoopForm::DoWhile => 60,
            LoopForm::Forever | LoopForm::Endless => 0,
        };
        if !self.draw.percent(percent) {
            return None;
        }
        // What stands in the condition of a `do … while` loop is what comes seldomest of all.
        let part = if form == LoopForm::DoWhile { 50 } else { 30 };
        let before = if self.draw.percent(part) { self.comma_part() } else { Vec::new() };
        let mut cond = self.test_condition(decision);
        for _ in 0..2 {
            if self.outlook(&cond) != Outlook::Never {
                break;
            }
            cond = self.test_condition(decision);
        }
        let cond = self.with_expectation(cond, Scalar::Bool);
        Some(Test { before, cond })
    }

    fn test_condition(&mut self, decision: Decision) -> Expr {
        match decision {
            Decision::Uniform => self.uniform_condition(),
            Decision::Divergent if self.draw.percent(60) => self.staying_condition(),
            Decision::Divergent => self.condition().expr,
        }
    }

    /// Statements that may stand in an expression: assignments, logs and calls.
    fn comma_part(&mut self) -> Block {
        let mut out = Vec::new();
        match self.draw.below(4) {
            0 | 1 => self.operation_statement(&mut out),
            2 if self.can_call() => self.call_statement(&mut out),
            _ => self.assignment(&mut out),
        }
        out
    }

    /// A loop with this test and this body; its counter.
    pub(crate) fn repeat(
        &mut self,
        set: LoopHead,
        test: impl FnOnce(&mut Self, VarId) -> Option<Test>,
        body: impl FnOnce(&mut Self, VarId) -> Block,
    ) -> (Stmt, VarId) {
        let (bound, most) = set.bound;
        let most = most.max(1);
        let init = self.loop_init(set.form, set.decision);
        let (before, here) = (self.frame.flow, self.frame.estimated);
        let trips = self.frame.trips;
        let role = if set.form == LoopForm::Endless { Role::Hidden } else { Role::Counter };
        let counter = self.frame.local("n", Type::UINT, Class::Clean, role);
        self.frame.vars[counter as usize].uniform = before.is_uniform() && set.decision == Decision::Uniform;
        self.frame.touch(counter);
        let entered = self.frame.clock;
        self.step();
        self.frame.open(Kind::Loop);
        if set.decision == Decision::Uniform && !self.is_maximal() {
            self.frame.keep_together();
        }
        self.frame.flow = before.iteration(set.decision);
        let inside = self.frame.flow;
        self.frame.trips = trips * (most + 1);
        self.step();
        // The first test decides whether anybody comes in.
        self.frame.guesses[counter as usize] = Some(Guess::all(0));
        let test = self.knowing([], |b| test(b, counter));
        self.frame.guesses[counter as usize] = None;
        self.frame.trips = trips * most;
        self.frame.flow = inside;
        let body = self.knowing([], |b| body(b, counter));
        self.frame.flow = inside;
        self.frame.estimated = here;
        // The guess followed the first iteration only.
        self.frame.forget_since(entered);
        let kind = self.loop_kind(set.form, init, most);
        let leaving = self.frame.close();
        self.frame.trips = trips;
        self.frame.flow = before.after(leaving);
        self.frame.touch(counter);
        let control = self.loop_control();
        (Stmt::Loop(Box::new(Loop { kind, counter, bound, test, body, control })), counter)
    }

    fn loop_init(&mut self, form: LoopForm, decision: Decision) -> Expr {
        match form {
            LoopForm::For if self.draw.percent(15) && decision == Decision::Divergent => self.key(1),
            LoopForm::For if self.draw.percent(10) => uint(1),
            _ => uint(0),
        }
    }

    fn loop_kind(&mut self, form: LoopForm, init: Expr, most: u32) -> LoopKind {
        match form {
            LoopForm::For => {
                let step = self.draw.weighted(&[(8, 1), (2, 2), (1, 3)]).min(most.div_ceil(2));
                let update = if self.draw.percent(22) { self.comma_part() } else { Vec::new() };
                LoopKind::For { init, step, update }
            }
            LoopForm::While => LoopKind::While,
            LoopForm::DoWhile => LoopKind::DoWhile,
            LoopForm::Forever => LoopKind::Forever,
            LoopForm::Endless => LoopKind::Endless,
        }
    }
}
