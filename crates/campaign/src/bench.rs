//! What a case costs, stage by stage, and how fast a campaign is.
//!
//! Two measurements for each device: cases one at a time, where every stage is timed alone (so that costs can be set against the size of
//! the program and the number of values judged), and a campaign of some seconds with all workers, which is what a user gets.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;
use tangle_emit::source;
use tangle_generator::Stats;
use tangle_oracle::judge::judge;
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::predict;
use tangle_program::case::Case;
use tangle_program::variant::Variant;
use tangle_runner::toolchain;

use crate::campaign::{Campaign, CampaignOptions, Folder, memory};
use crate::plan::{Choice, Plan};
use crate::prepare::{Prepared, made};
use crate::target::Target;

/// The stages that a case goes through, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// From a seed to a program with its data.
    Generate,
    /// Printing it as GLSL.
    Print,
    /// From GLSL to SPIR-V.
    Compile,
    /// SPIRV-Tools' validator, on the module that the compiler made.
    Validate,
    /// The driver compiles: module and pipeline.
    Pipeline,
    /// Submission and wait; the interpreter on the reference device.
    Run,
    /// What the lanes must log, on the lane map that came back.
    Predict,
    /// The rest of the verdict: the tangles that were observed, and the comparison.
    Judge,
}

/// What one case cost.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Statements of its program.
    pub statements: u64,
    /// Values that its lanes logged.
    pub values: u64,
    /// Those of them that were compared.
    pub checked: u64,
    /// Seconds in each stage; every stage has an entry, of 0 where the device does without it.
    pub seconds: BTreeMap<Stage, f64>,
}

impl Cost {
    /// Seconds of some stages together.
    pub fn of(&self, stages: &[Stage]) -> f64 {
        stages.iter().filter_map(|stage| self.seconds.get(stage)).sum()
    }
}

/// What cases check, and for how much of a driver's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Checked {
    /// Values compared in a case.
    pub in_a_case: f64,
    /// Values compared for each second in the driver: pipeline and run.
    pub in_a_second: f64,
}

impl Checked {
    /// Of all these cases together.
    pub fn of(costs: &[Cost]) -> Checked {
        let values = costs.iter().map(|cost| cost.checked).sum::<u64>() as f64;
        let seconds: f64 = costs.iter().map(|cost| cost.of(&[Stage::Pipeline, Stage::Run])).sum();
        Checked { in_a_case: values / costs.len().max(1) as f64, in_a_second: values / seconds.max(1e-9) }
    }
}

/// How fast a campaign is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Speed {
    /// Seconds that it ran.
    pub seconds: f64,
    /// Workers that ran cases side by side.
    pub workers: usize,
    /// Cases that ran in a second, by all workers together.
    pub cases: f64,
    /// Values compared a second.
    pub values: f64,
    /// Share of the workers' busy time inside the driver; `None` on the reference device.
    pub driver: Option<f64>,
    /// Share of the time that the workers were busy; `None` on the reference device.
    pub busy: Option<f64>,
    /// Share of the machine's processors that were busy, whoever used them; `None` if that is not known.
    pub processors: Option<f64>,
    /// Memory of this process at the end, in bytes, without the workers.
    pub memory: u64,
}

/// Times the stages of cases of the sequence until `cases` of them ran on the device. Nothing else should run meanwhile.
///
/// # Errors
/// If the sequence cannot be made.
pub fn costs(target: &Target, choice: &Choice, cases: usize) -> anyhow::Result<Vec<Cost>> {
    // Variants that an optimiser makes would be timed as compilation.
    let choice = Choice { variant: Some(Variant::Unoptimised), inputs: NonZero::<u32>::MIN, ..choice.clone() };
    let plan = Plan::new(choice, std::slice::from_ref(target))?;
    let costs = (0..20 * cases as u64).filter_map(|index| cost(target, &plan, index));
    Ok(costs.take(cases).collect())
}

