//! What is known of arrays that invocations share (docs/rules.md, sections A and Y): small programs with expectations by hand. How to read the text:
//! [`common`].

use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_oracle::judge::{Observation, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::predict::predict;
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{MinimalReconvergence, Spec};
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{AtomicOp, Shared, StorageClass, Sync};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Atomic, Builtin, Expr, Load, Stmt, SubgroupCall};
use tangle_program::types::{Scalar, Type};

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

/// Arrays 0 and 1 have an element for each of the 8 invocations, which holds 10 at first.
fn with_arrays(body: impl Into<Vec<Stmt>>) -> Case {
    let mut case = main_of(body);
    let array = |name: &str| Shared {
        name: name.into(),
        scalar: Scalar::Uint,
        len: 8,
        init: 10,
        parts: 1,
        storage: StorageClass::Workgroup,
    };
    case.program.shared = vec![array("s0"), array("s1")];
    case
}

/// `atomicAdd(s0[index], value)` and the like; what was there goes to `dest`.
fn atomic(op: AtomicOp, index: Expr, value: Expr, dest: impl Into<Option<u32>>) -> Stmt {
    let compare = (op == AtomicOp::CompSwap).then(|| uint(10));
    Stmt::Atomic(Box::new(Atomic { op, array: 0, index, compare, value, dest: dest.into() }))
}

fn add(index: Expr, value: u32, dest: impl Into<Option<u32>>) -> Stmt {
    atomic(AtomicOp::Add, index, uint(value), dest)
}

fn store(value: Expr) -> Stmt {
    Stmt::Store { array: 0, element: None, value }
}

fn load(index: Expr) -> Expr {
    Expr::Load(Load { array: 0, scalar: Scalar::Uint, index: Box::new(index) })
}

fn barrier() -> Stmt {
    Stmt::ControlBarrier(Sync::Barrier)
}

fn is(n: u32) -> Expr {
    bin(lane(), BinaryOp::Eq, uint(n))
}

fn own() -> Expr {
    Expr::Builtin(Builtin::LocalIndex)
}

/// `subgroupShuffleUp(lane, 1)`: undefined in lane 0.
fn undefined_in_0() -> Expr {
    op(SubgroupOp::ShuffleUp, [lane(), uint(1)])
}

/// What a lane sees only once those that came another way are known to be there, or not: open at the weaker tiers.
fn open_sum() -> Expr {
    op(SubgroupOp::Reduce(Fold::Add), [uint(1)])
}

/// The same at every tier, since none of it rests on who is together.
#[track_caller]
fn check_memory(body: impl Into<Vec<Stmt>>, text: &str) {
    check_tiers(&with_arrays(body), text, text);
}

/// Rule A2: what an atomic returns is known where no other invocation touches the element.
#[test]
fn old_values_of_elements_of_ones_own() {
    let twice = [add(own(), 5, 0), add(own(), 1, 1), log(A, [var(0), var(1)])];
    check_memory(twice, "A=FF:[10/15 10/15 10/15 10/15 10/15 10/15 10/15 10/15]");
    // In the next phase others may have it.
    let next = bin(bin(own(), BinaryOp::Add, uint(1)), BinaryOp::BitAnd, uint(7));
    let in_turn = [add(own(), 5, 0), barrier(), add(next, 1, 1), log(A, [var(0), var(1)])];
    check_memory(in_turn, "A=FF:[10/15 10/15 10/15 10/15 10/15 10/15 10/15 10/15]");
    // Lane 1 alone has element 0, and all elements but that and 1 are left alone.
    let one = [when(is(1), [add(uint(0), 5, 0), log(A, [var(0)])]), barrier(), log(B, [load(own())])];
    check_memory(one, "A=02:[10] B=FF:[15 10 10 10 10 10 10 10]");
}

