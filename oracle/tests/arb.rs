//! What ARB_shader_ballot and ARB_shader_group_vote promise, and what they do not: lane maps without numbers of subgroups, votes of groups
//! that nobody knows.

use crate::common::*;
use tangle_oracle::judge::{Judgement, Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::predict::predict;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::Case;
use tangle_program::case::interface::{MAP_WORDS, MAP_WRITTEN_ARB};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::Expr;

/// What a device of these extensions gives back whose groups are its subgroups.
fn right(case: &Case) -> Observation {
    let mut observation = observe(case, &LaneMap::linear(case, 8), || Spec).expect("the case is well-defined");
    for record in observation.map.chunks_exact_mut(MAP_WORDS) {
        (record[2], record[3], record[9]) = (0, 0, MAP_WRITTEN_ARB);
    }
    observation
}

fn judged(case: &Case, observation: &Observation) -> Judgement {
    judge(case, observation, SubgroupPromise::vulkan(8, 8, 8))
}

fn voted(op_: SubgroupOp, below_: u32) -> Expr {
    Expr::Select(Box::new(op(op_, [below(below_)])), Box::new(uint(1)), Box::new(uint(0)))
}

#[test]
fn a_map_without_numbers_is_a_map() {
    let mut case = main_of([see(1), when(below(4), [see(2)])]);
    case.entry_point.workgroups_mut().size = [12, 1, 1];
    let observation = right(&case);
    let judgement = judged(&case, &observation);
    assert_eq!((&judgement.verdict, judgement.map_faults.len()), (&Verdict::Pass, 0));
    assert!(judgement.counts.checked > 0);
    // Values are judged as ever.
    let mut wrong = observation.clone();
    wrong.logs[3][1] ^= 1;
    assert!(matches!(judged(&case, &wrong).verdict, Verdict::Mismatch(_)));
    // A ballot that lacks a lane of its own subgroup is wrong.
    let mut wrong = observation.clone();
    wrong.map[5] &= !2;
    assert_eq!(judged(&case, &wrong).verdict, Verdict::LaneMap);
    // Two lanes with one index, too.
    let mut wrong = observation.clone();
    wrong.map[MAP_WORDS] = 0;
    assert_eq!(judged(&case, &wrong).verdict, Verdict::LaneMap);
    // One with lanes of another workgroup is not: nothing is said about it.
    let spanning = |bit: u32| {
        let mut spanning = observation.clone();
        spanning.map.chunks_exact_mut(MAP_WORDS).skip(8).for_each(|record| record[5] |= 1 << bit);
        judged(&case, &spanning)
    };
    assert_eq!((spanning(6).verdict, spanning(6).counts.checked), (Verdict::Vacuous, 0));
    // No workgroup has a lane past the size.
    assert_eq!(spanning(9).verdict, Verdict::LaneMap);
}

/// ARB_shader_group_vote: "anyInvocationARB() is guaranteed to return true if <value> is true, and allInvocationsARB() is guaranteed to return
/// false if <value> is false", and no more.
#[test]
fn of_votes_only_what_a_lane_decides_itself_is_judged() {
    let case = main_of([log(1, [voted(SubgroupOp::Any, 3)]), log(2, [voted(SubgroupOp::All, 3)])]);
    let observation = right(&case);
    let judgement = judged(&case, &observation);
    assert_eq!(judgement.verdict, Verdict::Pass);
    // Lanes 0 to 2 of the first, lanes 3 to 7 of the second.
    assert_eq!((judgement.counts.checked, judgement.counts.tainted), (8, 8));
    for lane in 0..8 {
        // Each entry is its site and one word.
        for (word, is_decided) in [(1, lane < 3), (3, lane >= 3)] {
            let mut other = observation.clone();
            other.logs[lane].resize(4, 0);
            other.logs[lane][word] ^= 1;
            let verdict = judged(&case, &other).verdict;
            assert_eq!(matches!(verdict, Verdict::Mismatch(_)), is_decided, "lane {lane}, word {word}: {verdict:?}");
        }
    }
}

/// A lane decides a vote by itself only with an operand that is known: in a vote on a vote, at most where the inner one is decided.
#[test]
fn a_vote_on_what_is_not_known_is_not_known() {
    let number = |vote: Expr| Expr::Select(Box::new(vote), Box::new(uint(1)), Box::new(uint(0)));
    let (any, all) = (SubgroupOp::Any, SubgroupOp::All);
    for (outer, inner, may_be_known) in [(any, any, 0..3), (all, any, 0..0), (any, all, 0..0), (all, all, 3..8)] {
        let case = main_of([log(1, [number(op(outer, [op(inner, [below(3)])]))])]);
        let map = LaneMap::check(&case, &right(&case).map, SubgroupPromise::vulkan(8, 8, 8)).0;
        let prediction = predict(&case, &map.expect("it is right")).expect("it is defined");
        for log in prediction.logs().iter().filter(|log| log.words[1].is_some()) {
            assert!(may_be_known.contains(&log.lane), "{outer:?} of {inner:?}, lane {}: {:?}", log.lane, log.words);
        }
    }
}

#[test]
fn a_path_that_a_vote_decides_is_not_followed() {
    let case = main_of([when(op(SubgroupOp::AllEqual, [below(3)]), [see(1)]), see(2)]);
    let mut observation = right(&case);
    assert!(!matches!(judged(&case, &observation).verdict, Verdict::Mismatch(_)));
    observation.logs.iter_mut().for_each(Vec::clear);
    assert!(!matches!(judged(&case, &observation).verdict, Verdict::Mismatch(_)), "lanes whose path is open");
}
