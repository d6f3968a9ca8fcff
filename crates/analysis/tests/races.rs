//! Shared memory: what the validator accepts, and what it refuses (docs/rules.md, section Y).

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{AtomicOp, Shared, StorageClass, Sync, buffer_bytes};
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{
    Arm, Atomic, Block, Builtin, Expr, Function, Label, Load, LoopKind, Stmt, SubgroupCall, VarId, first_own,
};
use tangle_program::types::{Scalar, Type};

const X: VarId = 0;
const I: VarId = 1;

fn own() -> Expr {
    Expr::Builtin(Builtin::LocalIndex)
}

fn reversed() -> Expr {
    binary(uint(7), BinaryOp::Sub, own())
}

fn store(array: u32) -> Stmt {
    Stmt::Store { array, element: None, value: Expr::Var(X) }
}

fn load(array: u32, index: Expr) -> Stmt {
    assign(X, Expr::Load(Load { array, scalar: Scalar::Uint, index: Box::new(index) }))
}

fn add(array: u32) -> Stmt {
    let index = binary(lane(), BinaryOp::BitAnd, uint(3));
    Stmt::Atomic(Box::new(Atomic { op: AtomicOp::Add, array, index, compare: None, value: uint(1), dest: None }))
}

fn barrier() -> Stmt {
    Stmt::ControlBarrier(Sync::Barrier)
}

fn odd() -> Expr {
    lane_bits(1, 1)
}

fn with_functions(tier: Tier, mut functions: Vec<Function>, body: Block) -> Case {
    functions.extend(main_of(|f| {
        f.add_local("x", Type::UINT);
        f.add_local("i", Type::UINT);
        body
    }));
    let mut case = case("", functions);
    case.tier = tier;
    case.data.uniforms = vec![3];
    let array = |name: &str| Shared {
        name: name.into(),
        scalar: Scalar::Uint,
        len: 8,
        init: 0,
        parts: 1,
        storage: StorageClass::Workgroup,
    };
    case.program.shared = vec![array("s0"), array("s1")];
    case
}

fn of(body: Block) -> Case {
    with_functions(Tier::Plain, Vec::new(), body)
}

fn accepted(case: &Case) {
    validate(case).unwrap_or_else(|invalid| panic!("{invalid}\n{}", glsl(case)));
}

fn refused(case: &Case, why: &str) {
    let reason = validate(case).expect_err(&glsl(case)).reason;
    assert!(reason.contains(why), "{reason}\n{}", glsl(case));
}

#[test]
fn phases() {
    for body in [
        vec![store(0), load(0, own())],
        vec![store(0), barrier(), load(0, reversed())],
        vec![load(0, reversed()), barrier(), store(0)],
        vec![add(0), add(0), barrier(), load(0, own()), load(0, reversed())],
        // Arrays are different things.
        vec![store(0), add(1)],
        vec![branch(odd(), [store(0)], [store(0)]), barrier(), branch(odd(), [load(0, reversed())], [])],
    ] {
        accepted(&of(body));
    }
    for body in [
        vec![store(0), load(0, reversed())],
        vec![load(0, reversed()), store(0)],
        vec![store(0), add(0)],
        vec![add(0), load(0, own())],
        // Different lanes are in the arms at the same time.
        vec![branch(odd(), [store(0)], [load(0, reversed())])],
        // Some lanes are gone, and what they did is not ordered.
        vec![branch(odd(), [store(0), Stmt::Return(None)], []), load(0, reversed())],
        vec![counted(I, uint(3), [], [branch(odd(), [store(0), Stmt::Break], []), load(0, reversed())])],
        // On one of the paths there was no barrier.
        vec![store(0), branch(binary(Expr::Uniform(0), BinaryOp::Lt, uint(2)), [barrier()], []), load(0, reversed())],
        // The next iteration comes without one.
        vec![counted(I, uint(3), [], [load(0, reversed()), barrier(), store(0)])],
        // An order of accesses within one invocation does not help: a subgroup barrier is no barrier of the workgroup.
        vec![store(0), Stmt::ControlBarrier(Sync::MemoryShared), load(0, reversed())],
    ] {
        refused(&of(body), "a data race");
    }
    accepted(&of(vec![counted(I, uint(3), [], [load(0, reversed()), barrier(), store(0), barrier()])]));
}

