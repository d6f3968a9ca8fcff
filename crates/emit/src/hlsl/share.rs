//! What of the test-case language HLSL can say, and the nearest case that it can.

use std::collections::BTreeSet;

use tangle_analysis::validate::validate;
use tangle_program::case::{Case, Launch, Stage, Tier};
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::needs::{declared_types, scalar_of};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{SubgroupOp, TABLE};
use tangle_program::tree::{Block, Builtin, Discard, Expr, Function, Stmt, SubgroupCall, walk_block};
use tangle_program::types::{Kind, Scalar, Type};
use tangle_program::variant::Language;

use super::spelling::{self, Wave};
use super::stage::STAGES;
use crate::plan::has_buffer_arrays;
use crate::printer::Dialect;
use crate::unlisted::unlisted;

/// What the language lacks for a case, in words; empty if it can say all.
pub(crate) fn lacks(case: &Case, dialect: Dialect) -> Vec<String> {
    let language = name_of(dialect);
    let mut lacking = BTreeSet::new();
    let tiers: &[Tier] = if dialect == Dialect::Slang { &[Tier::Plain, Tier::Maximal] } else { &[Tier::Plain] };
    if !tiers.contains(&case.tier) {
        lacking.insert(format!("tier {} in {language}", case.tier.name()));
    }
    if !STAGES.contains(&case.entry_point.stage) {
        lacking.insert(format!("stage {} in {language}", case.entry_point.stage.name()));
        return lacking.into_iter().collect();
    }
    if case.entry_point.workgroups().default_size.is_some() {
        lacking.insert(format!("specialised workgroup sizes in {language}"));
    }
    if case.entry_point.payload_copies() > 0 {
        lacking.insert(format!("payloads in {language}"));
    }
    if case.entry_point.draw().is_some_and(|draw| draw.full_quads || draw.quad_derivatives) {
        lacking.insert(format!("quad control in {language}"));
    }
    if case.entry_point.workgroups().derivative_group.is_some() {
        lacking.insert(format!("derivative groups in {language}"));
    }
    if !case.entry_point.float_controls.is_none() {
        lacking.insert(format!("float controls in {language}"));
    }
    lacking.extend(case.program.shared.iter().filter_map(|array| scalar_lacking(language, array.scalar)));
    for function in &case.program.functions {
        for ty in declared_types(function) {
            lacking.extend(type_lacking(language, ty));
        }
        walk_block(&function.body, &mut |stmt| {
            match stmt {
                Stmt::SubgroupBarrier(op) => drop(lacking.insert(format!("{} in {language}", op.info().name))),
                Stmt::Assume(_) => drop(lacking.insert(format!("assumptions in {language}"))),
                Stmt::Assign { .. }
                | Stmt::Log { .. }
                | Stmt::If { .. }
                | Stmt::Switch { .. }
                | Stmt::Loop(_)
                | Stmt::Break
                | Stmt::Continue
                | Stmt::Return(_)
                | Stmt::Call { .. }
                | Stmt::SetElement { .. }
                | Stmt::Store { .. }
                | Stmt::Atomic(_)
                | Stmt::Discard(Discard::Demote)
                | Stmt::ControlBarrier(_) => {}
                _ => drop(lacking.insert(format!("{} in {language}", unlisted(stmt)))),
            }
            let stage = case.entry_point.stage;
            stmt.direct_exprs()
                .for_each(|expr| expr.walk(&mut |expr| lacking.extend(lacking_of(dialect, stage, function, expr))));
        });
    }
    lacking.into_iter().collect()
}

/// The language's name in texts.
fn name_of(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Slang { Language::Slang.title() } else { Language::Hlsl.title() }
}

fn scalar_lacking(language: &str, scalar: Scalar) -> Option<String> {
    (!spelling::SCALARS.contains(&scalar)).then(|| format!("{} in {language}", scalar.name()))
}

/// An array has no expression that makes it, also within a struct.
fn type_lacking(language: &str, ty: Type) -> Option<String> {
    let own = if ty.kind() == Kind::Array { Some(format!("array values in {language}")) } else { None };
    let nested = || ty.is_nested().then(|| ty.parts().find_map(|part| type_lacking(language, part))).flatten();
    own.or_else(nested).or_else(|| ty.scalars().find_map(|scalar| scalar_lacking(language, scalar)))
}

