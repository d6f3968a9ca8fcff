//! What a device must offer to run a case.

use std::collections::BTreeSet;

use crate::case::{Case, SpirvVersion, SubgroupSize, Tier};
use crate::ops::Intrinsic;
use crate::subgroup::{Category, Param};
use crate::tree::{Builtin, Expr, Function, Stmt, SubgroupCall, walk_block};
use crate::types::{Scalar, Type};

/// What a device must offer to run a case. The limits of [`crate::validate`] are not repeated here: buffers and push constants
/// of every valid case fit on every device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Subgroup operations in compute shaders; basic and ballot always, for the lane map.
    pub categories: BTreeSet<Category>,
    /// The convergence tier: the weaker ones need nothing less, they promise less.
    pub tier: Tier,
    /// The SPIR-V version of the module.
    pub spirv: SpirvVersion,
    /// How the pipeline asks for its subgroup size (`subgroupSizeControl` unless it does not).
    pub subgroup_size: SubgroupSize,
    /// Whether the pipeline requires full subgroups (`computeFullSubgroups`; the x dimension of the workgroup must then be a
    /// multiple of the subgroup size, VUID-VkPipelineShaderStageCreateInfo 02757 to 02759).
    pub full_subgroups: bool,
    /// The least subgroup size with which the case is free of undefined behaviour: that of the largest cluster, and 4 for
    /// quad operations.
    pub min_subgroup_size: u32,
    /// Whether some `subgroupBroadcast` has a lane that is no constant of the module (`subgroupBroadcastDynamicId`;
    /// VUID-RuntimeSpirv-subgroupBroadcastDynamicId-06276 and 06277 are content with specialisation constants).
    pub broadcast_dynamic_id: bool,
    /// Types that a device may lack in which something is computed (`shaderInt8`, `shaderInt16`, `shaderInt64`, `shaderFloat16`,
    /// `shaderFloat64`).
    pub scalars: BTreeSet<Scalar>,
    /// Whether a subgroup operation works on a value of such a type other than `double` (`shaderSubgroupExtendedTypes`).
    pub extended_types: bool,
    /// Whether there are atomics on 64-bit integers in shared memory (`shaderSharedInt64Atomics`).
    pub shared_int64_atomics: bool,
    /// Whether the compiler is told what to expect and to assume (`shaderExpectAssume`).
    pub expect_assume: bool,
    /// Whether the module says its workgroup size by constants (`maintenance4`): the front end does so for specialised ones from
    /// SPIR-V 1.6 on, and before it by a built-in that needs nothing.
    pub local_size_id: bool,
    /// The dimensions of a workgroup (`maxComputeWorkGroupSize`).
    pub workgroup: [u32; 3],
    /// Invocations of a workgroup (`maxComputeWorkGroupInvocations`).
    pub invocations: u32,
    /// Workgroups in the dispatch (`maxComputeWorkGroupCount`).
    pub groups: [u32; 3],
}

/// What the case needs.
pub fn needs(case: &Case) -> Needs {
    let launch = &case.launch;
    let mut needs = Needs {
        categories: BTreeSet::from([Category::Basic, Category::Ballot]),
        tier: case.tier,
        spirv: launch.spirv,
        subgroup_size: launch.subgroup_size,
        full_subgroups: launch.full_subgroups,
        min_subgroup_size: 1,
        broadcast_dynamic_id: false,
        scalars: BTreeSet::new(),
        extended_types: false,
        shared_int64_atomics: false,
        expect_assume: false,
        local_size_id: launch.default_workgroup.is_some() && launch.spirv >= SpirvVersion::V1_6,
        workgroup: launch.workgroup,
        invocations: launch.invocations(),
        groups: launch.groups,
    };
    case.program.shared.iter().for_each(|array| needs.add_scalar(array.scalar));
    for function in &case.program.functions {
        declared_scalars(function).for_each(|scalar| needs.add_scalar(scalar));
        walk_block(&function.body, &mut |stmt| {
            if let Stmt::Barrier(op) = stmt {
                needs.categories.insert(op.info().category);
            }
            needs.expect_assume |= matches!(stmt, Stmt::Assume(_));
            if let Stmt::Atomic(atomic) = stmt {
                let array = case.program.shared.get(atomic.array as usize);
                needs.shared_int64_atomics |= array.is_some_and(|array| array.scalar.size() == 64);
            }
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| needs.add(expr, function)));
        });
    }
    needs
}

impl Needs {
    fn add_scalar(&mut self, scalar: Scalar) {
        if scalar.is_extended() {
            self.scalars.insert(scalar);
        }
    }

    fn add(&mut self, expr: &Expr, function: &Function) {
        scalar_of(expr).into_iter().for_each(|scalar| self.add_scalar(scalar));
        self.extended_types |= operated_scalar(expr, function).is_some_and(Scalar::is_extended_in_subgroups);
        self.categories.extend(category_of(expr));
        self.expect_assume |= matches!(expr, Expr::Intrinsic(Intrinsic::Expect, _));
        let Expr::Subgroup(call) = expr else { return };
        self.min_subgroup_size = self.min_subgroup_size.max(least_subgroup_size(call));
        let mut operands = call.op.info().params.iter().zip(&call.args);
        self.broadcast_dynamic_id |= operands
            .any(|(param, arg)| *param == Param::BroadcastLane && !matches!(arg, Expr::Uint(_) | Expr::Constant(_)));
    }
}

/// The scalar types of parameters, locals and result.
pub(crate) fn declared_scalars(function: &Function) -> impl Iterator<Item = Scalar> {
    declared_types(function).map(|ty| ty.scalar)
}

/// The types of parameters, locals and result.
pub(crate) fn declared_types(function: &Function) -> impl Iterator<Item = Type> {
    let params = function.params.iter().map(|param| param.ty);
    let locals = function.locals.iter().map(|local| local.ty);
    params.chain(locals).chain(function.result)
}

/// The scalar type that an expression by itself mentions, if any. All others come from variables.
pub(crate) fn scalar_of(expr: &Expr) -> Option<Scalar> {
    match expr {
        Expr::Cast(scalar, _) | Expr::Float(scalar, _) => Some(*scalar),
        Expr::Vector(ty, _) => Some(ty.scalar),
        _ => None,
    }
}

/// The scalar type of the value that a subgroup operation works on, if the expression is one.
pub(crate) fn operated_scalar(expr: &Expr, function: &Function) -> Option<Scalar> {
    let Expr::Subgroup(call) = expr else { return None };
    let takes_value = call.op.info().params.first() == Some(&Param::Value);
    call.args.first().filter(|_| takes_value)?.ty(function).map(|ty| ty.scalar)
}

/// The category of subgroup operations that an expression by itself belongs to, if any.
pub(crate) fn category_of(expr: &Expr) -> Option<Category> {
    match expr {
        Expr::Subgroup(call) => Some(call.op.info().category),
        // GL_KHR_shader_subgroup_ballot declares the masks, SPIR-V's GroupNonUniformBallot carries them.
        Expr::Builtin(Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask) => {
            Some(Category::Ballot)
        }
        _ => None,
    }
}

/// A cluster larger than the subgroup is undefined behaviour (semantics.md §1.7); a quad has four lanes.
pub(crate) fn least_subgroup_size(call: &SubgroupCall) -> u32 {
    match call.op.info().category {
        Category::Quad | Category::QuadControl => 4,
        _ => call.cluster.unwrap_or(1),
    }
}
