//! `repro.c`: the case as one C program against the Vulkan loader.
//!
//! The program is the template `repro.c` beside this file with tables filled in, and without what the stage does not need. It checks itself: it compares the lane map with
//! the one that the expected values are for, and the logs word by word and by relations between words, and it checks the rules of the lane map on any device.

use std::fmt::Write as _;

use tangle_analysis::cost::log_stride;
use tangle_features::{Member, Needs, StageFlags, Vulkan};
use tangle_oracle::relation::{Relation, ShownWord};
use tangle_program::case::{Case, Items, Launch, Stage, SubgroupSize, Tier, Workgroups};
use tangle_program::map_buffer;
use tangle_program::memory::buffer_bytes;
use tangle_program::needs::resource_classes;
use tangle_program::resource::ResourceClass;
use tangle_program::text::spaced;

use super::demand::demands;
use super::expected::Expected;
use super::source::{Source, broken_rule, input_words, uniform_words};

const TEMPLATE: &str = include_str!("repro.c");

/// How long the program waits for the dispatch.
const TIME_LIMIT_SECONDS: u32 = 30;

/// The program in C; without `expected` it compares nothing.
pub(super) fn repro(source: &Source<'_>, needs: &Needs, expected: Option<&Expected>) -> String {
    let template = chosen(&sections(source.case));
    filled(
        &template,
        &[
            ("@HEAD@", head(source)),
            ("@CONSTANTS@", constants(source, needs, expected)),
            ("@FEATURES@", features(needs)),
            ("@DATA@", data(source, expected)),
            ("@SHADER@", shader(source.text)),
        ],
    )
}

/// What the template has behind `#if`, and whether the program of a case has it.
fn sections(case: &Case) -> [(&'static str, bool); 13] {
    let stage = case.entry_point.stage;
    let is = |stages: &[Stage]| stages.contains(&stage);
    let arrays = !resource_classes(&case.program).is_empty();
    let several_samples = case.entry_point.draw().is_some_and(|draw| draw.samples > 1);
    [
        ("DESCRIPTOR_ARRAYS", arrays),
        ("FLOAT_CONTROLS", !case.entry_point.float_controls.is_none()),
        ("LIMITS", arrays || several_samples || is(&[Stage::Compute])),
        ("SEVERAL_SAMPLES", several_samples),
        // Quad operations are in these if they are anywhere (Vulkan, quadOperationsInAllStages).
        ("NO_QUADS", !is(&[Stage::Compute, Stage::Fragment])),
        ("COMPUTE", is(&[Stage::Compute])),
        ("GRAPHICS", !is(&[Stage::Compute])),
        ("MESH", is(&[Stage::Task, Stage::Mesh])),
        ("WORKGROUPS", stage.has_workgroups()),
        ("PAYLOAD", case.entry_point.payload_copies() > 0),
        ("VERTICES", !stage.has_workgroups()),
        ("FRAGMENTS", is(&[Stage::Fragment])),
        ("ITEMS", stage.item_names().is_some()),
    ]
}

/// The template with the sections that are asked for. Other conditions are the C compiler's.
fn chosen(sections: &[(&str, bool)]) -> String {
    let is_chosen = |line: &str| {
        let name = line.strip_prefix("#if ")?;
        sections.iter().find(|(section, _)| *section == name).map(|(_, is_chosen)| *is_chosen)
    };
    // For each condition around a line: whether it holds, if it is one of these.
    let mut around: Vec<Option<bool>> = Vec::new();
    let mut text = String::new();
    for line in TEMPLATE.split_inclusive('\n') {
        let is_ours = match line.trim_end() {
            condition if condition.starts_with("#if") => {
                around.push(is_chosen(condition));
                around.last().is_some_and(Option::is_some)
            }
            "#else" => match around.last_mut() {
                Some(Some(holds)) => {
                    *holds = !*holds;
                    true
                }
                _ => false,
            },
            "#endif" => around.pop().is_some_and(|condition| condition.is_some()),
            _ => false,
        };
        if !is_ours && !around.contains(&Some(false)) {
            text.push_str(line);
        }
    }
    text
}

/// The template with parts in the places of marks, in the order in which the marks stand in it. What looks like a mark in a part is none.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    for (mark, part) in parts {
        let Some((before, behind)) = rest.split_once(mark) else { continue };
        text.push_str(before);
        text.push_str(part.trim_end_matches('\n'));
        rest = behind;
    }
    text + rest
}

