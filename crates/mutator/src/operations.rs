//! Operations and values.

use tangle_minimizer::access::{
    StmtAt, each_expr_mut, each_stmt_mut, edit_block, edit_stmt, exprs, replace_expr, stmts,
};
use tangle_program::case::Case;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Category, Gives, SubgroupOp, TABLE};
use tangle_program::tree::{Expr, Function, Label, LoopKind, Stmt, SubgroupCall};
use tangle_program::types::Scalar;

use crate::dice::Dice;
use crate::look::{any_stmt, constant, fresh_local, stmt_where};

/// Puts another operation in the place of one: subgroup operations by preference, else operators and built-in functions.
pub fn family(case: &mut Case, dice: &mut Dice) -> Option<()> {
    if dice.percent(15)
        && let Some(place) = stmt_where(case, dice, |stmt| matches!(stmt, Stmt::SubgroupBarrier(_)))
    {
        return another_barrier(case, place, dice);
    }
    let snapshot = case.clone();
    let all = exprs(&snapshot.program);
    let subgroup: Vec<_> = all.iter().filter(|at| matches!(at.expr, Expr::Subgroup(_))).collect();
    let others: Vec<_> = all.iter().filter(|at| !relatives(at.expr).is_empty()).collect();
    let at = if dice.percent(75) && !subgroup.is_empty() { dice.pick(&subgroup)? } else { dice.pick(&others)? };
    let function = &snapshot.program.functions[at.place.function as usize];
    let new = match at.expr {
        Expr::Subgroup(call) => Expr::Subgroup(another_call(case, function, call, dice)?),
        other => dice.pick(&relatives(other))?.clone(),
    };
    replace_expr(&mut case.program, **at, new);
    Some(())
}

fn another_barrier(case: &mut Case, place: StmtAt, dice: &mut Dice) -> Option<()> {
    let barriers: Vec<SubgroupOp> =
        TABLE.iter().filter(|info| info.gives == Gives::Nothing).map(|info| info.op).collect();
    let op = *dice.pick(&barriers)?;
    edit_stmt(&mut case.program, place, |stmt| *stmt = Stmt::SubgroupBarrier(op));
    Some(())
}

/// Another operation that takes the same operands and gives the same.
fn another_call(case: &Case, function: &Function, call: &SubgroupCall, dice: &mut Dice) -> Option<SubgroupCall> {
    let info = call.op.info();
    let scalar = call.args.first().and_then(|value| value.ty(function)).map(|ty| ty.scalar);
    let takes = |scalars: &[Scalar]| info.scalars.is_empty() || scalar.is_some_and(|scalar| scalars.contains(&scalar));
    let same: Vec<SubgroupOp> = TABLE
        .iter()
        .filter(|row| row.params == info.params && row.gives == info.gives && takes(row.scalars) && row.op != call.op)
        // Derivatives have places of their own.
        .filter(|row| (row.category == Category::Derivative) == (info.category == Category::Derivative))
        .map(|row| row.op)
        .collect();
    let op = *dice.pick(&same)?;
    let most = case.entry_point.subgroup_size.required().unwrap_or(4);
    let drawn = (1 << dice.below(6)).min(most);
    let cluster = op.info().clustered.then(|| call.cluster.unwrap_or(drawn));
    Some(SubgroupCall { op, args: call.args.clone(), cluster })
}

