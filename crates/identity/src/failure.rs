//! How a driver or the toolchain fails, as far as signatures distinguish it. What these name is what the runner saw; the texts are for
//! people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::place::CrashPlace;

/// How a worker process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Killed by this signal (Linux's numbers).
    Signal(i32),
    /// It exited with this code.
    Exit(i32),
    /// It wrote something that is not the protocol between tangle and its workers.
    Protocol,
}

/// What was being done for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Checking the job, before the driver sees it.
    Check,
    /// `vkCreateShaderModule`, and the layouts of descriptor sets and pipeline.
    Module,
    /// Creating the pipeline, in which most drivers compile.
    Pipeline,
    /// Creating buffers, recording commands.
    Prepare,
    /// Running the dispatch, from its submission to the end of the wait for it. One step, since a driver executes in threads of its own:
    /// whether one of them fails before `vkQueueSubmit` has returned or after it is chance.
    #[serde(alias = "submit", alias = "wait")]
    Run,
    /// Reading logs, lane map and arrays back.
    ReadBack,
    /// Destroying module and pipeline.
    Cleanup,
}

impl Doing {
    /// The text of a signature of an older format, which had two steps for [`Doing::Run`], with that step.
    pub(crate) fn with_current_steps(text: String) -> String {
        let run = format!("while {}", Doing::Run);
        ["while submitting the dispatch", "while waiting for the dispatch"]
            .iter()
            .fold(text, |text, old| text.replace(old, &run))
    }
}

/// A crash of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Crash {
    /// How the process ended.
    pub end: End,
    /// What it was doing.
    pub doing: Doing,
    /// The functions that it died in; `None` if no stack came from the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<CrashPlace>,
    /// Where that is not known: what the driver said of the reason, without addresses and numbers ([`message`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Crash {
    /// True if both are the same failure, as far as both say it: findings of older formats have no place, and what a driver prints of one is
    /// not the same each time.
    pub fn is_like(&self, other: &Crash) -> bool {
        match (&self.place, &other.place) {
            (Some(place), Some(other_place)) => self.doing == other.doing && place == other_place,
            (None, None) => self == other,
            _ => (self.doing, self.end) == (other.doing, other.end),
        }
    }
}

/// An error that a Vulkan function returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DriverError {
    /// The function, `vkCreateComputePipelines` say.
    pub call: String,
    /// What it returned, `VK_ERROR_UNKNOWN` say.
    pub result: String,
    /// What was being done.
    pub doing: Doing,
}

/// Which step of the toolchain failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStep {
    /// The front end refused the shader.
    Compile,
    /// Another compiler than glslang's of GLSL refuses the shader, crashes or hangs.
    Refuse,
    /// The front end's module is not valid.
    Validate,
    /// `spirv-opt` failed on it.
    Optimise,
    /// What `spirv-opt` made of it is not valid.
    ValidateOptimised,
    /// The front end's module does not promise the reconvergence that the shader asks for.
    Promise,
    /// What `spirv-opt` made does not promise what the module before did.
    PromiseOptimised,
    /// The module has undefined behaviour that the program has not: an executor of modules found it.
    Execute,
    /// The module does not end, and the program does: an executor of modules counted.
    Endless,
}

/// A failure of the toolchain.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolFault {
    /// The step that failed.
    pub step: ToolStep,
    /// The first line of what it said, without the names that differ from module to module.
    pub message: String,
}

impl ToolFault {
    /// From all that it said.
    pub fn new(step: ToolStep, said: &str) -> ToolFault {
        let line: String =
            without_places(&without_ids(said.lines().next().unwrap_or_default())).chars().take(TOOL_MESSAGE).collect();
        ToolFault { step, message: line }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {number}"),
            },
            End::Exit(code) => write!(f, "exited with code {code}"),
            End::Protocol => f.write_str("broke the worker protocol"),
        }
    }
}

/// Names of the signals that end a crashing program, by Linux's numbers (signal(7), x86 and ARM).
const fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return None,
    })
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Check => "checking the job",
            Doing::Module => "creating the shader module",
            Doing::Pipeline => "creating the pipeline",
            Doing::Prepare => "preparing the dispatch",
            Doing::Run => "running the dispatch",
            Doing::ReadBack => "reading the buffers back",
            Doing::Cleanup => "destroying the pipeline",
        })
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} while {}", self.end, self.doing)?;
        if let Some(place) = &self.place {
            write!(f, ", in {place}")?;
        }
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} returned {} while {}", self.call, self.result, self.doing)
    }
}

