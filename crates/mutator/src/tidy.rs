//! What every program must have and no mutator needs to think of.

use std::collections::HashSet;

use tangle_minimizer::access::{each_block_mut, each_stmt_mut, rename_vars};
use tangle_program::tree::{Block, Function, Program, Stmt, VarId};
use tangle_program::types::Type;

use crate::look::fresh_name;

/// Drops what stands behind jumps, and gives every log site a number and every loop a counter of its own.
pub fn tidy(program: &mut Program) {
    each_block_mut(program, &mut |_, block| {
        if let Some(jump) = block.iter().position(Stmt::is_jump) {
            block.truncate(jump + 1);
        }
    });
    separate_sites(program);
    for id in 0..program.functions.len() {
        count_loops(program, id);
    }
}

/// Gives every log site that has the number of an earlier one a number of its own; the others keep theirs.
fn separate_sites(program: &mut Program) {
    let mut seen = HashSet::new();
    let mut last = 0;
    each_stmt_mut(program, &mut |_, stmt| {
        if let Stmt::Log { site, .. } = stmt {
            last = last.max(*site);
        }
    });
    each_stmt_mut(program, &mut |_, stmt| {
        if let Stmt::Log { site, .. } = stmt
            && !seen.insert(*site)
        {
            last += 1;
            *site = last;
        }
    });
}

/// A loop whose counter counts another loop gets a new one, and with it everything in the loop that reads the old one.
fn count_loops(program: &mut Program, id: usize) {
    fn walk(block: &mut Block, taken: &mut HashSet<VarId>, next: &mut VarId) {
        for stmt in block {
            if let Stmt::Loop(l) = &*stmt {
                let old = l.counter;
                if !taken.insert(old) {
                    rename_in(stmt, old, *next);
                    taken.insert(*next);
                    *next += 1;
                }
            }
            stmt.nested_blocks_mut().into_iter().for_each(|inner| walk(inner, taken, next));
        }
    }
    let declared = program.functions[id].var_count() as VarId;
    let mut next = declared;
    walk(&mut program.functions[id].body, &mut HashSet::new(), &mut next);
    for _ in declared..next {
        let name = fresh_name(program, "n");
        program.functions[id].add_local(name, Type::UINT);
    }
}

fn rename_in(stmt: &mut Stmt, old: VarId, new: VarId) {
    let body = vec![std::mem::replace(stmt, Stmt::Break)];
    let mut alone = Function { name: String::new(), params: Vec::new(), result: None, locals: Vec::new(), body };
    rename_vars(&mut alone, &|var| if var == old { new } else { var });
    if let Some(renamed) = alone.body.pop() {
        *stmt = renamed;
    }
}
