//! The machine: executes a program for a whole workgroup at once, with sets of active lanes.
//!
//! # State
//!
//! A step is executed by a set `A` of lanes that reach it together, and gives the set of lanes that fall out of its end. Jumps put
//! lanes aside, into the set of the loop, switch or call they go to, and these come back at its merge (rules
//! X3 to X6). Merges concern every subgroup of its own, so all subgroups run in one pass; an operation divides `A` by subgroup.
//!
//! # What is exact
//!
//! At tier `maximal`, `T = A ∩ subgroup`, except that lanes with different selectors in a switch segment may be together or
//! apart. At the other tiers a second set `u ⊆ A` is carried: whole groups (the workgroup, or each subgroup) whose control flow
//! is uniform here, so that `T` is the whole subgroup (rule E7). Elsewhere every lane has a *key*, a hash of the decisions it took since
//! it was last uniform. `T` is then a union of the key classes of the lanes that ever visit the operation; it is exact if
//! all visitors are here now and have one key. A first, optimistic pass finds the visitors.
//!
//! A result that depends on an open `T` is *unknown*; one the specification withholds is *undefined*. Both taint what is
//! computed from them. A lane whose next step depends on an unknown value is *lost*: nothing is said about it any more, and nothing
//! about operations that it could take part in.
//!
//! ```text
//!   control.rs   jumps, selections, loops, calls        path.rs     keys of paths
//!   expr.rs      expressions; element.rs: elements      memory.rs   arrays, and what is certain of them
//!   frame.rs     calls, and where jumps go              access.rs   loads, stores, atomics, barriers
//!   op.rs        subgroup operations                   quads.rs    whether a helper's quad is still there
//!   long.rs      loops that only sum something up
//! ```

mod access;
mod control;
mod element;
mod expr;
mod frame;
mod long;
mod memory;
mod op;
mod path;
mod quads;
mod stop;

pub(crate) use op::{Evaluated, evaluate};

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::case::{Case, Tier};
use tangle_program::control::SelectionControl;
use tangle_program::subgroup::{Severity, first_lanes};
use tangle_program::tree::{Builtin, Discard, SiteId};
use tangle_program::types::{Scalar, Type};

use crate::lower::{Code, Decision, Step};
use crate::map::Layout;
use crate::mask::Mask;

use crate::observed::trace::{Status, Trace};
use crate::rules::{Construct, Jump, Merge, Merging, Rules, Scope};
use crate::value::{Column, Value};
use frame::Frame;
pub(crate) use memory::Memory;
pub(crate) use memory::{Done, History, Learnt, Named};
use quads::Quads;
pub(crate) use stop::Stop;

/// What one lane logs.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneLog {
    pub words: Vec<u32>,
    /// Indices into `words` of values that are not compared, ascending.
    pub tainted: Vec<u32>,
    /// Indices into `words` of results of open tangles that are known by what was observed, ascending, and how they were judged.
    pub adopted: Vec<(u32, Status)>,
    /// Words whose values are not known but must be those of one order of atomics, ascending (rule A3).
    pub shown: Vec<Shown>,
    /// For each entry: where it starts, and which [`Event`] it belongs to.
    pub entries: Vec<(u32, u32)>,
    /// True if the lane's log may go on in an unknown way.
    pub lost: bool,
    /// The weakest rule that a word rests on, where that is not [`Severity::Hard`]; ascending. That of an entry's first word is what the
    /// lane's path to it rests on.
    pub severity: Vec<(u32, Severity)>,
    /// The weakest rule that the lane's path rests on.
    pub path: Severity,
}

/// A word that shows what was found in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Index into the words of the log.
    pub at: u32,
    /// What it is: an index into [`Memory::names`].
    pub name: usize,
    /// 0 for the low word of it, 1 for the high one.
    pub part: u64,
}

/// One execution of a log site by a set of lanes.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub site: SiteId,
    pub active: Mask,
    /// Those of the lanes whose control flow is uniform by the tier's rules.
    pub uniform: Mask,
}

/// Counts by operation of the program.
#[derive(Clone, Debug)]
pub(crate) struct OpCounts {
    /// Lanes that executed it: all lanes of the subgroup, some of them.
    pub executed: Vec<[u64; 2]>,
    /// Compared values that it went into: likewise.
    pub checked: Vec<[u64; 2]>,
    /// True if a sum or product of integers over lanes may have left its type.
    pub overflows: bool,
}

