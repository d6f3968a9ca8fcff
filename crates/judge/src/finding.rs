//! A module that a device fails on, as `tangle judge --save` leaves it: a folder that other commands take.
//!
//! | file | |
//! |---|---|
//! | `judge.json` | what it was run with, on which device, and the result |
//! | `module.spv`, `module.spvasm` | the module |
//! | `with-lane-map.spv` | the copy that first writes the lane map |
//! | `buffer-SET.BINDING.bin`, `buffer-SET.BINDING.ELEMENT.bin`, `memory-ADDRESS.bin`, `push.bin` | contents |
//! | `module.amber` | the same as an AmberScript, with the words that differ as `EXPECT`s, if AmberScript can say it |
//! | `README.md` | a report to paste into a tracker: what is wrong, the machine, the command that shows it, and the files |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tangle_files::words::{from_bytes, to_bytes};
use tangle_interpreter::{Binding, BindingKind, Limits, Module, Pipeline, Tier};
use tangle_report::Reporter as _;
use tangle_report::export::properties;
use tangle_report::module::ModuleReport;
use tangle_report::reporter::Markdown;
use tangle_report::subject::TestedDevice;
use tangle_runner::toolchain;

use crate::contents::MAX_BYTES;
use crate::device::{Compared, Made, Ready, Word};
use crate::run::{Inputs, dispatch};

/// The file that makes a folder one of these.
pub const FILE: &str = "judge.json";

/// The most that is read of [`FILE`], bytes.
const MOST: u64 = 1 << 20;

/// A module that a device fails on.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The file that was judged.
    pub source: String,
    /// Name of the device.
    pub device: String,
    /// What is known of the device.
    pub about: Value,
    /// What it made of the module.
    pub made: Made,
    /// The words of the module that was judged.
    pub words: Vec<u32>,
    /// What it was run with.
    pub inputs: Inputs,
}

/// A file of a finding's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    /// The name of the file in the folder.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// Its bytes.
    pub contents: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    source: String,
    device: String,
    about: Value,
    made: Made,
    command: String,
    runner: String,
    workgroups: [u32; 3],
    subgroup_size: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    specialization: BTreeMap<u32, u64>,
    /// Set and binding of each file with contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buffers: Vec<(u32, u32)>,
    /// The same of elements of arrays of descriptors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    elements: Vec<(u32, u32, u32)>,
    /// Set, binding and extent of each image that was given one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<(u32, u32, [u32; 3])>,
    /// Set, binding and number of descriptors of each run-time array that was given one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    descriptors: Vec<(u32, u32, u32)>,
    /// Addresses of buffers without a descriptor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    memory: Vec<u64>,
    steps: u64,
}

/// The names of the tiers.
pub const TIERS: [(&str, Tier); 3] =
    [("plain", Tier::Plain), ("subgroup_uniform", Tier::SubgroupUniform), ("maximal", Tier::Maximal)];

/// The name of a tier.
pub fn tier_name(tier: Tier) -> &'static str {
    TIERS.iter().find(|(_, known)| *known == tier).map_or("unknown", |(name, _)| name)
}

fn buffer_file(set: u32, binding: u32) -> String {
    format!("buffer-{set}.{binding}.bin")
}

fn element_file(set: u32, binding: u32, element: u32) -> String {
    format!("buffer-{set}.{binding}.{element}.bin")
}

fn memory_file(address: u64) -> String {
    format!("memory-{address:#x}.bin")
}

