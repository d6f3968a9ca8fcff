//! What a worker found out about a device: plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use tangle_features::{Api, FeatureSet};
use tangle_files::text::{line, list};
use tangle_program::case::{SpirvVersion, Stage};

/// A device and everything about it that matters for subgroups and convergence, in the terms of Vulkan. [`OpenGlInfo`] says what stands
/// where for an OpenGL context, [`WebGpuInfo`] for a WebGPU adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Unique name on this machine: the driver's name, with `#index` when the driver has several devices.
    pub name: String,
    /// Name of the driver's entry ([`crate::DriverConfig::name`]).
    pub driver: String,
    /// Index of the device in its driver's enumeration.
    pub index: u32,
    /// `deviceName`.
    #[serde(deserialize_with = "line")]
    pub device_name: String,
    /// `driverName`; empty before Vulkan 1.2.
    #[serde(deserialize_with = "line")]
    pub driver_name: String,
    /// `driverInfo`; empty before Vulkan 1.2.
    #[serde(deserialize_with = "line")]
    pub driver_info: String,
    /// `driverVersion`, encoded as the driver likes.
    pub driver_version: u32,
    /// `vendorID`.
    pub vendor_id: u32,
    /// `deviceID`.
    pub device_id: u32,
    /// What kind of device it is.
    pub device_type: DeviceType,
    /// `apiVersion` of the device. tangle uses it up to 1.3.
    pub api_version: ApiVersion,
    /// `conformanceVersion`, as `1.3.1.1`; empty before Vulkan 1.2.
    #[serde(deserialize_with = "line")]
    pub conformance_version: String,
    /// `deviceUUID`.
    pub device_uuid: Uuid,
    /// `driverUUID`.
    pub driver_uuid: Uuid,
    /// Newest SPIR-V the device takes.
    pub max_spirv: SpirvVersion,
    /// Every [`crate::Feature`] the device has.
    pub features: FeatureSet,
    /// Sizes, stages and operations of its subgroups.
    pub subgroup: SubgroupInfo,
    /// Limits of compute work.
    pub limits: Limits,
    /// Whether it runs what it compiles.
    pub mode: DriverMode,
    /// Whether the driver runs with settings that it has for debugging only ([`crate::DriverConfig::debug`]).
    #[serde(default)]
    pub debug: bool,
    /// Operating system and kernel of the machine, in words; empty from workers that do not say it.
    #[serde(default, deserialize_with = "line")]
    pub system: String,
    /// What an OpenGL context says besides; `None` for a Vulkan device.
    #[serde(default)]
    pub opengl: Option<OpenGlInfo>,
    /// What a WebGPU adapter says besides; `None` for any other device.
    #[serde(default)]
    pub webgpu: Option<WebGpuInfo>,
}

impl DeviceInfo {
    /// The interface that it is driven by.
    pub const fn api(&self) -> Api {
        match (&self.opengl, &self.webgpu) {
            (Some(_), _) => Api::OpenGl,
            (None, Some(_)) => Api::WebGpu,
            (None, None) => Api::Vulkan,
        }
    }
}

/// What a WebGPU adapter says. In the [`DeviceInfo`] that has it, `device_name` is the adapter's, `driver_name` is `WebGPU`, the runtime and the driver
/// beneath, `driver_info` is the versions of both, `subgroup` has the range of sizes and no size of its own, and the limits are the adapter's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebGpuInfo {
    /// The runtime with its version.
    #[serde(deserialize_with = "line")]
    pub runtime: String,
    /// The driver beneath, by the name that it has without the runtime.
    #[serde(deserialize_with = "line")]
    pub driver: String,
    /// What it runs on: `Vulkan`.
    #[serde(deserialize_with = "line")]
    pub backend: String,
    /// The adapter's features that tangle uses, by their names in WebGPU.
    #[serde(deserialize_with = "list")]
    pub features: Vec<String>,
}

/// What an OpenGL context says. In the [`DeviceInfo`] that has it, `device_name` is `GL_RENDERER`, `driver_name` is `OpenGL` and who made the
/// driver, `driver_info` is `GL_VERSION`, `api_version` is that of OpenGL, `subgroup` is what the queries of KHR_shader_subgroup say,
/// `max_spirv` is 1.0 without them (section C.1), and the limits are those of compute shaders and their buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGlInfo {
    /// How the context was got: `device N` (EGL_EXT_platform_device) or `surfaceless` (EGL_MESA_platform_surfaceless).
    #[serde(deserialize_with = "line")]
    pub platform: String,
    /// `GL_VENDOR`.
    #[serde(deserialize_with = "line")]
    pub vendor: String,
    /// `GL_SHADING_LANGUAGE_VERSION`.
    #[serde(deserialize_with = "line")]
    pub language: String,
    /// Where its subgroup operations come from.
    pub subgroups: Subgroups,
    /// Whether it takes modules: ARB_gl_spirv, or OpenGL 4.6.
    pub takes_spirv: bool,
    /// The extensions of [`crate::worker`]'s list that it has, by their names.
    #[serde(deserialize_with = "list")]
    pub extensions: Vec<String>,
    /// `GL_SPIR_V_EXTENSIONS`.
    #[serde(deserialize_with = "list")]
    pub spirv_extensions: Vec<String>,
}

