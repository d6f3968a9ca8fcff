//! A device for campaigns: jobs go in, outcomes come out, and whatever happens to the driver is somebody else's worry.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::check::Expected;
use crate::config::DriverConfig;
use crate::error::{DeviceError, StartProblem};
use crate::info::DeviceInfo;
use crate::job::{Job, Outcome, Suspicion, Terms};
use crate::process::Frame;
use crate::protocol::{self, ToWorker};
use crate::scheduler::Scheduler;
use crate::supervisor::{self, Queued};

/// The most time for one job where nobody says anything else.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How many times the limit a job has that runs again.
pub(crate) const CONFIRMATION: u32 = 10;

/// How a device is run.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// The most time for one job: of the processor, all threads and children of the worker together, or of a device that says how
    /// long it works for a process. Time in which the worker waits for a processor is not counted; time in which it is blocked by
    /// something else counts a third. `None`: the driver's entry says it, or 10 s.
    pub timeout: Option<Duration>,
    /// How many jobs may be submitted and unfinished. Two keep the driver busy; more smooth out uneven producers.
    pub in_flight: usize,
    /// Executable to start as the worker; this program when `None`.
    pub worker_exe: Option<PathBuf>,
    /// The most time, counted in the same way, for a worker to come up, and for an idle worker to begin a job.
    pub start_timeout: Duration,
    /// File that gets all that the worker and its driver write on standard error.
    pub stderr: Option<PathBuf>,
    /// After so many workers in a row that did not come up or died before they began a job, the device is given up.
    pub max_start_failures: u32,
    /// Those with whom its workers share the processors.
    pub scheduler: Scheduler,
    /// How much time the device gets when there are others, in relation to them.
    pub weight: f64,
}

impl Default for DeviceOptions {
    fn default() -> DeviceOptions {
        DeviceOptions {
            timeout: None,
            in_flight: 3,
            worker_exe: None,
            start_timeout: Duration::from_secs(30),
            stderr: None,
            max_start_failures: 5,
            scheduler: Scheduler::of_this_process(),
            weight: 1.0,
        }
    }
}

impl DeviceOptions {
    /// The time-out in force for a driver.
    pub fn timeout_for(&self, driver: &DriverConfig) -> Duration {
        self.timeout.or_else(|| driver.timeout()).unwrap_or(TIMEOUT)
    }

    /// How long a driver may take for a job that runs again ([`Terms::Again`]).
    pub fn confirmation_for(&self, driver: &DriverConfig) -> Duration {
        self.timeout_for(driver).saturating_mul(CONFIRMATION)
    }
}

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Id of the job.
    pub job: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// How a device has fared since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Jobs that have an outcome.
    pub jobs: u64,
    /// Time in which the worker had a job.
    pub busy: Duration,
    /// Time in the driver: [`crate::Times::driver_us`], and all the time of jobs that crashed or hung.
    pub driver: Duration,
    /// Workers started after the first.
    pub restarts: u64,
    /// Jobs with [`Outcome::Crashed`].
    pub crashes: u64,
    /// Jobs with [`Outcome::TimedOut`] that was not confirmed yet ([`Device::submit_alone`]).
    pub time_outs: u64,
    /// Jobs that timed out, and ended when they ran alone with more time.
    pub slow: u64,
    /// Jobs whose worker was killed from outside, and that went through when they ran again.
    pub killed: u64,
    /// Jobs for which there was no memory, and then was.
    pub short_of_memory: u64,
}

impl DeviceStats {
    /// Share of the busy time that was spent in the driver, 0 to 1; 1 when there was none.
    pub fn driver_share(&self) -> f64 {
        if self.busy.is_zero() { 1.0 } else { self.driver.as_secs_f64() / self.busy.as_secs_f64() }
    }
}

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
    /// When the worker does not come up or has no such device.
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

    fn queue(&self, job: Job, terms: Terms, completions: &Sender<Completion>) {
        let id = job.id;
        let expected = Expected::of(&job, self.info.mode);
        let frame = protocol::encode(&ToWorker::Job(job)).map(Frame::from);
        let queued = Queued { id, frame, expected, terms, completions: completions.clone() };
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

/// What a device and its supervisor share.
pub(crate) struct Shared {
    in_flight: usize,
    state: Mutex<State>,
    place: Condvar,
}

/// The part of [`Shared`] under its lock.
#[derive(Default)]
pub(crate) struct State {
    unfinished: usize,
    busy_since: Option<Instant>,
    stats: DeviceStats,
}

impl State {
    fn stats_now(&self) -> DeviceStats {
        let mut stats = self.stats;
        stats.busy += self.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        stats
    }
}

impl Shared {
    fn new(in_flight: usize) -> Shared {
        Shared { in_flight: in_flight.max(1), state: Mutex::default(), place: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_place(&self) {
        let full = |state: &mut State| state.unfinished >= self.in_flight;
        let state = self.place.wait_while(self.state(), full);
        Shared::enter(&mut state.unwrap_or_else(PoisonError::into_inner));
    }

    fn try_take_place(&self) -> bool {
        let mut state = self.state();
        let free = state.unfinished < self.in_flight;
        if free {
            Shared::enter(&mut state);
        }
        free
    }

    fn enter(state: &mut State) {
        state.unfinished += 1;
    }

    /// Whether the worker has a job now.
    pub(crate) fn note_work(&self, has_job: bool) {
        let mut state = self.state();
        if has_job {
            state.busy_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = state.busy_since.take() {
            state.stats.busy += since.elapsed();
        }
    }

    /// Counts a job that is over, and makes place for another.
    pub(crate) fn finish(&self, outcome: &Outcome, driver: Duration, cleared: Option<Suspicion>) {
        let mut state = self.state();
        state.unfinished = state.unfinished.saturating_sub(1);
        state.stats.jobs += 1;
        state.stats.driver += driver;
        match outcome {
            Outcome::Crashed { .. } => state.stats.crashes += 1,
            Outcome::TimedOut { .. } if cleared.is_none() => state.stats.time_outs += 1,
            _ => {}
        }
        match cleared.filter(|_| outcome.suspicion().is_none()) {
            Some(Suspicion::Slow) => state.stats.slow += 1,
            Some(Suspicion::Killed) => state.stats.killed += 1,
            Some(Suspicion::OutOfMemory) => state.stats.short_of_memory += 1,
            Some(Suspicion::Crashed | Suspicion::Lost | Suspicion::Disturbed) | None => {}
        }
        self.place.notify_all();
    }

    /// Counts a worker that replaces another.
    pub(crate) fn count_restart(&self) {
        self.state().stats.restarts += 1;
    }
}
