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

use crate::gpu_lock::{self, GpuLock};
use crate::info::{DeviceInfo, DeviceType, DriverMode};
use crate::job::Job;
use crate::outcome::{Outcome, Stage};
use crate::worker::backend::{Backend, not_open};
use context::{Context, Egl, Platform};
use draw::Functions;
use failure::{Failure, check};
use program::TakesModules;

/// A context with its functions, of a device that is open.
struct Session {
    gl: glow::Context,
    functions: Functions,
    modules: Option<TakesModules>,
    info: DeviceInfo,
    lock: GpuLock,
}

/// The functions of the context that is current.
fn functions(egl: &Egl) -> Result<(glow::Context, Functions), String> {
    let load = |name: &str| egl.get_proc_address(name).map_or(std::ptr::null(), |function| function as *const _);
    // SAFETY: the context is current, and these are its functions.
    let gl = unsafe { glow::Context::from_loader_function(load) };
    Ok((gl, Functions::load(egl)?))
}

/// Asks the context that is current what it is.
fn describe(egl: &Egl, context: &Context, platform: Platform) -> Result<DeviceInfo, String> {
    let (gl, functions) = functions(egl)?;
    let mut info = describe::describe(&gl, &functions, &platform.to_string())?;
    if context.is_software(egl) && !describe::runs_on_another_driver(&info) {
        info.device_type = DeviceType::Cpu;
    }
    info.device_uuid = describe::uuid(egl, &gl).unwrap_or_default();
    Ok(info)
}

impl Session {
    /// Opens a device anew: a context that was made before the lock does not know what was reset since.
    fn open(egl: &Egl, platform: Platform, info: DeviceInfo) -> Result<Session, String> {
        let _opens = gpu_lock::to_open(&info);
        let lock = GpuLock::of(&info);
        context::create(egl, platform)?;
        let (gl, functions) = functions(egl)?;
        let modules = TakesModules::load(egl, &info);
        Ok(Session { gl, functions, modules, info, lock })
    }

    /// The first error since the last time that this was asked, with all of them forgotten.
    fn check(&self, call: &'static str) -> Result<(), Failure> {
        check(&self.gl, call)
    }
}

/// libEGL with one driver behind it.
#[derive(Default)]
pub(super) struct Gl {
    // Before libEGL, so that it is dropped first.
    session: Option<Session>,
    /// Its devices, in order.
    devices: Vec<(Platform, DeviceInfo)>,
    egl: Option<Egl>,
}

impl Backend for Gl {
    /// One device for each platform that gives a context; those that say the same of themselves are one.
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String> {
        let egl = self.egl.insert(context::load()?);
        let mut problems = Vec::new();
        for platform in context::platforms(egl)? {
            let described = context::create(egl, platform).and_then(|context| {
                let described = describe(egl, &context, platform);
                // A worker keeps no other GPU open than its own.
                context.destroy(egl);
                described
            });
            match described {
                Ok(info) => {
                    let info = DeviceInfo { driver: driver.to_owned(), mode, ..info };
                    let same = |(_, other): &(Platform, DeviceInfo)| {
                        let of = |info: &DeviceInfo| (info.device_name.clone(), info.driver_info.clone());
                        of(other) == of(&info)
                    };
                    if !(matches!(platform, Platform::Surfaceless) && self.devices.iter().any(same)) {
                        self.devices.push((platform, info));
                    }
                }
                Err(problem) => problems.push(problem),
            }
        }
        if self.devices.is_empty() {
            return Err(problems.join("; "));
        }
        Ok(self.devices.iter().map(|(_, info)| info.clone()).collect())
    }

    fn open(&mut self, index: u32) -> Result<(), String> {
        let (platform, info) =
            self.devices.get(index as usize).cloned().ok_or_else(|| format!("no device with index {index}"))?;
        let egl = self.egl.as_ref().ok_or("no EGL")?;
        self.session = Some(Session::open(egl, platform, info)?);
        Ok(())
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(Stage)) -> Outcome {
        match &mut self.session {
            Some(session) => session.run(job, progress),
            None => not_open(),
        }
    }
}
