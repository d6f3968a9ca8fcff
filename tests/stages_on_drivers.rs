//! Random shaders of the stages beside compute on every Vulkan device of this machine.
//!
//! `TANGLE_STAGE_SEEDS=N` has it run more of each. What a device gets wrong is held against it unless `known/` has it.

mod common;

use std::collections::BTreeMap;

use common::expectations::Expectations;
use common::targets::each_target;
use common::*;
use tangle_campaign::prepare::prepare;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_generator::{Size, from_seed};
use tangle_identity::known::Known;
use tangle_program::case::{Case, Stage, Tier};

/// The stages that drivers on processors have.
const STAGES: [Stage; 4] = [Stage::Fragment, Stage::Task, Stage::Mesh, Stage::Vertex];

/// What came of the cases of one stage on one device.
#[derive(Default)]
struct Outcome {
    results: BTreeMap<&'static str, u32>,
    /// Values compared.
    checked: u64,
    /// What the device got wrong and nobody knows of.
    wrong: Vec<String>,
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
                outcome.wrong.push(format!("{of}: {signature}\n{described}"));
                "wrong"
            }
        };
        *outcome.results.entry(result).or_default() += 1;
    }
    outcome
}

#[test]
fn random_shaders_of_the_stages_on_every_vulkan_device() {
    let seeds = std::env::var("TANGLE_STAGE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let expectations = Expectations::read();
    let known = Known::read(&[root().join("known")]).expect("the bug book");
    let mut wrong = Vec::new();
    each_target(|target| {
        for stage in STAGES.into_iter().filter(|&stage| target.capabilities.offers_stage(stage)) {
            let Outcome { results, checked, wrong: found } = run(target, stage, seeds, &known);
            note!("{} shaders on {}: {results:?}, {checked} values checked", stage.name(), target.name);
            assert!(checked > 0, "nothing was compared of {} shaders on {}", stage.name(), target.name);
            if expectations.moves(&target.name) {
                let first_lines = found.iter().filter_map(|wrong| wrong.lines().next());
                first_lines.for_each(|line| note!("not held against it: {line}"));
            } else {
                wrong.extend(found);
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same without a driver; and the comparison can fail.
#[test]
fn random_shaders_of_the_stages_on_reference_devices() {
    let known = Known::default();
    for (name, is_right) in [("reference", true), ("reference:minimal", true), ("reference:helpers_absent", false)] {
        let Ok(target) = Target::built_in(name) else { panic!("there is no {name}") };
        let outcomes = STAGES.map(|stage| run(&target, stage, 30, &known));
        assert!(outcomes.iter().all(|outcome| outcome.checked > 0), "{name}");
        let wrong: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.wrong).collect();
        assert_eq!(wrong.is_empty(), is_right, "{name}: {wrong:?}");
    }
}
