//! What a shader has because of its stage, and the shaders that stand beside it in a pipeline.

use std::borrow::Cow;

use tangle_program::case::{Case, EntryPoint, Items, Launch, Stage, Workgroups, interface};
use tangle_program::map_buffer;
use tangle_program::tree::{Builtin, Discard, Expr, Stmt, walk_block};

use crate::printer::{Dialect, in_halves, number_of_fragment, record_words, slice};

/// Lines behind `#version`. The pragma gives shaderc the stage; without one it is compute. OpenGL knows it, and Mesa takes no extension behind a pragma.
pub(super) fn header(case: &Case, dialect: Dialect) -> Vec<&'static str> {
    let mut lines = lines_of_header(case);
    if dialect.is_opengl() {
        lines.retain(|line| !line.starts_with(STAGE_PRAGMA));
    }
    lines
}

/// What says the stage to shaderc.
const STAGE_PRAGMA: &str = "#pragma shader_stage";

fn lines_of_header(case: &Case) -> Vec<&'static str> {
    match case.entry_point.stage {
        Stage::Compute => {
            let group = case.entry_point.workgroups().derivative_group;
            group.iter().map(|_| "#extension GL_NV_compute_shader_derivatives : require").collect()
        }
        Stage::Task => vec!["#pragma shader_stage(task)", "#extension GL_EXT_mesh_shader : require"],
        Stage::Mesh => vec!["#pragma shader_stage(mesh)", "#extension GL_EXT_mesh_shader : require"],
        Stage::Vertex => vec!["#pragma shader_stage(vertex)"],
        Stage::TessellationControl => vec!["#pragma shader_stage(tesscontrol)"],
        Stage::TessellationEvaluation => vec!["#pragma shader_stage(tesseval)"],
        Stage::Geometry => vec!["#pragma shader_stage(geometry)"],
        Stage::Fragment => {
            let mut lines = vec!["#pragma shader_stage(fragment)"];
            if demotes(case) {
                lines.push("#extension GL_EXT_demote_to_helper_invocation : require");
            }
            if has(case, |stmt| matches!(stmt, Stmt::Discard(Discard::Terminate)), |_| false) {
                lines.push("#extension GL_EXT_terminate_invocation : require");
            }
            if case.entry_point.draw().is_some_and(|draw| draw.full_quads || draw.quad_derivatives) {
                lines.push("#extension GL_EXT_shader_quad_control : require");
            }
            lines
        }
    }
}

/// True if the program demotes, or asks who is a helper: both are of one extension.
fn demotes(case: &Case) -> bool {
    let asks = |expr: &Expr| *expr == Expr::Builtin(Builtin::Helper);
    case.program.demotes() || has(case, |_| false, asks)
}

fn has(case: &Case, stmt: impl Fn(&Stmt) -> bool, expr: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    for function in &case.program.functions {
        walk_block(&function.body, &mut |inner| {
            found |= stmt(inner) || inner.direct_exprs().any(|outer| outer.any(&mut |inner| expr(inner)));
        });
    }
    found
}

/// What it says about its inputs and outputs.
pub(super) fn interface(case: &Case) -> Vec<Cow<'static, str>> {
    let entry_point = &case.entry_point;
    match entry_point.stage {
        Stage::Compute | Stage::Vertex => Vec::new(),
        Stage::Task => payload(case).into_iter().map(Cow::Owned).collect(),
        Stage::Mesh => {
            let outputs = "layout(triangles, max_vertices = 3, max_primitives = 1) out;".into();
            std::iter::once(outputs).chain(payload(case).into_iter().map(Cow::Owned)).collect()
        }
        Stage::TessellationControl => {
            vec![format!("layout(vertices = {}) out;", entry_point.items().map_or(1, |items| items.size)).into()]
        }
        Stage::TessellationEvaluation => vec!["layout(isolines, equal_spacing) in;".into()],
        Stage::Geometry => {
            let invocations = entry_point.items().map_or(1, |items| items.size);
            vec![
                format!("layout(points, invocations = {invocations}) in;").into(),
                "layout(points, max_vertices = 1) out;".into(),
            ]
        }
        Stage::Fragment => {
            let Some(draw) = entry_point.draw() else { return Vec::new() };
            let mut lines = vec!["layout(location = 0) flat in uint triangle;".into()];
            let flat = |k: usize| format!("layout(location = {}) flat in uint FLAT{k};", k + 1).into();
            lines.extend((0..case.data.flats.len()).map(flat));
            for (layout, asked) in [("full_quads", draw.full_quads), ("quad_derivatives", draw.quad_derivatives)] {
                if asked {
                    lines.push(format!("layout({layout}) in;").into());
                }
            }
            lines
        }
    }
}

