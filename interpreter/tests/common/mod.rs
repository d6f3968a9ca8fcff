//! Cases of the generator as modules for the interpreter, and the comparison of both oracles.

#![allow(dead_code, reason = "every test uses some of it")]

use tangle_analysis::cost::log_stride;
use tangle_generator::{Config, Profile, from_seed};
use tangle_interpreter::faults::Planted;
use tangle_interpreter::trace::{Instance, Observer};
use tangle_interpreter::{
    Buffer, Dispatch, Draw, End, Error, LaneMap, LanePosition, Limits, Module, Outcome, Pipeline, PipelineOptions, Tier,
};
use tangle_oracle::judge::Observation;
use tangle_oracle::map;
use tangle_oracle::predict::{ExpectedLog, predict};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Spec};
use tangle_program::case::interface::{ARRAYS, INPUTS, LOG, MAP, UNIFORMS};
use tangle_program::case::{self, Case, Stage, SubgroupSize};
use tangle_program::map_buffer;
use tangle_program::memory::buffer_bytes;
use tangle_program::needs::resource_classes;
use tangle_program::resource::ResourceClass;
use tangle_program::variant::{PASSES, Variant};
use tangle_runner::toolchain;

/// Who sits where: subgroup and lane of a local index.
pub type Placement = fn(u32, u32) -> (u32, u32);

/// Subgroups of consecutive local indices.
pub fn consecutive(index: u32, size: u32) -> (u32, u32) {
    (index / size, index % size)
}

/// The same, with the lanes of each subgroup in the opposite order.
pub fn reversed(index: u32, size: u32) -> (u32, u32) {
    (index / size, size - 1 - index % size)
}

/// Subgroups that are half full at most.
pub fn sparse(index: u32, size: u32) -> (u32, u32) {
    let half = (size / 2).max(1);
    (index / half, index % half * size.min(2) + (size.min(2) - 1))
}

/// A lane map for both oracles.
pub fn maps(case: &Case, size: u32, placement: Placement) -> (map::LaneMap, LaneMap) {
    let n = case.entry_point.group_size();
    let placements: Vec<(u32, u32)> = (0..n).map(|index| placement(index, size)).collect();
    let subgroups = placements.iter().map(|placement| placement.0 + 1).max().unwrap_or(0);
    let place = |&(subgroup, lane): &(u32, u32)| LanePosition {
        subgroup,
        lane,
        subgroup_id: subgroup,
        num_subgroups: subgroups,
    };
    let ours = LaneMap { subgroup_size: size, workgroups: vec![placements.iter().map(place).collect()] };
    (map::LaneMap::from_fn(case, size, |index| placement(index, size), subgroups), ours)
}

/// The module of a case as its front end makes it.
pub fn compiled(case: &Case) -> Result<Vec<u32>, String> {
    let glsl = tangle_emit::glsl::glsl(case);
    toolchain::compile_and_validate(&glsl, case.entry_point.spirv).map_err(|error| error.to_string())
}

/// A module after `spirv-opt`, if the result is valid.
pub fn optimised(case: &Case, module: &[u32], flags: &[String]) -> Result<Vec<u32>, String> {
    let version = case.entry_point.spirv;
    let module = toolchain::optimise(module, version, flags)?;
    toolchain::validate(&module, version)?;
    Ok(module)
}

pub fn tier(tier: case::Tier) -> Tier {
    match tier {
        case::Tier::Plain => Tier::Plain,
        case::Tier::SubgroupUniform => Tier::SubgroupUniform,
        case::Tier::Maximal => Tier::Maximal,
    }
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The resources of the arrays of descriptors of a case.
fn resources(case: &Case) -> impl Iterator<Item = Buffer> + '_ {
    resource_classes(&case.program).into_iter().flat_map(|class| {
        (0..).zip(&case.data.resources).map(move |(element, &word)| Buffer {
            binding: class.binding(),
            element,
            // std140 rounds a block up.
            bytes: bytes_of(&[word, 0, 0, 0][..if class == ResourceClass::UniformBuffer { 4 } else { 1 }]),
            extent: match class {
                ResourceClass::StorageBuffer | ResourceClass::UniformBuffer => [0; 3],
                ResourceClass::StorageTexelBuffer | ResourceClass::StorageImage => [1; 3],
            },
            ..Buffer::default()
        })
    })
}

