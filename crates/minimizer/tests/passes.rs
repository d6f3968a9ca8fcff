//! What each pass makes of small programs. The expected programs are on one line, in the order of the candidates.

mod common;

use common::*;
use tangle_program::case::{
    Case, Draw, FloatControls, FloatMode, Items, Launch, SpirvVersion, Stage, SubgroupSize, Tier,
};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Resource;
use tangle_program::tree::{Arg, Arm, Direction, Expr, Function, Label, Loop, LoopKind, Param, Stmt, Test};
use tangle_program::types::{Scalar, Type};

#[track_caller]
fn gives(name: &str, case: &Case, expected: &[&str]) {
    let found: Vec<String> = candidates(name, case).iter().map(body).collect();
    assert_eq!(found, expected, "{name} of {}", body(case));
}

/// The candidates include these, in this order.
#[track_caller]
fn includes(name: &str, case: &Case, expected: &[&str]) {
    let found: Vec<String> = candidates(name, case).iter().map(body).collect();
    let mut rest = found.iter();
    for program in expected {
        assert!(rest.any(|candidate| candidate == program), "no {program} in the candidates of {name}: {found:#?}");
    }
}

fn in_main(locals: &[Type], body: Vec<Stmt>) -> Case {
    case(vec![main(locals, body)])
}

#[test]
fn delete() {
    let nested = if_else(less(lane(), uint(3)), vec![log(1), log(2)], vec![]);
    gives(
        "delete",
        &in_main(&[], vec![nested, log(3)]),
        &[
            "LOG0(3);",
            "if (lane < 3u) { LOG0(1); LOG0(2); }",
            "if (lane < 3u) { LOG0(2); } LOG0(3);",
            "if (lane < 3u) { LOG0(1); } LOG0(3);",
        ],
    );
    gives(
        "delete",
        &in_main(&[], vec![log(1), log(2), log(3), log(4)]),
        &[
            "LOG0(3); LOG0(4);",
            "LOG0(1); LOG0(2);",
            "LOG0(2); LOG0(3); LOG0(4);",
            "LOG0(1); LOG0(3); LOG0(4);",
            "LOG0(1); LOG0(2); LOG0(4);",
            "LOG0(1); LOG0(2); LOG0(3);",
        ],
    );
}

#[test]
fn slice() {
    // Site 2 needs u0 and the loop with its break; not the barrier, not u1.
    let program = in_main(
        &[Type::UINT; 4],
        vec![
            assign(0, sum(lane())),
            assign(1, sum(uint(1))),
            Stmt::SubgroupBarrier(SubgroupOp::Barrier),
            logs(1, [var(1)]),
            count(
                2,
                uint(3),
                vec![
                    if_else(less(lane(), uint(1)), vec![Stmt::Break], vec![]),
                    if_else(less(lane(), uint(2)), vec![assign(3, uint(3))], vec![]),
                    logs(2, [var(0)]),
                ],
            ),
        ],
    );
    let whole = "uint u0 = subgroupAdd(lane); uint u1 = subgroupAdd(1u); LOG1(1, u1); \
                 for (uint u2 = 0u; u2 < 3u; u2++) { if (lane < 1u) { break; } LOG1(2, u0); }";
    let first = "uint u1 = subgroupAdd(1u); LOG1(1, u1);";
    let second =
        "uint u0 = subgroupAdd(lane); for (uint u2 = 0u; u2 < 3u; u2++) { if (lane < 1u) { break; } LOG1(2, u0); }";
    gives("slice", &program, &[whole, first, second]);
}

#[test]
fn slice_through_calls() {
    // The result of f matters, its out parameter does not, and g is only called for its log.
    let param = |name: &str, direction| Param { name: name.into(), direction, ty: Type::UINT };
    let f = Function {
        name: "f".into(),
        params: vec![param("x", Direction::In), param("y", Direction::Out)],
        result: Some(Type::UINT),
        locals: vec![],
        body: vec![assign(1, uint(4)), Stmt::Return(Some(sum(var(0))))],
    };
    let g = Function { name: "g".into(), params: vec![], result: None, locals: vec![], body: vec![log(1)] };
    let program = case(vec![
        f,
        g,
        main(
            &[Type::UINT; 3],
            vec![
                assign(2, lane()),
                Stmt::Call { function: 0, args: vec![Arg::In(var(2)), Arg::Out(1)], dest: Some(0) },
                Stmt::Call { function: 1, args: vec![], dest: None },
                logs(2, [var(0)]),
            ],
        ),
    ]);
    includes(
        "slice",
        &program,
        &[
            "uint f(uint x, out uint y) { y = 0u; return subgroupAdd(x); } uint u1 = 0u; uint u2 = lane; \
         uint u0 = f(u2, u1); LOG1(2, u0);",
            "void g() { LOG0(1); } g();",
        ],
    );
}

