//! AmberScript and VkRunner scripts keep to the grammars of these formats (docs/amber_script.md of google/amber, README.md of
//! Igalia/vkrunner), as far as exports use them.

mod common;

use std::collections::BTreeMap;

use common::vectors;
use tangle_emit::glsl::glsl;
use tangle_identity::stage::{Cell, Column, Made, Outcome, Table, VariantRow};
use tangle_identity::{Detail, Kind, Signature};
use tangle_program::case::{Case, Data, Items, Launch, SpecConstant, SpirvVersion, Stage, SubgroupSize, Tier};
use tangle_program::variant::Variant;
use tangle_report::export::{Bundle, bundle};
use tangle_report::saved::SavedShader;
use tangle_report::subject::{Basis, Elsewhere, Subject, TestedDevice};

/// A module for formats that do not look into it.
const MODULE: [u32; 6] = [0x0723_0203, 0x0001_0300, 0, 1, 0, 0xDEAD_BEEF];

fn exported(case: &Case) -> Bundle {
    bundle(&subject(case)).expect("it is well-defined")
}

fn subject(case: &Case) -> Subject {
    let shader = SavedShader { source: glsl(case), spirv: MODULE.to_vec(), disassembly: "; SPIR-V\n".into() };
    Subject { basis: Basis::Linear(8), ..Subject::of(case.clone(), shader, "tangle".into()) }
}

/// Whatever a driver or a person wrote: no file of a bundle has a folder of the machine that it was made on.
#[test]
fn a_bundle_has_no_path_of_this_machine() {
    const PLACE: &str = "/home/somebody/mesa/src/x.c:301: failed";
    let (_, mut case) = vectors().swap_remove(0);
    case.about = PLACE.into();
    let cell = Cell { outcome: Outcome::NotRun, text: PLACE.into(), detail: PLACE.into() };
    let mut subject = Subject {
        signature: Some(Signature::new(Kind::Crash, Detail::Text(PLACE.into()))),
        basis: Basis::Nothing,
        report: PLACE.into(),
        device: Some(TestedDevice {
            name: "lvp".into(),
            info: serde_json::json!({}),
            start: format!("VK_DRIVER_FILES={PLACE} ./repro"),
        }),
        others: vec![Elsewhere {
            device: "lvp2".into(),
            driver: "llvmpipe".into(),
            version: "26".into(),
            result: PLACE.into(),
            is_right: Some(false),
        }],
        variants: Some(Table {
            columns: vec![Column {
                device: "lvp".into(),
                driver: "llvmpipe".into(),
                has_front_end: false,
                is_runtime: false,
            }],
            rows: vec![VariantRow { made: Made::Variant(Variant::Unoptimised), cells: vec![cell] }],
            proofs: Vec::new(),
        }),
        command: format!("tangle run {PLACE}"),
        ..subject(&case)
    };
    for signature in [subject.signature.take(), None] {
        subject.signature = signature;
        for (name, contents) in bundle(&subject).expect("it is well-defined").files {
            let text = String::from_utf8_lossy(&contents);
            assert!(!text.contains("somebody"), "{name}: {text}");
            assert!(name != "README.md" || text.contains("x.c:301"), "{text}");
        }
    }
}

/// The vectors, and each with other launches, tiers and data.
fn cases() -> Vec<(String, Case)> {
    let mut all = Vec::new();
    for (name, case) in vectors() {
        for (i, spirv) in SpirvVersion::ALL.into_iter().enumerate() {
            let mut other = case.clone();
            other.entry_point.spirv = spirv;
            other.entry_point.full_subgroups = i % 2 == 1;
            other.entry_point.subgroup_size =
                [SubgroupSize::Default, SubgroupSize::Varying, SubgroupSize::Required(8)][i % 3];
            other.tier = Tier::ALL[i % 3];
            if case.data == Data::default() && i > 0 {
                let count = case.entry_point.invocations() as usize;
                other.data = Data {
                    inputs: vec![vec![7; count]; 2],
                    uniforms: vec![1, 2, 3],
                    push: vec![u32::MAX],
                    resources: Vec::new(),
                    constants: vec![SpecConstant { default: 1, value: 2 }],
                    flats: Vec::new(),
                };
                other.entry_point.workgroups_mut().default_size = (i % 2 == 1).then_some([1, 1, 1]);
            }
            all.push((format!("{name} as SPIR-V {spirv:?}"), other));
        }
    }
    let descriptors = include_str!("../../../corpus/regressions/descriptors_of_each_class.json");
    all.push(("descriptors".into(), Case::from_json(descriptors).expect("a case")));
    all
}

