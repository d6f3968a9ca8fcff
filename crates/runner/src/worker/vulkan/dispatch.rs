//! One launch of a compiled pipeline: buffers, commands, submission, wait, read-back.

use std::time::Instant;

use ash::vk;

use super::failure::{Failure, InCall};
use super::graphics::{self, Draw};
use super::layout::{Layout, descriptor_type};
use super::memory::{Addressing, Memory, Placement};
use super::texels::Texels;
use crate::gpu_lock::{GpuLock, Outdated};
use crate::info::DeviceType;
use crate::job::{Buffer, BufferKind, Launch, ReadBackMode};
use crate::outcome::{LaunchOutput, ReadBack, Stage, Times};
use crate::worker::progress::{Progress, micros};
use crate::worker::this_process::{ExitStatus, leave};
use tangle_features::StageFlags;

/// Queue, commands and memory, kept from launch to launch.
pub(super) struct Dispatcher {
    queue: vk::Queue,
    command_pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    memory: Memory,
    lock: GpuLock,
}

/// What all launches of a job share.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) pipeline: vk::Pipeline,
    pub(super) layout: Layout,
    /// How a graphics pipeline is launched; none for compute.
    pub(super) draw: Option<Draw>,
}

impl Dispatcher {
    pub(super) fn new(
        device: &ash::Device,
        family: u32,
        memory: vk::PhysicalDeviceMemoryProperties,
        device_type: DeviceType,
        lock: GpuLock,
    ) -> Result<Dispatcher, Failure> {
        // SAFETY: the device was created with one queue of this family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let create_info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: the family is one of the device's.
        let command_pool = unsafe { device.create_command_pool(&create_info, None) }.in_call("vkCreateCommandPool")?;
        let allocate_info = vk::CommandBufferAllocateInfo::default().command_pool(command_pool).command_buffer_count(1);
        // SAFETY: the pool was just created.
        let commands =
            unsafe { device.allocate_command_buffers(&allocate_info) }.in_call("vkAllocateCommandBuffers")?[0];
        // SAFETY: nothing is asked for that could be wrong.
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }.in_call("vkCreateFence")?;
        let memory = Memory::new(memory, placement(device_type));
        Ok(Dispatcher { queue, command_pool, commands, fence, memory, lock })
    }

    /// Runs a launch and gives what it left in its buffers.
    pub(super) fn run(
        &mut self,
        device: &ash::Device,
        work: Work,
        launch: &Launch,
        index: u32,
        times: &mut Times,
        progress: &mut Progress,
    ) -> Result<LaunchOutput, Failure> {
        progress.enter(Stage::Prepare { launch: index });
        let begin = Instant::now();
        // Lives until the launch has ended.
        let _texels = self.record(device, work, launch)?;
        times.prepare_us += micros(begin);
        let held = self.lock.hold(work.draw.is_some(), || progress.enter(Stage::Lock { launch: index }));
        let held = held.unwrap_or_else(|Outdated| leave(ExitStatus::Outdated));
        let begin = Instant::now();
        let executed = self.execute(device, index, progress);
        if executed.is_err_and(|failure| failure.result == vk::Result::ERROR_DEVICE_LOST) {
            self.lock.count_reset();
        }
        if executed.is_ok() {
            held.count_launch();
        }
        drop(held);
        executed?;
        times.submit_wait_us += micros(begin);
        progress.enter(Stage::ReadBack { launch: index });
        let begin = Instant::now();
        let output = self.read_back(device, launch);
        times.read_back_us += micros(begin);
        Ok(output)
    }

    /// Submits what was recorded, and waits until it has ended.
    fn execute(&self, device: &ash::Device, index: u32, progress: &mut Progress) -> Result<(), Failure> {
        progress.enter(Stage::Submit { launch: index });
        let commands = [self.commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the command buffer is recorded and the fence is not in use.
        unsafe { device.queue_submit(self.queue, &submit, self.fence) }.in_call("vkQueueSubmit")?;
        progress.enter(Stage::Wait { launch: index });
        self.wait(device)
    }

    fn record<'a>(&mut self, device: &'a ash::Device, work: Work, launch: &Launch) -> Result<Texels<'a>, Failure> {
        for (index, buffer) in launch.buffers.iter().enumerate() {
            let addressing = match buffer.kind {
                BufferKind::Addressed => Addressing::Device,
                _ => Addressing::None,
            };
            self.memory.reserve(device, index, buffer.init.words(), addressing)?;
        }
        let placed;
        let launch = if launch.addresses.is_empty() {
            launch
        } else {
            placed = launch.placed(&self.addresses(device, launch));
            &placed
        };
        let texels = Texels::new(device, &self.memory, launch)?;
        self.write_descriptors(device, launch, &texels, work.layout.set);
        let commands = self.commands;
        // SAFETY: nothing recorded from this pool is being executed.
        unsafe { device.reset_command_pool(self.command_pool, vk::CommandPoolResetFlags::empty()) }
            .in_call("vkResetCommandPool")?;
        let begin_info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer was just reset.
        unsafe { device.begin_command_buffer(commands, &begin_info) }.in_call("vkBeginCommandBuffer")?;
        for (index, buffer) in launch.buffers.iter().enumerate() {
            // A sampler has no contents.
            if buffer.init.words() > 0 {
                self.memory.fill(device, commands, index, &buffer.init);
            }
        }
        let placement = self.memory.placement();
        let shader = Side { stage: StageFlags::with_buffers(work.layout.stage).pipeline, ..SHADER };
        if placement == Placement::Staged && texels.has_images(launch) {
            barrier(device, commands, FILLED, FETCH);
        }
        texels.fill(commands, &self.memory, launch, shader.stage);
        if placement == Placement::Staged {
            barrier(device, commands, FILLED, shader);
        }
        match work.draw {
            None => record_dispatch(device, commands, work, launch),
            Some(draw) => graphics::record(device, commands, work.pipeline, work.layout, draw, launch),
        }
        texels.fetch(commands, &self.memory, launch, shader.stage);
        let has_images = texels.has_images(launch);
        match placement {
            Placement::Shared => {
                barrier(device, commands, shader, HOST);
                if has_images {
                    barrier(device, commands, FILLED, HOST);
                }
            }
            Placement::Staged => {
                if has_images {
                    barrier(device, commands, FILLED, FETCH);
                }
                self.record_downloads(device, launch, shader);
            }
        }
        // SAFETY: recording began above.
        unsafe { device.end_command_buffer(commands) }.in_call("vkEndCommandBuffer")?;
        Ok(texels)
    }

    fn record_downloads(&self, device: &ash::Device, launch: &Launch, shader: Side) {
        barrier(device, self.commands, shader, FETCH);
        for (index, buffer) in launch.buffers.iter().enumerate() {
            if buffer.read_back != ReadBackMode::None {
                self.memory.slot(index).record_download(device, self.commands);
            }
        }
        barrier(device, self.commands, FILLED, HOST);
    }

    fn write_descriptors(&self, device: &ash::Device, launch: &Launch, texels: &Texels<'_>, set: vk::DescriptorSet) {
        let infos: Vec<_> = (0..launch.buffers.len())
            .map(|index| {
                let view = texels.view(index);
                let image = vk::DescriptorImageInfo {
                    sampler: view.sampler,
                    image_view: view.view,
                    image_layout: vk::ImageLayout::GENERAL,
                };
                ([self.memory.slot(index).descriptor()], [view.texels], [image])
            })
            .collect();
        let writes: Vec<_> = launch
            .buffers
            .iter()
            .enumerate()
            .zip(&infos)
            .filter_map(|((index, buffer), (range, view, image))| {
                let is_one =
                    |earlier: &&Buffer| earlier.binding == buffer.binding && earlier.kind != BufferKind::Addressed;
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(buffer.binding)
                    .dst_array_element(launch.buffers[..index].iter().filter(is_one).count() as u32)
                    .descriptor_type(descriptor_type(buffer.kind)?);
                Some(match buffer.kind {
                    BufferKind::Storage | BufferKind::Uniform => write.buffer_info(range),
                    BufferKind::StorageTexels(_) | BufferKind::UniformTexels(_) => write.texel_buffer_view(view),
                    BufferKind::StorageImage(_)
                    | BufferKind::SampledImage(_)
                    | BufferKind::CombinedImageSampler(_)
                    | BufferKind::Sampler => write.image_info(image),
                    BufferKind::Addressed => return None,
                })
            })
            .collect();
        // SAFETY: the set is not in use by the device, and its layout has these bindings.
        unsafe { device.update_descriptor_sets(&writes, &[]) };
    }

    fn wait(&self, device: &ash::Device) -> Result<(), Failure> {
        let fences = [self.fence];
        // How long is too long is for the parent to say, which sees what this process and the device have used up.
        // SAFETY: the fence is the one that was submitted.
        unsafe { device.wait_for_fences(&fences, true, u64::MAX) }.in_call("vkWaitForFences")?;
        // SAFETY: the submission has finished.
        unsafe { device.reset_fences(&fences) }.in_call("vkResetFences")
    }

    /// The device addresses of the buffers of a launch that have one.
    fn addresses(&self, device: &ash::Device, launch: &Launch) -> Vec<u64> {
        launch.addressed().map(|index| self.memory.slot(index).address(device)).collect()
    }

    fn read_back(&self, device: &ash::Device, launch: &Launch) -> LaunchOutput {
        let read = launch.buffers.iter().enumerate().filter_map(|(index, buffer)| {
            let contents = || self.memory.slot(index).contents();
            match buffer.read_back {
                ReadBackMode::None => None,
                ReadBackMode::Whole => Some(ReadBack::trimmed(contents(), None)),
                ReadBackMode::Slices(words) => Some(ReadBack::trimmed(contents(), Some(words))),
            }
        });
        LaunchOutput { buffers: read.collect(), addresses: self.addresses(device, launch) }
    }
}

