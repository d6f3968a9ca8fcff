//! Control flow: more of it, other lanes in it, things moved out of it.

use tangle_minimizer::access::{StmtAt, blocks, edit_block, edit_stmt, exprs, replace_expr, stmts};
use tangle_program::case::Case;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::{Fold, SubgroupOp};
use tangle_program::tree::{Arm, Block, Expr, FunctionId, Label, Loop, LoopKind, Stmt, Test, VarId, walk_block};
use tangle_program::types::Type;

use crate::dice::Dice;
use crate::look::{any_stmt, around, fresh_local, lane_condition, lane_word, stmt_where};

/// Puts an `if`, a switch or a loop around one to three statements.
pub fn wrap(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let place = any_stmt(case, dice)?;
    let len = 1 + dice.below(3);
    let cond = lane_condition(case, dice);
    let selector = Expr::binary(BinaryOp::BitAnd, lane_word(case, dice), Expr::Uint(3));
    let form = dice.below(8);
    let counter = if form >= 4 { fresh_local(&mut case.program, place.function, Type::UINT) } else { 0 };
    let rounds = 1 + dice.below(4) as u32;
    let label = Label::Case(dice.below(4) as i64);
    edit_block(&mut case.program, place.block, |block| {
        let end = block.len().min(place.index + len);
        let body: Block = block.drain(place.index..end).collect();
        let wrapped = match form {
            0 | 1 => Stmt::If { cond, then: body, otherwise: Vec::new(), control: Default::default() },
            2 => Stmt::If { cond, then: body.clone(), otherwise: body, control: Default::default() },
            3 => {
                let second = Arm { labels: vec![Label::Default], body: body.clone() };
                Stmt::Switch {
                    selector,
                    arms: vec![Arm { labels: vec![label], body }, second],
                    control: Default::default(),
                }
            }
            _ => repeat(form, cond, counter, rounds, body),
        };
        block.insert(place.index, wrapped);
    });
    Some(())
}

fn repeat(form: usize, cond: Expr, counter: VarId, rounds: u32, body: Block) -> Stmt {
    let test = Test { before: Vec::new(), cond };
    let (kind, test) = match form {
        4 => (LoopKind::For { init: Expr::Uint(0), step: 1, update: Vec::new() }, None),
        5 => (LoopKind::While, Some(test)),
        6 => (LoopKind::DoWhile, Some(test)),
        _ => (LoopKind::Forever, None),
    };
    Stmt::Loop(Box::new(Loop { kind, counter, bound: Expr::Uint(rounds), test, body, control: Default::default() }))
}

/// Some lanes leave: a break, a continue or a return under a condition.
pub fn jump(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let place = any_stmt(case, dice)?;
    let (in_loop, breakable) = around(&case.program)[place.block];
    let returns = case.program.functions[place.function as usize].result.is_none();
    let jumps =
        [(breakable, Stmt::Break), (in_loop, Stmt::Continue), (in_loop, Stmt::Break), (returns, Stmt::Return(None))];
    let possible: Vec<Stmt> = jumps.into_iter().filter(|(possible, _)| *possible).map(|(_, jump)| jump).collect();
    let jump = dice.pick(&possible)?.clone();
    let cond = lane_condition(case, dice);
    edit_block(&mut case.program, place.block, |block| {
        block.insert(
            place.index,
            Stmt::If { cond, then: vec![jump], otherwise: Vec::new(), control: Default::default() },
        );
    });
    Some(())
}

/// Negates, narrows or replaces a condition.
pub fn condition(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let snapshot = case.clone();
    let conditions: Vec<_> = exprs(&snapshot.program)
        .into_iter()
        .filter(|at| {
            let function = &snapshot.program.functions[at.place.function as usize];
            let decides = matches!(at.stmt, Stmt::If { .. } | Stmt::Loop(_));
            at.number == 0 && decides && at.expr.ty(function) == Some(Type::BOOL)
        })
        .collect();
    let at = *dice.pick(&conditions)?;
    let other = lane_condition(case, dice);
    let old = at.expr.clone();
    let new = match dice.below(5) {
        0 => Expr::unary(UnaryOp::Not, old),
        1 => Expr::binary(BinaryOp::And, old, other),
        2 => Expr::binary(BinaryOp::Or, old, other),
        3 => Expr::binary(BinaryOp::Xor, old, other),
        _ => other,
    };
    replace_expr(&mut case.program, at, new);
    Some(())
}

