//! A campaign: every device works through the sequence of cases until time, count or Ctrl-C, with one thread for each of its workers.
//!
//! ```text
//!   per worker   queue.take ─► plan.cases(n) ─► prepare (shared with other devices) ─► in-flight/<device>/<i>.json ─► worker
//!                                                                                                                        │
//!                statistics ◄─ finding on disk ◄─ signature ◄─ in order (queue) ◄─ judge, each ◄──────────── outcome ◄──────┘
//! ```
//!
//! A program is compiled once and runs with several data ([`in_flight`]); each of these is a case with a number, a verdict and a finding of its
//! own. A case is on disk before a driver sees it. The workers of a device share its way through the sequence of programs ([`queue`]):
//! what is through is entered in the order of the cases. A worker that is lost gives its cases back to the others; a device without any worker ends, and
//! the other devices go on. The statistics is saved every few seconds and at the end; a campaign that is started again in the same folder
//! goes on where it stopped.

mod device;
mod disk;
mod folder;
mod in_flight;
mod merge;
mod panics;
mod queue;
mod record;
mod recovered;
mod running;
mod sample;
mod section;
mod shared;
mod standstill;
mod suspects;
mod threads;
mod timeouts;
mod way;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle_files::create_folder;
use tangle_identity::{BugId, Change, operators};
use tangle_minimizer::statements;
use tangle_program::case::Case;
use tangle_report::SavedFinding;
use tangle_runner::processor_time;

use crate::against::Against;
use crate::background::{Background, Opener, Progressed, Request, Small};
use crate::isa;
use crate::minimized::MinimizedPath;
use crate::plan::Plan;
use crate::target::Target;
use crate::variants;
use disk::Disk;
use folder::{Earlier, State};
pub use folder::{Folder, programs_of_bugs, read, read_coverage};
pub use merge::{Merged, merge};
use recovered::recover;
use running::MOMENT;
pub use running::{Campaign, CampaignOptions, Loss};
use sample::Log;
pub use sample::{STATS, memory, read_samples};
pub use section::Section;
use standstill::{Standstill, described};
use suspects::{Item, Suspects};
use tangle_report::campaign::Sample;
use tangle_report::statistics::{BugEntry, SignatureEntry, Statistics};
use threads::{Every, Phase, Threads, minimisers};

/// Time between two looks at how it stands.
const TICK: Duration = Duration::from_millis(100);

/// Longest time for machine code that is not saved yet when a search without a time limit is over.
const DUMPS_AFTERWARDS: Duration = Duration::from_secs(60);

/// Longest time for findings that are not minimised yet when the search is over.
const AFTERWARDS: Duration = Duration::from_secs(60);

/// The part of a campaign's time that is kept for findings that wait to be minimised: one of so many.
const RESERVED: u32 = 5;

/// How much longer than its time a campaign may take, whatever still runs.
const GRACE: Duration = Duration::from_secs(12);

/// The same when it is stopped.
const GRACE_OF_STOP: Duration = Duration::from_secs(5);

/// How a campaign stands.
pub struct Moment<'a> {
    /// The progress line, for a terminal.
    pub line: String,
    /// In figures, at most a second old.
    pub sample: &'a Sample,
    /// All that was counted so far, earlier runs of the campaign included.
    pub statistics: &'a Statistics,
    /// Time that it has left, if it has a limit.
    pub remaining: Option<Duration>,
}