impl fmt::Display for ToolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = &self.message;
        match self.step {
            ToolStep::Compile => write!(f, "GLSL does not compile: {message}"),
            ToolStep::Refuse => write!(f, "the compiler refuses it: {message}"),
            ToolStep::Validate => write!(f, "SPIR-V is not valid: {message}"),
            ToolStep::Optimise => write!(f, "spirv-opt {message}"),
            ToolStep::ValidateOptimised => write!(f, "spirv-opt made SPIR-V that is not valid: {message}"),
            ToolStep::Promise => f.write_str(message),
            ToolStep::PromiseOptimised => write!(f, "spirv-opt loses a promise: {message}"),
            ToolStep::Execute => write!(f, "the module has undefined behaviour: {message}"),
            ToolStep::Endless => write!(f, "the module does not end: {message}"),
        }
    }
}

/// The most characters of a driver's message that are kept, and of a tool's.
const MESSAGE: usize = 100;
const TOOL_MESSAGE: usize = 300;

/// What a crashing driver said of the reason, from its standard error output, without addresses and numbers, which are others each time: a
/// failed assertion, say. The text is the driver's own, so that there is no better way than to look for words.
pub fn message(stderr: &str) -> Option<String> {
    const TELLING: [&str; 6] = ["assert", "error", "fatal", "panic", "terminate", "unreachable"];
    let is_telling = |line: &&str| TELLING.iter().any(|word| line.to_ascii_lowercase().contains(word));
    let line = stderr.lines().find(is_telling)?;
    Some(without_numbers(line.trim()).chars().filter(|c| !c.is_control()).take(MESSAGE).collect())
}

/// `at 0x7f03a1: t12 = and` becomes `at #: t# = and`.
fn without_numbers(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(address) = rest.strip_prefix("0x") {
            rest = address.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            text.push('#');
        } else if c.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            text.push('#');
        } else {
            rest = &rest[c.len_utf8()..];
            text.push(c);
        }
    }
    text
}

/// A message of SPIRV-Tools without the names that differ from module to module: `'12[%12]'` becomes `'…'`.
fn without_ids(message: &str) -> String {
    let part =
        |(n, text): (usize, &str)| if n % 2 == 1 && text.contains("[%") { "…".to_owned() } else { text.to_owned() };
    message.split('\'').enumerate().map(part).collect::<Vec<_>>().join("'")
}

/// A message of a compiler or of SPIRV-Tools without the places that differ from program to program: the line and column in `x.comp:3:5: error`,
/// the position in `starting at word 12`.
fn without_places(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, behind) = from.split_at(end);
        let is_line = (before.ends_with(':') || text.ends_with(':') && before.is_empty()) && behind.starts_with(':');
        text.push_str(before);
        text.push_str(if is_line || before.ends_with(" at word ") { "…" } else { digits });
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_crashes_have_no_numbers_and_no_addresses() {
        for (stderr, want) in [
            ("", None),
            ("MESA: info: 12 queues", None),
            ("a line\nCannot select (fatal): 0x7f03a1: t12 = and\nmore", Some("Cannot select (fatal): #: t# = and")),
            ("x.c:301: assert(n < 16)", Some("x.c:#: assert(n < #)")),
            ("error: größe 0xfz", Some("error: größe #z")),
            ("\u{1b}[31merror\u{7}", Some("[#merror")),
        ] {
            assert_eq!(message(stderr).as_deref(), want, "{stderr}");
        }
    }

    #[test]
    fn toolchain_messages_have_no_ids() {
        for (message, want) in [
            ("construct '12[%12]' does not dominate '7[%main]'.", "construct '…' does not dominate '…'."),
            ("Prior to SPIR-V 1.4, 'UConvert' needs it", "Prior to SPIR-V 1.4, 'UConvert' needs it"),
            ("it's odd\nmore", "it's odd"),
            ("shader.comp:23: error: 'x3' : no such name", "shader.comp:…: error: 'x3' : no such name"),
            ("hlsl.hlsl:7:41: error: 8: no", "hlsl.hlsl:…:…: error: 8: no"),
            ("OpConstant starting at word 1020 has 4 words", "OpConstant starting at word … has 4 words"),
        ] {
            assert_eq!(ToolFault::new(ToolStep::Validate, message).message, want);
        }
    }
}
