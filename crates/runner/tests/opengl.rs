//! Jobs on every OpenGL driver of this machine.

mod common;

use common::{compile, completed, inventory, options, storage};
use tangle_program::case::interface::PUSH;
use tangle_runner::{
    Api, Buffer, BufferKind, Device, DriverMode, Feature, Init, ItemPipeline, Job, Launch, Module, Outcome, Pipeline,
    Raster, ReadBackMode, ShaderStage, Source, Stage, Subgroups,
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

/// A draw: its stage, what else is needed for it, the shaders, its own first, the pipeline, the counts, and what it leaves in its words.
struct Drawn {
    name: &'static str,
    needs: Feature,
    shaders: Vec<(ShaderStage, &'static str)>,
    pipeline: Pipeline,
    groups: [u32; 3],
    /// Two floats for each vertex.
    corners: Vec<f32>,
    words: Vec<u32>,
}

/// One triangle over the pixel where coordinates begin, and one over all three by two; the second number is that of the first of the three vertices.
const FRAGMENT: [(ShaderStage, &str); 2] = [
    (
        ShaderStage::Fragment,
        "layout(location = 0) flat in uint first;
        layout(SETbinding = 3, std430) buffer Log { uint words[]; };
        void main() { atomicAdd(words[first / 3u * 6u + uint(gl_FragCoord.y) * 3u + uint(gl_FragCoord.x)], 1u + first); }",
    ),
    (
        ShaderStage::Vertex,
        "layout(SETbinding = 5, std430) readonly buffer Corners { uint corners[]; };
        layout(location = 0) out uint first;
        void main() {
            uint at = uint(VERTEX) * 2u;
            first = uint(VERTEX);
            gl_Position = vec4(uintBitsToFloat(corners[at]), uintBitsToFloat(corners[at + 1u]), 0.0, 1.0);
        }",
    ),
];
const VERTEX: &str = "layout(SETbinding = 3, std430) buffer Log { uint words[]; };
    void main() { atomicAdd(words[INSTANCE * 3 + VERTEX], 1u); gl_Position = vec4(0.0); gl_PointSize = 1.0; }";
const IDLE_VERTEX: &str = "void main() { gl_Position = vec4(0.0); gl_PointSize = 1.0; }";
const CONTROL: &str = "layout(vertices = 2) out;
    layout(SETbinding = 3, std430) buffer Log { uint words[]; };
    void main() {
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = 1.0;
        atomicAdd(words[gl_PrimitiveID * 2 + gl_InvocationID], 1u);
    }";
const IDLE_EVALUATION: &str = "layout(isolines) in;
    void main() { gl_Position = vec4(0.0); }";
const IDLE_CONTROL: &str = "layout(vertices = 1) out;
    void main() { gl_TessLevelOuter[0] = 1.0; gl_TessLevelOuter[1] = 1.0; }";
const EVALUATION: &str = "layout(isolines, equal_spacing) in;
    layout(SETbinding = 3, std430) buffer Log { uint words[]; };
    void main() { atomicAdd(words[gl_PrimitiveID * 2 + int(gl_TessCoord.x + 0.5)], 1u); gl_Position = vec4(0.0); }";
const GEOMETRY: &str = "layout(points, invocations = 2) in;
    layout(points, max_vertices = 1) out;
    layout(SETbinding = 3, std430) buffer Log { uint words[]; };
    void main() { atomicAdd(words[gl_PrimitiveIDIn * 2 + gl_InvocationID], 1u); }";
const MESH: &str = "#extension GL_EXT_mesh_shader : require
    layout(local_size_x = 2) in;
    layout(triangles, max_vertices = 3, max_primitives = 1) out;
    layout(SETbinding = 3, std430) buffer Log { uint words[]; };
    void main() {
        SetMeshOutputsEXT(0u, 0u);
        atomicAdd(words[gl_WorkGroupID.x * 2u + gl_LocalInvocationIndex], 1u);
    }";

/// A draw of each stage. Of vertices nothing says how often they are executed: each is, at least once.
fn draws() -> Vec<Drawn> {
    let (vertex, control) = (ShaderStage::Vertex, ShaderStage::TessellationControl);
    let evaluation = ShaderStage::TessellationEvaluation;
    let items = |stage, patches, beside: &[ShaderStage]| {
        let beside = beside.iter().map(|&stage| (stage, Module::default())).collect();
        Pipeline::Items(Box::new(ItemPipeline { stage, beside, patches }))
    };
    let drawn = |name, shaders: Vec<(ShaderStage, &'static str)>, pipeline, groups, words| {
        let needs = Feature::VertexPipelineStoresAndAtomics;
        Drawn { name, needs, shaders, pipeline, groups, corners: Vec::new(), words }
    };
    // From pixels of three by two to positions.
    let corners = [[0, 0], [2, 0], [0, 1], [0, 0], [6, 0], [0, 6]].into_iter();
    let corners = corners.flat_map(|[x, y]| [x as f32 / 1.5 - 1.0, y as f32 - 1.0]).collect();
    let raster = Raster { width: 3, height: 2, ..Raster::default() };
    let fragments = vec![1, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4];
    vec![
        Drawn {
            needs: Feature::FragmentStoresAndAtomics,
            corners,
            ..drawn("fragment", FRAGMENT.into(), Pipeline::Fragment(Box::new(raster)), [6, 1, 1], fragments)
        },
        drawn("vertex", vec![(vertex, VERTEX)], items(vertex, false, &[]), [3, 2, 1], vec![1; 6]),
        drawn(
            "tessellation control",
            vec![(control, CONTROL), (vertex, IDLE_VERTEX), (evaluation, IDLE_EVALUATION)],
            items(control, true, &[vertex, evaluation]),
            [3, 1, 1],
            vec![1; 6],
        ),
        drawn(
            "tessellation evaluation",
            vec![(evaluation, EVALUATION), (vertex, IDLE_VERTEX), (control, IDLE_CONTROL)],
            items(evaluation, true, &[vertex, control]),
            [3, 1, 1],
            vec![1; 6],
        ),
        drawn(
            "geometry",
            vec![(ShaderStage::Geometry, GEOMETRY), (vertex, IDLE_VERTEX)],
            items(ShaderStage::Geometry, false, &[vertex]),
            [3, 1, 1],
            vec![1; 6],
        ),
        Drawn {
            needs: Feature::MeshShader,
            ..drawn("mesh", vec![(ShaderStage::Mesh, MESH)], Pipeline::Mesh { task: None }, [3, 1, 1], vec![1; 6])
        },
    ]
}

/// The job of a draw for OpenGL's own front end, or with modules.
fn job_of(draw: &Drawn, as_source: bool) -> Job {
    let text = |(stage, body): (ShaderStage, &str)| {
        let named =
            |set, vertex, instance| body.replace("SET", set).replace("VERTEX", vertex).replace("INSTANCE", instance);
        if as_source {
            return format!("#version 450\n{}", named("", "gl_VertexID", "gl_InstanceID"));
        }
        let name = match stage {
            ShaderStage::TessellationControl => "tesscontrol",
            ShaderStage::TessellationEvaluation => "tesseval",
            stage => stage.name(),
        };
        format!(
            "#version 450\n#pragma shader_stage({name})\n{}",
            named("set = 0, ", "gl_VertexIndex", "gl_InstanceIndex")
        )
    };
    let texts: Vec<(ShaderStage, String)> = draw.shaders.iter().map(|&shader| (shader.0, text(shader))).collect();
    let corners: Vec<u32> = draw.corners.iter().map(|corner| corner.to_bits()).collect();
    let mut buffers = vec![storage(3, Init::Zero { words: draw.words.len() as u64 })];
    if !corners.is_empty() {
        buffers.push(Buffer { read_back: ReadBackMode::None, ..storage(5, Init::Data(corners)) });
    }
    let launches = vec![Launch { groups: draw.groups, buffers, ..Launch::default() }];
    let mut job = Job { pipeline: draw.pipeline.clone(), launches, ..Job::default() };
    if as_source {
        let beside = texts[1..].to_vec();
        job.source = Some(Box::new(Source { text: texts[0].1.clone(), local_size: [2, 1, 1], beside }));
        return job;
    }
    job.spirv = compile(&texts[0].1);
    let modules = texts[1..].iter().map(|(stage, text)| (*stage, Module(compile(text))));
    match &mut job.pipeline {
        Pipeline::Fragment(raster) => modules.for_each(|(_, module)| raster.vertex = module),
        Pipeline::Items(items) => items.beside = modules.collect(),
        Pipeline::Compute | Pipeline::Task { .. } | Pipeline::Mesh { .. } => {}
    }
    job
}

#[test]
fn every_stage_draws_where_it_should() {
    each_opengl(|device| {
        let info = device.info();
        for draw in draws() {
            if !info.features.contains(draw.needs) {
                eprintln!("{}: no {} shaders with buffers", info.name, draw.name);
                continue;
            }
            // Modules of mesh shaders are SPIR-V 1.4, which OpenGL does not take.
            for as_source in if draw.name == "mesh" { vec![true] } else { vec![true, false] } {
                let what = format!("{}, {}, source: {as_source}", info.name, draw.name);
                let completed = match device.run(job_of(&draw, as_source)) {
                    Outcome::Completed(completed) => completed,
                    // It takes modules of SPIR-V 1.0 only.
                    Outcome::Unsupported { missing } if !as_source => {
                        eprintln!("{what}: {missing:?}");
                        continue;
                    }
                    outcome => panic!("{what}: {outcome}"),
                };
                eprintln!("{what}: drawn");
                let words = completed.launches[0].buffers[0].to_words();
                let may_repeat = matches!(draw.pipeline, Pipeline::Items(_));
                match may_repeat {
                    true => assert!(words.iter().all(|&word| word >= 1), "{what}: {words:?}"),
                    false => assert_eq!(words, draw.words, "{what}"),
                }
            }
        }
        after_draws(device);
    });
}

/// What one job leaves of the context's state changes nothing of the next: fragments are there behind stages before rasterisation, in a larger framebuffer,
/// and compute shaders behind fragments.
fn after_draws(device: &Device) {
    let draws = draws();
    let has = |draw: &&Drawn| device.info().features.contains(draw.needs);
    let fragments = &draws[0];
    for before in draws[1..].iter().filter(has) {
        completed(device.run(job_of(before, true)));
        let mut larger = job_of(fragments, true);
        let Pipeline::Fragment(raster) = &mut larger.pipeline else { panic!("fragments are drawn") };
        (raster.width, raster.height) = (5, 7);
        completed(device.run(larger));
        completed(device.run(job_of(before, true)));
        let words = completed(device.run(job_of(fragments, true))).launches[0].buffers[0].to_words();
        assert_eq!(words, fragments.words, "{}: fragments behind {}", device.info().name, before.name);
    }
    let text = "#version 450
layout(local_size_x = 1) in;
layout(binding = 3, std430) buffer Log { uint words[]; };
void main() { words[0] = 7u; }";
    let buffers = vec![storage(3, Init::Zero { words: 1 })];
    let launches = vec![Launch { groups: [1, 1, 1], buffers, ..Launch::default() }];
    let computed = completed(device.run(Job { source: source(text, [1; 3]), launches, ..Job::default() }));
    assert_eq!(computed.launches[0].buffers[0].to_words(), [7]);
}
