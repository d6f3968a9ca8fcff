//! What the pages of a bug book and lists of known bugs have in common.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::driver::DriverId;
use crate::signature::Kind;

/// A file of known bugs cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct KnownError {
    /// The file that cannot be read or parsed.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// What comes of a bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Wrong results, or lanes on wrong paths.
    #[default]
    Wrong,
    /// The driver crashes, hangs, loses the device or gives up.
    Dies,
}

impl Effect {
    /// That of a finding; `None` if no program is needed to identify the bug.
    pub fn of(kind: Kind) -> Option<Effect> {
        match kind {
            Kind::Value | Kind::Path => Some(Effect::Wrong),
            _ => kind.has_no_result().then_some(Effect::Dies),
        }
    }
}

/// A device, as far as entries of known bugs distinguish devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceId {
    /// Its name on this machine.
    pub name: String,
    /// Name and version of the driver.
    pub driver: String,
}

impl DeviceId {
    /// From a device's name and what is saved about it.
    pub fn new(name: &str, info: &serde_json::Value) -> DeviceId {
        DeviceId { name: name.into(), driver: DriverId::of(info).to_string() }
    }
}

pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, KnownError> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let entries = fs::read_dir(path).map_err(|error| wrong(path, error))?;
    let files: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = files.map_err(|error| wrong(path, error))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

pub(crate) fn wrong(path: &Path, problem: impl ToString) -> KnownError {
    KnownError { path: path.into(), problem: problem.to_string() }
}
