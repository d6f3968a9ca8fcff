//! What executes jobs on a driver.

use crate::info::{DeviceInfo, DriverMode};
use crate::job::Job;
use crate::outcome::{Outcome, Stage};

/// What executes jobs: an interface to drivers.
pub(super) trait Backend {
    /// Every device of the driver.
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String>;
    /// Makes one of them ready for jobs.
    fn open(&mut self, index: u32) -> Result<(), String>;
    /// Runs a job; calls `progress` before each stage.
    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(Stage)) -> Outcome;
}

/// The outcome of a job before a device is open.
pub(super) fn not_open() -> Outcome {
    Outcome::WorkerLost { reason: "the worker has no open device".to_owned() }
}
