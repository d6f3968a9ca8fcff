//! Put less in the place of an expression.

use tangle_program::case::Case;
use tangle_program::ops::{self, BinaryOp, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::Resource;
use tangle_program::tree::{Arm, Builtin, Expr, Function, Label, LoopKind, Stmt};
use tangle_program::types::{Scalar, Type};

use super::candidates::{Candidates, each, smaller, splat, zero};
use super::types::{component_of, opposite};
use crate::access::{ExprAt, StmtAt, edit_stmt, exprs, replace_expr, stmts};
use crate::size::weight;

/// The most parts of an expression that are tried in its place.
const PARTS: usize = 12;

/// For every expression, whole ones before their parts: a literal, the lane, a part of it, a simpler form. Light ones
/// first.
pub fn replace(case: &Case) -> Candidates<'_> {
    let found = exprs(&case.program).into_iter().flat_map(move |at| {
        let function = &case.program.functions[at.place.function as usize];
        let is_logged = at.number == 0 && matches!(at.stmt, Stmt::Log { .. });
        let found = if is_logged { of_any_type(at.expr, function) } else { of_same_type(at.expr, function) };
        found.into_iter().map(move |with| replaced(case, at, with))
    });
    smaller(case, found)
}

fn replaced(case: &Case, at: ExprAt<'_>, with: Expr) -> Case {
    let mut candidate = case.clone();
    replace_expr(&mut candidate.program, at, with);
    candidate
}

/// Lighter expressions of the same type, lightest first.
fn of_same_type(expr: &Expr, function: &Function) -> Vec<Expr> {
    let Some(ty) = expr.ty(function) else { return Vec::new() };
    let mut found = usual(ty);
    found.extend(parts(expr, |part| part.ty(function) == Some(ty)));
    found.extend(folded(expr, function));
    found.extend(forms(expr, function));
    lightest_first(found, expr)
}

/// Lighter scalars of any type, lightest first.
fn of_any_type(expr: &Expr, function: &Function) -> Vec<Expr> {
    let mut found = of_same_type(expr, function);
    found.extend(parts(expr, |part| part.ty(function).is_some_and(Type::is_scalar)));
    found.extend(of_lanes(expr));
    lightest_first(found, expr)
}

/// A subgroup operation of the lanes' numbers, in place of a condition: what moves values moves those, too.
fn of_lanes(expr: &Expr) -> Option<Expr> {
    let Expr::Subgroup(call) = expr else { return None };
    let mut call = call.clone();
    *call.args.first_mut()? = Expr::Builtin(Builtin::Lane);
    Some(Expr::Subgroup(call))
}

fn parts(expr: &Expr, fits: impl Fn(&Expr) -> bool) -> Vec<Expr> {
    let mut parts = Vec::new();
    expr.walk(&mut |part| {
        if parts.len() < PARTS && fits(part) {
            parts.push(part.clone());
        }
    });
    parts
}

/// Those that weigh less than an expression, each once. Of equals the first comes first.
fn lightest_first(mut found: Vec<Expr>, than: &Expr) -> Vec<Expr> {
    let most = weight(than);
    found.retain(|other| weight(other) < most);
    found.sort_by_key(weight);
    let mut seen = Vec::new();
    for other in found {
        if !seen.contains(&other) {
            seen.push(other);
        }
    }
    seen
}

/// The literal that an expression of nothing but literals of integers and bools is.
fn folded(expr: &Expr, function: &Function) -> Option<Expr> {
    let bits = constant(expr, function)?;
    let scalar = expr.ty(function)?.scalar;
    let number = scalar.extend(bits);
    let cast = |word| Expr::Cast(scalar, Box::new(word));
    Some(match scalar {
        Scalar::Bool => Expr::Bool(bits != 0),
        Scalar::Int => Expr::Int(number as i32),
        Scalar::Uint => Expr::Uint(bits as u32),
        _ => match (u32::try_from(bits), i32::try_from(number as i64)) {
            (Ok(word), _) => cast(Expr::Uint(word)),
            (_, Ok(word)) if scalar.is_signed() => cast(Expr::Int(word)),
            _ => return None,
        },
    })
}

/// The bits of a scalar expression of nothing but literals of integers and bools.
fn constant(expr: &Expr, function: &Function) -> Option<u64> {
    let scalar = |x: &Expr| x.ty(function).filter(|ty| ty.is_scalar() && !ty.scalar.is_float()).map(|ty| ty.scalar);
    let own = scalar(expr)?;
    let mut out = [0];
    match expr {
        Expr::Uint(n) => out = [u64::from(*n)],
        Expr::Int(n) => out = [u64::from(*n as u32)],
        Expr::Bool(b) => out = [u64::from(*b)],
        Expr::Cast(to, x) => out = [ops::cast(scalar(x)?, *to, constant(x, function)?)],
        Expr::Unary(op, x) => ops::unary(*op, own, &[constant(x, function)?], &mut out),
        Expr::Binary(op, x, y) => {
            ops::binary(*op, scalar(x)?, &[constant(x, function)?], &[constant(y, function)?], &mut out);
        }
        _ => return None,
    }
    Some(out[0])
}

