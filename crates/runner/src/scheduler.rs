//! Who may work now: no more workers than there are processors, each device its share, and now and then one with nothing beside it.
//!
//! Twenty workers on two processors would each get a tenth of one, with caches that are always cold. Instead they take leases of about a
//! second. A lease goes to the device that has had least for its weight. A job that has to be confirmed ([`crate::Terms::Again`])
//! waits until all leases are given back, and keeps all others waiting while it runs.

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

/// How long a lease is when others wait.
const LENGTH: Duration = Duration::from_secs(1);

/// The processors, to be shared. Clones share the same ones.
#[derive(Clone, Debug)]
pub struct Scheduler(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// How many may have a lease at once.
    places: usize,
    /// How many have one.
    taken: usize,
    /// Whether one of them is to have nothing beside it.
    alone: bool,
    waiting: Vec<Waiting>,
    next_ticket: u64,
    /// Of each device: time it has had, over its weight.
    had: Vec<f64>,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    share: usize,
    alone: bool,
    grant: Sender<Grant>,
}

/// What a device has a right to.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    scheduler: Scheduler,
    index: usize,
    weight: f64,
}

/// A lease that somebody waits for. Dropped, it waits no more.
pub(crate) struct Request {
    scheduler: Scheduler,
    ticket: u64,
    pub(crate) alone: bool,
    granted: Receiver<Grant>,
}

/// What is sent to whom it is granted; becomes a [`Lease`], or gives the place back if nobody takes it.
#[derive(Debug)]
pub(crate) struct Grant(Option<Granted>);

#[derive(Debug)]
struct Granted {
    scheduler: Scheduler,
    share: usize,
    weight: f64,
    alone: bool,
    since: Instant,
}

/// The right to work. Dropping it gives it back.
pub(crate) struct Lease(Grant);

impl Scheduler {
    /// So many at once.
    pub fn new(places: NonZero<usize>) -> Scheduler {
        Scheduler(Arc::new(Mutex::new(State {
            places: places.get(),
            taken: 0,
            alone: false,
            waiting: Vec::new(),
            next_ticket: 0,
            had: Vec::new(),
        })))
    }

    /// Those of this process: as many as there are processors for it.
    pub fn of_this_process() -> Scheduler {
        static SCHEDULER: OnceLock<Scheduler> = OnceLock::new();
        SCHEDULER
            .get_or_init(|| Scheduler::new(std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)))
            .clone()
    }

    /// Lets so many work at once, if they are more than now: somebody has asked for so many workers of one device.
    pub fn at_least(&self, places: NonZero<usize>) {
        let mut state = self.state();
        state.places = state.places.max(places.get());
        Scheduler::grant(self, state);
    }

    /// How many leases were asked for.
    pub fn requests(&self) -> u64 {
        self.state().next_ticket
    }

    /// The share of a device that gets `weight` times as much time as one of weight 1.
    pub(crate) fn share(&self, weight: f64) -> Share {
        let mut state = self.state();
        // Whoever comes late does not get everything until it has caught up.
        let had = state.had.iter().copied().fold(f64::INFINITY, f64::min);
        state.had.push(if had.is_finite() { had } else { 0.0 });
        Share { scheduler: self.clone(), index: state.had.len() - 1, weight: if weight > 0.0 { weight } else { 1.0 } }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out what can be handed out.
    fn grant(&self, mut state: MutexGuard<'_, State>) {
        let mut granted = Vec::new();
        while let Some(at) = state.next() {
            let Waiting { share, alone, grant, .. } = state.waiting.swap_remove(at);
            state.taken += 1;
            state.alone = alone;
            let held = Granted { scheduler: self.clone(), share, weight: 1.0, alone, since: Instant::now() };
            granted.push((grant, Grant(Some(held))));
        }
        // A grant that nobody takes comes back here, so that the lock must be free.
        drop(state);
        granted.into_iter().for_each(|(to, grant)| drop(to.send(grant)));
    }
}

impl State {
    /// Place in the queue of whoever may begin now.
    fn next(&self) -> Option<usize> {
        if self.alone {
            return None;
        }
        let waiting = || self.waiting.iter().enumerate();
        if let Some((at, _)) = waiting().filter(|(_, who)| who.alone).min_by_key(|(_, who)| who.ticket) {
            return (self.taken == 0).then_some(at);
        }
        if self.taken >= self.places {
            return None;
        }
        let least =
            |a: &Waiting, b: &Waiting| self.had[a.share].total_cmp(&self.had[b.share]).then(a.ticket.cmp(&b.ticket));
        waiting().min_by(|(_, a), (_, b)| least(a, b)).map(|(at, _)| at)
    }
}

