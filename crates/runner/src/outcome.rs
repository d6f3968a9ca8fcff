//! What comes of a job: results, or how it failed, and what a failure may be other than a fault of the driver. Plain data, like the job itself.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tangle_compilers::started;
use tangle_files::text::{Line, Lines, line, list};

pub use crate::words::ReadBack;

/// The result of a job. Every job that was submitted gets exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It ran to its end.
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
        /// Who says that there is none.
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
        /// How the process ended: by a signal, an exit code, or for want of memory.
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
        /// The instruction, the invocations and the values.
        #[serde(deserialize_with = "line")]
        place: String,
    },
    /// The module has executed many times as many instructions as the program needs, and has not ended. Only what counts them says so; of a driver
    /// that is [`Outcome::TimedOut`].
    Endless {
        /// Which launch does not end.
        launch: u32,
        /// How many instructions were executed, how many are enough, and where the last of them is.
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
            | Outcome::Endless { .. }
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
    /// A Vulkan function that returned an error.
    Call {
        /// The name of the function.
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
    /// Computing, on a processor.
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
    /// The buffers whose [`ReadBackMode`](crate::ReadBackMode) asked for it, in the order of the launch.
    pub buffers: Vec<ReadBack>,
    /// The device addresses of the buffers that are [`BufferKind::Addressed`](crate::BufferKind::Addressed), in the order of the launch.
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
    /// Waiting until no other worker uses the GPU.
    Lock {
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
    /// Reading the buffers of a launch back.
    ReadBack {
        /// Index of the launch.
        launch: u32,
    },
    /// Destroying module and pipeline.
    Cleanup,
}

impl Stage {
    /// True while the device has the job, or is being given it.
    pub(crate) const fn is_executing(self) -> bool {
        matches!(self, Stage::Submit { .. } | Stage::Wait { .. })
    }

    /// The launch that it belongs to; `None` if to all of them.
    pub const fn launch(self) -> Option<u32> {
        match self {
            Stage::Prepare { launch }
            | Stage::Lock { launch }
            | Stage::Submit { launch }
            | Stage::Wait { launch }
            | Stage::ReadBack { launch } => Some(launch),
            Stage::Check | Stage::Module | Stage::Pipeline | Stage::Cleanup => None,
        }
    }

    /// What the worker does, for people, whatever the launch: `creating the pipeline`.
    pub const fn doing(self) -> &'static str {
        match self {
            Stage::Check => "checking the job",
            Stage::Module => "creating the shader module",
            Stage::Pipeline => "creating the pipeline",
            Stage::Prepare { .. } => "preparing the dispatch",
            Stage::Lock { .. } => "waiting for the GPU, which another worker uses,",
            Stage::Submit { .. } => "submitting the dispatch",
            Stage::Wait { .. } => "waiting for the dispatch",
            Stage::ReadBack { .. } => "reading the buffers back",
            Stage::Cleanup => "destroying the pipeline",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.doing())?;
        match self.launch() {
            Some(launch) if launch > 0 => write!(formatter, " of launch {launch}"),
            _ => Ok(()),
        }
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
    /// Had no memory, and ended for that reason.
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
            Outcome::Endless { place, .. } => write!(formatter, "no end: {place}"),
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
}
