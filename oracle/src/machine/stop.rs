//! Why a run ends early.

/// Why a run was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The program does what it must not: undefined behaviour, or an undefined value in control flow.
    Invalid(String),
}
