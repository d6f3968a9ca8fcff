//! Jobs on every OpenGL driver of this machine.

mod common;

use common::{compile, completed, inventory, options, storage};
use tangle_program::case::interface::PUSH;
use tangle_runner::{
    Api, Buffer, BufferKind, Device, DriverMode, Init, Job, Launch, Outcome, ReadBackMode, Source, Stage, Subgroups,
};

/// Runs a test on each, and says where there is none.
fn each_opengl(mut test: impl FnMut(&Device)) {
    let runs = inventory().devices().filter(|(_, info)| info.api() == Api::OpenGl && info.mode == DriverMode::Execute);
    let mut count = 0;
    for (driver, info) in runs {
        test(&Device::open(driver, info.index, &options()).unwrap());
        count += 1;
    }
    eprintln!("note: OpenGL devices tested: {count}");
}

fn source(glsl: &str, local_size: [u32; 3]) -> Option<Box<Source>> {
    Some(Box::new(Source { text: glsl.to_owned(), local_size, beside: Vec::new() }))
}

const EVERYTHING: &str = "#version 450
layout(local_size_x = 8) in;
layout(binding = 5, std140) uniform Push { uvec4 push_words[1]; };
layout(binding = 1, std140) uniform Table { uvec4 table[2]; };
layout(binding = 0, std430) readonly buffer Input { uint inputs[]; };
layout(binding = 3, std430) buffer Log { uint words[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    uint at = gl_WorkGroupID.x * 8u + i;
    words[at] += inputs[i] * 3u + push_words[0].x + (push_words[0].y << 16u) + table[i / 4u][i & 3u];
}";

#[test]
fn inputs_of_every_kind_arrive_and_launches_share_a_program() {
    assert_eq!(PUSH, 5);
    each_opengl(|device| {
        let launch = |factor: u32| Launch {
            groups: [2, 1, 1],
            push_constants: [factor, 2].iter().flat_map(|word| word.to_ne_bytes()).collect(),
            buffers: vec![
                Buffer {
                    binding: 1,
                    kind: BufferKind::Uniform,
                    init: Init::Data((0..8).map(|i| i * 1000).collect()),
                    read_back: ReadBackMode::None,
                },
                Buffer {
                    read_back: ReadBackMode::None,
                    ..storage(0, Init::Data((0..8).map(|i| i * factor).collect()))
                },
                storage(3, Init::Data(vec![7; 16])),
            ],
            ..Launch::default()
        };
        let job = Job {
            id: 1,
            source: source(EVERYTHING, [8, 1, 1]),
            launches: vec![launch(1), launch(5)],
            ..Job::default()
        };
        let completed = completed(device.run(job));
        for (factor, launch) in [1, 5].into_iter().zip(&completed.launches) {
            let expected = |i: u32| 7 + i * factor * 3 + factor + (2 << 16) + i * 1000;
            let expected: Vec<u32> = (0..16).map(|at| expected(at % 8)).collect();
            assert_eq!(launch.buffers[0].to_words(), expected, "{}", device.info().name);
        }
    });
}

#[test]
fn what_the_compiler_refuses_is_one_line() {
    each_opengl(|device| {
        let launches = vec![Launch { groups: [1, 1, 1], ..Launch::default() }];
        let job = Job { source: source("#version 450\nvoid main() { x = 1; }", [1; 3]), launches, ..Job::default() };
        match device.run(job) {
            Outcome::OpenGlError { call, result, stage: Stage::Module } => {
                assert_eq!(call, "glCompileShader");
                assert!(result.to_lowercase().starts_with("error") && result.len() <= 200, "{result}");
            }
            other => panic!("{}: {other}", device.info().name),
        }
        // The context goes on.
        let fine = source("#version 450\nlayout(local_size_x = 1) in;\nvoid main() { }", [1; 3]);
        let launches = vec![Launch { groups: [1, 1, 1], ..Launch::default() }];
        completed(device.run(Job { source: fine, launches, ..Job::default() }));
    });
}

const SQUARES: &str = "#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 16) in;
layout(constant_id = 3) const uint scale = 1u;
layout(set = 0, binding = 0) buffer Log { uint words[]; };
void main() { words[gl_GlobalInvocationID.x] = subgroupAdd(0u) + scale * gl_GlobalInvocationID.x; }";

#[test]
fn modules_run_where_opengl_takes_them() {
    each_opengl(|device| {
        let launch =
            Launch { groups: [1, 1, 1], buffers: vec![storage(0, Init::Zero { words: 16 })], ..Launch::default() };
        let job =
            Job { spirv: compile(SQUARES), specialization: vec![(3, 7)], launches: vec![launch], ..Job::default() };
        let info = device.info();
        let context = info.opengl.as_ref().unwrap();
        match device.run(job) {
            Outcome::Completed(completed) => {
                assert_eq!(completed.launches[0].buffers[0].to_words(), (0..16).map(|i| i * 7).collect::<Vec<u32>>());
                assert!(context.takes_spirv && context.subgroups == Subgroups::Khr);
            }
            Outcome::Unsupported { missing } => {
                assert!(!context.takes_spirv || context.subgroups != Subgroups::Khr, "{}: {missing:?}", info.name);
            }
            other => panic!("{}: {other}", info.name),
        }
    });
}

#[test]
fn a_context_says_what_it_has() {
    each_opengl(|device| {
        let info = device.info();
        let context = info.opengl.as_ref().unwrap();
        assert!((info.api_version.major, info.api_version.minor) >= (4, 5), "{}", info.name);
        assert!(info.driver_name.starts_with("OpenGL "), "{}", info.driver_name);
        // OpenGL 4.5, tables 23.
        assert!(info.limits.max_workgroup_invocations >= 1024 && info.limits.max_storage_buffers >= 8);
        match context.subgroups {
            Subgroups::Khr => {
                assert!(
                    info.subgroup.size.is_power_of_two() && info.subgroup.stages.iter().any(|stage| stage == "compute")
                );
                assert!(info.subgroup.operations.iter().any(|operation| operation == "basic"));
            }
            Subgroups::Arb => assert!((1..=64).contains(&info.subgroup.size)),
            Subgroups::None => assert!(info.features.without(info.features).is_empty()),
        }
    });
}

#[test]
fn source_is_for_opengl_only() {
    for (driver, info) in common::executing_devices().into_iter().take(1) {
        let device = Device::open(driver, info.index, &options()).unwrap();
        let launches = vec![Launch { groups: [1, 1, 1], ..Launch::default() }];
        let outcome = device.run(Job { source: source(EVERYTHING, [8, 1, 1]), launches, ..Job::default() });
        assert!(matches!(&outcome, Outcome::Unsupported { missing } if missing[0].contains("GLSL")), "{outcome}");
    }
}
