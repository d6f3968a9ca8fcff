//! The entry point of a case: its stage, what starts its invocations, and how an invocation is identified.
//!
//! The rest of tangle knows an invocation as an [`InvocationId`]: a group of invocations, and a number in it. What the two are is the
//! stage's business. In a stage with workgroups (compute) the group is the workgroup and the number is `LocalInvocationIndex`; a stage
//! without them has a single group. Subgroups never cross groups. Everything that is laid out by invocation (inputs, the lane map, logs) is in
//! the order of [`EntryPoint::ordinal`].

use serde::{Deserialize, Serialize};

pub use crate::float_controls::{FloatControls, FloatMode};
use crate::interface;
pub use draw::{Coverage, Draw, Slice};
use launch::product;
pub use launch::{DerivativeGroup, Items, Launch, Workgroups};
pub use spirv_version::SpirvVersion;
pub use stage::Stage;

mod draw;
mod launch;
mod spirv_version;
mod stage;

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
    /// What it asks of floating-point arithmetic.
    #[serde(default, skip_serializing_if = "FloatControls::is_none")]
    pub float_controls: FloatControls,
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
    /// Its number in the group: `LocalInvocationIndex` in a workgroup; in a draw that of its place in the [grid](Draw::grid), column by
    /// column, row by row, [slice](Draw::slice) by slice; before rasterisation [likewise](Items::grid), the first executions of all before the second.
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
            float_controls: FloatControls::NONE,
        }
    }

    /// The workgroups that are dispatched. A draw is to the rest of tangle a single group with the sides of its [grid](Draw::grid).
    pub fn workgroups(&self) -> Workgroups {
        match &self.launch {
            Launch::Workgroups(workgroups) => *workgroups,
            Launch::Draw(draw) => Workgroups { size: draw.grid(), ..Workgroups::SINGLE },
            Launch::Items(items) => Workgroups { size: items.grid(), ..Workgroups::SINGLE },
        }
    }

    /// The workgroups that are dispatched, to change them.
    ///
    /// # Panics
    /// In a stage without workgroups.
    pub fn workgroups_mut(&mut self) -> &mut Workgroups {
        match &mut self.launch {
            Launch::Workgroups(workgroups) => workgroups,
            Launch::Draw(_) | Launch::Items(_) => panic!("a draw has no workgroups"),
        }
    }

    /// The triangles that are drawn for fragments; nothing in other stages.
    pub const fn draw(&self) -> Option<&Draw> {
        match &self.launch {
            Launch::Draw(draw) => Some(draw),
            Launch::Workgroups(_) | Launch::Items(_) => None,
        }
    }

    /// What is drawn for a stage before rasterisation; nothing in other stages.
    pub const fn items(&self) -> Option<&Items> {
        match &self.launch {
            Launch::Items(items) => Some(items),
            Launch::Workgroups(_) | Launch::Draw(_) => None,
        }
    }

    /// What the command that launches it counts: workgroups in x, y and z, of the task shader if there is one, or vertices and instances of a draw.
    pub fn counts(&self) -> [u32; 3] {
        match &self.launch {
            Launch::Workgroups(Workgroups { count: [x, ..], by_task: true, .. }) => [*x, 1, 1],
            Launch::Workgroups(workgroups) => workgroups.count,
            // An instance for each layer.
            Launch::Draw(draw) => [3 * draw.triangles.len() as u32, draw.layers, 1],
            Launch::Items(items) if self.stage == Stage::Vertex => [items.size, items.count, 1],
            // A vertex for each patch or primitive.
            Launch::Items(items) => [items.count, 1, 1],
        }
    }

    /// Words of a record of the lane map in its buffer, where it is [packed](crate::map_buffer).
    pub const fn packed_map_words(&self) -> usize {
        match self.launch {
            Launch::Workgroups(_) => interface::PACKED_MAP_WORDS,
            Launch::Draw(_) => interface::PACKED_FRAGMENT_MAP_WORDS,
            Launch::Items(_) => interface::PACKED_ITEM_MAP_WORDS,
        }
    }

    /// Words of a record of the lane map.
    pub const fn map_words(&self) -> usize {
        match self.launch {
            Launch::Workgroups(_) => interface::MAP_WORDS,
            Launch::Draw(_) => interface::FRAGMENT_MAP_WORDS,
            Launch::Items(_) => interface::ITEM_MAP_WORDS,
        }
    }

    /// How often the lane map has the word of a task payload that belongs to an invocation: for a task shader what each mesh workgroup found, for a mesh
    /// shader what the invocation itself found.
    pub const fn payload_copies(&self) -> usize {
        match &self.launch {
            Launch::Workgroups(Workgroups { by_task: true, .. }) => 1,
            Launch::Workgroups(workgroups) => workgroups.meshes as usize,
            Launch::Draw(_) | Launch::Items(_) => 0,
        }
    }

    /// The word of a task payload that belongs to the invocation of an ordinal: other words in other workgroups, and in other invocations of a task
    /// shader.
    pub fn payload_word(&self, ordinal: usize) -> u32 {
        match self.stage {
            Stage::Mesh => {
                let InvocationId { group, index } = self.invocation(ordinal);
                let task = group.0 % self.workgroups().count[0].max(1);
                !(task * Workgroups::PAYLOAD_WORDS + index % Workgroups::PAYLOAD_WORDS)
            }
            _ => !(ordinal as u32),
        }
    }

    /// Words of the lane map. Behind the records stands what was found in the payload of a task shader, [so many](EntryPoint::payload_copies) words for each
    /// invocation, and before rasterisation how often each invocation of an item was executed.
    pub fn map_len(&self) -> usize {
        self.map_len_of(self.map_words())
    }

    /// Words of the buffer of the lane map.
    pub fn packed_map_len(&self) -> usize {
        self.map_len_of(self.packed_map_words())
    }

    fn map_len_of(&self, record: usize) -> usize {
        let counts = self.items().map_or(0, Items::identities) as usize;
        self.invocations() as usize * (record + self.payload_copies()) + counts
    }

    /// Groups of the launch. Saturates, for launches that are too large to be valid.
    pub fn groups(&self) -> u32 {
        product(self.workgroups().count)
    }

    /// Every group, in order.
    pub fn group_ids(&self) -> impl Iterator<Item = GroupId> + use<> {
        (0..self.groups()).map(GroupId)
    }

    /// Invocations in a group; all groups have as many. Saturates.
    pub fn group_size(&self) -> u32 {
        product(self.workgroups().size)
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

    /// Names the part of a draw that the invocation certainly shares an invocation group with: one triangle in a layer, one patch, or the invocations of a
    /// geometry shader for one primitive; `None` if that is itself alone ([`Stage::has_workgroups`]).
    pub fn operation(&self, invocation: InvocationId) -> Option<[u32; 2]> {
        let [_, y, z] = self.workgroups().position(invocation.index);
        match self.stage {
            Stage::Fragment => Some([self.draw().map_or(z, |draw| draw.primitive(z)), 0]),
            Stage::TessellationControl | Stage::Geometry => Some([y, z]),
            _ => None,
        }
    }

    /// The name of a group in reports.
    pub fn describe_group(&self, group: GroupId) -> String {
        match &self.launch {
            Launch::Workgroups(_) => format!("workgroup {}", group.0),
            Launch::Draw(_) | Launch::Items(_) => "draw".to_owned(),
        }
    }

    /// The name of an invocation in reports.
    pub fn describe(&self, invocation: InvocationId) -> String {
        match &self.launch {
            Launch::Workgroups(_) => {
                format!("{}, invocation {}", self.describe_group(invocation.group), invocation.index)
            }
            Launch::Draw(draw) => {
                let [x, y, depth] = self.workgroups().position(invocation.index);
                format!("{}, pixel ({x}, {y})", draw.describe_slice(depth))
            }
            Launch::Items(_) => {
                let [x, y, execution] = self.workgroups().position(invocation.index);
                let [item, of_item] = self.stage.item_names().unwrap_or(["item", "invocation"]);
                let again = if execution == 0 { String::new() } else { format!(", execution {}", execution + 1) };
                format!("{item} {y}, {of_item} {x}{again}")
            }
        }
    }
}

