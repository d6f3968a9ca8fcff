//! A running campaign: what its parts share.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tangle_identity::Known;
use tangle_oracle::coverage::Coverage;
use tangle_report::statistics::{DeviceEntry, Statistics};

use super::disk::Disk;
use super::folder::{Folder, State};
use super::recovered::Waiting;
use super::shared::Shared;
use super::suspects::Suspects;
use crate::against::Against;
use crate::background::Background;
use crate::isa;
use crate::plan::{Choice, Plan};
use crate::target::Target;

/// How a campaign is run.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// What decides the sequence of cases: seed, profile and the like.
    pub choice: Choice,
    /// Length of the sequence; `None` for no end.
    pub cases: Option<u64>,
    /// How long to run; `None` for no end.
    pub time: Option<Duration>,
    /// How many findings of one signature and device are saved; the others are counted.
    pub witnesses: usize,
    /// Bugs that are counted and set aside.
    pub known: Known,
    /// How much of the disk its folder may take, in bytes.
    pub max_disk: u64,
    /// How much processor time the search may take, that of tangle and of all its workers together; `None` for no end.
    pub processor_time: Option<Duration>,
    /// Whether it ends with the first finding that counts, the one with the lowest number where there is one device.
    pub until_first: bool,
}

impl CampaignOptions {
    /// What a campaign takes of the disk at most, unless somebody says otherwise: 2 GiB.
    pub const MAX_DISK: u64 = 2 << 30;
}

/// Time that is always left for the rest.
pub(super) const MOMENT: Duration = Duration::from_secs(5);

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

/// A running campaign: what its threads share.
pub struct Campaign {
    pub(super) options: CampaignOptions,
    pub(super) folder: Folder,
    pub(super) plan: Plan,
    pub(super) targets: Vec<Target>,
    pub(super) statistics: Mutex<Statistics>,
    /// By the name of the device.
    pub(super) coverage: Mutex<BTreeMap<String, Coverage>>,
    pub(super) shared: Mutex<BTreeMap<u64, Arc<Shared>>>,
    /// True when nothing is entered any more. Read while the cases of a program are entered: whoever writes has all of them or none.
    pub(super) closed: RwLock<bool>,
    /// What is saved beside the statistics.
    pub(super) state: State,
    /// How often it was saved.
    pub(super) saves: AtomicU64,
    pub(super) disk: Disk,
    pub(super) recovered: Waiting,
    pub(super) notes: Vec<String>,
    pub(super) suspects: Suspects,
    /// What confirmations of time-outs have taken; locked by the one that runs.
    pub(super) confirmations: Mutex<Duration>,
    /// The first error that ends it.
    pub(super) failure: Mutex<Option<anyhow::Error>>,
    /// When it was first seen to be stopped.
    pub(super) stopped: OnceLock<Instant>,
    /// True when the search has had its time.
    pub(super) searched: AtomicBool,
    pub(super) stop: &'static AtomicBool,
    pub(super) started: Instant,
    pub(super) seconds_before: f64,
    pub(super) run_here: AtomicU64,
    pub(super) background: Option<Background>,
    /// What fails there, too, is no finding.
    pub(super) against: Option<Against>,
    /// True when there is a finding that counts.
    pub(super) has_finding: AtomicBool,
    /// Processor time that had been spent when it was set up.
    pub(super) processor_time_before: Duration,
    pub(super) dumps: isa::Queue,
    pub(super) losses: Mutex<BTreeMap<String, Loss>>,
}

impl Campaign {
    /// Devices that lost workers, or ended because they lost all.
    pub fn losses(&self) -> BTreeMap<String, Loss> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the first error, which ends the campaign.
    pub(super) fn note_failure(&self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            // A folder that is gone is the reason of whatever cannot be written in it.
            let error = self.folder.check().err().unwrap_or(error);
            self.stop.store(true, Ordering::SeqCst);
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    pub(super) fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Puts a saved finding into the queue of those whose machine code is wanted.
    pub(super) fn ask_for_dump(&self, device: &str, folder: &Path) {
        if self.target(device).is_some_and(|target| target.executor.prints_machine_code()) {
            self.dumps.ask(device, folder);
        }
    }

    /// The statistics as they stand.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics.lock().unwrap_or_else(PoisonError::into_inner).clone();
        statistics.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        statistics
    }

    pub(super) fn update<T>(&self, f: impl FnOnce(&mut Statistics) -> T) -> T {
        f(&mut self.statistics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn update_device<T>(&self, target: &Target, f: impl FnOnce(&mut DeviceEntry) -> T) -> T {
        self.update(|statistics| f(statistics.devices.entry(target.name.clone()).or_default()))
    }

    pub(super) fn coverage(&self) -> MutexGuard<'_, BTreeMap<String, Coverage>> {
        self.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