/// Rules A1 and A2: of an element that several touch in a phase nobody knows what each gets, whenever the others come; what it holds at the end is
/// known where all of them do the same, in any order.
#[test]
fn elements_that_several_touch() {
    let together = [add(uint(0), 1, 0), log(A, [var(0)]), barrier(), log(B, [load(uint(0))])];
    check_memory(together, "A=FF? B=FF:[18 18 18 18 18 18 18 18]");
    // Lane 3 comes later, by a statement of its own: the first ones do not know that yet.
    let later = [
        when(below(1), [add(uint(0), 1, 0), log(A, [var(0)])]),
        when(is(3), [add(uint(0), 4, 1), log(B, [var(1)])]),
        barrier(),
        log(C, [load(uint(0)), load(uint(1))]),
    ];
    check_memory(later, "A=01? B=08? C=FF:[15/10 15/10 15/10 15/10 15/10 15/10 15/10 15/10]");
    // The first of them has had it twice by then.
    let twice = [
        when(below(1), [add(uint(0), 1, 0), add(uint(0), 1, 1), log(A, [var(0), var(1)])]),
        when(is(3), [add(uint(0), 4, 0)]),
    ];
    check_memory(twice, "A=01?");
    // What is found out of one phase says nothing of another.
    let two_phases = [
        when(below(1), [add(uint(0), 1, 0), log(A, [var(0)])]),
        when(is(3), [add(uint(0), 4, 1), log(B, [var(1)])]),
        barrier(),
        when(is(5), [add(uint(0), 1, 0), log(C, [var(0)])]),
    ];
    check_memory(two_phases, "A=01? B=08? C=20:[15]");
    // In the phase behind that it is one invocation's again.
    let alone = [add(uint(0), 1, None), barrier(), when(is(2), [add(uint(0), 1, 0), log(A, [var(0)])])];
    check_memory(alone, "A=04:[18]");
    // And in the phase before.
    let before = [when(is(2), [add(uint(0), 1, 0), log(A, [var(0)])]), barrier(), add(uint(0), 1, 1), log(B, [var(1)])];
    check_memory(before, "A=04:[10] B=FF?");
    // Other elements have nothing to do with it.
    let halves =
        [add(bin(own(), BinaryOp::Div, uint(2)), 1, 0), when(is(0), [add(uint(7), 1, 1), log(A, [var(0), var(1)])])];
    check_memory(halves, "A=01:[?/10]");
}

/// Rule A1: operations of one commutative kind come to the same in any order; of two kinds, and of those that replace, they do not.
#[test]
fn what_is_left_of_several_kinds() {
    let ten = |result: &str| format!("A=FF:[{}]", [result; 8].join(" "));
    for (op, left) in [
        (AtomicOp::Add, "38"),
        (AtomicOp::Min, "0"),
        (AtomicOp::Max, "10"),
        (AtomicOp::And, "0"),
        (AtomicOp::Or, "15"),
        (AtomicOp::Xor, "10"),
        (AtomicOp::Exchange, "?"),
        (AtomicOp::CompSwap, "?"),
    ] {
        let body = [atomic(op, uint(0), lane(), None), barrier(), log(A, [load(uint(0))])];
        let text = if left == "?" { "A=FF?".to_owned() } else { ten(left) };
        check_memory(body, &text);
        // By one invocation alone it is in program order with whatever that does.
        let alone = [add(uint(0), 1, None), atomic(op, uint(0), lane(), None)];
        let body = [when(is(5), alone), barrier(), log(A, [load(uint(0))])];
        let alone = match op {
            AtomicOp::Add => "16",
            AtomicOp::Min | AtomicOp::Exchange => "5",
            AtomicOp::Max | AtomicOp::CompSwap => "11",
            AtomicOp::And => "1",
            AtomicOp::Or => "15",
            AtomicOp::Xor => "14",
        };
        check_memory(body, &ten(alone));
        // Two invocations that do two things.
        let other = if op == AtomicOp::Add { AtomicOp::Max } else { AtomicOp::Add };
        for (one, two) in [(op, other), (other, op)] {
            let body = [
                when(is(2), [atomic(one, uint(0), uint(3), None)]),
                when(is(5), [atomic(two, uint(0), uint(6), None)]),
                barrier(),
                log(A, [load(uint(0)), load(uint(1))]),
            ];
            check_memory(body, &ten("?/10"));
        }
    }
    // One of them does two things, and the other what the first did at last.
    let mixed = [
        when(is(2), [add(uint(0), 1, None), atomic(AtomicOp::Max, uint(0), uint(20), None), add(uint(0), 1, None)]),
        when(is(5), [add(uint(0), 5, None)]),
        barrier(),
        log(A, [load(uint(0)), load(uint(1))]),
    ];
    check_memory(mixed, &ten("?/10"));
    // What was there is gone once one invocation replaces it, and what it gets is still not known.
    let replaced = [
        atomic(AtomicOp::Exchange, uint(0), lane(), None),
        barrier(),
        when(is(6), [atomic(AtomicOp::Exchange, uint(0), uint(7), 0), log(A, [var(0)])]),
        barrier(),
        log(B, [load(uint(0))]),
    ];
    check_memory(replaced, "A=40? B=FF:[7 7 7 7 7 7 7 7]");
    // Adding to something that is not known gives nothing that is.
    let added = [
        atomic(AtomicOp::Exchange, uint(0), lane(), None),
        barrier(),
        when(is(6), [add(uint(0), 7, 0), log(A, [var(0)])]),
        barrier(),
        log(B, [load(uint(0)), load(uint(1))]),
    ];
    check_memory(added, "A=40? B=FF:[?/10 ?/10 ?/10 ?/10 ?/10 ?/10 ?/10 ?/10]");
}

