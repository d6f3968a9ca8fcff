//! What a device must offer, for small programs.

mod common;

use common::*;
use tangle_program::case::{SpirvVersion, SubgroupSize, Tier};
use tangle_program::needs::{Needs, needs};
use tangle_program::subgroup::{Category, Fold, SubgroupOp};
use tangle_program::tree::{Builtin, Expr, Stmt, SubgroupCall};
use tangle_program::types::{Scalar, Type};

fn of(value: Expr) -> Needs {
    needs(&case(
        "",
        main_of(|f| {
            let x = f.add_local("x", Type::UINT);
            vec![assign(x, value)]
        }),
    ))
}

#[test]
fn the_least() {
    let got = of(uint(1));
    let want = Needs {
        categories: [Category::Basic, Category::Ballot].into(),
        tier: Tier::Maximal,
        spirv: SpirvVersion::V1_3,
        subgroup_size: SubgroupSize::Default,
        full_subgroups: false,
        min_subgroup_size: 1,
        broadcast_dynamic_id: false,
        scalars: Default::default(),
        extended_types: false,
        shared_int64_atomics: false,
        expect_assume: false,
        local_size_id: false,
        workgroup: [8, 1, 1],
        invocations: 8,
        groups: [1, 1, 1],
    };
    assert_eq!(got, want);
}

#[test]
fn categories() {
    let one = |op| Expr::subgroup(op, [uint(1)]);
    let two = |op| Expr::subgroup(op, [uint(1), uint(0)]);
    let cluster = |op, args: &[Expr]| Expr::Subgroup(SubgroupCall { op, args: args.to_vec(), cluster: Some(16) });
    for (expr, category, size) in [
        (Expr::subgroup(SubgroupOp::Any, [Expr::Bool(true)]), Category::Vote, 1),
        (one(SubgroupOp::Inclusive(Fold::Max)), Category::Arithmetic, 1),
        (two(SubgroupOp::Shuffle), Category::Shuffle, 1),
        (two(SubgroupOp::ShuffleUp), Category::ShuffleRelative, 1),
        (cluster(SubgroupOp::Clustered(Fold::Add), &[uint(1)]), Category::Clustered, 16),
        (one(SubgroupOp::QuadSwapVertical), Category::Quad, 4),
        (two(SubgroupOp::Rotate), Category::Rotate, 1),
        (Expr::subgroup(SubgroupOp::QuadAny, [Expr::Bool(true)]), Category::QuadControl, 4),
        (one(SubgroupOp::Partition), Category::Partitioned, 1),
        (cluster(SubgroupOp::ClusteredRotate, &[uint(1), uint(1)]), Category::RotateClustered, 16),
        (Expr::Component(Box::new(Expr::Builtin(Builtin::GtMask)), 0), Category::Ballot, 1),
    ] {
        // Also where it is hidden in another expression.
        let got = of(Expr::unary(tangle_program::ops::UnaryOp::BitNot, expr));
        assert_eq!(got.categories, [Category::Basic, Category::Ballot, category].into());
        assert_eq!(got.min_subgroup_size, size, "{category:?}");
    }
}

#[test]
fn types() {
    let byte = |x| Expr::Cast(Scalar::Int8, Box::new(x));
    let float = |scalar| Expr::Float(scalar, 4);
    let add = |x| Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [x]);
    for (expr, scalars, extended) in [
        (add(uint(1)), [].as_slice(), false),
        (byte(add(uint(1))), &[Scalar::Int8], false),
        (add(byte(uint(1))), &[Scalar::Int8], true),
        (
            Expr::subgroup(SubgroupOp::Shuffle, [uint(1), Expr::Cast(Scalar::Uint, Box::new(byte(lane())))]),
            &[Scalar::Int8],
            false,
        ),
        (add(float(Scalar::Float)), &[], false),
        (add(float(Scalar::Float16)), &[Scalar::Float16], true),
        (add(float(Scalar::Double)), &[Scalar::Double], false),
    ] {
        let got = of(expr);
        assert_eq!((got.scalars, got.extended_types), (scalars.iter().copied().collect(), extended));
    }
}

#[test]
fn dynamic_broadcasts() {
    let broadcast = |lane| of(Expr::subgroup(SubgroupOp::Broadcast, [uint(1), lane])).broadcast_dynamic_id;
    assert!(!broadcast(uint(3)));
    assert!(broadcast(Expr::Uniform(0)));
}

#[test]
fn heads_of_loops_count() {
    let case = case(
        "",
        main_of(|f| {
            let (x, i) = (f.add_local("x", Type::UINT), f.add_local("i", Type::UINT));
            let rotated = Expr::subgroup(SubgroupOp::Rotate, [lane(), uint(1)]);
            vec![counted(i, uint(2), [assign(x, rotated)], [Stmt::Barrier(SubgroupOp::Barrier)])]
        }),
    );
    assert!(needs(&case).categories.contains(&Category::Rotate));
}
