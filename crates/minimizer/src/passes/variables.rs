//! Variables: fewer of them.

use std::collections::HashMap;

use tangle_program::case::Case;
use tangle_program::tree::{Expr, Function, FunctionId, Local, Program, Stmt, VarId, walk_block};

use super::candidates::{Candidates, each};
use super::memory::drop_unused_arrays;
use crate::access::{
    each_block_mut, each_expr_mut, each_stmt_mut, edit_block, mentioned, reads, rename_vars, replace_stmt, stmts,
    walk_expr_mut,
};
use crate::size::is_closed;

/// Without functions that are never called and locals that are never mentioned. What is printed stays the same.
pub fn unused(case: &Case) -> Candidates<'_> {
    each(case, vec![()], |case, ()| drop_unused(&mut case.program))
}

/// Drops functions that are never called, and locals and arrays that are never mentioned.
pub fn drop_unused(program: &mut Program) {
    drop_functions(program, &called(program));
    for function in &mut program.functions {
        drop_locals(function);
    }
    drop_unused_arrays(program);
}

/// Which functions are `main` or called from what is.
fn called(program: &Program) -> Vec<bool> {
    let mut called = vec![false; program.functions.len()];
    if let Some(main) = called.last_mut() {
        *main = true;
    }
    for id in (0..program.functions.len()).rev().collect::<Vec<_>>() {
        if called[id] {
            walk_block(&program.functions[id].body, &mut |stmt| {
                if let Stmt::Call { function, .. } = stmt
                    && let Some(called) = called.get_mut(*function as usize)
                {
                    *called = true;
                }
            });
        }
    }
    called
}

/// Keeps some functions; calls of the others must be gone from these.
pub fn drop_functions(program: &mut Program, keep: &[bool]) {
    let new: Vec<FunctionId> = keep
        .iter()
        .scan(0, |next, &kept| {
            let id = *next;
            *next += FunctionId::from(kept);
            Some(id)
        })
        .collect();
    let mut kept = keep.iter();
    program.functions.retain(|_| *kept.next().unwrap_or(&true));
    each_stmt_mut(program, &mut |_, stmt| {
        if let Stmt::Call { function, .. } = stmt {
            *function = new.get(*function as usize).copied().unwrap_or(*function);
        }
    });
}

fn drop_locals(function: &mut Function) {
    let mentioned = mentioned(function);
    let params = function.params.len();
    let mut new: Vec<VarId> = (0..params as VarId).collect();
    let mut locals: Vec<Local> = Vec::new();
    for (local, mentioned) in function.locals.drain(..).zip(&mentioned[params..]) {
        new.push((params + locals.len()) as VarId);
        if *mentioned {
            locals.push(local);
        }
    }
    function.locals = locals;
    rename_vars(function, &|var| new.get(var as usize).copied().unwrap_or(var));
}

/// How often a variable is assigned, otherwise written, and read.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    assigned: usize,
    received: usize,
    counter: bool,
    read: usize,
}

fn uses(function: &Function) -> Vec<Use> {
    let mut uses = vec![Use::default(); function.var_count()];
    walk_block(&function.body, &mut |stmt| {
        for var in stmt.written() {
            let Some(usage) = uses.get_mut(var as usize) else { continue };
            if matches!(stmt, Stmt::Assign { .. }) {
                usage.assigned += 1;
            } else {
                usage.received += 1;
            }
        }
        if let Stmt::Loop(l) = stmt
            && let Some(usage) = uses.get_mut(l.counter as usize)
        {
            usage.counter = true;
        }
        for var in stmt.direct_exprs().flat_map(reads) {
            if let Some(usage) = uses.get_mut(var as usize) {
                usage.read += 1;
            }
        }
    });
    uses
}

/// Every function with its variables and how they are used.
fn all_uses(program: &Program) -> impl Iterator<Item = (FunctionId, VarId, Use)> {
    program
        .functions
        .iter()
        .enumerate()
        .rev()
        .flat_map(|(id, function)| (0..).zip(uses(function)).map(move |(var, usage)| (id as FunctionId, var, usage)))
}