/// Which subgroup size a pipeline asks for (VK_EXT_subgroup_size_control).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubgroupSize {
    /// Nothing: the device's default size, or any with SPIR-V 1.6.
    #[default]
    Default,
    /// `VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT`: any of the device's range.
    Varying,
    /// `VkPipelineShaderStageRequiredSubgroupSizeCreateInfo`: this size, in lanes.
    Required(u32),
}

impl SubgroupSize {
    /// The size that is required, in lanes; any other is the device's choice.
    pub const fn required(self) -> Option<u32> {
        match self {
            SubgroupSize::Required(size) => Some(size),
            SubgroupSize::Default | SubgroupSize::Varying => None,
        }
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
    fn fragments_of_a_primitive_share_an_operation() {
        let triangle = [[0, 0], [2, 0], [0, 4]];
        let draw = Draw { layers: 2, samples: 4, ..Draw::new([1, 2], vec![triangle; 3]) };
        let entry_point = EntryPoint {
            stage: Stage::Fragment,
            launch: Launch::Draw(draw),
            ..EntryPoint::compute([1; 3], [1; 3], SpirvVersion::V1_5)
        };
        assert_eq!(entry_point.counts(), [9, 2, 1]);
        let of = |ordinal| entry_point.operation(entry_point.invocation(ordinal));
        assert_eq!([of(0), of(15), of(16)], [Some([0, 0]), Some([0, 0]), Some([1, 0])]);
    }

    #[test]
    fn launches_too_large_saturate() {
        let entry_point = EntryPoint::compute([u32::MAX; 3], [2; 3], SpirvVersion::V1_3);
        assert_eq!((entry_point.group_size(), entry_point.invocations()), (u32::MAX, u32::MAX));
    }
}