#[test]
fn unused() {
    let f = Function { name: "f".into(), params: vec![], result: None, locals: vec![], body: vec![log(1)] };
    let program = case(vec![f, main(&[Type::UINT, Type::UINT], vec![logs(2, [var(1)])])]);
    gives("unused", &program, &["uint u1 = 0u; LOG1(2, u1);"]);
    gives("unused", &in_main(&[Type::UINT], vec![logs(2, [var(0)])]), &[]);
}

#[test]
fn log_values() {
    gives(
        "log",
        &in_main(&[], vec![logs(1, [uint(1), uint(2), uint(3)])]),
        &["LOG1(1, 3u);", "LOG2(1, 1u, 2u);", "LOG2(1, 2u, 3u);", "LOG2(1, 1u, 3u);", "LOG2(1, 1u, 2u);"],
    );
}

#[test]
fn log_earlier() {
    // A wrong path becomes a wrong value; what does not lead there goes.
    let program = in_main(
        &[Type::UINT, Type::UINT],
        vec![assign(0, sum(lane())), assign(1, uint(3)), if_else(less(var(0), uint(2)), vec![log(1)], vec![])],
    );
    gives(
        "earlier",
        &program,
        &["LOG1(1, subgroupAdd(lane));", "LOG1(1, 3u);", "uint u0 = subgroupAdd(lane); LOG1(1, u0 < 2u);"],
    );
}

#[test]
fn unwrap_if() {
    let program = in_main(&[], vec![if_else(less(lane(), uint(3)), vec![log(1)], vec![log(2)]), log(3)]);
    gives("unwrap", &program, &["LOG0(1); LOG0(3);", "LOG0(2); LOG0(3);", "LOG0(1); LOG0(2); LOG0(3);"]);
    // What would stand behind a jump goes.
    let returns = in_main(&[], vec![if_else(less(lane(), uint(3)), vec![Stmt::Return(None)], vec![]), log(3)]);
    gives("unwrap", &returns, &["return;"]);
    // What is assigned in either case is chosen.
    let assigned = |otherwise| {
        let branch = if_else(less(lane(), uint(3)), vec![assign(0, uint(1))], otherwise);
        in_main(&[Type::UINT], vec![branch, logs(1, [var(0)])])
    };
    includes(
        "unwrap",
        &assigned(vec![]),
        &["uint u0 = 1u; LOG1(1, u0);", "uint u0 = 0u; u0 = lane < 3u ? 1u : u0; LOG1(1, u0);"],
    );
    includes("unwrap", &assigned(vec![assign(0, lane())]), &["uint u0 = lane < 3u ? 1u : lane; LOG1(1, u0);"]);
}

#[test]
fn unwrap_loop() {
    let jumps = vec![
        if_else(less(lane(), uint(1)), vec![log(1), Stmt::Continue], vec![]),
        if_else(less(lane(), uint(2)), vec![Stmt::Break], vec![]),
        log(2),
    ];
    includes(
        "unwrap",
        &in_main(&[Type::UINT], vec![count(0, uint(3), jumps)]),
        &["if (lane < 1u) { LOG0(1); } if (lane < 2u) { } LOG0(2);"],
    );
    let test = Some(Test { before: vec![log(1)], cond: less(lane(), uint(4)) });
    let tested = Loop {
        kind: LoopKind::While,
        counter: 0,
        bound: uint(2),
        test,
        body: vec![log(2)],
        control: Default::default(),
    };
    gives(
        "unwrap",
        &in_main(&[Type::UINT], vec![Stmt::Loop(Box::new(tested))]),
        &["LOG0(2);", "LOG0(1); LOG0(2);", "LOG0(1); if (lane < 4u) { LOG0(2); }"],
    );
}

