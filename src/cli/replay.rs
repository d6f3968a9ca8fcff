//! `tangle replay DIR`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use tangle_campaign::replay::{NamedCase, RUNS, ReplayOptions, Shard, find_cases, replay};
use tangle_files::write_atomically;
use tangle_program::subgroup::Severity;
use tangle_report::Reporter;
use tangle_report::baseline::{Baseline, LineError, Patterns};
use tangle_report::reporter::{self, Junit, names};

use super::output::put;
use super::progress::watch;
use super::{DeviceArgs, Found, Jobs, read_case, say, severity};

const MORE: &str = "\
A case on a device is called `device/case`; the case is its path in the folder without `.json`. docs/ci.md says more.

Exit codes: 0 nothing unexpected; 1 something unexpected: failures that the baseline does not have, improvements, flakes that the flakes file does
not have, cases of the baseline that are gone; 2 wrong usage or environment.";

#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// The folder; cases are its JSON files and findings' folders, at any depth
    folder: PathBuf,
    #[command(flatten)]
    devices: DeviceArgs,
    /// What does not pass today: lines `device/case,Status`, `*` stands for anything, `#` begins a comment
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// What comes and goes: a regular expression a line, found anywhere in `device/case`
    #[arg(long, value_name = "FILE")]
    flakes: Option<PathBuf>,
    /// What is not run: a regular expression a line, found anywhere in `device/case`
    #[arg(long, value_name = "FILE")]
    skips: Option<PathBuf>,
    /// Write the baseline of what happens
    #[arg(long, value_name = "FILE")]
    baseline_out: Option<PathBuf>,
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = format!("Write a report; its extension says the format: {}", names()))]
    report: Option<PathBuf>,
    /// Run one of N parts of the cases: 1/N to N/N
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// How often a case runs in all when its first outcome is unexpected
    #[arg(long, value_name = "N", default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Which unexpected failures make the exit code 1, by what they rest on
    #[arg(long, value_name = "SEVERITY", default_value = "quality", value_parser = severity)]
    fail_on: Severity,
    /// Say one line for every case, and the whole story of those that are unexpected
    #[arg(long)]
    verbose: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let report = args.report.iter().map(|file| Ok((file, reporter::for_file(file, None)?)));
    let report = report.collect::<anyhow::Result<Vec<_>>>()?;
    let files = find_cases(&args.folder)?;
    anyhow::ensure!(!files.is_empty(), "no case in {}", args.folder.display());
    let cases = files.into_iter().map(|(name, file)| Ok(NamedCase { name, case: read_case(&file)? }));
    let cases = cases.collect::<anyhow::Result<Vec<_>>>()?;
    let options = ReplayOptions {
        baseline: read_list(args.baseline.as_deref(), Baseline::parse)?,
        flakes: read_list(args.flakes.as_deref(), Patterns::parse)?,
        skips: read_list(args.skips.as_deref(), Patterns::parse)?,
        shard: args.shard.unwrap_or_default(),
        runs: args.runs,
        ..ReplayOptions::default()
    };
    let targets = args.devices.open(Jobs::One)?;
    let here = cases.iter().filter(|case| options.shard.has(&case.name)).count();
    let done = Arc::clone(&options.done);
    let replay = watch("cases", here * targets.len(), &done, || replay(&targets, &cases, &options));
    for record in replay.records.iter().filter(|_| args.verbose) {
        say!("{}", record.line())?;
        if record.status.is_unexpected() {
            say!("{}", record.detail)?;
        }
    }
    put(format_args!("{}", replay.summary()))?;
    let junit = args.junit.iter().map(|file| (file, &Junit as &dyn Reporter));
    for (file, format) in junit.chain(report) {
        let text = format.replay(&replay)?.context("this format has no form for a replay")?;
        write_atomically(file, text.as_bytes())?;
    }
    if let Some(file) = &args.baseline_out {
        write_atomically(file, replay.baseline().as_bytes())?;
    }
    anyhow::ensure!(replay.trouble.is_empty(), "{}", replay.trouble.join("; "));
    let any_here = cases.iter().any(|case| options.shard.has(&case.name));
    anyhow::ensure!(!any_here || replay.ran_anything(), "no device can run any of the cases");
    Ok(if replay.fails(args.fail_on) { Found::Something } else { Found::Nothing })
}

fn read_list<T: Default>(path: Option<&Path>, parse: fn(&str) -> Result<T, LineError>) -> anyhow::Result<T> {
    let Some(path) = path else { return Ok(T::default()) };
    let text = tangle_files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}
