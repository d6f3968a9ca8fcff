//! What a shader in HLSL has because of its stage: the inputs of `main`, how an invocation finds out who it is, and what stands around the statements of the
//! case. It is what `crate::glsl::stage` says, in HLSL's words (docs/languages.md).

use tangle_program::case::{Case, Stage};
use tangle_program::map_buffer;
use tangle_program::tree::Builtin;

use crate::glsl::stage::Frame;
use crate::printer::{Dialect, number_of_fragment, record_words, slice};

/// The stages that are printed in HLSL. Those before rasterisation are not.
pub(super) const STAGES: [Stage; 4] = [Stage::Compute, Stage::Task, Stage::Mesh, Stage::Fragment];

/// What a built-in is called in a stage, where that is not as in a compute shader. `IsHelperLane` says what is so now, in shaders that demote and in others
/// (HLSL specification, Shader Model 6.6).
pub(super) const fn builtin(stage: Stage, builtin: Builtin) -> Option<&'static str> {
    match (stage, builtin) {
        (Stage::Fragment, Builtin::Helper | Builtin::HelperInput) => Some("IsHelperLane()"),
        (Stage::Fragment, builtin) => crate::glsl::stage::builtin(stage, builtin, Dialect::Hlsl),
        _ => None,
    }
}

/// Declarations before the functions.
pub(super) fn globals(case: &Case) -> Vec<String> {
    let stage = case.entry_point.stage;
    let mut lines: Vec<String> = match stage {
        Stage::Fragment => ["static uint2 pixel;", "static uint slice;"].map(str::to_owned).into(),
        _ => ["static uint3 GroupId;", "static uint3 LocalId;", "static uint LocalIndex;"].map(str::to_owned).into(),
    };
    match stage {
        // Nothing reads what it hands on.
        Stage::Task => {
            lines.extend(["struct Payload { uint word; };", "groupshared Payload payload;"].map(str::to_owned))
        }
        Stage::Mesh => lines.push("struct Vertex { float4 Position : SV_Position; };".to_owned()),
        Stage::Fragment => lines.extend((0..case.data.flats.len()).map(|k| format!("static uint FLAT{k};"))),
        _ => {}
    }
    lines
}

/// The attributes before `main`.
pub(super) fn attributes(case: &Case) -> Vec<String> {
    let [x, y, z] = case.entry_point.workgroups().size;
    match case.entry_point.stage {
        Stage::Fragment => Vec::new(),
        Stage::Mesh => vec![format!("[numthreads({x}, {y}, {z})]"), "[outputtopology(\"triangle\")]".to_owned()],
        _ => vec![format!("[numthreads({x}, {y}, {z})]")],
    }
}

/// The parameters of `main`.
pub(super) fn parameters(case: &Case) -> String {
    let mut all: Vec<String> = match case.entry_point.stage {
        Stage::Fragment => Vec::new(),
        _ => {
            ["uint3 InGroupId : SV_GroupID", "uint3 InLocalId : SV_GroupThreadID", "uint InLocalIndex : SV_GroupIndex"]
                .map(str::to_owned)
                .into()
        }
    };
    match (case.entry_point.stage, case.entry_point.draw()) {
        (Stage::Mesh, _) => {
            all.extend(["out indices uint3 Triangles[1]", "out vertices Vertex Vertices[3]"].map(str::to_owned));
        }
        (_, Some(draw)) => {
            all.push("float4 InPosition : SV_Position".to_owned());
            // Location 0 is the triangle's number (`crate::glsl::stage`).
            let input = |(location, name): (usize, String)| {
                format!("[[vk::location({location})]] nointerpolation uint {name} : INPUT{location}")
            };
            let flats = (0..case.data.flats.len()).map(|k| format!("InFlat{k}"));
            all.extend(std::iter::once("InTriangle".to_owned()).chain(flats).enumerate().map(input));
            // The variables that say it are read only where there are several.
            all.extend((draw.layers > 1).then(|| "uint InLayer : SV_RenderTargetArrayIndex".to_owned()));
            all.extend((draw.samples > 1).then(|| "uint InSample : SV_SampleIndex".to_owned()));
        }
        _ => {}
    }
    all.join(", ")
}

