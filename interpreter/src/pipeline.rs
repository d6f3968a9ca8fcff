//! A module made ready to run.

use std::sync::Arc;

use crate::decode::{Decoded, decode};
use crate::dispatch::{Buffer, Dispatch, PipelineOptions};
use crate::exec::{Columns, Knowledge, Layout, Machine, Memory, Reasons, Shared, Stop, Subgroup, location};
use crate::faults::Planted;
use crate::lanes::Lanes;
use crate::module::{Interface, Module};
use crate::outcome::{
    BufferState, End, Error, OpenPath, Outcome, OutputState, OutputValue, Rule, UndefinedBehaviour, Why,
};
use crate::trace::Observer;

/// Runs of one dispatch before the rule of visitors is given up.
const MAX_RUNS: u32 = 24;
/// Bytes that decoding a module takes at most, beside what its words take. What is larger is [`Error::Memory`].
pub const DECODE_MEMORY: u64 = 256 << 20;
/// Bytes that a scalar of an output takes, of one invocation.
const OUTPUT_BYTES: u64 = (size_of::<Option<(u64, u32)>>() + size_of::<OutputValue>()) as u64;
/// Invocations of a workgroup.
const MAX_INVOCATIONS: u64 = 1 << 14;

/// A module with its entry point, its specialisation and its tier chosen, decoded for execution. It can be run any number of times.
#[derive(Clone)]
pub struct Pipeline {
    decoded: Arc<Decoded>,
    fault: Option<Planted>,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("interface", &self.decoded.interface).finish_non_exhaustive()
    }
}

/// One run of a dispatch, and what it found out.
struct Run {
    end: End,
    /// Why the run ended early, if nothing is undefined.
    halted: Option<Error>,
    memory: Memory,
    reasons: Reasons,
    steps: u64,
    tangles: (u64, u64),
    lost: u64,
    /// Where the first invocation was lost, and the taint of what decided there.
    first_lost: Option<(u32, u32)>,
    /// Something was assumed wrongly: run again.
    wrong: bool,
    /// The results of atomics were taken to be those of the order in which they were executed, and are not: run again.
    contended: bool,
    claims: bool,
    /// Values of outputs, as [`Machine::outputs`] gives them.
    outputs: Vec<Option<(u64, u32)>>,
}

impl Pipeline {
    /// Decodes a module. Everything that is not supported is found here, before anything runs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with every feature that is not supported, by name; [`Error::Invalid`] if the module breaks a rule that execution
    /// relies on; [`Error::Memory`] if it is larger than anything sensible; [`Error::Dispatch`] if the options name no entry point.
    pub fn new(module: &Module, options: &PipelineOptions) -> Result<Pipeline, Error> {
        let decoded = decode(module, options)?;
        Ok(Pipeline { decoded: Arc::new(decoded), fault: None })
    }

    /// The same with a fault planted, for tests of what compares with it.
    #[doc(hidden)]
    pub fn with_fault(mut self, fault: Planted) -> Pipeline {
        self.fault = Some(fault);
        self
    }

    /// What the entry point needs from its dispatch.
    pub fn interface(&self) -> &Interface {
        &self.decoded.interface
    }

    /// Runs a dispatch.
    ///
    /// # Errors
    /// [`Error::Dispatch`] if the dispatch does not fit (a buffer is missing or too small for its type, a lane map that is none),
    /// [`Error::Memory`] if it needs more than [`Limits::memory`](crate::dispatch::Limits::memory), [`Error::Undecided`] if invocations come to
    /// a control barrier and it depends on an open value whether all of them do, [`Error::Steps`] if it does not end within
    /// [`Limits::steps`](crate::dispatch::Limits::steps), [`Error::Invalid`] if constructs are not nested in each other.
    pub fn run(&self, dispatch: &Dispatch) -> Result<Outcome, Error> {
        self.run_with(dispatch, None)
    }

    /// Runs a dispatch, and shows every dynamic instance to an observer.
    ///
    /// # Errors
    /// As [`Pipeline::run`].
    pub fn run_with(&self, dispatch: &Dispatch, mut observer: Option<&mut dyn Observer>) -> Result<Outcome, Error> {
        let layouts = self.layouts(dispatch)?;
        let spare = self.spare_memory(dispatch, &layouts)?;
        let invocations = layouts.first().map_or(0, |layout| layout.places.len());
        let columns = Columns::take(self.decoded.code.columns as usize, invocations);
        let outcome = self.run_until_right(dispatch, &layouts, &columns, spare, &mut observer);
        columns.give_back();
        outcome
    }

