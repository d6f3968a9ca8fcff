//! The rules of expressions: types, and operands for which something would be undefined.

use smallvec::SmallVec;
use tangle_program::case::{FloatMode, SpirvVersion, SubgroupSize};
use tangle_program::float;
use tangle_program::memory::Shared;
use tangle_program::needs;
use tangle_program::ops::{self, BinaryOp, Intrinsic};
use tangle_program::subgroup::{MAX_SUBGROUP_SIZE, Param, SubgroupOp, is_subgroup_size};
use tangle_program::tree::Resource;
use tangle_program::tree::{Builtin, Expr, Function, Load, SubgroupCall};
use tangle_program::types::{Kind, Scalar, Type};

use super::checker::{Checker, Enclosing};
use super::invalid::{At, Checked, Invalid, invalid, refuse};
use super::rounding;
use crate::bounds::Interval;
use crate::info::ExprInfo;
use crate::uniform::Uniformity;

/// The type of an expression of a function, after a check of everything below it. (Whether inputs, uniforms and push
/// constants exist is up to the whole case; whether operands are in range, to [`validate`](super::validate).)
pub fn type_of(expr: &Expr, function: &Function) -> Result<Type, Invalid> {
    let operand = |(i, operand)| type_of(operand, function).at(|| segment(expr, i));
    let tys = expr.operands().enumerate().map(operand).collect::<Checked<Vec<Type>>>()?;
    type_from(expr, function, &tys)
}

/// The type of an expression, `tys` being those of its operands.
fn type_from(expr: &Expr, function: &Function, tys: &[Type]) -> Checked<Type> {
    only_singles(expr, tys)?;
    match (expr, tys) {
        (Expr::Bool(_), _) => Ok(Type::BOOL),
        (Expr::Int(_), _) => Ok(Type::INT),
        (Expr::Uint(_) | Expr::Input(_) | Expr::Flat(_) | Expr::Uniform(_) | Expr::Push(_) | Expr::Constant(_), _) => {
            Ok(Type::UINT)
        }
        (Expr::Float(scalar, _), _) if scalar.is_float() => Ok(Type::scalar(*scalar)),
        (Expr::Float(scalar, _), _) => {
            invalid(format!("{} is no floating-point type", scalar.name())).at(|| "float".into())
        }
        (Expr::Var(var), _) => match function.var_type(*var) {
            Some(ty) => Ok(ty),
            None => invalid(format!("there is no variable {var}")).at(|| "var".into()),
        },
        (Expr::Builtin(builtin), _) => Ok(builtin.ty()),
        (Expr::Unary(op, _), &[x]) => {
            if op.info().takes.admits(x.scalar) {
                Ok(x)
            } else {
                mismatch(expr, op.info().name, tys)
            }
        }
        (Expr::Binary(op, ..), &[x, y]) => {
            binary_type(*op, x, y).map_or_else(|| mismatch(expr, op.info().name, tys), Ok)
        }
        (Expr::Select(..), &[cond, x, y]) if cond == Type::BOOL && x == y => Ok(x),
        (Expr::Select(..), _) => mismatch(expr, "Select", tys),
        // The way of a float to other integers is by int.
        (Expr::Cast(scalar, _), &[x]) if x.scalar.is_float() && scalar.is_integer() && *scalar != Scalar::Int => {
            mismatch(expr, scalar.name(), tys)
        }
        (Expr::Cast(scalar, _), &[x]) => Ok(Type { scalar: *scalar, ..x }),
        (Expr::Intrinsic(op, _), _) => intrinsic_type(expr, *op, tys),
        (Expr::Vector(ty, _), _) => vector_type(expr, *ty, tys),
        (Expr::Component(_, c), &[x]) if x.is_scalar() || !x.is_single() || *c >= x.width => {
            invalid(format!("{x} has no component {c}")).at(|| "composite_extract".into())
        }
        (Expr::Component(..), &[x]) => Ok(Type::scalar(x.scalar)),
        (Expr::Subgroup(call), _) => subgroup_type(expr, call, tys),
        (Expr::Element(_, index), &[x, Type::UINT]) if !x.is_scalar() => part_of(x, index).at(|| segment(expr, 1)),
        (Expr::Load(load), &[Type::UINT]) => Ok(Type::scalar(load.scalar)),
        (Expr::Resource(_) | Expr::InputOf(..), &[Type::UINT]) => Ok(Type::UINT),
        (Expr::Element(..) | Expr::Load(_) | Expr::Resource(_) | Expr::InputOf(..), _) => mismatch(expr, "[]", tys),
        (Expr::Unary(..) | Expr::Binary(..) | Expr::Cast(..) | Expr::Component(..), _) => {
            mismatch(expr, tag(expr), tys)
        }
    }
}

