//! What stands between texels and their descriptors for one launch: views of buffers, images and samplers.

use ash::vk;

use super::failure::{Failure, InCall};
use super::memory::Memory;
use crate::job::{Buffer, BufferKind, Job, Launch, ReadBackMode};
use crate::texel::{Image, TexelFormat};

/// The texels of a launch. What is made here is destroyed with it, so that it has to live until the launch has ended.
pub(super) struct Texels<'a> {
    device: &'a ash::Device,
    /// By buffer of the launch: what its descriptor names.
    views: Vec<View>,
}

/// What the descriptor of a buffer names besides the buffer itself. What it does not name is null.
#[derive(Clone, Copy, Default)]
pub(super) struct View {
    pub(super) texels: vk::BufferView,
    image: vk::Image,
    memory: vk::DeviceMemory,
    pub(super) view: vk::ImageView,
    pub(super) sampler: vk::Sampler,
}

impl<'a> Texels<'a> {
    /// Makes the views, images and samplers of a launch, whose buffers have been reserved.
    pub(super) fn new(device: &'a ash::Device, memory: &Memory, launch: &Launch) -> Result<Texels<'a>, Failure> {
        let mut texels = Texels { device, views: Vec::with_capacity(launch.buffers.len()) };
        for (index, buffer) in launch.buffers.iter().enumerate() {
            texels.views.push(View::default());
            match buffer.kind {
                BufferKind::Storage | BufferKind::Uniform | BufferKind::Addressed => {}
                BufferKind::StorageTexels(format) | BufferKind::UniformTexels(format) => {
                    texels.view_buffer(memory, index, format)?;
                }
                BufferKind::StorageImage(image) | BufferKind::SampledImage(image) => {
                    texels.add_image(memory, index, buffer, &image)?;
                }
                BufferKind::CombinedImageSampler(image) => {
                    texels.add_image(memory, index, buffer, &image)?;
                    texels.add_sampler(index)?;
                }
                BufferKind::Sampler => texels.add_sampler(index)?,
            }
        }
        Ok(texels)
    }

    fn view_buffer(&mut self, memory: &Memory, index: usize, format: TexelFormat) -> Result<(), Failure> {
        let range = memory.slot(index).descriptor();
        let create_info = vk::BufferViewCreateInfo::default()
            .buffer(range.buffer)
            .format(format.vulkan())
            .offset(0)
            .range(range.range);
        // SAFETY: the buffer was made for this use and has that many bytes, a multiple of a texel's (check.rs); the device has such texel buffers
        // of the format (`missing`).
        let view = unsafe { self.device.create_buffer_view(&create_info, None) };
        self.views[index].texels = view.in_call("vkCreateBufferView")?;
        Ok(())
    }

    fn add_image(&mut self, memory: &Memory, index: usize, buffer: &Buffer, image: &Image) -> Result<(), Failure> {
        let Image { format, view, extent: [width, height, depth], layers } = *image;
        let create_info = vk::ImageCreateInfo::default()
            .flags(flags(image))
            .image_type(view.image_type())
            .format(format.vulkan())
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(1)
            .array_layers(layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage(buffer));
        let this = &mut self.views[index];
        // SAFETY: the device supports such an image (`missing`), whose shape its view can have (check.rs).
        this.image = unsafe { self.device.create_image(&create_info, None) }.in_call("vkCreateImage")?;
        // SAFETY: the image was just created.
        let requirements = unsafe { self.device.get_image_memory_requirements(this.image) };
        this.memory = memory.allocate_for_image(self.device, &requirements)?;
        // SAFETY: the memory was made for the image.
        unsafe { self.device.bind_image_memory(this.image, this.memory, 0) }.in_call("vkBindImageMemory")?;
        let create_info = vk::ImageViewCreateInfo::default()
            .image(this.image)
            .view_type(view.vulkan())
            .format(format.vulkan())
            .subresource_range(whole(layers));
        // SAFETY: the image is bound, has this format and these layers, and is of a type that fits the view's.
        this.view = unsafe { self.device.create_image_view(&create_info, None) }.in_call("vkCreateImageView")?;
        Ok(())
    }

    /// What is sampled is open to whoever compares, so that any sampler will do; this one may be used with every format.
    fn add_sampler(&mut self, index: usize) -> Result<(), Failure> {
        let create_info = vk::SamplerCreateInfo::default()
            .mag_filter(vk::Filter::NEAREST)
            .min_filter(vk::Filter::NEAREST)
            .mipmap_mode(vk::SamplerMipmapMode::NEAREST)
            .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE);
        // SAFETY: nothing is asked for that needs a feature.
        let sampler = unsafe { self.device.create_sampler(&create_info, None) };
        self.views[index].sampler = sampler.in_call("vkCreateSampler")?;
        Ok(())
    }