/// Deletes all assignments to a variable; the most often assigned first.
pub fn forget(case: &Case) -> Candidates<'_> {
    let mut vars: Vec<(FunctionId, VarId, Use)> =
        all_uses(&case.program).filter(|(.., usage)| usage.assigned > 1).collect();
    vars.sort_by_key(|(.., usage)| std::cmp::Reverse(usage.assigned));
    each(case, vars, |case, (id, var, _)| {
        each_block_mut(&mut case.program, &mut |function, block| {
            let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Assign { var: v, .. } if *v == var && function == id);
            block.retain(|stmt| !is_it(stmt));
        });
    })
}

/// Puts an assigned value in the place of a variable and drops the assignment: everywhere if there is no other assignment, or from
/// there on as far as the block and the next assignment. The value goes to one place, or to all if it is no more than a
/// word. (Where that moves an operation to other lanes, the oracle is asked again.)
pub fn substitute(case: &Case) -> Candidates<'_> {
    let uses: HashMap<(FunctionId, VarId), Use> =
        all_uses(&case.program).map(|(id, var, usage)| ((id, var), usage)).collect();
    let mut edits = Vec::new();
    for (place, stmt) in stmts(&case.program) {
        let Stmt::Assign { var, value } = stmt else { continue };
        let Some(usage) = uses.get(&(place.function, *var)) else { continue };
        let is_word = is_closed(value) && value.operands().next().is_none() || matches!(value, Expr::Var(_));
        let many = if is_word { usize::MAX } else { 1 };
        if usage.assigned == 1 && usage.received == 0 && !usage.counter && usage.read <= many {
            edits.push((place, *var, value.clone(), Reach::Everywhere));
        }
        edits.push((place, *var, value.clone(), Reach::Block { many }));
    }
    each(case, edits, |case, (place, var, value, reach)| {
        match reach {
            Reach::Everywhere => each_expr_mut(&mut case.program, &mut |function, expr| {
                if function == place.function && *expr == Expr::Var(var) {
                    *expr = value.clone();
                }
            }),
            Reach::Block { many } => edit_block(&mut case.program, place.block, |block| {
                put_behind(&mut block[place.index + 1..], var, &value, many);
            }),
        }
        replace_stmt(&mut case.program, place, Vec::new());
        drop_unused(&mut case.program);
    })
}

/// How far a value is put in the place of a variable.
#[derive(Clone, Copy, Debug)]
enum Reach {
    Everywhere,
    /// As far as the end of the block, the next assignment, or so many places.
    Block {
        many: usize,
    },
}

fn put_behind(block: &mut [Stmt], var: VarId, value: &Expr, mut many: usize) {
    for stmt in block {
        put(stmt, var, value, &mut many);
        if stmt.written().any(|other| other == var) || many == 0 {
            return;
        }
    }
}

fn put(stmt: &mut Stmt, var: VarId, value: &Expr, many: &mut usize) {
    for expr in stmt.direct_exprs_mut() {
        walk_expr_mut(expr, &mut |expr| {
            if *expr == Expr::Var(var) && *many > 0 {
                *expr = value.clone();
                *many -= 1;
            }
        });
    }
    for stmt in stmt.nested_blocks_mut().into_iter().flatten() {
        put(stmt, var, value, many);
    }
}

/// The most pairs of variables that are tried.
const PAIRS: usize = 64;

/// Makes one variable of two of one type. An assignment of one to the other goes.
pub fn merge(case: &Case) -> Candidates<'_> {
    let mut pairs = Vec::new();
    for (id, function) in case.program.functions.iter().enumerate().rev() {
        let uses = uses(function);
        let locals = function.params.len() as VarId..function.var_count() as VarId;
        for (a, b) in locals.clone().flat_map(|a| locals.clone().skip_while(move |b| *b <= a).map(move |b| (a, b))) {
            let is_counter = |var: VarId| uses[var as usize].counter;
            if function.var_type(a) == function.var_type(b) && !is_counter(a) && !is_counter(b) {
                pairs.push((id, a, b));
            }
        }
    }
    pairs.truncate(PAIRS);
    each(case, pairs, |case, (id, a, b)| {
        let function = &mut case.program.functions[id];
        rename_vars(function, &|var| if var == b { a } else { var });
        each_block_mut(&mut case.program, &mut |function, block| {
            let is_moot = |stmt: &Stmt| {
                matches!(stmt, Stmt::Assign { var, value } if *var == a && *value == Expr::Var(a))
                    && function as usize == id
            };
            block.retain(|stmt| !is_moot(stmt));
        });
        drop_unused(&mut case.program);
    })
}
