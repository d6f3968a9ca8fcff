//! The interpreter: runs the module that the toolchain made, with no driver. Together with the oracle, which runs the tree, it checks the
//! toolchain: every front end, and every list of optimisation passes.
//!
//! What it holds open or undefined is marked in the observation and not compared. A module that it does not support is not run.

use std::num::NonZero;
use std::str::FromStr;

use anyhow::Context as _;
use crossbeam_channel::Sender;
use tangle_analysis::cost::log_stride;
use tangle_emit::glsl::Dialect;
use tangle_features::Feature;
use tangle_interpreter as spirv;
use tangle_interpreter::faults::Planted;
use tangle_oracle::judge::Observation;
use tangle_program::case::interface::{LOG, MAP};
use tangle_program::case::{Case, Draw, Items, Launch, Slice};
use tangle_program::map_buffer;
use tangle_program::text::snake_case;
use tangle_program::variant::Printing;
use tangle_runner::{BufferKind, Completed, Completion, Init, Job, LaunchOutput, Outcome};

use super::traits::{BuiltIn, Description, Economy, Executor, Task, Worker, subgroup_size};
use crate::capabilities::{Capabilities, PAYLOADS};
use crate::prepare::{Prepared, job_with, launch_output};

/// `interpreter`, `interpreter:<fault>`, each with `@SIZE` at the end for a subgroup size other than 8.
pub const BUILT_IN: BuiltIn = BuiltIn {
    word: "interpreter",
    open: |name| {
        let interpreter = name.parse()?;
        Ok(Box::new(InterpreterDevice { name: name.to_owned(), interpreter, jobs: NonZero::<usize>::MIN }))
    },
};

/// How the interpreter runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Its subgroup size, a power of two up to 128, where none is required.
    pub subgroup_size: u32,
    /// A planted fault, to see that it is found.
    pub fault: Option<Planted>,
}

impl FromStr for Interpreter {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Interpreter> {
        let (name, subgroup_size) = subgroup_size(name)?;
        let planted =
            |name: &str| Planted::ALL.iter().copied().find(|&fault| snake_case(&format!("{fault:?}")) == name);
        let fault = match name.split_once(':') {
            None => None,
            Some((_, name)) => Some(planted(name).with_context(|| format!("no planted fault '{name}'"))?),
        };
        Ok(Interpreter { subgroup_size, fault })
    }
}

/// Why there is no observation.
pub(crate) enum Stopped {
    /// The interpreter does not run this.
    Unsupported(String),
    /// This launch has undefined behaviour.
    Undefined(u32, Box<spirv::UndefinedBehaviour>),
    /// This launch does not end where the program does: how that is known.
    Endless(u32, String),
}

/// Instructions after which a launch is compared with what the program needs. Few need as many.
const SOON: u64 = 1_000_000;
/// The most that are executed, of either module.
const MOST: u64 = 20_000_000;
/// So many times as many as the program needs, for each lane of a subgroup, no compiler makes of it: its lanes may be apart all the time, and an operation
/// may become a loop.
const MANY_TIMES: u64 = 16;

impl From<spirv::Error> for Stopped {
    fn from(error: spirv::Error) -> Stopped {
        // As what a device lacks.
        Stopped::Unsupported(match error {
            spirv::Error::Unsupported(list) => list.join("; "),
            // Of loops that are as long as the program's own nothing is said.
            spirv::Error::Steps(..) => "programs of so many steps".into(),
            spirv::Error::Undecided(..) => format!("a decision: {error}"),
            error => format!("the means to run it: {error}"),
        })
    }
}

impl Interpreter {
    /// Runs the launches of a job.
    fn run(self, job: &Job, cases: &[&Case]) -> Result<Vec<LaunchOutput>, Stopped> {
        let observed = self.observe(job, cases, |case, interface| {
            // A required subgroup size is granted. Lanes are in the order of local indices, those of a draw quad by quad.
            let size = case.entry_point.subgroup_size.required().unwrap_or(self.subgroup_size);
            Places::of(case, size, || spirv::LaneMap::of(interface, size))
        })?;
        Ok(cases.iter().zip(&observed).map(|(case, observation)| launch_output(case, observation)).collect())
    }

