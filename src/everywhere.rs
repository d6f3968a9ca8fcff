//! Cases on all devices in one go.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use crate::campaign::Prep;
use crate::prepare::prepare;
use crate::target::{Conclusion, Target};
use tangle_program::case::Case;

/// Prepares a case once, for all devices.
pub fn prep(case: Case) -> Prep {
    match prepare(case.clone()) {
        Ok(prepared) => Prep::Ready(prepared),
        Err(fault) => Prep::Faulty(case, fault),
    }
}

/// Runs every case on every device, several devices at a time: for each device the conclusions in the order of the cases.
pub fn everywhere(targets: &[Target], preps: &[Prep]) -> Vec<Vec<Conclusion>> {
    let next = Mutex::new(targets.iter().enumerate());
    let results = Mutex::new(vec![Vec::new(); targets.len()]);
    let work = || {
        loop {
            let Some((index, target)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
            let conclusions = preps.iter().map(|prep| conclude(target, prep)).collect();
            results.lock().unwrap_or_else(PoisonError::into_inner)[index] = conclusions;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(targets.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn conclude(target: &Target, prep: &Prep) -> Conclusion {
    match prep {
        Prep::Ready(prepared) => target.run(prepared),
        Prep::Faulty(_, fault) => Conclusion::from(fault),
    }
}