    /// What the descriptor of a buffer of the launch names.
    pub(super) fn view(&self, index: usize) -> View {
        self.views[index]
    }

    /// The images of a launch, by their buffers.
    fn images<'b>(&'b self, launch: &'b Launch) -> impl Iterator<Item = (usize, &'b Buffer, Image, vk::Image)> {
        let buffers = launch.buffers.iter().zip(&self.views).enumerate();
        buffers.filter_map(|(index, (buffer, view))| Some((index, buffer, *buffer.kind.image()?, view.image)))
    }

    /// True if the launch has images.
    pub(super) fn has_images(&self, launch: &Launch) -> bool {
        self.images(launch).next().is_some()
    }

    /// Records what puts the images' texels in place, which are in their buffers, and makes them ready for a stage.
    pub(super) fn fill(
        &self,
        commands: vk::CommandBuffer,
        memory: &Memory,
        launch: &Launch,
        stage: vk::PipelineStageFlags,
    ) {
        for (index, _, shape, image) in self.images(launch) {
            let of_image = transition(image, &shape);
            let empty = of_image
                .old_layout(vk::ImageLayout::UNDEFINED)
                .new_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
                .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE);
            let ready = of_image
                .old_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
                .new_layout(vk::ImageLayout::GENERAL)
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
            let (top, transfer) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::TRANSFER);
            let flags = vk::DependencyFlags::empty();
            let buffer = memory.slot(index).descriptor().buffer;
            let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
            // SAFETY: the image is this launch's own, and its buffer has all its texels (check.rs); the command buffer is being recorded, outside of
            // any render pass.
            unsafe {
                self.device.cmd_pipeline_barrier(commands, top, transfer, flags, &[], &[], &[empty]);
                self.device.cmd_copy_buffer_to_image(commands, buffer, image, layout, &[all_texels(&shape)]);
                self.device.cmd_pipeline_barrier(commands, transfer, stage, flags, &[], &[], &[ready]);
            }
        }
    }

    /// Records what takes texels that a stage may have written back into their buffers, if they are read back.
    pub(super) fn fetch(
        &self,
        commands: vk::CommandBuffer,
        memory: &Memory,
        launch: &Launch,
        stage: vk::PipelineStageFlags,
    ) {
        for (index, _, shape, image) in
            self.images(launch).filter(|(_, buffer, ..)| buffer.read_back != ReadBackMode::None)
        {
            let written = transition(image, &shape)
                .old_layout(vk::ImageLayout::GENERAL)
                .new_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)
                .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                .dst_access_mask(vk::AccessFlags::TRANSFER_READ);
            let buffer = memory.slot(index).descriptor().buffer;
            let (transfer, flags) = (vk::PipelineStageFlags::TRANSFER, vk::DependencyFlags::empty());
            let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
            // SAFETY: as in `fill`; the image was made to be copied from (`usage`).
            unsafe {
                self.device.cmd_pipeline_barrier(commands, stage, transfer, flags, &[], &[], &[written]);
                self.device.cmd_copy_image_to_buffer(commands, image, layout, buffer, &[all_texels(&shape)]);
            }
        }
    }
}

impl Drop for Texels<'_> {
    fn drop(&mut self) {
        for View { texels, image, memory, view, sampler } in &self.views {
            // SAFETY: the launch has ended, or was never submitted; null is nothing to destroy.
            unsafe {
                self.device.destroy_buffer_view(*texels, None);
                self.device.destroy_image_view(*view, None);
                self.device.destroy_image(*image, None);
                self.device.free_memory(*memory, None);
                self.device.destroy_sampler(*sampler, None);
            }
        }
    }
}

const fn whole(layers: u32) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        base_mip_level: 0,
        level_count: 1,
        base_array_layer: 0,
        layer_count: layers,
    }
}

fn transition(image: vk::Image, shape: &Image) -> vk::ImageMemoryBarrier<'static> {
    vk::ImageMemoryBarrier::default()
        .image(image)
        .subresource_range(whole(shape.layers))
        .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
}

