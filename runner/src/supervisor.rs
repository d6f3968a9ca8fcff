//! The thread behind a [`crate::Device`]: keeps one worker running, watches the clock, and places the blame.
//!
//! ```text
//!   submit ──▶ queue: [ job being run | jobs sent ahead … ]        front of the queue = what the worker is at
//!                          │
//!      Done                │ → its outcome, the next one moves up
//!      worker gone         │ Started seen → Crashed, and only this job; no Started → nobody is blamed
//!      clock               │ Started seen → TimedOut; no Started → the worker is replaced
//!      connection gone     │ nobody is blamed: what runs on another machine is run again
//!                          ▼
//!      a new worker gets everything that is left in the queue, in the same order
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, at, never, select};

use crate::config::DriverConfig;
use crate::device::{Completion, Options, Shared};
use crate::error::StartProblem;
use crate::info::DeviceInfo;
use crate::job::{Outcome, Stage, WorkerEnd};
use crate::process::{Event, Frame, Wait, WorkerProcess};
use crate::protocol::FromWorker;

/// First pause after a worker that did not come up; doubles with each one more.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The same for workers on another machine: a network may take minutes to come back, or a machine to start again.
const FIRST_REMOTE_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_REMOTE_PAUSE: Duration = Duration::from_secs(30);

/// So many times as many workers may fail to come up there.
const REMOTE_PATIENCE: u32 = 2;

/// How a worker went.
enum Gone {
    /// It closed its pipes; its process tells the rest.
    Closed,
    /// It broke the protocol in this way.
    Broke(String),
    /// Its relay tells how it ended.
    Ended(WorkerEnd, String),
}

/// A job on its way.
pub(crate) struct Queued {
    pub(crate) id: u64,
    /// None when the job is too long to be sent.
    pub(crate) frame: Option<Frame>,
    pub(crate) completions: Sender<Completion>,
}

/// What the worker has begun and not finished.
struct Running {
    stage: Stage,
    since: Instant,
}

/// The state of the thread.
pub(crate) struct Supervisor {
    driver: DriverConfig,
    index: u32,
    worker_exe: Option<PathBuf>,
    stderr: Option<PathBuf>,
    timeout: Duration,
    start: Wait,
    max_start_failures: u32,
    submitted: Receiver<Queued>,
    shared: Arc<Shared>,
    worker: Option<WorkerProcess>,
    /// Submitted and unfinished; all of it has been sent to the worker.
    queue: VecDeque<Queued>,
    /// Whether the worker has begun the front of the queue.
    running: Option<Running>,
    /// Since when the worker ought to begin the front of the queue.
    idle_since: Instant,
    /// Workers in a row that did not begin a job.
    failures: u32,
    /// Why there will be no more workers.
    given_up: Option<String>,
}

/// Whether the thread goes on.
enum Next {
    GoOn,
    Stop,
}

impl Supervisor {
    pub(crate) fn new(
        driver: &DriverConfig,
        index: u32,
        options: &Options,
        submitted: Receiver<Queued>,
        cancelled: Receiver<()>,
        shared: Arc<Shared>,
    ) -> Supervisor {
        Supervisor {
            driver: driver.clone(),
            index,
            worker_exe: options.worker_exe.clone(),
            stderr: options.stderr.clone(),
            timeout: options.timeout_for(driver),
            start: Wait { limit: options.start_timeout, cancelled },
            max_start_failures: options.max_start_failures.max(1)
                * if driver.is_remote() { REMOTE_PATIENCE } else { 1 },
            submitted,
            shared,
            worker: None,
            queue: VecDeque::new(),
            running: None,
            idle_since: Instant::now(),
            failures: 0,
            given_up: None,
        }
    }

    /// The whole life of a device; `opened` hears how the first worker came up.
    pub(crate) fn run(mut self, opened: &Sender<Result<DeviceInfo, StartProblem>>) {
        let first = self.start_worker();
        let failed = first.is_err();
        let _ = opened.send(first);
        if failed {
            return;
        }
        while let Next::GoOn = self.step() {}
        self.end();
    }

