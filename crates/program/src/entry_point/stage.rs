//! Shader stages.

use serde::{Deserialize, Serialize};

use super::spirv_version::SpirvVersion;

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
