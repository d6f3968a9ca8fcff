//! Findings made small while the campaign goes on, on workers of their own.
//!
//! ```text
//!   campaign ── a finding is saved ──► queue ──► recognised: passes with the change of a bug that is known here? ──► statistics
//!                                       ▲  │                                                                           ▲
//!                              unfinished  └──► reduce, a turn ──► <finding>/minimized/ ──► name of the bug ────────────────┘
//! ```
//!
//! One at a time while the search goes on. When it is over, the processors are free: several at once then ([`Background::work_afterwards`]).
//!
//! The first witness of each signature comes first, what is slow to reproduce comes last. A turn is so much processor time, of this thread and
//! of the worker. What is not done then goes on from what was reached when all others have had a turn, with twice as much; and what was
//! recognised is minimised then, to make sure. When the search is over, what is left gets a little more time. What is not done then is reported,
//! and a campaign that is taken up again goes on from what was reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tangle_identity::change::tell;
use tangle_identity::failure::Crash;
use tangle_identity::known::{Bug, Effect};
use tangle_identity::{Change, Detail, Kind, Signature};
use tangle_program::case::Case;
use tangle_report::saved::Rate;

use crate::against::Against;
use crate::counterfactual::{Failing, is_alike};
use crate::minimized::MinimizedPath;
use crate::panics::message;
use crate::reduce::{Aside, ReduceOptions, content_hash, reduce};
use crate::target::Target;
use crate::variants;

/// Opens another worker of a device.
pub type Opener = Box<dyn Fn(&str) -> anyhow::Result<Target> + Send + Sync>;

/// Processor time that a finding gets at first.
const TIME_SLICE: Duration = Duration::from_secs(30);

/// After so many turns, each twice as long as the one before, a first witness comes behind further ones.
const LONG: u32 = 4;

/// The urgency of further witnesses of what takes long to reproduce: nearly always they show the same bug.
const LATE: u8 = 3;

/// Time between two looks at an empty queue.
const NAP: Duration = Duration::from_millis(50);

/// A saved finding to be made small.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the device that it was found on.
    pub device: String,
    /// The case as it failed, not minimised.
    pub case: Case,
    /// What it was found with.
    pub signature: Signature,
    /// The finding's folder; what comes of it is written to `minimized` there.
    pub folder: PathBuf,
}

/// The result of a request.
#[derive(Debug)]
pub struct Small {
    /// What was asked for: the finding before it was made small.
    pub request: Request,
    /// The case that the minimiser ended with.
    pub case: Case,
    /// What the minimised case fails with, which may differ from the request's in detail.
    pub signature: Signature,
    /// How often it fails.
    pub rate: Rate,
    /// What it passes without.
    pub passes_without: BTreeSet<Change>,
}

/// The result of a finding.
#[derive(Debug)]
pub enum Progressed {
    /// No step of the minimiser makes it smaller.
    Minimized(Box<Small>),
    /// It passes with the changes that a bug is known by.
    Recognised {
        /// The finding, which waits again, to be minimised later.
        request: Box<Request>,
        /// What it passes with, as the bug does.
        changes: BTreeSet<Change>,
    },
    /// Candidates failed in another way.
    Aside {
        /// The finding that they are candidates of.
        request: Box<Request>,
        /// One of each signature.
        asides: Vec<Aside>,
    },
}

/// What a bug of a device is recognised by.
#[derive(Clone, Debug, PartialEq)]
struct Clue {
    /// What a failure has to be like before the changes are tried.
    fails: Fails,
    /// What it passes with.
    changes: BTreeSet<Change>,
}

/// How a bug fails, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
enum Fails {
    Like(Signature),
    /// Of an entry of known bugs.
    With(Effect),
}

/// A finding in the queue.
#[derive(Debug)]
struct Waiting {
    request: Request,
    /// Turns that it has had.
    turns: u32,
}

/// When a finding in the queue comes; the smallest is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    /// Not the first of its signature, or one that is explained or took [`LONG`]: a signature of any kind says more than another witness.
    is_further: bool,
    /// How often others come first.
    round: u32,
    urgency: u8,
    nth: usize,
    number: u64,
}

