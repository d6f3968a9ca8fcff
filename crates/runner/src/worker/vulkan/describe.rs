//! Physical device → [`DeviceInfo`].

use std::ffi::CStr;

use ash::vk;

use super::failure::{Failure, InCall};
use super::features::{Available, query};
use super::instance::{Instance, unpack};
use crate::check::spirv_of_vulkan;
use crate::info::{DeviceInfo, DeviceType, DriverMode, Limits, SubgroupInfo, Uuid, WorkgroupLimits};
use tangle_features::{Feature, FeatureSet};
use tangle_program::case::SpirvVersion;

/// Names of `VkShaderStageFlagBits`, lower case.
const STAGES: [(vk::ShaderStageFlags, &str); 14] = [
    (vk::ShaderStageFlags::VERTEX, "vertex"),
    (vk::ShaderStageFlags::TESSELLATION_CONTROL, "tessellation_control"),
    (vk::ShaderStageFlags::TESSELLATION_EVALUATION, "tessellation_evaluation"),
    (vk::ShaderStageFlags::GEOMETRY, "geometry"),
    (vk::ShaderStageFlags::FRAGMENT, "fragment"),
    (vk::ShaderStageFlags::COMPUTE, "compute"),
    (vk::ShaderStageFlags::TASK_EXT, "task"),
    (vk::ShaderStageFlags::MESH_EXT, "mesh"),
    (vk::ShaderStageFlags::RAYGEN_KHR, "raygen"),
    (vk::ShaderStageFlags::ANY_HIT_KHR, "any_hit"),
    (vk::ShaderStageFlags::CLOSEST_HIT_KHR, "closest_hit"),
    (vk::ShaderStageFlags::MISS_KHR, "miss"),
    (vk::ShaderStageFlags::INTERSECTION_KHR, "intersection"),
    (vk::ShaderStageFlags::CALLABLE_KHR, "callable"),
];

/// Names of `VkSubgroupFeatureFlagBits`, lower case.
pub(in crate::worker) const OPERATIONS: [(u32, &str); 11] = [
    (0x001, "basic"),
    (0x002, "vote"),
    (0x004, "arithmetic"),
    (0x008, "ballot"),
    (0x010, "shuffle"),
    (0x020, "shuffle_relative"),
    (0x040, "clustered"),
    (0x080, "quad"),
    (0x100, "partitioned"),
    (0x200, "rotate"),
    (0x400, "rotate_clustered"),
];

/// The property structures that are asked for together.
#[derive(Default)]
struct Properties {
    core: vk::PhysicalDeviceProperties,
    subgroup: vk::PhysicalDeviceSubgroupProperties<'static>,
    id: vk::PhysicalDeviceIDProperties<'static>,
    maintenance_3: vk::PhysicalDeviceMaintenance3Properties<'static>,
    driver: vk::PhysicalDeviceDriverProperties<'static>,
    size_control: vk::PhysicalDeviceSubgroupSizeControlProperties<'static>,
    mesh_shader: vk::PhysicalDeviceMeshShaderPropertiesEXT<'static>,
}

impl Properties {
    fn query(instance: &ash::Instance, device: vk::PhysicalDevice, available: &Available) -> Properties {
        let mut all = Properties::default();
        let mut chain = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut all.subgroup)
            .push_next(&mut all.id)
            .push_next(&mut all.maintenance_3);
        if available.is_at_least(vk::API_VERSION_1_2) || available.has(ash::khr::driver_properties::NAME) {
            chain = chain.push_next(&mut all.driver);
        }
        if available.has_size_control() {
            chain = chain.push_next(&mut all.size_control);
        }
        if available.has(ash::ext::mesh_shader::NAME) {
            chain = chain.push_next(&mut all.mesh_shader);
        }
        // SAFETY: the chain holds only structures of versions and extensions that the device has, all alive.
        unsafe { instance.get_physical_device_properties2(device, &mut chain) };
        all.core = chain.properties;
        all
    }
}

