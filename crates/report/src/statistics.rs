//! The statistics of a campaign: what was run, what was compared, what was found. Plain data, saved as JSON in `campaign.json`.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use tangle_analysis::context::Placed;
use tangle_generator::Stats;
use tangle_identity::change::{die_of_one_operation, may_be_one_bug, of_both, show_one_bug, telling};
use tangle_identity::place::CrashPlace;
use tangle_identity::{BugId, Change, Kind, Signature, Status};
use tangle_oracle::judge::Counts;
use tangle_oracle::predict::OpUse;
use tangle_program::subgroup::Severity;

use crate::saved::Rate;
use crate::text::thousands;

/// What one campaign ran, compared and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// By the name of the device.
    pub devices: BTreeMap<String, DeviceEntry>,
    /// Everything that was found, by device and signature.
    pub findings: Vec<SignatureEntry>,
    /// Failures that occurred once, and not when the case ran again with nothing beside it: no findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flakes: Vec<SignatureEntry>,
    /// Panics of tangle itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panics: Vec<PanicEntry>,
    /// What was minimised, by device and bug.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<BugEntry>,
    /// Known bugs that showed and were set aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownEntry>,
    /// What the cases that ran contain, counted once for every device.
    #[serde(default)]
    pub generated: Stats,
    /// Use of each operation, by GLSL name, over all devices.
    pub operations: BTreeMap<String, OpUse>,
    /// Time the campaign ran, in seconds, earlier runs included.
    pub seconds: f64,
}

/// The most names of things that a device lacks.
const MOST_LACKING: usize = 200;

/// What happened on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// The next case number of the sequence.
    pub next_case: u64,
    /// Cases that ran, those that failed included.
    pub cases: u64,
    /// Cases that the device cannot run.
    pub unsupported: u64,
    /// What it lacks for these, with the number of cases that need it; a case may need several.
    #[serde(default)]
    pub lacking: BTreeMap<String, u64>,
    /// Cases that were left out: other data of programs that the device only compiles, that failed with some data, or that have no more.
    #[serde(default)]
    pub left_out: u64,
    /// Programs that were drawn and left out, as they have what shows a known bug or is not wanted.
    #[serde(default)]
    pub avoided: u64,
    /// How many of the cases had each result; only results that occurred.
    pub verdicts: BTreeMap<Status, u64>,
    /// What was compared in these cases.
    pub counts: Counts,
    /// Where the time for these cases went.
    pub times: StageTimes,
    /// Workers that had to be replaced.
    pub restarts: u64,
    /// Programs that took longer than the limit, and ended when they ran alone with ten times as much.
    #[serde(default)]
    pub slow: u64,
    /// Programs whose worker somebody killed, and that went through when they ran again.
    #[serde(default)]
    pub killed: u64,
    /// Programs for which there was no memory, and then was.
    #[serde(default)]
    pub short_of_memory: u64,
    /// Programs that timed out like others that were confirmed as hangs, or that wait for it, and were left out.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Cases that timed out and were left out until that is confirmed, by number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timed_out: BTreeMap<u64, Signature>,
}

/// Where time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    /// Making cases: programs, and their data.
    pub generate: f64,
    /// Printing, compiling and validating.
    pub compile: f64,
    /// Predicting what lanes log, and comparing.
    pub judge: f64,
    /// Writing cases and findings to disk.
    pub save: f64,
    /// The workers together, in the driver: module, pipeline, submit, wait.
    pub driver: f64,
    /// The workers together, busy with anything.
    pub worker: f64,
}

/// Findings with one signature on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignatureEntry {
    /// The name of the device.
    pub device: String,
    /// What they have in common.
    #[serde(flatten)]
    pub signature: Signature,
    /// How many cases showed it; 0 if only candidates of the minimiser did.
    pub cases: u64,
    /// Number of the first such case; if there is none, of the first one with the signature of the finding that was minimised.
    pub first_case: u64,
    /// Number of the last one.
    #[serde(default)]
    pub last_case: u64,
    /// Folders of those that were saved.
    pub folders: Vec<String>,
}

/// Programs that tangle itself panicked with: they are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanicEntry {
    /// The device that they were for.
    pub device: String,
    /// What the panic says.
    pub message: String,
    /// How many programs tangle panicked with in this way.
    pub programs: u64,
    /// Number of the first case of the first of them.
    pub first_case: u64,
}

