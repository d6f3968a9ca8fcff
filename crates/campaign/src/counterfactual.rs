//! Which changes a failing case passes with: what makes it one bug with others ([`Change`]).

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tangle_identity::change::{self, show_one_bug, still_compares, tell};
use tangle_identity::skeleton::{Skeleton, skeleton};
use tangle_identity::{Account, Change, Kind, Signature};
use tangle_oracle::judge::{Mismatch, Observation};
use tangle_oracle::map::LaneMap;
use tangle_program::case::Case;
use tangle_runner::thread_time;

use crate::clearest::is_pass;
use crate::prepare::Prep;
use crate::target::{Conclusion, Target};

/// How often a case has to fail as it is, and to pass with a change. What fails now and then passes by itself.
const RUNS: u32 = 2;

/// A case that fails on a device every time.
pub struct Failing<'a> {
    target: &'a Target,
    case: &'a Case,
    /// What is wrong, if the device gives a result.
    wrong: Option<Mismatch>,
    /// Whether helper invocations are there to be to blame.
    has_helpers: bool,
    /// Processor time of this thread and the worker that is left for changes, if it is limited: those that come behind make nothing pass.
    left: Cell<Option<Duration>>,
}

impl<'a> Failing<'a> {
    /// Runs a case. `None` if it does not fail every time as it was found to, or if a failure is nothing that a program is to blame for, or
    /// takes too long to be tried again and again.
    pub fn confirm(target: &'a Target, case: &'a Case, found: &Signature) -> Option<Failing<'a>> {
        if !matches!(
            found.kind,
            Kind::Value | Kind::Path | Kind::Crash | Kind::VulkanError | Kind::OpenGlError | Kind::WebGpuError
        ) {
            return None;
        }
        let prep = Prep::of(case.clone());
        let (mut wrong, mut has_helpers) = (None, false);
        for _ in 0..RUNS {
            let conclusion = target.run_dressed(&prep);
            if !is_alike(&conclusion.signature(case)?, found) {
                return None;
            }
            wrong = conclusion.mismatch().cloned();
            has_helpers |= conclusion.observation.is_some_and(|seen| helpers_are_in(target, case, &seen));
        }
        Some(Failing { target, case, wrong, has_helpers, left: Cell::new(None) })
    }

    /// The same, with so much processor time for changes.
    pub fn within(self, time: Duration) -> Failing<'a> {
        self.left.set(Some(time));
        self
    }

    /// The changes that say something. To a device with a front end of its own a module without its optimiser is no module, but source.
    fn changes(&self) -> impl Iterator<Item = Change> {
        let is_other_way = |change: &Change| self.target.has_front_end() && change.is_of_whole_optimiser();
        let says = move |change: &Change| self.wrong.is_some() || change.tells_of_crashes();
        Change::of(self.case).filter(move |change| says(change) && !is_other_way(change))
    }

    /// Every change that it passes with, and that is to blame. Where a value of a loop is used behind it, that may be what is loaded: what helpers load has
    /// then nothing to do with it.
    pub fn passes_without(&self) -> BTreeSet<Change> {
        let is_after_loop = matches!(skeleton(self.case), Skeleton::AfterLoop { .. });
        let may_tell = |change: &Change| !(is_after_loop && change.is_of_helpers());
        self.changes().filter(|change| may_tell(change) && self.is_right_without(*change)).collect()
    }

    /// The changes that it passes with, if they are those of one of these bugs ([`show_one_bug`]).
    pub fn is_one_of<'b>(&self, bugs: impl IntoIterator<Item = &'b BTreeSet<Change>>) -> Option<BTreeSet<Change>> {
        let mut tried = BTreeMap::new();
        let mut is_right = |change: Change| *tried.entry(change).or_insert_with(|| self.is_right_without(change));
        let mut passes_like = |bug: &&BTreeSet<Change>| {
            let telling = bug.iter().filter(|change| change.tells_alone()).flat_map(|change| change.alike());
            let telling: BTreeSet<Change> = telling.filter(|change| is_right(*change)).collect();
            if bug.iter().any(|change| change.tells_alone()) {
                return Some(telling).filter(|telling| !telling.is_empty());
            }
            // What tells first: most findings of other bugs fail with that.
            let first = change::telling(bug).first().or(bug.first()).copied();
            if !tell(bug) || !first.is_some_and(&mut is_right) {
                return None;
            }
            Some(self.changes().filter(|change| is_right(*change)).collect())
                .filter(|finding| show_one_bug(finding, bug))
        };
        bugs.into_iter().find_map(|bug| passes_like(&bug))
    }

    /// True if it passes with a change, and what was wrong is compared again.
    pub fn is_right_without(&self, change: Change) -> bool {
        if self.left.get() == Some(Duration::ZERO) || change.is_of_helpers() && !self.has_helpers {
            return false;
        }
        let began = thread_time();
        let mut by_worker = Duration::ZERO;
        let is_right = change.apply(self.case).is_some_and(|changed| {
            let prep = Prep::of(changed);
            (0..RUNS).all(|_| {
                let conclusion = self.target.run_dressed(&prep);
                by_worker += conclusion.worker_time();
                self.is_right(change, prep.case(), &conclusion)
            })
        });
        let took = thread_time().saturating_sub(began) + by_worker;
        self.left.set(self.left.get().map(|left| left.saturating_sub(took)));
        is_right
    }

    fn is_right(&self, change: Change, changed: &Case, conclusion: &Conclusion) -> bool {
        let compares = |wrong: &Mismatch, seen: &Observation| {
            let (map, _) = LaneMap::check(changed, &seen.map, self.target.capabilities.sizes);
            let account = map.and_then(|map| Account::new(changed, map, Some(seen)).ok());
            account.is_some_and(|account| still_compares(wrong, change, &account))
        };
        is_pass(conclusion)
            && match (&self.wrong, &conclusion.observation) {
                (Some(wrong), Some(seen)) => compares(wrong, seen),
                (Some(_), None) => false,
                (None, _) => true,
            }
    }
}