#[test]
fn barriers_stand_in_uniform_control_flow() {
    let uniform = || binary(Expr::Uniform(0), BinaryOp::Lt, uint(2));
    for body in [
        vec![branch(uniform(), [barrier()], [])],
        vec![branch(odd(), [add(0)], []), barrier()],
        vec![counted(I, Expr::Uniform(0), [], [branch(odd(), [add(0)], []), barrier()])],
        // Lanes that break and continue come back behind the loop.
        vec![counted(I, uint(3), [], [branch(odd(), [Stmt::Break], []), add(0)]), barrier()],
        vec![counted(I, uint(3), [], [branch(uniform(), [Stmt::Break], []), barrier()])],
        // All of them fall through, or none.
        vec![Stmt::Switch {
            selector: Expr::Uniform(0),
            arms: vec![arm(Label::Default, [branch(uniform(), [Stmt::Break], [])]), arm(Label::Case(0), [barrier()])],
            control: Default::default(),
        }],
    ] {
        accepted(&of(body));
    }
    for body in [
        vec![branch(odd(), [barrier()], [])],
        vec![branch(lane_is(BinaryOp::Lt, 64), [barrier()], [])],
        vec![counted(I, binary(lane(), BinaryOp::BitAnd, uint(3)), [], [barrier()])],
        vec![counted(I, uint(3), [], [branch(odd(), [Stmt::Break], []), barrier()])],
        vec![counted(I, uint(3), [], [barrier(), branch(odd(), [Stmt::Break], []), add(0)])],
        vec![counted(I, uint(3), [], [barrier(), branch(odd(), [Stmt::Continue], []), add(0)])],
        vec![repeat(LoopKind::Forever, I, uint(3), None, [barrier(), branch(odd(), [Stmt::Continue], [])])],
        // Some invocations are gone.
        vec![branch(odd(), [Stmt::Return(None)], []), barrier()],
        // Some have left before the others fall through.
        vec![Stmt::Switch {
            selector: Expr::Uniform(0),
            arms: vec![arm(Label::Default, [branch(odd(), [Stmt::Break], [])]), arm(Label::Case(0), [barrier()])],
            control: Default::default(),
        }],
    ] {
        refused(&of(body.clone()), "control flow may not be uniform");
        let maximal = with_functions(Tier::Maximal, Vec::new(), body);
        refused(&maximal, "control flow may not be uniform");
    }
}

fn of_own(op: SubgroupOp, cluster: Option<u32>) -> Expr {
    Expr::Subgroup(SubgroupCall { op, args: vec![own()], cluster })
}

/// The slot of a lane of the same tangle.
fn peer() -> Expr {
    of_own(SubgroupOp::BroadcastFirst, None)
}

fn from_peer() -> Stmt {
    load(0, peer())
}

fn sync() -> Stmt {
    Stmt::SubgroupBarrier(SubgroupOp::Barrier)
}

fn loop_of(body: Block) -> Stmt {
    counted(I, uint(3), [], body)
}

/// An invocation has elements of its own beside each other: it stores to these, and loads them, in any order; those of others are not there before a
/// barrier of the workgroup, and a subgroup barrier does not order them.
#[test]
fn elements_of_ones_own_beside_each_other() {
    const WAYS: &str = "used in ways that need an order";
    let to = |element: Expr| Stmt::Store { array: 0, element: Some(element), value: Expr::Var(X) };
    let first = || first_own(4);
    let at = |element: u32| binary(first(), BinaryOp::Add, uint(element));
    let masked = || binary(Expr::Var(X), BinaryOp::BitAnd, uint(3));
    for (what, body, refused) in [
        ("all of them", vec![to(uint(1)), to(uint(0)), to(uint(3)), load(0, first()), load(0, at(3))], None),
        ("by a variable", vec![to(masked()), load(0, at(2))], None),
        ("of another behind a barrier", vec![to(uint(3)), barrier(), load(0, reversed()), load(0, own())], None),
        ("past the last", vec![to(uint(4))], Some("may be 4 to 4, but of 's0' each invocation has 4 elements")),
        ("any element", vec![to(Expr::Var(X))], Some("each invocation has 4 elements")),
        ("which one", vec![store(0)], Some("which of the elements of an invocation in 's0'")),
        ("the next invocation's", vec![to(uint(3)), load(0, at(4))], Some(WAYS)),
        ("the element with the number of the invocation", vec![to(uint(0)), load(0, own())], Some(WAYS)),
        ("of a peer", vec![to(uint(0)), sync(), from_peer()], Some(WAYS)),
        (
            "of an array without parts",
            vec![Stmt::Store { array: 1, element: Some(uint(1)), value: uint(1) }],
            Some("each invocation has 1 elements"),
        ),
    ] {
        let mut case = of(body);
        (case.program.shared[0].len, case.program.shared[0].parts) = (40, 4);
        match refused {
            None => accepted(&case),
            Some(why) => {
                let found = validate(&case).expect_err(what).to_string();
                assert!(found.contains(why), "{what}: {found}");
            }
        }
    }
    let mut short = of(vec![to(uint(0))]);
    (short.program.shared[0].len, short.program.shared[0].parts) = (31, 4);
    assert!(validate(&short).expect_err("it is too short").to_string().contains("has no slot for every invocation"));
}

