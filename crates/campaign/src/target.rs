//! A device, whatever runs its cases, and what comes of a case on it.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;
use tangle_analysis::validate::validate;
use tangle_identity::failure::{ToolFault, ToolStep};
use tangle_identity::known::Effect;
use tangle_identity::{Detail, DeviceId, DriverId, Kind, Signature, Status};
use tangle_oracle::judge::{Judgement, Mismatch, Observation, Verdict, judge};
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::variant::Variant;
use tangle_runner::config::{Drivers, MOST_JOBS, advice};
use tangle_runner::{
    Completed, DeviceError, DeviceOptions, DriverConfig, DriverMode, Inventory, Outcome, ProbeOptions, StartProblem,
    Terms, Times,
};

use crate::capabilities::Capabilities;
use crate::executor::driver::Driver;
use crate::executor::{self, Description, Economy, Executor, Runs, Worker};
use crate::failure;
use crate::health::{self, Examined, Health};
use crate::prepare::{self, Prep, Prepared, ToolchainFault, observation};

/// What a worker counts for that replaces one which crashed or hung.
const REPLACEMENT: Duration = Duration::from_millis(250);

/// A device that was opened by name: a driver's, a compiler, or one that is part of tangle.
pub struct Target {
    /// Its name, unique among those that are open.
    pub name: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Its identity and properties, for reports.
    pub info: serde_json::Value,
    /// What runs cases on it.
    pub executor: Box<dyn Executor>,
    health: Arc<Health>,
}

/// How many workers a device gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jobs {
    /// One worker, whatever the driver's entry says.
    #[default]
    One,
    /// So many for each device, whatever the driver's entry says.
    Each(NonZero<usize>),
    /// As many as its driver's entry says, or else its share of the processors.
    Shared,
}

impl Jobs {
    /// So many, if they are not too many.
    ///
    /// # Errors
    /// If they are: each is a process.
    pub fn each(jobs: NonZero<usize>) -> Result<Jobs, String> {
        if jobs.get() > MOST_JOBS as usize {
            return Err(format!("a device has at most {MOST_JOBS} workers"));
        }
        Ok(Jobs::Each(jobs))
    }

    /// The number for one of several devices.
    fn of(self, driver: Option<&DriverConfig>, devices: usize) -> NonZero<usize> {
        let entry = || driver.and_then(|driver| NonZero::new(driver.jobs? as usize));
        match self {
            Jobs::One => NonZero::<usize>::MIN,
            Jobs::Each(jobs) => jobs,
            Jobs::Shared => entry().unwrap_or_else(|| {
                let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
                NonZero::new(processors / devices.max(1)).unwrap_or(NonZero::<usize>::MIN)
            }),
        }
    }
}

/// The result of one case on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It ran and was judged.
    Judged(Judgement),
    /// It was compiled by a device that runs nothing.
    Compiled,
    /// The device cannot run it.
    Unsupported {
        /// What it lacks, each with the name that its API has for it.
        missing: Vec<String>,
    },
    /// The device failed: the crash, time-out or error.
    Failed(Outcome),
    /// The toolchain failed on the case before the device saw it, or a compiler that is tested did.
    Toolchain {
        /// Which step of it.
        step: ToolStep,
        /// What the tool printed.
        message: String,
    },
    /// The module has undefined behaviour; only what executes SPIR-V by its rules says so.
    Undefined {
        /// The rule that the module breaks.
        rule: String,
        /// The instruction, the invocations and the values, as the interpreter says it.
        place: String,
    },
    /// The module does not end, and the program does; only what counts instructions says so.
    Endless {
        /// How many were executed, how many are enough, and where the last of them is.
        place: String,
    },
    /// It ended tangle or the machine, twice: it is not run any more.
    Fatal {
        /// How it ended, in words.
        how: String,
    },
    /// This machine could not run it: no worker could be had, or no module made.
    NoWorker {
        /// The reason, in words.
        reason: String,
    },
}

