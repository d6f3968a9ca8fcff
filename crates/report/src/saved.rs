//! A finding read back from its folder ([`crate::finding`] says what is in it).

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tangle_analysis::validate::validate;
use tangle_oracle::judge::{Judgement, Observation, judge};
use tangle_oracle::map::SubgroupPromise;
use tangle_program::api::Api;
use tangle_program::case::Case;
use tangle_program::case::interface::{MAP_WORDS, MAP_WRITTEN};

use tangle_files::text::cleaned;

use crate::finding::{CaseNumber, MapRow};
use tangle_identity::signature::Signature;
use tangle_identity::stage::{Table, VARIANTS};
use tangle_identity::switches::Switches;

/// A folder is no finding, or not a whole one.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ReadError {
    /// The file that is at fault.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// A finding as it was saved.
#[derive(Clone, Debug)]
pub struct SavedFinding {
    /// The case of `case.json`.
    pub case: Case,
    /// What it is counted under.
    pub signature: Signature,
    /// Name of the device.
    pub device: String,
    /// The device's identity and properties; null if they were not saved.
    pub device_info: serde_json::Value,
    /// `report.txt`, as it was written when the finding was made.
    pub report: String,
    /// What the driver got; `None` if it was not saved whole, or if it is not what this version of tangle makes of the case, so that
    /// line numbers or the layout of the buffers may have changed since.
    pub shader: Option<SavedShader>,
    /// What was read back; nothing after a crash.
    pub observation: Option<Observation>,
    /// How often the case fails, where a minimizer counted it.
    pub rate: Option<Rate>,
    /// True if a minimizer found that the device does the same program right at tier maximal, where no doubt would be left.
    pub passes_at_maximal: bool,
    /// The nearest case that passes, where a minimizer left one.
    pub neighbour: Option<Case>,
    /// The same program as every variant on every device, where that was run.
    pub variants: Option<Table>,
    /// What makes it pass, where that was tried.
    pub switches: Option<Switches>,
    /// Which case of which campaign it was, where that was saved.
    pub number: Option<CaseNumber>,
}

/// The shader of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedShader {
    /// The source, in the language of the case's variant, as it was saved.
    pub source: String,
    /// The words of the module; empty if there is none.
    pub spirv: Vec<u32>,
    /// The module's disassembly, as it was saved.
    pub disassembly: String,
}

/// How often a case fails: `failed` of `runs` times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Runs that failed in the same way.
    pub failed: u32,
    /// All runs, those that failed included.
    pub runs: u32,
}

impl Rate {
    /// True if it failed every time.
    pub const fn is_always(self) -> bool {
        self.failed == self.runs
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_always() { f.write_str("always") } else { write!(f, "in {} of {} runs", self.failed, self.runs) }
    }
}

/// What is needed of `finding.json`.
#[derive(Deserialize)]
struct Summary {
    device: String,
    seed: Option<u64>,
    number: Option<u64>,
    #[serde(flatten)]
    signature: Signature,
}

/// What is needed of `minimized.json`.
#[derive(Deserialize)]
struct Minimized {
    fails_after: Option<Rate>,
    #[serde(default)]
    passes_at_maximal: bool,
}

impl SavedFinding {
    /// True if the path is the folder of a finding.
    pub fn is_at(path: &Path) -> bool {
        path.join("finding.json").is_file()
    }

    /// Reads a finding's folder.
    ///
    /// # Errors
    /// If a file that every finding has is missing, or one of them is broken.
    pub fn read(folder: &Path) -> Result<SavedFinding, ReadError> {
        let summary: Summary = required(&folder.join("finding.json"))?;
        let map: Option<Vec<MapRow>> = optional(&folder.join("lane-map.json"))?;
        let logs: Option<Vec<Vec<u32>>> = optional(&folder.join("observation.json"))?;
        let open: Vec<Vec<u32>> = optional(&folder.join("open.json"))?.unwrap_or_default();
        let minimized: Option<Minimized> = optional(&folder.join("minimized.json"))?;
        let case = read_case(&folder.join("case.json"))?;
        let invocations = case.entry_point.invocations() as usize;
        let has_all = |name: &str, rows: Option<usize>| match rows.filter(|rows| *rows != invocations) {
            Some(rows) => {
                Err(wrong(&folder.join(name), format!("it has {rows} rows, and the case {invocations} invocations")))
            }
            None => Ok(()),
        };
        has_all("lane-map.json", map.as_ref().map(Vec::len))?;
        has_all("observation.json", logs.as_ref().map(Vec::len))?;
        Ok(SavedFinding {
            shader: read_shader(folder, &case)?.filter(|shader| shader.source == tangle_emit::source(&case)),
            case,
            signature: summary.signature,
            device: summary.device,
            device_info: cleaned(optional(&folder.join("device.json"))?.unwrap_or_default()),
            report: read_text(&folder.join("report.txt"))?.unwrap_or_default(),
            observation: map.zip(logs).map(|(map, logs)| Observation { map: map_words(&map), logs, open }),
            rate: minimized.as_ref().and_then(|minimized| minimized.fails_after),
            passes_at_maximal: minimized.is_some_and(|minimized| minimized.passes_at_maximal),
            neighbour: match folder.join("neighbour.json") {
                file if file.is_file() => Some(read_case(&file)?),
                _ => None,
            },
            variants: optional(&folder.join(VARIANTS))?,
            switches: optional(&folder.join("switches.json"))?,
            number: summary.seed.zip(summary.number).map(|(seed, number)| CaseNumber { seed, number }),
        })
    }

