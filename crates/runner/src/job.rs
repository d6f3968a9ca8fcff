//! What a device is asked to do, and the result: plain data, in memory, in JSON and between processes.
//!
//! A [`Job`] is one pipeline and the [`Launch`]es that run on it. Compiling is what costs on most drivers;
//! another launch of a compiled pipeline with other data is almost free, so one job may carry many.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::texel::{Image, TexelFormat};
pub use crate::words::ReadBack;
use tangle_compilers::started;
use tangle_features::FeatureSet;
use tangle_files::text::{Line, Lines, line, list};
pub use tangle_program::case::Stage as ShaderStage;

/// One pipeline and its launches. The entry point is `main`, the local size is inside the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the job among those of one device; comes back with its [`Outcome`].
    pub id: u64,
    /// The SPIR-V module; empty if there is source.
    #[serde(with = "crate::words::as_bytes")]
    pub spirv: Vec<u32>,
    /// Its stage, and what stands around it.
    pub pipeline: Pipeline,
    /// A shader for the device's own front end, instead of a module: GLSL for OpenGL, WGSL for WebGPU.
    pub source: Option<Box<Source>>,
    /// Subgroup size demanded through `VkPipelineShaderStageRequiredSubgroupSizeCreateInfo`.
    pub required_subgroup_size: Option<u32>,
    /// Flags of the shader stage.
    pub subgroup_flags: SubgroupFlags,
    /// Whether the driver may optimise.
    pub optimisation: Optimisation,
    /// Specialisation constants as (constant id, 32-bit value).
    pub specialization: Vec<(u32, u32)>,
    /// Bindings to whose texels atomics are applied.
    pub texel_atomics: Vec<u32>,
    /// What the job needs beyond what its module declares. The worker adds to it what it reads in the module itself:
    /// capabilities, extensions and SPIR-V version.
    pub features: FeatureSet,
    /// What to run, one after the other, each with its own buffers. All launches of one job have the same bindings and
    /// the same number of push-constant bytes, because they share the pipeline layout.
    pub launches: Vec<Launch>,
}

/// The stage of a job's module, and what its pipeline has beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pipeline {
    /// A compute pipeline.
    #[default]
    Compute,
    /// A graphics pipeline whose task shader the module is. Nothing is rasterised.
    Task {
        /// The mesh shader. It sees the buffers of the launch.
        mesh: Box<Module>,
    },
    /// A graphics pipeline whose mesh shader the module is. Nothing is rasterised.
    Mesh {
        /// The task shader that emits its workgroups, if there is one. It uses no buffer.
        task: Option<Box<Module>>,
    },
    /// A graphics pipeline whose fragment shader the module is.
    Fragment(Box<Raster>),
    /// A graphics pipeline whose module is of a stage before rasterisation, which does not take place.
    Items(Box<ItemPipeline>),
}

/// What stands around a stage before rasterisation. A launch has as many vertices as it has [workgroups](Launch::groups) in x, and instances in y.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemPipeline {
    /// The stage of the module.
    pub stage: ShaderStage,
    /// The other stages. They use no buffer.
    pub beside: Vec<(ShaderStage, Module)>,
    /// True if each vertex is a patch, and not a point.
    pub patches: bool,
}

/// What fragments come from: triangles, three vertices each, as many vertices as a launch has [workgroups](Launch::groups) in x, and instances in y.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raster {
    /// The vertex shader. It reads buffers of the launch, and writes none.
    pub vertex: Module,
    /// Width of the framebuffer, which has no attachments.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Its layers.
    pub layers: u32,
    /// Samples of a pixel.
    pub samples: u32,
}

impl Default for Raster {
    fn default() -> Raster {
        Raster { vertex: Module::default(), width: 1, height: 1, layers: 1, samples: 1 }
    }
}

/// A module beside that of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module(#[serde(with = "crate::words::as_bytes")] pub Vec<u32>);

impl Pipeline {
    /// The stage of the job's module.
    pub const fn stage(&self) -> ShaderStage {
        match self {
            Pipeline::Compute => ShaderStage::Compute,
            Pipeline::Task { .. } => ShaderStage::Task,
            Pipeline::Mesh { .. } => ShaderStage::Mesh,
            Pipeline::Fragment(_) => ShaderStage::Fragment,
            Pipeline::Items(items) => items.stage,
        }
    }