/// Rule D2: what is undefined stays so in memory, where it was stored, and in the result of an atomic.
#[test]
fn undefined_values_in_memory() {
    let stored = [store(undefined_in_0()), barrier(), log(A, [load(own())]), log(B, [load(uint(0)), load(uint(1))])];
    check_memory(stored, "A=FF:[? 0 1 2 3 4 5 6] B=FF:[?/0 ?/0 ?/0 ?/0 ?/0 ?/0 ?/0 ?/0]");
    let added = [atomic(AtomicOp::Add, own(), undefined_in_0(), 0), log(A, [var(0)]), barrier(), log(B, [load(own())])];
    check_memory(added, "A=FF:[10 10 10 10 10 10 10 10] B=FF:[? 10 11 12 13 14 15 16]");
    // Overwritten, it is gone.
    let again = [store(undefined_in_0()), store(uint(3)), barrier(), log(A, [load(uint(0))])];
    check_memory(again, "A=FF:[3 3 3 3 3 3 3 3]");
}

/// An index that the tier leaves open: any element may be another one then, and what was there is open.
#[test]
fn an_index_that_is_not_known() {
    let body = |tail: Vec<Stmt>| {
        let inner = [when(odd(), []), set(0, open_sum())];
        let mut body = vec![set(0, uint(0)), when(below(6), inner)];
        body.extend(tail);
        with_arrays(body)
    };
    // Lanes 6 and 7 load element 0; the others somewhere.
    let loads = body(vec![log(A, [load(bin(var(0), BinaryOp::BitAnd, uint(7)))])]);
    check_tiers(&loads, "A=FF:[10 10 10 10 10 10 10 10]", "A=FF:[? ? ? ? ? ? 10 10]");
    let adds = body(vec![
        when(is(0), [add(bin(var(0), BinaryOp::BitAnd, uint(7)), 1, 1), log(A, [var(1)])]),
        barrier(),
        log(B, [load(own())]),
    ]);
    check_tiers(&adds, "A=01:[10] B=FF:[10 10 10 10 10 10 11 10]", "A=01? B=FF?");
    // Where the index is known nothing else is lost.
    let known = body(vec![
        when(is(6), [add(bin(var(0), BinaryOp::BitAnd, uint(7)), 1, 1), log(A, [var(1)])]),
        barrier(),
        log(B, [load(own())]),
    ]);
    check_tiers(&known, "A=40:[10] B=FF:[11 10 10 10 10 10 10 10]", "A=40:[10] B=FF:[11 10 10 10 10 10 10 10]");
}

