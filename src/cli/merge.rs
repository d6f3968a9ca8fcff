//! `tangle merge OUT…`

use std::path::PathBuf;

use tangle_campaign::campaign::{Merged, merge};
use tangle_files::write_atomically;
use tangle_program::subgroup::Severity;
use tangle_report::Reporter as _;
use tangle_report::reporter::Text;
use tangle_report::text::thousands;

use super::args::{Found, severity};
use super::output::put;
use super::output::{say, say_stderr};

/// Findings are united by their contents, statistics added up. The order does not matter, what is merged twice counts once, and a merged
/// folder can be merged into again: with the shards that came later, or with later states of the same ones. `tangle report` takes it as it
/// takes a campaign. docs/farms.md says more.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of campaigns (`tangle fuzz --out`), or folders that were merged
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Where everything goes: a new folder, or one that was merged into before
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write the statistics as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Which findings make the exit code 1, by what they rest on: hard, strong, or quality
    #[arg(long, value_name = "SEVERITY", default_value = "quality", value_parser = severity)]
    fail_on: Severity,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let Merged { parts, findings, new, statistics, notes } = merge(&args.out, &args.folders)?;
    notes.iter().for_each(|note| say_stderr!("warning: {note}"));
    let folder = args.out.clone();
    let report = tangle_report::campaign::Campaign { statistics, folder, ..Default::default() };
    put(format_args!("{}", Text::PLAIN.campaign(&report)?.unwrap_or_default()))?;
    let [parts, findings, new] = [parts, findings, new].map(|count| thousands(count as u64));
    say!("{}: {parts} campaigns, {findings} findings, {new} of them new", args.out.display())?;
    let statistics = &report.statistics;
    if let Some(file) = &args.summary {
        write_atomically(file, &serde_json::to_vec_pretty(statistics)?)?;
    }
    let decides = |finding| statistics.severity(finding) <= args.fail_on && statistics.is_unexpected(finding);
    Ok(if statistics.findings.iter().any(decides) { Found::Something } else { Found::Nothing })
}
