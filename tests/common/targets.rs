//! The devices that run what they compile.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tangle_campaign::target::Target;
use tangle_runner::{DeviceOptions, DriverMode, Inventory, ProbeOptions, drivers};

use super::TANGLE;
use crate::note;

/// Devices that are visited side by side: a test alone would leave a processor idle.
const TOGETHER: usize = 2;

/// Opens the devices of this machine that execute, two at a time, and says so if there are none.
pub fn each_target(visit: impl Fn(&Target) + Sync) {
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
    let next = AtomicUsize::new(0);
    let visit_some = || {
        while let Some((driver, info)) = devices.get(next.fetch_add(1, Ordering::Relaxed)) {
            let options = DeviceOptions {
                worker_exe: worker.clone(),
                timeout: Some(Duration::from_secs(60)),
                ..DeviceOptions::default()
            };
            visit(&Target::driver(driver, info.index, &options).unwrap_or_else(|error| panic!("{error:#}")));
        }
    };
    // It panics if one of them does.
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(visit_some);
        }
    });
}

/// What all visits share. One that panics fails the test by itself.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