fn text(bundle: &Bundle, file: &str) -> String {
    String::from_utf8(bundle.file(file).expect("it is made").to_vec()).expect("it is text")
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|error| format!("{word}: {error}"))
}

/// A vector in each stage before rasterisation, and a fragment shader.
fn draws() -> Vec<(String, Case)> {
    let fragment = include_str!("../../../corpus/fragments/demote_invocation.json");
    let mut all = vec![("fragment".to_owned(), Case::from_json(fragment).expect("a case"))];
    let (_, vector) = vectors().swap_remove(0);
    for stage in Stage::ALL.into_iter().filter(|stage| stage.item_names().is_some()) {
        let mut case = vector.clone();
        case.entry_point.stage = stage;
        case.entry_point.launch = Launch::Items(Items { size: 8, count: 2 });
        all.push((stage.name().to_owned(), case));
    }
    all
}

#[test]
fn every_amber_script_keeps_to_the_grammar() {
    for (name, case) in cases().into_iter().chain(draws()) {
        let script = text(&exported(&case), "case.amber");
        let read = Amber::read(&script).unwrap_or_else(|problem| panic!("{name}: {problem}\n{script}"));
        let map = case.entry_point.packed_map_len();
        assert_eq!((read.buffers["map"], read.expected["map"]), (map, map), "{name}");
        let lanes = match case.entry_point.draw() {
            Some(_) => 1,
            None => case.entry_point.items().map_or(case.entry_point.invocations(), Items::identities),
        };
        assert!(read.expected["log"] >= lanes as usize, "{name}: {} words", read.expected["log"]);
        assert_eq!(read.runs, 1, "{name}");
        assert_eq!(read.shaders, 1 + tangle_emit::glsl::stage::beside(&case).len(), "{name}");
    }
}

/// What a script declares and does.
#[derive(Default)]
struct Amber<'a> {
    /// Words of every buffer.
    buffers: BTreeMap<&'a str, usize>,
    /// Words of it that are compared.
    expected: BTreeMap<&'a str, usize>,
    shaders: usize,
    runs: usize,
}