    /// The judgement on what was read back, by the rules of today; `None` if nothing was.
    pub fn judgement(&self) -> Option<Judgement> {
        let observation = self.observation.as_ref()?;
        Some(judge(&self.case, observation, promise(&self.device_info, &observation.map)))
    }
}

/// What the device promises about subgroup sizes; where it was not saved, what the lane map shows.
pub fn promise(device_info: &serde_json::Value, map: &[u32]) -> SubgroupPromise {
    let member = |name: &str| device_info["subgroup"][name].as_u64().and_then(|size| u32::try_from(size).ok());
    let has = |api: &str| !device_info[api].is_null();
    let api = if has("webgpu") {
        Api::WebGpu
    } else if has("opengl") {
        Api::OpenGl
    } else {
        Api::Vulkan
    };
    let shown = map.get(1).copied().unwrap_or(0);
    let default = member("size").filter(|&size| size > 0).unwrap_or(shown);
    SubgroupPromise {
        api,
        default,
        min: member("min_size").unwrap_or(default.min(shown)),
        max: member("max_size").unwrap_or(default.max(shown)),
    }
}

fn map_words(rows: &[MapRow]) -> Vec<u32> {
    let mut words = Vec::with_capacity(rows.len() * MAP_WORDS);
    // What stands behind the records.
    let mut behind = Vec::new();
    for row in rows {
        let row = match row {
            MapRow::Workgroup(row) => row,
            MapRow::Draw(row) => {
                words.extend(&row.record);
                behind.extend(row.executions);
                continue;
            }
        };
        words.extend([row.lane, row.subgroup_size, row.subgroup_id, row.num_subgroups]);
        words.push(row.first_index_of_subgroup);
        words.extend(row.entry_ballot);
        // No subgroup has size 0: such a record was never written.
        words.push(if row.subgroup_size == 0 { 0 } else { MAP_WRITTEN });
        behind.extend(&row.payload);
    }
    words.extend(behind);
    words
}

fn read_shader(folder: &Path, case: &Case) -> Result<Option<SavedShader>, ReadError> {
    let module = folder.join("shader.spv");
    let bytes = match tangle_files::read(&module, tangle_files::MOST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(&module, error)),
    };
    let spirv = tangle_files::words::from_bytes(&bytes);
    let source = match read_text(&folder.join(format!("shader.{}", case.extension())))? {
        // Folders of before 2026-11-24 have it under this name in every language and stage.
        None => read_text(&folder.join("shader.comp"))?,
        source => source,
    };
    let disassembly = read_text(&folder.join("shader.spvasm"))?;
    let both = source.zip(disassembly);
    Ok(both.map(|(source, disassembly)| SavedShader { source, spirv, disassembly }))
}

fn read_case(path: &Path) -> Result<Case, ReadError> {
    let text = read_text(path)?.ok_or_else(|| wrong(path, "there is no such file"))?;
    let case = Case::from_json(&text).map_err(|error| wrong(path, error))?;
    validate(&case).map_err(|error| wrong(path, error))?;
    Ok(case)
}

fn required<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    optional(path)?.ok_or_else(|| wrong(path, "there is no such file"))
}

fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReadError> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(path, error))
}

/// The text of a file; `None` if there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, ReadError> {
    match tangle_files::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(path, error)),
    }
}

fn wrong(path: &Path, problem: impl ToString) -> ReadError {
    ReadError { path: path.into(), problem: problem.to_string() }
}