/// The lines of the comment at the top.
fn head(source: &Source<'_>) -> String {
    let mut text = String::new();
    for line in [source.title.as_str(), ""].into_iter().chain(source.story.lines()) {
        // A comment ends at the first of these.
        let line = line.replace("*/", "* /");
        let _ = writeln!(text, "{}", format!(" * {line}").trim_end());
    }
    text
}

/// `VkSubgroupFeatureFlags` of the operations.
fn operations(needs: &Needs) -> u32 {
    needs.features.rows().fold(0, |bits, row| bits | if let Vulkan::Operation(bit) = row.vulkan { bit } else { 0 })
}

fn constants(source: &Source<'_>, needs: &Needs, expected: Option<&Expected>) -> String {
    let entry_point = &source.case.entry_point;
    let required = if let SubgroupSize::Required(size) = entry_point.subgroup_size { size } else { 0 };
    let operations = operations(needs);
    let count = |f: fn(&Expected) -> usize| expected.map_or(0, f);
    let mut text = String::new();
    let mut define = |name: &str, value: String, note: &str| {
        let line = format!("#define {name} {value}");
        let _ = if note.is_empty() { writeln!(text, "{line}") } else { writeln!(text, "{line} /* {note} */") };
    };
    let number = |n: usize| n.to_string();
    for (name, value, note) in launched(source) {
        define(name, value, note);
    }
    define("SPIRV_VERSION", format!("{:#x}", entry_point.spirv.word()), "");
    define("REQUIRED_SUBGROUP_SIZE", format!("{required}u"), "0: none is asked for");
    define("ALLOW_VARYING_SIZE", flag(entry_point.subgroup_size == SubgroupSize::Varying), "");
    define("REQUIRE_FULL_SUBGROUPS", flag(entry_point.full_subgroups), "");
    define("DISABLE_OPTIMIZATION", flag(source.case.variant.disables_driver_optimisation()), "of the pipeline");
    define("MIN_SUBGROUP_SIZE", format!("{}u", needs.min_subgroup_size), "for clusters and quads");
    define("SUBGROUP_OPERATIONS", format!("{operations:#x}u"), "VkSubgroupFeatureFlags");
    define("TIME_LIMIT_SECONDS", TIME_LIMIT_SECONDS.to_string(), "");
    define("LOG_STRIDE", format!("{}u", log_stride(source.case)), "words that an invocation may log");
    define("SPIRV_WORDS", number(source.spirv.len()), "");
    define("INPUT_WORDS", number(input_words(source.case).len()), "");
    define("UNIFORM_WORDS", number(uniform_words(source.case).len()), "");
    define("PUSH_WORDS", number(source.case.data.push.len()), "");
    define("CONSTANTS", number(source.case.specialization().len()), "given to the pipeline");
    define("DESCRIPTOR_ARRAYS", number(resource_classes(&source.case.program).len()), "");
    define("RESOURCES", number(source.case.data.resources.len()), "in each of them");
    define("ARRAY_WORDS", number(array_words(source.case)), "of the arrays in a buffer");
    define("HAS_EXPECTED_VALUES", flag(expected.is_some()), "");
    define("EXPECTED_WORDS", number(count(Expected::words)), "");
    define("EXPECTED_ENTRIES", number(count(Expected::entries)), "");
    define("SITES", number(count(|expected| expected.sites.len())), "");
    define("RELATIONS", number(source.relations.len()), "between words of which several values are legal");
    define("RELATION_WORDS", number(source.relations.iter().map(|relation| relation.words.len()).sum()), "");
    text
}

