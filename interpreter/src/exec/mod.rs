//! The machine: lane sets over the control-flow graph.

mod compute;
mod converge;
mod expansion;
pub(crate) mod float;
mod group;
mod image;
mod memory;

use std::cell::Cell;

use rspirv::spirv::{self, BuiltIn};
use rustc_hash::FxHashMap;

use crate::alu::Fault;
use crate::code::*;
use crate::decode::{FloatModes, Names};
use crate::dispatch::{Dispatch, LanePosition, Tier};
use crate::faults::Planted;
use crate::lanes::Lanes;
use crate::outcome::{Location, Reason, Rule, UndefinedBehaviour, Why};
use crate::trace::{Instance, Observer, Tangle};
use converge::Claims;
pub(crate) use converge::Knowledge;
use expansion::Expansions;
use float::Number;
pub(crate) use memory::Memory;

/// Taints with this bit are undefined values; the others are open ones. The greater of two taints is that of what depends on both.
pub(super) const POISON: u32 = 1 << 31;

/// Why a run stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    Undefined(Box<UndefinedBehaviour>),
    /// Whether the behaviour is undefined at this place depends on the path of lost invocations.
    Undecided(u32),
    /// The limit of memory is reached.
    Memory,
}

/// A subgroup of the workgroup that runs.
#[derive(Clone, Debug)]
pub(crate) struct Subgroup {
    pub lanes: Lanes,
    /// Bit `k`: lane `k` exists.
    pub live: u128,
    /// By lane: local invocation index, or `u32::MAX`.
    pub slots: Vec<u32>,
}

/// The lane map of one workgroup.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub size: u32,
    pub subgroups: Vec<Subgroup>,
    pub places: Vec<LanePosition>,
}

/// Values of all columns, and their taints.
pub(crate) struct Columns {
    n: usize,
    bits: Vec<Cell<u64>>,
    taints: Vec<Cell<u32>>,
    /// False if no invocation has a taint in this column.
    tainted: Vec<Cell<bool>>,
}

impl Columns {
    /// Those of a run. Its workgroups use them one after the other: what one leaves is never read by the next, since a value is computed
    /// before it is used (SPIR-V 1.6 §2.16.1), and what has a value from the beginning gets it anew.
    pub fn new(columns: usize, n: usize) -> Columns {
        Columns {
            n,
            bits: vec![Cell::new(0); columns * n],
            taints: vec![Cell::new(0); columns * n],
            tainted: vec![Cell::new(false); columns],
        }
    }

    pub fn bytes(&self) -> usize {
        self.bits.len() * (size_of::<u64>() + size_of::<u32>())
    }

    /// As new ones.
    pub fn clear(&self) {
        self.bits.iter().for_each(|cell| cell.set(0));
        self.untaint();
    }

    /// Nothing is tainted.
    fn untaint(&self) {
        for (reg, tainted) in self.tainted.iter().enumerate() {
            if tainted.replace(false) {
                self.taints(reg as Reg).iter().for_each(|cell| cell.set(0));
            }
        }
    }

    #[inline(always)]
    pub fn bits(&self, reg: Reg) -> &[Cell<u64>] {
        let at = reg as usize * self.n;
        &self.bits[at..at + self.n]
    }

    #[inline(always)]
    pub fn taints(&self, reg: Reg) -> &[Cell<u32>] {
        let at = reg as usize * self.n;
        &self.taints[at..at + self.n]
    }

    #[inline(always)]
    pub fn is_tainted(&self, reg: Reg) -> bool {
        self.tainted[reg as usize].get()
    }

    #[inline(always)]
    pub fn taint(&self, reg: Reg, slot: usize) -> u32 {
        self.taints[reg as usize * self.n + slot].get()
    }

    #[inline(always)]
    pub fn get(&self, reg: Reg, slot: usize) -> (u64, u32) {
        let at = reg as usize * self.n + slot;
        (self.bits[at].get(), self.taints[at].get())
    }

    #[inline(always)]
    pub fn set(&self, reg: Reg, slot: usize, bits: u64, taint: u32) {
        let at = reg as usize * self.n + slot;
        self.bits[at].set(bits);
        self.taints[at].set(taint);
        if taint != 0 {
            self.tainted[reg as usize].set(true);
        }
    }

    fn fill(&self, reg: Reg, bits: u64, taint: u32) {
        self.bits(reg).iter().for_each(|cell| cell.set(bits));
        self.taints(reg).iter().for_each(|cell| cell.set(taint));
        self.tainted[reg as usize].set(taint != 0);
    }
}

/// Why a value is not determined, and what is known of it.
#[derive(Clone, Copy, Debug)]
struct Known {
    why: Why,
    place: u32,
    interval: Option<(f64, f64)>,
    /// The value is the bits that stand there, or these bits flipped in it; 0 if nothing is known.
    flip: u64,
}

