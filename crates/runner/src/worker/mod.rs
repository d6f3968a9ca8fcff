//! The worker: this program started again to talk to one driver, so that the driver may crash or hang.
//!
//! ```text
//!   stdin ──▶ reader thread ──▶ queue ──▶ main thread ──▶ driver
//!                                          │
//!   stdout ◀─ Started, Done ───────────────┘        stderr ◀─ whatever the driver prints
//! ```
//!
//! The main thread calls the driver and writes the protocol itself (see `protocol.rs` for why); the reader thread has
//! the next job decoded by the time the driver is free. File descriptor 1 is pointed at standard error before the driver
//! is loaded, so that a driver that prints cannot break the protocol.

mod backend;
pub(crate) mod fault;
mod gl;
mod memory;
pub(crate) mod null;
mod progress;
mod relay;
mod rewrite;
mod stack;
mod system;
pub(crate) mod this_process;
mod vulkan;
mod webgpu;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use crossbeam_channel::{Receiver, unbounded};

use crate::config::WORKER_VARIABLE;
use crate::gpu_lock;
use crate::info::DriverMode;
use crate::job::Job;
use crate::meter::process_time;
use crate::outcome::{Outcome, Stage};
use crate::protocol::{self, FromWorker, ReadError, ToWorker};
use backend::Backend;
use fault::Faults;
use tangle_features::Api;
use tangle_files::text::Line;

pub use fault::{FAULT_VARIABLE, STATE_VARIABLE};
pub(crate) use memory::leave_without as leave_without_memory;
pub use null::NULL_VARIABLE;
pub(crate) use relay::EVERY as RELAY_REPORTS;
pub use rewrite::REWRITE_VARIABLE;
pub(crate) use this_process::OUTDATED;
use this_process::{ExitStatus, leave, take_stdout};
pub use webgpu::RUNTIME_VARIABLE;

/// Becomes a worker, or the compilers, and never returns when the environment says so; else returns at once.
///
/// Every program that opens devices calls this before anything else in `main`, because its workers are the program
/// itself, started again.
pub fn run_if_requested() {
    #[cfg(feature = "toolchain")]
    crate::toolchain::run_if_requested();
    if std::env::var_os(WORKER_VARIABLE).is_some_and(|value| value == "1") {
        let code = serve().unwrap_or_else(|problem| {
            eprintln!("tangle worker: {problem}");
            ExitStatus::Failed
        });
        leave(code);
    }
}

fn serve() -> Result<ExitStatus, String> {
    // Failing leaves a worker that ends a moment later, when its input closes.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let mut output = take_stdout().map_err(|error| format!("cannot set up the pipes: {error}"))?;
    let mut input = io::stdin().lock();
    stack::write_at_crash();
    let faults = Faults::from_environment()?;
    faults.at_start();
    let Some(Greeting { driver, mode, api, prefix, lock }) = receive_hello(&mut input)? else {
        return Ok(ExitStatus::Closed);
    };
    // A driver that is loaded asks the GPU what it is, too.
    let opens = lock.as_deref().and_then(gpu_lock::right_to_open);
    let mut backend: Box<dyn Backend> = match api {
        _ if null::requested() => Box::new(null::Null::default()),
        Api::Vulkan => Box::new(vulkan::Vulkan::default()),
        Api::OpenGl => Box::new(gl::Gl::default()),
        Api::WebGpu => Box::new(webgpu::WebGpu::new(prefix)),
    };
    let devices = backend.devices(&driver, mode).map_err(Line::from);
    send(&mut output, &FromWorker::Hello { version: protocol::VERSION, devices })?;
    let Some(index) = receive_open(&mut input)? else { return Ok(ExitStatus::Closed) };
    let problem = backend.open(index).err().map(Line::from);
    drop(opens);
    leave_without_memory();
    send(&mut output, &FromWorker::Opened { problem })?;
    drop(input);
    work(backend.as_mut(), &faults, &mut output)
}

