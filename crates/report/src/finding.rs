//! A finding on disk: a folder that needs nothing else to be understood.
//!
//! | file | holds |
//! |---|---|
//! | `case.json` | the test case; `tangle run` takes it |
//! | `shader.comp` | its shader, with the extension of the language and, in GLSL, of the stage ([`Case::extension`]) |
//! | `shader.spv`, `shader.spvasm` | the SPIR-V the driver saw, and its disassembly |
//! | `finding.json` | kind, signature, verdict or failure |
//! | `device.json` | the device's identity and properties |
//! | `lane-map.json`, `observation.json` | what was read back; not there after a crash |
//! | `open.json` | words of it that say nothing, if there are any |
//! | `report.txt` | the story, for people |
//! | `switches.json` | what makes it pass: switches of the driver, passes ([`tangle_identity::switches`]); written later, if at all |
//! | `variants.json` | the same program as every variant on every device ([`tangle_identity::stage`]); written later, if at all |
//! | `isa.txt` | what the driver's compiler printed of the shader, where it can be asked to |
//!
//! A folder is written beside its place, synced and then renamed, so that a finding is there whole or not at all, also after a power loss. Its name is
//! made from the contents; a finding that is there already is never touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tangle_files::text::cleaned;
use tangle_files::{create_folder, partial, rename, sync_folder, write_new};
use tangle_oracle::judge::Observation;
use tangle_program::case::{Case, GroupId, InvocationId};

use tangle_identity::signature::Signature;

/// A finding or a bundle could not be saved.
#[derive(Debug, thiserror::Error)]
#[error("cannot save in {}: {source}", path.display())]
pub struct SaveError {
    /// The file or folder that could not be written.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Everything that is saved.
#[derive(Debug)]
pub struct Finding<'a> {
    /// The case as it failed, with its variant.
    pub case: &'a Case,
    /// Its shader, in the language of its variant.
    pub source: &'a str,
    /// Its module; empty if there is none.
    pub spirv: &'a [u32],
    /// The module's disassembly; empty without a module.
    pub disassembly: String,
    /// What it is counted under.
    pub signature: Signature,
    /// The verdict, or how the device failed.
    pub result: serde_json::Value,
    /// What was read back, if anything.
    pub observation: Option<&'a Observation>,
    /// Which case of which campaign it was, if of one.
    pub number: Option<CaseNumber>,
    /// Name of the device, used as a folder name.
    pub device: &'a str,
    /// The device's identity and properties.
    pub device_info: serde_json::Value,
    /// The text of `report.txt`.
    pub report: String,
}

/// A case of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseNumber {
    /// Seed of the sequence.
    pub seed: u64,
    /// Number in the whole sequence, from 0, whatever part of it ran.
    pub number: u64,
}

#[derive(Serialize)]
struct Summary<'a> {
    format: u32,
    #[serde(flatten)]
    number: Option<CaseNumber>,
    device: &'a str,
    #[serde(flatten)]
    signature: &'a Signature,
    result: &'a serde_json::Value,
}

/// A row of `lane-map.json`: that of an invocation.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum MapRow {
    /// An invocation of a workgroup.
    Workgroup(WorkgroupRow),
    /// An invocation of a draw.
    Draw(DrawRow),
}

/// An invocation of a draw.
#[derive(Serialize, Deserialize)]
pub(crate) struct DrawRow {
    pub index: u32,
    /// The words of its record ([`tangle_program::case::interface`]).
    pub record: Vec<u32>,
    /// How often its vertex or primitive was executed; it stands in the row of the first execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u32>,
}

/// An invocation of a workgroup.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkgroupRow {
    #[serde(alias = "workgroup")]
    pub group: GroupId,
    #[serde(alias = "local_index")]
    pub index: u32,
    pub subgroup_id: u32,
    pub num_subgroups: u32,
    pub subgroup_size: u32,
    pub lane: u32,
    #[serde(alias = "first_local_index_of_subgroup")]
    pub first_index_of_subgroup: u32,
    pub entry_ballot: [u32; 4],
    /// What was found of its word in the task payload, if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payload: Vec<u32>,
}

