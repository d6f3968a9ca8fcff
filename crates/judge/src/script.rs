//! Runs an AmberScript: every `RUN` by the interpreter, every `EXPECT` against what it determines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tangle_interpreter::{
    Buffer as Bound, Dispatch, Draw, End, Error, LaneMap, Limits, Module, Pipeline, PipelineOptions,
};

use crate::amber::{Buffer, Command, Comparison, Script, Slot, Tolerance};
use crate::run::Inputs;
use crate::source::{SourceError, module};

/// What became of one `EXPECT`.
#[derive(Clone, Debug, PartialEq)]
pub enum Result {
    /// Everything that it names is determined, and is as it says.
    Holds,
    /// Something that is determined is not as it says.
    Fails(String),
    /// Something is not determined, for this reason; the rest is as it says.
    Open(String),
}

/// One `EXPECT`, with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Line in the script.
    pub line: usize,
    /// What became of it.
    pub result: Result,
}

/// Why a script was not run to its end. None of these is a statement about a driver.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A shader has no valid module.
    #[error(transparent)]
    Shader(#[from] SourceError),
    /// The interpreter cannot run it.
    #[error("line {line}: {error}")]
    Interpreter {
        /// Line of the `RUN`.
        line: usize,
        /// Why it is not executed.
        error: Error,
    },
    /// The program has undefined behaviour.
    #[error("line {line}: undefined behaviour: {what}")]
    Undefined {
        /// Line of the `RUN`.
        line: usize,
        /// The rule, the instruction and the invocations, in words.
        what: String,
    },
    /// A run reads what an earlier one left open.
    #[error("line {line}: buffer '{buffer}' is not determined before this run: {reason}")]
    Open {
        /// Line of the `RUN`.
        line: usize,
        /// The name of the buffer.
        buffer: String,
        /// Why it is open.
        reason: String,
    },
}

/// A buffer while the script runs.
struct State<'a> {
    declared: &'a Buffer,
    bytes: Vec<u8>,
    /// Why a byte is not determined, by offset.
    open: BTreeMap<usize, String>,
}

/// A script on its way.
struct Machine<'a> {
    script: &'a Script,
    subgroup_size: u32,
    limits: Limits,
    modules: BTreeMap<&'a str, Module>,
    buffers: BTreeMap<&'a str, State<'a>>,
    expectations: Vec<Expectation>,
}

/// Runs a script with subgroups of this size, unless a pipeline requires another.
///
/// # Errors
/// If it cannot be run to its end.
pub fn run(script: &Script, subgroup_size: u32, limits: Limits) -> std::result::Result<Vec<Expectation>, RunError> {
    let state = |buffer| State { declared: buffer, bytes: buffer.bytes.clone(), open: BTreeMap::new() };
    let buffers = script.buffers.iter().map(|(name, buffer)| (name.as_str(), state(buffer))).collect();
    let mut machine =
        Machine { script, subgroup_size, limits, modules: BTreeMap::new(), buffers, expectations: Vec::new() };
    machine.all(&script.commands)?;
    Ok(machine.expectations)
}

