//! One job, stage by stage.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Instant;

use glow::HasContext as _;
use tangle_program::case::interface::PUSH;

use super::draw::Surface;
use super::failure::Failure;
use super::program::{self, Program, Shader};
use super::{Session, module};
use crate::check;
use crate::gpu_lock::Outdated;
use crate::info::DriverMode;
use crate::job::{Buffer, BufferKind, Init, Job, Launch, Pipeline, ReadBackMode, ShaderStage};
use crate::outcome::{Completed, LaunchOutput, Outcome, ReadBack, Stage, Times};
use crate::worker::progress::{Progress, micros};
use crate::worker::rewrite::rewritten;
use crate::worker::this_process::{ExitStatus, leave};

/// The buffers of a launch, deleted with this.
struct Buffers<'gl> {
    gl: &'gl glow::Context,
    buffers: Vec<glow::Buffer>,
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {
        for &buffer in &self.buffers {
            // SAFETY: the buffer is of this context, and used by nobody after this.
            unsafe { self.gl.delete_buffer(buffer) };
        }
    }
}

impl Buffers<'_> {
    /// A buffer with these bytes in it, at a binding.
    fn add(&mut self, kind: BufferKind, binding: u32, bytes: &[u8]) -> Result<(), Failure> {
        let target = match kind {
            BufferKind::Storage => glow::SHADER_STORAGE_BUFFER,
            BufferKind::Uniform => glow::UNIFORM_BUFFER,
            // A device has no room for them ([`super::describe`]).
            BufferKind::StorageTexels(_)
            | BufferKind::UniformTexels(_)
            | BufferKind::StorageImage(_)
            | BufferKind::SampledImage(_)
            | BufferKind::CombinedImageSampler(_)
            | BufferKind::Sampler
            | BufferKind::Addressed => {
                return Err(Failure::Error { call: "glBindTexture", result: "not made here".to_owned() });
            }
        };
        // SAFETY: the context is current; the bytes live until the call returns.
        unsafe {
            let buffer =
                self.gl.create_buffer().map_err(|result| Failure::Error { call: "glCreateBuffers", result })?;
            self.buffers.push(buffer);
            self.gl.bind_buffer(glow::COPY_WRITE_BUFFER, Some(buffer));
            self.gl.buffer_data_u8_slice(glow::COPY_WRITE_BUFFER, bytes, glow::DYNAMIC_COPY);
            self.gl.bind_buffer_base(target, binding, Some(buffer));
        }
        super::check(self.gl, "glBufferData")
    }
}

impl Session {
    /// Runs a job; calls `announce` before each stage.
    pub(super) fn run(&mut self, job: &Job, announce: &mut dyn FnMut(Stage)) -> Outcome {
        let begin = Instant::now();
        let mut progress = Progress::begin(announce);
        let mut modules = Vec::new();
        let lacks = || match (&job.source, &self.info.opengl) {
            (None, Some(context)) => {
                let own = (job.pipeline.stage(), job.spirv.as_slice());
                let of_job = std::iter::once(own).chain(job.pipeline.beside());
                modules = of_job.map(|(stage, words)| (stage, module::fitted(words, context))).collect();
                let missing = modules.iter().flat_map(|(_, words)| module::missing(words, context));
                missing.collect::<BTreeSet<String>>().into_iter().collect()
            }
            _ => Vec::new(),
        };
        if let Some(refusal) = check::refusal(job, &self.info, lacks) {
            return refusal;
        }
        let mut completed = Completed::default();
        match self.execute(job, &modules, &mut completed, &mut progress) {
            Err(failure) => failure.outcome(progress.stage),
            Ok(()) => {
                completed.times.total_us = micros(begin);
                Outcome::Completed(completed)
            }
        }
    }

