//! The result of a folder of cases: the model that every reporter shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tangle_program::subgroup::Severity;

use crate::baseline::{Baseline, Expectation, Outcome, Status, Tally, count};
use crate::text::thousands;

/// The result of one case on one device.
#[derive(Clone, Debug)]
pub struct Record {
    /// The name of the device.
    pub device: String,
    /// The name of the case: its path in the folder, without `.json`.
    pub case: String,
    /// What the outcomes mean, given what was expected.
    pub status: Status,
    /// The worst outcome of the runs.
    pub outcome: Outcome,
    /// How often it went wrong.
    pub tally: Tally,
    /// What went wrong in the first run that did, or why it did not run.
    pub detail: String,
    /// How long it took.
    pub time: Duration,
    /// Values that were compared in the first run.
    pub checked: u64,
    /// What the failure rests on, if it is one of the device.
    pub severity: Option<Severity>,
}

/// The results of all cases on all devices.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// By device, in the order given, and case.
    pub records: Vec<Record>,
    /// Why a device could not go on. Its remaining cases are [`Status::Missing`].
    pub trouble: Vec<String>,
}

impl Record {
    /// The name that baselines, skips and flakes have: `device/case`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.device, self.case)
    }

    /// The status, how often it went wrong, and the first line of why.
    pub fn line(&self) -> String {
        let mut line = format!("{}: {}", self.name(), self.status);
        if self.tally.runs > 1 {
            let _ = write!(line, ", wrong in {} of {} runs", self.tally.failed, self.tally.runs);
        }
        if let Some(severity) = self.severity.filter(|severity| *severity != Severity::Hard) {
            let _ = write!(line, ", {}", severity.name());
        }
        if let Some(why) = self.detail.lines().next() {
            let _ = write!(line, " ({why})");
        }
        line
    }
}

impl Replay {
    /// What somebody should look at.
    pub fn unexpected(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.status.is_unexpected())
    }

    /// True if something is unexpected, and no failure that rests on less than `least`.
    pub fn fails(&self, least: Severity) -> bool {
        self.unexpected().any(|record| record.severity.is_none_or(|severity| severity <= least))
    }

    /// True if a device ran something.
    pub fn ran_anything(&self) -> bool {
        self.records.iter().any(|record| record.outcome != Outcome::Skip)
    }

    /// The devices with their records.
    pub(crate) fn by_device(&self) -> Vec<(&str, Vec<&Record>)> {
        let mut devices: Vec<(&str, Vec<&Record>)> = Vec::new();
        for record in &self.records {
            match devices.last_mut() {
                Some((device, records)) if *device == record.device => records.push(record),
                _ => devices.push((&record.device, vec![record])),
            }
        }
        devices
    }

    /// Counts by status for each device, what was skipped and why, then what is unexpected.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (device, records) in self.by_device() {
            let counts = count(records.iter().map(|record| record.status));
            let counts: Vec<String> = counts.into_iter().map(|(status, n)| format!("{status} {n}")).collect();
            let checked: u64 = records.iter().map(|record| record.checked).sum();
            let cases = records.len();
            let _ = writeln!(
                text,
                "{device}: {} of {cases} cases, {} values checked",
                counts.join(", "),
                thousands(checked)
            );
            for (why, n) in skipped(&records) {
                let _ = writeln!(text, "  Skip {n}: {why}");
            }
        }
        let unexpected: Vec<&Record> = self.unexpected().collect();
        if !unexpected.is_empty() {
            let _ = writeln!(text, "Unexpected ({}):", unexpected.len());
            for record in unexpected {
                let _ = writeln!(text, "  {}", record.line());
            }
        }
        text
    }

    /// What happened, as a baseline. Flakes are comments: they belong into the flakes file.
    pub fn baseline(&self) -> String {
        let is_flaky = |record: &&Record| matches!(record.status, Status::Flake | Status::KnownFlake);
        let is_listed = |record: &&Record| record.outcome.is_failure() || record.outcome == Outcome::Vacuous;
        let (flaky, steady): (Vec<&Record>, Vec<&Record>) = self.records.iter().filter(is_listed).partition(is_flaky);
        let line = |record: &Record| Expectation {
            device: record.device.clone(),
            case: record.case.clone(),
            outcome: record.outcome,
        };
        let mut text = steady.into_iter().map(line).collect::<Baseline>().to_string();
        for record in flaky {
            let Tally { failed, runs } = record.tally;
            let _ = writeln!(text, "# flake, wrong in {failed} of {runs} runs: {}", record.name());
        }
        text
    }
}

fn skipped<'a>(records: &[&'a Record]) -> BTreeMap<&'a str, usize> {
    let mut reasons = BTreeMap::new();
    for record in records.iter().filter(|record| record.status == Status::Skip) {
        *reasons.entry(record.detail.as_str()).or_default() += 1;
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_decide_by_their_severity() {
        use Severity::{Hard, Quality, Strong};
        let with = |status, severity| {
            let record = Record {
                device: "lvp".into(),
                case: "a".into(),
                status,
                outcome: Outcome::Fail,
                tally: Tally { failed: 1, runs: 1 },
                detail: String::new(),
                time: Duration::ZERO,
                checked: 1,
                severity,
            };
            let replay = Replay { records: vec![record], trouble: Vec::new() };
            Severity::ALL.map(|least| replay.fails(least))
        };
        for (status, severity, fails) in [
            (Status::Fail, Some(Hard), [true, true, true]),
            (Status::Fail, Some(Strong), [false, true, true]),
            (Status::Fail, Some(Quality), [false, false, true]),
            (Status::ExpectedFail, Some(Hard), [false, false, false]),
            // No matter of what a device owes.
            (Status::Missing, None, [true, true, true]),
        ] {
            assert_eq!(with(status, severity), fails, "{status} {severity:?}");
        }
    }
}
