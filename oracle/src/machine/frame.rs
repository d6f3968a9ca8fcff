//! A call of a function: its variables, and where jumps go.

use crate::mask::Mask;
use crate::value::Value;

/// A loop or switch that jumps can go to.
pub(super) struct Target {
    pub(super) is_loop: bool,
    pub(super) broken: Mask,
    /// The lanes in `broken`, by iteration or segment; only while a device is watched.
    pub(super) leaving: Vec<Mask>,
    pub(super) continued: Mask,
    pub(super) continued_uniform: Mask,
}

impl Target {
    pub(super) fn leave(&mut self, lanes: &Mask) {
        self.broken.add(lanes);
        if let Some(leaving) = self.leaving.last_mut() {
            leaving.add(lanes);
        }
    }
}

/// A call that runs.
pub(super) struct Frame {
    pub(super) vars: Vec<Value>,
    pub(super) targets: Vec<Target>,
    pub(super) returned: Mask,
    pub(super) returned_uniform: Mask,
    /// The lanes of each return; only while a device is watched.
    pub(super) returns: Vec<Mask>,
    pub(super) result: Option<Value>,
}
