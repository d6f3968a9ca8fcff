//! What the runner saw of a failure, as far as signatures distinguish it.

use tangle_files::text::Line;
use tangle_identity::failure::{Crash, Doing, DriverError, End, ToolStep, message};
use tangle_identity::place::Frame;
use tangle_identity::{CrashPlace, Detail, Kind, Signature};
use tangle_runner::stack::{self, Module};
use tangle_runner::toolchain::ToolchainError;
use tangle_runner::{Outcome, Shortage, Stage, WorkerEnd};

/// The signature of a job that failed; `None` if that was the machine's fault.
pub fn signature(outcome: &Outcome) -> Option<Signature> {
    let error = |call: &Line, result: &Line, stage| {
        Detail::Driver(DriverError { call: call.to_string(), result: result.to_string(), doing: doing(stage) })
    };
    let (kind, detail) = match outcome {
        Outcome::Crashed { end, stage, stderr } => {
            let (frames, said) = stack::split(stderr);
            let place = CrashPlace::of(frames.iter().map(frame));
            // What it prints has the program in it.
            let message = if place.is_none() { message(&said) } else { None };
            let crash = Crash { end: how(end), doing: doing(*stage), place, message };
            (Kind::Crash, Detail::Crash(crash))
        }
        Outcome::TimedOut { stage, .. } => (Kind::Hang, Detail::Hang(doing(*stage))),
        Outcome::DeviceLost { stage } => (Kind::DeviceLost, Detail::DeviceLost(doing(*stage))),
        Outcome::VulkanError { call, result, stage } => (Kind::VulkanError, error(call, result, *stage)),
        Outcome::OpenGlError { call, result, stage } => (Kind::OpenGlError, error(call, result, *stage)),
        Outcome::WebGpuError { call, result, stage } => (Kind::WebGpuError, error(call, result, *stage)),
        Outcome::OutOfMemory { shortage, stage, .. } => match shortage {
            Shortage::Call { call, result } => (Kind::OutOfMemory, error(call, result, *stage)),
            Shortage::Allocation => (Kind::OutOfMemory, Detail::OutOfMemory(doing(*stage))),
            Shortage::System => return None,
        },
        Outcome::Implausible { stage, .. } => (Kind::Implausible, Detail::Implausible(doing(*stage))),
        other => (Kind::VulkanError, Detail::Text(other.to_string())),
    };
    Some(Signature::new(kind, detail))
}

/// The step of the toolchain that failed, and what it said; `None` if it does not run on this machine at all.
pub fn of_toolchain(error: &ToolchainError) -> Option<(ToolStep, String)> {
    let (step, message) = match error {
        ToolchainError::Compile(message) => (ToolStep::Compile, message),
        ToolchainError::Refused(message) => (ToolStep::Refuse, message),
        ToolchainError::Invalid(message) => (ToolStep::Validate, message),
        ToolchainError::Optimiser(message) => (ToolStep::Optimise, message),
        ToolchainError::Spoilt(message) => (ToolStep::ValidateOptimised, message),
        ToolchainError::Weakened(message) => (ToolStep::Promise, message),
        ToolchainError::WeakenedByOptimiser(message) => (ToolStep::PromiseOptimised, message),
        ToolchainError::Internal(_) => return None,
    };
    Some((step, message.clone()))
}

const fn frame<'a>(frame: &stack::Frame<'a>) -> Frame<'a> {
    match frame.module {
        Module::Worker => Frame::Worker,
        Module::Generated => Frame::Generated,
        Module::Library(path) => Frame::Library { path, symbol: frame.symbol, function: frame.function },
    }
}

const fn how(end: &WorkerEnd) -> End {
    match end {
        WorkerEnd::Signal(number) => End::Signal(*number),
        WorkerEnd::Exit(code) => End::Exit(*code),
        // The runner has made another outcome of the second.
        WorkerEnd::Garbage(_) | WorkerEnd::OutOfMemory(_) => End::Protocol,
    }
}

const fn doing(stage: Stage) -> Doing {
    match stage {
        Stage::Check => Doing::Check,
        Stage::Module => Doing::Module,
        Stage::Pipeline => Doing::Pipeline,
        Stage::Prepare { .. } | Stage::Lock { .. } => Doing::Prepare,
        Stage::Submit { .. } | Stage::Wait { .. } => Doing::Run,
        Stage::ReadBack { .. } => Doing::ReadBack,
        Stage::Cleanup => Doing::Cleanup,
    }
}
