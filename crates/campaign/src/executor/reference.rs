//! The reference device: the oracle's machine behind the interface of a device. It runs the tree, not the module.

use std::num::NonZero;
use std::str::FromStr;

use anyhow::anyhow;
use crossbeam_channel::Sender;
use tangle_oracle::faults::fragment::{FragmentFault, PlantedFragment};
use tangle_oracle::faults::items::{ItemFault, PlantedItem};
use tangle_oracle::faults::workgroup::{PlantedWorkgroup, WorkgroupFault};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::Observation;
use tangle_oracle::map::LaneMap;
use tangle_oracle::predict::NotDefined;
use tangle_oracle::reference;
use tangle_oracle::rules::{MinimalReconvergence, Rules, Spec};
use tangle_program::case::{Case, Launch};
use tangle_runner::{Completed, Completion, Outcome};

use super::traits::{BuiltIn, Description, Executor, Runs, Task, Worker, subgroup_size};
use crate::capabilities::Capabilities;
use crate::prepare::launch_output;

/// `reference`, `reference:minimal`, `reference:<fault>`, each with `@SIZE` at the end for a subgroup size other than 8.
pub const BUILT_IN: BuiltIn = BuiltIn {
    word: "reference",
    open: |name| {
        let reference = name.parse()?;
        Ok(Box::new(ReferenceDevice { name: name.to_owned(), reference, jobs: NonZero::<usize>::MIN }))
    },
};

/// What the reference device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// What the specification says, with as much reconvergence as it allows.
    Spec,
    /// What the specification says, with as little reconvergence as it allows.
    MinimalReconvergence,
    /// What the specification says, but for one planted fault.
    Planted(Fault),
    /// The planted faults of one name of those that the ways to launch a shader have of their own.
    OfLaunch(Option<WorkgroupFault>, Option<FragmentFault>, Option<ItemFault>),
}

/// How the reference device runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Right, or with which fault.
    pub behaviour: Behaviour,
    /// Its subgroup size, a power of two up to 128.
    pub subgroup_size: u32,
}

impl FromStr for Reference {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Reference> {
        let (name, subgroup_size) = subgroup_size(name)?;
        let behaviour = match name.split_once(':') {
            None => Behaviour::Spec,
            Some((_, "minimal")) => Behaviour::MinimalReconvergence,
            Some((_, name)) => {
                let fault = Fault::ALL.iter().find(|fault| fault.name() == name);
                let of_workgroups = WorkgroupFault::ALL.iter().find(|fault| fault.name() == name).copied();
                let of_fragments = FragmentFault::ALL.iter().find(|fault| fault.name() == name).copied();
                let of_items = ItemFault::ALL.iter().find(|fault| fault.name() == name).copied();
                let is_of_launch = of_workgroups.is_some() || of_fragments.is_some() || of_items.is_some();
                let of_launch = is_of_launch.then_some(Behaviour::OfLaunch(of_workgroups, of_fragments, of_items));
                let fault = fault.map(|&fault| Behaviour::Planted(fault)).or(of_launch);
                fault.ok_or_else(|| anyhow!("no planted fault '{name}'"))?
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
        let size = case.entry_point.subgroup_size.required().unwrap_or(self.subgroup_size);
        let map = LaneMap::linear(case, size);
        Ok(match self.behaviour {
            Behaviour::Spec => reference::observe(case, &map, || Spec)?,
            Behaviour::MinimalReconvergence => reference::observe(case, &map, || MinimalReconvergence)?,
            Behaviour::Planted(fault) => reference::observe(case, &map, || Planted::new(fault))?,
            Behaviour::OfLaunch(of_workgroups, of_fragments, of_items) => match case.entry_point.launch {
                Launch::Workgroups(_) => observe_with(case, &map, of_workgroups.map(PlantedWorkgroup))?,
                Launch::Draw(_) => observe_with(case, &map, of_fragments.map(PlantedFragment))?,
                Launch::Items(_) => observe_with(case, &map, of_items.map(PlantedItem))?,
            },
        })
    }
}

/// A device with a planted fault, or a right one without.
fn observe_with<R: Rules + Clone>(case: &Case, map: &LaneMap, fault: Option<R>) -> Result<Observation, NotDefined> {
    match fault {
        Some(fault) => reference::observe(case, map, || fault.clone()),
        None => reference::observe(case, map, || Spec),
    }
}

impl Worker for Reference {
    fn submit(&self, task: &Task<'_>, completions: &Sender<Completion>) {
        let launches: anyhow::Result<Vec<_>> =
            task.cases.iter().map(|case| Ok(launch_output(case, &self.observe(case)?))).collect();
        let outcome = match launches {
            Ok(launches) => Outcome::Completed(Completed { launches, ..Completed::default() }),
            Err(error) => Outcome::WorkerLost { reason: error.to_string() },
        };
        // Whoever asked may have gone.
        let _ = completions.send(Completion { job: task.id, outcome });
    }
}

/// The reference device under its name.
struct ReferenceDevice {
    name: String,
    reference: Reference,
    jobs: NonZero<usize>,
}

impl Executor for ReferenceDevice {
    fn description(&self) -> Description {
        Description {
            name: self.name.clone(),
            capabilities: Capabilities::reference(self.reference.subgroup_size),
            info: serde_json::json!({ "name": self.name, "device_name": "tangle reference device" }),
        }
    }

    fn workers(&self) -> Vec<&dyn Worker> {
        vec![&self.reference; self.jobs.get()]
    }

    fn open_workers(&mut self, jobs: NonZero<usize>, _warn: &mut dyn FnMut(String)) {
        self.jobs = jobs;
    }

    fn runs(&self) -> Runs {
        Runs::Tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fragment shaders and derivative groups both have a fault of this name.
    #[test]
    fn a_fault_is_that_of_the_launch() {
        let maps = |text: &str, device: &str| {
            let case = Case::from_json(text).expect("a saved case");
            let device: Reference = device.parse().expect("a device");
            device.observe(&case).expect("the case is well-formed").map
        };
        for text in [
            include_str!("../../../../corpus/language/quads_of_local_ids.json"),
            include_str!("../../../../corpus/fragments/demote_entire_quad.json"),
        ] {
            assert_ne!(maps(text, "reference:quad_transposed"), maps(text, "reference"));
            assert_eq!(maps(text, "reference:count_lost"), maps(text, "reference"), "a fault of items alone");
        }
    }
}
