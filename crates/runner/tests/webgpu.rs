//! Jobs on every WebGPU runtime of this machine, and what becomes of a worker whose runtime crashes, hangs or is killed: on a runtime made up
//! here, which needs Python and nothing else.

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::{compile, completed, inventory, options, storage, words};
use tangle_runner::worker::{REWRITE_VARIABLE, RUNTIME_VARIABLE};
use tangle_runner::{
    Api, Buffer, BufferKind, Device, DeviceOptions, DriverConfig, DriverMode, Init, Inventory, Job, Launch, Outcome,
    ProbeOptions, ReadBackMode, Shortage, Source, Stage, Stall, WorkerEnd,
};

/// Runs a test on each, and says where there is none.
fn each_webgpu(mut test: impl FnMut(&Device)) {
    let runs = inventory().devices().filter(|(_, info)| info.api() == Api::WebGpu && info.mode == DriverMode::Execute);
    let mut count = 0;
    for (driver, info) in runs {
        test(&Device::open(driver, info.index, &options()).expect("it opened before"));
        count += 1;
    }
    eprintln!("note: WebGPU devices tested: {count}");
}

fn job(wgsl: &str, launches: Vec<Launch>) -> Job {
    let source = Some(Box::new(Source { text: wgsl.to_owned(), local_size: [8, 1, 1], beside: Vec::new() }));
    Job { id: 1, source, launches, ..Job::default() }
}

const EVERYTHING: &str = "enable subgroups;
struct Push { w0: u32, w1: u32 }
var<immediate> push_words: Push;
@group(0) @binding(1) var<uniform> table: array<vec4<u32>, 2>;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let at = group.x * 8u + i;
    words[at] += inputs[i] * 3u + push_words.w0 + (push_words.w1 << 16u) + table[i / 4u][i & 3u];
}";

fn launch(factor: u32) -> Launch {
    let unread =
        |binding, kind, words| Buffer { binding, kind, init: Init::Data(words), read_back: ReadBackMode::None };
    Launch {
        groups: [2, 1, 1],
        push_constants: [factor, 2].iter().flat_map(|word| word.to_ne_bytes()).collect(),
        buffers: vec![
            unread(1, BufferKind::Uniform, (0..8).map(|i| i * 1000).collect()),
            unread(0, BufferKind::Storage, (0..8).map(|i| i * factor).collect()),
            storage(3, Init::Data(vec![7; 16])),
            // The shader does not declare it.
            storage(4, Init::Zero { words: 3 }),
        ],
        ..Launch::default()
    }
}

#[test]
fn inputs_of_every_kind_arrive_and_launches_share_a_program() {
    each_webgpu(|device| {
        let completed = completed(device.run(job(EVERYTHING, vec![launch(1), launch(5)])));
        for (factor, launch) in [1, 5].into_iter().zip(&completed.launches) {
            let expected = |i: u32| 7 + i * factor * 3 + factor + (2 << 16) + i * 1000;
            let expected: Vec<u32> = (0..16).map(|at| expected(at % 8)).collect();
            assert_eq!(launch.buffers[0].to_words(), expected, "{}", device.info().name);
            assert_eq!(launch.buffers[1].to_words(), [0; 3]);
        }
        assert!(completed.times.processor_us > 0 && completed.times.driver_us() > 0);
    });
}

#[test]
fn an_adapter_says_what_it_has() {
    each_webgpu(|device| {
        let info = device.info();
        let adapter = info.webgpu.as_ref().expect("it is one of WebGPU");
        assert!(adapter.runtime.starts_with("Dawn ") && adapter.backend == "Vulkan" && !adapter.driver.is_empty());
        assert!(info.driver_name.starts_with("WebGPU Dawn on ") && info.driver_info.contains("Dawn v"));
        assert!(4 <= info.subgroup.min_size && info.subgroup.min_size <= info.subgroup.max_size);
        // WebGPU, Limits: the least that every adapter has.
        let limits = &info.limits;
        assert!(limits.max_workgroup_invocations >= 256 && limits.max_storage_buffers >= 8);
        assert!(limits.max_shared_memory >= 16384 && limits.max_uniform_buffers >= 12);
        let json = serde_json::to_string(info).expect("plain data");
        assert_eq!(&serde_json::from_str::<tangle_runner::DeviceInfo>(&json).expect("it was just written"), info);
    });
}

#[test]
fn what_the_compiler_refuses_is_one_line_and_modules_are_not_taken() {
    each_webgpu(|device| {
        let refused = device.run(job("fn main() { x = 1; }", vec![Launch { groups: [1; 3], ..Launch::default() }]));
        let Outcome::WebGpuError { call, result, stage: Stage::Module } = refused else { panic!("{refused}") };
        assert_eq!(call, "createShaderModule");
        assert_eq!(result, "GPUValidationError: Error while parsing WGSL: error: unresolved value 'x'");
        let module = Job { source: None, spirv: compile("#version 460\nvoid main() {}"), ..job("", vec![launch(1)]) };
        let outcome = device.run(module);
        assert!(matches!(&outcome, Outcome::Unsupported { missing } if missing[0].contains("WGSL")), "{outcome}");
        // The device goes on.
        completed(device.run(job(EVERYTHING, vec![launch(1)])));
    });
}

