//! What is counted of a prediction and of a judgement, by hand.

use crate::common::*;
use tangle_oracle::judge::{Counts, Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::predict::{OpUse, predict};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{MinimalReconvergence, Spec};
use tangle_program::case::{Case, Tier};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp as Op};
use tangle_program::tree::Expr;
use tangle_program::types::Scalar;

const PROMISE: SubgroupPromise = SubgroupPromise::vulkan(8, 8, 8);

fn sum() -> Expr {
    op(Op::Reduce(Fold::Add), [uint(1)])
}

/// Two workgroups of 16 invocations, in subgroups of 8: a sum of all, two values of the first four lanes, one of all, and one of nobody.
fn example() -> Case {
    let some = when(below(4), [log(2, [sum(), uint(7)])]);
    let mut case = main_of([log(1, [sum()]), some, log(3, [lane()]), when(below(0), [log(4, [sum()])])]);
    case.tier = Tier::Maximal;
    case.entry_point.workgroups_mut().size = [16, 1, 1];
    case.entry_point.workgroups_mut().count = [2, 1, 1];
    case
}

fn right(case: &Case) -> Observation {
    observe(case, &LaneMap::linear(case, 8), || Spec).expect("it is well-defined")
}

#[test]
fn use_of_operations() {
    let case = example();
    let prediction = predict(&case, &LaneMap::linear(&case, 8)).expect("it is well-defined");
    let whole = OpUse { executed_full: 32, checked_full: 32, ..OpUse::default() };
    let part = OpUse { executed_partial: 16, checked_partial: 16, ..OpUse::default() };
    assert_eq!(prediction.op_use(), [whole, part, OpUse::default()]);
    assert_eq!(prediction.sites_reached(), (3, 4));
}

/// Every event has the values of its own workgroup.
#[test]
fn values_of_events() {
    let case = example();
    let prediction = predict(&case, &LaneMap::linear(&case, 8)).expect("it is well-defined");
    let seen = prediction.events_with_values().into_iter();
    let seen: Vec<(u32, u32, usize)> = seen.map(|(event, values)| (event.group.0, event.site, values.len())).collect();
    assert_eq!(seen, [(0, 1, 16), (0, 2, 8), (0, 3, 16), (1, 1, 16), (1, 2, 8), (1, 3, 16)]);
}

#[test]
fn sums_and_products_that_leave_their_type() {
    let of = |fold, value| op(Op::Reduce(fold), [uint(value)]);
    for (value, overflows) in [
        // Of eight lanes each.
        (of(Fold::Add, 0x1FFF_FFFF), false),
        (of(Fold::Add, 0x2000_0000), true),
        (of(Fold::Mul, 15), false),
        (of(Fold::Mul, 16), true),
        (of(Fold::Xor, u32::MAX), false),
    ] {
        // Whatever comes behind it.
        let case = main_of([log(1, [value.clone()]), log(2, [sum()])]);
        let prediction = predict(&case, &LaneMap::linear(&case, 8)).expect("it is well-defined");
        assert_eq!(prediction.overflows(), overflows, "{value:?}");
    }
}

/// Each entry names its event, by its number in the whole launch.
#[test]
fn entries_name_their_events() {
    let case = example();
    let prediction = predict(&case, &LaneMap::linear(&case, 8)).expect("it is well-defined");
    let (logs, events) = (prediction.logs(), prediction.events().collect::<Vec<_>>());
    assert_eq!(logs.len(), 32);
    assert_eq!(
        events.iter().map(|event| (event.group.0, event.site)).collect::<Vec<_>>(),
        [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3),]
    );
    for log in logs {
        let first = 3 * log.invocation.group.0 as usize;
        let expected = if log.lane < 4 {
            vec![(0, first), (2, first + 1), (5, first + 2)]
        } else {
            vec![(0, first), (2, first + 2)]
        };
        assert_eq!(log.entries, expected, "{:?}", log.invocation);
    }
}

#[test]
fn what_a_judge_has_compared() {
    let case = example();
    let all = Counts {
        checked: 32 + 2 * 16 + 32,
        divergent: 2 * 16,
        divergent_checked: 2 * 16,
        steps: 32 + 16 + 32,
        sites: 4,
        sites_reached: 3,
        ..Counts::default()
    };
    let judgement = judge(&case, &right(&case), PROMISE);
    assert_eq!((judgement.verdict, judgement.counts), (Verdict::Pass, all));
    let two_steps_fewer = Counts {
        checked: all.checked - 3,
        divergent: 30,
        divergent_checked: 30,
        skipped: 3,
        steps: all.steps - 2,
        ..all
    };
    // Lane 1 of the first subgroup logs 1, 8; 2, 4, 7; 3, 1. Behind its first wrong word nothing is compared.
    for (at, counts) in [
        // The sum of all: the two values of site 2 and that of site 3 are left.
        (1, two_steps_fewer),
        // Another site where 2 should be.
        (2, two_steps_fewer),
        // The sum of some.
        (3, Counts { checked: all.checked - 2, divergent_checked: 31, skipped: 2, steps: all.steps - 1, ..all }),
        (4, Counts { checked: all.checked - 1, skipped: 1, steps: all.steps - 1, ..all }),
        (6, all),
    ] {
        let mut observation = right(&case);
        observation.logs[1][at] += 100;
        let judgement = judge(&case, &observation, PROMISE);
        assert!(matches!(judgement.verdict, Verdict::Mismatch(_)), "word {at}");
        assert_eq!(judgement.counts, counts, "word {at}");
    }
}

