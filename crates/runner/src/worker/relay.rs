//! The far end of a device on another machine. It starts the worker there, hands frames on in both directions, and says how the worker
//! ended: a crash can then be distinguished from a lost connection, and the worker does not outlive the connection.
//!
//! ```text
//!   tangle ── ssh ──▶ relay ──▶ worker ──▶ driver
//! ```

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, select, tick};

use super::this_process::ExitStatus;
use crate::config::DriverConfig;
use crate::outcome::WorkerEnd;
use crate::process::{Event, Frame, WorkerProcess};
use crate::protocol::{self, FromWorker, ToWorker};

/// Time between two reports of what the worker has used up.
pub(crate) const EVERY: Duration = Duration::from_secs(1);

/// Serves one worker until it or the connection ends.
pub(super) fn serve() -> Result<ExitStatus, String> {
    let Some(driver) = receive_start(&mut io::stdin().lock())? else { return Ok(ExitStatus::Closed) };
    // This thread starts the worker and lives as long as the process: Linux kills the worker with the thread that started it.
    let mut worker = match WorkerProcess::spawn(&driver, None) {
        Ok(worker) => worker,
        Err(problem) => {
            let devices = Err(problem.to_string().into());
            send(&FromWorker::Hello { version: protocol::VERSION, devices })?;
            return Ok(ExitStatus::Closed);
        }
    };
    let (connected, lost) = bounded::<()>(0);
    let frames = worker.frames();
    let bound = worker.bound();
    std::thread::spawn(move || hand_on(&frames, &bound, connected));
    let clock = tick(EVERY);
    loop {
        let event = select! {
            recv(worker.events()) -> event => event.unwrap_or(Event::Closed),
            recv(clock) -> _ => {
                if let Some(usage) = worker.usage() {
                    send(&FromWorker::Used(usage))?;
                }
                continue;
            }
            recv(lost) -> _ => {
                worker.kill();
                return Ok(ExitStatus::Closed);
            }
        };
        let (end, stderr) = match event {
            Event::Message(message) => {
                send(&message)?;
                continue;
            }
            Event::Closed => worker.reap(),
            Event::Garbage(what) => (WorkerEnd::Garbage(what), worker.kill().1),
        };
        send(&FromWorker::Ended { end, stderr })?;
        return Ok(ExitStatus::Closed);
    }
}

fn receive_start(input: &mut impl Read) -> Result<Option<DriverConfig>, String> {
    match protocol::read(input, || protocol::SMALL) {
        Ok(Some(ToWorker::Start { version, driver })) if version == protocol::VERSION => Ok(Some(driver)),
        Ok(None) => Ok(None),
        Ok(Some(_)) => Err("this worker and tangle are of different versions".to_owned()),
        Err(error) => Err(format!("cannot read from tangle: {error}")),
    }
}

/// Hands frames from the connection to the worker; `_connected` is dropped when no more come.
fn hand_on(frames: &Sender<Frame>, bound: &AtomicU64, _connected: Sender<()>) {
    let mut input = io::stdin().lock();
    while let Ok(Some(frame)) = protocol::read_frame(&mut input, || protocol::LARGEST_JOB) {
        // What a job asks for is for tangle to know, which bounds what comes back through here.
        bound.store(protocol::LARGEST_JOB, Ordering::Relaxed);
        if frames.send(frame.into()).is_err() {
            return;
        }
    }
}

fn send(message: &FromWorker) -> Result<(), String> {
    protocol::write(&mut io::stdout().lock(), message).map_err(|error| format!("cannot write to tangle: {error}"))
}
