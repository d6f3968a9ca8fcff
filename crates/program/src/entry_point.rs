//! The entry point of a case: its stage, what starts its invocations, and how an invocation is identified.
//!
//! The rest of tangle knows an invocation as an [`InvocationId`]: a group of invocations, and a number in it. What the two are is the
//! stage's business. In a stage with workgroups (compute) the group is the workgroup and the number is `LocalInvocationIndex`; a stage
//! without them has a single group. Subgroups never cross groups. Everything that is laid out by invocation (inputs, the lane map, logs) is in
//! the order of [`EntryPoint::ordinal`].

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::float_controls::{FloatControls, FloatMode};
use crate::interface;

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

/// A shader stage: an execution model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Compute shaders: GLCompute.
    #[default]
    Compute,
    /// TaskEXT: workgroups as in compute. The mesh workgroups that it emits look at the payload.
    Task,
    /// MeshEXT: workgroups as in compute. It puts out no vertex and no primitive.
    Mesh,
    /// Fragment: a draw of triangles.
    Fragment,
    /// Vertex: a draw of points.
    Vertex,
    /// TessellationControl: a draw of patches.
    TessellationControl,
    /// TessellationEvaluation: a draw of patches, each of which becomes a line of vertices.
    TessellationEvaluation,
    /// Geometry: a draw of points.
    Geometry,
}

impl Stage {
    /// Every stage, in the order of declaration.
    pub const ALL: [Stage; 8] = [
        Stage::Compute,
        Stage::Task,
        Stage::Mesh,
        Stage::Fragment,
        Stage::Vertex,
        Stage::TessellationControl,
        Stage::TessellationEvaluation,
        Stage::Geometry,
    ];

    /// The name in JSON and on the command line: that of `VkShaderStageFlagBits`.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Compute => "compute",
            Stage::Task => "task",
            Stage::Mesh => "mesh",
            Stage::Fragment => "fragment",
            Stage::Vertex => "vertex",
            Stage::TessellationControl => "tessellation_control",
            Stage::TessellationEvaluation => "tessellation_evaluation",
            Stage::Geometry => "geometry",
        }
    }

    /// The extension of files with a shader of the stage in GLSL, by which glslang knows it.
    pub const fn glsl_extension(self) -> &'static str {
        match self {
            Stage::Compute => "comp",
            Stage::Task => "task",
            Stage::Mesh => "mesh",
            Stage::Fragment => "frag",
            Stage::Vertex => "vert",
            Stage::TessellationControl => "tesc",
            Stage::TessellationEvaluation => "tese",
            Stage::Geometry => "geom",
        }
    }

    /// The stage with a name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// The oldest SPIR-V that has the stage: SPV_EXT_mesh_shader, "This extension requires SPIR-V 1.4."
    pub const fn first_spirv(self) -> SpirvVersion {
        match self {
            Stage::Task | Stage::Mesh => SpirvVersion::V1_4,
            _ => SpirvVersion::V1_3,
        }
    }

    /// True if what is drawn for it is patches.
    pub const fn draws_patches(self) -> bool {
        matches!(self, Stage::TessellationControl | Stage::TessellationEvaluation)
    }

    /// True if its invocations are in workgroups. Elsewhere nothing but the draw is known of the invocation group of SPIR-V: "at least as large as
    /// a single point, line, triangle, or patch, and at most as large as a single rendering command" (SPIR-V 1.6 §2.2.5).
    pub const fn has_workgroups(self) -> bool {
        matches!(self, Stage::Compute | Stage::Task | Stage::Mesh)
    }

    /// What [`Items`] are in the stage: an item, and an invocation of it. `None` if it is launched by something else.
    pub const fn item_names(self) -> Option<[&'static str; 2]> {
        match self {
            Stage::Compute | Stage::Task | Stage::Mesh | Stage::Fragment => None,
            Stage::Vertex => Some(["instance", "vertex"]),
            Stage::TessellationControl => Some(["patch", "output vertex"]),
            Stage::TessellationEvaluation => Some(["patch", "vertex"]),
            Stage::Geometry => Some(["primitive", "invocation"]),
        }
    }

    /// How many invocations an item may have: so many as every device with the stage can give it (Vulkan, Required Limits).
    pub const fn item_sizes(self) -> [u32; 2] {
        match self {
            // maxTessellationPatchSize
            Stage::TessellationControl => [1, 32],
            // One segment at least, and maxTessellationGenerationLevel at most.
            Stage::TessellationEvaluation => [2, 65],
            // maxGeometryShaderInvocations
            Stage::Geometry => [1, 32],
            _ => [1, 1 << 10],
        }
    }
}

