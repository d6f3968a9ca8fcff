//! The entry point of a case: its stage, what starts its invocations, and how an invocation is identified.
//!
//! The rest of tangle knows an invocation as an [`InvocationId`]: a group of invocations, and a number in it. What the two are is the
//! stage's business. In a stage with workgroups (compute) the group is the workgroup and the number is `LocalInvocationIndex`; a stage
//! without them has a single group. Subgroups never cross groups. Everything that is laid out by invocation (inputs, the lane map, logs) is in
//! the order of [`EntryPoint::ordinal`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a pipeline is made from, beside the program: the stage, and how it is started.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryPoint {
    /// The execution model (SPIR-V 1.6 §3.2.3).
    pub stage: Stage,
    /// What starts its invocations.
    pub launch: Launch,
    /// Which subgroup size the pipeline asks for.
    #[serde(default)]
    pub subgroup_size: SubgroupSize,
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT`
    #[serde(default)]
    pub full_subgroups: bool,
    /// SPIR-V version of the module. Version 1.6 implies varying subgroup sizes and full subgroups where the x dimension allows them
    /// (Vulkan, SubgroupSize and `VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT`).
    pub spirv: SpirvVersion,
}

/// A shader stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// GLCompute.
    #[default]
    Compute,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 1] = [Stage::Compute];

    /// The name in JSON and on the command line: that of `VkShaderStageFlagBits`.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Compute => "compute",
        }
    }
}

/// What starts the invocations of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// A dispatch of workgroups.
    Workgroups(Workgroups),
}

impl Launch {
    /// A dispatch of so many workgroups of this size.
    pub const fn workgroups(size: [u32; 3], count: [u32; 3]) -> Launch {
        Launch::Workgroups(Workgroups { size, count, default_size: None })
    }
}

/// Workgroups, in x, y, z.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workgroups {
    /// Invocations of a workgroup (`LocalSize`).
    pub size: [u32; 3],
    /// Workgroups of the dispatch.
    pub count: [u32; 3],
    /// If the size is given by specialisation constants when the pipeline is made: the one that the module has by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_size: Option<[u32; 3]>,
}

impl Workgroups {
    /// `LocalInvocationId` of the invocation with this `LocalInvocationIndex`.
    pub const fn position(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.size;
        [index % x, index / x % y, index / x / y]
    }
}

/// A group of invocations that no subgroup crosses, by its number in the launch: a workgroup, by its linear index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The number, as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The identity of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InvocationId {
    /// The group that it belongs to.
    pub group: GroupId,
    /// Its number in the group: `LocalInvocationIndex` in a workgroup.
    pub index: u32,
}

impl EntryPoint {
    /// A compute shader with nothing asked of its subgroups, dispatched as so many workgroups of this size.
    pub const fn compute(size: [u32; 3], count: [u32; 3], spirv: SpirvVersion) -> EntryPoint {
        EntryPoint {
            stage: Stage::Compute,
            launch: Launch::workgroups(size, count),
            subgroup_size: SubgroupSize::Default,
            full_subgroups: false,
            spirv,
        }
    }

    /// The workgroups that are dispatched.
    pub const fn workgroups(&self) -> &Workgroups {
        let Launch::Workgroups(workgroups) = &self.launch;
        workgroups
    }

    /// The workgroups that are dispatched, to change them.
    pub const fn workgroups_mut(&mut self) -> &mut Workgroups {
        let Launch::Workgroups(workgroups) = &mut self.launch;
        workgroups
    }

    /// Groups of the launch. Saturates, for launches that are too large to be valid.
    pub fn groups(&self) -> u32 {
        let Launch::Workgroups(workgroups) = &self.launch;
        product(workgroups.count)
    }

    /// Every group, in order.
    pub fn group_ids(&self) -> impl Iterator<Item = GroupId> + use<> {
        (0..self.groups()).map(GroupId)
    }

    /// Invocations in a group; all groups have as many. Saturates.
    pub fn group_size(&self) -> u32 {
        let Launch::Workgroups(workgroups) = &self.launch;
        product(workgroups.size)
    }

    /// Invocations of the launch. Saturates.
    pub fn invocations(&self) -> u32 {
        self.groups().saturating_mul(self.group_size())
    }

    /// Where the invocation stands in everything that is laid out by invocation: below [`EntryPoint::invocations`].
    pub fn ordinal(&self, invocation: InvocationId) -> usize {
        invocation.group.index() * self.group_size() as usize + invocation.index as usize
    }

    /// The invocation of an ordinal: the reverse of [`EntryPoint::ordinal`].
    pub fn invocation(&self, ordinal: usize) -> InvocationId {
        let size = self.group_size().max(1) as usize;
        InvocationId { group: GroupId((ordinal / size) as u32), index: (ordinal % size) as u32 }
    }

    /// The name of a group in reports.
    pub fn describe_group(&self, group: GroupId) -> String {
        let Launch::Workgroups(_) = &self.launch;
        format!("workgroup {}", group.0)
    }

    /// The name of an invocation in reports.
    pub fn describe(&self, invocation: InvocationId) -> String {
        format!("{}, invocation {}", self.describe_group(invocation.group), invocation.index)
    }
}

/// Saturates, for launches that are too large to be valid.
fn product(sides: [u32; 3]) -> u32 {
    sides.iter().fold(1, |n: u32, &side| n.saturating_mul(side))
}

/// Which subgroup size a pipeline asks for (VK_EXT_subgroup_size_control).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubgroupSize {
    /// Nothing: the device's default size, or any with SPIR-V 1.6.
    #[default]
    Default,
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT`
    Varying,
    /// `VkPipelineShaderStageRequiredSubgroupSizeCreateInfo`
    Required(u32),
}

