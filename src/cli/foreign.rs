//! What `minimize`, `export` and `report` do with the folder of a finding of `tangle judge`: a module without a program tree.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle_interpreter::End;
use tangle_judge::device::{Made, Ready};
use tangle_judge::finding::{Finding, SavedFile};
use tangle_judge::run::judge;
use tangle_report::reporter;

use super::args::{DriverArgs, Found};
use super::deadline::{Deadline, Grace};
use super::judge::{TIME, about, devices, reduced_on};
use super::output::{say, say_stderr};

/// Reads a finding of `tangle judge`; `None` for anything else.
pub fn read(path: &Path) -> anyhow::Result<Option<Finding>> {
    if path.is_dir() { Finding::read(path) } else { Ok(None) }
}

/// Saves a finding with a smaller module, in `out` or in `minimized/` of its folder.
pub fn minimize(
    folder: &Path,
    finding: &Finding,
    device: Option<&String>,
    drivers: &DriverArgs,
    time: Option<Duration>,
    out: Option<&Path>,
    stop: &'static AtomicBool,
) -> anyhow::Result<Found> {
    let (started, time) = (Instant::now(), time.unwrap_or(TIME));
    let _watch =
        Deadline::watch((started, Some(time)), stop, Grace::RUNNING, "the time is over, and the device still runs");
    let names: Vec<String> = match device {
        Some(name) => vec![name.clone()],
        None if drivers.driver.is_empty() => vec![finding.device.clone()],
        None => Vec::new(),
    };
    let device = devices(drivers, &names, None)?.into_iter().next().context("name the --device that it fails on")?;
    let inputs = &finding.inputs;
    let made = |words: &[u32]| -> anyhow::Result<Made> {
        let judged = judge(words, inputs)?;
        anyhow::ensure!(judged.outcome.end == End::Completed, "the module has undefined behaviour");
        let ready = Ready::new(words, inputs, &judged.interface).map_err(anyhow::Error::msg)?;
        Ok(device.judge(&ready))
    };
    let before = made(&finding.words)?;
    anyhow::ensure!(before.is_failure(), "it does not fail there: {}", before.text(device.name()).trim_end());
    let deadline = started + time;
    let words = reduced_on(&finding.words, inputs, drivers, device.name(), &before, deadline)?;
    let small = Finding {
        device: device.name().to_owned(),
        about: about(&device)?,
        made: made(&words)?,
        words,
        ..finding.clone()
    };
    let out = out.map_or_else(|| folder.join("minimized"), Path::to_owned);
    small.save(&out)?;
    say_stderr!("{} words -> {} words", finding.words.len(), small.words.len());
    say!("{}\n{}saved {}", small.assembly().trim_end(), small.text(), out.display())?;
    Ok(Found::Nothing)
}

/// Writes what somebody without tangle needs to see it: everything that its README names. Where no AmberScript can say it, that is said.
pub fn export(finding: &Finding, out: &Path) -> anyhow::Result<Found> {
    finding.save(out)?;
    for SavedFile { name, contents, .. } in finding.files()? {
        say!("{} ({} bytes)", out.join(name).display(), contents.len())?;
    }
    if let Err(why) = finding.amber()? {
        say!("module.amber is left out: {why}")?;
    }
    Ok(Found::Nothing)
}

/// Writes a report about it, in the format that is asked for or that the file's extension names.
pub fn report(finding: &Finding, out: &Path, format: Option<&str>) -> anyhow::Result<Found> {
    let reporter = reporter::for_file(out, format)?;
    let report = reporter.module(&finding.report()?)?.context("this format has no form for that")?;
    tangle_files::write_atomically(out, report.as_bytes())?;
    say!("{} ({} bytes)", out.display(), report.len())?;
    Ok(Found::Nothing)
}
