//! The table.
//!
//! Names, numbers and dependencies: Vulkan registry (vk.xml). What a SPIR-V module needs: Vulkan specification, appendix "Vulkan
//! Environment for SPIR-V". Members and structure types are read from `ash`, the numbers of SPIR-V from `spirv`.

use std::borrow::Cow;
use std::mem::offset_of;

use ash::vk::{self, TaggedStructure as _};
use spirv::{Capability, ExecutionMode};
use tangle_program::api::Api;
use tangle_program::case::{Case, DerivativeGroup, EntryPoint, FloatMode, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::ops::Intrinsic;
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Category, Param};
use tangle_program::tree::{Builtin, Discard, Expr, Program, Stmt};
use tangle_program::types::Scalar;

use crate::row::{Ask, Member, OpenGl, Origin, Spirv, Vulkan};

/// The row of a feature: who asks for it, and who has it.
#[derive(Clone, Copy, Debug)]
pub struct FeatureRow {
    /// The feature that the row is of.
    pub feature: Feature,
    /// Its name in the Vulkan specification: the member of the feature structure, the bit of the subgroup operations, or the extension
    /// where there is neither.
    pub name: &'static str,
    /// What in a case asks for it, and so what is left out on a device without it.
    pub asked_by: &'static [Ask],
    /// How a device says that it has it, and how it is enabled.
    pub vulkan: Vulkan,
    /// How OpenGL says that it has it.
    pub opengl: OpenGl,
    /// The feature of WebGPU (`GPUFeatureName`) with which WGSL can say what asks for it; `None` if it cannot, or a row asks for what no compute
    /// shader has.
    pub webgpu: Option<&'static str>,
    /// What must be enabled with it.
    pub requires: &'static [Feature],
    /// A device that has one of these offers this one, too.
    pub implied_by: &'static [Feature],
    /// What of a module needs it.
    pub spirv: Spirv,
    /// The name of its `DEVICE_FEATURE` in AmberScript (docs/amber_script.md of google/amber), if it has one.
    pub amber: Option<&'static str>,
    /// True if VkRunner has the name among its features.
    pub vkrunner: bool,
}

impl FeatureRow {
    /// A row on which nothing else is said.
    const fn new(feature: Feature, name: &'static str, vulkan: Vulkan) -> FeatureRow {
        FeatureRow {
            feature,
            name,
            asked_by: &[],
            vulkan,
            opengl: OpenGl::Never,
            webgpu: None,
            requires: &[],
            implied_by: &[],
            spirv: Spirv::NOTHING,
            amber: None,
            vkrunner: false,
        }
    }

    /// What a device of this interface lacks without the feature, by the name that it has there.
    pub fn name_in(&self, api: Api) -> Cow<'static, str> {
        match (api, self.opengl) {
            (Api::Vulkan, _) | (Api::OpenGl, OpenGl::Core) => self.name.into(),
            (Api::OpenGl, OpenGl::Never) => format!("{} (not in OpenGL)", self.name).into(),
            (Api::OpenGl, OpenGl::Operation(_)) => {
                match self.name.strip_prefix("VK_").map(|name| name.trim_end_matches("_NV")) {
                    Some(name) => format!("GL_{name}_KHR").into(),
                    None => self.name.into(),
                }
            }
            (Api::OpenGl, OpenGl::Stage(stage)) => format!("subgroups in {} shaders", stage.name()).into(),
            (Api::OpenGl, OpenGl::Limits(_, what)) => what.into(),
            (Api::OpenGl, OpenGl::Language(extensions)) => extensions.first().copied().unwrap_or(self.name).into(),
            (Api::WebGpu, _) => match self.webgpu {
                Some(feature) => format!("the feature `{feature}`, here and where wgsl@tint compiles").into(),
                None => format!("{} (not with WebGPU)", self.name).into(),
            },
        }
    }

    /// The extension that has the feature, if any.
    pub fn extension(&self) -> Option<&'static str> {
        let name = match self.vulkan {
            Vulkan::Member(member) => member.origin.extension?,
            Vulkan::Extension(name) => name,
            Vulkan::FloatControl(_) => ash::khr::shader_float_controls::NAME,
            Vulkan::Operation(_) | Vulkan::Stage(_) => return None,
        };
        name.to_str().ok()
    }
}

/// Declares [`Feature`] and [`TABLE`] from one row for each: documentation, variant, Vulkan name, where the device says it, the rest.
macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $vulkan:expr, { $($field:ident: $value:expr),* $(,)? })*) => {
        /// One thing that a device may or may not be able to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature {
            $($(#[$doc])* $variant,)*
        }

        impl Feature {
            /// Every feature, in the order of the table.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant,)*];
        }

        /// The rows, in the order of [`Feature::ALL`].
        pub const TABLE: &[FeatureRow] = &[$(
            #[allow(clippy::needless_update, reason = "a row may say everything")]
            FeatureRow { $($field: $value,)* ..FeatureRow::new(Feature::$variant, $name, $vulkan) },
        )*];
    };
}

