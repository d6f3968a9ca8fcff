//! The test vectors of docs/rules.md, section V as cases: `corpus/vectors/`.
//!
//! The programs stand here in the order and with the letters of that page. A point A, B, C, D there is log site 1, 2, 3, 4
//! here, which logs the first word of a ballot; the page says which ballots 8 lanes in one subgroup of size 8 must give.
//!
//! After a change: `TANGLE_WRITE_VECTORS=1 cargo test -p tangle-analysis --test vectors`.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::*;
use tangle_program::case::Case;
use tangle_program::ops::BinaryOp;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Expr, Label, LoopKind, Stmt, SubgroupCall, Test};
use tangle_program::types::Type;

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;
const D: u32 = 4;

#[test]
fn corpus_holds_the_vectors() {
    check_corpus("vectors", "TANGLE_WRITE_VECTORS", vectors());
}

fn vectors() -> Vec<(&'static str, Case)> {
    vec![
        ("V01", v01()),
        ("V02", v02()),
        ("V03", v03()),
        ("V04", v04()),
        ("V05", v05()),
        ("V06", v06()),
        ("V07", v07()),
        ("V08", v08()),
        ("V09", v09()),
        ("V10", v10()),
        ("V11", v11()),
        ("V12", v12()),
        ("V13", v13()),
        ("V14", v14()),
        ("V15", v15()),
        ("V16", v16()),
        ("V17", v17()),
        ("V18", v18()),
    ]
}

fn v01() -> Case {
    case(
        "V1: both sides of an if, and the reconvergence after it. A=07 B=F8 C=FF",
        main_of(|f| {
            let mask = mask_of(f);
            let sides = branch(lane_is(BinaryOp::Lt, 3), point(A, mask), point(B, mask));
            join([vec![sides], point(C, mask).into()])
        }),
    )
}

fn v02() -> Case {
    case(
        "V2: a loop that each lane leaves after another iteration. A=FF,FE,FC,F8,F0,E0,C0,80 B=FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let bound = binary(binary(lane(), BinaryOp::Add, uint(1)), BinaryOp::BitAnd, uint(15));
            join([vec![counted(i, bound, [], point(A, mask))], point(B, mask).into()])
        }),
    )
}

fn v03() -> Case {
    case(
        "V3: what stands before a break runs with the lanes that break in this iteration. A=01,02,04 B=FE,FC,F8 C=FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let leaves = join([point(A, mask).into(), vec![Stmt::Break]]);
            let leave = branch(binary(lane(), BinaryOp::Eq, Expr::Var(i)), leaves, []);
            let body = join([vec![leave], point(B, mask).into()]);
            join([vec![counted(i, uint(3), [], body)], point(C, mask).into()])
        }),
    )
}

fn v04() -> Case {
    case(
        "V4: lanes that continue meet the others again in the increment part. A=55,55; in the increment (site 2) FF,FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let body = join([vec![branch(lane_bits(1, 1), [Stmt::Continue], [])], point(A, mask).into()]);
            vec![counted(i, uint(2), point(B, mask), body)]
        }),
    )
}

fn v05() -> Case {
    case(
        "V5: the condition of a do-while stands in the continue construct. A=55,55; in the condition (site 2) FF,FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let body = join([vec![branch(lane_bits(1, 1), [Stmt::Continue], [])], point(A, mask).into()]);
            let test = Test { before: point(B, mask).into(), cond: Expr::Bool(true) };
            vec![repeat(LoopKind::DoWhile, i, uint(2), Some(test), body)]
        }),
    )
}

fn v06() -> Case {
    let f = function("f", |f| {
        let mask = mask_of(f);
        join([vec![branch(lane_is(BinaryOp::Lt, 4), [Stmt::Return(None)], [])], point(A, mask).into()])
    });
    let main = function("main", |f| {
        let mask = mask_of(f);
        join([vec![Stmt::Call { function: 0, args: Vec::new(), dest: None }], point(B, mask).into()])
    });
    case(
        "V6: lanes that return early are back after the call. A=F0 B=FF; in weaker tiers B is FF, or 0F and F0",
        vec![f, main],
    )
}

fn v07() -> Case {
    case(
        "V7: lanes that return from main are gone. A=F0 in every tier",
        main_of(|f| {
            let mask = mask_of(f);
            join([vec![branch(lane_is(BinaryOp::Lt, 4), [Stmt::Return(None)], [])], point(A, mask).into()])
        }),
    )
}

fn v08() -> Case {
    case(
        "V8: a default label that two selector values reach may run with both or one by one. \
         A=11 B=22 C=CC, or 44 and 88; D=FF",
        main_of(|f| {
            let mask = mask_of(f);
            let arms = vec![
                arm(Label::Case(0), join([point(A, mask).into(), vec![Stmt::Break]])),
                arm(Label::Case(1), join([point(B, mask).into(), vec![Stmt::Break]])),
                arm(Label::Default, point(C, mask)),
            ];
            let selector = binary(lane(), BinaryOp::BitAnd, uint(3));
            join([vec![Stmt::Switch { selector, arms, control: Default::default() }], point(D, mask).into()])
        }),
    )
}

