//! What expressions and functions use by themselves: types that GLSL lacks, categories of subgroup operations.

use std::collections::BTreeSet;

use crate::ops::Gives;
use crate::resource::ResourceClass;
use crate::subgroup::{Category, Param, Reach};
use crate::tree::{Builtin, Expr, Function, Program, SubgroupCall, walk_block};
use crate::types::{Scalar, Type};

/// The scalar types of parameters, locals and result.
pub fn declared_scalars(function: &Function) -> impl Iterator<Item = Scalar> {
    declared_types(function).flat_map(Type::scalars)
}

/// The types of parameters, locals and result.
pub fn declared_types(function: &Function) -> impl Iterator<Item = Type> {
    let params = function.params.iter().map(|param| param.ty);
    let locals = function.locals.iter().map(|local| local.ty);
    params.chain(locals).chain(function.result)
}

/// The scalar type that an expression by itself mentions, if any; of packed values and bits, the unsigned one of its size. All others come from
/// variables.
pub fn scalar_of(expr: &Expr) -> Option<Scalar> {
    match expr {
        Expr::Intrinsic(op, _) => match op.info().gives {
            Gives::Whole(size) | Gives::Parts(size) | Gives::BitsOf(size) => {
                Scalar::INTEGERS.into_iter().find(|scalar| scalar.size() == size && !scalar.is_signed())
            }
            // The other one comes from the operand.
            Gives::Float | Gives::Bits => None,
            Gives::Same | Gives::Int | Gives::Bool => None,
        },
        Expr::Cast(scalar, _) | Expr::Float(scalar, _) => Some(*scalar),
        // A nested aggregate is made of values that mention theirs.
        Expr::Vector(ty, _) if !ty.is_nested() => Some(ty.scalar),
        _ => None,
    }
}

/// The floating-point types that a rounded operation is computed in, if the expression is one: those of its operands and of its result.
pub fn rounded_scalars(expr: &Expr, function: &Function) -> impl Iterator<Item = Scalar> {
    let of = |expr: &Expr| {
        let Expr::Intrinsic(op, args) = expr else { return None };
        let (rounded, operands) = (op.rounded()?, args.first()?.ty(function)?.scalar);
        Some([rounded.source(operands), rounded.target(operands)])
    };
    of(expr).into_iter().flatten().flatten()
}

/// The scalar type of the value that a subgroup operation works on, if the expression is one.
pub fn operated_scalar(expr: &Expr, function: &Function) -> Option<Scalar> {
    let Expr::Subgroup(call) = expr else { return None };
    let takes_value = call.op.info().params.first() == Some(&Param::Value);
    call.args.first().filter(|_| takes_value)?.ty(function).map(|ty| ty.scalar)
}

/// The category of subgroup operations that an expression by itself belongs to, if any.
pub fn category_of(expr: &Expr) -> Option<Category> {
    match expr {
        Expr::Subgroup(call) => Some(call.op.info().category),
        // GL_KHR_shader_subgroup_ballot declares the masks, SPIR-V's GroupNonUniformBallot carries them.
        Expr::Builtin(Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask) => {
            Some(Category::Ballot)
        }
        _ => None,
    }
}

/// A cluster larger than the subgroup is undefined behaviour (rule P10); a quad has four lanes.
pub fn least_subgroup_size(call: &SubgroupCall) -> u32 {
    match call.op.info().reach {
        Reach::Quad => 4,
        Reach::Own | Reach::Tangle => call.cluster.unwrap_or(1),
    }
}

/// The arrays of descriptors that a program has: those that it reads from.
pub fn resource_classes(program: &Program) -> BTreeSet<ResourceClass> {
    let mut classes = BTreeSet::new();
    let mut expr = |expr: &Expr| classes.extend(if let Expr::Resource(of) = expr { Some(of.class) } else { None });
    for function in &program.functions {
        walk_block(&function.body, &mut |stmt| stmt.direct_exprs().for_each(|part| part.walk(&mut expr)));
    }
    classes
}
