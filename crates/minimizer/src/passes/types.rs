//! Plainer types: scalars instead of vectors, uints instead of other integers, integers instead of floats. Those of aggregates:
//! `aggregates.rs`.

use tangle_program::case::Case;
use tangle_program::ops::{self, BinaryOp, Intrinsic};
use tangle_program::subgroup::Gives;
use tangle_program::tree::{Arg, Expr, Function, Label, Stmt, VarId, walk_block};
use tangle_program::types::{Scalar, Type};

use super::candidates::{Candidates, each, splat};
use crate::access::{each_expr_mut, each_stmt_mut};

/// Keeps one component of a vector local. Where the whole vector was read, it is made of that one component.
pub fn narrow(case: &Case) -> Candidates<'_> {
    let mut edits = Vec::new();
    for (id, function) in case.program.functions.iter().enumerate().rev() {
        let received = received(function);
        for var in function.params.len() as VarId..function.var_count() as VarId {
            let Some(ty) =
                function.var_type(var).filter(|ty| ty.is_single() && !ty.is_scalar() && !received.contains(&var))
            else {
                continue;
            };
            edits.extend((0..ty.width).map(|component| (id, var, ty, component)));
        }
    }
    each(case, edits, |case, (id, var, ty, component)| {
        let function = &mut case.program.functions[id];
        let before = function.clone();
        let local = var as usize - function.params.len();
        function.locals[local].ty = Type::scalar(ty.scalar);
        each_stmt_mut(&mut case.program, &mut |function, stmt| {
            if function as usize != id {
                return;
            }
            for expr in stmt.direct_exprs_mut() {
                splat_reads(expr, var, ty);
            }
            match stmt {
                Stmt::Assign { var: v, value } if *v == var => *value = component_of(value, component, &before),
                Stmt::Log { values, .. } => values.iter_mut().for_each(|value| {
                    if *value == splat(ty, Expr::Var(var)) {
                        *value = Expr::Var(var);
                    }
                }),
                _ => {}
            }
        });
    })
}

/// The variables that calls write.
fn received(function: &Function) -> Vec<VarId> {
    let mut vars = Vec::new();
    walk_block(&function.body, &mut |stmt| {
        if let Stmt::Call { args, dest, .. } = stmt {
            vars.extend(*dest);
            vars.extend(args.iter().filter_map(|arg| if let Arg::Out(var) = arg { Some(*var) } else { None }));
        }
    });
    vars
}

fn splat_reads(expr: &mut Expr, var: VarId, ty: Type) {
    match expr {
        Expr::Component(x, _) if **x == Expr::Var(var) => *expr = Expr::Var(var),
        Expr::Var(v) if *v == var => *expr = splat(ty, Expr::Var(var)),
        _ => expr.operands_mut().into_iter().for_each(|operand| splat_reads(operand, var, ty)),
    }
}

/// A component of a vector expression, taken as deep inside as it can be.
pub fn component_of(expr: &Expr, component: u8, function: &Function) -> Expr {
    let part = |x: &Expr| component_of(x, component, function);
    let boxed = |x: &Expr| Box::new(part(x));
    match expr {
        Expr::Vector(_, args) if args.len() > usize::from(component) => args[usize::from(component)].clone(),
        Expr::Unary(op, x) => Expr::Unary(*op, boxed(x)),
        Expr::Cast(scalar, x) => Expr::Cast(*scalar, boxed(x)),
        // Only logical operators take no vectors.
        Expr::Binary(op, x, y) if !op.is_logical() => Expr::Binary(*op, boxed(x), boxed(y)),
        Expr::Select(cond, x, y) => Expr::Select(cond.clone(), boxed(x), boxed(y)),
        Expr::Subgroup(call) if call.op.info().gives == Gives::Same => {
            let mut call = call.clone();
            if let Some(value) = call.args.first_mut() {
                *value = part(value);
            }
            Expr::Subgroup(call)
        }
        Expr::Intrinsic(op, args) if op.info().is_componentwise() => {
            let info = op.info();
            let is_scalar = |i: usize| i >= info.values && i < info.values + info.offsets;
            let args = args.iter().enumerate().map(|(i, arg)| if is_scalar(i) { arg.clone() } else { part(arg) });
            Expr::Intrinsic(*op, args.collect())
        }
        _ if expr.ty(function).is_some_and(Type::is_scalar) => expr.clone(),
        _ => Expr::Component(Box::new(expr.clone()), component),
    }
}

