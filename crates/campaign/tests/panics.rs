//! A panic of tangle's own costs its program, and the campaign says so and goes on.

mod common;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::Sender;
use tangle_campaign::executor::{Description, Executor, Task, Worker};
use tangle_campaign::target::Target;
use tangle_runner::{Completion, DeviceStats};

/// The program whose execution panics, and the one behind which the results of others panic.
const EXECUTED: u64 = 3;
const JUDGED: u64 = 5;

/// How many programs there are.
const PROGRAMS: u64 = 8;

/// The faulty reference device, of which two programs make tangle panic.
struct Panics {
    inner: Target,
    /// The program that was run last.
    last: AtomicU64,
    /// The file that says which program runs.
    running: PathBuf,
}

impl Executor for Panics {
    fn description(&self) -> Description {
        self.inner.executor.description()
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![self]
    }

    fn open_workers(&mut self, _jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {}
}

impl Worker for Panics {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        assert_eq!(
            std::fs::read(&self.running).ok(),
            Some(task.id.to_le_bytes().to_vec()),
            "what runs is noted before"
        );
        self.last.store(task.id, Ordering::SeqCst);
        assert_ne!(task.id, EXECUTED, "planted");
        self.inner.executor.workers()[0].submit(task, completions);
    }

    fn stats(&self) -> DeviceStats {
        assert_ne!(self.last.load(Ordering::SeqCst), JUDGED, "planted");
        DeviceStats::default()
    }
}

#[test]
fn a_panic_costs_its_program_and_the_campaign_goes_on() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let place = tempfile::tempdir().expect("a temporary folder");
    let inner = Target::built_in("reference:mask_always_full").expect("it is built in");
    let name = inner.name.clone();
    let inputs: NonZero<u32> = NonZero::new(2).expect("not 0");
    let run = || {
        let inner = Target::built_in(&name).expect("it is built in");
        let running = place.path().join("in-flight").join(name.replace(':', "_")).join("running-0");
        let target = Target::new(Box::new(Panics { inner, last: AtomicU64::new(0), running }));
        let campaign = common::campaign(place.path(), target, PROGRAMS * 2, inputs, None, &STOP);
        let campaign = Arc::new(campaign.minimizing(Box::new(|_| panic!("planted in the minimiser"))));
        campaign.run(|_| {}).expect("it goes on");
        campaign
    };
    let campaign = run();
    let statistics = campaign.statistics();
    let device = &statistics.devices[&name];
    assert_eq!(device.next_case, PROGRAMS * 2, "{device:?}");
    assert_eq!(device.cases + device.unsupported + device.left_out, PROGRAMS * 2, "{device:?}");
    // The second is one that was run before.
    assert_eq!(statistics.panics.len(), 2, "{:?}", statistics.panics);
    assert_eq!(statistics.panics[0].first_case, EXECUTED * 2, "{:?}", statistics.panics);
    for entry in &statistics.panics {
        assert!(entry.message.starts_with("tangle panicked: "), "{entry:?}");
        for end in ["json", "txt"] {
            assert!(place.path().join(format!("panics/{}.{end}", entry.first_case)).is_file(), "it is kept");
        }
    }
    let reasons = campaign.not_minimized();
    assert!(
        !reasons.is_empty() && reasons.values().all(|reason| reason.contains("planted in the minimiser")),
        "{reasons:?}"
    );
    drop(campaign);
    // Nothing of it comes again.
    assert_eq!(run().statistics().panics, statistics.panics);
}