/// A member of one of ash's structures.
macro_rules! member {
    ($structure:ident.$($member:ident).+, $origin:expr) => {
        Vulkan::Member(Member {
            structure: vk::$structure::STRUCTURE_TYPE.as_raw(),
            index: (offset_of!(vk::$structure<'static>, $($member).+) - HEAD) / size_of::<vk::Bool32>(),
            origin: $origin,
        })
    };
}

/// Size of `sType` and `pNext`, with which every structure begins.
const HEAD: usize = size_of::<vk::BaseOutStructure<'static>>();

const VULKAN_1_1: Origin = Origin::core(1);
/// Several of its members are in structures of their own, too; those must not stand beside it
/// (VUID-VkDeviceCreateInfo-pNext-02830). A Vulkan 1.1 device offers none of them, even where it has the older extension.
const VULKAN_1_2: Origin = Origin::core(2);
const SIZE_CONTROL: Origin = Origin::promoted(ash::ext::subgroup_size_control::NAME, 3);
/// The extension of NVIDIA has the same structure, but does not take modules that declare this one's SPIR-V.
const DERIVATIVES: Origin = Origin::extension(c"VK_KHR_compute_shader_derivatives");
const ATOMIC_FLOAT: Origin = Origin::extension(ash::ext::shader_atomic_float::NAME);
const ROTATE: Origin = Origin::extension(ash::khr::shader_subgroup_rotate::NAME);

/// What a fragment shader needs of OpenGL: lane map, log, arrays and inputs, and in the vertex shader beside it the corners (OpenGL 4.6, Implementation Dependent Values:
/// `GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS`, `GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS`, which may be 0).
const FRAGMENT_BLOCKS: &[(u32, u32)] = &[(0x90DA, 4), (0x90D6, 1)];
/// The same of the stages before rasterisation, in their order; two of tessellation (`GL_MAX_TESS_CONTROL_SHADER_STORAGE_BLOCKS` and so on).
const VERTEX_BLOCKS: &[(u32, u32)] = &[(0x90D6, 4), (0x90D8, 4), (0x90D9, 4), (0x90D7, 4)];

/// WebGPU, Feature Index: "Allows the use of the subgroup and quad operations in WGSL."
const SUBGROUPS: &str = "subgroups";
/// The same: "Allows the use of the half-precision floating-point type f16 in WGSL."
const SHADER_F16: &str = "shader-f16";

features! {
    /// `subgroupElect`, `subgroupBarrier` and the built-in variables, in compute shaders.
    SubgroupBasic = "VK_SUBGROUP_FEATURE_BASIC_BIT" in Vulkan::Operation(0x1), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x1),
        asked_by: &[Ask::Always, Ask::Category(Category::Basic)],
        spirv: Spirv::capability(&[Capability::GroupNonUniform]),
        amber: Some("SubgroupSupportedOperations.basic"),
    }
    /// `subgroupAll`, `subgroupAny`, `subgroupAllEqual`. glslang declares the capability for quad control, too.
    SubgroupVote = "VK_SUBGROUP_FEATURE_VOTE_BIT" in Vulkan::Operation(0x2), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x2),
        asked_by: &[Ask::Category(Category::Vote), Ask::Category(Category::QuadControl)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformVote]),
        amber: Some("SubgroupSupportedOperations.vote"),
    }
    /// Reductions and scans.
    SubgroupArithmetic = "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT" in Vulkan::Operation(0x4), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x4),
        asked_by: &[Ask::Category(Category::Arithmetic)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformArithmetic]),
        amber: Some("SubgroupSupportedOperations.arithmetic"),
    }
    /// Ballots and broadcasts.
    SubgroupBallot = "VK_SUBGROUP_FEATURE_BALLOT_BIT" in Vulkan::Operation(0x8), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x8),
        asked_by: &[Ask::Always, Ask::Category(Category::Ballot)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformBallot]),
        amber: Some("SubgroupSupportedOperations.ballot"),
    }
    /// `subgroupShuffle`, `subgroupShuffleXor`.
    SubgroupShuffle = "VK_SUBGROUP_FEATURE_SHUFFLE_BIT" in Vulkan::Operation(0x10), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x10),
        asked_by: &[Ask::Category(Category::Shuffle), Ask::Stage(Stage::Fragment)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformShuffle]),
        amber: Some("SubgroupSupportedOperations.shuffle"),
    }
    /// `subgroupShuffleUp`, `subgroupShuffleDown`.
    SubgroupShuffleRelative = "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT" in Vulkan::Operation(0x20), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x20),
        asked_by: &[Ask::Category(Category::ShuffleRelative)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformShuffleRelative]),
        amber: Some("SubgroupSupportedOperations.shuffleRelative"),
    }
    /// Clustered reductions.
    SubgroupClustered = "VK_SUBGROUP_FEATURE_CLUSTERED_BIT" in Vulkan::Operation(0x40), {
        opengl: OpenGl::Operation(0x40),
        asked_by: &[Ask::Category(Category::Clustered)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformClustered]),
        amber: Some("SubgroupSupportedOperations.clustered"),
    }
    /// Quad broadcasts and swaps, in compute shaders.
    SubgroupQuad = "VK_SUBGROUP_FEATURE_QUAD_BIT" in Vulkan::Operation(0x80), {
        webgpu: Some(SUBGROUPS),
        opengl: OpenGl::Operation(0x80),
        asked_by: &[Ask::Category(Category::Quad), Ask::Stage(Stage::Fragment)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformQuad]),
        amber: Some("SubgroupSupportedOperations.quad"),
    }
    /// Partitioned operations (the bit is shared by the NV and the EXT extension).
    SubgroupPartitioned = "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV" in Vulkan::Operation(0x100), {
        opengl: OpenGl::Operation(0x100),
        asked_by: &[Ask::Category(Category::Partitioned)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformPartitionedEXT]),
    }
    /// Modules that declare `SPV_NV_shader_subgroup_partitioned`, as GL_NV_shader_subgroup_partitioned makes them. Either extension of Vulkan
    /// takes them (vk.xml, `spirvextension`; VK_EXT_shader_subgroup_partitioned, "Description").
    PartitionedNv = "VK_NV_shader_subgroup_partitioned"
        in Vulkan::Extension(ash::nv::shader_subgroup_partitioned::NAME), {
        opengl: OpenGl::Language(&["GL_NV_shader_subgroup_partitioned"]),
        asked_by: &[Ask::Category(Category::Partitioned)],
        implied_by: &[Feature::PartitionedExt],
        spirv: Spirv::extension(&["SPV_NV_shader_subgroup_partitioned"]),
    }
    /// Modules that declare `SPV_EXT_shader_subgroup_partitioned`. The structure is newer than ash 0.38.
    PartitionedExt = "shaderSubgroupPartitioned" in Vulkan::Member(Member {
        structure: 1_000_662_000,
        index: 0,
        origin: Origin::extension(c"VK_EXT_shader_subgroup_partitioned"),
    }), {
        spirv: Spirv::extension(&["SPV_EXT_shader_subgroup_partitioned"]),
    }
    /// The `MaximallyReconvergesKHR` execution mode.
    MaximalReconvergence = "shaderMaximalReconvergence"
        in member!(
            PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR.shader_maximal_reconvergence,
            Origin::extension(ash::khr::shader_maximal_reconvergence::NAME)
        ), {
        asked_by: &[Ask::Tier(Tier::Maximal)],
        spirv: Spirv::execution_mode(&[ExecutionMode::MaximallyReconvergesKHR]),
    }
    /// The `SubgroupUniformControlFlowKHR` execution mode.
    SubgroupUniformControlFlow = "shaderSubgroupUniformControlFlow"
        in member!(
            PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR.shader_subgroup_uniform_control_flow,
            Origin::extension(ash::khr::shader_subgroup_uniform_control_flow::NAME)
        ), {
        asked_by: &[Ask::Tier(Tier::SubgroupUniform)],
        spirv: Spirv::execution_mode(&[ExecutionMode::SubgroupUniformControlFlowKHR]),
    }
    /// `subgroupRotate`. SPIR-V has one capability for it and for rotation in clusters.
    SubgroupRotate = "shaderSubgroupRotate"
        in member!(PhysicalDeviceShaderSubgroupRotateFeaturesKHR.shader_subgroup_rotate, ROTATE), {
        webgpu: Some(SUBGROUPS),
        asked_by: &[Ask::Category(Category::Rotate), Ask::Category(Category::RotateClustered)],
        spirv: Spirv::capability(&[Capability::GroupNonUniformRotateKHR]).declaring("SPV_KHR_subgroup_rotate"),
    }
    /// `subgroupClusteredRotate`.
    SubgroupRotateClustered = "shaderSubgroupRotateClustered"
        in member!(PhysicalDeviceShaderSubgroupRotateFeaturesKHR.shader_subgroup_rotate_clustered, ROTATE), {
        asked_by: &[Ask::Category(Category::RotateClustered)],
    }
    /// `subgroupQuadAll`, `subgroupQuadAny` and the quad execution modes.
    QuadControl = "shaderQuadControl"
        in member!(
            PhysicalDeviceShaderQuadControlFeaturesKHR.shader_quad_control,
            Origin::extension(ash::khr::shader_quad_control::NAME)
        ), {
        asked_by: &[
            Ask::Category(Category::QuadControl),
            Ask::EntryPoint("required full quads", |entry_point| entry_point.draw().is_some_and(|draw| draw.full_quads)),
            Ask::EntryPoint("derivatives of quads", |entry_point| {
                entry_point.draw().is_some_and(|draw| draw.quad_derivatives)
            }),
        ],
        // The extension depends on that of maximal reconvergence.
        requires: &[Feature::MaximalReconvergence],
        spirv: Spirv::capability(&[Capability::QuadControlKHR]).declaring("SPV_KHR_quad_control"),
    }
    /// `subgroupBroadcast` with an index that is no constant of the module (VUID-RuntimeSpirv-subgroupBroadcastDynamicId-06276 and 06277
    /// are content with specialisation constants).
    SubgroupBroadcastDynamicId = "subgroupBroadcastDynamicId"
        in member!(PhysicalDeviceVulkan12Features.subgroup_broadcast_dynamic_id, VULKAN_1_2), {
        webgpu: Some(SUBGROUPS),
        asked_by: &[Ask::Expression("broadcasts from a lane that is no constant", is_dynamic_broadcast)],
    }
    /// Varying and required subgroup sizes.
    SubgroupSizeControl = "subgroupSizeControl"
        in member!(PhysicalDeviceSubgroupSizeControlFeatures.subgroup_size_control, SIZE_CONTROL), {
        webgpu: Some("subgroup-size-control"),
        asked_by: &[
            Ask::EntryPoint("varying subgroup sizes", |entry_point| entry_point.subgroup_size == SubgroupSize::Varying),
            Ask::EntryPoint("required subgroup sizes", |entry_point| matches!(entry_point.subgroup_size, SubgroupSize::Required(_))),
        ],
        amber: Some("SubgroupSizeControl.subgroupSizeControl"),
    }
    /// Required full subgroups. The x dimension of the workgroup must then be a multiple of the subgroup size
    /// (VUID-VkPipelineShaderStageCreateInfo 02757 to 02759).
    ComputeFullSubgroups = "computeFullSubgroups"
        in member!(PhysicalDeviceSubgroupSizeControlFeatures.compute_full_subgroups, SIZE_CONTROL), {
        asked_by: &[Ask::EntryPoint("full subgroups", |entry_point| entry_point.full_subgroups)],
        amber: Some("SubgroupSizeControl.computeFullSubgroups"),
    }
    /// Quads of two by two local invocation ids. The structure has the number of that of VK_NV_compute_shader_derivatives.
    ComputeDerivativeGroupQuads = "computeDerivativeGroupQuads"
        in member!(PhysicalDeviceComputeShaderDerivativesFeaturesNV.compute_derivative_group_quads, DERIVATIVES), {
        asked_by: &[Ask::EntryPoint("quads of local ids", |entry_point| has_quads(entry_point, DerivativeGroup::Quads))],
        spirv: Spirv::capability(&[Capability::ComputeDerivativeGroupQuadsKHR])
            .declaring("SPV_KHR_compute_shader_derivatives"),
    }
    /// Quads of four local invocation indices in a row.
    ComputeDerivativeGroupLinear = "computeDerivativeGroupLinear"
        in member!(PhysicalDeviceComputeShaderDerivativesFeaturesNV.compute_derivative_group_linear, DERIVATIVES), {
        asked_by: &[Ask::EntryPoint("quads of local indices", |entry_point| has_quads(entry_point, DerivativeGroup::Linear))],
        spirv: Spirv::capability(&[Capability::ComputeDerivativeGroupLinearKHR])
            .declaring("SPV_KHR_compute_shader_derivatives"),
    }
    /// Modules that declare `SPV_NV_compute_shader_derivatives`, as glslang makes them. The extension that came after it does not take them
    /// (vk.xml, `spirvextension`).
    ComputeShaderDerivativesNv = "VK_NV_compute_shader_derivatives"
        in Vulkan::Extension(ash::nv::compute_shader_derivatives::NAME), {
        opengl: OpenGl::Language(&["GL_NV_compute_shader_derivatives"]),
        asked_by: &[Ask::Case("quads of local ids in GLSL", |case| {
            case.entry_point.workgroups().derivative_group.is_some() && !case.variant.is_printed()
        })],
        spirv: Spirv::extension(&["SPV_NV_compute_shader_derivatives"]),
    }
    /// 8-bit integers in shader arithmetic.
    ShaderInt8 = "shaderInt8" in member!(PhysicalDeviceVulkan12Features.shader_int8, VULKAN_1_2), {
        opengl: OpenGl::Language(&["GL_EXT_shader_explicit_arithmetic_types_int8"]),
        asked_by: &[Ask::Scalar(Scalar::Int8), Ask::Scalar(Scalar::Uint8)],
        spirv: Spirv::capability(&[Capability::Int8]),
        amber: Some("Float16Int8Features.shaderInt8"),
        vkrunner: true,
    }
    /// 16-bit integers in shader arithmetic.
    ShaderInt16 = "shaderInt16" in member!(PhysicalDeviceFeatures2.features.shader_int16, VULKAN_1_1), {
        opengl: OpenGl::Language(&["GL_EXT_shader_explicit_arithmetic_types_int16"]),
        asked_by: &[Ask::Scalar(Scalar::Int16), Ask::Scalar(Scalar::Uint16)],
        spirv: Spirv::capability(&[Capability::Int16]),
        amber: Some("shaderInt16"),
        vkrunner: true,
    }
    /// 64-bit integers in shader arithmetic.
    ShaderInt64 = "shaderInt64" in member!(PhysicalDeviceFeatures2.features.shader_int64, VULKAN_1_1), {
        opengl: OpenGl::Language(&["GL_ARB_gpu_shader_int64"]),
        asked_by: &[Ask::Scalar(Scalar::Int64), Ask::Scalar(Scalar::Uint64)],
        spirv: Spirv::capability(&[Capability::Int64]),
        amber: Some("shaderInt64"),
        vkrunner: true,
    }
    /// 16-bit floats in shader arithmetic.
    ShaderFloat16 = "shaderFloat16" in member!(PhysicalDeviceVulkan12Features.shader_float16, VULKAN_1_2), {
        webgpu: Some(SHADER_F16),
        opengl: OpenGl::Language(&["GL_EXT_shader_explicit_arithmetic_types_float16"]),
        asked_by: &[Ask::Scalar(Scalar::Float16)],
        spirv: Spirv::capability(&[Capability::Float16]),
        amber: Some("Float16Int8Features.shaderFloat16"),
        vkrunner: true,
    }
    /// 64-bit floats in shader arithmetic.
    ShaderFloat64 = "shaderFloat64" in member!(PhysicalDeviceFeatures2.features.shader_float64, VULKAN_1_1), {
        opengl: OpenGl::Core,
        asked_by: &[Ask::Scalar(Scalar::Double)],
        spirv: Spirv::capability(&[Capability::Float64]),
        amber: Some("shaderFloat64"),
        vkrunner: true,
    }
    /// Subgroup operations on 8-, 16- and 64-bit integers and 16-bit floats.
    SubgroupExtendedTypes = "shaderSubgroupExtendedTypes"
        in member!(PhysicalDeviceVulkan12Features.shader_subgroup_extended_types, VULKAN_1_2), {
        webgpu: Some(SHADER_F16),
        opengl: OpenGl::Language(&[
            "GL_EXT_shader_subgroup_extended_types_int64",
            "GL_EXT_shader_subgroup_extended_types_int8",
            "GL_EXT_shader_subgroup_extended_types_int16",
            "GL_EXT_shader_subgroup_extended_types_float16",
        ]),
        asked_by: &[
            Ask::Operand(Scalar::Int8),
            Ask::Operand(Scalar::Uint8),
            Ask::Operand(Scalar::Int16),
            Ask::Operand(Scalar::Uint16),
            Ask::Operand(Scalar::Int64),
            Ask::Operand(Scalar::Uint64),
            Ask::Operand(Scalar::Float16),
        ],
        amber: Some("ShaderSubgroupExtendedTypesFeatures.shaderSubgroupExtendedTypes"),
    }
    /// 8-bit members of storage buffers.
    StorageBuffer8Bit = "storageBuffer8BitAccess"
        in member!(PhysicalDeviceVulkan12Features.storage_buffer8_bit_access, VULKAN_1_2), {
        asked_by: &[Ask::Case("arrays of 8-bit integers in a buffer", |case| has_buffer_array(case, 8))],
        spirv: Spirv::capability(&[Capability::StorageBuffer8BitAccess]).declaring("SPV_KHR_8bit_storage"),
    }
    /// 8-bit members of uniform buffers.
    UniformAndStorageBuffer8Bit = "uniformAndStorageBuffer8BitAccess"
        in member!(PhysicalDeviceVulkan12Features.uniform_and_storage_buffer8_bit_access, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::UniformAndStorageBuffer8BitAccess]),
    }
    /// 16-bit members of storage buffers.
    StorageBuffer16Bit = "storageBuffer16BitAccess"
        in member!(PhysicalDevice16BitStorageFeatures.storage_buffer16_bit_access, VULKAN_1_1), {
        asked_by: &[Ask::Case("arrays of 16-bit integers in a buffer", |case| has_buffer_array(case, 16))],
        spirv: Spirv::capability(&[Capability::StorageBuffer16BitAccess]),
    }
    /// 16-bit members of uniform buffers.
    UniformAndStorageBuffer16Bit = "uniformAndStorageBuffer16BitAccess"
        in member!(PhysicalDevice16BitStorageFeatures.uniform_and_storage_buffer16_bit_access, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::UniformAndStorageBuffer16BitAccess]),
    }
    /// 64-bit integer atomics on buffers. The capability does not distinguish them from those on shared memory, so both features are asked for
    /// by either; for a module alone, buffers are the common case.
    BufferInt64Atomics = "shaderBufferInt64Atomics"
        in member!(PhysicalDeviceVulkan12Features.shader_buffer_int64_atomics, VULKAN_1_2), {
        asked_by: &[Ask::Statement(INT64_ATOMICS, is_int64_atomic)],
        spirv: Spirv::capability(&[Capability::Int64Atomics]),
    }
    /// 64-bit integer atomics on shared memory.
    SharedInt64Atomics = "shaderSharedInt64Atomics"
        in member!(PhysicalDeviceVulkan12Features.shader_shared_int64_atomics, VULKAN_1_2), {
        asked_by: &[Ask::Statement(INT64_ATOMICS, is_int64_atomic)],
    }
    /// The Vulkan memory model.
    VulkanMemoryModel = "vulkanMemoryModel"
        in member!(PhysicalDeviceVulkan12Features.vulkan_memory_model, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::VulkanMemoryModel]),
    }
    /// Device scope in the Vulkan memory model.
    VulkanMemoryModelDeviceScope = "vulkanMemoryModelDeviceScope"
        in member!(PhysicalDeviceVulkan12Features.vulkan_memory_model_device_scope, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::VulkanMemoryModelDeviceScope]),
    }
    /// The `LocalSizeId` execution mode (VUID-RuntimeSpirv-LocalSizeId-06434). glslang says a specialised workgroup size by it from SPIR-V
    /// 1.6 on, and before that by a built-in, which needs nothing.
    Maintenance4 = "maintenance4"
        in member!(
            PhysicalDeviceMaintenance4Features.maintenance4,
            Origin::promoted(ash::khr::maintenance4::NAME, 3)
        ), {
        asked_by: &[Ask::EntryPoint("specialised workgroup sizes with SPIR-V 1.6", is_local_size_id)],
        spirv: Spirv::execution_mode(&[ExecutionMode::LocalSizeId]),
    }
    /// Remainders of negative numbers: `OpSRem` and `OpSMod` as SPIR-V defines them (rule N13). The structure is newer than ash 0.38.
    Maintenance8 = "maintenance8" in Vulkan::Member(Member {
        structure: 1_000_574_000,
        index: 0,
        origin: Origin::extension(c"VK_KHR_maintenance8"),
    }), {
        asked_by: &[Ask::Expression("remainders of negative numbers", |expr| {
            matches!(expr, Expr::Intrinsic(op, _) if op.is_signed_remainder())
        })],
    }
    /// The execution mode `SignedZeroInfNanPreserve` for 16 bits.
    SignedZeroInfNanPreserveFloat16 = "shaderSignedZeroInfNanPreserveFloat16" in Vulkan::FloatControl(2), {
        asked_by: &[Ask::EntryPoint("signed zeros, infinities and NaN of 16 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::SignedZeroInfNanPreserve, Scalar::Float16)
        })],
        requires: &[Feature::ShaderFloat16],
    }
    /// The execution mode `SignedZeroInfNanPreserve` for 32 bits.
    SignedZeroInfNanPreserveFloat32 = "shaderSignedZeroInfNanPreserveFloat32" in Vulkan::FloatControl(3), {
        asked_by: &[Ask::EntryPoint("signed zeros, infinities and NaN of 32 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::SignedZeroInfNanPreserve, Scalar::Float)
        })],
    }
    /// The execution mode `SignedZeroInfNanPreserve` for 64 bits.
    SignedZeroInfNanPreserveFloat64 = "shaderSignedZeroInfNanPreserveFloat64" in Vulkan::FloatControl(4), {
        asked_by: &[Ask::EntryPoint("signed zeros, infinities and NaN of 64 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::SignedZeroInfNanPreserve, Scalar::Double)
        })],
        requires: &[Feature::ShaderFloat64],
    }
    /// The execution mode `DenormPreserve` for 16 bits.
    DenormPreserveFloat16 = "shaderDenormPreserveFloat16" in Vulkan::FloatControl(5), {
        asked_by: &[Ask::EntryPoint("denormals of 16 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::DenormPreserve, Scalar::Float16)
        })],
        requires: &[Feature::ShaderFloat16],
    }
    /// The execution mode `DenormPreserve` for 32 bits.
    DenormPreserveFloat32 = "shaderDenormPreserveFloat32" in Vulkan::FloatControl(6), {
        asked_by: &[Ask::EntryPoint("denormals of 32 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::DenormPreserve, Scalar::Float)
        })],
    }
    /// The execution mode `DenormPreserve` for 64 bits.
    DenormPreserveFloat64 = "shaderDenormPreserveFloat64" in Vulkan::FloatControl(7), {
        asked_by: &[Ask::EntryPoint("denormals of 64 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::DenormPreserve, Scalar::Double)
        })],
        requires: &[Feature::ShaderFloat64],
    }
    /// The execution mode `RoundingModeRTE` for 16 bits.
    RoundingModeRTEFloat16 = "shaderRoundingModeRTEFloat16" in Vulkan::FloatControl(11), {
        asked_by: &[Ask::EntryPoint("rounding to nearest of 16 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTE, Scalar::Float16)
        })],
        requires: &[Feature::ShaderFloat16],
    }
    /// The execution mode `RoundingModeRTE` for 32 bits.
    RoundingModeRTEFloat32 = "shaderRoundingModeRTEFloat32" in Vulkan::FloatControl(12), {
        asked_by: &[Ask::EntryPoint("rounding to nearest of 32 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTE, Scalar::Float)
        })],
    }
    /// The execution mode `RoundingModeRTE` for 64 bits.
    RoundingModeRTEFloat64 = "shaderRoundingModeRTEFloat64" in Vulkan::FloatControl(13), {
        asked_by: &[Ask::EntryPoint("rounding to nearest of 64 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTE, Scalar::Double)
        })],
        requires: &[Feature::ShaderFloat64],
    }
    /// The execution mode `RoundingModeRTZ` for 16 bits.
    RoundingModeRTZFloat16 = "shaderRoundingModeRTZFloat16" in Vulkan::FloatControl(14), {
        asked_by: &[Ask::EntryPoint("rounding toward zero of 16 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTZ, Scalar::Float16)
        })],
        requires: &[Feature::ShaderFloat16],
    }
    /// The execution mode `RoundingModeRTZ` for 32 bits.
    RoundingModeRTZFloat32 = "shaderRoundingModeRTZFloat32" in Vulkan::FloatControl(15), {
        asked_by: &[Ask::EntryPoint("rounding toward zero of 32 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTZ, Scalar::Float)
        })],
    }
    /// The execution mode `RoundingModeRTZ` for 64 bits.
    RoundingModeRTZFloat64 = "shaderRoundingModeRTZFloat64" in Vulkan::FloatControl(16), {
        asked_by: &[Ask::EntryPoint("rounding toward zero of 64 bits", |entry_point| {
            entry_point.float_controls.has(FloatMode::RoundingModeRTZ, Scalar::Double)
        })],
        requires: &[Feature::ShaderFloat64],
    }
    /// `OpExpectKHR` and `OpAssumeTrueKHR`.
    ExpectAssume = "shaderExpectAssume"
        in member!(
            PhysicalDeviceShaderExpectAssumeFeaturesKHR.shader_expect_assume,
            Origin::extension(ash::khr::shader_expect_assume::NAME)
        ), {
        asked_by: &[
            Ask::Statement("assumptions", |_, stmt| matches!(stmt, Stmt::Assume(_))),
            Ask::Expression("expected values", |expr| matches!(expr, Expr::Intrinsic(Intrinsic::Expect, _))),
        ],
        spirv: Spirv::capability(&[Capability::ExpectAssumeKHR]).declaring("SPV_KHR_expect_assume"),
    }
    /// `OpUDot`, `OpSDot` and those that accumulate, of packed bytes.
    IntegerDotProduct = "shaderIntegerDotProduct"
        in member!(
            PhysicalDeviceShaderIntegerDotProductFeatures.shader_integer_dot_product,
            Origin::promoted(ash::khr::shader_integer_dot_product::NAME, 3)
        ), {
        asked_by: &[Ask::Expression("integer dot products", |expr| matches!(expr, Expr::Intrinsic(op, _) if op.is_dot()))],
        spirv: Spirv::capability(&[
            Capability::DotProduct,
            Capability::DotProductInput4x8BitPacked,
            Capability::DotProductInput4x8Bit,
            Capability::DotProductInputAll,
        ])
        .declaring("SPV_KHR_integer_dot_product"),
    }
    /// Run-time arrays of descriptors.
    RuntimeDescriptorArray = "runtimeDescriptorArray"
        in member!(PhysicalDeviceVulkan12Features.runtime_descriptor_array, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::RuntimeDescriptorArray]).declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of storage buffers with an index that is no constant.
    StorageBufferArrayDynamicIndexing = "shaderStorageBufferArrayDynamicIndexing"
        in member!(PhysicalDeviceFeatures2.features.shader_storage_buffer_array_dynamic_indexing, VULKAN_1_1), {
        asked_by: &[Ask::Resource(ResourceClass::StorageBuffer)],
        spirv: Spirv::capability(&[Capability::StorageBufferArrayDynamicIndexing]),
        amber: Some("shaderStorageBufferArrayDynamicIndexing"),
        vkrunner: true,
    }
    /// Arrays of storage buffers with an index that differs between invocations.
    StorageBufferArrayNonUniformIndexing = "shaderStorageBufferArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_storage_buffer_array_non_uniform_indexing, VULKAN_1_2), {
        asked_by: &[Ask::NonUniform(ResourceClass::StorageBuffer)],
        spirv: Spirv::capability(&[Capability::StorageBufferArrayNonUniformIndexing]).declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of uniform buffers with an index that is no constant.
    UniformBufferArrayDynamicIndexing = "shaderUniformBufferArrayDynamicIndexing"
        in member!(PhysicalDeviceFeatures2.features.shader_uniform_buffer_array_dynamic_indexing, VULKAN_1_1), {
        asked_by: &[Ask::Resource(ResourceClass::UniformBuffer)],
        spirv: Spirv::capability(&[Capability::UniformBufferArrayDynamicIndexing]),
        amber: Some("shaderUniformBufferArrayDynamicIndexing"),
        vkrunner: true,
    }
    /// Arrays of uniform buffers with an index that differs between invocations.
    UniformBufferArrayNonUniformIndexing = "shaderUniformBufferArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_uniform_buffer_array_non_uniform_indexing, VULKAN_1_2), {
        asked_by: &[Ask::NonUniform(ResourceClass::UniformBuffer)],
        spirv: Spirv::capability(&[Capability::UniformBufferArrayNonUniformIndexing]).declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of storage texel buffers with an index that is no constant.
    StorageTexelBufferArrayDynamicIndexing = "shaderStorageTexelBufferArrayDynamicIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_storage_texel_buffer_array_dynamic_indexing, VULKAN_1_2), {
        asked_by: &[Ask::Resource(ResourceClass::StorageTexelBuffer)],
        spirv: Spirv::capability(&[Capability::StorageTexelBufferArrayDynamicIndexing])
            .declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of storage texel buffers with an index that differs between invocations.
    StorageTexelBufferArrayNonUniformIndexing = "shaderStorageTexelBufferArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_storage_texel_buffer_array_non_uniform_indexing, VULKAN_1_2), {
        asked_by: &[Ask::NonUniform(ResourceClass::StorageTexelBuffer)],
        spirv: Spirv::capability(&[Capability::StorageTexelBufferArrayNonUniformIndexing]).declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of storage images with an index that is no constant.
    StorageImageArrayDynamicIndexing = "shaderStorageImageArrayDynamicIndexing"
        in member!(PhysicalDeviceFeatures2.features.shader_storage_image_array_dynamic_indexing, VULKAN_1_1), {
        asked_by: &[Ask::Resource(ResourceClass::StorageImage)],
        spirv: Spirv::capability(&[Capability::StorageImageArrayDynamicIndexing]),
        amber: Some("shaderStorageImageArrayDynamicIndexing"),
        vkrunner: true,
    }
    /// Arrays of storage images with an index that differs between invocations.
    StorageImageArrayNonUniformIndexing = "shaderStorageImageArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_storage_image_array_non_uniform_indexing, VULKAN_1_2), {
        asked_by: &[Ask::NonUniform(ResourceClass::StorageImage)],
        spirv: Spirv::capability(&[Capability::StorageImageArrayNonUniformIndexing]).declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Mesh shaders.
    MeshShader = "meshShader"
        in member!(PhysicalDeviceMeshShaderFeaturesEXT.mesh_shader, Origin::extension(ash::ext::mesh_shader::NAME)), {
        opengl: OpenGl::Language(&["GL_EXT_mesh_shader"]),
        asked_by: &[Ask::Stage(Stage::Mesh), Ask::Stage(Stage::Task)],
        spirv: Spirv::capability(&[Capability::MeshShadingEXT]).declaring("SPV_EXT_mesh_shader"),
    }
    /// Task shaders.
    TaskShader = "taskShader"
        in member!(PhysicalDeviceMeshShaderFeaturesEXT.task_shader, Origin::extension(ash::ext::mesh_shader::NAME)), {
        opengl: OpenGl::Language(&["GL_EXT_mesh_shader"]),
        asked_by: &[
            Ask::Stage(Stage::Task),
            Ask::EntryPoint("mesh workgroups that a task shader emits", |entry_point| entry_point.workgroups().by_task),
        ],
    }
    /// Subgroups in task shaders.
    SubgroupsInTask = "VK_SHADER_STAGE_TASK_BIT_EXT" in Vulkan::Stage(Stage::Task), {
        opengl: OpenGl::Stage(Stage::Task),
        asked_by: &[Ask::Stage(Stage::Task)],
    }
    /// Subgroups in mesh shaders.
    SubgroupsInMesh = "VK_SHADER_STAGE_MESH_BIT_EXT" in Vulkan::Stage(Stage::Mesh), {
        opengl: OpenGl::Stage(Stage::Mesh),
        asked_by: &[Ask::Stage(Stage::Mesh)],
    }
    /// Subgroups in fragment shaders.
    SubgroupsInFragment = "VK_SHADER_STAGE_FRAGMENT_BIT" in Vulkan::Stage(Stage::Fragment), {
        opengl: OpenGl::Stage(Stage::Fragment),
        asked_by: &[Ask::Stage(Stage::Fragment)],
        amber: Some("SubgroupSupportedStages.fragment"),
    }
    /// Stores of fragment shaders.
    FragmentStoresAndAtomics = "fragmentStoresAndAtomics"
        in member!(PhysicalDeviceFeatures2.features.fragment_stores_and_atomics, VULKAN_1_1), {
        opengl: OpenGl::Limits(FRAGMENT_BLOCKS, "storage blocks of fragment and vertex shaders"),
        asked_by: &[Ask::Stage(Stage::Fragment)],
        amber: Some("fragmentStoresAndAtomics"),
    }
    /// Subgroups in vertex shaders.
    SubgroupsInVertex = "VK_SHADER_STAGE_VERTEX_BIT" in Vulkan::Stage(Stage::Vertex), {
        opengl: OpenGl::Stage(Stage::Vertex),
        asked_by: &[Ask::Stage(Stage::Vertex)],
        amber: Some("SubgroupSupportedStages.vertex"),
    }
    /// Subgroups in tessellation control shaders.
    SubgroupsInTessellationControl = "VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT"
        in Vulkan::Stage(Stage::TessellationControl), {
        opengl: OpenGl::Stage(Stage::TessellationControl),
        asked_by: &[Ask::Stage(Stage::TessellationControl)],
        amber: Some("SubgroupSupportedStages.tessellationControl"),
    }
    /// Subgroups in tessellation evaluation shaders.
    SubgroupsInTessellationEvaluation = "VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT"
        in Vulkan::Stage(Stage::TessellationEvaluation), {
        opengl: OpenGl::Stage(Stage::TessellationEvaluation),
        asked_by: &[Ask::Stage(Stage::TessellationEvaluation)],
        amber: Some("SubgroupSupportedStages.tessellationEvaluation"),
    }
    /// Tessellation shaders.
    TessellationShader = "tessellationShader"
        in member!(PhysicalDeviceFeatures2.features.tessellation_shader, VULKAN_1_1), {
        opengl: OpenGl::Core,
        asked_by: &[Ask::Stage(Stage::TessellationControl), Ask::Stage(Stage::TessellationEvaluation)],
        spirv: Spirv::capability(&[Capability::Tessellation]),
        amber: Some("tessellationShader"),
    }
    /// Subgroups in geometry shaders.
    SubgroupsInGeometry = "VK_SHADER_STAGE_GEOMETRY_BIT" in Vulkan::Stage(Stage::Geometry), {
        opengl: OpenGl::Stage(Stage::Geometry),
        asked_by: &[Ask::Stage(Stage::Geometry)],
        amber: Some("SubgroupSupportedStages.geometry"),
    }
    /// Geometry shaders.
    GeometryShader = "geometryShader"
        in member!(PhysicalDeviceFeatures2.features.geometry_shader, VULKAN_1_1), {
        opengl: OpenGl::Core,
        // Fragment shaders that read `gl_Layer` declare the capability of geometry shaders.
        asked_by: &[Ask::Stage(Stage::Geometry), LAYERS],
        spirv: Spirv::capability(&[Capability::Geometry]),
        amber: Some("geometryShader"),
    }
    /// Vertex shaders that choose the layer.
    ShaderOutputLayer = "shaderOutputLayer"
        in member!(PhysicalDeviceVulkan12Features.shader_output_layer, VULKAN_1_2), {
        opengl: OpenGl::Language(&["GL_ARB_shader_viewport_layer_array"]),
        asked_by: &[LAYERS],
        spirv: Spirv::capability(&[Capability::ShaderLayer]),
    }
    /// Fragment shaders that are executed for each sample.
    SampleRateShading = "sampleRateShading"
        in member!(PhysicalDeviceFeatures2.features.sample_rate_shading, VULKAN_1_1), {
        opengl: OpenGl::Core,
        asked_by: &[Ask::EntryPoint("several samples", |entry_point| {
            entry_point.draw().is_some_and(|draw| draw.samples > 1)
        })],
        spirv: Spirv::capability(&[Capability::SampleRateShading]),
        amber: Some("sampleRateShading"),
        vkrunner: true,
    }
    /// Stores and atomics of the stages before rasterisation.
    VertexPipelineStoresAndAtomics = "vertexPipelineStoresAndAtomics"
        in member!(PhysicalDeviceFeatures2.features.vertex_pipeline_stores_and_atomics, VULKAN_1_1), {
        opengl: OpenGl::Limits(VERTEX_BLOCKS, "storage blocks of the stages before rasterisation"),
        asked_by: &[
            Ask::Stage(Stage::Vertex),
            Ask::Stage(Stage::TessellationControl),
            Ask::Stage(Stage::TessellationEvaluation),
            Ask::Stage(Stage::Geometry),
        ],
        amber: Some("vertexPipelineStoresAndAtomics"),
    }
    /// `demote` and `helperInvocationEXT()`.
    DemoteToHelperInvocation = "shaderDemoteToHelperInvocation"
        in member!(
            PhysicalDeviceShaderDemoteToHelperInvocationFeatures.shader_demote_to_helper_invocation,
            Origin::promoted(ash::ext::shader_demote_to_helper_invocation::NAME, 3)
        ), {
        opengl: OpenGl::Language(&["GL_EXT_demote_to_helper_invocation"]),
        asked_by: &[
            Ask::Statement("demoted fragments", |_, stmt| matches!(stmt, Stmt::Discard(Discard::Demote))),
            Ask::Expression("questions for helper invocations", |expr| *expr == Expr::Builtin(Builtin::Helper)),
        ],
        spirv: Spirv::capability(&[Capability::DemoteToHelperInvocation]),
    }
    /// `terminateInvocation`.
    TerminateInvocation = "shaderTerminateInvocation"
        in member!(
            PhysicalDeviceShaderTerminateInvocationFeatures.shader_terminate_invocation,
            Origin::promoted(ash::khr::shader_terminate_invocation::NAME, 3)
        ), {
        asked_by: &[Ask::Statement("terminated fragments", |_, stmt| {
            matches!(stmt, Stmt::Discard(Discard::Terminate))
        })],
        spirv: Spirv::extension(&["SPV_KHR_terminate_invocation"]),
    }
    /// Storage images of other formats than those of every device.
    StorageImageExtendedFormats = "shaderStorageImageExtendedFormats"
        in member!(PhysicalDeviceFeatures2.features.shader_storage_image_extended_formats, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::StorageImageExtendedFormats]),
        vkrunner: true,
    }
    /// Loads from storage images whose type names no format.
    StorageImageReadWithoutFormat = "shaderStorageImageReadWithoutFormat"
        in member!(PhysicalDeviceFeatures2.features.shader_storage_image_read_without_format, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::StorageImageReadWithoutFormat]),
        vkrunner: true,
    }
    /// Stores to storage images whose type names no format.
    StorageImageWriteWithoutFormat = "shaderStorageImageWriteWithoutFormat"
        in member!(PhysicalDeviceFeatures2.features.shader_storage_image_write_without_format, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::StorageImageWriteWithoutFormat]),
        vkrunner: true,
    }
    /// 64-bit integer atomics on images, and images of 64-bit integers.
    ImageInt64Atomics = "shaderImageInt64Atomics"
        in member!(
            PhysicalDeviceShaderImageAtomicInt64FeaturesEXT.shader_image_int64_atomics,
            Origin::extension(ash::ext::shader_image_atomic_int64::NAME)
        ), {
        spirv: Spirv::capability(&[Capability::Int64ImageEXT]).declaring("SPV_EXT_shader_image_int64"),
    }
    /// Arrays of cube maps.
    ImageCubeArray = "imageCubeArray"
        in member!(PhysicalDeviceFeatures2.features.image_cube_array, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::SampledCubeArray, Capability::ImageCubeArray]),
        vkrunner: true,
    }
    /// Gathers with offsets that are no constants.
    ImageGatherExtended = "shaderImageGatherExtended"
        in member!(PhysicalDeviceFeatures2.features.shader_image_gather_extended, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::ImageGatherExtended]),
        vkrunner: true,
    }
    /// The least level of detail as an operand.
    ResourceMinLod = "shaderResourceMinLod"
        in member!(PhysicalDeviceFeatures2.features.shader_resource_min_lod, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::MinLod]),
        vkrunner: true,
    }
    /// Arrays of sampled images with an index that is no constant.
    SampledImageArrayDynamicIndexing = "shaderSampledImageArrayDynamicIndexing"
        in member!(PhysicalDeviceFeatures2.features.shader_sampled_image_array_dynamic_indexing, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::SampledImageArrayDynamicIndexing]),
        vkrunner: true,
    }
    /// Arrays of sampled images with an index that differs between invocations.
    SampledImageArrayNonUniformIndexing = "shaderSampledImageArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_sampled_image_array_non_uniform_indexing, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::SampledImageArrayNonUniformIndexing])
            .declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of uniform texel buffers with an index that is no constant.
    UniformTexelBufferArrayDynamicIndexing = "shaderUniformTexelBufferArrayDynamicIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_uniform_texel_buffer_array_dynamic_indexing, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::UniformTexelBufferArrayDynamicIndexing])
            .declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Arrays of uniform texel buffers with an index that differs between invocations.
    UniformTexelBufferArrayNonUniformIndexing = "shaderUniformTexelBufferArrayNonUniformIndexing"
        in member!(PhysicalDeviceVulkan12Features.shader_uniform_texel_buffer_array_non_uniform_indexing, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::UniformTexelBufferArrayNonUniformIndexing])
            .declaring("SPV_EXT_descriptor_indexing"),
    }
    /// Buffers at device addresses.
    BufferDeviceAddress = "bufferDeviceAddress"
        in member!(PhysicalDeviceVulkan12Features.buffer_device_address, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::PhysicalStorageBufferAddresses])
            .declaring("SPV_KHR_physical_storage_buffer"),
    }
    /// Layouts that align by scalars alone. No capability says it.
    ScalarBlockLayout = "scalarBlockLayout"
        in member!(PhysicalDeviceVulkan12Features.scalar_block_layout, VULKAN_1_2), {}
    /// Pointers into a storage buffer as variables.
    VariablePointersStorageBuffer = "variablePointersStorageBuffer"
        in member!(PhysicalDeviceVariablePointersFeatures.variable_pointers_storage_buffer, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::VariablePointersStorageBuffer]),
        amber: Some("VariablePointerFeatures.variablePointersStorageBuffer"),
    }
    /// Pointers into storage buffers and shared memory as variables.
    VariablePointers = "variablePointers"
        in member!(PhysicalDeviceVariablePointersFeatures.variable_pointers, VULKAN_1_1), {
        requires: &[Feature::VariablePointersStorageBuffer],
        spirv: Spirv::capability(&[Capability::VariablePointers]),
        amber: Some("VariablePointerFeatures.variablePointers"),
    }
    /// 8-bit push constants.
    StoragePushConstant8 = "storagePushConstant8"
        in member!(PhysicalDeviceVulkan12Features.storage_push_constant8, VULKAN_1_2), {
        spirv: Spirv::capability(&[Capability::StoragePushConstant8]),
    }
    /// 16-bit push constants.
    StoragePushConstant16 = "storagePushConstant16"
        in member!(PhysicalDevice16BitStorageFeatures.storage_push_constant16, VULKAN_1_1), {
        spirv: Spirv::capability(&[Capability::StoragePushConstant16]),
    }
    /// Sums of 32-bit floats by atomics on buffers. As with [`Feature::BufferInt64Atomics`], the capability is that of shared memory, too.
    BufferFloat32AtomicAdd = "shaderBufferFloat32AtomicAdd"
        in member!(PhysicalDeviceShaderAtomicFloatFeaturesEXT.shader_buffer_float32_atomic_add, ATOMIC_FLOAT), {
        spirv: Spirv::capability(&[Capability::AtomicFloat32AddEXT]).declaring("SPV_EXT_shader_atomic_float_add"),
    }
    /// Sums of 32-bit floats by atomics on shared memory.
    SharedFloat32AtomicAdd = "shaderSharedFloat32AtomicAdd"
        in member!(PhysicalDeviceShaderAtomicFloatFeaturesEXT.shader_shared_float32_atomic_add, ATOMIC_FLOAT), {
        spirv: Spirv::capability(&[Capability::AtomicFloat32AddEXT]).declaring("SPV_EXT_shader_atomic_float_add"),
    }
    /// Statistics and internal representations of compiled pipelines.
    PipelineExecutableInfo = "pipelineExecutableInfo"
        in member!(
            PhysicalDevicePipelineExecutablePropertiesFeaturesKHR.pipeline_executable_info,
            Origin::extension(ash::khr::pipeline_executable_properties::NAME)
        ), {}
}