/// What starts the invocations of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// A dispatch of workgroups.
    Workgroups(Workgroups),
    /// A draw of triangles.
    Draw(Draw),
    /// A draw for a stage before rasterisation.
    Items(Items),
}

impl Launch {
    /// A dispatch of so many workgroups of this size.
    pub const fn workgroups(size: [u32; 3], count: [u32; 3]) -> Launch {
        Launch::Workgroups(Workgroups { size, count, ..Workgroups::SINGLE })
    }
}

/// Triangles that are drawn into a framebuffer without attachments, without culling, blending or tests. Each sample that a triangle has inside is
/// one fragment shader invocation for this triangle and layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Width of the framebuffer, pixels.
    pub width: u32,
    /// Height of the framebuffer, pixels.
    pub height: u32,
    /// The corners of each triangle, in pixels. No side of a triangle goes through a sample, so that its fragments are known whatever the
    /// rasteriser does with ties.
    pub triangles: Vec<[[u32; 2]; 3]>,
    /// Layers of the framebuffer. All triangles are drawn into each of them, one layer after the other.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub layers: u32,
    /// Samples of a pixel, at the [standard locations](Draw::sample_locations), each shaded by itself (Vulkan, Sample Shading).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub samples: u32,
    /// `RequireFullQuadsKHR` (SPV_KHR_quad_control).
    #[serde(default, skip_serializing_if = "is_false")]
    pub full_quads: bool,
    /// `QuadDerivativesKHR` (SPV_KHR_quad_control).
    #[serde(default, skip_serializing_if = "is_false")]
    pub quad_derivatives: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// What the fragments at one depth of a draw's [grid](Draw::grid) have in common. No quad is in two of these: all of a quad are of one primitive, and
/// "Each invocation has the same layer and sample indices." (Vulkan, Quad; docs/rules.md, rule H2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the triangle in [`Draw::triangles`].
    pub triangle: u32,
    /// The layer that it is drawn into.
    pub layer: u32,
    /// The sample of each pixel.
    pub sample: u32,
}

/// A draw whose invocations come before rasterisation, which does not take place: instances of vertices, patches or primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Items {
    /// Invocations of each item: the vertices of an instance or of a patch, the invocations of a primitive.
    pub size: u32,
    /// Items: instances, patches, primitives.
    pub count: u32,
}

impl Items {
    /// An implementation may execute the shader more than once for one vertex or primitive (Vulkan, Vertex Shader Execution: "at least once").
    /// So many executions of each have a place of their own; launches with more are not judged.
    pub const EXECUTIONS: u32 = 4;

    /// Invocations of an item, items, and executions of each, in which invocations are numbered.
    pub const fn grid(&self) -> [u32; 3] {
        [self.size, self.count, Items::EXECUTIONS]
    }

    /// Invocations of all items, each once. Saturates.
    pub const fn identities(&self) -> u32 {
        self.size.saturating_mul(self.count)
    }
}

/// Where a sample is, seen from a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Inside: it is a fragment's.
    Inside,
    /// Outside: there is none.
    Outside,
    /// On one of its sides.
    OnSide,
    /// Within a sixteenth of a pixel of a side that leaves the framebuffer aslant. Clipping puts a corner where it does, and that is rounded: to 16 parts
    /// of a pixel at worst (Vulkan, Required Limits, `subPixelPrecisionBits`). So it may be inside or not.
    NearClippedSide,
}

/// Locations of samples are multiples of one part of so many of a pixel.
const SUBPIXELS: u32 = 16;

impl Draw {
    /// The numbers of samples that a pixel may have.
    pub const SAMPLES: [u32; 4] = [1, 2, 4, 8];

