//! Findings that a run saved and that it could not count any more, because it ended before: they are counted when their case's turn comes,
//! whether it fails again or not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use serde::Deserialize;
use tangle_files::remove_partials;
use tangle_identity::Signature;
use tangle_program::case::Case;

use super::folder::set_aside;
use crate::reduce::content_hash;
use tangle_report::statistics::Statistics;

/// A finding on disk that is not counted.
#[derive(Clone, Debug)]
pub(super) struct Recovered {
    /// What it was found with.
    pub(super) signature: Signature,
    /// The finding's folder.
    pub(super) folder: PathBuf,
}

/// Those that wait for their case, by device and [`content_hash`] of the case.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<BTreeMap<String, BTreeMap<String, Recovered>>>);

impl Waiting {
    /// What waits for this case of a device.
    pub(super) fn take(&self, device: &str, case: &Case) -> Option<Recovered> {
        let mut waiting = self.lock();
        let here = waiting.get_mut(device).filter(|here| !here.is_empty())?;
        here.remove(&content_hash(case))
    }

    /// How many findings wait, on all devices.
    pub(super) fn count(&self) -> usize {
        self.lock().values().map(BTreeMap::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<String, Recovered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is needed of a `finding.json`.
#[derive(Deserialize)]
struct Saved {
    device: String,
    #[serde(flatten)]
    signature: Signature,
}

/// Looks through the findings of a campaign: those that the statistics lack wait for their case, and what is not whole is set aside, taken out of
/// the statistics' list of folders, and reported in `notes`.
///
/// # Errors
/// If something damaged cannot be set aside.
pub(super) fn recover(
    campaign: &Path,
    findings: &Path,
    statistics: &mut Statistics,
    notes: &mut Vec<String>,
) -> anyhow::Result<Waiting> {
    let mut waiting = BTreeMap::<String, BTreeMap<String, Recovered>>::new();
    for folder in folders(findings) {
        let relative = folder.strip_prefix(campaign).unwrap_or(&folder).display().to_string();
        match read(&folder) {
            Ok((saved, case)) => {
                let is_counted = statistics.findings.iter().any(|entry| entry.folders.contains(&relative));
                if !is_counted {
                    let recovered = Recovered { signature: saved.signature, folder };
                    waiting.entry(saved.device).or_default().insert(content_hash(&case), recovered);
                }
            }
            Err(problem) => {
                notes.push(set_aside(&folder, &format!("{problem:#}"))?);
                statistics.findings.iter_mut().for_each(|entry| entry.folders.retain(|folder| *folder != relative));
            }
        }
    }
    Ok(Waiting(Mutex::new(waiting)))
}

/// The folders of the findings, in order of their names.
fn folders(findings: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = Vec::new();
    for device in below(findings).filter(|path| path.is_dir()) {
        remove_partials(&device);
        folders.extend(below(&device).filter(|path| path.is_dir() && is_finding(path)));
    }
    folders.sort();
    folders
}

/// Not what is being written, or was set aside.
fn is_finding(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| !name.starts_with('.') && !name.ends_with(".damaged"))
}

fn read(folder: &Path) -> anyhow::Result<(Saved, Case)> {
    let text = |name: &str| tangle_files::read_text(&folder.join(name)).with_context(|| name.to_owned());
    let saved = serde_json::from_str(&text("finding.json")?).context("finding.json")?;
    let case = Case::from_json(&text("case.json")?).context("case.json")?;
    Ok((saved, case))
}