    /// Runs a dispatch until nothing was assumed wrongly.
    fn run_until_right(
        &self,
        dispatch: &Dispatch,
        layouts: &[Layout],
        columns: &Columns,
        spare: u64,
        observer: &mut Option<&mut dyn Observer>,
    ) -> Result<Outcome, Error> {
        let mut knowledge = Knowledge::default();
        let mut steps = 0;
        let mut race = None;
        for number in 1.. {
            if number > 1
                && let Some(observer) = observer.as_deref_mut()
            {
                observer.restarted(0);
            }
            let mut run = self.run_once(dispatch, layouts, columns, spare, &mut knowledge, reborrow(observer))?;
            steps += run.steps;
            if run.wrong || run.contended {
                knowledge.no_claims |= number > MAX_RUNS;
                // The order in which atomics were executed is one of those that are allowed, and a race in one execution is a race.
                if let (false, false, End::Undefined(found)) = (run.wrong, run.claims, &run.end)
                    && found.rule == Rule::DataRace
                {
                    race.get_or_insert_with(|| found.clone());
                }
                continue;
            }
            // What ends a run must not rest on an assumption about who comes by later.
            let is_ended = matches!(run.end, End::Undefined(_)) || run.halted.is_some();
            if is_ended && run.claims && !knowledge.no_claims {
                knowledge.no_claims = true;
                continue;
            }
            if let Some(error) = run.halted {
                return Err(error);
            }
            if let (End::Completed, Some(race)) = (&run.end, race) {
                run.end = End::Undefined(race);
            }
            return Ok(self.outcome(dispatch, run, steps));
        }
        Err(Error::Memory("no end of assumptions".into()))
    }