impl Finding<'_> {
    /// The folder's name: kind and a hash of case, device and signature.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.case.to_json(), self.device, &self.signature.to_string()] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        let hash = hasher.finalize().to_hex();
        format!("{}-{}", self.signature.kind.name(), &hash[..12])
    }

    /// Saves the finding in `folder/<device>/<name>` and returns that path.
    ///
    /// # Errors
    /// If something cannot be written (a full disk, say). What was saved before stays as it is.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, SaveError> {
        let parent = folder.join(file_name(self.device));
        let place = parent.join(self.name());
        if place.is_dir() {
            return Ok(place);
        }
        let partial = partial(&place);
        let written = self.write(&partial).and_then(|()| put(&partial, &place));
        if written.is_err() {
            // Best effort: the error that matters is the first one.
            let _ = fs::remove_dir_all(&partial);
        }
        written.map(|()| place)
    }

    fn write(&self, folder: &Path) -> Result<(), SaveError> {
        create_folder(folder).map_err(|source| SaveError { path: folder.into(), source })?;
        let write = |name: &str, contents: &[u8]| {
            let path = folder.join(name);
            write_new(&path, contents).map_err(|source| SaveError { path, source })
        };
        let summary = Summary {
            format: 1,
            number: self.number,
            device: self.device,
            signature: &self.signature,
            result: &self.result,
        };
        write("case.json", self.case.to_json().as_bytes())?;
        write(&format!("shader.{}", self.case.extension()), self.source.as_bytes())?;
        write("finding.json", &json(&summary))?;
        write("device.json", &json(&cleaned(self.device_info.clone())))?;
        write("report.txt", self.report.as_bytes())?;
        if !self.spirv.is_empty() {
            write("shader.spv", &tangle_files::words::to_bytes(self.spirv))?;
            write("shader.spvasm", self.disassembly.as_bytes())?;
        }
        if let Some(observation) = self.observation {
            write("lane-map.json", &lane_map(self.case, observation))?;
            write("observation.json", &json_lines(&observation.logs))?;
            if !observation.open.is_empty() {
                write("open.json", &json_lines(&observation.open))?;
            }
        }
        sync_folder(folder).map_err(|source| SaveError { path: folder.into(), source })
    }
}

fn put(from: &Path, to: &Path) -> Result<(), SaveError> {
    match rename(from, to) {
        // Somebody else saved the same finding in the meantime.
        Err(_) if to.is_dir() => fs::remove_dir_all(from).map_err(|source| SaveError { path: from.into(), source }),
        result => result.map_err(|source| SaveError { path: to.into(), source }),
    }
}

/// A device's name as one path component.
fn file_name(device: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '#');
    device.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Plain data with string keys always serialises.
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// A JSON array with one element a line.
fn json_lines<T: Serialize>(values: &[T]) -> Vec<u8> {
    let rows: Vec<String> = values.iter().map(|value| serde_json::to_string(value).unwrap_or_default()).collect();
    format!("[\n{}\n]\n", rows.join(",\n")).into_bytes()
}

fn lane_map(case: &Case, observation: &Observation) -> Vec<u8> {
    let entry_point = &case.entry_point;
    let invocations = entry_point.invocations() as usize;
    let (records, behind) = observation.map.split_at(observation.map.len().min(invocations * entry_point.map_words()));
    let copies = entry_point.payload_copies();
    let identified = records.chunks_exact(entry_point.map_words()).enumerate();
    let rows = identified.map(|(i, words)| match (entry_point.invocation(i), words) {
        (InvocationId { group, index }, &[lane, size, id, count, first, b0, b1, b2, b3, _])
            if entry_point.stage.has_workgroups() =>
        {
            MapRow::Workgroup(WorkgroupRow {
                group,
                index,
                lane,
                subgroup_size: size,
                subgroup_id: id,
                num_subgroups: count,
                first_index_of_subgroup: first,
                entry_ballot: [b0, b1, b2, b3],
                payload: behind.get(i * copies..(i + 1) * copies).unwrap_or_default().into(),
            })
        }
        (InvocationId { index, .. }, record) => {
            MapRow::Draw(DrawRow { index, record: record.into(), executions: behind.get(i).copied() })
        }
    });
    json_lines(&rows.collect::<Vec<_>>())
}