/// `main` at tier maximal, and why it is refused, if it is.
#[test]
fn subgroup_exchange_at_tier_maximal() {
    const LOAD: &str = "orders a store to 's0' and a later load from a peer";
    const STORE: &str = "orders a load of a peer from 's0' and a later store";
    const WAYS: &str = "used in ways that need an order";
    let divergent = |body: Block| counted(I, binary(lane(), BinaryOp::BitAnd, uint(3)), [], body);
    let arm = |body: Block| branch(odd(), body, []);
    let leave = |jump: Stmt| branch(odd(), [jump], []);
    let loaded = || Expr::Load(Load { array: 0, scalar: Scalar::Uint, index: Box::new(peer()) });
    let table: Vec<(&str, Block, Option<&str>)> = vec![
        ("store, barrier, load", vec![store(0), sync(), from_peer()], None),
        ("no barrier", vec![store(0), from_peer()], Some(LOAD)),
        ("load, barrier, store", vec![from_peer(), sync(), store(0)], None),
        ("load, no barrier, store", vec![from_peer(), store(0)], Some(STORE)),
        ("a load in the value of a store", vec![Stmt::Store { array: 0, element: None, value: loaded() }], Some(STORE)),
        ("the barrier of the workgroup", vec![store(0), barrier(), from_peer(), barrier(), store(0)], None),
        ("loads only", vec![from_peer(), load(0, reversed()), from_peer()], None),
        ("a slot of anybody", vec![store(0), sync(), load(0, reversed())], Some(WAYS)),
        ("atomics", vec![from_peer(), sync(), add(0)], Some(WAYS)),
        (
            "a memory barrier only",
            vec![store(0), Stmt::SubgroupBarrier(SubgroupOp::MemoryBarrierShared), from_peer()],
            Some(LOAD),
        ),
        ("all in an arm", vec![arm(vec![store(0), sync(), from_peer(), sync(), store(0)])], None),
        ("a store in an arm", vec![arm(vec![store(0)]), sync(), from_peer()], None),
        ("a load in an arm", vec![store(0), sync(), arm(vec![from_peer()])], None),
        ("barrier and load in an arm", vec![store(0), arm(vec![sync(), from_peer()])], None),
        ("a barrier in an arm", vec![store(0), arm(vec![sync()]), from_peer()], Some(LOAD)),
        ("barriers in both arms", vec![store(0), branch(odd(), [sync()], [sync()]), from_peer()], Some(LOAD)),
        ("an exchange in an arm, then a load", vec![arm(vec![store(0), sync(), from_peer()]), from_peer()], Some(LOAD)),
        ("a load, and a barrier in an arm", vec![from_peer(), arm(vec![sync(), store(0)])], Some(STORE)),
        ("an exchange in an arm, then a store", vec![arm(vec![from_peer(), sync()]), store(0)], None),
        ("a load in an arm, then a store", vec![arm(vec![from_peer()]), store(0)], Some(STORE)),
        (
            "a load in an arm, a barrier in another",
            vec![arm(vec![from_peer()]), arm(vec![sync(), store(0)])],
            Some(STORE),
        ),
        // Lanes of other tangles have slots of their own.
        ("store and load in two arms", vec![branch(odd(), [store(0)], [from_peer()])], None),
        ("two barriers in a loop", vec![loop_of(vec![store(0), sync(), from_peer(), sync()])], None),
        ("the same, left by lanes one by one", vec![divergent(vec![store(0), sync(), from_peer(), sync()])], None),
        ("one barrier in a loop", vec![loop_of(vec![store(0), sync(), from_peer()])], Some(STORE)),
        ("the other barrier in a loop", vec![loop_of(vec![store(0), from_peer(), sync()])], Some(LOAD)),
        ("barrier first", vec![loop_of(vec![sync(), store(0), sync(), from_peer()])], None),
        // Who leaves has loaded, and does not come to the next barrier.
        ("the same, left one by one", vec![divergent(vec![sync(), store(0), sync(), from_peer()])], Some(STORE)),
        (
            "a break with a load pending",
            vec![loop_of(vec![store(0), sync(), from_peer(), leave(Stmt::Break), sync()])],
            Some(STORE),
        ),
        ("a break without", vec![loop_of(vec![store(0), sync(), from_peer(), sync(), leave(Stmt::Break)])], None),
        (
            "a continue with a load pending",
            vec![loop_of(vec![from_peer(), leave(Stmt::Continue), sync(), store(0), sync()])],
            Some(STORE),
        ),
        (
            "a continue before the barrier",
            vec![loop_of(vec![store(0), leave(Stmt::Continue), sync(), from_peer(), sync()])],
            None,
        ),
        (
            "a barrier before a continue",
            vec![loop_of(vec![from_peer(), sync(), store(0), branch(odd(), [sync(), Stmt::Continue], []), sync()])],
            Some(LOAD),
        ),
        ("a return with a load pending", vec![from_peer(), leave(Stmt::Return(None)), sync(), store(0)], Some(STORE)),
        ("a return with stores", vec![store(0), leave(Stmt::Return(None)), sync(), from_peer()], None),
        ("a store in a loop, a load behind it", vec![divergent(vec![store(0), sync()]), from_peer()], Some(LOAD)),
        ("a barrier behind the loop", vec![divergent(vec![store(0)]), sync(), from_peer()], None),
        (
            "in a loop, a barrier before it",
            vec![store(0), sync(), divergent(vec![from_peer()]), sync(), store(0)],
            None,
        ),
        // Lanes of different segments may be together, or not.
        (
            "in a switch",
            vec![Stmt::Switch {
                selector: binary(lane(), BinaryOp::BitAnd, uint(1)),
                arms: vec![Arm {
                    labels: vec![Label::Case(0)],
                    body: vec![store(0), sync(), from_peer(), Stmt::Break],
                }],
                control: Default::default(),
            }],
            Some(WAYS),
        ),
    ];
    for (what, body, why) in table {
        let case = with_functions(Tier::Maximal, Vec::new(), body);
        match (validate(&case), why) {
            (Ok(_), None) => {}
            (Err(invalid), Some(why)) => assert!(invalid.reason.contains(why), "{what}: {invalid}"),
            (Err(invalid), None) => panic!("{what}: {invalid}"),
            (Ok(_), Some(_)) => panic!("{what} is accepted"),
        }
    }
    let exchange = || vec![store(0), sync(), from_peer()];
    let call = || Stmt::Call { function: 0, args: vec![], dest: None };
    let exchanges = function("exchanges", |f| {
        f.add_local("x", Type::UINT);
        exchange()
    });
    refused(&with_functions(Tier::Maximal, vec![exchanges], vec![call()]), WAYS);
    let waits = || function("waits", |_| vec![sync()]);
    refused(&with_functions(Tier::Maximal, vec![waits()], vec![store(0), call(), from_peer()]), LOAD);
    accepted(&with_functions(Tier::Maximal, vec![waits()], vec![store(0), sync(), call(), from_peer()]));
}