/// A store to an element that is not known may be to any of the lane's own, and to no other lane's.
#[test]
fn a_store_to_an_index_that_is_not_known() {
    let inner = [when(odd(), []), set(0, open_sum())];
    let element = || Some(bin(var(0), BinaryOp::BitAnd, uint(1)));
    let stored = Stmt::Store { array: 0, element: element(), value: uint(7) };
    let of = |lane: u32| [2 * lane, 2 * lane + 1].map(|index| load(uint(index)));
    let logs = [log(A, of(0)), log(B, of(1)), log(C, of(3))];
    let mut case = with_arrays([set(0, uint(0)), when(below(2), inner), when(below(3), [stored]), barrier()]);
    case.program.functions[0].body.extend(logs);
    (case.program.shared[0].len, case.program.shared[0].parts) = (16, 2);
    // Lane 2 stores to its first element.
    let two = log(4, of(2));
    case.program.functions[0].body.push(two);
    let all = |word: &str| [word; 8].join(" ");
    let known = format!("C=FF:[{}] D=FF:[{}]", all("10/10"), all("7/10"));
    check_tiers(&case, &format!("A=FF:[{0}] B=FF:[{0}] {known}", all("7/10")), &format!("A=FF? B=FF? {known}"));
}

/// A lane whose path is not known may have written anything (rule D4): every load is open from the start, and what is stored is not.
#[test]
fn a_lost_lane_may_touch_anything() {
    let open_path = when(below(6), [when(odd(), []), when(bin(open_sum(), BinaryOp::Gt, uint(3)), [see(B)])]);
    let body = [log(A, [load(own())]), barrier(), add(own(), 1, 0), log(C, [var(0), lane()]), open_path];
    let values = "C=FF:[10/0 10/1 10/2 10/3 10/4 10/5 10/6 10/7]";
    let open = "C=FF:[?/0 ?/1 ?/2 ?/3 ?/4 ?/5 ?/6 ?/7]";
    let case = with_arrays(body.clone());
    check(&case, Tier::Maximal, &format!("A=FF:[10 10 10 10 10 10 10 10] B=3F {values}"));
    check(&case, Tier::Plain, &format!("A=FF? B=- {open}"));
    // Without a lost lane all of it is known.
    let case = with_arrays(body[..4].to_vec());
    check(&case, Tier::Plain, &format!("A=FF:[10 10 10 10 10 10 10 10] {values}"));
}

