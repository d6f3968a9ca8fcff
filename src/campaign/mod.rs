//! A campaign: every device works through the sequence of cases until time, count or Ctrl-C, with one thread for each of its workers.
//!
//! ```text
//!   per worker   course.take ─► plan.cases(n) ─► prepare (shared with other devices) ─► in-flight/<device>/<i>.json ─► worker
//!                                                                                                                        │
//!                ledger ◄─ finding on disk ◄─ signature ◄─ in order (course) ◄─ judge, each ◄──────────── outcome ◄──────┘
//! ```
//!
//! A program is compiled once and runs with several data ([`batch`]); each of these is a case with a number, a verdict and a finding of its
//! own. A case is on disk before a driver sees it. The workers of a device share its way through the sequence of programs ([`course`]):
//! what is through is entered in the order of the cases. A worker that is lost gives its cases back to the others; a device without any worker ends, and
//! the other devices go on. The ledger is saved every few seconds and at the end; a campaign that is started again in the same folder
//! goes on where it stopped.

mod batch;
mod course;
mod folder;
mod sample;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Context as _, anyhow};
use tangle_generator::Stats;
use tangle_minimizer::statements;
use tangle_oracle::coverage::Coverage;
use tangle_program::case::Case;
use tangle_program::context::{Placed, operations};
use tangle_runner::{Device, DeviceStats, Outcome, toolchain};
use tangle_triage::story::story;
use tangle_triage::{Finding, Known, SavedFinding, Signature, skeleton};

use crate::background::{Background, Opener, Request, Small};
use crate::isa;
use crate::ledger::{BugBook, DeviceBook, Ledger};
use crate::minimized::Place;
use crate::plan::{Choice, Plan};
use crate::prepare::{Prepared, ToolchainFault, prepare};
use crate::target::{Conclusion, Finish, Target, Worker};
use batch::{Batch, Heard, Held};
use course::{Course, Turn};
pub use folder::{Folder, read_coverage, write_atomically};
use sample::Log;
pub use sample::{DeviceSample, STATS, Sample, memory, read_samples};

/// How a campaign is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which cases.
    pub choice: Choice,
    /// Length of the sequence; `None` for no end.
    pub cases: Option<u64>,
    /// How long to run; `None` for no end.
    pub time: Option<Duration>,
    /// How many findings of one signature and device are saved; the others are counted.
    pub witnesses: usize,
    /// Bugs that are counted and set aside.
    pub known: Known,
}

/// Programs shared between devices that are at about the same place in the sequence.
const SHARED: usize = 128;

/// Jobs a worker has at a time: one runs, the others wait while this side prepares and judges.
const IN_FLIGHT: usize = 4;

/// Longest time for machine code that is not saved yet when the search is over.
const DUMPS_AFTERWARDS: Duration = Duration::from_secs(60);

/// What is left of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It lost workers and went on with the others.
    Workers {
        /// How many of its workers.
        lost: usize,
        /// How many it had.
        of: usize,
        /// Why the last one was lost.
        reason: String,
    },
    /// It lost all of them, and ended before the campaign did.
    Device {
        /// The next case of its sequence.
        next_case: u64,
        /// Why the last worker was lost.
        reason: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Workers { lost, of, reason } => write!(f, "lost {lost} of its {of} workers: {reason}"),
            Loss::Device { next_case, reason } => {
                write!(f, "has no worker any more and stopped at case {next_case}: {reason}")
            }
        }
    }
}

/// How a campaign stands.
pub struct Moment<'a> {
    /// In a line.
    pub line: String,
    /// In figures, at most a second old.
    pub sample: &'a Sample,
    /// The books.
    pub ledger: &'a Ledger,
}

/// A running campaign.
pub struct Campaign {
    options: Options,
    folder: Folder,
    plan: Plan,
    targets: Vec<Target>,
    ledger: Mutex<Ledger>,
    /// By device.
    coverage: Mutex<BTreeMap<String, Coverage>>,
    shared: Mutex<BTreeMap<u64, Arc<Shared>>>,
    /// Whoever writes has the books with all cases of a program in them or none.
    entering: RwLock<()>,
    stop: &'static AtomicBool,
    started: Instant,
    seconds_before: f64,
    run_here: AtomicU64,
    background: Option<Background>,
    dumps: isa::Queue,
    losses: Mutex<BTreeMap<String, Loss>>,
}

