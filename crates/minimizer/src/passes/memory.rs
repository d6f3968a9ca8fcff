//! Shared memory: arrays that nothing uses, old values that nobody needs.

use tangle_program::case::Case;
use tangle_program::memory::{ArrayId, StorageClass};
use tangle_program::tree::{Expr, Program, Stmt};

use super::candidates::{Candidates, each};
use crate::access::{each_expr_mut, each_stmt_mut, edit_stmt, stmts};

/// Forgets what an atomic returns; lets arrays begin at zero; moves them to shared memory; gives each invocation one element.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let keeps = |stmt: &Stmt| matches!(stmt, Stmt::Atomic(atomic) if atomic.dest.is_some());
    let places = stmts(&case.program).into_iter().filter(|(_, stmt)| keeps(stmt)).map(|(place, _)| place);
    let forgets = each(case, places.collect(), |case, place| {
        edit_stmt(&mut case.program, place, |stmt| {
            if let Stmt::Atomic(atomic) = stmt {
                atomic.dest = None;
            }
        });
    });
    let arrays: Vec<usize> = (0..case.program.shared.len()).collect();
    let from_zero = each(case, arrays.clone(), |case, array| case.program.shared[array].init = 0);
    let to_shared =
        each(case, arrays.clone(), |case, array| case.program.shared[array].storage = StorageClass::Workgroup);
    let in_parts = arrays.into_iter().filter(|&array| case.program.shared[array].parts > 1).collect();
    let to_one = each(case, in_parts, |case, array| {
        case.program.shared[array].parts = 1;
        each_stmt_mut(&mut case.program, &mut |_, stmt| {
            if let Stmt::Store { array: of, element, .. } = stmt
                && *of as usize == array
            {
                *element = None;
            }
        });
    });
    Box::new(forgets.chain(from_zero).chain(to_shared).chain(to_one))
}

/// Drops the arrays that are not mentioned.
pub fn drop_unused_arrays(program: &mut Program) {
    let mut used = vec![false; program.shared.len()];
    each_array_mut(program, &mut |array| {
        if let Some(used) = used.get_mut(*array as usize) {
            *used = true;
        }
    });
    if used.iter().all(|used| *used) {
        return;
    }
    each_array_mut(program, &mut |array| {
        *array = used[..used.len().min(*array as usize)].iter().filter(|used| **used).count() as ArrayId;
    });
    let mut kept = used.iter();
    program.shared.retain(|_| *kept.next().unwrap_or(&true));
}

/// Visits every mention of an array.
fn each_array_mut(program: &mut Program, visit: &mut dyn FnMut(&mut ArrayId)) {
    each_stmt_mut(program, &mut |_, stmt| stmt.array_mut().into_iter().for_each(&mut *visit));
    each_expr_mut(program, &mut |_, expr| {
        if let Expr::Load(load) = expr {
            visit(&mut load.array);
        }
    });
}