#[test]
fn unwrap_switch() {
    let arm = |labels: &[Label], site| Arm { labels: labels.to_vec(), body: vec![log(site), Stmt::Break] };
    let arms = vec![arm(&[Label::Case(1), Label::Case(2)], 1), arm(&[Label::Default], 2)];
    let program = in_main(&[], vec![Stmt::Switch { selector: lane(), arms, control: Default::default() }]);
    gives("unwrap", &program, &["LOG0(1);", "LOG0(2);", "if (lane == 1u) { LOG0(1); } else { LOG0(2); }"]);
    gives(
        "control",
        &program,
        &[
            "switch (lane) { default: LOG0(2); break; }",
            "switch (lane) { case 1u: case 2u: LOG0(1); break; }",
            "switch (lane) { case 2u: LOG0(1); break; default: LOG0(2); break; }",
            "switch (lane) { case 1u: LOG0(1); break; default: LOG0(2); break; }",
        ],
    );
}

#[test]
fn control() {
    let program = in_main(&[], vec![if_else(less(lane(), uint(3)), vec![log(1)], vec![log(2)])]);
    gives(
        "control",
        &program,
        &["if (lane < 3u) { LOG0(1); }", "if (!(lane < 3u)) { LOG0(2); }", "if (lane < 3u) { LOG0(2); }"],
    );
    let test = Some(Test { before: vec![log(1)], cond: less(var(0), lane()) });
    let kind = LoopKind::For { init: uint(1), step: 2, update: vec![log(2)] };
    let l = Loop { kind, counter: 0, bound: uint(4), test, body: vec![log(3)], control: Default::default() };
    gives(
        "control",
        &in_main(&[Type::UINT], vec![Stmt::Loop(Box::new(l))]),
        &[
            "for (uint u0 = 1u; u0 < 4u; u0 += 2u, LOG0(2)) { LOG0(3); }",
            "for (uint u0 = 1u; u0 < lane; u0 += 2u, LOG0(2)) { LOG0(3); }",
            "for (uint u0 = 1u; u0 < lane && u0 < 4u; u0 += 2u, LOG0(2)) { LOG0(3); }",
            "for (uint u0 = 0u; (LOG0(1), u0 < lane) && u0 < 4u; u0++) { LOG0(3); }",
            "for (uint u0 = 1u; (LOG0(1), u0 < lane) && u0 < 4u; u0 += 2u) { LOG0(3); }",
        ],
    );
}

#[test]
fn guards() {
    let returns =
        |before: Vec<Stmt>| if_else(less(lane(), uint(3)), [before, vec![Stmt::Return(None)]].concat(), vec![]);
    gives("guards", &in_main(&[], vec![log(1), returns(vec![]), log(2)]), &["LOG0(1); if (!(lane < 3u)) { LOG0(2); }"]);
    gives(
        "guards",
        &in_main(&[], vec![returns(vec![log(1)]), log(2)]),
        &["if (lane < 3u) { LOG0(1); } else { LOG0(2); }"],
    );
    gives("guards", &in_main(&[], vec![log(1), returns(vec![])]), &[]);
    let body = vec![if_else(less(lane(), uint(3)), vec![Stmt::Continue], vec![]), log(1)];
    gives(
        "guards",
        &in_main(&[Type::UINT], vec![count(0, uint(2), body)]),
        &["for (uint u0 = 0u; u0 < 2u; u0++) { if (!(lane < 3u)) { LOG0(1); } }"],
    );
}

/// `uint f(uint x, inout uint y)`
fn callee() -> Function {
    let param = |name: &str, direction| Param { name: name.into(), direction, ty: Type::UINT };
    Function {
        name: "f".into(),
        params: vec![param("x", Direction::In), param("y", Direction::Inout)],
        result: Some(Type::UINT),
        locals: vec![],
        body: vec![assign(1, add(var(1), var(0))), Stmt::Return(Some(sum(var(1))))],
    }
}

fn call(dest: u32) -> Stmt {
    Stmt::Call { function: 0, args: vec![Arg::In(lane()), Arg::Out(1)], dest: Some(dest) }
}

#[test]
fn functions() {
    let program = case(vec![callee(), main(&[Type::UINT; 2], vec![call(0), logs(1, [var(0), var(1)])])]);
    gives(
        "functions",
        &program,
        &[
            "uint u0 = 0u; uint u1 = 0u; LOG2(1, u0, u1);",
            "uint u1 = 0u; uint x_f0 = lane; uint y_f0 = u1; y_f0 = y_f0 + x_f0; uint u0 = subgroupAdd(y_f0); \
         u1 = y_f0; LOG2(1, u0, u1);",
            "uint f(uint x, inout uint y) { return 0u; } uint u1 = 0u; uint u0 = f(lane, u1); LOG2(1, u0, u1);",
        ],
    );
}