    /// True if there are fragments.
    pub const fn rasterises(&self) -> bool {
        match self {
            Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Items(_) => false,
            Pipeline::Fragment(_) => true,
        }
    }

    /// The other modules of the pipeline, with their stages.
    pub fn beside(&self) -> Vec<(ShaderStage, &[u32])> {
        match self {
            Pipeline::Compute => Vec::new(),
            Pipeline::Mesh { task } => task.iter().map(|task| (ShaderStage::Task, task.0.as_slice())).collect(),
            Pipeline::Items(items) => {
                items.beside.iter().map(|(stage, module)| (*stage, module.0.as_slice())).collect()
            }
            Pipeline::Task { mesh } => vec![(ShaderStage::Mesh, mesh.0.as_slice())],
            Pipeline::Fragment(raster) => vec![(ShaderStage::Vertex, raster.vertex.0.as_slice())],
        }
    }
}

/// A shader for a front end that is part of a driver, or of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The text.
    pub text: String,
    /// Invocations of a workgroup in x, y, z, as the text says.
    pub local_size: [u32; 3],
}

/// Flags of the shader stage that concern subgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupFlags {
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT`.
    pub require_full: bool,
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT`; SPIR-V 1.6 implies it.
    pub allow_varying_size: bool,
}

/// Whether the driver may optimise the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Optimisation {
    /// As the driver does by default.
    #[default]
    Default,
    /// `VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT`.
    Disabled,
}

/// One dispatch or draw with its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Workgroups in x, y, z.
    pub groups: [u32; 3],
    /// Push constants, a multiple of 4 bytes.
    pub push_constants: Vec<u8>,
    /// Buffers of descriptor set 0. Those of one binding stand behind one another: they are the elements of an array of descriptors.
    pub buffers: Vec<Buffer>,
    /// Where the device addresses of buffers are written before the launch, since only the device knows them.
    pub addresses: Vec<Address>,
}

impl Launch {
    /// The buffers whose device address counts, by their place in [`Launch::buffers`].
    pub fn addressed(&self) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.buffers.iter().enumerate();
        numbered.filter(|(_, buffer)| buffer.kind == BufferKind::Addressed).map(|(index, _)| index)
    }

    /// The launch with device addresses written where they belong, given those of the [`Launch::addressed`] buffers. What lies outside of the contents
    /// is left out ([`crate::check`] refuses it).
    #[must_use]
    pub fn placed(&self, addresses: &[u64]) -> Launch {
        let mut launch = self.clone();
        let of_buffer: Vec<(usize, u64)> = self.addressed().zip(addresses.iter().copied()).collect();
        for Address { place, word, buffer, offset } in &self.addresses {
            let Some((_, base)) = of_buffer.iter().find(|(index, _)| *index == *buffer as usize) else { continue };
            let address = base.wrapping_add(*offset);
            let first = *word as usize;
            match place {
                Place::PushConstants => {
                    let bytes =
                        first.checked_mul(4).and_then(|at| launch.push_constants.get_mut(at..at.checked_add(8)?));
                    if let Some(bytes) = bytes {
                        bytes.copy_from_slice(&address.to_le_bytes());
                    }
                }
                Place::Buffer(index) => {
                    if let Some(Init::Data(words)) = launch.buffers.get_mut(*index as usize).map(|b| &mut b.init)
                        && let Some([low, high]) = words.get_mut(first..).and_then(<[u32]>::first_chunk_mut)
                    {
                        (*low, *high) = (address as u32, (address >> 32) as u32);
                    }
                }
            }
        }
        launch
    }
}

/// Two words that hold the device address of a buffer, or one in it, the lower half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// What they are in.
    pub place: Place,
    /// The first of the two, in words of 4 bytes.
    pub word: u32,
    /// Whose address it is: a place in [`Launch::buffers`], of a buffer that is [`BufferKind::Addressed`].
    pub buffer: u32,
    /// Bytes from the beginning of that buffer.
    pub offset: u64,
}

/// What of a launch an address is written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The push constants.
    PushConstants,
    /// The buffer at this place in [`Launch::buffers`], which has given contents.
    Buffer(u32),
}