/// Does behind a loop what is done in it: moves or copies a statement there, or observes a variable that the loop leaves behind.
pub fn after_loop(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let place = stmt_where(case, dice, |stmt| matches!(stmt, Stmt::Loop(_)))?;
    let all = stmts(&case.program);
    let (_, stmt) = all.iter().find(|(at, _)| *at == place)?;
    let Stmt::Loop(l) = stmt else { return None };
    if dice.percent(50) {
        let mut vars = vec![l.counter];
        walk_block(&l.body, &mut |stmt| vars.extend(stmt.written()));
        let var = *dice.pick(&vars)?;
        return observe_after(case, place, var, dice);
    }
    let movable: Vec<usize> = (0..l.body.len()).filter(|&i| !l.body[i].is_jump()).collect();
    let index = *dice.pick(&movable)?;
    let moved = l.body[index].clone();
    let stays = dice.percent(50);
    edit_stmt(&mut case.program, place, |stmt| {
        if let (Stmt::Loop(l), false) = (stmt, stays) {
            l.body.remove(index);
        }
    });
    edit_block(&mut case.program, place.block, |block| block.insert(place.index + 1, moved));
    Some(())
}

/// A subgroup operation on a variable behind a statement, logged.
fn observe_after(case: &mut Case, place: StmtAt, var: VarId, dice: &mut Dice) -> Option<()> {
    let function = &case.program.functions[place.function as usize];
    let ty = function.var_type(var)?;
    let op = dice.one([
        SubgroupOp::Reduce(Fold::Add),
        SubgroupOp::Reduce(Fold::Max),
        SubgroupOp::Inclusive(Fold::Add),
        SubgroupOp::BroadcastFirst,
    ]);
    let op = if op.info().scalars.contains(&ty.scalar) { op } else { SubgroupOp::BroadcastFirst };
    let result = fresh_local(&mut case.program, place.function, ty);
    let new = [
        Stmt::Assign { var: result, value: Expr::subgroup(op, [Expr::Var(var)]) },
        // Numbered by the tidying.
        Stmt::Log { site: 1, values: vec![Expr::Var(var), Expr::Var(result)] },
    ];
    edit_block(&mut case.program, place.block, |block| _ = block.splice(place.index + 1..place.index + 1, new));
    Some(())
}

/// Asks something else of the compiler for a branch, switch or loop.
pub fn attribute(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let takes = |stmt: &Stmt| matches!(stmt, Stmt::If { .. } | Stmt::Switch { .. } | Stmt::Loop(_));
    let place = stmt_where(case, dice, takes)?;
    let which = dice.below(2);
    edit_stmt(&mut case.program, place, |stmt| match stmt {
        Stmt::If { control, .. } | Stmt::Switch { control, .. } => *control = SelectionControl::ASKING[which],
        Stmt::Loop(l) => l.control = LoopControl::ASKING[which],
        _ => {}
    });
    Some(())
}

/// Moves a statement to another place of its function.
pub fn relocate(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let from = any_stmt(case, dice)?;
    let mut moved = Vec::new();
    edit_block(&mut case.program, from.block, |block| moved.push(block.remove(from.index)));
    let to = somewhere(case, from.function, dice)?;
    edit_block(&mut case.program, to.block, |block| _ = block.splice(to.index..to.index, moved));
    Some(())
}

/// A place of a function where a statement can be put: before another, or in a block that has none.
fn somewhere(case: &Case, function: FunctionId, dice: &mut Dice) -> Option<StmtAt> {
    let places: Vec<StmtAt> = blocks(&case.program)
        .into_iter()
        .enumerate()
        .filter(|(_, (id, _))| *id == function)
        .flat_map(|(block, (_, stmts))| (0..stmts.len().max(1)).map(move |index| StmtAt { function, block, index }))
        .collect();
    dice.pick(&places).copied()
}