/// A required size is that of the subgroups. A pipeline that cannot have it blames nobody.
#[test]
fn a_required_size_is_had_or_not_supported() {
    let shader = |size: u32| {
        format!(
            "enable subgroup_size_control;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;
@subgroup_size({size})
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32) {{
    words[i] = size;
}}"
        )
    };
    each_webgpu(|device| {
        let size = device.info().subgroup.min_size;
        if !device.info().subgroup.required_size_in_compute || 8 % size != 0 {
            return;
        }
        let launch =
            || Launch { groups: [1; 3], buffers: vec![storage(3, Init::Zero { words: 8 })], ..Launch::default() };
        let job = |wgsl: String, size| Job { required_subgroup_size: size, ..job(&wgsl, vec![launch()]) };
        assert_eq!(words(device.run(job(shader(size), Some(size))), 0), [size; 8], "{}", device.info().name);
        // No multiple of it are in the workgroup.
        let outcome = device.run(job(shader(16), Some(size)));
        assert!(
            matches!(&outcome, Outcome::Unsupported { missing } if missing[0].contains("subgroup size")),
            "{outcome}"
        );
        let outcome = device.run(job(shader(16), None));
        assert!(matches!(&outcome, Outcome::WebGpuError { call, .. } if call == "createComputePipeline"), "{outcome}");
    });
}

/// The planted fault of `tests/source_faults.rs` reaches the shader.
#[test]
fn a_source_that_is_rewritten_gives_other_words() {
    for (driver, info) in inventory().devices().filter(|(_, info)| info.api() == Api::WebGpu) {
        let mut faulty = driver.clone();
        faulty.env.insert(REWRITE_VARIABLE.into(), "* 3u=>* 4u".into());
        let run = |driver: &DriverConfig| {
            let device = Device::open(driver, info.index, &options()).expect("it opened before");
            words(device.run(job(EVERYTHING, vec![launch(1)])), 0)
        };
        let (right, wrong) = (run(driver), run(&faulty));
        let expected: Vec<u32> = right.iter().zip(0..).map(|(word, at)| word + at % 8).collect();
        assert_eq!(wrong, expected, "{}", info.name);
    }
}

/// A package that looks like wgpudawn. Its device does what the shader's text says, and leaves every buffer as it was.
const PACKAGE: [(&str, &str); 4] = [
    (
        "wgpudawn/__init__.py",
        r#"
import os, signal

class GPUError(Exception): pass
class GPUInternalError(GPUError): pass
class GPUOutOfMemoryError(GPUError, MemoryError): pass

class Flags:
    def __getattr__(self, name): return 0

ShaderStage = BufferUsage = MapMode = Flags()

class Anything:
    def __getattr__(self, name): return lambda *args, **named: Anything()

class Buffer(Anything):
    def __init__(self, size): self.size = size
    def map_sync(self, mode): pass
    def read_mapped(self, copy): return bytes(self.size)

class Lost:
    _state = "pending"

class Device(Anything):
    queue = Anything()
    lost = Lost()
    def _get_lost_async(self): return self.lost
    def create_buffer(self, size, usage): return Buffer(size)
    def create_shader_module(self, code):
        if "crash" in code: os.kill(os.getpid(), signal.SIGSEGV)
        if "kill" in code: os.kill(os.getpid(), signal.SIGKILL)
        if "spin" in code:
            while True: pass
        if "wait" in code: signal.pause()
        if "leave" in code: os._exit(3)
        if "allocate" in code: raise MemoryError
        if "memory" in code: raise GPUOutOfMemoryError("too much")
        if "internal" in code: raise GPUInternalError("vkCreateShaderModule failed")
        if "lost" in code:
            self.lost._state = "fulfilled"
            raise GPUError("the device is lost")
        if "mistake" in code: raise KeyError("x")
        if "print" in code: print("the driver says hello", flush=True)
        return Anything()

class Limits(dict):
    def __missing__(self, name): return 1 << 16

class Adapter:
    info = {"backend_type": "Vulkan", "device": "made up", "description": "Made up: 1.2", "adapter_type": "CPU", "vendor_id": 1, "device_id": 2}
    features, limits, _internal = {"subgroups"}, Limits(), None
    def request_device_sync(self, **named): return Device()

class Gpu:
    def enumerate_adapters_sync(self): return [Adapter()]

gpu = Gpu()
"#,
    ),
    (
        "wgpudawn/_lib.py",
        r#"
dawn_version = "v0.1"
class Info: subgroupMinSize, subgroupMaxSize = 4, 64
class ffi: new = staticmethod(lambda name: Info)
class lib:
    WGPUStatus_Success = 1
    wgpuAdapterGetInfo = staticmethod(lambda adapter, info: 1)
"#,
    ),
    ("wgpudawn/backends/__init__.py", ""),
    (
        "wgpudawn/backends/dawn/__init__.py",
        "class _extras_device:\n    set_instance_extras = staticmethod(lambda **named: None)\n",
    ),
];

