//! The words that show what is wrong in an open tangle: they hold on the device with the fault, and on no device that is right.

use crate::common::*;
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Observation, Verdict, compare, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::observed::TangleRule;
use tangle_oracle::predict::predict_shown;
use tangle_oracle::reference::observe;
use tangle_oracle::relation::{Relation, relations};
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Rules, Spec};
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{AtomicOp, Shared, StorageClass};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp as Op};
use tangle_program::tree::{Atomic, Expr, Stmt};
use tangle_program::types::Scalar;

const SIZE: u32 = 8;

fn seen<R: Rules>(case: &Case, rules: impl FnMut() -> R) -> Observation {
    observe(case, &LaneMap::linear(case, SIZE), rules).expect("it is well-formed")
}

fn holds(relation: &Relation, observation: &Observation) -> bool {
    let word = |invocation: usize, at: usize| observation.logs[invocation].get(at).copied().unwrap_or(0);
    relation.words.iter().all(|shown| word(shown.invocation, shown.at) == shown.value)
}

/// Lanes 0 to 2 come to the logs by another way than lanes 3 to 5.
fn open(logs: impl IntoIterator<Item = Stmt>) -> Case {
    let body: Vec<Stmt> = std::iter::once(when(below(3), [])).chain(logs).collect();
    Case { tier: Tier::Plain, ..main_of([when(below(6), body)]) }
}

fn number(value: Expr) -> Expr {
    Expr::Cast(Scalar::Uint, Box::new(value))
}

#[test]
fn a_relation_holds_where_the_fault_is_and_nowhere_else() {
    let sum = || op(Op::Reduce(Fold::Add), [uint(1)]);
    let scan = || op(Op::Inclusive(Fold::Add), [uint(1)]);
    let elect = || number(op(Op::Elect, []));
    let any = || number(op(Op::Any, [bin(lane(), BinaryOp::Eq, uint(5))]));
    let shuffle = || op(Op::Shuffle, [lane(), lane()]);
    // Alone, with a ballot before it and behind it, in one step and in two, and behind a branch that the value decides.
    let programs = |value: &dyn Fn() -> Expr| {
        vec![
            open([log(1, [value()])]),
            open([log(1, [value(), ballot()])]),
            open([log(1, [ballot(), value()])]),
            open([log(1, [ballot()]), log(2, [value()])]),
            open([log(1, [value()]), log(2, [ballot()]), log(3, [value()])]),
            open([when(bin(value(), BinaryOp::Gt, uint(3)), [see(1)]), log(2, [value(), ballot()])]),
        ]
    };
    let values: [&dyn Fn() -> Expr; 6] = [&ballot, &sum, &scan, &elect, &any, &shuffle];
    let cases: Vec<Case> = values.into_iter().flat_map(programs).collect();
    let mut found = 0;
    let mut of_several = 0;
    let mut faults_found = Vec::new();
    for case in &cases {
        let map = LaneMap::linear(case, SIZE);
        let right: Vec<Observation> = (0..24u64)
            .map(|seed| match seed {
                0 => seen(case, || Spec),
                1 => seen(case, || MinimalReconvergence),
                _ => seen(case, || Drawn::new(seed)),
            })
            .collect();
        for observation in &right {
            assert_eq!(relations(case, &map, observation), Ok(Vec::new()), "a right device breaks none");
        }
        for &fault in Fault::ALL.iter().filter(|fault| fault.is_of_open_tangles()) {
            let wrong = seen(case, || Planted::new(fault));
            let judgement = judge(case, &wrong, SubgroupPromise::vulkan(SIZE, SIZE, SIZE));
            let broken = relations(case, &map, &wrong).expect("it is well-formed");
            let is_wrong = matches!(judgement.verdict, Verdict::Mismatch(_));
            assert_eq!(is_wrong, !broken.is_empty(), "{fault:?}: in an open tangle it is a relation that is broken");
            for (nth, relation) in broken.iter().enumerate() {
                assert!(holds(relation, &wrong), "{fault:?} {relation:?}");
                assert!(!broken[..nth].contains(relation), "{fault:?} {relation:?}: said once");
                let alarm = right.iter().find(|right| holds(relation, right));
                assert_eq!(alarm, None, "{fault:?} {relation:?}");
                of_several += usize::from(relation.words.len() > 1);
            }
            found += broken.len();
            if !broken.is_empty() && !faults_found.contains(&fault) {
                faults_found.push(fault);
            }
        }
    }
    assert!(found > 50 && of_several > 10, "{found} relations, {of_several} of several words");
    assert!(faults_found.len() >= 10, "{faults_found:?}");
}

