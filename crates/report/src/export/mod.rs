//! A finding as a bundle of files that a driver engineer can use without tangle.
//!
//! ```text
//!   Analysis ─► lane map, Account (what has to happen) ─► Expected (the same as flat tables)
//!                                                            │
//!   README.md ◄── what each format cannot carry ◄── repro.c, case.amber, case.shader_test
//!   shader.comp (or with another extension), shader.spv, shader.spvasm, neighbour.comp
//! ```
//!
//! Where it is the device's choice who executes an operation together, several values are legal. Such words are not compared one by one: what is
//! exported is the combination of words that no choice gives ([`tangle_oracle::relation`]).
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
mod source;
mod vkrunner;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tangle_features::needs;
use tangle_identity::account::Account;
use tangle_identity::signature::Kind;
use tangle_oracle::predict::NotDefined;
use tangle_oracle::relation::relations;

use crate::finding::SaveError;
use crate::subject::{Analysis, Basis, Subject};
use crate::text::without_folders;
use tangle_program::text::capital;

pub use environment::{Property, properties};
use expected::Expected;
pub use source::FILES;
use source::{Source, row};

/// The files of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Name and contents of each file.
    pub files: Vec<(String, Vec<u8>)>,
}

/// What a bug tracker takes: the README of the bundle.
///
/// # Errors
/// If the case has undefined behaviour on the lane map.
pub fn readme(subject: &Subject) -> Result<String, NotDefined> {
    let bundle = bundle(subject)?;
    Ok(String::from_utf8_lossy(bundle.file("README.md").unwrap_or_default()).into_owned())
}

/// Makes the bundle.
///
/// # Errors
/// If the case has undefined behaviour on the lane map.
pub fn bundle(subject: &Subject) -> Result<Bundle, NotDefined> {
    // A bundle goes to others: it says nothing of the folders of this machine.
    let mut subject = subject.clone();
    let clean = |text: &mut String| *text = without_folders(text);
    clean(&mut subject.report);
    subject.device.iter_mut().for_each(|device| clean(&mut device.start));
    subject.others.iter_mut().for_each(|other| clean(&mut other.result));
    let cells = subject.variants.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells);
    cells.for_each(|cell| [&mut cell.text, &mut cell.detail].into_iter().for_each(clean));
    clean(&mut subject.case.about);
    let analysis = subject.analyse()?;
    let map = analysis.account.as_ref().map(|account| &account.map);
    let account = map.map(|map| Account::new(&subject.case, map.clone(), None)).transpose()?;
    let relations = match (map, &subject.basis) {
        (Some(map), Basis::Observed { observation, .. }) => relations(&subject.case, map, observation)?,
        _ => Vec::new(),
    };
    let source = Source {
        case: &subject.case,
        text: &subject.shader.source,
        spirv: &subject.shader.spirv,
        disassembly: &subject.shader.disassembly,
        beside: &subject.beside,
        account: account.as_ref(),
        relations: &relations,
        title: without_folders(&title(&analysis)),
        story: without_folders(&story(&analysis)),
    };
    let expected = account.as_ref().map(|account| Expected::new(account, &analysis.map));
    Ok(Bundle { files: files(&analysis, &source, expected.as_ref()) })
}

