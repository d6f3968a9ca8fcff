//! One job, stage by stage.

use std::time::Instant;

use ash::vk;

use super::dispatch::Work;
use super::failure::{Failure, InCall, result_name};
use super::graphics::Graphics;
use super::session::Session;
use super::texels;
use crate::check;
use crate::job::{Job, Optimisation, Pipeline};
use crate::outcome::{Completed, Outcome, Shortage, Stage};
use crate::worker::progress::{Progress, micros};
use tangle_features::StageFlags;
use tangle_files::text::Lines;

/// Objects that belong to one job.
#[derive(Default)]
struct Objects {
    /// The job's own, then those beside it.
    modules: Vec<vk::ShaderModule>,
    pipeline: vk::Pipeline,
}

impl Session {
    /// Runs a job; calls `announce` before each stage.
    pub(super) fn run(&mut self, job: &Job, announce: &mut dyn FnMut(Stage)) -> Outcome {
        let begin = Instant::now();
        let mut progress = Progress::begin(announce);
        let lacks = || texels::missing(&self.instance, self.physical, job);
        if let Some(refusal) = check::refusal(job, &self.info, lacks) {
            return refusal;
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
        let layout = self.layouts.get(&self.device, job.pipeline.stage(), &job.launches[0])?;
        let begin = Instant::now();
        let beside = job.pipeline.beside();
        for words in [job.spirv.as_slice()].into_iter().chain(beside.iter().map(|(_, words)| *words)) {
            let create_info = vk::ShaderModuleCreateInfo::default().code(words);
            // SAFETY: the module needs nothing that the device lacks (check.rs), and the parent has validated it.
            let module =
                unsafe { self.device.create_shader_module(&create_info, None) }.in_call("vkCreateShaderModule")?;
            objects.modules.push(module);
        }
        completed.times.module_us = micros(begin);
        progress.enter(Stage::Pipeline);
        let begin = Instant::now();
        objects.pipeline = self.create_pipeline(job, &objects.modules, layout.pipeline)?;
        completed.times.pipeline_us = micros(begin);
        let Some(dispatcher) = &mut self.dispatcher else { return Ok(()) };
        let draw = match (&mut self.graphics, &job.pipeline) {
            (_, Pipeline::Compute) => None,
            (graphics, pipeline) => {
                graphics.as_mut().map(|graphics| graphics.draw(&self.device, pipeline)).transpose()?
            }
        };
        let work = Work { pipeline: objects.pipeline, layout, draw };
        for (index, launch) in (0..).zip(&job.launches) {
            let output = dispatcher.run(&self.device, work, launch, index, &mut completed.times, progress)?;
            completed.launches.push(output);
        }
        Ok(())
    }

    fn create_pipeline(
        &mut self,
        job: &Job,
        modules: &[vk::ShaderModule],
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
            .stage(StageFlags::of(job.pipeline.stage()).shader)
            .module(modules[0])
            .name(c"main")
            .specialization_info(&specialization);
        if job.required_subgroup_size.is_some() {
            stage = stage.push_next(&mut required);
        }
        let flags = match job.optimisation {
            Optimisation::Default => vk::PipelineCreateFlags::empty(),
            Optimisation::Disabled => vk::PipelineCreateFlags::DISABLE_OPTIMIZATION,
        };
        if job.pipeline == Pipeline::Compute {
            let create_info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout);
            // SAFETY: the structures live until the call returns; the rules on subgroup sizes hold (check.rs).
            let created =
                unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &[create_info], None) };
            return created
                .map(|pipelines| pipelines[0])
                .map_err(|(_, result)| result)
                .in_call("vkCreateComputePipelines");
        }
        let beside = job.pipeline.beside();
        let others = beside.iter().zip(&modules[1..]).map(|((stage, _), module)| {
            vk::PipelineShaderStageCreateInfo::default()
                .stage(StageFlags::of(*stage).shader)
                .module(*module)
                .name(c"main")
        });
        let stages: Vec<_> = others.chain([stage]).collect();
        // Only the first job of this kind finds none.
        let graphics = match &mut self.graphics {
            Some(graphics) => graphics,
            none => none.insert(Graphics::new(&self.instance, &self.device)?),
        };
        graphics.create_pipeline(&self.device, &job.pipeline, &stages, flags, layout)
    }

    fn destroy(&self, objects: &Objects) {
        // SAFETY: the device is idle, and either handle may be null.
        unsafe {
            self.device.destroy_pipeline(objects.pipeline, None);
            objects.modules.iter().for_each(|&module| self.device.destroy_shader_module(module, None));
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
