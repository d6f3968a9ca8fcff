//! A function that is being printed. Its statements are in `statement.rs`, its expressions in `expression.rs`; what HLSL says otherwise in
//! `hlsl/mod.rs`.

use tangle_program::tree::Function;

use crate::plan::Declared;
use crate::printer::Printer;

/// Prints the statements of one function.
pub(crate) struct Body<'p, 'a> {
    pub(crate) printer: &'p mut Printer<'a>,
    pub(crate) function: &'a Function,
    pub(super) declared: Vec<Declared>,
    /// The number of the only invocation that comes here, where a condition says so.
    pub(super) single: Option<u32>,
}