/// The lines that declare the task payload of a case, if it has one, in either of the shaders.
fn payload(case: &Case) -> Vec<String> {
    if case.entry_point.payload_copies() == 0 {
        return Vec::new();
    }
    let words = match case.entry_point.stage {
        Stage::Mesh => Workgroups::PAYLOAD_WORDS,
        _ => case.entry_point.group_size(),
    };
    vec![format!("struct Payload {{ uint words[{words}]; }};"), "taskPayloadSharedEXT Payload payload;".into()]
}

/// Which workgroup in x an invocation is in, where `gl_WorkGroupID` does not say it: what emitted it says it in the payload.
pub(super) fn workgroup_x(case: &Case) -> Option<String> {
    let workgroups = case.entry_point.workgroups();
    // A wrong payload must not lead out of the buffers.
    let last = workgroups.count[0] - 1;
    workgroups.by_task.then(|| format!("min(~payload.words[0] / {}u, {last}u)", Workgroups::PAYLOAD_WORDS))
}

/// How an invocation finds out who it is.
pub(super) struct Identity {
    /// Lines that set `invocation`, its ordinal in the launch.
    pub number: Vec<String>,
    /// What the record needs.
    pub record: Vec<String>,
    /// The words of the record; none for one that the shader cannot say.
    pub words: Vec<Option<String>>,
}

/// How an invocation of the case finds out who it is (docs/rules.md, sections M, H and I).
pub(super) fn identity(case: &Case, dialect: Dialect) -> Identity {
    let size = case.entry_point.group_size();
    let (ballot, end, first) = match dialect {
        Dialect::OpenGlArb => ("uvec4(unpackUint2x32(ballotARB(", ")), 0u, 0u)", "readFirstInvocationARB"),
        Dialect::Vulkan | Dialect::OpenGl | Dialect::Hlsl | Dialect::Slang | Dialect::Wgsl => {
            ("subgroupBallot(", ")", "subgroupBroadcastFirst")
        }
    };
    let (written, numbers) = match dialect {
        Dialect::OpenGlArb => (map_buffer::WRITTEN_ARB, [].as_slice()),
        _ => (
            map_buffer::WRITTEN,
            [("entry_subgroup", "gl_SubgroupID"), ("entry_subgroups", "gl_NumSubgroups")].as_slice(),
        ),
    };
    match &case.entry_point.launch {
        Launch::Workgroups(_) => Identity {
            number: vec![format!("invocation = workgroup_index * {size}u + gl_LocalInvocationIndex;")],
            record: [
                format!("uvec4 entry_mask = {ballot}true{end};"),
                format!("uint entry_token = {first}(gl_LocalInvocationIndex);"),
            ]
            .into_iter()
            // The copies take mediump away (rule P14).
            .chain(numbers.iter().map(|(name, number)| format!("uint {name} = {number};")))
            .collect(),
            words: record_words(
                written,
                Some((dialect != Dialect::OpenGlArb).then(|| in_halves("entry_subgroup", "entry_subgroups"))),
                &[],
            ),
        },
        Launch::Items(items) => Identity {
            // A wrong identity must not lead out of the buffers.
            number: vec![
                of_item(&case.entry_point, dialect),
                format!(
                    "invocation = min({} * {}u + of_item, {}u);",
                    item(case.entry_point.stage, dialect),
                    items.size,
                    items.identities() - 1
                ),
                format!(
                    "execution = min(atomicAdd(map_words[{}u + invocation], 1u), {}u);",
                    size as usize * case.entry_point.packed_map_words(),
                    Items::EXECUTIONS - 1
                ),
                format!("invocation += execution * {}u;", items.identities()),
            ],
            record: [
                "uvec4 entry_mask = subgroupBallot(true);",
                "uint entry_token = subgroupBroadcastFirst(invocation);",
            ]
            .map(str::to_owned)
            .into(),
            words: record_words(written, None, &[]),
        },
        Launch::Draw(draw) => {
            let [columns, rows, _] = draw.grid();
            // The value at entry, which `demote` does not change.
            let helper = if demotes(case) { "helperInvocationEXT()" } else { "gl_HelperInvocation" };
            Identity {
                number: vec![
                    format!(
                        "pixel = min(uvec2(max(gl_FragCoord.xy, vec2(0.0))), uvec2({}u, {}u));",
                        columns - 1,
                        rows - 1
                    ),
                    format!("slice = {};", slice(draw, ["triangle", "uint(gl_Layer)", "uint(gl_SampleID)"])),
                    number_of_fragment(draw),
                    format!("bool entry_helper = {helper};"),
                ],
                record: [
                    "uvec4 entry_mask = subgroupBallot(true);",
                    "uint entry_token = subgroupShuffle(invocation, subgroupBallotFindLSB(subgroupBallot(!entry_helper)));",
                    "uint entry_self = invocation << 8u | lane << 1u | uint(entry_helper);",
                    "uint entry_horizontal = subgroupQuadSwapHorizontal(entry_self);",
                    "uint entry_vertical = subgroupQuadSwapVertical(entry_self);",
                    "uint entry_diagonal = subgroupQuadSwapDiagonal(entry_self);",
                ]
                .map(str::to_owned)
                .into(),
                words: record_words(written, None, &["entry_horizontal", "entry_vertical", "entry_diagonal"]),
            }
        }
    }
}

