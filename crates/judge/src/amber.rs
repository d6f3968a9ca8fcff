//! Reads AmberScript: the part of it that runs compute pipelines on buffers.
//!
//! Source: google/amber, `docs/amber_script.md`. What is not understood is named with its line; nothing is skipped that could change a
//! result. Requests for features and extensions are: the interpreter says itself what it lacks.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use tangle_program::case::Stage;

use crate::contents::MAX_BYTES;
use crate::data::{ItemType, Layout};

/// A script that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// The line of the script, from 1.
    pub line: usize,
    /// What is wrong, or not supported.
    pub problem: String,
}

/// Language of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// GLSL, a shader of a stage.
    Glsl(Stage),
    /// SPIR-V assembly, as `spirv-as` reads it.
    Assembly,
}

/// A shader of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shader {
    /// The language of its text.
    pub language: Language,
    /// What it asks for with `TARGET_ENV`, as `spv1.3` or `vulkan1.1`, or what the script's device extensions give; empty for the default.
    pub target: String,
    /// The text between `SHADER` and `END`.
    pub source: String,
    /// Line of the script on which the text begins.
    pub line: usize,
}

/// A buffer of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Type of the items.
    pub ty: ItemType,
    /// The alignment of its items, by `LAYOUT`.
    pub layout: Layout,
    /// What it holds before the first command.
    pub bytes: Vec<u8>,
}

/// What a buffer is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A descriptor of the pipeline.
    Descriptor {
        /// `DescriptorSet`.
        set: u32,
        /// `Binding`.
        binding: u32,
        /// Element of an array of descriptors.
        element: u32,
    },
    /// The push constants, from offset 0.
    Push,
}

/// A compute pipeline: a shader, and what is bound to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// Name of the shader.
    pub shader: String,
    /// Name of the entry point, `main` if none is given.
    pub entry: Option<String>,
    /// Values of specialisation constants by number: their bits.
    pub specialization: BTreeMap<u32, u64>,
    /// The subgroup size that it requires, if any.
    pub subgroup_size: Option<u32>,
    /// Names of buffers, and what they are bound to.
    pub bindings: Vec<(String, Slot)>,
}

/// How a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `EQ`: the value itself, or one that is near enough ([`Tolerance`]).
    Equal,
    /// `NE`: another value.
    NotEqual,
    /// `LT`: less than the value.
    Less,
    /// `LE`: the value or less.
    LessOrEqual,
    /// `GT`: more than the value.
    Greater,
    /// `GE`: the value or more.
    GreaterOrEqual,
}

/// A distance that a value may have from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The largest distance, as a number or in percent.
    pub amount: f64,
    /// True if it is a percentage of the expected value.
    pub is_percent: bool,
}

/// A command of the script, executed in its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `RUN pipeline x y z`
    Run {
        /// Name of the pipeline.
        pipeline: String,
        /// How many workgroups, in each dimension.
        workgroups: [u32; 3],
    },
    /// `EXPECT buffer IDX offset … values`
    Values {
        /// Name of the buffer.
        buffer: String,
        /// Byte offset of the first value.
        offset: usize,
        /// How they have to be.
        comparison: Comparison,
        /// For `EQ` with a tolerance: one for all values, or one for each value of an item.
        tolerance: Vec<Tolerance>,
        /// The values as they are written.
        values: Vec<String>,
    },
    /// `EXPECT a EQ_BUFFER b`
    SameBuffer(String, String),
    /// `COPY a TO b`
    Copy(String, String),
    /// `REPEAT n … END`
    Repeat(u32, Vec<(usize, Command)>),
}

/// A script, as far as it is about compute shaders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Compute shaders by name.
    pub shaders: BTreeMap<String, Shader>,
    /// Buffers, by the names that commands use.
    pub buffers: BTreeMap<String, Buffer>,
    /// Compute pipelines, by the names that commands use.
    pub pipelines: BTreeMap<String, Pipeline>,
    /// Commands in their order, each with its line.
    pub commands: Vec<(usize, Command)>,
}

/// More items, or repetitions, than any script has.
const MAX_ITEMS: u64 = 1 << 24;

