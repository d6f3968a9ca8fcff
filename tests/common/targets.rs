//! The devices that run what they compile.

use std::path::PathBuf;
use std::time::Duration;

use tangle_campaign::target::Target;
use tangle_runner::{DeviceOptions, DriverMode, Inventory, ProbeOptions, drivers};

use super::TANGLE;
use crate::note;

/// Opens the Vulkan devices of this machine that execute, one after the other, and says so if there are none.
pub fn each_target(mut visit: impl FnMut(&Target)) {
    // A test program cannot be its own worker.
    let worker = Some(PathBuf::from(TANGLE));
    let drivers = drivers(None).unwrap_or_else(|error| panic!("{error}"));
    let inventory = Inventory::probe(&drivers, &ProbeOptions { worker_exe: worker.clone(), ..ProbeOptions::default() });
    for (driver, problem) in inventory.problems() {
        note!("driver {} cannot be tested: {problem}", driver.name);
    }
    let devices: Vec<_> = inventory.devices().filter(|(_, info)| info.mode == DriverMode::Execute).collect();
    if devices.is_empty() {
        note!("THERE IS NO VULKAN DRIVER: nothing runs but the reference device (./x setup gets drivers)");
    }
    for (driver, info) in &devices {
        let options = DeviceOptions {
            worker_exe: worker.clone(),
            timeout: Some(Duration::from_secs(60)),
            ..DeviceOptions::default()
        };
        visit(&Target::driver(driver, info.index, &options).unwrap_or_else(|error| panic!("{error:#}")));
    }
}
