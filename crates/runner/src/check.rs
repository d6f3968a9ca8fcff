//! Whether a job makes sense, and what a device lacks for it: everything that would be undefined behaviour in Vulkan is
//! turned away here.
//!
//! The rules are valid-usage statements (VUIDs) of the Vulkan specification; those on pipelines are collected in
//! `docs/rules.md`.

use crate::info::{DeviceInfo, DriverMode};
use crate::job::{Buffer, BufferKind, Init, Job, Launch, Pipeline, Place, ReadBackMode, ShaderStage};
use crate::outcome::{Completed, Outcome};
use crate::protocol::{LARGEST_JOB, SMALL};
use crate::spirv::{ModuleFacts, inspect};
use crate::texel::Image;
use tangle_features::{Api, Feature};
use tangle_program::case::SpirvVersion;

/// The outcome of a job that a device does not begin: it is invalid, or the device lacks something. `lacks` says what it lacks beside [`missing`],
/// and is asked of valid jobs only.
pub(crate) fn refusal(job: &Job, device: &DeviceInfo, lacks: impl FnOnce() -> Vec<String>) -> Option<Outcome> {
    let problems = problems(job);
    if !problems.is_empty() {
        return Some(Outcome::Invalid { problems });
    }
    let mut missing = missing(job, device);
    missing.extend(lacks());
    (!missing.is_empty()).then_some(Outcome::Unsupported { missing })
}

/// What is wrong with a job whatever the device; empty when nothing is.
pub fn problems(job: &Job) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(problem) = facts(job) {
        problems.push(problem);
    }
    let beside = if job.source.is_some() { Vec::new() } else { job.pipeline.beside() };
    for (stage, words) in beside {
        if let Err(problem) = inspect(words, &[]) {
            problems.push(format!("the {stage:?} shader beside it: {problem}"));
        }
    }
    if let Pipeline::Fragment(raster) = &job.pipeline {
        // Every device has framebuffers of this size (VkPhysicalDeviceLimits, maxFramebufferWidth).
        if [raster.width, raster.height].iter().any(|side| !(1..=4096).contains(side)) {
            problems.push(format!("a framebuffer of {} by {}", raster.width, raster.height));
        }
        // maxFramebufferLayers
        if !(1..=256).contains(&raster.layers) {
            problems.push(format!("a framebuffer of {} layers", raster.layers));
        }
        if !raster.samples.is_power_of_two() || raster.samples > 64 {
            problems.push(format!("{} samples", raster.samples));
        }
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
    // Results must fit into one frame of the worker protocol, and staging doubles what is needed here.
    let buffers = job.launches.iter().flat_map(|launch| &launch.buffers);
    let bytes = buffers.fold(0u64, |sum, buffer| sum.saturating_add(buffer.init.words().saturating_mul(4)));
    if bytes > MAX_BYTES {
        problems.push(format!("{bytes} bytes of buffers are more than {MAX_BYTES}"));
    }
    problems.dedup();
    problems
}

/// What the shader of a job says about itself.
fn facts(job: &Job) -> Result<ModuleFacts, String> {
    let Some(source) = &job.source else {
        return inspect(&job.spirv, &job.specialization);
    };
    if !job.spirv.is_empty() {
        return Err("both a module and source".to_owned());
    }
    Ok(ModuleFacts { local_size: Some(source.local_size), ..ModuleFacts::default() })
}

/// Most bytes of buffers in one job, all launches together.
const MAX_BYTES: u64 = 1 << 30;

/// What is expected back of a job that ran. The answer is made by a process whose memory a driver may have spoilt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// For each launch, the buffers that come back: how many words each has, and how many a slice of it.
    launches: Vec<Vec<(u64, u64)>>,
    /// For each launch, the device addresses that come back.
    addresses: Vec<usize>,
}

impl Expected {
    /// What a job asks for on a device of this mode.
    pub(crate) fn of(job: &Job, mode: DriverMode) -> Expected {
        let read_back = |buffer: &Buffer| {
            let words = buffer.init.words();
            match buffer.read_back {
                ReadBackMode::None => None,
                ReadBackMode::Whole => Some((words, words)),
                ReadBackMode::Slices(slice) => Some((words, slice.into())),
            }
        };
        let launch = |launch: &Launch| launch.buffers.iter().filter_map(read_back).collect();
        match mode {
            DriverMode::Execute => Expected {
                launches: job.launches.iter().map(launch).collect(),
                addresses: job.launches.iter().map(|launch| launch.addressed().count()).collect(),
            },
            DriverMode::CompileOnly => Expected::default(),
        }
    }