/// What a pass is for.
#[derive(Clone, Debug)]
pub(crate) enum Pass {
    /// Find the visitors of every operation, as if every tangle were exact.
    Survey,
    /// Predict. `visitors[op * subgroups + subgroup]`; none at tier maximal. `classes[subgroup]`: the path-class rule may be used.
    Predict { visitors: Vec<u128>, classes: Vec<bool> },
    /// Behave as a device: values are what they are. `visitors`, as above, say where tangles are open; none if the device does
    /// not care.
    Observe { visitors: Vec<u128> },
}

pub(crate) struct Machine<'a, R> {
    case: &'a Case,
    code: &'a Code,
    layout: &'a Layout,
    tier: Tier,
    pub rules: R,
    pass: Pass,
    /// The groups whose control flow is uniform or not: see the module page. Empty at tier maximal.
    groups: Vec<Mask>,
    /// True if uniform control flow comes back behind a merge (rule R6): not known where the invocation group is not (rule I4).
    reconverges: bool,
    /// True if path keys are needed.
    keyed: bool,
    /// True if an invocation has made a decision.
    has_decided: bool,
    keys: Vec<u64>,
    /// Number of the last point where control flow was uniform again.
    epoch: u64,
    /// True once an operation ran whose tangle the tier leaves open.
    pub is_open: bool,
    /// While an observation is followed.
    pub trace: Option<Box<Trace<'a>>>,
    pub visitors: Vec<u128>,
    pub lost: Mask,
    /// Helper invocations now, of a fragment shader.
    pub helpers: Mask,
    /// Fragments that have ended.
    ended: Mask,
    /// Of each subgroup: which operations helpers executed without a fragment of their quad.
    quads: Vec<Quads>,
    /// The weakest rule that any lane's path rests on.
    steered: Severity,
    scopes: Vec<Scope>,
    builtins: [Option<Value>; Builtin::ALL.len()],
    inputs: Vec<Option<Value>>,
    zero: Column,
    nameless: Rc<Vec<u32>>,
    pub memory: Memory,
    pub logs: Vec<LaneLog>,
    pub events: Vec<Event>,
    pub counts: OpCounts,
}

/// Paths as they were, and those that an observation shows, if one is followed.
type Saved = (Vec<u64>, Vec<u64>);

/// The lanes that go on, and those of them in uniform control flow.
type Flow = (Mask, Mask);

