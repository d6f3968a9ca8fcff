//! HLSL and Slang that are printed: programs as snapshots, and what HLSL says in another way as a table.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour;
use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::{expression, fitted, lacks, source};
use tangle_program::case::{Case, Draw, EntryPoint, Launch, SpirvVersion, Stage, Tier};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Builtin, Discard, Expr, Stmt, SubgroupCall};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::{Language, Variant};

fn in_hlsl(case: Case) -> Case {
    let variant: Variant = "hlsl@dxc".parse().expect("a variant");
    Case { variant, tier: Tier::Plain, ..case }
}

fn in_slang(case: Case) -> Case {
    let variant: Variant = "slang@slang".parse().expect("a variant");
    // What the tree has at tier subgroup_uniform, Slang has no attribute for.
    let tier = if case.tier == Tier::Maximal { Tier::Maximal } else { Tier::Plain };
    Case { variant, tier, ..case }
}

#[test]
fn programs() {
    for (language, to_language) in [(Language::Hlsl, in_hlsl as fn(Case) -> Case), (Language::Slang, in_slang)] {
        for (name, case) in tour::programs() {
            let case = to_language(case);
            // Some are for tier maximal only.
            if validate(&case).is_err() {
                continue;
            }
            let case = fitted(language, case);
            assert_eq!(validate(&case), Ok(()), "{name}");
            let name = format!("{}_{name}", language.name());
            match lacks(language, &case).as_slice() {
                [] => insta::assert_snapshot!(name, source(&case)),
                lacking => insta::assert_snapshot!(format!("{name}_lacks"), lacking.join("\n")),
            }
        }
    }
}

/// What stands around a program because of its stage.
#[test]
fn stages() {
    let compute = case(
        "",
        main_of(|f| {
            let x = f.add_local("x", Type::UINT);
            vec![assign(x, Expr::Builtin(Builtin::LocalX)), log(1, x)]
        }),
    );
    let of = |stage, launch: Option<Launch>| {
        let launch = launch.unwrap_or_else(|| compute.entry_point.launch.clone());
        let entry_point = EntryPoint { stage, launch, spirv: SpirvVersion::V1_6, ..compute.entry_point.clone() };
        Case { entry_point, ..compute.clone() }
    };
    let draw = Draw { layers: 2, samples: 4, ..Draw::new([3, 2], vec![[[0, 0], [6, 0], [0, 4]]]) };
    let mut fragment = of(Stage::Fragment, Some(Launch::Draw(draw)));
    fragment.data.flats = vec![vec![7]];
    let main = fragment.program.functions.last_mut().expect("there is one");
    let f = main.add_local("f", Type::scalar(Scalar::Float));
    main.body.extend([
        assign(f, Expr::subgroup(SubgroupOp::DFdxFine, [Expr::Cast(Scalar::Float, Box::new(Expr::Flat(0)))])),
        branch(Expr::Builtin(Builtin::Helper), [Stmt::Discard(Discard::Demote)], []),
    ]);
    for (name, case) in [("task", of(Stage::Task, None)), ("mesh", of(Stage::Mesh, None)), ("fragment", fragment)] {
        let case = fitted(Language::Hlsl, in_hlsl(case));
        assert_eq!(validate(&case), Ok(()), "{name}");
        assert_eq!(lacks(Language::Hlsl, &case), Vec::<String>::new(), "{name}");
        insta::assert_snapshot!(format!("hlsl_{name}_shader"), source(&case));
    }
}

/// What Slang has and HLSL has not, and what it says in another way.
#[test]
fn operations_of_slang() {
    let case = in_slang(case(
        "",
        main_of(|f| {
            f.add_local("a", Type::UINT);
            f.add_local("m", Type::vector(Scalar::Uint, 4));
            vec![]
        }),
    ));
    let main = case.program.main().expect("there is one");
    let [a, m] = [0, 1].map(|var| move || Expr::Var(var));
    let clustered = |op| Expr::Subgroup(SubgroupCall { op, args: vec![a(), Expr::Uint(1)], cluster: Some(4) });
    let rows = [
        (Expr::subgroup(SubgroupOp::Rotate, [a(), Expr::Uint(1)]), "WaveRotate(a, 1u)"),
        (clustered(SubgroupOp::ClusteredRotate), "WaveClusteredRotate(a, 1u, 4u)"),
        (Expr::subgroup(SubgroupOp::Exclusive(Fold::Min), [a()]), "WavePrefixMin(a)"),
        (Expr::subgroup(SubgroupOp::Exclusive(Fold::Or), [a()]), "WavePrefixBitOr(a)"),
        (Expr::subgroup(SubgroupOp::Partitioned(Fold::Add), [a(), m()]), "WaveMultiSum(a, m)"),
        (Expr::subgroup(SubgroupOp::PartitionedInclusive(Fold::Max), [a(), m()]), "WaveMultiPrefixInclusiveMax(a, m)"),
        (Expr::Builtin(Builtin::LtMask), "WaveGetLaneLtMask()"),
        (Expr::Builtin(Builtin::SubgroupId), "WaveGetWaveIndex()"),
    ];
    for (expr, printed) in rows {
        assert_eq!(expression(&case, main, &expr), printed);
        assert_ne!(expression(&in_hlsl(case.clone()), main, &expr), printed);
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
