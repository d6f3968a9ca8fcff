//! The feature structures of Vulkan that tangle uses: one place that pairs each [`Feature`] with its member.
//!
//! Vulkan 1.2's own features are used from `VkPhysicalDeviceVulkan12Features` (the only one with
//! `subgroupBroadcastDynamicId`), so a Vulkan 1.1 device offers none of them, even where it has the older extension.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;

use ash::vk;

use crate::feature::{Feature, FeatureSet};

/// `VkPhysicalDeviceShaderSubgroupPartitionedFeaturesEXT`, which is newer than ash 0.38. Number and form: Vulkan
/// registry, `VK_EXT_shader_subgroup_partitioned`.
#[repr(C)]
struct PartitionedFeatures<'a> {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    shader_subgroup_partitioned: vk::Bool32,
    chain: PhantomData<&'a ()>,
}

impl Default for PartitionedFeatures<'_> {
    fn default() -> Self {
        PartitionedFeatures {
            s_type: vk::StructureType::from_raw(1_000_662_000),
            p_next: std::ptr::null_mut(),
            shader_subgroup_partitioned: vk::FALSE,
            chain: PhantomData,
        }
    }
}

// SAFETY: the structure begins with the type and the chain pointer, and the registry says that it extends
// VkPhysicalDeviceFeatures2.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for PartitionedFeatures<'_> {}

/// Name of the extension of [`PartitionedFeatures`].
const PARTITIONED_EXT: &CStr = c"VK_EXT_shader_subgroup_partitioned";

/// What a device can be asked about: its version and its extensions.
pub(super) struct Available {
    version: u32,
    extensions: HashSet<CString>,
}

impl Available {
    /// `version` is the one that may be used, `extensions` all that the device lists.
    pub(super) fn new(version: u32, extensions: &[vk::ExtensionProperties]) -> Available {
        let names = extensions.iter().filter_map(|extension| extension.extension_name_as_c_str().ok());
        Available { version, extensions: names.map(CStr::to_owned).collect() }
    }

    pub(super) fn has(&self, extension: &CStr) -> bool {
        self.extensions.contains(extension)
    }

    pub(super) fn is_at_least(&self, version: u32) -> bool {
        self.version >= version
    }

    /// Subgroup size control came with Vulkan 1.3 or as an extension.
    pub(super) fn has_size_control(&self) -> bool {
        self.is_at_least(vk::API_VERSION_1_3) || self.has(ash::ext::subgroup_size_control::NAME)
    }

    /// SPIR-V 1.4 as an extension of Vulkan 1.1; it needs float controls beside it.
    pub(super) fn has_spirv_1_4(&self) -> bool {
        self.has(ash::khr::spirv_1_4::NAME) && self.has(ash::khr::shader_float_controls::NAME)
    }

    /// The extensions to enable with the features of `wanted`.
    pub(super) fn extensions_for(&self, wanted: FeatureSet) -> Vec<&'static CStr> {
        let needs: [(&'static CStr, bool); 10] = [
            // Quad control depends on it.
            (
                ash::khr::shader_maximal_reconvergence::NAME,
                wanted.contains(Feature::MaximalReconvergence) || wanted.contains(Feature::QuadControl),
            ),
            (
                ash::khr::shader_subgroup_uniform_control_flow::NAME,
                wanted.contains(Feature::SubgroupUniformControlFlow),
            ),
            (ash::khr::shader_subgroup_rotate::NAME, wanted.contains(Feature::SubgroupRotate)),
            (ash::khr::shader_quad_control::NAME, wanted.contains(Feature::QuadControl)),
            (ash::khr::shader_expect_assume::NAME, wanted.contains(Feature::ExpectAssume)),
            (ash::khr::pipeline_executable_properties::NAME, wanted.contains(Feature::PipelineExecutableInfo)),
            (ash::nv::shader_subgroup_partitioned::NAME, wanted.contains(Feature::PartitionedNv)),
            (PARTITIONED_EXT, wanted.contains(Feature::PartitionedExt)),
            (ash::ext::subgroup_size_control::NAME, !self.is_at_least(vk::API_VERSION_1_3) && self.has_size_control()),
            (ash::khr::spirv_1_4::NAME, !self.is_at_least(vk::API_VERSION_1_2) && self.has_spirv_1_4()),
        ];
        let mut names: Vec<&'static CStr> = needs.iter().filter(|(_, needed)| *needed).map(|(name, _)| *name).collect();
        if names.contains(&ash::khr::spirv_1_4::NAME) {
            names.push(ash::khr::shader_float_controls::NAME);
        }
        names
    }
}

/// Every feature structure that tangle knows.
#[derive(Default)]
pub(super) struct Chain {
    core: vk::PhysicalDeviceFeatures,
    storage_16: vk::PhysicalDevice16BitStorageFeatures<'static>,
    vulkan_1_2: vk::PhysicalDeviceVulkan12Features<'static>,
    size_control: vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>,
    maximal: vk::PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR<'static>,
    uniform: vk::PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR<'static>,
    rotate: vk::PhysicalDeviceShaderSubgroupRotateFeaturesKHR<'static>,
    quad_control: vk::PhysicalDeviceShaderQuadControlFeaturesKHR<'static>,
    expect_assume: vk::PhysicalDeviceShaderExpectAssumeFeaturesKHR<'static>,
    maintenance4: vk::PhysicalDeviceMaintenance4Features<'static>,
    executable: vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'static>,
    partitioned: PartitionedFeatures<'static>,
}

