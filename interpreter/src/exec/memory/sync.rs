//! What atomics and fences may order.
//!
//! A chain of release and acquire that orders an access `X` of one invocation before an access `Y` of another begins with a release that is
//! program-ordered after `X` and ends with an acquire that is program-ordered before `Y` (Vulkan memory model, "Synchronizes-With" and
//! "Inter-Thread-Happens-Before"), both of the kind of memory that is accessed. If there is no such release and acquire, in either direction, then nothing
//! orders `X` and `Y`: they race. If there is, they may be ordered, by what other invocations do and by what atomics read: that is not pursued, and
//! nothing is said about a race. Which value is read is open then.
//!
//! Control barriers are links of such a chain only where some invocation of their workgroup executes an atomic or a fence: what barriers alone
//! order is known (`order.rs`).

use super::sparse::Budget;
use crate::code::*;
use crate::exec::stop::Stop;

/// Two accesses that may be ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    /// The instruction of the one that was executed later.
    pub(super) place: u32,
    pub(super) invocation: u32,
    pub(super) now: u32,
    /// Who made the other, when, and whether it wrote.
    pub(super) other: u32,
    pub(super) before: u32,
    pub(super) wrote: bool,
    pub(super) object: u32,
    pub(super) granule: usize,
    pub(super) domain: usize,
}

/// Suspects that are remembered to the end.
const SUSPECTS: usize = 256;

/// What one invocation did. Times are those of [`Order::now`](super::order::Order).
#[derive(Clone, Copy, Debug)]
struct Invocation {
    /// What it does from this time on is behind an acquire.
    acquired: u32,
    /// What it did up to this time is before a release.
    released: u32,
    /// The same for a control barrier.
    handed: u32,
}

/// What invocations of one workgroup did.
#[derive(Clone, Copy, Debug, Default)]
struct Workgroup {
    acquired: Orders,
    released: Orders,
    /// The path of some is not known.
    lost: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sync {
    /// Atomics can order something, not only control barriers.
    chains: bool,
    invocations: Vec<[Invocation; 3]>,
    /// By invocation: it has executed an atomic that reads.
    readers: Vec<bool>,
    workgroups: Vec<Workgroup>,
    n: u32,
    suspects: Vec<Suspect>,
}

impl Sync {
    pub(super) fn of(code: &Code) -> Option<Sync> {
        let chains = code.fences && code.atomics;
        (chains || !code.barriers.is_empty()).then(|| Sync { chains, ..Sync::default() })
    }

    pub(super) fn begin_workgroup(&mut self, n: u32, budget: &mut Budget) -> Result<(), Stop> {
        budget.take(n as usize * (size_of::<[Invocation; 3]>() + 1) + size_of::<Workgroup>())?;
        let none = Invocation { acquired: u32::MAX, released: 0, handed: 0 };
        self.n = n;
        self.invocations.resize(self.invocations.len() + n as usize, [none; 3]);
        self.readers.resize(self.invocations.len(), false);
        self.workgroups.push(Workgroup::default());
        Ok(())
    }

    fn workgroup(&self, invocation: u32) -> &Workgroup {
        &self.workgroups[((invocation - 1) / self.n) as usize]
    }

    /// The workgroup that runs.
    fn current(&mut self) -> Option<&mut Workgroup> {
        self.workgroups.last_mut()
    }

    fn of_invocation(&mut self, domain: usize, invocation: u32) -> &mut Invocation {
        &mut self.invocations[invocation as usize - 1][domain]
    }

    pub(super) fn lose(&mut self) {
        self.current().into_iter().for_each(|workgroup| workgroup.lost = true);
    }

    pub(super) fn read_atomically(&mut self, invocation: u32) {
        self.readers[invocation as usize - 1] = true;
    }

    /// True if a fence may acquire: that needs an atomic that reads before it, of the same invocation, or a control barrier that others reached behind
    /// an acquire (Vulkan memory model, "Synchronizes-With").
    pub(super) fn fence_acquires(&self, invocation: u32) -> bool {
        let workgroup = self.workgroup(invocation);
        self.readers[invocation as usize - 1] || workgroup.lost || workgroup.acquired.contains(&true)
    }

    pub(super) fn release(&mut self, domain: usize, invocation: u32, before: u32) {
        self.of_invocation(domain, invocation).released = before;
        self.current().into_iter().for_each(|workgroup| workgroup.released[domain] = true);
    }

    pub(super) fn acquire(&mut self, domain: usize, invocation: u32, now: u32) {
        let known = self.of_invocation(domain, invocation);
        known.acquired = known.acquired.min(now);
        self.current().into_iter().for_each(|workgroup| workgroup.acquired[domain] = true);
    }

    pub(super) fn hand_over(&mut self, domain: usize, invocation: u32, before: u32) {
        let known = self.of_invocation(domain, invocation);
        known.handed = known.handed.max(before);
    }

    pub(super) fn take_over(&mut self, domain: usize, invocation: u32, now: u32) {
        // What others of the workgroup acquired before the barrier, they executed before.
        let workgroup = *self.workgroup(invocation);
        if workgroup.acquired[domain] || workgroup.lost {
            let known = self.of_invocation(domain, invocation);
            known.acquired = known.acquired.min(now);
        }
    }

    /// True if what an invocation did at a time may be ordered before what others do.
    pub(super) fn releases_after(&self, domain: usize, invocation: u32, when: u32) -> bool {
        let known = self.invocations[invocation as usize - 1][domain];
        let workgroup = self.workgroup(invocation);
        self.chains && known.released >= when || known.handed >= when && (workgroup.released[domain] || workgroup.lost)
    }

    /// True if two accesses may be ordered: each direction needs an acquire, which has been executed if there is one, and a release, which may come later.
    pub(super) fn may_order(&mut self, suspect: Suspect) -> bool {
        let acquired =
            |invocation: u32, when: u32| self.invocations[invocation as usize - 1][suspect.domain].acquired <= when;
        let (forwards, backwards) =
            (acquired(suspect.invocation, suspect.now), acquired(suspect.other, suspect.before));
        if !self.chains || !(forwards || backwards) {
            return false;
        }
        if !self.is_ordered_somehow(&suspect) && self.suspects.len() < SUSPECTS {
            self.suspects.push(suspect);
        }
        true
    }

    fn is_ordered_somehow(&self, suspect: &Suspect) -> bool {
        let acquired =
            |invocation: u32, when: u32| self.invocations[invocation as usize - 1][suspect.domain].acquired <= when;
        let forwards = acquired(suspect.invocation, suspect.now)
            && self.releases_after(suspect.domain, suspect.other, suspect.before);
        let backwards = acquired(suspect.other, suspect.before)
            && self.releases_after(suspect.domain, suspect.invocation, suspect.now);
        forwards || backwards
    }

    /// At the end of a run: two accesses that nothing orders.
    pub(super) fn certain(&self) -> Option<Suspect> {
        let lost = |suspect: &Suspect| self.workgroup(suspect.invocation).lost || self.workgroup(suspect.other).lost;
        self.suspects.iter().find(|suspect| !lost(suspect) && !self.is_ordered_somehow(suspect)).copied()
    }
}