/// What a physical device can be asked about.
pub(super) fn available(instance: &Instance, device: vk::PhysicalDevice) -> Result<Available, Failure> {
    // SAFETY: the device was enumerated from this instance.
    let core = unsafe { instance.handle.get_physical_device_properties(device) };
    // SAFETY: as above.
    let extensions = unsafe { instance.handle.enumerate_device_extension_properties(device) }
        .in_call("vkEnumerateDeviceExtensionProperties")?;
    Ok(Available::new(instance.usable_version(core.api_version), &extensions))
}

/// Everything about every physical device.
pub(super) fn describe_devices(
    instance: &Instance,
    driver: &str,
    mode: DriverMode,
) -> Result<Vec<DeviceInfo>, Failure> {
    let count = instance.physical_devices.len();
    let named = |(index, &physical): (usize, &vk::PhysicalDevice)| {
        let mut info = describe(instance, physical)?;
        info.driver = driver.to_owned();
        info.index = index as u32;
        info.name = if count == 1 { driver.to_owned() } else { format!("{driver}#{index}") };
        info.mode = mode;
        Ok(info)
    };
    instance.physical_devices.iter().enumerate().map(named).collect()
}

/// Everything about a physical device but its names, which its driver's entry gives.
fn describe(instance: &Instance, device: vk::PhysicalDevice) -> Result<DeviceInfo, Failure> {
    let available = available(instance, device)?;
    if !available.is_at_least(vk::API_VERSION_1_1) {
        // Vulkan 1.0 cannot be asked about subgroups: it has none.
        return Ok(describe_vulkan_1_0(instance, device));
    }
    let properties = Properties::query(&instance.handle, device, &available);
    let features = query(&instance.handle, device, &available, &properties.subgroup);
    let mut info = from_core(&properties.core);
    info.driver_name = text(properties.driver.driver_name_as_c_str());
    info.driver_info = text(properties.driver.driver_info_as_c_str());
    if !info.driver_name.is_empty() {
        let vk::ConformanceVersion { major, minor, subminor, patch } = properties.driver.conformance_version;
        info.conformance_version = format!("{major}.{minor}.{subminor}.{patch}");
    }
    info.device_uuid = Uuid(properties.id.device_uuid);
    info.driver_uuid = Uuid(properties.id.driver_uuid);
    info.max_spirv = max_spirv(&available, &info, instance);
    info.subgroup = subgroup_info(&properties, features);
    let mesh = &properties.mesh_shader;
    info.limits.task = WorkgroupLimits {
        max_size: mesh.max_task_work_group_size,
        max_invocations: mesh.max_task_work_group_invocations,
        max_count: mesh.max_task_work_group_count,
        max_total_count: mesh.max_task_work_group_total_count,
        max_shared_memory: mesh.max_task_shared_memory_size,
    };
    info.limits.mesh = WorkgroupLimits {
        max_size: mesh.max_mesh_work_group_size,
        max_invocations: mesh.max_mesh_work_group_invocations,
        max_count: mesh.max_mesh_work_group_count,
        max_total_count: mesh.max_mesh_work_group_total_count,
        max_shared_memory: mesh.max_mesh_shared_memory_size,
    };
    info.limits.max_allocation = properties.maintenance_3.max_memory_allocation_size;
    info.features = features;
    Ok(info)
}

fn describe_vulkan_1_0(instance: &Instance, device: vk::PhysicalDevice) -> DeviceInfo {
    // SAFETY: the device was enumerated from this instance.
    from_core(&unsafe { instance.handle.get_physical_device_properties(device) })
}

fn max_spirv(available: &Available, info: &DeviceInfo, instance: &Instance) -> SpirvVersion {
    let minor = info.api_version.minor.min(unpack(instance.version).minor);
    let by_version = spirv_of_vulkan(minor);
    if available.has_spirv_1_4() { by_version.max(SpirvVersion::V1_4) } else { by_version }
}