/// Where the subgroup operations of an OpenGL context come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subgroups {
    /// It has no subgroup operations.
    #[default]
    None,
    /// KHR_shader_subgroup, with the operations that Vulkan has.
    Khr,
    /// ARB_shader_ballot, and ARB_shader_group_vote if it has that, too.
    Arb,
}

/// Whether a device runs what it compiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverMode {
    /// Pipelines are created and run.
    #[default]
    Execute,
    /// Pipelines are created and never run: a real GPU's driver without its GPU.
    CompileOnly,
}

/// `VkPhysicalDeviceType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceType {
    /// `VK_PHYSICAL_DEVICE_TYPE_OTHER`, and whatever is not known here.
    Other,
    /// `VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU`.
    IntegratedGpu,
    /// `VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU`.
    DiscreteGpu,
    /// `VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU`.
    VirtualGpu,
    /// `VK_PHYSICAL_DEVICE_TYPE_CPU`.
    Cpu,
}

/// A version of Vulkan or OpenGL; `"1.3.281"` in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApiVersion {
    /// Major number, of Vulkan or OpenGL.
    pub major: u32,
    /// Minor number, of Vulkan or OpenGL.
    pub minor: u32,
    /// Patch number; 0 for OpenGL, whose versions have none.
    pub patch: u32,
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl From<ApiVersion> for String {
    fn from(version: ApiVersion) -> String {
        version.to_string()
    }
}

impl TryFrom<String> for ApiVersion {
    type Error = String;

    fn try_from(text: String) -> Result<ApiVersion, String> {
        let numbers: Vec<u32> = text.split('.').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [major, minor, patch] => Ok(ApiVersion { major, minor, patch }),
            _ => Err(format!("`{text}` is not a Vulkan version like 1.3.281")),
        }
    }
}

/// A universally unique identifier; 32 hexadecimal digits in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl From<Uuid> for String {
    fn from(uuid: Uuid) -> String {
        uuid.to_string()
    }
}

impl TryFrom<String> for Uuid {
    type Error = String;

    fn try_from(text: String) -> Result<Uuid, String> {
        let number = u128::from_str_radix(&text, 16).map_err(|error| format!("`{text}` is not a UUID: {error}"))?;
        Ok(Uuid(number.to_be_bytes()))
    }
}

/// `VkPhysicalDeviceSubgroupProperties` and `VkPhysicalDeviceSubgroupSizeControlProperties`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupInfo {
    /// `subgroupSize`: the size where it may not vary and none is required; 0 for WebGPU, where a shader may get any of the range.
    pub size: u32,
    /// `minSubgroupSize`; equal to `size` without subgroup size control.
    pub min_size: u32,
    /// `maxSubgroupSize`; equal to `size` without subgroup size control.
    pub max_size: u32,
    /// `maxComputeWorkgroupSubgroups`; 0 without subgroup size control.
    pub max_compute_workgroup_subgroups: u32,
    /// Whether compute is in `requiredSubgroupSizeStages` and the feature is there: a job may require a size.
    pub required_size_in_compute: bool,
    /// `requiredSubgroupSizeStages` by their Vulkan names, where the feature is there.
    #[serde(default)]
    pub required_size_stages: Vec<String>,
    /// `supportedStages` by their Vulkan names, lower case: `compute`, `fragment`, …
    pub stages: Vec<String>,
    /// `supportedOperations` by their Vulkan names, lower case: `basic`, `vote`, …
    pub operations: Vec<String>,
    /// `quadOperationsInAllStages`.
    pub quad_operations_in_all_stages: bool,
}