/// All texels, without gaps between them in the buffer.
fn all_texels(shape: &Image) -> vk::BufferImageCopy {
    let [width, height, depth] = shape.extent;
    vk::BufferImageCopy {
        image_subresource: vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: shape.layers,
        },
        image_extent: vk::Extent3D { width, height, depth },
        ..vk::BufferImageCopy::default()
    }
}

fn flags(shape: &Image) -> vk::ImageCreateFlags {
    if shape.view.is_cube() { vk::ImageCreateFlags::CUBE_COMPATIBLE } else { vk::ImageCreateFlags::empty() }
}

fn usage(buffer: &Buffer) -> vk::ImageUsageFlags {
    let by_shader = match buffer.kind {
        BufferKind::StorageImage(_) => vk::ImageUsageFlags::STORAGE,
        _ => vk::ImageUsageFlags::SAMPLED,
    };
    let back = match buffer.read_back {
        ReadBackMode::None => vk::ImageUsageFlags::empty(),
        ReadBackMode::Whole | ReadBackMode::Slices(_) => vk::ImageUsageFlags::TRANSFER_SRC,
    };
    by_shader | vk::ImageUsageFlags::TRANSFER_DST | back
}

/// The formats, and the extents of images of them, that a device lacks for a job.
pub(super) fn missing(instance: &ash::Instance, device: vk::PhysicalDevice, job: &Job) -> Vec<String> {
    let buffers = || job.launches.iter().flat_map(|launch| &launch.buffers);
    let mut missing = Vec::new();
    for buffer in buffers() {
        let atomics = job.texel_atomics.contains(&buffer.binding);
        let (format, wanted, what) = match buffer.kind {
            BufferKind::StorageTexels(format) if atomics => {
                (format, vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER_ATOMIC, "storage texel buffers with atomics")
            }
            BufferKind::StorageTexels(format) => {
                (format, vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER, "storage texel buffers")
            }
            BufferKind::UniformTexels(format) => {
                (format, vk::FormatFeatureFlags::UNIFORM_TEXEL_BUFFER, "uniform texel buffers")
            }
            BufferKind::StorageImage(image) if atomics => {
                (image.format, vk::FormatFeatureFlags::STORAGE_IMAGE_ATOMIC, "storage images with atomics")
            }
            BufferKind::StorageImage(image) => (image.format, vk::FormatFeatureFlags::STORAGE_IMAGE, "storage images"),
            BufferKind::SampledImage(image) | BufferKind::CombinedImageSampler(image) => {
                (image.format, vk::FormatFeatureFlags::SAMPLED_IMAGE, "sampled images")
            }
            BufferKind::Storage | BufferKind::Uniform | BufferKind::Sampler | BufferKind::Addressed => continue,
        };
        // SAFETY: the physical device is of this instance, and the format one of the core (check.rs).
        let has = unsafe { instance.get_physical_device_format_properties(device, format.vulkan()) };
        let has = if buffer.kind.image().is_some() { has.optimal_tiling_features } else { has.buffer_features };
        if !has.contains(wanted) {
            missing.push(format!("{what} of {format}"));
        } else if let Some(image) = buffer.kind.image() {
            missing.extend(missing_extent(instance, device, image, buffer, what));
        }
    }
    missing.sort();
    missing.dedup();
    missing
}

fn missing_extent(
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
    image: &Image,
    buffer: &Buffer,
    what: &str,
) -> Option<String> {
    let Image { format, view, extent: [width, height, depth], layers } = *image;
    let (ty, tiling) = (view.image_type(), vk::ImageTiling::OPTIMAL);
    // SAFETY: the physical device is of this instance, and the rest are values of the core.
    let most = unsafe {
        instance.get_physical_device_image_format_properties(
            device,
            format.vulkan(),
            ty,
            tiling,
            usage(buffer),
            flags(image),
        )
    };
    let Ok(most) = most else { return Some(format!("{what} of {format} as {view}")) };
    let has = [most.max_extent.width, most.max_extent.height, most.max_extent.depth, most.max_array_layers];
    let fits = [width, height, depth, layers].iter().zip(&has).all(|(side, most)| side <= most);
    let [w, h, d, most_layers] = has;
    (!fits).then(|| format!("an image {image} (has {w}x{h}x{d}, {most_layers} layers)"))
}
