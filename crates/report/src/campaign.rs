//! A campaign: the model that every reporter shows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tangle_identity::stage::Stage;
use tangle_identity::{Signature, Status};
use tangle_oracle::coverage::Coverage;

use crate::statistics::{BugEntry, SignatureEntry, Statistics};

/// A campaign, as far as its reports show it.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// What it is: seed, profile, version; names and values.
    pub about: Vec<(String, String)>,
    /// Which versions of tangle and of drivers it went on with, and from where on: a sentence each.
    pub sections: Vec<String>,
    /// Its devices, in the order of its sequence.
    pub devices: Vec<String>,
    /// What it ran, compared and found.
    pub statistics: Statistics,
    /// Its figures over time, oldest first.
    pub samples: Vec<Sample>,
    /// What was covered, by device.
    pub coverage: BTreeMap<String, Coverage>,
    /// What is in the folders of findings, by folder below that of the campaign; old or deleted ones are not here.
    pub programs: BTreeMap<String, SavedProgram>,
    /// Findings that should have been minimised and were not, with the reasons.
    pub not_minimized: BTreeMap<PathBuf, String>,
    /// The campaign's folder, for commands.
    pub folder: PathBuf,
    /// The address of that folder from the place of the report: relative, ends with `/`.
    pub address: String,
    /// Where the folder is not beside the report: pages of findings, by the folders of these below that of the campaign. Nothing else of it is
    /// linked then.
    pub pages: Option<BTreeMap<String, String>>,
}

/// What is in a finding's folder.
#[derive(Clone, Debug, Default)]
pub struct SavedProgram {
    /// Statements of its program.
    pub statements: usize,
    /// Its functions in GLSL.
    pub program: String,
    /// Its `report.txt`, as it was written.
    pub report: String,
    /// Which devices show it although their drivers are not to blame, and the stage that is instead ([`tangle_identity::stage`]).
    pub others_to_blame: BTreeMap<String, Stage>,
}

/// The findings with one signature.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What they have in common.
    pub signature: &'a Signature,
    /// Where it was seen: an entry for each device.
    pub seen: Vec<&'a SignatureEntry>,
}

impl Campaign {
    /// The stage that is to blame for a bug, if it is known and is not the driver of the device that shows it.
    pub fn other_to_blame(&self, bug: &BugEntry) -> Option<Stage> {
        self.programs.get(&bug.representative)?.others_to_blame.get(&bug.device).copied()
    }

    /// The bugs: unknown ones first, then by how many cases show them.
    pub fn bugs(&self) -> Vec<&BugEntry> {
        let mut bugs: Vec<&BugEntry> = self.statistics.bugs.iter().collect();
        bugs.sort_by_key(|bug| (bug.known.is_some(), std::cmp::Reverse(self.statistics.cases_of(bug))));
        bugs
    }

    /// Signatures of which no finding was minimised, those that most cases show first.
    pub fn not_explained(&self) -> Vec<&SignatureEntry> {
        let is_explained = |entry: &SignatureEntry| self.statistics.bugs.iter().any(|bug| bug.has(entry));
        let mut left: Vec<&SignatureEntry> =
            self.statistics.findings.iter().filter(|entry| !is_explained(entry)).collect();
        left.sort_by_key(|entry| std::cmp::Reverse(entry.cases));
        left
    }

    /// Findings by signature, those that most cases show first within a kind.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for entry in &self.statistics.findings {
            match groups.iter_mut().find(|group| *group.signature == entry.signature) {
                Some(group) => group.seen.push(entry),
                None => groups.push(Group { signature: &entry.signature, seen: vec![entry] }),
            }
        }
        groups.sort_by_cached_key(|group| {
            (group.signature.kind, std::cmp::Reverse(group.cases()), group.signature.detail.clone())
        });
        groups
    }

    /// The smallest saved program of findings, minimised or not: folder and contents.
    pub fn smallest<'a>(&'a self, seen: &[&'a SignatureEntry]) -> Option<(&'a str, &'a SavedProgram)> {
        let folders = seen.iter().flat_map(|entry| &entry.folders);
        let both = folders.flat_map(|folder| [folder.clone(), minimized(folder)]);
        let saved = both.filter_map(|folder| self.programs.get_key_value(&folder));
        saved.min_by_key(|(_, saved)| saved.statements).map(|(folder, saved)| (folder.as_str(), saved))
    }
}

impl Group<'_> {
    /// Cases that show it, on all devices.
    pub fn cases(&self) -> u64 {
        self.seen.iter().map(|entry| entry.cases).sum()
    }
}

/// The folder of a finding's minimised form.
pub fn minimized(folder: &str) -> String {
    format!("{folder}/minimized")
}

/// The figures of one moment. Counts are those of the whole campaign, earlier runs included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When: seconds since 1970 (UTC).
    pub time: u64,
    /// Seconds that the campaign has run.
    pub seconds: f64,
    /// The figures of each device, by its name.
    pub devices: BTreeMap<String, DeviceSample>,
    /// Different signatures of findings, on all devices together.
    pub signatures: u64,
    /// Cases with findings, without those that show known bugs.
    pub findings: u64,
    /// Cases that show known bugs.
    pub known: u64,
    /// What the minimised findings come down to.
    pub bugs: u64,
    /// Findings that wait to be minimised.
    pub waiting: u64,
    /// Memory of this process in bytes, without the workers; 0 if that is not known.
    pub memory: u64,
}

/// The figures of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSample {
    /// Cases that ran, since the campaign began.
    pub cases: u64,
    /// Cases that it cannot run.
    pub unsupported: u64,
    /// Values compared in these cases.
    pub checked: u64,
    /// How many of the cases had each result; only results that occurred.
    pub verdicts: BTreeMap<Status, u64>,
    /// Workers that had to be replaced.
    pub restarts: u64,
    /// Filled cells of the coverage table, and all of them.
    pub coverage: (usize, usize),
}

impl Sample {
    /// Cases run on all devices.
    pub fn cases(&self) -> u64 {
        self.devices.values().map(|device| device.cases).sum()
    }

    /// Values compared on all devices.
    pub fn checked(&self) -> u64 {
        self.devices.values().map(|device| device.checked).sum()
    }
}