impl Priority {
    /// True if it has had no turn yet and may be a bug of its own.
    const fn may_be_new(&self) -> bool {
        self.round == 0 && self.urgency < LATE
    }
}

/// Makes findings small, one at a time.
pub struct Background {
    open: Opener,
    /// Every device of the campaign.
    devices: Vec<String>,
    /// A device that what is made small must not fail on.
    against: Option<Against>,
    queue: Mutex<BTreeMap<Priority, Waiting>>,
    /// Processor time of a first turn.
    turn: Duration,
    /// By the name of the device; no clue stands twice.
    clues: Mutex<BTreeMap<String, Vec<Clue>>>,
    /// Signatures of which a finding was minimised or recognised, with their devices: their other findings are not missed.
    explained: Mutex<BTreeSet<(String, Signature)>>,
    number: AtomicU64,
    /// How many turns there were, and how long they took together.
    turns: Mutex<(u32, Duration)>,
    /// When to stop, known when the search is over.
    deadline: OnceLock<Instant>,
    /// Those that could not be made small, and why.
    unfinished: Mutex<BTreeMap<PathBuf, String>>,
    /// What is being done with which finding, and since when.
    current: Mutex<BTreeMap<PathBuf, (&'static str, Instant)>>,
}

impl Background {
    /// With something that opens workers, the names of the campaign's devices, and a device that what is made small must not fail on.
    pub fn new(open: Opener, devices: Vec<String>, against: Option<Against>) -> Background {
        Background {
            open,
            devices,
            against,
            queue: Mutex::default(),
            turn: TIME_SLICE,
            clues: Mutex::default(),
            explained: Mutex::default(),
            number: AtomicU64::new(0),
            turns: Mutex::default(),
            deadline: OnceLock::new(),
            unfinished: Mutex::default(),
            current: Mutex::default(),
        }
    }

    /// Puts a finding into the queue: witness number `nth` of its signature, from 0.
    pub fn ask(&self, request: Request, nth: usize) {
        let Some(urgency) = urgency(&request.signature, nth) else { return };
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.queue()
            .insert(Priority { is_further: nth > 0, round: 0, urgency, nth, number }, Waiting { request, turns: 0 });
    }

    /// How many have had no turn yet and may be a bug of their own.
    pub fn waiting(&self) -> usize {
        self.queue().keys().filter(|priority| priority.may_be_new()).count()
    }

    /// How long a turn of each signature that nothing explains yet may take with so many threads, by those that were.
    pub fn needed(&self, threads: usize) -> Duration {
        let (turns, spent) = *lock(&self.turns);
        if turns == 0 {
            return Duration::ZERO;
        }
        // In the order of `work`, which holds both at its end.
        let explained = lock(&self.explained);
        let queue = self.queue();
        let signatures: BTreeSet<_> = queue
            .iter()
            .filter(|(priority, _)| priority.urgency < LATE)
            .map(|(_, waiting)| (waiting.request.device.clone(), waiting.request.signature.clone()))
            .filter(|signature| !explained.contains(signature))
            .collect();
        // A turn that ends with a minimal program takes longer than one that recognises a bug, and most of what is left in the end are of these.
        let each = spent * 5 / (turns * 4);
        each * u32::try_from(signatures.len().div_ceil(threads)).unwrap_or(u32::MAX)
    }

    /// Findings that fail like this one on a device and pass with these changes, or with one that identifies a bug alone, are the same bug.
    pub fn learn(&self, device: &str, signature: &Signature, changes: &BTreeSet<Change>) {
        self.add_clue(device, Fails::Like(signature.clone()), changes);
    }

    /// The same of a known bug.
    pub fn learn_known(&self, device: &str, bug: &Bug) {
        self.add_clue(device, Fails::With(bug.effect), &bug.passes_without);
    }

    fn add_clue(&self, device: &str, fails: Fails, changes: &BTreeSet<Change>) {
        let mut clues = lock(&self.clues);
        let clues = clues.entry(device.to_owned()).or_default();
        let clue = Clue { fails, changes: changes.clone() };
        if tell(changes) && !clues.contains(&clue) {
            clues.push(clue);
        }
    }

    /// Says that the search is over, and how much time there is for what is left.
    pub fn wind_up(&self, time: Duration) {
        let _ = self.deadline.set(Instant::now() + time);
    }

