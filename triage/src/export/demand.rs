//! The Vulkan features that a case needs, and how each format asks for them.

use tangle_program::case::{SpirvVersion, SubgroupSize, Tier};
use tangle_program::needs::Needs;
use tangle_program::subgroup::Category;
use tangle_program::types::Scalar;

/// A Vulkan feature. Numbers are those of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    /// The member of the structure.
    pub name: &'static str,
    /// `VkStructureType` of the structure; 0 if the extension has none.
    pub structure: u32,
    /// Which member of it, from 0.
    pub member: u32,
    /// The extension; empty if there is none with this structure.
    pub extension: &'static str,
    /// The version of Vulkan that has the structure without an extension.
    pub core_since: Option<(u32, u32)>,
    /// The name in AmberScript, if it has one.
    pub amber: Option<&'static str>,
    /// True if VkRunner knows it by its name.
    pub vkrunner: bool,
}

const MAXIMAL: Demand = Demand {
    name: "shaderMaximalReconvergence",
    structure: 1_000_434_000,
    member: 0,
    extension: "VK_KHR_shader_maximal_reconvergence",
    core_since: None,
    amber: None,
    vkrunner: false,
};
const SUBGROUP_UNIFORM: Demand = Demand {
    name: "shaderSubgroupUniformControlFlow",
    structure: 1_000_323_000,
    member: 0,
    extension: "VK_KHR_shader_subgroup_uniform_control_flow",
    core_since: None,
    amber: None,
    vkrunner: false,
};
/// Vulkan 1.4 has it, too, but the program asks for no more than 1.3.
const ROTATE: Demand = Demand {
    name: "shaderSubgroupRotate",
    structure: 1_000_416_000,
    member: 0,
    extension: "VK_KHR_shader_subgroup_rotate",
    core_since: None,
    amber: None,
    vkrunner: false,
};
const ROTATE_CLUSTERED: Demand = Demand { name: "shaderSubgroupRotateClustered", member: 1, ..ROTATE };
const QUAD_CONTROL: Demand = Demand {
    name: "shaderQuadControl",
    structure: 1_000_235_000,
    member: 0,
    extension: "VK_KHR_shader_quad_control",
    core_since: None,
    amber: None,
    vkrunner: false,
};
const PARTITIONED: Demand = Demand {
    name: "VK_NV_shader_subgroup_partitioned",
    structure: 0,
    member: 0,
    extension: "VK_NV_shader_subgroup_partitioned",
    core_since: None,
    amber: None,
    vkrunner: false,
};
const SIZE_CONTROL: Demand = Demand {
    name: "subgroupSizeControl",
    structure: 1_000_225_002,
    member: 0,
    extension: "VK_EXT_subgroup_size_control",
    core_since: Some((1, 3)),
    amber: Some("SubgroupSizeControl.subgroupSizeControl"),
    vkrunner: false,
};
const FULL_SUBGROUPS: Demand = Demand {
    name: "computeFullSubgroups",
    member: 1,
    amber: Some("SubgroupSizeControl.computeFullSubgroups"),
    ..SIZE_CONTROL
};
const MAINTENANCE4: Demand = Demand {
    name: "maintenance4",
    structure: 1_000_413_000,
    member: 0,
    extension: "VK_KHR_maintenance4",
    core_since: Some((1, 3)),
    amber: None,
    vkrunner: false,
};
/// Vulkan 1.4 has it, too.
const EXPECT_ASSUME: Demand = Demand {
    name: "shaderExpectAssume",
    structure: 1_000_544_000,
    member: 0,
    extension: "VK_KHR_shader_expect_assume",
    core_since: None,
    amber: None,
    vkrunner: false,
};
/// `VkPhysicalDeviceFeatures2`, whose members are those of `VkPhysicalDeviceFeatures`.
const SHADER_INT16: Demand = Demand {
    name: "shaderInt16",
    structure: 1_000_059_000,
    member: 41,
    extension: "",
    core_since: Some((1, 0)),
    amber: Some("shaderInt16"),
    vkrunner: true,
};
const SHADER_INT64: Demand = Demand { name: "shaderInt64", member: 40, amber: Some("shaderInt64"), ..SHADER_INT16 };
const SHADER_FLOAT64: Demand =
    Demand { name: "shaderFloat64", member: 39, amber: Some("shaderFloat64"), ..SHADER_INT16 };
