//! The machine: lane sets over the control-flow graph.
//!
//! ```text
//!   control.rs    terminators, constructs, calls: which lanes run next; converge.rs: by the rules of a tier
//!   compute.rs    instructions on values; float.rs, expansion.rs, format.rs, accuracy.rs: floating point; group.rs: subgroup operations
//!   fragment.rs   helper invocations, derivatives
//!   memory.rs     memory and the instructions that access it; image.rs: texels
//!   classes.rs    which lanes are known to be together; frame.rs: constructs and calls; layout.rs: the lane map
//!   columns.rs    the values of registers
//!   reasons.rs    why a value is not determined
//! ```

mod accuracy;
mod classes;
mod columns;
mod compute;
mod control;
mod converge;
mod expansion;
mod float;
pub(crate) mod format;
mod fragment;
mod frame;
mod group;
mod image;
mod layout;
mod memory;
mod reasons;
mod stop;

use rspirv::spirv::{self, BuiltIn};

use crate::alu::Fault;
use crate::code::*;
use crate::decode::{FloatModes, Names};
use crate::dispatch::{Dispatch, Tier};
use crate::draw::Draw;
use crate::faults::Planted;
use crate::lanes::Lanes;
use crate::module::Interface;
use crate::outcome::{Location, Rule, UndefinedBehaviour, Why};
use crate::trace::{Instance, Observer, Tangle};
pub(crate) use classes::Knowledge;
use classes::{Claims, Classes};
pub(crate) use columns::Columns;
use expansion::Expansions;
use frame::{Frame, NO_BLOCK, Running};
pub(super) use layout::{Layout, Subgroup};
pub(crate) use memory::Memory;
use reasons::{NOWHERE, POISON};
pub(crate) use reasons::{Reasons, location};
pub(crate) use stop::Stop;

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
    classes: Classes,
    claims: Claims,
    knowledge: &'a Knowledge,
    lost: Lanes,
    /// Where the first of them was lost, and the taint of what decided there.
    pub first_lost: Option<(u32, u32)>,
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
    /// The workgroup has executed `OpSetMeshOutputsEXT`.
    has_outputs: bool,
    /// The draw of a shader without workgroups.
    draw: Option<&'a Draw>,
    /// Those that are helper invocations now.
    helpers: Lanes,
    /// Fragments that were terminated: they have no outputs.
    terminated: Lanes,
    /// Derivatives may stand where control flow is uniform in the quad only.
    quad_derivatives: bool,
}

