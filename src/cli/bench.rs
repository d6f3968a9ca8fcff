//! `tangle bench`

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use tangle_campaign::bench::{Bucket, Checked, Cost, Speed, Stage, costs, curve, exponent, speed};
use tangle_campaign::executor::INPUTS;
use tangle_campaign::plan::Choice;
use tangle_campaign::planted::{DriverCost, Question, Worth, worth};
use tangle_campaign::target::Jobs;
use tangle_program::case::Stage as ShaderStage;

use super::args::{DeviceArgs, Found, duration, inputs, jobs};
use super::fuzz::stage;
use super::output::OutputError;
use super::output::say;
use super::table::Table;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: DeviceArgs,
    /// Only shaders of these stages of the pipeline, each measured by itself [default: the mixture that the device gets]
    #[arg(long, value_name = "NAME", value_parser = stage, value_delimiter = ',', num_args = 1.., conflicts_with = "planted")]
    stage: Vec<ShaderStage>,
    /// Seed of the sequence of cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many cases are timed stage by stage, on each device; with --planted, how many programs are looked at
    #[arg(long, value_name = "N", default_value_t = const { NonZero::new(200).unwrap() })]
    cases: NonZero<u32>,
    /// How long a campaign runs on each device
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "20s")]
    time: Duration,
    /// With how many inputs the campaign runs each program
    #[arg(long, value_name = "N", default_value_t = INPUTS, value_parser = inputs)]
    inputs: NonZero<u32>,
    /// Workers of the campaign [default: what devices.toml says, or else one for each processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<Jobs>,
    /// Instead, in how many programs each planted fault shows on the reference device, and how many faults that makes for a driver's time
    #[arg(long, conflicts_with_all = ["device", "time", "jobs"])]
    planted: bool,
    /// With --planted, what a driver takes for a program: lavapipe, nvidia, or PIPELINE,DISPATCH in milliseconds
    #[arg(long, value_name = "NAME", default_value = "lavapipe", requires = "planted")]
    driver_cost: DriverCost,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
}

/// What the making of a program costs by its size.
const MAKING: [Stage; 4] = [Stage::Generate, Stage::Print, Stage::Compile, Stage::Validate];
/// What the verdict costs by the values judged.
const JUDGING: [Stage; 2] = [Stage::Predict, Stage::Judge];
/// Every stage, in the order of a case.
const STAGES: [Stage; 8] = [
    Stage::Generate,
    Stage::Print,
    Stage::Compile,
    Stage::Validate,
    Stage::Pipeline,
    Stage::Run,
    Stage::Predict,
    Stage::Judge,
];

/// What was measured on one device.
#[derive(Serialize)]
struct Measured {
    device: String,
    /// The stage of the shaders; `None`: a mixture.
    stage: Option<ShaderStage>,
    /// Values compared, in a case and in a second of the driver.
    checked: Checked,
    speed: Speed,
    /// Seconds of a case by statements: generated, printed, compiled, validated.
    by_statements: Vec<Bucket>,
    /// Seconds of a case by values: predicted and judged.
    by_values: Vec<Bucket>,
    costs: Vec<Cost>,
}

static STOP: AtomicBool = AtomicBool::new(false);

pub fn run(args: &Args) -> anyhow::Result<Found> {
    if args.planted {
        return planted(args);
    }
    ctrlc::set_handler(|| STOP.store(true, Ordering::SeqCst))?;
    let targets = args.devices.open(Jobs::One)?;
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    let of_stage = |stage: Option<ShaderStage>| Choice {
        seed: args.seed,
        inputs: args.inputs,
        stages: stage.into_iter().collect(),
        ..Choice::default()
    };
    let stages: Vec<Option<ShaderStage>> = match args.stage.as_slice() {
        [] => vec![None],
        stages => stages.iter().copied().map(Some).collect(),
    };
    let mut all = Vec::new();
    for (target, name) in targets.iter().zip(&names) {
        for &stage in &stages {
            let costs = costs(target, &of_stage(stage), args.cases.get() as usize)?;
            all.push((name, stage, costs));
        }
    }
    drop(targets);
    let mut measured = Vec::new();
    for (name, stage, costs) in all {
        // Opened for itself: it has all processors.
        let target = args.devices.open_only(name, args.jobs.unwrap_or(Jobs::Shared))?;
        let folder = std::env::temp_dir().join(format!("tangle-bench-{}-{}", std::process::id(), measured.len()));
        let speed = speed(target, of_stage(stage), args.time, &folder, &STOP);
        let _ = std::fs::remove_dir_all(&folder);
        let one = Measured {
            device: name.clone(),
            stage,
            checked: Checked::of(&costs),
            speed: speed?,
            by_statements: curve(&costs, |cost| cost.statements, &MAKING),
            by_values: curve(&costs, |cost| cost.values, &JUDGING),
            costs,
        };
        if !args.json {
            show(&one)?;
        }
        measured.push(one);
    }
    if !args.json && stages.len() > 1 {
        show_stages(&measured)?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&measured)?)?;
    }
    Ok(Found::Nothing)
}

