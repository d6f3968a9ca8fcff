//! What can go wrong before a job runs, each as one line for a person.

use std::path::PathBuf;

use tangle_files::text::{Line, Lines};

/// A `devices.toml` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read devices file {}: {source}", path.display())]
    Unreadable {
        /// The devices file.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Wrong {
        /// The devices file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong in that line.
        message: String,
    },
}

/// A device that could not be obtained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeviceError {
    /// No driver entry and no manifest on the machine.
    #[error(
        "no Vulkan driver found: install one (Debian: apt install mesa-vulkan-drivers) or list drivers in a devices.toml"
    )]
    NoDriver,
    /// There are drivers, and none of them has a device.
    #[error("no Vulkan device found; {reasons}")]
    NoDevice {
        /// Every driver with its reason.
        reasons: String,
    },
    /// No device has the name that was asked for.
    #[error("no device named `{name}`; there are: {available}")]
    NoSuchDevice {
        /// The name that was asked for.
        name: String,
        /// The names of those there are.
        available: String,
    },
    /// One driver's worker did not start.
    #[error("driver {driver}: {problem}")]
    Driver {
        /// Name of the driver's entry.
        driver: String,
        /// What went wrong with its worker.
        problem: StartProblem,
    },
}

/// Why a worker did not start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartProblem {
    /// The process could not be started.
    #[error("cannot start worker {program}: {reason}")]
    Spawn {
        /// The program that is the worker, or that starts it.
        program: Line,
        /// What the system said.
        reason: Line,
    },
    /// The driver's manifest is of no use.
    #[error("{0}")]
    Manifest(Line),
    /// The worker said what is wrong: no loader, or a Vulkan function that failed.
    #[error("{reason}{}", explained(stderr))]
    Refused {
        /// What is wrong, as the worker says it.
        reason: Line,
        /// What loader and driver wrote on standard error.
        stderr: Lines,
    },
    /// The worker died before it answered.
    #[error("worker {end} while starting{}", quoted(stderr))]
    Died {
        /// How it ended: by a signal, or with an exit code.
        end: Line,
        /// The end of what it wrote on standard error.
        stderr: Lines,
    },
    /// The worker did not answer in time.
    #[error("worker did not answer within {seconds:.0} s{}", quoted(stderr))]
    Silent {
        /// How long it was given.
        seconds: f64,
        /// The end of what it wrote on standard error.
        stderr: Lines,
    },
    /// The process is no worker of this version of tangle.
    #[error(
        "worker speaks another protocol ({0}); does the program call tangle_runner::worker::run_if_requested first?"
    )]
    Protocol(Line),
    /// The connection to a worker on another machine ended.
    #[error("the connection to it is lost{}", quoted(stderr))]
    Disconnected {
        /// What the command that held the connection wrote on standard error.
        stderr: Lines,
    },
    /// The driver has no device with this index any more.
    #[error("no device with index {0}")]
    NoSuchIndex(u32),
}

/// The first line, which is where the loader names the cause; less the loader's own prefix.
fn explained(stderr: &str) -> String {
    match stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim().trim_start_matches("ERROR:").trim()),
        None => String::new(),
    }
}

fn quoted(stderr: &str) -> String {
    match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}