    /// What the launches of a job leave, each with its lane map.
    fn observe(
        self,
        job: &Job,
        cases: &[&Case],
        places: impl Fn(&Case, &spirv::Interface) -> Places,
    ) -> Result<Vec<Observation>, Stopped> {
        let options = spirv::PipelineOptions {
            specialization: job.specialization.iter().map(|&(id, value)| (id, value.into())).collect(),
            signed_remainders: job.features.contains(Feature::Maintenance8),
            ..spirv::PipelineOptions::default()
        };
        let mut pipeline = spirv::Pipeline::new(&spirv::Module::parse(&job.spirv)?, &options)?;
        if let Some(fault) = self.fault {
            pipeline = pipeline.with_fault(fault);
        }
        let observe = |(number, (launch, case)): (u32, (&tangle_runner::Launch, &&Case))| {
            let mut dispatch = dispatch(launch, places(case, pipeline.interface()));
            dispatch.limits.steps = SOON;
            let mut outcome = pipeline.run(&dispatch);
            if let Err(spirv::Error::Steps(..)) = outcome {
                let needed = steps_of_program(case, &dispatch, &options)?;
                let times = MANY_TIMES * u64::from(dispatch.lane_map.subgroup_size);
                let enough = needed.map_or(MOST, |needed| needed.saturating_mul(times).min(MOST));
                if enough > SOON {
                    dispatch.limits.steps = enough;
                    outcome = pipeline.run(&dispatch);
                }
                if let (Some(needed), Err(spirv::Error::Steps(limit, place))) = (needed, &outcome)
                    && *limit < MOST
                {
                    let how = format!("{needed} instructions are enough; after {limit} it is at {place}");
                    return Err(Stopped::Endless(number, how));
                }
            }
            let outcome = outcome?;
            match outcome.end {
                spirv::End::Completed => observation(launch, case, &outcome),
                // A value that the case's own operations leave undefined, as a shuffle from an inactive lane does, is one that no result
                // may depend on; the case's `&&` and `?:` may evaluate it. A compiler that makes branches of them has lost nothing, and
                // GLSL does not say that to branch on such a value is undefined behaviour. Where nothing was written, the compiler did not.
                spirv::End::Undefined(met) if of_the_case(met.rule, met.why) => Err(Stopped::Unsupported(
                    "a decision by a value that the operations of the case leave undefined".into(),
                )),
                spirv::End::Undefined(met) => Err(Stopped::Undefined(number, met)),
            }
        };
        (0..).zip(job.launches.iter().zip(cases)).map(observe).collect()
    }
}

/// How many instructions the program takes by itself: those of the module that is printed from its tree, which no compiler has seen. `None` if none is printed
/// in its stage, if it does not come to its end, or if invocations whose path is open are not followed there: what they would execute is not known.
fn steps_of_program(
    case: &Case,
    dispatch: &spirv::Dispatch,
    options: &spirv::PipelineOptions,
) -> Result<Option<u64>, spirv::Error> {
    if !case.entry_point.stage.has_workgroups() {
        return Ok(None);
    }
    let module = tangle_emit::spirv::module(case, &Printing::PLAIN);
    let pipeline = spirv::Pipeline::new(&spirv::Module::parse(&module)?, options)?;
    let limits = spirv::Limits { steps: MOST, ..dispatch.limits };
    let outcome = pipeline.run(&spirv::Dispatch { limits, ..dispatch.clone() })?;
    let is_whole = outcome.end == spirv::End::Completed && outcome.lost == 0;
    Ok(is_whole.then_some(outcome.steps))
}

/// True if an operation left undefined what control flow depends on, and no lost store of the compiler.
fn of_the_case(rule: spirv::Rule, why: Option<spirv::Why>) -> bool {
    rule == spirv::Rule::Poison && matches!(why, Some(spirv::Why::InactiveSource | spirv::Why::Operands))
}

/// Where the invocations of a launch sit.
#[derive(Clone)]
pub(crate) struct Places {
    pub lane_map: spirv::LaneMap,
    /// What a shader without workgroups is run for; nothing in others.
    pub draw: spirv::Draw,
}