/// What must not be predicted, and why. The validator would not let most of it through; the oracle does not rely on that.
#[test]
fn what_is_not_defined() {
    let not_defined = |body: Vec<Stmt>| {
        let case = with_arrays(body);
        predict(&case, &LaneMap::linear(&case, 8)).map(|_| ()).expect_err("there must be no prediction").0
    };
    let race = "a data race in shared memory";
    let next = || bin(bin(own(), BinaryOp::Add, uint(1)), BinaryOp::BitAnd, uint(7));
    let subgroup_barrier = || Stmt::SubgroupBarrier(SubgroupOp::Barrier);
    let divergent = || [store(lane()), subgroup_barrier(), when(is(1), [log(A, [load(uint(0))])])];
    for (what, body, why) in [
        ("a load of what another stores", vec![store(lane()), log(A, [load(next())])], race),
        ("a store to what another loads", vec![log(A, [load(next())]), store(lane())], race),
        ("a load of what another adds to", vec![add(own(), 1, None), log(A, [load(next())])], race),
        ("an addition to what another stores", vec![store(lane()), add(next(), 1, None)], race),
        (
            "a load of what a lane of another subgroup barrier stores",
            vec![store(lane()), when(below(4), [subgroup_barrier()]), when(is(3), [log(A, [load(uint(4))])])],
            race,
        ),
        ("an atomic out of range", vec![add(uint(8), 1, None)], "an index out of range"),
        (
            "a barrier that some do not come to",
            vec![when(below(7), [barrier()])],
            "barrier() is not executed by the whole workgroup",
        ),
        (
            "an undefined value from memory in control flow",
            vec![store(undefined_in_0()), barrier(), when(bin(load(uint(0)), BinaryOp::Eq, uint(1)), [see(A)])],
            "an undefined value reaches control flow",
        ),
        // Any of the others may be the one that gets what lane 0 left there, though they come behind the next exchange in the program.
        (
            "an undefined value that several may get",
            vec![
                when(is(1), [atomic(AtomicOp::Exchange, uint(0), op(SubgroupOp::ShuffleUp, [lane(), uint(1)]), None)]),
                barrier(),
                when(is(0), [atomic(AtomicOp::Exchange, uint(0), uint(3), 0), log(A, [var(0)])]),
                when(
                    below(4),
                    [
                        atomic(AtomicOp::Exchange, uint(0), uint(5), 1),
                        when(bin(var(1), BinaryOp::Eq, uint(3)), [see(B)]),
                    ],
                ),
            ],
            "an undefined value reaches control flow",
        ),
    ] {
        assert_eq!(not_defined(body.clone()), why, "{what}");
        // A device does something all the same.
        if why != "an index out of range" {
            let case = with_arrays(body);
            assert!(observe(&case, &LaneMap::linear(&case, 8), || Spec).is_ok(), "{what}");
        }
    }
    // Who executes a subgroup barrier together is not known in divergent control flow at the weaker tiers, and what is no barrier orders nobody.
    let case = with_arrays([when(below(4), divergent())]);
    for (tier, is_defined) in [(Tier::Maximal, true), (Tier::SubgroupUniform, false), (Tier::Plain, false)] {
        let case = Case { tier, ..case.clone() };
        assert_eq!(predict(&case, &LaneMap::linear(&case, 8)).is_ok(), is_defined, "{tier:?}");
    }
    let [stored, _, loaded] = divergent();
    assert_eq!(not_defined(vec![stored, Stmt::SubgroupBarrier(SubgroupOp::MemoryBarrierShared), loaded]), race);
    // What is not there at all.
    let none = |body: Stmt| not_defined(vec![body]);
    assert_eq!(none(Stmt::Store { array: 2, element: None, value: lane() }), "no array 2");
    assert_eq!(none(log(A, [Expr::Input(0)])), "there is no input 0");
    assert_eq!(none(log(A, [Expr::Component(Box::new(Expr::Builtin(Builtin::EqMask)), 4)])), "component 4 of a u32x4");
    // A device that goes out of range finds nothing there.
    let case = with_arrays([log(A, [load(uint(8)), lane()])]);
    let seen = observe(&case, &LaneMap::linear(&case, 8), || Spec).expect("it is well-formed");
    assert_eq!(seen.logs[3], [A, 0, 3]);
}

/// What several invocations exchange is defined, whatever was there before.
#[test]
fn an_exchange_leaves_nothing_of_what_was_there() {
    let exchange = |n: u32, value: Expr| when(is(n), [atomic(AtomicOp::Exchange, uint(0), value, None)]);
    let case = with_arrays([
        exchange(1, op(SubgroupOp::ShuffleUp, [lane(), uint(1)])),
        barrier(),
        exchange(0, uint(3)),
        exchange(3, uint(4)),
        barrier(),
        log(A, [lane()]),
        when(bin(load(uint(0)), BinaryOp::Eq, uint(3)), [see(B)]),
    ]);
    let text = expected(&case, &LaneMap::linear(&case, 8)).expect("it is defined");
    assert_eq!(text, "A=FF:[0 1 2 3 4 5 6 7] B=-", "which of the two is there last is open");
}

fn right(case: &Case) -> Observation {
    observe(case, &LaneMap::linear(case, 8), || Spec).expect("it is well-defined")
}

/// The site that is wrong first, its lanes, and the rule that they break together.
fn verdict_on(case: &Case, seen: &Observation) -> String {
    match judge(case, seen, SubgroupPromise::vulkan(8, 8, 8)).verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Mismatch(mismatch) => {
            let rule = mismatch.rule.map_or("", |rule| rule.broken());
            let lanes: Vec<String> = mismatch.lanes.iter().map(|lane| lane.lane.to_string()).collect();
            format!("site {}, lanes {}: {rule}", mismatch.site, lanes.join(" "))
        }
        verdict => format!("{verdict:?}"),
    }
}

/// The verdict on a right device of which one lane logs this at its first site.
fn verdict_if_logged(case: &Case, lane: usize, words: [u32; 2]) -> String {
    let mut seen = right(case);
    seen.logs[lane][1..].copy_from_slice(&words);
    verdict_on(case, &seen)
}