/// Where control flow is uniform in the workgroup the lanes of a subgroup are together at every tier.
#[test]
fn subgroup_exchange_at_the_weaker_tiers() {
    let uniform = || binary(Expr::Uniform(0), BinaryOp::Lt, uint(2));
    for tier in [Tier::Plain, Tier::SubgroupUniform] {
        for body in [
            vec![store(0), sync(), from_peer(), sync(), store(0)],
            vec![branch(odd(), [store(0)], []), sync(), from_peer()],
            vec![loop_of(vec![store(0), sync(), from_peer(), sync()])],
            vec![branch(uniform(), [store(0), sync(), from_peer()], [])],
            vec![loop_of(vec![branch(odd(), [Stmt::Break], []), store(0)]), sync(), from_peer()],
        ] {
            accepted(&with_functions(tier, Vec::new(), body));
        }
        for (body, why) in [
            (vec![store(0), from_peer()], "no subgroup barrier"),
            (vec![branch(odd(), [store(0), sync(), from_peer()], [])], "in ways that need an order"),
            (vec![store(0), sync(), branch(odd(), [from_peer()], [])], "in ways that need an order"),
            (
                vec![store(0), branch(odd(), [Stmt::Return(None)], []), sync(), from_peer()],
                "in ways that need an order",
            ),
            (
                vec![loop_of(vec![branch(odd(), [Stmt::Break], []), store(0), sync(), from_peer()])],
                "in ways that need an order",
            ),
        ] {
            refused(&with_functions(tier, Vec::new(), body), why);
        }
    }
}

