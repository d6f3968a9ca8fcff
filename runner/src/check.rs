//! Whether a job makes sense, and what a device lacks for it: everything that would be undefined behaviour in Vulkan is
//! turned away here.
//!
//! The rules are valid-usage statements (VUIDs) of the Vulkan specification; those on pipelines are collected in
//! semantics.md §2.1.

use crate::feature::Feature;
use crate::info::DeviceInfo;
use crate::job::{Buffer, BufferKind, Job, Launch, ReadBackMode};
use crate::spirv::{ModuleFacts, SpirvVersion, inspect};

/// What is wrong with a job whatever the device; empty when nothing is.
pub fn problems(job: &Job) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(problem) = inspect(&job.spirv, &job.specialization) {
        problems.push(problem);
    }
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02754
    if job.required_subgroup_size.is_some() && job.subgroup_flags.allow_varying_size {
        problems.push("a required subgroup size excludes a varying one".to_owned());
    }
    match job.launches.split_first() {
        None => problems.push("no launch".to_owned()),
        Some((first, rest)) => {
            launch_problems(first, &mut problems);
            let signature = signature(first);
            if rest.iter().any(|launch| self::signature(launch) != signature) {
                problems.push("launches differ in bindings or push constants".to_owned());
            }
            rest.iter().for_each(|launch| launch_problems(launch, &mut problems));
        }
    }
    problems.dedup();
    problems
}

/// What all launches of a job must share: push-constant bytes, and each buffer's binding and kind.
fn signature(launch: &Launch) -> (usize, Vec<(u32, BufferKind)>) {
    (launch.push_constants.len(), launch.buffers.iter().map(|buffer| (buffer.binding, buffer.kind)).collect())
}

fn launch_problems(launch: &Launch, problems: &mut Vec<String>) {
    // VUID-VkPushConstantRange-size-00297
    if launch.push_constants.len() % 4 != 0 {
        problems.push(format!("{} bytes of push constants are not a multiple of 4", launch.push_constants.len()));
    }
    for (index, buffer) in launch.buffers.iter().enumerate() {
        buffer_problems(buffer, problems);
        if launch.buffers[..index].iter().any(|earlier| earlier.binding == buffer.binding) {
            problems.push(format!("binding {} is used twice", buffer.binding));
        }
    }
}

fn buffer_problems(buffer: &Buffer, problems: &mut Vec<String>) {
    if buffer.init.words() == 0 {
        problems.push(format!("the buffer at binding {} is empty", buffer.binding));
    }
    if buffer.read_back == ReadBackMode::Slices(0) {
        problems.push(format!("the buffer at binding {} has slices of no words", buffer.binding));
    }
}

/// What a device lacks for a job that has no [`problems`]; empty when it can run it.
pub fn missing(job: &Job, device: &DeviceInfo) -> Vec<String> {
    let Ok(facts) = inspect(&job.spirv, &job.specialization) else {
        return Vec::new();
    };
    let mut missing = Vec::new();
    if facts.version_word > device.max_spirv.word() {
        missing.push(format!("SPIR-V {} (has {})", version_text(facts.version_word), device.max_spirv));
    }
    let needed = job.features.union(facts.features);
    missing.extend(needed.without(device.features).iter().map(|feature| feature.name().to_owned()));
    missing_subgroup_controls(job, &facts, device, &mut missing);
    missing_limits(job, &facts, device, &mut missing);
    missing
}

fn version_text(word: u32) -> String {
    format!("{}.{}", word >> 16 & 0xff, word >> 8 & 0xff)
}

