//! What a case needs of a device.

use std::collections::BTreeSet;

use tangle_program::case::{Case, EntryPoint, FloatControls, FloatMode, SpirvVersion, Stage, Tier};
use tangle_program::needs::{
    category_of, declared_scalars, least_subgroup_size, operated_scalar, rounded_scalars, scalar_of,
};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::Category;
use tangle_program::tree::{Expr, Function, Program, Stmt, walk_block};
use tangle_program::types::Scalar;

use crate::{Ask, Feature, FeatureRow, FeatureSet, TABLE};

/// What a device must offer to run a case. The limits of the validation are not repeated here: but for arrays of descriptors, buffers and push
/// constants of every valid case fit on every device. The launch of the case says the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The features that must be there.
    pub features: FeatureSet,
    /// The SPIR-V version of the module.
    pub spirv: SpirvVersion,
    /// The least subgroup size with which the case is free of undefined behaviour: that of the largest cluster, and 4 for quad
    /// operations.
    pub min_subgroup_size: u32,
}

/// What the case needs.
pub fn needs(case: &Case) -> Needs {
    let mut uses = Uses::new();
    uses.scalars.extend(case.program.shared.iter().map(|array| array.scalar));
    for function in &case.program.functions {
        uses.scalars.extend(declared_scalars(function));
        walk_block(&function.body, &mut |stmt| {
            uses.statement(&case.program, stmt);
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| uses.expression(function, expr)));
        });
    }
    if case.entry_point.workgroups().derivative_group.is_some() {
        uses.min_subgroup_size = uses.min_subgroup_size.max(4);
    }
    let features = uses.asked.union(having(|ask| match *ask {
        Ask::Always => true,
        Ask::Category(category) => uses.categories.contains(&category),
        Ask::Tier(tier) => case.tier == tier,
        Ask::Stage(stage) => case.entry_point.stage == stage,
        Ask::Scalar(scalar) => uses.scalars.contains(&scalar),
        Ask::Operand(scalar) => uses.operands.contains(&scalar),
        Ask::Resource(class) => uses.resources.contains(&class),
        Ask::NonUniform(class) => uses.non_uniform.contains(&class),
        Ask::EntryPoint(_, asks) => asks(&case.entry_point),
        Ask::Case(_, asks) => asks(case),
        Ask::Statement(..) | Ask::Expression(..) => false,
    }));
    Needs {
        features: features.with_required(),
        spirv: case.entry_point.spirv,
        min_subgroup_size: uses.min_subgroup_size,
    }
}

/// True if a statement of the program asks for a feature.
type AsksStatement = fn(&Program, &Stmt) -> bool;

/// True if an expression asks for it.
type AsksExpression = fn(&Expr) -> bool;

/// What is in a case.
struct Uses {
    categories: BTreeSet<Category>,
    scalars: BTreeSet<Scalar>,
    operands: BTreeSet<Scalar>,
    resources: BTreeSet<ResourceClass>,
    non_uniform: BTreeSet<ResourceClass>,
    /// Features that a statement or an expression asked for.
    asked: FeatureSet,
    min_subgroup_size: u32,
    /// What the statements and the expressions are asked, taken out of the table once.
    of_statements: Vec<(Feature, AsksStatement)>,
    of_expressions: Vec<(Feature, AsksExpression)>,
}

impl Uses {
    fn new() -> Uses {
        let asks = || TABLE.iter().flat_map(|row| row.asked_by.iter().map(|ask| (row.feature, *ask)));
        Uses {
            categories: BTreeSet::new(),
            scalars: BTreeSet::new(),
            operands: BTreeSet::new(),
            resources: BTreeSet::new(),
            non_uniform: BTreeSet::new(),
            asked: FeatureSet::EMPTY,
            min_subgroup_size: 1,
            of_statements: asks()
                .filter_map(
                    |(feature, ask)| if let Ask::Statement(_, asks) = ask { Some((feature, asks)) } else { None },
                )
                .collect(),
            of_expressions: asks()
                .filter_map(
                    |(feature, ask)| if let Ask::Expression(_, asks) = ask { Some((feature, asks)) } else { None },
                )
                .collect(),
        }
    }

