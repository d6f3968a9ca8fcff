//! Where the invocations of a workgroup are.

use crate::lane_map::LanePosition;
use crate::lanes::Lanes;

/// A subgroup of the workgroup that runs.
#[derive(Clone, Debug)]
pub(crate) struct Subgroup {
    pub lanes: Lanes,
    /// Bit `k`: lane `k` exists.
    pub live: u128,
    /// By lane: local invocation index, or `u32::MAX`.
    pub slots: Vec<u32>,
}

/// The lane map of one workgroup.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub size: u32,
    pub subgroups: Vec<Subgroup>,
    pub places: Vec<LanePosition>,
}
