//! Where invocations are: the layout of a group, what a device promises of it, and which rules a lane map can break.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tangle_program::api::Api;
use tangle_program::case::{EntryPoint, GroupId, InvocationId, SpirvVersion, SubgroupSize};
use tangle_program::rule::RuleNumber;
use tangle_program::subgroup::{Severity, is_subgroup_size};

use crate::mask::Mask;

/// What a device promises about subgroups: their sizes, and what the specification of its interface says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupPromise {
    /// Whose promise it is. In OpenGL the fragments of a quad may be in any order (rule H12); in WebGPU subgroups are dense and need not be full (rules M4
    /// and M11), and may be of any size of the adapter's range: "The device compiler selects a size from the supported sizes using a variety of heuristics"
    /// (WGSL, Subgroups).
    #[serde(default)]
    pub api: Api,
    /// `VkPhysicalDeviceSubgroupProperties::subgroupSize`; of no meaning in WebGPU.
    pub default: u32,
    /// `minSubgroupSize`; the default size without subgroup size control.
    pub min: u32,
    /// `maxSubgroupSize`
    pub max: u32,
}

impl SubgroupPromise {
    /// What a device of Vulkan promises, given its subgroup sizes.
    pub const fn vulkan(default: u32, min: u32, max: u32) -> SubgroupPromise {
        SubgroupPromise { api: Api::Vulkan, default, min, max }
    }

    /// The size of all subgroups of a draw, from the number, the token and the size of each invocation. `Ok(None)` if they have several: where sizes may vary,
    /// in stages without workgroups "every subgroup may have a different size even within a single command" (Vulkan, Varying Subgroup Size), and nothing is said
    /// of such a draw.
    ///
    /// # Errors
    /// The number and the size of an invocation whose size breaks rule M3.
    pub(crate) fn size_of_draw(
        &self,
        entry_point: &EntryPoint,
        invocations: impl IntoIterator<Item = (u32, u32, u32)>,
    ) -> Result<Option<u32>, (u32, u32)> {
        let may_differ = match entry_point.subgroup_size {
            SubgroupSize::Required(_) => false,
            SubgroupSize::Default => entry_point.spirv >= SpirvVersion::V1_6,
            SubgroupSize::Varying => true,
        };
        let (mut by_token, mut common, mut differ) = (BTreeMap::new(), None, false);
        for (index, token, size) in invocations {
            let of_subgroup = *by_token.entry(token).or_insert(size);
            let first = *common.get_or_insert(size);
            if size != of_subgroup || !self.allows(entry_point, size) || size != first && !may_differ {
                return Err((index, size));
            }
            differ |= size != first;
        }
        Ok(common.filter(|_| !differ))
    }

    /// True if subgroups of a pipeline with this entry point may have this size (rule M3).
    pub(crate) fn allows(&self, entry_point: &EntryPoint, size: u32) -> bool {
        let allowed = match entry_point.subgroup_size {
            SubgroupSize::Required(required) => size == required,
            SubgroupSize::Default if entry_point.spirv < SpirvVersion::V1_6 && self.api != Api::WebGpu => {
                size == self.default
            }
            SubgroupSize::Default | SubgroupSize::Varying => (self.min..=self.max).contains(&size),
        };
        allowed && is_subgroup_size(size)
    }
}

