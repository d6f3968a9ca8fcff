//! A device, whatever it is: a Vulkan driver behind a worker process, or the reference device.

use std::num::NonZero;
use std::str::FromStr;

use anyhow::{Context as _, anyhow, bail};
use serde::Serialize;
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Judgement, Observation, Verdict, judge};
use tangle_oracle::map::LaneMap;
use tangle_oracle::reference;
use tangle_oracle::rules::{Finest, Spec};
use tangle_program::case::{Case, SubgroupSize};
use tangle_runner::{Completed, Device, DriverConfig, DriverMode, Inventory, Options, Outcome, ProbeOptions, Times};
use tangle_triage::signature::telling_words;
use tangle_triage::{DeviceId, Kind, Signature};

use crate::capabilities::Capabilities;
use crate::prepare::{Prepared, ToolchainFault, job, observation};

/// What the reference device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// What the specification says, with as much reconvergence as it allows.
    Spec,
    /// What the specification says, with as little reconvergence as it allows.
    Finest,
    /// One planted fault.
    Planted(Fault),
}

/// The reference device: the oracle's machine behind the interface of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What it does.
    pub behaviour: Behaviour,
    /// Its subgroup size, a power of two up to 128.
    pub subgroup_size: u32,
}

impl FromStr for Reference {
    type Err = anyhow::Error;

    /// `reference`, `reference:finest`, `reference:<fault>`, each with `@SIZE` at the end for a subgroup size other than 8.
    fn from_str(text: &str) -> anyhow::Result<Reference> {
        let (text, size) = text.split_once('@').unwrap_or((text, "8"));
        let subgroup_size: u32 = size.parse().with_context(|| format!("'{size}' is not a subgroup size"))?;
        if !subgroup_size.is_power_of_two() || subgroup_size > 128 {
            bail!("the reference device's subgroup size is a power of two up to 128, not {subgroup_size}");
        }
        let behaviour = match text.split_once(':') {
            None => Behaviour::Spec,
            Some((_, "finest")) => Behaviour::Finest,
            Some((_, name)) => {
                let fault = Fault::ALL.iter().find(|fault| fault.name() == name);
                Behaviour::Planted(*fault.ok_or_else(|| anyhow!("no planted fault '{name}'"))?)
            }
        };
        Ok(Reference { behaviour, subgroup_size })
    }
}

impl Reference {
    /// Runs a case. A required subgroup size is granted.
    ///
    /// # Errors
    /// If the case is ill-formed.
    pub fn observe(&self, case: &Case) -> anyhow::Result<Observation> {
        let size = match case.launch.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => self.subgroup_size,
        };
        let map = LaneMap::linear(case, size);
        Ok(match self.behaviour {
            Behaviour::Spec => reference::observe(case, &map, || Spec)?,
            Behaviour::Finest => reference::observe(case, &map, || Finest)?,
            Behaviour::Planted(fault) => reference::observe(case, &map, || Planted(fault))?,
        })
    }
}

/// An open device.
pub struct Target {
    /// Its unique name.
    pub name: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Its identity and properties, for reports.
    pub info: serde_json::Value,
    /// How cases run on it.
    pub backend: Backend,
}

/// How cases run on a device.
pub enum Backend {
    /// In worker processes.
    Vulkan(Workers),
    /// Here, so many at a time.
    Reference(Reference, NonZero<usize>),
}

/// The workers of one device.
pub struct Workers {
    first: Box<Device>,
    more: Vec<Device>,
}

impl Workers {
    /// Where single cases run.
    pub fn first(&self) -> &Device {
        &self.first
    }
}

/// Something that runs the cases of a device one after the other.
#[derive(Clone, Copy)]
pub enum Worker<'a> {
    /// A worker process.
    Vulkan(&'a Device),
    /// The thread that asks.
    Reference(&'a Reference),
}

/// How many workers a device gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jobs {
    /// One.
    #[default]
    One,
    /// So many.
    Each(NonZero<usize>),
    /// As many as its driver's entry says, or else its share of the processors.
    Shared,
}

impl Jobs {
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

/// What came of one case on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It ran and was judged.
    Judged(Judgement),
    /// It was compiled by a device that runs nothing.
    Compiled,
    /// The device cannot run it.
    Unsupported {
        /// What it lacks.
        missing: Vec<String>,
    },
    /// The device failed: the crash, time-out or error.
    Failed(Outcome),
    /// The toolchain failed, and what it said.
    Toolchain(String),
    /// This machine could not run it: no worker could be had, or no module made.
    NoWorker {
        /// Why.
        reason: String,
    },
}

/// The outcome of one case on one device, with what was read back.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// What came of it.
    pub finish: Finish,
    /// What was read back.
    pub observation: Option<Observation>,
    /// Where the worker's time went.
    pub times: Times,
}

impl From<&ToolchainFault> for Conclusion {
    fn from(fault: &ToolchainFault) -> Conclusion {
        let told = fault.error.to_string();
        Conclusion::without_data(match fault.is_local() {
            true => Finish::NoWorker { reason: told },
            false => Finish::Toolchain(told),
        })
    }
}