impl Campaign {
    /// Sets up a campaign, or takes up the one in the folder. `stop` ends it.
    ///
    /// # Errors
    /// If the folder cannot be used or belongs to another campaign, or no device offers the tier.
    pub fn new(
        options: Options,
        folder: Folder,
        targets: Vec<Target>,
        stop: &'static AtomicBool,
    ) -> anyhow::Result<Campaign> {
        let plan = Plan::new(options.choice.clone(), &targets)?;
        for target in &targets {
            let folder = folder.in_flight(&target.name);
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let ledger = folder.take_up(&options.choice, &names)?.unwrap_or_default();
        let coverage = folder.read_coverage()?;
        Ok(Campaign {
            plan,
            targets,
            seconds_before: ledger.seconds,
            ledger: Mutex::new(ledger),
            coverage: Mutex::new(coverage),
            shared: Mutex::default(),
            entering: RwLock::default(),
            stop,
            started: Instant::now(),
            run_here: AtomicU64::new(0),
            background: None,
            dumps: isa::Queue::default(),
            losses: Mutex::default(),
            folder,
            options,
        })
    }

    /// Minimises findings in the background, those of earlier runs too, on workers that `open` gives.
    #[must_use]
    pub fn minimizing(mut self, open: Opener) -> Campaign {
        let background = Background::new(open, self.targets.iter().map(|target| target.name.clone()).collect());
        // A campaign that was killed may have saved more than it booked: what is on disk counts.
        self.with_books(|ledger| ledger.bugs.clear());
        for book in &self.books().findings {
            for (nth, folder) in book.folders.iter().enumerate() {
                let folder = self.folder.path().join(folder);
                let (device, signature) = (book.device.clone(), book.signature.clone());
                let case =
                    fs::read_to_string(folder.join("case.json")).ok().and_then(|text| Case::from_json(&text).ok());
                let Some(case) = case else { continue };
                let small = Place::of(&folder).finished();
                let request = Request { device, case, signature, folder };
                match small {
                    Some(SavedFinding { case, signature, rate, .. }) => {
                        self.enter_small(&Small { request, case, signature, rate: rate.unwrap_or_default() });
                    }
                    None => background.ask(request, nth),
                }
            }
        }
        self.background = Some(background);
        self
    }

    /// Findings that are not minimised although they should be: folder and reason.
    pub fn not_minimized(&self) -> BTreeMap<PathBuf, String> {
        self.background.as_ref().map(Background::left_over).unwrap_or_default()
    }

    /// Devices that lost workers, or ended because they lost all.
    pub fn losses(&self) -> BTreeMap<String, Loss> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs to the end, telling `progress` five times a second how it stands. Gives the books.
    ///
    /// # Errors
    /// If something cannot be saved. What was found before stays on disk.
    pub fn run(&self, mut progress: impl FnMut(&Moment<'_>)) -> anyhow::Result<Ledger> {
        let failed = OnceLock::new();
        let mut log = Log::open(self.folder.path())?;
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .targets
                .iter()
                .map(|target| {
                    let failed = &failed;
                    scope.spawn(move || {
                        if let Err(error) = self.work(target) {
                            self.stop.store(true, Ordering::SeqCst);
                            let _ = failed.set(error);
                        }
                    })
                })
                .collect();
            self.books().findings.iter().for_each(|book| {
                book.folders
                    .iter()
                    .for_each(|folder| self.ask_for_dump(&book.device, &self.folder.path().join(folder)));
            });
            let dumps = scope.spawn(|| {
                self.dumps.work(|device, folder| {
                    if let Some(target) = self.target(device) {
                        isa::dump_saved(target, folder);
                    }
                });
            });
            let small = self
                .background
                .as_ref()
                .map(|background| scope.spawn(move || background.work(self.stop, |small| self.enter_small(&small))));
            let mut saved = Instant::now();
            let mut sample = self.sample(&self.books());
            let mut sampled = Instant::now();
            let mut tell = |line: Option<String>| {
                let ledger = self.books();
                if sampled.elapsed() > Duration::from_secs(1) {
                    sampled = Instant::now();
                    sample = self.sample(&ledger);
                }
                let line = line.unwrap_or_else(|| self.line(&ledger));
                progress(&Moment { line, sample: &sample, ledger: &ledger });
                if saved.elapsed() > Duration::from_secs(5) {
                    saved = Instant::now();
                    if let Err(error) = self.save_state().and_then(|()| log.offer(&sample)) {
                        self.stop.store(true, Ordering::SeqCst);
                        let _ = failed.set(error);
                    }
                }
            };
            while threads.iter().any(|thread| !thread.is_finished()) {
                std::thread::sleep(Duration::from_millis(200));
                tell(None);
            }
            let stopped = self.stop.load(Ordering::SeqCst);
            self.dumps.close(if stopped { Duration::ZERO } else { DUMPS_AFTERWARDS });
            if let (Some(background), Some(small)) = (&self.background, small) {
                background.wind_up(self.started.elapsed());
                while !small.is_finished() {
                    std::thread::sleep(Duration::from_millis(50));
                    tell(Some(format!("minimising what is left: {} findings wait", background.waiting())));
                }
            }
            while !dumps.is_finished() {
                std::thread::sleep(Duration::from_millis(50));
                if self.stop.load(Ordering::SeqCst) {
                    self.dumps.close(Duration::ZERO);
                }
                tell(Some("saving what the drivers' compilers made of the findings".into()));
            }
        });
        let saved = self.save_state().and_then(|()| log.write(&self.sample(&self.books())));
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        saved?;
        Ok(self.books())
    }