/// What all workgroups of a run share.
pub(crate) struct Shared<'a> {
    pub code: &'a Code,
    pub names: &'a Names,
    pub columns: &'a Columns,
    pub interface: &'a Interface,
    pub float_modes: [FloatModes; 3],
    pub dispatch: &'a Dispatch,
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
            tier: shared.interface.tier,
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
            classes: Classes::new(n),
            claims: Claims::new(shared.interface.tier, shared.code.group_count as usize * layout.subgroups.len()),
            knowledge: shared.knowledge,
            lost: Lanes::none(n),
            first_lost: None,
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
            has_outputs: false,
            draw: shared.interface.is_of_draw().then_some(&shared.dispatch.draw),
            helpers: Lanes::none(n),
            terminated: Lanes::none(n),
            quad_derivatives: shared.interface.quad_derivatives,
        };
        machine.memory.only_last_atomic = shared.fault == Some(Planted::AtomicsOfOthersForgotten);
        machine.memory.private_is_shared = shared.fault == Some(Planted::PrivateIsShared);
        machine.memory.aliases_assumed = shared.fault == Some(Planted::AliasesAssumed);
        machine.memory.barriers_acquire = shared.fault == Some(Planted::BarrierAcquires);
        machine.memory.scopes_ignored = shared.fault == Some(Planted::ScopesIgnored);
        machine.start(shared);
        machine
    }

    /// Columns before the first instruction.
    fn start(&mut self, shared: &Shared<'_>) {
        self.columns.untaint();
        let fragments = self.draw.iter().flat_map(|draw| draw.fragments.iter().enumerate());
        fragments.filter(|(_, of)| of.helper).for_each(|(slot, _)| self.helpers.insert(slot));
        let undef = self.reasons.taint(Why::Undef, NOWHERE);
        let never = self.reasons.taint(Why::Uninitialised, NOWHERE);
        for &(reg, start) in &self.code.starts {
            match start {
                Start::Value(bits) => self.columns.fill(reg, bits, 0),
                Start::Undef => self.columns.fill(reg, 0, undef),
                Start::Uninitialised => self.columns.fill(reg, 0, never),
            }
        }
        self.flat_inputs();
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
        let size = |c: usize| u64::from(shared.interface.workgroup_size[c]);
        let groups = |c: usize| u64::from(shared.dispatch.workgroups[c]);
        let local = || coordinate(slot as u64, [size(0), size(1)], c);
        let group = || coordinate(u64::from(self.workgroup), [groups(0), groups(1)], c);
        let word = |mask: u128| (mask >> (32 * component.min(3))) as u64 & u64::from(u32::MAX);
        let all = || if self.layout.size >= 128 { u128::MAX } else { (1u128 << self.layout.size) - 1 };
        let eq = 1u128 << place.lane;
        match built_in {
            BuiltIn::NumWorkgroups => groups(c),
            BuiltIn::WorkgroupSize => size(c),
            BuiltIn::WorkgroupId => group(),
            BuiltIn::LocalInvocationId => local(),
            BuiltIn::GlobalInvocationId => (group() * size(c) + local()) & u64::from(u32::MAX),
            BuiltIn::LocalInvocationIndex => slot as u64,
            BuiltIn::SubgroupSize => u64::from(self.layout.size),
            BuiltIn::NumSubgroups => u64::from(place.num_subgroups),
            BuiltIn::SubgroupId => u64::from(place.subgroup_id),
            BuiltIn::SubgroupLocalInvocationId => u64::from(place.lane),
            BuiltIn::SubgroupEqMask => word(eq),
            BuiltIn::SubgroupGeMask => word(all() & !(eq - 1)),
            BuiltIn::SubgroupGtMask => word(all() & !(eq | (eq - 1))),
            BuiltIn::SubgroupLeMask => word(eq | (eq - 1)),
            BuiltIn::SubgroupLtMask => word(eq - 1),
            of_draw => self.of_draw(of_draw, component, slot),
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
        self.push(self.call_frame(&all, (NO_BLOCK, 0)))?;
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

    /// Executes a block from an instruction on; gives who runs next, if anybody can without waiting for others.
    fn block(&mut self, running: Running) -> Result<Option<Running>, Stop> {
        let Running { block: index, at, lanes } = running;
        let code = self.code;
        let block = &code.blocks[index as usize];
        self.make_active(&lanes);
        if at == block.first {
            self.enter_block(index, block, &lanes)?;
        }
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
            return Err(Stop::Unstructured);
        }
        if self.steps > self.limit {
            return Err(Stop::Steps(block.place));
        }
        self.terminator(block, lanes)
    }

    // ---- at the end ----

    /// Lanes whose path is not known to the end, and which may store something there: no helpers, and none that `OpKill` made helpers or ended.
    pub fn lost(&self) -> Lanes {
        let mut lost = self.lost.clone();
        lost.remove(&self.helpers);
        lost
    }

    /// What this run assumed wrongly, if anything.
    pub fn wrong_claims(&self, knowledge: &mut Knowledge) -> bool {
        self.claims.check(self.workgroup, self.layout, &self.lost, knowledge)
    }

    /// What the outputs hold, in the order of [`Code::outputs`], for each invocation and each of its scalars; `None` of those that have no outputs.
    pub fn outputs(&mut self) -> Vec<Option<(u64, u32)>> {
        let mut gone = if self.is(Planted::HelpersStore) { Lanes::none(self.n) } else { self.helpers.clone() };
        gone.add(&self.terminated);
        let path = if self.lost.is_empty() { 0 } else { self.reasons.taint(Why::Path, NOWHERE) };
        let code = self.code;
        let mut all = Vec::new();
        for output in &code.outputs {
            for slot in 0..self.n {
                let scalar = |reg: Reg| match self.lost.contains(slot) {
                    true => (0, path),
                    false => self.columns.get(reg, slot),
                };
                let is_there = !gone.contains(slot);
                all.extend((0..output.count).map(|k| is_there.then(|| scalar(output.first + k))));
            }
        }
        all
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

/// A component of the place that is the `index`th in a box with these sides.
fn coordinate(index: u64, [x, y]: [u64; 2], component: usize) -> u64 {
    match component {
        0 => index % x.max(1),
        1 => index / x.max(1) % y.max(1),
        _ => index / (x * y).max(1),
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
                let exact = self.machine.is_exact(index, lanes) && !self.machine.may_be_joined(index);
                found.push(Tangle { subgroup: index as u32, lanes, exact });
            }
        }
        found
    }

    fn subgroup(&self, local_index: u32) -> u32 {
        self.machine.layout.places.get(local_index as usize).map_or(0, |place| place.subgroup)
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
