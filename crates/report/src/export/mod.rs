//! A finding as a bundle of files that a driver engineer can use without tangle.
//!
//! ```text
//!   Subject ─► lane map, Account (what has to happen) ─► Expected (the same as flat tables)
//!                                                            │
//!   README.md ◄── what each format cannot carry ◄── repro.c, case.amber, case.shader_test
//!   shader.comp, shader.spv, shader.spvasm, neighbour.comp
//! ```
//!
//! Expected values hold for one lane map: the one observed when the finding was made, or the linear one for a given subgroup size. It
//! is part of every export, and is compared first.
//!
//! The same subject gives the same bytes, wherever and whenever.

mod amber;
mod demand;
mod environment;
mod expected;
mod readme;
mod repro;
mod runs;
mod vkrunner;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tangle_features::{Needs, needs};
use tangle_oracle::judge::Observation;
use tangle_oracle::map::{LaneMap, MapFault, SizePromise};
use tangle_oracle::predict::NotDefined;
use tangle_program::case::Case;

use crate::finding::SaveError;
use crate::saved::Rate;
use crate::tell::Telling;
use crate::text::{capital, without_folders};
use tangle_identity::account::Account;
use tangle_identity::signature::{Kind, Signature};
use tangle_identity::stage::Table;

pub use environment::{Row, rows as environment};
use expected::Expected;

/// What came of the program on another device.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The device.
    pub device: String,
    /// The name of its driver, the same for all its versions.
    pub driver: String,
    /// The version of the driver, in the driver's words.
    pub version: String,
    /// What came of it, in words.
    pub result: String,
    /// Whether it was right; `None` if nothing was compared.
    pub is_right: Option<bool>,
}

/// What is exported.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The case.
    pub case: &'a Case,
    /// Its GLSL.
    pub glsl: &'a str,
    /// Its module; empty if there is none.
    pub spirv: &'a [u32],
    /// The module's disassembly.
    pub disassembly: &'a str,
    /// The lane map that values are expected for.
    pub basis: Basis<'a>,
    /// What went wrong, if anything.
    pub signature: Option<&'a Signature>,
    /// What happened, in words: used where no first wrong step can be told.
    pub report: &'a str,
    /// The device that it happened on.
    pub device: Option<DeviceNote<'a>>,
    /// Other devices that were tried, with their verdicts.
    pub others: Vec<Elsewhere>,
    /// How often the case fails, if that was counted.
    pub rate: Option<Rate>,
    /// The nearest case that passes, if there is one.
    pub neighbour: Option<&'a Case>,
    /// The same program as every variant on every device, if that was run.
    pub variants: Option<&'a Table>,
    /// Versions of tangle and of the compiler that made the module.
    pub versions: &'a str,
}

/// The lane map that values are expected for.
#[derive(Clone, Copy, Debug)]
pub enum Basis<'a> {
    /// The one that a device showed.
    Observed {
        /// What was read back.
        observation: &'a Observation,
        /// What the device promises about subgroup sizes.
        promise: SizePromise,
    },
    /// Subgroups of so many consecutive local indices.
    Linear(u32),
    /// None: no values are expected.
    Nothing,
}

/// A device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceNote<'a> {
    /// Its name in tangle.
    pub name: &'a str,
    /// Its identity and properties (`device.json`).
    pub info: &'a serde_json::Value,
    /// How tangle starts a program on its driver: variables and a command before the program's. Empty if that is not known.
    pub start: &'a str,
}

/// The files of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Name and contents of each file.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

/// Every file that a bundle can have, and what it is.
pub const FILES: [(&str, &str); 8] = [
    ("README.md", "this text"),
    ("repro.c", "one C program against the Vulkan loader that checks itself"),
    ("case.amber", "the same for Amber (AmberScript)"),
    ("case.shader_test", "the same for VkRunner"),
    ("shader.comp", "the GLSL"),
    ("shader.spv", "the module that the driver got"),
    ("shader.spvasm", "its disassembly"),
    ("neighbour.comp", "the nearest program that passes"),
];

/// What the files are made from.
struct Source<'a> {
    case: &'a Case,
    glsl: &'a str,
    spirv: &'a [u32],
    disassembly: &'a str,
    account: Option<&'a Account<'a>>,
    /// One line.
    title: String,
    /// A few lines.
    story: String,
}

/// The lane map of a subject, and what is wrong with it.
struct Map {
    words: Vec<u32>,
    map: Option<LaneMap>,
    faults: Vec<MapFault>,
}

