//! Programs that timed out: each runs again before it counts as a hang, with nothing beside it and ten times the limit.
//!
//! That is minutes in which nothing else runs, so that it is not done at once. A program that timed out is entered as left out and waits.
//!
//! | when | it runs again |
//! |---|---|
//! | the search goes on | as soon as that, should it take all the time it may, would not be more than a fifth of the campaign's time so far |
//! | the search is over | at once, if the campaign has no limit or enough time left |
//! | the campaign ends before | when it goes on in the same folder |
//!
//! Programs that time out like three that were confirmed or wait are left out. On a device with a hang, confirmed or not, limits are brief
//! ([`Terms::Brief`]): what goes beyond them only waits, too.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use tangle_identity::{Kind, Signature};
use tangle_report::statistics::{DeviceEntry, SignatureEntry, Statistics};
use tangle_runner::{Outcome, Terms};

use super::running::{Campaign, MOMENT};
use crate::target::Target;

/// How many time-outs of one signature are confirmed on a device; what looks like them after that is counted and left out.
const CONFIRMED: u64 = 3;

/// The part of the campaign's time so far that confirmations may take while the search goes on: one of so many.
const PART: u32 = 5;

/// The part of a campaign's time that is kept at its end for a hang that was never confirmed: one of so many.
pub(super) const KEPT: u32 = 3;

/// The right to run a program again.
pub(super) struct Confirmation<'a> {
    /// The number of the case.
    pub(super) number: u64,
    spent: MutexGuard<'a, Duration>,
}

impl Confirmation<'_> {
    /// Adds the time that something takes.
    pub(super) fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        *self.spent += started.elapsed();
        result
    }
}

/// What a worker does about time-outs of its device.
pub(super) enum NextConfirmation<'a> {
    /// Runs one again, alone.
    Now(Confirmation<'a>),
    /// Nothing while another runs.
    Wait,
    /// Nothing waits that may run now.
    Nothing,
}

/// How many failures of a signature came again on a device.
fn confirmed(statistics: &Statistics, target: &Target, signature: &Signature) -> u64 {
    statistics.found(&target.name, signature).map_or(0, |entry| entry.cases)
}

impl Campaign {
    /// Takes note of a case that timed out, unless enough like it are known.
    pub(super) fn note_time_out(&self, target: &Target, number: u64, outcome: &Outcome) {
        let Some(signature) = target.failure(outcome) else { return };
        self.update(|statistics| {
            let confirmed = confirmed(statistics, target, &signature);
            let entry = statistics.devices.entry(target.name.clone()).or_default();
            let waiting = entry.timed_out.values().filter(|waiting| **waiting == signature).count() as u64;
            if confirmed + waiting < CONFIRMED {
                entry.timed_out.insert(number, signature);
            } else {
                entry.unconfirmed += 1;
            }
        });
    }

    /// A time-out does not wait any more.
    pub(super) fn forget_time_out(&self, target: &Target, number: u64) {
        self.update_device(target, |entry| entry.timed_out.remove(&number));
    }

    /// True of a failure that looks like one that was confirmed often enough.
    pub(super) fn is_settled(&self, target: &Target, outcome: &Outcome) -> bool {
        let Some(signature) = target.failure(outcome) else { return false };
        self.update(|statistics| confirmed(statistics, target, &signature) >= CONFIRMED)
    }

    /// On what terms a device runs programs.
    pub(super) fn terms(&self, target: &Target) -> Terms {
        let is_hang = |entry: &SignatureEntry| entry.device == target.name && entry.signature.kind == Kind::Hang;
        let hangs = self.update(|statistics| {
            let waits = |entry: &DeviceEntry| !entry.timed_out.is_empty();
            statistics.devices.get(&target.name).is_some_and(waits) || statistics.findings.iter().any(is_hang)
        });
        if hangs { Terms::Brief } else { Terms::Usual }
    }

    /// A case of this device that timed out, if it is to run again now. `may_take`: how long that takes at most.
    pub(super) fn next_confirmation(
        &self,
        target: &Target,
        may_take: Duration,
        search_is_over: bool,
    ) -> NextConfirmation<'_> {
        let first = || self.update_device(target, |entry| entry.timed_out.keys().next().copied());
        if first().is_none() {
            return NextConfirmation::Nothing;
        }
        let spent = match self.confirmations.try_lock() {
            Ok(spent) => spent,
            Err(TryLockError::Poisoned(spent)) => spent.into_inner(),
            Err(TryLockError::WouldBlock) => return NextConfirmation::Wait,
        };
        // Another worker may just have had it.
        match first().filter(|_| self.may_confirm(*spent, may_take, search_is_over)) {
            Some(number) => NextConfirmation::Now(Confirmation { number, spent }),
            None => NextConfirmation::Nothing,
        }
    }

    fn may_confirm(&self, spent: Duration, may_take: Duration, search_is_over: bool) -> bool {
        let is_at_an_end =
            self.stop.load(Ordering::SeqCst) || self.options.until_first && self.has_finding.load(Ordering::SeqCst);
        let elapsed = self.started.elapsed();
        let has_time = |time: Duration| elapsed + may_take <= time + MOMENT;
        !is_at_an_end
            && self.options.time.is_none_or(has_time)
            && match search_is_over {
                true => !self.has_spent_its_processor_time(),
                false => spent + may_take <= elapsed / PART,
            }
    }

    /// The part of a campaign's time that is kept at its end for a hang that was never confirmed.
    pub(super) fn kept_for_confirmation(&self, time: Duration) -> Duration {
        let is_new = |target: &&Target| {
            self.update(|statistics| {
                let waiting = statistics.devices.get(&target.name).map(|entry| entry.timed_out.values());
                waiting.into_iter().flatten().any(|signature| statistics.found(&target.name, signature).is_none())
            })
        };
        let may_take = |target: &Target| target.executor.workers().iter().map(|worker| worker.longest()).max();
        let longest = self.targets.iter().filter(is_new).filter_map(may_take).max();
        longest.filter(|longest| *longest <= time / KEPT).unwrap_or_default()
    }
}