#[test]
fn functions_with_an_early_return_are_not_inlined() {
    let mut early = callee();
    early.body.insert(0, if_else(less(lane(), uint(2)), vec![Stmt::Return(Some(uint(0)))], vec![]));
    let program = case(vec![early, main(&[Type::UINT; 2], vec![call(0), logs(1, [var(0)])])]);
    assert_eq!(candidates("functions", &program).len(), 2);
}

#[test]
fn signatures() {
    let program = case(vec![callee(), main(&[Type::UINT; 2], vec![call(0), logs(1, [var(0), var(1)])])]);
    gives(
        "signatures",
        &program,
        &[
            "void f(uint x, inout uint y) { y = y + x; } uint u0 = 0u; uint u1 = 0u; f(lane, u1); LOG2(1, u0, u1);",
            "uint f(inout uint y) { uint lane = gl_SubgroupInvocationID; y = y + lane; return subgroupAdd(y); } \
         uint u1 = 0u; uint u0 = f(u1); LOG2(1, u0, u1);",
            "uint f(uint x) { uint y = 0u; y = y + x; return subgroupAdd(y); } uint u1 = 0u; uint u0 = f(lane); LOG2(1, u0, u1);",
            "uint f(uint x, uint y) { y = y + x; return subgroupAdd(y); } uint u1 = 0u; uint u0 = f(lane, u1); LOG2(1, u0, u1);",
        ],
    );
}

#[test]
fn inputs() {
    // Input 0 is not read; input 1 is 5 everywhere.
    gives(
        "inputs",
        &in_main(&[], vec![logs(1, [Expr::Input(1)])]),
        &[
            "LOG1(1, input_words[invocation]);",
            "LOG1(1, 5u);",
            "LOG1(1, 0u);",
            "LOG1(1, lane);",
            "LOG1(1, gl_LocalInvocationIndex);",
        ],
    );
}

#[test]
fn expressions() {
    let program = in_main(&[Type::UINT], vec![logs(1, [add(sum(var(0)), uint(9))])]);
    gives(
        "expressions",
        &program,
        &[
            "LOG1(1, 0u);",
            "LOG1(1, 1u);",
            "LOG1(1, 9u);",
            "LOG1(1, lane);",
            "uint u0 = 0u; LOG1(1, u0);",
            "uint u0 = 0u; LOG1(1, subgroupAdd(u0));",
            "LOG1(1, 0u + 9u);",
            "LOG1(1, 1u + 9u);",
            "LOG1(1, lane + 9u);",
            "uint u0 = 0u; LOG1(1, u0 + 9u);",
            "LOG1(1, subgroupAdd(0u) + 9u);",
            "LOG1(1, subgroupAdd(1u) + 9u);",
            "LOG1(1, subgroupAdd(lane) + 9u);",
            "uint u0 = 0u; LOG1(1, subgroupAdd(u0) + 0u);",
            "uint u0 = 0u; LOG1(1, subgroupAdd(u0) + 1u);",
        ],
    );
}

#[test]
fn forms() {
    let ballot = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
    for (expr, expected) in [
        (Expr::unary(UnaryOp::Not, less(lane(), uint(5))), "lane >= 5u"),
        (add(uint(2), uint(3)), "5u"),
        (Expr::subgroup(SubgroupOp::Exclusive(Fold::Mul), [lane()]), "subgroupExclusiveAdd(lane)"),
        (Expr::Component(Box::new(Expr::Vector(Type::MASK, vec![uint(1), uint(2), lane(), uint(4)])), 2), "lane"),
        (
            Expr::Component(
                Box::new(Expr::binary(BinaryOp::BitAnd, ballot.clone(), Expr::Vector(Type::MASK, vec![lane(); 4]))),
                1,
            ),
            "subgroupBallot(true).y & lane",
        ),
        // A log takes any scalar.
        (less(sum(lane()), uint(4)), "subgroupAdd(lane)"),
        (Expr::Cast(Scalar::Uint, Box::new(less(lane(), uint(5)))), "lane < 5u"),
    ] {
        includes("expressions", &in_main(&[], vec![logs(1, [expr])]), &[&format!("LOG1(1, {expected});")]);
    }
}

#[test]
fn forget() {
    let program = in_main(&[Type::UINT], vec![assign(0, uint(1)), log(1), assign(0, lane()), logs(2, [var(0)])]);
    gives("forget", &program, &["uint u0 = 0u; LOG0(1); LOG1(2, u0);"]);
}

