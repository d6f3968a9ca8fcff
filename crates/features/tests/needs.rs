//! What a device must offer, for small programs.

#[path = "../../program/tests/common/mod.rs"]
mod common;

use common::*;
use tangle_features::{Feature, FeatureSet, Needs, needs};
use tangle_program::case::{Case, DerivativeGroup, FloatControls, FloatMode, SpirvVersion, SubgroupSize, Tier};
use tangle_program::memory::{Shared, StorageClass};
use tangle_program::ops::Intrinsic;
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Resource;
use tangle_program::tree::{Builtin, Expr, Stmt, SubgroupCall};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::{Printing, Variant};

fn case_of(value: Expr) -> Case {
    case(
        "",
        main_of(|f| {
            let x = f.add_local("x", Type::UINT);
            vec![assign(x, value)]
        }),
    )
}

fn of(value: Expr) -> Needs {
    needs(&case_of(value))
}

/// What a case needs beside what every case needs: the lane map and the tier of the small programs here.
fn beside(needs: Needs) -> Vec<Feature> {
    let every = [Feature::SubgroupBasic, Feature::SubgroupBallot, Feature::MaximalReconvergence];
    let every: FeatureSet = every.into_iter().collect();
    assert!(every.without(needs.features).is_empty());
    needs.features.without(every).iter().collect()
}

#[test]
fn the_least() {
    let got = of(uint(1));
    assert_eq!(beside(got), []);
    assert_eq!((got.spirv, got.min_subgroup_size), (SpirvVersion::V1_3, 1));
    let plain = Case { tier: Tier::Plain, ..case_of(uint(1)) };
    assert_eq!(needs(&plain).features, [Feature::SubgroupBasic, Feature::SubgroupBallot].into_iter().collect());
}

#[test]
fn tiers_and_launches() {
    let changed = |change: fn(&mut Case)| {
        let mut case = Case { tier: Tier::Plain, ..case_of(uint(1)) };
        change(&mut case);
        let lanes: FeatureSet = [Feature::SubgroupBasic, Feature::SubgroupBallot].into_iter().collect();
        needs(&case).features.without(lanes).iter().collect::<Vec<_>>()
    };
    for (got, expected) in [
        (changed(|case| case.tier = Tier::SubgroupUniform), &[Feature::SubgroupUniformControlFlow][..]),
        (changed(|case| case.tier = Tier::Maximal), &[Feature::MaximalReconvergence]),
        (changed(|case| case.entry_point.subgroup_size = SubgroupSize::Varying), &[Feature::SubgroupSizeControl]),
        (
            changed(|case| {
                let controls = FloatControls::NONE.with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float);
                case.entry_point.float_controls = controls.with(FloatMode::DenormPreserve, Scalar::Double);
            }),
            &[Feature::ShaderFloat64, Feature::SignedZeroInfNanPreserveFloat32, Feature::DenormPreserveFloat64],
        ),
        (
            changed(|case| {
                let controls = FloatControls::NONE.with(FloatMode::RoundingModeRTZ, Scalar::Float16);
                case.entry_point.float_controls = controls.with(FloatMode::RoundingModeRTE, Scalar::Float);
            }),
            &[Feature::ShaderFloat16, Feature::RoundingModeRTEFloat32, Feature::RoundingModeRTZFloat16],
        ),
        (changed(|case| case.entry_point.subgroup_size = SubgroupSize::Required(8)), &[Feature::SubgroupSizeControl]),
        (changed(|case| case.entry_point.full_subgroups = true), &[Feature::ComputeFullSubgroups]),
        (
            changed(|case| case.entry_point.workgroups_mut().derivative_group = Some(DerivativeGroup::Quads)),
            &[Feature::ComputeDerivativeGroupQuads, Feature::ComputeShaderDerivativesNv],
        ),
        (
            changed(|case| {
                case.entry_point.workgroups_mut().derivative_group = Some(DerivativeGroup::Linear);
                case.variant = Variant::Printed(Printing::PLAIN);
            }),
            &[Feature::ComputeDerivativeGroupLinear],
        ),
        (changed(|case| case.entry_point.workgroups_mut().default_size = Some([1; 3])), &[]),
        (
            changed(|case| {
                case.entry_point.workgroups_mut().default_size = Some([1; 3]);
                case.entry_point.spirv = SpirvVersion::V1_6;
            }),
            &[Feature::Maintenance4],
        ),
    ] {
        assert_eq!(got, expected);
    }
}

#[test]
fn categories() {
    let one = |op| Expr::subgroup(op, [uint(1)]);
    let two = |op| Expr::subgroup(op, [uint(1), uint(0)]);
    let cluster = |op, args: &[Expr]| Expr::Subgroup(SubgroupCall { op, args: args.to_vec(), cluster: Some(16) });
    for (expr, features, size) in [
        (Expr::subgroup(SubgroupOp::Any, [Expr::Bool(true)]), &[Feature::SubgroupVote][..], 1),
        (one(SubgroupOp::Inclusive(Fold::Max)), &[Feature::SubgroupArithmetic], 1),
        (two(SubgroupOp::Shuffle), &[Feature::SubgroupShuffle], 1),
        (two(SubgroupOp::ShuffleUp), &[Feature::SubgroupShuffleRelative], 1),
        (cluster(SubgroupOp::Clustered(Fold::Add), &[uint(1)]), &[Feature::SubgroupClustered], 16),
        (one(SubgroupOp::QuadSwapVertical), &[Feature::SubgroupQuad], 4),
        (two(SubgroupOp::Rotate), &[Feature::SubgroupRotate], 1),
        (Expr::subgroup(SubgroupOp::QuadAny, [Expr::Bool(true)]), &[Feature::SubgroupVote, Feature::QuadControl], 4),
        (one(SubgroupOp::Partition), &[Feature::SubgroupPartitioned, Feature::PartitionedNv], 1),
        (
            cluster(SubgroupOp::ClusteredRotate, &[uint(1), uint(1)]),
            &[Feature::SubgroupRotate, Feature::SubgroupRotateClustered],
            16,
        ),
        (Expr::Component(Box::new(Expr::Builtin(Builtin::GtMask)), 0), &[], 1),
    ] {
        // Also where it is hidden in another expression.
        let got = of(Expr::unary(tangle_program::ops::UnaryOp::BitNot, expr));
        assert_eq!((beside(got), got.min_subgroup_size), (features.to_vec(), size));
    }
}