/// Why a script is no single dispatch.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// Its shader has no valid module.
    #[error(transparent)]
    Shader(#[from] SourceError),
    /// The module cannot be decoded.
    #[error(transparent)]
    Interpreter(#[from] Error),
    /// It asks for more than one dispatch has.
    #[error("the script has no single RUN that can be made elsewhere: {0}")]
    NotOne(&'static str),
}

/// The module of a script with a single `RUN`, and what that runs it with, for devices and comparisons. `EXPECT`s say nothing there: what is determined is
/// compared, word by word.
///
/// # Errors
/// If there is no such `RUN`, or it cannot be said as [`Inputs`].
pub fn single(script: &Script) -> std::result::Result<(Vec<u32>, Inputs), SingleError> {
    let mut contents: BTreeMap<&str, &[u8]> =
        script.buffers.iter().map(|(name, buffer)| (name.as_str(), buffer.bytes.as_slice())).collect();
    let mut found = None;
    for (_, command) in &script.commands {
        match command {
            Command::Run { .. } if found.is_some() => return Err(SingleError::NotOne("there are several")),
            Command::Run { pipeline, workgroups } => found = Some((pipeline, *workgroups, contents.clone())),
            Command::Copy(from, to) => {
                let copied = contents.get(from.as_str()).copied().unwrap_or_default();
                contents.insert(to, copied);
            }
            Command::Repeat(..) => return Err(SingleError::NotOne("it has a REPEAT")),
            Command::Values { .. } | Command::SameBuffer(..) => {}
        }
    }
    let Some((name, workgroups, contents)) = found else { return Err(SingleError::NotOne("there is none")) };
    let pipeline = &script.pipelines[name];
    if pipeline.subgroup_size.is_some() {
        return Err(SingleError::NotOne("its pipeline requires a subgroup size"));
    }
    let words = module(&format!("shader '{}'", pipeline.shader), &script.shaders[&pipeline.shader])?;
    let mut inputs = Inputs {
        entry: pipeline.entry.clone(),
        specialization: pipeline.specialization.clone(),
        workgroups,
        ..Inputs::default()
    };
    let mut bound = BTreeSet::new();
    for (name, slot) in &pipeline.bindings {
        let bytes = contents.get(name.as_str()).copied().unwrap_or_default().to_vec();
        match *slot {
            Slot::Push => inputs.push = bytes,
            Slot::Descriptor { .. } if !bound.insert(name) => {
                return Err(SingleError::NotOne("a buffer is bound in several places"));
            }
            Slot::Descriptor { set, binding, element } => {
                inputs.elements.insert((set, binding, element), bytes);
            }
        }
    }
    let interface = Pipeline::new(&Module::parse(&words)?, &inputs.pipeline_options())?.interface().clone();
    // What the module does not use has no place, and what is no array has no elements.
    for ((set, binding, element), bytes) in std::mem::take(&mut inputs.elements) {
        match interface.bindings.iter().find(|known| (known.set, known.binding) == (set, binding)) {
            Some(known) if known.is_array => drop(inputs.elements.insert((set, binding, element), bytes)),
            Some(_) => drop(inputs.buffers.insert((set, binding), bytes)),
            None => {}
        }
    }
    Ok((words, inputs))
}

impl<'a> Machine<'a> {
    fn all(&mut self, commands: &'a [(usize, Command)]) -> std::result::Result<(), RunError> {
        for (line, command) in commands {
            match command {
                Command::Run { pipeline, workgroups } => self.dispatch(*line, pipeline, *workgroups)?,
                Command::Copy(from, to) => {
                    let (bytes, open) =
                        (self.buffers[from.as_str()].bytes.clone(), self.buffers[from.as_str()].open.clone());
                    self.buffers.entry(to).and_modify(|state| (state.bytes, state.open) = (bytes, open));
                }
                Command::Repeat(count, commands) => (0..*count).try_for_each(|_| self.all(commands))?,
                Command::SameBuffer(a, b) => {
                    let result = same(&self.buffers[a.as_str()], &self.buffers[b.as_str()]);
                    self.expectations.push(Expectation { line: *line, result });
                }
                Command::Values { buffer, offset, comparison, tolerance, values } => {
                    let result = check(&self.buffers[buffer.as_str()], *offset, *comparison, tolerance, values);
                    self.expectations.push(Expectation { line: *line, result });
                }
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, line: usize, name: &str, workgroups: [u32; 3]) -> std::result::Result<(), RunError> {
        let failed = |error| RunError::Interpreter { line, error };
        let pipeline = &self.script.pipelines[name];
        let shader = pipeline.shader.as_str();
        if !self.modules.contains_key(shader) {
            let words = module(&format!("shader '{shader}'"), &self.script.shaders[shader])?;
            self.modules.insert(shader, Module::parse(&words).map_err(failed)?);
        }
        let mut descriptors = BTreeMap::new();
        for (_, slot) in &pipeline.bindings {
            if let Slot::Descriptor { set, binding, .. } = *slot {
                *descriptors.entry((set, binding)).or_default() += 1;
            }
        }
        let options = PipelineOptions {
            descriptors,
            entry: pipeline.entry.clone(),
            specialization: pipeline.specialization.clone(),
            ..PipelineOptions::default()
        };
        let ready = Pipeline::new(&self.modules[shader], &options).map_err(failed)?;
        let size = pipeline.subgroup_size.unwrap_or(self.subgroup_size);
        let mut dispatch = Dispatch {
            workgroups,
            lane_map: LaneMap::of(ready.interface(), size),
            draw: Draw::default(),
            buffers: Vec::new(),
            push: Vec::new(),
            limits: self.limits,
        };
        let mut bound = Vec::new();
        for (name, slot) in &pipeline.bindings {
            let state = &self.buffers[name.as_str()];
            if let Some(reason) = state.open.values().next() {
                return Err(RunError::Open { line, buffer: name.clone(), reason: reason.clone() });
            }
            match *slot {
                Slot::Push => dispatch.push = state.bytes.clone(),
                Slot::Descriptor { set, binding, element } => {
                    let same_as = bound.iter().position(|known| known == name);
                    bound.push(name.as_str());
                    dispatch.buffers.push(Bound {
                        set,
                        binding,
                        element,
                        bytes: state.bytes.clone(),
                        same_as,
                        ..Bound::default()
                    });
                }
            }
        }
        let outcome = ready.run(&dispatch).map_err(failed)?;
        if let End::Undefined(what) = &outcome.end {
            return Err(RunError::Undefined { line, what: what.to_string() });
        }
        for (name, after) in bound.into_iter().zip(&outcome.buffers) {
            let Some(state) = self.buffers.get_mut(name) else { continue };
            let open = after.states.iter().enumerate().filter(|(_, reason)| **reason != 0);
            state.open = open.map(|(at, &reason)| (at, outcome.reasons[reason as usize - 1].to_string())).collect();
            state.bytes.clone_from(&after.bytes);
        }
        Ok(())
    }
}

fn same(a: &State<'_>, b: &State<'_>) -> Result {
    if a.bytes.len() != b.bytes.len() {
        return Result::Fails(format!("{} bytes and {}", a.bytes.len(), b.bytes.len()));
    }
    let is_open = |at: &usize| a.open.contains_key(at) || b.open.contains_key(at);
    if let Some(at) = (0..a.bytes.len()).find(|at| !is_open(at) && a.bytes[*at] != b.bytes[*at]) {
        let (one, other) = (number_at(a, at), number_at(b, at));
        return Result::Fails(format!("at byte {at}: {one} and {other}"));
    }
    match a.open.iter().chain(&b.open).next() {
        Some((at, reason)) => Result::Open(format!("byte {at}: {reason}")),
        None => Result::Holds,
    }
}

/// The value that a byte is in, for people.
fn number_at(state: &State<'_>, at: usize) -> f64 {
    let size = state.declared.ty.scalar.size();
    state.bytes.get(at / size * size..).map_or(f64::NAN, |bytes| state.declared.ty.scalar.number(bytes))
}

fn check(
    state: &State<'_>,
    offset: usize,
    comparison: Comparison,
    tolerance: &[Tolerance],
    values: &[String],
) -> Result {
    let (ty, layout) = (state.declared.ty, state.declared.layout);
    let (stride, size) = (ty.stride(layout), ty.scalar.size());
    let mut open = None;
    for (index, text) in values.iter().enumerate() {
        let within = ty.offsets(layout).nth(index % ty.values()).unwrap_or(0);
        let at = offset + index / ty.values() * stride + within;
        let Some(actual) = state.bytes.get(at..at + size) else {
            return Result::Fails(format!("byte {at} is past the end of the buffer"));
        };
        if let Some((byte, reason)) = state.open.range(at..at + size).next() {
            open.get_or_insert_with(|| format!("byte {byte}: {reason}"));
            continue;
        }
        let Some(expected) = ty.scalar.encode(text) else {
            return Result::Fails(format!("'{text}' is no value of the buffer's type"));
        };
        let allowed = tolerance.get(index % tolerance.len().max(1)).copied();
        let (found, wanted) = (ty.scalar.number(actual), ty.scalar.number(&expected));
        let holds = match (comparison, allowed) {
            (Comparison::Equal, Some(allowed)) => is_near(found, wanted, allowed),
            (Comparison::Equal, None) => ty.scalar.is_equal(actual, &expected),
            (Comparison::NotEqual, _) => !ty.scalar.is_equal(actual, &expected),
            (Comparison::Less, _) => found < wanted,
            (Comparison::LessOrEqual, _) => found <= wanted,
            (Comparison::Greater, _) => found > wanted,
            (Comparison::GreaterOrEqual, _) => found >= wanted,
        };
        if !holds {
            return Result::Fails(format!("at byte {at}: {found}, and {} {wanted} is expected", name(comparison)));
        }
    }
    open.map_or(Result::Holds, Result::Open)
}

fn is_near(found: f64, wanted: f64, tolerance: Tolerance) -> bool {
    let amount = if tolerance.is_percent { (wanted * tolerance.amount / 100.0).abs() } else { tolerance.amount };
    found == wanted || (found - wanted).abs() <= amount
}

fn name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "≠",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "≤",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => "≥",
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Result::Holds => write!(f, "line {}: holds", self.line),
            Result::Fails(what) => write!(f, "line {}: does not hold: {what}", self.line),
            Result::Open(why) => write!(f, "line {}: not determined: {why}", self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::judge;

    const SHADER: &str = "#!amber
SHADER compute shader GLSL
#version 450
layout(local_size_x = 4) in;
layout(constant_id = 2) const uint factor = 1u;
layout(push_constant) uniform Push { uint more; };
layout(set = 0, binding = 1) readonly buffer In { uint a[]; };
layout(set = 1, binding = 0) buffer Out { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x] * factor + more; }
END
BUFFER first DATA_TYPE uint32 SIZE 8 SERIES_FROM 1 INC_BY 1
BUFFER in DATA_TYPE uint32 SIZE 8 FILL 0
BUFFER out DATA_TYPE uint32 SIZE 8 FILL 0
BUFFER unused DATA_TYPE uint32 SIZE 8 FILL 0
BUFFER push DATA_TYPE uint32 DATA 100 END
PIPELINE compute pipeline
  ATTACH shader SPECIALIZE 2 AS uint32 10
  BIND BUFFER in AS storage DESCRIPTOR_SET 0 BINDING 1
  BIND BUFFER out AS storage DESCRIPTOR_SET 1 BINDING 0
  BIND BUFFER unused AS storage DESCRIPTOR_SET 3 BINDING 3
  BIND BUFFER push AS push_constant
END
";

    fn script(commands: &str) -> Script {
        Script::parse(&format!("{SHADER}{commands}"), Path::new(".")).expect("a script")
    }

    /// It leaves the same as the script.
    #[test]
    fn a_single_run_is_a_dispatch() {
        let expect = "EXPECT out IDX 0 EQ 110 120 130 140 150 160 170 180\n";
        let script = script(&format!("COPY first TO in\nRUN pipeline 2 1 1\n{expect}"));
        let results = run(&script, 4, Limits::default()).expect("it runs");
        assert!(results.iter().all(|expectation| expectation.result == Result::Holds), "{results:?}");
        let (words, inputs) = single(&script).expect("a single run");
        assert_eq!(inputs.workgroups, [2, 1, 1]);
        assert!(inputs.buffers.keys().eq(&[(0, 1), (1, 0)]) && inputs.elements.is_empty(), "{inputs:?}");
        let judged = judge(&words, &inputs).expect("it runs");
        let out = judged.outcome.buffers.iter().find(|buffer| buffer.set == 1).expect("it is there");
        let words: Vec<Option<u32>> = (0..8).map(|at| out.word(4 * at)).collect();
        assert_eq!(words, (1..9).map(|n| Some(100 + 10 * n)).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_single_run_is_refused() {
        for (commands, why) in [
            ("", "there is none"),
            ("RUN pipeline 1 1 1\nRUN pipeline 1 1 1\n", "there are several"),
            ("REPEAT 2\nRUN pipeline 1 1 1\nEND\n", "it has a REPEAT"),
        ] {
            let error = single(&script(commands)).expect_err(commands).to_string();
            assert!(error.contains(why), "{error}");
        }
        let twice = SHADER.replace("BIND BUFFER unused AS storage", "BIND BUFFER in AS storage");
        let script = Script::parse(&format!("{twice}RUN pipeline 1 1 1\n"), Path::new(".")).expect("a script");
        assert!(single(&script).expect_err("it aliases").to_string().contains("bound in several places"));
    }
}