/// Environment variable of a worker that chooses where shaders work: `shared` or `staged`; for tests, and for devices
/// that are wrong about their type.
const PLACEMENT_VARIABLE: &str = "TANGLE_WORKER_MEMORY";

fn placement(device_type: DeviceType) -> Placement {
    match (std::env::var(PLACEMENT_VARIABLE).as_deref(), device_type) {
        (Ok("shared"), _) => Placement::Shared,
        (Ok("staged"), _) => Placement::Staged,
        (_, DeviceType::Cpu | DeviceType::IntegratedGpu) => Placement::Shared,
        _ => Placement::Staged,
    }
}

fn record_dispatch(device: &ash::Device, commands: vk::CommandBuffer, work: Work, launch: &Launch) {
    const POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;
    let Work { pipeline, layout, .. } = work;
    let [x, y, z] = launch.groups;
    // SAFETY: pipeline, layout and set belong together; group counts and push constants are within the limits (check.rs);
    // the command buffer is being recorded.
    unsafe {
        device.cmd_bind_pipeline(commands, POINT, pipeline);
        if layout.set != vk::DescriptorSet::null() {
            device.cmd_bind_descriptor_sets(commands, POINT, layout.pipeline, 0, &[layout.set], &[]);
        }
        if !launch.push_constants.is_empty() {
            let stages = vk::ShaderStageFlags::COMPUTE;
            device.cmd_push_constants(commands, layout.pipeline, stages, 0, &launch.push_constants);
        }
        device.cmd_dispatch(commands, x, y, z);
    }
}