/// One buffer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Binding in descriptor set 0; of no meaning if it is [`BufferKind::Addressed`].
    pub binding: u32,
    /// What the shader sees it as.
    pub kind: BufferKind,
    /// What is in it before the dispatch; also says how large it is.
    pub init: Init,
    /// Whether its contents come back, and how.
    pub read_back: ReadBackMode,
}

/// What a shader sees a buffer as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BufferKind {
    /// `buffer` block.
    Storage,
    /// `uniform` block.
    Uniform,
    /// `imageBuffer` and its like.
    StorageTexels(TexelFormat),
    /// `textureBuffer`, `samplerBuffer`.
    UniformTexels(TexelFormat),
    /// `image2D` and its like. The buffer holds the texels; zeros fill it up to a whole word.
    StorageImage(Image),
    /// `texture2D` and its like, which has its texels as [`BufferKind::StorageImage`] does.
    SampledImage(Image),
    /// `sampler2D` and its like: the same with a sampler.
    CombinedImageSampler(Image),
    /// `sampler`: it takes the nearest texel, and clamps to the edge. The buffer is empty.
    Sampler,
    /// No descriptor names the buffer: its device address is somewhere in the launch ([`Launch::addresses`]).
    Addressed,
}

impl BufferKind {
    /// The image that a descriptor names.
    pub const fn image(&self) -> Option<&Image> {
        match self {
            BufferKind::StorageImage(image)
            | BufferKind::SampledImage(image)
            | BufferKind::CombinedImageSampler(image) => Some(image),
            BufferKind::Storage
            | BufferKind::Uniform
            | BufferKind::StorageTexels(_)
            | BufferKind::UniformTexels(_)
            | BufferKind::Sampler
            | BufferKind::Addressed => None,
        }
    }
}

/// Contents of a buffer before the dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// These words.
    Data(#[serde(with = "crate::words::as_bytes")] Vec<u32>),
    /// So many words, each zero.
    Zero {
        /// How many words of 4 bytes.
        words: u64,
    },
}

impl Init {
    /// Size of the buffer in words of 4 bytes.
    pub fn words(&self) -> u64 {
        match self {
            Init::Data(words) => words.len() as u64,
            Init::Zero { words } => *words,
        }
    }
}

/// Whether the contents of a buffer come back after the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadBackMode {
    /// They do not.
    None,
    /// All of it, less the zeros at its end.
    Whole,
    /// Cut into slices of this many words, each less the zeros at its end.
    Slices(u32),
}

/// The result of a job. Every job that was submitted gets exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It ran.
    Completed(Completed),
    /// The device lacks something; nothing was run.
    Unsupported {
        /// What it lacks, by Vulkan name and, for a limit, with the numbers.
        #[serde(deserialize_with = "list")]
        missing: Vec<String>,
    },
    /// The job contradicts itself and would be invalid on every device; nothing was run.
    Invalid {
        /// What is wrong with it.
        #[serde(deserialize_with = "list")]
        problems: Vec<String>,
    },
    /// A function of Vulkan failed.
    VulkanError {
        /// The function, for example `vkCreateComputePipelines`.
        call: Line,
        /// What it returned, for example `VK_ERROR_UNKNOWN`.
        result: Line,
        /// What was being done.
        stage: Stage,
    },
    /// A function of OpenGL or EGL failed.
    OpenGlError {
        /// The function, for example `glCompileShader`.
        call: Line,
        /// Its error; of the compiler and the linker, what they said first.
        result: Line,
        /// What was being done.
        stage: Stage,
    },
    /// A function of WebGPU failed, or an error of the device was found behind it.
    WebGpuError {
        /// The function, for example `createComputePipeline`.
        call: Line,
        /// The kind of error (WebGPU, GPUError), and what it says first.
        result: Line,
        /// What was being done.
        stage: Stage,
    },
    /// There was no memory. The worker is replaced.
    OutOfMemory {
        /// Who says so.
        shortage: Shortage,
        /// What was being done.
        stage: Stage,
        /// The end of what the worker wrote on standard error, at most 8 KiB.
        stderr: Lines,
    },
    /// A Vulkan function returned `VK_ERROR_DEVICE_LOST`. The worker is replaced.
    DeviceLost {
        /// What was being done.
        stage: Stage,
    },
    /// The worker process died. The worker is replaced.
    Crashed {
        /// How it died.
        end: WorkerEnd,
        /// What was being done.
        stage: Stage,
        /// The end of what it wrote on standard error, at most 8 KiB.
        stderr: Lines,
    },
    /// The job took more time than its device has for one, none of it for want of a processor. The worker was killed and replaced.
    TimedOut {
        /// What was being done.
        stage: Stage,
        /// What the time went into.
        how: Stall,
        /// How much of that there was.
        after: Duration,
        /// The end of what the worker wrote on standard error, at most 8 KiB.
        stderr: Lines,
    },
    /// The worker says that the job ran, and what it sends cannot be what the job asked for: another number of launches or buffers, or
    /// buffers of another size. The worker is replaced.
    Implausible {
        /// What does not fit.
        problem: Line,
        /// What was being done.
        stage: Stage,
    },
    /// The module has undefined behaviour. Only what executes SPIR-V by its rules says so; no driver can.
    Undefined {
        /// Which launch comes by it.
        launch: u32,
        /// The rule that the module breaks.
        #[serde(deserialize_with = "line")]
        rule: String,
        /// Where and how.
        #[serde(deserialize_with = "line")]
        place: String,
    },
    /// No worker could be obtained for it, through no fault of the job.
    WorkerLost {
        /// Why there is none, in a line.
        #[serde(deserialize_with = "line")]
        reason: String,
    },
}

