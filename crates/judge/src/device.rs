//! What a device makes of a module, against what the interpreter says of it.
//!
//! The verdict depends on the lane map, which only the device knows. A copy of the module observes it: a prologue writes, for every invocation, its
//! subgroup and lane into one more buffer ([`with_lane_map`]). Both are run.
//!
//! | module | copy | says |
//! |---|---|---|
//! | as determined | as determined | [`Made::Right`]; [`Made::Vacuous`] if nothing is determined |
//! | any | differs | [`Made::Wrong`]: the map is of that very run |
//! | differs | as determined | the added code makes it go away. The module's own lane map is not known: [`Made::Wrong`] only if no division into subgroups of consecutive invocations, of any size of the device, explains it; else [`Made::Right`] with a note that says so ([`Compared::note`]) |
//! | fails | runs | [`Made::Failed`], which says that the copy does not |

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rspirv::spirv::ExecutionModel;
use serde::{Deserialize, Serialize};
use tangle_files::words;
use tangle_interpreter::faults::Planted;
use tangle_interpreter::{
    BufferState, Dispatch, Draw, End, Interface, LaneMap, LanePosition, Module, Outcome, Pipeline, PipelineOptions,
};
use tangle_program::case::SpirvVersion;
use tangle_program::subgroup::is_subgroup_size;
use tangle_runner::{
    Buffer, BufferKind, Completed, DriverMode, Feature, FeatureSet, Image, ImageView, Init, Job, LaunchOutput,
    ReadBack, ReadBackMode, spirv, toolchain,
};

use crate::bound::{Bound, places};
use crate::edit::{MAP_WORDS, compares_depths, dynamically_indexed, portable, with_lane_map};
use crate::run::{Inputs, dispatch};
use crate::steps::Steps;
pub use crate::steps::Word;

/// What executes the modules that are judged.
pub enum Device {
    /// A Vulkan device: a driver in a worker of its own.
    Vulkan(Box<tangle_runner::Device>),
    /// The interpreter with a fault, to see that it is found.
    Interpreter {
        /// Its name, as reports have it.
        name: String,
        /// Lanes of its subgroups.
        subgroup_size: u32,
        /// What is wrong with it.
        fault: Option<Planted>,
    },
}

/// What was compared of what a device left in buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Words that are determined.
    pub words: u64,
    /// Words that are open.
    pub open: u64,
    /// Determined words in which the device left another value.
    pub different: u64,
    /// The first words that differ, in the order of buffers and offsets; not all of them.
    pub first: Vec<Word>,
    /// The first wrong step, in words: of all words that differ, the store that is executed first among those that leave their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What else there is to say, where nothing differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a device made of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// Everything that is determined is as it has to be.
    Right(Compared),
    /// Nothing that it leaves is determined. No statement about the device.
    Vacuous(Compared),
    /// Something is not as it has to be.
    Wrong {
        /// What was compared, in the run that shows it.
        compared: Compared,
        /// What the copy with the prologue has to do with it, in words.
        copy: Cow<'static, str>,
    },
    /// It crashed, hung, or reported an error.
    Failed(String),
    /// With the device's lane map the module has undefined behaviour.
    Undefined(String),
    /// It was not run, for this reason. No statement about the device.
    NotRun(String),
}

/// Words that are kept of those that differ.
const FIRST: usize = 8;

/// A module that is ready for devices.
pub struct Ready<'a> {
    words: &'a [u32],
    inputs: &'a Inputs,
    interface: &'a Interface,
    bound: Bound,
    features: FeatureSet,
    portable: Vec<u32>,
    copy: Vec<u32>,
    invocations: u32,
}

/// What a run on a device left.
struct Left {
    /// The words of the buffers that come back.
    buffers: Vec<Vec<u32>>,
    /// Where the device had the buffers that have an address.
    addresses: Vec<u64>,
}

impl Device {
    /// Its name, as reports have it.
    pub fn name(&self) -> &str {
        match self {
            Device::Vulkan(device) => &device.info().name,
            Device::Interpreter { name, .. } => name,
        }
    }

