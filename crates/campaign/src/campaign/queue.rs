//! A sequence that several workers go through at once, and that is written down in order.
//!
//! The statistics of a device never have a gap, so that a campaign that is taken up again knows where to go on: what is through before its
//! turn waits here.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many items may be handed out or wait for their turn: a slow one holds up those behind it, and they take memory.
const AHEAD: usize = 256;

/// Longest wait for something to move. Whether the sequence is over is also a matter of time, which wakes nobody.
const NAP: Duration = Duration::from_millis(100);

/// What a worker is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The item with this number.
    Take(u64),
    /// Nothing now. What others have in progress may be given back.
    Wait,
    /// Nothing any more: the sequence is over, and written down.
    Done,
}

/// The way through a sequence of numbers.
pub struct OrderedQueue<T> {
    state: Mutex<State<T>>,
    moved: Condvar,
}

struct State<T> {
    /// Everything before this number is written down.
    first: u64,
    /// What was handed out from there on; `None` until it is through.
    open: VecDeque<Option<T>>,
    /// Handed out, and given back by a worker that is gone.
    returned: BTreeSet<u64>,
    /// True when a worker failed with items in progress: what is behind them is never written down.
    broken: bool,
}

/// A worker's part in a sequence. Dropped without [`Lease::leave`], by an error or a panic, it ends the sequence for all.
pub struct Lease<'a, T>(&'a OrderedQueue<T>);

impl<T> Lease<'_, T> {
    /// Leaves the others to go on.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl<T> Drop for Lease<'_, T> {
    fn drop(&mut self) {
        self.0.state().broken = true;
        self.0.moved.notify_all();
    }
}

impl<T> OrderedQueue<T> {
    /// A sequence that begins with this number.
    pub fn new(first: u64) -> OrderedQueue<T> {
        let state = State { first, open: VecDeque::new(), returned: BTreeSet::new(), broken: false };
        OrderedQueue { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// Takes part in it.
    pub fn lease(&self) -> Lease<'_, T> {
        Lease(self)
    }

    /// Hands a number out: one that was given back, or the next one if `goes_on` says so of it.
    pub fn take(&self, goes_on: impl FnOnce(u64) -> bool) -> Next {
        let mut state = self.state();
        if state.broken {
            return Next::Done;
        }
        if let Some(number) = state.returned.pop_first() {
            return Next::Take(number);
        }
        let next = state.first + state.open.len() as u64;
        if state.open.len() >= AHEAD {
            Next::Wait
        } else if goes_on(next) {
            state.open.push_back(None);
            Next::Take(next)
        } else if state.open.is_empty() {
            Next::Done
        } else {
            Next::Wait
        }
    }

    /// Takes numbers back without a result.
    pub fn give_back(&self, numbers: impl IntoIterator<Item = u64>) {
        self.state().returned.extend(numbers);
        self.moved.notify_all();
    }

    /// Takes the result of a number, and writes down everything whose turn it is.
    ///
    /// # Errors
    /// That of `write`. What it failed on is still to be written down.
    pub fn enter<E>(&self, number: u64, item: T, mut write: impl FnMut(u64, &T) -> Result<(), E>) -> Result<(), E> {
        let mut state = self.state();
        let at = number.checked_sub(state.first).and_then(|at| usize::try_from(at).ok());
        if let Some(place) = at.and_then(|at| state.open.get_mut(at)) {
            *place = Some(item);
        }
        while let Some(Some(item)) = state.open.front() {
            write(state.first, item)?;
            state.open.pop_front();
            state.first += 1;
        }
        drop(state);
        self.moved.notify_all();
        Ok(())
    }

    /// Waits until something moves, at most a moment.
    pub fn wait(&self) {
        drop(self.moved.wait_timeout(self.state(), NAP));
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Enters an item and gives what was written down.
    fn enter(queue: &OrderedQueue<char>, number: u64, item: char) -> String {
        let mut written = String::new();
        let write = |number: u64, item: &char| -> Result<(), Infallible> {
            written += &format!("{number}{item}");
            Ok(())
        };
        queue.enter(number, item, write).expect("it cannot fail");
        written
    }

    /// Takes all that can be taken below a number.
    fn take_all(queue: &OrderedQueue<char>, end: u64) -> Vec<u64> {
        let take = || match queue.take(|number| number < end) {
            Next::Take(number) => Some(number),
            Next::Wait | Next::Done => None,
        };
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn items_are_written_down_in_order() {
        let queue = OrderedQueue::new(7);
        assert_eq!(take_all(&queue, 11), [7, 8, 9, 10]);
        assert_eq!(enter(&queue, 8, 'b'), "");
        assert_eq!(enter(&queue, 10, 'd'), "");
        assert_eq!(enter(&queue, 7, 'a'), "7a8b");
        assert_eq!(queue.take(|_| false), Next::Wait);
        assert_eq!(enter(&queue, 9, 'c'), "9c10d");
        assert_eq!(queue.take(|_| false), Next::Done);
    }

    #[test]
    fn what_is_given_back_comes_first_although_the_sequence_is_over() {
        let queue = OrderedQueue::new(0);
        assert_eq!(take_all(&queue, 4), [0, 1, 2, 3]);
        queue.give_back([3, 1]);
        assert_eq!(enter(&queue, 0, 'a'), "0a");
        assert_eq!(take_all(&queue, 0), [1, 3]);
        assert_eq!(queue.take(|_| false), Next::Wait, "others have the rest in progress");
    }

    #[test]
    fn nobody_runs_far_ahead_of_a_slow_item() {
        let queue = OrderedQueue::new(0);
        assert_eq!(take_all(&queue, u64::MAX).len(), AHEAD);
        assert_eq!(enter(&queue, 1, 'b'), "");
        assert_eq!(queue.take(|_| true), Next::Wait, "the first one is not through yet");
        assert_eq!(enter(&queue, 0, 'a'), "0a1b");
        assert_eq!(queue.take(|_| true), Next::Take(AHEAD as u64));
    }

    #[test]
    fn what_cannot_be_written_down_is_tried_again() {
        let queue = OrderedQueue::new(0);
        assert_eq!(take_all(&queue, 2), [0, 1]);
        assert_eq!(queue.enter(0, 'a', |_, _| Err("full")), Err("full"));
        assert_eq!(queue.take(|_| false), Next::Wait);
        assert_eq!(enter(&queue, 1, 'b'), "0a1b");
    }

    #[test]
    fn a_worker_that_fails_ends_the_sequence_for_all() {
        let queue = OrderedQueue::<char>::new(0);
        queue.lease().leave();
        assert_eq!(queue.take(|_| true), Next::Take(0));
        drop(queue.lease());
        assert_eq!(queue.take(|_| true), Next::Done, "nobody waits for item 0");
    }
}
