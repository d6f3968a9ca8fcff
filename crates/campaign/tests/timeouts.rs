//! Time-outs wait until the search can spare the time to confirm them, and are entered then.

mod common;

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::Sender;
use tangle_campaign::campaign::Loss;
use tangle_campaign::executor::{Description, Executor, Task, Worker};
use tangle_campaign::prepare::prepare;
use tangle_campaign::reduce::{ReduceOptions, reduce};
use tangle_campaign::target::{Finish, Target};
use tangle_files::text::Lines;
use tangle_generator::{Config, from_seed};
use tangle_identity::{Kind, Status};
use tangle_report::statistics::Statistics;
use tangle_runner::{Completion, Outcome, Stage, Stall, Suspicion, Terms};

/// The programs that time out. The first ends if it has time enough.
const TIMES_OUT: [u64; 5] = [1, 2, 4, 5, 9];

/// How many programs there are.
const PROGRAMS: u64 = 12;

/// The name of the device.
const NAME: &str = "reference";

/// The reference device, of which some programs time out.
struct TimesOut {
    inner: Target,
    /// What it was given, in order.
    seen: Arc<Mutex<Vec<(u64, Terms)>>>,
    is_gpu: bool,
    /// Whether it executes nothing any more once something hung.
    breaks: bool,
    is_broken: AtomicBool,
}

impl Executor for TimesOut {
    fn description(&self) -> Description {
        let mut description = self.inner.executor.description();
        description.capabilities.is_gpu = self.is_gpu;
        description
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![self]
    }

    fn open_workers(&mut self, _jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {}
}

impl Worker for TimesOut {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        self.seen.lock().expect("nobody panicked").push((task.id, task.terms));
        let hangs = TIMES_OUT.contains(&task.id) && (task.terms.suspicion().is_none() || task.id != TIMES_OUT[0]);
        if hangs || self.is_broken.load(Ordering::SeqCst) {
            self.is_broken.store(self.breaks, Ordering::SeqCst);
            let after = Duration::from_secs(9);
            let outcome =
                Outcome::TimedOut { stage: Stage::Pipeline, how: Stall::Processor, after, stderr: Lines::default() };
            completions.send(Completion { job: task.id, outcome }).expect("it waits");
            return;
        }
        self.inner.executor.workers()[0].submit(task, completions);
    }

    fn longest(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

/// The result of a campaign with so much time, and what the device was given.
fn run(place: &Path, time: Option<Duration>) -> (Statistics, Vec<(u64, Terms)>) {
    let (statistics, seen, losses) = run_on(place, time, None);
    assert!(losses.is_empty(), "{losses:?}");
    (statistics, seen)
}

/// The same, perhaps on a GPU, which breaks or does not, and what was lost.
fn run_on(
    place: &Path,
    time: Option<Duration>,
    gpu_breaks: Option<bool>,
) -> (Statistics, Vec<(u64, Terms)>, Vec<Loss>) {
    static STOP: AtomicBool = AtomicBool::new(false);
    let seen = Arc::default();
    let inner = Target::built_in(NAME).expect("it is built in");
    let (is_gpu, breaks) = (gpu_breaks.is_some(), gpu_breaks == Some(true));
    let executor = TimesOut { inner, seen: Arc::clone(&seen), is_gpu, breaks, is_broken: AtomicBool::new(false) };
    let target = Target::new(Box::new(executor));
    let inputs = NonZero::new(2).expect("not 0");
    let campaign = Arc::new(common::campaign(place, target, PROGRAMS * 2, inputs, time, &STOP));
    campaign.run(|_| {}).expect("nothing fails");
    let seen = seen.lock().expect("nobody panicked").clone();
    (campaign.statistics(), seen, campaign.losses().into_values().collect())
}

#[track_caller]
fn check_confirmed(statistics: &Statistics) {
    let device = &statistics.devices[NAME];
    assert!(device.timed_out.is_empty(), "{device:?}");
    assert_eq!((device.verdicts[&Status::Finding(Kind::Hang)], device.unconfirmed), (2, 2), "{device:?}");
    // Of a program that timed out the other input is left out, of one like those both.
    assert_eq!((device.next_case, device.left_out), (PROGRAMS * 2, 3 + 4), "{device:?}");
    assert_eq!(device.cases + device.unsupported + device.left_out, PROGRAMS * 2, "{device:?}");
    let findings: Vec<_> = statistics.findings.iter().map(|entry| (entry.signature.kind, entry.cases)).collect();
    assert_eq!(findings, [(Kind::Hang, 2)], "{:?}", statistics.findings);
}

#[test]
fn time_outs_are_confirmed_when_the_search_is_over() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (statistics, seen) = run(place.path(), None);
    let first: Vec<u64> = seen.iter().take(PROGRAMS as usize).map(|(program, _)| *program).collect();
    assert_eq!(first, (0..PROGRAMS).collect::<Vec<_>>());
    let again: Vec<_> = seen.iter().skip(PROGRAMS as usize).copied().collect();
    assert_eq!(again, [1, 2, 4].map(|program| (program, Terms::Again(Suspicion::Slow))));
    assert_eq!(seen[0].1, Terms::Usual);
    assert_eq!(seen[PROGRAMS as usize - 1].1, Terms::Brief, "it is known to time out");
    check_confirmed(&statistics);
    // Nothing of it comes again.
    assert_eq!(run(place.path(), None).1, []);
}

#[test]
fn time_outs_that_there_was_no_time_for_wait_for_the_next_run() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (statistics, seen) = run(place.path(), Some(Duration::from_secs(600)));
    assert_eq!(seen.len() as u64, PROGRAMS, "{seen:?}");
    let device = &statistics.devices[NAME];
    assert_eq!(device.timed_out.keys().copied().collect::<Vec<_>>(), [2, 4, 8], "{device:?}");
    assert!(
        !device.verdicts.contains_key(&Status::Finding(Kind::Hang)) && statistics.findings.is_empty(),
        "{device:?}"
    );
    let (statistics, seen) = run(place.path(), None);
    assert_eq!(seen.len(), 3, "{seen:?}");
    check_confirmed(&statistics);
}