impl Finding {
    /// The command that shows it, in its folder.
    pub fn command(&self) -> String {
        let inputs = &self.inputs;
        let mut command = "tangle judge module.spv".to_owned();
        for &(set, binding) in inputs.buffers.keys() {
            let _ = write!(command, " --buffer {set}.{binding}={}", buffer_file(set, binding));
        }
        for &(set, binding, element) in inputs.elements.keys() {
            let file = element_file(set, binding, element);
            let _ = write!(command, " --buffer '{set}.{binding}[{element}]={file}'");
        }
        for ((set, binding), [width, height, depth]) in &inputs.images {
            let _ = write!(command, " --image {set}.{binding}={width}x{height}x{depth}");
        }
        for ((set, binding), count) in &inputs.descriptors {
            let _ = write!(command, " --descriptors {set}.{binding}={count}");
        }
        for &address in inputs.memory.keys() {
            let _ = write!(command, " --memory {address:#x}={}", memory_file(address));
        }
        if !inputs.push.is_empty() {
            command.push_str(" --push push.bin");
        }
        for (id, value) in &inputs.specialization {
            let _ = write!(command, " --spec {id}={value:#x}");
        }
        if let Some(entry) = &inputs.entry {
            let _ = write!(command, " --entry {entry}");
        }
        if let Some(tier) = inputs.tier {
            let _ = write!(command, " --as {}", tier_name(tier));
        }
        let [x, y, z] = inputs.workgroups;
        let size = inputs.subgroup_size;
        let _ = write!(command, " --workgroups {x},{y},{z} --subgroup-size {size} --device {}", self.device);
        command
    }

    /// What is wrong, in a few lines.
    pub fn text(&self) -> String {
        self.made.text(&self.device)
    }

    /// Saves it in a folder, which is made if need be.
    ///
    /// # Errors
    /// If something cannot be written, or the module cannot be run on devices.
    pub fn save(&self, folder: &Path) -> anyhow::Result<()> {
        let files = self.files()?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for SavedFile { name, contents, .. } in files {
            tangle_files::write_atomically(&folder.join(name), &contents)?;
        }
        Ok(())
    }

    /// Every file of its folder. The last one is [`FILE`]: with it the folder is a finding.
    ///
    /// # Errors
    /// If the module cannot be decoded, or cannot be run on devices.
    pub fn files(&self) -> anyhow::Result<Vec<SavedFile>> {
        let inputs = &self.inputs;
        let interface = self.pipeline()?.interface().clone();
        let ready = Ready::new(&self.words, inputs, &interface).map_err(anyhow::Error::msg)?;
        let mut files = Vec::new();
        let mut add = |name: String, what: &str, contents: Vec<u8>| {
            files.push(SavedFile { name, what: what.to_owned(), contents });
        };
        add("module.spv".into(), "the shader", to_bytes(&self.words));
        add("module.spvasm".into(), "its assembly", self.assembly().into_bytes());
        add(
            "with-lane-map.spv".into(),
            "a copy of it that first writes `SubgroupId`, `SubgroupLocalInvocationId`, `SubgroupSize` and `NumSubgroups` of every invocation into its last buffer",
            to_bytes(ready.copy()),
        );
        if let Ok(script) = self.amber()? {
            add("module.amber".into(), "an AmberScript that fails where the device does", script.into_bytes());
        }
        for (&(set, binding), contents) in &inputs.buffers {
            let what = format!("contents of set {set} binding {binding}");
            add(buffer_file(set, binding), &what, contents.clone());
        }
        for (&(set, binding, element), contents) in &inputs.elements {
            let what = format!("contents of element {element} of set {set} binding {binding}");
            add(element_file(set, binding, element), &what, contents.clone());
        }
        for (&address, contents) in &inputs.memory {
            add(memory_file(address), &format!("contents of the buffer at {address:#x}"), contents.clone());
        }
        if !inputs.push.is_empty() {
            add("push.bin".into(), "push constants", inputs.push.clone());
        }
        let file = File {
            format: 1,
            source: self.source.clone(),
            device: self.device.clone(),
            about: self.about.clone(),
            made: self.made.clone(),
            command: self.command(),
            runner: toolchain::version(),
            workgroups: inputs.workgroups,
            subgroup_size: inputs.subgroup_size,
            entry: inputs.entry.clone(),
            tier: inputs.tier.map(|tier| tier_name(tier).to_owned()),
            specialization: inputs.specialization.clone(),
            buffers: inputs.buffers.keys().copied().collect(),
            elements: inputs.elements.keys().copied().collect(),
            images: inputs.images.iter().map(|(&(set, binding), &extent)| (set, binding, extent)).collect(),
            descriptors: inputs.descriptors.iter().map(|(&(set, binding), &count)| (set, binding, count)).collect(),
            memory: inputs.memory.keys().copied().collect(),
            steps: inputs.limits.steps,
        };
        let what = "what it was run with, the device, and what differs; `tangle minimize`, `export` and `report` take the folder";
        add(FILE.into(), what, serde_json::to_string_pretty(&file)?.into_bytes());
        let listed = files.iter().map(|file| (file.name.clone(), file.what.clone())).collect();
        let text = Markdown.module(&ModuleReport { files: listed, ..self.report()? })?;
        let readme = SavedFile {
            name: "README.md".into(),
            what: "this text".into(),
            contents: text.unwrap_or_default().into_bytes(),
        };
        files.insert(0, readme);
        Ok(files)
    }