    /// Subgroup sizes that it may choose.
    fn sizes(&self) -> RangeInclusive<u32> {
        match self {
            Device::Vulkan(device) => device.info().subgroup.min_size..=device.info().subgroup.max_size,
            Device::Interpreter { subgroup_size, .. } => *subgroup_size..=*subgroup_size,
        }
    }

    fn run(&self, job: Job) -> Result<Completed, Made> {
        let outcome = match self {
            Device::Vulkan(device) if device.info().mode == DriverMode::CompileOnly => {
                return Err(Made::NotRun("the device only compiles".into()));
            }
            Device::Vulkan(device) => device.run(job),
            Device::Interpreter { subgroup_size, fault, .. } => return interpret(&job, *subgroup_size, *fault),
        };
        match outcome {
            tangle_runner::Outcome::Completed(completed) => Ok(completed),
            unsupported @ (tangle_runner::Outcome::Unsupported { .. }
            | tangle_runner::Outcome::Invalid { .. }
            | tangle_runner::Outcome::OutOfMemory { .. }) => Err(Made::NotRun(unsupported.to_string())),
            other => Err(Made::Failed(other.to_string())),
        }
    }

    /// Runs a module, and compares.
    pub fn judge(&self, ready: &Ready<'_>) -> Made {
        let copy = self.run(ready.job(&ready.copy, true));
        let module = self.run(ready.job(&ready.portable, false));
        ready.verdict(copy, module, self.sizes())
    }
}

/// What the copy and the module have to do with each other, in the words of reports.
mod says {
    pub const BOTH: &str = "with the prologue that writes the lane map and without";
    pub const ONLY_COPY: &str = "only with the prologue that writes the lane map";
    pub const AWAY: &str =
        "the prologue that writes the lane map makes it go away; no lane map of consecutive invocations explains it";
    pub const NO_MAP: &str = "the lane map cannot be observed; none of consecutive invocations explains it";
    /// Of a module that crashes, hangs, or has an error.
    pub const COPY_RUNS: &str = "with a prologue that writes the lane map it does not fail";
}

