//! One job, stage by stage.

use std::time::Instant;

use ash::vk;

use super::layout::{Layout, descriptor_type};
use super::memory::Placement;
use super::session::Session;
use super::{Failure, FromCall, result_name};
use crate::check;
use crate::job::{Completed, Job, Launch, LaunchOutput, Optimisation, Outcome, ReadBack, ReadBackMode, Stage, Times};

/// Objects that belong to one job.
#[derive(Default)]
struct Objects {
    module: vk::ShaderModule,
    pipeline: vk::Pipeline,
}

/// Announces stages and remembers the present one.
struct Progress<'a> {
    announce: &'a mut dyn FnMut(Stage),
    stage: Stage,
}

impl Progress<'_> {
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        (self.announce)(stage);
    }
}

/// Microseconds since an instant.
fn micros(since: Instant) -> u64 {
    since.elapsed().as_micros() as u64
}

impl Session {
    /// Runs a job; calls `announce` before each stage.
    pub(super) fn run(&mut self, job: &Job, announce: &mut dyn FnMut(Stage)) -> Outcome {
        let begin = Instant::now();
        let mut progress = Progress { announce, stage: Stage::Check };
        progress.enter(Stage::Check);
        let problems = check::problems(job);
        if !problems.is_empty() {
            return Outcome::Invalid { problems };
        }
        let missing = check::missing(job, &self.info);
        if !missing.is_empty() {
            return Outcome::Unsupported { missing };
        }
        let mut objects = Objects::default();
        let mut completed = Completed::default();
        if let Err(failure) = self.execute(job, &mut objects, &mut completed, &mut progress) {
            let outcome = failed(failure, progress.stage, begin);
            // What the device may still be using must not be destroyed; the parent replaces this worker.
            if failure.result != vk::Result::TIMEOUT {
                self.destroy(&objects);
            }
            return outcome;
        }
        progress.enter(Stage::Cleanup);
        let cleanup = Instant::now();
        self.destroy(&objects);
        completed.times.cleanup_us = micros(cleanup);
        completed.times.total_us = micros(begin);
        Outcome::Completed(completed)
    }

    fn execute(
        &mut self,
        job: &Job,
        objects: &mut Objects,
        completed: &mut Completed,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        progress.enter(Stage::Module);
        let layout = self.layouts.get(&self.device, &job.launches[0])?;
        let begin = Instant::now();
        let create_info = vk::ShaderModuleCreateInfo::default().code(&job.spirv);
        // SAFETY: the module needs nothing that the device lacks (check.rs), and the parent has validated it.
        objects.module =
            unsafe { self.device.create_shader_module(&create_info, None) }.from_call("vkCreateShaderModule")?;
        completed.times.module_us = micros(begin);
        progress.enter(Stage::Pipeline);
        let begin = Instant::now();
        objects.pipeline = self.create_pipeline(job, objects.module, layout.pipeline)?;
        completed.times.pipeline_us = micros(begin);
        if self.executes() {
            for (index, launch) in job.launches.iter().enumerate() {
                let output =
                    self.launch(launch, index as u32, objects.pipeline, layout, &mut completed.times, progress)?;
                completed.launches.push(output);
            }
        }
        Ok(())
    }