impl Share {
    /// Waits in line for a processor; `alone`: for one with nothing beside it.
    pub(crate) fn request(&self, alone: bool) -> Request {
        let (grant, granted) = bounded(1);
        let mut state = self.scheduler.state();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push(Waiting { ticket, share: self.index, alone, grant });
        self.scheduler.grant(state);
        Request { scheduler: self.scheduler.clone(), ticket, alone, granted }
    }

    /// Makes a lease of what was granted to this device.
    pub(crate) fn begin(&self, mut grant: Grant) -> Lease {
        if let Some(held) = &mut grant.0 {
            (held.weight, held.since) = (self.weight, Instant::now());
        }
        Lease(grant)
    }
}

impl Request {
    /// Where the grant comes in.
    pub(crate) fn granted(&self) -> &Receiver<Grant> {
        &self.granted
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = self.scheduler.state();
        state.waiting.retain(|who| who.ticket != self.ticket);
        self.scheduler.grant(state);
    }
}

impl Lease {
    /// True for a lease with nothing beside it.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.0.as_ref().is_some_and(|held| held.alone)
    }

    /// True when it is time to let others work.
    pub(crate) fn is_over(&self) -> bool {
        let Some(held) = &self.0.0 else { return true };
        let state = held.scheduler.state();
        let is_urgent = state.waiting.iter().any(|who| who.alone);
        is_urgent || !state.waiting.is_empty() && held.since.elapsed() >= LENGTH
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let Some(Granted { scheduler, share, weight, alone, since }) = self.0.take() else { return };
        let mut state = scheduler.state();
        state.taken = state.taken.saturating_sub(1);
        state.alone &= !alone;
        state.had[share] += since.elapsed().as_secs_f64() / weight;
        scheduler.grant(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(places: usize) -> Scheduler {
        Scheduler::new(NonZero::new(places).unwrap())
    }

    fn taken(share: &Share, request: &Request) -> Option<Lease> {
        request.granted().try_recv().ok().map(|grant| share.begin(grant))
    }

    #[test]
    fn no_more_work_than_there_are_places() {
        let scheduler = scheduler(2);
        let shares: Vec<Share> = (0..3).map(|_| scheduler.share(1.0)).collect();
        let requests: Vec<Request> = shares.iter().map(|share| share.request(false)).collect();
        let mut held: Vec<Lease> =
            shares.iter().zip(&requests).filter_map(|(share, request)| taken(share, request)).collect();
        assert_eq!(held.len(), 2);
        held.pop();
        assert!(taken(&shares[2], &requests[2]).is_some());
    }

    #[test]
    fn whoever_is_alone_has_nothing_beside_it() {
        let scheduler = scheduler(2);
        let share = scheduler.share(1.0);
        let first = taken(&share, &share.request(false)).unwrap();
        assert!(!first.is_over());
        let alone = share.request(true);
        let behind = share.request(false);
        assert!(taken(&share, &alone).is_none() && taken(&share, &behind).is_none(), "the first is not over");
        assert!(first.is_over());
        drop(first);
        assert!(taken(&share, &behind).is_none());
        let lease = taken(&share, &alone).unwrap();
        assert!(lease.is_alone() && taken(&share, &behind).is_none());
        drop(lease);
        assert!(taken(&share, &behind).is_some());
    }

    #[test]
    fn a_turn_that_nobody_takes_comes_back() {
        let scheduler = scheduler(1);
        let share = scheduler.share(1.0);
        drop(share.request(true));
        drop(share.request(false));
        let first = taken(&share, &share.request(false)).unwrap();
        let gone = share.request(true);
        let next = share.request(false);
        drop(first);
        drop(gone);
        assert!(taken(&share, &next).is_some());
    }

    #[test]
    fn time_goes_by_weight() {
        let scheduler = scheduler(1);
        let shares = [scheduler.share(1.0), scheduler.share(3.0)];
        let mut had = [0, 0];
        let mut requests: Vec<Request> = shares.iter().map(|share| share.request(false)).collect();
        for _ in 0..40 {
            let index = (0..2).find(|&index| !requests[index].granted().is_empty()).unwrap();
            had[index] += 1;
            let lease = taken(&shares[index], &requests[index]).unwrap();
            // A second passes.
            scheduler.state().had[index] += 1.0 / shares[index].weight;
            requests[index] = shares[index].request(false);
            drop(lease);
        }
        assert!((9..=11).contains(&had[0]), "{had:?}");
    }
}
