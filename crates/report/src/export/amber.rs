//! `case.amber`: the case in AmberScript (docs/amber_script.md of google/amber).

use std::fmt::Write as _;

use tangle_analysis::cost::log_stride;
use tangle_emit::glsl::stage::beside;
use tangle_features::Needs;
use tangle_files::words::to_bytes;
use tangle_oracle::relation::Relation;
use tangle_program::case::interface::{ARRAYS, CORNERS, INPUTS, LOG, MAP, UNIFORMS};
use tangle_program::case::{Case, Launch, SpirvVersion, Stage, SubgroupSize};
use tangle_program::needs::resource_classes;
use tangle_program::resource::ResourceClass;

use super::demand::{demands, extensions, nameless, vulkan_minor};
use super::expected::Expected;
use super::repro::{array_words, log_words};
use super::runs::{Run, runs_of};
use super::source::{Source, broken_rule, comment, input_words, map_limit, uniform_words};
use tangle_identity::account::Account;

/// Words on one line of data.
const ROW: usize = 16;

/// Why there is no script of a case, in one line.
pub(super) fn lacks(case: &Case) -> Option<&'static str> {
    if matches!(case.entry_point.stage, Stage::Task | Stage::Mesh) {
        return Some("no script: Amber has no task and mesh shaders");
    }
    let is_flat = case.entry_point.draw().is_none_or(|draw| draw.layers == 1 && draw.samples == 1);
    (!is_flat).then_some("no script: Amber draws into one layer, with one sample a pixel")
}

/// The AmberScript; without `expected` it only runs the shader.
pub(super) fn amber(source: &Source<'_>, needs: &Needs, expected: Option<&Expected>) -> String {
    let mut text = String::from("#!amber\n");
    comment(&mut text, "# ", &[&source.title, "", &source.story, "", &format!("Run: {}", command(needs))]);
    let limits = limits(source, needs);
    if !limits.is_empty() {
        comment(&mut text, "# ", &["", "What AmberScript cannot carry:"]);
        limits.iter().for_each(|limit| comment(&mut text, "# ", &[&format!("- {limit}")]));
    }
    text.push('\n');
    requirements(&mut text, source.case.entry_point.stage, needs);
    shader(&mut text, source);
    buffers(&mut text, source);
    pipeline(&mut text, source);
    if !source.relations.is_empty() {
        relations(&mut text, source);
    }
    let _ = writeln!(text, "\nRUN pipeline {}", launch(source.case));
    if let (Some(account), Some(expected)) = (source.account, expected) {
        expectations(&mut text, source.case, account, expected);
    }
    if !source.relations.is_empty() {
        let kept = vec!["0"; source.relations.len()].join(" ");
        let _ =
            writeln!(text, "\n# No relation is broken.\nRUN relations_pipeline 1 1 1\nEXPECT broken IDX 0 EQ {kept}");
    }
    text
}

/// The command that runs the script.
pub(super) fn command(needs: &Needs) -> String {
    format!("amber -d -v 1.{} case.amber", vulkan_minor(needs))
}

/// What the format cannot carry.
pub(super) fn limits(source: &Source<'_>, needs: &Needs) -> Vec<String> {
    let unnamed = demands(needs).filter(|row| row.amber.is_none());
    let drivers = " (the validation layer does not: run with -d)";
    let mut limits: Vec<String> = unnamed.filter_map(|row| nameless(row, drivers)).collect();
    if needs.spirv == SpirvVersion::V1_6 {
        limits.push(
            "Its GLSL goes up to SPIR-V 1.5: the module stands there as assembly, the source as comments.".into(),
        );
    }
    if source.case.variant.is_optimised() && needs.spirv != SpirvVersion::V1_6 {
        limits.push("The module is an optimiser's: it stands there as assembly, the source as comments.".into());
    }
    if source.case.variant.disables_driver_optimisation() {
        limits.push("It cannot ask the driver not to optimise (VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT).".into());
    }
    if source.case.entry_point.stage != Stage::Compute {
        limits.push("It cannot draw without attachments: the pipeline has one for colours and one for depths.".into());
    }
    if source.case.entry_point.items().is_some() {
        limits
            .push("It cannot switch rasterisation off (rasterizerDiscardEnable): what is drawn is rasterised.".into());
    }
    limits.push(map_limit(source, "EXPECT"));
    limits
}