impl Conclusion {
    /// A conclusion with nothing read back.
    pub fn without_data(finish: Finish) -> Conclusion {
        Conclusion { finish, observation: None, times: Times::default() }
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
                    observation(launch).map(|observation| Conclusion::judged(case, capabilities, observation))
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
            failed => Finish::Failed(failed),
        };
        vec![Conclusion::without_data(finish)]
    }

    fn judged(case: &Case, capabilities: &Capabilities, observation: Observation) -> Conclusion {
        let judgement = judge(case, &observation, capabilities.sizes);
        Conclusion { finish: Finish::Judged(judgement), observation: Some(observation), times: Times::default() }
    }

    /// The result in a word: a kind of finding, or `pass`, `vacuous`, `compiled`, `not run`, `no worker`.
    pub fn status(&self, case: &Case) -> &'static str {
        match (self.signature(case), &self.finish) {
            (Some(signature), _) => signature.kind.name(),
            (None, Finish::Judged(judgement)) if judgement.verdict == Verdict::Vacuous => "vacuous",
            (None, Finish::Compiled) => "compiled",
            (None, Finish::Unsupported { .. }) => "not run",
            (None, Finish::NoWorker { .. }) => "no worker",
            (None, _) => "pass",
        }
    }

    /// The signature, if this is a finding.
    pub fn signature(&self, case: &Case) -> Option<Signature> {
        let with = |kind, detail: String| Some(Signature { kind, detail });
        match &self.finish {
            Finish::Judged(judgement) => Signature::of(case, judgement),
            Finish::Compiled | Finish::Unsupported { .. } | Finish::NoWorker { .. } => None,
            Finish::Toolchain(message) => {
                with(Kind::Toolchain, without_ids(message.lines().next().unwrap_or_default()))
            }
            Finish::Failed(outcome) => match outcome {
                Outcome::Crashed { end, stage, last_words } => {
                    let words = telling_words(last_words).map_or(String::new(), |words| format!(": {words}"));
                    with(Kind::Crash, format!("{end} while {stage}{words}"))
                }
                Outcome::TimedOut { stage, .. } => with(Kind::Hang, format!("while {stage}")),
                Outcome::DeviceLost { stage } => with(Kind::DeviceLost, format!("while {stage}")),
                other => with(Kind::VulkanError, other.to_string()),
            },
        }
    }
}

impl Target {
    /// The reference device under its name, one case at a time.
    ///
    /// # Errors
    /// If there is no such reference device.
    pub fn reference(name: &str) -> anyhow::Result<Target> {
        let reference: Reference = name.parse()?;
        Ok(Target {
            name: name.into(),
            capabilities: Capabilities::reference(reference.subgroup_size),
            info: serde_json::json!({ "name": name, "device_name": "tangle reference device" }),
            backend: Backend::Reference(reference, NonZero::<usize>::MIN),
        })
    }

    /// Opens a Vulkan device with one worker.
    ///
    /// # Errors
    /// If its worker does not come up.
    pub fn vulkan(driver: &DriverConfig, index: u32, options: &Options) -> anyhow::Result<Target> {
        let first = Box::new(Device::open(driver, index, options)?);
        let info = first.info();
        Ok(Target {
            name: info.name.clone(),
            capabilities: Capabilities::of(info),
            info: serde_json::to_value(info)?,
            backend: Backend::Vulkan(Workers { first, more: Vec::new() }),
        })
    }

    /// Opens workers until there are so many. It stays with fewer if not all come up, which `warn` is told.
    fn with_workers(mut self, jobs: NonZero<usize>, options: &Options, warn: &mut impl FnMut(String)) -> Target {
        let (first, more) = match &mut self.backend {
            Backend::Vulkan(Workers { first, more }) => (first, more),
            Backend::Reference(_, at_once) => {
                *at_once = jobs;
                return self;
            }
        };
        let open = || Device::open(first.driver(), first.info().index, options);
        std::thread::scope(|scope| {
            let opening: Vec<_> = (1..jobs.get()).map(|_| scope.spawn(open)).collect();
            for (number, opened) in (2..).zip(opening) {
                match opened.join() {
                    Ok(Ok(device)) => more.push(device),
                    Ok(Err(error)) => warn(format!("device {}, worker {number} of {jobs}: {error}", self.name)),
                    Err(_) => warn(format!("device {}, worker {number} of {jobs}: its thread ended", self.name)),
                }
            }
        });
        self
    }

