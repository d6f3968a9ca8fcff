//! A finding, or a case with what a device made of it: the model that every reporter and the bundle are made from.
//!
//! A [`Subject`] is what is known, an [`Analysis`] what follows from it: the lane map judged, every lane's steps, the first wrong one, the
//! rules that are broken.

use tangle_identity::account::Account;
use tangle_identity::rule::{self, Rule};
use tangle_identity::signature::{Kind, Signature};
use tangle_identity::stage::Table;
use tangle_identity::switches::Switches;
use tangle_oracle::judge::Observation;
use tangle_oracle::map::{LaneMap, MapFault, SubgroupPromise};
use tangle_oracle::predict::NotDefined;
use tangle_program::case::{Case, Stage};
use tangle_program::text::spaced;

use crate::saved::{Rate, SavedShader};
use crate::wrong_step::WrongStep;

/// A finding, or a case.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The case that failed, or that is shown.
    pub case: Case,
    /// Its shader and module; no module if the compiler failed on it.
    pub shader: SavedShader,
    /// The modules of the other shaders of its pipeline ([`tangle_emit::glsl::stage::beside`]), with which exports run it; none if they are not
    /// known.
    pub beside: Vec<(Stage, Vec<u32>)>,
    /// The lane map that values are expected for.
    pub basis: Basis,
    /// What is wrong, if anything.
    pub signature: Option<Signature>,
    /// What happened, in words: used where there is no first wrong step.
    pub report: String,
    /// The device that it happened on.
    pub device: Option<TestedDevice>,
    /// Other devices that were tried.
    pub others: Vec<Elsewhere>,
    /// How often the case fails, if that was counted.
    pub rate: Option<Rate>,
    /// True if the device is known to do the same program right at tier maximal.
    pub passes_at_maximal: bool,
    /// The nearest case that passes, if there is one.
    pub neighbour: Option<Case>,
    /// The same program as every variant on every device, if that was run.
    pub variants: Option<Table>,
    /// What makes it pass, if that was tried.
    pub switches: Option<Switches>,
    /// The command that runs the case on the device again; empty if it is not on disk.
    pub command: String,
    /// Versions of tangle and of the compiler that made the module.
    pub versions: String,
}

/// The lane map that values are expected for.
#[derive(Clone, Debug)]
pub enum Basis {
    /// The one that a device showed.
    Observed {
        /// What was read back.
        observation: Observation,
        /// What the device promises about subgroup sizes.
        promise: SubgroupPromise,
    },
    /// Subgroups of so many consecutive local indices.
    Linear(u32),
    /// None: no values are expected.
    Nothing,
}

/// The device of a finding.
#[derive(Clone, Debug)]
pub struct TestedDevice {
    /// Its name in tangle.
    pub name: String,
    /// Its identity and properties (`device.json`).
    pub info: serde_json::Value,
    /// How tangle starts a program on its driver: variables and a command before the program's. Empty if that is not known.
    pub start: String,
}

/// The result of the program on another device.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The unique name of the device.
    pub device: String,
    /// The name of its driver, the same for all its versions.
    pub driver: String,
    /// The version of the driver, in the driver's words.
    pub version: String,
    /// The result, in words.
    pub result: String,
    /// Whether it was right; `None` if nothing was compared.
    pub is_right: Option<bool>,
}

/// What follows from a subject.
#[derive(Clone, Debug)]
pub struct Analysis<'a> {
    /// What it follows from.
    pub subject: &'a Subject,
    /// The words of the lane map; none if there is no map.
    pub map: Vec<u32>,
    /// What is wrong with the lane map.
    pub faults: Vec<MapFault>,
    /// What every lane had to do, and did; `None` if nothing is known of the lane map, or if the finding is about it: a right device has
    /// another.
    pub account: Option<Account<'a>>,
    /// The first wrong step.
    pub wrong_step: Option<WrongStep>,
    /// The rules that are broken.
    pub rules: Vec<Rule>,
}

impl Subject {
    /// A case with its shader, of which nothing else is known.
    pub fn of(case: Case, shader: SavedShader, versions: String) -> Subject {
        Subject {
            case,
            shader,
            beside: Vec::new(),
            basis: Basis::Nothing,
            signature: None,
            report: String::new(),
            device: None,
            others: Vec::new(),
            rate: None,
            passes_at_maximal: false,
            neighbour: None,
            variants: None,
            switches: None,
            command: String::new(),
            versions,
        }
    }

    /// Takes it apart.
    ///
    /// # Errors
    /// If the case has undefined behaviour on the lane map.
    pub fn analyse(&self) -> Result<Analysis<'_>, NotDefined> {
        let (words, map, faults, observation) = match &self.basis {
            Basis::Observed { observation, promise } => {
                let (map, faults) = LaneMap::check(&self.case, &observation.map, *promise);
                (observation.map.clone(), map, faults, Some(observation))
            }
            Basis::Linear(size) => {
                let map = LaneMap::linear(&self.case, *size);
                (map.words(&self.case), Some(map), Vec::new(), None)
            }
            Basis::Nothing => (Vec::new(), None, Vec::new(), None),
        };
        let is_about_map = self.signature.as_ref().is_some_and(|signature| signature.kind == Kind::LaneMap);
        let map = map.filter(|_| !is_about_map);
        let account = map.map(|map| Account::new(&self.case, map, observation)).transpose()?;
        Ok(Analysis {
            subject: self,
            map: words,
            wrong_step: account.as_ref().and_then(WrongStep::of),
            rules: self.broken_rules(account.as_ref(), &faults),
            account,
            faults,
        })
    }

    fn broken_rules(&self, account: Option<&Account<'_>>, faults: &[MapFault]) -> Vec<Rule> {
        let Some(signature) = &self.signature else { return Vec::new() };
        let mut rules = Vec::new();
        if let Some((account, first)) = account.and_then(|account| Some((account, account.first()?))) {
            rules.extend(rule::of_step(account, &first));
        }
        rules.extend(faults.iter().map(|fault| rule::of_map(fault.rule)));
        rules.extend(rule::of_failure(signature));
        rules.extend(rule::of_severity(signature, self.passes_at_maximal));
        rules.dedup();
        rules
    }
}

impl Analysis<'_> {
    /// What is wrong, in one line; `None` if nothing is.
    pub fn headline(&self) -> Option<String> {
        match (&self.wrong_step, &self.subject.signature) {
            (Some(wrong_step), _) => Some(wrong_step.headline.clone()),
            (None, Some(signature)) => Some(format!("{}: {}", spaced(signature.kind.name()), signature.detail)),
            (None, None) => None,
        }
    }
}