/// The rules a lane map must keep, each with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapRule {
    /// Every invocation runs the prologue.
    Written,
    /// The token, a `subgroupBroadcastFirst`, names an invocation of the same subgroup (rule P1).
    Token,
    /// `gl_SubgroupInvocationID < gl_SubgroupSize`, different for every lane of a subgroup (Vulkan, SubgroupLocalInvocationId).
    LaneIds,
    /// `gl_SubgroupSize` is a power of two up to 128, one for all subgroups of the dispatch, and the one the pipeline asks for
    /// (Vulkan, SubgroupSize; rule M3).
    Size,
    /// At entry control flow is uniform: the ballot is exactly the set of the subgroup's lanes (SPIR-V 1.6 §2.2.5).
    EntryBallot,
    /// Full subgroups where they are promised (Vulkan, full subgroups; rule M4).
    FullSubgroups,
    /// On WebGPU the lanes of a subgroup have the numbers from 0 on without a gap (WGSL, subgroup_invocation_id; rule M11).
    DenseLanes,
    /// `gl_SubgroupID < gl_NumSubgroups` (Vulkan, SubgroupId).
    SubgroupIdRange,
    /// `gl_NumSubgroups` is one number for the workgroup, and at least the number of subgroups there are.
    NumSubgroups,
    /// `gl_SubgroupID` is one number in a subgroup and differs between subgroups of a workgroup.
    SubgroupIds,
    /// Each fragment of a triangle is executed, and no store of another invocation has an effect (rules H1 and H5).
    Coverage,
    /// The lanes of a quad are those of neighbouring pixels, in their order (rule H2), or in a workgroup those that the derivative group says
    /// (rule M9).
    Quads,
    /// In OpenGL the lanes of a quad are those of neighbouring pixels, in any order (rule H12).
    QuadsInAnyOrder,
    /// At tier maximal helper invocations are active from the beginning (rule H4).
    ActiveHelpers,
    /// Before rasterisation each invocation of each item is executed at least once, and writes a record each time (rule I1).
    Executions,
    /// Before rasterisation there are no helper invocations: nobody takes part but those that execute the shader for a vertex or primitive
    /// (rule I3).
    NoHelpers,
    /// Each mesh workgroup that a task shader emits is executed once, and finds its payload (rule M10).
    Payload,
}

impl MapRule {
    /// Every rule, in the order of declaration.
    pub const ALL: [MapRule; 17] = [
        MapRule::Written,
        MapRule::Token,
        MapRule::LaneIds,
        MapRule::Size,
        MapRule::EntryBallot,
        MapRule::FullSubgroups,
        MapRule::DenseLanes,
        MapRule::SubgroupIdRange,
        MapRule::NumSubgroups,
        MapRule::SubgroupIds,
        MapRule::Coverage,
        MapRule::Quads,
        MapRule::QuadsInAnyOrder,
        MapRule::ActiveHelpers,
        MapRule::Executions,
        MapRule::NoHelpers,
        MapRule::Payload,
    ];

    /// Its number in docs/rules.md.
    pub const fn number(self) -> RuleNumber {
        match self {
            MapRule::Token => RuleNumber::new('P', 1),
            MapRule::LaneIds => RuleNumber::new('M', 2),
            MapRule::Size => RuleNumber::new('M', 3),
            MapRule::FullSubgroups => RuleNumber::new('M', 4),
            MapRule::DenseLanes => RuleNumber::new('M', 11),
            MapRule::SubgroupIdRange | MapRule::NumSubgroups | MapRule::SubgroupIds => RuleNumber::new('M', 6),
            MapRule::Written | MapRule::EntryBallot => RuleNumber::new('M', 7),
            MapRule::Coverage => RuleNumber::new('H', 1),
            MapRule::Quads => RuleNumber::new('H', 2),
            MapRule::QuadsInAnyOrder => RuleNumber::new('H', 12),
            MapRule::ActiveHelpers => RuleNumber::new('H', 4),
            MapRule::Executions => RuleNumber::new('I', 1),
            MapRule::NoHelpers => RuleNumber::new('I', 3),
            MapRule::Payload => RuleNumber::new('M', 10),
        }
    }