/// Minimised findings that show the same on one device, whatever their signatures were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BugEntry {
    /// The name of the device.
    pub device: String,
    /// What they have in common: how it fails, and the shape of the minimal program.
    #[serde(flatten)]
    pub bug: BugId,
    /// The operators that all their minimal programs have, where one of them is to blame ([`tangle_identity::operators`]).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub operators: BTreeSet<String>,
    /// The changes that all their minimal programs pass with: what they are recognised by, whatever their shapes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub passes_without: BTreeSet<Change>,
    /// Findings that pass with one of these changes and are not minimised, by their folders: they show the bug, too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recognised: BTreeMap<String, Signature>,
    /// The known bug that it is, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// Signatures of the findings before they were minimised.
    #[serde(deserialize_with = "signatures_of_any_format")]
    pub signatures: BTreeSet<Signature>,
    /// How many findings were minimised to this.
    pub witnesses: u64,
    /// The smallest of them: its folder.
    #[serde(alias = "face")]
    pub representative: String,
    /// Statements of the smallest.
    pub statements: usize,
    /// What the best founded of them rests on.
    #[serde(default)]
    pub severity: Severity,
    /// How often that fails, if not every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flake: Option<Rate>,
}

/// A known bug on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownEntry {
    /// The name of the device.
    pub device: String,
    /// The name of the bug, in its list or book.
    pub bug: String,
    /// How many cases showed it.
    pub cases: u64,
}

/// Signatures; those of older formats are lines, a kind and a text each.
fn signatures_of_any_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Signature>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Any {
        Line(String),
        Signature(Signature),
    }
    let read = |any| match any {
        Any::Signature(signature) => Ok(signature),
        Any::Line(line) => Signature::from_line(&line).ok_or_else(|| D::Error::custom(format!("no signature: {line}"))),
    };
    Vec::<Any>::deserialize(deserializer)?.into_iter().map(read).collect()
}

impl BugEntry {
    /// True if findings with this signature were minimised to the bug, or recognised as it.
    pub fn has(&self, finding: &SignatureEntry) -> bool {
        let mut signatures = self.signatures.iter().chain(self.recognised.values());
        self.device == finding.device && signatures.any(|signature| *signature == finding.signature)
    }

    /// True if both are one known bug, whatever the shapes of their minimal programs.
    fn is_known_as(&self, other: &BugEntry) -> bool {
        self.device == other.device && self.known.is_some() && self.known == other.known
    }

    /// True if both are of one device, and known alike or not at all: only such entries may be one.
    fn stands_beside(&self, other: &BugEntry) -> bool {
        self.device == other.device && self.known == other.known
    }

    /// True if the minimal programs of both fail alike, and pass with the same change.
    fn passes_like(&self, other: &BugEntry) -> bool {
        let (a, b) = (&self.passes_without, &other.passes_without);
        let passes_alike = self.bug.fails_like(&other.bug) && (show_one_bug(a, b) || show_one_bug(b, a));
        self.stands_beside(other)
            && (passes_alike || self.bug.crashes_at_the_work_of(&other.bug) && die_of_one_operation(a, b))
    }

    /// True if the driver dies in the same function of a program of the other one that has no statements, and no change keeps it from that: what all programs have is enough.
    fn dies_of_what_all_have(&self, other: &BugEntry) -> bool {
        let places = |bug: &BugEntry| -> Vec<CrashPlace> {
            bug.signatures.iter().filter_map(|signature| signature.detail.crash_place().cloned()).collect()
        };
        let is_there = |place: &CrashPlace| places(other).iter().any(|there| there.begins_like(place));
        self.stands_beside(other)
            && self.bug.crashes_at_the_work_of(&other.bug)
            && other.statements == 0
            && self.passes_without.is_empty()
            && places(self).iter().any(is_there)
    }

    /// True if its minimal programs may show what those of another entry show: half of their operators are the same.
    /// Those that pass with different changes do not.
    fn is_like(&self, other: &BugEntry) -> bool {
        let (a, b) = (&self.operators, &other.operators);
        let has_half = 2 * a.intersection(b).count() >= a.len().max(b.len());
        let may_pass_alike = may_be_one_bug(&self.passes_without, &other.passes_without);
        self.stands_beside(other) && may_pass_alike && has_half
    }

    /// The bug, the operators of which one is to blame, and what it passes without.
    pub fn title(&self) -> String {
        let operators: Vec<&str> = self.operators.iter().map(String::as_str).collect();
        let operators = if operators.is_empty() { String::new() } else { format!(" ({})", operators.join(" ")) };
        let mut changes: Vec<String> = telling(&self.passes_without).iter().map(ToString::to_string).collect();
        if changes.is_empty() {
            changes.extend(self.passes_without.first().map(ToString::to_string));
        }
        let changes = if changes.is_empty() {
            String::new()
        } else {
            format!("; passes without {}", changes.join(", or without "))
        };
        format!("{}{operators}{changes}", self.bug)
    }