    /// What it is doing, for people; `None` if nothing.
    pub fn doing(&self) -> Option<String> {
        let current = lock(&self.current);
        let (folder, (doing, since)) = current.iter().min_by_key(|(_, (_, since))| *since)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let more = if current.len() > 1 { format!(", and {} more", current.len() - 1) } else { String::new() };
        Some(format!("{doing} {name} for {} s{more}; {} findings wait", since.elapsed().as_secs(), self.waiting()))
    }

    fn now(&self, folder: &Path, doing: &'static str) {
        lock(&self.current).insert(folder.to_owned(), (doing, Instant::now()));
    }

    /// The same as [`Background::work`] on one more thread, from when the search is over.
    pub fn work_afterwards(&self, stop: &AtomicBool, done: impl FnMut(Progressed)) {
        self.deadline.wait();
        self.work(stop, done);
    }

    /// Works through the queue until the search is over, and a little longer. `stop` ends it at once.
    pub fn work(&self, stop: &AtomicBool, mut done: impl FnMut(Progressed)) {
        let mut workers = BTreeMap::<String, Vec<Target>>::new();
        while !self.is_over() && !stop.load(Ordering::SeqCst) {
            let Some((priority, waiting)) = self.queue().pop_first() else {
                if self.deadline.get().is_some() {
                    break;
                }
                std::thread::sleep(NAP);
                continue;
            };
            let folder = waiting.request.folder.clone();
            let began = Instant::now();
            let turn = AssertUnwindSafe(|| self.take_turn(priority, waiting, &mut workers, stop, &mut done));
            if let Err(panic) = catch_unwind(turn) {
                lock(&self.unfinished).insert(folder.clone(), message(&*panic));
            }
            let mut turns = lock(&self.turns);
            *turns = (turns.0 + 1, turns.1 + began.elapsed());
            drop(turns);
            lock(&self.current).remove(&folder);
        }
        let mut unfinished = lock(&self.unfinished);
        let explained = lock(&self.explained);
        for Waiting { request, turns } in std::mem::take(&mut *self.queue()).into_values() {
            let reason = match turns {
                0 => "the campaign ended before they were tried",
                _ => "they still became smaller when the campaign ended",
            };
            if !explained.contains(&(request.device, request.signature)) {
                unfinished.insert(request.folder, reason.into());
            }
        }
    }

    fn take_turn(
        &self,
        priority: Priority,
        waiting: Waiting,
        workers: &mut BTreeMap<String, Vec<Target>>,
        stop: &AtomicBool,
        done: &mut impl FnMut(Progressed),
    ) {
        let request = &waiting.request;
        let round = priority.round + 1;
        let later = Priority { round, is_further: priority.is_further || round >= LONG, ..priority };
        if priority.round == 0 {
            self.now(&request.folder, "recognising");
            if let Some(changes) = self.recognised(request, workers) {
                self.explain(request);
                done(Progressed::Recognised { request: Box::new(request.clone()), changes });
                drop(self.queue().insert(Priority { is_further: true, ..later }, waiting));
                return;
            }
        }
        self.now(&request.folder, "minimising");
        match self.minimize(&waiting, workers, stop, done) {
            Ok(Some(small)) => {
                self.explain(request);
                self.learn(&request.device, &small.signature, &small.passes_without);
                done(Progressed::Minimized(small));
            }
            Ok(None) => {
                drop(self.queue().insert(later, Waiting { turns: waiting.turns + 1, ..waiting }));
            }
            Err(reason) => drop(lock(&self.unfinished).insert(waiting.request.folder, reason)),
        }
    }

    fn explain(&self, request: &Request) {
        lock(&self.explained).insert((request.device.clone(), request.signature.clone()));
    }

    /// The folders of those that are not minimised, with the reasons.
    pub fn left_over(&self) -> BTreeMap<PathBuf, String> {
        lock(&self.unfinished).clone()
    }

