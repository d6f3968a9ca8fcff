//! A campaign: every device works through the sequence of cases, one thread each, until time, count or Ctrl-C.
//!
//! ```text
//!   per device   plan.case(i) ─► prepare (shared with the other devices) ─► in-flight/<device>/<i>.json ─► worker
//!                                                                                                           │
//!                ledger ◄─ finding on disk ◄─ signature ◄─ judge ◄──────────────────────────── outcome ◄────┘
//! ```
//!
//! A case is on disk before a driver sees it. The ledger is saved every few seconds and at the end; a campaign that is started again in
//! the same folder goes on where it stopped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tangle_generator::Stats;
use tangle_program::case::Case;
use tangle_runner::{Outcome, toolchain};
use tangle_triage::story::story;
use tangle_triage::{Finding, Known, Signature};

use crate::background::{Background, Opener, Request, Small};
use crate::ledger::{BugBook, DeviceBook, Ledger};
use crate::plan::{Choice, Plan};
use crate::prepare::{Prepared, ToolchainFault, job, prepare};
use crate::target::{Backend, Conclusion, Finish, Reference, Target};

/// How a campaign is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which cases.
    pub choice: Choice,
    /// Length of the sequence; `None` for no end.
    pub cases: Option<u64>,
    /// How long to run; `None` for no end.
    pub time: Option<Duration>,
    /// Where everything is saved.
    pub out: PathBuf,
    /// How many findings of one signature and device are saved; the others are counted.
    pub witnesses: usize,
    /// Bugs that are counted and set aside.
    pub known: Known,
}

/// What a campaign folder says about its campaign.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    format: u32,
    version: String,
    #[serde(flatten)]
    choice: Choice,
    /// The devices: they decide the sequence.
    devices: Vec<String>,
    ledger: Ledger,
}

/// Cases shared between devices that are at about the same place in the sequence.
const SHARED: usize = 128;

/// Jobs a worker has at a time: one runs, the others wait while this side prepares and judges.
const IN_FLIGHT: usize = 4;

/// A running campaign.
pub struct Campaign {
    options: Options,
    plan: Plan,
    targets: Vec<Target>,
    ledger: Mutex<Ledger>,
    shared: Mutex<BTreeMap<u64, Arc<Shared>>>,
    stop: &'static AtomicBool,
    started: Instant,
    seconds_before: f64,
    run_here: AtomicU64,
    background: Option<Background>,
}