/// Rule A3: what several lanes get from one element is judged together, and what is there in the end with it.
#[test]
fn what_several_get_is_judged_together() {
    let both = |one: AtomicOp, value: Expr| {
        with_arrays([atomic(one, uint(0), value, 0), log(A, [var(0)]), barrier(), log(B, [load(uint(0))])])
    };
    // Whether the logs are right that have this at word 1, by invocation, and this behind the barrier.
    let judged = |case: &Case, got: [u32; 8], left: u32| {
        let mut seen = right(case);
        for (log, got) in seen.logs.iter_mut().zip(got) {
            (log[1], log[3]) = (got, left);
        }
        verdict_on(case, &seen)
    };
    let tickets = both(AtomicOp::Add, uint(1));
    let swaps = both(AtomicOp::Exchange, lane());
    let bits = both(AtomicOp::Or, bin(uint(16), BinaryOp::Shl, lane()));
    for (what, case, got, left, verdict) in [
        ("tickets", &tickets, [10, 11, 12, 13, 14, 15, 16, 17], 18, "pass"),
        ("in another order", &tickets, [17, 10, 12, 11, 16, 15, 14, 13], 18, "pass"),
        (
            "one ticket twice",
            &tickets,
            [10, 11, 12, 13, 14, 14, 16, 17],
            18,
            "site 1, lanes 5: atomics in no possible order",
        ),
        (
            "a ticket past the end",
            &tickets,
            [10, 11, 12, 13, 14, 15, 16, 18],
            18,
            "site 1, lanes 7: atomics in no possible order",
        ),
        // The sum has one legal value, so that nothing else is said.
        ("a sum that is too small", &tickets, [10, 11, 12, 13, 14, 14, 15, 16], 17, "site 2, lanes 0 1 2 3 4 5 6 7: "),
        ("values exchanged", &swaps, [10, 0, 1, 2, 3, 4, 5, 6], 7, "pass"),
        ("another way round", &swaps, [7, 4, 0, 5, 10, 2, 3, 1], 6, "pass"),
        ("one taken twice", &swaps, [10, 0, 1, 2, 3, 4, 5, 5], 7, "site 1, lanes 7: atomics in no possible order"),
        // It was to be the 0 of lane 0.
        (
            "what was there before taken twice",
            &swaps,
            [10, 10, 1, 2, 3, 4, 5, 6],
            7,
            "site 1, lanes 1: atomics in no possible order",
        ),
        (
            "what somebody has taken is left",
            &swaps,
            [10, 0, 1, 2, 3, 4, 5, 6],
            6,
            "site 2, lanes 0 1 2 3 4 5 6 7: atomics in no possible order",
        ),
        (
            "something else is left",
            &swaps,
            [10, 0, 1, 2, 3, 4, 5, 6],
            9,
            "site 2, lanes 0 1 2 3 4 5 6 7: atomics in no possible order",
        ),
        ("in two rings", &swaps, [10, 0, 1, 2, 7, 4, 5, 6], 3, "site 1, lanes 4: atomics in no possible order"),
        ("bits", &bits, [10, 26, 58, 122, 250, 506, 1018, 2042], 4090, "pass"),
        ("all find nothing", &bits, [10; 8], 4090, "site 1, lanes 1 2 3 4 5 6 7: atomics in no possible order"),
    ] {
        for tier in Tier::ALL {
            assert_eq!(judged(&Case { tier, ..case.clone() }, got, left), verdict, "{what}, {tier:?}");
        }
    }
    // What is computed from it stays open.
    let computed =
        with_arrays([add(uint(0), 1, 0), log(A, [bin(var(0), BinaryOp::Add, uint(0))]), barrier(), log(B, [lane()])]);
    assert_eq!(judged(&computed, [10; 8], 0), "site 2, lanes 1 2 3 4 5 6 7: ");
    // What is not known of one element says nothing of it.
    let unknown_before = with_arrays([
        atomic(AtomicOp::Exchange, uint(0), lane(), None),
        barrier(),
        add(uint(0), 1, 0),
        log(A, [var(0)]),
        log(B, [uint(1)]),
    ]);
    assert_eq!(judged(&unknown_before, [10; 8], 1), "pass");
}