    /// Reads what [`Finding::save`] left; `None` if the folder is none of these.
    ///
    /// # Errors
    /// If it cannot be read or understood.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Finding>> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let contents = |name: &str, most: u64| {
            let path = folder.join(name);
            tangle_files::read(&path, most).with_context(|| path.display().to_string())
        };
        let mut file: File =
            serde_json::from_slice(&contents(FILE, MOST)?).with_context(|| path.display().to_string())?;
        anyhow::ensure!(file.format == 1, "{}: format {} is newer than this tangle", path.display(), file.format);
        let mut inputs = Inputs {
            workgroups: file.workgroups,
            subgroup_size: file.subgroup_size,
            entry: file.entry.take(),
            specialization: std::mem::take(&mut file.specialization),
            limits: Limits { steps: file.steps, ..Limits::default() },
            ..Inputs::default()
        };
        if let Some(name) = file.tier.take() {
            let tier = TIERS.iter().find(|(known, _)| *known == name).map(|&(_, tier)| tier);
            inputs.tier = Some(tier.with_context(|| format!("{}: '{name}' is no tier", path.display()))?);
        }
        for &(set, binding) in &file.buffers {
            inputs.buffers.insert((set, binding), contents(&buffer_file(set, binding), MAX_BYTES)?);
        }
        for &(set, binding, element) in &file.elements {
            inputs.elements.insert((set, binding, element), contents(&element_file(set, binding, element), MAX_BYTES)?);
        }
        for &address in &file.memory {
            inputs.memory.insert(address, contents(&memory_file(address), MAX_BYTES)?);
        }
        inputs.images = file.images.iter().map(|&(set, binding, extent)| ((set, binding), extent)).collect();
        let descriptors = file.descriptors.iter();
        inputs.descriptors = descriptors.map(|&(set, binding, count)| ((set, binding), count)).collect();
        if folder.join("push.bin").is_file() {
            inputs.push = contents("push.bin", MAX_BYTES)?;
        }
        let words = from_bytes(&contents("module.spv", MAX_BYTES)?);
        let File { source, device, about, made, .. } = file;
        Ok(Some(Finding { source, device, about, made, words, inputs }))
    }

    fn pipeline(&self) -> anyhow::Result<Pipeline> {
        Ok(Pipeline::new(&Module::parse(&self.words)?, &self.inputs.pipeline_options())?)
    }

    /// The module, for people.
    pub fn assembly(&self) -> String {
        toolchain::disassemble(&self.words).unwrap_or_default()
    }

    /// What a report says of it, without the files beside it.
    ///
    /// # Errors
    /// If the module cannot be decoded.
    pub fn report(&self) -> anyhow::Result<ModuleReport> {
        let without_tangle = match self.amber()? {
            Ok(_) => "Without tangle: `amber module.amber` (https://github.com/google/amber).".to_owned(),
            Err(why) => format!("There is no AmberScript of it: {why}."),
        };
        let [x, y, z] = self.inputs.workgroups;
        let device = TestedDevice { name: self.device.clone(), info: self.about.clone(), start: String::new() };
        let words = self.made.different().iter();
        let number = |word: u32| format!("{word:#010x}");
        Ok(ModuleReport {
            title: format!("{} fails on {}", self.device, self.source),
            what: self.text(),
            environment: properties(Some(&device)),
            facts: vec![
                ("Name in tangle".into(), self.device.clone()),
                ("Shader".into(), self.source.clone()),
                ("Workgroups".into(), format!("{x} × {y} × {z}")),
                ("Made by".into(), toolchain::version()),
            ],
            rows: words.map(|word| [word.place(), number(word.expected), number(word.found)]).collect(),
            command: self.command(),
            without_tangle,
            files: Vec::new(),
            assembly: self.assembly(),
        })
    }

    /// The same as an AmberScript, which runs on any Vulkan device and fails where this device does: the first of the words that differ are its `EXPECT`s.
    /// They hold for the lanes of this device. Or what a script is not written for.
    ///
    /// # Errors
    /// If the module cannot be decoded.
    pub fn amber(&self) -> anyhow::Result<Result<String, &'static str>> {
        let pipeline = self.pipeline()?;
        let of_bindings = |is_it: fn(&Binding) -> bool| pipeline.interface().bindings.iter().any(is_it);
        Ok(if of_bindings(|binding| binding.image.is_some() || binding.kind == BindingKind::Sampler) {
            Err("no script is written for images and samplers")
        } else if of_bindings(|binding| binding.count != 1) {
            Err("no script is written for arrays of descriptors")
        } else if !self.inputs.memory.is_empty() {
            Err("AmberScript has no buffers at device addresses")
        } else {
            Ok(self.script(&pipeline)?)
        })
    }

    fn script(&self, pipeline: &Pipeline) -> anyhow::Result<String> {
        let interface = pipeline.interface();
        let dispatch = dispatch(interface, &self.inputs)?;
        let minor = self.words.get(1).map_or(0, |version| version >> 8 & 0xFF);
        let mut text = format!(
            "#!amber\n# {} on {}: made by tangle judge\n\nSHADER compute shader SPIRV-ASM TARGET_ENV spv1.{minor}\n{}END\n\n",
            one_line(&self.source),
            one_line(&self.device),
            self.assembly(),
        );
        let mut binds = String::new();
        for buffer in &dispatch.buffers {
            let (set, binding) = (buffer.set, buffer.binding);
            let found = interface.bindings.iter().find(|found| (found.set, found.binding) == (set, binding));
            let kind = match found.map(|found| found.kind) {
                Some(BindingKind::UniformBuffer) => "uniform",
                _ => "storage",
            };
            data(&mut text, &format!("buffer_{set}_{binding}"), &buffer.bytes);
            let _ = writeln!(
                binds,
                "  BIND BUFFER buffer_{set}_{binding} AS {kind} DESCRIPTOR_SET {set} BINDING {binding}"
            );
        }
        if !dispatch.push.is_empty() {
            data(&mut text, "push", &dispatch.push);
            binds.push_str("  BIND BUFFER push AS push_constant\n");
        }
        let _ = write!(text, "PIPELINE compute pipeline\n  ATTACH shader TYPE compute ENTRY_POINT {}", interface.entry);
        for constant in &interface.spec_constants {
            if let Some(value) = self.inputs.specialization.get(&constant.id) {
                let _ = write!(text, " SPECIALIZE {} AS uint32 {}", constant.id, *value as u32);
            }
        }
        let [x, y, z] = self.inputs.workgroups;
        let _ = write!(text, "\n{binds}END\n\nRUN pipeline {x} {y} {z}\n\n");
        // Of which every bit is determined.
        for Word { set, binding, offset, expected, .. } in self.made.different().iter().filter(|word| word.open == 0) {
            let _ = writeln!(text, "EXPECT buffer_{set}_{binding} IDX {offset} EQ {expected}");
        }
        Ok(text)
    }
}