/// What is launched: names of constants, their values, and what there is to say of them.
fn launched(source: &Source<'_>) -> Vec<(&'static str, String, &'static str)> {
    let entry_point = &source.case.entry_point;
    let stage = entry_point.stage;
    let flags = StageFlags::of(stage);
    let words = |number: u32| format!("{number}u");
    let mut all = Vec::new();
    let mut define = |name, value, note| all.push((name, value, note));
    define("STAGE", format!("{:#x}", flags.shader.as_raw()), "VkShaderStageFlagBits");
    define("STAGE_NAME", string(&spaced(stage.name())), "");
    define("PIPELINE_STAGE", format!("{:#x}", flags.pipeline.as_raw()), "VkPipelineStageFlagBits");
    let buffer_stages = StageFlags::with_buffers(stage).shader.as_raw();
    define("BUFFER_STAGES", format!("{buffer_stages:#x}"), "that see the buffers");
    let is_compute = stage == Stage::Compute;
    define("QUEUE", if is_compute { "VK_QUEUE_COMPUTE_BIT" } else { "VK_QUEUE_GRAPHICS_BIT" }.into(), "");
    let point = if is_compute { "VK_PIPELINE_BIND_POINT_COMPUTE" } else { "VK_PIPELINE_BIND_POINT_GRAPHICS" };
    define("BIND_POINT", point.into(), "");
    if !is_compute {
        let [width, height, layers, samples] =
            entry_point.draw().map_or([1; 4], |draw| [draw.width, draw.height, draw.layers, draw.samples]);
        define("WIDTH", words(width), "of the framebuffer");
        define("HEIGHT", words(height), "");
        define("LAYERS", words(layers), "");
        define("SAMPLES", words(samples), "of a pixel");
        let topology = match &entry_point.launch {
            Launch::Items(_) if stage.draws_patches() => "VK_PRIMITIVE_TOPOLOGY_PATCH_LIST",
            Launch::Items(_) => "VK_PRIMITIVE_TOPOLOGY_POINT_LIST",
            Launch::Draw(_) | Launch::Workgroups(_) => "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST",
        };
        define("TOPOLOGY", topology.into(), "");
        define("BESIDE", source.beside.len().to_string(), "shaders beside this one");
        define("BESIDE_WORDS", source.beside.iter().map(|(_, words)| words.len()).sum::<usize>().to_string(), "");
    }
    let counts = entry_point.counts();
    define("RECORD_WORDS", words(entry_point.packed_map_words() as u32), "that an invocation stores of the lane map");
    define("TOKEN_OFFSET", format!("{:#x}u", map_buffer::WRITTEN), "");
    let [z, w] = map_buffer::FOLD;
    define("FOLD_Z", format!("{z:#x}u"), "factors of the words of a ballot that are added to its second");
    define("FOLD_W", format!("{w:#x}u"), "");
    match &entry_point.launch {
        Launch::Workgroups(Workgroups { size: [x, y, z], count, .. }) => {
            define("WORKGROUP_X", words(*x), "");
            define("WORKGROUP_Y", words(*y), "");
            define("WORKGROUP_Z", words(*z), "");
            define("GROUPS_X", words(count[0]), "");
            define("GROUPS_Y", words(count[1]), "");
            define("GROUPS_Z", words(count[2]), "");
            define(
                "PAYLOAD_COPIES",
                entry_point.payload_copies().to_string() + "u",
                "of what each invocation has in the payload",
            );
            if !is_compute {
                define(
                    "DRAWN_X",
                    words(counts[0]),
                    "what is launched, which may be a task shader that emits the others",
                );
                define("DRAWN_Y", words(counts[1]), "");
                define("DRAWN_Z", words(counts[2]), "");
                // VkPhysicalDeviceMeshShaderPropertiesEXT
                let first = if stage == Stage::Task { 0 } else { 11 };
                define("MESH_LIMITS", first.to_string(), "the first member that limits workgroups of the stage");
            }
        }
        Launch::Draw(draw) => {
            let [columns, rows, _] = draw.grid();
            define("COLUMNS", words(columns), "");
            define("ROWS", words(rows), "");
            define("TRIANGLES", draw.triangles.len().to_string() + "u", "in each layer");
            define("CORNER_WORDS", source.case.vertices().len().to_string(), "");
            let active = flag(source.case.tier == Tier::Maximal);
            define("HELPERS_ARE_ACTIVE", active, "from the beginning, as long as their quad has a fragment");
        }
        Launch::Items(Items { size, count }) => {
            let [item, invocation] = stage.item_names().unwrap_or_default();
            define("ITEM_NAME", string(item), "");
            define("INVOCATION_NAME", string(invocation), "");
            define("ITEM_SIZE", words(*size), "");
            define("ITEM_COUNT", words(*count), "");
            define("EXECUTIONS", words(Items::EXECUTIONS), "");
        }
    }
    if !stage.has_workgroups() {
        define("VERTICES", words(counts[0]), "");
        define("INSTANCES", words(counts[1]), "");
    }
    all
}