    /// The most bytes that the answer may have: every word of every buffer, where each slice ends (5 bytes at most), and 64 for what is
    /// said of the buffer itself.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |&(words, slice): &(u64, u64)| {
            let slices = words.div_ceil(slice.max(1));
            words.saturating_mul(4).saturating_add(slices.saturating_mul(5)).saturating_add(64)
        };
        // A number of 64 bits takes 10 bytes at most.
        let addresses = self.addresses.iter().map(|&count| 10 * count as u64);
        let buffers = self.launches.iter().flatten().map(bytes);
        buffers.chain(addresses).fold(SMALL, u64::saturating_add).min(LARGEST_JOB)
    }

    /// What does not fit; `None` if all of it does.
    pub(crate) fn problem(&self, completed: &Completed) -> Option<String> {
        if completed.launches.len() != self.launches.len() {
            return Some(format!("{} launches of {}", completed.launches.len(), self.launches.len()));
        }
        for (number, (launch, expected)) in completed.launches.iter().zip(&self.launches).enumerate() {
            if launch.buffers.len() != expected.len() {
                return Some(format!("{} buffers of {} in launch {number}", launch.buffers.len(), expected.len()));
            }
            let (has, asked) = (launch.addresses.len(), self.addresses.get(number).copied().unwrap_or(0));
            if has != asked {
                return Some(format!("{has} device addresses of {asked} in launch {number}"));
            }
            for (buffer, &(words, slice)) in launch.buffers.iter().zip(expected) {
                let has = (buffer.len(), u64::from(buffer.slice_words()));
                if has != (words, slice) {
                    let (has_words, has_slice) = has;
                    return Some(format!(
                        "a buffer of {has_words} words in slices of {has_slice} in launch {number}, where one of {words} in slices of {slice} \
                         was asked for"
                    ));
                }
            }
        }
        None
    }
}

/// What all launches of a job must share: push-constant bytes, and each buffer's binding and kind.
fn signature(launch: &Launch) -> (usize, Vec<(u32, BufferKind)>) {
    (launch.push_constants.len(), launch.buffers.iter().map(|buffer| (buffer.binding, buffer.kind)).collect())
}

fn launch_problems(launch: &Launch, problems: &mut Vec<String>) {
    // VUID-VkPushConstantRange-size-00297
    if !launch.push_constants.len().is_multiple_of(4) {
        problems.push(format!("{} bytes of push constants are not a multiple of 4", launch.push_constants.len()));
    }
    for (index, buffer) in launch.buffers.iter().enumerate() {
        buffer_problems(buffer, problems);
        if buffer.kind == BufferKind::Addressed {
            continue;
        }
        // The elements of an array stand behind one another and are alike; images of one array may differ in their extent.
        let is_next = |last: &Buffer| {
            last.binding == buffer.binding && std::mem::discriminant(&last.kind) == std::mem::discriminant(&buffer.kind)
        };
        let (before, earlier) = (index.checked_sub(1).map(|last| &launch.buffers[last]), &launch.buffers[..index]);
        let is_used = |earlier: &Buffer| earlier.kind != BufferKind::Addressed && earlier.binding == buffer.binding;
        if !before.is_some_and(is_next) && earlier.iter().any(is_used) {
            problems.push(format!("binding {} is used twice", buffer.binding));
        }
    }
    address_problems(launch, problems);
}

fn address_problems(launch: &Launch, problems: &mut Vec<String>) {
    for address in &launch.addresses {
        let words = match address.place {
            Place::PushConstants => launch.push_constants.len() as u64 / 4,
            Place::Buffer(index) => match launch.buffers.get(index as usize).map(|buffer| &buffer.init) {
                Some(Init::Data(words)) => words.len() as u64,
                Some(Init::Zero { .. }) | None => 0,
            },
        };
        if u64::from(address.word) + 2 > words {
            problems.push(format!("an address at word {} of {words}", address.word));
        }
        let whose = launch.buffers.get(address.buffer as usize);
        if whose.is_none_or(|buffer| buffer.kind != BufferKind::Addressed) {
            problems.push(format!("the address of buffer {}, which has none", address.buffer));
        }
    }
}

