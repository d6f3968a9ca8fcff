//! A function that is being printed.

use tangle_analysis::undefined::MayBeUndefined;
use tangle_program::tree::{Function, VarId};

use super::blocks::{BlockId, Blocks};
use super::module::{Id, Module};

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VarStorage {
    /// In ids, one for each value that it gets ([`Blocks`]).
    Value,
    /// In a variable of the storage class Function.
    Memory(Id),
}

/// Where jumps of a loop or switch go.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub on_break: BlockId,
    /// Where `continue` goes; `None` of a switch.
    pub on_continue: Option<BlockId>,
}

/// A function that is being printed.
pub(super) struct Body<'m, 'a> {
    pub module: &'m mut Module<'a>,
    pub function: &'a Function,
    /// Its number in the program.
    pub number: usize,
    pub blocks: Blocks,
    pub undefined: &'m MayBeUndefined<'a>,
    /// For each variable of the function, by its [`VarId`](tangle_program::tree::VarId).
    pub places: Vec<VarStorage>,
    /// True while what is computed leads to a variable that is precise.
    pub precise: bool,
    /// True while nothing may branch.
    pub straight: bool,
    /// True in a continue construct, which has no loops and switches of its own.
    pub in_continue: bool,
    /// Loops and switches around, inside out from the end.
    pub targets: Vec<Target>,
    /// The block with the one return of the function.
    pub shared_return: Option<BlockId>,
    /// The out and inout parameters that live in values: variable, pointer.
    pub copied_out: Vec<(VarId, Id)>,
    /// It is the `main` of a task shader, which ends by emitting no workgroups.
    pub emits: bool,
}