impl<'a> Ready<'a> {
    /// Makes a module ready; `interface` is that of its pipeline.
    ///
    /// # Errors
    /// Why it cannot be run on devices, in words.
    pub fn new(words: &'a [u32], inputs: &'a Inputs, interface: &'a Interface) -> Result<Ready<'a>, String> {
        if interface.stage != ExecutionModel::GLCompute {
            return Err(format!(
                "only compute shaders are run on devices, and its execution model is {:?}",
                interface.stage
            ));
        }
        if interface.spec_constants.iter().any(|constant| constant.width > 32) {
            return Err("specialisation constants of 64 bits are not run on devices".into());
        }
        if compares_depths(words) {
            return Err("images that are sampled with a depth comparison are not run on devices".into());
        }
        let unknown = spirv::unknown_capabilities(words);
        if !unknown.is_empty() {
            return Err(format!("not run on devices, which are not asked for it: {}", unknown.join(", ")));
        }
        let dispatch = dispatch(interface, inputs).map_err(|error| error.to_string())?;
        let bound = Bound::new(interface, dispatch, &dynamically_indexed(words))?;
        let bindings: Vec<(u32, u32)> = places(interface);
        let ready_words = portable(words, &interface.entry, &bindings)?;
        let invocations = interface.workgroup_size.iter().product();
        let copy = with_lane_map(&ready_words, bindings.len() as u32, invocations)?;
        let mut features = bound.features;
        for made in [&ready_words, &copy] {
            let problem = match toolchain::validate(made, SpirvVersion::V1_6) {
                Ok(()) => continue,
                Err(problem) => problem,
            };
            match toolchain::validate_scalar_layout(made, SpirvVersion::V1_6) {
                Ok(()) => features.insert(Feature::ScalarBlockLayout),
                Err(_) => return Err(format!("the copy is not valid: {problem}")),
            }
        }
        let ready = Ready { words, inputs, interface, bound, features, portable: ready_words, copy, invocations };
        ready.check_addresses()?;
        Ok(ready)
    }

    /// A device has buffers at addresses of its own. That a module finds them there, and nothing where they are not, shows before it runs.
    fn check_addresses(&self) -> Result<(), String> {
        let addresses = self.bound.other_addresses();
        if addresses.is_empty() {
            return Ok(());
        }
        match self.expect(LaneMap::of(self.interface, self.inputs.subgroup_size), &addresses) {
            Ok(_) => Ok(()),
            Err(Made::Undefined(what) | Made::NotRun(what)) => Err(format!(
                "a device has its buffers at other addresses, and with these the module does not do; an address has to stand among the \
                 inputs as a number of 64 bits: {what}"
            )),
            Err(other) => Err(other.text("the interpreter")),
        }
    }

    /// The numbers among the inputs that count as addresses of buffers, each in a few words.
    pub fn addresses(&self) -> Vec<String> {
        self.bound.addresses()
    }

    /// The copy that writes down the lane map.
    pub fn copy(&self) -> &[u32] {
        &self.copy
    }

    fn job(&self, words: &[u32], with_map: bool) -> Job {
        let mut launch = self.bound.launch().clone();
        if with_map {
            let groups = launch.groups.iter().map(|&side| u64::from(side)).product::<u64>();
            launch.buffers.push(Buffer {
                binding: places(self.interface).len() as u32,
                kind: BufferKind::Storage,
                init: Init::Zero { words: groups * u64::from(self.invocations) * MAP_WORDS as u64 },
                read_back: ReadBackMode::Whole,
            });
        }
        let has = |id: &u32| self.interface.spec_constants.iter().any(|constant| constant.id == *id);
        let specialization = self.inputs.specialization.iter().filter(|(id, _)| has(id));
        Job {
            id: 1,
            spirv: words.to_vec(),
            specialization: specialization.map(|(&id, &value)| (id, value as u32)).collect(),
            texel_atomics: self.bound.texel_atomics.clone(),
            features: self.features,
            launches: vec![launch],
            ..Job::default()
        }
    }

    /// What the runs of the copy and of the module say, on a device that has subgroups of these sizes.
    fn verdict(
        &self,
        copy: Result<Completed, Made>,
        module: Result<Completed, Made>,
        sizes: RangeInclusive<u32>,
    ) -> Made {
        let module = match (module, &copy) {
            (Ok(completed), _) => self.left(&completed),
            (Err(Made::Failed(what)), Ok(_)) => return Made::Failed(format!("{what}; {}", says::COPY_RUNS)),
            (Err(other), _) => return other,
        };
        let mut away = None;
        match copy {
            Ok(completed) => {
                let mut copied = self.left(&completed);
                let words = copied.buffers.pop().unwrap_or_default();
                let Some(map) = self.lane_map(&words) else {
                    return Made::Failed("what it says of subgroups and lanes is no lane map".into());
                };
                match self.with_map(&map, &copied, &module) {
                    Ok(made) => return made,
                    Err(different) => away = Some((map.subgroup_size, different)),
                }
            }
            Err(Made::Failed(what)) => {
                return Made::Failed(format!("with a prologue that writes the lane map: {what}"));
            }
            // Without subgroups there is no lane map.
            Err(_) => {}
        }
        self.without_map(&module, sizes, away)
    }

    /// The verdict on the lane map that the copy showed; or, if only the module as it is differs, in how many words.
    fn with_map(&self, map: &LaneMap, copied: &Left, module: &Left) -> Result<Made, u64> {
        // A run by itself has its own addresses.
        let (compared, of_module) = match (self.judged(map, copied), self.judged(map, module)) {
            (Ok(compared), Ok(of_module)) => (compared, of_module),
            (Err(made), _) | (_, Err(made)) => return Ok(made),
        };
        match (compared.different, of_module.different) {
            (0, 0) => Ok(agreed(of_module)),
            (0, different) => Err(different),
            (_, 0) => Ok(Made::Wrong { compared, copy: says::ONLY_COPY.into() }),
            (..) => Ok(Made::Wrong { compared, copy: says::BOTH.into() }),
        }
    }

    /// The verdict on what the module left alone, whose lane map is not known: right if some division into subgroups of consecutive invocations explains
    /// it. `away`: the subgroup size of the copy, which is right, and how many words of the module differ with its lane map.
    fn without_map(&self, module: &Left, sizes: RangeInclusive<u32>, away: Option<(u32, u64)>) -> Made {
        let mut made = None;
        for size in sizes.filter(|size| size.is_power_of_two()) {
            let compared = match self.judged(&LaneMap::of(self.interface, size), module) {
                Ok(compared) => compared,
                Err(other) => return other,
            };
            if compared.different == 0 {
                let note = away.map(|(of_copy, different)| {
                    format!(
                        "with the lane map of the copy (subgroups of {of_copy}) {different} words differ, and the added code makes that go away; \
                         consecutive subgroups of {size} explain what the module left"
                    )
                });
                return agreed(Compared { note, ..compared });
            }
            made.get_or_insert(compared);
        }
        match made {
            Some(compared) => {
                Made::Wrong { compared, copy: if away.is_some() { says::AWAY } else { says::NO_MAP }.into() }
            }
            None => Made::NotRun("the device names no subgroup size".into()),
        }
    }

    fn left(&self, completed: &Completed) -> Left {
        let launches = || completed.launches.iter();
        Left {
            buffers: launches().flat_map(|launch| launch.buffers.iter().map(ReadBack::to_words)).collect(),
            addresses: launches().flat_map(|launch| launch.addresses.iter().copied()).collect(),
        }
    }

    /// The lane map that the copy wrote; `None` if it is none.
    fn lane_map(&self, words: &[u32]) -> Option<LaneMap> {
        let n = self.invocations as usize;
        let size = *words.get(2)?;
        let workgroup = |words: &[u32]| {
            let rows: Vec<&[u32]> = words.chunks_exact(MAP_WORDS).collect();
            let mut ids: Vec<u32> = rows.iter().map(|row| row[0]).collect();
            ids.sort_unstable();
            ids.dedup();
            let place = |row: &&[u32]| LanePosition {
                subgroup: ids.binary_search(&row[0]).unwrap_or(0) as u32,
                lane: row[1],
                subgroup_id: row[0],
                num_subgroups: row[3],
            };
            rows.iter().map(place).collect::<Vec<LanePosition>>()
        };
        let one_size = words.chunks_exact(MAP_WORDS).all(|row| row[2] == size);
        let map =
            LaneMap { subgroup_size: size, workgroups: words.chunks_exact(n * MAP_WORDS).map(workgroup).collect() };
        let fits = |places: &Vec<LanePosition>| {
            let mut positions: Vec<(u32, u32)> = places.iter().map(|place| (place.subgroup, place.lane)).collect();
            positions.sort_unstable();
            positions.windows(2).all(|pair| pair[0] != pair[1]) && positions.iter().all(|position| position.1 < size)
        };
        (is_subgroup_size(size) && one_size && map.workgroups.iter().all(fits)).then_some(map)
    }

    /// What the module has to leave on a lane map, where the buffers that have an address have these.
    fn expect(&self, lane_map: LaneMap, addresses: &[u64]) -> Result<Outcome, Made> {
        let dispatch = Dispatch { lane_map, ..self.bound.dispatch(addresses) };
        let outcome = self.pipeline().and_then(|pipeline| pipeline.run(&dispatch));
        let outcome = outcome.map_err(|error| Made::NotRun(error.to_string()))?;
        match outcome.end {
            End::Completed => Ok(outcome),
            End::Undefined(what) => Err(Made::Undefined(what.to_string())),
        }
    }

    /// What a device left, compared with what it has to be on this lane map.
    fn judged(&self, lane_map: &LaneMap, left: &Left) -> Result<Compared, Made> {
        let expected = self.expect(lane_map.clone(), &left.addresses)?;
        let mut compared = self.compare(&expected, left);
        if compared.different > 0 {
            compared.step = self.first_wrong_step(lane_map.clone(), &expected, left);
        }
        Ok(compared)
    }

    fn pipeline(&self) -> Result<Pipeline, tangle_interpreter::Error> {
        Module::parse(self.words).and_then(|module| Pipeline::new(&module, &self.inputs.pipeline_options()))
    }

    /// Where the module, executed on a lane map, first leaves a word that is not what the device has there; in words.
    fn first_wrong_step(&self, lane_map: LaneMap, expected: &Outcome, left: &Left) -> Option<String> {
        let dispatch = Dispatch { lane_map, ..self.bound.dispatch(&left.addresses) };
        let mut wrong = BTreeMap::new();
        self.differences(expected, left, |buffer, word| {
            if let Differs::Here(word) = word {
                wrong.insert((buffer, word.offset), word);
            }
        });
        let mut steps = Steps::new(wrong);
        self.pipeline().ok()?.run_with(&dispatch, Some(&mut steps)).ok()?;
        steps.text(&dispatch.lane_map)
    }

    fn compare(&self, expected: &Outcome, left: &Left) -> Compared {
        let mut compared = Compared::default();
        self.differences(expected, left, |_, word| match word {
            Differs::Open => compared.open += 1,
            Differs::Not => compared.words += 1,
            Differs::Here(word) => {
                compared.words += 1;
                compared.different += 1;
                if compared.first.len() < FIRST {
                    compared.first.push(word);
                }
            }
        });
        compared
    }

    /// Every word that the module can write, with the number of its buffer in the dispatch, and whether the device has what has to be there.
    fn differences(&self, expected: &Outcome, left: &Left, mut each: impl FnMut(usize, Differs)) {
        for ((buffer, part), words) in self.bound.read_back().zip(&left.buffers) {
            let Some(state) = expected.buffers.get(buffer) else { continue };
            for (&found, offset) in words.iter().zip((0..).step_by(4)) {
                let (expected, determined) = word_of(state, offset);
                let differs = (found ^ expected) & determined;
                each(
                    buffer,
                    match (determined, differs) {
                        (0, _) => Differs::Open,
                        (_, 0) => Differs::Not,
                        _ => Differs::Here(Word {
                            expected: expected & determined | found & !determined,
                            found,
                            open: !determined,
                            ..part.word_at(offset)
                        }),
                    },
                );
            }
        }
    }
}

/// The result of a comparison without a difference: right if any word was determined.
fn agreed(compared: Compared) -> Made {
    if compared.words > 0 { Made::Right(compared) } else { Made::Vacuous(compared) }
}

/// The word at a byte offset of a buffer, and which of its bits are determined. Behind the end there are zeros.
fn word_of(state: &BufferState, offset: usize) -> (u32, u32) {
    let (mut word, mut determined) = ([0; 4], [0xFF; 4]);
    for at in 0..4 {
        word[at] = state.bytes.get(offset + at).copied().unwrap_or(0);
        if state.states.get(offset + at).is_some_and(|&state| state != 0) {
            determined[at] = 0;
        }
    }
    (u32::from_le_bytes(word), u32::from_le_bytes(determined))
}

/// A word that a device left.
enum Differs {
    /// It is not determined what has to be there.
    Open,
    Not,
    Here(Word),
}

/// The interpreter as a device.
fn interpret(job: &Job, subgroup_size: u32, fault: Option<Planted>) -> Result<Completed, Made> {
    let failed = |error: tangle_interpreter::Error| Made::NotRun(error.to_string());
    let mut descriptors = BTreeMap::new();
    for buffer in job.launches.first().iter().flat_map(|launch| &launch.buffers) {
        *descriptors.entry((0, buffer.binding)).or_default() += 1;
    }
    let options = PipelineOptions {
        descriptors,
        specialization: job.specialization.iter().map(|&(id, value)| (id, value.into())).collect(),
        ..PipelineOptions::default()
    };
    let mut pipeline = Module::parse(&job.spirv).and_then(|module| Pipeline::new(&module, &options)).map_err(failed)?;
    if let Some(fault) = fault {
        pipeline = pipeline.with_fault(fault);
    }
    let mut launches = Vec::new();
    for launch in &job.launches {
        // Anywhere, as long as nobody else is there.
        let addresses: Vec<u64> =
            launch.addressed().map(|index| 0x5EED_0000_0000_0000 + ((index as u64) << 32)).collect();
        let launch = launch.placed(&addresses);
        let mut given = addresses.iter().copied();
        let buffers = launch.buffers.iter().enumerate().filter(|(_, buffer)| buffer.kind != BufferKind::Sampler);
        let buffers = buffers.map(|(index, buffer)| {
            let before = launch.buffers[..index].iter();
            let is_addressed = buffer.kind == BufferKind::Addressed;
            tangle_interpreter::Buffer {
                set: if is_addressed { u32::MAX } else { 0 },
                binding: if is_addressed { index as u32 } else { buffer.binding },
                element: match is_addressed {
                    true => 0,
                    false => {
                        before.filter(|b| b.kind != BufferKind::Addressed && b.binding == buffer.binding).count() as u32
                    }
                },
                bytes: match &buffer.init {
                    Init::Zero { words } => vec![0; *words as usize * 4],
                    Init::Data(words) => words::to_bytes(words),
                },
                extent: extent(buffer),
                address: if is_addressed { given.next() } else { None },
                ..tangle_interpreter::Buffer::default()
            }
        });
        let outcome = pipeline
            .run(&Dispatch {
                workgroups: launch.groups,
                lane_map: LaneMap::of(pipeline.interface(), subgroup_size),
                draw: Draw::default(),
                buffers: buffers.collect(),
                push: launch.push_constants.clone(),
                limits: tangle_interpreter::Limits::default(),
            })
            .map_err(failed)?;
        let read = |(buffer, state): (&Buffer, &BufferState)| {
            (buffer.read_back != ReadBackMode::None).then(|| ReadBack::trimmed(&words::from_bytes(&state.bytes), None))
        };
        let buffers = launch.buffers.iter().filter(|buffer| buffer.kind != BufferKind::Sampler);
        let buffers = buffers.zip(&outcome.buffers).filter_map(read).collect();
        launches.push(LaunchOutput { buffers, addresses });
    }
    Ok(Completed { launches, ..Completed::default() })
}

/// Texels in each dimension, as the interpreter counts them.
fn extent(buffer: &Buffer) -> [u32; 3] {
    match buffer.kind {
        BufferKind::StorageTexels(format) | BufferKind::UniformTexels(format) => {
            [(buffer.init.words() * 4 / u64::from(format.bytes().unwrap_or(4))) as u32, 1, 1]
        }
        kind => match kind.image() {
            Some(Image { view, extent: [width, height, depth], layers, .. }) => match view {
                ImageView::D1Array => [*width, *layers, 1],
                ImageView::D2Array => [*width, *height, *layers],
                ImageView::CubeArray => [*width, *height, layers / 6],
                ImageView::D1 | ImageView::D2 | ImageView::D3 | ImageView::Cube => [*width, *height, *depth],
            },
            None => [0; 3],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::judge;
    use tangle_program::case::Stage;

    fn made(glsl: &str, device: &Device) -> Made {
        let words = toolchain::compile_with_lines(glsl, Stage::Compute, SpirvVersion::V1_3).unwrap();
        let inputs = Inputs::default();
        let judged = judge(&words, &inputs).unwrap();
        device.judge(&Ready::new(&words, &inputs, &judged.interface).unwrap())
    }

    fn interpreter(subgroup_size: u32, fault: Option<Planted>) -> Device {
        Device::Interpreter { name: "interpreter".into(), subgroup_size, fault }
    }

    const ELECT: &str = "#version 450
        #extension GL_KHR_shader_subgroup_basic : require
        layout(local_size_x = 64) in;
        layout(set = 2, binding = 0) buffer A { uint a[64]; };
        void main() { a[gl_LocalInvocationIndex] = subgroupElect() ? 1u : 0u; }";

    #[test]
    fn a_planted_fault_is_found_on_the_devices_own_lane_map() {
        // Right on any size, whatever size the inputs name.
        for size in [4, 32, 64] {
            let Made::Right(compared) = made(ELECT, &interpreter(size, None)) else { panic!("{size}") };
            assert_eq!((compared.words, compared.open), (64, 0));
        }
        let found = made(ELECT, &interpreter(16, Some(Planted::ElectHighest)));
        let Made::Wrong { compared, copy } = found else { panic!("{found:?}") };
        assert_eq!((compared.words, compared.different), (64, 8));
        assert_eq!(compared.first[0], Word { set: 2, expected: 1, ..Word::default() });
        assert!(copy.contains("and without"), "{copy}");
        let step = compared.step.unwrap();
        for part in [
            "first wrong step: OpStore (instruction ",
            " in main, shader.comp:5): invocation 0 (subgroup 0, lane 0) of workgroup 0 stores 0x1 to set 2 binding 0, byte 0, where 0x0 was; the device left that",
            "its last subgroup operation before: OpGroupNonUniformElect %",
            ", by lanes 0xffff of subgroup 0, with the result 0x1",
        ] {
            assert!(step.contains(part), "{part} is not in {step}");
        }
    }

    /// Written through one variable of a buffer, read through another one: nothing is compared of that unless they are `Aliased`.
    #[test]
    fn variables_of_one_buffer() {
        let glsl = ELECT.replace("void", "layout(set = 2, binding = 0) buffer B { uvec2 b[32]; };\nvoid").replace(
            "a[gl_LocalInvocationIndex] = subgroupElect() ? 1u : 0u;",
            "uint i = gl_LocalInvocationIndex;
            if (i < 32u) { b[i].x = uint(subgroupElect()); a[2u * i + 1u] = a[2u * i] + 1u; }",
        );
        let words = toolchain::compile_with_lines(&glsl, Stage::Compute, SpirvVersion::V1_3).unwrap();
        let mut aliased = words.clone();
        // Behind `OpDecorate %variable Binding 0`, from the last one on.
        for at in (0..words.len() - 4).rev().filter(|&at| words[at] == 4 << 16 | 71 && words[at + 2] == 33) {
            aliased.splice(at..at, [3 << 16 | 71, words[at + 1], 20]);
        }
        let inputs = Inputs::default();
        let made = |words: &[u32], fault| {
            let judged = judge(words, &inputs).unwrap();
            interpreter(16, fault).judge(&Ready::new(words, &inputs, &judged.interface).unwrap())
        };
        let Made::Right(compared) = made(&words, None) else { panic!("it differs") };
        assert_eq!((compared.words, compared.open), (32, 32));
        let Made::Right(compared) = made(&aliased, None) else { panic!("it differs") };
        assert_eq!((compared.words, compared.open), (64, 0));
        let Made::Wrong { compared, .. } = made(&aliased, Some(Planted::ElectHighest)) else { panic!("it is right") };
        assert_eq!((compared.words, compared.different), (64, 8));
    }

    #[test]
    fn devices_get_no_mesh_shaders() {
        let glsl = "#version 450
            #extension GL_EXT_mesh_shader : require
            layout(triangles, max_vertices = 3, max_primitives = 1) out;
            void main() { SetMeshOutputsEXT(0u, 0u); }";
        let words = toolchain::compile_with_lines(glsl, Stage::Mesh, SpirvVersion::V1_5).unwrap();
        let inputs = Inputs::default();
        let judged = judge(&words, &inputs).unwrap();
        assert_eq!(judged.outcome.end, End::Completed);
        let refused = Ready::new(&words, &inputs, &judged.interface).err();
        let expected = "only compute shaders are run on devices, and its execution model is MeshEXT";
        assert_eq!(refused.as_deref(), Some(expected));
    }

    /// The copy on one device, the module on another one, and what that is of a device with subgroups of 4 to 32.
    #[test]
    fn what_the_copy_has_to_do_with_it_is_said() {
        let words = toolchain::compile_with_lines(ELECT, Stage::Compute, SpirvVersion::V1_3).unwrap();
        let inputs = Inputs::default();
        let judged = judge(&words, &inputs).unwrap();
        let ready = Ready::new(&words, &inputs, &judged.interface).unwrap();
        let right = |size| interpreter(size, None);
        let wrong = |size| interpreter(size, Some(Planted::ElectHighest));
        let verdict = |copy: Result<Device, Made>, module: Result<Device, Made>| {
            let copy = copy.and_then(|device| device.run(ready.job(&ready.copy, true)));
            let module = module.and_then(|device| device.run(ready.job(&ready.portable, false)));
            ready.verdict(copy, module, 4..=32).text("device")
        };
        let crash = || Err(Made::Failed("crashed".into()));
        let no_subgroups = || Err(Made::NotRun("no subgroups".into()));
        let rows = [
            (verdict(Ok(right(16)), Ok(right(16))), "device: right: 64 words compared, 0 left open\n".to_owned()),
            (verdict(Ok(wrong(16)), Ok(wrong(16))), format!("wrong: 8 of 64 words compared differ, 0 left open; {}", says::BOTH)),
            (verdict(Ok(wrong(16)), Ok(right(16))), format!("wrong: 8 of 64 words compared differ, 0 left open; {}", says::ONLY_COPY)),
            (verdict(Ok(right(16)), Ok(wrong(16))), format!("words compared differ, 0 left open; {}", says::AWAY)),
            (
                verdict(Ok(right(16)), Ok(right(8))),
                "device: right: 64 words compared, 0 left open; with the lane map of the copy (subgroups of 16) 4 words differ, and the added code \
                 makes that go away; consecutive subgroups of 8 explain what the module left\n"
                    .to_owned(),
            ),
            (verdict(no_subgroups(), Ok(right(8))), "device: right: 64 words compared, 0 left open\n".to_owned()),
            (verdict(no_subgroups(), Ok(wrong(8))), format!("words compared differ, 0 left open; {}", says::NO_MAP)),
            (verdict(crash(), Ok(right(8))), "failed: with a prologue that writes the lane map: crashed".to_owned()),
            (verdict(Ok(right(8)), crash()), format!("failed: crashed; {}", says::COPY_RUNS)),
            (verdict(crash(), crash()), "device: failed: crashed\n".to_owned()),
        ];
        for (made, says) in rows {
            assert!(made.contains(&says), "{made} does not say: {says}");
        }
    }

    /// Of several wrong words the one that is stored first; of several stores to it the last.
    #[test]
    fn the_first_wrong_step_is_the_first_in_the_order_of_execution() {
        let body = "for (uint i = 0u; i < 3u; i++) {
            uint x = subgroupBallotExclusiveBitCount(subgroupBallot(true)) + 4u * i;
            if (gl_LocalInvocationIndex == 2u && i == 1u)
                a[40] = x; // here
            if (gl_LocalInvocationIndex < 40u) a[gl_LocalInvocationIndex] = x;
        }";
        let glsl = ELECT.replace("_basic", "_ballot");
        let glsl = glsl.replace("a[gl_LocalInvocationIndex] = subgroupElect() ? 1u : 0u;", body);
        let right = made(&glsl, &interpreter(32, None));
        assert!(matches!(right, Made::Right(_)), "{right:?}");
        let found = made(&glsl, &interpreter(32, Some(Planted::ExclusiveCountIsInclusive)));
        let Made::Wrong { compared, .. } = found else { panic!("{found:?}") };
        let step = compared.step.unwrap();
        let line = glsl.lines().position(|line| line.contains("// here")).unwrap() + 1;
        assert!(step.contains(&format!("shader.comp:{line})")) && step.contains("stores 0x6 "), "{step}");
    }

    #[test]
    fn open_words_are_counted_and_undefined_behaviour_is_not_compared() {
        let body = "0u; uint x; if (gl_LocalInvocationIndex < 9u) x = 1u; a[gl_LocalInvocationIndex] = x";
        let open = ELECT.replace("subgroupElect() ? 1u : 0u", body);
        let Made::Right(compared) = made(&open, &interpreter(32, None)) else { panic!("it differs") };
        assert_eq!((compared.words, compared.open), (9, 55));
        // Nothing is determined, and nothing said.
        let nothing = ELECT.replace("subgroupElect() ? 1u : 0u", "0u; uint x; a[gl_LocalInvocationIndex] = x");
        let Made::Vacuous(compared) = made(&nothing, &interpreter(32, None)) else { panic!("something was compared") };
        assert_eq!((compared.words, compared.open), (0, 64));
        // Only with subgroups smaller than the cluster.
        let undefined =
            ELECT.replace("_basic", "_clustered").replace("subgroupElect() ? 1u : 0u", "subgroupClusteredAdd(1u, 8u)");
        assert!(matches!(made(&undefined, &interpreter(32, None)), Made::Right(_)));
        assert!(matches!(made(&undefined, &interpreter(4, None)), Made::Undefined(_)));
    }
}