#[test]
fn substitute() {
    // Once assigned and once read: anywhere. More often read: only a word.
    let program = in_main(
        &[Type::UINT; 2],
        vec![
            assign(0, sum(lane())),
            assign(1, lane()),
            if_else(less(var(0), uint(2)), vec![logs(1, [var(1), var(1)])], vec![]),
        ],
    );
    includes(
        "substitute",
        &program,
        &[
            "uint u1 = lane; if (subgroupAdd(lane) < 2u) { LOG2(1, u1, u1); }",
            "uint u0 = subgroupAdd(lane); if (u0 < 2u) { LOG2(1, lane, lane); }",
        ],
    );
    // As far as the next assignment.
    let twice = in_main(&[Type::UINT], vec![assign(0, lane()), assign(0, sum(var(0))), logs(1, [var(0)])]);
    gives(
        "substitute",
        &twice,
        &["uint u0 = subgroupAdd(lane); LOG1(1, u0);", "uint u0 = lane; LOG1(1, subgroupAdd(u0));"],
    );
}

#[test]
fn merge() {
    let program = in_main(
        &[Type::UINT, Type::UINT, Type::INT],
        vec![assign(0, lane()), assign(1, var(0)), logs(1, [sum(var(1)), var(2)])],
    );
    gives("merge", &program, &["int u2 = 0; uint u0 = lane; LOG2(1, subgroupAdd(u0), u2);"]);
}

#[test]
fn words() {
    let cast = |scalar, x| Expr::Cast(scalar, Box::new(x));
    let program = in_main(
        &[Type::INT],
        vec![assign(0, sum(cast(Scalar::Int, lane()))), logs(1, [Expr::binary(BinaryOp::Sub, var(0), Expr::Int(-3))])],
    );
    gives("words", &program, &["uint u0 = subgroupAdd(lane); LOG1(1, u0 - 0xFFFFFFFDu);"]);
    let wide = Type::scalar(Scalar::Int64);
    let program =
        in_main(&[wide], vec![assign(0, sum(cast(Scalar::Int64, lane()))), logs(1, [cast(Scalar::Uint, var(0))])]);
    gives(
        "words",
        &program,
        &["uint u0 = subgroupAdd(lane); LOG1(1, u0);", "int u0 = subgroupAdd(int(lane)); LOG1(1, uint(u0));"],
    );
}

/// Integers in the place of floats have no bits of floats to be made of.
#[test]
fn words_of_preserved_floats() {
    let bits = Expr::Cast(Scalar::Uint16, Box::new(lane()));
    let first = |value| Expr::subgroup(SubgroupOp::BroadcastFirst, [value]);
    let value = first(Expr::Intrinsic(Intrinsic::FromBits, vec![bits]));
    let mut program = in_main(&[], vec![logs(1, [Expr::Intrinsic(Intrinsic::ToBits, vec![value])])]);
    program.entry_point.float_controls = FloatControls::NONE.with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float16);
    includes("words", &program, &["LOG1(1, subgroupBroadcastFirst(lane));"]);
}

#[test]
fn narrow() {
    let uvec2: Type = "uvec2".parse().unwrap();
    let program = in_main(
        &[uvec2],
        vec![
            assign(0, sum(Expr::Vector(uvec2, vec![lane(), uint(1)]))),
            logs(1, [var(0), Expr::Component(Box::new(var(0)), 1)]),
        ],
    );
    gives(
        "narrow",
        &program,
        &["uint u0 = subgroupAdd(lane); LOG2(1, u0, u0);", "uint u0 = subgroupAdd(1u); LOG2(1, u0, u0);"],
    );
}

