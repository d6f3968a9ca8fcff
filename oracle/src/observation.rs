//! What a device gave back.

use serde::{Deserialize, Serialize};

/// What a device gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The lane map buffer ([`tangle_program::case::interface::MAP`]).
    pub map: Vec<u32>,
    /// The log of each invocation, by its [ordinal](tangle_program::case::EntryPoint::ordinal); zeros at the end may be left out.
    pub logs: Vec<Vec<u32>>,
    /// Words of the logs that say nothing, where not everything was executed that would decide them (an interpreter that holds a value
    /// open): for each invocation, other than zero at their places. Empty if all say what they say; zeros at the end may be left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Vec<u32>>,
}
