//! Adapter → [`DeviceInfo`].

use tangle_features::TABLE;
use tangle_program::case::SpirvVersion;

use super::runtime::Adapter;
use crate::info::{ApiVersion, DeviceInfo, DeviceType, DriverMode, Limits, SubgroupInfo, Uuid, WebGpuInfo};
use crate::worker::system;

/// The categories of operations that the feature `subgroups` has (WGSL, Subgroup Built-in Functions and Quad Operations).
const OPERATIONS: [&str; 7] = ["basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "quad"];

/// What an adapter of Dawn is.
pub(super) fn describe(version: &str, adapter: &Adapter, driver: &str, mode: DriverMode) -> DeviceInfo {
    let has = |name: &str| adapter.features.iter().any(|feature| feature == name);
    let limit = |name: &str| adapter.limits.get(name).copied().unwrap_or(0);
    let limit_32 = |name: &str| u32::try_from(limit(name)).unwrap_or(u32::MAX);
    let (beneath, its_version) = driver_beneath(&adapter.description);
    let has_subgroups = has("subgroups");
    let of_subgroups = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|_| has_subgroups).map(|name| (*name).to_owned()).collect()
    };
    let groups = limit_32("max-compute-workgroups-per-dimension");
    DeviceInfo {
        name: String::new(),
        driver: driver.to_owned(),
        index: 0,
        device_name: adapter.device.clone(),
        driver_name: format!("WebGPU Dawn on {beneath}"),
        driver_info: format!("{its_version}, Dawn {version}").trim_start_matches(", ").to_owned(),
        driver_version: 0,
        vendor_id: adapter.vendor_id,
        device_id: adapter.device_id,
        device_type: match adapter.kind.as_str() {
            "CPU" => DeviceType::Cpu,
            "DiscreteGPU" => DeviceType::DiscreteGpu,
            "IntegratedGPU" => DeviceType::IntegratedGpu,
            _ => DeviceType::Other,
        },
        // Nothing is said of a version of WebGPU.
        api_version: ApiVersion::default(),
        conformance_version: String::new(),
        device_uuid: Uuid::default(),
        driver_uuid: Uuid::default(),
        // No case is refused for want of one: it takes no module.
        max_spirv: SpirvVersion::V1_6,
        features: TABLE.iter().filter(|row| row.webgpu.is_some_and(has)).map(|row| row.feature).collect(),
        subgroup: SubgroupInfo {
            min_size: adapter.subgroup_min_size,
            max_size: adapter.subgroup_max_size,
            stages: of_subgroups(&["compute"]),
            operations: of_subgroups(&OPERATIONS),
            required_size_in_compute: has("subgroup-size-control"),
            // Nothing says how many there may be: a pipeline with too many is refused.
            max_compute_workgroup_subgroups: u32::MAX,
            ..SubgroupInfo::default()
        },
        limits: Limits {
            max_workgroup_size: ["x", "y", "z"].map(|axis| limit_32(&format!("max-compute-workgroup-size-{axis}"))),
            max_workgroup_invocations: limit_32("max-compute-invocations-per-workgroup"),
            max_workgroup_count: [groups; 3],
            max_shared_memory: limit_32("max-compute-workgroup-storage-size"),
            max_storage_buffer_range: limit_32("max-storage-buffer-binding-size"),
            max_uniform_buffer_range: limit_32("max-uniform-buffer-binding-size"),
            max_push_constants_size: limit_32("max-immediate-size"),
            max_storage_buffers: limit_32("max-storage-buffers-per-shader-stage"),
            max_uniform_buffers: limit_32("max-uniform-buffers-per-shader-stage"),
            max_allocation: limit("max-buffer-size"),
            ..Limits::default()
        },
        mode,
        debug: false,
        system: system::description(),
        opengl: None,
        webgpu: Some(WebGpuInfo {
            runtime: format!("Dawn {version}"),
            driver: beneath.to_owned(),
            backend: adapter.backend.clone(),
            features: adapter.features.clone(),
        }),
    }
}

/// Name and version of the driver beneath. On Vulkan an adapter's description is its `driverName`, with a colon and its `driverInfo`, or if that is empty
/// with its `driverVersion`.
fn driver_beneath(description: &str) -> (&str, &str) {
    let is_version = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    match (description.split_once(": "), description.rsplit_once(' ')) {
        (Some(both), _) => both,
        (None, Some((name, version))) if is_version(version) => (name, version),
        (None, _) => (description, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_the_driver_beneath() {
        for (description, expected) in [
            ("llvmpipe: Mesa 26.2.6-1 (LLVM 22.1.8)", ("llvmpipe", "Mesa 26.2.6-1 (LLVM 22.1.8)")),
            ("SwiftShader driver 5.0.0", ("SwiftShader driver", "5.0.0")),
            ("Some driver", ("Some driver", "")),
            ("", ("", "")),
        ] {
            assert_eq!(driver_beneath(description), expected);
        }
    }
}
