//! `case.amber`: the case in AmberScript (docs/amber_script.md of google/amber).

use std::fmt::Write as _;

use tangle_analysis::cost::log_stride;
use tangle_features::Needs;
use tangle_files::words::to_bytes;
use tangle_oracle::relation::Relation;
use tangle_program::case::interface::{ARRAYS, INPUTS, LOG, MAP, MAP_WORDS, UNIFORMS};
use tangle_program::case::{SpirvVersion, SubgroupSize};
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

/// The script.
pub(super) fn amber(source: &Source<'_>, needs: &Needs, expected: Option<&Expected>) -> String {
    let mut text = String::from("#!amber\n");
    comment(&mut text, "# ", &[&source.title, "", &source.story, "", &format!("Run: {}", command(needs))]);
    let limits = limits(source, needs);
    if !limits.is_empty() {
        comment(&mut text, "# ", &["", "What AmberScript cannot carry:"]);
        limits.iter().for_each(|limit| comment(&mut text, "# ", &[&format!("- {limit}")]));
    }
    text.push('\n');
    requirements(&mut text, needs);
    shader(&mut text, source);
    buffers(&mut text, source);
    pipeline(&mut text, source);
    if !source.relations.is_empty() {
        relations(&mut text, source);
    }
    let [x, y, z] = source.case.entry_point.workgroups().count;
    let _ = writeln!(text, "\nRUN pipeline {x} {y} {z}");
    if let (Some(account), Some(expected)) = (source.account, expected) {
        expectations(&mut text, account, expected);
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
    limits.push(map_limit(source, "EXPECT"));
    limits
}

fn requirements(text: &mut String, needs: &Needs) {
    text.push_str("DEVICE_FEATURE SubgroupSupportedStages.compute\n");
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
    let from_glsl = source.case.entry_point.spirv < SpirvVersion::V1_6 && source.case.variant.is_compiled_only();
    if from_glsl && !source.glsl.contains("END") {
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
        comment(text, "#   ", &[source.glsl]);
    }
    let (name, code) = match form {
        Form::Glsl => ("GLSL", source.glsl.to_owned()),
        Form::Assembly => ("SPIRV-ASM", source.disassembly.to_owned()),
        Form::Hex => ("SPIRV-HEX", hex(source.spirv)),
    };
    let _ = writeln!(text, "SHADER compute shader {name} TARGET_ENV {target}\n{code}END\n");
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
    resources(text, source);
    let invocations = source.case.entry_point.invocations() as usize;
    let arrays = array_words(source.case);
    let sizes = [("map", invocations * MAP_WORDS), ("log", log_words(source.case)), ("arrays", arrays)];
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
    text.push_str("\nPIPELINE compute pipeline\n  ATTACH shader");
    let constants = source.case.specialization();
    if !constants.is_empty() {
        // Type and entry point must be named first.
        text.push_str(" TYPE compute ENTRY_POINT main");
    }
    for (id, value) in constants {
        let _ = write!(text, " SPECIALIZE {id} AS uint32 {value}");
    }
    text.push('\n');
    let entry_point = &source.case.entry_point;
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

fn expectations(text: &mut String, account: &Account<'_>, expected: &Expected) {
    let words = |words: &[u32]| words.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    text.push_str(
        "\n# The lane map: lane, subgroup size, gl_SubgroupID, gl_NumSubgroups, lowest local index of the subgroup, ballot of all lanes\n\
         # (4 words), and a mark. All else is expected for just this map.\n",
    );
    for (i, record) in expected.map.chunks(MAP_WORDS).enumerate() {
        let _ = writeln!(text, "EXPECT map IDX {} EQ {}", i * MAP_WORDS * 4, words(record));
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
