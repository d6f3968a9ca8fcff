//! Task and mesh shaders: what they compute, and what makes their behaviour undefined. One workgroup of eight invocations, one subgroup.

use rspirv::spirv::ExecutionModel;
use tangle_interpreter::{
    Buffer, Dispatch, Draw, End, Error, LaneMap, Limits, Module, Outcome, Pipeline, PipelineOptions, Rule,
};
use tangle_program::case::{SpirvVersion, Stage};
use tangle_runner::toolchain::{self, AssemblyTarget};

/// A shader that writes a word for each lane to `words`.
fn shader(stage: Stage, body: &str) -> String {
    let declarations = match stage {
        Stage::Mesh => {
            "layout(triangles, max_vertices = 8, max_primitives = 2) out; layout(location = 0) out uint colours[];"
        }
        _ => "struct Given { uint words[8]; }; taskPayloadSharedEXT Given given;",
    };
    format!(
        "#version 450
#extension GL_EXT_mesh_shader : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_maximal_reconvergence : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer Words {{ uint words[]; }};
{declarations}
void main() [[maximally_reconverges]] {{
    uint lane = gl_LocalInvocationIndex;
    {body}
}}
"
    )
}

fn run(stage: Stage, body: &str) -> Result<Outcome, Error> {
    let glsl = shader(stage, body);
    let words =
        toolchain::compile_with_lines(&glsl, stage, SpirvVersion::V1_5).unwrap_or_else(|e| panic!("{e}\n{glsl}"));
    toolchain::validate(&words, SpirvVersion::V1_5).unwrap_or_else(|error| panic!("{error}\n{glsl}"));
    let pipeline = Pipeline::new(&Module::parse(&words)?, &PipelineOptions::default())?;
    let model = if stage == Stage::Mesh { ExecutionModel::MeshEXT } else { ExecutionModel::TaskEXT };
    assert_eq!(pipeline.interface().stage, model);
    let buffer = Buffer { binding: 0, bytes: vec![0; 32], ..Buffer::default() };
    pipeline.run(&Dispatch {
        workgroups: [1, 1, 1],
        lane_map: LaneMap::of(pipeline.interface(), 8),
        draw: Draw::default(),
        buffers: vec![buffer],
        push: Vec::new(),
        limits: Limits::default(),
    })
}

#[test]
fn what_they_compute() {
    let rows: [(Stage, &str, [u32; 8]); 5] = [
        (
            Stage::Mesh,
            "SetMeshOutputsEXT(8u, 2u); if (lane < 3u) words[lane] = subgroupBallot(true).x; else words[lane] = subgroupAdd(lane);",
            [7, 7, 7, 25, 25, 25, 25, 25],
        ),
        // Every invocation has its own outputs here.
        (
            Stage::Mesh,
            "SetMeshOutputsEXT(8u, 2u);
            gl_MeshVerticesEXT[lane].gl_Position = vec4(lane);
            colours[lane] = lane;
            if (lane < 2u) gl_PrimitiveTriangleIndicesEXT[lane] = uvec3(lane);
            words[lane] = gl_NumSubgroups + gl_WorkGroupID.x;",
            [1; 8],
        ),
        (
            Stage::Task,
            "words[lane] = subgroupInclusiveAdd(lane); EmitMeshTasksEXT(1u, 1u, 1u);",
            [0, 1, 3, 6, 10, 15, 21, 28],
        ),
        // The payload is one for the workgroup.
        (
            Stage::Task,
            "given.words[lane] = lane * lane; barrier(); words[lane] = given.words[7u - lane]; EmitMeshTasksEXT(0u, 0u, 0u);",
            [49, 36, 25, 16, 9, 4, 1, 0],
        ),
        // All emit together, although one comes later.
        (
            Stage::Task,
            "words[lane] = 1u; if (lane == 3u) words[lane] = 2u; EmitMeshTasksEXT(1u, 1u, 1u);",
            [1, 1, 1, 2, 1, 1, 1, 1],
        ),
    ];
    for (stage, body, expected) in rows {
        let outcome = run(stage, body).unwrap_or_else(|error| panic!("{error}: {body}"));
        assert_eq!(outcome.end, End::Completed, "{body}");
        let words: Vec<Option<u32>> = (0..8).map(|at| outcome.buffers[0].word(at * 4)).collect();
        assert_eq!(words, expected.map(Some), "{body}");
    }
}