    /// Takes over the witnesses of the same bug.
    fn take(&mut self, other: BugEntry) {
        self.operators.retain(|operator| other.operators.contains(operator));
        self.passes_without = of_both(&self.passes_without, &other.passes_without);
        // One that fails every time represents the others better.
        let order = |bug: &BugEntry| (bug.flake.is_some(), bug.statements);
        let is_better = order(&other) < order(self);
        self.severity = self.severity.min(other.severity);
        self.witnesses += other.witnesses;
        self.signatures.extend(other.signatures);
        self.recognised.extend(other.recognised);
        // Whichever is smaller, the simpler one that explains the other names them: what it explains has to find it.
        if self.bug.is_explained_by(&other.bug) || is_better && !other.bug.is_explained_by(&self.bug) {
            self.bug = other.bug;
        }
        if is_better {
            self.statements = other.statements;
            self.representative = other.representative;
            self.flake = other.flake;
        }
    }
}

impl DeviceEntry {
    /// True if it only compiled: the driver is one without its hardware.
    pub fn compiled_only(&self) -> bool {
        self.verdicts.contains_key(&Status::Compiled)
            && ![Status::Pass, Status::Vacuous].iter().any(|status| self.verdicts.contains_key(status))
    }
}

impl DeviceEntry {
    /// What it lacks, what most cases need first.
    pub fn most_lacking(&self) -> Vec<(&str, u64)> {
        let mut lacking: Vec<(&str, u64)> = self.lacking.iter().map(|(what, &count)| (what.as_str(), count)).collect();
        lacking.sort_by_key(|&(_, count)| Reverse(count));
        lacking
    }

    /// Adds another campaign, or another part of the same.
    fn merge(&mut self, other: DeviceEntry) {
        let DeviceEntry {
            next_case,
            cases,
            unsupported,
            lacking,
            left_out,
            avoided,
            verdicts,
            counts,
            times,
            restarts,
            slow,
            killed,
            short_of_memory,
            unconfirmed,
            timed_out,
        } = other;
        self.next_case = self.next_case.max(next_case);
        self.cases += cases;
        self.unsupported += unsupported;
        for (what, count) in lacking {
            *self.lacking.entry(what).or_default() += count;
        }
        self.left_out += left_out;
        self.avoided += avoided;
        for (verdict, count) in verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.counts.add(counts);
        self.times.generate += times.generate;
        self.times.compile += times.compile;
        self.times.judge += times.judge;
        self.times.save += times.save;
        self.times.driver += times.driver;
        self.times.worker += times.worker;
        self.restarts += restarts;
        self.slow += slow;
        self.killed += killed;
        self.short_of_memory += short_of_memory;
        self.unconfirmed += unconfirmed;
        self.timed_out.extend(timed_out);
    }
}

impl SignatureEntry {
    /// Adds the findings of another campaign, or of another part of the same.
    fn merge(&mut self, other: SignatureEntry) {
        self.cases += other.cases;
        self.first_case = self.first_case.min(other.first_case);
        self.last_case = self.last_case.max(other.last_case);
        self.folders.extend(other.folders);
    }
}

/// The entry for a signature on a device, new or not.
fn entry_of<'a>(
    entries: &'a mut Vec<SignatureEntry>,
    device: &str,
    signature: &Signature,
    index: u64,
) -> &'a mut SignatureEntry {
    let known = entries.iter().position(|entry| entry.device == device && entry.signature == *signature);
    let at = known.unwrap_or_else(|| {
        entries.push(SignatureEntry {
            device: device.into(),
            signature: signature.clone(),
            cases: 0,
            first_case: index,
            last_case: index,
            folders: Vec::new(),
        });
        entries.len() - 1
    });
    &mut entries[at]
}

/// Entries of several campaigns by device and signature: there may be a hundred thousand.
#[derive(Default)]
struct Entries(BTreeMap<(String, Signature), SignatureEntry>);

impl Entries {
    fn add(&mut self, entries: Vec<SignatureEntry>) {
        for entry in entries {
            match self.0.entry((entry.device.clone(), entry.signature.clone())) {
                Entry::Vacant(place) => drop(place.insert(entry)),
                Entry::Occupied(place) => place.into_mut().merge(entry),
            }
        }
    }

    /// In order, each folder once.
    fn all(self) -> Vec<SignatureEntry> {
        let mut all: Vec<SignatureEntry> = self.0.into_values().collect();
        for entry in &mut all {
            entry.folders.sort();
            entry.folders.dedup();
        }
        all
    }
}

impl StageTimes {
    /// Share of the worker's busy time that the driver had, 0 to 1.
    pub fn driver_share(&self) -> f64 {
        if self.worker > 0.0 { self.driver / self.worker } else { 1.0 }
    }
}