    fn run_once(
        &self,
        dispatch: &Dispatch,
        layouts: &[Layout],
        columns: &Columns,
        spare: u64,
        knowledge: &mut Knowledge,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<Run, Error> {
        let Decoded { code, names, interface, float_modes, .. } = &*self.decoded;
        let n = layouts.first().map_or(0, |layout| layout.places.len());
        let known = knowledge.clone();
        let shared = Shared {
            code,
            names,
            columns,
            interface,
            float_modes: *float_modes,
            dispatch,
            knowledge: &known,
            fault: self.fault,
        };
        let memory = Memory::new(code, dispatch, n as u32, spare)?;
        let mut run = Run {
            end: End::Completed,
            halted: None,
            memory,
            reasons: Reasons::new(dispatch.limits.memory),
            steps: 0,
            tangles: (0, 0),
            lost: 0,
            first_lost: None,
            wrong: false,
            contended: false,
            claims: false,
            outputs: Vec::new(),
        };
        let count = dispatch.workgroups.iter().map(|&side| u64::from(side)).product::<u64>();
        let mut lost_invocations: Vec<u32> = Vec::new();
        for workgroup in 0..count as u32 {
            let layout = &layouts[if layouts.len() == 1 { 0 } else { workgroup as usize }];
            let begun = run.memory.begin_workgroup(code, workgroup, layout.size as usize, &mut run.reasons);
            begun.map_err(|_| out_of_memory(dispatch))?;
            let steps = run.steps;
            let mut machine = Machine::new(
                &shared,
                layout,
                workgroup,
                &mut run.memory,
                &mut run.reasons,
                steps,
                reborrow(&mut observer),
            );
            let result = machine.run();
            let wrong = machine.wrong_claims(knowledge);
            let first_lost = machine.first_lost;
            let (steps, tangles, claims) = (machine.steps, machine.tangles, machine.has_claims());
            let outputs = machine.outputs();
            let lost: Vec<u32> = machine.lost().iter().map(|slot| workgroup * n as u32 + slot as u32 + 1).collect();
            drop(machine);
            run.wrong |= wrong;
            run.outputs = outputs;
            if let Some(at) = run.memory.lost_at.filter(|_| code.atomics) {
                run.wrong |= knowledge.lose(workgroup, at);
            }
            run.steps = steps;
            run.claims |= claims;
            run.tangles = (run.tangles.0 + tangles.0, run.tangles.1 + tangles.1);
            run.lost += lost.len() as u64;
            run.first_lost = run.first_lost.or(first_lost);
            lost_invocations.extend(lost);
            for place in std::mem::take(&mut run.memory.unordered_anywhere) {
                run.wrong |= knowledge.unordered_anywhere.insert(place);
            }
            for key in std::mem::take(&mut run.memory.contended) {
                run.contended |= knowledge.contended.insert(key);
            }
            for (key, why) in std::mem::take(&mut run.memory.hidden) {
                run.contended |= knowledge.hidden.insert(key, why).is_none();
            }
            match result {
                Ok(()) => {}
                Err(Stop::Undefined(undefined)) => {
                    run.end = End::Undefined(undefined);
                    break;
                }
                Err(Stop::Memory) => return Err(out_of_memory(dispatch)),
                Err(Stop::Undecided(place)) => {
                    let path = self.open_path(&run).map(Box::new);
                    run.halted = Some(Error::Undecided(location(code, names, place), path));
                }
                Err(Stop::Steps(place)) => {
                    run.halted = Some(Error::Steps(dispatch.limits.steps, location(code, names, place)));
                }
                Err(Stop::Unstructured) => run.halted = Some(Error::Invalid("control flow is not structured".into())),
            }
            if run.halted.is_some() {
                break;
            }
        }
        if let (End::Completed, None, Some((place, workgroup, slot, detail))) =
            (&run.end, &run.halted, run.memory.late_race(code))
        {
            run.end = End::Undefined(Box::new(UndefinedBehaviour {
                rule: Rule::DataRace,
                location: location(code, names, place),
                workgroup,
                lanes: vec![slot],
                detail,
                why: None,
            }));
        }
        if !lost_invocations.is_empty() {
            let taint = run.reasons.taint(Why::Path, u32::MAX);
            let is_lost = |invocation| lost_invocations.binary_search(&invocation).is_ok();
            // Nobody sees workgroup memory any more.
            let tainted = run.memory.taint_lost([false, true, true], is_lost, taint);
            tainted.map_err(|_| out_of_memory(dispatch))?;
        }
        Ok(run)
    }

    /// The first branch of a run from which invocations are followed no further.
    fn open_path(&self, run: &Run) -> Option<OpenPath> {
        let (code, names) = (&self.decoded.code, &self.decoded.names);
        let (place, taint) = run.first_lost?;
        let reason = run.reasons.reason(taint, code, names)?;
        Some(OpenPath { location: location(code, names, place), reason })
    }

    fn outcome(&self, dispatch: &Dispatch, run: Run, steps: u64) -> Outcome {
        let code = &self.decoded.code;
        let open_path = self.open_path(&run);
        let memory = run.memory;
        // Of all reasons, those that some byte has are named, in the order of the bytes.
        let mut numbers = vec![0; run.reasons.len() + 1];
        let mut named = Vec::new();
        let mut number = |taint: u32| {
            let index = (taint & !(1 << 31)) as usize;
            if index != 0 && numbers[index] == 0 {
                named.push(index - 1);
                numbers[index] = named.len() as u32;
            }
            numbers[index]
        };
        let buffers = dispatch.buffers.iter().enumerate().map(|(at, buffer)| {
            let object = memory.of_buffer[at].map(|object| &memory.objects[object as usize]);
            let (bytes, states) = match object {
                Some(object) => (object.bytes.clone(), object.states(&mut number)),
                None => (buffer.bytes.clone(), Vec::new()),
            };
            let Buffer { set, binding, element, address, .. } = *buffer;
            BufferState { set, binding, element, address, bytes, states }
        });
        let buffers = buffers.collect();
        let mut values = run.outputs.into_iter();
        let invocations = self.invocations(dispatch) as usize;
        let mut value = || match values.next() {
            Some(Some((bits, 0))) => OutputValue::Determined(bits),
            Some(Some((_, taint))) => OutputValue::Open(number(taint)),
            Some(None) | None => OutputValue::Absent,
        };
        let output = |output: &crate::code::Output| OutputState {
            location: output.location,
            index: output.index,
            component: output.component,
            scalars: output.count,
            values: (0..invocations * output.count as usize).map(|_| value()).collect(),
        };
        let outputs = code.outputs.iter().map(output).collect();
        Outcome {
            end: run.end,
            buffers,
            outputs,
            reasons: run.reasons.describe(&named, code, &self.decoded.names),
            steps,
            tangles: run.tangles,
            lost: run.lost,
            open_path,
        }
    }

    /// Bytes that are left of the limit when everything is allocated whose size is known.
    fn spare_memory(&self, dispatch: &Dispatch, layouts: &[Layout]) -> Result<u64, Error> {
        let code = &self.decoded.code;
        let n = self.invocations(dispatch);
        let columns = u64::from(code.columns) * n * 12;
        let workgroup = code.objects.iter().fold(0u64, |sum, object| match object.kind {
            crate::code::ObjectKind::Workgroup(size) => sum.saturating_add(size),
            _ => sum,
        });
        let subgroups = layouts.iter().map(|layout| layout.subgroups.len() as u64).max().unwrap_or(0);
        let claims = u64::from(code.group_count) * subgroups * 32;
        // What barriers have ordered for whom, and reasons of open values (`Reasons::interval`).
        let orders = n * u64::from(dispatch.lane_map.subgroup_size) * 48;
        let reasons = dispatch.limits.memory / 8;
        // In the run and in the outcome.
        let outputs = code.outputs.iter().map(|output| u64::from(output.count)).sum::<u64>() * n * OUTPUT_BYTES;
        let needs = [columns, workgroup, claims, orders, reasons, outputs].into_iter().fold(0u64, u64::saturating_add);
        let Some(spare) = dispatch.limits.memory.checked_sub(needs) else {
            let allowed = dispatch.limits.memory;
            return Err(Error::Memory(format!("{needs} bytes for {n} invocations, {allowed} are allowed")));
        };
        let groups = dispatch.workgroups.iter().map(|&side| u64::from(side)).product::<u64>();
        if groups.saturating_mul(n) >= 1 << 31 {
            return Err(Error::Dispatch(format!("{groups} workgroups of {n} invocations")));
        }
        Ok(spare)
    }

    /// Invocations of a workgroup, or of a draw.
    fn invocations(&self, dispatch: &Dispatch) -> u64 {
        let Interface { workgroup_size, .. } = &self.decoded.interface;
        match self.decoded.interface.is_of_draw() {
            true => dispatch.draw.len() as u64,
            false => workgroup_size.iter().map(|&side| u64::from(side)).product(),
        }
    }

    fn layouts(&self, dispatch: &Dispatch) -> Result<Vec<Layout>, Error> {
        let (map, workgroups) = (&dispatch.lane_map, dispatch.workgroups);
        let size = map.subgroup_size;
        let n = self.invocations(dispatch);
        if !size.is_power_of_two() || size > 128 {
            return Err(Error::Dispatch(format!("a subgroup size of {size}")));
        }
        if n == 0 || n > MAX_INVOCATIONS {
            return Err(Error::Dispatch(format!("workgroups of {n} invocations")));
        }
        let count = workgroups.iter().map(|&side| u64::from(side)).product::<u64>();
        if map.workgroups.len() != 1 && map.workgroups.len() as u64 != count {
            return Err(Error::Dispatch(format!("a lane map of {} workgroups for {count}", map.workgroups.len())));
        }
        if self.decoded.interface.is_of_draw() {
            let places = map.workgroups.first().map_or(&[][..], Vec::as_slice);
            if count != 1 {
                return Err(Error::Dispatch(format!("a draw of {count} workgroups")));
            }
            let Interface { stage, inputs, .. } = &self.decoded.interface;
            if let Some(fault) = dispatch.draw.fault(*stage, inputs, places) {
                return Err(Error::Dispatch(fault));
            }
        }
        map.workgroups.iter().map(|places| layout(places, size, n as usize)).collect()
    }
}

fn out_of_memory(dispatch: &Dispatch) -> Error {
    Error::Memory(format!("more than {} bytes are touched", dispatch.limits.memory))
}

/// The same observer again, for a shorter time.
fn reborrow<'a>(observer: &'a mut Option<&mut dyn Observer>) -> Option<&'a mut dyn Observer> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}