/// Operands are scalars or vectors, except what an index picks from, and what aggregates of aggregates are made of.
fn only_singles(expr: &Expr, tys: &[Type]) -> Checked {
    let first = match expr {
        Expr::Vector(ty, _) if ty.is_nested() => return Ok(()),
        Expr::Element(..) => 1,
        _ => 0,
    };
    match tys.iter().enumerate().skip(first).find(|(_, ty)| !ty.is_single()) {
        Some((i, ty)) => invalid(format!("{ty} is no operand of anything but an index")).at(|| segment(expr, i)),
        None => Ok(()),
    }
}

fn vector_type(expr: &Expr, ty: Type, tys: &[Type]) -> Checked<Type> {
    if ty.parts().count() != tys.len() || tys.is_empty() {
        return invalid(format!("{ty} from {} components", tys.len())).at(|| "composite_construct".into());
    }
    match tys.iter().zip(ty.parts()).position(|(component, part)| *component != part) {
        Some(i) => invalid(format!("{} as a component of {ty}", tys[i])).at(|| segment(expr, i)),
        None => Ok(ty),
    }
}

/// Where an operand stands in the JSON form.
fn segment(parent: &Expr, number: usize) -> String {
    match parent {
        Expr::Unary(..) => "unary[1]".into(),
        Expr::Binary(..) => format!("binary[{}]", number + 1),
        Expr::Select(..) => format!("select[{number}]"),
        Expr::Cast(..) => "convert[1]".into(),
        Expr::Intrinsic(..) => format!("ext_inst[1][{number}]"),
        Expr::Vector(..) => format!("composite_construct[1][{number}]"),
        Expr::Component(..) => "composite_extract[0]".into(),
        Expr::Subgroup(_) => format!("group_non_uniform.args[{number}]"),
        Expr::Load(_) => "load.index".into(),
        Expr::Resource(_) => "resource.index".into(),
        Expr::InputOf(..) => "input_of[1]".into(),
        Expr::Element(..) => format!("access_chain[{number}]"),
        Expr::Bool(_)
        | Expr::Int(_)
        | Expr::Uint(_)
        | Expr::Float(..)
        | Expr::Var(_)
        | Expr::Builtin(_)
        | Expr::Input(_)
        | Expr::Flat(_)
        | Expr::Uniform(_)
        | Expr::Push(_)
        | Expr::Constant(_) => String::new(),
    }
}

/// The name of an expression in the JSON form.
fn tag(expr: &Expr) -> &'static str {
    match expr {
        Expr::Bool(_) => "bool",
        Expr::Int(_) => "i32",
        Expr::Uint(_) => "u32",
        Expr::Float(..) => "float",
        Expr::Var(_) => "var",
        Expr::Builtin(_) => "built_in",
        Expr::Input(_) => "input",
        Expr::InputOf(..) => "input_of",
        Expr::Flat(_) => "flat",
        Expr::Uniform(_) => "uniform",
        Expr::Push(_) => "push_constant",
        Expr::Constant(_) => "spec_constant",
        Expr::Unary(..) => "unary",
        Expr::Binary(..) => "binary",
        Expr::Select(..) => "select",
        Expr::Cast(..) => "convert",
        Expr::Intrinsic(..) => "ext_inst",
        Expr::Vector(..) => "composite_construct",
        Expr::Component(..) => "composite_extract",
        Expr::Subgroup(_) => "group_non_uniform",
        Expr::Load(_) => "load",
        Expr::Resource(_) => "resource",
        Expr::Element(..) => "access_chain",
    }
}

