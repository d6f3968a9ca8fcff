//! What the printed shader and its user agree on: descriptor set 0, and the layout of each buffer.

/// Storage buffer of inputs: word `i * K + k` for `K` inputs and the invocation of [ordinal](crate::entry_point::EntryPoint::ordinal) `i`.
pub const INPUTS: u32 = 0;
/// Uniform buffer: words in `uvec4`s (std140).
pub const UNIFORMS: u32 = 1;
/// Storage buffer of the lane map: [`PACKED_MAP_WORDS`] words for each invocation.
pub const MAP: u32 = 2;
/// Storage buffer of the logs: a slice of `tangle_analysis::cost::log_stride` words for each invocation, zero
/// before the dispatch. An entry is its site and then its values, one word for each component.
pub const LOG: u32 = 3;
/// Storage buffer of the arrays that lie there ([`StorageClass::StorageBuffer`](crate::memory::StorageClass)).
pub const ARRAYS: u32 = 4;
/// Uniform buffer that stands for push constants where there are none (OpenGL): words in `uvec4`s (std140).
pub const PUSH: u32 = 5;

/// Arrays of descriptors, by [class](crate::resource::ResourceClass): the first binding.
pub const FIRST_RESOURCE: u32 = 6;

/// `constant_id` of specialisation constant 0. Before it come the three sides of the workgroup.
pub const FIRST_CONSTANT: u32 = 3;

/// Words of a record of the lane map: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, `gl_SubgroupID`,
/// `gl_NumSubgroups`, the token (the local index of the subgroup's first lane, by broadcast), the four words of
/// `subgroupBallot(true)` at entry, and [`MAP_WRITTEN`] (docs/rules.md, section M).
pub const MAP_WORDS: usize = 10;
/// Words of a record of a fragment shader's lane map: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, the token (the number of the subgroup's
/// lowest lane that is no helper, by shuffle), the four words of `subgroupBallot(true)` at entry, what the horizontal, the vertical and
/// the diagonal neighbour in the quad are ([`neighbour`]), and [`MAP_WRITTEN`].
pub const FRAGMENT_MAP_WORDS: usize = 11;
/// What an invocation reports to its quad: its number in the group, its lane, and whether it is a helper.
pub const fn neighbour(index: u32, lane: u32, helper: bool) -> u32 {
    index << 8 | (lane & 127) << 1 | helper as u32
}
/// Words of a record of the lane map of a stage before rasterisation: `gl_SubgroupInvocationID`, `gl_SubgroupSize`, the token (the number of
/// the subgroup's lowest lane, by broadcast), the four words of `subgroupBallot(true)` at entry, and [`MAP_WRITTEN`].
pub const ITEM_MAP_WORDS: usize = 8;
/// Words of a record of each kind in its buffer ([`map_buffer`](crate::map_buffer)).
pub const PACKED_MAP_WORDS: usize = 5;
/// The same of a fragment shader ([`PACKED_MAP_WORDS`]).
pub const PACKED_FRAGMENT_MAP_WORDS: usize = 9;
/// The same of a stage before rasterisation ([`PACKED_MAP_WORDS`]).
pub const PACKED_ITEM_MAP_WORDS: usize = 4;
/// Storage buffer of the corners of what is drawn ([`Case::vertices`](crate::case::Case::vertices)).
pub const CORNERS: u32 = 5;

/// Flat inputs of a fragment shader: at most so many, from location 1 on. Location 0 has the number of the triangle.
pub const MAX_FLATS: usize = 4;

/// Stands in a record for `gl_SubgroupID` and `gl_NumSubgroups` where the language cannot read them
/// ([`Language::has_subgroup_id`](crate::variant::Language::has_subgroup_id)).
pub const NOT_OBSERVED: u32 = u32::MAX;
/// Last word of a record that was written.
pub const MAP_WRITTEN: u32 = 0x7461_6E67;
/// The same where the shader has its subgroup operations from ARB_shader_ballot and ARB_shader_group_vote: which subgroup it is and how
/// many there are is not said, and nothing relates the groups that vote to these subgroups (docs/opengl.md).
pub const MAP_WRITTEN_ARB: u32 = 0x7461_6E61;
