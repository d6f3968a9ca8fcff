//! What `export`, `explain` and `report` are about: a finding as it was saved, or a case run on a device just now.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tangle_campaign::clearest::{AtMaximal, at_maximal};
use tangle_campaign::finding::describe;
use tangle_campaign::prepare::{self, Prepared, prepare};
use tangle_campaign::target::{Conclusion, Finish, Jobs, Target};
use tangle_identity::{Kind, Signature};
use tangle_program::case::Case;
use tangle_report::saved::{SavedFinding, SavedShader, promise};
use tangle_report::subject::{Basis, Subject, TestedDevice};
use tangle_report::text::shell_word;
use tangle_runner::toolchain;

use super::args::{DriverArgs, read_case, timeout};
use super::output::say_stderr;

/// On which device to run, if on any.
#[derive(clap::Args, Clone)]
pub struct RunArgs {
    /// Take a finding's program as it was found, although a minimised one is saved beside it
    #[arg(long)]
    pub original: bool,
    /// Run it on this device now, by the name `tangle devices` shows, instead of taking what a finding saved
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    #[command(flatten)]
    pub(super) drivers: DriverArgs,
    /// The most processor time for one case on one device
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub timeout: Option<Duration>,
}

/// Reads a finding or a case, and runs it if a device is named.
pub fn load(path: &Path, args: &RunArgs) -> anyhow::Result<Subject> {
    let small = path.join("minimized");
    let path = match !args.original && SavedFinding::is_at(path) && SavedFinding::is_at(&small) {
        true => {
            say_stderr!("the minimised program is taken; --original takes the one that was found");
            &small
        }
        false => path,
    };
    let mut subject = match SavedFinding::is_at(path) {
        true => {
            let finding = SavedFinding::read(path)?;
            // A finding about the compiler has no module, and needs none.
            if finding.shader.is_none() && finding.signature.kind != Kind::Toolchain {
                say_stderr!(
                    "warning: the shader of the finding is not what this tangle makes of its case; compiled anew"
                );
            }
            of_finding(finding)
        }
        false => of_case(read_case(path)?),
    };
    if args.device.is_some() || !args.drivers.driver.is_empty() {
        // Without a name, the device of the driver that was given by its path.
        run(&mut subject, &args.open(args.device.as_slice())?[0])?;
    }
    if let Some(device) = &subject.device {
        subject.command =
            format!("tangle run {} --device {}", shell_word(&path.display().to_string()), shell_word(&device.name));
    }
    Ok(subject)
}

pub(super) fn of_finding(finding: SavedFinding) -> Subject {
    let judgement = finding.judgement();
    let heading = format!("{} on {}", finding.signature, finding.device);
    let shader = finding.shader.clone().unwrap_or_else(|| compile(&finding.case));
    // What is judged anew goes by the rules of today.
    let signature = match &judgement {
        Some(judgement) => Signature::traced(&finding.case, judgement, finding.observation.as_ref())
            .map(|signature| signature.with_debug_settings(finding.signature.debug_settings)),
        None => Some(finding.signature),
    };
    Subject {
        signature,
        basis: finding.observation.map_or(Basis::Nothing, |observation| {
            let promise = promise(&finding.device_info, &observation.map);
            Basis::Observed { observation, promise }
        }),
        report: without_heading(&finding.report, &heading).to_owned(),
        device: Some(TestedDevice { name: finding.device, info: finding.device_info, start: String::new() }),
        rate: finding.rate,
        passes_at_maximal: finding.passes_at_maximal,
        neighbour: finding.neighbour,
        variants: finding.variants,
        switches: finding.switches,
        ..with_shader(finding.case, shader)
    }
}

pub(super) fn of_case(case: Case) -> Subject {
    let shader = compile(&case);
    with_shader(case, shader)
}

fn with_shader(case: Case, shader: SavedShader) -> Subject {
    // Where they do not compile, the case does not either.
    let beside = prepare::beside(&case).unwrap_or_default().into_iter().map(|(stage, module)| (stage, module.0));
    let beside = beside.collect();
    let versions = format!("tangle {}, {}", env!("CARGO_PKG_VERSION"), toolchain::version());
    Subject { beside, ..Subject::of(case, shader, versions) }
}