impl Outcome {
    /// What was being done when it failed; `None` if it did not fail, or there was nothing that could.
    pub const fn failed_in(&self) -> Option<Stage> {
        match self {
            Outcome::VulkanError { stage, .. }
            | Outcome::OpenGlError { stage, .. }
            | Outcome::WebGpuError { stage, .. }
            | Outcome::OutOfMemory { stage, .. }
            | Outcome::DeviceLost { stage }
            | Outcome::Crashed { stage, .. }
            | Outcome::TimedOut { stage, .. }
            | Outcome::Implausible { stage, .. } => Some(*stage),
            Outcome::Completed(_)
            | Outcome::Unsupported { .. }
            | Outcome::Invalid { .. }
            | Outcome::Undefined { .. }
            | Outcome::WorkerLost { .. } => None,
        }
    }

    /// What it may be other than a fault that the job shows: then it is no finding until it comes again with nothing beside it
    /// ([`Terms::Again`]). `None` of what needs no confirmation.
    pub fn suspicion(&self) -> Option<Suspicion> {
        match self {
            Outcome::TimedOut { .. } => Some(Suspicion::Slow),
            Outcome::OutOfMemory { .. } => Some(Suspicion::OutOfMemory),
            Outcome::Crashed { end, .. } if end.is_from_outside() => Some(Suspicion::Killed),
            Outcome::Crashed { .. } => Some(Suspicion::Crashed),
            Outcome::DeviceLost { .. } => Some(Suspicion::Lost),
            _ => None,
        }
    }
}

/// What a failure may be other than a fault of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspicion {
    /// A time-out: the job may take long and end.
    Slow,
    /// A worker that a signal from outside ended: somebody, or the system, may have sent it for reasons of their own.
    Killed,
    /// Memory that ran out: others may have used it up.
    OutOfMemory,
    /// A crash: what ran before it in the same process may have led there.
    Crashed,
    /// A lost device: the reset of a GPU hits everything that runs on it.
    Lost,
    /// A wrong lane map on a device that others may use: what a launch beside another process leaves can be nothing at all.
    Disturbed,
}

impl Suspicion {
    /// True if what does not occur again was nothing at all. A crash and a lost device were there, whoever is to blame.
    pub const fn is_cleared_by_success(self) -> bool {
        match self {
            Suspicion::Slow | Suspicion::Killed | Suspicion::OutOfMemory | Suspicion::Disturbed => true,
            Suspicion::Crashed | Suspicion::Lost => false,
        }
    }

    /// True if what runs beside a job may be the reason. A process that crashes does so by itself: that it does not run among the jobs before it
    /// is enough.
    pub const fn excludes_others(self) -> bool {
        match self {
            Suspicion::Slow | Suspicion::Killed | Suspicion::OutOfMemory | Suspicion::Lost | Suspicion::Disturbed => {
                true
            }
            Suspicion::Crashed => false,
        }
    }
}

