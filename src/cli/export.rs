//! `tangle export FINDING|CASE`

use std::path::PathBuf;

use tangle_campaign::target::Finish;
use tangle_identity::{DriverId, Kind};
use tangle_oracle::judge::Verdict;
use tangle_program::case::SubgroupSize;
use tangle_program::subgroup::parse_subgroup_size;
use tangle_report::export::bundle;
use tangle_report::subject::{Basis, Elsewhere, Subject};

use super::args::Found;
use super::exhibit::{RunArgs, load, start_of, try_on};
use super::foreign;
use super::output::say;

#[derive(clap::Args)]
pub struct Args {
    /// What to export: the folder of a finding, or a case (JSON)
    case: PathBuf,
    #[command(flatten)]
    run: RunArgs,
    /// Expect what subgroups of so many consecutive invocations have to do, instead of the lanes that a device showed
    #[arg(long, value_name = "SIZE", value_parser = parse_subgroup_size, conflicts_with = "device")]
    subgroup_size: Option<u32>,
    /// Run it on these devices, too, and put the results into the README
    #[arg(long, value_name = "NAME")]
    also: Vec<String>,
    /// Folder for the bundle; one that holds a bundle is overwritten
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    if let Some(finding) = foreign::read(&args.case)? {
        return foreign::export(&finding, &args.out);
    }
    let mut subject = load(&args.case, &args.run)?;
    if args.subgroup_size.is_some() {
        // What a device did on other lanes has no place beside these expectations.
        subject.basis = Basis::Nothing;
        subject.signature = None;
        subject.device = None;
    }
    subject.others = others(args, &subject)?;
    if let Some(size) = linear_size(args, &subject)? {
        subject.basis = Basis::Linear(size);
    }
    if let Some(device) = &mut subject.device {
        device.start = start_of(&device.info, &args.run.drivers);
    }
    let bundle = bundle(&subject)?;
    bundle.write(&args.out)?;
    for (name, contents) in &bundle.files {
        say!("{} ({} bytes)", args.out.join(name).display(), contents.len())?;
    }
    Ok(Found::Nothing)
}

/// The size of linear subgroups to expect values for; `None`: those that the device showed, if it did.
fn linear_size(args: &Args, subject: &Subject) -> anyhow::Result<Option<u32>> {
    let required = match subject.case.entry_point.subgroup_size {
        SubgroupSize::Required(size) => Some(size),
        SubgroupSize::Default | SubgroupSize::Varying => None,
    };
    match (args.subgroup_size, required) {
        (Some(size), Some(required)) if size != required => {
            anyhow::bail!("the case requires subgroups of {required}")
        }
        (Some(size), _) => Ok(Some(size)),
        // A device that failed gave no lane map.
        (None, _) if subject.device.is_some() => Ok(None),
        (None, Some(size)) => Ok(Some(size)),
        (None, None) => {
            anyhow::bail!(
                "what is right depends on the lanes: name a --device, or a --subgroup-size for consecutive ones"
            )
        }
    }
}

fn others(args: &Args, subject: &Subject) -> anyhow::Result<Vec<Elsewhere>> {
    if args.also.is_empty() {
        return Ok(Vec::new());
    }
    let kind = subject.signature.as_ref().map(|signature| signature.kind);
    // What a driver that runs nothing would compute is not known.
    let is_about_compiler =
        matches!(kind, Some(Kind::Crash | Kind::Hang | Kind::VulkanError | Kind::OpenGlError | Kind::WebGpuError));
    let mut rows = Vec::new();
    for target in args.run.open(&args.also)? {
        let conclusion = try_on(subject, &target)?;
        let (is_right, result) = match (&conclusion.finish, conclusion.signature(&subject.case)) {
            (_, Some(signature)) => (Some(false), signature.to_string()),
            (Finish::Unsupported { missing }, _) => (None, format!("cannot run it: lacks {}", missing.join(", "))),
            (Finish::Judged(judgement), _) if judgement.verdict == Verdict::Vacuous => {
                (None, "nothing to compare".into())
            }
            (Finish::Compiled, _) => (is_about_compiler.then_some(true), "compiles it (and runs nothing)".into()),
            _ => (Some(true), "pass".into()),
        };
        let DriverId { name: driver, version } = target.driver_id();
        rows.push(Elsewhere { device: target.name.clone(), driver, version, result, is_right });
    }
    Ok(rows)
}