impl Places {
    /// The interpreter's own: those of a draw quad by quad, those of workgroups as it is given.
    pub(crate) fn of(case: &Case, size: u32, in_workgroups: impl FnOnce() -> spirv::LaneMap) -> Places {
        let draw = match &case.entry_point.launch {
            Launch::Workgroups(_) => return Places { lane_map: in_workgroups(), draw: spirv::Draw::default() },
            Launch::Draw(draw) => draw_of(case, quads(draw, |index| case.entry_point.workgroups().position(index))),
            // Each is executed once.
            Launch::Items(items) => draw_of(case, (0..items.identities()).map(|index| (index, false))),
        };
        Places { lane_map: draw.linear(size), draw }
    }
}

/// The invocations of the quads of a draw that have a fragment, quad by quad: their number in the group, and whether it is a helper. They are those that a
/// rasteriser launches that has no reason for more.
fn quads(draw: &Draw, position: impl Fn(u32) -> [u32; 3]) -> Vec<(u32, bool)> {
    let [columns, rows, depth] = draw.grid();
    let corners = (0..columns.saturating_mul(rows).saturating_mul(depth)).filter(|&index| {
        let [x, y, _] = position(index);
        x % 2 == 0 && y % 2 == 0
    });
    let quad = |index: u32| {
        [index, index + 1, index + columns, index + columns + 1].map(|index| (index, !draw.covers(position(index))))
    };
    corners.map(quad).filter(|quad| !quad.iter().all(|(_, is_helper)| *is_helper)).flatten().collect()
}

/// The invocations of a draw, by their number in the group, each with whether it begins as a helper.
pub(crate) fn draw_of(case: &Case, invocations: impl IntoIterator<Item = (u32, bool)>) -> spirv::Draw {
    let draw = match &case.entry_point.launch {
        Launch::Workgroups(_) => return spirv::Draw::default(),
        Launch::Items(items) => {
            let item = |(index, _)| item_of(case.entry_point.workgroups().position(index), items);
            return spirv::Draw { items: invocations.into_iter().map(item).collect(), ..spirv::Draw::default() };
        }
        Launch::Draw(draw) => draw,
    };
    let primitive = |number: u32| {
        let Slice { triangle, layer, .. } = draw.slice(number * draw.samples);
        let flat = |k: usize| (k as u32 + 1, [case.data.flat(k, triangle, 0).unwrap_or(0), 0, 0, 0]);
        let flats = (0..case.data.flats.len()).map(flat);
        // The vertex shader beside it gives the number of the triangle at location 0 (`tangle_emit::glsl::stage`).
        let flat = flats.chain([(0, [triangle, 0, 0, 0])]).collect();
        spirv::Primitive { id: triangle, layer, flat }
    };
    let fragment = |(index, helper): (u32, bool)| {
        let [x, y, depth] = case.entry_point.workgroups().position(index);
        let sample = draw.slice(depth).sample;
        let at = draw.sample_locations().get(sample as usize).copied().unwrap_or_default();
        let place = |pixel: u32, at: u32| pixel as f32 + at as f32 / 16.0;
        let coord = [place(x, at[0]), place(y, at[1]), 0.0, 1.0];
        spirv::Fragment { primitive: draw.primitive(depth), coord, sample, helper }
    };
    let primitives = (0..draw.primitives()).map(primitive).collect();
    let fragments = invocations.into_iter().map(fragment).collect();
    spirv::Draw { primitives, fragments, ..spirv::Draw::default() }
}

/// What built-in variables say of an invocation of an item.
fn item_of([of_item, item, _]: [u32; 3], items: &Items) -> spirv::Item {
    // The vertices of a line are evenly spaced from 0 to 1.
    let segments = items.size.saturating_sub(1).max(1);
    spirv::Item {
        vertex: of_item,
        instance: item,
        invocation: of_item,
        primitive: item,
        tess_coord: [of_item as f32 / segments as f32, 0.0, 0.0],
    }
}