fn mix(key: u64, decision: Decision, value: u64) -> u64 {
    let x = (key ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(u64::from(decision) << 32 | 0x5851_F42D);
    let x = (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ x >> 29
}

impl<'a, R: Rules> Machine<'a, R> {
    pub fn new(case: &'a Case, code: &'a Code, layout: &'a Layout, rules: R, pass: Pass) -> Self {
        let groups = match case.tier {
            Tier::Maximal => Vec::new(),
            Tier::Plain => vec![layout.live.clone()],
            Tier::SubgroupUniform => layout.subgroups.iter().map(|s| subgroup_mask(layout, s.first, s.live)).collect(),
        };
        Machine {
            case,
            code,
            layout,
            tier: case.tier,
            rules,
            pass,
            groups,
            reconverges: case.tier != Tier::Plain || case.entry_point.stage.has_workgroups(),
            keyed: case.tier != Tier::Maximal || code.has_switch,
            has_decided: false,
            keys: vec![0; layout.slots],
            epoch: 0,
            is_open: false,
            trace: None,
            visitors: vec![0; code.ops.len() * layout.subgroups.len()],
            lost: layout.absent.clone(),
            helpers: layout.helpers.clone(),
            ended: Mask::empty(layout.slots),
            quads: vec![Quads::default(); layout.subgroups.len()],
            steered: Severity::Hard,
            scopes: Vec::new(),
            builtins: Default::default(),
            inputs: vec![None; case.data.inputs.len()],
            zero: Rc::new(vec![0; layout.slots]),
            nameless: Rc::new(vec![0; layout.slots]),
            memory: Memory::new(&case.program.shared, Learnt::default()),
            logs: vec![LaneLog::default(); layout.slots],
            events: Vec::new(),
            counts: OpCounts {
                executed: vec![[0; 2]; code.ops.len()],
                checked: vec![[0; 2]; code.ops.len()],
                overflows: false,
            },
        }
    }

    /// The machine with what earlier passes have learnt.
    pub fn knowing(mut self, learnt: Learnt) -> Self {
        self.memory = Memory::new(&self.case.program.shared, learnt);
        self
    }

    /// Runs `main` to its end.
    pub fn run(&mut self) -> Result<(), Stop> {
        let Some(main) = self.code.functions.len().checked_sub(1) else { return Ok(()) };
        let live = self.layout.live.clone();
        let uniform = if self.tier == Tier::Maximal { self.none() } else { live.clone() };
        self.rules.start(self.layout.subgroups.first().map_or(1, |subgroup| subgroup.size));
        let mut frame = self.frame(main);
        self.block(&mut frame, &self.code.functions[main].block, live.clone(), uniform)?;
        if self.case.entry_point.draw().is_some() {
            self.end(&live);
        }
        self.close_memory();
        Ok(())
    }

    /// The lanes of the subgroups all of which are in the set.
    fn whole_subgroups(&self, a: &Mask) -> Mask {
        let mut whole = self.none();
        for s in &self.layout.subgroups {
            if a.lanes(s.first, s.size) == s.live {
                whole.insert_lanes(s.first, s.live);
            }
        }
        whole
    }

    /// For each subgroup: true if a lane of it is lost.
    pub fn lost_by_subgroup(&self) -> impl Iterator<Item = bool> + '_ {
        self.layout.subgroups.iter().map(|s| self.lost.lanes(s.first, s.size) != 0)
    }

    fn none(&self) -> Mask {
        Mask::empty(self.layout.slots)
    }

    fn observing(&self) -> bool {
        matches!(self.pass, Pass::Observe { .. })
    }

    fn frame(&self, function: usize) -> Frame {
        let zero = |ty: Type| Value::of((0..ty.components()).map(|_| Rc::clone(&self.zero)).collect());
        let body = &self.code.functions[function];
        Frame {
            vars: body.vars.iter().map(|ty| zero(*ty)).collect(),
            targets: Vec::new(),
            returned: self.none(),
            returned_uniform: self.none(),
            returns: Vec::new(),
            result: body.result.map(zero),
        }
    }

    // ---- uniform control flow (docs/rules.md, section E) ----

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
                let values =
                    values.iter().map(|(value, scalar)| self.eval(frame, value, &a, &u).map(|value| (value, *scalar)));
                let values = values.collect::<Result<SmallVec<[(Value, Scalar); 4]>, _>>()?;
                self.log(*site, &values, &a, &u);
                Ok((a, u))
            }
            Step::If { decision, control, cond, then, otherwise } => {
                let cond = self.eval(frame, cond, &a, &u)?;
                let construct = match control {
                    SelectionControl::Flatten => Construct::FlattenedThen,
                    SelectionControl::Unspecified | SelectionControl::DontFlatten => Construct::Then,
                };
                let (p, q) = self.decide(&cond, &a, construct)?;
                self.note_path(*decision, &p, 1);
                self.note_path(*decision, &q, 0);
                let (up, uq) = (self.whole(&u, &p), self.whole(&u, &q));
                let (f1, _) = self.scoped_block(frame, then, Construct::Then, &a, (p, up))?;
                let (f2, _) = self.scoped_block(frame, otherwise, Construct::Else, &a, (q, uq))?;
                let merged = f1.or(&f2);
                Ok(self.merge(&Merging { merge: Merge::If, reached: &a, arrivals: &[f1, f2] }, merged, &u))
            }
            Step::Switch { decision, selector, segments } => self.switch(frame, *decision, selector, segments, (a, u)),
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
                if self.case.entry_point.draw().is_some() && !self.is_in_function() {
                    self.end(&a);
                }
                Ok(self.jump(frame, Jump::Return, a, u))
            }
            Step::Call { decision, function, args, dest } => {
                self.call(frame, *decision, *function, args, *dest, (a, u))
            }
            Step::Barrier { id, synchronises } => {
                for (number, subgroup) in self.layout.subgroups.iter().enumerate() {
                    let here = a.lanes(subgroup.first, subgroup.size);
                    self.counts.executed[*id][usize::from(here != subgroup.live)] += u64::from(here.count_ones());
                    // Who is together is known at tier maximal, and where control flow is uniform (rule E7).
                    let known = self.tier == Tier::Maximal || here == u.lanes(subgroup.first, subgroup.size);
                    if *synchronises && known && !self.memory.is_empty() {
                        self.subgroup_barrier(number, here);
                    }
                    if *synchronises && here != 0 && self.orders_quads(number, here) {
                        // Helpers may be gone.
                        let fragments = here & self.fragments(number);
                        self.quads[number].waited(fragments);
                    }
                }
                Ok((a, u))
            }
            Step::SetElement { var, indices, value } => {
                let mut chain = Vec::with_capacity(indices.len());
                for (accessed, index) in indices {
                    chain.push((*accessed, self.eval(frame, index, &a, &u)?));
                }
                let value = self.eval(frame, value, &a, &u)?;
                self.set_element(frame, *var, &chain, &value, &a);
                Ok((a, u))
            }
            Step::Store { array, element, value } => {
                let element = element.as_ref().map(|element| self.eval(frame, element, &a, &u)).transpose()?;
                let value = self.eval(frame, value, &a, &u)?;
                self.store(*array, element.as_ref(), &value, &a)?;
                Ok((a, u))
            }
            Step::Atomic(code) => {
                self.atomic(frame, code, &a, &u)?;
                Ok((a, u))
            }
            Step::Synchronise => {
                self.barrier(&a)?;
                Ok((a, u))
            }
            Step::Discard(how) => match self.rules.discard(*how) {
                None => Ok((a, u)),
                Some(Discard::Demote) => {
                    self.leave(&a);
                    self.helpers.add(&a);
                    self.close_quads();
                    if !self.layout.absent.is_empty() {
                        // The device does not keep helpers active, and that is reported.
                        self.lost.add(&a);
                    }
                    let a = a.minus(&self.lost);
                    Ok((a.clone(), self.whole(&u, &a)))
                }
                Some(Discard::Terminate) => {
                    self.end(&a);
                    Ok((self.none(), self.none()))
                }
            },
            Step::Assume => {
                let a = self.rules.assumed(a);
                Ok((a.clone(), self.whole(&u, &a)))
            }
            Step::Nothing => Ok((a, u)),
        }
    }

    fn is_in_function(&self) -> bool {
        self.scopes.iter().any(|scope| scope.construct == Construct::Function)
    }

    /// Fragments among these lanes end, or become helpers.
    fn leave(&mut self, a: &Mask) {
        for (s, subgroup) in self.layout.subgroups.iter().enumerate() {
            let leaving = a.lanes(subgroup.first, subgroup.size) & self.fragments(s);
            self.quads[s].leave(leaving);
        }
    }

    /// Invocations end.
    fn end(&mut self, a: &Mask) {
        self.leave(a);
        self.ended.add(a);
        self.close_quads();
    }

    /// Loses the invocations of quads in which only helpers are left: they may go on or be gone (rule H6). What they executed before without a
    /// fragment of their quad they may have executed after that: another pass takes it for unknown.
    fn close_quads(&mut self) {
        if self.observing() && self.rules.keeps_quads_of_helpers() {
            return;
        }
        for (s, subgroup) in self.layout.subgroups.iter().enumerate() {
            let of = |mask: &Mask| mask.lanes(subgroup.first, subgroup.size);
            let (helpers, ended) = (of(&self.helpers), of(&self.ended));
            for first in (0..subgroup.size).step_by(4) {
                let quad = subgroup.live & first_lanes(4) << first;
                if quad & !helpers & !ended == 0 {
                    self.lost.insert_lanes(subgroup.first, quad & !ended);
                    for (op, lane) in self.quads[s].close(first) {
                        self.memory.wrong |= self.memory.learnt.without_quad.insert((op, subgroup.first + lane));
                    }
                }
            }
        }
    }

    /// Control flow comes together: these lanes of those that reached the header.
    fn merge(&mut self, merging: &Merging<'_>, merged: Mask, u: &Mask) -> Flow {
        let merged = self.rules.merged(merging, merged);
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

    /// An entry of every lane. Components are logged as words ([`Scalar::logged`]), 64-bit ones low word first.
    fn log(&mut self, site: SiteId, values: &[(Value, Scalar)], a: &Mask, u: &Mask) {
        if matches!(self.pass, Pass::Survey) {
            return;
        }
        let a = a.minus(&self.lost);
        // Stores of helpers have no effect (rule H5).
        let a = if self.helpers.is_empty() { a } else { self.rules.storing(a, &self.helpers, &self.layout.helpers) };
        self.watch(site, values, &a);
        let event = self.events.len() as u32;
        for slot in a.slots() {
            let log = &mut self.logs[slot];
            log.entries.push((log.words.len() as u32, event));
            let rests_on = |log: &mut LaneLog, severity: Severity| {
                if severity > Severity::Hard {
                    log.severity.push((log.words.len() as u32, severity));
                }
            };
            rests_on(log, log.path);
            log.words.push(site);
            for (value, scalar) in values {
                let tainted = value.taint.as_ref().is_some_and(|taint| taint.lanes.contains(slot));
                for (c, column) in value.columns.iter().enumerate() {
                    let bits = scalar.logged(column[slot]);
                    let adopted = match (&self.trace, value.result_name(c, slot)) {
                        (Some(trace), Some(name)) if !tainted => trace.status(name),
                        _ => None,
                    };
                    let in_memory = value.memory_name(c, slot).filter(|_| tainted);
                    for part in 0..scalar.words() {
                        let at = log.words.len() as u32;
                        if tainted {
                            log.tainted.push(at);
                        }
                        log.shown.extend(in_memory.map(|name| Shown { at, name, part }));
                        log.adopted.extend(adopted.map(|status| (log.words.len() as u32, status)));
                        rests_on(log, value.from.severity.max(log.path));
                        log.words.push((bits >> (32 * part)) as u32);
                    }
                }
            }
        }
        for (value, _) in values {
            let compared = match &value.taint {
                Some(taint) => a.minus(&taint.lanes).count(),
                None => a.count(),
            };
            value.from.operations().for_each(|(op, way)| self.counts.checked[op][way] += u64::from(compared));
        }
        let uniform = if self.tier == Tier::Maximal { self.whole_subgroups(&a) } else { u.and(&a) };
        self.events.push(Event { site, active: a, uniform });
    }

    /// While an observation is followed: takes from a lane's log the results that it shows here, unless it has gone wrong before.
    fn watch(&mut self, site: SiteId, values: &[(Value, Scalar)], a: &Mask) {
        let Some(trace) = &mut self.trace else { return };
        for slot in a.minus(&trace.derailed).slots() {
            let mut at = self.logs[slot].words.len();
            let mut right = trace.word(slot, at) == site && !trace.is_hidden(slot, at);
            at += 1;
            for (value, scalar) in values {
                let tainted = value.taint.as_ref().is_some_and(|taint| taint.lanes.contains(slot));
                for (c, column) in value.columns.iter().enumerate() {
                    let words =
                        (0..scalar.words()).map(|part| u64::from(trace.word(slot, at + part as usize)) << (32 * part));
                    let found: u64 = words.sum();
                    let is_hidden = (at..at + scalar.words() as usize).any(|at| trace.is_hidden(slot, at));
                    at += scalar.words() as usize;
                    if is_hidden {
                        continue;
                    }
                    match value.result_name(c, slot) {
                        Some(name) => {
                            if right {
                                trace.see(name, scalar.from_logged(found));
                            }
                        }
                        None => right &= tainted || found == scalar.logged(column[slot]) & wide(*scalar),
                    }
                }
            }
            if !right {
                trace.derailed.insert(slot);
            }
        }
    }
}

fn subgroup_mask(layout: &Layout, first: usize, live: u128) -> Mask {
    let mut mask = Mask::empty(layout.slots);
    mask.insert_lanes(first, live);
    mask
}

/// The bits of the words that a component is logged as.
fn wide(scalar: Scalar) -> u64 {
    if scalar.words() == 2 { u64::MAX } else { u64::from(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes with one key are taken for lanes on one path.
    #[test]
    fn other_paths_have_other_keys() {
        let steps = || (0..8).flat_map(|decision| (0..24u64).map(move |value| (decision, value)));
        let mut keys = Vec::new();
        for (decision, value) in steps() {
            let first = mix(0, decision, value);
            keys.push(first);
            keys.extend(steps().map(|(decision, value)| mix(first, decision, value)));
        }
        let all = keys.len();
        assert_eq!(all, 192 + 192 * 192);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all, "two paths have one key");
    }
}