/// Reasons of taints. The number of one is its index plus 1, with [`POISON`] if it is undefined.
#[derive(Debug)]
pub(crate) struct Reasons {
    list: Vec<Known>,
    /// Reasons from which on intervals are not kept apart.
    most: usize,
    known: FxHashMap<(Why, u32, u64), u32>,
}

/// Place of contents that no instruction made.
const NOWHERE: u32 = u32::MAX;

impl Reasons {
    /// Those of a run with this limit of memory, of which an eighth is for them.
    pub fn new(memory: u64) -> Reasons {
        Reasons { list: Vec::new(), most: (memory / 2048) as usize, known: FxHashMap::default() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn taint(&mut self, why: Why, place: u32) -> u32 {
        self.flipped(why, place, 0)
    }

    /// The value that stands there, or the same with some bits flipped.
    pub fn flipped(&mut self, why: Why, place: u32, flip: u64) -> u32 {
        if let Some(&taint) = self.known.get(&(why, place, flip)) {
            return taint;
        }
        self.list.push(Known { why, place, interval: None, flip });
        let taint = self.list.len() as u32 | if why.is_undefined() { POISON } else { 0 };
        self.known.insert((why, place, flip), taint);
        taint
    }

    /// A value that is known to lie in an interval.
    pub fn interval(&mut self, place: u32, low: f64, high: f64) -> u32 {
        if self.list.len() >= self.most || !(low.is_finite() && high.is_finite()) {
            return self.taint(Why::Precision, place);
        }
        self.list.push(Known { why: Why::Precision, place, interval: Some((low, high)), flip: 0 });
        self.list.len() as u32
    }

    fn entry(&self, taint: u32) -> Option<&Known> {
        self.list.get((taint & !POISON).wrapping_sub(1) as usize)
    }

    pub fn why(&self, taint: u32) -> Why {
        self.entry(taint).map_or(Why::Undef, |entry| entry.why)
    }

    pub fn interval_of(&self, taint: u32) -> Option<(f64, f64)> {
        self.entry(taint).and_then(|entry| entry.interval)
    }

    /// The bits that may be flipped; `None` if nothing is known of the value.
    pub fn flip_of(&self, taint: u32) -> Option<u64> {
        self.entry(taint).map(|entry| entry.flip).filter(|&flip| flip != 0)
    }

    /// The taint of what is computed from a value with this one: what is known of that is not known of this.
    pub fn derived(&mut self, taint: u32) -> u32 {
        match self.entry(taint) {
            Some(&Known { why, place, interval, flip }) if interval.is_some() || flip != 0 => self.taint(why, place),
            _ => taint,
        }
    }

    /// Some reasons, by index.
    pub fn describe(&self, which: &[usize], code: &Code, names: &Names) -> Vec<Reason> {
        let describe = |entry: &Known| Reason {
            why: entry.why,
            location: (entry.place != NOWHERE).then(|| location(code, names, entry.place)),
            interval: entry.interval,
        };
        which.iter().filter_map(|&index| self.list.get(index)).map(describe).collect()
    }
}

/// The instruction behind a place.
pub(crate) fn location(code: &Code, names: &Names, place: u32) -> Location {
    let Some(info) = code.places.get(place as usize) else {
        return Location { opcode: spirv::Op::Nop, index: 0, result: None, function: None, source: None };
    };
    let function = names.functions.get(info.function as usize).and_then(|id| names.ids.get(id)).cloned();
    let source = info.line.map(|(file, line)| (names.files.get(&file).cloned().unwrap_or_default(), line));
    Location { opcode: info.opcode, index: info.index, result: info.result, function, source }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Selection,
    Switch,
    Loop,
    Call,
}

/// A construct that lanes are in, or a call: who waits where.
#[derive(Clone, Debug)]
struct Frame {
    kind: Kind,
    /// [`NO_BLOCK`] where there is none.
    header: u32,
    merge: u32,
    continues: u32,
    /// Blocks still to be run.
    pending: Vec<(u32, Lanes)>,
    /// Case labels in the order of fallthrough, with who waits there.
    labels: Vec<(u32, Lanes)>,
    at_merge: Lanes,
    at_continue: Lanes,
    at_header: Lanes,
    /// For a call: where it goes on, and its destinations.
    resume: (u32, u32),
    /// What the tier needs to know of the entry.
    entry: converge::Entry,
}

const NO_BLOCK: u32 = u32::MAX;

impl Frame {
    /// Bytes, at `n` invocations.
    fn size(&self, n: usize) -> usize {
        let sets = 6 + self.labels.len();
        let classes = if self.entry.has_classes() { 4 * n } else { 0 };
        size_of::<Frame>() + sets * (n / 8 + size_of::<(u32, Lanes)>()) + classes
    }
}

/// The tangle that runs.
#[derive(Clone, Debug)]
struct Running {
    block: u32,
    at: u32,
    lanes: Lanes,
}

pub(crate) struct Machine<'a> {
    code: &'a Code,
    names: &'a Names,
    tier: Tier,
    float_modes: [FloatModes; 3],
    layout: &'a Layout,
    workgroup: u32,
    n: usize,
    pub columns: &'a Columns,
    pub memory: &'a mut Memory,
    pub reasons: &'a mut Reasons,
    expansions: Expansions,
    /// [`Machine::expansions`] take more memory than there is.
    exhausted: bool,
    frames: Vec<Frame>,
    classes: converge::Classes,
    claims: Claims,
    knowledge: &'a Knowledge,
    lost: Lanes,
    /// The lanes that run, in order; all of them if `full`.
    active: Vec<u32>,
    full: bool,
    lanes: Lanes,
    pub steps: u64,
    limit: u64,
    pub tangles: (u64, u64),
    observer: Option<&'a mut dyn Observer>,
    fault: Option<Planted>,
    scratch: Vec<(u64, u32)>,
    /// Lanes go to their case labels just now.
    dispatching: bool,
}

/// What all workgroups of a run share.
pub(crate) struct Shared<'a> {
    pub code: &'a Code,
    pub names: &'a Names,
    pub columns: &'a Columns,
    pub tier: Tier,
    pub float_modes: [FloatModes; 3],
    pub dispatch: &'a Dispatch,
    pub workgroup_size: [u32; 3],
    pub knowledge: &'a Knowledge,
    pub fault: Option<Planted>,
}