impl Finish {
    /// The result in a word, given the signature that it has if it is a finding.
    pub fn status(&self, signature: Option<&Signature>) -> Status {
        if let Some(signature) = signature {
            return Status::Finding(signature.kind);
        }
        match self {
            Finish::Judged(judgement) if judgement.verdict == Verdict::Vacuous => Status::Vacuous,
            Finish::Judged(_) => Status::Pass,
            Finish::Compiled => Status::Compiled,
            Finish::Unsupported { .. } => Status::NotRun,
            Finish::Failed(_) => Status::ShortOfMemory,
            Finish::NoWorker { .. } => Status::NoWorker,
            Finish::Toolchain { .. } | Finish::Undefined { .. } | Finish::Endless { .. } => {
                Status::Finding(Kind::Toolchain)
            }
            Finish::Fatal { .. } => Status::Finding(Kind::Crash),
        }
    }
}

/// The outcome of one case on one device, with what was read back.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// What came of it, before it is compared with what is known.
    pub finish: Finish,
    /// What was read back.
    pub observation: Option<Observation>,
    /// Where the worker's time went.
    pub times: Times,
    /// A failure that came before, and not when the case ran again with nothing beside it.
    pub flake: Option<Outcome>,
    /// True if the device's driver ran with settings that it has for debugging only.
    pub debug_settings: bool,
}

impl From<&ToolchainFault> for Conclusion {
    fn from(fault: &ToolchainFault) -> Conclusion {
        Conclusion::without_data(match failure::of_toolchain(&fault.error) {
            Some((step, message)) => Finish::Toolchain { step, message },
            None => Finish::NoWorker { reason: fault.error.to_string() },
        })
    }
}

impl Conclusion {
    /// A conclusion with nothing read back.
    pub fn without_data(finish: Finish) -> Conclusion {
        Conclusion { finish, observation: None, times: Times::default(), flake: None, debug_settings: false }
    }

    /// Processor time that the run took of its worker.
    pub fn worker_time(&self) -> Duration {
        match &self.finish {
            Finish::Failed(Outcome::TimedOut { after, .. }) => *after + REPLACEMENT,
            Finish::Failed(_) => REPLACEMENT,
            _ => Duration::from_micros(self.times.processor_us),
        }
    }

    /// Judges the outcome of a job with one launch.
    pub fn of(case: &Case, capabilities: &Capabilities, outcome: Outcome) -> Conclusion {
        Conclusion::of_launches([case], capabilities, outcome).swap_remove(0)
    }

