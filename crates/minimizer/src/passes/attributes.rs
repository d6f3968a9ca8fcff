//! Attributes and qualifiers: nothing is asked of the compiler.

use tangle_program::case::Case;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::tree::Stmt;

use super::candidates::{Candidates, each};
use crate::access::{StmtAt, each_stmt_mut, edit_stmt, stmts};
use crate::size::has_attribute;

/// What is asked less.
enum Edit {
    Everything,
    Statement(StmtAt),
    /// The `precise` of all locals of the program.
    Qualifiers,
    /// That of one local, by function and number.
    Qualifier(usize, usize),
}

/// Drops the attributes and qualifiers of everything, then those of one statement and of one local.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let places = stmts(&case.program).into_iter().filter(|(_, stmt)| has_attribute(stmt)).map(|(place, _)| place);
    let precise = case.program.functions.iter().enumerate().flat_map(|(id, function)| {
        let locals = function.locals.iter().enumerate().filter(|(_, local)| local.precise);
        locals.map(move |(local, _)| Edit::Qualifier(id, local))
    });
    let edits = [Edit::Everything].into_iter().chain(places.map(Edit::Statement));
    let edits: Vec<Edit> = edits.chain([Edit::Qualifiers]).chain(precise).collect();
    each(case, edits, |case, edit| match edit {
        Edit::Everything => {
            each_stmt_mut(&mut case.program, &mut |_, stmt| clear(stmt));
            clear_locals(case);
        }
        Edit::Statement(place) => edit_stmt(&mut case.program, place, clear),
        Edit::Qualifiers => clear_locals(case),
        Edit::Qualifier(function, local) => case.program.functions[function].locals[local].precise = false,
    })
}

fn clear_locals(case: &mut Case) {
    let locals = case.program.functions.iter_mut().flat_map(|function| &mut function.locals);
    locals.for_each(|local| local.precise = false);
}

fn clear(stmt: &mut Stmt) {
    match stmt {
        Stmt::If { control, .. } | Stmt::Switch { control, .. } => *control = SelectionControl::Unspecified,
        Stmt::Loop(l) => l.control = LoopControl::Unspecified,
        _ => {}
    }
}