/// Of members of several types each alone, then the struct without each; of elements that are alike, one.
#[test]
fn elements() {
    let record: Type = "struct(u32, i32, bool)".parse().unwrap();
    let list: Type = "array(struct(u32, i32, bool), 2)".parse().unwrap();
    let element = |of: Expr, index: u32| Expr::element(of, uint(index));
    let set = |index: u32, inner: Vec<Expr>, value: Expr| Stmt::SetElement { var: 0, index: uint(index), inner, value };
    gives(
        "elements",
        &in_main(
            &[record, Type::UINT],
            vec![set(0, vec![], uint(1)), set(1, vec![], Expr::Int(2)), assign(1, element(Expr::Var(0), 0))],
        ),
        &[
            "uint u0 = 1u; u0 = u0; uint u1 = u0;",
            "int u0 = 0; u0 = u0; u0 = 2; uint u1 = 0u;",
            "bool u0 = false; u0 = u0; u0 = u0; uint u1 = 0u;",
            "Struct_i32_bool u0 = Struct_i32_bool(0, false); u0 = u0; u0.m0 = 2; uint u1 = 0u;",
            "Struct_u32_bool u0 = Struct_u32_bool(0u, false); u0.m0 = 1u; u0 = u0; uint u1 = u0.m0;",
            "Struct_u32_i32 u0 = Struct_u32_i32(0u, 0); u0.m0 = 1u; u0.m1 = 2; uint u1 = u0.m0;",
        ],
    );
    includes(
        "elements",
        &in_main(
            &[list, Type::INT],
            vec![set(1, vec![uint(1)], Expr::Int(2)), assign(1, element(element(Expr::Var(0), 1), 1))],
        ),
        &[
            "int[2] u0 = int[2](0, 0); u0[1u] = 2; int u1 = u0[1u];",
            "Struct_u32_i32_bool u0 = Struct_u32_i32_bool(0u, 0, false); u0.m1 = 2; int u1 = u0.m1;",
        ],
    );
}

#[test]
fn numbers() {
    gives(
        "numbers",
        &in_main(&[], vec![logs(1, [uint(12)])]),
        &[
            "LOG1(1, 0u);",
            "LOG1(1, 1u);",
            "LOG1(1, 2u);",
            "LOG1(1, 3u);",
            "LOG1(1, 4u);",
            "LOG1(1, 6u);",
            "LOG1(1, 8u);",
        ],
    );
    let kind = LoopKind::For { init: uint(0), step: 3, update: vec![] };
    let l = Loop { kind, counter: 0, bound: uint(0), test: None, body: vec![log(1)], control: Default::default() };
    includes(
        "numbers",
        &in_main(&[Type::UINT], vec![Stmt::Loop(Box::new(l))]),
        &["for (uint u0 = 0u; u0 < 0u; u0++) { LOG0(1); }"],
    );
    let call = |n| {
        Expr::Subgroup(tangle_program::tree::SubgroupCall {
            op: SubgroupOp::Clustered(Fold::Add),
            args: vec![uint(0)],
            cluster: Some(n),
        })
    };
    gives("numbers", &in_main(&[], vec![logs(1, [call(4)])]), &["LOG1(1, subgroupClusteredAdd(0u, 2u));"]);
}

#[test]
fn names() {
    let mut program =
        case(vec![callee(), main(&[Type::UINT; 3], vec![call(0), count(2, uint(2), vec![logs(7, [var(0)])])])]);
    program.program.functions[0].name = "helper".into();
    let found = candidates("names", &program);
    assert_eq!(
        body(&found[0]),
        "uint f(uint a, inout uint b) { b = b + a; return subgroupAdd(b); } uint b = 0u; uint a = f(lane, b); \
         for (uint i = 0u; i < 2u; i++) { LOG1(1, a); }"
    );
}

#[test]
fn data() {
    let mut program = in_main(&[], vec![logs(1, [Expr::Input(0), Expr::Uniform(0)])]);
    program.data.inputs = vec![vec![9, 8, 7, 6, 5, 4, 3, 2]];
    let found = candidates("data", &program);
    let inputs: Vec<&Vec<u32>> = found.iter().map(|case| &case.data.inputs[0]).collect();
    for expected in [
        [0; 8],
        [1; 8],
        [0, 1, 0, 1, 0, 1, 0, 1],
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 0, 0, 0, 5, 4, 3, 2],
        [9, 8, 7, 6, 0, 0, 0, 0],
        [8, 8, 7, 6, 5, 4, 3, 2],
    ] {
        assert!(inputs.contains(&&expected.to_vec()), "{expected:?}");
    }
    assert!(found.iter().any(|case| case.data.uniforms == [4]), "a power of two");
}

