//! Jobs on a Vulkan driver.
//!
//! ```text
//!   failure.rs    functions that failed
//!   instance.rs   loader, instance, physical devices
//!   features.rs   the feature structures: read from a device, written for vkCreateDevice
//!   describe.rs   physical device → DeviceInfo
//!   session.rs    one opened device: what lives from job to job
//!   layout.rs     descriptor and pipeline layouts, kept by signature
//!   memory.rs     buffers, kept and grown
//!   texels.rs     views of buffers, images and samplers, for one launch
//!   execute.rs    one job, stage by stage
//!   graphics.rs   what stands around a stage that is no compute shader
//!   dispatch.rs   one launch of its pipeline
//! ```

pub(super) mod describe;
mod dispatch;
mod execute;
mod failure;
mod features;
mod graphics;
mod instance;
mod layout;
mod memory;
mod session;
mod texels;

use crate::info::{DeviceInfo, DriverMode};
use crate::job::Job;
use crate::outcome::{Outcome, Stage};
use crate::worker::backend::{Backend, not_open};
use instance::Instance;
use session::Session;

/// The Vulkan loader with one driver behind it.
#[derive(Default)]
pub(super) struct Vulkan {
    // Before the instance, so that it is dropped first.
    session: Option<Session>,
    instance: Option<Instance>,
    devices: Vec<DeviceInfo>,
}

impl Backend for Vulkan {
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String> {
        let instance = self.instance.insert(Instance::create()?);
        self.devices = describe::describe_devices(instance, driver, mode).map_err(|failure| failure.to_string())?;
        Ok(self.devices.clone())
    }

    fn open(&mut self, index: u32) -> Result<(), String> {
        let instance = self.instance.as_ref().ok_or("no instance")?;
        let info = self.devices.get(index as usize).ok_or_else(|| format!("no device with index {index}"))?;
        self.session = Some(Session::open(instance, info.clone())?);
        Ok(())
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(Stage)) -> Outcome {
        match &mut self.session {
            Some(session) => session.run(job, progress),
            None => not_open(),
        }
    }
}