    /// The progress line.
    fn line(&self, ledger: &Ledger) -> String {
        let ended = self.losses().values().filter(|loss| matches!(loss, Loss::Device { .. })).count();
        let ended = if ended == 0 { String::new() } else { format!(", {ended} devices lost") };
        ledger.line(self.started.elapsed(), self.run_here.load(Ordering::Relaxed)) + &ended
    }

    fn sample(&self, ledger: &Ledger) -> Sample {
        Sample::take(ledger, &self.coverage(), self.background.as_ref().map_or(0, Background::waiting))
    }

    /// Counts a minimised finding as the bug that it shows.
    fn enter_small(&self, small: &Small) {
        let Small { request, case, signature, rate } = small;
        let target = self.target(&request.device);
        let known = target.and_then(|target| self.options.known.by_case(&target.id(), signature, case));
        let face = request.folder.strip_prefix(self.folder.path()).unwrap_or(&request.folder).join("minimized");
        self.with_books(|ledger| {
            ledger.enter_bug(BugBook {
                device: request.device.clone(),
                name: skeleton::bug(signature, case),
                known: known.map(|bug| bug.name.clone()),
                signatures: [request.signature.to_string()].into(),
                witnesses: 1,
                face: face.display().to_string(),
                statements: statements(&case.program),
                flake: Some(*rate).filter(|rate| !rate.is_always()),
            });
        });
    }

    fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Puts a saved finding into the queue of those whose machine code is wanted.
    fn ask_for_dump(&self, device: &str, folder: &Path) {
        if self.target(device).is_some_and(isa::prints) {
            self.dumps.ask(device, folder);
        }
    }

    fn books(&self) -> Ledger {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ledger.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        ledger
    }

