//! The machine: executes a program for a whole workgroup at once, with sets of active lanes.
//!
//! # State
//!
//! A step is executed by a set `A` of lanes that reach it together, and gives the set of lanes that fall out of its end. Jumps put
//! lanes aside, into the set of the loop, switch or call they go to, and these come back at its merge (semantics.md
//! §3.5). Merges concern every subgroup of its own, so all subgroups run in one pass; an operation divides `A` by subgroup.
//!
//! # What is exact
//!
//! At tier `maximal`, `T = A ∩ subgroup`, except that lanes with different selectors in a switch segment may be together or
//! apart. At the other tiers a second set `u ⊆ A` is carried: whole groups (the workgroup, or each subgroup) whose control flow
//! is uniform here, so that `T` is the whole subgroup (§3.6). Elsewhere every lane has a *key*, a hash of the decisions it took since
//! it was last uniform. `T` is then a union of the key classes of the lanes that ever visit the operation; it is exact if
//! all visitors are here now and have one key. A first, optimistic pass finds the visitors.
//!
//! A result that depends on an open `T` is *unknown*; one the specification withholds is *undefined*. Both taint what is
//! computed from them. A lane whose next step depends on an unknown value is *lost*: nothing is said about it any more, and nothing
//! about operations that it could take part in.

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::case::{Case, Tier};
use tangle_program::ops::{self, BinaryOp, Undefined};
use tangle_program::subgroup::{Instance, Param, Spread, TABLE, lanes};
use tangle_program::tree::{Builtin, Direction, SiteId};

use crate::lower::{ArgCode, Code, Decision, Form, LoopCode, Node, OpNode, Segment, Step, shadow};
use crate::map::Layout;
use crate::mask::Mask;
use crate::rules::{Construct, Grouping, Jump, Merge, Rules, Scope};
use crate::value::{Column, Provenance, Taint, Value};

/// Why a run was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The program does what it must not: undefined behaviour, or an undefined value in control flow.
    Invalid(String),
}

/// What one lane logs.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneLog {
    pub words: Vec<u32>,
    /// Indices into `words` of values that are not compared, ascending.
    pub tainted: Vec<u32>,
    /// For each entry: where it starts, and which [`Event`] it belongs to.
    pub entries: Vec<(u32, u32)>,
    /// True if the lane's log may go on in an unknown way.
    pub lost: bool,
}

/// One execution of a log site by a set of lanes.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub site: SiteId,
    pub active: Mask,
}

/// Counts by row of the operation table.
#[derive(Clone, Debug)]
pub(crate) struct OpCounts {
    /// Lanes that executed it: all lanes of the subgroup, some of them.
    pub executed: Vec<[u64; 2]>,
    /// Compared values that it went into: likewise.
    pub checked: Vec<[u64; 2]>,
}

/// What a pass is for.
#[derive(Clone, Debug)]
pub(crate) enum Pass {
    /// Find the visitors of every operation, as if every tangle were exact.
    Survey,
    /// Predict. `visitors[op * subgroups + subgroup]`; none at tier maximal. `classes[subgroup]`: the path-class rule may be used.
    Predict { visitors: Vec<u128>, classes: Vec<bool> },
    /// Behave as a device: values are what they are.
    Observe,
}

pub(crate) struct Machine<'a, R> {
    case: &'a Case,
    code: &'a Code,
    layout: &'a Layout,
    workgroup: usize,
    tier: Tier,
    pub rules: R,
    pass: Pass,
    /// The groups whose control flow is uniform or not: see the module page. Empty at tier maximal.
    groups: Vec<Mask>,
    /// True if path keys are needed.
    keyed: bool,
    keys: Vec<u64>,
    pub visitors: Vec<u128>,
    pub lost: Mask,
    scopes: Vec<Scope>,
    builtins: [Option<Value>; Builtin::ALL.len()],
    inputs: Vec<Option<Value>>,
    zero: Column,
    pub logs: Vec<LaneLog>,
    pub events: Vec<Event>,
    pub counts: OpCounts,
}

struct Frame {
    vars: Vec<Value>,
    targets: Vec<Target>,
    returned: Mask,
    returned_uniform: Mask,
    result: Option<Value>,
}

/// A loop or switch that jumps can go to.
struct Target {
    is_loop: bool,
    broken: Mask,
    continued: Mask,
    continued_uniform: Mask,
}

/// The lanes that go on, and those of them in uniform control flow.
type Flow = (Mask, Mask);

