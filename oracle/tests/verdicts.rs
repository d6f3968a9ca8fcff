//! From logs to a verdict: what counts as wrong, where the first wrong step is, and what was compared.

mod common;

use common::*;
use tangle_oracle::judge::{Counts, Judgement, Kind, Mismatch, Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_oracle::observed::TangleRule;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Expr, Label, Stmt};
use tangle_program::types::Scalar;

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

/// Lanes 0 to 3 log A, the others B, then all log C with two values, of which lane 0's second one is undefined.
fn program() -> Case {
    let shifted = op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
    main_of([either(below(4), [see(A)], [see(B)]), log(C, [ballot(), shifted])])
}

fn right(case: &Case) -> Observation {
    observe(case, &LaneMap::linear(case, 8), || Spec).expect("the case is well-defined")
}

fn judged(case: &Case, observation: &Observation) -> Judgement {
    judge(case, observation, SizePromise { default: 8, min: 8, max: 8 })
}

/// Values checked, tainted and skipped; steps.
fn compared(counts: Counts) -> [u64; 4] {
    [counts.checked, counts.tainted, counts.skipped, counts.steps]
}

#[track_caller]
fn mismatch(judgement: Judgement) -> (Mismatch, Counts) {
    match judgement.verdict {
        Verdict::Mismatch(mismatch) => (*mismatch, judgement.counts),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_right_observation_passes_and_is_counted() {
    let judgement = judged(&program(), &right(&program()));
    assert_eq!(judgement.verdict, Verdict::Pass);
    // One value at A or B and two at C in 8 lanes, of which one is undefined; two steps each.
    assert_eq!(compared(judgement.counts), [23, 1, 0, 16]);
}

#[test]
fn an_undefined_value_may_be_anything() {
    let mut observation = right(&program());
    observation.logs[0][4] = 0xDEAD;
    assert_eq!(judged(&program(), &observation).verdict, Verdict::Pass);
    // In the other lanes it is defined.
    observation.logs[1][4] = 0xDEAD;
    assert_eq!(mismatch(judged(&program(), &observation)).0.lanes[0].local_index, 1);
}

#[test]
fn zeros_at_the_end_of_a_log_may_be_left_out() {
    let case = main_of([log(A, [uint(5), lane()])]);
    let mut observation = right(&case);
    assert_eq!(observation.logs[0].pop(), Some(0), "lane 0 logs its number last");
    assert_eq!(judged(&case, &observation).verdict, Verdict::Pass);
    observation.logs[1].pop();
    assert_eq!(mismatch(judged(&case, &observation)).0.lanes[0].lane, 1);
}

#[test]
fn a_wrong_value_is_told_with_site_lane_and_both_values() {
    let mut observation = right(&program());
    observation.logs[6][1] ^= 1;
    observation.logs[7][3] ^= 1;
    let (mismatch, counts) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.kind, mismatch.site, mismatch.workgroup, mismatch.wrong_lanes), (Kind::Value, B, 0, 2));
    let [wrong] = mismatch.lanes.as_slice() else { panic!("{:?}", mismatch.lanes) };
    assert_eq!((wrong.subgroup, wrong.lane, wrong.local_index, wrong.entry), (0, 6, 6, 0));
    assert_eq!((wrong.expected.as_slice(), &wrong.actual[..2]), (&[Some(B), Some(0xF0)][..], &[B, 0xF1][..]));
    let masks: Vec<u128> = mismatch.expected_active.iter().map(|(_, lanes)| lanes.0).collect();
    assert_eq!(masks, [0xF0]);
    // Both lanes are compared up to the wrong value, itself included: lane 6 skips the step at C and its two values, lane 7 the last.
    assert_eq!(compared(counts), [23 - 3, 1, 3, 16 - 1]);
}

#[test]
fn a_lane_on_the_wrong_side_is_a_wrong_path() {
    let mut observation = right(&program());
    observation.logs[3][0] = B;
    let (mismatch, _) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.kind, mismatch.site), (Kind::Path, A));
    let masks =
        |sets: &[(usize, tangle_oracle::judge::LaneSet)]| sets.iter().map(|(_, lanes)| lanes.0).collect::<Vec<_>>();
    assert_eq!((masks(&mismatch.expected_active), masks(&mismatch.actual_active)), (vec![0x0F], vec![0x07]));
}

