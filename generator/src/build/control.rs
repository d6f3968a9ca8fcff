//! Branches, loops, switches and the ways out of them.

use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Block, Expr, Label, Loop, LoopKind, Stmt, Test, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::condition::Cond;
use super::estimate::{Crowd, Guess};
use super::expression::{Want, bin, cast, uint};
use super::frame::{Cost, Jump, Kind, Role};
use super::log::Moment;
use super::statement::ends_in_jump;
use crate::class::{Class, Decision, Flow};
use crate::weights::LoopForm;

/// Steps that an iteration takes at least, roughly.
const LEAST_BODY: u32 = 8;
/// Product of the bounds of nested loops.
const MOST_TRIPS: u32 = 96;

/// What is believed of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It holds for some.
    Mixed,
    Always,
    Never,
}

/// Whether a segment may fall through into the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Falling {
    Allowed,
    Forbidden,
}

/// Where the arms of a branch end.
struct Ends {
    flows: Vec<Flow>,
    crowd: Crowd,
}

/// The fixed parts of a loop.
pub(crate) struct Frameset {
    pub(crate) form: LoopForm,
    /// The bound and its greatest value.
    pub(crate) bound: (Expr, u32),
    /// Whether its test, bound and exits can part the lanes of the group.
    pub(crate) decision: Decision,
}

