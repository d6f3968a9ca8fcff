//! The flags of shader stages in Vulkan.

use ash::vk;
use tangle_program::case::Stage;

/// The flags that stand for one stage, or for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageFlags {
    /// The shaders of the stage, or of several.
    pub shader: vk::ShaderStageFlags,
    /// The stages of a pipeline that run them.
    pub pipeline: vk::PipelineStageFlags,
}

impl StageFlags {
    /// Those of a stage.
    pub const fn of(stage: Stage) -> StageFlags {
        use vk::{PipelineStageFlags as Pipeline, ShaderStageFlags as Shader};
        let (shader, pipeline) = match stage {
            Stage::Compute => (Shader::COMPUTE, Pipeline::COMPUTE_SHADER),
            Stage::Task => (Shader::TASK_EXT, Pipeline::TASK_SHADER_EXT),
            Stage::Mesh => (Shader::MESH_EXT, Pipeline::MESH_SHADER_EXT),
            Stage::Fragment => (Shader::FRAGMENT, Pipeline::FRAGMENT_SHADER),
            Stage::Vertex => (Shader::VERTEX, Pipeline::VERTEX_SHADER),
            Stage::TessellationControl => (Shader::TESSELLATION_CONTROL, Pipeline::TESSELLATION_CONTROL_SHADER),
            Stage::TessellationEvaluation => {
                (Shader::TESSELLATION_EVALUATION, Pipeline::TESSELLATION_EVALUATION_SHADER)
            }
            Stage::Geometry => (Shader::GEOMETRY, Pipeline::GEOMETRY_SHADER),
        };
        StageFlags { shader, pipeline }
    }

    /// Those of the stages that see the buffers where a case is of this stage: the vertex shader beside a fragment shader reads where its vertices are,
    /// the mesh shader beside a task shader writes what it finds in the payload.
    pub fn with_buffers(stage: Stage) -> StageFlags {
        let StageFlags { mut shader, mut pipeline } = StageFlags::of(stage);
        let beside = match stage {
            Stage::Fragment => Some(StageFlags::of(Stage::Vertex)),
            Stage::Task => Some(StageFlags::of(Stage::Mesh)),
            Stage::Compute
            | Stage::Mesh
            | Stage::Vertex
            | Stage::TessellationControl
            | Stage::TessellationEvaluation
            | Stage::Geometry => None,
        };
        if let Some(beside) = beside {
            shader |= beside.shader;
            pipeline |= beside.pipeline;
        }
        StageFlags { shader, pipeline }
    }
}
