//! A device for campaigns: jobs go in, outcomes come out, and whatever happens to the driver is somebody else's worry.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::check::Expected;
use crate::config::DriverConfig;
use crate::error::{DeviceError, StartProblem};
use crate::info::DeviceInfo;
use crate::job::{Job, Pipeline};
use crate::outcome::{Outcome, Stage, Terms};
use crate::process::Frame;
use crate::protocol::{self, ToWorker};
use crate::shared::{Completion, DeviceOptions, DeviceStats, Shared};
use crate::supervisor::{self, Queued};

/// An open device with its worker. Any thread may submit and receive; closing is dropping.
///
/// Jobs are run one after the other in the order they were submitted, and their outcomes come in that order. A job that
/// kills or hangs its worker is blamed for it, once; the jobs behind it are run by the next worker.
pub struct Device {
    info: DeviceInfo,
    driver: DriverConfig,
    options: DeviceOptions,
    shared: Arc<Shared>,
    commands: Option<Sender<Queued>>,
    /// Dropped to stop whatever the supervisor waits for.
    alive: Option<Sender<()>>,
    outcomes: Sender<Completion>,
    results: Receiver<Completion>,
    supervisor: Option<JoinHandle<()>>,
}

impl Device {
    /// Starts a worker and has it open the driver's device with this index.
    ///
    /// # Errors
    ///
    /// When the worker does not start or has no such device.
    pub fn open(driver: &DriverConfig, index: u32, options: &DeviceOptions) -> Result<Device, DeviceError> {
        let shared = Arc::new(Shared::new(options.in_flight));
        let (commands, queue) = unbounded();
        let (alive, cancelled) = bounded(0);
        let (opened, first) = bounded(1);
        let (outcomes, results) = unbounded();
        let supervisor = supervisor::Supervisor::new(driver, index, options, queue, cancelled, Arc::clone(&shared));
        // The thread that starts a worker must outlive it, so the supervisor starts even the first one itself.
        let thread = std::thread::spawn(move || supervisor.run(&opened));
        let problem = |problem| DeviceError::Driver { driver: driver.name.clone(), problem };
        let lost = || problem(StartProblem::Protocol("its supervisor ended".into()));
        let info = first.recv().map_err(|_| lost())?.map_err(problem)?;
        Ok(Device {
            info,
            driver: driver.clone(),
            options: options.clone(),
            shared,
            commands: Some(commands),
            alive: Some(alive),
            outcomes,
            results,
            supervisor: Some(thread),
        })
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// How it was opened.
    pub fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// The entry of its driver.
    pub fn driver(&self) -> &DriverConfig {
        &self.driver
    }

    /// Queues a job; waits while as many jobs as [`DeviceOptions::in_flight`] are unfinished.
    pub fn submit(&self, job: Job) {
        self.submit_to(job, &self.outcomes);
    }

    /// The same, with its completion sent elsewhere: many devices can share one channel.
    pub fn submit_to(&self, job: Job, completions: &Sender<Completion>) {
        self.submit_on(job, Terms::Usual, completions);
    }

    /// The same, on other terms than usual.
    pub fn submit_on(&self, job: Job, terms: Terms, completions: &Sender<Completion>) {
        self.shared.take_place();
        self.queue(job, terms, completions);
    }

    /// Queues a job unless as many as [`DeviceOptions::in_flight`] are unfinished.
    ///
    /// # Errors
    ///
    /// Gives the job back when there is no place for it.
    #[expect(clippy::result_large_err, reason = "whoever submits a job has it by value, and gets it back so")]
    pub fn try_submit(&self, job: Job) -> Result<(), Job> {
        if !self.shared.try_take_place() {
            return Err(job);
        }
        self.queue(job, Terms::Usual, &self.outcomes);
        Ok(())
    }

    /// Where the outcomes of [`Device::submit`] and [`Device::try_submit`] come in, in order.
    pub fn results(&self) -> &Receiver<Completion> {
        &self.results
    }

    /// Runs one job and waits for it. Other threads may submit in the meantime. A failure that may not be the job's own fault is
    /// confirmed ([`Terms::Again`]).
    pub fn run(&self, job: Job) -> Outcome {
        let outcome = self.run_once(job.clone(), Terms::Usual);
        match outcome.suspicion().filter(|suspicion| suspicion.is_cleared_by_success()) {
            Some(suspicion) => self.run_once(job, Terms::Again(suspicion)),
            None => outcome,
        }
    }

    fn run_once(&self, job: Job, terms: Terms) -> Outcome {
        let (sender, receiver) = bounded(1);
        self.shared.take_place();
        self.queue(job, terms, &sender);
        drop(sender);
        let completion = receiver.recv();
        completion.map_or_else(|_| supervisor::worker_lost("its supervisor ended"), |completion| completion.outcome)
    }

    /// Jobs submitted and unfinished.
    pub fn unfinished(&self) -> usize {
        self.shared.state().unfinished
    }

    /// How the device has fared so far.
    pub fn stats(&self) -> DeviceStats {
        self.shared.state().stats_now()
    }

    /// What the worker does for a job now, and for how long it has.
    pub fn doing(&self) -> Option<(Stage, Duration)> {
        self.shared.state().doing()
    }

    fn queue(&self, job: Job, terms: Terms, completions: &Sender<Completion>) {
        let id = job.id;
        let expected = Expected::of(&job, self.info.mode);
        let draws = job.pipeline != Pipeline::Compute;
        let frame = protocol::encode(&ToWorker::Job(job)).map(Frame::from);
        let queued = Queued { id, frame, expected, draws, terms, completions: completions.clone() };
        // The supervisor ends only when this device is dropped.
        let _ = self.commands.as_ref().map(|commands| commands.send(queued));
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.commands = None;
        self.alive = None;
        if let Some(supervisor) = self.supervisor.take() {
            let _ = supervisor.join();
        }
    }
}
