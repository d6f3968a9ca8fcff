//! A device of a Vulkan or OpenGL driver, or of a WebGPU runtime, in worker processes.

use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use crossbeam_channel::Sender;
use tangle_program::variant::FrontEnd;
use tangle_runner::{Api, Completion, Device, DeviceOptions, DeviceStats, DriverConfig, DriverMode, Stage};

use super::traits::{Description, Executor, Runs, Task, Worker};
use crate::capabilities::{Capabilities, dialect, webgpu_front_end};
use crate::prepare::{Prepared, job, job_with};

/// How much of the processors' time a device gets when there are several, in relation to the others: what it runs is judged, and shows
/// wrong results; what it only compiles shows crashes.
const EXECUTING: f64 = 4.0;
const COMPILING: f64 = 1.0;

/// A device of a driver.
pub struct Driver {
    first: Device,
    more: Vec<Device>,
    front_end: Option<FrontEnd>,
}

impl Driver {
    /// Opens a device with one worker.
    ///
    /// # Errors
    /// If its worker does not start.
    pub fn open(driver: &DriverConfig, index: u32, options: &DeviceOptions) -> anyhow::Result<Driver> {
        let weight = if driver.mode == DriverMode::Execute { EXECUTING } else { COMPILING };
        let options = DeviceOptions { weight, ..options.clone() };
        let first = Device::open(driver, index, &options)?;
        let front_end = (first.info().api() == Api::WebGpu).then(webgpu_front_end);
        Ok(Driver { first, more: Vec::new(), front_end })
    }
}

impl Executor for Driver {
    fn description(&self) -> Description {
        let info = self.first.info();
        Description {
            name: info.name.clone(),
            capabilities: Capabilities::of(info),
            // Plain data with text for keys.
            info: serde_json::to_value(info).unwrap_or_default(),
        }
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        std::iter::once(&self.first).chain(&self.more).map(|device| device as &dyn Worker).collect()
    }

    fn open_workers(&mut self, jobs: NonZero<usize>, warn: &mut dyn FnMut(String)) {
        let (first, more) = (&self.first, &mut self.more);
        let name = &first.info().name;
        if first.driver().jobs.is_some() || jobs.get() > 1 {
            // Somebody wants so many of them at once.
            first.options().scheduler.at_least(jobs);
        }
        let open = || Device::open(first.driver(), first.info().index, first.options());
        std::thread::scope(|scope| {
            let opening: Vec<_> = (1..jobs.get()).map(|_| scope.spawn(open)).collect();
            for (number, opened) in (2..).zip(opening) {
                match opened.join() {
                    Ok(Ok(device)) => more.push(device),
                    Ok(Err(error)) => warn(format!("device {name}, worker {number} of {jobs}: {error}")),
                    Err(_) => warn(format!("device {name}, worker {number} of {jobs}: its thread ended")),
                }
            }
        });
    }

    fn mode(&self) -> DriverMode {
        self.first.info().mode
    }

    fn runs(&self) -> Runs {
        match self.first.info().api() {
            Api::Vulkan => Runs::Module,
            Api::OpenGl | Api::WebGpu => Runs::Source,
        }
    }

    fn front_end(&self) -> Option<&FrontEnd> {
        self.front_end.as_ref()
    }

    fn prints_machine_code(&self) -> bool {
        printing(self.first.driver(), &self.first.info().driver_name).is_some()
    }

    /// The case runs once more, in a worker of its own.
    fn print_machine_code(&self, prepared: &Prepared, file: &Path) {
        let Some(driver) = printing(self.first.driver(), &self.first.info().driver_name) else { return };
        let options =
            DeviceOptions { timeout: Some(PRINTING), stderr: Some(file.to_owned()), ..self.first.options().clone() };
        if let Ok(device) = Device::open(&driver, self.first.info().index, &options) {
            let _ = device.run(job(prepared, dialect(device.info()), 0));
        }
    }
}

impl Worker for Device {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        let job = job_with(task.prepared, dialect(self.info()), task.cases.iter().copied(), task.id);
        self.submit_on(job, task.terms, completions);
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn longest(&self) -> Duration {
        self.options().confirmation_for(self.driver())
    }

    fn stats(&self) -> DeviceStats {
        Device::stats(self)
    }

    fn doing(&self) -> Option<(Stage, Duration)> {
        Device::doing(self)
    }
}

/// Longest time for a case whose machine code is printed.
const PRINTING: Duration = Duration::from_secs(10);

/// Beginning of `driverName`, and the variable that has the driver print.
/// Source: Mesa, `docs/envvars.rst` and the drivers' own lists of debug options.
const PRINTS: [(&str, &str, &str); 6] = [
    ("radv", "RADV_DEBUG", "shaders"),
    ("NVK", "NAK_DEBUG", "print"),
    ("turnip", "IR3_SHADER_DEBUG", "cs,disasm"),
    ("Intel open-source Mesa driver", "INTEL_DEBUG", "cs"),
    ("Honeykrisp", "AGX_MESA_DEBUG", "shaders"),
    ("llvmpipe", "GALLIVM_DEBUG", "asm"),
];

/// The driver's entry, changed so that it prints.
fn printing(driver: &DriverConfig, driver_name: &str) -> Option<DriverConfig> {
    // Standard error of another machine does not come here.
    let row = PRINTS.iter().find(|(name, ..)| !driver.is_remote() && driver_name.trim().starts_with(name));
    let (_, variable, value) = row?;
    let mut driver = driver.clone();
    let own = driver.env.entry((*variable).into()).or_default();
    *own = [own.as_str(), value].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(",");
    Some(driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_prints_and_keeps_its_own_options() {
        let mut driver = DriverConfig::from_manifest("radv", Path::new("/radv.json"));
        driver.env.insert("RADV_DEBUG".into(), "llvm".into());
        assert_eq!(
            printing(&driver, "radv").map(|driver| driver.env["RADV_DEBUG"].clone()),
            Some("llvm,shaders".into())
        );
        assert_eq!(printing(&driver, "NVK ").map(|driver| driver.env["NAK_DEBUG"].clone()), Some("print".into()));
        assert_eq!(printing(&driver, "SwiftShader driver"), None);
        driver.remote = vec!["ssh".into()];
        assert_eq!(printing(&driver, "radv"), None);
    }
}
