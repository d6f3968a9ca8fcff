//! Jobs on an OpenGL driver.
//!
//! ```text
//!   context.rs    libEGL, its platforms without a window, contexts
//!   failure.rs    functions that failed
//!   describe.rs   context → DeviceInfo
//!   module.rs     what of a SPIR-V module OpenGL does not take
//!   program.rs    GLSL or SPIR-V → program
//!   draw.rs       what stands around a stage that is no compute shader
//!   execute.rs    one job, stage by stage
//! ```

mod context;
mod describe;
mod draw;
mod execute;
mod failure;
mod module;
mod program;

use crate::gpu_lock::GpuLock;
use crate::info::{DeviceInfo, DeviceType, DriverMode};
use crate::job::Job;
use crate::outcome::{Outcome, Stage};
use crate::worker::backend::{Backend, not_open};
use context::{Context, Egl};
use draw::Functions;
use failure::{Failure, check};
use program::TakesModules;

/// A context with its functions.
struct Session {
    context: Context,
    gl: glow::Context,
    functions: Functions,
    modules: Option<TakesModules>,
    info: DeviceInfo,
    /// Made by whoever opens the device.
    lock: GpuLock,
}

impl Session {
    /// Loads the functions of the context, which is the current one, and asks it what it is.
    fn new(egl: &Egl, context: Context, platform: &str) -> Result<Session, String> {
        let load = |name: &str| egl.get_proc_address(name).map_or(std::ptr::null(), |function| function as *const _);
        // SAFETY: the context is current, and these are its functions.
        let gl = unsafe { glow::Context::from_loader_function(load) };
        let functions = Functions::load(egl)?;
        let mut info = describe::describe(&gl, &functions, platform)?;
        if context.is_software(egl) {
            info.device_type = DeviceType::Cpu;
        }
        info.device_uuid = describe::uuid(egl, &gl).unwrap_or_default();
        let modules = TakesModules::load(egl, &info);
        Ok(Session { context, gl, functions, modules, info, lock: GpuLock::default() })
    }

    /// The first error since the last time that this was asked, with all of them forgotten.
    fn check(&self, call: &'static str) -> Result<(), Failure> {
        check(&self.gl, call)
    }
}

/// libEGL with one driver behind it.
#[derive(Default)]
pub(super) struct Gl {
    // Before libEGL, so that they are dropped first.
    sessions: Vec<Session>,
    open: Option<usize>,
    egl: Option<Egl>,
}

impl Backend for Gl {
    /// One device for each platform that gives a context; those that say the same of themselves are one.
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String> {
        let egl = self.egl.insert(context::load()?);
        let mut problems = Vec::new();
        for platform in context::platforms(egl)? {
            let context = match context::create(egl, platform) {
                Ok(context) => context,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            match Session::new(egl, context, &platform.to_string()) {
                Ok(mut session) => {
                    (session.info.driver, session.info.mode) = (driver.to_owned(), mode);
                    let same = |other: &Session| {
                        let of = |info: &DeviceInfo| (info.device_name.clone(), info.driver_info.clone());
                        of(&other.info) == of(&session.info)
                    };
                    let is_surfaceless = matches!(platform, context::Platform::Surfaceless);
                    if !(is_surfaceless && self.sessions.iter().any(same)) {
                        self.sessions.push(session);
                    }
                }
                Err(problem) => problems.push(problem),
            }
        }
        if self.sessions.is_empty() {
            return Err(problems.join("; "));
        }
        Ok(self.sessions.iter().map(|session| session.info.clone()).collect())
    }

    fn open(&mut self, index: u32) -> Result<(), String> {
        let session = self.sessions.get_mut(index as usize).ok_or_else(|| format!("no device with index {index}"))?;
        let egl = self.egl.as_ref().ok_or("no EGL")?;
        session.context.make_current(egl).map_err(|error| format!("eglMakeCurrent: {error}"))?;
        session.lock = GpuLock::of(&session.info);
        self.open = Some(index as usize);
        Ok(())
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(Stage)) -> Outcome {
        match self.open.and_then(|index| self.sessions.get_mut(index)) {
            Some(session) => session.run(job, progress),
            None => not_open(),
        }
    }
}