/// The driver entry of the runtime that is made up; `None` without Python.
fn made_up(folder: &Path) -> Option<DriverConfig> {
    if !Command::new("python3").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("note: what becomes of a runtime's process is not tested: there is no python3");
        return None;
    }
    for (name, text) in PACKAGE {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        std::fs::write(path, text).expect("ours");
    }
    let mut driver = DriverConfig::from_manifest("made-up", Path::new(""));
    (driver.manifest, driver.api) = (None, Api::WebGpu);
    driver.env.insert(RUNTIME_VARIABLE.into(), folder.display().to_string());
    Some(driver)
}

#[test]
fn what_ends_the_runtime_ends_the_worker_alike() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(driver) = made_up(folder.path()) else { return };
    let device = |seconds| {
        let options = DeviceOptions { timeout: Some(Duration::from_secs_f64(seconds)), ..options() };
        Device::open(&driver, 0, &options).expect("it starts")
    };
    let patient = device(60.0);
    let info = patient.info();
    assert_eq!((info.driver_name.as_str(), info.driver_info.as_str()), ("WebGPU Dawn on Made up", "1.2, Dawn v0.1"));
    assert_eq!((info.subgroup.min_size, info.subgroup.max_size), (4, 64));
    let run = |device: &Device, wgsl: &str| device.run(job(wgsl, vec![launch(1)]));
    let is_fine = |device: &Device| assert_eq!(words(run(device, "print"), 1), [0; 3]);
    is_fine(&patient);
    let crashed = |wgsl: &str| match run(&patient, wgsl) {
        Outcome::Crashed { end, stage: Stage::Module, .. } => end,
        other => panic!("{wgsl}: {other}"),
    };
    assert_eq!(crashed("crash"), WorkerEnd::Signal(libc::SIGSEGV));
    is_fine(&patient);
    // From outside: nothing is said of the job unless it happens again, which it does.
    assert_eq!(crashed("kill"), WorkerEnd::Signal(libc::SIGKILL));
    assert_eq!(crashed("leave"), WorkerEnd::Exit(3));
    is_fine(&patient);
    match run(&patient, "allocate") {
        Outcome::OutOfMemory { shortage: Shortage::Allocation, stage: Stage::Module, .. } => {}
        other => panic!("{other}"),
    }
    match run(&patient, "memory") {
        Outcome::OutOfMemory { shortage: Shortage::Call { call, result }, .. } => {
            assert_eq!((&*call, &*result), ("createShaderModule", "too much"));
        }
        other => panic!("{other}"),
    }
    match run(&patient, "internal") {
        Outcome::WebGpuError { result, .. } => assert_eq!(result, "GPUInternalError: vkCreateShaderModule failed"),
        other => panic!("{other}"),
    }
    assert!(matches!(run(&patient, "lost"), Outcome::DeviceLost { stage: Stage::Module }));
    // A mistake of the script says nothing of the runtime.
    let lost = run(&patient, "mistake");
    assert!(matches!(&lost, Outcome::WorkerLost { reason } if reason.contains("KeyError")), "{lost}");
    is_fine(&patient);
    drop(patient);
    let hasty = device(1.0);
    for (wgsl, stall) in [("spin", Stall::Processor), ("wait", Stall::Blocked)] {
        match run(&hasty, wgsl) {
            Outcome::TimedOut { stage: Stage::Module, how, .. } => assert_eq!(how, stall),
            other => panic!("{wgsl}: {other}"),
        }
    }
    is_fine(&hasty);
}

#[test]
fn a_runtime_that_is_not_there_is_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(mut driver) = made_up(folder.path()) else { return };
    let problem = |driver: &DriverConfig| {
        let options = ProbeOptions { worker_exe: Some(common::worker_exe()), ..ProbeOptions::default() };
        let inventory = Inventory::probe(std::slice::from_ref(driver), &options);
        let problem = inventory.problems().next().expect("it does not start").1.to_string();
        assert_eq!(problem.lines().count(), 1, "{problem}");
        problem
    };
    let empty = tempfile::tempdir().expect("a temporary folder");
    driver.env.insert(RUNTIME_VARIABLE.into(), empty.path().display().to_string());
    assert!(problem(&driver).contains("No module named 'wgpudawn'"));
    driver.env.insert(RUNTIME_VARIABLE.into(), String::new());
    driver.env.insert("TANGLE_CACHE".into(), empty.path().display().to_string());
    assert!(problem(&driver).contains("./x setup --compilers tint"));
    driver.prefix = vec!["no-such-program".into()];
    driver.env.insert(RUNTIME_VARIABLE.into(), folder.path().display().to_string());
    assert!(problem(&driver).contains("no-such-program"));
}