/// How a job is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Terms {
    /// Within the device's limit.
    #[default]
    Usual,
    /// On a device that is known to hang: within four times the longest job that it has completed, where that is less.
    Brief,
    /// Again, since it failed in a way that may not be its own fault ([`Outcome::suspicion`]): without other jobs in the same worker, with ten times
    /// the limit and, where others may be the reason, with nothing beside it as far as this process decides that. What comes of it now counts.
    Again(Suspicion),
}

impl Terms {
    /// What the job is to be cleared of.
    pub const fn suspicion(self) -> Option<Suspicion> {
        match self {
            Terms::Again(suspicion) => Some(suspicion),
            Terms::Usual | Terms::Brief => None,
        }
    }

    /// True if no other worker is to run.
    pub(crate) fn excludes_others(self) -> bool {
        self.suspicion().is_some_and(Suspicion::excludes_others)
    }
}

/// Who says that there is no memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shortage {
    /// A Vulkan function.
    Call {
        /// The function.
        call: Line,
        /// `VK_ERROR_OUT_OF_HOST_MEMORY`, `VK_ERROR_OUT_OF_DEVICE_MEMORY`, `VK_ERROR_OUT_OF_POOL_MEMORY`.
        result: Line,
    },
    /// An allocation in the worker's process that failed.
    Allocation,
    /// The system, whose out-of-memory killer ended the worker: the machine has too little memory for all that runs on it.
    System,
}

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Shortage::Call { call, result } => write!(formatter, "{call} returned {result}"),
            Shortage::Allocation => formatter.write_str("an allocation failed"),
            Shortage::System => formatter.write_str("killed by the system's out-of-memory killer"),
        }
    }
}

/// What the time of a job that timed out went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stall {
    /// The processor.
    Processor,
    /// The device, which says how long it works.
    Device,
    /// Waiting for something other than a processor.
    Blocked,
}

/// Results of a job that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// One entry per launch, in order; empty on a device that only compiles.
    pub launches: Vec<LaunchOutput>,
    /// Where the time went.
    pub times: Times,
}

/// What one launch left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOutput {
    /// The buffers whose [`ReadBackMode`] asked for it, in the order of the launch.
    pub buffers: Vec<ReadBack>,
    /// The device addresses of the buffers that are [`BufferKind::Addressed`], in the order of the launch.
    pub addresses: Vec<u64>,
}

/// Where the time of a job went in the worker, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// `vkCreateShaderModule`.
    pub module_us: u64,
    /// `vkCreateComputePipelines`.
    pub pipeline_us: u64,
    /// Filling buffers and recording commands, all launches together.
    pub prepare_us: u64,
    /// From `vkQueueSubmit` until the fence, all launches together.
    pub submit_wait_us: u64,
    /// Reading buffers back, all launches together.
    pub read_back_us: u64,
    /// Destroying module and pipeline.
    pub cleanup_us: u64,
    /// The whole job, from its first check to its answer.
    pub total_us: u64,
    /// Processor time of the worker, all its threads together.
    #[serde(default)]
    pub processor_us: u64,
}

impl Times {
    /// Time inside the driver's compiler and dispatch: module, pipeline, submission and wait.
    pub fn driver_us(&self) -> u64 {
        self.module_us.saturating_add(self.pipeline_us).saturating_add(self.submit_wait_us)
    }
}

/// What a worker is doing for a job; it says so before it begins, so that a crash can be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// Checking the job, before the driver sees it.
    Check,
    /// Creating layouts and the shader module.
    Module,
    /// Creating the compute pipeline.
    Pipeline,
    /// Creating and filling buffers, recording commands.
    Prepare {
        /// Index of the launch.
        launch: u32,
    },
    /// Submitting the dispatch. Some drivers compile here.
    Submit {
        /// Index of the launch.
        launch: u32,
    },
    /// Waiting for the dispatch to finish.
    Wait {
        /// Index of the launch.
        launch: u32,
    },
    /// Reading buffers back.
    ReadBack {
        /// Index of the launch.
        launch: u32,
    },
    /// Destroying module and pipeline.
    Cleanup,
}