fn mismatch(expr: &Expr, operation: &str, tys: &[Type]) -> Checked<Type> {
    let tys: Vec<String> = tys.iter().map(Type::to_string).collect();
    invalid(format!("{operation} does not take ({})", tys.join(", "))).at(|| tag(expr).into())
}

fn is_number(ty: Type) -> bool {
    ty.scalar != Scalar::Bool
}

fn binary_type(op: BinaryOp, x: Type, y: Type) -> Option<Type> {
    let (uints, bools) = (Type { scalar: Scalar::Uint, ..x }, Type { scalar: Scalar::Bool, ..x });
    let (fits, ty) = match op.info().kind {
        ops::Kind::Logical => (x == Type::BOOL && y == Type::BOOL, Type::BOOL),
        ops::Kind::Equality => (x == y, bools),
        ops::Kind::Order => (is_number(x) && x == y, bools),
        ops::Kind::Shift => (x.scalar.is_integer() && y == uints, x),
        ops::Kind::Arithmetic => (is_number(x) && x == y, x),
        ops::Kind::Integer => (x.scalar.is_integer() && x == y, x),
    };
    fits.then_some(ty)
}

fn intrinsic_type(expr: &Expr, op: Intrinsic, tys: &[Type]) -> Checked<Type> {
    let info = op.info();
    if tys.len() != info.operands() {
        return invalid(format!("{} takes {}, not {}", info.name, info.operands(), tys.len()))
            .at(|| "ext_inst[1]".into());
    }
    let fits = tys.iter().enumerate().all(|(i, ty)| *ty == info.operand_type(i, tys[0]));
    info.result(tys[0]).filter(|_| fits).map_or_else(|| mismatch(expr, info.name, tys), Ok)
}

fn subgroup_type(expr: &Expr, call: &SubgroupCall, tys: &[Type]) -> Checked<Type> {
    let info = call.op.info();
    if tys.len() != info.params.len() {
        return invalid(format!("{} takes {}, not {}", info.name, info.params.len(), tys.len()))
            .at(|| "group_non_uniform.args".into());
    }
    let mut value = None;
    for (i, (param, &ty)) in info.params.iter().zip(tys).enumerate() {
        let fits = match param {
            Param::Value => {
                value = Some(ty);
                info.scalars.contains(&ty.scalar)
            }
            Param::Predicate => ty == Type::BOOL,
            Param::Mask | Param::UniformMask | Param::Partition => ty == Type::MASK,
            Param::Uint | Param::BroadcastLane | Param::UniformUint => ty == Type::UINT,
            Param::QuadIndex => matches!(call.args[i], Expr::Uint(0..=3) | Expr::Constant(_)),
        };
        if !fits {
            let what = match param {
                Param::QuadIndex => "a literal 0u to 3u or a specialisation constant".to_owned(),
                Param::Value => format!("a vector or scalar of {}", names_of(info.scalars)),
                Param::Predicate => "a bool".to_owned(),
                Param::Mask | Param::UniformMask | Param::Partition => "a u32x4".to_owned(),
                Param::Uint | Param::BroadcastLane | Param::UniformUint => "a u32".to_owned(),
            };
            return invalid(format!("{} takes {what} here, not {ty}", info.name)).at(|| segment(expr, i));
        }
    }
    cluster(call).at(|| "group_non_uniform.cluster".into())?;
    match info.result_type(value) {
        Some(ty) => Ok(ty),
        None => invalid(format!("{} has no result: it is a statement", info.name)).at(|| "group_non_uniform.op".into()),
    }
}

fn names_of(scalars: &[Scalar]) -> String {
    scalars.iter().map(|scalar| scalar.name()).collect::<Vec<_>>().join(", ")
}

/// GL_KHR_shader_subgroup: a constant power of two, at least 1; more than the subgroup size is undefined behaviour.
fn cluster(call: &SubgroupCall) -> Checked {
    let info = call.op.info();
    match call.cluster {
        None if info.clustered => invalid(format!("{} needs a cluster size", info.name)),
        Some(_) if !info.clustered => invalid(format!("{} has no cluster size", info.name)),
        Some(n) if !is_subgroup_size(n) => {
            invalid(format!("a cluster size of {n}: must be a power of two up to {MAX_SUBGROUP_SIZE}"))
        }
        _ => Ok(()),
    }
}