    /// Triangles in a framebuffer of one layer, with one sample a pixel.
    pub const fn new([width, height]: [u32; 2], triangles: Vec<[[u32; 2]; 3]>) -> Draw {
        Draw { width, height, triangles, layers: 1, samples: 1, full_quads: false, quad_derivatives: false }
    }

    /// Where the samples of a pixel are, in 16ths of it from its corner at the left above (Vulkan, Multisampling, Standard Sample Locations); none
    /// for other numbers of samples than [`Draw::SAMPLES`].
    pub const fn sample_locations(&self) -> &'static [[u32; 2]] {
        match self.samples {
            1 => &[[8, 8]],
            2 => &[[12, 12], [4, 4]],
            4 => &[[6, 2], [14, 6], [2, 10], [10, 14]],
            8 => &[[9, 5], [7, 11], [13, 9], [5, 3], [3, 13], [1, 7], [11, 15], [15, 1]],
            _ => &[],
        }
    }

    /// Primitives that are drawn: the triangles of each layer. Saturates.
    pub fn primitives(&self) -> u32 {
        (self.triangles.len() as u32).saturating_mul(self.layers)
    }

    /// Columns, rows and [slices](Draw::slice) of what fragments, and helper invocations beside them, are numbered in: whole quads.
    pub fn grid(&self) -> [u32; 3] {
        let even = |side: u32| side.saturating_add(side % 2);
        [even(self.width), even(self.height), self.primitives().saturating_mul(self.samples)]
    }

    /// What is at a depth of the grid: the samples of a primitive follow each other, and the primitives in the order of the draw.
    pub fn slice(&self, depth: u32) -> Slice {
        let (primitive, triangles) = (self.primitive(depth), (self.triangles.len() as u32).max(1));
        Slice { triangle: primitive % triangles, layer: primitive / triangles, sample: depth % self.samples.max(1) }
    }

    /// The primitive that a depth of the grid is of, by the order of the draw.
    pub fn primitive(&self, depth: u32) -> u32 {
        depth / self.samples.max(1)
    }

    /// The name of a slice in reports: of what there is only one of its kind nothing is said.
    pub fn describe_slice(&self, depth: u32) -> String {
        let Slice { triangle, layer, sample } = self.slice(depth);
        let mut name = format!("triangle {triangle}");
        for (what, number, count) in [("layer", layer, self.layers), ("sample", sample, self.samples)] {
            if count > 1 {
                name += &format!(", {what} {number}");
            }
        }
        name
    }

    /// True if clipping moves a side: an end of it is outside of the framebuffer, and it is not parallel to the axes.
    fn is_clipped_aslant(&self, ends: [[u32; 2]; 2]) -> bool {
        let [[ax, ay], [bx, by]] = ends;
        ax != bx && ay != by && ends.iter().any(|&[x, y]| x > self.width || y > self.height)
    }

    /// Where a sample of a pixel is, by exact arithmetic.
    pub fn coverage(&self, triangle: u32, sample: u32, [x, y]: [u32; 2]) -> Coverage {
        let Some(corners) = self.triangles.get(triangle as usize) else { return Coverage::Outside };
        let Some(location) = self.sample_locations().get(sample as usize) else { return Coverage::Outside };
        if x >= self.width || y >= self.height {
            return Coverage::Outside;
        }
        let parts = |whole: u32, part: u32| i64::from(whole) * i64::from(SUBPIXELS) + i64::from(part);
        let (px, py) = (parts(x, location[0]), parts(y, location[1]));
        // On which side of each line it is; 0 where it is on it, or near to it and that is clipped.
        let mut is_near = false;
        let mut side = |k: usize| {
            let ends @ [[ax, ay], [bx, by]] = [corners[k], corners[(k + 1) % 3]];
            let [ax, ay, bx, by] = [ax, ay, bx, by].map(|c| parts(c, 0));
            let cross = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
            // Its distance is that over the length, in parts of a pixel.
            let square = (bx - ax) * (bx - ax) + (by - ay) * (by - ay);
            let near = cross != 0 && self.is_clipped_aslant(ends) && cross * cross < square;
            is_near |= near;
            if near { 0 } else { cross.signum() }
        };
        let sides = [side(0), side(1), side(2)];
        match (sides.contains(&-1), sides.contains(&1)) {
            (true, true) => Coverage::Outside,
            _ if !sides.contains(&0) => Coverage::Inside,
            _ if is_near => Coverage::NearClippedSide,
            _ => Coverage::OnSide,
        }
    }

    /// The corners in clip coordinates: x and y of each, as the bits of floats. The viewport is the framebuffer.
    pub fn corners(&self) -> Vec<u32> {
        let clip = |at: u32, side: u32| ((2.0 * f64::from(at) / f64::from(side) - 1.0) as f32).to_bits();
        let corners = self.triangles.iter().flatten();
        corners.flat_map(|&[x, y]| [clip(x, self.width), clip(y, self.height)]).collect()
    }

    /// True if there is a fragment at this place of the grid.
    pub fn covers(&self, [x, y, depth]: [u32; 3]) -> bool {
        let Slice { triangle, layer, sample } = self.slice(depth);
        layer < self.layers && self.coverage(triangle, sample, [x, y]) == Coverage::Inside
    }
}

