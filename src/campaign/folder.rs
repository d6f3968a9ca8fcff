//! The folder of a campaign: its lock, and what it says about its campaign (`campaign.json`, `coverage.json`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tangle_generator::Profile;
use tangle_oracle::coverage::Coverage;
use tangle_program::case::Tier;
use tangle_program::variant::Variant;

use crate::ledger::Ledger;
use crate::plan::Choice;

/// The version of `campaign.json` that this code reads and writes.
const FORMAT: u32 = 1;

/// The file that says what a campaign covered.
const COVERAGE: &str = "coverage.json";

/// A campaign as it is saved.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    format: u32,
    version: String,
    #[serde(flatten)]
    choice: Choice,
    /// The devices: they decide the sequence.
    devices: Vec<String>,
    ledger: Ledger,
}

impl State {
    fn new(choice: Choice, devices: Vec<String>, ledger: Ledger) -> State {
        State { format: FORMAT, version: env!("CARGO_PKG_VERSION").into(), choice, devices, ledger }
    }

    /// How a campaign that is asked for differs from this one, in words; empty if it is the same.
    fn differences(&self, choice: &Choice, devices: &[String]) -> Vec<String> {
        let (here, asked) = (&self.choice, choice);
        let names = |devices: &[String]| devices.join(", ");
        let text = |variant: &Option<Variant>| variant.as_ref().map(Variant::to_string);
        let without = |choice: &Choice| choice.without.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let rows = [
            ("seed", here.seed.to_string(), asked.seed.to_string()),
            ("devices", names(&self.devices), names(devices)),
            ("profile", or_any(here.profile.map(Profile::name)), or_any(asked.profile.map(Profile::name))),
            ("tier", or_any(here.tier.map(Tier::name)), or_any(asked.tier.map(Tier::name))),
            ("variant", or_any(text(&here.variant)), or_any(text(&asked.variant))),
            ("inputs", here.inputs.to_string(), asked.inputs.to_string()),
            ("without", or_none(without(here)), or_none(without(asked))),
        ];
        let differing = rows.into_iter().filter(|(_, here, asked)| here != asked);
        differing.map(|(what, here, asked)| format!("{what} {here}, not {asked}")).collect()
    }
}

fn or_any(name: Option<impl Into<String>>) -> String {
    name.map_or_else(|| "any".into(), Into::into)
}

fn or_none(names: String) -> String {
    if names.is_empty() { "nothing".into() } else { names }
}

/// The folder of a campaign, which no other process uses meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The lock goes with the file.
    _lock: File,
}

impl Folder {
    /// Makes the folder if it is not there, and locks it.
    ///
    /// # Errors
    /// If it cannot be made or written to, or another process has it.
    pub fn open(path: &Path) -> anyhow::Result<Folder> {
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        let file = path.join("campaign.lock");
        let lock = File::options().create(true).append(true).open(&file);
        let lock = lock.with_context(|| format!("cannot write {}", file.display()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Folder { path: path.to_owned(), _lock: lock }),
            Err(Errno::WOULDBLOCK) => {
                anyhow::bail!("another campaign is running in {}; choose another --out", path.display())
            }
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", file.display())),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The seed of the campaign in the folder, if there is one: a resumed campaign keeps it.
    ///
    /// # Errors
    /// If the folder's campaign cannot be read.
    pub fn seed(&self) -> anyhow::Result<Option<u64>> {
        Ok(self.read()?.map(|state| state.choice.seed))
    }

    fn read(&self) -> anyhow::Result<Option<State>> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let path = self.state_path();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let context = || format!("cannot read {}", path.display());
        let Versioned { format } = serde_json::from_slice(&text).with_context(context)?;
        anyhow::ensure!(
            format == FORMAT,
            "cannot read {}: it has format {format}, and this tangle knows format {FORMAT}",
            path.display()
        );
        serde_json::from_slice(&text).map(Some).with_context(context)
    }

    /// The books of the campaign in the folder, if there is one.
    ///
    /// # Errors
    /// If it is not the campaign that is asked for, or cannot be read.
    pub(super) fn take_up(&self, choice: &Choice, devices: &[String]) -> anyhow::Result<Option<Ledger>> {
        let Some(state) = self.read()? else { return Ok(None) };
        let differences = state.differences(choice, devices);
        anyhow::ensure!(
            differences.is_empty(),
            "{} holds another campaign: {}; choose another --out",
            self.path.display(),
            differences.join("; ")
        );
        Ok(Some(state.ledger))
    }

    /// Saves a campaign.
    pub(super) fn write(&self, choice: &Choice, devices: Vec<String>, ledger: Ledger) -> anyhow::Result<()> {
        let state = State::new(choice.clone(), devices, ledger);
        write_atomically(&self.state_path(), &serde_json::to_vec_pretty(&state)?)
    }

    /// What the campaign in the folder covered, by device; nothing if that was never saved.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn read_coverage(&self) -> anyhow::Result<BTreeMap<String, Coverage>> {
        Ok(read_coverage(&self.path)?.unwrap_or_default())
    }