/// Runs the case and takes the outcome.
pub(super) fn run(subject: &mut Subject, target: &Target) -> anyhow::Result<()> {
    let conclusion = try_on(subject, target)?;
    if let Finish::Unsupported { missing } = &conclusion.finish {
        anyhow::bail!("{} cannot run the case: it lacks {}", target.name, missing.join(", "));
    }
    subject.signature = conclusion.signature(&subject.case);
    subject.report = describe(&subject.case, &conclusion.finish);
    subject.basis = conclusion
        .observation
        .map_or(Basis::Nothing, |observation| Basis::Observed { observation, promise: target.capabilities.sizes });
    subject.device = Some(TestedDevice { name: target.name.clone(), info: target.info.clone(), start: String::new() });
    subject.rate = None;
    subject.passes_at_maximal = false;
    Ok(())
}

/// The same at tier maximal, where the device offers it and the failure is beyond doubt only there.
pub(super) fn clearest(subject: Subject, target: &Target) -> Subject {
    let signature = subject.signature.clone();
    let run_at = |case: &Case| try_on(&of_case(case.clone()), target);
    match at_maximal(target, &subject.case, signature.as_ref(), RUNS, run_at) {
        Ok(AtMaximal::Wrong(found)) => {
            let mut raised = of_case(found.0);
            // What is intermittent may be right this time.
            let is_shown = run(&mut raised, target).is_ok() && raised.signature.is_some();
            if is_shown { raised } else { subject }
        }
        Ok(AtMaximal::Right) => Subject { passes_at_maximal: true, ..subject },
        _ => subject,
    }
}

/// Runs of a case that passes at tier maximal.
const RUNS: u32 = 3;

/// Runs the case on another device.
pub fn try_on(subject: &Subject, target: &Target) -> anyhow::Result<Conclusion> {
    if subject.shader.spirv.is_empty() {
        return Ok(Conclusion::from(&prepare(subject.case.clone()).err().context("the case compiles now")?));
    }
    let SavedShader { source, spirv, .. } = subject.shader.clone();
    let conclusion = target.run(&Prepared { case: subject.case.clone(), shader: source, spirv });
    if let Finish::NoWorker { reason } = &conclusion.finish {
        anyhow::bail!("device {}: {reason}", target.name);
    }
    Ok(conclusion)
}

/// A report without its heading, which stands above it anyway.
fn without_heading<'a>(report: &'a str, heading: &str) -> &'a str {
    report.strip_prefix(heading).unwrap_or(report).trim()
}

fn compile(case: &Case) -> SavedShader {
    match prepare(case.clone()) {
        Ok(Prepared { shader: source, spirv, .. }) => {
            // A module without disassembly is still worth exporting.
            let disassembly = toolchain::read(&spirv).unwrap_or_else(|error| format!("; {error}\n"));
            SavedShader { source, spirv, disassembly }
        }
        Err(fault) => SavedShader { source: fault.shader, spirv: Vec::new(), disassembly: String::new() },
    }
}

impl RunArgs {
    /// Opens devices by name.
    pub fn open(&self, names: &[String]) -> anyhow::Result<Vec<Target>> {
        let options = tangle_runner::DeviceOptions { timeout: self.timeout, in_flight: 1, ..Default::default() };
        tangle_campaign::target::open(names, &self.drivers.drivers()?, Jobs::One, &options, |warning| {
            say_stderr!("warning: {warning}")
        })
    }
}

/// How tangle starts a program on a device's driver: variables and a command before the program's. Empty if the driver is not one
/// of this machine's, or needs nothing of the kind.
pub(super) fn start_of(info: &serde_json::Value, drivers: &DriverArgs) -> String {
    let drivers = drivers.drivers().map(|drivers| drivers.all());
    let Ok(Ok(drivers)) = drivers else { return String::new() };
    let Some(driver) = drivers.iter().find(|driver| info["driver"] == driver.name.as_str()) else {
        return String::new();
    };
    let mut words: Vec<String> = Vec::new();
    words.extend(
        driver
            .manifest
            .iter()
            .map(|manifest| format!("VK_DRIVER_FILES={}", shell_word(&manifest.display().to_string()))),
    );
    words.extend(driver.env.iter().map(|(name, value)| format!("{name}={}", shell_word(value))));
    words.extend(driver.prefix.iter().map(|word| shell_word(word)));
    if words.is_empty() { String::new() } else { words.join(" ") + " ./repro" }
}
