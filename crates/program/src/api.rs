//! Interfaces to graphics hardware: what a case runs through, and who promises what of subgroups.

use serde::{Deserialize, Serialize};

/// An interface to graphics hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Vulkan: modules, by `vkCreateShaderModule`.
    #[default]
    Vulkan,
    /// OpenGL: GLSL, or modules by ARB_gl_spirv.
    OpenGl,
    /// WebGPU: a runtime with a driver beneath.
    WebGpu,
}

impl Api {
    /// Its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Api::Vulkan => "Vulkan",
            Api::OpenGl => "OpenGL",
            Api::WebGpu => "WebGPU",
        }
    }
}