fn v09() -> Case {
    case(
        "V9: lanes that fall through may meet those of the next label, or not. A=55 B=FF, or 55 and AA; C=FF",
        main_of(|f| {
            let mask = mask_of(f);
            let arms = vec![
                arm(Label::Case(0), point(A, mask)),
                arm(Label::Case(1), join([point(B, mask).into(), vec![Stmt::Break]])),
            ];
            let selector = binary(lane(), BinaryOp::BitAnd, uint(1));
            join([vec![Stmt::Switch { selector, arms, control: Default::default() }], point(C, mask).into()])
        }),
    )
}

fn v10() -> Case {
    case(
        "V10: the right operand of && runs only with the lanes where the left one holds. A never, B=FF C=FF",
        main_of(|f| {
            let mask = mask_of(f);
            let any = Expr::subgroup(SubgroupOp::Any, [lane_is(BinaryOp::Eq, 5)]);
            let cond = binary(lane_is(BinaryOp::Lt, 4), BinaryOp::And, any);
            join([vec![branch(cond, point(A, mask), point(B, mask))], point(C, mask).into()])
        }),
    )
}

fn v11() -> Case {
    case(
        "V11: an exclusive scan without one lane. A of lanes 0,1,3..7 = 0,1,2,3,4,5,6",
        main_of(|f| {
            let sum = f.add_local("sum", Type::UINT);
            let scan = Expr::subgroup(SubgroupOp::Exclusive(Fold::Add), [uint(1)]);
            vec![branch(lane_is(BinaryOp::Ne, 2), [assign(sum, scan), log(A, sum)], [])]
        }),
    )
}

fn v12() -> Case {
    case(
        "V12: a shuffle from lanes that are not there is undefined: A is not compared",
        main_of(|f| {
            let got = f.add_local("got", Type::UINT);
            let next = binary(lane(), BinaryOp::Add, uint(1));
            let shuffle = Expr::subgroup(SubgroupOp::Shuffle, [lane(), next]);
            vec![branch(lane_bits(1, 0), [assign(got, shuffle), log(A, got)], [])]
        }),
    )
}

fn v13() -> Case {
    case(
        "V13: a clustered sum without one lane. A of lanes 1..3 = 3, of lanes 4..7 = 4",
        main_of(|f| {
            let sum = f.add_local("sum", Type::UINT);
            let op = SubgroupOp::Clustered(Fold::Add);
            let clustered = Expr::Subgroup(SubgroupCall { op, args: vec![uint(1)], cluster: Some(4) });
            vec![branch(lane_is(BinaryOp::Ne, 0), [assign(sum, clustered), log(A, sum)], [])]
        }),
    )
}

fn v14() -> Case {
    case(
        "V14: a rotation. A = the lane plus 3, modulo the subgroup size: lane 6 gets 1",
        main_of(|f| {
            let got = f.add_local("got", Type::UINT);
            let rotated = Expr::subgroup(SubgroupOp::Rotate, [lane(), uint(3)]);
            vec![assign(got, rotated), log(A, got)]
        }),
    )
}

fn v15() -> Case {
    case(
        "V15: bits of a ballot up to the own lane. A of lane k = min(k+1, 5)",
        main_of(|f| {
            let count = f.add_local("count", Type::UINT);
            let some = ballot(lane_is(BinaryOp::Lt, 5));
            vec![assign(count, Expr::subgroup(SubgroupOp::BallotInclusiveBitCount, [some])), log(A, count)]
        }),
    )
}

fn v16() -> Case {
    case(
        "V16: nested branches reconverge one by one. A=03 B=3C C=3F D=FF; in weaker tiers C is 3F, or 03 and 3C",
        main_of(|f| {
            let mask = mask_of(f);
            let inner = branch(lane_is(BinaryOp::Lt, 2), point(A, mask), point(B, mask));
            let outer = branch(lane_is(BinaryOp::Lt, 6), join([vec![inner], point(C, mask).into()]), []);
            join([vec![outer], point(D, mask).into()])
        }),
    )
}

fn v17() -> Case {
    case(
        "V17: one lane leaves an endless loop at a time; all are back after it. A=FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let body = vec![branch(Expr::subgroup(SubgroupOp::Elect, []), [Stmt::Break], [])];
            // More than enough: the bound only keeps a wrong driver from hanging.
            let endless = repeat(LoopKind::Forever, i, uint(128), None, body);
            join([vec![branch(lane_is(BinaryOp::Lt, 4), [endless], [])], point(A, mask).into()])
        }),
    )
}

fn v18() -> Case {
    case(
        "V18: continue inside a switch is that of the loop around it. A=FE,FE B=FF",
        main_of(|f| {
            let (mask, i) = (mask_of(f), f.add_local("i", Type::UINT));
            let arms = vec![arm(Label::Case(0), [Stmt::Continue]), arm(Label::Default, [Stmt::Break])];
            let body = join([
                vec![Stmt::Switch { selector: lane(), arms, control: Default::default() }],
                point(A, mask).into(),
            ]);
            join([vec![counted(i, uint(2), [], body)], point(B, mask).into()])
        }),
    )
}
