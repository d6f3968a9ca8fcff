//! Descriptor and pipeline layouts, kept from job to job: most jobs of a campaign have the same bindings.

use std::collections::{BTreeMap, HashMap};

use ash::vk;
use tangle_features::StageFlags;

use super::failure::{Failure, InCall};
use crate::info::DriverMode;
use crate::job::{BufferKind, Launch, ShaderStage};

/// What makes two layouts the same: the stage, push-constant bytes, and the binding and descriptor type of each buffer that has a descriptor. The elements of an array of
/// descriptors stand behind one another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    stage: ShaderStage,
    push_constants: u32,
    bindings: Vec<(u32, vk::DescriptorType)>,
}

impl Signature {
    pub(super) fn of(stage: ShaderStage, launch: &Launch) -> Signature {
        Signature {
            stage,
            push_constants: launch.push_constants.len() as u32,
            bindings: launch
                .buffers
                .iter()
                .filter_map(|buffer| Some((buffer.binding, descriptor_type(buffer.kind)?)))
                .collect(),
        }
    }
}

/// The descriptor type of a buffer; `None` if it has no descriptor.
pub(super) fn descriptor_type(kind: BufferKind) -> Option<vk::DescriptorType> {
    Some(match kind {
        BufferKind::Storage => vk::DescriptorType::STORAGE_BUFFER,
        BufferKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
        BufferKind::StorageTexels(_) => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        BufferKind::UniformTexels(_) => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        BufferKind::StorageImage(_) => vk::DescriptorType::STORAGE_IMAGE,
        BufferKind::SampledImage(_) => vk::DescriptorType::SAMPLED_IMAGE,
        BufferKind::CombinedImageSampler(_) => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        BufferKind::Sampler => vk::DescriptorType::SAMPLER,
        BufferKind::Addressed => return None,
    })
}

/// A pipeline layout and the one descriptor set that goes with it, null without bindings. The set is written anew for
/// every launch.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) stage: ShaderStage,
    pub(super) pipeline: vk::PipelineLayout,
    pub(super) set: vk::DescriptorSet,
}

/// Every layout so far.
pub(super) struct Layouts {
    mode: DriverMode,
    by_signature: HashMap<Signature, Layout>,
}

impl Layouts {
    /// No layouts yet. On a device that only compiles they will have no descriptor sets.
    pub(super) fn new(mode: DriverMode) -> Layouts {
        Layouts { mode, by_signature: HashMap::new() }
    }

    /// The layout for a launch of a stage, created when it is the first of its signature.
    pub(super) fn get(&mut self, device: &ash::Device, stage: ShaderStage, launch: &Launch) -> Result<Layout, Failure> {
        let signature = Signature::of(stage, launch);
        if let Some(&layout) = self.by_signature.get(&signature) {
            return Ok(layout);
        }
        // The objects of a layout are small and a campaign has few signatures, so none is ever destroyed.
        let layout = create(device, &signature, self.mode)?;
        self.by_signature.insert(signature, layout);
        Ok(layout)
    }
}

fn create(device: &ash::Device, signature: &Signature, mode: DriverMode) -> Result<Layout, Failure> {
    let stage_flags = StageFlags::of(signature.stage).shader;
    let bindings: Vec<_> = signature
        .bindings
        .chunk_by(|one, next| one.0 == next.0)
        .map(|array| layout_binding(array, StageFlags::with_buffers(signature.stage).shader))
        .collect();
    let create_info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the bindings are alive, of core types, and the elements of one binding stand together (check.rs).
    let set_layout =
        unsafe { device.create_descriptor_set_layout(&create_info, None) }.in_call("vkCreateDescriptorSetLayout")?;
    let set_layouts = [set_layout];
    let ranges = [vk::PushConstantRange { stage_flags, offset: 0, size: signature.push_constants }];
    let mut create_info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
    if signature.push_constants > 0 {
        create_info = create_info.push_constant_ranges(&ranges);
    }
    // SAFETY: the set layout was just created; the range is within the device's limit (check.rs).
    let pipeline = unsafe { device.create_pipeline_layout(&create_info, None) }.in_call("vkCreatePipelineLayout")?;
    let set = match mode {
        DriverMode::Execute => allocate_set(device, set_layout, signature)?,
        DriverMode::CompileOnly => vk::DescriptorSet::null(),
    };
    Ok(Layout { stage: signature.stage, pipeline, set })
}

/// The binding of an array of descriptors, `array` being its elements, at least one.
fn layout_binding(
    array: &[(u32, vk::DescriptorType)],
    stages: vk::ShaderStageFlags,
) -> vk::DescriptorSetLayoutBinding<'static> {
    let (binding, ty) = array[0];
    vk::DescriptorSetLayoutBinding::default()
        .binding(binding)
        .descriptor_type(ty)
        .descriptor_count(array.len() as u32)
        .stage_flags(stages)
}

fn allocate_set(
    device: &ash::Device,
    set_layout: vk::DescriptorSetLayout,
    signature: &Signature,
) -> Result<vk::DescriptorSet, Failure> {
    let mut counts = BTreeMap::<vk::DescriptorType, u32>::new();
    for (_, ty) in &signature.bindings {
        *counts.entry(*ty).or_default() += 1;
    }
    let size = |(ty, descriptor_count)| vk::DescriptorPoolSize { ty, descriptor_count };
    let sizes: Vec<_> = counts.into_iter().map(size).collect();
    if sizes.is_empty() {
        return Ok(vk::DescriptorSet::null());
    }
    let create_info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
    // SAFETY: every pool size is above zero.
    let pool = unsafe { device.create_descriptor_pool(&create_info, None) }.in_call("vkCreateDescriptorPool")?;
    let set_layouts = [set_layout];
    let allocate_info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set_layouts);
    // SAFETY: the pool was made for just this set.
    let sets = unsafe { device.allocate_descriptor_sets(&allocate_info) }.in_call("vkAllocateDescriptorSets")?;
    Ok(sets[0])
}
