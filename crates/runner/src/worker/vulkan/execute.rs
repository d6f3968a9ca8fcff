//! One job, stage by stage.

use std::time::Instant;

use ash::vk;

use super::dispatch::Work;
use super::session::Session;
use super::{Failure, InCall, result_name};
use crate::check;
use crate::job::{Completed, Job, Optimisation, Outcome, Shortage, Stage};
use tangle_files::text::Lines;

/// Objects that belong to one job.
#[derive(Default)]
struct Objects {
    module: vk::ShaderModule,
    pipeline: vk::Pipeline,
}

/// Announces stages and remembers the present one.
pub(super) struct Progress<'a> {
    announce: &'a mut dyn FnMut(Stage),
    stage: Stage,
}

impl Progress<'_> {
    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        (self.announce)(stage);
    }
}

/// Microseconds since an instant.
pub(super) fn micros(since: Instant) -> u64 {
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
            self.destroy(&objects);
            return failed(failure, progress.stage);
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
            unsafe { self.device.create_shader_module(&create_info, None) }.in_call("vkCreateShaderModule")?;
        completed.times.module_us = micros(begin);
        progress.enter(Stage::Pipeline);
        let begin = Instant::now();
        objects.pipeline = self.create_pipeline(job, objects.module, layout.pipeline)?;
        completed.times.pipeline_us = micros(begin);
        let Some(dispatcher) = &mut self.dispatcher else { return Ok(()) };
        let work = Work { pipeline: objects.pipeline, layout };
        for (index, launch) in (0..).zip(&job.launches) {
            let output = dispatcher.run(&self.device, work, launch, index, &mut completed.times, progress)?;
            completed.launches.push(output);
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
        let created = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &[create_info], None) };
        created.map(|pipelines| pipelines[0]).map_err(|(_, result)| result).in_call("vkCreateComputePipelines")
    }

    fn destroy(&self, objects: &Objects) {
        // SAFETY: the device is idle, and either handle may be null.
        unsafe {
            self.device.destroy_pipeline(objects.pipeline, None);
            self.device.destroy_shader_module(objects.module, None);
        }
    }
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

fn failed(failure: Failure, stage: Stage) -> Outcome {
    let (call, result) = (failure.call.into(), result_name(failure.result).into());
    match failure.result {
        vk::Result::ERROR_DEVICE_LOST => Outcome::DeviceLost { stage },
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        | vk::Result::ERROR_OUT_OF_POOL_MEMORY => {
            Outcome::OutOfMemory { shortage: Shortage::Call { call, result }, stage, stderr: Lines::default() }
        }
        _ => Outcome::VulkanError { call, result, stage },
    }
}
