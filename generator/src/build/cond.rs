//! A condition, and what is believed of it.

use tangle_program::tree::Expr;

use super::frame::Source;
use crate::class::Decision;

/// A condition and what is known about it.
pub(crate) struct Cond {
    pub(crate) expr: Expr,
    pub(crate) decision: Decision,
    /// What it tests: where the value comes from that decides.
    pub(crate) source: Source,
}

impl Cond {
    pub(super) fn new(expr: Expr, source: Source) -> Cond {
        Cond { expr, decision: Decision::Divergent, source }
    }

    pub(crate) fn uniform(expr: Expr) -> Cond {
        Cond { expr, decision: Decision::Uniform, source: Source::Other }
    }
}

/// What is believed of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It holds for some.
    Mixed,
    Always,
    Never,
}
