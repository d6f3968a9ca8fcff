//! The books of a campaign: what was run, what was compared, what was found. Plain data, saved as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tangle_generator::Stats;
use tangle_oracle::judge::{Counts, Verdict};
use tangle_oracle::predict::OpUse;
use tangle_program::subgroup::TABLE;
use tangle_runner::DeviceStats;
use tangle_triage::{Kind, Signature};

use crate::target::{Conclusion, Finish};

/// The books of one campaign.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// By device.
    pub devices: BTreeMap<String, DeviceBook>,
    /// Everything that was found, by device and signature.
    pub findings: Vec<FindingBook>,
    /// What the cases contain, each counted once however many devices ran it.
    #[serde(default)]
    pub generated: Stats,
    /// Use of each operation, by GLSL name, over all devices.
    pub operations: BTreeMap<String, OpUse>,
    /// Time the campaign ran, in seconds, earlier runs included.
    pub seconds: f64,
}

/// What happened on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceBook {
    /// The next case number of the sequence.
    pub next_case: u64,
    /// Cases that ran.
    pub cases: u64,
    /// Cases that the device cannot run.
    pub unsupported: u64,
    /// Cases by verdict: `pass`, `vacuous`, `compiled`, and the kinds of findings.
    pub verdicts: BTreeMap<String, u64>,
    /// What was compared.
    pub counts: Counts,
    /// Where time went.
    pub times: StageTimes,
    /// Workers that had to be replaced.
    pub restarts: u64,
}

/// Where time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    /// Making cases.
    pub generate: f64,
    /// Printing, compiling and validating.
    pub compile: f64,
    /// Predicting and comparing.
    pub judge: f64,
    /// Writing cases and findings to disk.
    pub save: f64,
    /// The worker, in the driver: module, pipeline, submit, wait.
    pub driver: f64,
    /// The worker, busy with anything.
    pub worker: f64,
}

/// Findings with one signature on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingBook {
    /// The device.
    pub device: String,
    /// What they have in common.
    #[serde(flatten)]
    pub signature: Signature,
    /// How many cases showed it.
    pub cases: u64,
    /// Number of the first such case.
    pub first_case: u64,
    /// Folders of those that were saved.
    pub folders: Vec<String>,
}

impl DeviceBook {
    /// Takes over what the runner counted since the device was opened, on top of `before`.
    pub fn take_stats(&mut self, before: &DeviceBook, stats: DeviceStats) {
        self.times.worker = before.times.worker + stats.busy.as_secs_f64();
        self.times.driver = before.times.driver + stats.driver.as_secs_f64();
        self.restarts = before.restarts + stats.restarts;
    }
}

impl StageTimes {
    /// Share of the worker's busy time that the driver had, 0 to 1.
    pub fn driver_share(&self) -> f64 {
        if self.worker > 0.0 { self.driver / self.worker } else { 1.0 }
    }
}

impl Ledger {
    /// Enters the conclusion of one case. Gives the signature if it is a finding.
    pub fn enter(&mut self, device: &str, conclusion: &Conclusion, signature: Option<&Signature>) {
        let book = self.devices.entry(device.into()).or_default();
        let verdict = match (&conclusion.finish, signature) {
            (Finish::Unsupported { .. }, _) => {
                book.unsupported += 1;
                return;
            }
            (_, Some(signature)) => signature.kind.name(),
            (Finish::Judged(judgement), None) if judgement.verdict == Verdict::Vacuous => "vacuous",
            (Finish::Judged(_), None) => "pass",
            (Finish::Compiled, None) => "compiled",
            (_, None) => "no_worker",
        };
        book.cases += 1;
        *book.verdicts.entry(verdict.into()).or_default() += 1;
        if let Finish::Judged(judgement) = &conclusion.finish {
            book.counts.add(judgement.counts);
            for (info, op_use) in TABLE.iter().zip(&judgement.op_use) {
                self.operations.entry(info.name.into()).or_default().add(*op_use);
            }
        }
    }

    /// The entry for a signature on a device, new or not.
    pub fn finding(&mut self, device: &str, signature: &Signature, index: u64) -> &mut FindingBook {
        let known = self.findings.iter().position(|book| book.device == device && book.signature == *signature);
        let at = known.unwrap_or_else(|| {
            self.findings.push(FindingBook {
                device: device.into(),
                signature: signature.clone(),
                cases: 0,
                first_case: index,
                folders: Vec::new(),
            });
            self.findings.len() - 1
        });
        &mut self.findings[at]
    }

    /// Cases run on all devices.
    pub fn cases(&self) -> u64 {
        self.devices.values().map(|book| book.cases).sum()
    }

    /// What was compared on all devices.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.devices.values().for_each(|book| sum.add(book.counts));
        sum
    }

    /// Findings by kind.
    pub fn by_kind(&self) -> BTreeMap<Kind, u64> {
        let mut kinds = BTreeMap::new();
        for book in &self.findings {
            *kinds.entry(book.signature.kind).or_default() += book.cases;
        }
        kinds
    }

    /// The progress line.
    pub fn line(&self, elapsed: Duration, run_here: u64) -> String {
        let counts = self.counts();
        let rate = run_here as f64 / elapsed.as_secs_f64().max(0.001);
        let kinds: Vec<String> =
            self.by_kind().into_iter().map(|(kind, cases)| format!("{} {cases}", kind.name())).collect();
        let found = if kinds.is_empty() { "no findings".into() } else { format!("findings: {}", kinds.join(", ")) };
        format!(
            "{} cases, {rate:.1}/s, {} values checked, {found} ({} signatures)",
            thousands(self.cases()),
            thousands(counts.checked),
            self.findings.len()
        )
    }
}

/// `1234567` as `1,234,567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_have_commas() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
    }
}