impl<'a> Amber<'a> {
    fn read(script: &'a str) -> Result<Amber<'a>, String> {
        let mut amber = Amber::default();
        let mut lines = script.lines();
        if lines.next() != Some("#!amber") {
            return Err("it does not begin with #!amber".into());
        }
        while let Some(line) = lines.next() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            match words[..] {
                [] => {}
                ["DEVICE_FEATURE", name] if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') => {}
                ["DEVICE_EXTENSION", name] if name.starts_with("VK_") => {}
                ["SET", "ENGINE_DATA", "fence_timeout_ms", value] => drop(number(value)?),
                ["SHADER", stage, _, "GLSL" | "SPIRV-ASM" | "SPIRV-HEX", "TARGET_ENV", target]
                    if ["vulkan1.1", "vulkan1.1spv1.4", "vulkan1.2", "vulkan1.3"].contains(&target)
                        && Stage::from_name(stage).is_some_and(|stage| !matches!(stage, Stage::Task | Stage::Mesh)) =>
                {
                    amber.shaders += 1;
                    // The shader ends at the first END, wherever that stands.
                    let end = lines.find(|line| line.contains("END")).ok_or("the shader does not end")?;
                    if end != "END" {
                        return Err(format!("the shader ends at {end}"));
                    }
                }
                ["BUFFER", name, "DATA_TYPE", "uint32", "SIZE", size, "FILL", "0"] => {
                    amber.buffers.insert(name, number(size)? as usize);
                }
                ["BUFFER", name, "DATA_TYPE", "uint32", "DATA"] => {
                    let data = lines.by_ref().take_while(|line| *line != "END").flat_map(str::split_whitespace);
                    let words: Vec<u32> = data.map(number).collect::<Result<_, _>>()?;
                    amber.buffers.insert(name, words.len());
                }
                ["IMAGE", name, "FORMAT", "R32_UINT", "DIM_2D", "WIDTH", "1", "HEIGHT", "1", "FILL", texel] => {
                    number(texel)?;
                    amber.buffers.insert(name, 1);
                }
                ["PIPELINE", "compute" | "graphics", _] => amber.pipeline(&mut lines)?,
                [
                    "RUN",
                    _,
                    "DRAW_ARRAY",
                    "AS",
                    "TRIANGLE_LIST" | "POINT_LIST" | "PATCH_LIST",
                    "START_IDX",
                    "0",
                    "COUNT",
                    count,
                    "START_INSTANCE",
                    "0",
                    "INSTANCE_COUNT",
                    instances,
                ] if amber.buffers.get("vertices") == Some(&(number(count)? as usize)) => {
                    number(instances)?;
                    amber.runs += 1;
                }
                ["RUN", _, x, y, z] => {
                    [x, y, z].map(number).into_iter().collect::<Result<Vec<u32>, _>>()?;
                    amber.runs += 1;
                }
                ["EXPECT", name, "IDX", offset, "EQ", _, ..] => {
                    amber.expect(name, number(offset)? as usize, &words[5..])?
                }
                _ => return Err(format!("no command: {line}")),
            }
        }
        Ok(amber)
    }

    fn pipeline(&self, lines: &mut std::str::Lines<'a>) -> Result<(), String> {
        let mut in_subgroup = false;
        for line in lines {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["ATTACH", _] => {}
                ["FRAMEBUFFER_SIZE", width, height] => drop((number(width)?, number(height)?)),
                ["VERTEX_DATA", name, "LOCATION", "0"] if self.buffers.contains_key(name) => {}
                ["PATCH_CONTROL_POINTS", "1"] => {}
                ["ATTACH", _, "TYPE", _, "ENTRY_POINT", "main", ref constants @ ..] => {
                    for constant in constants.chunks(5) {
                        let ["SPECIALIZE", id, "AS", "uint32", value] = constant else {
                            return Err(format!("{constant:?}"));
                        };
                        number(id)?;
                        number(value)?;
                    }
                }
                ["SUBGROUP", _] => in_subgroup = true,
                ["FULLY_POPULATED" | "VARYING_SIZE", "on"] if in_subgroup => {}
                ["REQUIRED_SIZE", size] if in_subgroup => drop(number(size)?),
                ["BIND", "BUFFER", name, "AS", "push_constant"] if self.buffers.contains_key(name) => {}
                ["BIND", "BUFFER", name, "AS", "storage" | "uniform", "DESCRIPTOR_SET", "0", "BINDING", binding]
                    if self.buffers.contains_key(name) =>
                {
                    number(binding)?;
                }
                ["BIND", "BUFFER_ARRAY", ref names @ .., "AS", kind, "DESCRIPTOR_SET", "0", "BINDING", binding]
                    if names.len() > 1 && names.iter().all(|name| self.buffers.contains_key(name)) =>
                {
                    number(binding)?;
                    if !["storage", "uniform", "storage_texel_buffer", "storage_image"].contains(&kind) {
                        return Err(format!("no kind of descriptor: {line}"));
                    }
                }
                ["END"] if in_subgroup => in_subgroup = false,
                ["END"] => return Ok(()),
                _ => return Err(format!("not in a pipeline: {line}")),
            }
        }
        Err("the pipeline does not end".into())
    }

    fn expect(&mut self, name: &'a str, offset: usize, values: &[&str]) -> Result<(), String> {
        let words = *self.buffers.get(name).ok_or_else(|| format!("there is no buffer {name}"))?;
        values.iter().map(|value| number(value)).collect::<Result<Vec<u32>, _>>()?;
        if !offset.is_multiple_of(4) || offset / 4 + values.len() > words {
            return Err(format!("{} words at byte {offset} of the {words} words of {name}", values.len()));
        }
        *self.expected.entry(name).or_default() += values.len();
        Ok(())
    }
}