fn files(analysis: &Analysis<'_>, source: &Source<'_>, expected: Option<&Expected>) -> Vec<(String, Vec<u8>)> {
    let needs = needs(source.case);
    let shader = format!("shader.{}", source.case.extension());
    let mut files = vec![(shader, source.text.as_bytes().to_vec())];
    let mut add = |name: &str, contents: Vec<u8>| files.push((name.to_owned(), contents));
    if !source.spirv.is_empty() {
        add("repro.c", repro::repro(source, &needs, expected).into_bytes());
        if amber::lacks(source.case).is_none() {
            add("case.amber", amber::amber(source, &needs, expected).into_bytes());
        }
        if vkrunner::lacks(source.case).is_none() {
            add("case.shader_test", vkrunner::vkrunner(source, &needs, expected).into_bytes());
        }
        add("shader.spv", tangle_files::words::to_bytes(source.spirv));
        add("shader.spvasm", source.disassembly.as_bytes().to_vec());
    }
    if let Some(neighbour) = &analysis.subject.neighbour {
        add(&format!("neighbour.{}", neighbour.extension()), tangle_emit::source(neighbour).into_bytes());
    }
    let made: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let readme = readme::readme(&readme::Page { analysis, source, needs: &needs, made: &made });
    files.push(("README.md".into(), readme.into_bytes()));
    files.sort_by_key(|(name, _)| row(name));
    files
}

/// What went wrong and where, in one line.
fn title(analysis: &Analysis<'_>) -> String {
    let Subject { case, device, .. } = analysis.subject;
    match (analysis.headline(), device) {
        (Some(what), Some(device)) => format!("{}: {what}", environment::device_name(device)),
        (Some(what), None) => what,
        (None, _) if case.about.is_empty() => "Subgroup test case".into(),
        (None, _) => case.about.lines().next().unwrap_or_default().to_owned(),
    }
}

/// What happened, as plain text for the heads of files.
fn story(analysis: &Analysis<'_>) -> String {
    let subject = analysis.subject;
    let mut text = String::new();
    if let Some(wrong_step) = &analysis.wrong_step {
        let _ = writeln!(text, "{} ({}); first at {}:", wrong_step.headline, wrong_step.extent, wrong_step.place);
        if let Some((_, source)) = wrong_step.excerpt.iter().find(|(line, _)| *line == wrong_step.line) {
            let _ = writeln!(text, "    {}", source.trim());
        }
        if let Some(trace) = &wrong_step.trace {
            let _ = writeln!(text, "{}.", capital(trace));
        }
    } else if subject.signature.as_ref().is_some_and(|signature| signature.kind != Kind::LaneMap) {
        text.push_str(subject.report.trim_end());
        text.push('\n');
    }
    for fault in &analysis.faults {
        let _ = writeln!(text, "Lane map, {}.", fault.describe(&subject.case.entry_point));
    }
    let map = match subject.basis {
        Basis::Observed { .. } => "the lane map that was observed".to_owned(),
        Basis::Linear(size) => format!("linear subgroups of {size}"),
        Basis::Nothing => String::new(),
    };
    let _ = write!(text, "Convergence tier: {}. ", subject.case.tier.name());
    let _ = match analysis.account {
        Some(_) => write!(text, "Expected values are for: {map}."),
        None => write!(text, "No values are expected."),
    };
    text
}

impl Bundle {
    /// Writes the files into a folder: a new one, or one that holds nothing but a bundle.
    ///
    /// # Errors
    /// If the folder holds anything else, or something cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), SaveError> {
        let error = |path: PathBuf| move |source: io::Error| SaveError { path, source };
        fs::create_dir_all(folder).map_err(error(folder.into()))?;
        let mut older = Vec::new();
        for entry in fs::read_dir(folder).map_err(error(folder.into()))? {
            let name = entry.map_err(error(folder.into()))?.file_name();
            if name.to_str().and_then(row).is_none() {
                let what = format!("the folder holds other files ({})", name.to_string_lossy());
                return Err(error(folder.into())(io::Error::new(io::ErrorKind::DirectoryNotEmpty, what)));
            }
            older.push(folder.join(name));
        }
        for (name, contents) in &self.files {
            let path = folder.join(name);
            older.retain(|old| *old != path);
            fs::write(&path, contents).map_err(error(path))?;
        }
        older.into_iter().try_for_each(|path| fs::remove_file(&path).map_err(error(path)))
    }

    /// The contents of a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.iter().find(|(file, _)| *file == name).map(|(_, contents)| contents.as_slice())
    }
}