/// What a launch is to the interpreter.
fn dispatch(launch: &tangle_runner::Launch, places: Places) -> spirv::Dispatch {
    let buffer = |(index, buffer): (usize, &tangle_runner::Buffer)| spirv::Buffer {
        binding: buffer.binding,
        element: launch.buffers[..index].iter().filter(|earlier| earlier.binding == buffer.binding).count() as u32,
        bytes: match &buffer.init {
            Init::Zero { words } => vec![0; *words as usize * 4],
            Init::Data(words) => tangle_files::words::to_bytes(words),
        },
        extent: match buffer.kind {
            // Those of a case have one word for each texel.
            BufferKind::StorageTexels(_) | BufferKind::StorageImage(_) => [buffer.init.words() as u32, 1, 1],
            _ => [0; 3],
        },
        ..spirv::Buffer::default()
    };
    spirv::Dispatch {
        // Vertices and instances of a draw are counted there.
        workgroups: if places.draw.is_empty() { launch.groups } else { [1; 3] },
        lane_map: places.lane_map,
        draw: places.draw,
        buffers: launch.buffers.iter().enumerate().map(buffer).collect(),
        push: launch.push_constants.clone(),
        limits: spirv::Limits::default(),
    }
}

/// What a module of a case leaves with this lane map.
pub(crate) fn execute(prepared: &Prepared, places: &Places) -> Result<Observation, Stopped> {
    let case = &prepared.case;
    if case.entry_point.payload_copies() > 0 {
        // Two shaders show what is in it, of which this is one.
        return Err(Stopped::Unsupported(PAYLOADS.into()));
    }
    let job = job_with(prepared, Dialect::Vulkan, [case], 0);
    let interpreter = Interpreter { subgroup_size: places.lane_map.subgroup_size, fault: None };
    let mut observed = interpreter.observe(&job, &[case], |_, _| places.clone())?;
    observed.pop().ok_or_else(|| Stopped::Unsupported("a case without a launch".into()))
}

/// What the buffers show, and which words of the logs are open.
fn observation(launch: &tangle_runner::Launch, case: &Case, outcome: &spirv::Outcome) -> Result<Observation, Stopped> {
    let buffer =
        |binding: u32| launch.buffers.iter().zip(&outcome.buffers).find(|(buffer, _)| buffer.binding == binding);
    let (Some((_, map)), Some((_, log))) = (buffer(MAP), buffer(LOG)) else {
        return Err(Stopped::Unsupported("a case without logs".into()));
    };
    let is_open = |state: &spirv::BufferState, at: usize| state.word(at * 4).is_none();
    let words = |state: &spirv::BufferState| -> Vec<u32> {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        state.bytes.chunks(4).map(word).collect()
    };
    let seen = words(map);
    // An invocation that is followed no further has written its record before; but that it may count up the counters again opens where others write theirs. Where helpers may be inactive, what operations of a draw's prologue give is
    // one of the results that are allowed.
    let is_acceptable = |why: spirv::Why| {
        why == spirv::Why::Path && case.entry_point.items().is_none() || case.excludes_helpers() && !why.is_undefined()
    };
    let why = |&state: &u32| (state as usize).checked_sub(1).and_then(|at| outcome.reasons.get(at));
    if !map.states.iter().filter_map(why).all(|reason| is_acceptable(reason.why)) {
        return Err(Stopped::Unsupported("a lane map that is open".into()));
    }
    let stride = (log_stride(case) as usize).max(1);
    let logs = words(log).chunks(stride).map(<[u32]>::to_vec).collect();
    let open = match log.states.is_empty() {
        true => Vec::new(),
        false => {
            let marks: Vec<u32> = (0..log.bytes.len() / 4).map(|at| is_open(log, at).into()).collect();
            marks.chunks(stride).map(<[u32]>::to_vec).collect()
        }
    };
    Ok(Observation { map: map_buffer::unpack(&case.entry_point, &seen), logs, open })
}

impl Worker for Interpreter {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        let job = job_with(task.prepared, Dialect::Vulkan, task.cases.iter().copied(), task.id);
        let outcome = match self.run(&job, task.cases) {
            Ok(launches) => Outcome::Completed(Completed { launches, ..Completed::default() }),
            Err(Stopped::Unsupported(what)) => Outcome::Unsupported { missing: vec![what] },
            Err(Stopped::Endless(launch, place)) => Outcome::Endless { launch, place },
            Err(Stopped::Undefined(launch, met)) => {
                Outcome::Undefined { launch, rule: met.rule.text().to_owned(), place: met.to_string() }
            }
        };
        // Whoever asked may have gone.
        let _ = completions.send(Completion { job: task.id, outcome });
    }
}

/// The interpreter under its name.
struct InterpreterDevice {
    name: String,
    interpreter: Interpreter,
    jobs: NonZero<usize>,
}

