//! Parts of a case in other places, and in other cases.

use std::collections::BTreeSet;

use tangle_minimizer::access::{
    StmtAt, blocks, each_block_mut, each_expr_mut, each_stmt_mut, edit_block, mentioned, rename_vars, stmts,
};
use tangle_program::case::{Case, Data};
use tangle_program::interface::MAX_FLATS;
use tangle_program::tree::{Block, Expr, Function, FunctionId, Program, Stmt, VarId, walk_block};

use crate::dice::Dice;
use crate::launch::resized;
use crate::look::{any_stmt, counters, fresh_local, fresh_name, writable};

/// The most statements that are copied, not counting what stands in them.
const RUN: usize = 4;
/// The most inputs that a case gets from others.
const INPUTS: usize = 8;

/// Copies some statements to another place of the case.
pub fn within(case: &mut Case, dice: &mut Dice) -> Option<()> {
    let (from, run) = run(case, dice)?;
    let to = any_stmt(case, dice)?;
    let source = case.program.functions[from as usize].clone();
    let run = if from == to.function { run } else { adapted(&source, run, case, to.function, dice) };
    insert(case, to, run);
    Some(())
}

/// Copies some statements of another case into `main`, with the functions that they call and the data that they read.
pub fn across(case: &mut Case, other: &Case, dice: &mut Dice) -> Option<()> {
    let (from, run) = run(other, dice)?;
    let main = case.program.functions.len() - 1;
    let here: Vec<StmtAt> = stmts(&case.program)
        .into_iter()
        .map(|(place, _)| place)
        .filter(|place| place.function as usize == main)
        .collect();
    let mut to = *dice.pick(&here)?;
    let mut part = Program { functions: Vec::new(), shared: Vec::new() };
    let mut source = other.program.functions[from as usize].clone();
    source.body = run;
    let called = called_from(&source.body, &other.program);
    for &id in &called {
        part.functions.push(other.program.functions[id as usize].clone());
    }
    part.functions.push(source.clone());
    each_stmt_mut(&mut part, &mut |_, stmt| {
        if let Stmt::Call { function, .. } = stmt {
            *function = (main + called.iter().position(|id| id == function).unwrap_or_default()) as FunctionId;
        }
    });
    bring_data(&mut part, &other.data, case);
    let run = part.functions.pop()?.body;
    to.function += part.functions.len() as FunctionId;
    for mut function in part.functions {
        function.name = fresh_name(&case.program, "f");
        let before_main = case.program.functions.len() - 1;
        case.program.functions.insert(before_main, function);
    }
    let run = adapted(&source, run, case, to.function, dice);
    // Blocks are numbered from main on, so that the new functions before it do not shift the number.
    insert(case, to, run);
    Some(())
}

/// Some statements that stand together, and the function they are in.
fn run(case: &Case, dice: &mut Dice) -> Option<(FunctionId, Block)> {
    let place = any_stmt(case, dice)?;
    let (_, block) = blocks(&case.program).swap_remove(place.block);
    let end = block.len().min(place.index + 1 + dice.below(RUN));
    Some((place.function, block[place.index..end].to_vec()))
}

fn insert(case: &mut Case, to: StmtAt, mut run: Block) {
    // What follows is to be reached.
    if run.last().is_some_and(Stmt::is_jump) {
        run.pop();
    }
    edit_block(&mut case.program, to.block, |block| _ = block.splice(to.index..to.index, run));
}

/// Statements of another function for this one: what they name are variables of this one of the same types, half of them new.
fn adapted(source: &Function, run: Block, case: &mut Case, into: FunctionId, dice: &mut Dice) -> Block {
    let mut part = Function { body: run, ..source.clone() };
    let counts = counters(&part);
    let used = mentioned(&part);
    let new: Vec<VarId> = (0..source.var_count() as VarId)
        .map(|var| {
            let (true, Some(ty)) = (used[var as usize], source.var_type(var)) else { return 0 };
            let there = writable(&case.program.functions[into as usize], ty);
            match dice.pick(&there) {
                Some(there) if !counts.contains(&var) && dice.percent(50) => *there,
                _ => fresh_local(&mut case.program, into, ty),
            }
        })
        .collect();
    rename_vars(&mut part, &|var| new.get(var as usize).copied().unwrap_or(var));
    if source.result != case.program.functions[into as usize].result {
        without_returns(&mut part);
    }
    part.body
}

/// Takes `return`s out: they return something else than their new function does.
fn without_returns(part: &mut Function) {
    let mut program = Program { functions: vec![std::mem::replace(part, empty())], shared: Vec::new() };
    each_block_mut(&mut program, &mut |_, block| {
        block.retain(|stmt| !matches!(stmt, Stmt::Return(_)));
    });
    if let Some(function) = program.functions.pop() {
        *part = function;
    }
}

fn empty() -> Function {
    Function { name: String::new(), params: Vec::new(), result: None, locals: Vec::new(), body: Vec::new() }
}

/// The functions that statements call, and those that these call, in order.
fn called_from(body: &Block, program: &Program) -> Vec<FunctionId> {
    fn collect(body: &Block, program: &Program, found: &mut BTreeSet<FunctionId>) {
        walk_block(body, &mut |stmt| {
            if let Stmt::Call { function, .. } = stmt
                && let (true, Some(callee)) = (found.insert(*function), program.functions.get(*function as usize))
            {
                collect(&callee.body, program, found);
            }
        });
    }
    let mut found = BTreeSet::new();
    collect(body, program, &mut found);
    found.into_iter().collect()
}

/// Brings along what a part reads: inputs, uniforms, push constants, specialisation constants and flat inputs of its case.
fn bring_data(part: &mut Program, from: &Data, case: &mut Case) {
    let invocations = case.entry_point.invocations() as usize;
    let (mut inputs, mut uniforms, mut push) = (Moved::default(), Moved::default(), Moved::default());
    let (mut constants, mut flats) = (Moved::default(), Moved::default());
    let data = &mut case.data;
    each_expr_mut(part, &mut |_, expr| match expr {
        Expr::Input(k) | Expr::InputOf(k, _) => *k = inputs.of(*k, &from.inputs, &mut data.inputs, INPUTS),
        Expr::Uniform(k) => *k = uniforms.of(*k, &from.uniforms, &mut data.uniforms, 64),
        Expr::Push(k) => *k = push.of(*k, &from.push, &mut data.push, 16),
        Expr::Flat(k) => *k = flats.of(*k, &from.flats, &mut data.flats, MAX_FLATS),
        Expr::Constant(k) => *k = constants.of(*k, &from.constants, &mut data.constants, 16),
        // More do no harm: what was in range stays so.
        Expr::Resource(_) => data.resources.extend(from.resources.iter().skip(data.resources.len())),
        _ => {}
    });
    for input in &mut data.inputs {
        if input.len() != invocations {
            *input = resized(input, invocations);
        }
    }
}

/// Which source of one case has become which of another.
#[derive(Default)]
struct Moved(Vec<(u32, u32)>);

impl Moved {
    /// The new number of a source; its data are appended the first time, as long as there are fewer than `most`.
    fn of<T: Clone>(&mut self, k: u32, from: &[T], to: &mut Vec<T>, most: usize) -> u32 {
        if let Some((_, new)) = self.0.iter().find(|(old, _)| *old == k) {
            return *new;
        }
        let new = match from.get(k as usize) {
            Some(data) if to.len() < most => {
                to.push(data.clone());
                to.len() as u32 - 1
            }
            _ => k % to.len().max(1) as u32,
        };
        self.0.push((k, new));
        new
    }
}