impl Statistics {
    /// Enters case number `index`: its verdict, and what was compared. The cases of a device are entered
    /// in order, each once; one that was [left out](Statistics::leave_out) may be entered later.
    pub fn enter(&mut self, device: &str, index: u64, verdict: Status, counts: Counts) {
        let entry = self.devices.entry(device.into()).or_default();
        if index < entry.next_case {
            entry.left_out = entry.left_out.saturating_sub(1);
        }
        entry.next_case = entry.next_case.max(index + 1);
        match verdict {
            Status::NotRun => entry.unsupported += 1,
            verdict => {
                entry.cases += 1;
                *entry.verdicts.entry(verdict).or_default() += 1;
                entry.counts.add(counts);
            }
        }
    }

    /// Enters what a device lacks for a case that it cannot run. Names beyond the first [`MOST_LACKING`] are not kept.
    pub fn enter_lacking(&mut self, device: &str, missing: &[String]) {
        let lacking = &mut self.devices.entry(device.into()).or_default().lacking;
        for what in missing {
            if lacking.len() < MOST_LACKING || lacking.contains_key(what) {
                *lacking.entry(what.clone()).or_default() += 1;
            }
        }
    }

    /// Passes over case number `index`.
    pub fn leave_out(&mut self, device: &str, index: u64) {
        let entry = self.devices.entry(device.into()).or_default();
        if index >= entry.next_case {
            (entry.next_case, entry.left_out) = (index + 1, entry.left_out + 1);
        }
    }

    /// Counts the use of the operations of a case.
    pub fn enter_operations(&mut self, program: &[Placed], used: &[OpUse]) {
        for (placed, used) in program.iter().zip(used) {
            self.operations.entry(placed.op.info().name.into()).or_default().add(*used);
        }
    }

    /// The entry for a signature on a device, if there is one.
    pub fn found(&self, device: &str, signature: &Signature) -> Option<&SignatureEntry> {
        self.findings.iter().find(|entry| entry.device == device && entry.signature == *signature)
    }

    /// The entry for a signature on a device, new or not.
    pub fn finding(&mut self, device: &str, signature: &Signature, index: u64) -> &mut SignatureEntry {
        entry_of(&mut self.findings, device, signature, index)
    }

    /// The entry for the signature of failures that occurred once, new or not.
    pub fn flake(&mut self, device: &str, signature: &Signature, index: u64) -> &mut SignatureEntry {
        entry_of(&mut self.flakes, device, signature, index)
    }

    /// Counts a program that tangle panicked with. True if none like it was there.
    pub fn enter_panic(&mut self, device: &str, first_case: u64, message: &str) -> bool {
        let there = self.panics.iter_mut().find(|entry| entry.device == device && entry.message == message);
        match there {
            Some(entry) => entry.programs += 1,
            None => {
                let (device, message) = (device.to_owned(), message.to_owned());
                self.panics.push(PanicEntry { device, message, programs: 1, first_case });
                return true;
            }
        }
        false
    }

    /// Counts a case that shows a known bug.
    pub fn enter_known(&mut self, device: &str, bug: &str) {
        match self.known.iter_mut().find(|entry| entry.device == device && entry.bug == bug) {
            Some(entry) => entry.cases += 1,
            None => self.known.push(KnownEntry { device: device.into(), bug: bug.into(), cases: 1 }),
        }
    }

    /// Counts a minimised finding. A bug that a simpler one on the same device explains goes into that, one that passes with the same
    /// change, and one that is the same known bug.
    pub fn enter_bug(&mut self, bug: BugEntry) {
        let is_explained_by = |a: &BugEntry, b: &BugEntry| {
            a.is_known_as(b)
                || a.is_like(b) && a.bug.is_explained_by(&b.bug)
                || a.passes_like(b)
                || a.dies_of_what_all_have(b)
        };
        let (finding, mut bug, mut place) = (bug.clone(), bug, None);
        // Rows that explain one finding are one, as are those that what tells it makes so.
        // But half of its operators may be in a row, and the other half in another.
        let explains = |bug: &BugEntry, entry: &BugEntry| {
            let may_be_one = || may_be_one_bug(&bug.passes_without, &entry.passes_without);
            is_explained_by(bug, entry)
                || finding.operators.is_empty() && is_explained_by(&finding, entry) && may_be_one()
        };
        while let Some(at) = self.bugs.iter().position(|entry| explains(&bug, entry)) {
            let mut entry = self.bugs.remove(at);
            entry.take(bug);
            bug = entry;
            place.get_or_insert(at);
        }
        let (explained, mut bugs): (Vec<BugEntry>, Vec<BugEntry>) =
            std::mem::take(&mut self.bugs).into_iter().partition(|entry| is_explained_by(entry, &bug));
        explained.into_iter().for_each(|entry| bug.take(entry));
        bugs.insert(place.unwrap_or(bugs.len()).min(bugs.len()), bug);
        self.bugs = bugs;
    }

