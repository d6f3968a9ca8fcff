//! A bug of a book on the devices at hand.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tangle_identity::book::{Record, Seen, Tried};
use tangle_identity::known::Effect;
use tangle_program::subgroup::Severity;

use crate::prepare::Prep;
use crate::target::{Conclusion, Finish, Target};

/// Runs of a case that passes: some bugs come and go.
const RUNS: u32 = 2;

/// Runs a bug's case on the devices that the book speaks of there, several at once, and gives what came of it, by device. Where one says nothing about
/// the bug (it cannot run the case, or fails in another way), nothing is said. `done` counts the devices that are through.
pub fn retest(targets: &[Target], record: &Record, prep: &Prep, done: &AtomicUsize) -> Vec<Tried> {
    let next = Mutex::new(targets.iter());
    let all = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(target) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
            let member = |name: &str| target.info[name].as_str().unwrap_or_default().trim().to_owned();
            let (driver, version) = (member("driver_name"), member("driver_info"));
            let is_about = record.is_about(&target.name, &driver);
            if let Some((result, severity)) = is_about.then(|| seen(target, record, prep)).flatten() {
                let tried = Tried { device: target.name.clone(), driver, version, result, severity };
                all.lock().unwrap_or_else(PoisonError::into_inner).push(tried);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(targets.len());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by(|a, b| a.device.cmp(&b.device));
    all
}

/// What a device says about a bug; `None` if nothing.
fn seen(target: &Target, record: &Record, prep: &Prep) -> Option<(Seen, Option<Severity>)> {
    let Prep::Ready(prepared) = prep else { return None };
    let mut result = None;
    for _ in 0..RUNS {
        let conclusion = target.run(prepared);
        let seen = said(record, &conclusion, prep)?;
        let signature = conclusion.signature(prep.case()).filter(|_| seen == Seen::Bad);
        result = Some((seen, signature.map(|signature| signature.severity())));
        if seen == Seen::Bad {
            break;
        }
    }
    result
}

fn said(record: &Record, conclusion: &Conclusion, prep: &Prep) -> Option<Seen> {
    if let Some(signature) = conclusion.signature(prep.case()) {
        let effect = Effect::of(signature.kind);
        return (effect.is_none() || effect == Some(record.effect)).then_some(Seen::Bad);
    }
    match (&conclusion.finish, conclusion.status(prep.case())) {
        // That a pipeline could be created speaks against a bug only if the bug is that it cannot.
        (Finish::Compiled, _) => (record.effect == Effect::Dies).then_some(Seen::Good),
        (_, "pass") => Some(Seen::Good),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tangle_program::case::Case;

    use super::*;

    #[test]
    fn a_fault_shows_on_its_device_only() {
        let case = Case::from_json(include_str!("../../../corpus/vectors/V16.json")).expect("a case of the corpus");
        let targets =
            ["reference", "reference:if_merge_loses_last_lane"].map(|name| Target::built_in(name).expect(name));
        let record = Record { id: "x".into(), ..Record::default() };
        let dies = Record { effect: Effect::Dies, ..record.clone() };
        let other = Record { drivers: vec!["another".into()], ..record.clone() };
        let prep = Prep::of(case);
        let results = |record: &Record| {
            let tried = retest(&targets, record, &prep, &AtomicUsize::new(0));
            tried.iter().map(|tried| tried.result).collect::<Vec<_>>()
        };
        assert_eq!(results(&record), [Seen::Good, Seen::Bad]);
        assert_eq!(results(&dies), [Seen::Good], "a wrong result is another bug than a crash");
        assert_eq!(results(&other), []);
    }
}
