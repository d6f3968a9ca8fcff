//! A campaign: every device works through the sequence of cases until time, count or Ctrl-C, with one thread for each of its workers.
//!
//! ```text
//!   per worker   course.take ─► plan.case(i) ─► prepare (shared with other devices) ─► in-flight/<device>/<i>.json ─► worker
//!                                                                                                                       │
//!                ledger ◄─ finding on disk ◄─ signature ◄─ in order (course) ◄─ judge ◄────────────────── outcome ◄─────┘
//! ```
//!
//! A case is on disk before a driver sees it. The workers of a device share its way through the sequence ([`course`]): what is through
//! is entered in the order of the cases. A worker that is lost gives its cases back to the others; a device without any worker ends, and
//! the other devices go on. The ledger is saved every few seconds and at the end; a campaign that is started again in the same folder
//! goes on where it stopped.

mod course;
mod folder;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
use crate::prepare::{Prepared, ToolchainFault, job, prepare};
use crate::target::{Conclusion, Finish, Target, Worker};
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

/// Cases shared between devices that are at about the same place in the sequence.
const SHARED: usize = 128;

/// Jobs a worker has at a time: one runs, the others wait while this side prepares and judges.
const IN_FLIGHT: usize = 4;

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
    stop: &'static AtomicBool,
    started: Instant,
    seconds_before: f64,
    run_here: AtomicU64,
    background: Option<Background>,
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
            stop,
            started: Instant::now(),
            run_here: AtomicU64::new(0),
            background: None,
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
                    if let Err(error) = self.save_state().and_then(|()| log.write(&sample)) {
                        self.stop.store(true, Ordering::SeqCst);
                        let _ = failed.set(error);
                    }
                }
            };
            while threads.iter().any(|thread| !thread.is_finished()) {
                std::thread::sleep(Duration::from_millis(200));
                tell(None);
            }
            if let (Some(background), Some(small)) = (&self.background, small) {
                background.wind_up(self.started.elapsed());
                while !small.is_finished() {
                    std::thread::sleep(Duration::from_millis(50));
                    tell(Some(format!("minimising what is left: {} findings wait", background.waiting())));
                }
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
        let target = self.targets.iter().find(|target| target.name == request.device);
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
        self.folder.write_coverage(&self.coverage())?;
        self.folder.write(&self.options.choice, names, self.books())
    }

    fn coverage(&self) -> MutexGuard<'_, BTreeMap<String, Coverage>> {
        self.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, index: u64) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.options.cases.is_some_and(|cases| index >= cases)
            || self.options.time.is_some_and(|time| self.started.elapsed() >= time)
    }

    /// One device's way through the sequence: a thread for each worker.
    fn work(&self, target: &Target) -> anyhow::Result<()> {
        let course = Course::new(self.book(target, |book| book.next_case));
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
    fn work_with(&self, target: &Target, worker: Worker<'_>, course: &Course<Over>) -> anyhow::Result<Option<String>> {
        let mut hand = Hand::default();
        loop {
            let mut turn = Turn::Wait;
            while hand.cases.len() < IN_FLIGHT {
                turn = course.take(|index| !self.is_over(index));
                let Turn::Take(index) = turn else { break };
                match self.next_case(target, index) {
                    Progress::Over(over) => self.enter(target, course, index, *over)?,
                    Progress::Ready(prep) => {
                        if let Some(over) = self.begin(target, worker, index, &prep)? {
                            self.enter(target, course, index, over)?;
                        } else {
                            hand.cases.insert(index, prep);
                        }
                    }
                }
            }
            match worker {
                Worker::Vulkan(device) if !hand.cases.is_empty() => {
                    if let Some(reason) = self.hear(target, device, course, &mut hand)? {
                        course.give_back(hand.cases.into_keys());
                        return Ok(Some(reason));
                    }
                }
                _ if turn == Turn::Over => return Ok(None),
                _ => course.wait(),
            }
        }
    }

    /// Has a worker begin a case; gives what comes of it where that is known at once.
    fn begin(&self, target: &Target, worker: Worker<'_>, index: u64, prep: &Arc<Prep>) -> anyhow::Result<Option<Over>> {
        match worker {
            Worker::Vulkan(device) => {
                self.submit(target, device, index, prep)?;
                Ok(None)
            }
            Worker::Reference(reference) => {
                let started = Instant::now();
                let conclusion = target.run_reference(reference, prep.case());
                self.book(target, |book| book.times.judge += started.elapsed().as_secs_f64());
                Ok(Some(self.over(target, prep, conclusion)))
            }
        }
    }

    fn submit(&self, target: &Target, device: &Device, index: u64, prep: &Prep) -> anyhow::Result<()> {
        if let Prep::Ready(prepared) = prep {
            self.note_in_flight(target, index, &prepared.case)?;
            device.submit(job(prepared, index));
        }
        Ok(())
    }

    /// Waits for an outcome and takes it. Gives the reason if the worker is lost.
    fn hear(
        &self,
        target: &Target,
        device: &Device,
        course: &Course<Over>,
        hand: &mut Hand,
    ) -> anyhow::Result<Option<String>> {
        let completion = device.results().recv().context("the device's supervisor ended")?;
        let index = completion.job;
        let Some(prep) = hand.cases.get(&index).cloned() else { return Ok(None) };
        if matches!(completion.outcome, Outcome::TimedOut { .. }) && hand.timed_out.insert(index) {
            // On a busy machine a slow case looks like a hang. It is one if it happens again.
            self.submit(target, device, index, &prep)?;
            return Ok(None);
        }
        let started = Instant::now();
        let conclusion = Conclusion::of(prep.case(), &target.capabilities, completion.outcome);
        let stats = device.stats();
        self.book(target, |book| {
            book.times.judge += started.elapsed().as_secs_f64();
            book.take_stats(hand.stats, stats);
        });
        hand.stats = stats;
        if let Finish::NoWorker { reason } = &conclusion.finish {
            return Ok(Some(reason.clone()));
        }
        hand.cases.remove(&index);
        self.enter(target, course, index, self.over(target, &prep, conclusion))?;
        Ok(None)
    }

    /// Takes what came of a case, and concludes those whose turn it is.
    fn enter(&self, target: &Target, course: &Course<Over>, index: u64, over: Over) -> anyhow::Result<()> {
        course.enter(index, over, |index, over| {
            self.conclude(target, index, over)?;
            // Cases that did not run have no file.
            let _ = fs::remove_file(self.in_flight_path(target, index));
            Ok(())
        })
    }

    /// The case of this number, ready to run, or over if it cannot.
    fn next_case(&self, target: &Target, index: u64) -> Progress {
        let shared = self.shared(index);
        let case = shared.case.get_or_init(|| {
            let started = Instant::now();
            let case = self.plan.case(index);
            self.book(target, |book| book.times.generate += started.elapsed().as_secs_f64());
            case
        });
        let missing = target.missing(case);
        if !missing.is_empty() {
            let conclusion = Conclusion::without_data(Finish::Unsupported { missing });
            return Progress::Over(Box::new(Over { conclusion, ran: None }));
        }
        let prep = shared.prep.get_or_init(|| {
            let started = Instant::now();
            let prep = match prepare(case.clone()) {
                Ok(prepared) => Prep::Ready(prepared),
                Err(fault) => Prep::Faulty(case.clone(), fault),
            };
            self.book(target, |book| book.times.compile += started.elapsed().as_secs_f64());
            Arc::new(prep)
        });
        let prep = Arc::clone(prep);
        match &*prep {
            Prep::Ready(_) => Progress::Ready(prep),
            Prep::Faulty(_, fault) => {
                let over = self.over(target, &prep, fault.into());
                Progress::Over(Box::new(over))
            }
        }
    }

    fn shared(&self, index: u64) -> Arc<Shared> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Arc::clone(shared.entry(index).or_default());
        while shared.len() > SHARED {
            shared.pop_first();
        }
        entry
    }

    /// What is kept of a case that ran until its turn comes.
    fn over(&self, target: &Target, prep: &Arc<Prep>, mut conclusion: Conclusion) -> Over {
        let case = prep.case();
        let signature = conclusion.signature(case);
        let is_wanted = |signature: &Signature| {
            self.with_books(|ledger| ledger.saved(&target.name, signature)) < self.options.witnesses
        };
        let witness = signature.as_ref().filter(|signature| is_wanted(signature)).map(|_| Arc::clone(prep));
        if witness.is_none() {
            conclusion.observation = None;
        }
        let ran = Ran { stats: Stats::of(case), operations: operations(&case.program), signature, witness };
        Over { conclusion, ran: Some(ran) }
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
                self.save_witness(target, prep, conclusion, signature)?
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
        prep: &Prep,
        conclusion: &Conclusion,
        signature: &Signature,
    ) -> anyhow::Result<Option<PathBuf>> {
        if self.with_books(|ledger| ledger.saved(&target.name, signature)) >= self.options.witnesses {
            return Ok(None);
        }
        let started = Instant::now();
        let finding = finding(target, prep, conclusion, signature.clone());
        let folder = finding.save(&self.folder.path().join("findings"))?;
        if let Prep::Ready(prepared) = prep {
            isa::dump(target, prepared, &folder);
        }
        self.book(target, |book| book.times.save += started.elapsed().as_secs_f64());
        Ok(Some(folder))
    }

    fn in_flight_path(&self, target: &Target, index: u64) -> PathBuf {
        self.folder.in_flight(&target.name).join(format!("{index}.json"))
    }

    /// The case is on disk before the driver sees it.
    fn note_in_flight(&self, target: &Target, index: u64, case: &Case) -> anyhow::Result<()> {
        let started = Instant::now();
        let path = self.in_flight_path(target, index);
        let text = serde_json::to_vec(case)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        self.book(target, |book| book.times.save += started.elapsed().as_secs_f64());
        Ok(())
    }
}

/// A case on its way through a device.
enum Progress {
    /// The device has it, or may have it.
    Ready(Arc<Prep>),
    /// It is through, or cannot run.
    Over(Box<Over>),
}

/// What a worker has in hand.
#[derive(Default)]
struct Hand {
    /// Cases that it runs or is to run.
    cases: BTreeMap<u64, Arc<Prep>>,
    /// Cases that timed out once.
    timed_out: BTreeSet<u64>,
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
    witness: Option<Arc<Prep>>,
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
}

/// What devices at the same place in the sequence share.
#[derive(Default)]
struct Shared {
    case: OnceLock<Case>,
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