fn buffer_problems(buffer: &Buffer, problems: &mut Vec<String>) {
    let binding = buffer.binding;
    let words = buffer.init.words();
    if buffer.kind == BufferKind::Sampler {
        if words != 0 || buffer.read_back != ReadBackMode::None {
            problems.push(format!("the sampler at binding {binding} has contents"));
        }
        return;
    }
    if words == 0 {
        problems.push(format!("the buffer at binding {binding} is empty"));
    }
    match buffer.kind {
        BufferKind::StorageImage(image) | BufferKind::SampledImage(image) | BufferKind::CombinedImageSampler(image) => {
            image_problems(&image, binding, words, problems);
        }
        BufferKind::StorageTexels(format) | BufferKind::UniformTexels(format)
            if format.bytes().is_none_or(|bytes| !words.saturating_mul(4).is_multiple_of(bytes.into())) =>
        {
            problems.push(format!("the texel buffer at binding {binding} is not of whole texels of {format}"));
        }
        _ => {}
    }
    if buffer.read_back == ReadBackMode::Slices(0) {
        problems.push(format!("the buffer at binding {binding} has slices of no words"));
    }
}

fn image_problems(image: &Image, binding: u32, words: u64, problems: &mut Vec<String>) {
    if let Some(problem) = image.problem() {
        problems.push(format!("the image at binding {binding} {problem}: {image}"));
    } else if image.bytes().map(|bytes| bytes.div_ceil(4)) != Some(words) {
        problems.push(format!("the image at binding {binding} has {words} words of texels: {image}"));
    }
}

/// What a device lacks for a job that has no [`problems`]; empty when it can run it.
pub fn missing(job: &Job, device: &DeviceInfo) -> Vec<String> {
    let Ok(facts) = facts(job) else {
        return Vec::new();
    };
    let mut missing = Vec::new();
    match (device.api(), &job.source) {
        (Api::Vulkan, Some(_)) => missing.push("a front end for GLSL".to_owned()),
        (Api::WebGpu, None) => missing.push("modules (WebGPU takes WGSL)".to_owned()),
        _ => {}
    }
    if facts.version_word > device.max_spirv.word() {
        missing.push(format!("SPIR-V {} (has {})", version_text(facts.version_word), device.max_spirv));
    }
    let needed = job.features.union(facts.features);
    missing.extend(needed.without(device.features).rows().map(|row| row.name_in(device.api()).into_owned()));
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
        missing_required_size(size, job, facts, device, missing);
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
    if multiple != 0 && !x.is_multiple_of(multiple) {
        missing.push(format!("full subgroups need a workgroup x that is a multiple of {what} {multiple} (is {x})"));
    }
}

