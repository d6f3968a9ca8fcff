//! `tangle replay DIR`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tangle::campaign::describe;
use tangle::prepare::prepare;
use tangle::target::{Conclusion, Finish};
use tangle_oracle::judge::Verdict;

use super::{DeviceArgs, Found, read_case, say};

#[derive(clap::Args)]
pub struct Args {
    /// The folder; cases are its JSON files and findings' folders, at any depth
    folder: PathBuf,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Say one line for every case, not only for the wrong ones
    #[arg(long)]
    verbose: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let mut files = Vec::new();
    find_cases(&args.folder, &mut files)?;
    anyhow::ensure!(!files.is_empty(), "no case in {}", args.folder.display());
    files.sort();
    let cases = files.iter().map(|file| read_case(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let targets = args.devices.open()?;
    let mut found = Found::Nothing;
    let mut ran = false;
    for target in &targets {
        let mut verdicts = BTreeMap::<&str, u32>::new();
        let mut checked = 0;
        for (file, case) in files.iter().zip(&cases) {
            let conclusion = match prepare(case.clone()) {
                Ok(prepared) => target.run(&prepared),
                Err(fault) => Conclusion::from(&fault),
            };
            let signature = conclusion.signature(case);
            let verdict = match (&signature, &conclusion.finish) {
                (Some(signature), _) => signature.kind.name(),
                (None, Finish::Unsupported { .. }) => "skip",
                (None, Finish::Judged(judgement)) if judgement.verdict == Verdict::Vacuous => "vacuous",
                (None, Finish::NoWorker { reason }) => anyhow::bail!("device {}: {reason}", target.name),
                (None, _) => "pass",
            };
            *verdicts.entry(verdict).or_default() += 1;
            if let Finish::Judged(judgement) = &conclusion.finish {
                checked += judgement.counts.checked;
            }
            if signature.is_some() || verdict == "vacuous" {
                found = Found::Something;
                say!("{} {}: {verdict}\n{}", target.name, file.display(), describe(case, &conclusion.finish))?;
            } else if args.verbose {
                say!("{} {}: {verdict}", target.name, file.display())?;
            }
        }
        let totals: Vec<String> = verdicts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
        say!("{}: {} of {} cases, {checked} values checked", target.name, totals.join(", "), files.len())?;
        ran |= verdicts.keys().any(|verdict| *verdict != "skip");
    }
    anyhow::ensure!(ran, "no device can run any of the cases");
    Ok(found)
}

/// Findings' other JSON files are no cases.
fn find_cases(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    if let Some(case) = paths.iter().find(|path| path.ends_with("case.json")) {
        files.push(case.clone());
        return Ok(());
    }
    for path in paths {
        if path.is_dir() {
            find_cases(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}