    fn step(&mut self) -> Next {
        self.refuse_unsendable();
        if self.given_up.is_some() {
            self.lose_everything();
        } else if self.worker.is_none() && !self.queue.is_empty() {
            return self.restart();
        }
        let events = self.worker.as_ref().map_or_else(never, |worker| worker.events().clone());
        let clock = self.deadline().map_or_else(never, at);
        select! {
            recv(self.submitted) -> job => match job {
                Ok(job) => self.accept(job),
                Err(_) => return Next::Stop,
            },
            recv(events) -> event => self.hear(event.unwrap_or(Event::Closed)),
            recv(clock) -> _ => self.expire(),
        }
        Next::GoOn
    }

    /// Takes a job in and sends it ahead; without a worker it is sent when there is one.
    fn accept(&mut self, job: Queued) {
        if self.queue.is_empty() {
            self.idle_since = Instant::now();
        }
        self.send(&job);
        self.queue.push_back(job);
    }

    fn send(&self, job: &Queued) {
        if let (Some(worker), Some(frame)) = (&self.worker, &job.frame) {
            worker.send(Arc::clone(frame));
        }
    }

    /// Ends jobs that are too long to be sent, when their turn comes.
    fn refuse_unsendable(&mut self) {
        while self.queue.front().is_some_and(|job| job.frame.is_none()) {
            let problems = vec!["the job is larger than 4 GiB".to_owned()];
            self.finish_front(Outcome::Invalid { problems }, Duration::ZERO);
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Message(FromWorker::Started { id, stage }) if self.is_front(id) => self.note_stage(stage),
            Event::Message(FromWorker::Done { id, outcome }) if self.is_front(id) => self.note_done(outcome),
            Event::Message(FromWorker::Ended { end, last_words }) => self.bury(Gone::Ended(end, last_words)),
            Event::Message(other) => self.bury(Gone::Broke(format!("unexpected {other:?}"))),
            Event::Garbage(what) => self.bury(Gone::Broke(what)),
            Event::Closed => self.bury(Gone::Closed),
        }
    }

    fn is_front(&self, id: u64) -> bool {
        self.queue.front().is_some_and(|job| job.id == id)
    }

    fn note_stage(&mut self, stage: Stage) {
        let since = self.running.as_ref().map_or_else(Instant::now, |running| running.since);
        self.running = Some(Running { stage, since });
    }

    fn note_done(&mut self, outcome: Outcome) {
        let spent = match &outcome {
            Outcome::Completed(completed) => Duration::from_micros(completed.times.driver_us()),
            _ => Duration::ZERO,
        };
        self.failures = 0;
        let spoilt = spoils_worker(&outcome);
        self.finish_front(outcome, spent);
        if spoilt {
            self.worker.take().as_mut().map(WorkerProcess::kill);
        }
    }

    /// Gives the front of the queue its outcome.
    fn finish_front(&mut self, outcome: Outcome, driver: Duration) {
        self.running = None;
        self.idle_since = Instant::now();
        if let Some(job) = self.queue.pop_front() {
            // Counted first: whoever receives it may submit again at once, and finds its place free.
            self.shared.finish(&outcome, driver);
            let _ = job.completions.send(Completion { job: job.id, outcome });
        }
    }

    /// The worker is gone, or has to go because it broke the protocol.
    fn bury(&mut self, gone: Gone) {
        let Some(mut worker) = self.worker.take() else { return };
        let (end, last_words) = match gone {
            Gone::Closed if self.driver.is_remote() => {
                // The job being run stays at the front of the queue.
                self.running = None;
                let (_, last_words) = worker.kill();
                return self.count_failure(&StartProblem::Disconnected { last_words });
            }
            Gone::Closed => worker.reap(),
            Gone::Broke(what) => (WorkerEnd::Garbage(what), worker.kill().1),
            Gone::Ended(end, last_words) => {
                worker.kill();
                (end, last_words)
            }
        };
        match self.running.take() {
            Some(Running { stage, since }) => {
                self.failures = 0;
                self.finish_front(Outcome::Crashed { end, stage, last_words }, since.elapsed());
            }
            None => self.count_failure(&StartProblem::Died { end: end.to_string(), last_words }),
        }
    }