fn flag(value: bool) -> String {
    u32::from(value).to_string()
}

fn features(needs: &Needs) -> String {
    let mut text = String::from("static const struct feature features[] = {\n");
    for needed in demands(needs) {
        for row in std::iter::once(needed).chain(needed.implied_by.iter().map(|feature| feature.row())) {
            let (structure, index, core_since) = match row.vulkan {
                Vulkan::Member(Member { structure, index, origin }) => (structure, index, origin.core_since),
                Vulkan::FloatControl(_) => (0, 0, Some(2)),
                Vulkan::Extension(_) | Vulkan::Operation(_) | Vulkan::Stage(_) => (0, 0, None),
            };
            let core = core_since.map_or("0".into(), |minor| format!("VK_MAKE_VERSION(1, {minor}, 0)"));
            let extension = row.extension().unwrap_or_default();
            let _ = writeln!(text, "    {{\"{}\", {structure}, {index}, \"{extension}\", {core}}},", needed.name);
        }
    }
    text.push_str("    {NULL, 0, 0, NULL, 0},\n};\n");
    let controls = demands(needs).fold(0_u32, |members, row| match row.vulkan {
        Vulkan::FloatControl(member) => members | 1 << member,
        _ => members,
    });
    if controls != 0 {
        let _ =
            writeln!(text, "\n/* The members of VkPhysicalDeviceFloatControlsProperties that it needs, as bits. */");
        let _ = writeln!(text, "#define FLOAT_CONTROLS {controls:#x}u");
    }
    text
}