/// What the core properties say.
fn from_core(core: &vk::PhysicalDeviceProperties) -> DeviceInfo {
    let limits = &core.limits;
    DeviceInfo {
        name: String::new(),
        driver: String::new(),
        index: 0,
        device_name: text(core.device_name_as_c_str()),
        driver_name: String::new(),
        driver_info: String::new(),
        driver_version: core.driver_version,
        vendor_id: core.vendor_id,
        device_id: core.device_id,
        device_type: device_type(core.device_type),
        api_version: unpack(core.api_version),
        conformance_version: String::new(),
        device_uuid: Uuid::default(),
        driver_uuid: Uuid::default(),
        max_spirv: SpirvVersion::V1_3,
        features: FeatureSet::EMPTY,
        subgroup: SubgroupInfo::default(),
        limits: Limits {
            max_workgroup_size: limits.max_compute_work_group_size,
            max_workgroup_invocations: limits.max_compute_work_group_invocations,
            max_workgroup_count: limits.max_compute_work_group_count,
            max_shared_memory: limits.max_compute_shared_memory_size,
            max_storage_buffer_range: limits.max_storage_buffer_range,
            max_uniform_buffer_range: limits.max_uniform_buffer_range,
            max_push_constants_size: limits.max_push_constants_size,
            max_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
            max_uniform_buffers: limits.max_per_stage_descriptor_uniform_buffers,
            max_storage_images: limits.max_per_stage_descriptor_storage_images,
            max_sampled_images: limits.max_per_stage_descriptor_sampled_images,
            max_samplers: limits.max_per_stage_descriptor_samplers,
            max_texel_buffer_elements: limits.max_texel_buffer_elements,
            max_allocation: 0,
            timestamp_period: limits.timestamp_period,
            sample_counts: match limits.standard_sample_locations {
                vk::TRUE => limits.framebuffer_no_attachments_sample_counts.as_raw(),
                _ => 0,
            },
            ..Limits::default()
        },
        mode: DriverMode::Execute,
        debug: false,
        system: crate::worker::system::description(),
        opengl: None,
        webgpu: None,
    }
}

fn device_type(device_type: vk::PhysicalDeviceType) -> DeviceType {
    match device_type {
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceType::IntegratedGpu,
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceType::DiscreteGpu,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceType::VirtualGpu,
        vk::PhysicalDeviceType::CPU => DeviceType::Cpu,
        _ => DeviceType::Other,
    }
}

fn subgroup_info(properties: &Properties, features: FeatureSet) -> SubgroupInfo {
    let subgroup = &properties.subgroup;
    let control = &properties.size_control;
    let controlled = features.contains(Feature::SubgroupSizeControl);
    let operations = subgroup.supported_operations.as_raw();
    SubgroupInfo {
        size: subgroup.subgroup_size,
        min_size: if controlled { control.min_subgroup_size } else { subgroup.subgroup_size },
        max_size: if controlled { control.max_subgroup_size } else { subgroup.subgroup_size },
        max_compute_workgroup_subgroups: control.max_compute_workgroup_subgroups,
        required_size_in_compute: controlled
            && control.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE),
        required_size_stages: names(
            STAGES
                .iter()
                .filter(|(stage, _)| controlled && control.required_subgroup_size_stages.contains(*stage))
                .map(|row| row.1),
        ),
        stages: names(STAGES.iter().filter(|(stage, _)| subgroup.supported_stages.contains(*stage)).map(|row| row.1)),
        operations: names(OPERATIONS.iter().filter(|(bit, ..)| operations & bit != 0).map(|row| row.1)),
        quad_operations_in_all_stages: subgroup.quad_operations_in_all_stages != vk::FALSE,
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

/// Text that a driver wrote into a fixed array; empty when it forgot the end.
fn text<E>(name: Result<&CStr, E>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