#[test]
fn a_relation_has_no_more_words_than_it_takes() {
    let sum = || op(Op::Reduce(Fold::Add), [uint(1)]);
    for (fault, case, words, rule) in [
        // Three lanes, or six: that nobody has a sum of five is hard only of all six.
        (Fault::OpenReduceWithoutFirst, open([log(1, [sum(), ballot()])]), 6, TangleRule::Operation),
        // Some lanes see all, and others of these only some.
        (Fault::OpenBallotInconsistent, open([log(1, [ballot()])]), 2, TangleRule::Partition),
        (Fault::OpenBallotWithoutSelf, open([log(1, [ballot()])]), 1, TangleRule::OwnBit),
    ] {
        let broken = relations(&case, &LaneMap::linear(&case, SIZE), &seen(&case, || Planted::new(fault)));
        let broken = broken.expect("it is well-formed");
        let smallest = broken.iter().min_by_key(|relation| relation.words.len());
        let Some(smallest) = smallest else {
            panic!("{fault:?} breaks none: {:?}", seen(&case, || Planted::new(fault)).logs)
        };
        assert_eq!((smallest.words.len(), smallest.rule), (words, Some(rule)), "{fault:?} {broken:?}");
    }
}

/// Rule A3: two lanes that got the same ticket show that something is wrong, and so does what nobody has put there; by a program that
/// knows the words, too.
#[test]
fn tickets_that_two_lanes_got() {
    let took = |atomic_op, value| {
        let atomic = Atomic { op: atomic_op, array: 0, index: uint(0), compare: None, value, dest: Some(0) };
        let mut case = main_of([Stmt::Atomic(Box::new(atomic)), log(1, [var(0)])]);
        let storage = StorageClass::StorageBuffer;
        case.program.shared =
            vec![Shared { name: "s0".into(), scalar: Scalar::Uint, len: 1, init: 9, parts: 1, storage }];
        case
    };
    for (fault, case, words) in [
        (Fault::TicketTwice, took(AtomicOp::Add, uint(1)), 2),
        (Fault::ExchangeOfFirst, took(AtomicOp::Exchange, lane()), 2),
        (Fault::BitsOfFirst, took(AtomicOp::Or, bin(uint(16), BinaryOp::Shl, lane())), 2),
    ] {
        let map = LaneMap::linear(&case, SIZE);
        for tier in Tier::ALL {
            let case = Case { tier, ..case.clone() };
            let right = [seen(&case, || Spec), seen(&case, || MinimalReconvergence)];
            for observation in &right {
                assert_eq!(
                    relations(&case, &map, observation),
                    Ok(Vec::new()),
                    "{fault:?}: a right device breaks none"
                );
            }
            let wrong = seen(&case, || Planted::new(fault));
            let broken = relations(&case, &map, &wrong).expect("it is well-formed");
            assert!(!broken.is_empty(), "{fault:?} {tier:?}");
            for relation in broken {
                assert_eq!((relation.words.len(), relation.rule), (words, Some(TangleRule::AtomicOrder)), "{fault:?}");
                assert!(holds(&relation, &wrong) && !right.iter().any(|right| holds(&relation, right)), "{relation:?}");
            }
        }
    }
}

