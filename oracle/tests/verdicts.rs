//! From logs to a verdict: what counts as wrong, where the first wrong step is, and what was compared.

use crate::common::*;
use tangle_oracle::judge::{Counts, Judgement, Kind, Mismatch, Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::observed::{Severity, TangleRule};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Expr, Label, Stmt, SubgroupCall};
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
    judge(case, observation, SubgroupPromise::vulkan(8, 8, 8))
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
    assert_eq!(mismatch(judged(&program(), &observation)).0.lanes[0].index, 1);
}

#[test]
fn zeros_at_the_end_of_a_log_may_be_left_out() {
    let case = main_of([log(A, [uint(5), lane()])]);
    let mut observation = right(&case);
    assert_eq!(observation.logs[0].pop(), Some(0), "lane 0 logs its number last");
    assert_eq!(judged(&case, &observation).verdict, Verdict::Pass);
    observation.logs[1].pop();
    let wrong = mismatch(judged(&case, &observation)).0.lanes[0].clone();
    assert_eq!((wrong.lane, wrong.actual), (1, vec![A, 5, 0]), "what is left out is shown");
}

#[test]
fn a_wrong_value_is_told_with_site_lane_and_both_values() {
    let mut observation = right(&program());
    observation.logs[6][1] ^= 1;
    observation.logs[7][3] ^= 1;
    let (mismatch, counts) = mismatch(judged(&program(), &observation));
    assert_eq!((mismatch.kind, mismatch.site, mismatch.group.0, mismatch.wrong_lanes), (Kind::Value, B, 0, 2));
    let [wrong] = mismatch.lanes.as_slice() else { panic!("{:?}", mismatch.lanes) };
    assert_eq!((wrong.subgroup, wrong.lane, wrong.index, wrong.entry), (0, 6, 6, 0));
    assert_eq!((wrong.expected.as_slice(), &wrong.actual[..2]), (&[Some(B), Some(0xF0)][..], &[B, 0xF1][..]));
    let masks: Vec<u128> = mismatch.expected_active.iter().map(|(_, lanes)| lanes.0).collect();
    assert_eq!(masks, [0xF0]);
    assert_eq!(mismatch.actual_active, mismatch.expected_active, "with a wrong value they all came by");
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

/// What a mismatch says of weaker tiers: whether it is one there, too.
#[test]
fn the_weakest_tier_that_is_broken() {
    let case = main_of([when(below(6), [when(below(3), []), log(A, [ballot(), lane()])])]);
    for (tier, word, weakest) in [
        // Who is together is open at the weaker tiers: lanes 0 to 2 may be by themselves there.
        (Tier::Maximal, 1, None),
        (Tier::Maximal, 2, Some(Tier::Plain)),
        (Tier::SubgroupUniform, 2, Some(Tier::Plain)),
        (Tier::Plain, 2, None),
    ] {
        let case = Case { tier, ..case.clone() };
        let mut observation = right(&case);
        for (lane, log) in observation.logs[..6].iter_mut().enumerate() {
            log[word] = if word == 2 { 99 } else { [0x07, 0x38][lane / 3] };
        }
        assert_eq!(mismatch(judged(&case, &observation)).0.weakest_tier, weakest, "{tier:?}, word {word}");
    }
}

/// Marks a word of a lane's log as open.
fn leave_open(observation: &mut Observation, lane: usize, word: usize) {
    observation.open.resize(8, Vec::new());
    observation.open[lane].resize(word + 1, 0);
    observation.open[lane][word] = 1;
}

#[test]
fn an_open_word_is_left_out_and_counted() {
    // The value at B in lane 6, and what stands there if it is open.
    let mut observation = right(&program());
    observation.logs[6][1] ^= 1;
    assert!(matches!(judged(&program(), &observation).verdict, Verdict::Mismatch(_)));
    leave_open(&mut observation, 6, 1);
    let judgement = judged(&program(), &observation);
    assert_eq!((judgement.verdict, compared(judgement.counts)), (Verdict::Pass, [22, 2, 0, 16]));
    // Another lane is judged as before.
    observation.logs[7][1] ^= 1;
    assert_eq!(mismatch(judged(&program(), &observation)).0.lanes[0].lane, 7);
}

#[test]
fn after_an_open_site_nothing_is_known_of_the_lane() {
    let mut observation = right(&program());
    observation.logs[5][2] = B;
    observation.logs[5].extend([A, 1]);
    leave_open(&mut observation, 5, 2);
    let judgement = judged(&program(), &observation);
    // What follows is not compared: five words that are not zero.
    assert_eq!((judgement.verdict, compared(judgement.counts)), (Verdict::Pass, [21, 1, 5, 15]));
    // What goes on after the end, open or not there at all.
    let mut longer = right(&program());
    longer.logs[2].extend([C, 1]);
    leave_open(&mut longer, 2, 5);
    assert_eq!(judged(&program(), &longer).verdict, Verdict::Pass);
}

#[test]
fn an_observation_that_is_open_all_over_is_vacuous() {
    let mut observation = right(&program());
    (0..8).for_each(|lane| leave_open(&mut observation, lane, 0));
    let judgement = judged(&program(), &observation);
    assert_eq!((judgement.verdict, judgement.counts.checked, judgement.counts.steps), (Verdict::Vacuous, 0, 0));
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
    let observation =
        Observation { map: LaneMap::linear(&case, 8).words(&case), logs: vec![vec![9; 4]; 8], open: Vec::new() };
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

// ---- open tangles (docs/rules.md, section O) ----

/// What is said of these lanes' logs at a tier; the other lanes log nothing.
fn said_of(tier: Tier, case: &Case, logs: &[&[u32]]) -> Result<(), Option<TangleRule>> {
    severity_of(tier, case, logs).map_err(|(rule, _)| rule)
}

/// Likewise, with how well it stands.
fn severity_of(tier: Tier, case: &Case, logs: &[&[u32]]) -> Result<(), (Option<TangleRule>, Severity)> {
    let case = Case { tier, ..case.clone() };
    let mut logs: Vec<Vec<u32>> = logs.iter().map(|log| log.to_vec()).collect();
    logs.resize(8, Vec::new());
    match judged(&case, &Observation { map: LaneMap::linear(&case, 8).words(&case), logs, open: Vec::new() }).verdict {
        Verdict::Pass => Ok(()),
        Verdict::Mismatch(mismatch) => Err((mismatch.rule, mismatch.severity)),
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

/// What the oracle does not say (`tangle_oracle::observed`, "An intermittent path"), in whichever round following begins to go round: lane 5 logs a
/// sum of 5 instead of 6. With the right sum lane 6 comes to the operation, too, whose tangle is open then, and the sum is adopted. With that
/// one lane 6 does not come, the tangle is exact, and the sum is the right one.
#[test]
fn a_path_that_comes_and_goes_is_not_judged() {
    let sum = || op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    let and = |x: Expr, y: Expr| bin(x, BinaryOp::And, y);
    let is = |x: Expr, number: u32| bin(x, BinaryOp::Eq, uint(number));
    let (seen, is_right, round) = (0, 1, 2);
    let first = and(is(var(round), 0), below(6));
    let second = and(is(var(round), 1), and(is(lane(), 6), is(var(is_right), 1)));
    let any = op(SubgroupOp::Any, [and(is(lane(), 5), is(var(seen), 6))]);
    let body = [
        when(bin(first, BinaryOp::Or, second), [set(seen, sum()), log(A, [var(seen)])]),
        set(is_right, Expr::Cast(Scalar::Uint, Box::new(any))),
    ];
    let around = [set(seen, uint(0)), set(is_right, uint(0)), counted(round, uint(2), [], body)];
    // Each of these branches takes a round to find its lanes.
    for branches in 0..3 {
        let mut before = Vec::new();
        for branch in (3..3 + branches).rev() {
            let further = when(bin(var(branch), BinaryOp::Gt, uint(0)), before);
            before = vec![set(branch, sum()), log(B, [var(branch)]), further];
        }
        let before = when(below(2), [when(below(1), [])].into_iter().chain(before).collect::<Vec<_>>());
        let case = main_of([before].into_iter().chain(around.clone()).collect::<Vec<_>>());
        let begin = [B, 2].repeat(branches as usize);
        let with = |sum: u32| [&begin[..], &[A, sum]].concat();
        for lane_6 in [&[A, 1][..], &[]] {
            let logs = [&with(6)[..], &with(6), &[A, 6], &[A, 6], &[A, 6], &[A, 5], lane_6];
            assert_eq!(said_of(Tier::Plain, &case, &logs), Ok(()), "{branches} {lane_6:?}");
        }
    }
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

/// Rule O4 is a sentence, and who is together is shown by the lanes themselves: nothing weaker is needed. What is not on the cycle is right.
#[test]
fn an_order_that_is_broken_by_what_the_lanes_show() {
    // Lanes 4 and 5 come to A twice, and each time everybody logs B behind it; before that they come to C by two ways.
    let number = |n: u32| bin(lane(), BinaryOp::Eq, uint(n));
    let pair = || bin(number(4), BinaryOp::Or, number(5));
    let to_c = when(pair(), [when(number(4), []), see(C)]);
    for (at_b, severity) in [
        (vec![see(B)], Severity::Hard),
        // Where lane 0 has ended control flow is uniform no more: that the others are together rests on their path.
        (vec![when(bin(lane(), BinaryOp::Gt, uint(1)), [see(B)])], Severity::Strong),
    ] {
        let all = if severity == Severity::Hard { 0xFF } else { 0xFC };
        let body = [vec![when(pair(), [when(number(4), []), see(A)])], at_b].concat();
        let case = main_of([to_c.clone(), counted(0, uint(2), [], body)]);
        let case = Case { tier: Tier::Plain, ..case };
        let with = |lane_4: [u32; 2], lane_5: [u32; 2]| {
            let log = |own: u32, [first, second]: [u32; 2]| vec![C, own, A, first, B, all, A, second, B, all];
            let mut logs = vec![if all == 0xFF { vec![B, all, B, all] } else { vec![] }; 2];
            logs.resize(8, vec![B, all, B, all]);
            (logs[4], logs[5]) = (log(0x10, lane_4), log(0x20, lane_5));
            let map = LaneMap::linear(&case, 8).words(&case);
            judged(&case, &Observation { map, logs, open: Vec::new() }).verdict
        };
        assert_eq!(with([0x30, 0x10], [0x30, 0x20]), Verdict::Pass);
        let Verdict::Mismatch(broken) = with([0x30, 0x10], [0x20, 0x30]) else { panic!("it is broken") };
        assert_eq!((broken.rule, broken.severity, broken.site), (Some(TangleRule::Order), severity, A));
    }
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

/// Lanes 0 to 5 come to these statements by two ways, lanes 0 to 2 by one.
fn open(body: impl IntoIterator<Item = Stmt>) -> Case {
    let body: Vec<Stmt> = std::iter::once(when(below(3), [])).chain(body).collect();
    main_of([when(below(6), body)])
}

/// The verdict on the logs of these six lanes at tier plain: the rule, and the lanes that are wrong.
fn wrong_of(case: &Case, logs: [&[u32]; 6]) -> Result<(), (Option<TangleRule>, Vec<usize>)> {
    let case = Case { tier: Tier::Plain, ..case.clone() };
    let mut logs: Vec<Vec<u32>> = logs.iter().map(|log| log.to_vec()).collect();
    logs.resize(8, Vec::new());
    let map = LaneMap::linear(&case, 8).words(&case);
    match judged(&case, &Observation { map, logs, open: Vec::new() }).verdict {
        Verdict::Pass => Ok(()),
        Verdict::Mismatch(mismatch) => Err((mismatch.rule, mismatch.lanes.iter().map(|lane| lane.lane).collect())),
        other => panic!("{other:?}"),
    }
}

/// Rule D2: an undefined operand is poison to whatever may have used it, and a result that may be undefined is.
#[test]
fn what_may_be_undefined_in_an_open_tangle_is_not_adopted() {
    let undefined = || op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
    let twice = |before: Vec<Stmt>, value: Expr| {
        let tail = [set(1, value), log(A, [var(1)]), log(B, [var(1)])];
        open(before.into_iter().chain(tail))
    };
    let sum_of = |value: Expr| op(SubgroupOp::Reduce(Fold::Add), [value]);
    let crosswise = || op(SubgroupOp::Shuffle, [lane(), bin(uint(5), BinaryOp::Sub, lane())]);
    let far = |by: Expr| op(SubgroupOp::Shuffle, [lane(), bin(by, BinaryOp::Add, uint(100))]);
    let in_lanes = |before: Expr, value: Expr| {
        main_of([
            set(0, before),
            when(below(6), [when(below(3), []), set(1, value), log(A, [var(1)]), log(B, [var(1)])]),
        ])
    };
    let next = || op(SubgroupOp::ShuffleDown, [lane(), uint(1)]);
    // Lane 5 - k, if x0 is 6.
    let across = bin(bin(uint(5), BinaryOp::Sub, lane()), BinaryOp::Add, bin(var(0), BinaryOp::Sub, uint(6)));
    let onwards = bin(lane(), BinaryOp::Add, bin(var(0), BinaryOp::Sub, uint(6)));
    // What each lane logs at A, and whether it has to log the same at B.
    for (what, case, at_a, is_compared) in [
        ("a sum of ones", twice(vec![], sum_of(uint(1))), [6; 6], [true; 6]),
        // Lane 0 and whoever may be together with it.
        ("a sum with an undefined operand", twice(vec![set(0, undefined())], sum_of(var(0))), [9; 6], [false; 6]),
        ("the same in all lanes before", in_lanes(undefined(), sum_of(var(0))), [9; 6], [false; 6]),
        ("what is undefined in lane 7 only, which is elsewhere", in_lanes(next(), sum_of(var(0))), [21; 6], [true; 6]),
        ("the same of lanes that are apart", in_lanes(next(), sum_of(var(0))), [6, 6, 6, 15, 15, 15], [true; 6]),
        // Each lane moves its own.
        (
            "a shuffle from oneself",
            in_lanes(undefined(), op(SubgroupOp::Shuffle, [var(0), lane()])),
            [9, 0, 1, 2, 3, 4],
            [false, true, true, true, true, true],
        ),
        ("a shuffle from nobody by what is undefined", in_lanes(undefined(), far(var(0))), [9; 6], [false; 6]),
        (
            "a shuffle by a sum that is not known",
            twice(vec![set(0, sum_of(uint(1)))], op(SubgroupOp::Shuffle, [lane(), across])),
            [5, 4, 3, 2, 1, 0],
            [false; 6],
        ),
        // Sums of 6 make 36.
        ("a sum of sums that are not known", twice(vec![set(0, sum_of(uint(1)))], sum_of(var(0))), [36; 6], [true; 6]),
        // From oneself, if x0 is 6.
        (
            "a shuffle that leads elsewhere if a sum is another",
            twice(vec![set(0, sum_of(uint(1)))], op(SubgroupOp::Shuffle, [lane(), onwards])),
            [0, 1, 2, 3, 4, 5],
            [false; 6],
        ),
        // From the other way, which may be elsewhere.
        ("a shuffle from who may not be there", twice(vec![], crosswise()), [5, 4, 3, 2, 1, 0], [false; 6]),
        ("a shuffle from nobody", twice(vec![], far(lane())), [0; 6], [false; 6]),
        ("one by a sum that is not known", twice(vec![set(0, sum_of(uint(1)))], far(var(0))), [0; 6], [false; 6]),
    ] {
        let log = |at_b: [u32; 6]| -> Vec<[u32; 4]> { (0..6).map(|lane| [A, at_a[lane], B, at_b[lane]]).collect() };
        let judged = |log: Vec<[u32; 4]>| wrong_of(&case, [&log[0], &log[1], &log[2], &log[3], &log[4], &log[5]]);
        assert_eq!(judged(log(at_a)), Ok(()), "{what}");
        for lane in 0..6 {
            let mut at_b = at_a;
            at_b[lane] += 70;
            let verdict = judged(log(at_b)).map_err(|(_, lanes)| lanes);
            assert_eq!(verdict, if is_compared[lane] { Err(vec![lane]) } else { Ok(()) }, "{what}, lane {lane}");
        }
    }
}

/// Rules D2 and R4: lane 0 has something undefined in the second iteration, and lane 1 may be together with it in its first one.
#[test]
fn what_is_undefined_in_another_iteration_may_be_in_this_one() {
    let in_second = bin(bin(var(0), BinaryOp::Eq, uint(1)), BinaryOp::And, below(1));
    let undefined = when(in_second, [set(1, op(SubgroupOp::ShuffleUp, [lane(), uint(1)]))]);
    let sum = |of: Expr| op(SubgroupOp::Reduce(Fold::Add), [of]);
    let seen = [set(2, sum(var(1))), log(A, [var(2)]), log(B, [var(2)])];
    let body = [vec![set(1, uint(1)), undefined, when(below(1), [])], seen.to_vec()].concat();
    let looped = || counted(0, uint(2), [], body.clone());
    // The same if the paths are not known to the end.
    let lost = [set(0, sum(uint(1))), when(bin(var(0), BinaryOp::Gt, uint(1)), [see(C)])];
    for tail in [vec![], lost.to_vec()] {
        let is_lost = !tail.is_empty();
        let case = main_of([when(below(2), [vec![looped()], tail].concat())]);
        let with = |first: [u32; 2], second: [u32; 2]| {
            let lane_0 = [A, 1, B, 1, A, 7, B, 8];
            let lane_1 = [A, first[0], B, first[1], A, second[0], B, second[1]];
            wrong_of(&case, [&lane_0, &lane_1, &[], &[], &[], &[]])
        };
        assert_eq!(with([1, 1], [1, 1]), Ok(()));
        assert_eq!(with([9, 10], [1, 1]), Ok(()), "lost: {is_lost}");
        assert_eq!(with([1, 1], [9, 10]), Ok(()), "lost: {is_lost}");
    }
}

/// Rule D2: what is undefined may be another value in each lane, though the operation gives all of them the same.
#[test]
fn an_undefined_sum_may_differ_from_lane_to_lane() {
    let sum = op(SubgroupOp::Reduce(Fold::Add), [var(0)]);
    let first = op(SubgroupOp::BroadcastFirst, [var(0)]);
    for value in [sum, first] {
        let undefined = op(SubgroupOp::ShuffleUp, [lane(), uint(1)]);
        let body = [when(below(3), []), log(A, [value])];
        let case = main_of([set(0, undefined), when(below(6), body)]);
        // All are together, and lane 0 has something undefined.
        for seen in [[9; 6], [9, 9, 9, 8, 8, 8], [1, 2, 3, 4, 5, 6]] {
            let logs = seen.map(|seen| [A, seen]);
            let verdict = wrong_of(&case, [&logs[0], &logs[1], &logs[2], &logs[3], &logs[4], &logs[5]]);
            assert_eq!(verdict, Ok(()), "{seen:?}");
        }
    }
}

/// What is expected of an operation that is broken: of lanes whose results are open nothing, and of other quads nothing new.
#[test]
fn what_is_wrong_of_a_broken_operation() {
    // Lane 0 reads its own value, the others those of lanes that came another way.
    let source = Expr::Select(Box::new(below(1)), Box::new(uint(0)), Box::new(bin(uint(5), BinaryOp::Sub, lane())));
    let case = open([log(A, [op(SubgroupOp::Shuffle, [lane(), source])])]);
    let logs: [&[u32]; 6] = [&[A, 9], &[A, 50], &[A, 50], &[A, 50], &[A, 50], &[A, 50]];
    assert_eq!(wrong_of(&case, logs), Err((Some(TangleRule::Operation), vec![0])));
    // Even and odd lanes come two ways. In the first quad they are apart; lane 4 does not see its own vote.
    let first_of_quad = bin(bin(lane(), BinaryOp::BitAnd, uint(3)), BinaryOp::Eq, uint(0));
    let vote = Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::QuadAny, [first_of_quad])));
    let mut case = main_of([when(below(8), [when(odd(), []), log(A, [vote])])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    case.tier = Tier::Plain;
    let mut logs = [1, 0, 1, 0, 0, 1, 1, 1].map(|vote| vec![A, vote]).to_vec();
    logs.resize(16, Vec::new());
    let map = LaneMap::linear(&case, 16).words(&case);
    let promise = SubgroupPromise::vulkan(16, 16, 16);
    let (mismatch, _) = mismatch(judge(&case, &Observation { map, logs, open: Vec::new() }, promise));
    assert_eq!(mismatch.lanes.iter().map(|lane| lane.lane).collect::<Vec<_>>(), [4]);
}

/// Rule O4, where there is a choice of lanes that one may be together with: all of them come behind it.
#[test]
fn nobody_is_together_with_any_of_those_behind() {
    // Lane 0 comes to A in the first iteration, lanes 1 and 2 by two ways in the second; between them everybody logs B.
    let is = |n: u32| bin(lane(), BinaryOp::Eq, uint(n));
    let in_turn = bin(bin(lane(), BinaryOp::Gt, uint(0)), BinaryOp::Eq, bin(var(0), BinaryOp::Eq, uint(1)));
    let vote = Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::Any, [bin(lane(), BinaryOp::Ne, uint(0))])));
    let to_a = when(in_turn, [when(is(1), []), log(A, [vote])]);
    let case = main_of([counted(0, uint(2), [], [when(below(3), [to_a]), see(B)])]);
    let with = |seen_by_0: u32| {
        let (lane_0, others) = ([A, seen_by_0, B, 0xFF, B, 0xFF], [B, 0xFF, A, 1, B, 0xFF]);
        let mut logs: Vec<&[u32]> = vec![&lane_0, &others, &others];
        logs.resize(8, &[B, 0xFF, B, 0xFF]);
        said_of(Tier::Plain, &case, &logs)
    };
    assert_eq!(with(0), Ok(()));
    assert_eq!(with(1), Err(Some(TangleRule::Order)));
}

/// Rule D3: after its first wrong value a lane shows nothing any more, so that what it logs then makes nobody else wrong.
#[test]
fn a_lane_that_is_wrong_already_shows_nothing() {
    let case = open([log(A, [lane(), ballot()])]);
    let others: Vec<[u32; 3]> = (0..6).map(|lane| [A, lane, 0x3F]).collect();
    let with =
        |lane_0: [u32; 3]| wrong_of(&case, [&lane_0, &others[1], &others[2], &others[3], &others[4], &others[5]]);
    assert_eq!(with([A, 0, 0x3F]), Ok(()));
    assert_eq!(with([A, 7, 0x3F]), Err((None, vec![0])));
    assert_eq!(with([A, 7, 0x01]), Err((None, vec![0])));
    assert_eq!(with([B, 0, 0x01]), Err((None, vec![0])));
    // Lanes 0 to 3, which came by one way, are wrong, and then say that they are by themselves; lanes 4 and 5 say that they are with them.
    let case = main_of([when(below(6), [when(below(4), []), log(A, [lane(), ballot()])])]);
    let logs: Vec<[u32; 3]> =
        (0..6).map(|lane| if lane < 4 { [A, lane + 10, 0x0F] } else { [A, lane, 0x3F] }).collect();
    let verdict = wrong_of(&case, [&logs[0], &logs[1], &logs[2], &logs[3], &logs[4], &logs[5]]);
    assert_eq!(verdict, Err((None, vec![0, 1, 2, 3])));
}

/// Values of any type stand beside a ballot, and it may be a part of one.
#[test]
fn a_ballot_is_judged_beside_any_value_and_in_a_vector() {
    use tangle_program::types::Type;
    let wide = bin(
        Expr::Cast(Scalar::Uint64, Box::new(bin(lane(), BinaryOp::Add, uint(1)))),
        BinaryOp::Mul,
        bin(
            Expr::Cast(Scalar::Uint64, Box::new(uint(1 << 31))),
            BinaryOp::Mul,
            Expr::Cast(Scalar::Uint64, uint(2).into()),
        ),
    );
    let words = |type_: Scalar| if type_ == Scalar::Uint64 { 2 } else { 1 };
    for (type_, value) in
        [(Scalar::Uint64, wide), (Scalar::Int, Expr::Unary(tangle_program::ops::UnaryOp::Neg, Expr::Int(1).into()))]
    {
        let case = open([log(A, [value, ballot()])]);
        let right = right(&Case { tier: Tier::Plain, ..case.clone() });
        let logs = |change: u32| -> Vec<Vec<u32>> {
            let mut logs = right.logs.clone();
            logs[4][1 + words(type_)] ^= change;
            logs
        };
        let judged =
            |logs: Vec<Vec<u32>>| wrong_of(&case, [&logs[0], &logs[1], &logs[2], &logs[3], &logs[4], &logs[5]]);
        assert_eq!(judged(logs(0)), Ok(()), "{type_:?}");
        assert_eq!(judged(logs(0x10)).map_err(|(rule, _)| rule), Err(Some(TangleRule::OwnBit)), "{type_:?}");
    }
    let pair = |x: Expr, y: Expr| Expr::Vector(Type::vector(Scalar::Uint, 2), vec![x, y]);
    for (what, value, at) in [
        ("a ballot and a number", pair(ballot(), lane()), 1),
        ("a number and a ballot", pair(lane(), ballot()), 2),
        ("two ballots", pair(ballot(), ballot()), 2),
    ] {
        let case = open([log(A, [value])]);
        let right = right(&Case { tier: Tier::Plain, ..case.clone() });
        let mut wrong = right.clone();
        wrong.logs[4][at] ^= 0x10;
        let judged = |logs: &[Vec<u32>]| wrong_of(&case, [&logs[0], &logs[1], &logs[2], &logs[3], &logs[4], &logs[5]]);
        assert_eq!(judged(&right.logs), Ok(()), "{what}");
        assert_eq!(judged(&wrong.logs).map_err(|(rule, _)| rule), Err(Some(TangleRule::OwnBit)), "{what}");
    }
}

/// Ballots of more than 32 lanes.
#[test]
fn ballots_of_several_words() {
    let whole = || op(SubgroupOp::Ballot, [Expr::Bool(true)]);
    let mut case = main_of([when(below(50), [when(odd(), []), log(A, [whole()])])]);
    case.entry_point.workgroups_mut().size = [64, 1, 1];
    case.tier = Tier::Plain;
    let map = LaneMap::linear(&case, 64);
    let promise = SubgroupPromise::vulkan(64, 8, 64);
    let right = observe(&case, &map, || Spec).expect("it is well-defined");
    assert_eq!(right.logs[40], [A, !0, (1 << 18) - 1, 0, 0]);
    assert_eq!(judge(&case, &right, promise).verdict, Verdict::Pass);
    for (lane, word, bit, rule) in [
        (40, 2, 8, TangleRule::OwnBit),
        (40, 2, 18, TangleRule::Visitors),
        (40, 2, 9, TangleRule::Partition),
        (3, 2, 9, TangleRule::Partition),
        (3, 1, 3, TangleRule::OwnBit),
    ] {
        let mut wrong = right.clone();
        wrong.logs[lane][word] ^= 1 << bit;
        let rules = match judge(&case, &wrong, promise).verdict {
            Verdict::Mismatch(mismatch) => mismatch.rule,
            other => panic!("{other:?}"),
        };
        assert_eq!(rules, Some(rule), "lane {lane}, word {word}, bit {bit}");
    }
}

/// Rule O5, where not all lanes show what they saw: who is on their path is together with them all the same.
#[test]
fn lanes_that_show_nothing_are_together_with_those_on_their_path() {
    let case = open([set(0, ballot()), when(below(2), [log(A, [var(0)])])]);
    let with = |mask: u32| wrong_of(&case, [&[A, mask], &[A, mask], &[], &[], &[], &[]]).map_err(|(rule, _)| rule);
    assert_eq!(with(0x3F), Ok(()));
    assert_eq!(with(0x07), Ok(()));
    assert_eq!(with(0x03), Err(Some(TangleRule::PathClass)), "lane 2 is on the path of lanes 0 and 1");
}

/// A ballot shows who is together only if its operand is known to be true.
#[test]
fn a_ballot_of_what_is_not_known_shows_no_tangle() {
    let some = |cond: Expr| Expr::Component(Box::new(op(SubgroupOp::Ballot, [cond])), 0);
    let sum = || op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    // Six if they are together: a device that keeps the two ways apart has nobody for whom it is.
    let case = open([set(0, sum()), log(A, [some(bin(var(0), BinaryOp::Eq, uint(6)))])]);
    assert_eq!(wrong_of(&case, [&[A, 0]; 6]), Ok(()));
    assert_eq!(wrong_of(&case, [&[A, 0x3F]; 6]), Ok(()));
    // What is undefined in lane 7, which is elsewhere, is known here.
    let next = op(SubgroupOp::ShuffleDown, [lane(), uint(1)]);
    let known = log(A, [some(bin(var(0), BinaryOp::Lt, uint(9)))]);
    let case = main_of([set(0, next), when(below(6), [when(below(3), []), known])]);
    let mut logs: [&[u32]; 6] = [&[A, 0x3F]; 6];
    assert_eq!(wrong_of(&case, logs), Ok(()));
    logs[4] = &[A, 0x2F];
    assert_eq!(wrong_of(&case, logs).map_err(|(rule, _)| rule), Err(Some(TangleRule::OwnBit)));
}

/// What is known of who comes by an operation does not change with how often they do: on one path they are together each time (rule E8).
#[test]
fn what_is_exact_stays_exact_while_an_observation_is_followed() {
    let sum = || op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    let body = [when(below(6), [see(A)])];
    let case = main_of([counted(0, uint(2), [], body), when(below(6), [when(below(3), []), log(B, [sum()])])]);
    let with = |at: usize, value: u32| {
        let mut logs = vec![vec![A, 0x3F, A, 0x3F, B, 6]; 6];
        logs[4][at] = value;
        wrong_of(&case, [&logs[0], &logs[1], &logs[2], &logs[3], &logs[4], &logs[5]])
    };
    assert_eq!(with(1, 0x3F), Ok(()));
    assert_eq!(with(1, 0x1F), Err((None, vec![4])));
    assert_eq!(with(3, 0x1F), Err((None, vec![4])));
    assert_eq!(with(5, 4).map_err(|(rule, _)| rule), Err(Some(TangleRule::Operation)));
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

/// "until all invocations in its quad have executed all dynamic instances that are program-ordered before X'" (SPIR-V 1.6 rev 6,
/// OpGroupNonUniformQuadSwap; docs/rules.md, rule P11)
#[test]
fn quad_operations_order_their_quad_only() {
    // Two lanes come to A in both iterations; between them everybody executes B. Lane 0's first visit of A and the other's second one are
    // one instance: impossible if B makes them wait for each other.
    let number = |expr| Expr::Cast(Scalar::Uint, Box::new(expr));
    let swapped = || op(SubgroupOp::QuadSwapDiagonal, [bin(lane(), BinaryOp::Add, uint(1))]);
    for (what, at_b, other, verdict) in [
        (
            "a quad vote, in one quad",
            number(op(SubgroupOp::QuadAny, [Expr::Bool(true)])),
            1,
            Err(Some(TangleRule::Order)),
        ),
        ("a quad vote, in two quads", number(op(SubgroupOp::QuadAny, [Expr::Bool(true)])), 4, Ok(())),
        ("a quad swap, in one quad", swapped(), 3, Err(Some(TangleRule::Order))),
        ("a quad swap, in two quads", swapped(), 7, Ok(())),
        ("a vote of all", number(op(SubgroupOp::Any, [Expr::Bool(true)])), 4, Err(Some(TangleRule::Order))),
    ] {
        let is = |n| bin(lane(), BinaryOp::Eq, uint(n));
        let comes = bin(is(0), BinaryOp::Or, is(other));
        let of_b = |lane: usize| if what.contains("swap") { [4, 3, 2, 1, 8, 7, 6, 5][lane] } else { 1 };
        let body = [when(comes, [when(below(1), []), see(A)]), log(B, [at_b])];
        let case = main_of([counted(0, uint(2), [], body)]);
        let both = 1 | 1 << other;
        let logs: Vec<Vec<u32>> = (0..8)
            .map(|lane| match lane {
                0 => vec![A, both, B, of_b(0), A, 1, B, of_b(0)],
                lane if lane == other as usize => vec![A, 1 << other, B, of_b(lane), A, both, B, of_b(lane)],
                lane => vec![B, of_b(lane), B, of_b(lane)],
            })
            .collect();
        let logs: Vec<&[u32]> = logs.iter().map(Vec::as_slice).collect();
        assert_eq!(said_of(Tier::Plain, &case, &logs), verdict, "{what}");
    }
}

#[test]
fn an_open_quad_vote_makes_nobody_outside_the_quad_wait() {
    // Lanes 0 and 4 come to A on one path, lane 1 on another. Lane 1 is at C before A, in its first iteration, lane 4 behind it, in its second.
    let is = |n| bin(lane(), BinaryOp::Eq, uint(n));
    let in_iteration = |n| bin(var(0), BinaryOp::Eq, uint(n));
    let either_of = |x, y| bin(x, BinaryOp::Or, y);
    // Lane 0 sees lane 1's vote, so that they are together at A, and lane 4 with them. C comes before A and behind it, if lane 4 waits for lane 1.
    for (vote, seen_by_4, verdict) in
        [(SubgroupOp::QuadAny, 0, Ok(())), (SubgroupOp::Any, 1, Err(Some(TangleRule::Order)))]
    {
        let vote = Expr::Cast(Scalar::Uint, Box::new(op(vote, [is(1)])));
        let of_1 = bin(is(1), BinaryOp::And, in_iteration(0));
        let of_4 = bin(is(4), BinaryOp::And, in_iteration(1));
        let body = [when(either_of(of_1, of_4), [see(C)]), when(in_iteration(0), [log(A, [vote])])];
        let some = either_of(either_of(is(0), is(1)), is(4));
        let case = main_of([when(some, [counted(0, uint(2), [], body)])]);
        let of_lane_4 = [A, seen_by_4, C, 0x12];
        let logs: [&[u32]; 5] = [&[A, 1], &[C, 0x12, A, 1], &[], &[], &of_lane_4];
        assert_eq!(said_of(Tier::Plain, &case, &logs), verdict);
    }
}

/// Rule O6, for operations that are no ballots: who is together there is together at the ballot behind, in straight code.
#[test]
fn every_operation_is_bounded_by_the_ballot_behind_it() {
    let from_one = || bin(lane(), BinaryOp::Add, uint(1));
    let odd = || bin(lane(), BinaryOp::Eq, uint(1));
    let number = |expr| Expr::Cast(Scalar::Uint, Box::new(expr));
    let clustered = SubgroupOp::Clustered(Fold::Max);
    let in_pairs = Expr::Subgroup(SubgroupCall { op: clustered, args: vec![from_one()], cluster: Some(2) });
    for (what, operation, together, apart) in [
        ("a sum", op(SubgroupOp::Reduce(Fold::Add), [from_one()]), [3, 3], [1, 2]),
        ("a scan", op(SubgroupOp::Inclusive(Fold::Add), [from_one()]), [1, 3], [1, 2]),
        ("a cluster", in_pairs, [2, 2], [1, 2]),
        ("a broadcast", op(SubgroupOp::BroadcastFirst, [from_one()]), [1, 1], [1, 2]),
        ("a vote", number(op(SubgroupOp::Any, [odd()])), [1, 1], [0, 1]),
        ("an election", number(op(SubgroupOp::Elect, [])), [1, 0], [1, 1]),
        ("a quad vote", number(op(SubgroupOp::QuadAny, [odd()])), [1, 1], [0, 1]),
    ] {
        let case = main_of([when(below(2), [when(below(1), []), log(A, [operation]), see(B)])]);
        let with =
            |a: [u32; 2], b: [u32; 2]| severity_of(Tier::Plain, &case, &[&[A, a[0], B, b[0]], &[A, a[1], B, b[1]]]);
        assert_eq!(with(together, [3, 3]), Ok(()), "{what}: together");
        assert_eq!(with(apart, [1, 2]), Ok(()), "{what}: apart");
        assert_eq!(with(apart, [3, 3]), Ok(()), "{what}: they may meet behind it");
        let refused = with(together, [1, 2]).expect_err(what);
        assert_eq!(refused.1, Severity::Strong, "{what}: together, then apart without a branch: {refused:?}");
    }
}

/// Rule O6 where there are too many lanes to try all divisions: ten, each on a path of its own.
#[test]
fn many_lanes_are_bounded_by_the_ballot_behind_them() {
    let sum = op(SubgroupOp::Reduce(Fold::Add), [uint(1)]);
    let apart = switch(lane(), [arm([Label::Default], [])]);
    let mut case = main_of([when(below(10), [apart, log(A, [sum]), see(B)])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    case.tier = Tier::Plain;
    let with = |sums: u32, ballot: &dyn Fn(u32) -> u32| {
        let mut logs: Vec<Vec<u32>> = (0..10).map(|lane| vec![A, sums, B, ballot(lane)]).collect();
        logs.resize(16, Vec::new());
        let map = LaneMap::linear(&case, 16).words(&case);
        let promise = SubgroupPromise::vulkan(16, 16, 16);
        match judge(&case, &Observation { map, logs, open: Vec::new() }, promise).verdict {
            Verdict::Pass => Ok(()),
            Verdict::Mismatch(mismatch) => Err(mismatch.severity),
            other => panic!("{other:?}"),
        }
    };
    let halves = |lane: u32| if lane < 5 { 0x1F } else { 0x3E0 };
    assert_eq!(with(1, &|lane| 1 << lane), Ok(()));
    assert_eq!(with(10, &|_| 0x3FF), Ok(()));
    assert_eq!(with(5, &halves), Ok(()));
    assert_eq!(with(1, &|_| 0x3FF), Ok(()), "they may meet behind it");
    assert_eq!(with(10, &|lane| 1 << lane), Err(Severity::Strong));
    assert_eq!(with(10, &halves), Err(Severity::Strong));
}

/// Who must have been together, by what they see, is together behind it; of two pairs each is.
#[test]
fn pairs_that_must_be_together_are_so_behind() {
    let sum = op(SubgroupOp::Reduce(Fold::Add), [lane()]);
    let apart = switch(lane(), [arm([Label::Default], [])]);
    let among = bin(bin(lane(), BinaryOp::Gt, uint(0)), BinaryOp::And, below(5));
    let case = main_of([when(among, [apart, log(A, [sum]), see(B)])]);
    // 4 is 1 and 3, and 6 is 2 and 4: no other lanes come to these sums with them.
    let with = |b: [u32; 4]| {
        let logs: Vec<[u32; 4]> = (0..4).map(|k| [A, [4, 6][k % 2], B, b[k]]).collect();
        wrong_of(&case, [&[], &logs[0], &logs[1], &logs[2], &logs[3], &[]])
    };
    assert_eq!(with([0x0A, 0x14, 0x0A, 0x14]), Ok(()));
    assert_eq!(with([0x1E; 4]), Ok(()), "they may meet");
    for apart in [[0x02, 0x14, 0x08, 0x14], [0x0A, 0x04, 0x0A, 0x10], [0x06, 0x06, 0x18, 0x18]] {
        assert!(with(apart).is_err(), "{apart:x?}");
    }
}

/// Rule O3: a lane is in an instance once, so that it cannot see in the first iteration what only itself has in the second.
#[test]
fn no_lane_is_in_an_instance_twice() {
    let of_0 = Expr::Select(Box::new(below(1)), Box::new(bin(var(0), BinaryOp::Add, uint(1))), Box::new(uint(0)));
    let max = op(SubgroupOp::Reduce(Fold::Max), [of_0]);
    let body = [when(below(1), []), log(A, [max])];
    let case = main_of([when(below(2), [counted(0, uint(2), [], body.clone())])]);
    let with = |lane_0: [u32; 2], lane_1: [u32; 2]| {
        let log = |[first, second]: [u32; 2]| [A, first, A, second];
        wrong_of(&case, [&log(lane_0), &log(lane_1), &[], &[], &[], &[]]).map_err(|(rule, _)| rule)
    };
    assert_eq!(with([1, 2], [1, 2]), Ok(()));
    assert_eq!(with([1, 2], [0, 0]), Ok(()));
    assert_eq!(with([1, 2], [2, 0]), Ok(()), "in different iterations");
    assert_eq!(with([2, 2], [0, 0]), Err(Some(TangleRule::Operation)));
    assert_eq!(with([2, 2], [2, 2]), Err(Some(TangleRule::Operation)));
    // Who is together in different iterations is so at the next operation, too.
    let behind = log(B, [op(SubgroupOp::Reduce(Fold::Add), [uint(1)])]);
    let body = [body.to_vec(), vec![behind]].concat();
    let case = main_of([when(below(2), [counted(0, uint(2), [], body)])]);
    let with = |lane_0: [u32; 4], lane_1: [u32; 4]| {
        let log = |[a, b, c, d]: [u32; 4]| [A, a, B, b, A, c, B, d];
        wrong_of(&case, [&log(lane_0), &log(lane_1), &[], &[], &[], &[]])
    };
    assert_eq!(with([1, 1, 2, 2], [2, 2, 0, 1]), Ok(()));
    assert_eq!(with([1, 1, 2, 1], [0, 1, 0, 1]), Ok(()));
    assert!(with([1, 1, 2, 1], [2, 1, 0, 1]).is_err());
    assert!(with([1, 1, 2, 2], [2, 1, 0, 2]).is_err());
}

#[test]
fn lanes_apart_in_a_segment_stay_apart() {
    // Even and odd lanes may be together behind the label, or not (docs/rules.md, section X); but then in all of the segment.
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

/// The same in a loop, and in two subgroups: each execution of the segment is one of its own.
#[test]
fn segments_in_loops_and_in_two_subgroups() {
    let first = || op(SubgroupOp::BroadcastFirst, [lane()]);
    let inside = [see(A), when(below(6), []), log(B, [first()]), Stmt::Break];
    let segment = switch(bin(lane(), BinaryOp::BitAnd, uint(1)), [arm([Label::Default], inside)]);
    let mut case = main_of([counted(0, uint(2), [], [segment])]);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    // Together, or apart: what even and odd lanes log.
    let (together, apart) = ([[A, 0xFF, B, 0]; 2], [[A, 0x55, B, 0], [A, 0xAA, B, 1]]);
    let (half, other) = ([[A, 0x55, B, 0], [A, 0xAA, B, 0]], [[A, 0xFF, B, 0], [A, 0xFF, B, 1]]);
    let with = |subgroups: [[[[u32; 4]; 2]; 2]; 2]| {
        let log = |lane: usize| subgroups[lane / 8].map(|iteration| iteration[lane % 2]).concat();
        let map = LaneMap::linear(&case, 8).words(&case);
        match judged(&case, &Observation { map, logs: (0..16).map(log).collect(), open: Vec::new() }).verdict {
            Verdict::Pass => Ok(()),
            Verdict::Mismatch(mismatch) => Err((mismatch.rule, mismatch.lanes[0].subgroup)),
            other => panic!("{other:?}"),
        }
    };
    for right in [together, apart] {
        for also in [together, apart] {
            assert_eq!(with([[right, also], [also, right]]), Ok(()));
            assert_eq!(with([[right, right], [also, also]]), Ok(()));
        }
    }
    let broken = Some(TangleRule::Reconvergence);
    for wrong in [half, other] {
        assert_eq!(with([[apart, wrong], [apart, together]]), Err((broken, 0)));
        assert_eq!(with([[apart, together], [wrong, together]]), Err((broken, 1)));
        assert_eq!(with([[together, apart], [apart, wrong]]), Err((broken, 1)));
    }
}

// ---- what a mismatch rests on ----

/// The severity of a mismatch when one word of a right log is changed, at a tier.
#[track_caller]
fn severity_at(case: &Case, tier: Tier, lane: usize, word: usize) -> Severity {
    let case = Case { tier, ..case.clone() };
    let mut observation = right(&case);
    observation.logs[lane][word] ^= 0x40;
    let judgement = judged(&case, &observation);
    let severity = judgement.severity();
    let (mismatch, _) = mismatch(judgement);
    assert_eq!(severity, Some(mismatch.severity));
    mismatch.severity
}

#[test]
fn a_mismatch_stands_as_well_as_what_says_who_is_together() {
    use Severity::{Hard, Strong};
    // Lanes 0 to 3 log a ballot at A, a value of their own at B; all log a ballot at C.
    let body = [when(below(4), [see(A), log(B, [bin(lane(), BinaryOp::Add, uint(1))])]), see(C)];
    let case = main_of(body);
    for (what, word, maximal, weaker) in [
        ("a ballot of the lanes on one path", 1, Hard, Strong),
        ("the path to a site", 2, Hard, Hard),
        ("a value of the lane's own", 3, Hard, Hard),
        ("a ballot where control flow is uniform again", 5, Hard, Hard),
    ] {
        assert_eq!(severity_at(&case, Tier::Maximal, 1, word), maximal, "{what}");
        assert_eq!(severity_at(&case, Tier::SubgroupUniform, 1, word), weaker, "{what}");
        assert_eq!(severity_at(&case, Tier::Plain, 1, word), weaker, "{what}");
    }
}

/// Rule E9.
#[test]
fn in_wgsl_nothing_hard_says_who_is_together_after_a_decision() {
    use Severity::{Hard, Strong};
    let body = [see(A), when(below(4), [log(B, [bin(lane(), BinaryOp::Add, uint(1))])]), see(C)];
    let case = main_of(body);
    let wgsl = Case { variant: "wgsl@tint".parse().expect("a variant"), ..case.clone() };
    for (what, word, in_wgsl) in [
        ("a ballot before any decision", 1, Hard),
        ("the path to a site", 2, Hard),
        ("a value of the lane's own", 3, Hard),
        ("a ballot where control flow is uniform again", 5, Strong),
    ] {
        assert_eq!(severity_at(&case, Tier::Plain, 1, word), Hard, "{what}");
        assert_eq!(severity_at(&wgsl, Tier::Plain, 1, word), in_wgsl, "{what}");
    }
}

#[test]
fn what_follows_from_a_weaker_rule_stands_no_better() {
    use Severity::{Hard, Strong};
    // What the ballot in divergent control flow says steers lanes 0 to 3, also to C.
    let any = op(SubgroupOp::Any, [bin(lane(), BinaryOp::Eq, uint(2))]);
    let case = main_of([when(below(4), [when(any, [log(A, [uint(7)])])]), log(B, [uint(1)]), see(C)]);
    for (what, lane, word, severity) in [
        ("the path to A rests on the vote", 1, 0, Strong),
        ("and so does what is logged there", 1, 1, Strong),
        ("lanes 4 to 7 were never there", 5, 1, Hard),
        ("who is together at C rests on where all lanes went", 5, 3, Strong),
    ] {
        assert_eq!(severity_at(&case, Tier::Plain, lane, word), severity, "{what}");
        assert_eq!(severity_at(&case, Tier::Maximal, lane, word), Hard, "{what}");
    }
}

/// A subgroup in which nobody is lost, beside one with lanes that took an unknown path within the same statement: it is on one path (rule E8), but
/// whether control flow is uniform for the workgroup (rule E7) nobody knows.
#[test]
fn uniform_control_flow_rests_on_the_lanes_of_its_tier() {
    use Severity::{Hard, Strong};
    let local = |n| bin(Expr::Builtin(tangle_program::tree::Builtin::LocalIndex), BinaryOp::Lt, uint(n));
    let open = Expr::Select(Box::new(bin(var(0), BinaryOp::Eq, uint(0x3E))), ballot().into(), uint(0).into());
    let body = [set(0, uint(0)), when(local(6), [when(odd(), []), set(0, ballot())]), log(A, [open, ballot()])];
    let mut case = main_of(body);
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    for (lane, word, plain) in [(9, 2, Strong), (9, 1, Hard)] {
        assert_eq!(severity_at(&case, Tier::Plain, lane, word), plain, "lane {lane}, word {word}");
        assert_eq!(severity_at(&case, Tier::SubgroupUniform, lane, word), Hard, "lane {lane}, word {word}");
    }
}

#[test]
fn sums_and_products_of_floats_are_a_question_of_quality() {
    use Severity::{Hard, Quality};
    let float = || Expr::Cast(Scalar::Float, Box::new(lane()));
    let folded = |fold: Fold| op(SubgroupOp::Reduce(fold), [float()]);
    for (op, severity) in [
        (folded(Fold::Add), Quality),
        (folded(Fold::Mul), Quality),
        (folded(Fold::Min), Hard),
        (folded(Fold::Max), Hard),
        (op(SubgroupOp::Inclusive(Fold::Add), [float()]), Quality),
        (op(SubgroupOp::Inclusive(Fold::Add), [lane()]), Hard),
        (op(SubgroupOp::BroadcastFirst, [float()]), Hard),
        // What is computed from it rests on it, whatever its type.
        (Expr::Cast(Scalar::Uint, Box::new(folded(Fold::Add))), Quality),
        (op(SubgroupOp::Reduce(Fold::Max), [folded(Fold::Add)]), Quality),
        (
            Expr::Select(
                Box::new(bin(folded(Fold::Add), BinaryOp::Lt, folded(Fold::Max))),
                uint(1).into(),
                uint(2).into(),
            ),
            Quality,
        ),
    ] {
        let case = main_of([log(A, [op]), log(B, [lane()])]);
        assert_eq!(severity_at(&case, Tier::Maximal, 1, 1), severity);
        assert_eq!(severity_at(&case, Tier::Maximal, 1, 3), Hard, "what is beside it does not");
    }
}

/// What was not evaluated, or is of no use, takes nothing from a value; in an open tangle the sum is one of quality, too.
#[test]
fn a_value_rests_on_what_was_evaluated() {
    use Severity::{Hard, Quality};
    let sum = || op(SubgroupOp::Reduce(Fold::Add), [Expr::Cast(Scalar::Float, Box::new(lane()))]);
    let never = bin(Expr::Push(0), BinaryOp::Eq, uint(1));
    let value = Expr::Select(Box::new(never), Box::new(var(0)), Box::new(uint(7)));
    let case = main_of([set(0, Expr::Cast(Scalar::Uint, Box::new(sum()))), log(A, [value])]);
    assert_eq!(severity_at(&case, Tier::Maximal, 1, 1), Hard);
    let case = main_of([when(below(6), [when(below(3), []), log(A, [Expr::Cast(Scalar::Uint, Box::new(sum()))])])]);
    assert_eq!(severity_at(&case, Tier::Maximal, 1, 1), Quality);
    let case = main_of([when(below(6), [when(below(3), []), log(A, [sum()])])]);
    assert_eq!(severity_at(&case, Tier::Plain, 1, 1), Quality);
}

#[test]
fn a_path_decided_by_a_sum_of_floats_is_a_question_of_quality() {
    let sum = op(SubgroupOp::Reduce(Fold::Add), [Expr::Cast(Scalar::Float, Box::new(lane()))]);
    let case = main_of([when(bin(sum, BinaryOp::Gt, Expr::Float(Scalar::Float, 4)), [log(A, [lane()])]), see(B)]);
    assert_eq!(severity_at(&case, Tier::Maximal, 1, 0), Severity::Quality, "the path to A");
    assert_eq!(severity_at(&case, Tier::Maximal, 1, 3), Severity::Quality, "a ballot behind it");
}

#[test]
fn an_open_tangle_is_judged_hard_where_no_lanes_whatever_explain_it() {
    use Severity::{Hard, Strong};
    let elected = || Expr::Cast(Scalar::Uint, Box::new(op(SubgroupOp::Elect, [])));
    let case = main_of([when(below(2), [when(below(1), []), log(A, [elected()]), log(B, [elected()])])]);
    let with = |lane_0: [u32; 2], lane_1: [u32; 2]| {
        severity_of(Tier::Plain, &case, &[&[A, lane_0[0], B, lane_0[1]], &[A, lane_1[0], B, lane_1[1]]])
    };
    assert_eq!(with([0, 1], [0, 1]), Err((Some(TangleRule::Elect), Hard)), "nobody is elected at A");
    assert_eq!(with([1, 1], [0, 1]), Err((Some(TangleRule::Elect), Strong)), "together at A, apart at B");
    let case = main_of([when(below(2), [when(below(1), []), see(A), see(B)])]);
    let with = |a: [u32; 2], b: [u32; 2]| severity_of(Tier::Plain, &case, &[&[A, a[0], B, b[0]], &[A, a[1], B, b[1]]]);
    assert_eq!(with([3, 2], [3, 3]), Err((Some(TangleRule::Partition), Hard)));
    assert_eq!(with([2, 2], [3, 3]), Err((Some(TangleRule::OwnBit), Hard)));
    assert_eq!(with([5, 2], [3, 3]), Err((Some(TangleRule::Visitors), Hard)));
    assert_eq!(with([3, 3], [1, 2]), Err((Some(TangleRule::StraightCode), Strong)));
}

#[test]
fn findings_of_versions_without_severities_are_read() {
    let mut observation = right(&program());
    observation.logs[6][1] ^= 1;
    let (mismatch, _) = mismatch(judged(&program(), &observation));
    let mut json = serde_json::to_value(&mismatch).expect("it is plain data");
    assert!(json.as_object_mut().expect("an object").remove("severity").is_some());
    assert_eq!(serde_json::from_value::<Mismatch>(json).expect("it is read").severity, Severity::Hard);
}

/// Each figure is added to its own: by their names in JSON, so that a new one cannot be forgotten.
#[test]
fn counts_of_several_judgements_add_up() {
    let fields = serde_json::to_value(Counts::default()).expect("plain data");
    let names: Vec<&String> = fields.as_object().expect("a struct").keys().collect();
    let counts = |factor: u64| -> Counts {
        let numbered = names.iter().zip(1..).map(|(&name, number)| (name.clone(), (factor * number).into()));
        serde_json::from_value(serde_json::Value::Object(numbered.collect())).expect("its own form")
    };
    let mut sum = counts(1);
    sum.add(counts(100));
    assert_eq!(sum, counts(101));
}