impl Checker<'_, '_> {
    /// Checks an expression completely, everything below it first.
    pub(super) fn expr(&self, expr: &Expr, place: Enclosing) -> Checked<ExprInfo> {
        let mut known = Vec::new();
        self.below(expr, place, &mut known)?;
        if expr.is_preserved() {
            return invalid("is only kept as bits, by FloatToBits").at(|| tag(expr).into());
        }
        Ok(known.pop().expect("it was just found out"))
    }

    /// Checks an expression, and puts what is known of it on the stack.
    fn below(&self, expr: &Expr, place: Enclosing, known: &mut Vec<ExprInfo>) -> Checked {
        let first = known.len();
        for (i, operand) in expr.operands().enumerate() {
            self.below(operand, place, known).at(|| segment(expr, i))?;
        }
        let operands = &known[first..];
        let tys: SmallVec<[Type; 4]> = operands.iter().filter_map(|operand| operand.ty).collect();
        type_from(expr, self.function, &tys)?;
        self.guard(expr, operands, place)?;
        let info = self.scope.info_from(expr, operands);
        if let Some(i) = expr.operands().position(|operand| operand.is_preserved() && !takes_preserved(expr, operand)) {
            return invalid("may be a NaN, an infinity or a zero of either sign, which this does not keep")
                .at(|| segment(expr, i));
        }
        if info.scalar().is_float() && info.extent.is_none() && !expr.is_preserved() {
            return invalid("may not be exact").at(|| tag(expr).into());
        }
        known.truncate(first);
        known.push(info);
        Ok(())
    }

    /// Checks an expression that must have this type.
    pub(super) fn expr_of(&self, expr: &Expr, expected: Type, place: Enclosing) -> Checked<ExprInfo> {
        let info = self.expr(expr, place)?;
        match info.ty {
            Some(ty) if ty != expected => invalid(format!("is {ty}, must be {expected}")),
            _ => Ok(info),
        }
    }

