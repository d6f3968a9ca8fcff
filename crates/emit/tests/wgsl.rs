//! WGSL that is printed: programs as snapshots, and what WGSL says in another way as a table.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::tour;
use common::*;
use tangle_analysis::validate::validate;
use tangle_emit::wgsl::without_subgroup_size;
use tangle_emit::{expression, fitted, lacks, source};
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Arm, Builtin, Expr, Label, Stmt};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::{Language, Variant};

fn in_wgsl(case: Case) -> Case {
    compiled_by("wgsl@tint", case)
}

fn compiled_by(front_end: &str, case: Case) -> Case {
    let variant: Variant = front_end.parse().expect("a variant");
    Case { variant, tier: Tier::Plain, ..case }
}

/// WGSL asks for subgroup operations; naga, which has them, does not know the extension.
#[test]
fn naga_is_not_asked_for_subgroups() {
    let enables =
        |front_end| source(&compiled_by(front_end, case("", main_of(|_| vec![])))).contains("enable subgroups;");
    assert_eq!(["wgsl@tint", "wgsl@naga", "wgsl@naga.patched"].map(enables), [true, false, false]);
}

/// A required size is said where WGSL can say it, and taken out without moving a line.
#[test]
fn a_required_size_is_an_attribute() {
    let shader = |front_end, subgroup_size, x| {
        let mut case = compiled_by(front_end, case("", main_of(|_| vec![])));
        case.entry_point.subgroup_size = subgroup_size;
        case.entry_point.workgroups_mut().size = [x, 3, 1];
        source(&case)
    };
    let plain = shader("wgsl@tint", SubgroupSize::Default, 32);
    let required = shader("wgsl@tint", SubgroupSize::Required(8), 32);
    assert!(required.contains("\nenable subgroup_size_control;\n"));
    assert!(required.contains("\n@subgroup_size(8)\n@compute @workgroup_size(32, 3, 1)\n"));
    let without = without_subgroup_size(&required);
    assert_eq!(without.lines().count(), required.lines().count());
    let written = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(written(&without), written(&plain));
    assert_eq!(without_subgroup_size(&plain), plain);
    let of =
        |front_end, x| shader(front_end, SubgroupSize::Required(8), x) == shader(front_end, SubgroupSize::Default, x);
    assert!(of("wgsl@tint", 12) && of("wgsl@naga", 32));
}

#[test]
fn programs() {
    for (name, case) in tour::programs() {
        let case = in_wgsl(case);
        // Some are for tier maximal only.
        if validate(&case).is_err() {
            continue;
        }
        let case = fitted(Language::Wgsl, case);
        assert_eq!(validate(&case), Ok(()), "{name}");
        match lacks(Language::Wgsl, &case).as_slice() {
            [] => insta::assert_snapshot!(format!("wgsl_{name}"), source(&case)),
            lacking => insta::assert_snapshot!(format!("wgsl_{name}_lacks"), lacking.join("\n")),
        }
    }
}

#[test]
fn expressions() {
    use BinaryOp::*;
    let case = in_wgsl(case(
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
    let less = |y| binary(a(), Lt, y);
    for (expr, want) in [
        (Expr::Int(i32::MIN), "i32(-2147483648)"),
        (Expr::Int(-3), "-3i"),
        (Expr::unary(UnaryOp::Neg, Expr::Int(-3)), "-(-3i)"),
        (Expr::unary(UnaryOp::Neg, a()), "0u - a"),
        (binary(Expr::unary(UnaryOp::Neg, a()), Add, a()), "(0u - a) + a"),
        (binary(c(), Xor, less(a())), "c != (a < a)"),
        (binary(binary(c(), Xor, c()), Xor, c()), "(c != c) != c"),
        (binary(binary(a(), Add, a()), Shl, a()), "(a + a) << a"),
        (Expr::Select(Box::new(less(a())), Box::new(a()), Box::new(Expr::Uint(1))), "select(1u, a, (a < a))"),
        (Expr::Intrinsic(Intrinsic::FindMsb, vec![a()]), "i32(firstLeadingBit(a))"),
        (Expr::Intrinsic(Intrinsic::FindMsb, vec![b()]), "firstLeadingBit(b)"),
        (Expr::Intrinsic(Intrinsic::BitfieldExtract, vec![a(), b(), Expr::Int(4)]), "extractBits(a, u32(b), u32(4i))"),
        (Expr::Intrinsic(Intrinsic::Mix, vec![a(), a(), c()]), "select(a, a, c)"),
        (Expr::Float(Scalar::Float, 7), "1.75f"),
        (Expr::subgroup(SubgroupOp::ShuffleXor, [a(), Expr::Uint(3)]), "subgroupShuffleXor(a, 3u)"),
        (Expr::subgroup(SubgroupOp::ShuffleXor, [a(), a()]), "subgroupShuffle(a, lane ^ a)"),
        (Expr::subgroup(SubgroupOp::Broadcast, [a(), Expr::Uint(0)]), "subgroupShuffle(a, 0u)"),
        (Expr::subgroup(SubgroupOp::Rotate, [a(), a()]), "subgroupShuffle(a, (lane + a) % subgroup_size)"),
    ] {
        assert_eq!(expression(&case, main, &expr), want);
    }
}

/// What WGSL has not is named, and left out of random cases where that is possible.
#[test]
fn lacking() {
    let log = |value| Stmt::Log { site: 1, values: vec![value] };
    let select = Expr::Select(
        Box::new(Expr::Bool(true)),
        Box::new(Expr::subgroup(SubgroupOp::Reduce(tangle_program::subgroup::Fold::Add), [Expr::Uint(1)])),
        Box::new(Expr::Uint(2)),
    );
    let falls = Stmt::Switch {
        selector: Expr::Builtin(Builtin::LocalIndex),
        arms: vec![
            Arm { labels: vec![Label::Case(1)], body: vec![log(Expr::Uint(1))] },
            Arm { labels: vec![Label::Default], body: vec![] },
        ],
        control: Default::default(),
    };
    for (stmt, what) in [
        (log(Expr::Component(Box::new(Expr::Builtin(Builtin::LtMask)), 0)), "LtMask in WGSL"),
        (log(select), "?: that evaluates one of its values in WGSL"),
        (log(binary(Expr::Uint(3), BinaryOp::Shl, Expr::Uint(31))), "constants that a compiler refuses in WGSL"),
        (Stmt::SubgroupBarrier(SubgroupOp::Barrier), "subgroupBarrier in WGSL"),
        (falls, "fall through in WGSL"),
    ] {
        let case = in_wgsl(case("", main_of(|_| vec![stmt])));
        assert_eq!(lacks(Language::Wgsl, &case), [what]);
        assert_eq!(lacks(Language::Wgsl, &fitted(Language::Wgsl, case)), [""; 0], "{what}");
    }
}