fn missing_required_size(size: u32, job: &Job, facts: &ModuleFacts, device: &DeviceInfo, missing: &mut Vec<String>) {
    let subgroup = &device.subgroup;
    // VUID-VkPipelineShaderStageCreateInfo-pNext-02755
    let stage = job.pipeline.stage();
    let offered = match stage {
        ShaderStage::Compute => subgroup.required_size_in_compute,
        stage => subgroup.required_size_stages.iter().any(|name| name == stage.name()),
    };
    if !offered {
        missing.push(format!("requiredSubgroupSizeStages without {}", stage.name()));
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
    if let Pipeline::Fragment(raster) = &job.pipeline
        && !limits.has_samples(raster.samples)
    {
        missing.push(format!("{} samples at the standard locations", raster.samples));
    }
    let mut at_most = |what: &str, wanted: u64, limit: u64| {
        if wanted > limit {
            missing.push(format!("{what} {wanted} (has {limit})"));
        }
    };
    let local_size = facts.local_size.unwrap_or([1; 3]);
    let of_stage = limits.workgroups(job.pipeline.stage());
    let word = match job.pipeline.stage() {
        ShaderStage::Compute => "Compute",
        ShaderStage::Task => "Task",
        ShaderStage::Mesh => "Mesh",
        ShaderStage::Fragment => "Fragment",
        stage => stage.name(),
    };
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        let limit = of_stage.max_size[axis].into();
        at_most(&format!("max{word}WorkGroupSize {name}"), local_size[axis].into(), limit);
    }
    at_most(&format!("max{word}WorkGroupInvocations"), invocations(facts), of_stage.max_invocations.into());
    for launch in &job.launches {
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            let limit = of_stage.max_count[axis].into();
            at_most(&format!("max{word}WorkGroupCount {name}"), launch.groups[axis].into(), limit);
        }
        let total = launch.groups.iter().fold(1, |n: u64, &side| n.saturating_mul(side.into()));
        at_most(&format!("max{word}WorkGroupTotalCount"), total, of_stage.max_total_count.into());
        at_most("maxPushConstantsSize", launch.push_constants.len() as u64, limits.max_push_constants_size.into());
        for buffer in &launch.buffers {
            let bytes = buffer.init.words().saturating_mul(4);
            let (name, limit) = match buffer.kind {
                BufferKind::Storage => ("maxStorageBufferRange", u64::from(limits.max_storage_buffer_range)),
                BufferKind::Uniform => ("maxUniformBufferRange", u64::from(limits.max_uniform_buffer_range)),
                BufferKind::StorageTexels(format) | BufferKind::UniformTexels(format) => {
                    let texel = u64::from(format.bytes().unwrap_or(1));
                    let most = limits.max_texel_buffer_elements.max(LEAST_TEXEL_BUFFER_ELEMENTS);
                    at_most("maxTexelBufferElements", bytes / texel, most.into());
                    continue;
                }
                BufferKind::Addressed => ("maxMemoryAllocationSize", limits.max_allocation),
                // The worker asks how large an image of its format may be.
                BufferKind::StorageImage(_)
                | BufferKind::SampledImage(_)
                | BufferKind::CombinedImageSampler(_)
                | BufferKind::Sampler => continue,
            };
            at_most(name, bytes, limit.min(limits.max_allocation));
        }
        let count =
            |is_it: fn(BufferKind) -> bool| launch.buffers.iter().filter(|buffer| is_it(buffer.kind)).count() as u64;
        let is_storage_image = |kind| matches!(kind, BufferKind::StorageTexels(_) | BufferKind::StorageImage(_));
        let is_sampled = |kind| {
            use BufferKind::{CombinedImageSampler, SampledImage, UniformTexels};
            matches!(kind, UniformTexels(_) | SampledImage(_) | CombinedImageSampler(_))
        };
        let is_sampler = |kind| matches!(kind, BufferKind::Sampler | BufferKind::CombinedImageSampler(_));
        let is = |kind| kind == BufferKind::Storage;
        at_most("maxPerStageDescriptorStorageBuffers", count(is), limits.max_storage_buffers.into());
        let is = |kind| kind == BufferKind::Uniform;
        at_most("maxPerStageDescriptorUniformBuffers", count(is), limits.max_uniform_buffers.into());
        at_most("maxPerStageDescriptorStorageImages", count(is_storage_image), limits.max_storage_images.into());
        at_most("maxPerStageDescriptorSampledImages", count(is_sampled), limits.max_sampled_images.into());
        at_most("maxPerStageDescriptorSamplers", count(is_sampler), limits.max_samplers.into());
    }
    missing.dedup();
}

/// Every device has so many (Vulkan, "Required Limits").
const LEAST_TEXEL_BUFFER_ELEMENTS: u32 = 65_536;

