//! A bug of a book on the devices at hand.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tangle_identity::book::{GLSLANG, Record, Seen, Tried};
use tangle_identity::known::Effect;
use tangle_identity::{DriverId, Kind};
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::Severity;
use tangle_runner::toolchain;

use crate::clearest::{AtMaximal, at_maximal};
use crate::executor::{built_in, interpreter};
use crate::prepare::Prep;
use crate::target::{Conclusion, Target};

/// Runs of a case that passes: some bugs come and go.
const RUNS: u32 = 2;

/// Runs a bug's case on the devices that the book speaks of there, several at once, and gives the result, by device. Where one says nothing about
/// the bug (it cannot run the case, or fails in another way), nothing is said. `done` counts the devices that are through.
pub fn retest(targets: &[Target], record: &Record, prep: &Prep, done: &AtomicUsize) -> Vec<Tried> {
    let next = Mutex::new(targets.iter());
    let all = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(target) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
            if let Some(tried) = try_on(target, record, prep) {
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
fn try_on(target: &Target, record: &Record, prep: &Prep) -> Option<Tried> {
    let DriverId { name: driver, version } = made_by(target, record);
    // What other compilers make is no module of the case's.
    if !record.is_about(&target.name, &driver) || record.maker().is_some_and(|maker| maker != driver) {
        return None;
    }
    // A compiler makes the module itself.
    let own = match target.dressed(prep.case()) {
        Cow::Owned(case) => Some(Prep::of(case)),
        Cow::Borrowed(_) => None,
    };
    let seen = seen(target, record, own.as_ref().unwrap_or(prep))?;
    let (result, severity, clearest) = match seen {
        Shown::Good => (Seen::Good, None, None),
        Shown::Bad(severity, clearest) => (Seen::Bad, severity, clearest),
    };
    Some(Tried { device: target.name.clone(), driver, version, result, severity, clearest })
}

/// Whose version is tried: the device's driver or compiler, or the part of the toolchain whose modules the interpreter runs.
fn made_by(target: &Target, record: &Record) -> DriverId {
    let is_interpreter = built_in(&target.name).is_some_and(|kind| kind.word == interpreter::BUILT_IN.word);
    match record.maker().filter(|_| is_interpreter) {
        Some(maker) => part_of_toolchain(maker),
        None => target.driver_id(),
    }
}

/// A part of the toolchain, in the version that is built in.
pub fn part_of_toolchain(maker: &str) -> DriverId {
    let version = if maker == GLSLANG { toolchain::glslang_version() } else { toolchain::optimiser_version() };
    DriverId { name: maker.to_owned(), version }
}

/// What a run shows.
enum Shown {
    Good,
    /// The bug, what it rests on, and the tier at which it does if that is another than the case's.
    Bad(Option<Severity>, Option<Tier>),
}

fn seen(target: &Target, record: &Record, prep: &Prep) -> Option<Shown> {
    let case = prep.case();
    for _ in 0..RUNS {
        let conclusion = run(target, prep);
        if said(record, &conclusion, case)? == Seen::Bad {
            let signature = conclusion.signature(case);
            let at_maximal =
                at_maximal(target, case, signature.as_ref(), RUNS, |case| Ok(run(target, &Prep::of(case.clone()))));
            return Some(match at_maximal {
                Ok(AtMaximal::Wrong(_)) => Shown::Bad(Some(Severity::Hard), Some(Tier::Maximal)),
                _ => Shown::Bad(signature.map(|signature| signature.severity()), None),
            });
        }
    }
    Some(Shown::Good)
}

fn run(target: &Target, prep: &Prep) -> Conclusion {
    match prep {
        Prep::Ready(prepared) => target.run(prepared),
        Prep::Faulty(_, fault) => fault.into(),
    }
}

fn said(record: &Record, conclusion: &Conclusion, case: &Case) -> Option<Seen> {
    if let Some(signature) = conclusion.signature(case) {
        let is_it = match Effect::of(signature.kind) {
            // A wrong result is another bug than a crash.
            Some(effect) => effect == record.effect,
            // What a compiler or the optimiser does not make is no driver's fault.
            None if signature.kind == Kind::Toolchain => record.is_of_compiler(),
            None => true,
        };
        return (is_it && record.may_be(&signature)).then_some(Seen::Bad);
    }
    conclusion.speaks_against(case, Some(record.effect)).then_some(Seen::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_shows_on_its_device_only() {
        let case = Case::from_json(include_str!("../../../corpus/vectors/V16.json")).expect("a case of the corpus");
        let targets =
            ["reference", "reference:if_merge_loses_last_lane"].map(|name| Target::built_in(name).expect(name));
        let record = Record { id: "x".into(), ..Record::default() };
        let dies = Record { effect: Effect::Dies, ..record.clone() };
        let other = Record { drivers: vec!["another".into()], ..record.clone() };
        let mut nothing = case.clone();
        nothing.program.functions.truncate(1);
        nothing.program.functions[0].body.clear();
        let results = |record: &Record, case: &Case| {
            let tried = retest(&targets, record, &Prep::of(case.clone()), &AtomicUsize::new(0));
            tried.iter().map(|tried| tried.result).collect::<Vec<_>>()
        };
        assert_eq!(results(&record, &case), [Seen::Good, Seen::Bad]);
        assert_eq!(results(&dies, &case), [Seen::Good], "a wrong result is another bug than a crash");
        assert_eq!(results(&other, &case), []);
        assert_eq!(results(&record, &nothing), [], "nothing is compared");
        assert_eq!(results(&dies, &nothing), [Seen::Good, Seen::Good], "it comes to its end");
    }
}