impl Stage {
    /// The launch that it belongs to; `None` if to all of them.
    pub const fn launch(self) -> Option<u32> {
        match self {
            Stage::Prepare { launch }
            | Stage::Submit { launch }
            | Stage::Wait { launch }
            | Stage::ReadBack { launch } => Some(launch),
            Stage::Check | Stage::Module | Stage::Pipeline | Stage::Cleanup => None,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (what, launch) = match self {
            Stage::Check => ("checking the job", 0),
            Stage::Module => ("creating the shader module", 0),
            Stage::Pipeline => ("creating the pipeline", 0),
            Stage::Prepare { launch } => ("preparing the dispatch", *launch),
            Stage::Submit { launch } => ("submitting the dispatch", *launch),
            Stage::Wait { launch } => ("waiting for the dispatch", *launch),
            Stage::ReadBack { launch } => ("reading the buffers back", *launch),
            Stage::Cleanup => ("destroying the pipeline", 0),
        };
        formatter.write_str(what)?;
        if launch > 0 {
            write!(formatter, " of launch {launch}")?;
        }
        Ok(())
    }
}

/// How a worker process came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerEnd {
    /// Killed by this signal.
    Signal(i32),
    /// Left by itself with this exit code.
    Exit(i32),
    /// Wrote something that is not the protocol, and was killed.
    Garbage(Line),
    /// Had no memory.
    OutOfMemory(Shortage),
}

impl WorkerEnd {
    /// True for a signal that a process does not cause by what it does, also one that a shell passes on.
    pub fn is_from_outside(&self) -> bool {
        match self {
            WorkerEnd::Signal(number) => started::is_from_outside(*number),
            WorkerEnd::Exit(code) => started::is_passed_on(*code),
            WorkerEnd::Garbage(_) | WorkerEnd::OutOfMemory(_) => false,
        }
    }
}

impl fmt::Display for WorkerEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            WorkerEnd::Signal(number) => match signal_name(*number) {
                Some(name) => write!(formatter, "killed by {name}"),
                None => write!(formatter, "killed by signal {number}"),
            },
            WorkerEnd::Exit(code) => write!(formatter, "exited with code {code}"),
            WorkerEnd::Garbage(what) => write!(formatter, "broke the worker protocol ({what})"),
            WorkerEnd::OutOfMemory(shortage) => write!(formatter, "ran out of memory: {shortage}"),
        }
    }
}

/// Names of the signals that end a crashing program on Linux.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

impl fmt::Display for Outcome {
    /// One line for a person, without the data.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Outcome::Completed(_) => formatter.write_str("completed"),
            Outcome::Unsupported { missing } => write!(formatter, "not supported: {}", missing.join(", ")),
            Outcome::Invalid { problems } => write!(formatter, "invalid job: {}", problems.join(", ")),
            Outcome::VulkanError { call, result, stage }
            | Outcome::OpenGlError { call, result, stage }
            | Outcome::WebGpuError { call, result, stage } => {
                write!(formatter, "{call} returned {result} while {stage}")
            }
            Outcome::OutOfMemory { shortage, stage, .. } => {
                write!(formatter, "out of memory while {stage}: {shortage}")
            }
            Outcome::DeviceLost { stage } => write!(formatter, "device lost while {stage}"),
            Outcome::Crashed { end, stage, .. } => write!(formatter, "worker {end} while {stage}"),
            Outcome::TimedOut { stage, how, after, .. } => {
                let seconds = after.as_secs_f64();
                match how {
                    Stall::Processor => {
                        write!(formatter, "timed out after {seconds:.1} s of processor time while {stage}")
                    }
                    Stall::Device => {
                        write!(formatter, "timed out after {seconds:.1} s of the device's time while {stage}")
                    }
                    Stall::Blocked => write!(formatter, "timed out, blocked for {seconds:.1} s while {stage}"),
                }
            }
            Outcome::Implausible { problem, stage } => write!(formatter, "impossible answer while {stage}: {problem}"),
            Outcome::Undefined { rule, place, .. } => write!(formatter, "undefined behaviour: {rule} at {place}"),
            Outcome::WorkerLost { reason } => write!(formatter, "no worker: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_read_as_one_line() {
        let crash = Outcome::Crashed { end: WorkerEnd::Signal(11), stage: Stage::Pipeline, stderr: Lines::default() };
        assert_eq!(crash.to_string(), "worker killed by SIGSEGV while creating the pipeline");
        let hang = Outcome::TimedOut {
            stage: Stage::Wait { launch: 2 },
            how: Stall::Blocked,
            after: Duration::from_millis(10_500),
            stderr: Lines::default(),
        };
        assert_eq!(hang.to_string(), "timed out, blocked for 10.5 s while waiting for the dispatch of launch 2");
    }