/// True if helper invocations are there from the beginning, or may come to be.
fn helpers_are_in(target: &Target, case: &Case, seen: &Observation) -> bool {
    let (map, _) = LaneMap::check(case, &seen.map, target.capabilities.sizes);
    map.is_some_and(|map| map.groups.iter().any(|layout| !layout.helpers.is_empty())) || case.program.demotes()
}

/// What findings of a bug are recognised by, as a case shows that fails on a device every time; empty if nothing tells.
pub fn telling(target: &Target, case: &Case) -> BTreeSet<Change> {
    let signature = target.run_dressed(&Prep::of(case.clone())).signature(case);
    let failing = signature.and_then(|signature| Failing::confirm(target, case, &signature));
    failing.map(|failing| failing.passes_without()).filter(tell).unwrap_or_default()
}

/// True if findings may be of one bug, by their signatures.
pub fn is_alike(one: &Signature, other: &Signature) -> bool {
    one.fails_like(other) || other.fails_like(one)
}

#[cfg(test)]
pub(crate) mod tests {
    use tangle_identity::failure::{Crash, Doing, End};
    use tangle_identity::{BugId, Detail};
    use tangle_program::ops::BinaryOp;
    use tangle_program::tree::{Block, Builtin, Expr, Stmt};

    use super::*;

    fn case(body: Block) -> Case {
        let text = include_str!("../../../corpus/vectors/V01.json");
        let mut case = Case::from_json(text).expect("a case of the corpus");
        case.program.functions.last_mut().expect("main").body = body;
        case
    }

    fn log(site: u32) -> Stmt {
        Stmt::Log { site, values: vec![Expr::Builtin(Builtin::Lane)] }
    }

    fn branch(then: Block) -> Stmt {
        let cond = Expr::binary(BinaryOp::Lt, Expr::Builtin(Builtin::Lane), Expr::Uint(2));
        Stmt::If { cond, then, otherwise: Vec::new(), control: Default::default() }
    }

    /// An assumption and a log.
    pub(crate) fn assumed() -> Case {
        case(vec![Stmt::Assume(Expr::Bool(true)), log(1)])
    }

    /// An assumption, a divergent `if`, and a log behind both.
    pub(crate) fn branched() -> Case {
        case(vec![Stmt::Assume(Expr::Bool(true)), branch(vec![log(1)]), log(2)])
    }

    fn found(target: &Target, case: &Case) -> Signature {
        target.run_dressed(&Prep::of(case.clone())).signature(case).expect("it fails")
    }

    fn passes_without(device: &str, case: &Case) -> (BugId, Vec<String>) {
        let target = Target::built_in(device).expect("there is such a fault");
        let signature = found(&target, case);
        let failing = Failing::confirm(&target, case, &signature).expect("it fails every time");
        let changes = failing.passes_without().into_iter().map(String::from).collect();
        (BugId::of(&signature, case), changes)
    }

    #[test]
    fn one_fault_passes_with_one_change_in_every_shape_and_another_does_not() {
        let here = "assumeEXT in straight code";
        let in_if = case(vec![branch(vec![Stmt::Assume(Expr::Bool(true)), log(1)]), log(2)]);
        let device = "reference:assumption_unreachable";
        let (one, changes) = passes_without(device, &assumed());
        assert_eq!(changes, [here]);
        let (other, changes) = passes_without(device, &branched());
        assert_eq!(changes, [here]);
        assert_ne!(one, other, "the shapes alone make two of it");
        assert_eq!(passes_without(device, &in_if).1, ["assumeEXT in an if"]);
        // The same program, and another fault: nothing that can be taken out is to blame.
        assert_eq!(passes_without("reference:if_merge_loses_last_lane", &branched()).1, [""; 0]);
    }