#[test]
fn a_lane_that_logs_nothing_more_is_a_wrong_path() {
    let mut observation = right(&program());
    observation.logs[5].truncate(2);
    let (mismatch, _) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.kind, mismatch.site, mismatch.lanes[0].lane), (Kind::Path, C, 5));
    assert!(mismatch.lanes[0].actual.is_empty());
}

#[test]
fn a_lane_that_logs_too_much_is_told() {
    let mut observation = right(&program());
    observation.logs[2].extend([C, 1]);
    let (mismatch, _) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.kind, mismatch.site, mismatch.lanes[0].lane), (Kind::Extra, 0, 2));
    assert_eq!(mismatch.lanes[0].actual, [C, 1]);
}

#[test]
fn the_first_wrong_step_comes_first_in_execution_not_by_lane() {
    // Lane 0 is wrong at C, lane 7 already at B.
    let mut observation = right(&program());
    observation.logs[0][3] ^= 1;
    observation.logs[7][1] ^= 1;
    let (mismatch, _) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.site, mismatch.lanes[0].lane, mismatch.wrong_lanes), (B, 7, 2));
}

#[test]
fn a_case_that_compares_nothing_is_vacuous() {
    let silent = main_of([when(below(4), [])]);
    let judgement = judged(&silent, &right(&silent));
    assert_eq!((judgement.verdict, compared(judgement.counts)), (Verdict::Vacuous, [0; 4]));
    // Coming by is something, even without a value.
    let marks = main_of([log(A, [])]);
    let judgement = judged(&marks, &right(&marks));
    assert_eq!((judgement.verdict, judgement.counts.steps), (Verdict::Pass, 8));
}

#[test]
fn a_case_that_is_not_well_defined_gives_no_word_on_the_device() {
    let undefined = op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
    let case = main_of([when(bin(undefined, BinaryOp::Eq, uint(3)), [see(A)])]);
    let observation = Observation { map: LaneMap::linear(&case, 8).words(&case), logs: vec![vec![9; 4]; 8] };
    let judgement = judged(&case, &observation);
    assert!(matches!(judgement.verdict, Verdict::Invalid(_)), "{:?}", judgement.verdict);
    assert_eq!(compared(judgement.counts), [0; 4]);
}