fn mix(key: u64, decision: Decision, value: u64) -> u64 {
    let x = (key ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(u64::from(decision) << 32 | 0x5851_F42D);
    let x = (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ x >> 29
}

impl<'a, R: Rules> Machine<'a, R> {
    pub fn new(case: &'a Case, code: &'a Code, layout: &'a Layout, workgroup: usize, rules: R, pass: Pass) -> Self {
        let groups = match case.tier {
            Tier::Maximal => Vec::new(),
            Tier::Plain => vec![layout.live.clone()],
            Tier::SubgroupUniform => layout.subgroups.iter().map(|s| subgroup_mask(layout, s.first, s.live)).collect(),
        };
        Machine {
            case,
            code,
            layout,
            workgroup,
            tier: case.tier,
            rules,
            pass,
            groups,
            keyed: case.tier != Tier::Maximal || code.has_switch,
            keys: vec![0; layout.slots],
            visitors: vec![0; code.ops * layout.subgroups.len()],
            lost: Mask::empty(layout.slots),
            scopes: Vec::new(),
            builtins: Default::default(),
            inputs: vec![None; case.data.inputs.len()],
            zero: Rc::new(vec![0; layout.slots]),
            logs: vec![LaneLog::default(); layout.slots],
            events: Vec::new(),
            counts: OpCounts { executed: vec![[0; 2]; TABLE.len()], checked: vec![[0; 2]; TABLE.len()] },
        }
    }

    /// Runs `main` to its end.
    pub fn run(&mut self) -> Result<(), Stop> {
        let Some(main) = self.code.functions.len().checked_sub(1) else { return Ok(()) };
        let live = self.layout.live.clone();
        let uniform = if self.tier == Tier::Maximal { self.none() } else { live.clone() };
        let mut frame = self.frame(main);
        self.block(&mut frame, &self.code.functions[main].block, live, uniform)?;
        Ok(())
    }

    fn none(&self) -> Mask {
        Mask::empty(self.layout.slots)
    }

    fn observing(&self) -> bool {
        matches!(self.pass, Pass::Observe)
    }

    fn frame(&self, function: usize) -> Frame {
        let zero = |width: u8| Value {
            columns: (0..width).map(|_| Rc::clone(&self.zero)).collect(),
            taint: None,
            from: Provenance::default(),
        };
        let body = &self.code.functions[function];
        Frame {
            vars: body.vars.iter().map(|ty| zero(ty.width)).collect(),
            targets: Vec::new(),
            returned: self.none(),
            returned_uniform: self.none(),
            result: body.result.map(|ty| zero(ty.width)),
        }
    }

    // ---- uniform control flow (semantics.md §3.6) ----

    /// The uniform groups of `u` all of whose lanes are in `lanes`.
    fn whole(&self, u: &Mask, lanes: &Mask) -> Mask {
        if u.is_empty() || u.within(lanes) {
            return u.clone();
        }
        let mut whole = self.none();
        for group in &self.groups {
            if group.within(u) && group.within(lanes) {
                whole.add(group);
            }
        }
        whole
    }

    /// Control flow of these groups is uniform again: their paths start anew.
    fn restart_paths(&mut self, uniform: &Mask) {
        if self.tier != Tier::Maximal {
            uniform.slots().for_each(|slot| self.keys[slot] = 0);
        }
    }

    fn note_path(&mut self, decision: Decision, lanes: &Mask, value: u64) {
        if self.tier != Tier::Maximal {
            lanes.slots().for_each(|slot| self.keys[slot] = mix(self.keys[slot], decision, value));
        }
    }

    /// Keys as they are now, to be put back where tier maximal reconverges.
    fn saved_keys(&self) -> Option<Vec<u64>> {
        (self.keyed && self.tier == Tier::Maximal).then(|| self.keys.clone())
    }

    fn restore_keys(&mut self, saved: &Option<Vec<u64>>, lanes: &Mask) {
        if let Some(saved) = saved {
            lanes.slots().for_each(|slot| self.keys[slot] = saved[slot]);
        }
    }

    // ---- statements ----

    fn block(&mut self, frame: &mut Frame, steps: &'a [Step], a: Mask, u: Mask) -> Result<Flow, Stop> {
        let (mut a, mut u) = (a, u);
        for step in steps {
            if !self.lost.is_empty() {
                a = a.minus(&self.lost);
                u = self.whole(&u, &a);
            }
            if a.is_empty() {
                break;
            }
            (a, u) = self.step(frame, step, a, u)?;
        }
        Ok((a, u))
    }

    fn scoped_block(
        &mut self,
        frame: &mut Frame,
        steps: &'a [Step],
        construct: Construct,
        reached: &Mask,
        (a, u): Flow,
    ) -> Result<Flow, Stop> {
        if a.is_empty() {
            return Ok((a, u));
        }
        self.scopes.push(Scope { construct, reached: reached.clone(), entered: a.clone() });
        let flow = self.block(frame, steps, a, u);
        self.scopes.pop();
        flow
    }

    fn step(&mut self, frame: &mut Frame, step: &'a Step, a: Mask, u: Mask) -> Result<Flow, Stop> {
        match step {
            Step::Assign { var, value } => {
                let value = self.eval(frame, value, &a, &u)?;
                self.assign(frame, *var, value, &a);
                Ok((a, u))
            }
            Step::Log { site, values } => {
                let values = values.iter().map(|value| self.eval(frame, value, &a, &u));
                let values = values.collect::<Result<SmallVec<[Value; 4]>, _>>()?;
                self.log(*site, &values, &a);
                Ok((a, u))
            }
            Step::If { decision, cond, then, otherwise } => {
                let cond = self.eval(frame, cond, &a, &u)?;
                let (p, q) = self.decide(&cond, &a, Construct::Then)?;
                self.note_path(*decision, &p, 1);
                self.note_path(*decision, &q, 0);
                let (up, uq) = (self.whole(&u, &p), self.whole(&u, &q));
                let (f1, _) = self.scoped_block(frame, then, Construct::Then, &a, (p, up))?;
                let (f2, _) = self.scoped_block(frame, otherwise, Construct::Else, &a, (q, uq))?;
                Ok(self.merge(Merge::If, &a, f1.or(&f2), &u))
            }
            Step::Switch { decision, selector, segments } => {
                self.switch(frame, *decision, selector, segments, (a, u))
            }
            Step::Loop(code) => self.run_loop(frame, code, (a, u)),
            Step::Break => Ok(self.jump(frame, Jump::Break, a, u)),
            Step::Continue => Ok(self.jump(frame, Jump::Continue, a, u)),
            Step::Return(value) => {
                if let Some(value) = value {
                    let value = self.eval(frame, value, &a, &u)?;
                    if let Some(result) = &mut frame.result {
                        result.set(&value, &a);
                    }
                }
                Ok(self.jump(frame, Jump::Return, a, u))
            }
            Step::Call { decision, function, args, dest } => {
                self.call(frame, *decision, *function, args, *dest, (a, u))
            }
            Step::Barrier { info } => {
                let count = &mut self.counts.executed[info.op.index()];
                count[usize::from(a != self.layout.live)] += u64::from(a.count());
                Ok((a, u))
            }
        }
    }

    /// Control flow comes together: lanes `merged` of those that `reached` the header.
    fn merge(&mut self, merge: Merge, reached: &Mask, merged: Mask, u: &Mask) -> Flow {
        let merged = self.rules.merged(merge, reached, merged);
        let u = self.whole(u, &merged);
        self.restart_paths(&u);
        (merged, u)
    }

    fn assign(&mut self, frame: &mut Frame, var: usize, value: Value, a: &Mask) {
        let stored = self.rules.stored(&self.scopes, a.minus(&self.lost));
        if stored == self.layout.live {
            frame.vars[var] = value;
        } else {
            frame.vars[var].set(&value, &stored);
        }
    }

    fn log(&mut self, site: SiteId, values: &[Value], a: &Mask) {
        if matches!(self.pass, Pass::Survey) {
            return;
        }
        let a = a.minus(&self.lost);
        let event = self.events.len() as u32;
        for slot in a.slots() {
            let log = &mut self.logs[slot];
            log.entries.push((log.words.len() as u32, event));
            log.words.push(site);
            for value in values {
                let tainted = value.taint.as_ref().is_some_and(|taint| taint.lanes.contains(slot));
                for column in &value.columns {
                    if tainted {
                        log.tainted.push(log.words.len() as u32);
                    }
                    log.words.push(column[slot] as u32);
                }
            }
        }
        for value in values {
            let compared = match &value.taint {
                Some(taint) => a.minus(&taint.lanes).count(),
                None => a.count(),
            };
            for (i, rows) in [value.from.full, value.from.partial].into_iter().enumerate() {
                lanes(rows).for_each(|row| self.counts.checked[row][i] += u64::from(compared));
            }
        }
        self.events.push(Event { site, active: a });
    }

    fn jump(&mut self, frame: &mut Frame, jump: Jump, a: Mask, u: Mask) -> Flow {
        let none = (self.none(), self.none());
        match self.rules.jump(&self.scopes, jump) {
            Jump::Break => {
                if let Some(target) = frame.targets.last_mut() {
                    target.broken.add(&a);
                }
            }
            Jump::Continue => {
                if let Some(target) = frame.targets.iter_mut().rev().find(|target| target.is_loop) {
                    target.continued.add(&a);
                    target.continued_uniform.add(&u);
                }
            }
            Jump::Return => {
                frame.returned.add(&a);
                frame.returned_uniform.add(&u);
            }
            Jump::Ignored => return (a, u),
        }
        none
    }

    /// Divides the active lanes by a condition. Lanes for which it is unknown are lost.
    fn decide(&mut self, cond: &Value, a: &Mask, construct: Construct) -> Result<(Mask, Mask), Stop> {
        let a = match &cond.taint {
            Some(taint) if taint.lanes.meets(a) => {
                self.lose(taint, a)?;
                a.minus(&taint.lanes)
            }
            _ => a.clone(),
        };
        let mut taken = self.none();
        for slot in a.slots() {
            if cond.columns[0][slot] != 0 {
                taken.insert(slot);
            }
        }
        let taken = self.rules.taken(construct, &a, taken);
        let not = a.minus(&taken);
        Ok((taken, not))
    }

    fn lose(&mut self, taint: &Taint, a: &Mask) -> Result<(), Stop> {
        if taint.undefined {
            return Err(Stop::Invalid("an undefined value reaches control flow".into()));
        }
        let lost = taint.lanes.and(a);
        lost.slots().for_each(|slot| self.logs[slot].lost = true);
        self.lost.add(&lost);
        Ok(())
    }

    fn switch(
        &mut self,
        frame: &mut Frame,
        decision: Decision,
        selector: &'a Node,
        segments: &'a [Segment],
        (a, u): Flow,
    ) -> Result<Flow, Stop> {
        let selector = self.eval(frame, selector, &a, &u)?;
        let a = match &selector.taint {
            Some(taint) if taint.lanes.meets(&a) => {
                self.lose(taint, &a)?;
                a.minus(&taint.lanes)
            }
            _ => a,
        };
        let u = self.whole(&u, &a);
        let saved = self.saved_keys();
        let column = &selector.columns[0];
        self.note_selectors(decision, column, &a);
        let mut direct: Vec<Mask> = segments.iter().map(|_| self.none()).collect();
        let mut merged = self.none();
        let default = segments.iter().position(|segment| segment.default);
        for slot in a.slots() {
            let labelled = segments.iter().position(|segment| segment.labels.contains(&column[slot]));
            match labelled.or(default) {
                Some(k) => direct[k].insert(slot),
                None => merged.insert(slot),
            }
        }
        let mut same_selector = self.none();
        for group in self.groups.iter().filter(|group| group.within(&u)) {
            let first = group.slots().next().map(|slot| column[slot]);
            if group.slots().all(|slot| Some(column[slot]) == first) {
                same_selector.add(group);
            }
        }
        frame.targets.push(self.target(false));
        let mut flow = (self.none(), self.none());
        for (segment, direct) in segments.iter().zip(direct) {
            let fallen = self.rules.falls_through(flow.0);
            let uniform = self.whole(&same_selector, &direct).or(&flow.1);
            let entered = direct.or(&fallen);
            flow = self.scoped_block(frame, &segment.block, Construct::SwitchSegment, &a, (entered, uniform))?;
        }
        if let Some(target) = frame.targets.pop() {
            merged.add(&target.broken);
        }
        merged.add(&flow.0);
        self.restore_keys(&saved, &merged);
        Ok(self.merge(Merge::Switch, &a, merged, &u))
    }

    /// Lanes with different selectors may be apart in every segment (semantics.md §3.5: a unit is never split by the dispatch).
    fn note_selectors(&mut self, decision: Decision, selector: &Column, a: &Mask) {
        for subgroup in &self.layout.subgroups {
            let here = a.lanes(subgroup.first, subgroup.size);
            let mut values = lanes(here).map(|lane| selector[subgroup.first + lane]);
            let first = values.next();
            if self.tier == Tier::Maximal && values.all(|value| Some(value) == first) {
                continue;
            }
            for lane in lanes(here) {
                let slot = subgroup.first + lane;
                self.keys[slot] = mix(self.keys[slot], decision, selector[slot]);
            }
        }
    }

    fn target(&self, is_loop: bool) -> Target {
        Target { is_loop, broken: self.none(), continued: self.none(), continued_uniform: self.none() }
    }

    fn run_loop(&mut self, frame: &mut Frame, code: &'a LoopCode, (a, u): Flow) -> Result<Flow, Stop> {
        let saved = self.saved_keys();
        let first = match &code.form {
            Form::For { init, .. } => self.eval(frame, init, &a, &u)?,
            _ => Value::shared(Rc::clone(&self.zero)),
        };
        self.assign(frame, code.counter, first, &a);
        frame.targets.push(self.target(true));
        let mut flow = (a.clone(), u.clone());
        loop {
            if !matches!(code.form, Form::DoWhile) {
                flow = self.loop_test(frame, code, flow)?;
            }
            if flow.0.is_empty() {
                break;
            }
            flow = self.iteration(frame, code, flow, &saved)?;
            if flow.0.is_empty() {
                break;
            }
            match &code.form {
                Form::For { step, update, .. } => {
                    self.count(frame, code.counter, *step, &flow.0);
                    let reached = flow.0.clone();
                    flow = self.scoped_block(frame, update, Construct::LoopUpdate, &reached, flow)?;
                }
                Form::DoWhile => flow = self.loop_test(frame, code, flow)?,
                Form::While | Form::Forever => {}
            }
        }
        let broken = frame.targets.pop().map(|target| target.broken).unwrap_or_default();
        let broken = broken.minus(&self.lost);
        self.restore_keys(&saved, &broken);
        Ok(self.merge(Merge::Loop, &a, broken, &u))
    }

    /// One pass through the body, up to the continue target.
    fn iteration(
        &mut self,
        frame: &mut Frame,
        code: &'a LoopCode,
        (i, ui): Flow,
        saved: &Option<Vec<u64>>,
    ) -> Result<Flow, Stop> {
        if !matches!(code.form, Form::For { .. }) {
            self.count(frame, code.counter, 1, &i);
        }
        if let Some(target) = frame.targets.last_mut() {
            target.continued = Mask::empty(self.layout.slots);
            target.continued_uniform = Mask::empty(self.layout.slots);
        }
        let (fallen, uniform) = self.scoped_block(frame, &code.block, Construct::LoopBody, &i, (i.clone(), ui))?;
        let target = frame.targets.last().expect("the loop pushed its target");
        let next = self.rules.merged(Merge::Continue, &i, fallen.or(&target.continued).minus(&self.lost));
        let uniform = self.whole(&uniform.or(&target.continued_uniform), &next);
        self.restore_keys(saved, &next);
        Ok((next, uniform))
    }

    fn count(&mut self, frame: &mut Frame, counter: usize, step: u32, a: &Mask) {
        let column = frame.vars[counter].columns[0].iter().map(|&n| u64::from((n as u32).wrapping_add(step)));
        let next = Value { columns: smallvec::smallvec![Rc::new(column.collect())], ..frame.vars[counter].clone() };
        self.assign(frame, counter, next, a);
    }

    /// `test && counter < bound`: the lanes that go on; the others leave the loop.
    fn loop_test(&mut self, frame: &mut Frame, code: &'a LoopCode, (i, u): Flow) -> Result<Flow, Stop> {
        self.scopes.push(Scope { construct: Construct::LoopTest, reached: i.clone(), entered: i.clone() });
        let flow = self.loop_test_inside(frame, code, (i, u));
        self.scopes.pop();
        flow
    }

    fn loop_test_inside(&mut self, frame: &mut Frame, code: &'a LoopCode, (i, u): Flow) -> Result<Flow, Stop> {
        let (mut i, mut u) = self.block(frame, &code.before, i, u)?;
        if let Some(cond) = &code.cond {
            let cond = self.eval(frame, cond, &i, &u)?;
            let (p, q) = self.decide(&cond, &i, Construct::LoopTest)?;
            self.leave_loop(frame, code.decision, &p, &q);
            u = self.whole(&u, &p);
            i = p;
        }
        if i.is_empty() {
            return Ok((i, u));
        }
        let bound = self.eval(frame, &code.bound, &i, &u)?;
        let counter = &frame.vars[code.counter];
        let mut below = vec![0; self.layout.slots];
        ops::binary(BinaryOp::Lt, tangle_program::types::Scalar::Uint, &counter.columns[0], &bound.columns[0], &mut below);
        let taint = Value::join(bound.taint, &counter.taint);
        let (p, q) = self.decide(&Value { taint, ..Value::scalar(below) }, &i, Construct::LoopTest)?;
        self.leave_loop(frame, code.decision, &p, &q);
        let u = self.whole(&u, &p);
        Ok((p, u))
    }

    fn leave_loop(&mut self, frame: &mut Frame, decision: Decision, stay: &Mask, leave: &Mask) {
        self.note_path(decision, stay, 1);
        self.note_path(decision, leave, 0);
        if let Some(target) = frame.targets.last_mut() {
            target.broken.add(leave);
        }
    }

    fn call(
        &mut self,
        frame: &mut Frame,
        decision: Decision,
        function: usize,
        args: &'a [ArgCode],
        dest: Option<usize>,
        (a, u): Flow,
    ) -> Result<Flow, Stop> {
        let body = &self.code.functions[function];
        let mut inner = self.frame(function);
        for (param, arg) in args.iter().enumerate() {
            inner.vars[param] = match arg {
                ArgCode::In(value) => self.eval(frame, value, &a, &u)?,
                ArgCode::Out(var) if body.params[param] == Direction::Inout => frame.vars[*var].clone(),
                ArgCode::Out(_) => continue,
            };
        }
        let saved = self.saved_keys();
        self.note_path(decision, &a, 0);
        let (fallen, uniform) =
            self.scoped_block(&mut inner, &body.block, Construct::Function, &a, (a.clone(), u.clone()))?;
        let back = fallen.or(&inner.returned).minus(&self.lost);
        let back = self.rules.merged(Merge::Call, &a, back);
        // One return by the whole group keeps control flow uniform; two, or a partial one, do not.
        let uniform = self.whole(&uniform.or(&inner.returned_uniform), &back);
        let copied = self.rules.copied_out(&fallen, back.clone());
        for (param, arg) in args.iter().enumerate() {
            if let ArgCode::Out(var) = arg {
                self.assign(frame, *var, inner.vars[param].clone(), &copied);
            }
        }
        if let (Some(dest), Some(result)) = (dest, inner.result) {
            self.assign(frame, dest, result, &back);
        }
        self.restore_keys(&saved, &back);
        self.restart_paths(&uniform);
        Ok((back, uniform))
    }

    // ---- expressions ----

    fn eval(&mut self, frame: &Frame, node: &'a Node, a: &Mask, u: &Mask) -> Result<Value, Stop> {
        Ok(match node {
            Node::Const { bits } => self.constant(*bits),
            Node::Var(var) => frame.vars[*var].clone(),
            Node::Builtin(builtin) => self.builtin(*builtin),
            Node::Input(k) => self.input(*k),
            Node::Uniform(k) => self.constant(u64::from(self.case.data.uniforms.get(*k).copied().unwrap_or(0))),
            Node::Push(k) => self.constant(u64::from(self.case.data.push.get(*k).copied().unwrap_or(0))),
            Node::Unary { op, arg } => {
                let arg = self.eval(frame, arg, a, u)?;
                self.map_columns(arg, |x, out| ops::unary(*op, x, out))
            }
            Node::Binary { op, scalar, lhs, rhs } => {
                let lhs = self.eval(frame, lhs, a, u)?;
                let rhs = self.eval(frame, rhs, a, u)?;
                self.binary(*op, *scalar, lhs, &rhs, a)?
            }
            Node::ShortCircuit { decision, short_on, lhs, rhs, tangled } => {
                let cond = self.eval(frame, lhs, a, u)?;
                let decision = Choice { decision: *decision, construct: Construct::RightOperand, tangled: *tangled };
                let parts = if *short_on { [None, Some(&**rhs)] } else { [Some(&**rhs), None] };
                self.choose(frame, decision, cond, parts, a, u)?
            }
            Node::Select { decision, cond, then, otherwise, tangled } => {
                let cond = self.eval(frame, cond, a, u)?;
                let decision = Choice { decision: *decision, construct: Construct::SelectArm, tangled: *tangled };
                self.choose(frame, decision, cond, [Some(&**then), Some(&**otherwise)], a, u)?
            }
            Node::Cast { from, to, arg } => {
                let arg = self.eval(frame, arg, a, u)?;
                if to.bits() == from.bits() || from.bits() == 1 {
                    return Ok(arg);
                }
                let (from, to) = (*from, *to);
                self.map_columns(arg, |x, out| out.iter_mut().zip(x).for_each(|(o, &x)| *o = ops::cast(from, to, x)))
            }
            Node::Intrinsic { op, scalar, args } => {
                let args = args.iter().map(|arg| self.eval(frame, arg, a, u));
                let args = args.collect::<Result<SmallVec<[Value; 4]>, _>>()?;
                self.intrinsic(*op, *scalar, &args, a)
            }
            Node::Vector(args) => {
                let mut vector = Value { columns: SmallVec::new(), taint: None, from: Provenance::default() };
                for arg in args {
                    let arg = self.eval(frame, arg, a, u)?;
                    vector.columns.extend(arg.columns);
                    vector.taint = Value::join(vector.taint, &arg.taint);
                    vector.from = vector.from.or(arg.from);
                }
                vector
            }
            Node::Component { arg, index } => {
                let arg = self.eval(frame, arg, a, u)?;
                Value { columns: smallvec::smallvec![Rc::clone(&arg.columns[*index])], ..arg }
            }
            Node::Subgroup(op) => self.subgroup(frame, op, a, u)?,
        })
    }

    fn constant(&self, bits: u64) -> Value {
        if bits == 0 { Value::shared(Rc::clone(&self.zero)) } else { Value::scalar(vec![bits; self.layout.slots]) }
    }

    fn input(&mut self, k: usize) -> Value {
        if let Some(value) = &self.inputs[k] {
            return value.clone();
        }
        let first = self.workgroup * self.case.launch.invocations() as usize;
        let data = &self.case.data.inputs[k];
        let at = |&index: &u32| u64::from(data.get(first + index as usize).copied().unwrap_or(0));
        let value = Value::scalar(self.layout.local_index.iter().map(at).collect());
        self.inputs[k] = Some(value.clone());
        value
    }

    fn builtin(&mut self, builtin: Builtin) -> Value {
        let cached = builtin as usize;
        if let Some(value) = &self.builtins[cached] {
            return value.clone();
        }
        let width = if builtin.ty().is_scalar() { 1 } else { 4 };
        let mut columns: SmallVec<[Vec<u64>; 4]> = (0..width).map(|_| vec![0; self.layout.slots]).collect();
        for slot in self.layout.live.slots() {
            let value = self.rules.builtin(builtin, slot % self.layout.subgroups[0].size, self.builtin_at(builtin, slot));
            for (c, column) in columns.iter_mut().enumerate() {
                column[slot] = u64::from((value >> (32 * c)) as u32);
            }
        }
        let value = Value {
            columns: columns.into_iter().map(Rc::new).collect(),
            taint: None,
            from: Provenance::default(),
        };
        self.builtins[cached] = Some(value.clone());
        value
    }

    /// Semantics.md §1.1: the masks ignore which lanes are active, and have no bits from the subgroup size on.
    fn builtin_at(&self, builtin: Builtin, slot: usize) -> u128 {
        use tangle_program::subgroup::first_lanes;
        let (_, lane) = self.layout.lane_of(slot);
        let size = self.layout.subgroups[0].size;
        let index = self.layout.local_index[slot];
        let [x, y, _] = self.case.launch.workgroup;
        let below = first_lanes(lane);
        let own = 1u128 << lane;
        match builtin {
            Builtin::Lane => lane as u128,
            Builtin::SubgroupSize => size as u128,
            Builtin::SubgroupId => u128::from(self.layout.reported[slot].0),
            Builtin::NumSubgroups => u128::from(self.layout.reported[slot].1),
            Builtin::LocalIndex => u128::from(index),
            Builtin::LocalX => u128::from(index % x),
            Builtin::LocalY => u128::from(index / x % y),
            Builtin::LocalZ => u128::from(index / x / y),
            Builtin::WorkgroupIndex => self.workgroup as u128,
            Builtin::EqMask => own,
            Builtin::GeMask => first_lanes(size) & !below,
            Builtin::GtMask => first_lanes(size) & !below & !own,
            Builtin::LeMask => below | own,
            Builtin::LtMask => below,
        }
    }

    fn map_columns(&self, value: Value, f: impl Fn(&[u64], &mut [u64])) -> Value {
        let columns = value.columns.iter().map(|column| {
            let mut out = vec![0; column.len()];
            f(column, &mut out);
            Rc::new(out)
        });
        Value { columns: columns.collect(), ..value }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        scalar: tangle_program::types::Scalar,
        lhs: Value,
        rhs: &Value,
        a: &Mask,
    ) -> Result<Value, Stop> {
        let (does, does_on) = self.rules.binary(op, scalar);
        let columns = lhs.columns.iter().zip(&rhs.columns).map(|(x, y)| {
            let mut out = vec![0; x.len()];
            ops::binary(does, does_on, x, y, &mut out);
            Rc::new(out)
        });
        let columns = columns.collect();
        let mut taint = Value::join(lhs.taint, &rhs.taint);
        if ops::binary_may_be_undefined(op) && !self.observing() {
            let mut undefined = self.none();
            let known = |slot: &usize| taint.as_ref().is_none_or(|taint| !taint.lanes.contains(*slot));
            for slot in a.slots().filter(known) {
                for (x, y) in lhs.columns.iter().zip(&rhs.columns) {
                    match ops::binary_undefined(op, scalar, x[slot], y[slot]) {
                        Some(Undefined::Behaviour) => {
                            return Err(Stop::Invalid(format!("'{}' has undefined behaviour", op.token())));
                        }
                        Some(Undefined::Value) => undefined.insert(slot),
                        None => {}
                    }
                }
            }
            if !undefined.is_empty() {
                taint = Value::join(taint, &Some(Taint { lanes: undefined, undefined: true }));
            }
        }
        Ok(Value { columns, taint, from: lhs.from.or(rhs.from) })
    }

    fn intrinsic(
        &mut self,
        op: tangle_program::ops::Intrinsic,
        scalar: tangle_program::types::Scalar,
        args: &[Value],
        a: &Mask,
    ) -> Value {
        let (does, does_on) = self.rules.intrinsic(op, scalar);
        let mut taint = None;
        let mut from = Provenance::default();
        for arg in args {
            taint = Value::join(taint, &arg.taint);
            from = from.or(arg.from);
        }
        let mut undefined = self.none();
        let width = args[0].columns.len();
        let mut columns = SmallVec::new();
        for c in 0..width {
            let mut out = vec![0; self.layout.slots];
            let mut operands: SmallVec<[u64; 4]> = SmallVec::from_elem(0, args.len());
            for slot in a.slots() {
                for (operand, arg) in operands.iter_mut().zip(args) {
                    // Offsets and bit counts stay scalar when the value is a vector.
                    *operand = arg.columns[c.min(arg.columns.len() - 1)][slot];
                }
                out[slot] = ops::intrinsic(does, does_on, &operands);
                if ops::intrinsic_undefined(op, scalar, &operands).is_some() {
                    undefined.insert(slot);
                }
            }
            columns.push(Rc::new(out));
        }
        if !undefined.is_empty() && !self.observing() {
            taint = Value::join(taint, &Some(Taint { lanes: undefined, undefined: true }));
        }
        Value { columns, taint, from }
    }

    /// `?:`, `&&` and `||`: an if/else with a value (semantics.md §4.1, §4.2). A missing part keeps the condition's value.
    fn choose(
        &mut self,
        frame: &Frame,
        choice: Choice,
        cond: Value,
        [then, otherwise]: [Option<&'a Node>; 2],
        a: &Mask,
        u: &Mask,
    ) -> Result<Value, Stop> {
        let mut open = None;
        let (p, q) = match &cond.taint {
            // Without a tangled operation in it, an unknown choice has no effect but an unknown result.
            Some(taint) if taint.lanes.meets(a) && !choice.tangled && !taint.undefined => {
                let known = Value { taint: None, ..cond.clone() };
                open = Some(taint.clone());
                self.decide(&known, &a.minus(&taint.lanes), choice.construct)?
            }
            // An undefined left operand without control flow behind it: a plain logical operation on an undefined value.
            _ => self.decide(&cond, a, choice.construct)?,
        };
        self.note_path(choice.decision, &p, 1);
        self.note_path(choice.decision, &q, 0);
        let mut result = None::<Value>;
        for (part, lanes) in [(then, &p), (otherwise, &q)] {
            let value = match part {
                Some(_) if lanes.is_empty() => continue,
                Some(node) => {
                    let uniform = self.whole(u, lanes);
                    self.scopes.push(Scope {
                        construct: choice.construct,
                        reached: a.clone(),
                        entered: lanes.clone(),
                    });
                    let value = self.eval(frame, node, lanes, &uniform);
                    self.scopes.pop();
                    value?
                }
                None => Value { taint: None, ..cond.clone() },
            };
            match &mut result {
                None => result = Some(restricted(value, lanes)),
                Some(result) => result.set(&value, lanes),
            }
        }
        let mut result = result.unwrap_or_else(|| Value { taint: None, ..cond.clone() });
        result.from = result.from.or(cond.from);
        result.taint = Value::join(result.taint, &open);
        if !self.lost.is_empty() {
            return Ok(result);
        }
        let u = self.whole(u, &p.or(&q));
        self.restart_paths(&u);
        Ok(result)
    }

    // ---- subgroup operations ----

    fn subgroup(&mut self, frame: &Frame, op: &'a OpNode, a: &Mask, u: &Mask) -> Result<Value, Stop> {
        let args = op.args.iter().map(|arg| self.eval(frame, arg, a, u));
        let args = args.collect::<Result<SmallVec<[Value; 2]>, _>>()?;
        let width = op.info.result_type(None).map_or(op.width, |ty| usize::from(ty.width));
        let mut work = OpWork {
            op,
            columns: (0..width).map(|_| vec![0; self.layout.slots]).collect(),
            undefined: self.none(),
            unknown: self.none(),
            args: &args,
        };
        let mut from = args.iter().fold(Provenance::default(), |from, arg| from.or(arg.from));
        let a = a.minus(&self.lost);
        let layout = self.layout;
        for (s, subgroup) in layout.subgroups.iter().enumerate() {
            let tangle = a.lanes(subgroup.first, subgroup.size);
            if tangle == 0 {
                continue;
            }
            let partial = usize::from(tangle != subgroup.live);
            self.counts.executed[op.row][partial] += u64::from(tangle.count_ones());
            if partial == 0 { from.full |= 1 << op.row } else { from.partial |= 1 << op.row }
            let exact = self.is_exact(op.id, s, tangle, u);
            if self.observing() {
                self.operate_as_device(&mut work, s, tangle, u)?;
            } else {
                self.operate(&mut work, s, tangle)?;
                if !exact && op.info.tangle_dependent {
                    work.unknown.insert_lanes(subgroup.first, tangle);
                }
            }
        }
        let OpWork { columns, undefined, unknown, .. } = work;
        let taint = match (undefined.is_empty(), unknown.is_empty()) {
            _ if self.observing() => None,
            (true, true) => None,
            (is_defined, _) => Some(Taint { lanes: undefined.or(&unknown), undefined: !is_defined }),
        };
        Ok(Value { columns: columns.into_iter().map(Rc::new).collect(), taint, from })
    }

    /// True if the scope-restricted tangle is known (see the module page). Notes the visit in a survey.
    fn is_exact(&mut self, op: usize, s: usize, tangle: u128, u: &Mask) -> bool {
        let subgroup = &self.layout.subgroups[s];
        let at = op * self.layout.subgroups.len() + s;
        let one_key = || {
            let first = self.keys[subgroup.first + tangle.trailing_zeros() as usize];
            lanes(tangle).all(|lane| self.keys[subgroup.first + lane] == first)
        };
        match &self.pass {
            Pass::Observe => true,
            Pass::Survey => {
                self.visitors[at] |= tangle;
                true
            }
            Pass::Predict { .. } if self.tier == Tier::Maximal => {
                self.lost.lanes(subgroup.first, subgroup.size) == 0 && (!self.keyed || one_key())
            }
            Pass::Predict { visitors, classes } => {
                let uniform = u.lanes(subgroup.first, subgroup.size) != 0 && self.nobody_lost_in_group(s);
                uniform || (classes[s] && visitors[at] == tangle && one_key())
            }
        }
    }

    fn nobody_lost_in_group(&self, s: usize) -> bool {
        let subgroup = &self.layout.subgroups[s];
        match self.tier {
            Tier::Plain => self.lost.is_empty(),
            _ => self.lost.lanes(subgroup.first, subgroup.size) == 0,
        }
    }

    /// The operation in one subgroup, with its taint.
    fn operate(&mut self, work: &mut OpWork<'_>, s: usize, tangle: u128) -> Result<(), Stop> {
        let subgroup = &self.layout.subgroups[s];
        let (first, size) = (subgroup.first, subgroup.size);
        let taints = work.operand_taint(first, size, tangle);
        if taints.blocked {
            // A uniform operand that is unknown: the result is, too.
            work.unknown.insert_lanes(first, tangle);
            return Ok(());
        }
        let undefined = work
            .apply(first, size, tangle, &mut |info, instance, out| self.rules.operate(info, instance, out))
            .map_err(|ub| Stop::Invalid(ub.into()))?;
        work.undefined.insert_lanes(first, undefined | taints.undefined);
        work.unknown.insert_lanes(first, taints.unknown);
        Ok(())
    }

    /// The operation as a device performs it: with its own tangle, and something where nothing is defined.
    fn operate_as_device(&mut self, work: &mut OpWork<'_>, s: usize, tangle: u128, u: &Mask) -> Result<(), Stop> {
        let subgroup = &self.layout.subgroups[s];
        let (first, size) = (subgroup.first, subgroup.size);
        let of = |mask: &Mask| mask.lanes(first, size);
        let mut rest = self.rules.tangle(&self.scopes, subgroup.live, tangle, &of);
        let open = self.keyed && u.lanes(first, size) == 0 && self.rules.grouping() == Grouping::ByPath;
        while rest != 0 {
            let key = self.keys[first + rest.trailing_zeros() as usize];
            let part = if open {
                lanes(rest).filter(|&k| self.keys[first + k] == key).fold(0, |m, k| m | 1 << k)
            } else {
                rest
            };
            rest &= !part;
            // What a faulty device makes of undefined behaviour is anything; here, nothing at all.
            let undefined = work
                .apply(first, size, part, &mut |info, instance, out| self.rules.operate(info, instance, out))
                .unwrap_or(part);
            let bits = self.rules.undefined();
            for lane in lanes(undefined) {
                let bits = if work.op.scalar.bits() == 1 { bits & 1 } else { bits & 0xFFFF_FFFF };
                work.columns.iter_mut().for_each(|column| column[first + lane] = bits);
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Choice {
    decision: Decision,
    construct: Construct,
    /// True if a subgroup operation stands behind the decision.
    tangled: bool,
}

/// The value with taint only in the given lanes.
fn restricted(mut value: Value, lanes: &Mask) -> Value {
    if let Some(taint) = value.taint.take() {
        let lanes = taint.lanes.and(lanes);
        value.taint = (!lanes.is_empty()).then_some(Taint { lanes, ..taint });
    }
    value
}

fn subgroup_mask(layout: &Layout, first: usize, live: u128) -> Mask {
    let mut mask = Mask::empty(layout.slots);
    mask.insert_lanes(first, live);
    mask
}

/// An operation on its way through the subgroups.
struct OpWork<'a> {
    op: &'a OpNode,
    args: &'a [Value],
    columns: SmallVec<[Vec<u64>; 4]>,
    undefined: Mask,
    unknown: Mask,
}

type Operate<'a> = dyn FnMut(
        &tangle_program::subgroup::OpInfo,
        &Instance<'_>,
        &mut [u64],
    ) -> Result<u128, tangle_program::subgroup::Ub>
    + 'a;

/// Taint that reaches the results of one subgroup through operands.
#[derive(Default)]
struct OperandTaint {
    undefined: u128,
    unknown: u128,
    /// An operand that must be uniform is not known.
    blocked: bool,
}

impl OpWork<'_> {
    /// Operand columns of a subgroup; of the generic operand, component `c`.
    fn operands(&self, first: usize, size: usize, c: usize) -> SmallVec<[&[u64]; 8]> {
        let mut columns = SmallVec::new();
        for (param, arg) in self.op.info.params.iter().zip(self.args) {
            if *param == Param::Value {
                columns.push(&arg.columns[c][first..first + size]);
            } else {
                columns.extend(arg.columns.iter().map(|column| &column[first..first + size]));
            }
        }
        columns
    }

    fn apply(
        &mut self,
        first: usize,
        size: usize,
        tangle: u128,
        operate: &mut Operate<'_>,
    ) -> Result<u128, tangle_program::subgroup::Ub> {
        let op = self.op;
        let mut undefined = 0;
        let has_value = op.info.params.contains(&Param::Value);
        let rounds = if has_value { op.width } else { 1 };
        // One column for each component of the result, or of the operand where one bool comes out of a vector.
        let mut out = SmallVec::<[u64; 64]>::from_elem(0, size * self.columns.len().max(1));
        let combined = rounds > self.columns.len();
        for c in 0..rounds {
            {
                let args = self.operands(first, size, c);
                let instance = Instance { size, tangle, scalar: op.scalar, cluster: op.cluster, args: &args };
                undefined |= operate(op.info, &instance, &mut out)?;
            }
            if combined {
                for lane in lanes(tangle) {
                    let so_far = if c == 0 { 1 } else { self.columns[0][first + lane] };
                    self.columns[0][first + lane] = so_far & out[lane];
                }
            } else if has_value {
                lanes(tangle).for_each(|lane| self.columns[c][first + lane] = out[lane]);
            } else {
                for (c, column) in self.columns.iter_mut().enumerate() {
                    lanes(tangle).for_each(|lane| column[first + lane] = out[c * size + lane]);
                }
            }
        }
        Ok(undefined)
    }

    fn operand_taint(&self, first: usize, size: usize, tangle: u128) -> OperandTaint {
        let mut result = OperandTaint::default();
        for (i, (param, arg)) in self.op.info.params.iter().zip(self.args).enumerate() {
            let Some(taint) = &arg.taint else { continue };
            let tainted = taint.lanes.lanes(first, size) & tangle;
            if tainted == 0 {
                continue;
            }
            let reached = match (param, self.op.info.spread) {
                (Param::UniformMask | Param::UniformUint | Param::BroadcastLane | Param::QuadIndex, _) => {
                    result.blocked = true;
                    tangle
                }
                (Param::Uint, _) | (_, Spread::Own) => tainted,
                (Param::Value, Spread::Moves | Spread::Combines) => self.carried(first, size, tangle, tainted, i),
                _ => tangle,
            };
            if taint.undefined {
                result.undefined |= reached;
            } else {
                result.unknown |= reached;
            }
        }
        result
    }

    /// The lanes whose result uses the generic operand of a tainted lane: the operation's own pattern, run on the taint.
    fn carried(&self, first: usize, size: usize, tangle: u128, tainted: u128, value_at: usize) -> u128 {
        let info = shadow(self.op.info.op).info();
        let column: SmallVec<[u64; 64]> = (0..size).map(|lane| (tainted >> lane & 1) as u64).collect();
        let mut args = self.operands(first, size, 0);
        args[value_at] = &column;
        let scalar = tangle_program::types::Scalar::Bool;
        let instance = Instance { size, tangle, scalar, cluster: self.op.cluster, args: &args };
        let mut out = SmallVec::<[u64; 64]>::from_elem(0, size);
        match (info.meaning)(&instance, &mut out) {
            Ok(_) => lanes(tangle).filter(|&lane| out[lane] != 0).fold(0, |mask, lane| mask | 1 << lane),
            Err(_) => tangle,
        }
    }
}