    #[test]
    fn a_run_in_which_the_value_is_not_compared_says_nothing() {
        let target = Target::built_in("reference:assumption_unreachable").expect("there is such a fault");
        let right = Target::built_in("reference").expect("it is built in");
        let failing = target.run_dressed(&Prep::of(assumed()));
        let change = "assumeEXT in straight code".parse::<Change>().expect("a change");
        let wrong = failing.mismatch().expect("it fails");
        for (changed, expected) in [
            (case(vec![log(1)]), true),
            (case(vec![Stmt::Log { site: 1, values: vec![Expr::Uint(7)] }]), false),
            (case(vec![Stmt::Log { site: 1, values: Vec::new() }]), false),
            (case(vec![log(2)]), false),
            (case(vec![branch(vec![log(1)])]), false),
            (case(Vec::new()), false),
        ] {
            let seen = right.run_dressed(&Prep::of(changed.clone())).observation.expect("it runs");
            let (map, _) = LaneMap::check(&changed, &seen.map, right.capabilities.sizes);
            let account = Account::new(&changed, map.expect("it is right"), Some(&seen)).expect("it is defined");
            assert_eq!(still_compares(wrong, change, &account), expected, "{changed:?}");
        }
    }

    #[test]
    fn what_does_not_fail_like_that_is_not_confirmed() {
        let target = Target::built_in("reference:assumption_unreachable").expect("there is such a fault");
        let crash = Crash { end: End::Signal(11), doing: Doing::Pipeline, place: None, message: None };
        let crash = Signature::new(Kind::Crash, Detail::Crash(crash));
        let hang = Signature::new(Kind::Hang, Detail::Hang(Doing::Run));
        for signature in [crash, hang] {
            assert!(Failing::confirm(&target, &assumed(), &signature).is_none(), "{signature}");
        }
        let right = Target::built_in("reference").expect("it is built in");
        assert!(Failing::confirm(&right, &assumed(), &found(&target, &assumed())).is_none());
    }

    pub(crate) fn pattern(name: &str) -> Case {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let text = std::fs::read_to_string(folder.join(name)).expect("it is in the corpus");
        Case::from_json(&text).expect("a case of the corpus")
    }

    #[test]
    fn only_where_helpers_are_their_loads_are_to_blame() {
        let target = Target::built_in("reference").expect("it is built in");
        for (case, expected) in [
            (pattern("fragments/load_of_helper.json"), true),
            (pattern("fragments/demote_in_loop.json"), true),
            (assumed(), false),
        ] {
            let seen = target.run_dressed(&Prep::of(case.clone())).observation.expect("it runs");
            assert_eq!(helpers_are_in(&target, &case, &seen), expected, "{case:?}");
        }
        assert!("loads by helper invocations".parse::<Change>().expect("a change").is_of_helpers());
    }

    #[test]
    fn without_time_nothing_is_recognised() {
        let target = Target::built_in("reference:assumption_unreachable").expect("there is such a fault");
        let case = assumed();
        let confirm = || Failing::confirm(&target, &case, &found(&target, &case)).expect("it fails every time");
        let bug = BTreeSet::from(["assumeEXT in straight code".parse::<Change>().expect("a change")]);
        for (time, is_it) in [(Duration::ZERO, false), (Duration::from_secs(600), true)] {
            assert_eq!(confirm().within(time).is_one_of([&bug]).is_some(), is_it, "{time:?}");
        }
    }

    /// The same program with more around it, as it is before it is minimised.
    pub(crate) fn with_more(mut case: Case) -> Case {
        let body = &mut case.program.functions.last_mut().expect("main").body;
        body.insert(0, branch(vec![log(90)]));
        body.insert(0, Stmt::Assume(Expr::Bool(true)));
        body.push(log(91));
        case
    }

    fn changes(fault: &str, case: &Case) -> BTreeSet<Change> {
        let target = Target::built_in(fault).expect("there is such a fault");
        let signature = found(&target, case);
        Failing::confirm(&target, case, &signature).expect("it fails every time").passes_without()
    }

    /// Each fails on the same program alike, or passes with the same change.
    #[test]
    fn different_faults_stay_apart_and_findings_of_one_fault_are_one() {
        let (scan, loops) = ("patterns/scan_by_loop.json", "vectors/V03.json");
        let stored = "reference:store_to_left_lanes";
        for (one, other) in [
            ((stored, scan), ("reference:last_lane_never_active", scan)),
            ((stored, scan), ("reference:reduce_four_lanes", scan)),
            ((stored, scan), ("reference:break_ignored", loops)),
            (("reference:break_ignored", loops), ("reference:break_ignored", scan)),
            (("reference:last_lane_never_active", scan), ("reference:reduce_four_lanes", scan)),
        ] {
            let [one, other] = [one, other].map(|(fault, case)| changes(fault, &pattern(case)));
            assert!(!show_one_bug(&one, &other) && !show_one_bug(&other, &one), "{one:?}, {other:?}");
        }
        let minimal = changes(stored, &pattern(scan));
        let finding = changes(stored, &with_more(pattern(scan)));
        assert!(show_one_bug(&finding, &minimal), "{finding:?}, {minimal:?}");
    }
}
