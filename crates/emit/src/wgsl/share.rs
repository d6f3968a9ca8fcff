//! What of the test-case language WGSL can say, and the nearest case that it can.

use std::collections::BTreeSet;

use tangle_analysis::validate::validate;
use tangle_program::case::{Case, SpecConstant, Stage, Tier};
use tangle_program::memory::{AtomicOp, Sync};
use tangle_program::needs::{declared_types, scalar_of};
use tangle_program::ops::{BinaryOp, Intrinsic};
use tangle_program::subgroup::{Gives, SubgroupOp};
use tangle_program::tree::{
    Arm, Block, Builtin, Expr, Function, LoopKind, Stmt, SubgroupCall, ends_in_jump, walk_block,
};
use tangle_program::types::{Scalar, Type};

use super::spelling::{self, Wave, is_selectable};
use crate::unlisted::unlisted;

/// What WGSL lacks for a case, in words; empty if it can say all.
pub fn lacks(case: &Case) -> Vec<String> {
    let mut lacking = BTreeSet::new();
    if case.tier != Tier::Plain {
        lacking.insert(format!("tier {}", case.tier.name()));
    }
    if case.entry_point.stage != Stage::Compute {
        return vec![format!("stage {} in WGSL", case.entry_point.stage.name())];
    }
    if case.entry_point.workgroups().default_size.is_some() {
        lacking.insert("specialised workgroup sizes".into());
    }
    if case.entry_point.workgroups().derivative_group.is_some() {
        lacking.insert("derivative groups".into());
    }
    if !case.entry_point.float_controls.is_none() {
        lacking.insert("float controls".into());
    }
    lacking.extend(case.program.shared.iter().filter_map(|array| scalar_lacking(array.scalar)));
    for (at, function) in case.program.functions.iter().enumerate() {
        lacking.extend(declared_types(function).flat_map(Type::scalars).filter_map(scalar_lacking));
        let is_main = at + 1 == case.program.functions.len();
        if nested_barriers(function, is_main) {
            lacking.insert("workgroup barriers within control flow".into());
        }
        walk_block(&function.body, &mut |stmt| {
            lacking.extend(lacking_of_statement(stmt));
            stmt.direct_exprs().for_each(|expr| {
                expr.walk(&mut |expr| lacking.extend(lacking_of(function, expr)));
            });
        });
    }
    lacking.into_iter().map(|what| format!("{what} in WGSL")).collect()
}

fn scalar_lacking(scalar: Scalar) -> Option<String> {
    spelling::scalar(scalar).is_none().then(|| scalar.name().to_owned())
}

/// A barrier has to be where uniformity analysis can see that all invocations come (WGSL, "Uniformity": for a synchronization builtin an
/// error is triggered, "which results in a shader-creation error"). Private variables and most built-in values are not uniform
/// there, so that it is enough to let them stand in `main` itself, before the first statement by which an invocation may end.
fn nested_barriers(function: &Function, is_main: bool) -> bool {
    let mut may_have_ended = !is_main;
    for stmt in &function.body {
        let nested = !matches!(stmt, Stmt::ControlBarrier(_)) || may_have_ended;
        if nested && contains(stmt, &|stmt| matches!(stmt, Stmt::ControlBarrier(Sync::Barrier))) {
            return true;
        }
        may_have_ended |= contains_return(stmt);
    }
    false
}

/// True if a statement, or one within it, is such a one.
fn contains(stmt: &Stmt, is_it: &dyn Fn(&Stmt) -> bool) -> bool {
    is_it(stmt) || stmt.nested_blocks().any(|block| block.iter().any(|stmt| contains(stmt, is_it)))
}

/// True if a function may be left by a statement.
pub(super) fn contains_return(stmt: &Stmt) -> bool {
    contains(stmt, &|stmt| matches!(stmt, Stmt::Return(_)))
}