/// `None` if the device cannot run the case, or it failed.
fn cost(target: &Target, plan: &Plan, index: u64) -> Option<Cost> {
    let mut seconds = BTreeMap::new();
    let case = timed(&mut seconds, Stage::Generate, || plan.case(index).map(|case| target.fitted(&case).into_owned()))?;
    if !target.missing(&case).is_empty() {
        return None;
    }
    let prepared = prepare(case, &mut seconds)?;
    let started = Instant::now();
    let conclusion = target.run(&prepared);
    let ran = started.elapsed().as_secs_f64();
    let observation = conclusion.observation?;
    let (map, _) = LaneMap::check(&prepared.case, &observation.map, target.capabilities.sizes);
    let map = map?;
    timed(&mut seconds, Stage::Predict, || predict(&prepared.case, &map).is_ok());
    let started = Instant::now();
    let judgement = judge(&prepared.case, &observation, target.capabilities.sizes);
    let judged = started.elapsed().as_secs_f64();
    seconds.insert(Stage::Judge, (judged - seconds[&Stage::Predict]).max(0.0));
    let times = conclusion.times;
    let (pipeline, run) = match times.driver_us() {
        // The reference device judges while it runs.
        0 => (0.0, (ran - judged).max(0.0)),
        _ => ((times.module_us + times.pipeline_us) as f64 / 1e6, times.submit_wait_us as f64 / 1e6),
    };
    seconds.extend([(Stage::Pipeline, pipeline), (Stage::Run, run)]);
    let counts = judgement.counts;
    Some(Cost {
        statements: Stats::of(&prepared.case).statements,
        values: counts.checked + counts.tainted + counts.skipped,
        checked: counts.checked,
        seconds,
    })
}

fn prepare(case: Case, seconds: &mut BTreeMap<Stage, f64>) -> Option<Prepared> {
    let version = case.entry_point.spirv;
    let shader = timed(seconds, Stage::Print, || source(&case));
    // In a process that may crash, as in a campaign; what it makes is validated there.
    let spirv = timed(seconds, Stage::Compile, || made(&case, &shader, &[])).ok()?;
    timed(seconds, Stage::Validate, || toolchain::validate(&spirv, version)).ok()?;
    let validated = seconds[&Stage::Validate];
    seconds.entry(Stage::Compile).and_modify(|both| *both = (*both - validated).max(0.0));
    Some(Prepared { case, shader, spirv })
}

fn timed<T>(seconds: &mut BTreeMap<Stage, f64>, stage: Stage, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    seconds.insert(stage, started.elapsed().as_secs_f64());
    result
}

/// Runs a campaign on the device alone for so long, in a folder that is its own.
///
/// # Errors
/// If the campaign cannot run.
pub fn speed(
    target: Target,
    choice: Choice,
    time: Duration,
    folder: &Path,
    stop: &'static AtomicBool,
) -> anyhow::Result<Speed> {
    let workers = target.executor.workers().len();
    let max_disk = CampaignOptions::MAX_DISK;
    let known = Default::default();
    let options = CampaignOptions {
        choice,
        cases: None,
        time: Some(time),
        witnesses: 0,
        known,
        max_disk,
        processor_time: None,
        until_first: false,
    };
    let before = processors();
    let started = Instant::now();
    let campaign = Arc::new(Campaign::new(options, Folder::open(folder)?, vec![target], stop)?);
    campaign.run(|_| {})?;
    let statistics = campaign.statistics();
    let seconds = started.elapsed().as_secs_f64();
    let times = statistics.devices.values().next().map(|entry| entry.times).unwrap_or_default();
    let busy = times.worker > 0.0;
    Ok(Speed {
        seconds,
        workers,
        cases: statistics.cases() as f64 / seconds,
        values: statistics.counts().checked as f64 / seconds,
        driver: busy.then(|| times.driver_share()),
        busy: busy.then(|| times.worker / (seconds * workers as f64)),
        processors: before.zip(processors()).map(|(before, after)| after.share_since(before)),
        memory: memory().unwrap_or(0),
    })
}

/// Time that the machine's processors had, in ticks.
#[derive(Clone, Copy)]
struct Processors {
    all: u64,
    idle: u64,
}

impl Processors {
    fn share_since(self, before: Processors) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        1.0 - self.idle.saturating_sub(before.idle) as f64 / all as f64
    }
}