impl Campaign {
    /// Sets up a campaign, or takes up the one in `options.out`. `stop` ends it.
    ///
    /// # Errors
    /// If the folder cannot be used or belongs to another campaign, or no device offers the tier.
    pub fn new(options: Options, targets: Vec<Target>, stop: &'static AtomicBool) -> anyhow::Result<Campaign> {
        let plan = Plan::new(options.choice.clone(), &targets)?;
        for target in &targets {
            let folder = in_flight_folder(&options.out, &target.name);
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let mut ledger = Ledger::default();
        if let Some(state) = read_state(&options.out)? {
            let names: Vec<&String> = targets.iter().map(|target| &target.name).collect();
            let same = state.choice == options.choice;
            anyhow::ensure!(
                same && state.devices.iter().collect::<Vec<_>>() == names,
                "{} holds another campaign (seed {}, devices {}); choose another --out",
                options.out.display(),
                state.choice.seed,
                state.devices.join(", ")
            );
            ledger = state.ledger;
        }
        Ok(Campaign {
            plan,
            targets,
            seconds_before: ledger.seconds,
            ledger: Mutex::new(ledger),
            shared: Mutex::default(),
            stop,
            started: Instant::now(),
            run_here: AtomicU64::new(0),
            background: None,
            options,
        })
    }

    /// Minimises findings in the background, those of earlier runs too, on workers that `open` gives.
    #[must_use]
    pub fn minimizing(mut self, open: Opener) -> Campaign {
        let background = Background::new(open);
        for book in &self.books().findings {
            for (nth, folder) in book.folders.iter().enumerate() {
                let folder = self.options.out.join(folder);
                let case =
                    fs::read_to_string(folder.join("case.json")).ok().and_then(|text| Case::from_json(&text).ok());
                if let (Some(case), false) = (case, folder.join("minimized").exists()) {
                    let (device, signature) = (book.device.clone(), book.signature.clone());
                    background.ask(Request { device, case, signature, folder }, nth);
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

    /// Runs to the end, telling `progress` every second. Gives the books.
    ///
    /// # Errors
    /// If something cannot be saved. What was found before stays on disk.
    pub fn run(&self, mut progress: impl FnMut(&str)) -> anyhow::Result<Ledger> {
        let failed = OnceLock::new();
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
            while threads.iter().any(|thread| !thread.is_finished()) {
                std::thread::sleep(Duration::from_millis(200));
                let elapsed = self.started.elapsed();
                progress(&self.books().line(elapsed, self.run_here.load(Ordering::Relaxed)));
                if saved.elapsed() > Duration::from_secs(5) {
                    saved = Instant::now();
                    if let Err(error) = self.save_state() {
                        self.stop.store(true, Ordering::SeqCst);
                        let _ = failed.set(error);
                    }
                }
            }
            if let (Some(background), Some(small)) = (&self.background, small) {
                background.wind_up(self.started.elapsed());
                while !small.is_finished() {
                    std::thread::sleep(Duration::from_millis(50));
                    progress(&format!("minimising what is left: {} findings wait", background.waiting()));
                }
            }
        });
        let saved = self.save_state();
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        saved?;
        Ok(self.books())
    }

    /// Counts a minimised finding as the bug that it shows.
    fn enter_small(&self, small: &Small) {
        let Small { request, case, signature, .. } = small;
        let target = self.targets.iter().find(|target| target.name == request.device);
        let known = target.and_then(|target| self.options.known.by_case(&target.id(), signature, case));
        let face = request.folder.strip_prefix(&self.options.out).unwrap_or(&request.folder).join("minimized");
        self.with_books(|ledger| {
            ledger.enter_bug(BugBook {
                device: request.device.clone(),
                name: small.bug.clone(),
                known: known.map(|bug| bug.name.clone()),
                signatures: [request.signature.to_string()].into(),
                witnesses: 1,
                face: face.display().to_string(),
                statements: small.statements,
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
        let state = State {
            format: 1,
            version: env!("CARGO_PKG_VERSION").into(),
            choice: self.options.choice.clone(),
            devices: self.targets.iter().map(|target| target.name.clone()).collect(),
            ledger: self.books(),
        };
        let path = state_path(&self.options.out);
        write_atomically(&path, &serde_json::to_vec_pretty(&state)?)
    }

    fn is_over(&self, index: u64) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.options.cases.is_some_and(|cases| index >= cases)
            || self.options.time.is_some_and(|time| self.started.elapsed() >= time)
    }

    /// One device's way through the sequence.
    fn work(&self, target: &Target) -> anyhow::Result<()> {
        let before = self.book(target, |book| book.clone());
        match &target.backend {
            Backend::Reference(reference) => self.work_reference(target, reference, before.next_case),
            Backend::Vulkan(device) => self.work_vulkan(target, device, &before),
        }
    }

    fn work_reference(&self, target: &Target, reference: &Reference, first: u64) -> anyhow::Result<()> {
        for index in first.. {
            if self.is_over(index) {
                break;
            }
            let over = match self.next_case(target, index) {
                Progress::Over(over) => over,
                Progress::Ready(prep) => {
                    let started = Instant::now();
                    let conclusion = target.run_reference(reference, prep.case());
                    self.book(target, |book| book.times.judge += started.elapsed().as_secs_f64());
                    Box::new(Over { prep: Some(prep), conclusion })
                }
            };
            self.conclude(target, index, &over)?;
        }
        Ok(())
    }

    fn work_vulkan(&self, target: &Target, device: &tangle_runner::Device, before: &DeviceBook) -> anyhow::Result<()> {
        let mut next = before.next_case;
        let mut cases: VecDeque<(u64, Progress)> = VecDeque::new();
        let mut timed_out = BTreeSet::new();
        loop {
            while !self.is_over(next) && unfinished(&cases) < IN_FLIGHT {
                let index = next;
                next += 1;
                let progress = self.next_case(target, index);
                if let Progress::Ready(prep) = &progress {
                    self.submit(target, device, index, prep)?;
                }
                cases.push_back((index, progress));
                self.settle(target, &mut cases)?;
            }
            if cases.is_empty() {
                break;
            }
            let completion = device.results().recv().context("the device's supervisor ended")?;
            let Some((index, progress)) = cases.iter_mut().find(|(index, _)| *index == completion.job) else {
                continue;
            };
            let Progress::Ready(prep) = &*progress else { continue };
            let prep = Arc::clone(prep);
            if matches!(completion.outcome, Outcome::TimedOut { .. }) && timed_out.insert(*index) {
                // On a busy machine a slow case looks like a hang. It is one if it happens again.
                self.submit(target, device, *index, &prep)?;
                continue;
            }
            let started = Instant::now();
            let conclusion = Conclusion::of(prep.case(), &target.capabilities, completion.outcome);
            self.book(target, |book| {
                book.times.judge += started.elapsed().as_secs_f64();
                book.take_stats(before, device.stats());
            });
            if let Finish::NoWorker { reason } = &conclusion.finish {
                anyhow::bail!("device {}: {reason}", target.name);
            }
            *progress = Progress::over(Some(prep), conclusion);
            self.settle(target, &mut cases)?;
        }
        Ok(())
    }

    fn submit(&self, target: &Target, device: &tangle_runner::Device, index: u64, prep: &Prep) -> anyhow::Result<()> {
        if let Prep::Ready(prepared) = prep {
            self.note_in_flight(target, index, &prepared.case)?;
            device.submit(job(prepared, index));
        }
        Ok(())
    }

    /// Enters what is over, up to the first case that still runs: the books never have a gap, so that a resumed campaign knows where
    /// to go on.
    fn settle(&self, target: &Target, cases: &mut VecDeque<(u64, Progress)>) -> anyhow::Result<()> {
        while let Some((index, Progress::Over(over))) = cases.front() {
            self.conclude(target, *index, over)?;
            // Cases that did not run have no file.
            let _ = fs::remove_file(self.in_flight_path(target, *index));
            cases.pop_front();
        }
        Ok(())
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
            return Progress::over(None, conclusion);
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
                let conclusion = fault.into();
                Progress::over(Some(prep), conclusion)
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

    /// Saves the finding, if it is one, and then enters the conclusion: what the books tell of is on disk.
    fn conclude(&self, target: &Target, index: u64, over: &Over) -> anyhow::Result<()> {
        let Over { prep, conclusion } = over;
        let Some(prep) = prep else {
            self.with_books(|ledger| ledger.enter(&target.name, index, conclusion, None));
            return Ok(());
        };
        self.run_here.fetch_add(1, Ordering::Relaxed);
        let signature = conclusion.signature(prep.case());
        let known = signature.as_ref().and_then(|signature| self.options.known.by_signature(&target.id(), signature));
        let folder = match &signature {
            Some(signature) if known.is_none() => self.save_witness(target, prep, conclusion, signature)?,
            _ => None,
        };
        let stats = Stats::of(prep.case());
        let nth = self.with_books(|ledger| {
            ledger.enter(&target.name, index, conclusion, signature.as_ref());
            ledger.generated.merge(&stats);
            if let Some(bug) = known {
                ledger.enter_known(&target.name, &bug.name);
                return None;
            }
            let book = ledger.finding(&target.name, signature.as_ref()?, index);
            book.cases += 1;
            let folder = folder.as_ref()?;
            let relative = folder.strip_prefix(&self.options.out).unwrap_or(folder).display().to_string();
            if !book.folders.contains(&relative) {
                book.folders.push(relative);
            }
            Some(book.folders.len() - 1)
        });
        if let (Some(background), Some(signature), Some(folder), Some(nth)) = (&self.background, signature, folder, nth)
        {
            let (device, case) = (target.name.clone(), prep.case().clone());
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
        let folder = finding.save(&self.options.out.join("findings"))?;
        self.book(target, |book| book.times.save += started.elapsed().as_secs_f64());
        Ok(Some(folder))
    }

    fn in_flight_path(&self, target: &Target, index: u64) -> PathBuf {
        in_flight_folder(&self.options.out, &target.name).join(format!("{index}.json"))
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

impl Progress {
    fn over(prep: Option<Arc<Prep>>, conclusion: Conclusion) -> Progress {
        Progress::Over(Box::new(Over { prep, conclusion }))
    }
}

fn unfinished(cases: &VecDeque<(u64, Progress)>) -> usize {
    cases.iter().filter(|(_, progress)| matches!(progress, Progress::Ready(_))).count()
}

/// A case that is through, with nothing prepared if the device cannot run it.
struct Over {
    prep: Option<Arc<Prep>>,
    conclusion: Conclusion,
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
    format!("{} on {}\n\n{}\n", signature, target.name, describe(case, &conclusion.finish))
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

fn in_flight_folder(out: &Path, device: &str) -> PathBuf {
    out.join("in-flight").join(device.replace(['/', ':'], "_"))
}

fn state_path(out: &Path) -> PathBuf {
    out.join("campaign.json")
}

fn read_state(out: &Path) -> anyhow::Result<Option<State>> {
    let path = state_path(out);
    match fs::read(&path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).with_context(|| format!("cannot read {}", path.display()))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The seed of the campaign in a folder, if there is one: a resumed campaign keeps it.
///
/// # Errors
/// If the folder's campaign cannot be read.
pub fn seed_of(out: &Path) -> anyhow::Result<Option<u64>> {
    Ok(read_state(out)?.map(|state| state.choice.seed))
}

/// Writes a file beside its place and renames it, so that it is old or new, never half.
///
/// # Errors
/// If it cannot be written.
pub fn write_atomically(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, contents).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))
}
