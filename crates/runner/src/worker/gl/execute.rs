//! One job, stage by stage.

use std::borrow::Cow;
use std::time::Instant;

use glow::HasContext as _;
use tangle_program::case::interface::PUSH;

use super::failure::Failure;
use super::program::{self, Program};
use super::{Session, module};
use crate::check;
use crate::info::DriverMode;
use crate::job::{Buffer, BufferKind, Init, Job, Launch, ReadBackMode};
use crate::outcome::{Completed, LaunchOutput, Outcome, ReadBack, Stage};
use crate::worker::progress::{Progress, micros};
use crate::worker::rewrite::rewritten;

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
        let mut module = Cow::from(job.spirv.as_slice());
        let lacks = || match (&job.source, &self.info.opengl) {
            (None, Some(context)) => {
                module = module::fitted(&job.spirv, context);
                module::missing(&module, context)
            }
            _ => Vec::new(),
        };
        if let Some(refusal) = check::refusal(job, &self.info, lacks) {
            return refusal;
        }
        let mut completed = Completed::default();
        match self.execute(job, &module, &mut completed, &mut progress) {
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
        module: &[u32],
        completed: &mut Completed,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        progress.enter(Stage::Module);
        let begin = Instant::now();
        let shader = match (&job.source, &self.modules) {
            (Some(source), _) => program::compile(&self.gl, &rewritten(&source.text))?,
            (None, Some(modules)) => program::specialize(&self.gl, modules, module, &job.specialization)?,
            (None, None) => {
                return Err(Failure::Error { call: "glSpecializeShader", result: "it is not there".into() });
            }
        };
        completed.times.module_us = micros(begin);
        progress.enter(Stage::Pipeline);
        let begin = Instant::now();
        let program = program::link(&shader)?;
        completed.times.pipeline_us = micros(begin);
        if self.info.mode == DriverMode::Execute {
            for (index, launch) in (0..).zip(&job.launches) {
                let output = self.launch(&program, launch, index, completed, progress)?;
                completed.launches.push(output);
            }
        }
        progress.enter(Stage::Cleanup);
        let begin = Instant::now();
        drop(program);
        drop(shader);
        self.check("glDeleteProgram")?;
        completed.times.cleanup_us = micros(begin);
        Ok(())
    }

    fn launch(
        &self,
        program: &Program<'_>,
        launch: &Launch,
        index: u32,
        completed: &mut Completed,
        progress: &mut Progress,
    ) -> Result<LaunchOutput, Failure> {
        let gl = &self.gl;
        let times = &mut completed.times;
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
        progress.enter(Stage::Submit { launch: index });
        let begin = Instant::now();
        let [x, y, z] = launch.groups;
        // SAFETY: a linked program is bound, its buffers are large enough (check.rs), and the counts are within the limits.
        unsafe {
            gl.dispatch_compute(x, y, z);
            gl.memory_barrier(glow::BUFFER_UPDATE_BARRIER_BIT | glow::SHADER_STORAGE_BARRIER_BIT);
        }
        self.check("glDispatchCompute")?;
        progress.enter(Stage::Wait { launch: index });
        // SAFETY: the context is current.
        unsafe { gl.finish() };
        self.check("glFinish")?;
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