impl<'a> Subject<'a> {
    /// What every lane had to do and did; `None` if nothing is known of the lane map, or if it breaks the rules.
    ///
    /// # Errors
    /// If the case has undefined behaviour on the lane map.
    pub fn account(&self) -> Result<Option<Account<'a>>, NotDefined> {
        let observation = match self.basis {
            Basis::Observed { observation, .. } => Some(observation),
            Basis::Linear(_) | Basis::Nothing => None,
        };
        lane_map(self).map.map(|map| Account::new(self.case, map, observation)).transpose()
    }
}

/// Makes the bundle.
///
/// # Errors
/// If the case has undefined behaviour on the lane map.
pub fn bundle(subject: &Subject<'_>) -> Result<Bundle, NotDefined> {
    // A bundle goes to others: it says nothing of the folders of this machine.
    let report = without_folders(subject.report);
    let start = subject.device.map_or_else(String::new, |device| without_folders(device.start));
    let others =
        subject.others.iter().map(|other| Elsewhere { result: without_folders(&other.result), ..other.clone() });
    let subject = &Subject {
        report: &report,
        device: subject.device.map(|device| DeviceNote { start: &start, ..device }),
        others: others.collect(),
        ..subject.clone()
    };
    let Map { words, faults, .. } = lane_map(subject);
    // On a lane map that breaks the rules nothing is expected: a right device has another.
    let is_about_map = subject.signature.is_some_and(|signature| signature.kind == Kind::LaneMap);
    let account = if is_about_map { None } else { subject.account()? };
    let telling = account.as_ref().and_then(Telling::of);
    let source = Source {
        case: subject.case,
        glsl: subject.glsl,
        spirv: subject.spirv,
        disassembly: subject.disassembly,
        account: account.as_ref(),
        title: title(subject, telling.as_ref()),
        story: story(subject, telling.as_ref(), &faults, account.is_some()),
    };
    let expected = account.as_ref().map(|account| Expected::new(account, &words));
    Ok(Bundle { files: files(subject, &source, telling.as_ref(), &faults, expected.as_ref()) })
}

fn lane_map(subject: &Subject<'_>) -> Map {
    match subject.basis {
        Basis::Observed { observation, promise } => {
            let (map, faults) = LaneMap::check(subject.case, &observation.map, promise);
            Map { words: observation.map.clone(), map, faults }
        }
        Basis::Linear(size) => {
            let map = LaneMap::linear(subject.case, size);
            Map { words: map.words(subject.case), map: Some(map), faults: Vec::new() }
        }
        Basis::Nothing => Map { words: Vec::new(), map: None, faults: Vec::new() },
    }
}

fn files(
    subject: &Subject<'_>,
    source: &Source<'_>,
    telling: Option<&Telling>,
    faults: &[MapFault],
    expected: Option<&Expected>,
) -> Vec<(&'static str, Vec<u8>)> {
    let needs = needs(subject.case);
    let mut files = vec![("shader.comp", subject.glsl.as_bytes().to_vec())];
    if repro::is_possible(source) {
        files.push(("repro.c", repro::repro(source, &needs, expected).into_bytes()));
        files.push(("case.amber", amber::amber(source, &needs, expected).into_bytes()));
        files.push(("case.shader_test", vkrunner::vkrunner(source, &needs, expected).into_bytes()));
        files.push(("shader.spv", subject.spirv.iter().flat_map(|word| word.to_le_bytes()).collect()));
        files.push(("shader.spvasm", subject.disassembly.as_bytes().to_vec()));
    }
    if let Some(neighbour) = subject.neighbour {
        files.push(("neighbour.comp", tangle_emit::glsl::glsl(neighbour).into_bytes()));
    }
    let made: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let readme = readme::readme(&readme::Page { subject, source, telling, faults, needs: &needs, made: &made });
    files.push(("README.md", readme.into_bytes()));
    files.sort_by_key(|(name, _)| FILES.iter().position(|(known, _)| known == name));
    files
}

/// What went wrong and where, in one line.
fn title(subject: &Subject<'_>, telling: Option<&Telling>) -> String {
    let what = match (telling, subject.signature) {
        (Some(telling), _) => telling.headline.clone(),
        (None, Some(signature)) => format!("{}: {}", signature.kind.name().replace('_', " "), signature.detail),
        (None, None) if subject.case.about.is_empty() => "Subgroup test case".into(),
        (None, None) => subject.case.about.lines().next().unwrap_or_default().to_owned(),
    };
    match &subject.device {
        Some(device) if subject.signature.is_some() => format!("{}: {what}", environment::device_name(device)),
        _ => what,
    }
}