/// Global variables of a stage.
pub(super) const fn globals(stage: Stage) -> &'static [&'static str] {
    match stage {
        Stage::Compute | Stage::Task | Stage::Mesh => &[],
        Stage::Fragment => &["uvec2 pixel;", "uint slice;"],
        Stage::Vertex | Stage::TessellationControl | Stage::TessellationEvaluation | Stage::Geometry => {
            &["uint of_item;", "uint execution;"]
        }
    }
}

/// Which item it is.
fn item(stage: Stage, dialect: Dialect) -> &'static str {
    builtin(stage, Builtin::LocalY, dialect).unwrap_or("0u")
}

/// Sets `of_item`: which invocation of its item it is.
fn of_item(entry_point: &EntryPoint, dialect: Dialect) -> String {
    match entry_point.stage {
        Stage::TessellationControl | Stage::Geometry => "of_item = uint(gl_InvocationID);".to_owned(),
        // The vertices of a line are evenly spaced from 0 to 1.
        Stage::TessellationEvaluation => {
            format!("of_item = uint(gl_TessCoord.x * {}.0 + 0.5);", segments(entry_point))
        }
        stage => {
            let vertex = builtin(stage, Builtin::LocalX, dialect).unwrap_or("0u");
            format!("of_item = {vertex};")
        }
    }
}

/// What a built-in is called in a stage, where that is not as in a compute shader.
pub(crate) const fn builtin(stage: Stage, builtin: Builtin, dialect: Dialect) -> Option<&'static str> {
    match (stage, builtin) {
        (Stage::Vertex, Builtin::LocalX) if dialect.is_opengl() => Some("uint(gl_VertexID)"),
        (Stage::Vertex, Builtin::LocalY) if dialect.is_opengl() => Some("uint(gl_InstanceID)"),
        (Stage::Fragment, Builtin::LocalIndex) => Some("invocation"),
        (Stage::Fragment, Builtin::LocalX) => Some("pixel.x"),
        (Stage::Fragment, Builtin::LocalY) => Some("pixel.y"),
        (Stage::Fragment, Builtin::LocalZ) => Some("slice"),
        (Stage::Vertex, Builtin::LocalX) => Some("uint(gl_VertexIndex)"),
        (Stage::Vertex, Builtin::LocalY) => Some("uint(gl_InstanceIndex)"),
        (Stage::TessellationControl | Stage::Geometry, Builtin::LocalX) => Some("uint(gl_InvocationID)"),
        (Stage::TessellationEvaluation, Builtin::LocalX) => Some("of_item"),
        (Stage::TessellationControl | Stage::TessellationEvaluation, Builtin::LocalY) => Some("uint(gl_PrimitiveID)"),
        (Stage::Geometry, Builtin::LocalY) => Some("uint(gl_PrimitiveIDIn)"),
        (stage, Builtin::LocalIndex) if stage.item_names().is_some() => Some("invocation"),
        (stage, Builtin::LocalZ) if stage.item_names().is_some() => Some("execution"),
        _ => None,
    }
}