/// Every single word of a right log that is compared can fail: changed, it is found at that lane.
#[test]
fn every_compared_word_can_fail() {
    let body = [when(odd(), [Stmt::Continue]), see(A)];
    let shifted = op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
    let case = main_of([counted(0, uint(3), [see(B)], body), log(C, [Expr::Var(0), shifted, ballot()])]);
    let right = right(&case);
    let (mut caught, mut open) = (0, 0);
    for lane in 0..8 {
        for at in 0..right.logs[lane].len() {
            let mut wrong = right.clone();
            wrong.logs[lane][at] ^= 0x40;
            match judged(&case, &wrong).verdict {
                Verdict::Mismatch(mismatch) => {
                    assert_eq!((mismatch.wrong_lanes, mismatch.lanes[0].lane), (1, lane), "word {at}");
                    caught += 1;
                }
                Verdict::Pass => open += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    let counts = judged(&case, &right).counts;
    println!("{caught} words changed one by one: each caught; {open} are undefined");
    assert_eq!((caught, open), (counts.checked + counts.steps, counts.tainted));
}

// ---- open tangles (semantics.md §3.7) ----

/// What is said of these lanes' logs at a tier; the other lanes log nothing.
fn said_of(tier: Tier, case: &Case, logs: &[&[u32]]) -> Result<(), Option<TangleRule>> {
    let case = Case { tier, ..case.clone() };
    let mut logs: Vec<Vec<u32>> = logs.iter().map(|log| log.to_vec()).collect();
    logs.resize(8, Vec::new());
    match judged(&case, &Observation { map: LaneMap::linear(&case, 8).words(&case), logs }).verdict {
        Verdict::Pass => Ok(()),
        Verdict::Mismatch(mismatch) => Err(mismatch.rule),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lanes_together_in_a_function_go_back_each_to_its_own_call() {
    // Lanes 0 and 1 may be together in the function (R4), but then one of them logs B first: together again at C, or not.
    let calls = [either(below(1), [call(0), see(B)], [call(0)]), see(C)];
    let case = case(vec![function("f", [see(A)]), function("main", [when(below(2), calls)])]);
    assert_eq!(said_of(Tier::Plain, &case, &[&[A, 3, B, 1, C, 1], &[A, 3, C, 2]]), Ok(()));
    assert_eq!(said_of(Tier::Plain, &case, &[&[A, 3, B, 1, C, 3], &[A, 3, C, 3]]), Ok(()));
    assert_eq!(said_of(Tier::Plain, &case, &[&[A, 3, B, 1, C, 1], &[A, 2, C, 2]]), Err(Some(TangleRule::Partition)));
}

#[test]
fn nobody_is_together_across_a_point_where_all_are() {
    // Lane 0's first visit of A cannot be lane 1's second one: between them everybody logs B together.
    let body = [when(below(2), [when(below(1), []), see(A)]), see(B)];
    let case = main_of([counted(0, uint(2), [], body)]);
    let with = |lane_0: [u32; 2], lane_1: [u32; 2]| {
        let log = |[first, second]: [u32; 2]| vec![A, first, B, 0xFF, A, second, B, 0xFF];
        let (lane_0, lane_1, other) = (log(lane_0), log(lane_1), vec![B, 0xFF, B, 0xFF]);
        let mut logs: Vec<&[u32]> = vec![&lane_0, &lane_1];
        logs.resize(8, &other);
        said_of(Tier::Plain, &case, &logs)
    };
    assert_eq!(with([1, 3], [2, 3]), Ok(()));
    assert_eq!(with([1, 1], [2, 2]), Ok(()));
    assert_eq!(with([3, 1], [2, 3]), Err(Some(TangleRule::Order)));
}

#[test]
fn operations_are_in_order_even_without_a_ballot() {
    // Lane 0 comes to A in the first iteration, lane 1 in the second; between them everybody logs B.
    let first = op(SubgroupOp::BroadcastFirst, [lane()]);
    let in_turn = bin(lane(), BinaryOp::Eq, var(0));
    let case = main_of([counted(0, uint(2), [], [when(below(2), [when(in_turn, [log(A, [first])])]), see(B)])]);
    let with = |seen_by_1: u32| {
        let (lane_0, lane_1) = ([A, 0, B, 0xFF, B, 0xFF], [B, 0xFF, A, seen_by_1, B, 0xFF]);
        let mut logs: Vec<&[u32]> = vec![&lane_0, &lane_1];
        logs.resize(8, &[B, 0xFF, B, 0xFF]);
        said_of(Tier::Plain, &case, &logs)
    };
    assert_eq!(with(1), Ok(()));
    assert_eq!(with(0), Err(Some(TangleRule::Order)));
}

#[test]
fn lanes_together_in_an_operation_stay_together_in_straight_code() {
    // Lanes 0 and 1 take different paths to A. Who is elected there tells whether they are together, and then they are at B, too.
    let elected = || Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::Elect, [])));
    let case = main_of([when(below(2), [when(below(1), []), log(A, [elected()]), log(B, [elected()])])]);
    let with = |lane_1: [u32; 2]| said_of(Tier::Plain, &case, &[&[A, 1, B, 1], &[A, lane_1[0], B, lane_1[1]]]);
    assert_eq!(with([1, 1]), Ok(()));
    assert_eq!(with([1, 0]), Ok(()), "R4 lets them meet at any instruction");
    assert_eq!(with([0, 0]), Ok(()));
    assert_eq!(with([0, 1]), Err(Some(TangleRule::Elect)));
}

#[test]
fn lanes_apart_in_a_segment_stay_apart() {
    // Even and odd lanes may be together behind the label, or not (semantics.md §3.5); but then in all of the segment.
    let first = || op(SubgroupOp::BroadcastFirst, [lane()]);
    let inside = [see(A), when(below(6), []), log(B, [first()]), Stmt::Break];
    let case = main_of([switch(bin(lane(), BinaryOp::BitAnd, uint(1)), [arm([Label::Default], inside)])]);
    let with = |[even, odd]: [[u32; 2]; 2]| {
        let log = |[a, b]: [u32; 2]| [A, a, B, b];
        let logs: Vec<[u32; 4]> = (0..8).map(|lane| log(if lane % 2 == 0 { even } else { odd })).collect();
        said_of(Tier::Maximal, &case, &logs.iter().map(|log| &log[..]).collect::<Vec<_>>())
    };
    assert_eq!(with([[0xFF, 0], [0xFF, 0]]), Ok(()));
    assert_eq!(with([[0x55, 0], [0xAA, 1]]), Ok(()));
    assert_eq!(with([[0x55, 0], [0xAA, 0]]), Err(Some(TangleRule::Reconvergence)));
    assert_eq!(with([[0xFF, 0], [0xFF, 1]]), Err(Some(TangleRule::Reconvergence)));
}