    /// Everything that can run cases at the same time.
    pub fn workers(&self) -> Vec<Worker<'_>> {
        match &self.backend {
            Backend::Vulkan(workers) => {
                std::iter::once(&*workers.first).chain(&workers.more).map(Worker::Vulkan).collect()
            }
            Backend::Reference(reference, jobs) => vec![Worker::Reference(reference); jobs.get()],
        }
    }

    /// True if it runs what it compiles.
    pub fn executes(&self) -> bool {
        match &self.backend {
            Backend::Vulkan(workers) => workers.first().info().mode == DriverMode::Execute,
            Backend::Reference(..) => true,
        }
    }

    /// What known bugs tell devices apart by.
    pub fn id(&self) -> DeviceId {
        DeviceId::new(&self.name, &self.info)
    }

    /// What the device lacks for a case; empty if it can run it.
    pub fn missing(&self, case: &Case) -> Vec<String> {
        self.capabilities.missing(case)
    }

    /// Runs one case and waits for it.
    pub fn run(&self, prepared: &Prepared) -> Conclusion {
        let missing = self.missing(&prepared.case);
        if !missing.is_empty() {
            return Conclusion::without_data(Finish::Unsupported { missing });
        }
        match &self.backend {
            Backend::Vulkan(workers) => {
                Conclusion::of(&prepared.case, &self.capabilities, workers.first().run(job(prepared, 0)))
            }
            Backend::Reference(reference, _) => self.run_reference(reference, &prepared.case),
        }
    }

    /// Runs a case on the reference device.
    pub fn run_reference(&self, reference: &Reference, case: &Case) -> Conclusion {
        match reference.observe(case) {
            Ok(observation) => Conclusion::judged(case, &self.capabilities, observation),
            Err(error) => Conclusion::without_data(Finish::NoWorker { reason: error.to_string() }),
        }
    }
}

/// Opens the devices with the given names: all Vulkan devices if there is no name. Drivers that do not come up are told
/// through `warn` when they were not asked for by name.
///
/// # Errors
/// If a named device cannot be had, or there is none at all.
pub fn open(
    names: &[String],
    devices_file: Option<&std::path::Path>,
    jobs: Jobs,
    options: &Options,
    mut warn: impl FnMut(String),
) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    let devices = names.len();
    let (references, names): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| name.split([':', '@']).next() == Some("reference"));
    for name in &references {
        targets.push(Target::reference(name)?.with_workers(jobs.of(None, devices), options, &mut warn));
    }
    if !references.is_empty() && names.is_empty() {
        return Ok(targets);
    }
    let inventory = Inventory::probe(&drivers_of(&names, devices_file)?, &ProbeOptions::default());
    if names.is_empty() {
        for (driver, problem) in inventory.problems() {
            warn(format!("driver {}: {problem}", driver.name));
        }
        inventory.require_any()?;
        let devices = inventory.devices().count();
        for (driver, info) in inventory.devices() {
            let jobs = jobs.of(Some(driver), devices);
            match Target::vulkan(driver, info.index, options) {
                Ok(target) => targets.push(target.with_workers(jobs, options, &mut warn)),
                Err(error) => warn(format!("device {}: {error}", info.name)),
            }
        }
    }
    for name in names {
        let (driver, info) = inventory.device(name)?;
        let jobs = jobs.of(Some(driver), devices);
        targets.push(Target::vulkan(driver, info.index, options)?.with_workers(jobs, options, &mut warn));
    }
    if targets.is_empty() {
        bail!("no device could be opened");
    }
    Ok(targets)
}

/// A message of SPIRV-Tools without the names that differ from module to module: `'12[%12]'` becomes `'…'`.
fn without_ids(message: &str) -> String {
    let part =
        |(n, text): (usize, &str)| if n % 2 == 1 && text.contains("[%") { "…".to_owned() } else { text.to_owned() };
    message.split('\'').enumerate().map(part).collect::<Vec<_>>().join("'")
}

/// The drivers that the named devices may be of: all if there is no name, or one that no driver has, so that the error names those there are.
fn drivers_of(names: &[&String], devices_file: Option<&std::path::Path>) -> anyhow::Result<Vec<DriverConfig>> {
    let all = tangle_runner::drivers(devices_file)?;
    // The second device of a driver is DRIVER#1.
    let named = |driver: &DriverConfig, name: &str| name.split('#').next() == Some(&driver.name);
    let has_driver = |name: &&&String| all.iter().any(|driver| named(driver, name));
    if names.is_empty() || !names.iter().all(|name| has_driver(&name)) {
        return Ok(all);
    }
    Ok(all.into_iter().filter(|driver| names.iter().any(|name| named(driver, name))).collect())
}

/// Asks every driver of this machine what devices it has.
///
/// # Errors
/// If the devices file is bad.
pub fn inventory(devices_file: Option<&std::path::Path>) -> anyhow::Result<Inventory> {
    Ok(Inventory::probe(&tangle_runner::drivers(devices_file)?, &ProbeOptions::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchain_messages_have_no_ids() {
        for (message, want) in [
            ("construct '12[%12]' does not dominate '7[%main]'.", "construct '…' does not dominate '…'."),
            ("Prior to SPIR-V 1.4, 'UConvert' needs it", "Prior to SPIR-V 1.4, 'UConvert' needs it"),
            ("it's odd", "it's odd"),
        ] {
            assert_eq!(without_ids(message), want);
        }
    }
}