/// What every reader knows, for each type.
fn usual(ty: Type) -> Vec<Expr> {
    let lane = || Expr::Builtin(Builtin::Lane);
    let is = |op, x, n| Expr::binary(op, x, Expr::Uint(n));
    let bit = |n| Expr::binary(BinaryOp::BitAnd, lane(), Expr::Uint(n));
    let scalars = match ty.scalar {
        Scalar::Bool => vec![
            Expr::Bool(true),
            is(BinaryOp::Eq, lane(), 0),
            is(BinaryOp::Lt, lane(), 2),
            is(BinaryOp::Lt, lane(), 4),
            is(BinaryOp::Eq, bit(1), 0),
        ],
        Scalar::Int => vec![Expr::Int(1), Expr::Cast(Scalar::Int, Box::new(lane()))],
        Scalar::Uint => vec![Expr::Uint(1), lane()],
        scalar if scalar.is_float() => vec![Expr::Float(scalar, 4), Expr::Cast(scalar, Box::new(lane()))],
        scalar => [Expr::Uint(1), lane()].map(|word| Expr::Cast(scalar, Box::new(word))).into(),
    };
    let mut found = vec![zero(ty)];
    found.extend(scalars.into_iter().map(|scalar| splat(ty, scalar)));
    if ty == Type::MASK {
        found.push(Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]));
    }
    found
}

/// Simpler ways to say the same or nearly the same.
fn forms(expr: &Expr, function: &Function) -> Vec<Expr> {
    match expr {
        Expr::Unary(UnaryOp::Not, x) => match &**x {
            Expr::Binary(op, x, y) => {
                opposite(*op).map(|op| Expr::Binary(op, x.clone(), y.clone())).into_iter().collect()
            }
            _ => Vec::new(),
        },
        Expr::Component(x, component) => vec![component_of(x, *component, function)],
        Expr::Subgroup(call) => {
            let with = |op| {
                let mut call = call.clone();
                call.op = op;
                Expr::Subgroup(call)
            };
            let folds: &[SubgroupOp] = match call.op {
                SubgroupOp::Reduce(_) => &[SubgroupOp::Reduce(Fold::Add)],
                SubgroupOp::Inclusive(_) => &[SubgroupOp::Reduce(Fold::Add), SubgroupOp::Inclusive(Fold::Add)],
                SubgroupOp::Exclusive(_) => &[SubgroupOp::Reduce(Fold::Add), SubgroupOp::Exclusive(Fold::Add)],
                SubgroupOp::Clustered(_) => &[SubgroupOp::Clustered(Fold::Add)],
                SubgroupOp::Partitioned(_) => &[SubgroupOp::Partitioned(Fold::Add)],
                SubgroupOp::PartitionedInclusive(_) => {
                    &[SubgroupOp::Partitioned(Fold::Add), SubgroupOp::PartitionedInclusive(Fold::Add)]
                }
                SubgroupOp::PartitionedExclusive(_) => {
                    &[SubgroupOp::Partitioned(Fold::Add), SubgroupOp::PartitionedExclusive(Fold::Add)]
                }
                SubgroupOp::All => &[SubgroupOp::Any],
                SubgroupOp::QuadAll => &[SubgroupOp::QuadAny],
                _ => &[],
            };
            let mut found: Vec<Expr> = folds.iter().map(|op| with(*op)).collect();
            let whole = match call.op {
                SubgroupOp::Clustered(fold) | SubgroupOp::Partitioned(fold) => Some(SubgroupOp::Reduce(fold)),
                SubgroupOp::PartitionedInclusive(fold) => Some(SubgroupOp::Inclusive(fold)),
                SubgroupOp::PartitionedExclusive(fold) => Some(SubgroupOp::Exclusive(fold)),
                SubgroupOp::QuadAny => Some(SubgroupOp::Any),
                SubgroupOp::QuadAll => Some(SubgroupOp::All),
                _ => None,
            };
            found.extend(whole.zip(call.args.first()).map(|(op, value)| Expr::subgroup(op, [value.clone()])));
            found
        }
        Expr::Resource(resource) => {
            let of = |class, non_uniform| Expr::Resource(Resource { class, non_uniform, ..resource.clone() });
            let plain = ResourceClass::StorageBuffer;
            [of(plain, false), of(plain, resource.non_uniform), of(resource.class, false)].into()
        }
        _ => Vec::new(),
    }
}