impl Chain {
    /// Asks a device what it has.
    pub(super) fn query(instance: &ash::Instance, device: vk::PhysicalDevice, available: &Available) -> FeatureSet {
        let mut chain = Chain::default();
        let mut features = chain.link(available);
        // SAFETY: the chain holds only structures of versions and extensions that the device has, all alive.
        unsafe { instance.get_physical_device_features2(device, &mut features) };
        chain.core = features.features;
        let mut set = FeatureSet::EMPTY;
        chain.each(|feature, member| {
            if *member != vk::FALSE {
                set.insert(feature);
            }
        });
        set
    }

    /// The structures with just these features switched on.
    pub(super) fn wanting(set: FeatureSet) -> Chain {
        let mut chain = Chain::default();
        chain.each(|feature, member| *member = set.contains(feature).into());
        chain
    }

    /// Chains up the structures that a device knows.
    pub(super) fn link(&mut self, available: &Available) -> vk::PhysicalDeviceFeatures2<'_> {
        let mut features = vk::PhysicalDeviceFeatures2::default().features(self.core).push_next(&mut self.storage_16);
        if available.is_at_least(vk::API_VERSION_1_2) {
            features = features.push_next(&mut self.vulkan_1_2);
        }
        if available.has_size_control() {
            features = features.push_next(&mut self.size_control);
        }
        if available.has(ash::khr::shader_maximal_reconvergence::NAME) {
            features = features.push_next(&mut self.maximal);
        }
        if available.has(ash::khr::shader_subgroup_uniform_control_flow::NAME) {
            features = features.push_next(&mut self.uniform);
        }
        if available.has(ash::khr::shader_subgroup_rotate::NAME) {
            features = features.push_next(&mut self.rotate);
        }
        if available.has(ash::khr::shader_quad_control::NAME) {
            features = features.push_next(&mut self.quad_control);
        }
        if available.has(ash::khr::shader_expect_assume::NAME) {
            features = features.push_next(&mut self.expect_assume);
        }
        if available.is_at_least(vk::API_VERSION_1_3) {
            features = features.push_next(&mut self.maintenance4);
        }
        if available.has(ash::khr::pipeline_executable_properties::NAME) {
            features = features.push_next(&mut self.executable);
        }
        if available.has(PARTITIONED_EXT) {
            features = features.push_next(&mut self.partitioned);
        }
        features
    }

    /// Visits the member of every feature that has one.
    fn each(&mut self, mut visit: impl FnMut(Feature, &mut vk::Bool32)) {
        visit(Feature::ShaderInt16, &mut self.core.shader_int16);
        visit(Feature::ShaderInt64, &mut self.core.shader_int64);
        visit(Feature::ShaderFloat64, &mut self.core.shader_float64);
        visit(Feature::StorageBuffer16Bit, &mut self.storage_16.storage_buffer16_bit_access);
        let uniform_16 = &mut self.storage_16.uniform_and_storage_buffer16_bit_access;
        visit(Feature::UniformAndStorageBuffer16Bit, uniform_16);
        let core = &mut self.vulkan_1_2;
        visit(Feature::StorageBuffer8Bit, &mut core.storage_buffer8_bit_access);
        visit(Feature::UniformAndStorageBuffer8Bit, &mut core.uniform_and_storage_buffer8_bit_access);
        visit(Feature::BufferInt64Atomics, &mut core.shader_buffer_int64_atomics);
        visit(Feature::SharedInt64Atomics, &mut core.shader_shared_int64_atomics);
        visit(Feature::ShaderFloat16, &mut core.shader_float16);
        visit(Feature::ShaderInt8, &mut core.shader_int8);
        visit(Feature::SubgroupExtendedTypes, &mut core.shader_subgroup_extended_types);
        visit(Feature::VulkanMemoryModel, &mut core.vulkan_memory_model);
        visit(Feature::VulkanMemoryModelDeviceScope, &mut core.vulkan_memory_model_device_scope);
        visit(Feature::SubgroupBroadcastDynamicId, &mut core.subgroup_broadcast_dynamic_id);
        visit(Feature::SubgroupSizeControl, &mut self.size_control.subgroup_size_control);
        visit(Feature::ComputeFullSubgroups, &mut self.size_control.compute_full_subgroups);
        visit(Feature::MaximalReconvergence, &mut self.maximal.shader_maximal_reconvergence);
        visit(Feature::SubgroupUniformControlFlow, &mut self.uniform.shader_subgroup_uniform_control_flow);
        visit(Feature::SubgroupRotate, &mut self.rotate.shader_subgroup_rotate);
        visit(Feature::SubgroupRotateClustered, &mut self.rotate.shader_subgroup_rotate_clustered);
        visit(Feature::QuadControl, &mut self.quad_control.shader_quad_control);
        visit(Feature::ExpectAssume, &mut self.expect_assume.shader_expect_assume);
        visit(Feature::Maintenance4, &mut self.maintenance4.maintenance4);
        visit(Feature::PipelineExecutableInfo, &mut self.executable.pipeline_executable_info);
        visit(Feature::PartitionedExt, &mut self.partitioned.shader_subgroup_partitioned);
    }
}