/// A member of `VkPhysicalDeviceVulkan12Features`, and of nothing else.
const BROADCAST_DYNAMIC_ID: Demand = Demand {
    name: "subgroupBroadcastDynamicId",
    structure: 51,
    member: 46,
    extension: "",
    core_since: Some((1, 2)),
    amber: None,
    vkrunner: false,
};
/// This one and the next two have structures of their own, too; these must not stand beside that of Vulkan 1.2.
const SHADER_INT8: Demand = Demand {
    name: "shaderInt8",
    member: 8,
    amber: Some("Float16Int8Features.shaderInt8"),
    vkrunner: true,
    ..BROADCAST_DYNAMIC_ID
};
const SHADER_FLOAT16: Demand =
    Demand { name: "shaderFloat16", member: 7, amber: Some("Float16Int8Features.shaderFloat16"), ..SHADER_INT8 };
const EXTENDED_TYPES: Demand = Demand {
    name: "shaderSubgroupExtendedTypes",
    member: 34,
    amber: Some("ShaderSubgroupExtendedTypesFeatures.shaderSubgroupExtendedTypes"),
    ..BROADCAST_DYNAMIC_ID
};
const BUFFER_INT64_ATOMICS: Demand = Demand { name: "shaderBufferInt64Atomics", member: 5, ..BROADCAST_DYNAMIC_ID };
const SHARED_INT64_ATOMICS: Demand = Demand { name: "shaderSharedInt64Atomics", member: 6, ..BROADCAST_DYNAMIC_ID };

/// The version of Vulkan that a case needs: minor number.
pub(super) fn vulkan_minor(needs: &Needs) -> u32 {
    let by_module = match needs.spirv {
        SpirvVersion::V1_6 => 3,
        SpirvVersion::V1_5 => 2,
        SpirvVersion::V1_4 | SpirvVersion::V1_3 => 1,
    };
    let without_extension = |demand: &Demand| demand.extension.is_empty().then_some(demand.core_since?.1);
    demands(needs).iter().filter_map(without_extension).fold(by_module, u32::max)
}

/// What a case needs.
pub(super) fn demands(needs: &Needs) -> Vec<Demand> {
    let has = |category: Category| needs.categories.contains(&category);
    let (rotates, rotates_clustered) = (has(Category::Rotate), has(Category::RotateClustered));
    let has_size = |size: u32| needs.scalars.iter().any(|scalar| scalar.is_integer() && scalar.size() == size);
    let has_scalar = |scalar: Scalar| needs.scalars.contains(&scalar);
    let table = [
        // Quad control depends on it.
        (needs.tier == Tier::Maximal || has(Category::QuadControl), MAXIMAL),
        (needs.tier == Tier::SubgroupUniform, SUBGROUP_UNIFORM),
        // SPIR-V has one capability for both.
        (rotates || rotates_clustered, ROTATE),
        (rotates_clustered, ROTATE_CLUSTERED),
        (has(Category::QuadControl), QUAD_CONTROL),
        (has(Category::Partitioned), PARTITIONED),
        (needs.subgroup_size != SubgroupSize::Default, SIZE_CONTROL),
        (needs.full_subgroups, FULL_SUBGROUPS),
        (needs.local_size_id, MAINTENANCE4),
        (needs.expect_assume, EXPECT_ASSUME),
        (needs.broadcast_dynamic_id, BROADCAST_DYNAMIC_ID),
        (has_size(8), SHADER_INT8),
        (has_size(16), SHADER_INT16),
        (has_size(64), SHADER_INT64),
        (has_scalar(Scalar::Float16), SHADER_FLOAT16),
        (has_scalar(Scalar::Double), SHADER_FLOAT64),
        (needs.extended_types, EXTENDED_TYPES),
        // SPIR-V has one capability for both.
        (needs.shared_int64_atomics, BUFFER_INT64_ATOMICS),
        (needs.shared_int64_atomics, SHARED_INT64_ATOMICS),
    ];
    table.into_iter().filter(|(needed, _)| *needed).map(|(_, demand)| demand).collect()
}