    fn execute(
        &self,
        job: &Job,
        modules: &[(ShaderStage, Cow<'_, [u32]>)],
        completed: &mut Completed,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        progress.enter(Stage::Module);
        let begin = Instant::now();
        let shaders = self.shaders(job, modules)?;
        completed.times.module_us = micros(begin);
        progress.enter(Stage::Pipeline);
        let begin = Instant::now();
        let program = program::link(&self.gl, &shaders)?;
        completed.times.pipeline_us = micros(begin);
        if self.info.mode == DriverMode::Execute {
            let surface = match job.pipeline {
                Pipeline::Compute => None,
                _ => Some(Surface::new(&self.gl, &self.functions, &job.pipeline)?),
            };
            let drawn = surface.as_ref().map(|surface| (surface, &job.pipeline));
            for (index, launch) in (0..).zip(&job.launches) {
                // From its buffers to what comes back: a driver may copy at any of its calls.
                let held = self.lock.hold(drawn.is_some(), || progress.enter(Stage::Lock { launch: index }));
                let held = held.unwrap_or_else(|Outdated| leave(ExitStatus::Outdated));
                let output = self.launch(&program, drawn, launch, index, &mut completed.times, progress);
                match output {
                    Err(Failure::Lost) => self.lock.count_reset(),
                    Err(_) => {}
                    Ok(_) => held.count_launch(),
                }
                completed.launches.push(output?);
            }
        }
        progress.enter(Stage::Cleanup);
        let begin = Instant::now();
        drop(program);
        drop(shaders);
        self.check("glDeleteProgram")?;
        completed.times.cleanup_us = micros(begin);
        Ok(())
    }

    /// The shaders of a job, its own first.
    fn shaders(&self, job: &Job, modules: &[(ShaderStage, Cow<'_, [u32]>)]) -> Result<Vec<Shader<'_>>, Failure> {
        let gl = &self.gl;
        match (&job.source, &self.modules) {
            (Some(source), _) => {
                let own = program::compile(gl, job.pipeline.stage(), &rewritten(&source.text))?;
                let beside = source.beside.iter().map(|(stage, text)| program::compile(gl, *stage, text));
                std::iter::once(Ok(own)).chain(beside).collect()
            }
            (None, Some(functions)) => {
                // Only the job's own module has constants to be specialised.
                let constants = std::iter::once(job.specialization.as_slice()).chain(std::iter::repeat([].as_slice()));
                let shader = |((stage, words), constants): (&(ShaderStage, Cow<'_, [u32]>), &[(u32, u32)])| {
                    program::specialize(gl, functions, *stage, words, constants)
                };
                modules.iter().zip(constants).map(shader).collect()
            }
            (None, None) => Err(Failure::Error { call: "glSpecializeShader", result: "it is not there".into() }),
        }
    }

    fn launch(
        &self,
        program: &Program<'_>,
        drawn: Option<(&Surface<'_>, &Pipeline)>,
        launch: &Launch,
        index: u32,
        times: &mut Times,
        progress: &mut Progress,
    ) -> Result<LaunchOutput, Failure> {
        let gl = &self.gl;
        progress.enter(Stage::Prepare { launch: index });
        let begin = Instant::now();
        let mut buffers = Buffers { gl, buffers: Vec::with_capacity(launch.buffers.len() + 1) };
        for buffer in &launch.buffers {
            buffers.add(buffer.kind, buffer.binding, &contents(&buffer.init))?;
        }
        if !launch.push_constants.is_empty() {
            // std140: an array of uvec4s.
            let mut bytes = launch.push_constants.clone();
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            buffers.add(BufferKind::Uniform, PUSH, &bytes)?;
        }
        program.bind();
        times.prepare_us += micros(begin);
        let begin = Instant::now();
        self.submit(drawn, launch, index, progress)?;
        times.submit_wait_us += micros(begin);
        progress.enter(Stage::ReadBack { launch: index });
        let begin = Instant::now();
        let mut output = LaunchOutput::default();
        for (buffer, &handle) in launch.buffers.iter().zip(&buffers.buffers) {
            let slice = match buffer.read_back {
                ReadBackMode::None => continue,
                ReadBackMode::Whole => None,
                ReadBackMode::Slices(words) => Some(words),
            };
            output.buffers.push(ReadBack::trimmed(&self.read(buffer, handle)?, slice));
        }
        times.read_back_us += micros(begin);
        Ok(output)
    }

    /// Executes a launch of the program that is bound, and waits until it has ended.
    fn submit(
        &self,
        drawn: Option<(&Surface<'_>, &Pipeline)>,
        launch: &Launch,
        index: u32,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let gl = &self.gl;
        progress.enter(Stage::Submit { launch: index });
        match drawn {
            Some((surface, pipeline)) => surface.draw(pipeline, launch.groups)?,
            None => {
                let [x, y, z] = launch.groups;
                // SAFETY: a linked program is bound, its buffers are large enough (check.rs), and the counts are within the limits.
                unsafe { gl.dispatch_compute(x, y, z) };
                self.check("glDispatchCompute")?;
            }
        }
        // SAFETY: the context is current.
        unsafe { gl.memory_barrier(glow::BUFFER_UPDATE_BARRIER_BIT | glow::SHADER_STORAGE_BARRIER_BIT) };
        progress.enter(Stage::Wait { launch: index });
        // SAFETY: as above.
        unsafe { gl.finish() };
        self.check("glFinish")
    }

    fn read(&self, buffer: &Buffer, handle: glow::Buffer) -> Result<Vec<u32>, Failure> {
        let mut bytes = vec![0; buffer.init.words() as usize * 4];
        // SAFETY: the buffer has as many bytes as are read.
        unsafe {
            self.gl.bind_buffer(glow::COPY_READ_BUFFER, Some(handle));
            self.gl.get_buffer_sub_data(glow::COPY_READ_BUFFER, 0, &mut bytes);
        }
        self.check("glGetBufferSubData")?;
        Ok(bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect())
    }
}

fn contents(init: &Init) -> Vec<u8> {
    match init {
        Init::Zero { words } => vec![0; *words as usize * 4],
        Init::Data(words) => words.iter().flat_map(|word| word.to_ne_bytes()).collect(),
    }
}
