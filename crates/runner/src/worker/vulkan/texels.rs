//! What stands between texels and their descriptors for one launch: views of buffers, and images.

use ash::vk;

use super::failure::{Failure, InCall};
use super::memory::Memory;
use crate::job::{BufferKind, Init, Launch};

/// The format of all texels: storage images and storage texel buffers have it on every device (Vulkan, "Required Format Support").
const FORMAT: vk::Format = vk::Format::R32_UINT;

const WHOLE_IMAGE: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: 1,
    base_array_layer: 0,
    layer_count: 1,
};

/// The texels of a launch. What is made here is destroyed with it, so that it has to live until the launch has ended.
pub(super) struct Texels<'a> {
    device: &'a ash::Device,
    /// By buffer of the launch: what its descriptor names.
    views: Vec<View>,
}

/// What the descriptor of a buffer names besides the buffer itself.
#[derive(Clone, Copy)]
pub(super) enum View {
    None,
    Buffer(vk::BufferView),
    Image { image: vk::Image, memory: vk::DeviceMemory, view: vk::ImageView },
}

impl<'a> Texels<'a> {
    /// Makes the views and images of a launch, whose buffers have been reserved.
    pub(super) fn new(device: &'a ash::Device, memory: &Memory, launch: &Launch) -> Result<Texels<'a>, Failure> {
        let mut texels = Texels { device, views: Vec::with_capacity(launch.buffers.len()) };
        for (index, buffer) in launch.buffers.iter().enumerate() {
            match buffer.kind {
                BufferKind::Storage | BufferKind::Uniform => texels.views.push(View::None),
                BufferKind::StorageTexels => {
                    let range = memory.slot(index).descriptor();
                    let create_info = vk::BufferViewCreateInfo::default()
                        .buffer(range.buffer)
                        .format(FORMAT)
                        .offset(0)
                        .range(range.range);
                    // SAFETY: the buffer was made for this use and has that many bytes, a multiple of a texel's.
                    let view = unsafe { device.create_buffer_view(&create_info, None) };
                    texels.views.push(View::Buffer(view.in_call("vkCreateBufferView")?));
                }
                BufferKind::StorageImage => texels.add_image(memory)?,
            }
        }
        Ok(texels)
    }

    fn add_image(&mut self, memory: &Memory) -> Result<(), Failure> {
        let create_info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(FORMAT)
            .extent(vk::Extent3D { width: 1, height: 1, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_DST);
        // SAFETY: every device supports such an image.
        let image = unsafe { self.device.create_image(&create_info, None) }.in_call("vkCreateImage")?;
        let at = self.views.len();
        self.views.push(View::Image { image, memory: vk::DeviceMemory::null(), view: vk::ImageView::null() });
        // SAFETY: the image was just created.
        let requirements = unsafe { self.device.get_image_memory_requirements(image) };
        let memory = memory.allocate_for_image(self.device, &requirements)?;
        self.views[at] = View::Image { image, memory, view: vk::ImageView::null() };
        // SAFETY: the memory was made for the image.
        unsafe { self.device.bind_image_memory(image, memory, 0) }.in_call("vkBindImageMemory")?;
        let create_info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(FORMAT)
            .subresource_range(WHOLE_IMAGE);
        // SAFETY: the image is bound and has this format.
        let view = unsafe { self.device.create_image_view(&create_info, None) }.in_call("vkCreateImageView")?;
        self.views[at] = View::Image { image, memory, view };
        Ok(())
    }

    /// The view of a buffer of the launch.
    pub(super) fn view(&self, index: usize) -> View {
        self.views[index]
    }

    /// Records what puts the images' texels in place, and makes them ready for a stage.
    pub(super) fn fill(&self, commands: vk::CommandBuffer, launch: &Launch, stage: vk::PipelineStageFlags) {
        for (buffer, view) in launch.buffers.iter().zip(&self.views) {
            let (Init::Data(words), View::Image { image, .. }) = (&buffer.init, view) else { continue };
            let texel = words.first().copied().unwrap_or(0);
            let of_image = vk::ImageMemoryBarrier::default()
                .image(*image)
                .subresource_range(WHOLE_IMAGE)
                .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED);
            let cleared = of_image
                .old_layout(vk::ImageLayout::UNDEFINED)
                .new_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
                .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE);
            let ready = of_image
                .old_layout(vk::ImageLayout::TRANSFER_DST_OPTIMAL)
                .new_layout(vk::ImageLayout::GENERAL)
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                .dst_access_mask(vk::AccessFlags::SHADER_READ);
            let color = vk::ClearColorValue { uint32: [texel, 0, 0, 0] };
            let (top, transfer) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::TRANSFER);
            let flags = vk::DependencyFlags::empty();
            // SAFETY: the image is this launch's own; the command buffer is being recorded, outside of any render pass.
            unsafe {
                self.device.cmd_pipeline_barrier(commands, top, transfer, flags, &[], &[], &[cleared]);
                let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
                self.device.cmd_clear_color_image(commands, *image, layout, &color, &[WHOLE_IMAGE]);
                self.device.cmd_pipeline_barrier(commands, transfer, stage, flags, &[], &[], &[ready]);
            }
        }
    }
}

impl Drop for Texels<'_> {
    fn drop(&mut self) {
        for view in &self.views {
            // SAFETY: the launch has ended, or was never submitted; null is nothing to destroy.
            unsafe {
                match *view {
                    View::None => {}
                    View::Buffer(view) => self.device.destroy_buffer_view(view, None),
                    View::Image { image, memory, view } => {
                        self.device.destroy_image_view(view, None);
                        self.device.destroy_image(image, None);
                        self.device.free_memory(memory, None);
                    }
                }
            }
        }
    }
}
