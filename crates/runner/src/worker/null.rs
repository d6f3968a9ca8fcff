//! A device without a driver: it checks jobs and gives their buffers back as they were. Everything around the driver can
//! be tested on it, and the cost of that measured.

use std::time::Instant;

use super::backend::{Backend, not_open};
use super::this_process::{ExitStatus, leave};
use crate::check;
use crate::gpu_lock::{GpuLock, Outdated};
use crate::info::{ApiVersion, DeviceInfo, DeviceType, DriverMode, Limits, SubgroupInfo, Uuid};
use crate::job::{Init, Job, Launch, ReadBackMode};
use crate::outcome::{Completed, LaunchOutput, Outcome, ReadBack, Stage, Times};
use tangle_features::Feature;
use tangle_program::case::SpirvVersion;

/// Test hook: when this environment variable is `1`, a worker has one device that does nothing and needs no driver. It takes turns with
/// others, as those on a GPU do, when the variable is `takes-turns`.
pub const NULL_VARIABLE: &str = "TANGLE_WORKER_NULL";

/// The value with which it takes turns.
const TAKES_TURNS: &str = "takes-turns";

pub(super) fn requested() -> bool {
    std::env::var_os(NULL_VARIABLE).is_some_and(|value| value == "1" || value == TAKES_TURNS)
}

#[derive(Default)]
pub(super) struct Null {
    device: Option<DeviceInfo>,
    lock: Option<GpuLock>,
}

impl Backend for Null {
    fn devices(&mut self, driver: &str, mode: DriverMode) -> Result<Vec<DeviceInfo>, String> {
        Ok(vec![self.device.insert(null_device(driver, mode)).clone()])
    }

    fn open(&mut self, index: u32) -> Result<(), String> {
        let takes_turns = std::env::var_os(NULL_VARIABLE).is_some_and(|value| value == TAKES_TURNS);
        self.lock = self.device.as_ref().filter(|_| takes_turns).map(GpuLock::of);
        if index == 0 { Ok(()) } else { Err(format!("no device with index {index}")) }
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(Stage)) -> Outcome {
        let begin = Instant::now();
        progress(Stage::Check);
        let Some(device) = &self.device else { return not_open() };
        if let Some(refusal) = check::refusal(job, device, Vec::new) {
            return refusal;
        }
        progress(Stage::Pipeline);
        let _held = self.lock.as_ref().map(|lock| {
            let held = lock.hold(true, || progress(Stage::Lock { launch: 0 }));
            let held = held.unwrap_or_else(|Outdated| leave(ExitStatus::Outdated));
            progress(Stage::Wait { launch: 0 });
            held.count_launch();
            held
        });
        let runs = device.mode == DriverMode::Execute;
        let launches = job.launches.iter().filter(|_| runs).map(unchanged).collect();
        let times = Times { total_us: begin.elapsed().as_micros() as u64, ..Times::default() };
        Outcome::Completed(Completed { launches, times })
    }
}

/// The buffers of a launch as they were before it.
fn unchanged(launch: &Launch) -> LaunchOutput {
    let read_back = |init: &Init, slice_words| match init {
        Init::Data(words) => ReadBack::trimmed(words, slice_words),
        Init::Zero { words } => ReadBack::trimmed(&vec![0; *words as usize], slice_words),
    };
    let buffers = launch.buffers.iter().filter_map(|buffer| match buffer.read_back {
        ReadBackMode::None => None,
        ReadBackMode::Whole => Some(read_back(&buffer.init, None)),
        ReadBackMode::Slices(words) => Some(read_back(&buffer.init, Some(words))),
    });
    // As good as any other that are multiples of much.
    let addresses = launch.addressed().map(|index| (index as u64 + 1) << 32).collect();
    LaunchOutput { buffers: buffers.collect(), addresses }
}

/// What the null device says it is: it has every feature, and subgroups of 8.
pub(crate) fn null_device(driver: &str, mode: DriverMode) -> DeviceInfo {
    DeviceInfo {
        name: driver.to_owned(),
        driver: driver.to_owned(),
        index: 0,
        device_name: "null device".to_owned(),
        driver_name: String::new(),
        driver_info: String::new(),
        driver_version: 0,
        vendor_id: 0,
        device_id: 0,
        device_type: DeviceType::Other,
        api_version: ApiVersion { major: 1, minor: 3, patch: 0 },
        conformance_version: String::new(),
        // Those of two drivers are two devices.
        device_uuid: Uuid(std::array::from_fn(|at| driver.as_bytes().get(at).copied().unwrap_or_default())),
        driver_uuid: Uuid::default(),
        max_spirv: SpirvVersion::V1_6,
        features: Feature::ALL.iter().copied().collect(),
        subgroup: SubgroupInfo { size: 8, min_size: 8, max_size: 8, ..SubgroupInfo::default() },
        limits: Limits {
            max_workgroup_size: [1024; 3],
            max_workgroup_invocations: 1024,
            max_workgroup_count: [65_535; 3],
            max_shared_memory: 32_768,
            max_storage_buffer_range: 1 << 30,
            max_uniform_buffer_range: 65_536,
            max_push_constants_size: 128,
            max_storage_buffers: 16,
            max_uniform_buffers: 16,
            max_storage_images: 16,
            max_sampled_images: 16,
            max_samplers: 16,
            max_texel_buffer_elements: 65_536,
            max_allocation: 1 << 30,
            timestamp_period: 1.0,
            ..Limits::default()
        },
        mode,
        debug: false,
        system: super::system::description(),
        opengl: None,
        webgpu: None,
    }
}