fn lacking_of(dialect: Dialect, stage: Stage, function: &Function, expr: &Expr) -> Option<String> {
    let language = name_of(dialect);
    if let Some(lacking) = scalar_of(expr).and_then(|scalar| scalar_lacking(language, scalar)) {
        return Some(lacking);
    }
    match expr {
        Expr::Builtin(builtin) if spelling::builtin(dialect, stage, *builtin).is_none() => {
            Some(format!("{builtin:?} in {language}"))
        }
        Expr::Intrinsic(op, _) if spelling::intrinsic(*op).is_none() => {
            Some(format!("{} in {language}", op.info().name))
        }
        Expr::Intrinsic(op, args) if rounds_doubles(function, *op, args) => {
            Some(format!("{} of double in {language}", op.info().name))
        }
        Expr::Vector(ty, _) => type_lacking(language, *ty),
        Expr::Subgroup(call) => {
            let ty = call.args.first().and_then(|arg| arg.ty(function));
            (spelling::wave(dialect, call.op, ty) == Wave::Lacking).then(|| {
                let of = ty.map_or_else(String::new, |ty| format!(" of {}", spelling::TypeName(ty)));
                format!("{}{of} in {language}", call.op.info().name)
            })
        }
        _ => None,
    }
}

/// True for a rounding of a double: `floor`, `ceil` and `trunc` take floats (reference, floor: "Type: scalar, vector, or matrix", "float"), and
/// would give the rounded float.
fn rounds_doubles(function: &Function, op: Intrinsic, args: &[Expr]) -> bool {
    matches!(op, Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc)
        && args.first().and_then(|arg| arg.ty(function)).is_some_and(|ty| ty.scalar == Scalar::Double)
}

/// The wave intrinsic that an operation on an operand of this type becomes, also where a function of the shader calls it; `None` if none.
pub fn wave_intrinsic(op: SubgroupOp, ty: Option<Type>) -> Option<&'static str> {
    match spelling::wave(Dialect::Hlsl, op, ty) {
        Wave::Call("InclusiveSum") => Some("WavePrefixSum"),
        Wave::Call("InclusiveProduct") => Some("WavePrefixProduct"),
        Wave::Call("WaveActiveParity") => Some("WaveActiveCountBits"),
        Wave::Call(_) if spelling::is_helper(op) => None,
        Wave::Call(name) | Wave::Bits(name) => Some(name),
        Wave::Relative(_) | Wave::Rotate => Some("WaveReadLaneAt"),
        Wave::AllEqual => Some("WaveActiveAllEqual"),
        Wave::Lacking => None,
    }
}

/// What the shader of a case has of the words that a compiler may not know yet: intrinsic functions that act on more than one invocation (of
/// waves, atomic, of memory), and [`QUALIFIERS`].
pub fn words(case: &Case) -> BTreeSet<&'static str> {
    let [coherent, precise] = QUALIFIERS;
    let mut called: BTreeSet<_> = has_buffer_arrays(case).then_some(coherent).into_iter().collect();
    for function in &case.program.functions {
        called.extend(function.locals.iter().any(|local| local.precise).then_some(precise));
        walk_block(&function.body, &mut |stmt| {
            match stmt {
                Stmt::Atomic(atomic) => drop(called.insert(spelling::atomic(atomic.op))),
                Stmt::ControlBarrier(sync) => drop(called.insert(spelling::sync(*sync, has_buffer_arrays(case)))),
                _ => {}
            }
            let wave = |expr: &Expr| match expr {
                Expr::Subgroup(call) => wave_intrinsic(call.op, call.args.first().and_then(|arg| arg.ty(function))),
                _ => None,
            };
            stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| called.extend(wave(expr))));
        });
    }
    called
}

/// The qualifiers of declarations that [`words`] may give.
pub const QUALIFIERS: [&str; 2] = ["globallycoherent", "precise"];