impl Script {
    /// Reads a script. Files that it names are in a folder.
    ///
    /// # Errors
    /// The first line that is wrong, or that asks for what is not supported here.
    pub fn parse(text: &str, folder: &Path) -> Result<Script, ScriptError> {
        let mut reader = Reader { rest: text, line: 1, folder };
        let mut script = Script::default();
        if text.lines().next().is_none_or(|line| line.trim() != "#!amber") {
            return Err(reader.error("no AmberScript: the first line is not '#!amber'"));
        }
        let mut takes_1_4 = false;
        while let Some(word) = reader.next() {
            let line = reader.line;
            match word {
                "SHADER" => reader.shader(&mut script)?,
                "BUFFER" => reader.buffer(&mut script)?,
                "PIPELINE" => reader.pipeline(&mut script)?,
                "SET" => {
                    reader.expect("ENGINE_DATA")?;
                    reader.word("a variable of the engine")?;
                    reader.word("its value")?;
                }
                "DEVICE_FEATURE" | "DEVICE_EXTENSION" | "INSTANCE_EXTENSION" | "DEVICE_PROPERTY" => {
                    takes_1_4 |= reader.word("a name")? == "VK_KHR_spirv_1_4";
                }
                _ => {
                    let command = reader.command(word)?;
                    script.commands.push((line, command));
                }
            }
        }
        // VK-GL-CTS assembles for what a script's device has to take.
        if takes_1_4 {
            let unnamed = script.shaders.values_mut().filter(|shader| shader.target.is_empty());
            unnamed.for_each(|shader| shader.target = "spv1.4".into());
        }
        script.check_names()?;
        Ok(script)
    }

    fn check_names(&self) -> Result<(), ScriptError> {
        fn check(script: &Script, commands: &[(usize, Command)]) -> Result<(), ScriptError> {
            for (line, command) in commands {
                let unknown = |kind: &str, name: &String| ScriptError {
                    line: *line,
                    problem: format!("there is no {kind} '{name}'"),
                };
                let buffer = |name: &String| script.buffers.get(name).ok_or_else(|| unknown("buffer", name));
                match command {
                    Command::Run { pipeline, .. } => {
                        let found = script.pipelines.get(pipeline).ok_or_else(|| unknown("pipeline", pipeline))?;
                        script.shaders.get(&found.shader).ok_or_else(|| unknown("shader", &found.shader))?;
                        found.bindings.iter().try_for_each(|(name, _)| buffer(name).map(drop))?;
                    }
                    Command::Values { buffer: name, .. } => drop(buffer(name)?),
                    Command::SameBuffer(a, b) | Command::Copy(a, b) => {
                        buffer(a)?;
                        buffer(b)?;
                    }
                    Command::Repeat(_, commands) => check(script, commands)?,
                }
            }
            Ok(())
        }
        check(self, &self.commands)
    }
}

/// A position in the text. Words are separated by white space; `#` begins a comment, a backslash at the end of a line goes on with it.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
    folder: &'a Path,
}

