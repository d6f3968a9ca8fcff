//! What runs while a campaign runs.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{JoinHandle, available_parallelism, spawn};
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::running::Campaign;
use crate::isa;

/// How many findings are minimised at once when the search is over, at most: each has a worker of its own on every device that it comes to.
const MINIMISERS: usize = 8;

/// How many findings are minimised at once when the search is over.
pub(super) fn minimisers() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(MINIMISERS)
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Devices run cases of the sequence.
    Search,
    /// What is left is minimised and saved.
    WindUp,
    /// Nothing is waited for any more.
    Ended,
}

/// Threads of their own: one that a driver holds up does not keep the campaign from ending.
pub(super) struct Threads {
    /// One for each device.
    pub(super) devices: Vec<(String, JoinHandle<()>)>,
    /// Minimisation, and machine code.
    pub(super) others: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(super) fn start(campaign: &Arc<Campaign>) -> Threads {
        let device = |number: usize| {
            let campaign = Arc::clone(campaign);
            let name = campaign.targets[number].name.clone();
            let work = move || {
                let target = &campaign.targets[number];
                let result = catch_unwind(AssertUnwindSafe(|| campaign.work(target)));
                let panicked = |_| Err(anyhow!("a thread of tangle panicked while it ran cases on {}", target.name));
                campaign.note_failure(result.unwrap_or_else(panicked));
            };
            (name, spawn(work))
        };
        let devices = (0..campaign.targets.len()).map(device).collect();
        let dumps = Arc::clone(campaign);
        let small = |number: usize| {
            let campaign = Arc::clone(campaign);
            spawn(move || {
                let Some(background) = &campaign.background else { return };
                let enter = |result| campaign.enter_progress(&result);
                match number {
                    0 => background.work(campaign.stop, enter),
                    _ => background.work_afterwards(campaign.stop, enter),
                }
            })
        };
        let dumps = move || {
            dumps.dumps.work(|device, folder| {
                if let Some(target) = dumps.target(device) {
                    // A finding without it is a finding.
                    let _ = catch_unwind(AssertUnwindSafe(|| isa::dump_saved(target, folder)));
                }
            });
        };
        let others = (0..minimisers()).map(small).chain([spawn(dumps)]).collect();
        Threads { devices, others }
    }
}

/// What is done every so often.
pub(super) struct Every {
    quarter: Instant,
    second: Instant,
    saved: Instant,
    measured: Instant,
}

impl Default for Every {
    fn default() -> Every {
        let now = Instant::now();
        Every { quarter: now, second: now, saved: now, measured: now }
    }
}

impl Every {
    /// True four times a second.
    pub(super) fn quarter(&mut self) -> bool {
        is_due(&mut self.quarter, Duration::from_millis(250))
    }

    /// True once a second.
    pub(super) fn second(&mut self) -> bool {
        is_due(&mut self.second, Duration::from_secs(1))
    }

    /// True when the state is to be saved.
    pub(super) fn save(&mut self) -> bool {
        is_due(&mut self.saved, Duration::from_secs(5))
    }

    /// True when the folder is to be measured.
    pub(super) fn measure(&mut self) -> bool {
        is_due(&mut self.measured, Duration::from_secs(60))
    }
}

fn is_due(last: &mut Instant, after: Duration) -> bool {
    let is_due = last.elapsed() >= after;
    if is_due {
        *last = Instant::now();
    }
    is_due
}
