//! JUnit XML for CI: a suite for each device. What is unexpected is a failure; crashes, time-outs and missing cases are errors.

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::baseline::Status;
use crate::replay::{Record, Replay};
use crate::reporter::{ReportError, Reporter};

/// JUnit XML.
#[derive(Clone, Copy, Debug)]
pub struct Junit;

impl Reporter for Junit {
    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        let mut report = Report::new("tangle replay");
        for (device, records) in replay.by_device() {
            let mut suite = TestSuite::new(device);
            suite.add_test_cases(records.iter().map(|record| test_case(record)));
            suite.set_time(records.iter().map(|record| record.time).sum());
            report.add_test_suite(suite);
        }
        report.to_string().map(Some).map_err(|error| ReportError(error.to_string()))
    }
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

    use tangle_program::subgroup::Severity;

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