/// The newest SPIR-V that a Vulkan version takes by itself (Vulkan specification, "Versions and Formats").
pub(crate) fn spirv_of_vulkan(minor: u32) -> SpirvVersion {
    match minor {
        0 | 1 => SpirvVersion::V1_3,
        2 => SpirvVersion::V1_5,
        _ => SpirvVersion::V1_6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Init, SubgroupFlags};
    use crate::worker::null::null_device;
    use tangle_features::FeatureSet;

    /// A device with subgroups of 4 to 16, 8 by default, of which a workgroup holds at most 4.
    fn device() -> DeviceInfo {
        let mut device = null_device("test", DriverMode::Execute);
        device.subgroup.min_size = 4;
        device.subgroup.max_size = 16;
        device.subgroup.max_compute_workgroup_subgroups = 4;
        device.subgroup.required_size_in_compute = true;
        device
    }

    /// A job of a SPIR-V 1.3 module that says nothing but its workgroup size.
    fn job(local_size: [u32; 3]) -> Job {
        let [x, y, z] = local_size;
        let spirv = vec![0x0723_0203, SpirvVersion::V1_3.word(), 0, 9, 0, 6 << 16 | 16, 4, 17, x, y, z];
        let launch = Launch { groups: [1, 1, 1], ..Launch::default() };
        Job { spirv, launches: vec![launch], ..Job::default() }
    }

    fn storage(binding: u32, words: u64) -> Buffer {
        Buffer { binding, kind: BufferKind::Storage, init: Init::Zero { words }, read_back: ReadBackMode::Whole }
    }

    const FULL: SubgroupFlags = SubgroupFlags { require_full: true, allow_varying_size: false };
    const VARYING: SubgroupFlags = SubgroupFlags { require_full: false, allow_varying_size: true };
    const BOTH: SubgroupFlags = SubgroupFlags { require_full: true, allow_varying_size: true };
    const NEITHER: SubgroupFlags = SubgroupFlags { require_full: false, allow_varying_size: false };

    #[test]
    fn subgroup_rules_of_pipelines() {
        // Workgroup, required size, flags, and what is missing: part of the one line, or nothing.
        let rows: [([u32; 3], Option<u32>, SubgroupFlags, &str); 14] = [
            ([7, 3, 1], None, NEITHER, ""),
            ([7, 3, 1], None, VARYING, ""),
            ([16, 1, 1], Some(4), NEITHER, ""),
            // 02755
            ([8, 1, 1], Some(2), NEITHER, "subgroup size 2 (has 4 to 16)"),
            ([8, 1, 1], Some(32), NEITHER, "subgroup size 32 (has 4 to 16)"),
            ([8, 1, 1], Some(12), NEITHER, "subgroup size 12 (has 4 to 16)"),
            // 02756
            ([17, 1, 1], Some(4), NEITHER, "17 invocations in subgroups of 4 (maxComputeWorkgroupSubgroups is 4)"),
            // 02757
            ([16, 1, 1], Some(16), FULL, ""),
            ([8, 2, 1], Some(16), FULL, "a multiple of required subgroup size 16 (is 8)"),
            // 02758
            ([16, 1, 1], None, BOTH, ""),
            ([8, 2, 1], None, BOTH, "a multiple of maxSubgroupSize 16 (is 8)"),
            // 02759: x alone counts, not the product
            ([8, 1, 1], None, FULL, ""),
            ([4, 2, 1], None, FULL, "a multiple of subgroupSize 8 (is 4)"),
            ([12, 2, 1], None, FULL, "a multiple of subgroupSize 8 (is 12)"),
        ];
        for (local_size, required, flags, expected) in rows {
            let job = Job { required_subgroup_size: required, subgroup_flags: flags, ..job(local_size) };
            assert_eq!(problems(&job), [] as [&str; 0]);
            let missing = missing(&job, &device());
            assert_eq!(missing.is_empty(), expected.is_empty(), "{local_size:?} {required:?} {flags:?}: {missing:?}");
            assert!(missing.join("; ").contains(expected), "{missing:?}");
        }
    }

    #[test]
    fn flags_and_sizes_need_their_features() {
        let mut device = device();
        device.features = FeatureSet::EMPTY;
        device.subgroup.required_size_in_compute = false;
        let mut job = Job { subgroup_flags: BOTH, ..job([16, 1, 1]) };
        assert_eq!(missing(&job, &device), ["subgroupSizeControl", "computeFullSubgroups"]);
        job.subgroup_flags = NEITHER;
        job.required_subgroup_size = Some(8);
        assert_eq!(missing(&job, &device), ["requiredSubgroupSizeStages without compute"]);
    }

    #[test]
    fn a_newer_module_is_turned_away() {
        let mut device = device();
        device.max_spirv = SpirvVersion::V1_5;
        let mut job = job([8, 1, 1]);
        job.spirv[1] = SpirvVersion::V1_6.word();
        assert_eq!(missing(&job, &device), ["SPIR-V 1.6 (has 1.5)"]);
    }

    #[test]
    fn limits_are_named_with_their_numbers() {
        let mut job = job([2048, 1, 1]);
        job.launches[0].groups = [1, 70_000, 1];
        job.launches[0].push_constants = vec![0; 132];
        job.launches[0].buffers = (0..17).map(|binding| storage(binding, 4)).collect();
        job.launches[0].buffers[0].init = Init::Zero { words: 1 << 29 };
        let expected = [
            "maxComputeWorkGroupSize x 2048 (has 1024)",
            "maxComputeWorkGroupInvocations 2048 (has 1024)",
            "maxComputeWorkGroupCount y 70000 (has 65535)",
            "maxPushConstantsSize 132 (has 128)",
            "maxStorageBufferRange 2147483648 (has 1073741824)",
            "maxPerStageDescriptorStorageBuffers 17 (has 16)",
        ];
        assert_eq!(missing(&job, &device()), expected);
    }

    #[test]
    fn contradictions_are_found_without_a_device() {
        let mut job = job([8, 1, 1]);
        // 02754
        job.required_subgroup_size = Some(8);
        job.subgroup_flags = VARYING;
        job.launches[0].push_constants = vec![0; 3];
        // The first two are an array of descriptors.
        job.launches[0].buffers = vec![storage(0, 1), storage(0, 0), storage(1, 1), storage(0, 1)];
        job.launches[0].buffers[1].read_back = ReadBackMode::Slices(0);
        job.launches.push(Launch { buffers: vec![storage(1, 1 << 29)], ..Launch::default() });
        let expected = [
            "a required subgroup size excludes a varying one",
            "3 bytes of push constants are not a multiple of 4",
            "the buffer at binding 0 is empty",
            "the buffer at binding 0 has slices of no words",
            "binding 0 is used twice",
            "launches differ in bindings or push constants",
            "2147483660 bytes of buffers are more than 1073741824",
        ];
        assert_eq!(problems(&job), expected);
    }

    #[test]
    fn contradictions_of_images_samplers_and_addresses_are_found() {
        use crate::job::Address;
        use crate::texel::{ImageView, TexelFormat};
        let buffer = |binding, kind, words| Buffer { kind, ..storage(binding, words) };
        let image = |side, words| {
            let image = Image { extent: [side, side, 1], ..Image::ONE };
            buffer(0, BufferKind::StorageImage(image), words)
        };
        let cube = Image { view: ImageView::Cube, ..Image::ONE };
        let rgba = TexelFormat::of_spirv(1).unwrap();
        let sampler = Buffer { read_back: ReadBackMode::None, ..buffer(0, BufferKind::Sampler, 0) };
        let addressed = buffer(0, BufferKind::Addressed, 1);
        let rows: [(Vec<Buffer>, &str); 11] = [
            (vec![image(2, 4), image(1, 1)], ""),
            (vec![image(2, 5)], "the image at binding 0 has 5 words of texels: 2D 2x2x1, 1 layers, VK_FORMAT_R32_UINT"),
            (vec![buffer(0, BufferKind::SampledImage(cube), 1)], "another extent than its view can have"),
            (
                vec![buffer(0, BufferKind::UniformTexels(rgba), 6)],
                "not of whole texels of VK_FORMAT_R32G32B32A32_SFLOAT",
            ),
            (vec![buffer(0, BufferKind::UniformTexels(rgba), 8)], ""),
            (vec![sampler.clone()], ""),
            (
                vec![Buffer { init: Init::Zero { words: 1 }, ..sampler.clone() }],
                "the sampler at binding 0 has contents",
            ),
            (vec![sampler, storage(0, 1)], "binding 0 is used twice"),
            (vec![storage(0, 1), addressed.clone(), addressed.clone()], ""),
            (vec![Buffer { init: Init::Zero { words: 0 }, ..addressed.clone() }], "is empty"),
            (vec![buffer(0, BufferKind::StorageImage(cube), 1)], "another extent"),
        ];
        for (buffers, expected) in rows {
            let mut job = job([8, 1, 1]);
            job.launches[0].buffers = buffers;
            let problems = problems(&job);
            assert_eq!(problems.len(), usize::from(!expected.is_empty()), "{problems:?}");
            assert!(problems.join("; ").contains(expected), "{problems:?}");
        }
        for (address, expected) in [
            (Address { place: Place::PushConstants, word: 0, buffer: 0, offset: 0 }, ""),
            (Address { place: Place::PushConstants, word: 1, buffer: 0, offset: 0 }, "an address at word 1 of 2"),
            (Address { place: Place::Buffer(0), word: 0, buffer: 0, offset: 0 }, "an address at word 0 of 0"),
            (
                Address { place: Place::PushConstants, word: 0, buffer: 1, offset: 0 },
                "the address of buffer 1, which has none",
            ),
        ] {
            let mut job = job([8, 1, 1]);
            job.launches[0] = Launch {
                push_constants: vec![0; 8],
                buffers: vec![addressed.clone()],
                addresses: vec![address],
                ..job.launches[0].clone()
            };
            assert_eq!(problems(&job), if expected.is_empty() { vec![] } else { vec![expected.to_owned()] });
        }
        let mut job = job([8, 1, 1]);
        let sampled = Buffer { read_back: ReadBackMode::None, ..buffer(3, BufferKind::UniformTexels(rgba), 4 << 17) };
        job.launches[0].buffers = vec![sampled; 17];
        let expected = ["maxTexelBufferElements 131072 (has 65536)", "maxPerStageDescriptorSampledImages 17 (has 16)"];
        assert_eq!(missing(&job, &device()), expected);
    }
}