impl<'a> Machine<'a> {
    pub fn new(
        shared: &Shared<'a>,
        layout: &'a Layout,
        workgroup: u32,
        memory: &'a mut Memory,
        reasons: &'a mut Reasons,
        steps: u64,
        observer: Option<&'a mut dyn Observer>,
    ) -> Machine<'a> {
        let n = layout.places.len();
        let mut machine = Machine {
            code: shared.code,
            names: shared.names,
            tier: shared.tier,
            float_modes: shared.float_modes,
            layout,
            workgroup,
            n,
            columns: shared.columns,
            memory,
            reasons,
            expansions: Expansions::default(),
            exhausted: false,
            frames: Vec::new(),
            classes: converge::Classes::new(n),
            claims: Claims::new(shared.tier, shared.code.group_count as usize * layout.subgroups.len()),
            knowledge: shared.knowledge,
            lost: Lanes::none(n),
            active: Vec::new(),
            full: false,
            lanes: Lanes::none(n),
            steps,
            limit: shared.dispatch.limits.steps,
            tangles: (0, 0),
            observer,
            fault: shared.fault,
            scratch: Vec::new(),
            dispatching: false,
        };
        machine.start(shared);
        machine
    }

    /// Columns before the first instruction.
    fn start(&mut self, shared: &Shared<'_>) {
        self.columns.untaint();
        let undef = self.reasons.taint(Why::Undef, NOWHERE);
        let never = self.reasons.taint(Why::Uninitialised, NOWHERE);
        for &(reg, start) in &self.code.starts {
            match start {
                Start::Value(0) => {}
                Start::Value(bits) => self.columns.fill(reg, bits, 0),
                Start::Undef => self.columns.fill(reg, 0, undef),
                Start::Uninitialised => self.columns.fill(reg, 0, never),
            }
        }
        for built_in in &self.code.built_ins {
            for component in 0..built_in.count {
                for slot in 0..self.n {
                    let value = self.built_in(built_in.built_in, component, slot, shared);
                    self.columns.set(built_in.first + component, slot, value, 0);
                }
            }
        }
    }

    /// The value of a built-in variable (Vulkan, "Built-In Variables").
    fn built_in(&self, built_in: BuiltIn, component: u32, slot: usize, shared: &Shared<'_>) -> u64 {
        let place = self.layout.places[slot];
        let c = component.min(2) as usize;
        let [x, y, _] = shared.workgroup_size.map(u64::from);
        let local = [slot as u64 % x.max(1), slot as u64 / x.max(1) % y.max(1), slot as u64 / (x * y).max(1)];
        let groups = shared.dispatch.workgroups.map(u64::from);
        let index = u64::from(self.workgroup);
        let group = [
            index % groups[0].max(1),
            index / groups[0].max(1) % groups[1].max(1),
            index / (groups[0] * groups[1]).max(1),
        ];
        let lane = place.lane;
        let all = if self.layout.size >= 128 { u128::MAX } else { (1u128 << self.layout.size) - 1 };
        let eq = 1u128 << lane;
        let le = eq | (eq - 1);
        let mask = match built_in {
            BuiltIn::SubgroupEqMask => eq,
            BuiltIn::SubgroupGeMask => all & !(eq - 1),
            BuiltIn::SubgroupGtMask => all & !le,
            BuiltIn::SubgroupLeMask => le,
            BuiltIn::SubgroupLtMask => eq - 1,
            _ => 0,
        };
        match built_in {
            BuiltIn::NumWorkgroups => groups[c],
            BuiltIn::WorkgroupSize => u64::from(shared.workgroup_size[c]),
            BuiltIn::WorkgroupId => group[c],
            BuiltIn::LocalInvocationId => local[c],
            BuiltIn::GlobalInvocationId => {
                (group[c] * u64::from(shared.workgroup_size[c]) + local[c]) & u64::from(u32::MAX)
            }
            BuiltIn::LocalInvocationIndex => slot as u64,
            BuiltIn::SubgroupSize => u64::from(self.layout.size),
            BuiltIn::NumSubgroups => u64::from(place.num_subgroups),
            BuiltIn::SubgroupId => u64::from(place.subgroup_id),
            BuiltIn::SubgroupLocalInvocationId => u64::from(lane),
            _ => (mask >> (32 * component.min(3))) as u64 & u64::from(u32::MAX),
        }
    }

    // ---- stops ----

    fn undefined(&self, rule: Rule, place: u32, slots: Vec<u32>, detail: String) -> Stop {
        Stop::Undefined(Box::new(UndefinedBehaviour {
            rule,
            location: location(self.code, self.names, place),
            workgroup: self.workgroup,
            lanes: slots,
            detail,
            why: None,
        }))
    }

    /// An undefined value decides where invocations go, or what they access.
    fn poison(&self, place: u32, slots: Vec<u32>, what: &str, taint: u32) -> Stop {
        let why = self.reasons.why(taint);
        let rule = if why == Why::OutOfBounds { Rule::OutOfBounds } else { Rule::Poison };
        let mut stop = self.undefined(rule, place, slots, format!("the {what} is undefined: {}", self.origin(taint)));
        if let Stop::Undefined(met) = &mut stop {
            met.why = Some(why);
        }
        stop
    }

    /// Why a value is undefined, and the instruction that made it so.
    fn origin(&self, taint: u32) -> String {
        let index = (taint & !POISON) as usize;
        match self.reasons.describe(&[index.wrapping_sub(1)], self.code, self.names).first() {
            Some(reason) => reason.to_string(),
            None => self.reasons.why(taint).text().to_owned(),
        }
    }

    fn fault_of(
        &mut self,
        fault: Fault,
        place: u32,
        slot: usize,
        detail: impl FnOnce() -> String,
    ) -> Result<u32, Stop> {
        match fault {
            Fault::Value(why) => Ok(self.reasons.taint(why, place)),
            Fault::Behaviour(rule) => Err(self.undefined(rule, place, vec![slot as u32], detail())),
        }
    }

    /// A fault that is planted for tests.
    #[inline(always)]
    pub(super) fn is(&self, fault: Planted) -> bool {
        self.fault == Some(fault)
    }

    // ---- control flow ----

    /// Runs the workgroup to its end.
    pub fn run(&mut self) -> Result<(), Stop> {
        let all = Lanes::all(self.n);
        self.push(self.call_frame((NO_BLOCK, 0)))?;
        self.enter_function(self.code.entry, &all);
        let entry = self.code.functions[self.code.entry as usize].entry;
        let mut running = Some(Running { block: entry, at: self.code.blocks[entry as usize].first, lanes: all });
        loop {
            running = match running {
                Some(tangle) => self.block(tangle)?,
                None => {
                    let Some(next) = self.next()? else { return Ok(()) };
                    next
                }
            };
        }
    }

    fn call_frame(&self, resume: (u32, u32)) -> Frame {
        self.frame(Kind::Call, [NO_BLOCK; 3], resume)
    }

    fn frame(&self, kind: Kind, [header, merge, continues]: [u32; 3], resume: (u32, u32)) -> Frame {
        Frame {
            kind,
            header,
            merge,
            continues,
            pending: Vec::new(),
            labels: Vec::new(),
            at_merge: Lanes::none(self.n),
            at_continue: Lanes::none(self.n),
            at_header: Lanes::none(self.n),
            resume,
            entry: converge::Entry::default(),
        }
    }

    /// Enters a construct or a call. The sets of its frame count as memory.
    fn push(&mut self, frame: Frame) -> Result<(), Stop> {
        self.memory.budget.take(frame.size(self.n))?;
        self.frames.push(frame);
        Ok(())
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.memory.budget.give(frame.size(self.n));
        Some(frame)
    }

    fn make_active(&mut self, lanes: &Lanes) {
        if self.lanes == *lanes {
            return;
        }
        self.lanes.clone_from(lanes);
        self.active.clear();
        self.active.extend(lanes.iter().map(|slot| slot as u32));
        self.full = self.active.len() == self.n;
    }

    /// Executes a block from an instruction on; gives who runs next, if anybody can without waiting for others.
    fn block(&mut self, running: Running) -> Result<Option<Running>, Stop> {
        let Running { block: index, at, lanes } = running;
        let code = self.code;
        let block = &code.blocks[index as usize];
        self.make_active(&lanes);
        for at in at..block.end {
            let inst = &code.insts[at as usize];
            if let Op::Call(callee) = inst.op {
                self.steps += u64::from(at - block.first) + 1;
                return Ok(Some(self.enter_call(callee, inst, (index, at), lanes)?));
            }
            self.instruction(inst)?;
            if self.observer.is_some() {
                self.show(inst);
            }
        }
        self.steps += u64::from(block.end - at) + 1;
        if self.exhausted {
            return Err(Stop::Memory);
        }
        // Constructs are nested in each other, so no more are open than there are blocks.
        if self.frames.len() > code.blocks.len() + 64 {
            let slots = self.active.clone();
            return Err(self.undefined(
                Rule::NoTermination,
                block.place,
                slots,
                "control flow is not structured".into(),
            ));
        }
        if self.steps > self.limit {
            let detail = format!("{} instructions were executed", self.limit);
            return Err(self.undefined(Rule::NoTermination, block.place, self.active.clone(), detail));
        }
        self.terminator(index, block, lanes)
    }

    fn enter_call(&mut self, callee: u32, inst: &Inst, resume: (u32, u32), lanes: Lanes) -> Result<Running, Stop> {
        let code = self.code;
        let mut frame = self.call_frame(resume);
        frame.entry = self.entry(&lanes);
        self.push(frame)?;
        let function = &code.functions[callee as usize];
        let mut arguments = code.pool[inst.ins.range()].to_vec();
        if self.is(Planted::CallArgumentsSwapped) && arguments.len() > 1 {
            arguments.swap(0, 1);
        }
        for (&param, &argument) in function.params.iter().zip(&arguments) {
            self.mov(param, argument);
        }
        self.enter_function(callee, &lanes);
        let entry = &code.blocks[function.entry as usize];
        Ok(Running { block: function.entry, at: entry.first, lanes })
    }

    /// Function variables begin anew at every call.
    fn enter_function(&mut self, function: u32, lanes: &Lanes) {
        self.make_active(lanes);
        let code = self.code;
        let never = self.reasons.taint(Why::Uninitialised, NOWHERE);
        for &(reg, source) in &code.locals[function as usize] {
            if source != NONE {
                self.mov(reg, source);
            } else if self.full {
                self.columns.taints(reg).iter().for_each(|cell| cell.set(never));
                self.columns.tainted[reg as usize].set(true);
            } else {
                let taints = self.columns.taints(reg);
                self.active.iter().for_each(|&slot| taints[slot as usize].set(never));
                self.columns.tainted[reg as usize].set(true);
            }
        }
    }

    fn terminator(&mut self, index: u32, block: &'a Block, lanes: Lanes) -> Result<Option<Running>, Stop> {
        match block.merge {
            Merge::Loop(merge, continues) => {
                let again = self.frames.last().is_some_and(|top| top.kind == Kind::Loop && top.header == index);
                if !again {
                    let mut frame = self.frame(Kind::Loop, [index, merge, continues], (NO_BLOCK, 0));
                    frame.entry = self.entry(&lanes);
                    self.push(frame)?;
                }
            }
            Merge::Selection(merge) => {
                let mut frame = self.frame(Kind::Selection, [NO_BLOCK, merge, NO_BLOCK], (NO_BLOCK, 0));
                frame.entry = self.entry(&lanes);
                if let Term2::Switch { labels, .. } = &block.term {
                    frame.kind = Kind::Switch;
                    let inside = labels.iter().filter(|label| **label != merge && !self.is_awaited(**label));
                    frame.labels = inside.map(|label| (*label, Lanes::none(self.n))).collect();
                }
                self.push(frame)?;
            }
            Merge::None => {}
        }
        match &block.term {
            Term2::Branch(edge) => Ok(self.take(edge, lanes)),
            Term2::Cond { cond, yes, no } => self.conditional(block, *cond, yes, no, lanes),
            Term2::Switch { selector, cases, default, .. } => self.switch(block, *selector, cases, default, lanes),
            Term2::Return(moves) => {
                for pair in self.code.pool[moves.range()].chunks_exact(2) {
                    self.mov(pair[0], pair[1]);
                }
                let nested = self.frames.last().is_some_and(|frame| frame.kind != Kind::Call);
                if nested && self.is(Planted::ReturnEndsInvocation) {
                    return Ok(None);
                }
                let forgets = self.is(Planted::CallKeepsOnlyLastReturn);
                if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.kind == Kind::Call) {
                    if forgets {
                        frame.at_merge.take();
                    }
                    frame.at_merge.add(&lanes);
                }
                Ok(None)
            }
            Term2::Terminate => Ok(None),
            Term2::Unreachable => {
                let slots = self.active.clone();
                Err(self.undefined(Rule::Unreachable, block.place, slots, String::new()))
            }
        }
    }

    /// The lanes whose control flow is known; the others are lost.
    fn decided(&mut self, reg: Reg, lanes: Lanes, place: u32) -> Result<Lanes, Stop> {
        if !self.columns.is_tainted(reg) {
            return Ok(lanes);
        }
        let mut known = Lanes::none(self.n);
        let mut poisoned = Vec::new();
        let mut taint = 0;
        for slot in lanes.iter() {
            match self.columns.taint(reg, slot) {
                0 => known.insert(slot),
                found if found & POISON != 0 => {
                    poisoned.push(slot as u32);
                    taint = found;
                }
                _ => self.lost.insert(slot),
            }
        }
        if !poisoned.is_empty() {
            return Err(self.poison(place, poisoned, "condition", taint));
        }
        if known != lanes {
            self.memory.lose();
        }
        Ok(known)
    }

    fn conditional(
        &mut self,
        block: &'a Block,
        cond: Reg,
        yes: &'a Edge,
        no: &'a Edge,
        lanes: Lanes,
    ) -> Result<Option<Running>, Stop> {
        let lanes = self.decided(cond, lanes, block.place)?;
        if yes.to == no.to {
            return Ok(self.take(yes, lanes));
        }
        let mut taken = Lanes::none(self.n);
        let column = self.columns.bits(cond);
        lanes.iter().filter(|&slot| column[slot].get() != 0).for_each(|slot| taken.insert(slot));
        let mut other = lanes.clone();
        other.remove(&taken);
        if self.is(Planted::ConditionOfFirstLane) && !taken.is_empty() && !other.is_empty() {
            let first_holds = lanes.iter().next().is_some_and(|first| taken.contains(first));
            let (all, none) = (lanes.clone(), Lanes::none(self.n));
            (taken, other) = if first_holds { (all, none) } else { (none, all) };
        }
        if !taken.is_empty() && !other.is_empty() {
            self.diverge(&lanes, |slot| u64::from(taken.contains(slot)));
        }
        let first = self.take(yes, taken);
        let second = self.take(no, other);
        Ok(self.one_of(first, second))
    }

    fn switch(
        &mut self,
        block: &'a Block,
        selector: Reg,
        cases: &'a [(u64, Edge)],
        default: &'a Edge,
        lanes: Lanes,
    ) -> Result<Option<Running>, Stop> {
        let lanes = self.decided(selector, lanes, block.place)?;
        let mut values: Vec<(u64, Lanes)> = Vec::new();
        for slot in lanes.iter() {
            let value = self.columns.bits(selector)[slot].get();
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, set)) => set.insert(slot),
                None => {
                    let mut set = Lanes::none(self.n);
                    set.insert(slot);
                    values.push((value, set));
                }
            }
        }
        if values.len() > 1 {
            let column = self.columns.bits(selector);
            let decisions: Vec<u64> = column.iter().map(Cell::get).collect();
            self.diverge_at_switch(&lanes, |slot| decisions[slot]);
        }
        let mut next = None;
        self.dispatching = true;
        for (value, set) in values {
            let matching = cases.iter().find(|(case, _)| *case == value).map(|(_, edge)| edge);
            let edge = match matching {
                Some(edge) if !self.is(Planted::SwitchDefaultOnly) => edge,
                _ => default,
            };
            let one = self.take(edge, set);
            next = self.one_of(next, one);
        }
        self.dispatching = false;
        Ok(next)
    }

    /// Of two tangles that can run, one runs and the other one is put aside.
    fn one_of(&mut self, first: Option<Running>, second: Option<Running>) -> Option<Running> {
        let (first, second) = match (first, second) {
            (Some(first), Some(second)) => (first, second),
            (first, second) => return first.or(second),
        };
        if first.block == second.block {
            let mut first = first;
            first.lanes.add(&second.lanes);
            return Some(first);
        }
        if let Some(frame) = self.frames.last_mut() {
            match frame.pending.iter_mut().find(|(block, _)| *block == second.block) {
                Some((_, lanes)) => lanes.add(&second.lanes),
                None => frame.pending.push((second.block, second.lanes)),
            }
        }
        Some(first)
    }

    /// Lanes go along an edge.
    fn take(&mut self, edge: &'a Edge, lanes: Lanes) -> Option<Running> {
        if lanes.is_empty() {
            return None;
        }
        let moves = &self.code.pool[edge.moves.range()];
        let is_back_edge = |frame: &Frame| frame.kind == Kind::Loop && frame.header == edge.to;
        let forgotten = self.is(Planted::PhiOfOtherEdge) && self.frames.iter().any(is_back_edge);
        if !moves.is_empty() && !forgotten {
            self.phis(moves, edge.overlap, &lanes);
        }
        self.arrive(edge.to, lanes)
    }

    /// All phis of a block take their values at once (SPIR-V 1.6 `OpPhi`).
    fn phis(&mut self, moves: &[Reg], overlap: bool, lanes: &Lanes) {
        let overlap = overlap && !self.is(Planted::PhisOneByOne);
        if !self.expansions.is_empty() {
            self.hand_on_phis(moves, lanes);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        for slot in lanes.iter() {
            scratch.clear();
            for pair in moves.chunks_exact(2) {
                if overlap {
                    scratch.push(self.columns.get(pair[1], slot));
                } else {
                    let (bits, taint) = self.columns.get(pair[1], slot);
                    self.columns.set(pair[0], slot, bits, taint);
                }
            }
            for (pair, (bits, taint)) in moves.chunks_exact(2).zip(&scratch) {
                self.columns.set(pair[0], slot, *bits, *taint);
            }
        }
        self.scratch = scratch;
    }

    /// True if an open construct of this call waits at a block.
    fn is_awaited(&self, block: u32) -> bool {
        for frame in self.frames.iter().rev() {
            if frame.kind == Kind::Call {
                return false;
            }
            let label = frame.labels.iter().any(|(label, _)| *label == block);
            if frame.header == block || frame.merge == block || frame.continues == block || label {
                return true;
            }
        }
        false
    }

    /// Lanes come to a block: they wait where an open construct reconverges there, or else run on.
    fn arrive(&mut self, block: u32, lanes: Lanes) -> Option<Running> {
        let fault = self.fault;
        let is = |planted| fault == Some(planted);
        let falls_through = !self.dispatching;
        for frame in self.frames.iter_mut().rev() {
            if frame.kind == Kind::Call {
                break;
            }
            let waits = if frame.header == block {
                &mut frame.at_header
            } else if frame.merge == block {
                let mixes = is(Planted::IterationsMix) && !frame.at_continue.is_empty();
                if mixes { &mut frame.at_continue } else { &mut frame.at_merge }
            } else if frame.continues == block && !is(Planted::ContinueNotAwaited) {
                &mut frame.at_continue
            } else if let Some((_, waits)) = frame.labels.iter_mut().find(|(label, _)| *label == block) {
                if falls_through && is(Planted::SwitchLosesFallthrough) { &mut frame.at_merge } else { waits }
            } else {
                continue;
            };
            waits.add(&lanes);
            return None;
        }
        let at = self.code.blocks[block as usize].first;
        Some(Running { block, at, lanes })
    }

    /// Nobody can run on: the innermost construct says who is next. `None` at the end of the workgroup.
    #[allow(clippy::option_option, reason = "the end, nobody yet, or somebody")]
    fn next(&mut self) -> Result<Option<Option<Running>>, Stop> {
        let Some(frame) = self.frames.last_mut() else { return Ok(None) };
        if let Some((block, lanes)) = frame.pending.pop() {
            return Ok(Some(self.run_at(block, lanes)));
        }
        match frame.kind {
            Kind::Switch => {
                if let Some((label, waits)) = frame.labels.iter_mut().find(|(_, waits)| !waits.is_empty()) {
                    let (label, lanes) = (*label, waits.take());
                    return Ok(Some(self.run_at(label, lanes)));
                }
            }
            Kind::Loop => {
                if !frame.at_continue.is_empty() {
                    let (block, lanes) = (frame.continues, frame.at_continue.take());
                    self.reconverge_iteration(&lanes);
                    return Ok(Some(self.run_at(block, lanes)));
                }
                if !frame.at_header.is_empty() {
                    let (block, lanes) = (frame.header, frame.at_header.take());
                    if frame.continues == block {
                        self.reconverge_iteration(&lanes);
                    }
                    return Ok(Some(self.run_at(block, lanes)));
                }
            }
            Kind::Selection | Kind::Call => {}
        }
        let Some(frame) = self.pop() else { return Ok(None) };
        let lanes = frame.at_merge;
        if frame.kind == Kind::Call {
            if self.frames.is_empty() {
                return Ok(None);
            }
            if lanes.is_empty() {
                return Ok(Some(None));
            }
            return Ok(Some(Some(self.leave_call(frame.resume, frame.entry, lanes))));
        }
        if lanes.is_empty() {
            return Ok(Some(None));
        }
        self.reconverge_at_merge(&frame.entry, &lanes);
        if self.is(Planted::MergeLosesLane) && lanes.count() > 1 && frame.kind == Kind::Loop {
            let mut kept = lanes.clone();
            let mut last = Lanes::none(self.n);
            lanes.iter().last().into_iter().for_each(|slot| last.insert(slot));
            kept.remove(&last);
            let first = self.arrive(frame.merge, kept);
            let second = self.arrive(frame.merge, last);
            return Ok(Some(self.one_of_apart(first, second)));
        }
        if self.is(Planted::SelectionNotMerged) && frame.kind == Kind::Selection && lanes.count() > 1 {
            let mut low = Lanes::none(self.n);
            lanes.iter().filter(|slot| slot % 2 == 0).for_each(|slot| low.insert(slot));
            let mut high = lanes.clone();
            high.remove(&low);
            if !low.is_empty() && !high.is_empty() {
                let first = self.arrive(frame.merge, low);
                let second = self.arrive(frame.merge, high);
                return Ok(Some(self.one_of_apart(first, second)));
            }
        }
        Ok(Some(self.arrive(frame.merge, lanes)))
    }

    /// For planted faults: two tangles at one block that stay apart.
    fn one_of_apart(&mut self, first: Option<Running>, second: Option<Running>) -> Option<Running> {
        match (first, second) {
            (Some(first), Some(second)) => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.pending.push((second.block, second.lanes));
                }
                Some(first)
            }
            (first, second) => first.or(second),
        }
    }

    fn run_at(&self, block: u32, lanes: Lanes) -> Option<Running> {
        Some(Running { block, at: self.code.blocks[block as usize].first, lanes })
    }

    /// All lanes that returned go on after the call.
    fn leave_call(&mut self, (block, at): (u32, u32), entry: converge::Entry, lanes: Lanes) -> Running {
        let code = self.code;
        let inst = &code.insts[at as usize];
        let mut receiving = lanes.clone();
        if self.is(Planted::ResultNotCopied) && lanes.count() > 1 {
            let mut lowest = Lanes::none(self.n);
            lanes.iter().take(1).for_each(|slot| lowest.insert(slot));
            receiving.remove(&lowest);
        }
        self.make_active(&receiving);
        if let Op::Call(callee) = inst.op {
            let results = &code.functions[callee as usize].results;
            for (&out, &result) in code.pool[inst.outs.range()].iter().zip(results) {
                self.mov(out, result);
            }
        }
        self.reconverge_after_call(&entry, &lanes);
        Running { block, at: at + 1, lanes }
    }

    // ---- at the end ----

    /// Lanes whose path is not known to the end.
    pub fn lost(&self) -> &Lanes {
        &self.lost
    }

    /// What this run assumed wrongly, if anything.
    pub fn wrong_claims(&self, knowledge: &mut Knowledge) -> bool {
        self.claims.check(self.workgroup, self.layout, &self.lost, knowledge)
    }

    pub fn has_claims(&self) -> bool {
        self.claims.any()
    }

    fn show(&mut self, inst: &Inst) {
        let Some(observer) = self.observer.take() else { return };
        observer.executed(&Shown { machine: self, inst });
        self.observer = Some(observer);
    }
}