impl<'a> Reader<'a> {
    fn error(&self, problem: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, problem: problem.into() }
    }

    /// Passes white space and comments.
    fn skip(&mut self) {
        loop {
            let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\\']);
            if let Some(rest) = trimmed.strip_prefix('\n') {
                self.line += 1;
                self.rest = rest;
            } else if trimmed.starts_with('#') {
                self.rest = &trimmed[trimmed.find('\n').unwrap_or(trimmed.len())..];
            } else {
                self.rest = trimmed;
                return;
            }
        }
    }

    fn peek(&mut self) -> Option<&'a str> {
        self.skip();
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        (end > 0).then(|| &self.rest[..end])
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = &self.rest[word.len()..];
        Some(word)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ScriptError> {
        self.next().ok_or_else(|| self.error(format!("{what} is missing")))
    }

    fn expect(&mut self, keyword: &str) -> Result<(), ScriptError> {
        let word = self.word(keyword)?;
        if word == keyword { Ok(()) } else { Err(self.error(format!("'{word}' stands where {keyword} has to"))) }
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, keyword: &str) -> bool {
        let is_next = self.peek() == Some(keyword);
        if is_next {
            self.next();
        }
        is_next
    }

    fn number(&mut self, what: &str) -> Result<u64, ScriptError> {
        let word = self.word(what)?;
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        parsed.ok_or_else(|| self.error(format!("'{word}' is no number for {what}")))
    }

    fn small(&mut self, what: &str) -> Result<u32, ScriptError> {
        let number = self.number(what)?;
        u32::try_from(number).map_err(|_| self.error(format!("{number} is too large for {what}")))
    }

    fn unsupported(&self, what: &str) -> ScriptError {
        self.error(format!("not supported: {what}"))
    }

    /// The lines up to one that says `END`.
    fn body(&mut self) -> Result<(String, usize), ScriptError> {
        let (_, text) = self.rest.split_once('\n').ok_or_else(|| self.error("the text of the shader is missing"))?;
        let first = self.line + 1;
        let mut length = 0;
        for (count, line) in text.split_inclusive('\n').enumerate() {
            if line.trim() == "END" {
                self.line = first + count;
                self.rest = text[length + line.trim_end().len()..].trim_start_matches(['\r']);
                return Ok((text[..length].to_owned(), first));
            }
            length += line.len();
        }
        Err(self.error("the shader has no END"))
    }

    fn shader(&mut self, script: &mut Script) -> Result<(), ScriptError> {
        let stage = self.word("the stage")?;
        let name = self.word("the shader's name")?.to_owned();
        if stage != "compute" {
            return Err(self.unsupported(&format!("a {stage} shader")));
        }
        let language = match self.word("the shader's format")? {
            "GLSL" => Language::Glsl(Stage::Compute),
            "SPIRV-ASM" => Language::Assembly,
            other => return Err(self.unsupported(&format!("a shader in {other}"))),
        };
        let target =
            if self.take_on_this_line("TARGET_ENV") { self.word("the target")?.to_owned() } else { String::new() };
        if self.take_on_this_line("VIRTUAL_FILE") || self.take_on_this_line("FILE") {
            return Err(self.unsupported("a shader in another file"));
        }
        let (source, line) = self.body()?;
        script.shaders.insert(name, Shader { language, target, source, line });
        Ok(())
    }

    /// As [`Reader::take`], but not across the end of the line.
    fn take_on_this_line(&mut self, keyword: &str) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let is_next = rest.strip_prefix(keyword).is_some_and(|after| after.starts_with(char::is_whitespace));
        if is_next {
            self.rest = &rest[keyword.len()..];
        }
        is_next
    }

    fn buffer(&mut self, script: &mut Script) -> Result<(), ScriptError> {
        let name = self.word("the buffer's name")?.to_owned();
        let keyword = self.word("DATA_TYPE")?;
        if keyword != "DATA_TYPE" {
            return Err(self.unsupported(&format!("a buffer with {keyword}")));
        }
        let word = self.word("the type")?;
        let ty = ItemType::parse(word).ok_or_else(|| self.unsupported(&format!("buffers of {word}")))?;
        let mut layout = Layout::Std430;
        if self.take("STD140") {
            layout = Layout::Std140;
        } else {
            self.take("STD430");
        }
        let mut items = None;
        if self.take("SIZE") {
            items = Some(self.number("SIZE")?);
        } else if self.take("WIDTH") {
            let width = self.number("WIDTH")?;
            self.expect("HEIGHT")?;
            items = width.checked_mul(self.number("HEIGHT")?);
        }
        if items.is_some_and(|count| count > MAX_ITEMS) {
            return Err(self.error("the buffer is too large"));
        }
        let bytes = if self.take("FILE") {
            self.file(ty, layout, items)?
        } else {
            let values = self.initial_values(ty, items)?;
            self.encode(ty, layout, items, &values)?
        };
        script.buffers.insert(name, Buffer { ty, layout, bytes });
        Ok(())
    }

    /// `FILE TEXT name`, `FILE BINARY name`: numbers, or bytes, of a file below the script's folder.
    fn file(&mut self, ty: ItemType, layout: Layout, items: Option<u64>) -> Result<Vec<u8>, ScriptError> {
        let kind = self.word("TEXT or BINARY")?;
        let name = Path::new(self.word("the file")?);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(self.error(format!("the file {} is not below the script's folder", name.display())));
        }
        let contents = tangle_files::read(&self.folder.join(name), MAX_BYTES);
        let contents = contents.map_err(|error| self.error(format!("cannot read {}: {error}", name.display())))?;
        match kind {
            "TEXT" => {
                let text = String::from_utf8(contents).map_err(|_| self.error("the file is no text"))?;
                let lines = text.lines().filter_map(|line| line.split('#').next());
                let values: Vec<String> = lines.flat_map(str::split_whitespace).map(str::to_owned).collect();
                self.encode(ty, layout, items, &values)
            }
            "BINARY" => {
                let size = items.map_or(contents.len(), |items| items as usize * ty.stride(layout));
                let mut bytes = contents;
                if bytes.len() > size {
                    return Err(self.error(format!("the file has {} bytes, the buffer {size}", bytes.len())));
                }
                bytes.resize(size, 0);
                Ok(bytes)
            }
            other => Err(self.unsupported(&format!("a file of kind {other}"))),
        }
    }

    fn initial_values(&mut self, ty: ItemType, items: Option<u64>) -> Result<Vec<String>, ScriptError> {
        let count = items.unwrap_or(0) as usize * ty.values();
        match self.word("DATA, FILL or SERIES_FROM")? {
            "FILL" => Ok(vec![self.word("the value")?.to_owned(); count]),
            "SERIES_FROM" => {
                if ty.values() != 1 {
                    return Err(self.unsupported("a series of vectors"));
                }
                let start = self.word("the first value")?.to_owned();
                self.expect("INC_BY")?;
                let step = self.word("the step")?.to_owned();
                self.series(&start, &step, count)
            }
            "DATA" => {
                let mut values = Vec::new();
                while !self.take("END") {
                    values.push(self.word("END")?.to_owned());
                }
                Ok(values)
            }
            other => Err(self.unsupported(&format!("a buffer with {other}"))),
        }
    }

    fn series(&self, start: &str, step: &str, count: usize) -> Result<Vec<String>, ScriptError> {
        let bad = || self.error(format!("SERIES_FROM {start} INC_BY {step} is no series"));
        if let (Ok(start), Ok(step)) = (start.parse::<i64>(), step.parse::<i64>()) {
            return Ok((0..count as i64).map(|i| start.wrapping_add(i.wrapping_mul(step)).to_string()).collect());
        }
        let (start, step) = (start.parse::<f64>().map_err(|_| bad())?, step.parse::<f64>().map_err(|_| bad())?);
        // The values are made by addition, which rounds.
        let following = |value: &f64| Some(value + step);
        Ok(std::iter::successors(Some(start), following).take(count).map(|value| value.to_string()).collect())
    }

    fn encode(
        &self,
        ty: ItemType,
        layout: Layout,
        items: Option<u64>,
        values: &[String],
    ) -> Result<Vec<u8>, ScriptError> {
        let given = values.len().div_ceil(ty.values());
        let items = items.map_or(given, |items| items as usize).max(given);
        let mut bytes = vec![0; items * ty.stride(layout)];
        for (item, values) in values.chunks(ty.values()).enumerate() {
            for (offset, text) in ty.offsets(layout).zip(values) {
                let encoded = ty
                    .scalar
                    .encode(text)
                    .ok_or_else(|| self.error(format!("'{text}' is no value of the buffer's type")))?;
                let at = item * ty.stride(layout) + offset;
                bytes[at..at + encoded.len()].copy_from_slice(&encoded);
            }
        }
        Ok(bytes)
    }

    fn pipeline(&mut self, script: &mut Script) -> Result<(), ScriptError> {
        let kind = self.word("the kind of the pipeline")?;
        if kind != "compute" {
            return Err(self.unsupported(&format!("a {kind} pipeline")));
        }
        let name = self.word("the pipeline's name")?.to_owned();
        let mut pipeline = Pipeline::default();
        loop {
            match self.word("END")? {
                "END" => break,
                "ATTACH" => self.attach(&mut pipeline)?,
                "SUBGROUP" => self.subgroup(&mut pipeline)?,
                "BIND" => self.bind(&mut pipeline)?,
                "FRAMEBUFFER_SIZE" => {
                    self.number("a width")?;
                    self.number("a height")?;
                }
                other => return Err(self.unsupported(&format!("{other} in a pipeline"))),
            }
        }
        script.pipelines.insert(name, pipeline);
        Ok(())
    }

    fn attach(&mut self, pipeline: &mut Pipeline) -> Result<(), ScriptError> {
        pipeline.shader = self.word("the shader")?.to_owned();
        loop {
            if self.take("TYPE") {
                self.expect("compute")?;
            } else if self.take("ENTRY_POINT") {
                pipeline.entry = Some(self.word("the entry point")?.to_owned());
            } else if self.take("SPECIALIZE") {
                let id = self.small("the constant's number")?;
                self.expect("AS")?;
                let word = self.word("the constant's type")?;
                let ty = ItemType::parse(word).filter(|ty| ty.values() == 1);
                let ty = ty.ok_or_else(|| self.unsupported(&format!("a constant of type {word}")))?;
                let text = self.word("the constant's value")?;
                let bytes = ty
                    .scalar
                    .encode(text)
                    .ok_or_else(|| self.error(format!("'{text}' is no value of the constant")))?;
                let bits = bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
                pipeline.specialization.insert(id, bits);
            } else {
                return Ok(());
            }
        }
    }

    fn subgroup(&mut self, pipeline: &mut Pipeline) -> Result<(), ScriptError> {
        self.word("the shader")?;
        loop {
            match self.word("END")? {
                "END" => return Ok(()),
                // Subgroups are full here wherever the workgroup's size allows it, and do not vary.
                "FULLY_POPULATED" | "VARYING_SIZE" => {
                    self.word("on or off")?;
                }
                "REQUIRED_SIZE" => pipeline.subgroup_size = Some(self.small("the subgroup size")?),
                other => return Err(self.unsupported(&format!("{other} of subgroups"))),
            }
        }
    }

    fn bind(&mut self, pipeline: &mut Pipeline) -> Result<(), ScriptError> {
        let what = self.word("BUFFER")?;
        let is_array = match what {
            "BUFFER" => false,
            "BUFFER_ARRAY" => true,
            other => return Err(self.unsupported(&format!("BIND {other}"))),
        };
        let mut names = vec![self.word("the buffer")?.to_owned()];
        while is_array && self.peek().is_some_and(|word| word != "AS" && word != "DESCRIPTOR_SET") {
            names.extend(self.next().map(str::to_owned));
        }
        if self.take("AS") {
            match self.word("the buffer's use")? {
                "push_constant" => {
                    pipeline.bindings.extend(names.into_iter().map(|name| (name, Slot::Push)));
                    return Ok(());
                }
                "storage" | "uniform" => {}
                other => return Err(self.unsupported(&format!("a buffer as {other}"))),
            }
        }
        self.expect("DESCRIPTOR_SET")?;
        let set = self.small("the set")?;
        self.expect("BINDING")?;
        let binding = self.small("the binding")?;
        if self.peek().is_some_and(|word| word.starts_with("DESCRIPTOR_")) {
            return Err(self.unsupported("a part of a buffer in a descriptor"));
        }
        let slots =
            names.into_iter().zip(0..).map(|(name, element)| (name, Slot::Descriptor { set, binding, element }));
        pipeline.bindings.extend(slots);
        Ok(())
    }

    fn command(&mut self, word: &str) -> Result<Command, ScriptError> {
        match word {
            "RUN" => {
                self.take("TIMED_EXECUTION");
                let pipeline = self.word("the pipeline")?.to_owned();
                if self.peek().is_some_and(|word| !word.starts_with(|c: char| c.is_ascii_digit())) {
                    return Err(self.unsupported("a run that draws"));
                }
                let workgroups = [self.small("x")?, self.small("y")?, self.small("z")?];
                Ok(Command::Run { pipeline, workgroups })
            }
            "EXPECT" => self.expectation(),
            "COPY" => {
                let from = self.word("the buffer")?.to_owned();
                self.expect("TO")?;
                Ok(Command::Copy(from, self.word("the other buffer")?.to_owned()))
            }
            "REPEAT" => {
                let count = self.number("the count")?;
                if count > MAX_ITEMS {
                    return Err(self.error("too many repetitions"));
                }
                let mut commands = Vec::new();
                while !self.take("END") {
                    let word = self.word("END")?;
                    if word == "REPEAT" {
                        return Err(self.unsupported("REPEAT in REPEAT"));
                    }
                    let line = self.line;
                    commands.push((line, self.command(word)?));
                }
                Ok(Command::Repeat(count as u32, commands))
            }
            other => Err(self.unsupported(other)),
        }
    }

    fn expectation(&mut self) -> Result<Command, ScriptError> {
        let buffer = self.word("the buffer")?.to_owned();
        match self.word("IDX or EQ_BUFFER")? {
            "EQ_BUFFER" => return Ok(Command::SameBuffer(buffer, self.word("the other buffer")?.to_owned())),
            "IDX" => {}
            other => return Err(self.unsupported(&format!("EXPECT … {other}"))),
        }
        let offset = self.small("IDX")? as usize;
        let mut tolerance = Vec::new();
        if self.take("TOLERANCE") {
            while self.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
                tolerance.extend(self.next().and_then(parse_tolerance));
            }
        }
        let comparison = match self.word("EQ")? {
            "EQ" => Comparison::Equal,
            "NE" => Comparison::NotEqual,
            "LT" => Comparison::Less,
            "LE" => Comparison::LessOrEqual,
            "GT" => Comparison::Greater,
            "GE" => Comparison::GreaterOrEqual,
            other => return Err(self.unsupported(&format!("a comparison of pixels ({other})"))),
        };
        let mut values = Vec::new();
        let is_value =
            |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) || is_special(word);
        while self.peek().is_some_and(is_value) {
            values.extend(self.next().map(str::to_owned));
        }
        if values.is_empty() {
            return Err(self.error("there is no expected value"));
        }
        Ok(Command::Values { buffer, offset, comparison, tolerance, values })
    }
}