    /// What a finding passes with, if a bug of the device is known by it.
    fn recognised(&self, request: &Request, workers: &mut BTreeMap<String, Vec<Target>>) -> Option<BTreeSet<Change>> {
        let fails = |clue: &Clue| match &clue.fails {
            Fails::Like(signature) => is_alike(&request.signature, signature),
            Fails::With(effect) => Effect::of(request.signature.kind) == Some(*effect),
        };
        let clues = lock(&self.clues).get(&request.device).cloned().unwrap_or_default();
        let applies = |clue: &&Clue| clue.changes.iter().any(|change| change.apply(&request.case).is_some());
        let bugs: Vec<&BTreeSet<Change>> =
            clues.iter().filter(|clue| fails(clue)).filter(applies).map(|clue| &clue.changes).collect();
        if bugs.is_empty() {
            return None;
        }
        self.open(&request.device, workers).ok()?;
        let target = workers.get(&request.device)?.first()?;
        let failing = Failing::confirm(target, &request.case, &request.signature)?;
        failing.within(self.turn).is_one_of(bugs)
    }

    /// A turn of a finding. `None` if it is not finished.
    fn minimize(
        &self,
        waiting: &Waiting,
        workers: &mut BTreeMap<String, Vec<Target>>,
        stop: &AtomicBool,
        done: &mut impl FnMut(Progressed),
    ) -> Result<Option<Box<Small>>, String> {
        let Waiting { request, turns } = waiting;
        let started = Instant::now();
        self.open(&request.device, workers)?;
        let targets = workers.get(&request.device).map_or(&[][..], Vec::as_slice);
        let original = &request.case;
        let place = MinimizedPath::of(&request.folder);
        let start = place.unfinished(original).unwrap_or_else(|| original.clone());
        let options = ReduceOptions {
            processor_time: Some(self.turn.saturating_mul(2u32.saturating_pow(*turns))),
            from: Some(content_hash(original)),
            against: self.against.clone(),
            ..ReduceOptions::default()
        };
        let reduction = reduce(targets, &start, Some(&request.signature), &options, stop, |progress| {
            let is_noted = !progress.improved || place.note(original, progress.best).is_ok();
            if self.is_over() || !is_noted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let reduction = reduction.map_err(|error| format!("{error:#}"))?;
        let is_smaller = reduction.minimized.accepted > 0;
        if reduction.minimized.finished || is_smaller {
            place.save(&targets[0], original, &reduction, started.elapsed()).map_err(|error| format!("{error:#}"))?;
        }
        if !reduction.asides.is_empty() {
            done(Progressed::Aside { request: Box::new(request.clone()), asides: reduction.asides });
        }
        if !reduction.minimized.finished {
            return Ok(None);
        }
        let small = Small {
            request: request.clone(),
            signature: reduction.signature,
            case: reduction.minimized.case,
            rate: reduction.after,
            passes_without: reduction.passes_without,
        };
        self.now(&small.request.folder, "looking for the stage to blame for");
        self.blame(&small, &place, workers)?;
        Ok(Some(Box::new(small)))
    }

    /// Opens a worker of a device, unless there is one.
    fn open(&self, device: &str, workers: &mut BTreeMap<String, Vec<Target>>) -> Result<(), String> {
        if !workers.contains_key(device) {
            let target = (self.open)(device).map_err(|error| format!("{error:#}"))?;
            workers.insert(device.to_owned(), vec![target]);
        }
        Ok(())
    }

    /// Runs a minimised case as every variant on every device, and saves the table beside it.
    fn blame(
        &self,
        small: &Small,
        place: &MinimizedPath,
        workers: &mut BTreeMap<String, Vec<Target>>,
    ) -> Result<(), String> {
        if !variants::are_telling(small.signature.kind) {
            return Ok(());
        }
        for device in &self.devices {
            // The table is worth having without a device that does not start.
            let _ = self.open(device, workers);
        }
        let targets = self.devices.iter().filter_map(|device| workers.get(device)?.first());
        variants::save(&variants::table(targets, &small.case), place.path()).map_err(|error| format!("{error:#}"))
    }

    fn is_over(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| Instant::now() >= *deadline)
    }

    fn queue(&self) -> MutexGuard<'_, BTreeMap<Priority, Waiting>> {
        lock(&self.queue)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Small numbers come first; `None`: not at all.
fn urgency(signature: &Signature, nth: usize) -> Option<u8> {
    let is_placed =
        || matches!(&signature.detail, Detail::Crash(Crash { place: Some(place), .. }) if place.is_of_any_build());
    match signature.kind {
        Kind::Value | Kind::Path | Kind::VulkanError | Kind::OpenGlError | Kind::WebGpuError => Some(0),
        Kind::LaneMap | Kind::Toolchain => (nth == 0).then_some(0),
        // One witness says it all.
        Kind::Crash if nth > 0 && is_placed() => None,
        // Every candidate that fails costs a worker, or the whole time limit.
        Kind::Crash | Kind::DeviceLost | Kind::OutOfMemory | Kind::Implausible if nth == 0 => Some(1),
        Kind::Hang if nth == 0 => Some(2),
        Kind::Crash | Kind::DeviceLost | Kind::OutOfMemory | Kind::Implausible | Kind::Hang => Some(LATE),
        Kind::Invalid => None,
    }
}

#[cfg(test)]
mod tests {
    use tangle_identity::Known;
    use tangle_identity::failure::{Doing, End};
    use tangle_program::tree::{Builtin, Expr, Stmt};

    use super::*;
    use crate::counterfactual::tests::{assumed, branched, pattern, with_more};
    use crate::prepare::prepare;

    fn background(turn: Duration) -> Background {
        let background = Background::new(Box::new(Target::built_in), Vec::new(), None);
        background.wind_up(Duration::from_secs(3600));
        Background { turn, ..background }
    }

    fn request(device: &str, case: Case, folder: PathBuf) -> Request {
        let target = Target::built_in(device).expect("there is such a fault");
        let signature = target.run(&prepare(case.clone()).expect("it compiles")).signature(&case).expect("it fails");
        Request { device: device.into(), case, signature, folder }
    }

    fn all(background: &Background) -> Vec<&'static str> {
        let mut all = Vec::new();
        background.work(&AtomicBool::new(false), |progress| {
            all.push(match progress {
                Progressed::Minimized(_) => "minimised",
                Progressed::Recognised { .. } => "recognised",
                Progressed::Aside { .. } => "aside",
            });
        });
        all
    }

    #[test]
    fn what_a_turn_does_not_finish_is_finished_later() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let mut case = assumed();
        let log =
            |site| Stmt::Log { site, values: vec![Expr::Builtin(Builtin::Lane), Expr::Builtin(Builtin::LocalIndex)] };
        case.program.functions.last_mut().expect("main").body.extend((10..16).map(log));
        let request = request("reference:assumption_unreachable", case, place.path().into());
        let background = background(Duration::from_micros(1));
        let waiting = Waiting { request: request.clone(), turns: 0 };
        let turn = background.minimize(&waiting, &mut BTreeMap::new(), &AtomicBool::new(false), &mut |_| ());
        assert!(matches!(turn, Ok(None)), "a microsecond is not enough");
        background.ask(request, 0);
        assert_eq!(all(&background), ["minimised"]);
        assert!(background.left_over().is_empty(), "{:?}", background.left_over());
    }