fn lacking_of_statement(stmt: &Stmt) -> Option<String> {
    match stmt {
        Stmt::SubgroupBarrier(op) => Some(op.info().name.to_owned()),
        Stmt::Assume(_) => Some("assumptions".into()),
        Stmt::ControlBarrier(Sync::Barrier) => None,
        Stmt::ControlBarrier(_) => Some("memory barriers".into()),
        Stmt::Atomic(atomic) if atomic.op == AtomicOp::CompSwap => {
            Some("atomic exchange by comparison that does not fail without a reason".into())
        }
        Stmt::Switch { arms, .. } if falls_through(arms) => Some("fall through".into()),
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
        | Stmt::Atomic(_) => None,
        _ => Some(unlisted(stmt)),
    }
}

/// True if the end of an arm that another one follows can be reached.
fn falls_through(arms: &[Arm]) -> bool {
    arms.split_last().is_some_and(|(_, arms)| arms.iter().any(|arm| !ends_in_jump(&arm.body)))
}

fn lacking_of(function: &Function, expr: &Expr) -> Option<String> {
    if let Some(lacking) = scalar_of(expr).and_then(scalar_lacking) {
        return Some(lacking);
    }
    match expr {
        Expr::Builtin(builtin) if spelling::builtin(*builtin).is_none() => Some(format!("{builtin:?}")),
        Expr::Constant(_) => Some("specialisation constants of SPIR-V".into()),
        Expr::Resource(_) => Some("arrays of descriptors".into()),
        Expr::Select(_, x, y) if !is_select(function, x, y) => Some("?: that evaluates one of its values".into()),
        Expr::Intrinsic(op, _) if spelling::intrinsic(*op).is_none() => Some(op.info().name.to_owned()),
        Expr::Subgroup(call) if !can_say(function, call) => {
            let ty = call.args.first().and_then(|arg| arg.ty(function));
            let of = ty.map_or_else(String::new, |ty| format!(" of {}", spelling::TypeName(ty)));
            Some(format!("{}{of}", call.op.info().name))
        }
        _ if is_refused(expr) => Some("constants that a compiler refuses".into()),
        _ => None,
    }
}

fn can_say(function: &Function, call: &SubgroupCall) -> bool {
    let ty = call.args.first().and_then(|arg| arg.ty(function));
    let refused = match (call.op, call.args.get(1)) {
        // "`id` must be a const-expression in the range [0, 4)"
        (SubgroupOp::QuadBroadcast, Some(id)) => !matches!(id, Expr::Uint(0..=3)),
        // "It is a shader-creation error if `id` is a const-expression" outside [0, 128).
        (SubgroupOp::Shuffle | SubgroupOp::Broadcast, Some(id)) => {
            id.is_constant() && !matches!(id, Expr::Uint(0..=127))
        }
        _ => false,
    };
    !refused && spelling::wave(call.op, ty) != Wave::Lacking
}

/// True if `select` says the same as `?:`: evaluating both values changes nothing. Where WGSL computes something for what the tree leaves
/// undefined nobody sees it.
fn is_select(function: &Function, x: &Expr, y: &Expr) -> bool {
    let acts = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Subgroup(_) | Expr::Load(_)));
    x.ty(function).is_some_and(is_selectable) && !acts(x) && !acts(y)
}

/// True where WGSL has rules for constants that the tree has not, and they might be broken: shifts by the width or more, and those
/// that lose bits; divisors of zero; bounds of `clamp`; bits past the end of a word.
fn is_refused(expr: &Expr) -> bool {
    match expr {
        Expr::Binary(op, x, y) if op.is_shift() => {
            y.is_constant() && (x.is_constant() || !matches!(**y, Expr::Uint(0..=31)))
        }
        Expr::Binary(BinaryOp::Div | BinaryOp::Mod, _, y) => is_refused_divisor(y),
        Expr::Intrinsic(op, args) if op.is_signed_remainder() => args.last().is_some_and(is_refused_divisor),
        Expr::Intrinsic(Intrinsic::Clamp, args) => args.iter().skip(1).all(Expr::is_constant),
        Expr::Intrinsic(Intrinsic::BitfieldExtract | Intrinsic::BitfieldInsert, args) => {
            let fits = |last: &[Expr]| match last {
                [Expr::Int(offset @ 0..=32), Expr::Int(bits @ 0..=32)] => offset + bits <= 32,
                [offset, bits] => !offset.is_constant() && !bits.is_constant(),
                _ => false,
            };
            !fits(&args[args.len().saturating_sub(2)..])
        }
        _ => false,
    }
}

