//! What a driver dies of while a finding is minimised is a finding of its own.

mod common;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossbeam_channel::Sender;
use tangle_campaign::executor::{Description, Executor, Task, Worker};
use tangle_campaign::target::Target;
use tangle_files::text::Lines;
use tangle_identity::Kind;
use tangle_minimizer::statements;
use tangle_runner::{Completion, Outcome, Stage, WorkerEnd};

/// A program of fewer statements makes the driver die. Programs that are drawn have more.
const FEW: usize = 4;

/// The device before that, which has a fault.
const NAME: &str = "reference:mask_always_full";

/// How many programs there are.
const PROGRAMS: u64 = 12;

/// A faulty reference device, which dies of small programs.
struct DiesOfSmall(Target);

impl Executor for DiesOfSmall {
    fn description(&self) -> Description {
        self.0.executor.description()
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![self]
    }

    fn open_workers(&mut self, _jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {}
}

impl Worker for DiesOfSmall {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        if statements(&task.prepared.case.program) >= FEW {
            return self.0.executor.workers()[0].submit(task, completions);
        }
        let outcome = Outcome::Crashed { end: WorkerEnd::Signal(11), stage: Stage::Pipeline, stderr: Lines::default() };
        completions.send(Completion { job: task.id, outcome }).expect("somebody waits");
    }
}

fn device() -> Target {
    Target::new(Box::new(DiesOfSmall(Target::built_in(NAME).expect("it is built in"))))
}

#[test]
fn what_kills_the_driver_in_the_minimiser_is_a_finding() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let place = tempfile::tempdir().expect("a temporary folder");
    let campaign = common::campaign(place.path(), device(), PROGRAMS, NonZero::<u32>::MIN, None, &STOP);
    let campaign = Arc::new(campaign.minimizing(Box::new(|_| Ok(device()))));
    campaign.run(|_| {}).expect("it goes on");
    let statistics = campaign.statistics();
    let of = |is_crash: bool| {
        statistics.findings.iter().filter(move |entry| (entry.signature.kind == Kind::Crash) == is_crash)
    };
    assert!(of(false).count() > 0, "the programs show the fault");
    let crashes: Vec<_> = of(true).collect();
    assert_eq!(crashes.len(), 1, "{crashes:?}");
    assert_eq!((crashes[0].cases, crashes[0].folders.len()), (0, 1), "no program that was drawn dies");
    let folder = place.path().join(&crashes[0].folders[0]);
    let waits = campaign.not_minimized().keys().any(|left| *left == folder);
    assert!(waits || folder.join("minimized").is_dir(), "it is to be minimised, too");
}