/// What happened, as plain text for the heads of files.
fn story(subject: &Subject<'_>, telling: Option<&Telling>, faults: &[MapFault], has_values: bool) -> String {
    let mut text = String::new();
    if let Some(telling) = telling {
        let _ = writeln!(text, "{} ({}); first at {}:", telling.headline, telling.extent, telling.place);
        if let Some((_, source)) = telling.excerpt.iter().find(|(line, _)| *line == telling.line) {
            let _ = writeln!(text, "    {}", source.trim());
        }
        if let Some(trace) = &telling.trace {
            let _ = writeln!(text, "{}.", capital(trace));
        }
    } else if subject.signature.is_some() && !matches!(subject.signature.map(|s| s.kind), Some(Kind::LaneMap)) {
        text.push_str(subject.report.trim_end());
        text.push('\n');
    }
    for fault in faults {
        let _ = writeln!(text, "Lane map, {}.", fault.describe(&subject.case.entry_point));
    }
    let map = match subject.basis {
        Basis::Observed { .. } => "the lane map that was observed".to_owned(),
        Basis::Linear(size) => format!("linear subgroups of {size}"),
        Basis::Nothing => String::new(),
    };
    let _ = write!(text, "Convergence tier: {}. ", subject.case.tier.name());
    let _ = match (has_values, map.as_str()) {
        (true, map) => write!(text, "Expected values are for: {map}."),
        (false, _) => write!(text, "No values are expected."),
    };
    text
}

/// Adds lines, each behind `prefix`, wherever the texts have line breaks.
fn comment(text: &mut String, prefix: &str, texts: &[&str]) {
    for line in texts.iter().flat_map(|text| if text.is_empty() { vec![""] } else { text.lines().collect() }) {
        let _ = writeln!(text, "{}", format!("{prefix}{line}").trim_end());
    }
}

/// The words of the input buffer: `inputs[k][invocation]` as word `invocation * K + k`.
fn input_words(case: &Case) -> Vec<u32> {
    let invocations = case.entry_point.invocations() as usize;
    let of_invocation = |i: usize| case.data.inputs.iter().map(move |input| input.get(i).copied().unwrap_or(0));
    (0..invocations).flat_map(of_invocation).collect()
}

/// The words of the uniform buffer: an array of `uvec4`s.
fn uniform_words(case: &Case) -> Vec<u32> {
    let mut words = case.data.uniforms.clone();
    words.resize(words.len().next_multiple_of(4), 0);
    words
}

impl Bundle {
    /// Writes the files into a folder: a new one, or one that holds nothing but a bundle.
    ///
    /// # Errors
    /// If the folder holds anything else, or something cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), SaveError> {
        let error = |path: PathBuf| move |source: io::Error| SaveError { path, source };
        fs::create_dir_all(folder).map_err(error(folder.into()))?;
        for entry in fs::read_dir(folder).map_err(error(folder.into()))? {
            let name = entry.map_err(error(folder.into()))?.file_name();
            if !FILES.iter().any(|(known, _)| name == *known) {
                let what = format!("the folder holds other files ({})", name.to_string_lossy());
                return Err(error(folder.into())(io::Error::new(io::ErrorKind::DirectoryNotEmpty, what)));
            }
        }
        for (name, _) in FILES {
            let path = folder.join(name);
            match self.files.iter().find(|(file, _)| *file == name) {
                Some((_, contents)) => fs::write(&path, contents).map_err(error(path))?,
                // Left over from an older bundle.
                None if path.exists() => fs::remove_file(&path).map_err(error(path))?,
                None => {}
            }
        }
        Ok(())
    }

    /// The contents of a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.iter().find(|(file, _)| *file == name).map(|(_, contents)| contents.as_slice())
    }
}

/// What each format cannot carry of a case: the file, and one line for each thing.
fn limits(source: &Source<'_>, needs: &Needs) -> [(&'static str, Vec<String>); 2] {
    [("case.amber", amber::limits(source, needs)), ("case.shader_test", vkrunner::limits(source, needs))]
}

/// What neither AmberScript nor VkRunner can say about the lane map.
fn map_limit(source: &Source<'_>, first: &str) -> String {
    match source.account {
        Some(_) => format!(
            "A device that places invocations in other lanes fails at the first {first}, where repro.c says that it cannot judge."
        ),
        None => {
            "It expects nothing: the script passes if the program ends. repro.c checks the rules of the lane map, too."
                .into()
        }
    }
}