/// Indices that are those of a lane of the tangle that loads.
#[test]
fn peers() {
    use SubgroupOp::{BroadcastFirst, Clustered, Exclusive, Inclusive, Reduce};
    let both = |x, y| binary(x, BinaryOp::BitXor, y);
    let pair =
        |x, y, cluster| both(both(of_own(Clustered(x), Some(cluster)), of_own(Clustered(y), Some(cluster))), own());
    let number = |expr| binary(expr, BinaryOp::BitAnd, uint(7));
    for (index, is_peer) in [
        (of_own(BroadcastFirst, None), true),
        (of_own(Reduce(Fold::Min), None), true),
        (of_own(Reduce(Fold::Max), None), true),
        (of_own(Inclusive(Fold::Max), None), true),
        (of_own(Clustered(Fold::Min), Some(4)), true),
        (Expr::subgroup(Reduce(Fold::Max), [of_own(Clustered(Fold::Min), Some(2))]), true),
        (pair(Fold::Min, Fold::Max, 2), true),
        // The greatest and the least of more than two, and of none.
        (number(pair(Fold::Min, Fold::Max, 4)), false),
        (pair(Fold::Min, Fold::Min, 2), false),
        (number(of_own(Exclusive(Fold::Max), None)), false),
        (number(of_own(Reduce(Fold::Or), None)), false),
        (number(Expr::subgroup(BroadcastFirst, [lane()])), false),
    ] {
        let case = with_functions(Tier::Maximal, Vec::new(), vec![store(0), sync(), load(0, index)]);
        if is_peer { accepted(&case) } else { refused(&case, "in ways that need an order") }
    }
}

#[test]
fn calls() {
    let leaves = || function("leaves", |_| vec![branch(odd(), [Stmt::Return(None)], []), add(0)]);
    let call = || Stmt::Call { function: 0, args: vec![], dest: None };
    let after = || vec![call(), barrier(), load(0, own())];
    // Different returns come together at the next merge; at tier maximal, at the call.
    refused(&with_functions(Tier::Plain, vec![leaves()], after()), "control flow may not be uniform");
    accepted(&with_functions(Tier::Maximal, vec![leaves()], after()));
    // A function that makes such a call and comes to its end has not brought them together.
    let passes_on = function("passes_on", |_| vec![call()]);
    let through = vec![Stmt::Call { function: 1, args: vec![], dest: None }, barrier(), load(0, own())];
    refused(&with_functions(Tier::Plain, vec![leaves(), passes_on], through), "control flow may not be uniform");
    let merged = vec![branch(binary(Expr::Uniform(0), BinaryOp::Lt, uint(2)), [call()], []), barrier()];
    accepted(&with_functions(Tier::Plain, vec![leaves()], merged));
    // What a function does counts where it is called.
    refused(&with_functions(Tier::Maximal, vec![leaves()], vec![store(0), call()]), "a data race");
    let stops = function("stops", |_| vec![barrier()]);
    refused(&with_functions(Tier::Maximal, vec![stops], vec![call()]), "in main only");
}