    /// What the values of the operands must be, so that the expression is defined: `operands` says what is known of them.
    fn guard(&self, expr: &Expr, operands: &[ExprInfo], place: Enclosing) -> Checked {
        let data = &self.case.data;
        match (expr, operands) {
            (Expr::Input(k), _) => exists(*k, data.inputs.len(), "input"),
            (Expr::InputOf(k, _), [index]) => {
                exists(*k, data.inputs.len(), "input_of[0]")?;
                self.of_invocation(index).at(|| "input_of[1]".into())
            }
            (Expr::Flat(k), _) => exists(*k, data.flats.len(), "flat"),
            (Expr::Uniform(k), _) => exists(*k, data.uniforms.len(), "uniform"),
            (Expr::Push(k), _) => exists(*k, data.push.len(), "push_constant"),
            (Expr::Constant(k), _) => exists(*k, data.constants.len(), "spec_constant"),
            (Expr::Binary(BinaryOp::Div, ..), [x, y]) => quotient(x, y, |i| format!("binary[{}]", i + 1)),
            (Expr::Binary(BinaryOp::Mod, ..), [x, y]) => remainder(x, y),
            (Expr::Binary(BinaryOp::Shl | BinaryOp::Shr, ..), [x, y]) => shift(x, y).at(|| "binary[2]".into()),
            (Expr::Binary(BinaryOp::And | BinaryOp::Or, ..), [x, _]) => {
                defined(x, "decides whether the right operand is evaluated").at(|| "binary[1]".into())
            }
            (Expr::Select(..), [cond, ..]) => defined(cond, "is a condition").at(|| "select[0]".into()),
            (Expr::Cast(to, _), [x]) if to.is_integer() && x.scalar().is_float() => {
                // SPIR-V 1.6 §3.3.11: undefined behaviour if the integer cannot be represented.
                let greatest = f64::from(to.size() - 1).exp2();
                if x.extent.is_some_and(|extent| extent.most >= greatest) {
                    return invalid(format!("may be too large for {}", to.name())).at(|| "convert[1]".into());
                }
                defined(x, "is converted to an integer").at(|| "convert[1]".into())
            }
            (Expr::Intrinsic(op, args), _) => {
                self.float_controls(*op, operands).at(|| "ext_inst[0]".into())?;
                if let Some(rounded) = op.rounded() {
                    let asked = self.case.entry_point.float_controls;
                    return rounding::rounded(rounded, asked, args, operands, self.function);
                }
                intrinsic(*op, args, operands).at(|| "ext_inst[1]".into())
            }
            (Expr::Subgroup(call), _) => self.subgroup(call, operands, place).at(|| "group_non_uniform".into()),
            (Expr::Load(load), [index]) => self.load(load, index).at(|| "load".into()),
            (Expr::Resource(resource), [index]) => {
                self.resource(resource, index).at(|| "index".into()).at(|| "resource".into())
            }
            (Expr::Vector(ty, _), parts) if ty.is_nested() => stored(*ty, parts),
            (Expr::Element(_, index), [x, known]) => {
                element(x.ty, index, known).map(drop).at(|| "access_chain[1]".into())
            }
            (
                Expr::Bool(_)
                | Expr::Int(_)
                | Expr::Uint(_)
                | Expr::Float(..)
                | Expr::Var(_)
                | Expr::Builtin(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Select(..)
                | Expr::Cast(..)
                | Expr::Vector(..)
                | Expr::Component(..)
                | Expr::Load(_)
                | Expr::Resource(_)
                | Expr::InputOf(..)
                | Expr::Element(..),
                _,
            ) => Ok(()),
        }
    }

    /// Preserved numbers need the modes that preserve them (docs/rules.md, rules F6 and F9).
    fn float_controls(&self, op: Intrinsic, operands: &[ExprInfo]) -> Checked {
        let Some(scalar) = operands.first().and_then(|bits| float::of_size(bits.scalar().size())) else {
            return Ok(());
        };
        let asked = self.case.entry_point.float_controls;
        let modes: &[FloatMode] = match op {
            Intrinsic::FromBits => &[FloatMode::SignedZeroInfNanPreserve],
            Intrinsic::FromAllBits => &[FloatMode::SignedZeroInfNanPreserve, FloatMode::DenormPreserve],
            _ => &[],
        };
        match modes.iter().find(|&&mode| !asked.has(mode, scalar)) {
            Some(mode) => invalid(format!("needs {} of {} bits", mode.name(), scalar.size())),
            None => Ok(()),
        }
    }

    /// The ordinal of an invocation of the launch.
    fn of_invocation(&self, index: &ExprInfo) -> Checked {
        let (range, invocations) = (index.range, self.case.entry_point.invocations());
        if !range.is_within(Interval::new(0, i128::from(invocations) - 1)) {
            refuse!("may be {} to {}, but there are {invocations} invocations", range.lo, range.hi);
        }
        defined(index, "is an index")
    }

    fn load(&self, load: &Load, index: &ExprInfo) -> Checked {
        let array = self.array(load.array)?;
        if load.scalar != array.scalar {
            return invalid(format!("'{}' holds {}", array.name, array.scalar.name())).at(|| "type".into());
        }
        in_range(index, array).at(|| "index".into())
    }

    /// Rule Y11: the index is in range, and the same in all invocations unless the access is non-uniform.
    fn resource(&self, resource: &Resource, index: &ExprInfo) -> Checked {
        let (range, count) = (index.range, self.case.data.resources.len());
        if !range.is_within(Interval::new(0, count as i128 - 1)) {
            refuse!("may be {} to {}, but there are {count} resources", range.lo, range.hi);
        }
        if !resource.non_uniform && index.uniformity != Uniformity::Everywhere {
            refuse!("must be the same in all invocations, by itself and visibly, or non-uniform");
        }
        defined(index, "is an index")
    }

    fn subgroup(&self, call: &SubgroupCall, operands: &[ExprInfo], place: Enclosing) -> Checked {
        let info = call.op.info();
        if let SubgroupSize::Required(size) = self.case.entry_point.subgroup_size {
            let least = needs::least_subgroup_size(call);
            if least > size {
                return invalid(format!("{} needs subgroups of {least}, but the launch asks for {size}", info.name))
                    .at(|| "op".into());
            }
        }
        let operands = info.params.iter().zip(call.args.iter().zip(operands));
        (0..).zip(operands).try_for_each(|(i, (param, (arg, known)))| {
            match param {
                Param::UniformMask | Param::UniformUint => uniform(known, place),
                Param::BroadcastLane => self.literal_early(arg).and_then(|()| uniform(known, place)),
                Param::Partition => partition(arg, known),
                Param::QuadIndex => self.quad_index(arg, known),
                Param::Value | Param::Predicate | Param::Mask | Param::Uint => Ok(()),
            }
            .at(|| format!("args[{i}]"))
        })
    }

    /// What must be constant is nothing but a literal before SPIR-V 1.5, for the front end.
    fn literal_early(&self, arg: &Expr) -> Checked {
        if self.case.entry_point.spirv < SpirvVersion::V1_5 && !matches!(arg, Expr::Uint(_)) {
            refuse!("must be a literal before SPIR-V 1.5");
        }
        Ok(())
    }

    /// SPIR-V 1.6 §3.3.23, OpGroupNonUniformQuadBroadcast: a constant in the quad.
    fn quad_index(&self, arg: &Expr, known: &ExprInfo) -> Checked {
        if !known.range.is_within(Interval::new(0, 3)) {
            refuse!("a quad has lanes 0 to 3");
        }
        self.literal_early(arg)
    }
}

/// Which expressions know what they give for a preserved operand: those that give one again, comparisons (docs/rules.md, rule F6), AllEqual
/// (rule F7), and what makes bits of it.
fn takes_preserved(expr: &Expr, operand: &Expr) -> bool {
    match expr {
        Expr::Binary(op, x, y) => op.is_comparison() && x.is_preserved() && y.is_preserved(),
        Expr::Intrinsic(Intrinsic::ToBits, _) => true,
        Expr::Subgroup(call) if call.op == SubgroupOp::AllEqual => true,
        Expr::Subgroup(call) => {
            expr.is_preserved() && call.args.first().is_some_and(|value| std::ptr::eq(value, operand))
        }
        _ => expr.is_preserved(),
    }
}

/// Rule P12: the operand is visibly a partition.
fn partition(arg: &Expr, known: &ExprInfo) -> Checked {
    if !is_partition(arg) {
        refuse!("must be a partition, by itself and visibly");
    }
    defined(known, "is a partition")
}

/// Rule P6: the operand is the same in all lanes that execute the operation.
fn uniform(known: &ExprInfo, place: Enclosing) -> Checked {
    if !known.uniformity.holds_in(place.tangles) {
        refuse!("must be uniform, by itself and visibly");
    }
    defined(known, "must be uniform")
}

/// An undefined value must not get here.
pub(super) fn defined(info: &ExprInfo, role: &str) -> Checked {
    if info.may_be_undefined {
        refuse!("{role}, but may be undefined");
    }
    Ok(())
}

/// The type of an element. GLSL 4.60 §5.11: an index out of range is undefined behaviour, and so is an undefined index. A member of a
/// struct is named.
pub(super) fn element(ty: Option<Type>, index: &Expr, known: &ExprInfo) -> Checked<Type> {
    let Some(ty) = ty else { return invalid("has no type") };
    let count = ty.parts().count();
    if count == 0 {
        refuse!("{ty} has no elements");
    }
    let range = known.range;
    if !range.is_within(Interval::new(0, count as i128 - 1)) {
        refuse!("may be {} to {}, but {ty} has {count} elements", range.lo, range.hi);
    }
    defined(known, "is an index")?;
    part_of(ty, index)
}

/// The type of a part. A member of a struct is named.
fn part_of(ty: Type, index: &Expr) -> Checked<Type> {
    if ty.kind() == Kind::Struct && index.literal().is_none() {
        refuse!("the member of a struct is a literal");
    }
    ty.part(index.literal()).map_or_else(|| invalid(format!("{ty} has no such element")), Ok)
}

/// What a nested aggregate is made of is as if it were stored to variables ([`crate::exact`]).
fn stored(ty: Type, parts: &[ExprInfo]) -> Checked {
    match parts.iter().zip(ty.parts()).position(|(known, part)| !known.fits(part)) {
        Some(number) => invalid("may be more than a part of a nested aggregate can hold")
            .at(|| format!("composite_construct[1][{number}]")),
        None => Ok(()),
    }
}

/// An index out of range is undefined behaviour, and so is an undefined index.
pub(super) fn in_range(index: &ExprInfo, array: &Shared) -> Checked {
    let range = index.range;
    if !range.is_within(Interval::new(0, i128::from(array.len) - 1)) {
        refuse!("may be {} to {}, but '{}' has {} elements", range.lo, range.hi, array.name, array.len);
    }
    defined(index, "is an index")
}

/// One of the elements that belong to the invocation (rule Y1: the others are those of other invocations).
pub(super) fn own_element(element: &ExprInfo, array: &Shared) -> Checked {
    let range = element.range;
    if !range.is_within(Interval::new(0, i128::from(array.parts) - 1)) {
        let Shared { name, parts, .. } = array;
        refuse!("may be {} to {}, but of '{name}' each invocation has {parts} elements", range.lo, range.hi);
    }
    defined(element, "is an index")
}

/// SPIR-V 1.6 §3.3.13: division by zero is undefined behaviour (rule N2).
fn divisor(y: &ExprInfo) -> Checked {
    if !y.is_nonzero {
        refuse!("divides, but may be 0");
    }
    defined(y, "divides")
}

/// SPIR-V 1.6 §3.3.13: INT_MIN / -1 is undefined behaviour, too. `operand` says where an operand stands.
fn quotient(x: &ExprInfo, y: &ExprInfo, operand: fn(usize) -> String) -> Checked {
    divisor(y).at(|| operand(1))?;
    if !y.range.contains(-1) {
        return Ok(());
    }
    if x.range.contains(least(x)) {
        return invalid("may be -1, while the dividend may be the least int").at(|| operand(1));
    }
    defined(x, "is divided by what may be -1").at(|| operand(0))
}

/// GLSL 4.60 §5.9: a remainder with a negative operand is undefined.
fn remainder(x: &ExprInfo, y: &ExprInfo) -> Checked {
    divisor(y).at(|| "binary[2]".into())?;
    match [x, y].iter().position(|operand| operand.range.lo < 0) {
        Some(i) => invalid("may be negative, but is an operand of %").at(|| format!("binary[{}]", i + 1)),
        None => Ok(()),
    }
}

/// The least value of the type of a number.
fn least(x: &ExprInfo) -> i128 {
    x.scalar().least().into()
}

/// SPIR-V 1.6 §3.3.14: a shift by the width of the base or more is undefined.
fn shift(base: &ExprInfo, amount: &ExprInfo) -> Checked {
    let (range, most) = (amount.range, base.scalar().size() - 1);
    if !range.is_within(Interval::new(0, most.into())) {
        refuse!("a shift by 0 to {most} is defined, this is {} to {}", range.lo, range.hi);
    }
    defined(amount, "is a shift amount")
}

/// GLSL 4.60 §8.3 and §8.8.
fn intrinsic(op: Intrinsic, args: &[Expr], operands: &[ExprInfo]) -> Checked {
    let range = |i: usize| operands[i].range;
    match op {
        Intrinsic::ToBits if !args[0].is_preserved() => {
            invalid("has no bits that are known: it was not made of bits").at(|| "[0]".into())
        }
        _ if operands[0].scalar().is_float() => float_clamp(op, args),
        Intrinsic::Clamp if range(1).hi > range(2).lo => {
            invalid(format!("clamp to {} at least, but {} at most", range(1).hi, range(2).lo))
        }
        Intrinsic::Abs if range(0).contains(least(&operands[0])) => {
            invalid("the absolute value of what may be the least int").at(|| "[0]".into())
        }
        Intrinsic::SignedRem | Intrinsic::SignedMod => quotient(&operands[0], &operands[1], |i| format!("[{i}]")),
        Intrinsic::BitfieldExtract => bit_field(operands, 1),
        Intrinsic::BitfieldInsert => bit_field(operands, 2),
        _ => Ok(()),
    }
}

/// Offset and number of bits, from the operand `first`.
fn bit_field(operands: &[ExprInfo], first: usize) -> Checked {
    let (offset, bits) = (&operands[first], &operands[first + 1]);
    for (i, operand) in [(first, offset), (first + 1, bits)] {
        if operand.range.lo < 0 {
            return invalid("may be negative").at(|| format!("[{i}]"));
        }
        defined(operand, "selects bits").at(|| format!("[{i}]"))?;
    }
    let most = offset.range.hi + bits.range.hi;
    if most > 32 {
        refuse!("offset and bits may be {most} together, more than 32");
    }
    Ok(())
}

/// The bounds of a clamp of floats are literals in order.
fn float_clamp(op: Intrinsic, args: &[Expr]) -> Checked {
    let literals = |expr: &Expr| -> Option<Vec<i32>> {
        let literal = |expr: &Expr| if let Expr::Float(_, quarters) = expr { Some(*quarters) } else { None };
        match expr {
            Expr::Vector(_, args) => args.iter().map(literal).collect(),
            _ => literal(expr).map(|quarters| vec![quarters]),
        }
    };
    if op != Intrinsic::Clamp {
        return Ok(());
    }
    match (literals(&args[1]), literals(&args[2])) {
        (Some(lo), Some(hi)) if lo.iter().zip(&hi).all(|(lo, hi)| lo <= hi) => Ok(()),
        (Some(_), Some(_)) => invalid("clamp to more at least than at most"),
        _ => invalid("the bounds of a clamp of floats are literals"),
    }
}

/// True if the values of all lanes that execute an operation on this mask are a valid partition of them
/// (GL_NV_shader_subgroup_partitioned §3.8), whatever the tier. Between the mask and the operation a tangle may grow by others that
/// made masks of their own lanes, which are disjoint from these, and may lose lanes, whose bits then do not matter (rule
/// R8). A mask that was kept in a variable may come from an earlier iteration, and proves nothing.
fn is_partition(mask: &Expr) -> bool {
    match mask {
        Expr::Builtin(Builtin::EqMask) => true,
        Expr::Subgroup(call) if call.op == SubgroupOp::Ballot => call.args == [Expr::Bool(true)],
        Expr::Subgroup(call) => call.op == SubgroupOp::Partition,
        _ => false,
    }
}

fn exists(k: u32, count: usize, what: &str) -> Checked {
    if k as usize >= count {
        return invalid(format!("there are only {count}")).at(|| what.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tangle_program::ops::UnaryOp;
    use tangle_program::resource::ResourceClass;

    use super::*;

    #[test]
    fn expressions_are_named_as_in_json() {
        let x = || Box::new(Expr::Uint(0));
        let call = SubgroupCall { op: SubgroupOp::Elect, args: Vec::new(), cluster: None };
        let resource = Resource { class: ResourceClass::StorageBuffer, index: x(), non_uniform: false };
        let all = [
            Expr::Bool(true),
            Expr::Int(0),
            Expr::Uint(0),
            Expr::Float(Scalar::Float, 0),
            Expr::Var(0),
            Expr::Builtin(Builtin::Lane),
            Expr::Input(0),
            Expr::InputOf(0, x()),
            Expr::Flat(0),
            Expr::Uniform(0),
            Expr::Push(0),
            Expr::Constant(0),
            Expr::Unary(UnaryOp::Neg, x()),
            Expr::Binary(BinaryOp::Add, x(), x()),
            Expr::Select(x(), x(), x()),
            Expr::Cast(Scalar::Uint, x()),
            Expr::Intrinsic(Intrinsic::Min, Vec::new()),
            Expr::Vector(Type::UINT, Vec::new()),
            Expr::Component(x(), 0),
            Expr::Subgroup(call),
            Expr::Load(Load { array: 0, scalar: Scalar::Uint, index: x() }),
            Expr::Resource(resource),
            Expr::Element(x(), x()),
        ];
        for expr in &all {
            let json = serde_json::to_value(expr).expect("JSON");
            let names: Vec<&String> = json.as_object().expect("an object").keys().collect();
            assert_eq!(names, [tag(expr)]);
        }
        let different: BTreeSet<&str> = all.iter().map(tag).collect();
        assert_eq!(different.len(), all.len());
    }
}