impl Builder<'_> {
    fn step(&mut self) {
        self.frame.charge(Cost { words: 0, steps: 1 });
    }

    // --- if ---

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
        let stmt = self.branch(cond, |b| b.arm(size), |b| if else_size > 0 { b.arm(else_size) } else { Vec::new() });
        out.push(stmt);
    }

    /// What is believed of a condition here.
    pub(crate) fn outlook(&self, cond: &Expr) -> Outlook {
        let Some(holds) = self.estimate(|guess| guess.holds(cond)) else { return Outlook::Mixed };
        let here = self.frame.crowd;
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
        if out.is_empty() {
            self.assignment(&mut out);
        }
        out
    }

    /// `if (cond) { then } else { otherwise }`
    pub(crate) fn branch(
        &mut self,
        cond: Cond,
        then: impl FnOnce(&mut Self) -> Block,
        otherwise: impl FnOnce(&mut Self) -> Block,
    ) -> Stmt {
        self.step();
        let (before, here) = (self.frame.flow, self.frame.crowd);
        let holds = self.estimate(|guess| guess.holds(&cond.expr));
        let (yes, no) = holds.map_or((here, here), |holds| (here.and(holds), here.without(holds)));
        self.frame.open(Kind::If);
        self.frame.tested.push(cond.source);
        let mut ends = Ends { flows: Vec::with_capacity(2), crowd: Crowd::NOBODY };
        let inside = before.arm(cond.decision);
        let then = self.branch_arm(inside, yes, then, &mut ends);
        let otherwise = self.branch_arm(inside, no, otherwise, &mut ends);
        self.frame.tested.pop();
        let leaving = self.frame.close();
        self.frame.flow = before.after_branch(cond.decision, leaving, &ends.flows);
        self.frame.crowd = ends.crowd;
        Stmt::If { cond: cond.expr, then, otherwise }
    }

    fn branch_arm(
        &mut self,
        flow: Flow,
        crowd: Crowd,
        make: impl FnOnce(&mut Self) -> Block,
        ends: &mut Ends,
    ) -> Block {
        self.frame.flow = flow;
        self.frame.crowd = crowd;
        let block = make(self);
        if !ends_in_jump(&block) {
            ends.flows.push(self.frame.flow);
            ends.crowd = ends.crowd.or(self.frame.crowd);
        }
        block
    }

    // --- loops ---

    /// How many iterations a loop may have here; 0 for none.
    pub(crate) fn affordable_trips(&self) -> u32 {
        let room = self.frame.room().steps / (2 * LEAST_BODY);
        room.min(MOST_TRIPS / self.frame.trips)
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
        let form = LoopForm::ALL[self.draw.index(self.weights.loops.iter().copied())];
        let trips = self.trips();
        let bound = self.bound(trips, decision);
        // Long loops are light ones.
        let size = if trips > 8 { 2 } else { 2 + self.draw.below(3) };
        let written = self.frame.clock;
        let (stmt, counter) =
            self.repeat(Frameset { form, bound, decision }, |b| b.test(form, decision), |b, _| b.loop_body(size, form));
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    /// Observes what the loop leaves behind.
    pub(crate) fn after_loop(&mut self, counter: VarId, written: u32, out: &mut Block) {
        let mut left: Vec<VarId> = Vec::new();
        for (id, var) in self.frame.vars.iter().enumerate().rev() {
            let wide = var.ty.width > 2 && !left.is_empty();
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
        if out.is_empty() {
            self.assignment(&mut out);
        }
        out
    }

    fn test(&mut self, form: LoopForm, decision: Decision) -> Option<Test> {
        let percent = match form {
            LoopForm::For => 35,
            LoopForm::While => 75,
            LoopForm::DoWhile => 60,
            LoopForm::Forever => 0,
        };
        if !self.draw.percent(percent) {
            return None;
        }
        let before = if self.draw.percent(15) { self.comma_part() } else { Vec::new() };
        let mut cond = self.test_condition(decision);
        for _ in 0..2 {
            if self.outlook(&cond) != Outlook::Never {
                break;
            }
            cond = self.test_condition(decision);
        }
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
        set: Frameset,
        test: impl FnOnce(&mut Self) -> Option<Test>,
        body: impl FnOnce(&mut Self, VarId) -> Block,
    ) -> (Stmt, VarId) {
        let (bound, most) = set.bound;
        let most = most.max(1);
        let init = self.loop_init(set.form, set.decision);
        let (before, here) = (self.frame.flow, self.frame.crowd);
        let trips = self.frame.trips;
        let counter = self.frame.local("n", Type::UINT, Class::Clean, Role::Counter);
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
        let test = test(self);
        self.frame.guesses[counter as usize] = None;
        self.frame.trips = trips * most;
        self.frame.flow = inside;
        let body = body(self, counter);
        self.frame.flow = inside;
        self.frame.crowd = here;
        // The guess followed the first iteration only.
        self.frame.forget_since(entered);
        let kind = self.loop_kind(set.form, init, most);
        let leaving = self.frame.close();
        self.frame.trips = trips;
        self.frame.flow = before.after(leaving);
        self.frame.touch(counter);
        (Stmt::Loop(Box::new(Loop { kind, counter, bound, test, body })), counter)
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
        }
    }

    // --- ways out ---

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
        let here = self.frame.crowd;
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

    pub(crate) fn nonempty(&mut self, mut block: Block) -> Block {
        if block.is_empty() {
            self.assignment(&mut block);
        }
        block
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

    // --- switch ---

    pub(crate) fn switch_statement(&mut self, out: &mut Block) {
        let (selector, decision, most) = self.selector();
        let signed = self.draw.percent(30);
        let here = self.frame.crowd;
        let values = self.estimate(|guess| guess.values(&selector)).filter(|values| !values.is_empty());
        let labels = self.labels(most, values.as_deref());
        let before = self.frame.flow;
        self.step();
        self.frame.open(Kind::Switch);
        let mut arms: Vec<Arm> = Vec::with_capacity(labels.len());
        let count = labels.len();
        let mut fallen: Option<(Flow, Crowd)> = None;
        for (k, labels) in labels.into_iter().enumerate() {
            self.frame.flow = segment_flow(before, decision, &labels, fallen.map(|(flow, _)| flow));
            let direct = values.as_ref().map_or(here, |values| who(values, &labels));
            self.frame.crowd = fallen.map_or(direct, |(_, crowd)| direct.or(crowd));
            let falling = if k + 1 == count { Falling::Forbidden } else { Falling::Allowed };
            let body = self.sharing((count - k) as u32, |b| b.segment(falling));
            fallen = (!ends_in_jump(&body)).then_some((self.frame.flow, self.frame.crowd));
            arms.push(Arm { labels, body });
        }
        let leaving = self.frame.close();
        self.frame.flow = before.after(leaving);
        self.frame.crowd = here;
        let selector = if signed { cast(Scalar::Int, selector) } else { selector };
        out.push(Stmt::Switch { selector, arms });
    }

    /// Makes something that leaves enough of the statements for `parts - 1` more of its kind.
    fn sharing<R>(&mut self, parts: u32, make: impl FnOnce(&mut Self) -> R) -> R {
        let left = self.statements;
        let share = left.div_ceil(parts);
        self.statements = share;
        let made = make(self);
        self.statements += left - share;
        made
    }

    /// A small word, whether lanes agree on it, and the most it can be.
    fn selector(&mut self) -> (Expr, Decision, u32) {
        let mask = self.draw.pick(&[3, 3, 3, 1, 7]);
        if self.draw.percent(15) {
            return (bin(BinaryOp::BitAnd, self.uniform_selector(), uint(mask)), Decision::Uniform, mask);
        }
        let (x, _) = self.source();
        let word = match self.draw.below(5) {
            0 => bin(BinaryOp::Shr, x, uint(1)),
            1 | 2 => match self.counter() {
                Some(counter) => bin(BinaryOp::Add, x, Expr::Var(counter)),
                None => x,
            },
            3 => return (bin(BinaryOp::Mod, x, uint(mask.max(2))), Decision::Divergent, mask.max(2) - 1),
            _ => x,
        };
        (bin(BinaryOp::BitAnd, word, uint(mask)), Decision::Divergent, mask)
    }

    fn uniform_selector(&mut self) -> Expr {
        if self.votes_are_uniform() && self.has(SubgroupOp::BroadcastFirst) && self.draw.percent(50) {
            let (x, _) = self.source();
            return Expr::subgroup(SubgroupOp::BroadcastFirst, [x]);
        }
        let word = self.constant_word();
        match self.uniform_counter() {
            Some(counter) => bin(BinaryOp::Add, word, Expr::Var(counter)),
            None => word,
        }
    }

    /// The labels of each arm, in order: of values up to `most`, those that are believed to occur first.
    fn labels(&mut self, most: u32, values: Option<&[(u32, Crowd)]>) -> Vec<Vec<Label>> {
        let mut cases: Vec<i64> = match values {
            Some(values) => values.iter().map(|&(value, _)| i64::from(value)).collect(),
            None => (0..=i64::from(most)).collect(),
        };
        if self.draw.percent(12) {
            cases.push(i64::from(most) + 1);
        }
        if self.draw.percent(35) {
            let turn = self.draw.below(cases.len() as u32) as usize;
            cases.rotate_left(turn);
        }
        let arms = 1 + self.draw.range(1, 3) as usize;
        let mut labels: Vec<Vec<Label>> = Vec::new();
        for case in cases {
            match labels.last_mut() {
                Some(arm) if arm.len() < 3 && self.draw.percent(15) => arm.push(Label::Case(case)),
                _ => labels.push(vec![Label::Case(case)]),
            }
        }
        labels.truncate(arms);
        let count = labels.len() as u32;
        match self.draw.below(8) {
            0..=2 => labels.push(vec![Label::Default]),
            3 | 4 => {
                let at = self.draw.below(count) as usize;
                labels.insert(at, vec![Label::Default]);
            }
            5 => {
                let at = self.draw.below(count) as usize;
                labels[at].push(Label::Default);
            }
            _ => {}
        }
        labels
    }

    fn segment(&mut self, falling: Falling) -> Block {
        let mut out = Vec::new();
        self.observe(Moment::Place, &[], &mut out);
        let size = 1 + self.draw.below(2);
        self.extend(size, &mut out);
        if out.is_empty() && self.draw.percent(80) {
            self.assignment(&mut out);
        }
        let falls = self.draw.percent(25) && !out.is_empty();
        if ends_in_jump(&out) || (falls && falling == Falling::Allowed) {
            return out;
        }
        let jump = match self.draw.below(8) {
            6 if self.frame.can_jump(Jump::Continue) => Jump::Continue,
            7 if self.frame.can_jump(Jump::Return) => Jump::Return,
            _ => Jump::Break,
        };
        self.push_jump(jump, &mut out);
        out
    }
}

/// Those whose value has one of the labels.
fn who(values: &[(u32, Crowd)], labels: &[Label]) -> Crowd {
    if labels.contains(&Label::Default) {
        return values.iter().fold(Crowd::NOBODY, |all, &(_, crowd)| all.or(crowd));
    }
    let named = values.iter().filter(|&&(value, _)| labels.contains(&Label::Case(value.into())));
    named.fold(Crowd::NOBODY, |all, &(_, crowd)| all.or(crowd))
}

fn segment_flow(before: Flow, decision: Decision, labels: &[Label], fallen: Option<Flow>) -> Flow {
    let direct = before.segment(decision);
    let several = labels.len() > 1 || labels.contains(&Label::Default);
    match (decision, fallen) {
        (Decision::Uniform, Some(end)) => direct.meet(end),
        (Decision::Uniform, None) => direct,
        (Decision::Divergent, None) if !several => direct,
        (Decision::Divergent, _) => direct.ambiguous_segment(),
    }
}