/// What a program leaves behind that hangs is blamed on nobody, and what timed out runs again on a GPU that is well.
#[test]
fn a_gpu_that_is_not_well_is_given_up() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (statistics, _, losses) = run_on(place.path(), None, Some(true));
    let [Loss::Device { reason, .. }] = losses.as_slice() else { panic!("{losses:?}") };
    assert!(reason.starts_with("the GPU does not come to the end of an empty "), "{reason}");
    let device = &statistics.devices[NAME];
    assert!(!device.timed_out.is_empty() && statistics.findings.is_empty(), "{device:?} {:?}", statistics.findings);
    let (statistics, _, losses) = run_on(place.path(), None, Some(false));
    assert!(losses.is_empty(), "{losses:?}");
    let device = &statistics.devices[NAME];
    assert!(device.timed_out.is_empty(), "{device:?}");
    let kinds: Vec<_> = statistics.findings.iter().map(|entry| entry.signature.kind).collect();
    assert_eq!(kinds, [Kind::Hang]);
}

/// A GPU on which every program with a statement hangs, and nothing ends once one did.
struct Breaks {
    inner: Target,
    is_broken: AtomicBool,
}

impl Executor for Breaks {
    fn description(&self) -> Description {
        let mut description = self.inner.executor.description();
        description.capabilities.is_gpu = true;
        description
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![self]
    }

    fn open_workers(&mut self, _jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {}
}

impl Worker for Breaks {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        let is_empty = task.prepared.case.program.functions.iter().all(|function| function.body.is_empty());
        if is_empty && !self.is_broken.load(Ordering::SeqCst) {
            return self.inner.executor.workers()[0].submit(task, completions);
        }
        self.is_broken.store(true, Ordering::SeqCst);
        let (how, after) = (Stall::Processor, Duration::from_secs(9));
        let outcome = Outcome::TimedOut { stage: Stage::Pipeline, how, after, stderr: Lines::default() };
        completions.send(Completion { job: task.id, outcome }).expect("it waits");
    }
}

fn that_breaks() -> Target {
    let inner = Target::built_in(NAME).expect("it is built in");
    Target::new(Box::new(Breaks { inner, is_broken: AtomicBool::new(false) }))
}

/// Of a case that runs by itself, too, only a hang on a GPU that was well before counts.
#[test]
fn a_gpu_that_was_well_is_blamed_once() {
    let target = that_breaks();
    let prepared = prepare(from_seed(1, &Config::default())).expect("it compiles");
    let run = || target.run(&prepared).finish;
    assert!(matches!(run(), Finish::Failed(Outcome::TimedOut { .. })));
    assert!(matches!(run(), Finish::NoWorker { reason } if reason.contains("an empty compute shader")));
}

/// No candidate of the minimiser is believed to hang that only what ran before it made hang.
#[test]
fn nothing_is_minimised_on_a_gpu_that_is_not_well() {
    let (case, stop) = (from_seed(1, &Config::default()), AtomicBool::new(false));
    let reduction = reduce(&[that_breaks()], &case, None, &ReduceOptions::default(), &stop, |progress| {
        assert!(!progress.improved, "{}", progress.best.program.functions.len());
        ControlFlow::Continue(())
    });
    let Err(error) = reduction else { panic!("no candidate can be tried") };
    assert!(error.to_string().contains("an empty compute shader"), "{error:#}");
}