/// Lines of `main` around what every stage has there.
pub(crate) struct Frame {
    /// Before the prologue, which records the lane map.
    pub begin: &'static [&'static str],
    /// Between the prologue and the statements of the case.
    pub open: Vec<Cow<'static, str>>,
    /// Behind the statements of the case.
    pub close: Vec<Cow<'static, str>>,
}

/// What stands around the statements of `main`.
///
/// - Mesh: "OpSetMeshOutputsEXT … Behavior is undefined if any invocation executes this instruction more than once or under non-uniform
///   control flow" (SPV_EXT_mesh_shader): it comes first.
/// - Task: "OpEmitMeshTasksEXT … Behavior is undefined if any invocation terminates without executing this instruction, or if any invocation
///   executes this instruction in non-uniform control flow" (ibid.). It stands behind a selection that is entered in uniform control
///   flow and that all leave by its merge block (rule R6), since `main` has no `return` (`tangle_analysis::validate`).
/// - Vertex: points have a size (VUID-VkGraphicsPipelineCreateInfo-topology-08773), and nothing is rasterised.
pub(super) fn frame(case: &Case) -> Frame {
    let beginning = |begin| Frame { begin, open: Vec::new(), close: Vec::new() };
    let meshes = case.entry_point.workgroups().meshes;
    match case.entry_point.stage {
        Stage::Compute | Stage::Fragment | Stage::Geometry => beginning(&[]),
        Stage::Task => {
            let given = (meshes > 0).then_some("payload.words[gl_LocalInvocationIndex] = ~invocation;");
            let emitted = if meshes > 0 { [meshes, 1, 1] } else { [0; 3] };
            let [x, y, z] = emitted;
            Frame {
                begin: &[],
                open: given.into_iter().chain(["switch (0u) {", "default:"]).map(Cow::Borrowed).collect(),
                close: vec!["}".into(), format!("EmitMeshTasksEXT({x}u, {y}u, {z}u);").into()],
            }
        }
        Stage::Vertex => beginning(&["gl_Position = vec4(0.0, 0.0, 0.0, 1.0);", "gl_PointSize = 1.0;"]),
        // All write the same (Vulkan, Tessellation Control Shader Execution).
        Stage::TessellationControl => beginning(&[
            "gl_out[gl_InvocationID].gl_Position = vec4(0.0, 0.0, 0.0, 1.0);",
            "gl_TessLevelOuter[0] = 1.0;",
            "gl_TessLevelOuter[1] = 1.0;",
        ]),
        Stage::TessellationEvaluation => beginning(&["gl_Position = vec4(0.0, 0.0, 0.0, 1.0);"]),
        Stage::Mesh => {
            let found = (case.entry_point.payload_copies() > 0).then(|| {
                let (at, words) = (records(case), Workgroups::PAYLOAD_WORDS);
                format!("map_words[{at}u + invocation] = payload.words[gl_LocalInvocationIndex % {words}u];").into()
            });
            Frame { open: found.into_iter().collect(), ..beginning(&["SetMeshOutputsEXT(0u, 0u);"]) }
        }
    }
}

/// Words of the records of the lane map, behind which stands what was found in a payload.
fn records(case: &Case) -> usize {
    case.entry_point.invocations() as usize * case.entry_point.packed_map_words()
}