    fn with_books<T>(&self, f: impl FnOnce(&mut Ledger) -> T) -> T {
        f(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn book<T>(&self, target: &Target, f: impl FnOnce(&mut DeviceBook) -> T) -> T {
        self.with_books(|ledger| f(ledger.devices.entry(target.name.clone()).or_default()))
    }

    fn save_state(&self) -> anyhow::Result<()> {
        let names = self.targets.iter().map(|target| target.name.clone()).collect();
        let (coverage, books) = {
            let _whole = self.entering.write().unwrap_or_else(PoisonError::into_inner);
            (self.coverage().clone(), self.books())
        };
        self.folder.write_coverage(&coverage)?;
        self.folder.write(&self.options.choice, names, books)
    }

    fn coverage(&self) -> MutexGuard<'_, BTreeMap<String, Coverage>> {
        self.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if nothing of this program is to run any more.
    fn is_over(&self, program: u64) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.options.cases.is_some_and(|cases| program * self.plan.inputs() >= cases)
            || self.options.time.is_some_and(|time| self.started.elapsed() >= time)
    }

    /// One device's way through the sequence: a thread for each worker.
    fn work(&self, target: &Target) -> anyhow::Result<()> {
        let next_case = self.book(target, |book| book.next_case);
        let course = Course::new(next_case / self.plan.inputs());
        let workers = target.workers();
        let of = workers.len();
        let ends: Vec<anyhow::Result<Option<String>>> = std::thread::scope(|scope| {
            let course = &course;
            let threads: Vec<_> = workers
                .into_iter()
                .map(|worker| {
                    scope.spawn(move || {
                        let seat = course.seat();
                        let reason = self.work_with(target, worker, course)?;
                        seat.leave();
                        Ok(reason)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread ended")))).collect()
        });
        let reasons: Vec<String> =
            ends.into_iter().collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
        if let Some(reason) = reasons.last().cloned() {
            let lost = reasons.len();
            let loss = match lost == of {
                true => Loss::Device { next_case: self.book(target, |book| book.next_case), reason },
                false => Loss::Workers { lost, of, reason },
            };
            self.losses.lock().unwrap_or_else(PoisonError::into_inner).insert(target.name.clone(), loss);
        }
        Ok(())
    }

    /// One worker's part of its device's way. Gives the reason if the worker is lost.
    fn work_with(&self, target: &Target, worker: Worker<'_>, course: &Way) -> anyhow::Result<Option<String>> {
        let mut hand = Hand::default();
        loop {
            let mut turn = Turn::Wait;
            while hand.programs.len() < IN_FLIGHT {
                turn = course.take(|program| !self.is_over(program));
                let Turn::Take(program) = turn else { break };
                match self.next_program(target, program)? {
                    Progress::Over(over) => self.enter(target, course, program, over)?,
                    Progress::Ready(batch) => self.begin(target, worker, course, &mut hand, program, batch)?,
                }
            }
            match worker {
                Worker::Vulkan(device) if !hand.programs.is_empty() => {
                    if let Some(reason) = self.hear(target, device, course, &mut hand)? {
                        course.give_back(hand.programs.into_keys());
                        return Ok(Some(reason));
                    }
                }
                _ if turn == Turn::Over => return Ok(None),
                _ => course.wait(),
            }
        }
    }

    /// Has a worker begin a program, or run it where that is done here.
    fn begin(
        &self,
        target: &Target,
        worker: Worker<'_>,
        course: &Way,
        hand: &mut Hand,
        program: u64,
        batch: Batch,
    ) -> anyhow::Result<()> {
        match worker {
            Worker::Vulkan(device) => {
                self.note_in_flight(target, &batch)?;
                let held = Held::new(batch);
                held.submit(device, program);
                hand.programs.insert(program, held);
                Ok(())
            }
            Worker::Reference(reference) => {
                let started = Instant::now();
                let run = |(_, case): &(u64, Arc<Case>)| target.run_reference(reference, case);
                let conclusions = (0..).zip(batch.cases.iter().map(run)).collect();
                self.book(target, |book| book.times.judge += started.elapsed().as_secs_f64());
                self.enter(target, course, program, self.over(target, &batch, conclusions))
            }
        }
    }

    /// Waits for an outcome and takes it. Gives the reason if the worker is lost.
    fn hear(&self, target: &Target, device: &Device, course: &Way, hand: &mut Hand) -> anyhow::Result<Option<String>> {
        let completion = device.results().recv().context("the device's supervisor ended")?;
        let program = completion.job;
        let Some(held) = hand.programs.get_mut(&program) else { return Ok(None) };
        let started = Instant::now();
        let heard = held.hear(&target.capabilities, completion.outcome);
        let stats = device.stats();
        self.book(target, |book| {
            book.times.judge += started.elapsed().as_secs_f64();
            book.take_stats(hand.stats, stats);
        });
        hand.stats = stats;
        match heard {
            Heard::Again => held.submit(device, program),
            Heard::NoWorker(reason) => return Ok(Some(reason)),
            Heard::Over(conclusions) => {
                let over = self.over(target, held.batch(), conclusions);
                hand.programs.remove(&program);
                self.enter(target, course, program, over)?;
            }
        }
        Ok(None)
    }

    /// Takes what came of a program, and concludes those whose turn it is.
    fn enter(&self, target: &Target, course: &Way, program: u64, over: Vec<(u64, Option<Over>)>) -> anyhow::Result<()> {
        course.enter(program, over, |_, cases| {
            let _whole = self.entering.read().unwrap_or_else(PoisonError::into_inner);
            for (index, over) in cases {
                match over {
                    Some(over) => self.conclude(target, *index, over)?,
                    None => self.with_books(|ledger| ledger.leave_out(&target.name, *index)),
                }
                // Cases that did not run have no file.
                let _ = fs::remove_file(self.in_flight_path(target, *index));
            }
            Ok(())
        })
    }

    /// The numbers of a program's cases that are to run in this campaign, and have not.
    fn numbers(&self, target: &Target, program: u64) -> Range<u64> {
        let inputs = self.plan.inputs();
        let first = (program * inputs).max(self.book(target, |book| book.next_case));
        first..((program + 1) * inputs).min(self.options.cases.unwrap_or(u64::MAX))
    }

    /// The program of this number, ready to run, or over if it cannot.
    fn next_program(&self, target: &Target, program: u64) -> anyhow::Result<Progress> {
        let numbers = self.numbers(target, program);
        let shared = self.shared(program);
        let all = shared.cases.get_or_init(|| {
            let started = Instant::now();
            let cases = self.plan.cases(program);
            self.book(target, |book| book.times.generate += started.elapsed().as_secs_f64());
            cases.into_iter().map(|case| case.map(Arc::new)).collect()
        });
        let here = |(number, case): (u64, &Option<Arc<Case>>)| Some((number, Arc::clone(case.as_ref()?)));
        let mut cases: Vec<(u64, Arc<Case>)> = (program * self.plan.inputs()..)
            .zip(all)
            .filter(|(number, _)| numbers.contains(number))
            .filter_map(here)
            .take(if target.executes() { usize::MAX } else { 1 })
            .collect();
        let Some((_, case)) = cases.first() else {
            return Ok(Progress::Over(numbers.map(|number| (number, None)).collect()));
        };
        let missing = target.missing(case);
        if !missing.is_empty() {
            let conclusion = Conclusion::without_data(Finish::Unsupported { missing });
            let over = |number| (number, Some(Over { conclusion: conclusion.clone(), ran: None }));
            return Ok(Progress::Over(numbers.map(over).collect()));
        }
        let prep = shared.prep.get_or_init(|| {
            let started = Instant::now();
            let prep = match prepare(Case::clone(case)) {
                Ok(prepared) => Prep::Ready(prepared),
                Err(fault) => Prep::Faulty(Case::clone(case), fault),
            };
            self.book(target, |book| book.times.compile += started.elapsed().as_secs_f64());
            Arc::new(prep)
        });
        let prep = Arc::clone(prep);
        if let Prep::Faulty(_, fault) = &*prep {
            anyhow::ensure!(!fault.is_local(), "{fault}");
            // The data have nothing to do with it.
            cases.truncate(1);
            let conclusion = fault.into();
            let batch = Batch { numbers, prep, cases };
            return Ok(Progress::Over(self.over(target, &batch, vec![(0, conclusion)])));
        }
        Ok(Progress::Ready(Batch { numbers, prep, cases }))
    }

    fn shared(&self, program: u64) -> Arc<Shared> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Arc::clone(shared.entry(program).or_default());
        while shared.len() > SHARED {
            shared.pop_first();
        }
        entry
    }

    /// What is kept of a program that ran until its turn comes: conclusions by the places of the cases in the batch.
    fn over(&self, target: &Target, batch: &Batch, conclusions: Vec<(usize, Conclusion)>) -> Vec<(u64, Option<Over>)> {
        let mut over: BTreeMap<u64, Option<Over>> = batch.numbers.clone().map(|number| (number, None)).collect();
        for (at, mut conclusion) in conclusions {
            let (number, case) = &batch.cases[at];
            let signature = conclusion.signature(case);
            let is_wanted = |signature: &Signature| self.is_wanted(target, *number, signature);
            let witness =
                signature.as_ref().filter(|signature| is_wanted(signature)).map(|_| batch.prep.with(Case::clone(case)));
            if witness.is_none() {
                conclusion.observation = None;
            }
            let ran = Ran { stats: Stats::of(case), operations: operations(&case.program), signature, witness };
            over.insert(*number, Some(Over { conclusion, ran: Some(ran) }));
        }
        over.into_iter().collect()
    }

    /// True if there are too few witnesses of a finding, and none of them is the same program with other data, which would say little.
    fn is_wanted(&self, target: &Target, index: u64, signature: &Signature) -> bool {
        let program = |index: u64| index / self.plan.inputs();
        self.with_books(|ledger| {
            ledger.found(&target.name, signature).is_none_or(|book| {
                book.folders.len() < self.options.witnesses && program(book.last_case) != program(index)
            })
        })
    }

    /// Saves the finding, if it is one, and then enters the conclusion: what the books tell of is on disk.
    fn conclude(&self, target: &Target, index: u64, over: &Over) -> anyhow::Result<()> {
        let Over { conclusion, ran } = over;
        let Some(Ran { stats, operations, signature, witness }) = ran else {
            self.with_books(|ledger| ledger.enter(&target.name, index, conclusion, None));
            return Ok(());
        };
        self.run_here.fetch_add(1, Ordering::Relaxed);
        let known = signature.as_ref().and_then(|signature| self.options.known.by_signature(&target.id(), signature));
        let folder = match (signature, witness) {
            (Some(signature), Some(prep)) if known.is_none() => {
                self.save_witness(target, index, prep, conclusion, signature)?
            }
            _ => None,
        };
        let used = match &conclusion.finish {
            Finish::Judged(judgement) => &judgement.op_use[..],
            _ => &[],
        };
        self.coverage().entry(target.name.clone()).or_default().add(operations, used);
        let nth = self.with_books(|ledger| {
            ledger.enter(&target.name, index, conclusion, signature.as_ref());
            ledger.enter_operations(operations, used);
            ledger.generated.merge(stats);
            if let Some(bug) = known {
                ledger.enter_known(&target.name, &bug.name);
                return None;
            }
            let book = ledger.finding(&target.name, signature.as_ref()?, index);
            book.cases += 1;
            book.last_case = index;
            let folder = folder.as_ref()?;
            let relative = folder.strip_prefix(self.folder.path()).unwrap_or(folder).display().to_string();
            if !book.folders.contains(&relative) {
                book.folders.push(relative);
            }
            Some(book.folders.len() - 1)
        });
        if let (Some(background), Some(signature), Some(prep), Some(folder), Some(nth)) =
            (&self.background, signature, witness, folder, nth)
        {
            let (device, case, signature) = (target.name.clone(), prep.case().clone(), signature.clone());
            background.ask(Request { device, case, signature, folder }, nth);
        }
        Ok(())
    }

    /// Saves a finding unless there are enough of its kind.
    fn save_witness(
        &self,
        target: &Target,
        index: u64,
        prep: &Prep,
        conclusion: &Conclusion,
        signature: &Signature,
    ) -> anyhow::Result<Option<PathBuf>> {
        if !self.is_wanted(target, index, signature) {
            return Ok(None);
        }
        let started = Instant::now();
        let finding = finding(target, prep, conclusion, signature.clone());
        let folder = finding.save(&self.folder.path().join("findings"))?;
        self.ask_for_dump(&target.name, &folder);
        self.book(target, |book| book.times.save += started.elapsed().as_secs_f64());
        Ok(Some(folder))
    }

    fn in_flight_path(&self, target: &Target, index: u64) -> PathBuf {
        self.folder.in_flight(&target.name).join(format!("{index}.json"))
    }

    /// The cases are on disk before the driver sees them.
    fn note_in_flight(&self, target: &Target, batch: &Batch) -> anyhow::Result<()> {
        let started = Instant::now();
        for (index, case) in &batch.cases {
            let path = self.in_flight_path(target, *index);
            let text = serde_json::to_vec(&**case)?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        self.book(target, |book| book.times.save += started.elapsed().as_secs_f64());
        Ok(())
    }
}

/// A device's way through the programs: what came of the cases of each, `None` of those that were left out.
type Way = Course<Vec<(u64, Option<Over>)>>;

/// A program on its way through a device.
enum Progress {
    /// The device may have it.
    Ready(Batch),
    /// It is through, or cannot run.
    Over(Vec<(u64, Option<Over>)>),
}

/// What a worker has in hand.
#[derive(Default)]
struct Hand {
    /// Programs that it runs or is to run.
    programs: BTreeMap<u64, Held>,
    /// What is in the books of how it fared.
    stats: DeviceStats,
}

/// A case that is through.
struct Over {
    conclusion: Conclusion,
    /// `None` if the device cannot run it.
    ran: Option<Ran>,
}

/// What is entered of a case that ran. Many may wait for their turn ([`course`]): the case and what was read back are kept only where they
/// will be saved.
struct Ran {
    stats: Stats,
    operations: Vec<Placed>,
    signature: Option<Signature>,
    /// The case, if it is a finding of which there are not enough yet.
    witness: Option<Prep>,
}

/// A case as far as the toolchain got with it.
#[derive(Debug)]
pub enum Prep {
    /// It can run.
    Ready(Prepared),
    /// The toolchain failed on it.
    Faulty(Case, ToolchainFault),
}

impl Prep {
    /// The case.
    pub fn case(&self) -> &Case {
        match self {
            Prep::Ready(prepared) => &prepared.case,
            Prep::Faulty(case, _) => case,
        }
    }

    /// The same for a case that differs in its data.
    fn with(&self, case: Case) -> Prep {
        match self {
            Prep::Ready(prepared) => Prep::Ready(Prepared { case, ..prepared.clone() }),
            Prep::Faulty(_, fault) => Prep::Faulty(case, fault.clone()),
        }
    }
}

/// What devices at the same place in the sequence share.
#[derive(Default)]
struct Shared {
    /// Those of a program, by number; `None` for data that it does not have.
    cases: OnceLock<Vec<Option<Arc<Case>>>>,
    prep: OnceLock<Arc<Prep>>,
}

/// Everything there is to save about a conclusion that is a finding.
pub fn finding<'a>(
    target: &'a Target,
    prep: &'a Prep,
    conclusion: &'a Conclusion,
    signature: Signature,
) -> Finding<'a> {
    let (case, glsl, spirv): (_, _, &[u32]) = match prep {
        Prep::Ready(Prepared { case, glsl, spirv }) => (case, glsl, spirv),
        Prep::Faulty(case, fault) => (case, &fault.glsl, &[]),
    };
    // A module without disassembly is still worth saving.
    let disassembly = toolchain::disassemble(spirv).unwrap_or_else(|error| format!("; {error}\n"));
    Finding {
        case,
        glsl,
        spirv,
        disassembly,
        result: serde_json::to_value(&conclusion.finish).unwrap_or_default(),
        observation: conclusion.observation.as_ref(),
        device: &target.name,
        device_info: target.info.clone(),
        report: report(target, case, conclusion, &signature),
        signature,
    }
}

fn report(target: &Target, case: &Case, conclusion: &Conclusion, signature: &Signature) -> String {
    let variant = match case.variant.is_unoptimised() {
        true => String::new(),
        false => format!("variant {}\n\n", case.variant),
    };
    format!("{} on {}\n\n{variant}{}\n", signature, target.name, describe(case, &conclusion.finish))
}

/// What came of a case, in words.
pub fn describe(case: &Case, finish: &Finish) -> String {
    match finish {
        Finish::Judged(judgement) => story(case, judgement),
        Finish::Compiled => "compiled; the device runs nothing".into(),
        Finish::Unsupported { missing } => format!("not run: the device lacks {}", missing.join(", ")),
        Finish::NoWorker { reason } => format!("not run: {reason}"),
        Finish::Toolchain(message) => message.clone(),
        Finish::Failed(outcome) => match outcome {
            Outcome::Crashed { last_words, .. } | Outcome::TimedOut { last_words, .. } if !last_words.is_empty() => {
                format!("{outcome}\nlast words of the worker:\n{last_words}")
            }
            outcome => outcome.to_string(),
        },
    }
}
