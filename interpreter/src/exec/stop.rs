//! Why a run ends early.

use crate::outcome::UndefinedBehaviour;

/// Why a run stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    Undefined(Box<UndefinedBehaviour>),
    /// Whether the behaviour is undefined at this place depends on the path of lost invocations.
    Undecided(u32),
    /// The limit of steps is reached, at this place.
    Steps(u32),
    /// Constructs are not nested in each other.
    Unstructured,
    /// The limit of memory is reached.
    Memory,
}
