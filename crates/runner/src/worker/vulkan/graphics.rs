//! Graphics pipelines: what stands around a stage that is no compute shader.
//!
//! A render pass without attachments: what a shader does it shows in buffers.

use std::collections::HashMap;

use ash::vk;

use super::failure::{Failure, InCall};
use super::layout::Layout;
use crate::job::{Launch, Pipeline};
use tangle_features::StageFlags;

/// What graphics jobs share: made for the first of them.
pub(super) struct Graphics {
    pub(super) render_pass: vk::RenderPass,
    /// By width, height and layers.
    framebuffers: HashMap<[u32; 3], vk::Framebuffer>,
    draw_mesh_tasks: vk::PFN_vkCmdDrawMeshTasksEXT,
}

/// How a launch of a graphics pipeline is recorded.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    render_pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    extent: vk::Extent2D,
    draw_mesh_tasks: vk::PFN_vkCmdDrawMeshTasksEXT,
}

impl Graphics {
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device) -> Result<Graphics, Failure> {
        let subpasses = [vk::SubpassDescription::default().pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)];
        let create_info = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
        // SAFETY: a subpass without attachments refers to nothing.
        let render_pass = unsafe { device.create_render_pass(&create_info, None) }.in_call("vkCreateRenderPass")?;
        let draw_mesh_tasks = ash::ext::mesh_shader::Device::new(instance, device).fp().cmd_draw_mesh_tasks_ext;
        Ok(Graphics { render_pass, framebuffers: HashMap::new(), draw_mesh_tasks })
    }

    /// How launches of this pipeline are recorded.
    pub(super) fn draw(&mut self, device: &ash::Device, pipeline: &Pipeline) -> Result<Draw, Failure> {
        let size @ [width, height, layers] = framebuffer_size(pipeline);
        let framebuffer = match self.framebuffers.get(&size) {
            Some(&framebuffer) => framebuffer,
            None => {
                let create_info = vk::FramebufferCreateInfo::default()
                    .render_pass(self.render_pass)
                    .width(width)
                    .height(height)
                    .layers(layers);
                // SAFETY: it has no attachments, as the render pass has none, and its extent is within the limits (check.rs).
                let created = unsafe { device.create_framebuffer(&create_info, None) };
                let framebuffer = created.in_call("vkCreateFramebuffer")?;
                self.framebuffers.insert(size, framebuffer);
                framebuffer
            }
        };
        let extent = vk::Extent2D { width, height };
        Ok(Draw { render_pass: self.render_pass, framebuffer, extent, draw_mesh_tasks: self.draw_mesh_tasks })
    }

    /// Creates a pipeline of these stages.
    pub(super) fn create_pipeline(
        &self,
        device: &ash::Device,
        pipeline: &Pipeline,
        stages: &[vk::PipelineShaderStageCreateInfo<'_>],
        flags: vk::PipelineCreateFlags,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline, Failure> {
        let [width, height, _] = framebuffer_size(pipeline);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(!pipeline.rasterises())
            .line_width(1.0);
        let viewports = [vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: width as f32,
            height: height as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        }];
        let scissors = [vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width, height } }];
        let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
        let multisample = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(samples(pipeline));
        let blend = vk::PipelineColorBlendStateCreateInfo::default();
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology(pipeline));
        let tessellation = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
        let mut create_info = vk::GraphicsPipelineCreateInfo::default()
            .flags(flags)
            .stages(stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&multisample)
            .color_blend_state(&blend)
            .layout(layout)
            .render_pass(self.render_pass);
        if topology(pipeline) == vk::PrimitiveTopology::PATCH_LIST {
            create_info = create_info.tessellation_state(&tessellation);
        }
        // SAFETY: the structures live until the call returns; the rules on subgroup sizes hold (check.rs).
        let created = unsafe { device.create_graphics_pipelines(vk::PipelineCache::null(), &[create_info], None) };
        created.map(|pipelines| pipelines[0]).map_err(|(_, result)| result).in_call("vkCreateGraphicsPipelines")
    }
}

/// What vertices are taken for.
fn topology(pipeline: &Pipeline) -> vk::PrimitiveTopology {
    match pipeline {
        Pipeline::Items(items) if items.patches => vk::PrimitiveTopology::PATCH_LIST,
        Pipeline::Items(_) => vk::PrimitiveTopology::POINT_LIST,
        Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Fragment(_) => {
            vk::PrimitiveTopology::TRIANGLE_LIST
        }
    }
}

/// Width, height and layers of the framebuffer.
fn framebuffer_size(pipeline: &Pipeline) -> [u32; 3] {
    match pipeline {
        Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Items(_) => [1; 3],
        Pipeline::Fragment(raster) => [raster.width, raster.height, raster.layers],
    }
}

/// Samples of a pixel. The number is the value of its flag.
fn samples(pipeline: &Pipeline) -> vk::SampleCountFlags {
    match pipeline {
        Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } | Pipeline::Items(_) => {
            vk::SampleCountFlags::TYPE_1
        }
        Pipeline::Fragment(raster) => vk::SampleCountFlags::from_raw(raster.samples),
    }
}

/// Records a launch of a graphics pipeline.
pub(super) fn record(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    pipeline: vk::Pipeline,
    layout: Layout,
    draw: Draw,
    launch: &Launch,
) {
    const POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;
    let stages = StageFlags::of(layout.stage).shader;
    let begin_info = vk::RenderPassBeginInfo::default()
        .render_pass(draw.render_pass)
        .framebuffer(draw.framebuffer)
        .render_area(vk::Rect2D { offset: vk::Offset2D::default(), extent: draw.extent });
    let [x, y, z] = launch.groups;
    // SAFETY: pipeline, layout, set, render pass and framebuffer belong together; counts and push constants are within the limits
    // (check.rs); the command buffer is being recorded; mesh shaders are enabled where there are any.
    unsafe {
        device.cmd_begin_render_pass(commands, &begin_info, vk::SubpassContents::INLINE);
        device.cmd_bind_pipeline(commands, POINT, pipeline);
        if layout.set != vk::DescriptorSet::null() {
            device.cmd_bind_descriptor_sets(commands, POINT, layout.pipeline, 0, &[layout.set], &[]);
        }
        if !launch.push_constants.is_empty() {
            device.cmd_push_constants(commands, layout.pipeline, stages, 0, &launch.push_constants);
        }
        if layout.stage.has_workgroups() {
            (draw.draw_mesh_tasks)(commands, x, y, z);
        } else {
            device.cmd_draw(commands, x, y, 0, 0);
        }
        device.cmd_end_render_pass(commands);
    }
}
