//! The thread behind a [`crate::Device`]: keeps one worker running, watches what it uses up, and places the blame.
//!
//! ```text
//!   submit ──▶ queue: [ job being run | sent ahead | waiting for a lease … ]      front of the queue = what the worker is at
//!                          │
//!      Done                │ → its outcome, the next one moves up
//!      worker gone         │ Started seen → Crashed, and only this job; no Started → nobody is blamed
//!      meter               │ Started seen → TimedOut; no Started → the worker is replaced
//!      connection gone     │ nobody is blamed: what runs on another machine is run again
//!                          ▼
//!      a new worker gets what is left in the queue, in the same order
//! ```
//!
//! Workers share the processors ([`crate::scheduler`]). Whoever has one sends a job ahead of the one that runs, and no more, so that its lease can end.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, at, never, select};

use crate::check::Expected;
use crate::config::DriverConfig;
use crate::error::StartProblem;
use crate::gpu_lock::{self, AWAY, Busy, IDLE, LEAVING, Presence};
use crate::info::DeviceInfo;
use crate::meter::{Meter, TICK, Usage};
use crate::outcome::{Outcome, Stage, Stall, Terms, WorkerEnd};
use crate::process::{Event, Frame, Wait, WorkerProcess};
use crate::protocol::FromWorker;
use crate::scheduler::{Lease, Request, Share};
use crate::shared::{CONFIRMATION, Completion, DeviceOptions, Shared};
use crate::worker::{OUTDATED, RELAY_REPORTS};
use tangle_files::text::{Line, Lines};

/// First pause after a worker that did not start; doubles with each one more.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest pause between two workers that do not start.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The same for workers on another machine: a network may take minutes to come back, or a machine to start again.
const FIRST_REMOTE_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_REMOTE_PAUSE: Duration = Duration::from_secs(30);

/// So many times as many workers may fail to start there.
const REMOTE_PATIENCE: u32 = 2;

/// So long a relay may say nothing before its connection counts as lost.
const REMOTE_SILENCE: Duration = Duration::from_secs(120);

/// How many times the limit of a job a killed process may hold the lock of the GPU before the GPU counts as stuck.
const STUCK: u32 = 6;

/// How many times the longest job a brief one may take, if so many were completed, and how long at least.
const BRIEF: u32 = 4;
const ENOUGH_JOBS: u64 = 50;
const SHORTEST_LIMIT: Duration = Duration::from_secs(1);

/// How many jobs the worker has at a time: the one that it runs, and one that it reads in the meantime.
const AHEAD: usize = 2;

/// How a worker went.
enum Gone {
    /// It closed its pipes; its process says the rest.
    Closed,
    /// It broke the protocol in this way.
    Broke(Line),
    /// Its relay says how it ended.
    Ended(WorkerEnd, Lines),
}

/// A job on its way.
pub(crate) struct Queued {
    pub(crate) id: u64,
    /// None when the job is too long to be sent.
    pub(crate) frame: Option<Frame>,
    /// What is expected back.
    pub(crate) expected: Expected,
    /// True if the job has a GPU to itself while it is executed ([`gpu_lock`]).
    pub(crate) draws: bool,
    pub(crate) terms: Terms,
    pub(crate) completions: Sender<Completion>,
}

/// What the worker is watched for.
struct Watch {
    /// What it has begun; `None` while it ought to begin the front of the queue.
    stage: Option<Stage>,
    meter: Meter,
    next_look: Instant,
}

impl Watch {
    fn new(stage: Option<Stage>, meter: Meter) -> Watch {
        Watch { stage, meter, next_look: Instant::now() + TICK }
    }
}

