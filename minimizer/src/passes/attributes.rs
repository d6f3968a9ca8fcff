//! Attributes: nothing is asked of the compiler.

use tangle_program::case::Case;
use tangle_program::control::{LoopControl, SelectionControl};
use tangle_program::tree::Stmt;

use super::{Candidates, each};
use crate::access::{Place, each_stmt_mut, edit_stmt, stmts};

/// Drops the attributes of everything, then those of one statement.
pub fn candidates(case: &Case) -> Candidates<'_> {
    let places = stmts(&case.program).into_iter().filter(|(_, stmt)| has_attribute(stmt)).map(|(place, _)| place);
    let edits: Vec<Option<Place>> = [None].into_iter().chain(places.map(Some)).collect();
    each(case, edits, |case, place| match place {
        None => each_stmt_mut(&mut case.program, &mut |_, stmt| clear(stmt)),
        Some(place) => edit_stmt(&mut case.program, place, clear),
    })
}

/// True if something is asked for the statement.
pub(crate) fn has_attribute(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::If { control, .. } | Stmt::Switch { control, .. } => !control.is_unspecified(),
        Stmt::Loop(l) => !l.control.is_unspecified(),
        _ => false,
    }
}

fn clear(stmt: &mut Stmt) {
    match stmt {
        Stmt::If { control, .. } | Stmt::Switch { control, .. } => *control = SelectionControl::Unspecified,
        Stmt::Loop(l) => l.control = LoopControl::Unspecified,
        _ => {}
    }
}