/// Twelve lanes of two subgroups miss their own bit, each by itself: four of them are shown, each by one word.
#[test]
fn each_wrong_lane_shows_it_by_itself() {
    let mut case = open([log(1, [ballot()])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    let wrong = seen(&case, || Planted::new(Fault::OpenBallotWithoutSelf));
    let broken = relations(&case, &LaneMap::linear(&case, SIZE), &wrong).expect("it is well-formed");
    let words: Vec<Vec<(usize, usize)>> =
        broken.iter().map(|relation| relation.words.iter().map(|word| (word.invocation, word.at)).collect()).collect();
    let lanes: std::collections::BTreeSet<usize> = words.iter().flatten().map(|&(invocation, _)| invocation).collect();
    assert_eq!((words.len(), lanes.len()), (4, 4), "{words:?}");
    assert!(words.iter().all(|words| words.len() == 1 && words[0].1 == 1), "{words:?}");
    // Of what leaves words open nothing is adopted, so that nothing of it is broken.
    let open_words = wrong.logs.iter().map(|log| log.iter().map(|_| 0).collect::<Vec<u32>>());
    let mut unsure = Observation { open: open_words.collect(), ..wrong };
    assert_eq!(relations(&case, &LaneMap::linear(&case, SIZE), &unsure).map(|broken| broken.len()), Ok(4));
    unsure.open[0][1] = 1;
    assert_eq!(relations(&case, &LaneMap::linear(&case, SIZE), &unsure), Ok(Vec::new()));
}

/// Words as (invocation, place).
fn places(relation: &Relation) -> Vec<(usize, usize)> {
    relation.words.iter().map(|word| (word.invocation, word.at)).collect()
}

/// Who comes to the sites behind site 1 rests on the sums there: all lanes show theirs, and the one that is wrong its path to what is wrong. What no
/// lane needs is not shown.
#[test]
fn a_path_is_shown_as_far_as_it_is_needed() {
    let enough = bin(var(0), BinaryOp::Gt, uint(3));
    let sum = op(Op::Reduce(Fold::Add), [uint(1)]);
    let case = open([set(0, sum), log(1, [var(0)]), when(enough, [see(2)]), see(3), see(4)]);
    let map = LaneMap::linear(&case, SIZE);
    let right = seen(&case, || Spec);
    assert_eq!(right.logs[0], [1, 6, 2, 0x3F, 3, 0x3F, 4, 0x3F]);
    assert_eq!(relations(&case, &map, &right), Ok(Vec::new()));
    let first_sums = |wrong: usize| (0..6).filter(move |&lane| lane != wrong).map(|lane| (lane, 1));
    for (lane, at) in [(0, 3), (0, 5), (2, 5), (5, 7), (4, 3)] {
        let mut wrong = right.clone();
        wrong.logs[lane][at] ^= 1 << lane;
        let broken = relations(&case, &map, &wrong).expect("it is well-formed");
        let [relation] = broken.as_slice() else { panic!("{broken:?}") };
        assert_eq!(relation.rule, Some(TangleRule::OwnBit));
        let mut expected: Vec<(usize, usize)> = first_sums(lane).chain((1..=at).map(|at| (lane, at))).collect();
        expected.sort_unstable();
        assert_eq!(places(relation), expected, "lane {lane}, word {at}");
    }
}

/// Lanes that nobody needs are left out at once, and not word by word: of 128 logs whose ends are open it takes two words to show that one result was
/// logged as two values.
#[test]
fn lanes_that_are_not_needed_are_left_out_at_once() {
    let enough = bin(var(0), BinaryOp::Gt, uint(3));
    let sum = op(Op::Reduce(Fold::Add), [uint(1)]);
    let result = [set(0, sum), log(1, [var(0)]), log(2, [var(0)])];
    let behind = [when(enough, [see(3)]), see(4), see(5), see(6)];
    let body: Vec<Stmt> = [when(below(64), [])].into_iter().chain(result).chain(behind).collect();
    let mut case = Case { tier: Tier::Plain, ..main_of([when(below(127), body)]) };
    case.entry_point.workgroups_mut().size = [128, 1, 1];
    let map = LaneMap::linear(&case, 128);
    let mut wrong = observe(&case, &map, || Spec).expect("it is well-formed");
    wrong.logs[5][3] ^= 1;
    let broken = relations(&case, &map, &wrong).expect("it is well-formed");
    assert_eq!(broken.iter().map(places).collect::<Vec<_>>(), [[(5, 1), (5, 3)]]);
}

/// Each subgroup shows by itself what is wrong in it.
#[test]
fn subgroups_show_what_is_wrong_each_for_itself() {
    let mut case = open([log(1, [ballot()])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    let wrong = seen(&case, || Planted::new(Fault::OpenBallotInconsistent));
    let broken = relations(&case, &LaneMap::linear(&case, SIZE), &wrong).expect("it is well-formed");
    let subgroups: Vec<Vec<usize>> =
        broken.iter().map(|relation| relation.words.iter().map(|word| word.invocation / 8).collect()).collect();
    assert!(subgroups.iter().all(|of| of.iter().all(|subgroup| *subgroup == of[0])), "{broken:?}");
    assert!((0..2).all(|subgroup| subgroups.iter().any(|of| of[0] == subgroup)), "{broken:?}");
    assert!(subgroups.is_sorted(), "each begins with a wrong lane, in their order: {broken:?}");
}

/// From a site on that is not looked at nothing is known of its lane, so that what it logs there makes nobody else wrong: lanes 0 to 3, which came by
/// one way, say that they are by themselves, and lanes 4 and 5 that they are with them.
#[test]
fn a_hidden_site_shows_nothing() {
    let body = [when(below(4), []), log(1, [lane()]), see(2)];
    let case = Case { tier: Tier::Plain, ..main_of([when(below(6), body)]) };
    let map = LaneMap::linear(&case, SIZE);
    let mut logs = seen(&case, || Spec).logs;
    logs[..4].iter_mut().for_each(|log| log[3] = 0x0F);
    let is_wrong = |hidden: &[u32]| {
        let prediction = predict_shown(&case, &map, &logs, &vec![hidden.to_vec(); 4]).expect("it is well-formed");
        compare(&prediction, &case.entry_point, &logs).0.is_some()
    };
    for (what, hidden, wrong) in [
        ("nothing", &[][..], true),
        ("a value before", &[0, 1], true),
        ("the ballot", &[0, 0, 0, 1], false),
        ("its site", &[0, 0, 1], false),
        ("the site before", &[1], false),
    ] {
        assert_eq!(is_wrong(hidden), wrong, "{what}");
    }
}

/// A fault of open tangles shows where the tier leaves the tangle open, and nowhere else: not on one path, in any subgroup.
#[test]
fn faults_of_open_tangles_show_in_open_tangles_only() {
    let first = |n: u32| bin(Expr::Builtin(tangle_program::tree::Builtin::LocalIndex), BinaryOp::Lt, uint(n));
    let sum = || op(Op::Reduce(Fold::Add), [uint(1)]);
    let both = || [see(2), log(3, [sum(), number(op(Op::Elect, []))])];
    let mut case = main_of([see(1), when(first(14), both())]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    let segment = [arm([tangle_program::tree::Label::Default], both())];
    let mut switched = main_of([switch(bin(lane(), BinaryOp::BitAnd, uint(1)), segment)]);
    switched.entry_point.workgroups_mut().size = [16, 1, 1];
    for &fault in Fault::ALL.iter().filter(|fault| fault.is_of_open_tangles()) {
        for tier in [Tier::Plain, Tier::SubgroupUniform] {
            let case = Case { tier, ..case.clone() };
            assert_eq!(seen(&case, || Planted::new(fault)), seen(&case, || Spec), "{fault:?} {tier:?}");
        }
        // At tier maximal what is open is the segment of a switch: these faults are none of it.
        assert_eq!(seen(&switched, || Planted::new(fault)), seen(&switched, || Spec), "{fault:?}");
    }
}