/// One side of a memory barrier.
#[derive(Clone, Copy)]
struct Side {
    stage: vk::PipelineStageFlags,
    access: vk::AccessFlags,
}

/// Copies and fills that write.
const FILLED: Side = Side { stage: vk::PipelineStageFlags::TRANSFER, access: vk::AccessFlags::TRANSFER_WRITE };
/// A compute shader, which reads and writes; another stage does so in its own.
const SHADER: Side = Side {
    stage: vk::PipelineStageFlags::COMPUTE_SHADER,
    access: vk::AccessFlags::from_raw(
        vk::AccessFlags::SHADER_READ.as_raw()
            | vk::AccessFlags::SHADER_WRITE.as_raw()
            | vk::AccessFlags::UNIFORM_READ.as_raw(),
    ),
};
/// Copies that read what shaders wrote.
const FETCH: Side = Side { stage: vk::PipelineStageFlags::TRANSFER, access: vk::AccessFlags::TRANSFER_READ };
/// This program, which reads mapped memory.
const HOST: Side = Side { stage: vk::PipelineStageFlags::HOST, access: vk::AccessFlags::HOST_READ };

/// Everything `before` did is there for `after` (rule Y8: a fence alone does not make writes visible to the
/// host).
fn barrier(device: &ash::Device, commands: vk::CommandBuffer, before: Side, after: Side) {
    let memory = [vk::MemoryBarrier::default().src_access_mask(before.access).dst_access_mask(after.access)];
    let none = vk::DependencyFlags::empty();
    // SAFETY: the command buffer is being recorded, and the accesses belong to their stages.
    unsafe { device.cmd_pipeline_barrier(commands, before.stage, after.stage, none, &memory, &[], &[]) };
}