/// Of three lanes as of many.
#[test]
fn what_three_lanes_get_is_judged_together() {
    let case = with_arrays([when(below(3), [add(uint(0), 1, 0), log(A, [var(0)])])]);
    let judged = |got: [u32; 3]| {
        let mut seen = right(&case);
        seen.logs.iter_mut().zip(got).for_each(|(log, got)| log[1] = got);
        verdict_on(&case, &seen)
    };
    assert_eq!(judged([12, 10, 11]), "pass");
    assert_eq!(judged([10, 11, 11]), "site 1, lanes 2: atomics in no possible order");
}

/// In each phase there is another order, and no value of one phase is one of the other.
#[test]
fn each_phase_has_an_order_of_its_own() {
    let case = with_arrays([add(uint(0), 1, 0), barrier(), add(uint(0), 1, 1), log(A, [var(0), var(1)])]);
    let judged = |lane_0| verdict_if_logged(&case, 0, lane_0);
    assert_eq!(judged([10, 18]), "pass");
    assert_eq!(judged([18, 10]), "site 1, lanes 0: atomics in no possible order");
}

/// A value of 64 bits is logged as two words: either may be the wrong one.
#[test]
fn values_of_two_words_are_judged() {
    let wide = |of: Expr| Expr::Cast(Scalar::Uint64, Box::new(of));
    let mut case = with_arrays([atomic(AtomicOp::Exchange, uint(0), wide(lane()), 0), log(A, [var(0)])]);
    case.program.shared[0].scalar = Scalar::Uint64;
    case.program.functions[0].locals[0].ty = Type::scalar(Scalar::Uint64);
    // Lane 3 has taken what lane 2 left.
    let judged = |lane_3| verdict_if_logged(&case, 3, lane_3);
    assert_eq!(judged([2, 0]), "pass");
    assert_eq!(judged([9, 0]), "site 1, lanes 3: atomics in no possible order");
    assert_eq!(judged([2, 1]), "site 1, lanes 3: atomics in no possible order");
}

/// At tier plain lanes 0 to 5 come to the sum by two ways, so that `x0` is 6 in each of them, or 3, as on a device that keeps them apart.
fn six_or_three() -> [Stmt; 2] {
    [set(0, uint(0)), when(below(6), [when(odd(), []), set(0, open_sum())])]
}

/// Nothing is said of what rests on something that is not known: neither what the atomics were, nor on which element, nor whether these were all.
#[test]
fn atomics_of_which_not_all_is_known_are_not_judged() {
    let six_or_three = |then: Vec<Stmt>| with_arrays([six_or_three().to_vec(), then].concat());
    let last_two = || bin(lane(), BinaryOp::Ge, uint(6));
    let element = |mask: u32| bin(var(0), BinaryOp::BitAnd, uint(mask));
    let ticket = || add(uint(3), 1, 1);
    for (what, case) in [
        // What a lane adds to element 1 is its ticket from element 0.
        ("operands", with_arrays([add(uint(0), 1, 0), atomic(AtomicOp::Add, uint(1), var(0), 1), log(A, [var(1)])])),
        // Element 6, or element 3, which the others take tickets from.
        (
            "the element of an atomic",
            six_or_three(vec![
                when(last_two(), [ticket(), log(A, [var(1)])]),
                when(is(0), [add(element(7), 1, None)]),
                barrier(),
                log(B, [load(uint(3))]),
            ]),
        ),
        // Element 0, which all have taken tickets from, or element 1.
        (
            "the element of a load",
            six_or_three(vec![add(uint(0), 1, 1), barrier(), log(A, [var(1)]), log(B, [load(element(1))])]),
        ),
        // Lanes 0 to 5 take one, too, if each of them has found six.
        (
            "who else is there",
            six_or_three(vec![
                when(bin(var(0), BinaryOp::Gt, uint(3)), [add(uint(3), 1, None)]),
                when(last_two(), [ticket(), log(A, [var(1)])]),
            ]),
        ),
    ] {
        let case = Case { tier: Tier::Plain, ..case };
        validate(&case).expect(what);
        let map = LaneMap::linear(&case, 8);
        for seen in [right(&case), observe(&case, &map, || MinimalReconvergence).expect("it is well-defined")] {
            assert_eq!(verdict_on(&case, &seen), "pass", "{what}");
        }
    }
}