fn planted(args: &Args) -> anyhow::Result<Found> {
    let (programs, inputs) = (args.cases.into(), args.inputs);
    let worth = worth(&Question { first: args.seed, programs, inputs, cost: args.driver_cost });
    if args.json {
        say!("{}", serde_json::to_string_pretty(&worth)?)?;
    } else {
        show_worth(&worth)?;
    }
    Ok(Found::Nothing)
}

fn show_worth(worth: &Worth) -> Result<(), OutputError> {
    let Worth { programs, program_ms, expected, faults } = worth;
    let mut table = Table::new(["programs", "fault", "what is wrong"]);
    for shown in faults {
        let share = 100.0 * shown.programs as f64 / *programs as f64;
        table.row([format!("{share:.1} %"), shown.fault.clone(), shown.about.to_owned()]);
    }
    say!("{table}")?;
    let median = faults.get(faults.len() / 2).map_or(0, |shown| shown.programs);
    say!("{programs} programs of {program_ms:.0} ms each; half of the faults show in {median} or fewer of them")?;
    for expected in expected {
        say!("after {} s of the driver: {:.1} of {} faults", expected.seconds, expected.faults, faults.len())?;
    }
    Ok(())
}

/// What the stages of each device check, beside each other.
fn show_stages(measured: &[Measured]) -> Result<(), OutputError> {
    let mut table = Table::new(["device", "stage", "cases/s", "values/case", "values/s in the driver", "of compute"]);
    for Measured { device, stage, checked, speed, .. } in measured {
        let is_compute = |other: &&Measured| other.device == *device && other.stage == Some(ShaderStage::Compute);
        let compute = measured.iter().find(is_compute);
        let share = compute.map_or_else(
            || "-".to_owned(),
            |compute| format!("{:.2}", checked.in_a_second / compute.checked.in_a_second.max(1e-9)),
        );
        table.row([
            device.clone(),
            stage.map_or("mixture", ShaderStage::name).to_owned(),
            format!("{:.1}", speed.cases),
            format!("{:.0}", checked.in_a_case),
            format!("{:.0}", checked.in_a_second),
            share,
        ]);
    }
    say!("{table}")
}

fn show(measured: &Measured) -> Result<(), OutputError> {
    let Measured { device, stage, checked, speed, by_statements, by_values, costs } = measured;
    let device = stage.map_or_else(|| device.clone(), |stage| format!("{device}, {} shaders", stage.name()));
    let percent = |share: Option<f64>| share.map_or_else(|| "-".into(), |share| format!("{:.0} %", 100.0 * share));
    say!(
        "{device}: {:.1} cases/s, {:.0} values/s with {} workers in {:.0} s; memory {} MB",
        speed.cases,
        speed.values,
        speed.workers,
        speed.seconds,
        speed.memory >> 20
    )?;
    say!(
        "  workers busy {}, of that in the driver {}; the machine's processors busy {}",
        percent(speed.busy),
        percent(speed.driver),
        percent(speed.processors)
    )?;
    say!(
        "  {:.0} values compared in a case, {:.0} for each second in the driver",
        checked.in_a_case,
        checked.in_a_second
    )?;
    let all: f64 = costs.iter().map(|cost| cost.of(&STAGES)).sum();
    let mut stages = Table::new(["  stage", "ms/case", "share"]);
    for stage in STAGES {
        let seconds: f64 = costs.iter().map(|cost| cost.of(&[stage])).sum();
        let name = format!("  {stage:?}").to_lowercase();
        let per_case = 1e3 * seconds / costs.len().max(1) as f64;
        stages.row([name, format!("{per_case:.2}"), format!("{:.1} %", 100.0 * seconds / all.max(1e-9))]);
    }
    say!("{stages}")?;
    show_curve("statements", "generate to validate", 1e6, "µs", by_statements)?;
    show_curve("values", "predict and judge", 1e9, "ns", by_values)
}

fn show_curve(of: &str, stages: &str, scale: f64, unit: &str, curve: &[Bucket]) -> Result<(), OutputError> {
    let mut table = Table::new([format!("  {of}"), "cases".into(), "ms/case".into(), format!("{unit} each")]);
    for bucket in curve {
        table.row([
            format!("  {:.0}", bucket.size),
            bucket.cases.to_string(),
            format!("{:.2}", 1e3 * bucket.seconds),
            format!("{:.1}", scale * bucket.seconds / bucket.size),
        ]);
    }
    let grows = exponent(curve).map_or_else(String::new, |power| format!(": grows with power {power:.2} of the {of}"));
    say!("  {stages}{grows}\n{table}")
}