    /// What the rule says, in one line.
    pub const fn text(self) -> &'static str {
        match self {
            MapRule::Written => "every invocation executes the shader (its lane map record is missing)",
            MapRule::Token => "subgroupBroadcastFirst at entry gives the value of a lane of the same subgroup",
            MapRule::LaneIds => {
                "gl_SubgroupInvocationID is below gl_SubgroupSize and differs between the lanes of a subgroup"
            }
            MapRule::Size => "gl_SubgroupSize is the size that the pipeline asked for, one for the whole dispatch",
            MapRule::EntryBallot => "subgroupBallot(true) at entry is the set of the subgroup's lanes",
            MapRule::FullSubgroups => "subgroups are full (SPIR-V 1.6 or the flag, and x a multiple of the size)",
            MapRule::DenseLanes => "the lanes of a subgroup have the numbers from 0 on without a gap (WebGPU)",
            MapRule::SubgroupIdRange => "gl_SubgroupID is below gl_NumSubgroups",
            MapRule::NumSubgroups => {
                "gl_NumSubgroups is one number: that of the subgroups, or more where some may be without lanes"
            }
            MapRule::SubgroupIds => "gl_SubgroupID is one number in each subgroup and differs between subgroups",
            MapRule::Coverage => "exactly the fragments of the triangles execute the shader and store",
            MapRule::Quads => "lanes 4q to 4q+3 are a quad of neighbouring invocations, in the order of rows",
            MapRule::QuadsInAnyOrder => "lanes 4q to 4q+3 are a quad of neighbouring invocations, in any order",
            MapRule::ActiveHelpers => "helper invocations are active as long as their quad has a fragment",
            MapRule::Executions => "each vertex or primitive is executed at least once, and writes a record each time",
            MapRule::Payload => {
                "each mesh workgroup that a task shader emits is executed once, and finds the payload of its task"
            }
            MapRule::NoHelpers => "outside of fragment shaders no helper invocations take part in subgroup operations",
        }
    }

    /// How well it stands: nearly each is a sentence of the specification.
    pub const fn severity(self) -> Severity {
        match self {
            // Fragments may be executed more often than once, which may look like a quad that is none (rule H1); and a vertex without a store
            // may be taken for a helper (rule I3).
            MapRule::Quads | MapRule::QuadsInAnyOrder | MapRule::NoHelpers => Severity::Strong,
            _ => Severity::Hard,
        }
    }

    /// True if values cannot be judged on a map that breaks the rule.
    pub(crate) const fn is_fatal(self) -> bool {
        matches!(
            self,
            MapRule::Written
                | MapRule::Token
                | MapRule::LaneIds
                | MapRule::Size
                | MapRule::EntryBallot
                | MapRule::Coverage
                | MapRule::Quads
                | MapRule::QuadsInAnyOrder
                | MapRule::Executions
                | MapRule::NoHelpers
        )
    }
}

/// A broken rule of the lane map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapFault {
    /// The rule that is broken.
    pub rule: MapRule,
    /// The group whose invocations break it.
    #[serde(alias = "workgroup")]
    pub group: GroupId,
    /// What was seen instead, in words: which invocations, which values.
    pub seen: String,
}

impl MapFault {
    /// Where, and what was seen, in one line.
    pub fn describe(&self, entry_point: &EntryPoint) -> String {
        format!("{}: {}", entry_point.describe_group(self.group), self.seen)
    }
}

/// A subgroup of a group: where its lanes sit among the group's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subgroup {
    /// Its lane 0 sits in this slot.
    pub first: usize,
    /// `gl_SubgroupSize`
    pub size: usize,
    /// The lanes that exist.
    pub live: u128,
}

/// The slots of one group of invocations: `size` slots for each subgroup, so that lane `k` of a subgroup is slot `first + k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which group of the launch.
    pub group: GroupId,
    /// The subgroups in slot order.
    pub subgroups: Vec<Subgroup>,
    /// Number of slots, those of lanes that do not exist included.
    pub slots: usize,
    /// All slots with an invocation.
    pub live: Mask,
    /// The number in the group of the invocation in each slot; 0 in slots without one.
    pub index: Vec<u32>,
    /// The slots of lanes that are helper invocations at entry; only in fragment shaders.
    pub helpers: Mask,
    /// Helpers that are not active although rule H4 says that they are: nothing is said of what they take part in. None where the device keeps the rule.
    pub(crate) absent: Mask,
    /// By subgroup: lanes that may be there and of which nothing is known ([`crate::fragment`]); none in other stages.
    pub others: Vec<u128>,
    /// `gl_SubgroupID` and `gl_NumSubgroups` as the device reports them, by slot: adopted, since they are free.
    pub(crate) reported: Vec<(u32, u32)>,
    /// True if votes are by groups of invocations that nothing relates to the subgroups: "the set of invocations across which boolean
    /// conditions are evaluated is implementation-dependent" (ARB_shader_group_vote, Overview).
    pub(crate) votes_are_free: bool,
}