/// The expression with each other operator or built-in function that takes the same operands.
fn relatives(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Unary(op, x) => {
            let same = |other: &UnaryOp| *other != *op && *other != UnaryOp::Not && *op != UnaryOp::Not;
            UnaryOp::ALL.into_iter().filter(same).map(|op| Expr::Unary(op, x.clone())).collect()
        }
        Expr::Binary(op, x, y) => {
            let class = |op: BinaryOp| (op.is_logical(), op.is_comparison(), op.is_shift());
            let same = |other: &BinaryOp| *other != *op && class(*other) == class(*op);
            BinaryOp::ALL.into_iter().filter(same).map(|op| Expr::Binary(op, x.clone(), y.clone())).collect()
        }
        Expr::Intrinsic(op, args) => {
            let shape = |op: Intrinsic| (op.info().values, op.info().offsets, op.info().bools, op.info().gives);
            // The device may lack what these need.
            let has_needs = |op: Intrinsic| op.is_dot() || op.is_signed_remainder() || op.rounded().is_some();
            let is_sure = |op: Intrinsic| op != Intrinsic::Expect && !has_needs(op);
            let same = |other: &Intrinsic| *other != *op && is_sure(*other) && shape(*other) == shape(*op);
            Intrinsic::ALL.into_iter().filter(same).map(|op| Expr::Intrinsic(op, args.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// Duplicates an operation beside itself, with a variable of its own that is logged; or any statement.
pub fn duplicate(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let operates = |stmt: &Stmt| {
        let mut found = false;
        stmt.direct_exprs().for_each(|expr| expr.walk(&mut |expr| found |= matches!(expr, Expr::Subgroup(_))));
        found && matches!(stmt, Stmt::Assign { .. })
    };
    let place = match stmt_where(case, dice, operates) {
        Some(place) if dice.percent(70) => place,
        _ => any_stmt(case, dice)?,
    };
    let (_, stmt) = stmts(&case.program).into_iter().find(|(at, _)| *at == place)?;
    let mut copy = vec![stmt.clone()];
    if let Stmt::Assign { var, value } = stmt {
        let ty = case.program.functions[place.function as usize].var_type(*var)?;
        let value = value.clone();
        let twin = fresh_local(&mut case.program, place.function, ty);
        copy = vec![Stmt::Assign { var: twin, value }, Stmt::Log { site: 1, values: vec![Expr::Var(twin)] }];
    }
    // In front of it: what it assigns may be among its operands.
    edit_block(&mut case.program, place.block, |block| _ = block.splice(place.index..place.index, copy));
    Some(())
}

/// Puts a variable, a constant or an expression found elsewhere in the place of one of its type.
pub fn expression(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let snapshot = case.clone();
    let all = exprs(&snapshot.program);
    let at = *dice.pick(&all)?;
    let function = &snapshot.program.functions[at.place.function as usize];
    let ty = at.expr.ty(function)?;
    let mut alike = Vec::new();
    for other in all.iter().filter(|other| other.place.function == at.place.function) {
        if other.expr.ty(function) == Some(ty) && other.expr != at.expr {
            alike.push(other.expr);
        }
    }
    let vars: Vec<Expr> =
        (0..function.var_count() as u32).filter(|var| function.var_type(*var) == Some(ty)).map(Expr::Var).collect();
    let new = match dice.below(6) {
        0 => constant(ty, dice),
        1 | 2 => dice.pick(&vars)?.clone(),
        _ => (*dice.pick(&alike)?).clone(),
    };
    replace_expr(&mut case.program, at, new);
    Some(())
}

/// Another number: a literal, a label, a cluster size, a loop's step.
pub fn number(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let mut count = 0;
    each_number(case, &mut |_| count += 1);
    if count == 0 {
        return None;
    }
    let chosen = dice.below(count);
    let mut seen = 0;
    each_number(case, &mut |number| {
        if seen == chosen {
            number.change(dice);
        }
        seen += 1;
    });
    Some(())
}

/// A number in a program.
enum Number<'a> {
    Word(&'a mut u32),
    Int(&'a mut i32),
    Label(&'a mut i64),
    /// A power of two.
    Power(&'a mut u32),
}

impl Number<'_> {
    fn change(self, dice: &mut Dice) {
        match self {
            Number::Word(n) => *n = near(*n, dice),
            Number::Int(n) => *n = near(*n as u32, dice) as i32,
            Number::Label(n) => *n = i64::from(near(*n as u32, dice)),
            Number::Power(n) => *n = if dice.percent(50) { (*n / 2).max(1) } else { *n * 2 },
        }
    }
}

/// A number near another one, or one that is near a limit.
fn near(n: u32, dice: &mut Dice) -> u32 {
    match dice.below(8) {
        0 | 1 => n.wrapping_add(1),
        2 | 3 => n.wrapping_sub(1),
        4 => n.wrapping_mul(2),
        5 => n / 2,
        6 => n ^ 1 << dice.below(32),
        _ => dice.one([0, 1, 2, 3, 4, 8, 16, 31, 32, 63, u32::MAX, 0x7FFF_FFFF, 0x8000_0000]),
    }
}

fn each_number(case: &mut Case, visit: &mut dyn FnMut(Number<'_>)) {
    each_expr_mut(&mut case.program, &mut |_, expr| match expr {
        Expr::Uint(n) => visit(Number::Word(n)),
        Expr::Int(n) | Expr::Float(_, n) => visit(Number::Int(n)),
        Expr::Subgroup(call) => call.cluster.iter_mut().for_each(|n| visit(Number::Power(n))),
        _ => {}
    });
    each_stmt_mut(&mut case.program, &mut |_, stmt| match stmt {
        Stmt::Switch { arms, .. } => arms.iter_mut().flat_map(|arm| &mut arm.labels).for_each(|label| {
            if let Label::Case(n) = label {
                visit(Number::Label(n));
            }
        }),
        Stmt::Loop(l) => {
            if let LoopKind::For { step, .. } = &mut l.kind {
                visit(Number::Word(step));
            }
        }
        _ => {}
    });
}

/// Logs one or two variables somewhere.
pub fn observe(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let place = any_stmt(case, dice)?;
    let vars = case.program.functions[place.function as usize].var_count();
    if vars == 0 {
        return None;
    }
    let values = (0..=dice.below(2)).map(|_| Expr::Var(dice.below(vars) as u32)).collect();
    let behind = usize::from(dice.percent(50));
    edit_block(&mut case.program, place.block, |block| {
        let behind = if block[place.index].is_jump() { 0 } else { behind };
        block.insert(place.index + behind, Stmt::Log { site: 1, values });
    });
    Some(())
}