fn data(source: &Source<'_>, expected: Option<&Expected>) -> String {
    let mut text = String::new();
    let entry_point = &source.case.entry_point;
    array(&mut text, "uint32_t spirv[SPIRV_WORDS]", source.spirv);
    if entry_point.stage != Stage::Compute {
        let mut first = 0;
        text.push_str("static const struct module beside[BESIDE + 1] = {\n");
        for (stage, words) in source.beside {
            let _ = writeln!(text, "    {{{:#x}, {first}, {}}},", StageFlags::of(*stage).shader.as_raw(), words.len());
            first += words.len();
        }
        text.push_str("    {0, 0, 0},\n};\n");
        let words: Vec<u32> = source.beside.iter().flat_map(|(_, words)| words).copied().collect();
        array(&mut text, "uint32_t beside_spirv[BESIDE_WORDS + 1]", &words);
    }
    if let Some(draw) = entry_point.draw() {
        array(&mut text, "uint32_t corners[CORNER_WORDS]", &source.case.vertices());
        let places: Vec<u32> = (0..entry_point.invocations()).collect();
        let bit = |&place: &u32| u32::from(draw.covers(entry_point.workgroups().position(place))) << (place % 32);
        let covered: Vec<u32> = places.chunks(32).map(|places| places.iter().map(bit).sum()).collect();
        array(&mut text, "uint32_t covered[ALL / 32 + 1]", &covered);
    }
    if entry_point.payload_copies() > 0 {
        let words: Vec<u32> =
            (0..entry_point.invocations() as usize).map(|ordinal| entry_point.payload_word(ordinal)).collect();
        array(&mut text, "uint32_t payload[ALL]", &words);
    }
    array(&mut text, "uint32_t inputs[INPUT_WORDS + 1]", &input_words(source.case));
    array(&mut text, "uint32_t uniforms[UNIFORM_WORDS + 1]", &uniform_words(source.case));
    array(&mut text, "uint32_t push_constants[PUSH_WORDS + 1]", &source.case.data.push);
    let classes = resource_classes(&source.case.program);
    if !classes.is_empty() {
        let bindings: Vec<u32> = classes.iter().map(|class| class.binding()).collect();
        let types: Vec<u32> = classes.iter().map(|&class| descriptor_type(class)).collect();
        array(&mut text, "uint32_t array_bindings[DESCRIPTOR_ARRAYS + 1]", &bindings);
        array(&mut text, "uint32_t array_types[DESCRIPTOR_ARRAYS + 1]", &types);
        array(&mut text, "uint32_t resources[RESOURCES + 1]", &source.case.data.resources);
    }
    let (ids, values): (Vec<u32>, Vec<u32>) = source.case.specialization().into_iter().unzip();
    array(&mut text, "uint32_t constant_ids[CONSTANTS + 1]", &ids);
    array(&mut text, "uint32_t constant_values[CONSTANTS + 1]", &values);
    let nothing = Expected::default();
    let expected = expected.unwrap_or(&nothing);
    let or_one = |used: &str| format!("{used}[HAS_EXPECTED_VALUES ? ALL : 1]");
    let starts = |used: &str| format!("{used}[HAS_EXPECTED_VALUES ? ALL + 1 : 1]");
    rows(
        &mut text,
        "uint32_t expected_map[HAS_EXPECTED_VALUES ? BUFFER_LENGTH : 1]",
        &expected.map,
        entry_point.packed_map_words(),
    );
    array(&mut text, &starts("uint32_t log_start"), &expected.log_start);
    array(&mut text, "uint32_t expected_log[EXPECTED_WORDS + 1]", &expected.log);
    array(&mut text, "uint32_t left_open[EXPECTED_WORDS / 32 + 1]", &expected.left_open);
    array(&mut text, &starts("uint32_t entry_start"), &expected.entry_start);
    array(&mut text, "uint32_t step_of_entry[EXPECTED_ENTRIES + 1]", &expected.step_of_entry);
    array(&mut text, &or_one("unsigned char ends_open"), &expected.ends_open);
    text.push_str("static const struct site sites[SITES + 1] = {\n");
    for site in &expected.sites {
        let _ = writeln!(text, "    {{{}, {}, {}, {}}},", site.id, site.words, site.line, string(&site.source));
    }
    text.push_str("    {0, 0, 0, NULL},\n};\n");
    relations(&mut text, source.relations);
    text
}

/// The number of the `VkDescriptorType`.
const fn descriptor_type(class: ResourceClass) -> u32 {
    match class {
        ResourceClass::StorageImage => 3,
        ResourceClass::StorageTexelBuffer => 5,
        ResourceClass::UniformBuffer => 6,
        ResourceClass::StorageBuffer => 7,
    }
}

fn relations(text: &mut String, relations: &[Relation]) {
    text.push_str("static const struct relation relations[RELATIONS + 1] = {\n");
    for relation in relations {
        let _ = writeln!(text, "    {{{}, {}}},", relation.words.len(), string(&broken_rule(relation)));
    }
    text.push_str("    {0, NULL},\n};\nstatic const struct word relation_words[RELATION_WORDS + 1] = {\n");
    for ShownWord { invocation, at, value } in relations.iter().flat_map(|relation| &relation.words) {
        let _ = writeln!(text, "    {{{invocation}, {at}, {}}},", number(*value));
    }
    text.push_str("    {0, 0, 0},\n};\n");
}

fn array(text: &mut String, declaration: &str, words: &[u32]) {
    rows(text, declaration, words, 10);
}