#[test]
fn elements() {
    refused(&of(vec![load(0, uint(8))]), "has 8 elements");
    refused(&of(vec![load(0, Expr::Var(X))]), "has 8 elements");
    refused(&of(vec![load(2, uint(0))]), "there is no array 2");
    let mut small = of(vec![store(0)]);
    small.program.shared[0].len = 7;
    refused(&small, "no slot for every invocation");
    let mut same = of(vec![]);
    same.program.shared[1].name = "x".into();
    refused(&same, "is an array in shared memory, too");
    let mut large = of(vec![]);
    large.program.shared[0].len = 5000;
    refused(&large, "bytes, more than");
    let mut narrow = of(vec![]);
    narrow.program.shared[0].scalar = Scalar::Bool;
    refused(&narrow, "an array holds integers, not bool");
    narrow.program.shared[0].scalar = Scalar::Int8;
    assert_eq!(validate(&narrow), Ok(()));
    narrow.program.shared[0].init = 256;
    refused(&narrow, "256 is more than i8 holds");
    let mut narrow = of(vec![add(0)]);
    narrow.program.shared[0].scalar = Scalar::Uint16;
    refused(&narrow, "atomics are on 32 or 64 bits, not on u16");
}

#[test]
fn printed_and_read_again() {
    let old = Expr::Load(Load { array: 0, scalar: Scalar::Uint, index: Box::new(reversed()) });
    let swap = Stmt::Atomic(Box::new(Atomic {
        op: AtomicOp::CompSwap,
        array: 1,
        index: own(),
        compare: Some(uint(0)),
        value: uint(5),
        dest: Some(X),
    }));
    let mut case = of(vec![store(0), barrier(), assign(X, old), swap, log(1, X)]);
    case.program.shared[1].len = 3;
    refused(&case, "has 3 elements");
    case.program.shared[1] = Shared {
        name: "cells".into(),
        scalar: Scalar::Uint,
        len: 9,
        init: 6,
        parts: 1,
        storage: StorageClass::Workgroup,
    };
    accepted(&case);
    assert_eq!(Case::from_json(&case.to_json()).unwrap(), case);
    let text = glsl(&case);
    for line in [
        "shared uint s0[8];",
        "    s0[gl_LocalInvocationIndex] = 0u;",
        "    for (uint slot = gl_LocalInvocationIndex; slot < 9u; slot += 8u) cells[slot] = 6u;",
        "    s0[gl_LocalInvocationIndex] = x;",
        "    barrier();",
        "    x = s0[7u - gl_LocalInvocationIndex];",
        "    x = atomicCompSwap(cells[gl_LocalInvocationIndex], 0u, 5u);",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
}

#[test]
fn arrays_in_a_buffer() {
    let other = Expr::Load(Load { array: 0, scalar: Scalar::Uint, index: Box::new(reversed()) });
    let mut case = of(vec![store(0), barrier(), assign(X, other), log(1, X)]);
    for (groups, lines) in [
        (1, ["    s0[gl_LocalInvocationIndex] = x;", "    x = s0[7u - gl_LocalInvocationIndex];"]),
        (
            3,
            [
                "    s0[workgroup_index * 8u + gl_LocalInvocationIndex] = x;",
                "    x = s0[workgroup_index * 8u + (7u - gl_LocalInvocationIndex)];",
            ],
        ),
    ] {
        case.entry_point.workgroups_mut().count = [groups, 1, 1];
        case.program.shared[0].storage = StorageClass::StorageBuffer;
        case.program.shared[1].storage = StorageClass::StorageBuffer;
        case.program.shared[1].scalar = Scalar::Uint64;
        assert_eq!(Case::from_json(&case.to_json()).unwrap(), case);
        let text = glsl(&case);
        let block = format!(
            "layout(set = 0, binding = 4, std430) coherent buffer Arrays {{ uint s0[{0}]; uint64_t s1[{0}]; }};",
            8 * groups
        );
        let barrier = "    memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();";
        for line in [block.as_str(), barrier].into_iter().chain(lines) {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
    // uint64_t is aligned to 8 bytes: the first array ends at 4 * 7 * 3 = 84.
    case.program.shared[0].len = 7;
    assert_eq!(buffer_bytes(&case.program.shared, 3), 88 + 8 * 8 * 3);
    assert_eq!(buffer_bytes(&case.program.shared[..0], 3), 0);
}
