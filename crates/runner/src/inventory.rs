//! Which devices there are: every driver is asked in a worker of its own, so that one that crashes costs one line.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use crossbeam_channel::never;

use crate::config::DriverConfig;
use crate::error::{DeviceError, StartProblem};
use crate::info::DeviceInfo;
use crate::process::{Wait, WorkerProcess};

/// How drivers are asked.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Executable to start as the worker; this program when `None`.
    pub worker_exe: Option<PathBuf>,
    /// Longest time for one driver to answer.
    pub start_timeout: Duration,
}

impl Default for ProbeOptions {
    fn default() -> ProbeOptions {
        ProbeOptions { worker_exe: None, start_timeout: Duration::from_secs(30) }
    }
}

/// One driver and what it answered.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The entry of the driver that was started.
    pub driver: DriverConfig,
    /// Its devices, or why it has none to show. A driver without hardware answers with no device.
    pub result: Result<Vec<DeviceInfo>, StartProblem>,
}

/// Every driver with its devices.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// One probe per driver, in the order of the drivers.
    pub probes: Vec<Probe>,
}

impl Inventory {
    /// Asks every driver, several at once.
    pub fn probe(drivers: &[DriverConfig], options: &ProbeOptions) -> Inventory {
        let next = Mutex::new(drivers.iter().enumerate());
        let results = Mutex::new(vec![None; drivers.len()]);
        let work = || {
            // A `while let` on the lock itself would hold it during the probe.
            loop {
                let Some((index, driver)) = next.lock().ok().and_then(|mut next| next.next()) else { return };
                let probe = Probe { driver: driver.clone(), result: ask(driver, options) };
                if let Ok(mut results) = results.lock() {
                    results[index] = Some(probe);
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, NonZero::get).min(drivers.len());
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        Inventory { probes: results.into_inner().unwrap_or_default().into_iter().flatten().collect() }
    }

    /// Every device with its driver's entry.
    pub fn devices(&self) -> impl Iterator<Item = (&DriverConfig, &DeviceInfo)> {
        self.probes.iter().flat_map(|probe| probe.result.iter().flatten().map(|info| (&probe.driver, info)))
    }

    /// Every driver that did not answer, with the reason.
    pub fn problems(&self) -> impl Iterator<Item = (&DriverConfig, &StartProblem)> {
        self.probes.iter().filter_map(|probe| Some((&probe.driver, probe.result.as_ref().err()?)))
    }

    /// The device with this name. The name of a driver with several devices is that of its first one.
    ///
    /// # Errors
    ///
    /// When there is none: why its driver did not answer, or the names of those there are.
    pub fn device(&self, name: &str) -> Result<(&DriverConfig, &DeviceInfo), DeviceError> {
        let found = self.devices().find(|(_, info)| info.name == name);
        if let Some(found) = found.or_else(|| self.devices().find(|(driver, _)| driver.name == name)) {
            return Ok(found);
        }
        if let Some((driver, problem)) = self.problems().find(|(driver, _)| driver.name == name) {
            return Err(DeviceError::Driver { driver: driver.name.clone(), problem: problem.clone() });
        }
        self.require_any()?;
        let names: Vec<&str> = self.devices().map(|(_, info)| info.name.as_str()).collect();
        Err(DeviceError::NoSuchDevice { name: name.to_owned(), available: names.join(", ") })
    }

    /// Succeeds when there is at least one device.
    ///
    /// # Errors
    ///
    /// When there is no driver, or none that has a device, with each driver's reason.
    pub fn require_any(&self) -> Result<(), DeviceError> {
        if self.devices().next().is_some() {
            return Ok(());
        }
        if self.probes.is_empty() {
            return Err(DeviceError::NoDriver);
        }
        let reason = |probe: &Probe| match &probe.result {
            Ok(_) => format!("{}: no hardware for it", probe.driver.name),
            Err(problem) => format!("{}: {problem}", probe.driver.name),
        };
        let reasons: Vec<String> = self.probes.iter().map(reason).collect();
        Err(DeviceError::NoDevice { reasons: reasons.join("; ") })
    }
}

fn ask(driver: &DriverConfig, options: &ProbeOptions) -> Result<Vec<DeviceInfo>, StartProblem> {
    let mut worker = WorkerProcess::spawn(driver, options.worker_exe.as_deref())?;
    let devices = worker.greet(driver, None, &Wait { limit: options.start_timeout, cancelled: never() })?;
    worker.close(Duration::from_secs(1));
    Ok(devices)
}
