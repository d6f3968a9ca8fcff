//! Constructs and calls that lanes are in.

use super::classes::Entry;
use crate::lanes::Lanes;

/// What lanes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Selection,
    Switch,
    Loop,
    Call,
}

/// A construct that lanes are in, or a call: who waits where.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// [`NO_BLOCK`] where there is none.
    pub(super) header: u32,
    pub(super) merge: u32,
    pub(super) continues: u32,
    /// Blocks still to be run.
    pub(super) pending: Vec<(u32, Lanes)>,
    /// Case labels in the order of fallthrough, with who waits there.
    pub(super) labels: Vec<(u32, Lanes)>,
    pub(super) at_merge: Lanes,
    pub(super) at_continue: Lanes,
    pub(super) at_header: Lanes,
    /// For a call: where it goes on, and its destinations.
    pub(super) resume: (u32, u32),
    /// Who may be in it: the lanes that entered, and lost ones that may have entered with them.
    pub(super) present: Lanes,
    /// What the tier needs to know of the entry.
    pub(super) entry: Entry,
}

pub(super) const NO_BLOCK: u32 = u32::MAX;

impl Frame {
    /// Bytes, at `n` invocations.
    pub(super) fn size(&self, n: usize) -> usize {
        let sets = 7 + self.labels.len();
        let classes = if self.entry.has_classes() { 4 * n } else { 0 };
        size_of::<Frame>() + sets * (n / 8 + size_of::<(u32, Lanes)>()) + classes
    }
}

/// The tangle that runs.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) block: u32,
    pub(super) at: u32,
    pub(super) lanes: Lanes,
}