/// Simpler descriptors, and fewer of them.
#[test]
fn descriptors() {
    let index = Box::new(Expr::binary(BinaryOp::BitAnd, Expr::Input(0), uint(3)));
    let resource = Resource { class: ResourceClass::StorageImage, index, non_uniform: true };
    let mut program = in_main(&[], vec![logs(1, [Expr::Resource(resource)])]);
    program.data.resources = vec![10, 11, 12, 13];
    let halved = candidates("resources", &program);
    assert_eq!(halved[0].data.resources, [10, 11]);
    assert_eq!(
        body(&halved[0]),
        "LOG1(1, imageLoad(storage_images[nonuniformEXT(input_words[invocation * 2u] & 1u)], ivec2(0)).x);"
    );
    let literal = Resource { class: ResourceClass::StorageBuffer, index: Box::new(uint(2)), non_uniform: false };
    let mut by_literal = in_main(&[], vec![logs(1, [Expr::Resource(literal)])]);
    by_literal.data.resources = vec![10, 11, 12, 13];
    assert_eq!(body(&candidates("resources", &by_literal)[0]), "LOG1(1, 12u);");
    // Without the decoration the index would have to be the same everywhere.
    includes(
        "expressions",
        &program,
        &["LOG1(1, storage_buffers[nonuniformEXT(input_words[invocation * 2u] & 3u)].word);"],
    );
}

/// A vertex shader becomes a compute shader; then fewer instances, then fewer vertices, each execution with its own input words.
#[test]
fn draws_before_rasterisation_get_smaller() {
    let mut program = case(vec![main(&[], vec![log(1)])]);
    program.entry_point.stage = Stage::Vertex;
    program.entry_point.launch = Launch::Items(Items { size: 4, count: 2 });
    program.data.inputs = vec![(0..32).collect()];
    let smaller: Vec<_> = candidates("groups", &program)
        .into_iter()
        .map(|case| (case.entry_point.stage, case.entry_point.workgroups().size, case.data.inputs[0].clone()))
        .collect();
    assert_eq!(smaller[0], (Stage::Compute, [4, 2, 1], (0..8).collect()));
    let [first, second] = [[0, 1, 2, 3, 8, 9, 10, 11], [16, 17, 18, 19, 24, 25, 26, 27]];
    assert_eq!(smaller[1], (Stage::Vertex, [4, 1, 4], [first, second].concat()));
    let sizes = smaller[1..].iter().map(|(_, size, _)| *size).collect::<Vec<_>>();
    assert_eq!(sizes, [[4, 1, 4], [1, 2, 4], [2, 2, 4], [3, 2, 4]]);
}

/// Fewer layers, fewer samples and no modes, each fragment that is left with its own input words.
#[test]
fn draws_of_layers_and_samples_get_smaller() {
    let mut program = case(vec![main(&[], vec![log(1)])]);
    program.entry_point.stage = Stage::Fragment;
    program.entry_point.spirv = SpirvVersion::V1_5;
    let draw = Draw::new([2, 2], vec![[[0, 0], [4, 0], [0, 4]]]);
    let draw = Draw { layers: 2, samples: 2, quad_derivatives: true, ..draw };
    program.entry_point.launch = Launch::Draw(draw.clone());
    program.data.inputs = vec![(0..16).collect()];
    let smaller: Vec<(Draw, Vec<u32>)> = candidates("groups", &program)
        .into_iter()
        .filter_map(|case| Some((case.entry_point.draw()?.clone(), case.data.inputs[0].clone())))
        .collect();
    for (edit, words) in [
        (Draw { layers: 1, ..draw.clone() }, (0..8).collect::<Vec<u32>>()),
        (Draw { samples: 1, ..draw.clone() }, (0..4).chain(8..12).collect()),
        (Draw { quad_derivatives: false, ..draw.clone() }, (0..16).collect()),
    ] {
        assert!(smaller.contains(&(edit.clone(), words)), "{edit:?}: {smaller:?}");
    }
}

