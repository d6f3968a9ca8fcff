//! Markdown: what a bug tracker takes.

use std::fmt::Write as _;

use super::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::export::readme;
use crate::replay::Replay;
use crate::subject::Analysis;
use crate::text::thousands;

/// What a bug tracker takes: of a finding the README of its bundle.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Reporter for Markdown {
    fn finding(&self, finding: &Analysis<'_>) -> Result<Option<String>, ReportError> {
        readme(finding.subject).map(Some).map_err(|error| ReportError(error.to_string()))
    }

    fn campaign(&self, campaign: &Campaign) -> Result<Option<String>, ReportError> {
        let about: Vec<String> = campaign.about.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let mut text = format!("# Campaign: {}\n\n", about.join(", "));
        let statistics = &campaign.statistics;
        let bugs = campaign.bugs().into_iter().map(|bug| {
            let known = bug.known.as_ref().map_or(String::new(), |known| format!(" (known: {known})"));
            let cases = thousands(statistics.cases_of(bug));
            [
                bug.device.clone(),
                format!("{}{known}", bug.title()),
                cases,
                bug.statements.to_string(),
                code(&bug.representative),
            ]
        });
        table(&mut text, "Bugs", ["device", "bug", "cases", "statements", "smallest"], bugs);
        let left = campaign.not_explained().into_iter().map(|entry| {
            let folder = entry.folders.first().map_or(String::new(), |folder| code(folder));
            [entry.device.clone(), entry.signature.to_string(), thousands(entry.cases), folder]
        });
        table(&mut text, "Not minimised", ["device", "signature", "cases", "saved"], left);
        let devices = campaign.devices.iter().filter_map(|name| Some((name, statistics.devices.get(name)?)));
        let devices = devices.map(|(name, device)| {
            let verdicts: Vec<String> =
                device.verdicts.iter().map(|(name, n)| format!("{} {name}", thousands(*n))).collect();
            [name.clone(), thousands(device.cases), verdicts.join(", "), thousands(device.counts.checked)]
        });
        table(&mut text, "Devices", ["device", "cases", "verdicts", "values checked"], devices);
        Ok(Some(text))
    }

    fn replay(&self, replay: &Replay) -> Result<Option<String>, ReportError> {
        let mut text = String::from("# Replay\n\n");
        let rows = replay.unexpected().map(|record| {
            let why = record.detail.lines().next().unwrap_or_default();
            [record.device.clone(), record.case.clone(), record.status.to_string(), why.to_owned()]
        });
        table(&mut text, "Unexpected", ["device", "case", "status", "why"], rows);
        let _ = writeln!(text, "```\n{}```", replay.summary());
        Ok(Some(text))
    }
}

/// A heading and a table; nothing if it has no rows.
fn table<const N: usize>(
    text: &mut String,
    heading: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "## {heading}\n\n| {} |\n|{}", columns.join(" | "), "---|".repeat(N));
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " "));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