impl Executor for InterpreterDevice {
    fn description(&self) -> Description {
        Description {
            name: self.name.clone(),
            capabilities: Capabilities::of_interpreter(self.interpreter.subgroup_size),
            info: serde_json::json!({ "name": self.name, "device_name": "tangle's interpreter of SPIR-V" }),
        }
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![&self.interpreter; self.jobs.get()]
    }

    fn open_workers(&mut self, jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {
        self.jobs = jobs;
    }

    fn economy(&self) -> Economy {
        Economy::OF_THE_INTERPRETER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_generator::{Config, from_seed};
    use tangle_oracle::judge::Verdict;
    use tangle_program::case::{Stage, Tier};

    use crate::prepare::prepare;

    /// A payload shows in two shaders, of which one is executed; without one a task shader is run.
    #[test]
    fn payloads_are_missing() {
        let capabilities = Capabilities::of_interpreter(8);
        let config = |payloads| Config { payloads, ..capabilities.config(Stage::Task, Tier::Maximal) };
        assert!(!capabilities.config(Stage::Task, Tier::Maximal).payloads);
        let case = |payloads| (0..20).map(move |seed| from_seed(seed, &config(payloads)));
        let with = case(true).find(|case| case.entry_point.payload_copies() > 0).expect("one of two has one");
        assert!(capabilities.missing(&with).contains(&PAYLOADS.to_owned()));
        assert!(case(false).all(|case| !capabilities.missing(&case).contains(&PAYLOADS.to_owned())));
    }

    /// The interpreter executes modules of shaders without workgroups as the oracle of the tree says, in every tier: helpers, demotion and derivatives among it.
    /// Where a fault is planted it does not.
    #[test]
    fn both_oracles_agree_on_draws() {
        let device = Capabilities::of_interpreter(8);
        let run = |stage: Stage, seeds: u64, fault: Option<Planted>| {
            let (mut compared, mut wrong) = (0, 0);
            for (seed, tier) in (0..seeds).flat_map(|seed| Tier::ALL.map(|tier| (seed, tier))) {
                let case = from_seed(seed, &device.config(stage, tier));
                let prepared = prepare(case.clone()).unwrap_or_else(|fault| panic!("seed {seed}: {}", fault.error));
                let job = job_with(&prepared, Dialect::Vulkan, [&case], 0);
                let Ok(launches) = (Interpreter { subgroup_size: 8, fault }).run(&job, &[&case]) else { continue };
                let seen = crate::prepare::observation(&case, &launches[0]).expect("it has logs");
                let judged = tangle_oracle::judge::judge(&case, &seen, device.sizes);
                compared += judged.counts.checked;
                wrong += u64::from(!matches!(judged.verdict, Verdict::Pass | Verdict::Vacuous));
            }
            (compared, wrong)
        };
        for (stage, seeds) in [
            (Stage::Fragment, 30),
            (Stage::Vertex, 10),
            (Stage::TessellationControl, 10),
            (Stage::TessellationEvaluation, 10),
            (Stage::Geometry, 10),
        ] {
            let (compared, wrong) = run(stage, seeds, None);
            assert!(compared > 3_000 && wrong == 0, "{stage:?}: {compared} values compared, {wrong} cases differ");
            assert!(run(stage, seeds, Some(Planted::QuadSwapVerticalIsDiagonal)).1 > 0, "{stage:?}");
        }
        for fault in [Planted::HelpersStore, Planted::DerivativeReversed] {
            assert!(run(Stage::Fragment, 30, Some(fault)).1 > 0, "{fault:?} shows in none");
        }
    }

    /// What the operations of a case leave undefined is the case's; what nothing was written to is the compiler's.
    #[test]
    fn whose_undefined_value_it_is() {
        for (rule, why, expected) in [
            (spirv::Rule::Poison, Some(spirv::Why::InactiveSource), true),
            (spirv::Rule::Poison, Some(spirv::Why::Operands), true),
            (spirv::Rule::Poison, Some(spirv::Why::Uninitialised), false),
            (spirv::Rule::Poison, Some(spirv::Why::Undef), false),
            (spirv::Rule::OutOfBounds, Some(spirv::Why::OutOfBounds), false),
            (spirv::Rule::DataRace, None, false),
        ] {
            assert_eq!(of_the_case(rule, why), expected, "{rule:?} {why:?}");
        }
    }
}
