//! What is recorded while an observation is followed, and what is known beforehand.

use std::collections::HashMap;

use smallvec::SmallVec;
use tangle_program::case::Tier;
use tangle_program::subgroup::{Gives, Severity};
use tangle_program::types::Scalar;

use super::rule::TangleRule;
use crate::lower::{Code, OpNode};
use crate::map::Layout;
use crate::mask::Mask;
use crate::value::Value;

/// How a word that shows a result of an open tangle was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Adopted; by itself it could have been anything that the operation may give.
    Open,
    /// Adopted, and judged: the other results decide it, or leave few values.
    Checked,
    /// Not adopted: no legal division gives it.
    Broken(Broken),
}

/// Why no legal division gives a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub rule: TangleRule,
    /// The weakest rule that it takes to say so: never better than the rule's own.
    pub severity: Severity,
}

impl Broken {
    /// A broken rule at a tier. With maximal reconvergence it is a sentence that says who is together.
    pub fn at(tier: Tier, rule: TangleRule) -> Broken {
        let severity = if tier == Tier::Maximal { Severity::Hard } else { rule.severity() };
        Broken { rule, severity }
    }

    /// The same, said with another rule besides.
    pub fn resting_on(self, severity: Severity) -> Broken {
        Broken { severity: self.severity.max(severity), ..self }
    }
}

/// What the lanes of a group logged, by slot.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    /// The words; zeros at the end may be left out.
    pub logs: Vec<&'a [u32]>,
    /// Other than zero where a word is not looked at; nothing is known of a lane from a site on that is not.
    pub hidden: Vec<&'a [u32]>,
}

/// One execution by one lane: operation, slot, and how often the lane had executed it before.
pub(crate) type Visit = (u32, u32, u32);

/// What is known of one execution by one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Components of the result.
    pub bits: SmallVec<[Option<u64>; 4]>,
    pub status: Status,
    /// True if no legal instance leaves the result undefined.
    pub defined: bool,
    /// The instance, if a ballot shows it.
    pub instance: Option<u64>,
    /// The weakest rule that the result rests on, where it is not what the lane itself showed.
    pub severity: Severity,
}

/// What is known of the executions of open operations.
pub(crate) type Bindings = HashMap<Visit, Bound>;

/// One execution of an open operation by lanes of one subgroup.
pub(crate) struct Step<'a> {
    pub op: &'a OpNode,
    pub subgroup: usize,
    /// First slot and size of the subgroup.
    pub first: usize,
    pub size: usize,
    pub lanes: u128,
    pub args: SmallVec<[Value; 2]>,
    /// How often each lane had executed the operation before, by lane.
    pub visits: Vec<u32>,
    /// Paths since control flow was last uniform, by lane.
    pub paths: Vec<u64>,
    /// Paths since lanes were last seen together, by lane: before the operation, and after.
    pub before: Vec<u64>,
    pub after: Vec<u64>,
    /// The executions of segments of switches that it is in ([`super::segment`]), the innermost last.
    pub segments: SmallVec<[u32; 2]>,
    /// Number of components of the result.
    pub width: usize,
    /// Results that the log shows, component by component.
    pub seen: Vec<Option<u64>>,
    /// The name of lane 0's first component.
    base: u32,
}

impl Step<'_> {
    /// The type that a component of the result has.
    pub fn result_scalar(&self) -> Scalar {
        match self.op.info.gives {
            Gives::Same => self.op.scalar,
            Gives::Bool => Scalar::Bool,
            Gives::Uint | Gives::Mask | Gives::Nothing => Scalar::Uint,
        }
    }

    pub fn visit(&self, lane: usize) -> Visit {
        (self.op.id as u32, (self.first + lane) as u32, self.visits[lane])
    }

    pub fn seen_at(&self, component: usize, lane: usize) -> Option<u64> {
        self.seen[component * self.size + lane]
    }
}