    /// Judges the outcome of a job with a launch for each of the cases: one conclusion for each that ran, in their order, or a single one
    /// if the job did not run. The times of the job go with the first.
    pub fn of_launches<'a>(
        cases: impl IntoIterator<Item = &'a Case>,
        capabilities: &Capabilities,
        outcome: Outcome,
    ) -> Vec<Conclusion> {
        let finish = match outcome {
            Outcome::Completed(Completed { launches, times }) => {
                let judged = cases.into_iter().zip(&launches).filter_map(|(case, launch)| {
                    observation(case, launch).map(|observation| Conclusion::judged(case, capabilities, observation))
                });
                let mut conclusions: Vec<Conclusion> = judged.collect();
                if conclusions.is_empty() {
                    conclusions.push(Conclusion::without_data(Finish::Compiled));
                }
                conclusions[0].times = times;
                return conclusions;
            }
            Outcome::Unsupported { missing } => Finish::Unsupported { missing },
            Outcome::WorkerLost { reason } => Finish::NoWorker { reason },
            Outcome::Undefined { rule, place, .. } => Finish::Undefined { rule, place },
            Outcome::Endless { place, .. } => Finish::Endless { place },
            failed => Finish::Failed(failed),
        };
        vec![Conclusion { debug_settings: capabilities.debug_settings, ..Conclusion::without_data(finish) }]
    }

    /// True if a sum or product of integers over lanes may leave its type in it.
    pub fn overflows(&self) -> bool {
        matches!(&self.finish, Finish::Judged(judgement) if judgement.overflows)
    }

    /// The same, unless it is a failure of a case that is not valid: that is a mistake of tangle, and says nothing about the device.
    pub fn of_well_defined(self, case: &Case) -> Conclusion {
        match self.signature(case).and_then(|_| validate(case).err()) {
            Some(invalid) => Conclusion::without_data(Finish::Judged(Judgement::not_defined(invalid.to_string()))),
            None => self,
        }
    }

    fn judged(case: &Case, capabilities: &Capabilities, observation: Observation) -> Conclusion {
        let judgement = judge(case, &observation, capabilities.sizes);
        Conclusion {
            observation: Some(observation),
            debug_settings: capabilities.debug_settings,
            ..Conclusion::without_data(Finish::Judged(judgement))
        }
    }

    /// The result in a word.
    pub fn status(&self, case: &Case) -> Status {
        self.finish.status(self.signature(case).as_ref())
    }

    /// True if it speaks against a failure of this effect: the case passes. That a pipeline could be created, or that a run came to its end with
    /// nothing to compare, speaks against one with which the driver dies.
    pub fn speaks_against(&self, case: &Case, effect: Option<Effect>) -> bool {
        match self.status(case) {
            Status::Pass => true,
            Status::Compiled | Status::Vacuous => effect == Some(Effect::Dies),
            Status::NotRun | Status::NoWorker | Status::ShortOfMemory | Status::Finding(_) => false,
        }
    }

    /// What is wrong with the device's results, if anything.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        match &self.finish {
            Finish::Judged(Judgement { verdict: Verdict::Mismatch(mismatch), .. }) => Some(mismatch),
            _ => None,
        }
    }

    /// The signature, if this is a finding.
    pub fn signature(&self, case: &Case) -> Option<Signature> {
        let signature = match &self.finish {
            Finish::Judged(judgement) => Signature::traced(case, judgement, self.observation.as_ref()),
            Finish::Compiled | Finish::Unsupported { .. } | Finish::NoWorker { .. } => None,
            Finish::Toolchain { step, message } => Some(of_tool(*step, message)),
            Finish::Undefined { rule, .. } => Some(of_tool(ToolStep::Execute, rule)),
            Finish::Endless { .. } => Some(of_tool(ToolStep::Endless, "the program does")),
            Finish::Failed(outcome) => failure::signature(outcome),
            Finish::Fatal { how } => Some(Signature::new(Kind::Crash, Detail::Text(format!("{how} twice")))),
        };
        signature.map(|signature| signature.with_debug_settings(self.debug_settings))
    }
}

fn of_tool(step: ToolStep, said: &str) -> Signature {
    Signature::new(Kind::Toolchain, Detail::Toolchain(ToolFault::new(step, said)))
}

impl Target {
    /// An open executor, one case at a time.
    pub fn new(executor: Box<dyn Executor>) -> Target {
        let Description { name, capabilities, info } = executor.description();
        Target { name, capabilities, info, executor, health: Arc::default() }
    }

    /// The device under a name whose first word is that of a kind that is [part of tangle](executor::BUILT_IN).
    ///
    /// # Errors
    /// If there is no such device.
    pub fn built_in(name: &str) -> anyhow::Result<Target> {
        let kind = executor::built_in(name).with_context(|| format!("no kind of device is called '{name}'"))?;
        Ok(Target::new((kind.open)(name)?))
    }

    /// Opens a device of a driver with one worker.
    ///
    /// # Errors
    /// If its worker does not start.
    pub fn driver(driver: &DriverConfig, index: u32, options: &DeviceOptions) -> anyhow::Result<Target> {
        Ok(Target::new(Box::new(Driver::open(driver, index, options)?)))
    }

    fn with_workers(mut self, jobs: NonZero<usize>, warn: &mut dyn FnMut(String)) -> Target {
        self.executor.open_workers(jobs, warn);
        self
    }

    /// The signature of a job that failed on it; `None` if the job did not fail.
    pub fn failure(&self, outcome: &Outcome) -> Option<Signature> {
        failure::signature(outcome).map(|signature| signature.with_debug_settings(self.capabilities.debug_settings))
    }

    /// True if it runs what it compiles.
    pub fn executes(&self) -> bool {
        self.executor.mode() == DriverMode::Execute
    }