fn layout(places: &[crate::lane_map::LanePosition], size: u32, n: usize) -> Result<Layout, Error> {
    if places.len() != n {
        return Err(Error::Dispatch(format!("a lane map of {} invocations for a workgroup of {n}", places.len())));
    }
    let count = places.iter().map(|place| place.subgroup as usize + 1).max().unwrap_or(0);
    if count > n {
        return Err(Error::Dispatch("a lane map with gaps between its subgroups".into()));
    }
    let empty = Subgroup { lanes: Lanes::none(n), live: 0, slots: vec![u32::MAX; size as usize] };
    let mut subgroups = vec![empty; count];
    for (slot, place) in places.iter().enumerate() {
        let subgroup = &mut subgroups[place.subgroup as usize];
        if place.lane >= size || subgroup.live >> place.lane & 1 == 1 {
            return Err(Error::Dispatch(format!("a lane map with invocation {slot} in a lane that cannot be its own")));
        }
        subgroup.live |= 1 << place.lane;
        subgroup.slots[place.lane as usize] = slot as u32;
        subgroup.lanes.insert(slot);
    }
    if subgroups.iter().any(|subgroup| subgroup.live == 0) {
        return Err(Error::Dispatch("a lane map with gaps between its subgroups".into()));
    }
    Ok(Layout { size, subgroups, places: places.to_vec() })
}