/// What is to be added to a line.
fn noted(note: &Option<String>) -> String {
    note.as_ref().map_or_else(String::new, |note| format!("; {note}"))
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A buffer of words.
fn data(text: &mut String, name: &str, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = from_bytes(&bytes);
    match words.iter().all(|&word| word == 0) {
        true => drop(writeln!(text, "BUFFER {name} DATA_TYPE uint32 SIZE {} FILL 0\n", words.len())),
        false => {
            let _ = writeln!(text, "BUFFER {name} DATA_TYPE uint32 DATA");
            for row in words.chunks(16) {
                let row: Vec<String> = row.iter().map(u32::to_string).collect();
                let _ = writeln!(text, "{}", row.join(" "));
            }
            text.push_str("END\n\n");
        }
    }
}

impl Made {
    /// The first of the words that differ.
    pub fn different(&self) -> &[Word] {
        match self {
            Made::Wrong { compared, .. } => &compared.first,
            Made::Right(_) | Made::Vacuous(_) | Made::Failed(_) | Made::Undefined(_) | Made::NotRun(_) => &[],
        }
    }

    /// True if the device is at fault.
    pub fn is_failure(&self) -> bool {
        matches!(self, Made::Wrong { .. } | Made::Failed(_))
    }

    /// For people: a line for the device, and one for each word that is shown.
    pub fn text(&self, device: &str) -> String {
        match self {
            Made::Right(Compared { words, open, note, .. }) => {
                format!("{device}: right: {words} words compared, {open} left open{}\n", noted(note))
            }
            Made::Vacuous(Compared { open, note, .. }) => {
                format!("{device}: nothing compared: all of {open} words are left open{}\n", noted(note))
            }
            Made::Wrong { compared, copy } => {
                let Compared { words, open, different, first, step, note: _ } = compared;
                let mut text = format!(
                    "{device}: wrong: {different} of {words} words compared differ, {open} left open; {copy}\n"
                );
                for word in first {
                    let Word { expected, found, open, .. } = word;
                    let _ = write!(text, "  {}: {expected:#x} -> {found:#x}", word.place());
                    text.push_str(&if *open == 0 { "\n".into() } else { format!(" (left open: {open:#x})\n") });
                }
                for line in step.iter().flat_map(|step| step.lines()) {
                    let _ = writeln!(text, "  {line}");
                }
                text
            }
            Made::Failed(what) => format!("{device}: failed: {what}\n"),
            Made::Undefined(what) => {
                format!("{device}: not compared: undefined behaviour with this device's lane map: {what}\n")
            }
            Made::NotRun(why) => format!("{device}: not run: {why}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tangle_interpreter::faults::Planted;

    use super::*;
    use crate::device::Device;
    use crate::run::judge;
    use crate::script;
    use crate::source::Source;

    fn finding() -> Finding {
        let text = "#version 450
            #extension GL_KHR_shader_subgroup_basic : require
            layout(local_size_x = 8) in;
            layout(constant_id = 4) const uint step = 1u;
            layout(push_constant) uniform Push { uint more; };
            layout(set = 1, binding = 3) readonly buffer In { uint a[]; };
            layout(set = 0, binding = 3) buffer Out { uint b[8]; };
            layout(set = 0, binding = 4) uniform Fixed { uint c; };
            void main() { uint i = gl_LocalInvocationIndex; b[i] = a[i] + c + more + (subgroupElect() ? step : 0u); }";
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("shader.comp");
        std::fs::write(&file, text).expect("it is written");
        let Ok(Source::Module(words)) = Source::read(&file, None) else { panic!("it compiles") };
        let ramp = |count: u32| (0..count).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        let inputs = Inputs {
            buffers: BTreeMap::from([((1, 3), ramp(8)), ((0, 4), 5u32.to_le_bytes().to_vec())]),
            push: 7u32.to_le_bytes().to_vec(),
            specialization: BTreeMap::from([(4, 100)]),
            descriptors: BTreeMap::from([((2, 1), 3)]),
            subgroup_size: 8,
            ..Inputs::default()
        };
        let judged = judge(&words, &inputs).expect("it runs");
        let device = Device::Interpreter {
            name: "interpreter:elect_highest@8".into(),
            subgroup_size: 8,
            fault: Some(Planted::ElectHighest),
        };
        let ready = Ready::new(&words, &inputs, &judged.interface).expect("devices run it");
        let made = device.judge(&ready);
        assert_eq!(made.different().len(), 2, "{made:?}");
        Finding { source: "shader.comp".into(), device: device.name().into(), about: Value::Null, made, words, inputs }
    }

    #[test]
    fn what_is_saved_is_read() {
        let (finding, folder) = (finding(), tempfile::tempdir().expect("a folder"));
        assert_eq!(Finding::read(folder.path()).expect("nothing is there"), None);
        finding.save(folder.path()).expect("it is saved");
        assert_eq!(Finding::read(folder.path()).expect("it is read"), Some(finding));
        for (broken, says) in [("{}", "missing"), ("[1", "judge.json"), ("{\"format\": 9}", "missing")] {
            std::fs::write(folder.path().join(FILE), broken).expect("it is written");
            let error = format!("{:#}", Finding::read(folder.path()).expect_err(broken));
            assert!(error.contains(says), "{error}");
        }
    }

    /// The README names every file of the folder, and no other one; each holds what the finding has.
    #[test]
    fn the_readme_names_what_is_there() {
        let finding = Finding {
            about: serde_json::json!({
                "device_name": "llvmpipe", "driver_name": "llvmpipe", "driver_info": "Mesa 26.2.6", "driver_version": 7,
                "api_version": "1.4.335",
            }),
            ..finding()
        };
        let files = finding.files().expect("they are made");
        let contents = |name: &str| {
            let file = files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}"));
            file.contents.clone()
        };
        let readme = String::from_utf8(contents("README.md")).expect("it is text");
        let is_file =
            |word: &&str| [".spv", ".spvasm", ".amber", ".bin", ".json"].iter().any(|end| word.ends_with(end));
        let words = readme.split(|c: char| c.is_whitespace() || "`='|".contains(c)).filter(is_file);
        let named: BTreeSet<&str> = words.collect();
        let there: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).filter(|n| *n != "README.md").collect();
        assert_eq!(named, there, "{readme}");
        for name in ["with-lane-map.spv", "judge.json", "push.bin", "buffer-1.3.bin", "buffer-0.4.bin"] {
            assert!(there.contains(name), "{name}");
        }
        assert_eq!(from_bytes(&contents("module.spv")), finding.words);
        assert_eq!(contents("push.bin"), finding.inputs.push);
        assert_eq!(contents("buffer-1.3.bin"), finding.inputs.buffers[&(1, 3)]);
        let copy = from_bytes(&contents("with-lane-map.spv"));
        assert!(copy.len() > finding.words.len() && Module::parse(&copy).is_ok());
        assert_eq!(files.last().map(|file| file.name.as_str()), Some(FILE));
        for part in
            ["| Driver | llvmpipe Mesa 26.2.6 |", "| Driver version | 7 (0x7) |", "0x70 -> 0xc", "--push push.bin"]
        {
            assert!(readme.contains(part), "{part} is not in {readme}");
        }
    }

    /// Its `EXPECT`s hold where the module is executed right, and no other value would do.
    #[test]
    fn the_script_expects_what_is_right() {
        let finding = finding();
        let text = finding.amber().expect("it is decoded").expect("a script");
        let hold = |text: &str| -> Vec<bool> {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("module.amber");
            std::fs::write(&file, text).expect("it is written");
            let Ok(Source::Script(script)) = Source::read(&file, None) else { panic!("no script: {text}") };
            let found = script::run(&script, 8, Limits::default()).expect("it runs");
            found.iter().map(|expectation| expectation.result == script::Result::Holds).collect()
        };
        assert_eq!(hold(&text), [true, true], "{text}");
        assert_eq!(hold(&text.replace("EQ 112", "EQ 113")), [false, true], "{text}");
    }
}