#[test]
fn what_is_undefined() {
    let rows: [(Stage, &str, Rule, &[u32]); 6] = [
        (
            Stage::Mesh,
            "for (uint i = 0u; i < 2u; i++) SetMeshOutputsEXT(3u, 1u);",
            Rule::OncePerWorkgroup,
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ),
        (Stage::Mesh, "if (lane < 4u) SetMeshOutputsEXT(3u, 1u);", Rule::OncePerWorkgroup, &[0, 1, 2, 3]),
        (Stage::Task, "if (lane < 4u) EmitMeshTasksEXT(1u, 1u, 1u);", Rule::OncePerWorkgroup, &[0, 1, 2, 3]),
        (Stage::Task, "if (lane == 5u) return; EmitMeshTasksEXT(1u, 1u, 1u);", Rule::NothingEmitted, &[5]),
        (Stage::Task, "words[lane] = 0u;", Rule::NothingEmitted, &[0, 1, 2, 3, 4, 5, 6, 7]),
        (
            Stage::Task,
            "given.words[lane] = lane; words[lane] = given.words[7u - lane]; EmitMeshTasksEXT(1u, 1u, 1u);",
            Rule::DataRace,
            &[0],
        ),
    ];
    for (stage, body, rule, lanes) in rows {
        let outcome = run(stage, body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let End::Undefined(undefined) = &outcome.end else { panic!("nothing is undefined in {body}") };
        assert_eq!((undefined.rule, &undefined.lanes[..]), (rule, lanes), "{undefined} in {body}");
    }
}

/// Without a name the compute shader is meant, wherever it stands.
#[test]
fn a_compute_shader_comes_first() {
    let (task, compute) = ("OpEntryPoint TaskEXT %task \"task\"\n", "OpEntryPoint GLCompute %compute \"compute\"\n");
    for (entries, expected) in [
        (format!("{task}{compute}"), Ok(ExecutionModel::GLCompute)),
        (format!("{compute}{task}"), Ok(ExecutionModel::GLCompute)),
        (task.to_owned(), Ok(ExecutionModel::TaskEXT)),
        (format!("{task}{}", task.replace("\"task\"", "\"other\"")), Err("several entry points")),
    ] {
        let modes = ["task", "compute"].map(|name| match entries.contains(&format!("%{name} ")) {
            true => format!("OpExecutionMode %{name} LocalSize 1 1 1\n"),
            false => String::new(),
        });
        let text = format!(
            "OpCapability Shader
OpCapability MeshShadingEXT
OpExtension \"SPV_EXT_mesh_shader\"
OpMemoryModel Logical GLSL450
{entries}{}%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%task = OpFunction %void None %function
%1 = OpLabel
OpEmitMeshTasksEXT %one %one %one
OpFunctionEnd
%compute = OpFunction %void None %function
%2 = OpLabel
OpReturn
OpFunctionEnd
",
            modes.concat()
        );
        let target = AssemblyTarget::parse("spv1.5").expect("a target");
        let words = toolchain::assemble(&text, target).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let module = Module::parse(&words).expect("a module");
        let found = Pipeline::new(&module, &PipelineOptions::default()).map(|pipeline| pipeline.interface().stage);
        match expected {
            Ok(stage) => assert_eq!(found, Ok(stage), "{text}"),
            Err(why) => assert!(found.is_err_and(|error| error.to_string().contains(why)), "{text}"),
        }
    }
}