#[test]
fn types() {
    let byte = |x| Expr::Cast(Scalar::Int8, Box::new(x));
    let float = |scalar| Expr::Float(scalar, 4);
    let add = |x| Expr::subgroup(SubgroupOp::Reduce(Fold::Add), [x]);
    let arithmetic = |features: &[Feature]| [&[Feature::SubgroupArithmetic], features].concat();
    for (expr, features) in [
        (add(uint(1)), arithmetic(&[])),
        (byte(add(uint(1))), arithmetic(&[Feature::ShaderInt8])),
        (add(byte(uint(1))), arithmetic(&[Feature::ShaderInt8, Feature::SubgroupExtendedTypes])),
        (
            Expr::subgroup(SubgroupOp::Shuffle, [uint(1), Expr::Cast(Scalar::Uint, Box::new(byte(lane())))]),
            vec![Feature::SubgroupShuffle, Feature::ShaderInt8],
        ),
        (add(float(Scalar::Float)), arithmetic(&[])),
        (add(float(Scalar::Float16)), arithmetic(&[Feature::ShaderFloat16, Feature::SubgroupExtendedTypes])),
        (add(float(Scalar::Double)), arithmetic(&[Feature::ShaderFloat64])),
    ] {
        assert_eq!(beside(of(expr)), features);
    }
}

#[test]
fn dynamic_broadcasts() {
    let broadcast = |lane| beside(of(Expr::subgroup(SubgroupOp::Broadcast, [uint(1), lane])));
    assert_eq!(broadcast(uint(3)), []);
    assert_eq!(broadcast(Expr::Uniform(0)), [Feature::SubgroupBroadcastDynamicId]);
}

#[test]
fn arrays_of_descriptors() {
    let of_image = |non_uniform| {
        let index = Box::new(lane());
        beside(of(Expr::Resource(Resource { class: ResourceClass::StorageImage, index, non_uniform })))
    };
    let dynamic = Feature::StorageImageArrayDynamicIndexing;
    assert_eq!(of_image(false), [dynamic]);
    assert_eq!(of_image(true), [dynamic, Feature::StorageImageArrayNonUniformIndexing]);
}

#[test]
fn expected_values_and_assumptions() {
    assert_eq!(beside(of(Expr::Intrinsic(Intrinsic::Expect, vec![lane(), uint(1)]))), [Feature::ExpectAssume]);
    let case = case("", main_of(|_| vec![Stmt::Assume(Expr::Bool(true))]));
    assert_eq!(beside(needs(&case)), [Feature::ExpectAssume]);
}

/// VK_EXT_shader_subgroup_partitioned takes the same modules as VK_NV_shader_subgroup_partitioned.
#[test]
fn either_extension_has_partitions() {
    let needed = of(Expr::subgroup(SubgroupOp::Partition, [uint(1)])).features;
    let has = |extension| {
        let base = [Feature::SubgroupBasic, Feature::SubgroupBallot, Feature::MaximalReconvergence];
        let has: FeatureSet = base.into_iter().chain([Feature::SubgroupPartitioned]).chain(extension).collect();
        needed.without(has.with_implied()).is_empty()
    };
    assert!(has(Some(Feature::PartitionedNv)));
    assert!(has(Some(Feature::PartitionedExt)));
    assert!(!has(None));
}

#[test]
fn heads_of_loops_count() {
    let case = case(
        "",
        main_of(|f| {
            let (x, i) = (f.add_local("x", Type::UINT), f.add_local("i", Type::UINT));
            let rotated = Expr::subgroup(SubgroupOp::Rotate, [lane(), uint(1)]);
            vec![counted(i, uint(2), [assign(x, rotated)], [Stmt::SubgroupBarrier(SubgroupOp::Barrier)])]
        }),
    );
    assert!(needs(&case).features.contains(Feature::SubgroupRotate));
}

/// Arrays of 8 and 16 bits: a feature more where they lie in a buffer.
#[test]
fn narrow_arrays() {
    use Feature as F;
    for (scalar, storage, features) in [
        (Scalar::Uint8, StorageClass::StorageBuffer, &[F::ShaderInt8, F::StorageBuffer8Bit][..]),
        (Scalar::Int16, StorageClass::StorageBuffer, &[F::ShaderInt16, F::StorageBuffer16Bit]),
        (Scalar::Uint8, StorageClass::Workgroup, &[F::ShaderInt8]),
        (Scalar::Uint, StorageClass::StorageBuffer, &[]),
    ] {
        let mut case = case_of(uint(1));
        case.program.shared = vec![Shared { name: "s".into(), scalar, len: 8, init: 0, parts: 1, storage }];
        assert_eq!(beside(needs(&case)), features, "{scalar:?} {storage:?}");
    }
}
