//! Markdown: what a bug tracker takes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tangle_analysis::context::Context;
use tangle_oracle::coverage::{Cell, Coverage, Fill, reachable};
use tangle_program::subgroup::TABLE;

use super::traits::{ReportError, Reporter};
use crate::campaign::Campaign;
use crate::export::readme;
use crate::matrix::{Matrix, MatrixRow};
use crate::module::{ModuleReport, WHAT_MUST_BE};
use crate::replay::Replay;
use crate::subject::Analysis;
use crate::text::{fenced, thousands};

/// Longest module that is put into the text.
const LINES_SHOWN: usize = 400;

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
        let flakes = statistics.flakes.iter();
        let flakes = flakes.map(|entry| [entry.device.clone(), entry.signature.to_string(), thousands(entry.cases)]);
        table(&mut text, "Flakes: not again alone", ["device", "signature", "cases"], flakes);
        table(&mut text, "Versions", ["what changed"], campaign.sections.iter().map(|change| [change.clone()]));
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

    fn matrix(&self, matrix: &Matrix) -> Result<Option<String>, ReportError> {
        let mut text = String::from("# Matrix\n\n");
        let devices = matrix.devices.iter().map(|device| [device.name.clone(), device.driver.clone()]);
        table(&mut text, "Devices", ["device", "driver"], devices);
        let heads = std::iter::once("case").chain(matrix.devices.iter().map(|device| device.name.as_str()));
        let rows = matrix.rows.iter().map(|row| {
            std::iter::once(row.name.clone()).chain(row.cells.iter().map(|cell| cell.status.title())).collect()
        });
        table_of(&mut text, "Results", heads.collect(), rows.collect());
        let known = |row: &MatrixRow| {
            let about = row.about.clone();
            row.history.iter().map(|line| [row.name.clone(), line.clone(), about.clone()]).collect::<Vec<_>>()
        };
        table(&mut text, "Versions", ["case", "versions that were tried", "known"], matrix.rows.iter().flat_map(known));
        Ok(Some(text))
    }

    fn module(&self, module: &ModuleReport) -> Result<Option<String>, ReportError> {
        let mut text = format!("# {}\n\n{}\n\n", one_line(&module.title), fenced(module.what.trim_end(), ""));
        let heads = ["where", "expected", "actual"];
        table(&mut text, "Words that differ", heads, module.rows.iter().cloned());
        if !module.rows.is_empty() {
            let _ = writeln!(text, "{WHAT_MUST_BE}\n");
        }
        let command = fenced(&module.command, "sh");
        let _ = writeln!(text, "## Reproduce\n\nIn this folder:\n\n{command}\n\n{}\n", module.without_tangle);
        table(&mut text, "Environment", ["", ""], module.all_facts().map(|(what, value)| [what, value]));
        let files = module.files.iter().map(|(name, what)| [code(name), what.clone()]);
        table(&mut text, "In this folder", ["file", "is"], files);
        if module.assembly.lines().count() <= LINES_SHOWN {
            let assembly = fenced(module.assembly.trim_end(), "");
            let _ = writeln!(text, "<details>\n<summary>The module</summary>\n\n{assembly}\n\n</details>");
        }
        Ok(Some(text))
    }

    fn coverage(&self, by_device: &BTreeMap<String, Coverage>) -> Result<Option<String>, ReportError> {
        let mut text = String::from("# Coverage\n\nCompared values by operation and context.\n\n");
        for (device, coverage) in by_device {
            let (filled, cells) = coverage.filled();
            let heading =
                format!("{device}: {filled} of {cells} cells are filled by {} cases", thousands(coverage.cases));
            let heads = std::iter::once("operation").chain(Context::ALL.iter().map(|context| context.short()));
            let rows = TABLE.iter().map(|info| {
                let row = coverage.operation(info.op);
                let cells = Context::ALL.iter().map(|&at| checked(reachable(info, at).0, row.cell(at)));
                std::iter::once(info.name.to_owned()).chain(cells).collect()
            });
            table_of(&mut text, &heading, heads.collect(), rows.collect());
        }
        Ok(Some(text))
    }
}

/// What was compared of a cell; nothing where nothing can be.
fn checked(best: Fill, cell: Cell) -> String {
    match best {
        Fill::Checked => thousands(cell.checked),
        _ => String::new(),
    }
}

/// A heading has one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// A heading and a table; nothing if it has no rows.
fn table<const N: usize>(
    text: &mut String,
    heading: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    table_of(text, heading, columns.to_vec(), rows.map(Vec::from).collect());
}

fn table_of(text: &mut String, heading: &str, columns: Vec<&str>, rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let clean = |cell: &str| cell.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ");
    let line = |cells: &mut dyn Iterator<Item = &str>| cells.map(clean).collect::<Vec<_>>().join(" | ");
    let rule = "---|".repeat(columns.len());
    let _ = writeln!(text, "## {heading}\n\n| {} |\n|{rule}", line(&mut columns.into_iter()));
    for row in rows {
        let _ = writeln!(text, "| {} |", line(&mut row.iter().map(String::as_str)));
    }
    text.push('\n');
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::example;
    use crate::reporter::Text;

    #[test]
    fn somebody_elses_shader_is_reported_as_text() {
        let markdown = Markdown.module(&example()).expect("it is written").expect("there is a form");
        for part in [
            "# a & b\n",
            "```\nlvp: wrong: 1 of 2 words compared differ\n",
            "| set 0, binding 1, byte 4 | 0x1 | &lt;0x2> |",
            "```sh\ntangle judge module.spv --device lvp\n```",
            "Without tangle: `amber module.amber`.",
            "| Driver | llvmpipe Mesa 26.2.6 |",
            "| Vulkan | (fill in) |",
            "| `module.spv` | the shader |",
            "````\nOpNop ; ```\n````",
        ] {
            assert!(markdown.contains(part), "{part} is not in {markdown}");
        }
        let text = Text::PLAIN.module(&example()).expect("it is written").expect("there is a form");
        for part in ["a & b\n", "Driver: llvmpipe Mesa 26.2.6\n", "byte 4: 0x1 -> 0x2\n", "OpNop"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