/// The shaders that stand beside that of the case in its pipeline: a task shader needs a mesh shader, a mesh shader that is emitted a task shader, a
/// fragment shader a vertex shader, a tessellation shader the other one and a vertex shader, and a geometry shader a vertex shader.
pub fn beside(case: &Case) -> Vec<(Stage, Cow<'static, str>)> {
    const MESH: &str = "#version 450
#pragma shader_stage(mesh)
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;

void main() {
    SetMeshOutputsEXT(0u, 0u);
}
";
    const VERTEX: &str = "#version 450
#pragma shader_stage(vertex)

void main() {
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
";
    const EVALUATION: &str = "#version 450
#pragma shader_stage(tesseval)
layout(isolines) in;

void main() {
    gl_Position = vec4(0.0, 0.0, 0.0, 1.0);
}
";
    let vertex = (Stage::Vertex, Cow::Borrowed(VERTEX));
    match case.entry_point.stage {
        Stage::Compute | Stage::Vertex => Vec::new(),
        Stage::Task if case.entry_point.payload_copies() > 0 => vec![(Stage::Mesh, Cow::Owned(reading_mesh(case)))],
        Stage::Task => vec![(Stage::Mesh, Cow::Borrowed(MESH))],
        Stage::Mesh if case.entry_point.payload_copies() > 0 => vec![(Stage::Task, Cow::Owned(emitting_task(case)))],
        Stage::Mesh => Vec::new(),
        Stage::Fragment => vec![(Stage::Vertex, Cow::Owned(corners(case)))],
        Stage::Geometry => vec![vertex],
        Stage::TessellationControl => vec![vertex, (Stage::TessellationEvaluation, Cow::Borrowed(EVALUATION))],
        Stage::TessellationEvaluation => {
            let control = format!(
                "#version 450
#pragma shader_stage(tesscontrol)
layout(vertices = 1) out;

void main() {{
    gl_TessLevelOuter[0] = 1.0;
    gl_TessLevelOuter[1] = {}.0;
}}
",
                segments(&case.entry_point)
            );
            vec![vertex, (Stage::TessellationControl, Cow::Owned(control))]
        }
    }
}

/// The same for OpenGL's own front end. What it says differently: the stage, which it knows; no descriptor sets; and numbers of vertices and instances, which are from 0 on
/// in these draws.
pub fn beside_in_opengl(case: &Case) -> Vec<(Stage, String)> {
    let line = |line: &str| {
        let line = line.replace("set = 0, ", "");
        line.replace("gl_VertexIndex", "gl_VertexID").replace("gl_InstanceIndex", "gl_InstanceID") + "\n"
    };
    let text = |text: &str| text.lines().filter(|line| !line.starts_with(STAGE_PRAGMA)).map(line).collect();
    beside(case).into_iter().map(|(stage, vulkan)| (stage, text(&vulkan))).collect()
}

/// The mesh shader beside a task shader with a payload. Each word is added to what stands in its place of the lane map, so that workgroups that are lost, executed
/// twice, or given the payload of another task show there.
fn reading_mesh(case: &Case) -> String {
    let (size, groups) = (case.entry_point.group_size(), case.entry_point.groups());
    let meshes = case.entry_point.workgroups().meshes;
    format!(
        "#version 450
#pragma shader_stage(mesh)
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 1) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;
layout(set = 0, binding = {}, std430) buffer Map {{ uint map_words[]; }};
{}

void main() {{
    SetMeshOutputsEXT(0u, 0u);
    uint task = min(~payload.words[0] / {size}u, {}u);
    uint mesh = min(gl_WorkGroupID.x, {}u);
    for (uint k = 0u; k < {size}u; k++) {{
        atomicAdd(map_words[{}u + (task * {size}u + k) * {meshes}u + mesh], payload.words[k]);
    }}
}}
",
        interface::MAP,
        payload(case).join("\n"),
        groups - 1,
        meshes.saturating_sub(1),
        records(case),
    )
}

/// The task shader beside a mesh shader that is emitted.
fn emitting_task(case: &Case) -> String {
    let [_, y, z] = case.entry_point.workgroups().count;
    let words = Workgroups::PAYLOAD_WORDS;
    format!(
        "#version 450
#pragma shader_stage(task)
#extension GL_EXT_mesh_shader : require
layout(local_size_x = {words}) in;
{}

void main() {{
    payload.words[gl_LocalInvocationIndex] = ~(gl_WorkGroupID.x * {words}u + gl_LocalInvocationIndex);
    EmitMeshTasksEXT(1u, {y}u, {z}u);
}}
",
        payload(case).join("\n"),
    )
}