impl Layout {
    /// The invocation in a slot.
    pub fn invocation(&self, slot: usize) -> InvocationId {
        InvocationId { group: self.group, index: self.index[slot] }
    }

    /// True if a helper invocation is in a slot whose place is a fragment's in another quad: the log there is the fragment's.
    pub fn stands_in(&self, slot: usize, entry_point: &EntryPoint) -> bool {
        let place = || entry_point.workgroups().position(self.index[slot]);
        self.helpers.contains(slot) && entry_point.draw().is_some_and(|draw| draw.covers(place()))
    }

    /// The subgroup that a slot belongs to, and its lane.
    pub fn lane_of(&self, slot: usize) -> (usize, usize) {
        // All subgroups of a dispatch have one size (checked), so the division is exact.
        let size = self.subgroups[0].size;
        (slot / size, slot % size)
    }
}

pub(crate) fn layout(
    group: GroupId,
    size: usize,
    members: &[Vec<(u32, u32)>],
    reported: impl Fn(usize) -> (u32, u32),
) -> Layout {
    let slots = size * members.len();
    let mut layout = Layout {
        group,
        subgroups: Vec::with_capacity(members.len()),
        slots,
        live: Mask::empty(slots),
        index: vec![0; slots],
        helpers: Mask::empty(slots),
        absent: Mask::empty(slots),
        others: vec![0; members.len()],
        reported: vec![(0, 0); slots],
        votes_are_free: false,
    };
    for (s, lanes) in members.iter().enumerate() {
        let first = s * size;
        let live = lanes.iter().fold(0, |live, &(lane, _)| live | 1u128 << lane);
        layout.live.insert_lanes(first, live);
        for &(lane, index) in lanes {
            layout.index[first + lane as usize] = index;
            layout.reported[first + lane as usize] = reported(s);
        }
        layout.subgroups.push(Subgroup { first, size, live });
    }
    layout
}

#[cfg(test)]
mod tests {
    use tangle_program::case::{Draw, Launch, Stage};

    use super::*;

    #[test]
    fn maps_that_may_be_right_after_all_are_strong() {
        let strong = MapRule::ALL.into_iter().filter(|rule| rule.severity() != Severity::Hard);
        assert_eq!(strong.collect::<Vec<_>>(), [MapRule::Quads, MapRule::QuadsInAnyOrder, MapRule::NoHelpers]);
        assert_eq!(MapRule::Quads.severity(), Severity::Strong);
    }

    /// A helper stands in for a fragment only where there is one.
    #[test]
    fn helpers_that_stand_in_for_fragments() {
        // One quad, of which the triangle covers all but the last pixel.
        let draw = Draw::new([2, 2], vec![[[0, 0], [2, 0], [0, 4]]]);
        let entry_point = EntryPoint {
            stage: Stage::Fragment,
            launch: Launch::Draw(draw),
            ..EntryPoint::compute([1; 3], [1; 3], SpirvVersion::V1_3)
        };
        let members = [(0..4).map(|at| (at, at)).collect()];
        let mut layout = layout(GroupId(0), 4, &members, |_| (0, 1));
        layout.helpers.insert_lanes(0, 0b1100);
        let stand_in: Vec<usize> = (0..4).filter(|&slot| layout.stands_in(slot, &entry_point)).collect();
        assert_eq!(stand_in, [2]);
    }
}
