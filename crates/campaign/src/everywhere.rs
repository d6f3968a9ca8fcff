//! Cases on all devices in one go.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::prepare::Prep;
use crate::target::{Conclusion, Target};

/// Runs every case on every device, several devices at a time: for each device the conclusions in the order of the cases. `done`
/// counts the runs that are through.
pub fn everywhere(targets: &[Target], preps: &[Prep], done: &AtomicUsize) -> Vec<Vec<Conclusion>> {
    let next = Mutex::new(targets.iter().enumerate());
    let results = Mutex::new(vec![Vec::new(); targets.len()]);
    let work = || {
        loop {
            let Some((index, target)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
            let run = |prep| {
                let conclusion = target.run_dressed(prep);
                done.fetch_add(1, Ordering::Relaxed);
                conclusion
            };
            let conclusions = preps.iter().map(run).collect();
            results.lock().unwrap_or_else(PoisonError::into_inner)[index] = conclusions;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(targets.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