fn missing_subgroup_controls(job: &Job, facts: &ModuleFacts, device: &DeviceInfo, missing: &mut Vec<String>) {
    let flags = job.subgroup_flags;
    let subgroup = &device.subgroup;
    let x = facts.local_size.map_or(1, |size| size[0]);
    // VUID-…-flags-02784 and -02785
    if flags.allow_varying_size && !device.features.contains(Feature::SubgroupSizeControl) {
        missing.push(Feature::SubgroupSizeControl.name().to_owned());
    }
    if flags.require_full && !device.features.contains(Feature::ComputeFullSubgroups) {
        missing.push(Feature::ComputeFullSubgroups.name().to_owned());
    }
    if let Some(size) = job.required_subgroup_size {
        missing_required_size(size, facts, device, missing);
    }
    if !flags.require_full {
        return;
    }
    // VUID-…-flags-02757, -02758 and -02759: which size the workgroup's x must be a multiple of.
    let (multiple, what) = match (job.required_subgroup_size, flags.allow_varying_size) {
        (Some(size), _) => (size, "required subgroup size"),
        (None, true) => (subgroup.max_size, "maxSubgroupSize"),
        (None, false) => (subgroup.size, "subgroupSize"),
    };
    if multiple != 0 && x % multiple != 0 {
        missing.push(format!("full subgroups need a workgroup x that is a multiple of {what} {multiple} (is {x})"));
    }
}

fn missing_required_size(size: u32, facts: &ModuleFacts, device: &DeviceInfo, missing: &mut Vec<String>) {
    let subgroup = &device.subgroup;
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02755
    if !subgroup.required_size_in_compute {
        missing.push("requiredSubgroupSizeStages without compute".to_owned());
        return;
    }
    if !size.is_power_of_two() || size < subgroup.min_size || size > subgroup.max_size {
        missing.push(format!("subgroup size {size} (has {} to {})", subgroup.min_size, subgroup.max_size));
        return;
    }
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02756
    let most = u64::from(size) * u64::from(subgroup.max_compute_workgroup_subgroups);
    let invocations = invocations(facts);
    if invocations > most {
        missing.push(format!(
            "{invocations} invocations in subgroups of {size} (maxComputeWorkgroupSubgroups is {})",
            subgroup.max_compute_workgroup_subgroups
        ));
    }
}

fn invocations(facts: &ModuleFacts) -> u64 {
    facts.local_size.unwrap_or([1; 3]).iter().map(|&size| u64::from(size)).product()
}

fn missing_limits(job: &Job, facts: &ModuleFacts, device: &DeviceInfo, missing: &mut Vec<String>) {
    let limits = &device.limits;
    let mut at_most = |what: &str, wanted: u64, limit: u64| {
        if wanted > limit {
            missing.push(format!("{what} {wanted} (has {limit})"));
        }
    };
    let local_size = facts.local_size.unwrap_or([1; 3]);
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        let limit = limits.max_workgroup_size[axis].into();
        at_most(&format!("maxComputeWorkGroupSize {name}"), local_size[axis].into(), limit);
    }
    at_most("maxComputeWorkGroupInvocations", invocations(facts), limits.max_workgroup_invocations.into());
    for launch in &job.launches {
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            let limit = limits.max_workgroup_count[axis].into();
            at_most(&format!("maxComputeWorkGroupCount {name}"), launch.groups[axis].into(), limit);
        }
        at_most("maxPushConstantsSize", launch.push_constants.len() as u64, limits.max_push_constants_size.into());
        for buffer in &launch.buffers {
            let (name, limit) = match buffer.kind {
                BufferKind::Storage => ("maxStorageBufferRange", limits.max_storage_buffer_range),
                BufferKind::Uniform => ("maxUniformBufferRange", limits.max_uniform_buffer_range),
            };
            let bytes = buffer.init.words().saturating_mul(4);
            at_most(name, bytes, u64::from(limit).min(limits.max_allocation));
        }
        let count = |kind| launch.buffers.iter().filter(|buffer| buffer.kind == kind).count() as u64;
        at_most("maxPerStageDescriptorStorageBuffers", count(BufferKind::Storage), limits.max_storage_buffers.into());
        at_most("maxPerStageDescriptorUniformBuffers", count(BufferKind::Uniform), limits.max_uniform_buffers.into());
    }
    missing.dedup();
}

/// The newest SPIR-V that a Vulkan version takes by itself (Vulkan specification, "Versions and Formats").
pub(crate) fn spirv_of_vulkan(minor: u32) -> SpirvVersion {
    match minor {
        0 | 1 => SpirvVersion::V1_3,
        2 => SpirvVersion::V1_5,
        _ => SpirvVersion::V1_6,
    }
}
