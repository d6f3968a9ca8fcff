//! `tangle replay DIR`

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use tangle_campaign::replay::{NamedCase, RUNS, ReplayOptions, Shard, find_cases, replay};
use tangle_files::write_atomically;
use tangle_program::subgroup::Severity;
use tangle_report::Reporter;
use tangle_report::baseline::{Baseline, LineError, Patterns};
use tangle_report::replay::Record;
use tangle_report::reporter::{self, Junit, names};

use super::args::{DeviceArgs, Found, read_case, severity};
use super::output::put;
use super::output::say;
use super::progress::watch;
use tangle_campaign::target::Jobs;

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
    /// What is flaky: a regular expression a line, found anywhere in `device/case`; repeat for several files
    #[arg(long, value_name = "FILE")]
    flakes: Vec<PathBuf>,
    /// What is not run: a regular expression a line, found anywhere in `device/case`; repeat for several files
    #[arg(long, value_name = "FILE")]
    skips: Vec<PathBuf>,
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
    /// deqp-runner's words for the same: run one of N parts; also K/N, which says the part, too
    #[arg(long, value_name = "[K/]N", conflicts_with = "shard")]
    fraction: Option<Fraction>,
    /// Which part --fraction runs, from 1
    #[arg(long, value_name = "K", requires = "fraction")]
    fraction_start: Option<u32>,
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

/// `N`, or `K/N`: deqp-runner 0.20.3, `src/lib.rs`, "Runs 1 out of every N tests".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fraction {
    Of(u32),
    Part(Shard),
}

impl std::str::FromStr for Fraction {
    type Err = String;

    fn from_str(text: &str) -> Result<Fraction, String> {
        match text.parse() {
            Ok(of) if of > 0 => Ok(Fraction::Of(of)),
            _ => Ok(Fraction::Part(text.parse().map_err(|_| "a fraction is N or K/N, from 1/N to N/N")?)),
        }
    }
}

/// The part that the options name.
fn part(shard: Option<Shard>, fraction: Option<Fraction>, start: Option<u32>) -> anyhow::Result<Shard> {
    match (fraction, start) {
        (None, _) => Ok(shard.unwrap_or_default()),
        (Some(Fraction::Part(part)), None) => Ok(part),
        (Some(Fraction::Part(part)), Some(_)) => anyhow::bail!("--fraction {part} names the part already"),
        (Some(Fraction::Of(of)), start) => {
            let start = start.unwrap_or(1);
            Shard::new(start, of).with_context(|| format!("--fraction-start {start}: there are parts 1 to {of}"))
        }
    }
}

/// Prints a record. Where nothing can be printed the summary fails, too.
fn print_record(record: &Record) {
    // At once: devices run side by side.
    let _ = match record.status.is_unexpected() {
        true => say!("{}\n{}", record.line(), record.detail),
        false => say!("{}", record.line()),
    };
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let report = args.report.iter().map(|file| Ok((file, reporter::for_file(file, None)?)));
    let report = report.collect::<anyhow::Result<Vec<_>>>()?;
    let files = find_cases(&args.folder)?;
    anyhow::ensure!(!files.is_empty(), "no case in {}", args.folder.display());
    let cases = files.into_iter().map(|(name, file)| Ok(NamedCase { name, case: read_case(&file)? }));
    let cases = cases.collect::<anyhow::Result<Vec<_>>>()?;
    let options = ReplayOptions {
        baseline: read_list(args.baseline.as_slice(), Baseline::parse)?,
        flakes: read_list(&args.flakes, Patterns::parse)?,
        skips: read_list(&args.skips, Patterns::parse)?,
        shard: part(args.shard, args.fraction, args.fraction_start)?,
        runs: args.runs,
        each: if args.verbose { print_record } else { |_| () },
        ..ReplayOptions::default()
    };
    let targets = args.devices.open(Jobs::One)?;
    let here = cases.iter().filter(|case| options.shard.has(&case.name)).count();
    let done = Arc::clone(&options.done);
    let replay = watch("cases", here * targets.len(), &done, || replay(&targets, &cases, &options));
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

/// Reads files of one kind as if they were one.
fn read_list<T>(paths: &[PathBuf], parse: fn(&str) -> Result<T, LineError>) -> anyhow::Result<T> {
    let mut all = String::new();
    for path in paths {
        let text = tangle_files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
        // What is wrong is said of the file's own lines.
        parse(&text).with_context(|| path.display().to_string())?;
        all += &text;
        all.push('\n');
    }
    Ok(parse(&all)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_shards() {
        let table = [
            (None, None, Some("1/1")),
            (Some("4"), None, Some("1/4")),
            (Some("4"), Some(3), Some("3/4")),
            (Some("3/4"), None, Some("3/4")),
            (Some("4"), Some(5), None),
            (Some("4"), Some(0), None),
            (Some("3/4"), Some(3), None),
        ];
        for (fraction, start, expected) in table {
            let fraction = fraction.map(|text| text.parse().expect("a fraction"));
            let part = part(None, fraction, start).ok().map(|part| part.to_string());
            assert_eq!(part.as_deref(), expected, "{fraction:?} {start:?}");
        }
        for wrong in ["0", "x", "5/4", "1/0", "-1"] {
            assert!(wrong.parse::<Fraction>().is_err(), "{wrong}");
        }
    }
}