/// The state of the thread.
pub(crate) struct Supervisor {
    driver: DriverConfig,
    index: u32,
    worker_exe: Option<PathBuf>,
    stderr: Option<PathBuf>,
    timeout: Duration,
    /// How many jobs were completed, and how long the driver took for the longest.
    completed: u64,
    longest: Duration,
    start: Wait,
    max_start_failures: u32,
    submitted: Receiver<Queued>,
    shared: Arc<Shared>,
    worker: Option<WorkerProcess>,
    /// Jobs that were submitted and have no outcome, in order of submission.
    queue: VecDeque<Queued>,
    /// How many of these, from the front, the worker has been sent.
    sent: usize,
    /// None while the worker has nothing to do.
    watch: Option<Watch>,
    /// When the last message of the worker came.
    last_message: Instant,
    /// None for a worker on another machine, which takes nothing of this one.
    share: Option<Share>,
    request: Option<Request>,
    lease: Option<Lease>,
    /// How long a lease is kept with nothing to do.
    linger: Duration,
    /// Since when there is nothing to do.
    idle_since: Option<Instant>,
    /// Workers in a row that did not begin a job.
    failures: u32,
    /// Why there will be no more workers.
    given_up: Option<String>,
    /// The file that is locked by who uses the device, if it is a GPU of this machine.
    lock: Option<PathBuf>,
    /// The worker among the processes on that GPU.
    presence: Option<Presence>,
    /// When to see whether that GPU was reset, while the worker has nothing to do.
    next_look: Instant,
    /// The process that holds the lock although it was killed, and since when.
    killed_holder: Option<(u32, Instant)>,
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
        options: &DeviceOptions,
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
            completed: 0,
            longest: Duration::ZERO,
            start: Wait { limit: options.start_timeout, cancelled },
            max_start_failures: options.max_start_failures.max(1)
                * if driver.is_remote() { REMOTE_PATIENCE } else { 1 },
            submitted,
            shared,
            worker: None,
            queue: VecDeque::new(),
            sent: 0,
            watch: None,
            last_message: Instant::now(),
            share: (!driver.is_remote()).then(|| options.scheduler.share(options.weight)),
            request: None,
            lease: None,
            linger: options.linger,
            idle_since: None,
            failures: 0,
            given_up: None,
            lock: None,
            presence: None,
            next_look: Instant::now(),
            killed_holder: None,
        }
    }

    /// The whole life of a device; `opened` hears how the first worker started.
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
        }
        self.arrange_turn();
        if self.sent == 0 && self.presence.as_ref().is_some_and(Presence::has_had_its_turn) {
            self.drop_worker();
            self.give_way();
            return Next::GoOn;
        }
        if self.may_work() {
            if self.worker.is_none() {
                return self.restart();
            }
            self.send_ahead();
        }
        self.shared.note_work(self.sent > 0);
        let events = self.worker.as_ref().map_or_else(never, |worker| worker.events().clone());
        let granted = self.request.as_ref().map_or_else(never, |request| request.granted().clone());
        let on_gpu = self.worker.as_ref().and(self.lock.as_ref());
        let next_look = self.watch.as_ref().map(|watch| watch.next_look).or(on_gpu.map(|_| self.next_look));
        let clock = next_look.map_or_else(never, at);
        let lingered = self.lease.as_ref().and(self.idle_since).map_or_else(never, |since| at(since + self.linger));
        select! {
            recv(self.submitted) -> job => match job {
                Ok(job) => self.queue.push_back(job),
                Err(_) => return Next::Stop,
            },
            recv(events) -> event => self.hear(event.unwrap_or(Event::Closed)),
            recv(granted) -> grant => {
                self.request = None;
                self.lease = grant.ok().zip(self.share.as_ref()).map(|(grant, share)| share.begin(grant));
            }
            recv(clock) -> _ => self.look(),
            recv(lingered) -> _ => {}
        }
        Next::GoOn
    }

    /// Asks for a lease, or gives it back, as the queue and the others need.
    fn arrange_turn(&mut self) {
        let Some(share) = &self.share else { return };
        let Some(front) = self.queue.front() else {
            self.request = None;
            let since = *self.idle_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.linger
                || self.lease.as_ref().is_some_and(|lease| lease.is_over() || lease.is_alone())
            {
                self.lease = None;
            }
            return;
        };
        self.idle_since = None;
        let alone = front.terms.excludes_others();
        if self.sent == 0 && self.lease.as_ref().is_some_and(|lease| lease.is_over() || lease.is_alone() != alone) {
            self.lease = None;
        }
        if self.lease.is_none() && self.request.as_ref().is_none_or(|request| request.alone != alone) {
            // The old one must be gone from the line before it is replaced.
            self.request = None;
            self.request = Some(share.request(alone));
        }
    }

    /// True if there is something to do, and the right to do it.
    fn may_work(&self) -> bool {
        !self.queue.is_empty() && (self.share.is_none() || self.lease.is_some())
    }

    /// Sends what the worker may have.
    fn send_ahead(&mut self) {
        let Some(worker) = &self.worker else { return };
        while self.sent < AHEAD {
            let Some(Queued { frame: Some(frame), expected, terms, .. }) = self.queue.get(self.sent) else { break };
            let is_beside = self.sent > 0;
            let runs_again = |terms: Terms| terms.suspicion().is_some();
            if is_beside && (runs_again(*terms) || self.queue.front().is_some_and(|front| runs_again(front.terms))) {
                break;
            }
            let is_over = self.lease.as_ref().is_some_and(Lease::is_over)
                || self.presence.as_ref().is_some_and(Presence::has_had_its_turn);
            if is_beside && is_over {
                break;
            }
            worker.expect(expected.bytes());
            worker.send(Arc::clone(frame));
            if !is_beside {
                self.watch = Some(Watch::new(None, Meter::new(self.start.limit)));
            }
            self.sent += 1;
        }
    }

    /// Ends jobs that are too long to be sent, when they are next.
    fn refuse_unsendable(&mut self) {
        while self.queue.front().is_some_and(|job| job.frame.is_none()) {
            let problems = vec!["the job is larger than a message to a worker can be".to_owned()];
            self.finish_front(Outcome::Invalid { problems }, Duration::ZERO);
        }
    }

    fn hear(&mut self, event: Event) {
        self.last_message = Instant::now();
        match event {
            Event::Message(FromWorker::Started { id, stage }) if self.is_front(id) => self.note_stage(stage),
            Event::Message(FromWorker::Done { id, outcome }) if self.is_front(id) => self.note_done(outcome),
            Event::Message(FromWorker::Used(usage)) => {
                self.worker.iter_mut().for_each(|worker| worker.note_usage(usage));
            }
            Event::Message(FromWorker::Ended { end, stderr }) => self.bury(Gone::Ended(end, stderr)),
            Event::Message(_) => self.bury(Gone::Broke("an unexpected message".into())),
            Event::Garbage(what) => self.bury(Gone::Broke(what)),
            Event::Closed => self.bury(Gone::Closed),
        }
    }

    fn is_front(&self, id: u64) -> bool {
        self.sent > 0 && self.queue.front().is_some_and(|job| job.id == id)
    }

    fn note_stage(&mut self, stage: Stage) {
        self.shared.note_stage(stage);
        match &mut self.watch {
            Some(watch) if watch.stage.is_some() => watch.stage = Some(stage),
            _ => self.watch = Some(Watch::new(Some(stage), self.meter())),
        }
        let front = self.queue.front().filter(|front| front.draws && front.terms.suspicion().is_none());
        if let (Some(watch), Some(_), Some(_)) = (&mut self.watch, front, &self.lock) {
            watch.meter.set_alone(stage.is_executing());
        }
    }

    /// For what the front of the queue may use up.
    fn meter(&self) -> Meter {
        match self.queue.front().map(|job| job.terms).unwrap_or_default() {
            Terms::Usual => Meter::new(self.timeout),
            Terms::Brief if self.completed < ENOUGH_JOBS => Meter::new(self.timeout),
            Terms::Brief => Meter::new(self.timeout.min(self.longest.saturating_mul(BRIEF).max(SHORTEST_LIMIT))),
            Terms::Again(suspicion) if suspicion.excludes_others() => {
                Meter::with_nothing_beside(self.timeout.saturating_mul(CONFIRMATION))
            }
            Terms::Again(_) => Meter::new(self.timeout.saturating_mul(CONFIRMATION)),
        }
    }

    fn note_done(&mut self, mut outcome: Outcome) {
        let mut spent = Duration::ZERO;
        if let Outcome::Completed(completed) = &outcome {
            spent = Duration::from_micros(completed.times.driver_us());
            (self.completed, self.longest) = (self.completed + 1, self.longest.max(spent));
            if let Some(problem) = self.queue.front().and_then(|job| job.expected.problem(completed)) {
                let stage = self.watch.as_ref().and_then(|watch| watch.stage).unwrap_or(Stage::Check);
                outcome = Outcome::Implausible { problem: problem.into(), stage };
            }
        }
        self.failures = 0;
        let spoilt = spoils_worker(&outcome);
        self.finish_front(outcome, spent);
        if spoilt {
            self.drop_worker();
        }
    }

    /// Gives the front of the queue its outcome.
    fn finish_front(&mut self, outcome: Outcome, driver: Duration) {
        if let Some(job) = self.queue.pop_front() {
            self.sent = self.sent.saturating_sub(1);
            self.watch = (self.sent > 0).then(|| Watch::new(None, Meter::new(self.start.limit)));
            // Counted first: whoever receives it may submit again at once, and finds its place free.
            self.shared.finish(&outcome, driver, job.terms.suspicion());
            let _ = job.completions.send(Completion { job: job.id, outcome });
        }
    }

    /// Ends the worker. What it had been sent is sent again to the next one.
    fn drop_worker(&mut self) -> Lines {
        (self.sent, self.watch) = (0, None);
        let is_on_gpu = self.lock.is_some();
        let kill = |mut worker: WorkerProcess| if is_on_gpu { worker.kill_within(LEAVING) } else { worker.kill() };
        let stderr = self.worker.take().map(|worker| kill(worker).1).unwrap_or_default();
        self.presence = None;
        stderr
    }

    /// The worker is gone, or has to go because it broke the protocol.
    fn bury(&mut self, gone: Gone) {
        let Some(mut worker) = self.worker.take() else { return };
        let watch = self.watch.take();
        let (end, stderr) = match gone {
            Gone::Closed if self.driver.is_remote() => {
                // The job being run stays at the front of the queue.
                self.sent = 0;
                let (_, stderr) = worker.kill();
                return self.count_failure(&StartProblem::Disconnected { stderr });
            }
            Gone::Closed => worker.reap(),
            Gone::Broke(what) => (WorkerEnd::Garbage(what), worker.kill().1),
            Gone::Ended(end, stderr) => {
                worker.kill();
                (end, stderr)
            }
        };
        let says_outdated = matches!(end, WorkerEnd::Exit(OUTDATED));
        let was_reset = self.was_reset();
        let presence = self.presence.take();
        if says_outdated && was_reset {
            // The next one opens the device anew, and gets the same job.
            (self.sent, self.watch) = (0, None);
            return;
        }
        match watch.and_then(|watch| Some((watch.stage?, watch.meter.spent()))) {
            // Of a GPU of another machine only its own word is known: so many in a row are believed as may fail to start.
            Some(_) if says_outdated && self.driver.is_remote() => {
                self.count_failure(&StartProblem::Died { end: end.to_string().into(), stderr });
            }
            Some((stage, spent)) => {
                self.failures = 0;
                if matches!(stage, Stage::Wait { .. }) {
                    // Most likely the GPU still has what the worker left there.
                    self.count_reset(presence.as_ref());
                }
                let outcome = match end {
                    WorkerEnd::OutOfMemory(shortage) => Outcome::OutOfMemory { shortage, stage, stderr },
                    end => Outcome::Crashed { end, stage, stderr },
                };
                self.finish_front(outcome, spent);
            }
            None => self.count_failure(&StartProblem::Died { end: end.to_string().into(), stderr }),
        }
        (self.sent, self.watch) = (0, None);
    }

    /// Sees what the worker has used up.
    fn look(&mut self) {
        self.next_look = Instant::now() + TICK;
        let is_executing = self.watch.as_ref().and_then(|watch| watch.stage).is_some_and(Stage::is_executing);
        let is_idle = self.idle_since.is_some_and(|since| since.elapsed() >= IDLE);
        let is_idle_alone = is_idle && self.presence.as_ref().is_some_and(|presence| presence.is_alone);
        if let Some(worker) = &self.worker
            && (!is_executing && self.was_reset() || is_idle_alone)
        {
            // What it has said already counts.
            match worker.events().try_recv() {
                Ok(event) => self.hear(event),
                Err(_) => drop(self.drop_worker()),
            }
            return;
        }
        let (Some(watch), Some(worker)) = (&mut self.watch, &self.worker) else { return };
        let every = if self.driver.is_remote() { RELAY_REPORTS } else { TICK };
        watch.next_look = Instant::now() + every;
        let waits_for_others = matches!(watch.stage, Some(Stage::Lock { .. }));
        let dead = self.lock.as_deref().filter(|_| waits_for_others).and_then(gpu_lock::killed_holder);
        let since = self.killed_holder.filter(|(process, _)| Some(*process) == dead);
        self.killed_holder = dead.map(|process| since.unwrap_or((process, Instant::now())));
        if let Some((process, since)) = self.killed_holder
            && since.elapsed() >= self.timeout.saturating_mul(STUCK)
        {
            return self.give_up_gpu(process);
        }
        let usage = worker.usage().map(|usage| Usage { excused: usage.excused || waits_for_others, ..usage });
        let stalled = usage.and_then(|usage| watch.meter.look(Instant::now(), usage, every));
        let is_silent = self.driver.is_remote() && self.last_message.elapsed() >= REMOTE_SILENCE;
        if stalled.is_none() && !is_silent {
            return;
        }
        // A message that the worker sent in time may still wait to be read.
        if let Ok(event) = worker.events().try_recv() {
            return self.hear(event);
        }
        match stalled {
            Some((how, after)) => self.expire(how, after),
            None => self.bury(Gone::Closed),
        }
    }

    /// Nothing can run on the GPU any more, since a process that was killed keeps it.
    fn give_up_gpu(&mut self, process: u32) {
        self.drop_worker();
        self.given_up = Some(format!(
            "the GPU is stuck: process {process} was killed, but is still inside its driver and holds the GPU's lock; nothing else can run there until the driver lets it go"
        ));
    }

    /// Gives up if the GPU executes nothing any more. True if it does not: what hung there says nothing of the program.
    fn gives_up_dead_gpu(&mut self) -> bool {
        let is_dead = self.lock.as_deref().is_some_and(gpu_lock::is_dead);
        if is_dead {
            self.given_up = Some(format!(
                "the GPU executes nothing any more: {} processes in a row had to be ended in what they launched, and no launch of any other ended; it needs a reset, or the machine a restart",
                gpu_lock::MOST_IN_VAIN
            ));
        }
        is_dead
    }

    /// Adds the next worker to the processes on the GPU, if it is known which one that is.
    fn enter_gpu(&mut self, patience: Duration) -> Result<(), Busy> {
        self.presence = None;
        let is_wanted = |pause| self.start.cancelled.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
        if let Some(lock) = &self.lock {
            self.presence = Some(Presence::wait_for(lock, patience, is_wanted)?);
        }
        Ok(())
    }

    /// Others may be on the GPU, and have the processor.
    fn give_way(&mut self) {
        (self.lease, self.request) = (None, None);
        if self.queue.front().is_some() {
            self.shared.note_stage(Stage::Lock { launch: 0 });
        }
        // Who ends the thread is seen by the next step.
        let _ = self.start.cancelled.recv_timeout(AWAY);
    }

    /// True if the GPU was reset since the worker was added to the processes there.
    fn was_reset(&self) -> bool {
        let now = self.lock.as_deref().map(gpu_lock::resets);
        now.zip(self.presence.as_ref()).is_some_and(|(now, presence)| now != presence.resets)
    }

    fn count_reset(&self, presence: Option<&Presence>) {
        if let (Some(path), Some(presence)) = (&self.lock, presence) {
            gpu_lock::count_reset(path, presence.resets);
        }
    }

    fn expire(&mut self, how: Stall, after: Duration) {
        let stage = self.watch.as_ref().and_then(|watch| watch.stage);
        if stage.is_some_and(Stage::is_executing) {
            self.count_reset(self.presence.as_ref());
        }
        let stderr = self.drop_worker();
        if self.gives_up_dead_gpu() {
            return;
        }
        match stage {
            Some(stage) => {
                self.failures = 0;
                self.finish_front(Outcome::TimedOut { stage, how, after, stderr }, after);
            }
            None => self.count_failure(&StartProblem::Silent { seconds: self.start.limit.as_secs_f64(), stderr }),
        }
    }

    fn count_failure(&mut self, problem: &StartProblem) {
        self.failures += 1;
        if self.failures >= self.max_start_failures {
            self.given_up = Some(format!("gave up after {} workers: {problem}", self.failures));
        }
    }

    /// Replaces the worker, after a pause when the last ones did not start.
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
        if self.gives_up_dead_gpu() {
            return Next::GoOn;
        }
        if let Err(Busy) = self.enter_gpu(AWAY) {
            self.give_way();
            return Next::GoOn;
        }
        self.shared.count_restart();
        if let Err(problem) = self.start_worker() {
            self.count_failure(&problem);
        }
        Next::GoOn
    }

    fn start_worker(&mut self) -> Result<DeviceInfo, StartProblem> {
        let started = self.start_present();
        if started.is_err() {
            self.presence = None;
        }
        started
    }

    fn start_present(&mut self) -> Result<DeviceInfo, StartProblem> {
        let mut worker = WorkerProcess::spawn_logged(&self.driver, self.worker_exe.as_deref(), self.stderr.as_deref())?;
        let mut devices = worker.greet(&self.driver, self.lock.as_deref(), &self.start)?;
        let index = self.index as usize;
        if index >= devices.len() {
            return Err(StartProblem::NoSuchIndex(self.index));
        }
        let info = devices.swap_remove(index);
        self.lock = gpu_lock::path(&info).filter(|_| !self.driver.is_remote());
        if self.presence.is_none() {
            // The first worker says which GPU it is. If it is cancelled meanwhile, opening fails at once.
            let _ = self.enter_gpu(Duration::MAX);
        }
        worker.open(self.index, &self.start)?;
        self.last_message = Instant::now();
        self.worker = Some(worker);
        Ok(info)
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
const fn spoils_worker(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        // Whatever used the memory up is gone with the process.
        Outcome::DeviceLost { .. }
            | Outcome::TimedOut { .. }
            | Outcome::OutOfMemory { .. }
            | Outcome::Implausible { .. }
            // What only the parent can know.
            | Outcome::Crashed { .. }
    )
}
