//! What the integration tests share: the worker executable, devices, and jobs.

// Each test file is a program of its own and uses its own part of this one.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tangle_runner::{
    Api, Buffer, BufferKind, Completed, Device, DeviceInfo, DeviceOptions, DriverConfig, DriverMode, Init, Inventory,
    Job, Launch, Outcome, ProbeOptions, ReadBackMode, SpirvVersion, drivers, toolchain,
};

/// The worker that Cargo built beside the tests; a test program cannot be its own worker, because its `main` is the test
/// harness.
pub fn worker_exe() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tangle-worker"))
}

/// Options with that worker and a time-out that a loaded machine keeps.
pub fn options() -> DeviceOptions {
    DeviceOptions { worker_exe: Some(worker_exe()), timeout: Some(Duration::from_secs(60)), ..DeviceOptions::default() }
}

pub fn probe_options() -> ProbeOptions {
    ProbeOptions { worker_exe: Some(worker_exe()), ..ProbeOptions::default() }
}

/// A driver entry without a manifest for the worker's null device, with these faults.
pub fn null_driver(fault: &str) -> DriverConfig {
    let mut driver = DriverConfig::from_manifest("null", Path::new(""));
    driver.manifest = None;
    driver.env.insert("TANGLE_WORKER_NULL".into(), "1".into());
    driver.env.insert("TANGLE_WORKER_FAULT".into(), fault.into());
    driver
}

/// Everything that runs on this machine: the drivers installed and those of its devices file.
pub fn inventory() -> &'static Inventory {
    static INVENTORY: OnceLock<Inventory> = OnceLock::new();
    INVENTORY.get_or_init(|| Inventory::probe(&drivers(None).unwrap(), &probe_options()))
}

/// Every Vulkan device that runs what it compiles.
pub fn executing_devices() -> Vec<(&'static DriverConfig, &'static DeviceInfo)> {
    let runs = |info: &DeviceInfo| info.mode == DriverMode::Execute && info.api() == Api::Vulkan;
    let devices: Vec<_> = inventory().devices().filter(|(_, info)| runs(info)).collect();
    assert!(
        !devices.is_empty(),
        "these tests need a Vulkan driver (Debian: apt install mesa-vulkan-drivers libvulkan1)"
    );
    devices
}

/// Opens every device that runs what it compiles, one after the other.
pub fn each_device(mut test: impl FnMut(&Device)) {
    for (driver, info) in executing_devices() {
        eprintln!("on {}", info.name);
        test(&Device::open(driver, info.index, &options()).unwrap());
    }
}

pub fn compile(glsl: &str) -> Vec<u32> {
    toolchain::compile_and_validate(glsl, SpirvVersion::V1_3).unwrap()
}

/// A storage buffer whose contents come back whole.
pub fn storage(binding: u32, init: Init) -> Buffer {
    Buffer { binding, kind: BufferKind::Storage, init, read_back: ReadBackMode::Whole }
}

/// A job of one launch of one workgroup.
pub fn job(id: u64, glsl: &str, buffers: Vec<Buffer>) -> Job {
    let launch = Launch { groups: [1, 1, 1], buffers, ..Launch::default() };
    Job { id, spirv: compile(glsl), launches: vec![launch], ..Job::default() }
}

/// A job that says what it is: its only buffer holds its id.
pub fn marked_job(id: u64) -> Job {
    static SPIRV: OnceLock<Vec<u32>> = OnceLock::new();
    let spirv = SPIRV.get_or_init(|| compile("#version 460\nvoid main() {}"));
    let buffers = vec![storage(0, Init::Data(vec![id as u32]))];
    let launch = Launch { groups: [1, 1, 1], buffers, ..Launch::default() };
    Job { id, spirv: spirv.clone(), launches: vec![launch], ..Job::default() }
}

pub fn completed(outcome: Outcome) -> Completed {
    match outcome {
        Outcome::Completed(completed) => completed,
        other => panic!("{other}: {other:?}"),
    }
}

/// The words of one read-back buffer of a job's first launch.
pub fn words(outcome: Outcome, buffer: usize) -> Vec<u32> {
    completed(outcome).launches[0].buffers[buffer].to_words()
}