fn is_special(word: &str) -> bool {
    ["nan", "inf", "infinity"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn parse_tolerance(text: &str) -> Option<Tolerance> {
    let (digits, is_percent) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
    digits.parse().ok().map(|amount| Tolerance { amount, is_percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!amber
# A comment.
DEVICE_FEATURE SubgroupSizeControl.subgroupSizeControl
SHADER compute one GLSL TARGET_ENV spv1.3
#version 450
void main() { }
END
BUFFER in DATA_TYPE uint32 SIZE 3 SERIES_FROM 5 INC_BY 2
BUFFER out DATA_TYPE vec2<float> DATA
 1.0 2.0
 3.0 4.0
END
PIPELINE compute p
  ATTACH one SPECIALIZE 3 AS uint32 7 \\
      SPECIALIZE 4 AS float 1.5
  SUBGROUP one
    FULLY_POPULATED on
    REQUIRED_SIZE 16
  END
  BIND BUFFER in AS storage DESCRIPTOR_SET 0 BINDING 1
  BIND BUFFER out AS push_constant
END
RUN p 1 2 3
EXPECT in IDX 4 EQ 7 9
EXPECT out IDX 0 TOLERANCE 0.5 1% EQ 1.25 2
EXPECT in EQ_BUFFER out
REPEAT 2
  RUN p 1 1 1
END
";

    #[test]
    fn a_device_extension_gives_the_target() {
        let script = SCRIPT
            .replace(" TARGET_ENV spv1.3", "")
            .replace("DEVICE_FEATURE", "DEVICE_EXTENSION VK_KHR_spirv_1_4\nDEVICE_FEATURE");
        for (script, target) in [(script.as_str(), "spv1.4"), (SCRIPT, "spv1.3")] {
            assert_eq!(Script::parse(script, Path::new(".")).unwrap().shaders["one"].target, target);
        }
    }

    #[test]
    fn a_script_is_read() {
        let script = Script::parse(SCRIPT, Path::new(".")).unwrap();
        let shader = &script.shaders["one"];
        assert_eq!((shader.target.as_str(), shader.line), ("spv1.3", 5));
        assert_eq!(shader.source, "#version 450\nvoid main() { }\n");
        assert_eq!(script.buffers["in"].bytes, [5, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(script.buffers["out"].bytes.len(), 16);
        let pipeline = &script.pipelines["p"];
        assert_eq!(pipeline.specialization, BTreeMap::from([(3, 7), (4, 0x3fc0_0000)]));
        assert_eq!(pipeline.subgroup_size, Some(16));
        let descriptor = Slot::Descriptor { set: 0, binding: 1, element: 0 };
        assert_eq!(pipeline.bindings, [("in".into(), descriptor), ("out".into(), Slot::Push)]);
        let lines: Vec<usize> = script.commands.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [23, 24, 25, 26, 27]);
        assert_eq!(script.commands[0].1, Command::Run { pipeline: "p".into(), workgroups: [1, 2, 3] });
        let Command::Values { tolerance, values, .. } = &script.commands[2].1 else { panic!("{script:?}") };
        assert_eq!((tolerance.len(), tolerance[1].is_percent, values.len()), (2, true, 2));
    }

    #[test]
    fn buffers_of_files_and_one_buffer_in_two_descriptors() {
        let folder = std::env::temp_dir().join(format!("tangle-amber-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("numbers.txt"), "# three\n1 0x10 # and\n2.0").unwrap();
        std::fs::write(folder.join("bytes.bin"), [1, 2, 3]).unwrap();
        let with = |file: &str| {
            let text = SCRIPT.replacen("SERIES_FROM 5 INC_BY 2", file, 1);
            let text =
                text.replacen("BUFFER out AS push_constant", "BUFFER in AS storage DESCRIPTOR_SET 0 BINDING 2", 1);
            Script::parse(&text, &folder).unwrap()
        };
        let script = with("FILE TEXT numbers.txt");
        assert_eq!(script.buffers["in"].bytes, [1, 0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(with("FILE BINARY bytes.bin").buffers["in"].bytes, [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let names: Vec<&str> = script.pipelines["p"].bindings.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["in", "in"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_wrong_or_not_supported_is_named_with_its_line() {
        for (change, into, says) in [
            ("#!amber", "amber", "line 1: no AmberScript"),
            ("SHADER compute", "SHADER fragment", "line 4: not supported: a fragment shader"),
            (" GLSL ", " HLSL ", "line 4: not supported: a shader in HLSL"),
            ("DATA_TYPE uint32", "FORMAT R8_UNORM", "line 8: not supported: a buffer with FORMAT"),
            ("SIZE 3", "SIZE 99999999999", "line 8: the buffer is too large"),
            ("SIZE 3", "SIZE x", "line 8: 'x' is no number for SIZE"),
            ("3.0 4.0", "3.0 four", "line 12: 'four' is no value of the buffer's type"),
            ("PIPELINE compute", "PIPELINE graphics", "line 13: not supported: a graphics pipeline"),
            ("AS storage", "AS storage_image", "not supported: a buffer as storage_image"),
            ("SIZE 3 SERIES_FROM 5 INC_BY 2", "SIZE 3 FILE TEXT ../x", "line 8: the file ../x is not below"),
            ("SIZE 3 SERIES_FROM 5 INC_BY 2", "SIZE 3 FILE TEXT none.txt", "line 8: cannot read"),
            ("SIZE 3 SERIES_FROM 5 INC_BY 2", "SIZE 3 FILE PNG Cargo.toml", "not supported: a file of kind PNG"),
            ("RUN p 1 2 3", "RUN q 1 2 3", "line 23: there is no pipeline 'q'"),
            ("RUN p 1 2 3", "RUN p DRAW_RECT", "not supported: a run that draws"),
            ("EXPECT in IDX 4 EQ 7 9", "EXPECT in IDX 4 EQ", "there is no expected value"),
            ("EXPECT in EQ_BUFFER out", "EXPECT in EQ_BUFFER none", "line 26: there is no buffer 'none'"),
            ("REPEAT 2", "CLEAR p", "line 27: not supported: CLEAR"),
            ("  RUN p 1 1 1\nEND\n", "  RUN p 1 1 1\n", "END is missing"),
        ] {
            assert!(SCRIPT.contains(change), "{change}");
            let error = Script::parse(&SCRIPT.replacen(change, into, 1), Path::new(".")).expect_err(into).to_string();
            assert!(error.contains(says), "{change} → {into}: {error}");
        }
    }
}