    /// What a campaign of these makes its cases of, if not asked for: a driver among them decides.
    pub fn economy(targets: &[Target]) -> Economy {
        let all = || targets.iter().map(|target| target.executor.economy());
        let default = Economy::OF_DRIVERS;
        Economy {
            inputs: all().map(|economy| economy.inputs).max().unwrap_or(default.inputs),
            long_loops: all().map(|economy| economy.long_loops).min().unwrap_or(default.long_loops),
            is_halved: !targets.is_empty() && all().all(|economy| economy.is_halved),
        }
    }

    /// True if it runs modules, so that whoever made them may be to blame.
    pub fn runs_modules(&self) -> bool {
        self.executor.runs() != Runs::Tree
    }

    /// True if it compiles GLSL or WGSL itself.
    pub fn has_front_end(&self) -> bool {
        self.executor.runs() == Runs::Source
    }

    /// True if it is a WebGPU runtime.
    pub fn is_runtime(&self) -> bool {
        self.has_front_end() && self.executor.front_end().is_some()
    }

    /// What entries of known bugs name a device by.
    pub fn id(&self) -> DeviceId {
        DeviceId::new(&self.name, &self.info)
    }

    /// Name and version of its driver.
    pub fn driver_id(&self) -> DriverId {
        DriverId::of(&self.info)
    }

    /// What the device lacks for a case; empty if it can run it.
    pub fn missing(&self, case: &Case) -> Vec<String> {
        let mut missing = self.capabilities.missing(case);
        // What an optimiser makes against its documentation says nothing about any device.
        missing.extend(case.variant.unpromised());
        if self.runs_modules() {
            missing.extend(prepare::lacking(case));
        }
        if let Some(own) = self.executor.front_end().filter(|own| case.variant.front_end() != Some(own)) {
            missing.push(format!("modules that {own} did not make"));
        }
        missing
    }