/// A number in a program.
#[derive(Clone, Copy, Debug)]
enum Number<'a> {
    Literal(ExprAt<'a>, Scalar, u32),
    Step(StmtAt, u32),
    Cluster(ExprAt<'a>, u32),
    Label(StmtAt, usize, usize, i64),
}

/// Makes numbers smaller: a power of two, the half, one less.
pub fn numbers(case: &Case) -> Candidates<'_> {
    let mut found = Vec::new();
    for at in exprs(&case.program) {
        match at.expr {
            Expr::Uint(n) => found.push(Number::Literal(at, Scalar::Uint, *n)),
            Expr::Int(n) => found.push(Number::Literal(at, Scalar::Int, *n as u32)),
            Expr::Float(scalar, n) => found.push(Number::Literal(at, *scalar, *n as u32)),
            Expr::Subgroup(call) => found.extend(call.cluster.map(|n| Number::Cluster(at, n))),
            _ => {}
        }
    }
    for (place, stmt) in stmts(&case.program) {
        match stmt {
            Stmt::Loop(l) => {
                if let LoopKind::For { step, .. } = &l.kind {
                    found.push(Number::Step(place, *step));
                }
            }
            Stmt::Switch { arms, .. } => {
                found.extend(labels(arms).map(|(arm, label, n)| Number::Label(place, arm, label, n)))
            }
            _ => {}
        }
    }
    let edits = found.into_iter().flat_map(|number| less_than(number).into_iter().map(move |n| (number, n)));
    each(case, edits.collect(), |case, (number, n)| {
        let program = &mut case.program;
        match number {
            Number::Literal(at, Scalar::Int, _) => replace_expr(program, at, Expr::Int(n as i32)),
            Number::Literal(at, Scalar::Uint, _) => replace_expr(program, at, Expr::Uint(n as u32)),
            Number::Literal(at, scalar, _) => replace_expr(program, at, Expr::Float(scalar, n as i32)),
            Number::Cluster(at, _) => {
                if let Expr::Subgroup(call) = at.expr {
                    let mut call = call.clone();
                    call.cluster = Some(n as u32);
                    replace_expr(program, at, Expr::Subgroup(call));
                }
            }
            Number::Step(place, _) => edit_stmt(program, place, |stmt| {
                if let Stmt::Loop(l) = stmt
                    && let LoopKind::For { step, .. } = &mut l.kind
                {
                    *step = n as u32;
                }
            }),
            Number::Label(place, arm, label, _) => edit_stmt(program, place, |stmt| {
                if let Stmt::Switch { arms, .. } = stmt {
                    arms[arm].labels[label] = Label::Case(n);
                }
            }),
        }
    })
}

fn labels(arms: &[Arm]) -> impl Iterator<Item = (usize, usize, i64)> {
    arms.iter().enumerate().flat_map(|(i, arm)| {
        arm.labels.iter().enumerate().filter_map(move |(j, label)| match label {
            Label::Case(n) => Some((i, j, *n)),
            Label::Default => None,
        })
    })
}

/// Smaller numbers to try, smallest first.
fn less_than(number: Number<'_>) -> Vec<i64> {
    let n = match number {
        Number::Literal(_, Scalar::Uint, n) | Number::Step(_, n) | Number::Cluster(_, n) => i64::from(n),
        Number::Literal(_, _, n) => i64::from(n as i32),
        Number::Label(.., n) => n,
    };
    let size = n.abs();
    let power = if size > 0 { 1 << size.ilog2() } else { 0 };
    let mut found = match number {
        Number::Cluster(..) => vec![size / 2],
        _ => vec![0, 1, 2, 3, 4, 8, 16, size / 2, power, size - 1],
    };
    if n < 0 {
        found.extend([-1, -2, -power, size]);
    }
    found.retain(|&m| m.abs() < size || m.abs() == size && m > n);
    found.sort_by_key(|m| (m.abs(), *m < 0));
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_of_literals_is_a_literal() {
        let function =
            Function { name: "main".into(), params: Vec::new(), result: None, locals: Vec::new(), body: Vec::new() };
        let cast = |scalar, x| Expr::Cast(scalar, Box::new(x));
        let minus_one = Expr::unary(UnaryOp::Neg, cast(Scalar::Int64, Expr::Uint(1)));
        let sum = |x, y| Expr::binary(BinaryOp::Add, x, y);
        for (expr, wanted) in [
            (sum(Expr::Uint(2), Expr::Uint(3)), Some(Expr::Uint(5))),
            (sum(Expr::Uint(u32::MAX), Expr::Uint(2)), Some(Expr::Uint(1))),
            (Expr::binary(BinaryOp::Lt, Expr::Int(-2), Expr::Int(1)), Some(Expr::Bool(true))),
            (cast(Scalar::Uint, minus_one.clone()), Some(Expr::Uint(u32::MAX))),
            (minus_one.clone(), Some(cast(Scalar::Int64, Expr::Int(-1)))),
            (
                sum(cast(Scalar::Uint8, Expr::Uint(200)), cast(Scalar::Uint8, Expr::Uint(100))),
                Some(cast(Scalar::Uint8, Expr::Uint(44))),
            ),
            (cast(Scalar::Uint64, minus_one), None),
            (sum(Expr::Uint(2), Expr::Builtin(Builtin::Lane)), None),
            (sum(Expr::Float(Scalar::Float, 1), Expr::Float(Scalar::Float, 1)), None),
        ] {
            assert_eq!(folded(&expr, &function), wanted, "{expr:?}");
        }
    }
}
