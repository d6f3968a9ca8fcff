//! Jobs on every Vulkan driver of this machine.

mod common;

use std::time::Duration;

use common::{compile, completed, each_device, executing_devices, inventory, job, options, storage, words};
use tangle_runner::{
    Address, Buffer, BufferKind, Device, DeviceOptions, DeviceType, DriverMode, Feature, Image, ImageView, Init, Job,
    Launch, Optimisation, Outcome, Place, ReadBackMode, SpirvVersion, Stage, SubgroupFlags, TexelFormat, toolchain,
};

const SQUARES: &str = "#version 460
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Log { uint words[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    words[i] = i * i + words.length();
}";

#[test]
fn known_data_is_written() {
    each_device(|device| {
        let mut job = job(1, SQUARES, vec![storage(0, Init::Zero { words: 64 })]);
        job.launches[0].groups = [4, 1, 1];
        let completed = completed(device.run(job));
        let expected: Vec<u32> = (0..64).map(|i| i * i + 64).collect();
        assert_eq!(completed.launches[0].buffers[0].to_words(), expected);
        assert!(completed.times.total_us >= completed.times.driver_us());
        assert!(completed.times.driver_us() > 0);
    });
}

const EVERYTHING: &str = "#version 460
layout(local_size_x = 8) in;
layout(constant_id = 3) const uint scale = 1u;
layout(push_constant) uniform Push { uint add; uint more; };
layout(set = 0, binding = 2) uniform Table { uvec4 table[2]; };
layout(set = 0, binding = 5) readonly buffer Input { uint inputs[]; };
layout(set = 0, binding = 1) buffer Log { uint words[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    words[i] += inputs[i] * scale + add + (more << 16u) + table[i / 4u][i & 3u];
}";

fn everything_buffers(inputs: &[u32; 8]) -> Vec<Buffer> {
    vec![
        Buffer {
            binding: 2,
            kind: BufferKind::Uniform,
            init: Init::Data((0..8).map(|i| i * 1000).collect()),
            read_back: ReadBackMode::None,
        },
        Buffer { read_back: ReadBackMode::None, ..storage(5, Init::Data(inputs.to_vec())) },
        storage(1, Init::Data(vec![7; 8])),
    ]
}

#[test]
fn inputs_of_every_kind_arrive_and_launches_share_a_pipeline() {
    each_device(|device| {
        let launch = |inputs: [u32; 8], add: u32, more: u32| Launch {
            groups: [1, 1, 1],
            push_constants: [add.to_le_bytes(), more.to_le_bytes()].concat(),
            buffers: everything_buffers(&inputs),
            ..Launch::default()
        };
        let job = Job {
            id: 1,
            spirv: compile(EVERYTHING),
            specialization: vec![(3, 5)],
            launches: vec![launch([1, 2, 3, 4, 5, 6, 7, 8], 100, 1), launch([9; 8], 0, 0)],
            ..Job::default()
        };
        let completed = completed(device.run(job));
        let read = |launch: usize| completed.launches[launch].buffers[0].to_words();
        assert_eq!(read(0), (0..8).map(|i| 7 + (i + 1) * 5 + 100 + 65536 + i * 1000).collect::<Vec<u32>>());
        assert_eq!(read(1), (0..8).map(|i| 7 + 45 + i * 1000).collect::<Vec<u32>>());
        assert_eq!(completed.launches[0].buffers.len(), 1);
    });
}

const SLICES: &str = "#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Log { uint words[]; };
void main() {
    for (uint n = 0u; n < gl_LocalInvocationIndex; n++) {
        words[gl_LocalInvocationIndex * 256u + n] = n + 1u;
    }
}";

#[test]
fn slices_come_back_without_their_zeros_and_old_contents_are_cleared() {
    each_device(|device| {
        // A larger job leaves its words in the buffer that the next one gets.
        let dirty = job(1, SQUARES, vec![storage(0, Init::Data(vec![u32::MAX; 32 * 256]))]);
        completed(device.run(dirty));
        let mut job = job(2, SLICES, vec![storage(0, Init::Zero { words: 32 * 256 })]);
        job.launches[0].buffers[0].read_back = ReadBackMode::Slices(256);
        let completed = completed(device.run(job));
        let log = &completed.launches[0].buffers[0];
        assert_eq!((log.slice_count(), log.slice_words(), log.len()), (32, 256, 32 * 256));
        for (lane, slice) in log.slices().enumerate() {
            assert_eq!(slice, (1..=lane as u32).collect::<Vec<_>>());
        }
    });
}

const SUBGROUP: &str = "#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer Log { uint words[]; };
void main() {
    uint size = gl_SubgroupSize;
    words[gl_LocalInvocationIndex] = size << 16u | subgroupBallotBitCount(subgroupBallot(true));
}";

#[test]
fn a_required_subgroup_size_is_the_size_there_is() {
    let mut tried = 0;
    each_device(|device| {
        let subgroup = device.info().subgroup.clone();
        if !subgroup.required_size_in_compute {
            return;
        }
        for size in (0..8).map(|bit| 1 << bit).filter(|size| (subgroup.min_size..=subgroup.max_size).contains(size)) {
            for optimisation in [Optimisation::Default, Optimisation::Disabled] {
                let mut job = job(size.into(), SUBGROUP, vec![storage(0, Init::Zero { words: 128 })]);
                job.required_subgroup_size = Some(size);
                job.subgroup_flags = SubgroupFlags { require_full: true, allow_varying_size: false };
                job.optimisation = optimisation;
                assert_eq!(words(device.run(job), 0), [size << 16 | size; 128], "size {size}");
                tried += 1;
            }
        }
    });
    assert!(tried > 0, "no device with subgroup size control");
}

#[test]
fn what_a_device_lacks_is_named() {
    each_device(|device| {
        let missing = |job: Job| match device.run(job) {
            Outcome::Unsupported { missing } => missing.join("; "),
            other => panic!("{other}"),
        };
        let small = || vec![storage(0, Init::Zero { words: 128 })];
        let mut size = job(1, SUBGROUP, small());
        size.required_subgroup_size = Some(256);
        let text = missing(size);
        assert!(text.contains("subgroup size 256 (has ") || text.contains("requiredSubgroupSizeStages"), "{text}");
        let mut many = job(2, SUBGROUP, small());
        many.launches[0].groups = [1, u32::MAX, 1];
        assert!(missing(many).contains("maxComputeWorkGroupCount y 4294967295"));
        let lacking = Feature::ALL.iter().copied().find(|&feature| !device.info().features.contains(feature));
        if let Some(feature) = lacking {
            let mut job = job(3, SUBGROUP, small());
            job.features.insert(feature);
            assert_eq!(missing(job), feature.name());
        }
        // None of these may have cost the worker.
        assert_eq!(device.stats().restarts, 0);
    });
}

#[test]
fn a_module_is_turned_away_by_what_it_declares() {
    const PARTITIONED: &str = "#version 460
        #extension GL_NV_shader_subgroup_partitioned : require
        layout(set = 0, binding = 0) buffer Log { uint words[]; };
        void main() { words[0] = subgroupPartitionNV(words[1]).x; }";
    each_device(|device| {
        if device.info().features.contains(Feature::PartitionedNv) {
            return;
        }
        let outcome = device.run(job(1, PARTITIONED, vec![storage(0, Init::Zero { words: 2 })]));
        let Outcome::Unsupported { missing } = outcome else { panic!("{outcome}") };
        assert!(missing.contains(&"VK_NV_shader_subgroup_partitioned".to_owned()), "{missing:?}");
    });
}

#[test]
fn every_spirv_version_that_a_device_takes_runs() {
    each_device(|device| {
        for version in SpirvVersion::ALL.into_iter().filter(|&version| version <= device.info().max_spirv) {
            let mut job = job(1, SUBGROUP, vec![storage(0, Init::Zero { words: 128 })]);
            job.spirv = toolchain::compile_and_validate(SUBGROUP, version).unwrap();
            let words = words(device.run(job), 0);
            assert!(words.iter().all(|word| word >> 16 >= 1 && word & 0xffff >= 1), "SPIR-V {version}");
        }
    });
}

#[test]
fn a_shader_that_never_ends_times_out_and_the_next_job_runs() {
    // Some drivers end every loop after 65,535 rounds; with this many workgroups that is still for ever.
    const ENDLESS: &str = "#version 460
        layout(local_size_x = 64) in;
        layout(set = 0, binding = 0) coherent buffer Log { uint words[]; };
        void main() { while (words[1] == 0u) atomicAdd(words[0], 1u); }";
    let (driver, info) = executing_devices()[0];
    assert_eq!(info.device_type, DeviceType::Cpu, "an endless shader is not tried on a real GPU");
    let timeout = Duration::from_secs(3);
    let device = Device::open(driver, info.index, &DeviceOptions { timeout: Some(timeout), ..options() }).unwrap();
    let mut endless = job(1, ENDLESS, vec![storage(0, Init::Zero { words: 2 })]);
    endless.launches[0].groups = [65_535, 64, 1];
    device.submit(endless);
    device.submit(job(2, SQUARES, vec![storage(0, Init::Zero { words: 16 })]));
    let first = device.results().recv().unwrap();
    let Outcome::TimedOut { stage, after, .. } = &first.outcome else { panic!("{}", first.outcome) };
    assert!(matches!(stage, Stage::Submit { launch: 0 } | Stage::Wait { launch: 0 }), "{stage}");
    assert!(*after >= timeout && *after < timeout * 4, "{after:?}");
    let second = device.results().recv().unwrap();
    assert_eq!(second.job, 2);
    assert_eq!(words(second.outcome, 0)[15], 15 * 15 + 16);
}

#[test]
fn staged_memory_gives_the_same_as_shared_memory() {
    let (driver, info) = executing_devices()[0];
    let mut driver = driver.clone();
    for placement in ["shared", "staged"] {
        driver.env.insert("TANGLE_WORKER_MEMORY".into(), placement.into());
        let device = Device::open(&driver, info.index, &options()).unwrap();
        for (id, inputs) in [(1, [1; 8]), (2, [2; 8])] {
            let mut job = job(id, EVERYTHING, everything_buffers(&inputs));
            job.launches[0].push_constants = vec![0; 8];
            let expected: Vec<u32> = (0..8).map(|i| 7 + inputs[0] + i * 1000).collect();
            assert_eq!(words(device.run(job), 0), expected, "{placement}");
        }
        let zeroed = job(3, SLICES, vec![storage(0, Init::Zero { words: 32 * 256 })]);
        assert_eq!(words(device.run(zeroed), 0).iter().sum::<u32>(), (0..32).map(|n| n * (n + 1) / 2).sum::<u32>());
    }
}

#[test]
fn a_driver_that_only_compiles_gives_no_launches() {
    let (driver, info) = executing_devices()[0];
    let mut driver = driver.clone();
    driver.mode = DriverMode::CompileOnly;
    let device = Device::open(&driver, info.index, &options()).unwrap();
    assert_eq!(device.info().mode, DriverMode::CompileOnly);
    let completed = completed(device.run(job(1, SQUARES, vec![storage(0, Init::Zero { words: 64 })])));
    assert!(completed.launches.is_empty() && completed.times.module_us + completed.times.pipeline_us > 0);
}

#[test]
fn every_device_says_what_it_is() {
    for (driver, info) in executing_devices() {
        eprintln!("{}", serde_json::to_string_pretty(info).unwrap());
        assert!(info.name.starts_with(&driver.name) && !info.device_name.is_empty());
        assert!(info.api_version.major == 1 && info.api_version.minor >= 1);
        assert!(info.subgroup.size.is_power_of_two() && info.subgroup.min_size <= info.subgroup.max_size);
        assert!(info.subgroup.stages.contains(&"compute".to_owned()));
        assert!(info.features.contains(Feature::SubgroupBasic));
        assert!(info.limits.max_workgroup_invocations >= 128);
        let json = serde_json::to_string(info).unwrap();
        assert_eq!(&serde_json::from_str::<tangle_runner::DeviceInfo>(&json).unwrap(), info);
    }
    for (driver, problem) in inventory().problems() {
        eprintln!("{}: {problem}", driver.name);
    }
}

/// Texels come back from where a shader wrote them, an address leads to its buffer, and where the device lacks a format it says so by name.
#[test]
fn images_come_back_and_addresses_lead_to_buffers() {
    let of_image = "#version 460
        layout(local_size_x = 6) in;
        layout(binding = 0, rg16ui) uniform uimage2DArray image;
        void main() { uint i = gl_LocalInvocationIndex; imageStore(image, ivec3(i % 3u, 0, i / 3u), uvec4(i, 9u, 0u, 0u)); }";
    let of_address = "#version 460
        #extension GL_EXT_buffer_reference : require
        layout(local_size_x = 1) in;
        layout(buffer_reference, std430) buffer Word { uint x; };
        layout(push_constant) uniform Push { uint before; uint more; Word word; };
        void main() { word.x += more; }";
    each_device(|device| {
        // `Rg16ui` of SPIR-V.
        let format = TexelFormat::of_spirv(36).unwrap();
        let image = Image { format, view: ImageView::D2Array, extent: [3, 2, 1], layers: 2 };
        let texels = Buffer { kind: BufferKind::StorageImage(image), ..storage(0, Init::Data(vec![7; 12])) };
        match device.run(job(1, of_image, vec![texels])) {
            Outcome::Unsupported { missing } => {
                assert!(
                    missing.iter().all(|what| what.contains("torageImage") || what.contains("VK_FORMAT_R16G16_UINT"))
                );
            }
            outcome => {
                let texel = |i: u32| 9 << 16 | i;
                let expected = [texel(0), texel(1), texel(2), 7, 7, 7, texel(3), texel(4), texel(5), 7, 7, 7];
                assert_eq!(words(outcome, 0), expected);
            }
        }
        let buffers = vec![Buffer { kind: BufferKind::Addressed, ..storage(0, Init::Data(vec![1, 2, 3])) }];
        let mut job = job(2, of_address, buffers);
        job.launches[0].push_constants = [0, 40, 0, 0].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        job.launches[0].addresses = vec![Address { place: Place::PushConstants, word: 2, buffer: 0, offset: 4 }];
        match device.run(job) {
            Outcome::Unsupported { missing } => assert_eq!(missing, ["bufferDeviceAddress"]),
            outcome => {
                let launch = completed(outcome).launches.swap_remove(0);
                assert_eq!(launch.buffers[0].to_words(), [1, 42, 3]);
                assert!(launch.addresses.len() == 1 && launch.addresses[0] != 0);
            }
        }
    });
}
