//! Random shaders of the stages beside compute on every device of this machine that has them.
//!
//! `TANGLE_STAGE_SEEDS=N` has it run more of each. Drivers have bugs in these stages, and a random program that shows one is not known by its
//! signature: such values and crashes are noted. What the harness of a stage could get wrong fails the test: a lane map that breaks a rule and is not
//! in `known/`, a shader that does not compile, commands that Vulkan refuses, and a stage in which hardly anything is right.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::common::expectations::Expectations;
use crate::common::targets::{each_target, lock};
use crate::common::*;
use tangle_campaign::prepare::prepare;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_generator::{Size, from_seed};
use tangle_identity::known::Known;
use tangle_identity::signature::Kind;
use tangle_program::case::{Case, Stage, Tier};

/// The stages that drivers on processors have.
const STAGES: [Stage; 4] = [Stage::Fragment, Stage::Task, Stage::Mesh, Stage::Vertex];

/// What came of the cases of one stage on one device.
#[derive(Default)]
struct Outcome {
    results: BTreeMap<&'static str, u32>,
    /// Values compared.
    checked: u64,
    /// What was wrong and nobody knows of.
    wrong: Vec<String>,
    /// That of it for which the harness may be the reason.
    suspect: Vec<String>,
}

impl Outcome {
    fn count(&self, result: &str) -> u32 {
        self.results.get(result).copied().unwrap_or(0)
    }

    /// True if so few are right that more than some bugs of the driver has to be the reason.
    fn is_hardly_right(&self) -> bool {
        self.checked == 0 || 2 * (self.count("right") + self.count("known")) < self.results.values().sum()
    }
}

/// True if what goes wrong may be the fault of what stands around a shader.
const fn may_be_of_harness(kind: Kind) -> bool {
    match kind {
        Kind::LaneMap
        | Kind::Toolchain
        | Kind::VulkanError
        | Kind::OpenGlError
        | Kind::WebGpuError
        | Kind::Implausible
        | Kind::Invalid => true,
        Kind::Value | Kind::Path | Kind::Crash | Kind::Hang | Kind::DeviceLost | Kind::OutOfMemory => false,
    }
}

/// A case that the device can run.
fn case(target: &Target, stage: Stage, seed: u64) -> Option<Case> {
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|&tier| target.capabilities.offers(tier)).collect();
    let tier = tiers[seed as usize % tiers.len()];
    let config = target.capabilities.config(stage, tier);
    let case = from_seed(seed, &tangle_generator::Config { size: Some(Size::MEDIUM), ..config });
    target.missing(&case).is_empty().then_some(case)
}

fn run(target: &Target, stage: Stage, seeds: u64, known: &Known) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in 0..seeds {
        let Some(case) = case(target, stage, seed) else { continue };
        tangle_runner::toolchain::compile_by(TANGLE.into());
        let conclusion = match prepare(case.clone()) {
            Ok(prepared) => target.run(&prepared),
            Err(fault) => Conclusion::from(&fault),
        };
        if let Finish::Judged(judgement) = &conclusion.finish {
            outcome.checked += judgement.counts.checked;
        }
        let result = match conclusion.signature(&case) {
            None => "right",
            Some(signature) if known.by_signature(&target.id(), &signature).is_some() => "known",
            Some(signature) => {
                let described = tangle_campaign::finding::describe(&case, &conclusion.finish);
                let of = format!("{} shader of seed {seed} on {}", stage.name(), target.name);
                if may_be_of_harness(signature.kind) {
                    outcome.suspect.push(format!("{of}: {signature}\n{described}"));
                }
                outcome.wrong.push(format!("{of}: {signature}"));
                "wrong"
            }
        };
        *outcome.results.entry(result).or_default() += 1;
    }
    outcome
}

#[test]
fn random_shaders_of_the_stages_on_every_device() {
    let seeds = std::env::var("TANGLE_STAGE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let expectations = Expectations::read();
    let known = Known::read(&[root().join("known")]).expect("the bug book");
    let wrong = Mutex::new(Vec::new());
    each_target(|target| {
        for stage in STAGES.into_iter().filter(|&stage| target.capabilities.offers_stage(stage)) {
            let outcome = run(target, stage, seeds, &known);
            let line = format!("{} shaders on {}: {:?}", stage.name(), target.name, outcome.results);
            note!("{line}, {} values checked", outcome.checked);
            outcome.wrong.iter().for_each(|line| note!("{line}"));
            if !expectations.moves(&target.name) {
                lock(&wrong).extend(outcome.is_hardly_right().then_some(line).into_iter().chain(outcome.suspect));
            }
        }
    });
    let wrong = lock(&wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same without a driver; and the comparison can fail.
#[test]
fn random_shaders_of_the_stages_on_reference_devices() {
    let known = Known::default();
    for (name, is_right, is_suspect) in [
        ("reference", true, false),
        ("reference:minimal", true, false),
        ("reference:helpers_absent", false, false),
        ("reference:entry_ballot_without_helpers", false, true),
        ("reference:payload_last_word_lost", false, true),
    ] {
        let Ok(target) = Target::built_in(name) else { panic!("there is no {name}") };
        let outcomes = STAGES.map(|stage| run(&target, stage, 30, &known));
        assert!(outcomes.iter().all(|outcome| outcome.checked > 0), "{name}");
        let wrong: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.wrong).collect();
        assert_eq!(wrong.is_empty(), is_right, "{name}: {wrong:?}");
        assert_eq!(outcomes.iter().any(|outcome| !outcome.suspect.is_empty()), is_suspect, "{name}");
    }
}