    #[test]
    fn a_signal_from_outside_is_no_fault() {
        for (end, from_outside) in [
            (WorkerEnd::Signal(libc::SIGSEGV), false),
            (WorkerEnd::Signal(libc::SIGABRT), false),
            (WorkerEnd::Signal(libc::SIGKILL), true),
            (WorkerEnd::Signal(libc::SIGTERM), true),
            (WorkerEnd::Signal(libc::SIGHUP), true),
            (WorkerEnd::Signal(libc::SIGXCPU), true),
            (WorkerEnd::Exit(137), true),
            (WorkerEnd::Exit(143), true),
            (WorkerEnd::Exit(139), false),
            (WorkerEnd::Exit(1), false),
        ] {
            assert_eq!(end.is_from_outside(), from_outside, "{end}");
        }
    }

    #[test]
    fn a_job_survives_both_encodings() {
        let buffer =
            |binding, init| Buffer { binding, kind: BufferKind::Storage, init, read_back: ReadBackMode::Slices(8) };
        let job = Job {
            id: 7,
            spirv: vec![0x0723_0203, 0x0001_0300],
            required_subgroup_size: Some(8),
            specialization: vec![(0, 1)],
            launches: vec![Launch {
                groups: [1, 2, 3],
                push_constants: vec![1, 2, 3, 4],
                buffers: vec![
                    buffer(0, Init::Zero { words: 64 }),
                    buffer(1, Init::Data(vec![1, 2])),
                    Buffer { kind: BufferKind::StorageImage(Image::ONE), ..buffer(2, Init::Data(vec![1])) },
                    Buffer { kind: BufferKind::Addressed, ..buffer(0, Init::Data(vec![1])) },
                ],
                addresses: vec![Address { place: Place::Buffer(1), word: 0, buffer: 3, offset: 4 }],
            }],
            ..Job::default()
        };
        let binary = postcard::to_stdvec(&job).unwrap();
        assert_eq!(postcard::from_bytes::<Job>(&binary).unwrap(), job);
        let json = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&json).unwrap(), job);
    }

    #[test]
    fn addresses_are_written_where_they_belong() {
        let buffer = |kind, words: &[u32]| Buffer {
            binding: 0,
            kind,
            init: Init::Data(words.to_vec()),
            read_back: ReadBackMode::Whole,
        };
        let address = |place, word, buffer, offset| Address { place, word, buffer, offset };
        let launch = Launch {
            push_constants: vec![0; 12],
            buffers: vec![
                buffer(BufferKind::Addressed, &[5, 5, 5]),
                buffer(BufferKind::Storage, &[6, 6, 6]),
                buffer(BufferKind::Addressed, &[7]),
            ],
            addresses: vec![
                address(Place::PushConstants, 1, 2, 4),
                address(Place::Buffer(1), 0, 0, 0),
                // What does not fit, or is of no such buffer, is left out.
                address(Place::Buffer(1), 2, 0, 0),
                address(Place::Buffer(9), 0, 0, 0),
                address(Place::PushConstants, u32::MAX, 0, 0),
                address(Place::PushConstants, 0, 1, 0),
            ],
            ..Launch::default()
        };
        let placed = launch.placed(&[0x1_0000_0002, 0x3_0000_0004]);
        assert_eq!(placed.push_constants, [0, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0]);
        let words: Vec<_> = placed.buffers.iter().map(|buffer| buffer.init.clone()).collect();
        assert_eq!(words, [Init::Data(vec![5, 5, 5]), Init::Data(vec![2, 1, 6]), Init::Data(vec![7])]);
        // Without addresses nothing is written.
        assert_eq!(launch.placed(&[]), launch);
    }
}