    fn statement(&mut self, program: &Program, stmt: &Stmt) {
        if let Stmt::SubgroupBarrier(op) = stmt {
            self.categories.insert(op.info().category);
        }
        let asking = self.of_statements.iter().filter(|(_, asks)| asks(program, stmt));
        self.asked.extend(asking.map(|(feature, _)| *feature));
    }

    fn expression(&mut self, function: &Function, expr: &Expr) {
        self.scalars.extend(scalar_of(expr));
        self.scalars.extend(rounded_scalars(expr, function));
        self.operands.extend(operated_scalar(expr, function));
        self.categories.extend(category_of(expr));
        let asking = self.of_expressions.iter().filter(|(_, asks)| asks(expr));
        self.asked.extend(asking.map(|(feature, _)| *feature));
        if let Expr::Resource(resource) = expr {
            self.resources.insert(resource.class);
            self.non_uniform.extend(resource.non_uniform.then_some(resource.class));
        }
        if let Expr::Subgroup(call) = expr {
            self.min_subgroup_size = self.min_subgroup_size.max(least_subgroup_size(call));
        }
    }
}

/// The features that something asks for.
fn having(is_asked: impl Fn(&Ask) -> bool) -> FeatureSet {
    TABLE.iter().filter(|row| row.asked_by.iter().any(&is_asked)).map(|row| row.feature).collect()
}

/// The features behind a category of subgroup operations.
pub fn for_category(category: Category) -> FeatureSet {
    having(|ask| matches!(ask, Ask::Category(of) if *of == category)).with_required()
}

/// The features behind a convergence tier; none for `plain`.
pub fn for_tier(tier: Tier) -> FeatureSet {
    having(|ask| matches!(ask, Ask::Tier(of) if *of == tier)).with_required()
}

/// The execution mode with which a module has the promise of a tier (SPV_KHR_maximal_reconvergence, SPV_KHR_subgroup_uniform_control_flow); none for
/// `plain`.
pub fn mode_of_tier(tier: Tier) -> Option<spirv::ExecutionMode> {
    let asks = |row: &&FeatureRow| row.asked_by.iter().any(|ask| matches!(ask, Ask::Tier(of) if *of == tier));
    TABLE.iter().filter(asks).find_map(|row| row.spirv.execution_modes.first().copied())
}

/// The features behind a mode of floats.
pub fn for_float_control(mode: FloatMode, scalar: Scalar) -> FeatureSet {
    let asking = EntryPoint {
        float_controls: FloatControls::NONE.with(mode, scalar),
        ..EntryPoint::compute([1; 3], [1; 3], SpirvVersion::V1_3)
    };
    let plain = EntryPoint::compute([1; 3], [1; 3], SpirvVersion::V1_3);
    having(|ask| matches!(ask, Ask::EntryPoint(_, asks) if asks(&asking) && !asks(&plain))).with_required()
}

/// The features behind a stage; none for compute.
pub fn for_stage(stage: Stage) -> FeatureSet {
    having(|ask| matches!(ask, Ask::Stage(of) if *of == stage)).with_required()
}

/// The features that stages ask for, and nothing of a compute shader does.
pub fn of_stages_only() -> FeatureSet {
    let is_of_stages =
        |row: &&FeatureRow| !row.asked_by.is_empty() && row.asked_by.iter().all(|ask| matches!(ask, Ask::Stage(_)));
    TABLE.iter().filter(is_of_stages).map(|row| row.feature).collect()
}

/// The features behind arrays of descriptors of a class, with indices that differ between invocations.
pub fn for_resource(class: ResourceClass) -> FeatureSet {
    having(|ask| matches!(ask, Ask::Resource(of) | Ask::NonUniform(of) if *of == class)).with_required()
}

/// The features behind a type in which something is computed and on which subgroup operations work; none for those of GLSL without
/// extensions.
pub fn for_scalar(scalar: Scalar) -> FeatureSet {
    having(|ask| matches!(ask, Ask::Scalar(of) | Ask::Operand(of) if *of == scalar)).with_required()
}