    /// Counts a finding that is not minimised as the bug of a device whose programs pass with the same changes, known under a name perhaps.
    /// False if there is none.
    pub fn recognise(
        &mut self,
        device: &str,
        changes: &BTreeSet<Change>,
        known: Option<&str>,
        folder: &str,
        signature: &Signature,
    ) -> bool {
        let is_it = |bug: &&mut BugEntry| match known {
            Some(name) => bug.known.as_deref() == Some(name),
            None => show_one_bug(changes, &bug.passes_without),
        };
        let Some(bug) = self.bugs.iter_mut().filter(|bug| bug.device == device).find(is_it) else { return false };
        bug.recognised.insert(folder.to_owned(), signature.clone());
        true
    }

    /// A finding that was recognised is minimised: what comes of that says more.
    pub fn forget_recognised(&mut self, folder: &str) {
        self.bugs.iter_mut().for_each(|bug| drop(bug.recognised.remove(folder)));
    }

    /// Adds up campaigns. The order decides nothing but which of equally small programs represents a bug.
    pub fn sum(campaigns: impl IntoIterator<Item = Statistics>) -> Statistics {
        let mut sum = Statistics::default();
        let (mut findings, mut flakes) = (Entries::default(), Entries::default());
        let mut known: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut bugs: Vec<BugEntry> = Vec::new();
        for one in campaigns {
            for (device, entry) in one.devices {
                sum.devices.entry(device).or_default().merge(entry);
            }
            findings.add(one.findings);
            flakes.add(one.flakes);
            bugs.extend(one.bugs);
            sum.panics.extend(one.panics);
            for entry in one.known {
                *known.entry((entry.device, entry.bug)).or_default() += entry.cases;
            }
            sum.generated.merge(&one.generated);
            for (name, used) in one.operations {
                sum.operations.entry(name).or_default().add(used);
            }
            sum.seconds += one.seconds;
        }
        // Which of three programs share an operator with which first.
        bugs.sort_by_cached_key(|bug| (bug.statements, bug.operators.clone(), bug.representative.clone()));
        bugs.into_iter().for_each(|bug| sum.enter_bug(bug));
        (sum.findings, sum.flakes) = (findings.all(), flakes.all());
        sum.bugs.sort_by(|a, b| (&a.device, a.bug.to_string()).cmp(&(&b.device, b.bug.to_string())));
        sum.known = known.into_iter().map(|((device, bug), cases)| KnownEntry { device, bug, cases }).collect();
        sum
    }

    /// True if findings may be something that is not known: none of them was minimised, or not all to known bugs.
    pub fn is_unexpected(&self, finding: &SignatureEntry) -> bool {
        let mut bugs = self.bugs.iter().filter(|bug| bug.has(finding)).peekable();
        bugs.peek().is_none() || bugs.any(|bug| bug.known.is_none())
    }

    /// What findings rest on: a minimised one may have been judged at a tier where it rests on more.
    pub fn severity(&self, finding: &SignatureEntry) -> Severity {
        let its = self.bugs.iter().filter(|bug| bug.has(finding));
        its.map(|bug| bug.severity).chain([finding.signature.severity()]).min().unwrap_or_default()
    }

    /// Cases with the signatures that were minimised to a bug.
    pub fn cases_of(&self, bug: &BugEntry) -> u64 {
        self.findings.iter().filter(|finding| bug.has(finding)).map(|finding| finding.cases).sum()
    }

    /// How many different signatures there are, on all devices together.
    pub fn signatures(&self) -> usize {
        self.findings.iter().map(|entry| &entry.signature).collect::<BTreeSet<_>>().len()
    }

    /// Cases run on all devices.
    pub fn cases(&self) -> u64 {
        self.devices.values().map(|entry| entry.cases).sum()
    }