fn requirements(text: &mut String, stage: Stage, needs: &Needs) {
    if stage == Stage::Compute {
        text.push_str("DEVICE_FEATURE SubgroupSupportedStages.compute\n");
    }
    for name in needs.features.rows().filter_map(|row| row.amber) {
        let _ = writeln!(text, "DEVICE_FEATURE {name}");
    }
    for extension in extensions(needs) {
        let _ = writeln!(text, "DEVICE_EXTENSION {extension}");
    }
    text.push_str("SET ENGINE_DATA fence_timeout_ms 30000\n\n");
}

/// How the shader stands in the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Glsl,
    Assembly,
    Hex,
}

/// Amber compiles GLSL up to SPIR-V 1.5 without optimising it, and assembles all of SPIR-V. A text ends at the first END in it, wherever that stands.
fn form(source: &Source<'_>) -> Form {
    let from_glsl = source.case.entry_point.spirv < SpirvVersion::V1_6 && source.case.variant.may_be_text();
    if from_glsl && !source.text.contains("END") {
        Form::Glsl
    } else if !source.disassembly.contains("END") {
        Form::Assembly
    } else {
        Form::Hex
    }
}

fn shader(text: &mut String, source: &Source<'_>) {
    let target = match source.case.entry_point.spirv {
        SpirvVersion::V1_3 => "vulkan1.1",
        SpirvVersion::V1_4 => "vulkan1.1spv1.4",
        SpirvVersion::V1_5 => "vulkan1.2",
        SpirvVersion::V1_6 => "vulkan1.3",
    };
    let form = form(source);
    if form != Form::Glsl {
        comment(text, "#   ", &[source.text]);
    }
    let (name, code) = match form {
        Form::Glsl => ("GLSL", source.text.to_owned()),
        Form::Assembly => ("SPIRV-ASM", source.disassembly.to_owned()),
        Form::Hex => ("SPIRV-HEX", hex(source.spirv)),
    };
    let stage = source.case.entry_point.stage.name();
    let _ = writeln!(text, "SHADER {stage} shader {name} TARGET_ENV {target}\n{code}END\n");
    for (stage, glsl) in beside(source.case) {
        let stage = stage.name();
        let _ = writeln!(text, "SHADER {stage} {stage}_shader GLSL TARGET_ENV {target}\n{glsl}END\n");
    }
}

/// The bytes. Nothing may stand between the last one and END: Amber would read it for ever.
fn hex(spirv: &[u32]) -> String {
    let row = |words: &[u32]| {
        let bytes: Vec<String> = to_bytes(words).iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(" ")
    };
    spirv.chunks(ROW / 2).map(row).collect::<Vec<_>>().join("\n")
}