/// The SPIR-V version of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SpirvVersion {
    /// SPIR-V 1.3, core in Vulkan 1.1.
    #[default]
    #[serde(rename = "1.3")]
    V1_3,
    /// SPIR-V 1.4, through `VK_KHR_spirv_1_4` or Vulkan 1.2.
    #[serde(rename = "1.4")]
    V1_4,
    /// SPIR-V 1.5, core in Vulkan 1.2.
    #[serde(rename = "1.5")]
    V1_5,
    /// SPIR-V 1.6, core in Vulkan 1.3. Lets the subgroup size vary and makes full subgroups the rule.
    #[serde(rename = "1.6")]
    V1_6,
}

impl SpirvVersion {
    /// Every version with subgroup operations.
    pub const ALL: [SpirvVersion; 4] = [SpirvVersion::V1_3, SpirvVersion::V1_4, SpirvVersion::V1_5, SpirvVersion::V1_6];

    /// The version word of a module's header (SPIR-V 1.6 §2.3).
    pub const fn word(self) -> u32 {
        match self {
            SpirvVersion::V1_3 => 0x0001_0300,
            SpirvVersion::V1_4 => 0x0001_0400,
            SpirvVersion::V1_5 => 0x0001_0500,
            SpirvVersion::V1_6 => 0x0001_0600,
        }
    }
}

impl fmt::Display for SpirvVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            SpirvVersion::V1_3 => "1.3",
            SpirvVersion::V1_4 => "1.4",
            SpirvVersion::V1_5 => "1.5",
            SpirvVersion::V1_6 => "1.6",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_and_ordinals() {
        let entry_point = EntryPoint::compute([4, 3, 1], [1, 2, 5], SpirvVersion::V1_3);
        assert_eq!((entry_point.groups(), entry_point.group_size(), entry_point.invocations()), (10, 12, 120));
        assert!((0..120).all(|ordinal| entry_point.ordinal(entry_point.invocation(ordinal)) == ordinal));
        let invocation = InvocationId { group: GroupId(2), index: 5 };
        assert_eq!(entry_point.invocation(29), invocation);
        assert_eq!(entry_point.describe(invocation).to_string(), "workgroup 2, invocation 5");
    }

    #[test]
    fn launches_too_large_saturate() {
        let entry_point = EntryPoint::compute([u32::MAX; 3], [2; 3], SpirvVersion::V1_3);
        assert_eq!((entry_point.group_size(), entry_point.invocations()), (u32::MAX, u32::MAX));
    }
}