/// Workgroups, in x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workgroups {
    /// Invocations of a workgroup (`LocalSize`).
    pub size: [u32; 3],
    /// Workgroups of the dispatch.
    pub count: [u32; 3],
    /// If the size is given by specialisation constants when the pipeline is made: the one that the module has by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_size: Option<[u32; 3]>,
    /// How the invocations form quads, if the module says so (SPV_KHR_compute_shader_derivatives). Otherwise only the lanes say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivative_group: Option<DerivativeGroup>,
    /// Task shaders: the mesh workgroups that each workgroup emits; each of them records the payload. With none there is no payload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meshes: u32,
    /// Mesh shaders: a task shader emits the workgroups, one of its workgroups those with one x, which the payload says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_task: bool,
}

/// How the invocations of a workgroup form quads (Vulkan, Shaders, Quad).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivativeGroup {
    /// `DerivativeGroupQuadsKHR`: squares of two by two local invocation ids, row by row.
    Quads,
    /// `DerivativeGroupLinearKHR`: four local invocation indices in a row.
    Linear,
}

impl DerivativeGroup {
    /// Every form, squares first.
    pub const ALL: [DerivativeGroup; 2] = [DerivativeGroup::Quads, DerivativeGroup::Linear];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DerivativeGroup::Quads => "quads",
            DerivativeGroup::Linear => "linear",
        }
    }

    /// True if workgroups of this size are whole quads (VUID-StandaloneSpirv-DerivativeGroupQuadsKHR-10151 and
    /// -DerivativeGroupLinearKHR-10152).
    pub fn divides(self, [x, y, z]: [u32; 3]) -> bool {
        match self {
            DerivativeGroup::Quads => x.is_multiple_of(2) && y.is_multiple_of(2),
            DerivativeGroup::Linear => product([x % 4, y % 4, z % 4]).is_multiple_of(4),
        }
    }
}

impl Workgroups {
    /// Words of the payload of a task shader that emits the workgroups of a mesh shader.
    pub const PAYLOAD_WORDS: u32 = 64;

    /// One workgroup of one invocation.
    pub(crate) const SINGLE: Workgroups = Workgroups {
        size: [1; 3],
        count: [1; 3],
        default_size: None,
        derivative_group: None,
        meshes: 0,
        by_task: false,
    };

    /// The quad of the invocation with this `LocalInvocationIndex`, of those of its workgroup, and which of the quad it is; `None` if the module says
    /// nothing about quads.
    pub fn quad(&self, index: u32) -> Option<(u32, u32)> {
        let [width, height, _] = self.size;
        Some(match self.derivative_group? {
            DerivativeGroup::Quads => {
                let [x, y, z] = self.position(index);
                (x / 2 + width / 2 * (y / 2 + height / 2 * z), x % 2 + y % 2 * 2)
            }
            DerivativeGroup::Linear => (index / 4, index % 4),
        })
    }

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
    fn fragments_of_a_triangle() {
        // Pixels with their centre above the diagonal from (0, 5) to (4, 0), by hand.
        let draw = Draw::new([3, 5], vec![[[0, 0], [4, 0], [0, 5]]]);
        let rows: Vec<String> =
            (0..6).map(|y| (0..4).map(|x| if draw.covers([x, y, 0]) { '#' } else { '.' }).collect()).collect();
        assert_eq!(rows, ["###.", "###.", "##..", "#...", "....", "...."]);
        assert_eq!(draw.grid(), [4, 6, 1]);
        let through = Draw::new([2, 2], vec![[[0, 0], [2, 0], [0, 2]]]);
        assert_eq!(through.coverage(0, 0, [1, 0]), Coverage::OnSide);
    }

