//! HLSL that is printed: programs as snapshots, and what HLSL says in another way as a table.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour;
use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::{expression, fitted, lacks, source};
use tangle_program::case::{Case, Tier};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Expr;
use tangle_program::types::Type;
use tangle_program::variant::{Language, Variant};

fn in_hlsl(case: Case) -> Case {
    let variant: Variant = "hlsl@dxc".parse().expect("a variant");
    Case { variant, tier: Tier::Plain, ..case }
}

#[test]
fn programs() {
    for (name, case) in tour::programs() {
        let case = in_hlsl(case);
        // Some are for tier maximal only.
        if validate(&case).is_err() {
            continue;
        }
        let case = fitted(Language::Hlsl, case);
        assert_eq!(validate(&case), Ok(()), "{name}");
        match lacks(Language::Hlsl, &case).as_slice() {
            [] => insta::assert_snapshot!(format!("hlsl_{name}"), source(&case)),
            lacking => insta::assert_snapshot!(format!("hlsl_{name}_lacks"), lacking.join("\n")),
        }
    }
}

/// Each is a line of docs/languages.md, "HLSL: what the rules rest on".
#[test]
fn expressions() {
    let case = in_hlsl(case(
        "",
        main_of(|f| {
            f.add_local("a", Type::UINT);
            f.add_local("b", Type::INT);
            f.add_local("c", Type::BOOL);
            vec![]
        }),
    ));
    let main = case.program.main().expect("there is one");
    let [a, b, c] = [0, 1, 2].map(|var| move || Expr::Var(var));
    let printed: Vec<String> = [
        binary(c(), BinaryOp::Xor, c()),
        binary(binary(a(), BinaryOp::Add, a()), BinaryOp::Shl, a()),
        Expr::Select(Box::new(c()), Box::new(a()), Box::new(Expr::Uint(1))),
        Expr::Intrinsic(Intrinsic::FindMsb, vec![a()]),
        Expr::Intrinsic(Intrinsic::FindMsb, vec![b()]),
        Expr::Intrinsic(Intrinsic::BitCount, vec![b()]),
        Expr::subgroup(SubgroupOp::Broadcast, [a(), Expr::Uint(0)]),
        Expr::subgroup(SubgroupOp::ShuffleXor, [a(), Expr::Uint(3)]),
        Expr::subgroup(SubgroupOp::Rotate, [a(), a()]),
        Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [a()]),
        Expr::subgroup(SubgroupOp::Reduce(Fold::And), [b()]),
        Expr::subgroup(SubgroupOp::AllEqual, [a()]),
    ]
    .iter()
    .map(|expr| expression(&case, main, expr))
    .collect();
    insta::assert_snapshot!("hlsl_expressions_in_other_words", printed.join("\n"));
}