/// An array with so many words a line; at least one word, since C has no empty initialisers.
fn rows(text: &mut String, declaration: &str, words: &[u32], width: usize) {
    let _ = writeln!(text, "static const {declaration} = {{");
    for row in words.chunks(width) {
        let row: Vec<String> = row.iter().map(|&word| number(word)).collect();
        let _ = writeln!(text, "    {},", row.join(", "));
    }
    if words.is_empty() {
        text.push_str("    0,\n");
    }
    text.push_str("};\n");
}

fn number(word: u32) -> String {
    if word < 1000 { word.to_string() } else { format!("{word:#x}") }
}

/// A string literal of C.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => literal.extend(['\\', byte.into()]),
            // Two of these begin a trigraph.
            b'?' => literal.push_str("\\?"),
            b' '..=b'~' => literal.push(byte.into()),
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal.push('"');
    literal
}

/// The GLSL as a comment.
fn shader(source: &str) -> String {
    let mut text = String::from("/*\n * The shader that the module was compiled from.\n *\n");
    for line in source.lines() {
        let _ = writeln!(text, "{}", format!(" * {}", line.replace("*/", "* /").replace("/*", "/ *")).trim_end());
    }
    text.push_str(" */\n");
    text
}

/// Words of the buffer for arrays.
pub(super) fn array_words(case: &Case) -> usize {
    buffer_bytes(&case.program.shared, case.entry_point.groups()).div_ceil(4) as usize
}

/// Words of all logs, for the sizes of buffers.
pub(super) fn log_words(case: &Case) -> usize {
    log_stride(case) as usize * case.entry_point.invocations() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_c_literals() {
        for (text, literal) in [
            ("LOG1(1, x);", r#""LOG1(1, x);""#),
            ("a ? b : \"c\\", r#""a \? b : \"c\\""#),
            ("é\n", r#""\303\251\012""#),
        ] {
            assert_eq!(string(text), literal);
        }
    }

    #[test]
    fn a_name_that_looks_like_a_mark_is_none() {
        let marks = ["@HEAD@", "@CONSTANTS@", "@FEATURES@", "@DATA@", "@SHADER@"];
        let parts = marks.map(|mark| (mark, format!("[in place of {} of @CONSTANTS@]", mark.trim_matches('@'))));
        let text = filled(TEMPLATE, &parts);
        for (mark, part) in &parts {
            assert_eq!(text.matches(part.as_str()).count(), 1, "{mark}");
        }
        assert!(!text.contains("@HEAD@") && !text.contains("@DATA@"), "every mark of the template is filled");
    }

    #[test]
    fn a_program_has_the_sections_of_its_stage() {
        let case = include_str!("../../../../corpus/vectors/V01.json");
        let mut case = Case::from_json(case).expect("a case");
        for stage in Stage::ALL {
            case.entry_point.stage = stage;
            let text = chosen(&sections(&case));
            let conditions: Vec<&str> = text.lines().filter(|line| line.starts_with("#if")).collect();
            assert!(conditions.iter().all(|line| *line == "#ifndef _WIN32"), "{stage:?}: {conditions:?}");
            assert_eq!(text.matches("#endif").count(), conditions.len(), "{stage:?}");
            for (call, stages) in [
                ("vkCmdDispatch(", &[Stage::Compute][..]),
                ("vkCmdDrawMeshTasksEXT", &[Stage::Task, Stage::Mesh]),
                ("is_covered(", &[Stage::Fragment]),
            ] {
                assert_eq!(text.contains(call), stages.contains(&stage), "{stage:?}: {call}");
            }
        }
    }

    #[test]
    fn arrays_are_never_empty() {
        let mut text = String::new();
        array(&mut text, "uint32_t x[1]", &[]);
        rows(&mut text, "uint32_t y[3]", &[1, 2, 0xDEAD_BEEF], 2);
        assert_eq!(
            text,
            "static const uint32_t x[1] = {\n    0,\n};\nstatic const uint32_t y[3] = {\n    1, 2,\n    0xdeadbeef,\n};\n"
        );
    }
}