fn processors() -> Option<Processors> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks = text.lines().next()?.split_whitespace().skip(1).map_while(|field| field.parse().ok());
    let ticks: Vec<u64> = ticks.take(8).collect();
    // user, nice, system, idle, iowait, …
    Some(Processors { all: ticks.iter().sum(), idle: ticks.get(3)? + ticks.get(4)? })
}

/// Cases of about one size, or with about as many values.
#[derive(Clone, Debug, Serialize)]
pub struct Bucket {
    /// Cases that fell into it; at least one.
    pub cases: usize,
    /// Their mean size, or number of values.
    pub size: f64,
    /// Their mean cost in seconds.
    pub seconds: f64,
}

/// Cost against size, in steps of a factor of two.
pub fn curve(costs: &[Cost], size: impl Fn(&Cost) -> u64, stages: &[Stage]) -> Vec<Bucket> {
    let mut buckets = BTreeMap::<u32, (usize, f64, f64)>::new();
    for cost in costs.iter().filter(|cost| size(cost) > 0) {
        let bucket = buckets.entry(size(cost).ilog2()).or_default();
        bucket.0 += 1;
        bucket.1 += size(cost) as f64;
        bucket.2 += cost.of(stages);
    }
    let mean = |(cases, size, seconds)| Bucket { cases, size: size / cases as f64, seconds: seconds / cases as f64 };
    buckets.into_values().map(mean).collect()
}

/// The power of the size that the cost grows with, by least squares on the logarithms: 1 is linear, 2 is quadratic. Buckets count by
/// their cases. `None` with fewer than two.
pub fn exponent(curve: &[Bucket]) -> Option<f64> {
    let points = curve.iter().map(|bucket| (bucket.cases as f64, bucket.size.ln(), bucket.seconds.ln()));
    let (n, x, y, xx, xy) = points.fold((0.0, 0.0, 0.0, 0.0, 0.0), |(n, sx, sy, sxx, sxy), (w, x, y)| {
        (n + w, sx + w * x, sy + w * y, sxx + w * x * x, sxy + w * x * y)
    });
    let spread = n * xx - x * x;
    (curve.len() > 1 && spread > 0.0).then(|| (n * xy - x * y) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(values: u64, seconds: f64) -> Cost {
        Cost { statements: 1, values, checked: values, seconds: [(Stage::Judge, seconds)].into() }
    }

    #[test]
    fn the_exponent_tells_linear_from_quadratic() {
        let sizes = [10, 30, 100, 300, 1_000, 3_000];
        for (power, least, most) in [(1, 0.99, 1.01), (2, 1.99, 2.01)] {
            let costs: Vec<Cost> = sizes.iter().map(|&n| cost(n, (n as f64).powi(power))).collect();
            let curve = curve(&costs, |cost| cost.values, &[Stage::Judge]);
            let exponent = exponent(&curve).expect("there are several buckets");
            assert!((least..most).contains(&exponent), "{power}: {exponent}");
        }
    }

    #[test]
    fn values_are_counted_by_the_drivers_time() {
        let in_driver = |checked, pipeline, run| Cost {
            checked,
            seconds: [(Stage::Pipeline, pipeline), (Stage::Run, run), (Stage::Judge, 9.0)].into(),
            ..cost(1, 0.0)
        };
        assert_eq!(Checked::of(&[]), Checked::default());
        let all = [in_driver(30, 1.0, 0.5), in_driver(10, 0.25, 0.25)];
        assert_eq!(Checked::of(&all), Checked { in_a_case: 20.0, in_a_second: 20.0 });
    }

    #[test]
    fn every_stage_of_a_case_is_timed() {
        let target = Target::built_in("reference").expect("it is built in");
        let costs = costs(&target, &Choice { seed: 3, ..Choice::default() }, 3).expect("it runs");
        assert_eq!(costs.len(), 3);
        for cost in costs {
            assert_eq!(cost.seconds.len(), 8, "{cost:?}");
            assert!(
                cost.statements > 0 && cost.values > 0 && cost.of(&[Stage::Compile, Stage::Predict]) > 0.0,
                "{cost:?}"
            );
        }
    }
}