/// The dispatch of a case.
pub fn dispatch(case: &Case, lane_map: LaneMap) -> Dispatch {
    let n = case.entry_point.invocations() as usize;
    let buffer = |binding, bytes| Buffer { set: 0, binding, element: 0, bytes, ..Buffer::default() };
    let inputs: Vec<u32> =
        (0..n).flat_map(|i| case.data.inputs.iter().map(move |input| input.get(i).copied().unwrap_or(0))).collect();
    let mut uniforms = case.data.uniforms.clone();
    uniforms.resize(uniforms.len().next_multiple_of(4), 0);
    let arrays = buffer_bytes(&case.program.shared, case.entry_point.groups());
    Dispatch {
        workgroups: case.entry_point.workgroups().count,
        lane_map,
        draw: Draw::default(),
        buffers: vec![
            buffer(INPUTS, bytes_of(&inputs)),
            buffer(UNIFORMS, bytes_of(&uniforms)),
            buffer(MAP, vec![0; n * case.entry_point.packed_map_words() * 4]),
            buffer(LOG, vec![0; n * log_stride(case) as usize * 4]),
            buffer(ARRAYS, vec![0; arrays.next_multiple_of(4) as usize]),
        ]
        .into_iter()
        .chain(resources(case))
        .collect(),
        push: bytes_of(&case.data.push),
        limits: Limits { steps: 8_000_000, ..Limits::default() },
    }
}

pub fn options(case: &Case) -> PipelineOptions {
    let specialization = case.specialization().into_iter().map(|(id, value)| (id, u64::from(value))).collect();
    PipelineOptions {
        specialization,
        tier: Some(tier(case.tier)),
        signed_remainders: true,
        ..PipelineOptions::default()
    }
}