/// Makes uints of all numbers, 32-bit ones of the others, or ints of floats; conversions to the same type go.
pub fn words(case: &Case) -> Candidates<'_> {
    let uint = |scalar: Scalar| if scalar == Scalar::Bool { Scalar::Bool } else { Scalar::Uint };
    let word = |scalar: Scalar| match scalar {
        _ if !scalar.is_extended() => scalar,
        _ if scalar.is_float() => Scalar::Float,
        _ if scalar.is_signed() => Scalar::Int,
        _ => Scalar::Uint,
    };
    let whole = |scalar: Scalar| if scalar.is_float() { Scalar::Int } else { scalar };
    each(case, vec![uint as fn(Scalar) -> Scalar, word, whole], |case, map| {
        let retype = |ty: &mut Type| *ty = ty.with_scalars(map).unwrap_or(*ty);
        for function in &mut case.program.functions {
            let params = function.params.iter_mut().map(|param| &mut param.ty);
            let locals = function.locals.iter_mut().map(|local| &mut local.ty);
            params.chain(locals).chain(&mut function.result).for_each(retype);
        }
        let functions = case.program.functions.clone();
        let is_signless = map(Scalar::Int) == Scalar::Uint;
        each_expr_mut(&mut case.program, &mut |id, expr| match expr {
            Expr::Int(n) if is_signless => *expr = Expr::Uint(*n as u32),
            Expr::Float(scalar, n) => {
                *expr = match map(*scalar) {
                    Scalar::Uint => Expr::Uint((*n / 4) as u32),
                    Scalar::Int => Expr::Int(*n / 4),
                    scalar => Expr::Float(scalar, *n),
                }
            }
            Expr::Vector(ty, _) => retype(ty),
            Expr::Cast(scalar, x) => {
                let to = map(*scalar);
                // The operand has been visited.
                let is_same = x.ty(&functions[id as usize]).is_some_and(|ty| ty.scalar == to);
                *expr = if is_same { Expr::clone(x) } else { Expr::Cast(to, x.clone()) };
            }
            // A count that a 64-bit number had.
            Expr::Binary(op, _, count) if op.is_shift() => narrow_count(count),
            // The bits of a float that there is no more.
            Expr::Intrinsic(Intrinsic::FromBits | Intrinsic::FromAllBits | Intrinsic::ToBits, args)
                if !map(Scalar::Float).is_float() =>
            {
                *expr = args.swap_remove(0);
            }
            // A sign or a fraction that there is no more.
            Expr::Intrinsic(op, args)
                if args[0].ty(&functions[id as usize]).is_some_and(|ty| !op.info().takes.admits(ty.scalar)) =>
            {
                *expr = args.swap_remove(0);
            }
            Expr::Intrinsic(op, args) if is_signless => {
                let info = op.info();
                // Offsets and numbers of bits are ints, and so are some results.
                for arg in args.iter_mut().skip(info.values).take(info.offsets) {
                    *arg = match arg {
                        Expr::Uint(n) => Expr::Int(*n as i32),
                        _ => Expr::Cast(Scalar::Int, Box::new(arg.clone())),
                    };
                }
                if info.gives == ops::Gives::Int {
                    *expr = Expr::Cast(Scalar::Uint, Box::new(expr.clone()));
                }
            }
            _ => {}
        });
        each_stmt_mut(&mut case.program, &mut |_, stmt| {
            if let (true, Stmt::Switch { arms, .. }) = (is_signless, stmt) {
                for label in arms.iter_mut().flat_map(|arm| &mut arm.labels) {
                    if let Label::Case(n) = label {
                        *n = i64::from(*n as u32);
                    }
                }
            }
        });
    })
}

/// Makes a count of bits one that a word has, too.
fn narrow_count(count: &mut Expr) {
    match count {
        Expr::Uint(n) => *n %= 32,
        Expr::Binary(BinaryOp::BitAnd, _, mask) if **mask == Expr::Uint(63) => **mask = Expr::Uint(31),
        _ => {}
    }
}

/// `!(x < y)` as `x >= y`, and so on.
pub const fn opposite(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        _ => return None,
    })
}