/// Lines of `main` that set the global variables of the inputs.
pub(super) fn inputs(case: &Case) -> Vec<String> {
    let Some(draw) = case.entry_point.draw() else {
        return ["GroupId = InGroupId;", "LocalId = InLocalId;", "LocalIndex = InLocalIndex;"]
            .map(str::to_owned)
            .into();
    };
    let [columns, rows, _] = draw.grid();
    let (last_column, last_row) = (columns - 1, rows - 1);
    let mut lines = vec![
        format!("pixel = min(uint2(max(InPosition.xy, float2(0.0, 0.0))), uint2({last_column}u, {last_row}u));"),
        format!("slice = {};", slice(draw, ["InTriangle", "InLayer", "InSample"])),
    ];
    lines.extend((0..case.data.flats.len()).map(|k| format!("FLAT{k} = InFlat{k};")));
    lines
}

/// Sets `invocation`, the ordinal in the launch.
pub(super) fn number(case: &Case) -> String {
    match case.entry_point.draw() {
        None => format!("invocation = workgroup_index * {}u + LocalIndex;", case.entry_point.group_size()),
        Some(draw) => number_of_fragment(draw),
    }
}

/// What the record of the lane map needs, and its words; `subgroup` is the word about the number of the subgroup.
pub(super) fn record(case: &Case, subgroup: String) -> (Vec<&'static str>, Vec<Option<String>>) {
    match case.entry_point.draw() {
        None => (
            vec!["uint4 entry_mask = WaveActiveBallot(true);", "uint entry_token = WaveReadLaneFirst(LocalIndex);"],
            record_words(map_buffer::WRITTEN, Some(Some(subgroup)), &[]),
        ),
        Some(_) => (
            vec![
                "bool entry_helper = IsHelperLane();",
                "uint4 entry_mask = WaveActiveBallot(true);",
                "uint4 entry_real = WaveActiveBallot(!entry_helper);",
                "uint entry_low = min(firstbitlow(entry_real.x), min(firstbitlow(entry_real.y), 96u) + 32u);",
                "uint entry_high = min(min(firstbitlow(entry_real.z), 64u) + 64u, min(firstbitlow(entry_real.w), 32u) + 96u);",
                "uint entry_token = WaveReadLaneAt(invocation, min(entry_low, entry_high));",
                "uint entry_self = invocation << 8u | lane << 1u | uint(entry_helper);",
                "uint entry_horizontal = QuadReadAcrossX(entry_self);",
                "uint entry_vertical = QuadReadAcrossY(entry_self);",
                "uint entry_diagonal = QuadReadAcrossDiagonal(entry_self);",
            ],
            record_words(map_buffer::WRITTEN, None, &["entry_horizontal", "entry_vertical", "entry_diagonal"]),
        ),
    }
}

/// What stands around the statements of `main`.
///
/// `SetMeshOutputCounts` comes first, and `DispatchMesh`, which is to be executed once and in uniform control flow, last (DirectX specification, Mesh Shader):
/// behind a selection that all leave by its end, as in GLSL.
pub(crate) fn frame(stage: Stage) -> Frame {
    let lines = |lines: &[&'static str]| lines.iter().map(|&line| line.into()).collect();
    match stage {
        Stage::Task => Frame {
            begin: &[],
            open: lines(&["switch (0u) {", "default:"]),
            close: lines(&["break;", "}", "DispatchMesh(0u, 0u, 0u, payload);"]),
        },
        Stage::Mesh => Frame { begin: &["SetMeshOutputCounts(0u, 0u);"], open: Vec::new(), close: Vec::new() },
        _ => Frame { begin: &[], open: Vec::new(), close: Vec::new() },
    }
}