fn buffers(text: &mut String, source: &Source<'_>) {
    let mut data = |name: &str, words: &[u32]| {
        if words.is_empty() {
            return;
        }
        let _ = writeln!(text, "BUFFER {name} DATA_TYPE uint32 DATA");
        for row in words.chunks(ROW) {
            let _ = writeln!(text, "{}", row.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
        }
        text.push_str("END\n");
    };
    data("inputs", &input_words(source.case));
    data("uniforms", &uniform_words(source.case));
    data("push", &source.case.data.push);
    data("corners", &source.case.vertices());
    resources(text, source);
    let entry_point = &source.case.entry_point;
    let sizes = [
        ("map", entry_point.packed_map_len()),
        ("log", log_words(source.case)),
        ("arrays", array_words(source.case)),
        // Nobody reads them, but there is no draw without.
        ("vertices", if entry_point.stage.has_workgroups() { 0 } else { entry_point.counts()[0] as usize }),
    ];
    for (name, words) in sizes.into_iter().filter(|size| size.1 != 0) {
        let _ = writeln!(text, "BUFFER {name} DATA_TYPE uint32 SIZE {words} FILL 0");
    }
}

/// The resources of arrays of descriptors, one by one.
fn resources(text: &mut String, source: &Source<'_>) {
    for class in resource_classes(&source.case.program) {
        for (number, word) in source.case.data.resources.iter().enumerate() {
            let name = resource_name(class, number);
            let _ = match class {
                // std140 rounds a block up.
                ResourceClass::UniformBuffer => {
                    writeln!(text, "BUFFER {name} DATA_TYPE uint32 DATA\n{word} 0 0 0\nEND")
                }
                ResourceClass::StorageBuffer => writeln!(text, "BUFFER {name} DATA_TYPE uint32 DATA\n{word}\nEND"),
                ResourceClass::StorageTexelBuffer => writeln!(text, "BUFFER {name} DATA_TYPE uint32 DATA\n{word}\nEND"),
                ResourceClass::StorageImage => {
                    writeln!(text, "IMAGE {name} FORMAT R32_UINT DIM_2D WIDTH 1 HEIGHT 1 FILL {word}")
                }
            };
        }
    }
}

fn resource_name(class: ResourceClass, number: usize) -> String {
    format!("{}_{number}", class.name())
}

/// The shader that looks for broken relations: a script compares words with numbers only, not several words at once.
const RELATIONS: &str = "#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Log { uint log_words[]; };
layout(set = 0, binding = 1) readonly buffer Relations { uint relations[]; };
layout(set = 0, binding = 2) buffer Broken { uint broken[]; };
void main()
{
    uint at = 0u;
    for (uint relation = 0u; relation < COUNT; relation++) {
        uint is_broken = 1u;
        uint last = at + 2u * relations[at];
        for (at++; at < last; at += 2u) {
            if (log_words[relations[at]] != relations[at + 1u]) {
                is_broken = 0u;
            }
        }
        broken[relation] = is_broken;
    }
}
";

/// A pipeline that looks for broken relations in the log.
fn relations(text: &mut String, source: &Source<'_>) {
    text.push_str(
        "\n# Where it is the device's choice who executes an operation together, several values are legal. These are combinations of words that no choice\n\
         # gives: for each the number of words, and then their places in the log and the values.\n",
    );
    for relation in source.relations {
        let _ = writeln!(text, "# - {}", broken_rule(relation));
    }
    let count = source.relations.len();
    let _ =
        writeln!(text, "SHADER compute relations_shader GLSL\n{}END", RELATIONS.replace("COUNT", &format!("{count}u")));
    let stride = log_stride(source.case) as usize;
    text.push_str("BUFFER relations DATA_TYPE uint32 DATA\n");
    for Relation { words, .. } in source.relations {
        let places = words.iter().map(|word| format!(" {} {}", word.invocation * stride + word.at, word.value));
        let _ = writeln!(text, "{}{}", words.len(), places.collect::<String>());
    }
    let _ = writeln!(text, "END\nBUFFER broken DATA_TYPE uint32 SIZE {count} FILL 1");
    text.push_str("PIPELINE compute relations_pipeline\n  ATTACH relations_shader\n");
    for (binding, name) in ["log", "relations", "broken"].into_iter().enumerate() {
        let _ = writeln!(text, "  BIND BUFFER {name} AS storage DESCRIPTOR_SET 0 BINDING {binding}");
    }
    text.push_str("END\n");
}

fn pipeline(text: &mut String, source: &Source<'_>) {
    let entry_point = &source.case.entry_point;
    let stage = entry_point.stage.name();
    let kind = if entry_point.stage == Stage::Compute { "compute" } else { "graphics" };
    let _ = write!(text, "\nPIPELINE {kind} pipeline\n  ATTACH shader");
    let constants = source.case.specialization();
    if !constants.is_empty() {
        // Type and entry point must be named first.
        let _ = write!(text, " TYPE {stage} ENTRY_POINT main");
    }
    for (id, value) in constants {
        let _ = write!(text, " SPECIALIZE {id} AS uint32 {value}");
    }
    text.push('\n');
    for (stage, _) in beside(source.case) {
        let _ = writeln!(text, "  ATTACH {}_shader", stage.name());
    }
    if kind == "graphics" {
        let (width, height) = entry_point.draw().map_or((1, 1), |draw| (draw.width, draw.height));
        let _ = writeln!(text, "  FRAMEBUFFER_SIZE {width} {height}\n  VERTEX_DATA vertices LOCATION 0");
    }
    if entry_point.stage.draws_patches() {
        text.push_str("  PATCH_CONTROL_POINTS 1\n");
    }
    if entry_point.full_subgroups || entry_point.subgroup_size != SubgroupSize::Default {
        text.push_str("  SUBGROUP shader\n");
        if entry_point.full_subgroups {
            text.push_str("    FULLY_POPULATED on\n");
        }
        match entry_point.subgroup_size {
            SubgroupSize::Default => {}
            SubgroupSize::Varying => text.push_str("    VARYING_SIZE on\n"),
            SubgroupSize::Required(size) => {
                let _ = writeln!(text, "    REQUIRED_SIZE {size}");
            }
        }
        text.push_str("  END\n");
    }
    let data = &source.case.data;
    let bindings = [
        ("inputs", "storage", INPUTS, !data.inputs.is_empty()),
        ("uniforms", "uniform", UNIFORMS, !data.uniforms.is_empty()),
        ("map", "storage", MAP, true),
        ("log", "storage", LOG, true),
        ("arrays", "storage", ARRAYS, array_words(source.case) != 0),
        ("corners", "storage", CORNERS, entry_point.draw().is_some()),
    ];
    for (name, kind, binding, _) in bindings.into_iter().filter(|binding| binding.3) {
        let _ = writeln!(text, "  BIND BUFFER {name} AS {kind} DESCRIPTOR_SET 0 BINDING {binding}");
    }
    for class in resource_classes(&source.case.program) {
        let names: Vec<String> = (0..data.resources.len()).map(|number| resource_name(class, number)).collect();
        let kind = match class {
            ResourceClass::StorageBuffer => "storage",
            ResourceClass::UniformBuffer => "uniform",
            ResourceClass::StorageTexelBuffer => "storage_texel_buffer",
            ResourceClass::StorageImage => "storage_image",
        };
        let (names, binding) = (names.join(" "), class.binding());
        // An array of one is no array.
        let array = if data.resources.len() > 1 { "BUFFER_ARRAY" } else { "BUFFER" };
        let _ = writeln!(text, "  BIND {array} {names} AS {kind} DESCRIPTOR_SET 0 BINDING {binding}");
    }
    if !data.push.is_empty() {
        text.push_str("  BIND BUFFER push AS push_constant\n");
    }
    text.push_str("END\n");
}

/// The rest of the command that runs the pipeline.
fn launch(case: &Case) -> String {
    let [x, y, z] = case.entry_point.counts();
    let topology = match &case.entry_point.launch {
        Launch::Workgroups(_) => return format!("{x} {y} {z}"),
        Launch::Draw(_) => "TRIANGLE_LIST",
        Launch::Items(_) if case.entry_point.stage.draws_patches() => "PATCH_LIST",
        Launch::Items(_) => "POINT_LIST",
    };
    format!("DRAW_ARRAY AS {topology} START_IDX 0 COUNT {x} START_INSTANCE 0 INSTANCE_COUNT {y}")
}

fn expectations(text: &mut String, case: &Case, account: &Account<'_>, expected: &Expected) {
    let words = |words: &[u32]| words.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let record = match case.entry_point.launch {
        Launch::Workgroups(_) => {
            "lane and subgroup size, gl_SubgroupID and gl_NumSubgroups (16 bits each), lowest local index of the subgroup\n\
             # with a mark, and the ballot of all lanes (2 words)"
        }
        Launch::Draw(_) => {
            "lane and subgroup size (16 bits each), number of the subgroup's lowest fragment with a mark, ballot of all lanes\n\
             # (4 words), and what the others of the quad are (3 words); nothing where there is no fragment"
        }
        Launch::Items(_) => {
            "lane and subgroup size (16 bits each), number of the subgroup's lowest lane with a mark, ballot of all lanes\n\
             # (2 words); nothing where there is no execution; then how many executions there are of each"
        }
    };
    let _ = writeln!(text, "\n# The lane map: {record}. All else is expected for just this map.");
    let record_words = case.entry_point.packed_map_words();
    for (i, record) in expected.map.chunks(record_words).enumerate() {
        let _ = writeln!(text, "EXPECT map IDX {} EQ {}", i * record_words * 4, words(record));
    }
    text.push_str("\n# The logs: a site, its values; what the specification leaves open is not looked at.\n");
    for Run { at, words: run, note, heading } in runs_of(account) {
        if let Some(heading) = heading {
            let _ = writeln!(text, "# {heading}");
        }
        let note = if note.is_empty() { String::new() } else { format!(" # {note}") };
        let _ = writeln!(text, "EXPECT log IDX {} EQ {}{note}", at * 4, words(&run));
    }
}