    fn create_pipeline(
        &self,
        job: &Job,
        module: vk::ShaderModule,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline, Failure> {
        let entries: Vec<_> = (0u32..)
            .zip(&job.specialization)
            .map(|(index, &(id, _))| vk::SpecializationMapEntry { constant_id: id, offset: index * 4, size: 4 })
            .collect();
        let values: Vec<u8> = job.specialization.iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&values);
        let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(job.required_subgroup_size.unwrap_or(0));
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .flags(stage_flags(job))
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&specialization);
        if job.required_subgroup_size.is_some() {
            stage = stage.push_next(&mut required);
        }
        let flags = match job.optimisation {
            Optimisation::Default => vk::PipelineCreateFlags::empty(),
            Optimisation::Disabled => vk::PipelineCreateFlags::DISABLE_OPTIMIZATION,
        };
        let create_info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout);
        // SAFETY: the structures live until the call returns; the rules on subgroup sizes hold (check.rs).
        let created =
            unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &[create_info], None) };
        created.map(|pipelines| pipelines[0]).map_err(|(_, result)| result).from_call("vkCreateComputePipelines")
    }

    fn launch(
        &mut self,
        launch: &Launch,
        index: u32,
        pipeline: vk::Pipeline,
        layout: Layout,
        times: &mut Times,
        progress: &mut Progress,
    ) -> Result<LaunchOutput, Failure> {
        progress.enter(Stage::Prepare { launch: index });
        let begin = Instant::now();
        self.record(launch, pipeline, layout)?;
        times.prepare_us += micros(begin);
        progress.enter(Stage::Submit { launch: index });
        let begin = Instant::now();
        let commands = [self.commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the command buffer is recorded and the fence is not in use.
        unsafe { self.device.queue_submit(self.queue, &submit, self.fence) }.from_call("vkQueueSubmit")?;
        progress.enter(Stage::Wait { launch: index });
        self.wait()?;
        times.submit_wait_us += micros(begin);
        progress.enter(Stage::ReadBack { launch: index });
        let begin = Instant::now();
        let output = self.read_back(launch);
        times.read_back_us += micros(begin);
        Ok(output)
    }

    fn record(&mut self, launch: &Launch, pipeline: vk::Pipeline, layout: Layout) -> Result<(), Failure> {
        for (index, buffer) in launch.buffers.iter().enumerate() {
            self.memory.reserve(&self.device, index, buffer.init.words())?;
        }
        self.write_descriptors(launch, layout.set);
        let device = &self.device;
        let commands = self.commands;
        // SAFETY: nothing recorded from this pool is being executed.
        unsafe { device.reset_command_pool(self.command_pool, vk::CommandPoolResetFlags::empty()) }
            .from_call("vkResetCommandPool")?;
        let begin_info =
            vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the command buffer was just reset.
        unsafe { device.begin_command_buffer(commands, &begin_info) }.from_call("vkBeginCommandBuffer")?;
        for (index, buffer) in launch.buffers.iter().enumerate() {
            self.memory.fill(device, commands, index, &buffer.init);
        }
        let staged = self.memory.placement() == Placement::Staged;
        if staged {
            barrier(device, commands, FILLED, SHADER);
        }
        // SAFETY: pipeline, layout and set belong together; group counts and push constants are within the limits
        // (check.rs).
        unsafe {
            device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
            if layout.set != vk::DescriptorSet::null() {
                let sets = [layout.set];
                let point = vk::PipelineBindPoint::COMPUTE;
                device.cmd_bind_descriptor_sets(commands, point, layout.pipeline, 0, &sets, &[]);
            }
            if !launch.push_constants.is_empty() {
                let stages = vk::ShaderStageFlags::COMPUTE;
                device.cmd_push_constants(commands, layout.pipeline, stages, 0, &launch.push_constants);
            }
            let [x, y, z] = launch.groups;
            device.cmd_dispatch(commands, x, y, z);
        }
        if staged {
            barrier(device, commands, SHADER, FETCH);
            for (index, _) in launch.buffers.iter().enumerate().filter(|(_, buffer)| reads_back(buffer.read_back)) {
                self.memory.slot(index).record_download(device, commands);
            }
            barrier(device, commands, FILLED, HOST);
        } else {
            barrier(device, commands, SHADER, HOST);
        }
        // SAFETY: recording began above.
        unsafe { device.end_command_buffer(commands) }.from_call("vkEndCommandBuffer")
    }

    fn write_descriptors(&self, launch: &Launch, set: vk::DescriptorSet) {
        let infos: Vec<_> = (0..launch.buffers.len()).map(|index| [self.memory.slot(index).descriptor()]).collect();
        let writes: Vec<_> = launch
            .buffers
            .iter()
            .zip(&infos)
            .map(|(buffer, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(buffer.binding)
                    .descriptor_type(descriptor_type(buffer.kind))
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: the set is not in use by the device, and its layout has these bindings.
        unsafe { self.device.update_descriptor_sets(&writes, &[]) };
    }

    fn wait(&self) -> Result<(), Failure> {
        let fences = [self.fence];
        let limit = u64::try_from(self.wait_limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the fence is the one that was submitted.
        unsafe { self.device.wait_for_fences(&fences, true, limit) }.from_call("vkWaitForFences")?;
        // SAFETY: the submission has finished.
        unsafe { self.device.reset_fences(&fences) }.from_call("vkResetFences")
    }

    fn read_back(&self, launch: &Launch) -> LaunchOutput {
        let read = launch.buffers.iter().enumerate().filter_map(|(index, buffer)| {
            let contents = || self.memory.slot(index).contents();
            match buffer.read_back {
                ReadBackMode::None => None,
                ReadBackMode::Whole => Some(ReadBack::trimmed(contents(), None)),
                ReadBackMode::Slices(words) => Some(ReadBack::trimmed(contents(), Some(words))),
            }
        });
        LaunchOutput { buffers: read.collect() }
    }

    fn destroy(&self, objects: &Objects) {
        // SAFETY: the device is idle, and either handle may be null.
        unsafe {
            self.device.destroy_pipeline(objects.pipeline, None);
            self.device.destroy_shader_module(objects.module, None);
        }
    }
}

fn reads_back(mode: ReadBackMode) -> bool {
    mode != ReadBackMode::None
}

fn stage_flags(job: &Job) -> vk::PipelineShaderStageCreateFlags {
    let mut flags = vk::PipelineShaderStageCreateFlags::empty();
    if job.subgroup_flags.require_full {
        flags |= vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS;
    }
    if job.subgroup_flags.allow_varying_size {
        flags |= vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE;
    }
    flags
}

fn failed(failure: Failure, stage: Stage, begin: Instant) -> Outcome {
    match failure.result {
        vk::Result::ERROR_DEVICE_LOST => Outcome::DeviceLost { stage },
        vk::Result::TIMEOUT => Outcome::TimedOut { stage, after: begin.elapsed(), last_words: String::new() },
        result => Outcome::VulkanError { call: failure.call.to_owned(), result: result_name(result), stage },
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
/// The dispatch, which reads and writes.
const SHADER: Side = Side {
    stage: vk::PipelineStageFlags::COMPUTE_SHADER,
    access: vk::AccessFlags::from_raw(
        vk::AccessFlags::SHADER_READ.as_raw() | vk::AccessFlags::SHADER_WRITE.as_raw() | vk::AccessFlags::UNIFORM_READ.as_raw(),
    ),
};
/// Copies that read.
const FETCH: Side = Side { stage: vk::PipelineStageFlags::TRANSFER, access: vk::AccessFlags::TRANSFER_READ };
/// This program, reading.
const HOST: Side = Side { stage: vk::PipelineStageFlags::HOST, access: vk::AccessFlags::HOST_READ };

/// Everything `before` did is there for `after` (semantics.md §6 item 8: a fence alone does not make writes visible to the
/// host).
fn barrier(device: &ash::Device, commands: vk::CommandBuffer, before: Side, after: Side) {
    let memory = [vk::MemoryBarrier::default().src_access_mask(before.access).dst_access_mask(after.access)];
    let none = vk::DependencyFlags::empty();
    // SAFETY: the command buffer is being recorded, and the accesses belong to their stages.
    unsafe { device.cmd_pipeline_barrier(commands, before.stage, after.stage, none, &memory, &[], &[]) };
}