impl Campaign {
    /// Sets up a campaign, or takes up the one in the folder. `stop` ends it.
    ///
    /// # Errors
    /// If the folder cannot be used or belongs to another campaign, or no device offers the tier.
    pub fn new(
        options: CampaignOptions,
        mut folder: Folder,
        targets: Vec<Target>,
        stop: &'static AtomicBool,
    ) -> anyhow::Result<Campaign> {
        let plan = Plan::new(options.choice.clone(), &targets)?;
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let Earlier { state, coverage, mut notes } = folder.take_up(&options.choice, &names)?;
        let mut state = state.unwrap_or_else(|| State::new(options.choice.clone(), names));
        let mut statistics = std::mem::take(&mut state.statistics);
        let recovered = recover(folder.path(), &folder.findings(), &mut statistics, &mut notes)?;
        if recovered.count() > 0 {
            notes.push(format!(
                "{} findings were saved and not counted: they count when their cases run again",
                recovered.count()
            ));
        }
        let changes = section::begin(&mut state.sections, &targets, &statistics);
        notes.extend(changes.into_iter().map(|change| format!("{change}: a new section of the statistics begins")));
        folder.keep();
        for target in &targets {
            let folder = folder.in_flight(&target.name);
            create_folder(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let in_flight = || take_in_flight(&folder, &targets, &statistics, plan.inputs());
        let (suspects, more) = Suspects::begin(folder.path(), in_flight)?;
        notes.extend(more);
        Ok(Campaign {
            disk: Disk::new(folder.path(), options.max_disk),
            saves: AtomicU64::new(state.save),
            state,
            recovered,
            notes,
            suspects,
            confirmations: Mutex::default(),
            failure: Mutex::default(),
            stopped: OnceLock::new(),
            searched: AtomicBool::new(false),
            plan,
            targets,
            seconds_before: statistics.seconds,
            statistics: Mutex::new(statistics),
            coverage: Mutex::new(coverage),
            shared: Mutex::default(),
            closed: RwLock::new(false),
            stop,
            started: Instant::now(),
            run_here: AtomicU64::new(0),
            background: None,
            against: None,
            has_finding: AtomicBool::new(false),
            processor_time_before: processor_time(),
            dumps: isa::Queue::default(),
            losses: Mutex::default(),
            folder,
            options,
        })
    }

    /// Has its time begin earlier: when its devices began to be opened.
    #[must_use]
    pub fn since(self, started: Instant) -> Campaign {
        Campaign { started, ..self }
    }

    /// Sets aside what another device fails on, too, and counts it as known.
    #[must_use]
    pub fn against(mut self, against: Against) -> Campaign {
        self.against = Some(against);
        self
    }

    /// Minimises findings in the background, those of earlier runs too, on workers that `open` gives.
    #[must_use]
    pub fn minimizing(mut self, open: Opener) -> Campaign {
        let devices = self.targets.iter().map(|target| target.name.clone()).collect();
        let health: BTreeMap<_, _> = self.targets.iter().map(|target| (target.name.clone(), target.health())).collect();
        let on_gpu = move |device: &str| {
            let target = open(device)?;
            Ok(match health.get(device) {
                Some(health) => target.with_health(Arc::clone(health)),
                None => target,
            })
        };
        let background = Background::new(Box::new(on_gpu), devices, self.against.clone());
        for target in &self.targets {
            let id = target.id();
            self.options.known.bugs_on(&id).for_each(|bug| background.learn_known(&target.name, bug));
        }
        // A campaign that was killed may have saved more than it booked: what is on disk counts.
        self.update(|statistics| statistics.bugs.clear());
        let is_fatal = |entry: &SignatureEntry| {
            self.suspects.guilty(&entry.device, entry.first_case / self.plan.inputs()).is_some()
        };
        for entry in self.statistics().findings.iter().filter(|entry| !is_fatal(entry)) {
            for (nth, folder) in entry.folders.iter().enumerate() {
                let folder = self.folder.path().join(folder);
                let (device, signature) = (entry.device.clone(), entry.signature.clone());
                let case = tangle_files::read_text(&folder.join("case.json"))
                    .ok()
                    .and_then(|text| Case::from_json(&text).ok());
                let Some(case) = case else { continue };
                let place = MinimizedPath::of(&folder);
                let request = Request { device, case, signature, folder };
                match place.finished() {
                    Some(SavedFinding { case, signature, rate, .. }) => {
                        let (rate, passes_without) = (rate.unwrap_or_default(), place.passes_without());
                        background.learn(&request.device, &signature, &passes_without);
                        self.enter_small(&Small { request, case, signature, rate, passes_without });
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

    /// What a person should know of what an earlier run left, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Runs to the end, reporting to `progress` five times a second how it stands. What still runs when its time is long over is left behind:
    /// it is not counted, and runs again when the campaign goes on.
    ///
    /// # Errors
    /// If something cannot be saved. What was found before stays on disk, and [`Campaign::statistics`] has it.
    pub fn run(self: &Arc<Campaign>, mut progress: impl FnMut(&Moment<'_>)) -> anyhow::Result<()> {
        let mut log = Log::open(self.folder.path())?;
        self.save_state()?;
        self.statistics().findings.iter().for_each(|entry| {
            entry.folders.iter().for_each(|folder| self.ask_for_dump(&entry.device, &self.folder.path().join(folder)));
        });
        let threads = Threads::start(self);
        let mut phase = Phase::Search;
        let mut every = Every::default();
        let mut sample = self.sample(&self.statistics());
        let mut standstill = Standstill::new(Instant::now());
        loop {
            std::thread::sleep(TICK);
            phase = self.next_phase(phase, &threads);
            let statistics = self.statistics();
            if every.quarter() && self.has_spent_its_processor_time() {
                self.searched.store(true, Ordering::SeqCst);
            }
            if every.second() {
                sample = self.sample(&statistics);
            }
            let remaining = self.options.time.map(|time| time.saturating_sub(self.started.elapsed()));
            let quiet = standstill.look(self.run_here.load(Ordering::Relaxed), Instant::now());
            let line = self.line(phase, &statistics, &threads, quiet);
            progress(&Moment { line, sample: &sample, statistics: &statistics, remaining });
            if every.save() {
                self.note_failure(self.save_state().and_then(|()| log.offer(&sample)));
                self.note_failure(self.suspects.note_survival());
            }
            if every.measure() {
                self.disk.measure(self.folder.path());
            }
            if phase == Phase::Ended {
                break;
            }
        }
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
        self.note_failure(self.save_state().and_then(|()| log.write(&self.sample(&self.statistics()))));
        self.note_failure(self.suspects.end());
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    /// What follows, given what has ended.
    fn next_phase(&self, phase: Phase, threads: &Threads) -> Phase {
        let stopped = self.stop.load(Ordering::SeqCst);
        if stopped {
            self.stopped.get_or_init(Instant::now);
        }
        if self.is_late() {
            return Phase::Ended;
        }
        match phase {
            Phase::Search if threads.devices.iter().all(|(_, thread)| thread.is_finished()) => {
                self.dumps.close(if stopped { Duration::ZERO } else { self.afterwards(DUMPS_AFTERWARDS) });
                if let Some(background) = &self.background {
                    background.wind_up(self.afterwards(AFTERWARDS.min(self.started.elapsed() / 2)));
                }
                Phase::WindUp
            }
            Phase::WindUp if threads.others.iter().all(JoinHandle::is_finished) => Phase::Ended,
            Phase::WindUp if stopped => {
                self.dumps.close(Duration::ZERO);
                Phase::WindUp
            }
            phase => phase,
        }
    }

    /// Time for what is left when the search is over: what the campaign has left, if it has a limit, and a moment.
    fn afterwards(&self, unlimited: Duration) -> Duration {
        self.options.time.map_or(unlimited, |time| time.saturating_sub(self.started.elapsed()) + MOMENT)
    }

    /// True if the rest of the campaign's time is for time-outs that wait to be confirmed and findings that wait to be minimised. Once it is, it
    /// stays so.
    fn is_time_for_the_rest(&self) -> bool {
        if self.options.until_first && self.has_finding.load(Ordering::SeqCst) {
            self.searched.store(true, Ordering::SeqCst);
        }
        let Some(time) = self.options.time else { return self.searched.load(Ordering::SeqCst) };
        let elapsed = self.started.elapsed();
        let waits = || self.background.as_ref().is_some_and(|background| background.waiting() > 0);
        // A signature more says less than the bug behind one that is there.
        let needed = || self.background.as_ref().map_or(Duration::ZERO, |background| background.needed(minimisers()));
        let is_end = elapsed >= time
            || elapsed >= time - AFTERWARDS.min(time / RESERVED) && waits()
            || elapsed >= time / 2 && elapsed + needed() >= time
            || elapsed >= time - time / timeouts::KEPT && elapsed >= time - self.kept_for_confirmation(time);
        if is_end {
            self.searched.store(true, Ordering::SeqCst);
        }
        self.searched.load(Ordering::SeqCst)
    }

    /// True if the search has had the processor time that it may have.
    fn has_spent_its_processor_time(&self) -> bool {
        let limit = self.options.processor_time;
        limit.is_some_and(|limit| processor_time().saturating_sub(self.processor_time_before) >= limit)
    }

    /// True if nothing is waited for any more, whatever it is.
    fn is_late(&self) -> bool {
        let is_over = |time: Duration| self.started.elapsed() >= time + GRACE;
        self.options.time.is_some_and(is_over)
            || self.stopped.get().is_some_and(|since| since.elapsed() >= GRACE_OF_STOP)
    }

    /// The progress line: how it stands, or what is waited for.
    fn line(&self, phase: Phase, statistics: &Statistics, threads: &Threads, quiet: Option<Duration>) -> String {
        let running: Vec<&str> =
            threads.devices.iter().filter(|(_, thread)| !thread.is_finished()).map(|(name, _)| name.as_str()).collect();
        let is_ending = self.stop.load(Ordering::SeqCst) || self.searched.load(Ordering::SeqCst);
        let quiet = quiet.map_or_else(String::new, |time| {
            let at_work = self.targets.iter().filter(|target| running.contains(&target.name.as_str()));
            let doing =
                |target: &Target| target.executor.workers().iter().filter_map(|worker| worker.doing()).collect();
            described(time, at_work.map(|target| (target.name.as_str(), doing(target))))
        });
        match phase {
            Phase::Search if is_ending && !running.is_empty() => {
                format!("the search is over; waiting for the cases that run on {}{quiet}", running.join(", "))
            }
            Phase::Search => {
                let ended = self.losses().values().filter(|loss| matches!(loss, Loss::Device { .. })).count();
                let ended = if ended == 0 { String::new() } else { format!(", {ended} devices lost") };
                statistics.line(self.started.elapsed(), self.run_here.load(Ordering::Relaxed)) + &ended + &quiet
            }
            Phase::WindUp | Phase::Ended => {
                let doing = self.background.as_ref().and_then(Background::doing);
                doing.unwrap_or_else(|| "saving what the drivers' compilers made of the findings".into())
            }
        }
    }

    fn sample(&self, statistics: &Statistics) -> Sample {
        sample::take(statistics, &self.coverage(), self.background.as_ref().map_or(0, Background::waiting))
    }

    /// Counts the result of a finding in the background.
    fn enter_progress(&self, progress: &Progressed) {
        match progress {
            Progressed::Minimized(small) => self.enter_small(small),
            Progressed::Recognised { request, changes } => self.enter_recognised(request, changes),
            Progressed::Aside { request, asides } => asides.iter().for_each(|aside| self.enter_aside(request, aside)),
        }
    }

    /// Counts a finding as the bug whose programs pass with the same changes.
    fn enter_recognised(&self, request: &Request, changes: &BTreeSet<Change>) {
        let Request { device, case, signature, folder } = request;
        let known = &self.options.known;
        let known = self.target(device).and_then(|target| known.by_changes(&target.id(), signature, changes));
        let name = known.map(|bug| bug.name.as_str());
        let folder = self.relative(folder);
        self.update(|statistics| {
            let is_entered = statistics.recognise(device, changes, name, &folder, signature);
            if let (false, Some(name)) = (is_entered, name) {
                statistics.enter_bug(BugEntry {
                    device: device.clone(),
                    bug: BugId::Text(name.into()),
                    operators: BTreeSet::new(),
                    passes_without: changes.clone(),
                    recognised: [(folder.clone(), signature.clone())].into(),
                    known: Some(name.into()),
                    signatures: BTreeSet::new(),
                    witnesses: 0,
                    representative: folder,
                    statements: statements(&case.program),
                    severity: signature.severity(),
                    flake: None,
                });
            }
        });
    }

    /// Counts a minimised finding as the bug that it shows.
    fn enter_small(&self, small: &Small) {
        let Small { request, case, signature, rate, passes_without } = small;
        let place = MinimizedPath::of(&request.folder);
        let known = variants::candidates(&self.options.known, place.path(), &request.device);
        let known = self
            .target(&request.device)
            .and_then(|target| known.by_minimal(&target.id(), signature, case, passes_without));
        let folder = self.relative(&request.folder);
        let representative = Path::new(&folder).join("minimized").display().to_string();
        self.update(|statistics| {
            statistics.forget_recognised(&folder);
            statistics.enter_bug(BugEntry {
                device: request.device.clone(),
                bug: BugId::of(signature, case),
                operators: operators(case).into_iter().map(Into::into).collect(),
                passes_without: passes_without.clone(),
                recognised: BTreeMap::new(),
                known: known.map(|bug| bug.name.clone()),
                signatures: [request.signature.clone()].into(),
                witnesses: 1,
                representative,
                statements: statements(&case.program),
                severity: signature.severity(),
                flake: Some(*rate).filter(|rate| !rate.is_always()),
            });
        });
    }

    fn save_state(&self) -> anyhow::Result<()> {
        let (coverage, statistics) = {
            let _whole = self.closed.write().unwrap_or_else(PoisonError::into_inner);
            (self.coverage().clone(), self.statistics())
        };
        let state = State { save: self.saves.fetch_add(1, Ordering::SeqCst) + 1, statistics, ..self.state.clone() };
        self.folder.write(&state, &coverage)
    }
}

/// The programs that were in flight when the last run ended, and that are not counted. Their files go.
fn take_in_flight(folder: &Folder, targets: &[Target], statistics: &Statistics, inputs: u64) -> Vec<Item> {
    let mut items = BTreeSet::new();
    for target in targets {
        let device = statistics.devices.get(&target.name);
        let is_open = |program: u64| {
            let cases = program.saturating_mul(inputs)..program.saturating_add(1).saturating_mul(inputs);
            device.is_none_or(|entry| entry.next_case < cases.end || entry.timed_out.range(cases).next().is_some())
        };
        for entry in fs::read_dir(folder.in_flight(&target.name)).into_iter().flatten().flatten() {
            let path = entry.path();
            let program = program_in_flight(&path, inputs);
            if let Some(program) = program.filter(|&program| is_open(program)) {
                items.insert(Item { device: target.name.clone(), program });
            }
            // It is written again when it runs again.
            let _ = fs::remove_file(path);
        }
    }
    items.into_iter().collect()
}

/// The program that a file in the folder of what is in flight stands for: a case by its number, or what ran in this process.
fn program_in_flight(path: &Path, inputs: u64) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    if stem.starts_with(way::RUNNING) {
        let bytes = tangle_files::read(path, 8).ok()?;
        return Some(u64::from_le_bytes(bytes.try_into().ok()?));
    }
    stem.parse::<u64>().ok().map(|index| index / inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_known_by_its_file() {
        let place = tempfile::tempdir().expect("a temporary folder");
        for (name, contents, expected) in [
            ("17.json", &b"{}"[..], Some(4)),
            ("running-0", &7_u64.to_le_bytes()[..], Some(7)),
            ("running-1", b"", None),
            ("running-2", b"more than eight bytes", None),
            ("x.json", b"{}", None),
        ] {
            let path = place.path().join(name);
            fs::write(&path, contents).expect("it is ours");
            assert_eq!(program_in_flight(&path, 4), expected, "{name}");
        }
    }
}
