//! Shared memory: what the validator accepts, and what it refuses (docs/rules.md, section Y).

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_program::case::{Case, Tier};
use tangle_program::memory::{AtomicOp, Shared, StorageClass, Sync, buffer_bytes};
use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Atomic, Block, Builtin, Expr, Function, Load, LoopKind, Stmt, VarId};
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
    Stmt::Store { array, value: Expr::Var(X) }
}

fn load(array: u32, index: Expr) -> Stmt {
    assign(X, Expr::Load(Load { array, scalar: Scalar::Uint, index: Box::new(index) }))
}

fn add(array: u32) -> Stmt {
    let index = binary(lane(), BinaryOp::BitAnd, uint(3));
    Stmt::Atomic(Box::new(Atomic { op: AtomicOp::Add, array, index, compare: None, value: uint(1), dest: None }))
}

fn barrier() -> Stmt {
    Stmt::Sync(Sync::Barrier)
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
        vec![store(0), Stmt::Sync(Sync::MemoryShared), load(0, reversed())],
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
    ] {
        refused(&of(body.clone()), "control flow may not be uniform");
        let maximal = with_functions(Tier::Maximal, Vec::new(), body);
        refused(&maximal, "control flow may not be uniform");
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
    narrow.program.shared[0].scalar = Scalar::Int8;
    refused(&narrow, "integers of 32 or 64 bits");
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
    case.program.shared[1] =
        Shared { name: "cells".into(), scalar: Scalar::Uint, len: 9, init: 6, storage: StorageClass::Workgroup };
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