fn is_refused_divisor(y: &Expr) -> bool {
    y.is_constant() && !matches!(*y, Expr::Uint(1..) | Expr::Int(1..))
}

/// The nearest case that WGSL can say, as far as that is a valid one: without subgroup barriers and hints, with other reductions in place of
/// scans and clustered reductions that WGSL has not, without fall through, with literals for specialisation constants, and the like.
pub fn fitted(mut case: Case) -> Case {
    let before = case.clone();
    if case.entry_point.stage != Stage::Compute {
        return before;
    }
    let workgroups = case.entry_point.workgroups_mut();
    (workgroups.default_size, workgroups.derivative_group) = (None, None);
    let last = case.program.functions.len().saturating_sub(1);
    for (at, function) in case.program.functions.iter_mut().enumerate() {
        function.change_body(|function, body| Fit { function, constants: &case.data.constants }.block(body));
        if nested_barriers(function, at == last) {
            let mut may_have_ended = at != last;
            for stmt in &mut function.body {
                stmt.nested_blocks_mut().into_iter().for_each(without_barriers);
                may_have_ended |= contains_return(stmt);
            }
            if may_have_ended {
                function.body.retain(|stmt| !matches!(stmt, Stmt::ControlBarrier(_)));
            }
        }
    }
    if validate(&case).is_ok() { case } else { before }
}

fn without_barriers(block: &mut Block) {
    block.retain(|stmt| !matches!(stmt, Stmt::ControlBarrier(_)));
    for stmt in block {
        stmt.nested_blocks_mut().into_iter().for_each(without_barriers);
    }
}

struct Fit<'a> {
    /// The function without its body.
    function: &'a Function,
    constants: &'a [SpecConstant],
}