    /// Saves what a campaign covered, by device.
    pub(super) fn write_coverage(&self, coverage: &BTreeMap<String, Coverage>) -> anyhow::Result<()> {
        write_atomically(&self.path.join(COVERAGE), &serde_json::to_vec(coverage)?)
    }

    fn state_path(&self) -> PathBuf {
        self.path.join("campaign.json")
    }

    /// Where the cases are that a device has, or may have, at the moment.
    pub(super) fn in_flight(&self, device: &str) -> PathBuf {
        self.path.join("in-flight").join(device.replace(['/', ':'], "_"))
    }
}

/// What the campaign in a folder covered, by device; `None` if that was not saved.
///
/// # Errors
/// If it cannot be read.
pub fn read_coverage(folder: &Path) -> anyhow::Result<Option<BTreeMap<String, Coverage>>> {
    let path = folder.join(COVERAGE);
    let context = || format!("cannot read {}", path.display());
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).with_context(context),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(context),
    }
}

/// Writes a file beside its place and renames it, so that it is old or new, never half.
///
/// # Errors
/// If it cannot be written.
pub fn write_atomically(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, contents).with_context(|| format!("cannot write {}", path.display()))?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    #[test]
    fn every_difference_is_told() {
        let here = Choice { seed: 1, ..Choice::default() };
        let state = State::new(here.clone(), vec!["lvp".into()], Ledger::default());
        let asked = Choice {
            seed: 2,
            profile: Some(Profile::Small),
            tier: Some(Tier::Plain),
            variant: Some(Variant::Size),
            inputs: NonZero::<u32>::MIN,
            without: ["subgroupElect".parse().expect("an operation")].into(),
        };
        let lvp = ["lvp".to_owned()];
        let table: [(&Choice, &[String], &[&str]); 3] = [
            (&here, &lvp, &[]),
            (&here, &["lvp".to_owned(), "reference".to_owned()], &["devices lvp, not lvp, reference"]),
            (
                &asked,
                &lvp,
                &[
                    "seed 1, not 2",
                    "profile any, not small",
                    "tier any, not plain",
                    "variant any, not spirv-opt-Os",
                    "inputs 8, not 1",
                    "without nothing, not subgroupElect",
                ],
            ),
        ];
        for (choice, devices, differences) in table {
            assert_eq!(state.differences(choice, devices), differences);
        }
    }

    #[test]
    fn a_folder_is_used_by_one_process_at_a_time_and_an_unknown_format_is_told() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open(place.path()).expect("it is free");
        let error = Folder::open(place.path()).expect_err("it is taken").to_string();
        assert!(error.contains("another campaign is running"), "{error}");
        folder.write(&Choice::default(), vec![], Ledger::default()).expect("it can be written");
        assert_eq!(folder.seed().expect("it can be read"), Some(0));
        fs::write(folder.state_path(), "{\"format\": 9}").expect("it can be written");
        let error = folder.seed().expect_err("an unknown format").to_string();
        assert!(error.contains("format 9") && error.contains("campaign.json"), "{error}");
        drop(folder);
        Folder::open(place.path()).expect("it is free again");
    }
}