#[test]
fn launch() {
    let mut program = in_main(&[], vec![logs(1, [Expr::Input(0)])]);
    program.entry_point.workgroups_mut().size = [4, 2, 1];
    program.entry_point.workgroups_mut().count = [2, 1, 1];
    program.data.inputs = vec![(0..16).collect()];
    let words = |name: &str| -> Vec<([u32; 3], [u32; 3], Vec<u32>)> {
        let found = candidates(name, &program).into_iter();
        found
            .map(|case| {
                (case.entry_point.workgroups().size, case.entry_point.workgroups().count, case.data.inputs[0].clone())
            })
            .collect()
    };
    assert_eq!(
        words("groups"),
        [
            ([4, 2, 1], [1, 1, 1], (0..8).collect()),
            ([4, 2, 1], [1, 1, 1], (8..16).collect()),
            ([4, 2, 1], [1, 1, 1], (0..8).collect()),
        ]
    );
    let firsts: Vec<_> = words("workgroup").into_iter().step_by(2).collect();
    assert_eq!(
        firsts,
        [
            ([1, 1, 1], [2, 1, 1], vec![0, 8]),
            ([2, 1, 1], [2, 1, 1], vec![0, 1, 8, 9]),
            ([3, 1, 1], [2, 1, 1], vec![0, 1, 2, 8, 9, 10]),
            ([4, 1, 1], [2, 1, 1], vec![0, 1, 2, 3, 8, 9, 10, 11]),
            ([5, 1, 1], [2, 1, 1], vec![0, 1, 2, 3, 4, 8, 9, 10, 11, 12]),
            ([8, 1, 1], [2, 1, 1], (0..16).collect()),
            ([1, 2, 1], [2, 1, 1], vec![0, 4, 8, 12]),
            ([2, 2, 1], [2, 1, 1], vec![0, 1, 4, 5, 8, 9, 12, 13]),
            ([3, 2, 1], [2, 1, 1], vec![0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14]),
            ([4, 1, 1], [2, 1, 1], vec![0, 1, 2, 3, 8, 9, 10, 11]),
            ([4, 1, 1], [2, 1, 1], vec![0, 1, 2, 3, 8, 9, 10, 11]),
            ([4, 1, 1], [2, 1, 1], vec![0, 1, 2, 3, 8, 9, 10, 11]),
        ]
    );
    let lasts: Vec<_> = words("workgroup").into_iter().skip(1).step_by(2).collect();
    // Part of the old box, and not.
    assert_eq!(lasts[1], ([2, 1, 1], [2, 1, 1], vec![6, 7, 14, 15]));
    assert_eq!(lasts[4], ([5, 1, 1], [2, 1, 1], vec![3, 4, 5, 6, 7, 11, 12, 13, 14, 15]));
}

#[test]
fn demands() {
    let mut program = in_main(&[], vec![log(1)]);
    program.entry_point.subgroup_size = SubgroupSize::Required(8);
    program.entry_point.full_subgroups = true;
    program.entry_point.spirv = SpirvVersion::V1_5;
    let found: Vec<_> = candidates("launch", &program)
        .into_iter()
        .map(|case| {
            (case.entry_point.full_subgroups, case.entry_point.subgroup_size, case.entry_point.spirv, case.tier)
        })
        .collect();
    let (size, spirv, tier) = (SubgroupSize::Required(8), SpirvVersion::V1_5, Tier::Maximal);
    assert_eq!(
        found,
        [
            (false, size, spirv, tier),
            (true, SubgroupSize::Default, spirv, tier),
            (true, SubgroupSize::Varying, spirv, tier),
            (true, size, SpirvVersion::V1_3, tier),
            (true, size, SpirvVersion::V1_4, tier),
            (true, size, spirv, Tier::Plain),
            (true, size, spirv, Tier::SubgroupUniform),
        ]
    );
}

/// Each mode of floats goes by itself.
#[test]
fn float_controls_go() {
    let mut program = in_main(&[], vec![log(1)]);
    let keeps = FloatControls::NONE.with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float);
    let both = keeps.with(FloatMode::DenormPreserve, Scalar::Float);
    program.entry_point.float_controls = both;
    let found = candidates("launch", &program).into_iter().map(|case| case.entry_point.float_controls);
    let fewer: Vec<_> = found.filter(|controls| *controls != both).collect();
    assert_eq!(fewer, [FloatControls::NONE.with(FloatMode::DenormPreserve, Scalar::Float), keeps]);
}

/// One mesh workgroup and then none; no task shader.
#[test]
fn payloads_go() {
    let payloads = |stage: Stage, meshes: u32, by_task: bool| {
        let mut program = in_main(&[], vec![log(1)]);
        (program.tier, program.entry_point.spirv) = (Tier::Plain, SpirvVersion::V1_4);
        program.entry_point.stage = stage;
        (program.entry_point.workgroups_mut().meshes, program.entry_point.workgroups_mut().by_task) = (meshes, by_task);
        let found = candidates("launch", &program).into_iter().map(|case| case.entry_point.workgroups());
        found.map(|workgroups| (workgroups.meshes, workgroups.by_task)).collect::<Vec<_>>()
    };
    assert_eq!(payloads(Stage::Task, 3, false), [(0, false), (1, false)]);
    assert_eq!(payloads(Stage::Mesh, 0, true), [(0, false)]);
}

#[test]
fn every_pass_has_a_name_of_its_own() {
    for (i, pass) in tangle_minimizer::TABLE.iter().enumerate() {
        assert!(tangle_minimizer::TABLE[..i].iter().all(|other| other.name != pass.name), "{}", pass.name);
    }
}
