//! `tangle run CASE`

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use anyhow::Context as _;
use tangle_analysis::validate::validate;
use tangle_campaign::everywhere::everywhere;
use tangle_campaign::finding::{describe, finding};
use tangle_campaign::isa;
use tangle_campaign::prepare::Prep;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_campaign::variants;
use tangle_program::case::Case;
use tangle_program::variant::Variant;
use tangle_report::SavedFinding;
use tangle_report::text::thousands;

use super::args::{DeviceArgs, Found, read_case};
use super::output::put;
use super::output::{say, say_stderr};
use super::table::Table;
use tangle_campaign::target::Jobs;

/// With one device, its story; with several, a table, and the stories of those that the case finds something on.
#[derive(clap::Args)]
pub struct Args {
    /// The case: a JSON file, the folder of a finding, or an artifact of `cargo fuzz`
    case: PathBuf,
    #[command(flatten)]
    devices: DeviceArgs,
    /// Run this variant of the program instead of the case's own: unoptimised, module (OpenGL: no text), driver-unoptimised, spirv-opt-O, spirv-opt-Os, or
    /// spirv-opt:PASS,PASS
    #[arg(long, value_name = "NAME")]
    variant: Option<Variant>,
    /// Run it as every variant on every device, and say which stage is to blame: front end, optimiser or driver. Saved in the
    /// finding's folder, if it is one
    #[arg(long, conflicts_with_all = ["variant", "json", "save"])]
    variants: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Save findings in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<Found> {
    let mut case = read_case(&args.case)?;
    if let Some(variant) = &args.variant {
        case.variant = variant.clone();
        validate(&case).with_context(|| format!("variant {variant}"))?;
    }
    let targets = args.devices.open(Jobs::One)?;
    if args.variants {
        return run_variants(args, &case, &targets);
    }
    if let [target] = targets.as_slice() {
        // What is printed and saved is what ran.
        case = target.dressed(&case).into_owned();
    }
    let prep = Prep::of(case);
    let preps = std::slice::from_ref(&prep);
    let conclusions: Vec<Conclusion> =
        everywhere(&targets, preps, &AtomicUsize::new(0)).into_iter().flatten().collect();
    let results: Vec<(&Target, &Conclusion)> = targets.iter().zip(&conclusions).collect();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows(&prep, &results))?)?;
    } else {
        print(&prep, &results)?;
    }
    let mut found = Found::Nothing;
    for (target, conclusion) in &results {
        if let Some(signature) = conclusion.signature(prep.case()) {
            found = Found::Something;
            if let Some(folder) = &args.save {
                let saved = finding(target, &prep, conclusion, signature).save(folder)?;
                if let Prep::Ready(prepared) = &prep {
                    isa::dump(target, prepared, &saved);
                }
                say_stderr!("saved {}", saved.display());
            }
        }
    }
    for (target, conclusion) in &results {
        if let Finish::NoWorker { reason } = &conclusion.finish {
            anyhow::bail!("device {}: {reason}", target.name);
        }
    }
    let supported = conclusions.iter().any(|conclusion| !matches!(conclusion.finish, Finish::Unsupported { .. }));
    anyhow::ensure!(supported, "no device can run the case");
    Ok(found)
}

fn rows(prep: &Prep, results: &[(&Target, &Conclusion)]) -> Vec<serde_json::Value> {
    let row = |(target, conclusion): &(&Target, &Conclusion)| {
        serde_json::json!({
            "device": target.name,
            "signature": conclusion.signature(prep.case()),
            "result": conclusion.finish,
        })
    };
    results.iter().map(row).collect()
}

fn print(prep: &Prep, results: &[(&Target, &Conclusion)]) -> anyhow::Result<()> {
    if let [(target, conclusion)] = results {
        say!("{}: {}", target.name, describe(prep.case(), &conclusion.finish))?;
        return Ok(());
    }
    let mut table = Table::new(["device", "result", "checked", "left open", "skipped", "what"]);
    for (target, conclusion) in results {
        let [checked, open, skipped] = match &conclusion.finish {
            Finish::Judged(judgement) => {
                let counts = &judgement.counts;
                [counts.checked, counts.tainted, counts.skipped].map(thousands)
            }
            _ => Default::default(),
        };
        let result = conclusion.status(prep.case()).title();
        table.row([target.name.clone(), result, checked, open, skipped, what(prep, conclusion)]);
    }
    put(format_args!("{table}"))?;
    for (target, conclusion) in results {
        if conclusion.signature(prep.case()).is_some() {
            say!("\n{}: {}", target.name, describe(prep.case(), &conclusion.finish))?;
        }
    }
    Ok(())
}

/// What there is to say in a line.
fn what(prep: &Prep, conclusion: &Conclusion) -> String {
    match (conclusion.signature(prep.case()), &conclusion.finish) {
        (Some(signature), _) => signature.detail.to_string(),
        (None, Finish::Unsupported { missing }) => format!("the device lacks {}", missing.join(", ")),
        (None, Finish::NoWorker { reason }) => reason.clone(),
        (None, _) => String::new(),
    }
}

fn run_variants(args: &Args, case: &Case, targets: &[Target]) -> anyhow::Result<Found> {
    let table = variants::table(targets, case);
    say!("{}", table.to_string().trim_end())?;
    for blame in table.blames() {
        say!("stage to blame on {blame}")?;
    }
    if SavedFinding::is_at(&args.case) {
        variants::save(&table, &args.case)?;
    }
    Ok(if table.failing().is_empty() { Found::Nothing } else { Found::Something })
}
