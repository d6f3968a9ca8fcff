//! Control flow: jumps, selections, switches, loops and calls.

use std::rc::Rc;

use tangle_program::case::Tier;
use tangle_program::control::LoopControl;
use tangle_program::ops::{self, BinaryOp};
use tangle_program::subgroup::{Severity, lanes};
use tangle_program::tree::Direction;
use tangle_program::types::Scalar;

use super::frame::{Frame, Target};
use super::stop::Stop;
use super::{Flow, Machine, Saved, mix};
use crate::lower::{ArgCode, Decision, Form, LoopCode, Node, Segment};
use crate::map::Subgroup;
use crate::mask::Mask;
use crate::rules::{Construct, Jump, Merge, Merging, Rules, Scope};
use crate::value::{Column, Taint, Value};

impl<'a, R: Rules> Machine<'a, R> {
    pub(super) fn jump(&mut self, frame: &mut Frame, jump: Jump, a: Mask, u: Mask) -> Flow {
        let none = (self.none(), self.none());
        match self.rules.jump(&self.scopes, jump) {
            Jump::Break => {
                if let Some(target) = frame.targets.last_mut() {
                    target.leave(&a);
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
                if self.observing() {
                    frame.returns.push(a);
                }
                frame.returned_uniform.add(&u);
            }
            Jump::Ignored => return (a, u),
        }
        none
    }

    /// Divides the active lanes by a condition. Lanes for which it is unknown are lost.
    pub(super) fn decide(&mut self, cond: &Value, a: &Mask, construct: Construct) -> Result<(Mask, Mask), Stop> {
        self.steer(cond, a);
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

    /// The lanes' paths rest on what decides them.
    fn steer(&mut self, by: &Value, a: &Mask) {
        if by.from.severity > Severity::Hard {
            self.steered = self.steered.max(by.from.severity);
            a.slots().for_each(|slot| self.logs[slot].path = self.logs[slot].path.max(by.from.severity));
        }
    }

    /// The weakest rule that the paths of a subgroup's lanes rest on.
    pub(super) fn paths_rest_on(&self, subgroup: &Subgroup) -> Severity {
        match self.steered {
            Severity::Hard => Severity::Hard,
            _ => lanes(subgroup.live).map(|lane| self.logs[subgroup.first + lane].path).max().unwrap_or_default(),
        }
    }

    /// What paths rest on, to be put back where an expression's lanes are together again.
    pub(super) fn steering(&self) -> (Severity, Vec<Severity>) {
        (self.steered, self.logs.iter().map(|log| log.path).collect())
    }

    pub(super) fn put_back(&mut self, (steered, paths): (Severity, Vec<Severity>)) {
        self.steered = steered;
        self.logs.iter_mut().zip(paths).for_each(|(log, path)| log.path = path);
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

    pub(super) fn switch(
        &mut self,
        frame: &mut Frame,
        decision: Decision,
        selector: &'a Node,
        segments: &'a [Segment],
        (a, u): Flow,
    ) -> Result<Flow, Stop> {
        let selector = self.eval(frame, selector, &a, &u)?;
        self.steer(&selector, &a);
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
        let is_open = self.note_selectors(decision, column, &a) && self.tier == Tier::Maximal;
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
            self.next_arrivals(frame);
            self.join_at_label(&entered, &saved);
            if let (true, Some(trace)) = (is_open, &mut self.trace) {
                trace.enter_segment();
            }
            flow = self.scoped_block(frame, &segment.block, Construct::SwitchSegment, &a, (entered, uniform))?;
            if let (true, Some(trace)) = (is_open, &mut self.trace) {
                trace.leave_segment();
            }
        }
        let mut arrivals = vec![merged.clone()];
        if let Some(target) = frame.targets.pop() {
            merged.add(&target.broken);
            arrivals.extend(target.leaving);
        }
        arrivals.push(flow.0.clone());
        merged.add(&flow.0);
        self.restore_keys(&saved, &merged);
        Ok(self.merge(&Merging { merge: Merge::Switch, reached: &a, arrivals: &arrivals }, merged, &u))
    }

    /// Lanes with different selectors may be apart in every segment (docs/rules.md, section X: a unit is never split by the dispatch). True if
    /// there are any in one subgroup.
    fn note_selectors(&mut self, decision: Decision, selector: &Column, a: &Mask) -> bool {
        let mut several = false;
        for subgroup in &self.layout.subgroups {
            let here = a.lanes(subgroup.first, subgroup.size);
            let mut values = lanes(here).map(|lane| selector[subgroup.first + lane]);
            let first = values.next();
            let one = values.all(|value| Some(value) == first);
            several |= !one;
            if self.tier == Tier::Maximal && one {
                continue;
            }
            for lane in lanes(here) {
                let slot = subgroup.first + lane;
                self.keys[slot] = mix(self.keys[slot], decision, selector[slot]);
                if let Some(trace) = &mut self.trace {
                    trace.paths[slot] = mix(trace.paths[slot], decision, selector[slot]);
                }
            }
        }
        several
    }

    fn target(&self, is_loop: bool) -> Target {
        Target {
            is_loop,
            broken: self.none(),
            leaving: Vec::new(),
            continued: self.none(),
            continued_uniform: self.none(),
        }
    }

    /// Lanes that leave from here on come to the merge after those before.
    fn next_arrivals(&self, frame: &mut Frame) {
        if let (true, Some(target)) = (self.observing(), frame.targets.last_mut()) {
            target.leaving.push(self.none());
        }
    }

    pub(super) fn run_loop(&mut self, frame: &mut Frame, code: &'a LoopCode, (a, u): Flow) -> Result<Flow, Stop> {
        let saved = self.saved_keys();
        let first = match &code.form {
            Form::For { init, .. } => self.eval(frame, init, &a, &u)?,
            Form::While | Form::DoWhile | Form::Forever => Value::shared(Rc::clone(&self.zero)),
        };
        self.assign(frame, code.counter, first, &a);
        self.skip_ahead(frame, code, &(a.clone(), u.clone()))?;
        frame.targets.push(self.target(true));
        let mut flow = (a.clone(), u.clone());
        loop {
            self.next_arrivals(frame);
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
        let target = frame.targets.pop().expect("the loop pushed its target");
        let broken = target.broken.minus(&self.lost);
        self.restore_keys(&saved, &broken);
        Ok(self.merge(&Merging { merge: Merge::Loop, reached: &a, arrivals: &target.leaving }, broken, &u))
    }

    /// One pass through the body, up to the continue target.
    fn iteration(
        &mut self,
        frame: &mut Frame,
        code: &'a LoopCode,
        (i, ui): Flow,
        saved: &Option<Saved>,
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
        let arrivals = [fallen, target.continued.clone()];
        let next = arrivals[0].or(&arrivals[1]).minus(&self.lost);
        let next = self.rules.merged(&Merging { merge: Merge::Continue, reached: &i, arrivals: &arrivals }, next);
        let uniform = self.whole(&uniform.or(&target.continued_uniform), &next);
        self.restore_keys(saved, &next);
        Ok((next, uniform))
    }

    pub(super) fn count(&mut self, frame: &mut Frame, counter: usize, step: u32, a: &Mask) {
        let column = frame.vars[counter].columns[0].iter().map(|&n| u64::from((n as u32).wrapping_add(step)));
        let next = Value {
            columns: smallvec::smallvec![Rc::new(column.collect())],
            names: None,
            ..frame.vars[counter].clone()
        };
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
        let construct = match code.control {
            LoopControl::Unroll => Construct::UnrolledLoopTest,
            LoopControl::Unspecified | LoopControl::DontUnroll => Construct::LoopTest,
        };
        let (mut i, mut u) = self.block(frame, &code.before, i, u)?;
        if let Some(cond) = &code.cond {
            let cond = self.eval(frame, cond, &i, &u)?;
            let (p, q) = self.decide(&cond, &i, construct)?;
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
        ops::binary(BinaryOp::Lt, Scalar::Uint, &counter.columns[0], &bound.columns[0], &mut below);
        let taint = Value::join(bound.taint, &counter.taint);
        let from = bound.from.or(&counter.from);
        let (p, q) = self.decide(&Value { taint, from, ..Value::scalar(below) }, &i, construct)?;
        self.leave_loop(frame, code.decision, &p, &q);
        let u = self.whole(&u, &p);
        Ok((p, u))
    }

    fn leave_loop(&mut self, frame: &mut Frame, decision: Decision, stay: &Mask, leave: &Mask) {
        self.note_path(decision, stay, 1);
        self.note_path(decision, leave, 0);
        if let Some(target) = frame.targets.last_mut() {
            target.leave(leave);
        }
    }

    pub(super) fn call(
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
        inner.returns.push(fallen.clone());
        let merging = Merging { merge: Merge::Call, reached: &a, arrivals: &inner.returns };
        let back = self.rules.merged(&merging, back);
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
        // Lanes of several calls that were together inside go different ways here: each back to its own.
        self.note_path(decision, &back, 1);
        self.restore_keys(&saved, &back);
        self.restart_paths(&uniform);
        Ok((back, uniform))
    }
}