/// An instance for an observer.
struct Shown<'m, 'a> {
    machine: &'m Machine<'a>,
    inst: &'m Inst,
}

impl Instance for Shown<'_, '_> {
    fn opcode(&self) -> spirv::Op {
        self.machine.code.places.get(self.inst.place as usize).map_or(spirv::Op::Nop, |info| info.opcode)
    }

    fn location(&self) -> Location {
        location(self.machine.code, self.machine.names, self.inst.place)
    }

    fn workgroup(&self) -> u32 {
        self.machine.workgroup
    }

    fn active(&self) -> Vec<u32> {
        self.machine.active.clone()
    }

    fn tangles(&self) -> Vec<Tangle> {
        let mut found = Vec::new();
        for (index, subgroup) in self.machine.layout.subgroups.iter().enumerate() {
            let lanes = self.machine.mask_of(subgroup);
            if lanes != 0 {
                let exact = self.machine.is_exact(index, lanes);
                found.push(Tangle { subgroup: index as u32, lanes, exact });
            }
        }
        found
    }

    fn result(&self, local_index: u32) -> Vec<Option<u64>> {
        let slot = local_index as usize;
        if slot >= self.machine.n {
            return Vec::new();
        }
        let d = (self.inst.d < self.machine.code.columns).then_some(self.inst.d);
        let outs = self.machine.code.pool[self.inst.outs.range()].iter().copied();
        let columns = d.into_iter().chain(outs);
        columns
            .map(|reg| {
                let (bits, taint) = self.machine.columns.get(reg, slot);
                (taint == 0).then_some(bits)
            })
            .collect()
    }
}