    /// What was compared on all devices.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.devices.values().for_each(|entry| sum.add(entry.counts));
        sum
    }

    /// Cases with findings, by kind; known bugs are not among them.
    pub fn by_kind(&self) -> BTreeMap<Kind, u64> {
        let mut kinds = BTreeMap::new();
        for entry in &self.findings {
            *kinds.entry(entry.signature.kind).or_default() += entry.cases;
        }
        kinds
    }

    /// The progress line; `run_here` is how many cases this run of the campaign has run in `elapsed`.
    pub fn line(&self, elapsed: Duration, run_here: u64) -> String {
        let counts = self.counts();
        let rate = run_here as f64 / elapsed.as_secs_f64().max(0.001);
        let kinds: Vec<String> =
            self.by_kind().into_iter().map(|(kind, cases)| format!("{} {cases}", kind.name())).collect();
        let found = if kinds.is_empty() { "no findings".into() } else { format!("findings: {}", kinds.join(", ")) };
        let bugs = if self.bugs.is_empty() { String::new() } else { format!(", {} bugs", self.bugs.len()) };
        format!(
            "{} cases, {rate:.1}/s, {} values checked, {found} ({} signatures{bugs})",
            thousands(self.cases()),
            thousands(counts.checked),
            self.signatures()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_identity::failure::Doing;
    use tangle_identity::failure::{Crash, End};
    use tangle_identity::place::Frame;
    use tangle_identity::skeleton::Part;
    use tangle_identity::{Detail, Skeleton};

    fn bug(bug: BugId, signature: &Signature, statements: usize, known: Option<&str>) -> BugEntry {
        BugEntry {
            device: "lvp".into(),
            representative: format!("{bug}-{statements}"),
            bug,
            operators: BTreeSet::new(),
            passes_without: BTreeSet::new(),
            recognised: BTreeMap::new(),
            known: known.map(Into::into),
            signatures: [signature.clone()].into(),
            witnesses: 1,
            statements,
            severity: Severity::Strong,
            flake: None,
        }
    }

    #[test]
    fn a_finding_is_unexpected_until_all_that_it_was_minimised_to_is_known() {
        let signature = Signature::new(Kind::Value, Detail::Text("ballot".into()));
        let named = |name: &str| BugId::Text(name.into());
        let after_loop = |of_operation| BugId::WrongResult {
            optimised: false,
            shape: Skeleton::AfterLoop { of_operation, with: BTreeSet::new() },
        };
        let mut statistics = Statistics::default();
        let finding = statistics.finding("lvp", &signature, 3).clone();
        assert!(statistics.is_unexpected(&finding), "nothing was minimised");
        statistics.enter_bug(bug(named("loop"), &signature, 9, Some("the loop bug")));
        statistics.enter_bug(bug(named("loop"), &signature, 5, Some("the loop bug")));
        assert!(!statistics.is_unexpected(&finding));
        let first = &statistics.bugs[0];
        assert_eq!((first.witnesses, first.representative.as_str()), (2, "loop-5"), "the smallest represents them");
        statistics.enter_bug(bug(named("switch"), &signature, 7, None));
        statistics.enter_bug(bug(after_loop(true), &signature, 3, None));
        statistics.enter_bug(bug(after_loop(false), &signature, 4, None));
        statistics.enter_bug(bug(after_loop(true), &signature, 6, None));
        let last = statistics.bugs.last().expect("a bug");
        assert_eq!(
            (statistics.bugs.len(), &last.bug, last.witnesses),
            (3, &after_loop(false), 3),
            "one explains the other"
        );
        assert_eq!(last.representative, "wrong result: after-loop of op-3");
        assert!(statistics.is_unexpected(&finding), "one signature may stand for several bugs");
    }

    #[test]
    fn a_known_bug_is_one_whatever_shapes_its_programs_have() {
        let signature = Signature::new(Kind::Value, Detail::Text("quads".into()));
        let swap = |way: &str, known| bug(BugId::Text(format!("swap {way}")), &signature, 2, known);
        let mut statistics = Statistics::default();
        for entry in [
            swap("horizontal", Some("helpers")),
            swap("vertical", None),
            swap("diagonal", Some("helpers")),
            swap("vertical", Some("order")),
            BugEntry { device: "swiftshader".into(), ..swap("vertical", Some("helpers")) },
        ] {
            statistics.enter_bug(entry);
        }
        let rows: Vec<(&str, Option<&str>, u64)> =
            statistics.bugs.iter().map(|bug| (bug.device.as_str(), bug.known.as_deref(), bug.witnesses)).collect();
        let wanted = [("lvp", Some("helpers"), 2), ("lvp", None, 1), ("lvp", Some("order"), 1)];
        assert_eq!(rows[..3], wanted);
        assert_eq!(rows[3..], [("swiftshader", Some("helpers"), 1)]);
    }

    #[test]
    fn bugs_of_one_shape_with_other_operators_are_two() {
        let signature = Signature::new(Kind::Value, Detail::Text("computed value".into()));
        let with = |operators: &[&str], known| BugEntry {
            operators: operators.iter().map(|&operator| operator.into()).collect(),
            ..bug(BugId::Text("log".into()), &signature, 1, known)
        };
        let mut statistics = Statistics::default();
        for entry in [
            with(&["-", "<<"], Some("negation")),
            with(&["-", "max"], Some("negation")),
            with(&["&", "<<", ">>"], None),
            with(&["-", "max"], None),
            with(&["-", "<<"], None),
            with(&[], None),
        ] {
            statistics.enter_bug(entry);
        }
        let shown: Vec<(String, u64)> = statistics.bugs.iter().map(|bug| (bug.title(), bug.witnesses)).collect();
        let wanted = [("log (-)", 2), ("log (& << >>)", 1), ("log (-)", 2), ("log", 1)];
        assert_eq!(shown, wanted.map(|(title, witnesses)| (title.to_string(), witnesses)));
    }

    #[test]
    fn bugs_that_pass_with_one_change_are_one_whatever_their_shapes() {
        let signature = |what: &str| Signature::new(Kind::Value, Detail::Text(what.into()));
        let change = |text: &str| text.parse::<Change>().expect("a change");
        let (in_loop, in_switch) = (change("subgroupBarrier in a loop"), change("subgroupBarrier in a switch"));
        let shape = |part| BugId::WrongResult {
            optimised: false,
            shape: Skeleton::Shape { parts: vec![part], with: BTreeSet::new() },
        };
        let [log, exit, jump] = [Part::Log, Part::Break, Part::Continue].map(shape);
        let dies = BugId::Dies {
            kind: Kind::Hang,
            doing: Doing::Run,
            shape: Skeleton::Shape { parts: Vec::new(), with: BTreeSet::new() },
        };
        let with = |id: &BugId, what: &str, changes: &[Change]| BugEntry {
            passes_without: changes.iter().copied().collect(),
            ..bug(id.clone(), &signature(what), 3, None)
        };
        let mut statistics = Statistics::default();
        for entry in [
            with(&log, "a", &[in_loop, in_switch]),
            BugEntry { statements: 2, ..with(&exit, "b", &[in_loop]) },
            // A barrier, wherever it stands.
            with(&exit, "c", &[in_switch]),
            // No change, another failure: other bugs.
            with(&jump, "d", &[]),
            with(&dies, "e", &[in_loop]),
        ] {
            statistics.enter_bug(entry);
        }
        let rows: Vec<(u64, usize)> =
            statistics.bugs.iter().map(|bug| (bug.witnesses, bug.passes_without.len())).collect();
        assert_eq!(rows, [(3, 2), (1, 0), (1, 1)]);
        assert_eq!(statistics.bugs[0].bug, exit, "the smallest names it");
        let title = statistics.bugs[0].title();
        let both = "; passes without subgroupBarrier in a switch, or without subgroupBarrier in a loop";
        assert!(title.ends_with(both), "{title}");
        let found = statistics.finding("lvp", &signature("f"), 9).clone();
        assert!(!statistics.recognise("other", &[in_loop].into(), None, "findings/f", &found.signature));
        assert!(statistics.recognise("lvp", &[in_loop].into(), None, "findings/f", &found.signature));
        assert!(statistics.bugs[0].has(&found), "it is that bug");
        let json = serde_json::to_string(&statistics.bugs[0]).expect("plain data");
        assert_eq!(serde_json::from_str::<BugEntry>(&json).expect("it was just written"), statistics.bugs[0]);
        statistics.forget_recognised("findings/f");
        assert!(!statistics.bugs[0].has(&found), "it was minimised to another");
    }

    /// What the simplest shape explains is found to be that bug, whichever of its programs is the smallest.
    #[test]
    fn the_simplest_shape_names_a_bug() {
        let signature = Signature::new(Kind::Value, Detail::Text("loops".into()));
        let lost = |optimised, of_operation| BugId::WrongResult {
            optimised,
            shape: Skeleton::AfterLoop { of_operation, with: BTreeSet::new() },
        };
        let values = "values used behind their loops, uncopied".parse::<Change>().expect("a change");
        let with = |id: BugId, statements, changes: &[Change]| BugEntry {
            passes_without: changes.iter().copied().collect(),
            ..bug(id, &signature, statements, None)
        };
        let mut statistics = Statistics::default();
        statistics.enter_bug(with(lost(false, true), 3, &[values]));
        statistics.enter_bug(with(lost(false, false), 4, &[values]));
        statistics.enter_bug(with(lost(true, false), 2, &[]));
        let rows: Vec<(&BugId, u64, usize)> =
            statistics.bugs.iter().map(|bug| (&bug.bug, bug.witnesses, bug.statements)).collect();
        assert_eq!(rows, [(&lost(false, false), 3, 2)]);
    }

    #[test]
    fn crashes_are_one_bug_by_their_operation_or_if_no_statement_is_needed() {
        let frame = |symbol| Frame::Library { path: "libLLVM.so", symbol: Some(symbol), function: None };
        let died_in = |symbol| {
            let place = CrashPlace::of([frame(symbol)]);
            Signature::new(
                Kind::Crash,
                Detail::Crash(Crash { end: End::Signal(11), doing: Doing::Run, place, message: None }),
            )
        };
        let signature = died_in("isIEEE");
        let change = |text: &str| text.parse::<Change>().expect("a change");
        let first = change("subgroupBroadcastFirst around its operand in straight code");
        let sum = change("+ around its operand in straight code");
        let shape = |parts| Skeleton::Shape { parts, with: BTreeSet::new() };
        let dies = |doing, parts| BugId::Dies { kind: Kind::Crash, doing, shape: shape(parts) };
        let crashes =
            BugId::Crashes { doing: Doing::Run, place: CrashPlace::of([frame("isIEEE")]).expect("a driver's") };
        let with = |id: BugId, statements, changes: &[Change]| BugEntry {
            passes_without: changes.iter().copied().collect(),
            ..bug(id, &signature, statements, None)
        };
        let mut statistics = Statistics::default();
        for entry in [
            with(crashes, 1, &[sum, first]),
            with(dies(Doing::Run, vec![Part::Log]), 2, &[first]),
            // While it does something else, or without that operation.
            with(dies(Doing::Pipeline, vec![Part::Log]), 2, &[first]),
            with(dies(Doing::Run, vec![Part::Break]), 2, &[sum]),
            with(dies(Doing::Run, vec![Part::Continue]), 3, &[]),
            with(dies(Doing::Run, vec![]), 0, &[]),
            with(dies(Doing::Run, vec![Part::Continue, Part::Log]), 4, &[]),
            // In another function.
            BugEntry {
                signatures: [died_in("getSplat")].into(),
                ..with(dies(Doing::Run, vec![Part::Break, Part::Log]), 5, &[])
            },
        ] {
            statistics.enter_bug(entry);
        }
        let rows: Vec<(u64, usize)> = statistics.bugs.iter().map(|bug| (bug.witnesses, bug.statements)).collect();
        assert_eq!(rows, [(2, 1), (1, 2), (1, 2), (3, 0), (1, 5)]);
    }

    #[test]
    fn what_tells_a_bug_stays_with_it() {
        let signature = Signature::new(Kind::Value, Detail::Text("computed value".into()));
        let change = |text: &str| text.parse::<Change>().expect("a change");
        let value = change("values used behind their loops, uncopied");
        let long = change("loops of tens of thousands of iterations");
        let shape = Skeleton::AfterLoop { of_operation: false, with: BTreeSet::new() };
        let with = |changes: &[Change]| BugEntry {
            passes_without: changes.iter().copied().collect(),
            ..bug(BugId::WrongResult { optimised: false, shape: shape.clone() }, &signature, 3, None)
        };
        let mut statistics = Statistics::default();
        let sum = change("+ around its operand in straight code");
        // One that fails now and then says nothing, nor does one of which nothing tells.
        for changes in [&[][..], &[value, sum], &[], &[sum], &[value], &[long], &[long]] {
            statistics.enter_bug(with(changes));
        }
        let rows: Vec<_> = statistics.bugs.iter().map(|bug| (bug.witnesses, bug.passes_without.clone())).collect();
        assert_eq!(rows, [(5, [value].into()), (2, [long].into())], "two bugs of one shape");
        // One of which nothing tells does not make them one.
        statistics.enter_bug(with(&[]));
        let rows: Vec<u64> = statistics.bugs.iter().map(|bug| bug.witnesses).collect();
        assert_eq!(rows, [6, 2]);
        // A row of another shape, of which nothing told at first.
        let shape = BugId::WrongResult {
            optimised: false,
            shape: Skeleton::Shape { parts: vec![Part::Log], with: BTreeSet::new() },
        };
        let other = |changes: &[Change]| BugEntry { bug: shape.clone(), ..with(changes) };
        statistics.enter_bug(other(&[]));
        assert_eq!(statistics.bugs.len(), 3);
        statistics.enter_bug(other(&[value]));
        let rows: Vec<u64> = statistics.bugs.iter().map(|bug| bug.witnesses).collect();
        assert_eq!(rows, [8, 2], "then it is one with the other");
    }

    #[test]
    fn bugs_of_older_campaigns_are_read() {
        let old = r#"{"device":"lvp","name":"wrong result: after-loop","signatures":["value: ballot, wrong value"],"witnesses":1,
            "face":"findings/x","statements":4}"#;
        let old: BugEntry = serde_json::from_str(old).expect("a bug");
        assert_eq!(
            (old.bug.to_string().as_str(), old.representative.as_str()),
            ("wrong result: after-loop", "findings/x")
        );
        let again: BugEntry = serde_json::from_str(&serde_json::to_string(&old).expect("plain data")).expect("a bug");
        assert_eq!(again, old);
    }
}