/// A framebuffer with layers.
const LAYERS: Ask =
    Ask::EntryPoint("several layers", |entry_point| entry_point.draw().is_some_and(|draw| draw.layers > 1));

const INT64_ATOMICS: &str = "atomics on 64-bit integers";

/// An array of integers of a size lies in a buffer.
fn has_buffer_array(case: &Case, bits: u32) -> bool {
    case.program.shared.iter().any(|array| !array.storage.is_workgroup() && array.scalar.size() == bits)
}

fn is_int64_atomic(program: &Program, stmt: &Stmt) -> bool {
    let Stmt::Atomic(atomic) = stmt else { return false };
    program.shared.get(atomic.array as usize).is_some_and(|array| array.scalar.size() == 64)
}

fn is_dynamic_broadcast(expr: &Expr) -> bool {
    let Expr::Subgroup(call) = expr else { return false };
    let mut operands = call.op.info().params.iter().zip(&call.args);
    operands.any(|(param, arg)| *param == Param::BroadcastLane && !matches!(arg, Expr::Uint(_) | Expr::Constant(_)))
}

fn has_quads(entry_point: &EntryPoint, group: DerivativeGroup) -> bool {
    entry_point.workgroups().derivative_group == Some(group)
}

fn is_local_size_id(entry_point: &EntryPoint) -> bool {
    entry_point.workgroups().default_size.is_some() && entry_point.spirv >= SpirvVersion::V1_6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_features() {
        assert!(Feature::ALL.len() <= 128);
        for (index, &feature) in Feature::ALL.iter().enumerate() {
            assert_eq!(feature as usize, index);
            assert_eq!(feature.row().feature, feature);
            assert_eq!(feature.name().parse(), Ok(feature));
        }
    }

    #[test]
    fn properties_of_float_controls_are_where_ash_has_them() {
        type Properties = vk::PhysicalDeviceFloatControlsProperties<'static>;
        for (feature, offset) in [
            (
                Feature::SignedZeroInfNanPreserveFloat16,
                offset_of!(Properties, shader_signed_zero_inf_nan_preserve_float16),
            ),
            (
                Feature::SignedZeroInfNanPreserveFloat64,
                offset_of!(Properties, shader_signed_zero_inf_nan_preserve_float64),
            ),
            (Feature::DenormPreserveFloat16, offset_of!(Properties, shader_denorm_preserve_float16)),
            (Feature::DenormPreserveFloat64, offset_of!(Properties, shader_denorm_preserve_float64)),
            (Feature::RoundingModeRTEFloat16, offset_of!(Properties, shader_rounding_mode_rte_float16)),
            (Feature::RoundingModeRTEFloat32, offset_of!(Properties, shader_rounding_mode_rte_float32)),
            (Feature::RoundingModeRTZFloat16, offset_of!(Properties, shader_rounding_mode_rtz_float16)),
            (Feature::RoundingModeRTZFloat64, offset_of!(Properties, shader_rounding_mode_rtz_float64)),
        ] {
            let Vulkan::FloatControl(index) = feature.row().vulkan else { panic!("{feature} is a property") };
            assert_eq!(index, (offset - HEAD) / size_of::<vk::Bool32>(), "{feature}");
        }
    }

    /// Members by their numbers in the Vulkan registry, counted there by hand.
    #[test]
    fn members_have_the_numbers_of_the_registry() {
        for (feature, structure, index) in [
            (Feature::ShaderFloat64, 1_000_059_000, 39),
            (Feature::ShaderInt16, 1_000_059_000, 41),
            (Feature::StorageBuffer8Bit, 51, 2),
            (Feature::SharedInt64Atomics, 51, 6),
            (Feature::SubgroupExtendedTypes, 51, 34),
            (Feature::SubgroupBroadcastDynamicId, 51, 46),
            (Feature::MaximalReconvergence, 1_000_434_000, 0),
            (Feature::SubgroupRotateClustered, 1_000_416_000, 1),
            (Feature::ComputeFullSubgroups, 1_000_225_002, 1),
        ] {
            let Vulkan::Member(member) = feature.row().vulkan else { panic!("{feature} is a member") };
            assert_eq!((member.structure, member.index), (structure, index), "{feature}");
        }
    }
}