/// What the parent says first.
struct Greeting {
    driver: String,
    mode: DriverMode,
    api: Api,
    prefix: Vec<String>,
    /// The lock of the GPU, if it is known which one it will be.
    lock: Option<PathBuf>,
}

fn receive_hello(input: &mut impl Read) -> Result<Option<Greeting>, String> {
    match protocol::read(input, || protocol::SMALL) {
        Ok(Some(ToWorker::Hello { version, driver, mode, api, prefix, lock })) if version == protocol::VERSION => {
            Ok(Some(Greeting { driver, mode, api, prefix, lock }))
        }
        Ok(None) => Ok(None),
        Ok(Some(other)) => Err(format!("unexpected greeting {other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

fn receive_open(input: &mut impl Read) -> Result<Option<u32>, String> {
    match protocol::read(input, || protocol::SMALL) {
        Ok(Some(ToWorker::Open { index })) => Ok(Some(index)),
        Ok(None) => Ok(None),
        Ok(Some(_)) => Err("expected a device to open".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn send(output: &mut File, message: &FromWorker) -> Result<(), String> {
    protocol::write(output, message).map_err(unwritten)
}

fn unwritten(error: io::Error) -> String {
    format!("cannot write to the parent: {error}")
}

fn work(backend: &mut dyn Backend, faults: &Faults, output: &mut File) -> Result<ExitStatus, String> {
    for job in read_jobs()? {
        faults.before(job.id);
        let mut progress = |stage| {
            // A parent that is gone gets no message; the reader thread is about to see the end of input.
            let _ = protocol::write(output, &FromWorker::Started { id: job.id, stage });
            faults.at_stage(job.id, stage, output);
        };
        let before = process_time();
        let mut outcome = match faults.replaces(&job) {
            Some(outcome) => {
                progress(Stage::Check);
                outcome
            }
            None => backend.run(&job, &mut progress),
        };
        if let Outcome::Completed(completed) = &mut outcome {
            // A runtime in a process of its own has said what it took.
            completed.times.processor_us += process_time().saturating_sub(before).as_micros() as u64;
            faults.change(job.id, completed);
        }
        let done = FromWorker::Done { id: job.id, outcome };
        faults.answer(job.id, &done, output).map_err(unwritten)?;
    }
    Ok(ExitStatus::Closed)
}

/// Reads jobs ahead of the driver on a thread of its own.
fn read_jobs() -> Result<Receiver<Job>, String> {
    let (sender, receiver) = unbounded();
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            match protocol::read(&mut input, || protocol::LARGEST_JOB) {
                Ok(Some(ToWorker::Job(job))) => drop(sender.send(job)),
                // The parent has closed the device or died. The main thread may be inside the driver for ever.
                Ok(None) | Err(ReadError::Cut) => leave(ExitStatus::Closed),
                Ok(Some(_)) => broken("an unexpected message"),
                Err(error) => broken(&error.to_string()),
            }
        }
    };
    std::thread::Builder::new()
        .name("tangle-reader".to_owned())
        .spawn(read)
        .map_err(|error| format!("cannot start the reader thread: {error}"))?;
    Ok(receiver)
}

fn broken(what: &str) -> ! {
    eprintln!("tangle worker: cannot read from the parent: {what}");
    leave(ExitStatus::Failed)
}

/// The whole `main` of a program that is only a worker: one that tangle starts, or the relay to one, which tangle starts over
/// `ssh` or the like.
pub fn worker_main() -> ExitCode {
    run_if_requested();
    if io::stdin().is_terminal() {
        eprintln!("this is a worker of tangle; `remote` in a devices.toml starts it (docs/devices-setup.md)");
        return ExitCode::from(64);
    }
    let code = relay::serve().unwrap_or_else(|problem| {
        eprintln!("tangle worker: {problem}");
        ExitStatus::Failed
    });
    leave(code)
}