/// Runs the module of a case; `None` if whether its behaviour is undefined is open.
pub fn interpret(
    case: &Case,
    words: &[u32],
    lane_map: LaneMap,
    fault: Option<Planted>,
) -> Result<Option<Outcome>, String> {
    let module = Module::parse(words).map_err(|error| error.to_string())?;
    let mut pipeline = Pipeline::new(&module, &options(case)).map_err(|error| error.to_string())?;
    if let Some(fault) = fault {
        pipeline = pipeline.with_fault(fault);
    }
    let observer = std::env::var_os("TANGLE_TRACE").map(|_| Printer);
    let outcome = match observer {
        Some(mut printer) => pipeline.run_with(&dispatch(case, lane_map), Some(&mut printer)),
        None => pipeline.run(&dispatch(case, lane_map)),
    };
    match outcome {
        Ok(outcome) => Ok(Some(outcome)),
        Err(Error::Undecided(..) | Error::Steps(..)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Prints subgroup operations, for people who look at a difference.
struct Printer;

impl Observer for Printer {
    fn executed(&mut self, instance: &dyn Instance) {
        if !format!("{:?}", instance.opcode()).starts_with("GroupNonUniform") {
            return;
        }
        let tangles: Vec<String> = instance
            .tangles()
            .iter()
            .map(|t| format!("{}:{:x}{}", t.subgroup, t.lanes, if t.exact { "" } else { "?" }))
            .collect();
        let results: Vec<String> =
            instance.active().iter().map(|lane| format!("{lane}={:x?}", instance.result(*lane))).collect();
        eprintln!("{} {} {}", instance.location(), tangles.join(" "), results.join(" "));
    }

    fn restarted(&mut self, _workgroup: u32) {
        eprintln!("again");
    }
}

/// What a comparison of both oracles counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub cases: u64,
    /// Cases of which the interpreter does not know whether their behaviour is undefined.
    pub undecided: u64,
    /// Words that both say are determined; they are equal.
    pub compared: u64,
    /// Words that only one of them says are determined.
    pub only_tree: u64,
    pub only_interpreter: u64,
    pub both_open: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.cases += other.cases;
        self.undecided += other.undecided;
        self.compared += other.compared;
        self.only_tree += other.only_tree;
        self.only_interpreter += other.only_interpreter;
        self.both_open += other.both_open;
    }
}

/// Why a case is not compared.
pub const NOT_DEFINED: &str = "the tree oracle: ";

/// Legal executions of a case, as the tree oracle's devices make them: what is determined is the same in all.
fn executions(case: &Case, map: &map::LaneMap) -> Result<Vec<(&'static str, Vec<Vec<u32>>)>, String> {
    let failed = |error: tangle_oracle::predict::NotDefined| format!("{NOT_DEFINED}{error}");
    let coarsest = observe(case, map, || Spec).map_err(failed)?.logs;
    let minimal = observe(case, map, || MinimalReconvergence).map_err(failed)?.logs;
    let drawn = observe(case, map, || Drawn::new(case.origin.seed.unwrap_or(1))).map_err(failed)?.logs;
    Ok(vec![("together", coarsest), ("minimal", minimal), ("drawn", drawn)])
}

/// What the tree oracle says of a case.
pub struct Expectation {
    lane_map: LaneMap,
    map_words: Vec<u32>,
    logs: Vec<ExpectedLog>,
    executions: Vec<(&'static str, Vec<Vec<u32>>)>,
}

/// Asks the tree oracle.
///
/// # Errors
/// If the case is not well-defined on this lane map; begins with [`NOT_DEFINED`].
pub fn expect(case: &Case, size: u32, placement: Placement) -> Result<Expectation, String> {
    let (tree_map, lane_map) = maps(case, size, placement);
    let prediction = predict(case, &tree_map).map_err(|error| format!("{NOT_DEFINED}{error}"))?;
    // A module may leave fewer executions than its shader has, which the weaker tiers let the tree's devices use: an operand of `&&` that needs no
    // branch gets none, and a call that is inlined reconverges where its returns are merged.
    let glsl = tangle_emit::glsl::glsl(case);
    let branches = ["&&", "||", " ? "].iter().any(|operator| glsl.contains(operator));
    let fewer = case.tier != case::Tier::Maximal && branches || case.variant.is_optimised();
    let executions = if fewer { Vec::new() } else { executions(case, &tree_map)? };
    Ok(Expectation {
        lane_map,
        map_words: map_buffer::pack(&case.entry_point, &tree_map.words(case)),
        logs: prediction.logs(),
        executions,
    })
}

/// Compares what both oracles say of a case: what both say is determined must be equal, and what the interpreter says is determined must be what every
/// legal execution gives.
///
/// # Errors
/// Where they differ, in words.
pub fn compare(case: &Case, words: &[u32], expected: &Expectation, fault: Option<Planted>) -> Result<Counts, String> {
    let Some(outcome) = interpret(case, words, expected.lane_map.clone(), fault)? else {
        return Ok(Counts { undecided: 1, ..Counts::default() });
    };
    if let End::Undefined(undefined) = &outcome.end {
        return Err(undefined.to_string());
    }
    for (at, &expected) in expected.map_words.iter().enumerate() {
        match outcome.buffers[2].word(4 * at) {
            Some(found) if found != expected => return Err(format!("map word {at} is {found}, not {expected}")),
            _ => {}
        }
    }
    let log = &outcome.buffers[3];
    let stride = log_stride(case) as usize;
    let lane_at =
        |invocation: usize| expected.logs.iter().find(|lane| case.entry_point.ordinal(lane.invocation) == invocation);
    for (device, logs) in &expected.executions {
        for (invocation, words) in logs.iter().enumerate() {
            for at in 0..stride {
                let found = words.get(at).copied().unwrap_or(0);
                let ours = log.word(4 * (invocation * stride + at));
                if ours.is_some_and(|ours| ours != found) {
                    let place = lane_at(invocation).map_or(String::new(), |lane| place(lane, at));
                    return Err(format!(
                        "invocation {invocation}, {place}: the device '{device}' gives {found:#x}, the interpreter {ours:x?}"
                    ));
                }
            }
        }
    }
    let mut counts = Counts { cases: 1, ..Counts::default() };
    for lane in &expected.logs {
        let base = case.entry_point.ordinal(lane.invocation) * stride;
        for at in 0..stride {
            let tree = match lane.words.get(at) {
                Some(word) => *word,
                None if lane.open_end => None,
                None => Some(0),
            };
            let ours = log.word(4 * (base + at));
            // Behind the end zeros agree with zeros; that is no comparison of values.
            let counted = u64::from(at < lane.words.len());
            match (tree, ours) {
                (Some(x), Some(y)) if x != y => {
                    return Err(format!(
                        "{:?}, {}: the tree says {x:#x}, the interpreter {y:#x}",
                        lane.invocation,
                        place(lane, at)
                    ));
                }
                (Some(_), Some(_)) => counts.compared += counted,
                (Some(_), None) => {
                    counts.only_tree += counted;
                    if counted == 1 && std::env::var_os("TANGLE_REASONS").is_some() {
                        let state = log.states[4 * (base + at)] as usize;
                        eprintln!("open here only: {}", outcome.reasons[state.max(1) - 1]);
                    }
                }
                (None, Some(_)) => counts.only_interpreter += counted,
                (None, None) => counts.both_open += counted,
            }
        }
    }
    Ok(counts)
}

/// True if a device left something else than the interpreter determines: in its lane map, or in its logs.
pub fn contradicts(case: &Case, outcome: &Outcome, seen: &Observation) -> bool {
    let differs = |buffer: usize, at: usize, word: u32| {
        outcome.buffers[buffer].word(4 * at).is_some_and(|determined| determined != word)
    };
    let stride = log_stride(case) as usize;
    let map = map_buffer::pack(&case.entry_point, &seen.map);
    let in_map = map.iter().enumerate().any(|(at, &word)| differs(2, at, word));
    let in_log = |(invocation, words): (usize, &Vec<u32>)| {
        (0..stride).any(|at| differs(3, invocation * stride + at, words.get(at).copied().unwrap_or(0)))
    };
    in_map || seen.logs.iter().enumerate().any(in_log)
}

/// A word of a log, for people.
fn place(lane: &ExpectedLog, at: usize) -> String {
    let Some((start, _)) = lane.entries.iter().rev().find(|(start, _)| *start <= at) else {
        return format!("word {at}");
    };
    format!("word {at} ({} of site {:?})", at - start, lane.words[*start])
}

const SIZES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const PLACEMENTS: [Placement; 3] = [consecutive, reversed, sparse];

/// The case of a seed, with its subgroup size and its lane map.
pub fn case_of(seed: u64, tier: case::Tier) -> (Case, u32, Placement) {
    let profiles = Profile::ALL.len() as u64;
    let profile = Profile::ALL[(seed % profiles) as usize].0;
    let size = SIZES[(seed / profiles) as usize % SIZES.len()];
    let stages = [Stage::Mesh, Stage::Task, Stage::Compute, Stage::Compute, Stage::Compute, Stage::Compute];
    let stage = stages[(seed / 2) as usize % stages.len()];
    let any = Config::default();
    let (max_invocations, derivative_groups) = match stage {
        Stage::Compute => (any.max_invocations, any.derivative_groups),
        // What glslang's limits are.
        _ => (128, Vec::new()),
    };
    let config = Config {
        profile,
        tier,
        stage,
        max_invocations,
        derivative_groups,
        spirv: case::SpirvVersion::ALL.into_iter().filter(|&version| version >= stage.first_spirv()).collect(),
        // The shader that emits or reads them is not here.
        payloads: false,
        max_subgroup_size: size.max(32),
        required_sizes: vec![4, 8, 16, 32],
        ..Config::default()
    };
    let case = from_seed(seed, &config);
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { size };
    // Full subgroups leave no choice of the map but the order.
    let mut placement = (seed / 3) as usize % PLACEMENTS.len();
    let full = case.entry_point.full_subgroups || case.entry_point.spirv >= case::SpirvVersion::V1_6;
    if full && placement == PLACEMENTS.len() - 1 {
        placement = 0;
    }
    (case, size, PLACEMENTS[placement])
}

/// The lists of passes of a seed: none, `-O`, `-Os`, or three of all.
pub fn variant_of(seed: u64) -> Variant {
    let pick = |i: u64| PASSES[(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (8 * i)) as usize % PASSES.len()];
    match seed % 6 {
        0 | 1 => Variant::Unoptimised,
        2 => Variant::Performance,
        3 => Variant::Size,
        _ => Variant::Passes(vec![pick(1), pick(2), pick(3)]),
    }
}

/// The module of a seed, with its variant; `None` if the optimiser fails on it.
///
/// # Errors
/// If the front end fails.
pub fn module_of(case: &mut Case, seed: u64) -> Result<Option<Vec<u32>>, String> {
    let module = compiled(case)?;
    let variant = variant_of(seed);
    let loses = variant.loses_workgroup_size() && case.entry_point.workgroups().default_size.is_some();
    if !variant.is_optimised() || loses {
        return Ok(Some(module));
    }
    case.variant = variant;
    Ok(optimised(case, &module, &case.variant.flags()).ok())
}

/// Writes a module with its dispatch to a file of words, for measurements apart from the compilers.
pub fn dump(case: &Case, module: &[u32], size: u32, placement: Placement, path: &std::path::Path) {
    let (_, lane_map) = maps(case, size, placement);
    let dispatch = dispatch(case, lane_map);
    let mut words = vec![tier(case.tier) as u32, size, module.len() as u32];
    words.extend(module);
    let constants = case.specialization();
    words.push(constants.len() as u32);
    words.extend(constants.iter().flat_map(|(id, value)| [*id, *value]));
    words.extend(dispatch.workgroups);
    let bytes = |bytes: &[u8], words: &mut Vec<u32>| {
        words.push(bytes.len() as u32 / 4);
        words.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    };
    bytes(&dispatch.push, &mut words);
    words.push(dispatch.buffers.len() as u32);
    for buffer in &dispatch.buffers {
        words.push(buffer.binding);
        bytes(&buffer.bytes, &mut words);
    }
    std::fs::write(path, bytes_of(&words)).expect("the folder is there");
}