/// The limits of `VkPhysicalDeviceLimits` that concern compute work, and those of `VkPhysicalDeviceMaintenance3Properties`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// `maxComputeWorkGroupSize`, invocations in x, y, z.
    pub max_workgroup_size: [u32; 3],
    /// `maxComputeWorkGroupInvocations`.
    pub max_workgroup_invocations: u32,
    /// `maxComputeWorkGroupCount`, workgroups in x, y, z.
    pub max_workgroup_count: [u32; 3],
    /// `maxComputeSharedMemorySize`, bytes.
    pub max_shared_memory: u32,
    /// `maxStorageBufferRange`, bytes.
    pub max_storage_buffer_range: u32,
    /// `maxUniformBufferRange`, bytes.
    pub max_uniform_buffer_range: u32,
    /// `maxPushConstantsSize`, bytes.
    pub max_push_constants_size: u32,
    /// `maxPerStageDescriptorStorageBuffers`.
    pub max_storage_buffers: u32,
    /// `maxPerStageDescriptorUniformBuffers`.
    pub max_uniform_buffers: u32,
    /// `maxPerStageDescriptorStorageImages`, texel buffers included.
    #[serde(default)]
    pub max_storage_images: u32,
    /// `maxPerStageDescriptorSampledImages`, texel buffers included.
    #[serde(default)]
    pub max_sampled_images: u32,
    /// `maxPerStageDescriptorSamplers`.
    #[serde(default)]
    pub max_samplers: u32,
    /// `maxTexelBufferElements`.
    #[serde(default)]
    pub max_texel_buffer_elements: u32,
    /// `maxMemoryAllocationSize`, bytes.
    pub max_allocation: u64,
    /// `timestampPeriod`, nanoseconds for one tick.
    pub timestamp_period: f32,
    /// Task shaders, of `VkPhysicalDeviceMeshShaderPropertiesEXT`; zeros without them.
    #[serde(default)]
    pub task: WorkgroupLimits,
    /// Mesh shaders, of the same structure; zeros without them.
    #[serde(default)]
    pub mesh: WorkgroupLimits,
    /// `framebufferNoAttachmentsSampleCounts`; nothing without `standardSampleLocations`, where it is not known where samples are.
    #[serde(default)]
    pub sample_counts: u32,
}

/// The limits of a stage with workgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkgroupLimits {
    /// Invocations of a workgroup in x, y, z.
    pub max_size: [u32; 3],
    /// Invocations of a workgroup.
    pub max_invocations: u32,
    /// Workgroups in x, y, z.
    pub max_count: [u32; 3],
    /// Workgroups of all three dimensions together.
    pub max_total_count: u32,
    /// Bytes of shared memory.
    pub max_shared_memory: u32,
}

const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

impl WorkgroupLimits {
    /// No workgroup larger than the front end takes, whatever the device does: its `gl_MaxMeshWorkGroupSizeEXT` and
    /// `gl_MaxTaskWorkGroupSizeEXT` are 128, the least that Vulkan allows (Limits, maxMeshWorkGroupSize).
    const fn for_glslang(self) -> WorkgroupLimits {
        const MOST: u32 = 128;
        let [x, y, z] = self.max_size;
        WorkgroupLimits { max_size: [least(x, MOST), least(y, MOST), least(z, MOST)], ..self }
    }
}

impl Limits {
    /// True if pixels may have so many samples, at the standard locations. That of one sample is the same everywhere: the centre.
    pub const fn has_samples(&self, samples: u32) -> bool {
        samples == 1 || self.sample_counts & samples != 0
    }

    /// Those of a stage with workgroups.
    pub const fn workgroups(&self, stage: Stage) -> WorkgroupLimits {
        match stage {
            Stage::Task => self.task.for_glslang(),
            Stage::Mesh => self.mesh.for_glslang(),
            // Framebuffers and draws of valid cases are within the limits of every device.
            Stage::Fragment
            | Stage::Vertex
            | Stage::TessellationControl
            | Stage::TessellationEvaluation
            | Stage::Geometry => WorkgroupLimits {
                max_size: [u32::MAX; 3],
                max_invocations: u32::MAX,
                max_count: [u32::MAX; 3],
                max_total_count: u32::MAX,
                max_shared_memory: 0,
            },
            Stage::Compute => WorkgroupLimits {
                max_size: self.max_workgroup_size,
                max_invocations: self.max_workgroup_invocations,
                max_count: self.max_workgroup_count,
                max_total_count: u32::MAX,
                max_shared_memory: self.max_shared_memory,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_text_in_json() {
        let version = ApiVersion { major: 1, minor: 3, patch: 281 };
        let json = serde_json::to_string(&version).unwrap();
        assert_eq!(json, r#""1.3.281""#);
        assert_eq!(serde_json::from_str::<ApiVersion>(&json).unwrap(), version);
        assert!(serde_json::from_str::<ApiVersion>(r#""1.3""#).is_err());
    }

    #[test]
    fn a_uuid_is_hexadecimal_in_json() {
        let uuid = Uuid([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        let json = serde_json::to_string(&uuid).unwrap();
        assert_eq!(json, r#""000102030405060708090a0b0c0d0eff""#);
        assert_eq!(serde_json::from_str::<Uuid>(&json).unwrap(), uuid);
    }
}
