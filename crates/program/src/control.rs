//! Control-flow attributes (GL_EXT_control_flow_attributes): how a compiler is asked to treat a selection or a loop.
//!
//! They become the Selection Control of OpSelectionMerge and the Loop Control of OpLoopMerge (SPIR-V 1.6 §3.2.2 and §3.2.3). All that are
//! here are hints: "a strong request, to the extent possible". No tangle and no value depends on them, so that a device that behaves in
//! another way with one is wrong.

use serde::{Deserialize, Serialize};

/// What is asked for an `if` or a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SelectionControl {
    /// Nothing: the compiler decides.
    #[default]
    #[serde(rename = "None", alias = "unspecified")]
    Unspecified,
    /// `[[flatten]]`: no control flow.
    #[serde(alias = "flatten")]
    Flatten,
    /// `[[dont_flatten]]`: control flow.
    #[serde(alias = "dont_flatten")]
    DontFlatten,
}

impl SelectionControl {
    /// Those that ask for something.
    pub const ASKING: [SelectionControl; 2] = [SelectionControl::Flatten, SelectionControl::DontFlatten];

    /// True if nothing is asked.
    pub fn is_unspecified(&self) -> bool {
        *self == SelectionControl::Unspecified
    }
}

/// What is asked for a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoopControl {
    /// Nothing: the compiler decides.
    #[default]
    #[serde(rename = "None", alias = "unspecified")]
    Unspecified,
    /// `[[unroll]]`: copies of the body instead of the loop.
    #[serde(alias = "unroll")]
    Unroll,
    /// `[[dont_unroll]]`: the loop as it is written.
    #[serde(alias = "dont_unroll")]
    DontUnroll,
}

impl LoopControl {
    /// Those that ask for something.
    pub const ASKING: [LoopControl; 2] = [LoopControl::Unroll, LoopControl::DontUnroll];

    /// True if nothing is asked.
    pub fn is_unspecified(&self) -> bool {
        *self == LoopControl::Unspecified
    }
}