/// All functions that [`words`] may give.
pub fn intrinsics() -> BTreeSet<&'static str> {
    let operands = [Some(Type::BOOL), Some(Type::UINT)];
    let waves = TABLE.iter().flat_map(|row| operands.map(|ty| wave_intrinsic(row.op, ty))).flatten();
    let syncs = Sync::ALL.into_iter().flat_map(|sync| [false, true].map(|in_buffer| spelling::sync(sync, in_buffer)));
    waves.chain(AtomicOp::ALL.map(spelling::atomic)).chain(syncs).collect()
}

/// The nearest case that the language can say, as far as that is a valid one: without subgroup barriers and hints, with other reductions in place of
/// scans and clustered reductions that HLSL has not, and the like.
pub(crate) fn fitted(mut case: Case, dialect: Dialect) -> Case {
    let before = case.clone();
    match &mut case.entry_point.launch {
        Launch::Workgroups(workgroups) => (workgroups.default_size, workgroups.derivative_group) = (None, None),
        Launch::Draw(draw) => (draw.full_quads, draw.quad_derivatives) = (false, false),
        Launch::Items(_) => return before,
    }
    let stage = case.entry_point.stage;
    for function in &mut case.program.functions {
        function.change_body(|function, body| fit_block((dialect, stage), function, body));
    }
    if validate(&case).is_ok() { case } else { before }
}

fn fit_block(of: (Dialect, Stage), function: &Function, block: &mut Block) {
    block.retain(|stmt| !matches!(stmt, Stmt::SubgroupBarrier(_) | Stmt::Assume(_)));
    for stmt in block {
        // `discard` makes a helper of a lane, and nothing ends it.
        if let Stmt::Discard(discard) = stmt {
            *discard = Discard::Demote;
        }
        stmt.direct_exprs_mut().into_iter().for_each(|expr| fit(of, function, expr));
        stmt.nested_blocks_mut().into_iter().for_each(|block| fit_block(of, function, block));
    }
}

fn fit((dialect, stage): (Dialect, Stage), function: &Function, expr: &mut Expr) {
    expr.operands_mut().into_iter().for_each(|operand| fit((dialect, stage), function, operand));
    let fitted = match expr {
        Expr::Intrinsic(
            Intrinsic::Expect
            | Intrinsic::BitfieldExtract
            | Intrinsic::BitfieldInsert
            | Intrinsic::Mix
            | Intrinsic::SignedRem
            | Intrinsic::SignedMod,
            args,
        ) => args.first().cloned(),
        Expr::Intrinsic(op, args) if rounds_doubles(function, *op, args) => args.first().cloned(),
        Expr::Intrinsic(Intrinsic::MulHigh, args) => match args.as_slice() {
            [x, y] => Some(Expr::binary(BinaryOp::Mul, x.clone(), y.clone())),
            _ => None,
        },
        // Both are `IsHelperLane`, and what ended a lane demotes it now.
        Expr::Builtin(Builtin::HelperInput) => Some(Expr::Builtin(Builtin::Helper)),
        Expr::Builtin(builtin) if spelling::builtin(dialect, stage, *builtin).is_some() => None,
        // There is only one `fwidth`.
        Expr::Subgroup(SubgroupCall { op: SubgroupOp::FwidthFine | SubgroupOp::FwidthCoarse, args, .. }) => {
            Some(Expr::subgroup(SubgroupOp::Fwidth, args.clone()))
        }
        Expr::Builtin(Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask) => {
            Some(Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]))
        }
        Expr::Builtin(Builtin::SubgroupId | Builtin::NumSubgroups) => Some(Expr::Builtin(Builtin::SubgroupSize)),
        Expr::Subgroup(SubgroupCall { op, args, .. }) => {
            let ty = args.first().and_then(|arg| arg.ty(function));
            let lacking = spelling::wave(dialect, *op, ty) == Wave::Lacking;
            match (lacking.then(|| op.fold()).flatten(), args.first()) {
                (Some(fold), Some(value)) => {
                    let reduced = Expr::subgroup(SubgroupOp::Reduce(fold), [value.clone()]);
                    // Of vectors of bools there is no reduction either.
                    let has_one = spelling::wave(dialect, SubgroupOp::Reduce(fold), ty) != Wave::Lacking;
                    Some(if has_one { reduced } else { value.clone() })
                }
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(fitted) = fitted {
        *expr = fitted;
    }
}
