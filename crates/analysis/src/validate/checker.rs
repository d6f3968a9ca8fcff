//! What the rules of statements and expressions of one function know.

use std::collections::HashSet;

use tangle_program::case::Case;
use tangle_program::tree::{Function, FunctionId, SiteId};

use crate::bounds::Scope;
use crate::undefined::MayBeUndefined;
use crate::uniform::Tangles;

/// Whether a variable counts a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    No,
    /// Of a loop that the check has not reached.
    Ahead,
    /// Of a loop that the check has reached.
    Taken,
}

/// What is around a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosing {
    pub(super) around: Around,
    pub(super) in_loop: bool,
    pub(super) tangles: Tangles,
}

/// What `break` would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Function,
    LoopOrSwitch,
}

/// Checks one function; `sites` are those of the whole program that were met so far.
pub(super) struct Checker<'a, 's> {
    pub(super) case: &'a Case,
    pub(super) id: FunctionId,
    pub(super) function: &'a Function,
    pub(super) scope: Scope<'a>,
    pub(super) counters: Vec<Counter>,
    pub(super) sites: &'s mut HashSet<SiteId>,
}

impl<'a, 's> Checker<'a, 's> {
    /// For the function of the case with this number. `sites` are those of the functions before.
    pub(super) fn new(
        case: &'a Case,
        id: FunctionId,
        function: &'a Function,
        undefined: &'a MayBeUndefined<'a>,
        sites: &'s mut HashSet<SiteId>,
    ) -> Checker<'a, 's> {
        let scope = Scope::new(case, function).with_undefined(undefined, id);
        Checker { case, id, function, scope, counters: vec![Counter::No; function.var_count()], sites }
    }
}
