//! What a row of the table is made of: what asks for a feature, how a device says that it has it, what of a module needs it.

use std::ffi::CStr;

use tangle_program::case::{Case, EntryPoint, Stage, Tier};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::Category;
use tangle_program::tree::{Expr, Program, Stmt};
use tangle_program::types::Scalar;

/// Something in a case that asks for a feature.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// Every case: the lane map is read by it.
    Always,
    /// A subgroup operation of this category.
    Category(Category),
    /// The convergence tier of the case.
    Tier(Tier),
    /// The stage of the case.
    Stage(Stage),
    /// Something is computed in this type.
    Scalar(Scalar),
    /// A subgroup operation works on a value of this type.
    Operand(Scalar),
    /// An array of descriptors of this class.
    Resource(ResourceClass),
    /// A non-uniform index of one.
    NonUniform(ResourceClass),
    /// Something about the entry point; the text says what.
    EntryPoint(&'static str, fn(&EntryPoint) -> bool),
    /// Something about the case as a whole; the text says what.
    Case(&'static str, fn(&Case) -> bool),
    /// A statement; the text says which, in the plural.
    Statement(&'static str, fn(&Program, &Stmt) -> bool),
    /// An expression; the text says which, in the plural.
    Expression(&'static str, fn(&Expr) -> bool),
}

/// How a Vulkan device says that it has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vulkan {
    /// By a member of a feature structure. It is enabled by setting the member.
    Member(Member),
    /// By this bit of `supportedOperations`, where `supportedStages` has compute (`VkPhysicalDeviceSubgroupProperties`). There is nothing
    /// to enable.
    Operation(u32),
    /// By the bit of this stage in `supportedStages` of `VkPhysicalDeviceSubgroupProperties`: subgroups are defined in the stage. There is
    /// nothing to enable.
    Stage(Stage),
    /// By a member of `VkPhysicalDeviceFloatControlsProperties`: which, counted from 0 after `pNext`. There is nothing to enable but, before Vulkan
    /// 1.2, the extension.
    FloatControl(usize),
    /// By listing this extension, which has no feature structure.
    Extension(&'static CStr),
}

/// How an OpenGL context says that it has a feature. There is nothing to enable but what the shader says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenGl {
    /// It cannot: there is no such thing in OpenGL, or tangle does not ask for it.
    Never,
    /// Every context that tangle uses has it.
    Core,
    /// By this bit of `GL_SUBGROUP_SUPPORTED_FEATURES_KHR`, where `GL_SUBGROUP_SUPPORTED_STAGES_KHR` has compute (KHR_shader_subgroup,
    /// SG.2.3).
    Operation(u32),
    /// By the bit of this stage in `GL_SUBGROUP_SUPPORTED_STAGES_KHR` (KHR_shader_subgroup, SG.2.2).
    Stage(Stage),
    /// By limits that are at least so large: the names that glGetIntegerv takes, each with the least value, and what that is in words. A name that
    /// a context does not know has 0.
    Limits(&'static [(u32, u32)], &'static str),
    /// By having all these extensions of its shading language, each of which defines a macro of its name (GLSL 4.60 §3.3).
    Language(&'static [&'static str]),
}

/// A member of a feature structure. All members of these structures are of type `VkBool32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// `VkStructureType` of the structure; that of `VkPhysicalDeviceFeatures2` for a member of `VkPhysicalDeviceFeatures`.
    pub structure: i32,
    /// Which member, counted from 0 after `pNext`.
    pub index: usize,
    /// Where the structure comes from.
    pub origin: Origin,
}

/// Where a feature structure comes from. tangle uses Vulkan up to 1.3: what came into the core with 1.4 is an extension here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The extension that has it.
    pub extension: Option<&'static CStr>,
    /// The minor number of the Vulkan version that has it without an extension.
    pub core_since: Option<u32>,
}

impl Origin {
    /// A structure of Vulkan 1.`minor`.
    pub const fn core(minor: u32) -> Origin {
        Origin { extension: None, core_since: Some(minor) }
    }

    /// A structure of an extension.
    pub const fn extension(name: &'static CStr) -> Origin {
        Origin { extension: Some(name), core_since: None }
    }

    /// A structure of an extension that Vulkan 1.`minor` has, too.
    pub const fn promoted(name: &'static CStr, minor: u32) -> Origin {
        Origin { extension: Some(name), core_since: Some(minor) }
    }
}

/// What of a module needs a feature: Vulkan specification, appendix "Vulkan Environment for SPIR-V".
#[derive(Clone, Copy, Debug, Default)]
pub struct Spirv {
    /// Any of these capabilities.
    pub capabilities: &'static [spirv::Capability],
    /// Any of these execution modes.
    pub execution_modes: &'static [spirv::ExecutionMode],
    /// Any of these extensions, where its capabilities do not say so.
    pub extensions: &'static [&'static str],
    /// The extension that a module declares for its capabilities, where there is one.
    pub declares: Option<&'static str>,
}

impl Spirv {
    /// Nothing: the row asks nothing of the module.
    pub const NOTHING: Spirv = Spirv { capabilities: &[], execution_modes: &[], extensions: &[], declares: None };

    /// Only capabilities.
    pub const fn capability(capabilities: &'static [spirv::Capability]) -> Spirv {
        Spirv { capabilities, ..Spirv::NOTHING }
    }

    /// Only execution modes.
    pub const fn execution_mode(execution_modes: &'static [spirv::ExecutionMode]) -> Spirv {
        Spirv { execution_modes, ..Spirv::NOTHING }
    }

    /// Only extensions, which no capability stands for.
    pub const fn extension(extensions: &'static [&'static str]) -> Spirv {
        Spirv { extensions, ..Spirv::NOTHING }
    }

    /// The same, with the extension that has it.
    pub const fn declaring(self, extension: &'static str) -> Spirv {
        Spirv { declares: Some(extension), ..self }
    }
}