#[cfg(test)]
impl<'a> Step<'a> {
    /// An execution by lanes of a subgroup of 8, of which nothing is seen.
    pub fn of_lanes(op: &'a OpNode, lanes: u128, segments: &[u32]) -> Step<'a> {
        const SIZE: usize = 8;
        Step {
            op,
            subgroup: 0,
            first: 0,
            size: SIZE,
            lanes,
            args: SmallVec::new(),
            visits: vec![0; SIZE],
            paths: vec![0; SIZE],
            before: vec![0; SIZE],
            after: vec![0; SIZE],
            segments: segments.into(),
            width: 1,
            seen: vec![None; SIZE],
            base: 1,
        }
    }
}

/// The record of one run.
pub(crate) struct Trace<'a> {
    /// What each slot logged.
    pub seen: Seen<'a>,
    pub bindings: std::rc::Rc<Bindings>,
    /// Lanes whose log is wrong already: it shows nothing any more.
    pub derailed: Mask,
    /// Paths since lanes were last seen together, by slot.
    pub paths: Vec<u64>,
    /// Executions so far: `op * slots + slot`.
    pub visits: Vec<u32>,
    pub steps: Vec<Step<'a>>,
    /// Instances that are known without looking, between the steps.
    pub known: Vec<Known>,
    /// Executions of segments that lanes with several selectors are in now.
    segments: SmallVec<[u32; 2]>,
    next_segment: u32,
    next_name: u32,
}

/// One execution of an operation whose tangle the tier does not leave open.
#[derive(Clone)]
pub(crate) struct Known {
    /// Number of steps before.
    pub at: usize,
    pub subgroup: usize,
    pub lanes: u128,
    /// What that rests on.
    pub severity: Severity,
}

impl<'a> Trace<'a> {
    pub fn new(code: &Code, layout: &Layout, seen: &Seen<'a>, bindings: std::rc::Rc<Bindings>) -> Trace<'a> {
        Trace {
            seen: seen.clone(),
            bindings,
            derailed: Mask::empty(layout.slots),
            paths: vec![0; layout.slots],
            visits: vec![0; code.ops.len() * layout.slots],
            steps: Vec::new(),
            known: Vec::new(),
            segments: SmallVec::new(),
            next_segment: 0,
            next_name: 1,
        }
    }

    /// Records an execution; the paths behind it are set by the caller. Gives the name of lane 0's first component.
    pub fn begin(
        &mut self,
        op: &'a OpNode,
        subgroup: usize,
        (first, size): (usize, usize),
        lanes: u128,
        args: &[Value],
        paths: &[u64],
    ) -> u32 {
        let width = op.result_width();
        let slots = self.paths.len();
        let base = self.next_name;
        self.next_name += (width * size) as u32;
        let at = op.id * slots + first;
        self.steps.push(Step {
            op,
            subgroup,
            first,
            size,
            lanes,
            args: args.into(),
            visits: self.visits[at..at + size].to_vec(),
            paths: paths[first..first + size].to_vec(),
            before: self.paths[first..first + size].to_vec(),
            after: self.paths[first..first + size].to_vec(),
            segments: self.segments.clone(),
            width,
            seen: vec![None; width * size],
            base,
        });
        base
    }

    /// Lanes with several selectors enter a segment of a switch.
    pub fn enter_segment(&mut self) {
        self.segments.push(self.next_segment);
        self.next_segment += 1;
    }

    pub fn leave_segment(&mut self) {
        self.segments.pop();
    }

    /// The step of a name, with component and lane.
    fn named(&self, name: u32) -> (usize, usize, usize) {
        let step = self.steps.partition_point(|step| step.base <= name) - 1;
        let at = (name - self.steps[step].base) as usize;
        (step, at / self.steps[step].size, at % self.steps[step].size)
    }

    /// A word of a slot's log; what is missing at the end is zero.
    pub fn word(&self, slot: usize, at: usize) -> u32 {
        self.seen.logs[slot].get(at).copied().unwrap_or(0)
    }

    /// True if a word of a slot's log is not looked at.
    pub fn is_hidden(&self, slot: usize, at: usize) -> bool {
        self.seen.hidden[slot].get(at).is_some_and(|&word| word != 0)
    }

    /// The log shows a result.
    pub fn see(&mut self, name: u32, bits: u64) {
        let (step, component, lane) = self.named(name);
        let step = &mut self.steps[step];
        let bits = bits & step.result_scalar().bits();
        let at = component * step.size + lane;
        step.seen[at].get_or_insert(bits);
    }

    /// How a named result was judged in the last round.
    pub fn status(&self, name: u32) -> Option<Status> {
        let (step, _, lane) = self.named(name);
        let bound = self.bindings.get(&self.steps[step].visit(lane))?;
        Some(bound.status)
    }
}