    /// When the present wait is too long.
    fn deadline(&self) -> Option<Instant> {
        self.worker.as_ref()?;
        match &self.running {
            Some(running) => Some(running.since + self.timeout),
            None if self.queue.is_empty() => None,
            None => Some(self.idle_since + self.start.limit),
        }
    }

    fn expire(&mut self) {
        // On a machine that was asleep or stopped, what the worker did in time may still wait to be heard.
        if let Some(event) = self.worker.as_ref().and_then(|worker| worker.events().try_recv().ok()) {
            return self.hear(event);
        }
        let Some(mut worker) = self.worker.take() else { return };
        match self.running.take() {
            Some(Running { stage, since }) => {
                let after = since.elapsed();
                let (_, last_words) = worker.kill();
                self.failures = 0;
                self.finish_front(Outcome::TimedOut { stage, after, last_words }, after);
            }
            None => {
                let (_, last_words) = worker.kill();
                self.count_failure(&StartProblem::Silent { seconds: self.start.limit.as_secs_f64(), last_words });
            }
        }
    }

    fn count_failure(&mut self, problem: &StartProblem) {
        self.failures += 1;
        if self.failures >= self.max_start_failures {
            self.given_up = Some(format!("gave up after {} workers: {problem}", self.failures));
        }
    }

    /// Replaces the worker, after a pause when the last ones did not come up.
    fn restart(&mut self) -> Next {
        if self.failures > 0 {
            let (first, longest) = match self.driver.is_remote() {
                true => (FIRST_REMOTE_PAUSE, LONGEST_REMOTE_PAUSE),
                false => (FIRST_PAUSE, LONGEST_PAUSE),
            };
            let pause = first.saturating_mul(1 << (self.failures - 1).min(10)).min(longest);
            if let Err(RecvTimeoutError::Disconnected) = self.start.cancelled.recv_timeout(pause) {
                return Next::Stop;
            }
        }
        self.shared.count_restart();
        match self.start_worker() {
            Ok(_) => {
                self.idle_since = Instant::now();
                self.queue.iter().for_each(|job| self.send(job));
            }
            Err(problem) => self.count_failure(&problem),
        }
        Next::GoOn
    }

    fn start_worker(&mut self) -> Result<DeviceInfo, StartProblem> {
        let mut worker = WorkerProcess::spawn_logged(&self.driver, self.worker_exe.as_deref(), self.stderr.as_deref())?;
        let mut devices = worker.greet(&self.driver, &self.start)?;
        let index = self.index as usize;
        if index >= devices.len() {
            return Err(StartProblem::NoSuchIndex(self.index));
        }
        // The worker's own limit is only for a parent that is stopped; this one looks at the clock itself.
        worker.open(self.index, self.timeout * 2, &self.start)?;
        self.worker = Some(worker);
        Ok(devices.swap_remove(index))
    }

    fn lose_everything(&mut self) {
        let reason = self.given_up.clone().unwrap_or_default();
        while !self.queue.is_empty() {
            self.finish_front(worker_lost(&reason), Duration::ZERO);
        }
    }

    /// The device was dropped.
    fn end(&mut self) {
        let patience = if self.queue.is_empty() { Duration::from_secs(1) } else { Duration::ZERO };
        if let Some(worker) = &mut self.worker {
            worker.close(patience);
        }
    }
}

/// The outcome of a job for which there is no worker.
pub(crate) fn worker_lost(reason: &str) -> Outcome {
    Outcome::WorkerLost { reason: reason.to_owned() }
}

/// True when a worker is no longer to be trusted after this outcome.
fn spoils_worker(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::DeviceLost { .. } | Outcome::TimedOut { .. } => true,
        // Whatever used the memory up is gone with the process.
        Outcome::VulkanError { result, .. } => result.contains("OUT_OF"),
        _ => false,
    }
}
