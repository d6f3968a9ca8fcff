//! JUnit XML for CI: a suite for each device. What is unexpected is a failure; crashes, time-outs and missing cases are errors. A campaign has
//! a test case for each bug, and each signature that no bug explains; known bugs are successes with an output.

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use tangle_program::subgroup::Severity;

use super::traits::{ReportError, Reporter};
use crate::baseline::Status;
use crate::campaign::Campaign;
use crate::replay::{Record, Replay};
use crate::subject::Analysis;

/// JUnit XML, for CI systems.
#[derive(Clone, Copy, Debug)]
pub struct Junit;

impl Reporter for Junit {
    fn finding(&self, finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        let subject = finding.subject;
        let device = subject.device.as_ref().map_or("none", |device| &device.name);
        let status = match (&subject.signature, finding.headline()) {
            (Some(signature), Some(headline)) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type(signature.kind.name()).set_message(headline).set_description(subject.report.clone());
                status
            }
            _ => TestCaseStatus::success(),
        };
        let mut case = TestCase::new("case", status);
        case.set_classname(device);
        if let Some(signature) = &subject.signature {
            case.add_property(Property::new("severity", signature.severity().name()));
        }
        report("tangle finding", [(device, vec![case])])
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        let statistics = &campaign.statistics;
        let suites = campaign.devices.iter().map(|device| {
            let bugs = campaign.bugs().into_iter().filter(|bug| bug.device == *device).map(|bug| {
                let cases = format!("{} cases; smallest: {}", statistics.cases_of(bug), bug.representative);
                match &bug.known {
                    Some(known) => {
                        let mut case = TestCase::new(bug.title(), TestCaseStatus::success());
                        case.set_system_out(format!("known: {known}; {cases}"));
                        case
                    }
                    None => failed(&bug.title(), "bug", cases, bug.severity),
                }
            });
            let left = campaign.not_explained().into_iter().filter(|entry| entry.device == *device).map(|entry| {
                let folder = entry.folders.first().map_or("not saved", String::as_str);
                let cases = format!("{} cases; {folder}", entry.cases);
                failed(&entry.signature.to_string(), entry.signature.kind.name(), cases, entry.signature.severity())
            });
            let mut cases: Vec<TestCase> = bugs.chain(left).collect();
            for case in &mut cases {
                case.set_classname(device.clone());
            }
            (device.as_str(), cases)
        });
        report("tangle fuzz", suites)
    }

    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        let suites = replay.by_device().into_iter();
        report("tangle replay", suites.map(|(device, records)| (device, records.into_iter().map(test_case).collect())))
    }
}

/// A file of suites.
fn report<'a>(
    name: &str,
    suites: impl IntoIterator<Item = (&'a str, Vec<TestCase>)>,
) -> Result<Option<String>, ReportError> {
    let mut report = Report::new(name);
    for (device, cases) in suites {
        let mut suite = TestSuite::new(device);
        suite.set_time(cases.iter().filter_map(|case| case.time).sum());
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    report.to_string().map(Some).map_err(|error| ReportError(error.to_string()))
}

/// A test case that failed.
fn failed(name: &str, kind: &str, message: String, severity: Severity) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message);
    let mut case = TestCase::new(name, status);
    case.add_property(Property::new("severity", severity.name()));
    case
}

fn test_case(record: &Record) -> TestCase {
    let mut status = match record.status {
        Status::Crash | Status::Timeout | Status::Missing => TestCaseStatus::non_success(NonSuccessKind::Error),
        Status::Skip => TestCaseStatus::skipped(),
        status if status.is_unexpected() => TestCaseStatus::non_success(NonSuccessKind::Failure),
        _ => TestCaseStatus::success(),
    };
    let is_success = matches!(status, TestCaseStatus::Success { .. });
    if !is_success {
        status.set_message(record.line());
        status.set_type(record.status.to_string());
        if record.status != Status::Skip {
            status.set_description(record.detail.clone());
        }
    }
    let mut case = TestCase::new(record.case.clone(), status);
    case.set_classname(record.device.clone());
    case.set_time(record.time);
    if let Some(severity) = record.severity {
        case.add_property(Property::new("severity", severity.name()));
    }
    if is_success && record.status != Status::Pass {
        case.set_system_out(format!("{}\n{}", record.line(), record.detail));
    }
    case
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::baseline::{Outcome, Tally};

    #[test]
    fn every_status_is_in_the_file_and_reads_back() {
        let statuses = [
            Status::Pass,
            Status::Skip,
            Status::ExpectedFail,
            Status::KnownFlake,
            Status::Fail,
            Status::Crash,
            Status::Flake,
            Status::UnexpectedImprovement(Outcome::Pass),
        ];
        let record = |(i, status): (usize, &Status)| Record {
            device: "lvp".into(),
            case: format!("case-{i}"),
            status: *status,
            outcome: Outcome::Skip,
            tally: Tally { failed: 0, runs: 0 },
            detail: "why <&> it\u{1b}[1m did".into(),
            time: Duration::ZERO,
            checked: 0,
            severity: (*status == Status::Fail).then_some(Severity::Strong),
        };
        let replay = Replay { records: statuses.iter().enumerate().map(record).collect(), trouble: Vec::new() };
        let text = Junit.replay(&replay).expect("JUnit").expect("it has a form for this");
        let report = Report::deserialize_from_str(&text).expect("it reads back");
        let suite = &report.test_suites[0];
        assert_eq!((suite.name.as_str(), suite.tests, suite.failures, suite.errors), ("lvp", 8, 3, 1), "{text}");
        assert_eq!(suite.disabled, 1, "{text}");
        assert!(text.contains("UnexpectedImprovement(Pass)"), "{text}");
        assert_eq!(text.matches(r#"<property name="severity" value="strong"/>"#).count(), 1, "{text}");
    }
}