/// The vertex shader beside a fragment shader: corners, the flat inputs that each vertex brings along ([`Case::vertices`]), and the layer, which is
/// that of the instance.
fn corners(case: &Case) -> String {
    let flats = case.data.flats.len();
    let is_layered = case.entry_point.draw().is_some_and(|draw| draw.layers > 1);
    let (extension, layer) = match is_layered {
        true => ("#extension GL_ARB_shader_viewport_layer_array : require\n", "    gl_Layer = gl_InstanceIndex;\n"),
        false => ("", ""),
    };
    let declared: String = (0..flats).map(|k| format!("layout(location = {}) out uint FLAT{k};\n", k + 1)).collect();
    let set: String = (0..flats).map(|k| format!("    FLAT{k} = words[at + {}u];\n", k + 2)).collect();
    format!(
        "#version 450
#pragma shader_stage(vertex)
{extension}layout(set = 0, binding = {}, std430) readonly buffer Corners {{ uint words[]; }};
layout(location = 0) out uint triangle;
{declared}
void main() {{
    uint at = uint(gl_VertexIndex) * {}u;
    triangle = uint(gl_VertexIndex) / 3u;
{layer}{set}    gl_Position = vec4(uintBitsToFloat(words[at]), uintBitsToFloat(words[at + 1u]), 0.0, 1.0);
}}
",
        interface::CORNERS,
        flats + 2
    )
}

/// Segments of the line that a patch becomes.
fn segments(entry_point: &EntryPoint) -> u32 {
    entry_point.items().map_or(1, |items| items.size.saturating_sub(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenGL has neither descriptor sets nor the built-ins of Vulkan, and its front ends take no pragma before an extension.
    #[test]
    fn nothing_of_vulkan_is_left_in_opengl() {
        let cases = [
            include_str!("../../../../corpus/fragments/layers.json"),
            include_str!("../../../../corpus/fragments/flat_inputs.json"),
            include_str!("../../../../corpus/stages/vertex.json"),
            include_str!("../../../../corpus/stages/tessellation_control.json"),
            include_str!("../../../../corpus/stages/tessellation_evaluation.json"),
            include_str!("../../../../corpus/stages/geometry.json"),
            include_str!("../../../../corpus/stages/task_payload.json"),
            include_str!("../../../../corpus/stages/mesh_by_task.json"),
        ];
        for json in cases {
            let case = Case::from_json(json).expect("a case of the corpus");
            let own = (case.entry_point.stage, crate::glsl::print_in(&case, Dialect::OpenGl).text);
            let beside = beside_in_opengl(&case);
            assert_eq!(beside.len(), super::beside(&case).len());
            for (stage, text) in beside.into_iter().chain([own]) {
                for of_vulkan in ["set =", "#pragma", "gl_VertexIndex", "gl_InstanceIndex", "push_constant", "flat out"]
                {
                    assert!(!text.contains(of_vulkan), "{stage:?} has {of_vulkan}: {text}");
                }
            }
        }
    }

    /// A payload is declared alike on both sides, and nowhere else.
    #[test]
    fn both_shaders_have_the_payload() {
        let task = include_str!("../../../../corpus/stages/task_payload.json");
        let mesh = include_str!("../../../../corpus/stages/mesh_by_task.json");
        for (json, words) in [(task, 40), (mesh, Workgroups::PAYLOAD_WORDS)] {
            let mut case = Case::from_json(json).expect("a case of the corpus");
            let declared =
                format!("struct Payload {{ uint words[{words}]; }};\ntaskPayloadSharedEXT Payload payload;\n");
            let [(_, beside)] = beside(&case).try_into().expect("one shader stands beside it");
            assert!(crate::glsl::glsl(&case).contains(&declared) && beside.contains(&declared), "{beside}");
            let workgroups = case.entry_point.workgroups_mut();
            (workgroups.meshes, workgroups.by_task) = (0, false);
            assert!(!crate::glsl::glsl(&case).contains("payload"));
            assert!(super::beside(&case).iter().all(|(_, text)| !text.contains("payload")));
        }
    }
}
