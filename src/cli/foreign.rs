//! What `minimize`, `export` and `report` do with the folder of a finding of `tangle judge`: a module without a program tree.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle_files::words::to_bytes;
use tangle_interpreter::End;
use tangle_judge::device::{Made, Ready};
use tangle_judge::finding::Finding;
use tangle_judge::run::judge;
use tangle_report::html::module::{ModulePage, module_page};

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

/// Writes what somebody without tangle needs to see it. Where no AmberScript can say it, that is said, and the whole finding is written: the module,
/// its assembly and all contents, for a program of one's own.
pub fn export(finding: &Finding, out: &Path) -> anyhow::Result<Found> {
    std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    let script = match finding.amber()? {
        Ok(script) => script,
        Err(why) => {
            finding.save(out)?;
            say!("{}: module, assembly and contents; module.amber is left out: {why}", out.display())?;
            return Ok(Found::Nothing);
        }
    };
    let files = [
        ("module.amber", script.into_bytes()),
        ("module.spv", to_bytes(&finding.words)),
        ("module.spvasm", finding.assembly().into_bytes()),
        ("README.md", finding.readme()?.into_bytes()),
    ];
    for (name, contents) in files {
        tangle_files::write_atomically(&out.join(name), &contents)?;
        say!("{} ({} bytes)", out.join(name).display(), contents.len())?;
    }
    Ok(Found::Nothing)
}

/// Writes a page about it.
pub fn report(finding: &Finding, out: &Path) -> anyhow::Result<Found> {
    anyhow::ensure!(
        out.extension().is_some_and(|extension| extension == "html" || extension == "htm"),
        "a finding of tangle judge has a page in HTML only: name an .html file with --out"
    );
    let member = |name: &str| finding.about[name].as_str().unwrap_or_default().trim().to_owned();
    let driver = [member("driver_name"), member("driver_info")].join(" ");
    let [x, y, z] = finding.inputs.workgroups;
    let mut facts = vec![
        ("device".to_owned(), finding.device.clone()),
        ("driver".to_owned(), driver.trim().to_owned()),
        ("shader".to_owned(), finding.source.clone()),
        ("workgroups".to_owned(), format!("{x} × {y} × {z}")),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let rows = finding
        .made
        .different()
        .iter()
        .map(|word| [word.place(), format!("{:#010x}", word.expected), format!("{:#010x}", word.found)]);
    let page = module_page(&ModulePage {
        title: format!("{}: {}", finding.device, finding.source),
        what: finding.text().lines().next().unwrap_or_default().to_owned(),
        facts,
        rows: rows.collect(),
        command: finding.command(),
        assembly: finding.assembly(),
    });
    tangle_files::write_atomically(out, page.as_bytes())?;
    say!("{} ({} bytes)", out.display(), page.len())?;
    Ok(Found::Nothing)
}
