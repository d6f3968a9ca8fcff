//! What a device and the thread behind it share: how it is run, what comes out, how it has fared.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::DriverConfig;
use crate::outcome::{Outcome, Stage, Suspicion};
use crate::scheduler::Scheduler;

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
    /// The most time, counted in the same way, for a worker to start, and for an idle worker to begin a job.
    pub start_timeout: Duration,
    /// File that gets all that the worker and its driver write on standard error.
    pub stderr: Option<PathBuf>,
    /// After so many workers in a row that did not start or died before they began a job, the device is given up.
    pub max_start_failures: u32,
    /// Those with whom its workers share the processors.
    pub scheduler: Scheduler,
    /// How long a worker keeps its processor with nothing to do. The results of jobs may decide the next ones, as those of a minimiser's candidates do: if
    /// they had to stand in line each time, a candidate that takes 20 ms would wait for others' leases of a second.
    pub linger: Duration,
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
            linger: Duration::from_millis(50),
            weight: 1.0,
        }
    }
}

impl DeviceOptions {
    /// The time-out in force for a driver.
    pub fn timeout_for(&self, driver: &DriverConfig) -> Duration {
        self.timeout.or_else(|| driver.timeout()).unwrap_or(TIMEOUT)
    }

    /// How long a driver may take for a job that runs again ([`Terms::Again`](crate::outcome::Terms::Again)).
    pub fn confirmation_for(&self, driver: &DriverConfig) -> Duration {
        self.timeout_for(driver).saturating_mul(CONFIRMATION)
    }
}

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Id of the job.
    pub job: u64,
    /// What came of the job.
    pub outcome: Outcome,
}

/// Jobs, time and failures of a device since it was opened.
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
    /// Jobs with [`Outcome::TimedOut`] that was not confirmed yet ([`Device::submit_alone`](crate::Device::submit_alone)).
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

/// What a device and its supervisor share.
pub(crate) struct Shared {
    in_flight: usize,
    state: Mutex<State>,
    place: Condvar,
}

/// The part of [`Shared`] under its lock.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) unfinished: usize,
    busy_since: Option<Instant>,
    /// What the worker has begun, and when.
    doing: Option<(Stage, Instant)>,
    stats: DeviceStats,
}

impl State {
    pub(crate) fn stats_now(&self) -> DeviceStats {
        let mut stats = self.stats;
        stats.busy += self.busy_since.map_or(Duration::ZERO, |since| since.elapsed());
        stats
    }

    pub(crate) fn doing(&self) -> Option<(Stage, Duration)> {
        self.doing.map(|(stage, since)| (stage, since.elapsed()))
    }
}

impl Shared {
    pub(crate) fn new(in_flight: usize) -> Shared {
        Shared { in_flight: in_flight.max(1), state: Mutex::default(), place: Condvar::new() }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take_place(&self) {
        let full = |state: &mut State| state.unfinished >= self.in_flight;
        let state = self.place.wait_while(self.state(), full);
        Shared::enter(&mut state.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn try_take_place(&self) -> bool {
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
            state.doing = None;
        }
    }

    /// What the worker has begun.
    pub(crate) fn note_stage(&self, stage: Stage) {
        self.state().doing = Some((stage, Instant::now()));
    }

    /// Counts a job that is over, and makes place for another.
    pub(crate) fn finish(&self, outcome: &Outcome, driver: Duration, cleared: Option<Suspicion>) {
        let mut state = self.state();
        state.unfinished = state.unfinished.saturating_sub(1);
        state.doing = None;
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
