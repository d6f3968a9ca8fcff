//! Jobs on a WebGPU runtime: Dawn, in a process of its own, on the Vulkan driver that the environment names.
//!
//! ```text
//!   worker ── lines, words ──▶ dawn.py ──▶ Dawn: WGSL, Tint's transforms ──▶ Vulkan driver
//!
//!   runtime.rs    that process: how it starts, what it says, how it ends
//!   describe.rs   adapter → DeviceInfo
//!   job.rs        a job in its words, and what comes back
//! ```
//!
//! Dawn comes as the Python package `wgpudawn`, a library with no other interface than Python's. The process is of the worker's family, so that what
//! it uses up counts for the worker, and goes with it. When it dies the worker dies in the same way.

mod describe;
mod job;
mod runtime;

use std::time::Instant;

use crate::check;
use crate::info::{DeviceInfo, DriverMode};
use crate::job::Job;
use crate::outcome::{Completed, Outcome, Shortage, Stage};
use crate::worker::backend::{Backend, not_open};
use crate::worker::progress::{Progress, micros};
use crate::worker::rewrite::rewritten;
pub use runtime::RUNTIME_VARIABLE;
use runtime::{Reply, Runtime};
use tangle_files::text::{Line, Lines};

/// Dawn with one driver beneath.
pub(super) struct WebGpu {
    /// What stands before the process that loads the driver.
    prefix: Vec<String>,
    runtime: Option<Runtime>,
    devices: Vec<DeviceInfo>,
    open: Option<DeviceInfo>,
}

impl WebGpu {
    /// Nothing is started yet.
    pub(super) fn new(prefix: Vec<String>) -> WebGpu {
        WebGpu { prefix, runtime: None, devices: Vec::new(), open: None }
    }
}

impl Backend for WebGpu {
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String> {
        let (runtime, ready) = Runtime::start(&self.prefix)?;
        self.runtime = Some(runtime);
        let described = |adapter| describe::describe(&ready.version, adapter, driver, mode);
        self.devices = ready.adapters.iter().map(described).collect();
        Ok(self.devices.clone())
    }

    fn open(&mut self, index: u32) -> Result<(), String> {
        let device = self.devices.get(index as usize).ok_or_else(|| format!("no device with index {index}"))?;
        let runtime = self.runtime.as_mut().ok_or("Dawn is not running")?;
        runtime.open(index)?;
        self.open = Some(device.clone());
        Ok(())
    }

    fn run(&mut self, job: &Job, announce: &mut dyn FnMut(Stage)) -> Outcome {
        let begin = Instant::now();
        let (Some(info), Some(runtime)) = (&self.open, &mut self.runtime) else { return not_open() };
        let mut progress = Progress::begin(announce);
        if let Some(refusal) = check::refusal(job, info, || job::missing(job)) {
            return refusal;
        }
        let source = job.source.as_ref().map_or("", |source| &source.text);
        let asked = job::asked(job, &rewritten(source), info.mode);
        let reply = runtime.run(&asked, |stage| progress.enter(stage));
        let stage = progress.stage;
        match reply {
            Ok(Reply::Done { times, words }) => match job::launches(job, info.mode, &words) {
                Some(launches) => {
                    let mut completed = Completed { launches, times };
                    completed.times.total_us = micros(begin);
                    Outcome::Completed(completed)
                }
                None => Outcome::Implausible { problem: format!("{} words came back", words.len()).into(), stage },
            },
            Ok(Reply::OutOfMemory { call, message }) => Outcome::OutOfMemory {
                shortage: Shortage::Call { call: call.into(), result: said(&message).into() },
                stage,
                stderr: Lines::default(),
            },
            // "If the implementation cannot create a pipeline with the requested subgroup size (e.g. due to register pressure or hardware-specific
            // workgroup subgroup count limits), it results in an uncategorized error during pipeline creation" (gpuweb, proposal "Subgroup Size Control").
            Ok(Reply::Failed { kind, call, message })
                if job.required_subgroup_size.is_some()
                    && call == "createComputePipeline"
                    && (kind == "GPUInternalError" || message.contains("subgroup")) =>
            {
                Outcome::Unsupported { missing: vec!["a pipeline with the required subgroup size".to_owned()] }
            }
            Ok(Reply::Failed { kind, call, message }) => {
                let result = Line::from(format!("{kind}: {}", said(&message)));
                Outcome::WebGpuError { call: call.into(), result, stage }
            }
            Ok(Reply::Lost) => Outcome::DeviceLost { stage },
            Err(reason) => Outcome::WorkerLost { reason },
        }
    }
}

/// The longest part of a message that is kept, characters.
const MESSAGE: usize = 200;

/// The first line of a message without places in the text (`:12:7`), which differ from shader to shader.
fn said(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    let is_place =
        |word: &&str| word.strip_prefix(':').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == ':'));
    let words: Vec<&str> = line.split_whitespace().filter(|word| !is_place(word)).collect();
    words.join(" ").chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_their_places() {
        for (message, expected) in [
            (
                "Error while parsing WGSL: :1:13 error: unresolved value 'x'\nfn main() { x = 1; }\n",
                "Error while parsing WGSL: error: unresolved value 'x'",
            ),
            ("\n\nBuffer is too small: 4", "Buffer is too small: 4"),
            ("", "no message"),
        ] {
            assert_eq!(said(message), expected);
        }
        assert_eq!(said(&"x".repeat(1 << 20)).len(), MESSAGE);
    }
}