    /// The case as this device runs it: a compiler makes the module itself, and is judged by what it promises.
    pub fn dressed<'c>(&self, case: &'c Case) -> Cow<'c, Case> {
        let Some(own) = self.executor.front_end().filter(|own| case.variant.front_end() != Some(own)) else {
            return Cow::Borrowed(case);
        };
        // What makes its own module lets nobody change it.
        let variant = if self.is_runtime() { Variant::compiled(own.clone()) } else { case.variant.by(own.clone()) };
        let mut dressed = Case { variant, ..case.clone() };
        if let Some(row) = tangle_compilers::row(own) {
            dressed.entry_point.spirv = dressed.entry_point.spirv.max(row.least_spirv);
        }
        if !self.capabilities.offers(case.tier) {
            dressed.tier = Tier::Plain;
        }
        if validate(&dressed).is_err() {
            dressed.tier = case.tier;
        }
        Cow::Owned(dressed)
    }

    /// The nearest to a random case that this device can run ([`tangle_compilers::fitted`]): compiled as it comes.
    pub fn fitted<'c>(&self, case: &'c Case) -> Cow<'c, Case> {
        let Some(own) = self.executor.front_end() else { return Cow::Borrowed(case) };
        let case = Case { variant: Variant::compiled(own.clone()), ..case.clone() };
        let fitted = tangle_compilers::fitted(own, case);
        if !self.is_runtime() {
            return Cow::Owned(fitted);
        }
        // How subgroups are launched is up to the runtime, but for a size that it can be asked for.
        let mut launched = fitted.clone();
        launched.entry_point.full_subgroups = false;
        let asks = matches!(launched.entry_point.subgroup_size, SubgroupSize::Required(_));
        if !asks || !self.capabilities.has_sizes_of(&launched) {
            launched.entry_point.subgroup_size = SubgroupSize::Default;
        }
        Cow::Owned(if validate(&launched).is_ok() { launched } else { fitted })
    }

    /// Looks whether a GPU comes to the end of an empty program that is launched as a case is, where that is not known since it hung last. Before a case
    /// runs: only of a GPU that is well does its hang say something.
    ///
    /// # Errors
    /// If it does not: the reason to give it up.
    pub(crate) fn examine(&self, worker: &dyn Worker, case: &Case) -> Result<(), String> {
        if !self.capabilities.is_gpu || !self.executes() {
            return Ok(());
        }
        self.health.examine(case.entry_point.stage, || {
            let empty = self.dressed(&health::empty(case)).into_owned();
            match prepare::prepare(empty) {
                Ok(prepared) if self.missing(&prepared.case).is_empty() => examined(worker, &prepared),
                Ok(_) | Err(_) => Examined::Nothing,
            }
        })
    }

    /// Takes note of what came of a program: what hung leaves doubt.
    pub(crate) fn heed(&self, outcome: &Outcome) {
        if leaves_doubt(outcome) {
            self.health.doubt();
        }
    }

    /// How often something hung on its GPU.
    pub(crate) fn hangs(&self) -> u64 {
        self.health.hangs()
    }

    /// What is known of its GPU.
    pub(crate) fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    /// The same device, opened once more, on a GPU of which this is known.
    #[must_use]
    pub(crate) fn with_health(self, health: Arc<Health>) -> Target {
        Target { health, ..self }
    }

    /// Why nothing is to be believed of its GPU any more, if that is so.
    pub(crate) fn unwell(&self) -> Option<String> {
        self.health.unwell()
    }

    /// Runs one case as far as it was prepared, or [dressed](Target::dressed), and waits for it.
    pub fn run_dressed(&self, prep: &Prep) -> Conclusion {
        let dressed = match self.dressed(prep.case()) {
            Cow::Borrowed(case) => {
                let missing = self.missing(case);
                if !missing.is_empty() {
                    return Conclusion::without_data(Finish::Unsupported { missing });
                }
                return match prep {
                    Prep::Ready(prepared) => self.run(prepared),
                    Prep::Faulty(_, fault) => Conclusion::from(fault),
                };
            }
            Cow::Owned(case) => case,
        };
        match self.missing(&dressed) {
            missing if missing.is_empty() => self.run_dressed(&Prep::of(dressed)),
            missing => Conclusion::without_data(Finish::Unsupported { missing }),
        }
    }

    /// Runs one case and waits for it.
    pub fn run(&self, prepared: &Prepared) -> Conclusion {
        let missing = self.missing(&prepared.case);
        if !missing.is_empty() {
            return Conclusion::without_data(Finish::Unsupported { missing });
        }
        self.run_on(self.executor.workers()[0], prepared)
    }

    /// The same on one worker, which may have more to do.
    pub(crate) fn run_on(&self, worker: &dyn Worker, prepared: &Prepared) -> Conclusion {
        if let Err(reason) = self.examine(worker, &prepared.case) {
            return Conclusion::without_data(Finish::NoWorker { reason });
        }
        let outcome = executor::run(worker, prepared);
        self.heed(&outcome);
        Conclusion::of(&prepared.case, &self.capabilities, outcome)
    }
}

/// Runs an empty program, once more alone if it hangs or the device is lost: others may be to blame for that.
fn examined(worker: &dyn Worker, prepared: &Prepared) -> Examined {
    let again = |suspicion| executor::run_once(worker, prepared, Terms::Again(suspicion));
    let first = executor::run_once(worker, prepared, Terms::Usual);
    let last = match first.suspicion().filter(|_| leaves_doubt(&first)) {
        Some(suspicion) => again(suspicion),
        None => first,
    };
    match last {
        Outcome::Completed(_) => Examined::Ended,
        outcome if leaves_doubt(&outcome) => Examined::Hung,
        _ => Examined::Nothing,
    }
}

/// Whether a GPU may not be well after this.
fn leaves_doubt(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::TimedOut { .. } | Outcome::DeviceLost { .. })
}