/// Rule Y10: lanes that execute a subgroup barrier together see what they wrote before it.
#[test]
fn a_subgroup_barrier_orders_the_lanes_that_execute_it() {
    let subgroup_barrier = || Stmt::SubgroupBarrier(SubgroupOp::Barrier);
    // The other lane of a pair: the least of the two, the greatest, and not oneself.
    let of_pair =
        |fold| Expr::Subgroup(SubgroupCall { op: SubgroupOp::Clustered(fold), args: vec![own()], cluster: Some(2) });
    let other = || bin(bin(of_pair(Fold::Min), BinaryOp::BitXor, of_pair(Fold::Max)), BinaryOp::BitXor, own());
    let greatest = || op(SubgroupOp::Reduce(Fold::Max), [own()]);
    let stored = || store(bin(lane(), BinaryOp::Mul, uint(3)));
    // All of them, there and back: the next store comes behind a second barrier.
    let all = [
        stored(),
        subgroup_barrier(),
        log(A, [load(greatest())]),
        subgroup_barrier(),
        store(lane()),
        subgroup_barrier(),
        log(B, [load(other())]),
    ];
    let text = "A=FF:[21 21 21 21 21 21 21 21] B=FF:[1 0 3 2 5 4 7 6]";
    check_memory(all, text);
    // Two barriers order no less than one.
    let twice = [stored(), subgroup_barrier(), subgroup_barrier(), log(A, [load(other())])];
    check_memory(twice, "A=FF:[3 0 9 6 15 12 21 18]");
    // Lanes of two subgroups, each for itself.
    let mut two = with_arrays([stored(), subgroup_barrier(), log(A, [load(other())])]);
    two.program.shared[0].len = 16;
    two.entry_point.workgroups_mut().size = [16, 1, 1];
    let text = "A=FF+FF:[3 0 9 6 15 12 21 18 3 0 9 6 15 12 21 18]";
    check(&two, Tier::Maximal, text);
    // At tier maximal also some of them only.
    let some = with_arrays([when(below(4), [stored(), subgroup_barrier(), log(A, [load(other())])])]);
    check(&some, Tier::Maximal, "A=0F:[3 0 9 6]");
}

/// A device is right whatever order it takes, and loads what it must.
#[test]
fn right_devices_pass() {
    let body = [
        add(uint(0), 1, 0),
        log(A, [var(0)]),
        barrier(),
        store(lane()),
        barrier(),
        log(B, [load(bin(uint(7), BinaryOp::Sub, own()))]),
        barrier(),
        when(below(3), [atomic(AtomicOp::Exchange, uint(1), lane(), 1), log(C, [var(1)])]),
    ];
    for tier in Tier::ALL {
        let case = Case { tier, ..with_arrays(body.clone()) };
        let map = LaneMap::linear(&case, 8);
        let promise = SubgroupPromise::vulkan(8, 8, 8);
        let ascending = observe(&case, &map, || Spec).expect("it is well-defined");
        let descending = observe(&case, &map, || MinimalReconvergence).expect("it is well-defined");
        let old = |observation: &Observation| observation.logs.iter().map(|log| log[1]).collect::<Vec<_>>();
        assert_eq!(old(&ascending), [10, 11, 12, 13, 14, 15, 16, 17]);
        assert_eq!(old(&descending), [17, 16, 15, 14, 13, 12, 11, 10]);
        for observation in [ascending, descending] {
            assert_eq!(judge(&case, &observation, promise).verdict, Verdict::Pass, "{tier:?}");
            let mut wrong = observation;
            wrong.logs[2][3] ^= 1;
            assert!(matches!(judge(&case, &wrong, promise).verdict, Verdict::Mismatch(_)), "{tier:?}");
        }
    }
}