    /// A side from (10, 5) to (0, 22) is 0.019 pixels from sample 1 of pixel (3, 15). Where the framebuffer ends at y = 16 the side is clipped at (3.53, 16), and
    /// a driver that rounds that to (3.5, 16) has the sample outside: SwiftShader does. In a larger framebuffer it is inside.
    #[test]
    fn samples_beside_a_side_that_is_clipped() {
        for (height, expected) in [(16, Coverage::NearClippedSide), (22, Coverage::Inside)] {
            let draw = Draw { samples: 4, ..Draw::new([16, height], vec![[[0, 5], [10, 5], [0, 22]]]) };
            assert_eq!(draw.coverage(0, 1, [3, 15]), expected, "{height}");
            assert_eq!(draw.coverage(0, 1, [2, 15]), Coverage::Inside, "far from it");
            assert_eq!(draw.coverage(0, 1, [5, 15]), Coverage::Outside, "far from it");
        }
        // What covers everything is far enough from all samples in every framebuffer.
        for (width, height) in [(1, 1), (1, 128), (128, 1), (67, 33), (128, 128)] {
            for samples in Draw::SAMPLES {
                let whole = [[0, 0], [2 * width, 0], [0, 2 * height]];
                let draw = Draw { samples, ..Draw::new([width, height], vec![whole]) };
                let last = [width - 1, height - 1];
                assert!(
                    (0..samples).all(|sample| draw.coverage(0, sample, last) == Coverage::Inside),
                    "{width} {height}"
                );
            }
        }
    }

    /// Half a pixel, above the diagonal from (0, 1) to (1, 0), by hand.
    #[test]
    fn samples_of_a_triangle() {
        let half = Draw::new([1, 1], vec![[[0, 0], [1, 0], [0, 1]]]);
        let of = |samples| {
            let draw = Draw { samples, ..half.clone() };
            let letter = |sample| match draw.coverage(0, sample, [0, 0]) {
                Coverage::Inside => '#',
                Coverage::Outside => '.',
                Coverage::OnSide => '/',
                Coverage::NearClippedSide => '~',
            };
            (0..samples).map(letter).collect::<String>()
        };
        for (samples, inside) in [(1, "/"), (2, ".#"), (4, "#.#."), (8, "#..#/#./"), (3, "...")] {
            assert_eq!(of(samples), inside, "{samples}");
        }
        for samples in Draw::SAMPLES {
            let draw = Draw { samples, ..half.clone() };
            assert_eq!(draw.sample_locations().len(), samples as usize);
            assert!(draw.sample_locations().as_flattened().iter().all(|&part| part < SUBPIXELS));
        }
    }

    #[test]
    fn slices_of_a_draw() {
        let triangle = [[0, 0], [2, 0], [0, 4]];
        let draw = Draw { layers: 2, samples: 4, ..Draw::new([1, 2], vec![triangle; 3]) };
        assert_eq!((draw.grid(), draw.primitives()), ([2, 2, 24], 6));
        let slices: Vec<Slice> = (0..24).map(|depth| draw.slice(depth)).collect();
        assert_eq!(slices[3], Slice { triangle: 0, layer: 0, sample: 3 });
        assert_eq!(slices[4], Slice { triangle: 1, layer: 0, sample: 0 });
        assert_eq!(slices[12 + 4 + 2], Slice { triangle: 1, layer: 1, sample: 2 });
        assert_eq!(draw.describe_slice(18), "triangle 1, layer 1, sample 2");
        assert_eq!(Draw { layers: 1, ..draw.clone() }.describe_slice(4), "triangle 1, sample 0");
        assert!(!draw.covers([0, 0, 24]));
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