#[test]
fn every_vkrunner_script_keeps_to_the_grammar() {
    for (name, case) in cases() {
        let script = text(&exported(&case), "case.shader_test");
        let probed = read_vkrunner(&script).unwrap_or_else(|problem| panic!("{name}: {problem}\n{script}"));
        let invocations = case.entry_point.invocations() as usize;
        assert_eq!(probed[&2], case.entry_point.packed_map_words() * invocations, "{name}");
        assert!(probed[&3] >= invocations, "{name}");
    }
}

/// How many words of each buffer are compared.
fn read_vkrunner(script: &str) -> Result<BTreeMap<u32, usize>, String> {
    let mut section = "";
    let mut sections = Vec::new();
    let mut probed = BTreeMap::new();
    let mut bytes = BTreeMap::new();
    for line in script.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.strip_suffix(']').ok_or_else(|| format!("no section: {line}"))?;
            sections.push(section);
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match (section, &words[..]) {
            ("comment", _) | (_, []) => {}
            ("test", [first, ..]) if first.starts_with('#') => {}
            ("require", ["vulkan", version]) if version.split('.').count() == 3 => {}
            ("require", [name]) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {}
            ("compute shader binary", words) => {
                for word in words {
                    u32::from_str_radix(word, 16).map_err(|error| format!("{word}: {error}"))?;
                }
            }
            ("test", ["ssbo" | "ubo", binding, "subdata", "uint" | "uvec4", "0", values @ ..]) => {
                values.iter().map(|value| number(value)).collect::<Result<Vec<u32>, _>>()?;
                bytes.insert(number(binding)?, 4 * values.len());
            }
            ("test", ["ssbo", binding, size]) => drop(bytes.insert(number(binding)?, number(size)? as usize)),
            ("test", ["push", "uint", "0", values @ ..]) if !values.is_empty() => {
                values.iter().map(|value| number(value)).collect::<Result<Vec<u32>, _>>()?;
            }
            ("test", ["compute", x, y, z]) => {
                drop([x, y, z].map(|side| number(side)).into_iter().collect::<Result<Vec<u32>, _>>()?)
            }
            ("test", ["probe", "ssbo", "uint", binding, offset, "==", values @ ..]) if !values.is_empty() => {
                values.iter().map(|value| number(value)).collect::<Result<Vec<u32>, _>>()?;
                let (binding, offset) = (number(binding)?, number(offset)? as usize);
                if offset + 4 * values.len() > bytes.get(&binding).copied().unwrap_or(0) {
                    return Err(format!("beyond the buffer: {line}"));
                }
                *probed.entry(binding).or_default() += values.len();
            }
            _ => return Err(format!("not in [{section}]: {line}")),
        }
    }
    let known = ["comment", "require", "compute shader binary", "test"];
    if sections == known { Ok(probed) } else { Err(format!("sections {sections:?}")) }
}

#[test]
fn what_a_format_cannot_carry_is_said_in_it_and_in_the_readme() {
    let (_, mut case) = vectors().remove(0);
    case.tier = Tier::Maximal;
    case.entry_point.subgroup_size = SubgroupSize::Required(8);
    let bundle = exported(&case);
    for (file, limit) in [
        ("case.amber", "It has no name for the feature shaderMaximalReconvergence."),
        ("case.shader_test", "It has no name for the feature shaderMaximalReconvergence."),
        ("case.shader_test", "It cannot require the subgroup size 8"),
    ] {
        assert!(text(&bundle, file).contains(limit), "{file}: {limit}");
        assert!(text(&bundle, "README.md").contains(limit), "README: {limit}");
    }
}