impl Fit<'_> {
    fn block(&self, block: &mut Block) {
        block.retain(|stmt| {
            !matches!(stmt, Stmt::SubgroupBarrier(_) | Stmt::Assume(_))
                && !matches!(stmt, Stmt::ControlBarrier(sync) if *sync != Sync::Barrier)
        });
        for stmt in block.iter_mut() {
            if let Some(branch) = self.as_branch(stmt) {
                *stmt = branch;
            }
            self.stmt(stmt);
            match stmt {
                Stmt::Loop(l) => {
                    self.block(&mut l.body);
                    // No branch stands in the head.
                    if let LoopKind::For { update, .. } = &mut l.kind {
                        update.iter_mut().for_each(|stmt| self.stmt(stmt));
                    }
                    if let Some(test) = &mut l.test {
                        test.before.iter_mut().for_each(|stmt| self.stmt(stmt));
                    }
                }
                stmt => stmt.nested_blocks_mut().into_iter().for_each(|block| self.block(block)),
            }
        }
    }

    fn stmt(&self, stmt: &mut Stmt) {
        stmt.direct_exprs_mut().into_iter().for_each(|expr| self.expr(expr));
        match stmt {
            Stmt::Switch { arms, .. } => {
                let mut merged: Vec<Arm> = Vec::new();
                for arm in arms.drain(..) {
                    match merged.last_mut().filter(|last| last.body.is_empty()) {
                        Some(last) => {
                            last.labels.extend(arm.labels);
                            last.body = arm.body;
                        }
                        None => merged.push(arm),
                    }
                }
                if let Some((_, arms)) = merged.split_last_mut() {
                    arms.iter_mut().filter(|arm| !ends_in_jump(&arm.body)).for_each(|arm| arm.body.push(Stmt::Break));
                }
                *arms = merged;
            }
            Stmt::Atomic(atomic) if atomic.op == AtomicOp::CompSwap => {
                atomic.op = AtomicOp::Exchange;
                atomic.compare = None;
            }
            _ => {}
        }
    }

    /// `x = c ? a : b;` as `if (c) { x = a; } else { x = b; }`, where `select` is not the same.
    fn as_branch(&self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::Assign { var, value: Expr::Select(cond, x, y) } = stmt else { return None };
        let assign = |value: &Expr| vec![Stmt::Assign { var: *var, value: value.clone() }];
        (!is_select(self.function, x, y)).then(|| Stmt::If {
            cond: (**cond).clone(),
            then: assign(x),
            otherwise: assign(y),
            control: Default::default(),
        })
    }

    fn expr(&self, expr: &mut Expr) {
        expr.operands_mut().into_iter().for_each(|operand| self.expr(operand));
        if let Some(fitted) = self.fitted(expr) {
            *expr = fitted;
        }
    }

    /// Another one in its place.
    fn fitted(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::Constant(k) => {
                let constant = self.constants.get(*k as usize);
                constant.map(|constant| Expr::Uint(constant.default))
            }
            Expr::Resource(resource) => Some((*resource.index).clone()),
            Expr::Intrinsic(Intrinsic::Expect, args) => args.first().cloned(),
            Expr::Intrinsic(Intrinsic::MulHigh, args) => match args.as_slice() {
                [x, y] => Some(Expr::binary(BinaryOp::Mul, x.clone(), y.clone())),
                _ => None,
            },
            Expr::Intrinsic(Intrinsic::DotAccSat, args) => {
                Some(Expr::Intrinsic(Intrinsic::Dot, args.iter().take(2).cloned().collect()))
            }
            Expr::Builtin(Builtin::EqMask | Builtin::GeMask | Builtin::GtMask | Builtin::LeMask | Builtin::LtMask) => {
                Some(Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]))
            }
            Expr::Select(_, x, y) if !is_select(self.function, x, y) => Some((**x).clone()),
            Expr::Subgroup(call) if !can_say(self.function, call) => self.another(call),
            Expr::Binary(_, x, _) if is_refused(expr) => Some((**x).clone()),
            Expr::Intrinsic(_, args) if is_refused(expr) => args.first().cloned(),
            _ => None,
        }
    }

    /// A subgroup operation that WGSL has, in place of one that it has not.
    fn another(&self, call: &SubgroupCall) -> Option<Expr> {
        let value = call.args.first()?;
        let ty = value.ty(self.function)?;
        let has = |op: SubgroupOp, ty: Type| spelling::wave(op, Some(ty)) != Wave::Lacking;
        if let Some(fold) = call.op.fold() {
            let op = SubgroupOp::Reduce(fold);
            return Some(if has(op, ty) { Expr::subgroup(op, [value.clone()]) } else { value.clone() });
        }
        match (call.op, call.op.info().gives) {
            (SubgroupOp::AllEqual, _) if ty == Type::BOOL => Some(Expr::subgroup(SubgroupOp::All, [value.clone()])),
            (SubgroupOp::AllEqual, _) if is_selectable(ty) => {
                // Bools travel as numbers.
                let value = match ty.scalar {
                    Scalar::Bool => Expr::Cast(Scalar::Uint, Box::new(value.clone())),
                    _ => value.clone(),
                };
                let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [value.clone()]);
                let same = Expr::binary(BinaryOp::Eq, value, first);
                let same = if ty.width > 1 { Expr::Intrinsic(Intrinsic::All, vec![same]) } else { same };
                Some(Expr::subgroup(SubgroupOp::All, [same]))
            }
            (op, Gives::Same) if ty.scalar == Scalar::Bool && has(op, Type { scalar: Scalar::Uint, ..ty }) => {
                let mut args = call.args.clone();
                args[0] = Expr::Cast(Scalar::Uint, Box::new(value.clone()));
                let moved = Expr::Subgroup(SubgroupCall { op, args, cluster: call.cluster });
                Some(Expr::Cast(Scalar::Bool, Box::new(moved)))
            }
            (_, Gives::Same) => Some(value.clone()),
            (_, Gives::Mask) => Some(Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)])),
            _ => None,
        }
    }
}