/// Lanes 0 to 5 come to a site by two ways, and at tier plain nothing says who is together: what they log is judged by the rules for
/// observed tangles.
#[test]
fn what_is_judged_by_what_was_observed() {
    let body = [when(below(6), [when(below(3), []), log(1, [ballot(), lane()])])];
    let mut case = main_of(body);
    case.tier = Tier::Plain;
    let judgement = judge(&case, &right(&case), PROMISE);
    assert_eq!(judgement.verdict, Verdict::Pass);
    let Counts { checked, observed, divergent, tainted, skipped, steps, .. } = judgement.counts;
    // The ballots were adopted; the numbers of the lanes are known anyway.
    assert_eq!((checked, observed, divergent, tainted, skipped, steps), (12, 6, 12, 0, 0, 6));
}

/// A result that is not adopted, since it may be undefined, takes nothing from those behind it.
#[test]
fn what_is_judged_behind_what_may_be_undefined() {
    let from_nobody = op(Op::Shuffle, [lane(), bin(lane(), BinaryOp::Add, uint(100))]);
    let case = main_of([when(below(6), [when(below(3), []), log(1, [from_nobody, ballot()])])]);
    let case = Case { tier: Tier::Plain, ..case };
    let judgement = judge(&case, &right(&case), PROMISE);
    assert_eq!(judgement.verdict, Verdict::Pass);
    let Counts { checked, observed, tainted, .. } = judgement.counts;
    assert_eq!((checked, observed, tainted), (6, 6, 6));
}

/// A subgroup barrier is an operation: by all lanes, by some, and by those of which something is known.
#[test]
fn use_of_barriers() {
    let barrier = || tangle_program::tree::Stmt::SubgroupBarrier(Op::Barrier);
    let path = log(2, [Expr::Select(Box::new(bin(var(0), BinaryOp::Eq, uint(5))), ballot().into(), uint(0).into())]);
    let body = [
        set(0, uint(0)),
        barrier(),
        when(below(3), [barrier()]),
        when(below(6), [when(below(3), []), set(0, sum())]),
        path,
        barrier(),
    ];
    let case = Case { tier: Tier::Plain, ..main_of(body) };
    let prediction = predict(&case, &LaneMap::linear(&case, 8)).expect("it is well-defined");
    let executed: Vec<[u64; 2]> =
        prediction.op_use().iter().map(|used| [used.executed_full, used.executed_partial]).collect();
    // The third operation is the sum, the fourth the ballot at site 2, which loses six lanes.
    assert_eq!(executed, [[8, 0], [0, 3], [0, 6], [0, 0], [0, 2]]);
}

/// What could have been anything by itself is adopted and not counted as checked. The device keeps the two ways apart.
#[test]
fn what_is_adopted_and_not_checked() {
    let number = |vote: Expr| Expr::Cast(Scalar::Uint, Box::new(vote));
    let voted = |op_: Op, cond: Expr| number(op(op_, [cond]));
    let is = |n: u32| bin(lane(), BinaryOp::Eq, uint(n));
    let undefined_in_0 = bin(var(0), BinaryOp::Eq, uint(50));
    for (what, value, checked, tainted) in [
        // Lane 3 is elected, or would not be if it were together with lane 0.
        ("an election", number(op(Op::Elect, [])), 5, 1),
        // Lanes 0 to 2 see true in any case; the others false, or would see true if they were together with lane 0.
        ("some lane up to here is 0", voted(Op::Inclusive(Fold::Or), is(0)), 3, 3),
        // Who sees another result is elsewhere.
        ("any lane is 0", voted(Op::Any, is(0)), 6, 0),
        ("any lane is 7", voted(Op::Any, is(7)), 6, 0),
        ("all lanes are below 3", voted(Op::All, below(3)), 6, 0),
        // Few numbers are sums.
        ("a sum", sum(), 6, 0),
        ("a broadcast", op(Op::BroadcastFirst, [lane()]), 6, 0),
        // Undefined in lane 0, and so perhaps in any of them.
        ("some lane up to here has what lane 0 has not", voted(Op::Inclusive(Fold::Or), undefined_in_0), 0, 6),
    ] {
        let case = main_of([
            set(0, op(Op::ShuffleUp, [lane(), uint(1)])),
            when(below(6), [when(below(3), []), log(1, [value])]),
        ]);
        let case = Case { tier: Tier::Plain, ..case };
        let seen = observe(&case, &LaneMap::linear(&case, 8), || MinimalReconvergence).expect("it is well-defined");
        let judgement = judge(&case, &seen, PROMISE);
        assert_eq!(judgement.verdict, Verdict::Pass, "{what}");
        assert_eq!((judgement.counts.checked, judgement.counts.tainted), (checked, tainted), "{what}");
    }
}

/// A result that would rest on an operand that is not known, if more lanes were together, could have been anything, too: lanes 0 to 2 come by two ways
/// to a sum that nobody logs.
#[test]
fn what_may_rest_on_what_is_not_known_is_not_checked() {
    let of_some = when(below(3), [when(below(1), []), set(0, sum())]);
    let up_to_here = op(Op::Inclusive(Fold::Or), [bin(var(0), BinaryOp::Eq, uint(50))]);
    let value = Expr::Cast(Scalar::Uint, Box::new(up_to_here));
    let case = main_of([set(0, uint(0)), when(below(6), [of_some, log(1, [value])])]);
    let case = Case { tier: Tier::Plain, ..case };
    let seen = observe(&case, &LaneMap::linear(&case, 8), || MinimalReconvergence).expect("it is well-defined");
    let judgement = judge(&case, &seen, PROMISE);
    assert_eq!(judgement.verdict, Verdict::Pass);
    assert_eq!((judgement.counts.checked, judgement.counts.tainted), (0, 6));
}