/// Opens the devices with the given names: if there is no name, all devices, or those of the drivers that were given by their
/// paths. Drivers that do not start are reported through `warn` when they were not asked for by name.
///
/// # Errors
/// If a named device could not be obtained, or there is none at all.
pub fn open(
    names: &[String],
    drivers: &Drivers,
    jobs: Jobs,
    options: &DeviceOptions,
    mut warn: impl FnMut(String),
) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    let devices = names.len();
    let (built_in, names): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| executor::built_in(name).is_some());
    for name in &built_in {
        targets.push(Target::built_in(name)?.with_workers(jobs.of(None, devices), &mut warn));
    }
    if !built_in.is_empty() && names.is_empty() {
        return Ok(targets);
    }
    let inventory = Inventory::probe(&drivers_of(&names, drivers)?, &ProbeOptions::default());
    if names.is_empty() {
        inventory.require_any().map_err(|error| advised(error, &inventory))?;
        for (driver, problem) in inventory.problems() {
            warn(format!("driver {}: {}", driver.name, with_advice(problem)));
        }
        let devices = inventory.devices().count();
        for (driver, info) in inventory.devices() {
            let jobs = jobs.of(Some(driver), devices);
            match Target::driver(driver, info.index, options) {
                Ok(target) => targets.push(target.with_workers(jobs, &mut warn)),
                Err(error) => warn(format!("device {}: {error}", info.name)),
            }
        }
    }
    for name in names {
        let (driver, info) = inventory.device(name).map_err(|error| advised(error, &inventory))?;
        let jobs = jobs.of(Some(driver), devices);
        targets.push(Target::driver(driver, info.index, options)?.with_workers(jobs, &mut warn));
    }
    if targets.is_empty() {
        bail!("no device could be opened");
    }
    Ok(targets)
}

/// The drivers that the named devices may be of: all if there is no name, or one that no driver has, so that the error names those there are.
fn drivers_of(names: &[&String], drivers: &Drivers) -> anyhow::Result<Vec<DriverConfig>> {
    if names.is_empty() {
        return Ok(drivers.unless_named()?);
    }
    let all = drivers.all()?;
    // The second device of a driver is DRIVER#1.
    let named = |driver: &DriverConfig, name: &str| name.split('#').next() == Some(&driver.name);
    let has_driver = |name: &&&String| all.iter().any(|driver| named(driver, name));
    if !names.iter().all(|name| has_driver(&name)) {
        return Ok(all);
    }
    Ok(all.into_iter().filter(|driver| names.iter().any(|name| named(driver, name))).collect())
}

/// Why a driver does not start, and what to do where that is known.
pub fn with_advice(problem: &StartProblem) -> String {
    advice(problem).unwrap_or_else(|| problem.to_string())
}

/// The error of an inventory with what to do about it, where a driver lacks a library.
fn advised(error: DeviceError, inventory: &Inventory) -> anyhow::Error {
    let known = inventory.problems().find_map(|(driver, problem)| Some((driver, advice(problem)?)));
    match (&error, known) {
        (DeviceError::Driver { driver, .. }, Some((of, advice))) if *driver == of.name => {
            anyhow::anyhow!("driver {driver}: {advice}")
        }
        (DeviceError::NoDevice { .. }, Some((of, advice))) => anyhow::anyhow!("driver {}: {advice}", of.name),
        _ => error.into(),
    }
}

/// Asks drivers what devices they have: those that run if none is named, or those that the named devices are of.
///
/// # Errors
/// If the devices file is bad.
pub fn inventory(names: &[String], drivers: &Drivers) -> anyhow::Result<Inventory> {
    let names: Vec<&String> = names.iter().collect();
    Ok(Inventory::probe(&drivers_of(&names, drivers)?, &ProbeOptions::default()))
}

#[cfg(test)]
mod tests {
    use tangle_generator::{Config, from_seed};
    use tangle_program::tree::{Expr, Stmt, VarId};

    use super::*;

    #[test]
    fn a_failure_of_a_case_that_is_not_valid_says_nothing() {
        let valid = from_seed(1, &Config::default());
        let mut invalid = valid.clone();
        let nowhere: VarId = u32::MAX;
        invalid.program.functions[0].body.push(Stmt::Assign { var: nowhere, value: Expr::Var(nowhere) });
        let finish = |finish, case| Conclusion::without_data(finish).of_well_defined(case).finish;
        let failed = Finish::Fatal { how: "killed".into() };
        let unsupported = Finish::Unsupported { missing: vec!["shaderInt64".into()] };
        assert_eq!(finish(failed.clone(), &valid), failed);
        assert_eq!(finish(unsupported.clone(), &invalid), unsupported);
        let Finish::Judged(judgement) = finish(failed, &invalid) else { panic!("it is judged") };
        assert!(matches!(judgement.verdict, Verdict::Invalid(_)), "{judgement:?}");
    }
}
