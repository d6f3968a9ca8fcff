//! A device to compare with: what it does wrong, too, says nothing about another one. The build before a change, or the one that is installed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tangle_identity::Signature;

use crate::prepare::Prep;
use crate::target::{Conclusion, Target};

/// How often a case runs there before it counts as right: what fails now and then does not count either.
const RUNS: u32 = 2;

/// A device to compare with. Clones are the same device.
#[derive(Clone)]
pub struct Against {
    target: Arc<Target>,
    /// Of the last program of each device: what was asked, and answered.
    asked: Arc<Mutex<BTreeMap<String, (u64, Vec<(Signature, bool)>)>>>,
}

impl fmt::Debug for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Against").field(&self.target.name).finish()
    }
}

impl Against {
    /// With an open device.
    pub fn new(target: Target) -> Against {
        Against { target: Arc::new(target), asked: Arc::default() }
    }

    /// The unique name of the device that is compared with.
    pub fn name(&self) -> &str {
        &self.target.name
    }

    /// True if the device fails on a case at least as badly as the failure that is given: a driver that dies is worse than a wrong result.
    /// What the device cannot run, it does not fail on. What the toolchain makes is the same for all devices.
    pub fn fails_too(&self, prep: &Prep, signature: &Signature) -> bool {
        let Prep::Ready(prepared) = prep else { return true };
        (0..RUNS).any(|_| is_as_bad(signature, &self.target.run(prepared), prep))
    }

    /// The same for a case of a campaign. Cases that differ in their data and fail alike are asked for once.
    pub fn fails_too_on(&self, device: &str, program: u64, prep: &Prep, signature: &Signature) -> bool {
        let lock = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(device).filter(|(last, _)| *last == program).and_then(|(_, answers)| {
            answers.iter().find_map(|(asked, answer)| (asked == signature).then_some(*answer))
        });
        if let Some(known) = known {
            return known;
        }
        let answer = self.fails_too(prep, signature);
        let mut asked = lock();
        let (last, answers) = asked.entry(device.to_owned()).or_default();
        if *last != program {
            *last = program;
            answers.clear();
        }
        answers.push((signature.clone(), answer));
        answer
    }
}

fn is_as_bad(signature: &Signature, there: &Conclusion, prep: &Prep) -> bool {
    there.signature(prep.case()).is_some_and(|other| other.kind.has_no_result() || !signature.kind.has_no_result())
}

#[cfg(test)]
mod tests {
    use tangle_identity::{Detail, Kind};
    use tangle_program::case::Case;

    use super::*;

    #[test]
    fn only_what_the_other_device_does_right_is_news() {
        let case = Case::from_json(include_str!("../../../corpus/vectors/V16.json")).expect("a case of the corpus");
        let prep = Prep::of(case);
        let bad = || Target::built_in("reference:if_merge_loses_last_lane").expect("there is such a fault");
        let found = match &prep {
            Prep::Ready(prepared) => bad().run(prepared).signature(&prepared.case).expect("it fails"),
            Prep::Faulty(_, fault) => panic!("{fault}"),
        };
        let crash = Signature::new(Kind::Crash, Detail::Text("signal".into()));
        let good = Against::new(Target::built_in("reference").expect("it is built in"));
        let bad = Against::new(bad());
        assert!(!good.fails_too(&prep, &found) && !good.fails_too(&prep, &crash));
        assert!(bad.fails_too(&prep, &found));
        assert!(!bad.fails_too(&prep, &crash), "a crash is worse than a wrong result");
        assert!(bad.fails_too_on("d", 3, &prep, &found) && bad.fails_too_on("d", 3, &prep, &found));
        assert!(!bad.fails_too_on("d", 4, &prep, &crash));
    }
}