    #[test]
    fn several_threads_make_each_finding_small_once() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let background = background(TIME_SLICE);
        let mut names = BTreeSet::new();
        for number in 0..6 {
            let folder = place.path().join(number.to_string());
            background.ask(request("reference:assumption_unreachable", assumed(), folder.clone()), number);
            names.insert(folder);
        }
        let stop = AtomicBool::new(false);
        let small = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    background.work_afterwards(&stop, |progress| {
                        let Progressed::Minimized(one) = progress else { return };
                        lock(&small).push(one.request.folder);
                    });
                });
            }
        });
        let small = lock(&small);
        assert_eq!((small.len(), small.iter().cloned().collect::<BTreeSet<_>>()), (6, names));
        assert!(background.left_over().is_empty() && background.doing().is_none());
    }

    #[test]
    fn the_first_of_each_signature_comes_first() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let background = background(TIME_SLICE);
        let found = request("reference:assumption_unreachable", assumed(), place.path().into());
        let crash = Crash { end: End::Signal(11), doing: Doing::Run, place: None, message: None };
        let crash = Request { signature: Signature::new(Kind::Crash, Detail::Crash(crash)), ..found.clone() };
        background.ask(found.clone(), 1);
        background.ask(crash, 0);
        background.ask(found, 0);
        let kinds: Vec<Kind> = background.queue().values().map(|waiting| waiting.request.signature.kind).collect();
        assert_eq!(kinds, [Kind::Path, Kind::Crash, Kind::Path]);
    }

    #[test]
    fn what_waits_needs_as_long_as_others_took() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let background = background(TIME_SLICE);
        let ask = |device: &str, nth| background.ask(request(device, assumed(), place.path().into()), nth);
        let found = "reference:assumption_unreachable";
        ask(found, 0);
        assert_eq!(background.needed(1), Duration::ZERO, "nobody knows yet");
        *lock(&background.turns) = (2, Duration::from_secs(16));
        ask(found, 1);
        assert_eq!(background.needed(1), Duration::from_secs(10), "two witnesses of one signature");
        ask(&format!("{found}@32"), 0);
        assert_eq!(background.needed(1), Duration::from_secs(20));
        assert_eq!(background.needed(2), Duration::from_secs(10));
        background.explain(&request(found, assumed(), place.path().into()));
        assert_eq!(background.needed(1), Duration::from_secs(10));
        all(&background);
        assert_eq!(background.needed(1), Duration::ZERO);
        assert!(lock(&background.turns).0 > 2);
    }

    #[test]
    fn what_ends_before_its_turn_is_missed_unless_its_signature_is_explained() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let one = request("reference:assumption_unreachable", assumed(), place.path().join("1"));
        let background = background(TIME_SLICE);
        background.ask(one.clone(), 0);
        background.ask(Request { folder: place.path().join("2"), ..one.clone() }, 1);
        background.work(&AtomicBool::new(true), |_| panic!("it is stopped"));
        assert_eq!(background.left_over().len(), 2);
        let background = self::background(TIME_SLICE);
        background.explain(&one);
        background.ask(one, 0);
        background.work(&AtomicBool::new(true), |_| panic!("it is stopped"));
        assert!(background.left_over().is_empty());
    }

    #[test]
    fn a_finding_that_passes_with_the_change_of_a_bug_is_that_bug() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let change = "assumeEXT in straight code".parse::<Change>().expect("a change");
        for (device, case, expected) in [
            ("reference:assumption_unreachable", assumed(), &["recognised", "minimised"][..]),
            // It has an assumption, too, and fails for another reason.
            ("reference:if_merge_loses_last_lane", branched(), &["minimised"]),
        ] {
            let request = request(device, case, place.path().join(device));
            let background = background(TIME_SLICE);
            background.learn(device, &request.signature, &[change].into());
            background.ask(request, 0);
            assert_eq!(all(&background), expected, "{device}");
        }
    }

    #[test]
    fn a_finding_that_passes_with_the_change_of_a_known_bug_is_that_bug() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let file = place.path().join("known.toml");
        let device = "reference:assumption_unreachable";
        for (change, expected) in
            [("assumeEXT in straight code", &["recognised", "minimised"][..]), ("assumeEXT in a loop", &["minimised"])]
        {
            std::fs::write(&file, format!("[[bug]]\nname = 'a'\npasses_without = ['{change}']\n")).expect("ours");
            let known = Known::read(std::slice::from_ref(&file)).expect("it is good");
            let background = background(TIME_SLICE);
            background.learn_known(device, &known.bugs()[0]);
            background.ask(request(device, assumed(), place.path().join(change)), 0);
            assert_eq!(all(&background), expected, "{change}");
        }
    }

    #[test]
    fn a_finding_that_passes_with_the_changes_of_a_bug_together_is_that_bug() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let scan = || pattern("patterns/scan_by_loop.json");
        let device = "reference:store_to_left_lanes";
        let minimal = request(device, scan(), place.path().into());
        let target = Target::built_in(device).expect("there is such a fault");
        let failing = Failing::confirm(&target, &minimal.case, &minimal.signature).expect("it fails every time");
        let changes = failing.passes_without();
        for (device, is_it) in [(device, true), ("reference:last_lane_never_active", false)] {
            let background = background(TIME_SLICE);
            background.learn(device, &minimal.signature, &changes);
            let finding = request(device, with_more(scan()), place.path().into());
            let recognised = background.recognised(&finding, &mut BTreeMap::new());
            assert_eq!(recognised.is_some(), is_it, "{device}: {recognised:?}");
        }
    }
}
