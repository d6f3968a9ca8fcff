//! JSON for other programs: docs/reports.md says what the fields mean. Fields are added, and none is renamed or removed while [`FORMAT`] stays.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use tangle_identity::Signature;
use tangle_oracle::coverage::Coverage;

use super::traits::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::matrix::{Matrix, MatrixDevice, MatrixRow, Meaning};
use crate::replay::{Record, Replay};
use crate::statistics::{BugEntry, SignatureEntry};
use crate::subject::Analysis;
use crate::wrong_step::{LaneResult, WrongStep};

/// The version of the fields.
pub const FORMAT: u32 = 1;

/// JSON: one object, indented.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Reporter for Json {
    fn finding(&self, finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        let subject = finding.subject;
        let rules = finding.rules.iter();
        let rules = rules.map(|rule| {
            let numbers: Vec<String> = rule.numbers.iter().map(ToString::to_string).collect();
            json!({ "numbers": numbers, "source": rule.source, "quote": rule.quote, "because": rule.because })
        });
        text(&json!({
            "format": FORMAT,
            "what": "finding",
            "device": subject.device.as_ref().map(|device| &device.name),
            "device_info": subject.device.as_ref().map(|device| &device.info),
            "signature": subject.signature.as_ref().map(signature),
            "headline": finding.headline(),
            "tier": subject.case.tier.name(),
            "variant": subject.case.variant.to_string(),
            "first_wrong_step": finding.wrong_step.as_ref().map(wrong_step),
            "lane_map": finding.faults.iter().map(|fault| fault.describe(&subject.case.entry_point)).collect::<Vec<_>>(),
            "rules": rules.collect::<Vec<_>>(),
            "report": subject.report,
            "fails": subject.rate,
            "passes_at_maximal": subject.passes_at_maximal,
            "stage": subject.device.as_ref().and_then(|device| Some(subject.variants.as_ref()?.blame(&device.name)?.to_string())),
            "switches": subject.switches,
            "case": serde_json::from_str::<Value>(&subject.case.to_json()).unwrap_or_default(),
            "glsl": subject.shader.source,
            "command": subject.command,
            "versions": subject.versions,
        }))
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        let statistics = &campaign.statistics;
        let devices = campaign.devices.iter().map(|name| {
            let device = statistics.devices.get(name).cloned().unwrap_or_default();
            json!({
                "device": name,
                "cases": device.cases,
                "unsupported": device.unsupported,
                "lacking": device.lacking,
                "verdicts": device.verdicts,
                "checked": device.counts.checked,
                "open": device.counts.tainted,
                "skipped": device.counts.skipped,
                "restarts": device.restarts,
            })
        });
        let bug = |bug: &BugEntry| {
            json!({
                "device": bug.device,
                "bug": bug.bug.to_string(),
                "operators": bug.operators,
                "passes_without": bug.passes_without,
                "recognised": bug.recognised.len(),
                "known": bug.known,
                "severity": bug.severity.name(),
                "cases": statistics.cases_of(bug),
                "signatures": bug.signatures.iter().map(signature).collect::<Vec<_>>(),
                "statements": bug.statements,
                "folder": bug.representative,
                "fails": bug.flake,
            })
        };
        let found = |entry: &SignatureEntry| {
            json!({
                "device": entry.device,
                "signature": signature(&entry.signature),
                "cases": entry.cases,
                "first_case": entry.first_case,
                "folders": entry.folders,
            })
        };
        let known = |known: &crate::statistics::KnownEntry| json!({ "device": known.device, "bug": known.bug, "cases": known.cases });
        text(&json!({
            "format": FORMAT,
            "what": "campaign",
            "about": campaign.about.iter().cloned().collect::<std::collections::BTreeMap<String, String>>(),
            "seconds": statistics.seconds,
            "bugs": campaign.bugs().into_iter().map(bug).collect::<Vec<_>>(),
            "signatures": statistics.findings.iter().map(found).collect::<Vec<_>>(),
            "flakes": statistics.flakes.iter().map(found).collect::<Vec<_>>(),
            "panics": statistics.panics,
            "sections": campaign.sections,
            "known": statistics.known.iter().map(known).collect::<Vec<_>>(),
            "devices": devices.collect::<Vec<_>>(),
        }))
    }

    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        let record = |record: &Record| {
            json!({
                "device": record.device,
                "case": record.case,
                "status": record.status.to_string(),
                "unexpected": record.status.is_unexpected(),
                "outcome": record.outcome.name(),
                "failed": record.tally.failed,
                "runs": record.tally.runs,
                "severity": record.severity.map(|severity| severity.name()),
                "checked": record.checked,
                "seconds": record.time.as_secs_f64(),
                "detail": record.detail,
            })
        };
        text(&json!({
            "format": FORMAT,
            "what": "replay",
            "records": replay.records.iter().map(record).collect::<Vec<_>>(),
            "trouble": replay.trouble,
        }))
    }

    fn matrix(&self, matrix: &Matrix) -> Result<Option<String>, ReportError> {
        let row = |row: &MatrixRow| {
            let results = matrix.devices.iter().zip(&row.cells).map(
                |(device, cell)| json!({ "device": device.name, "status": cell.status.name(), "bad": is_bad(cell.meaning) }),
            );
            json!({
                "case": row.name,
                "about": row.about,
                "results": results.collect::<Vec<_>>(),
                "versions": row.history,
            })
        };
        let device = |device: &MatrixDevice| json!({ "device": device.name, "driver": device.driver });
        text(&json!({
            "format": FORMAT,
            "what": "matrix",
            "devices": matrix.devices.iter().map(device).collect::<Vec<_>>(),
            "rows": matrix.rows.iter().map(row).collect::<Vec<_>>(),
        }))
    }

    fn coverage(&self, by_device: &BTreeMap<String, Coverage>) -> Result<Option<String>, ReportError> {
        let devices = by_device.iter().map(|(name, coverage)| {
            let (filled, cells) = coverage.filled();
            json!({ "device": name, "filled": filled, "cells": cells, "counts": coverage })
        });
        text(&json!({ "format": FORMAT, "what": "coverage", "devices": devices.collect::<Vec<_>>() }))
    }
}

/// True if the bug is there, false if not, `null` where nothing is known.
const fn is_bad(meaning: Meaning) -> Option<bool> {
    match meaning {
        Meaning::Bad => Some(true),
        Meaning::Good => Some(false),
        Meaning::Open => None,
    }
}

fn signature(signature: &Signature) -> Value {
    json!({
        "kind": signature.kind.name(),
        "severity": signature.severity().name(),
        "text": signature.to_string(),
        "fields": signature,
    })
}

fn wrong_step(step: &WrongStep) -> Value {
    let lane = |row: &crate::wrong_step::LaneRow| {
        let (values, instead) = match &row.result {
            LaneResult::Left(instead) => (None, Some(instead)),
            LaneResult::Logged(values) => (
                Some(
                    values
                        .iter()
                        .map(|(expected, actual)| json!({ "expected": expected, "actual": actual }))
                        .collect::<Vec<_>>(),
                ),
                None,
            ),
        };
        json!({ "subgroup": row.subgroup, "lane": row.lane, "invocation": row.index, "values": values, "instead": instead })
    };
    json!({
        "headline": step.headline,
        "place": step.place,
        "line": step.line,
        "cause": step.trace,
        "values": step.columns,
        "lanes": step.rows.iter().map(lane).collect::<Vec<_>>(),
    })
}

fn text(value: &impl Serialize) -> Result<Option<String>, ReportError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| ReportError(error.to_string()))?;
    Ok(Some(text + "\n"))
}
