//! Every case of `corpus/` on every Vulkan device of this machine, at every tier that the device offers, and on the reference device.
//!
//! Known exceptions stand in `corpus/expectations.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::common::expectations::{Expectations, Expected, matches};
use crate::common::targets::{each_target, lock};
use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_campaign::prepare::prepare;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_emit::glsl::Dialect;
use tangle_oracle::judge::Verdict;
use tangle_program::api::Api;
use tangle_program::case::{Case, Tier};

/// A case of the corpus.
struct Entry {
    /// Path below `corpus/`, without `.json`.
    name: String,
    case: Case,
}

fn corpus() -> Vec<Entry> {
    let folder = root().join("corpus");
    let files = tree(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
    let entry = |path: PathBuf| {
        let file = folder.join(&path);
        let case = Case::from_json(&read(&file)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        validate(&case).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!case.about.is_empty(), "{} does not say what it guards", path.display());
        Entry { name: path.with_extension("").display().to_string(), case }
    };
    let entries: Vec<Entry> = files.map(entry).collect();
    assert!(entries.len() >= 18, "the corpus has the vectors V1 to V18");
    entries
}

/// What is expected of a device.
struct Facts {
    /// Name and version of the driver.
    driver: String,
    subgroup_size: u64,
}

impl Facts {
    fn of(target: &Target) -> Facts {
        Facts {
            driver: target.driver_id().to_string(),
            subgroup_size: u64::from(match target.capabilities.sizes {
                sizes if sizes.api == Api::WebGpu => sizes.min,
                sizes => sizes.default,
            }),
        }
    }

    fn expects<'a>(&self, expectations: &'a Expectations, entry: &Entry, tier: Tier) -> Option<&'a Expected> {
        expectations.expected.iter().find(|expected| {
            matches(&expected.case, &entry.name)
                && expected.tier.as_deref().is_none_or(|name| name == tier.name())
                && expected.driver.as_deref().is_none_or(|pattern| matches(pattern, &self.driver))
                && expected.subgroup_size.is_none_or(|size| size == self.subgroup_size)
        })
    }
}

/// The result of the corpus on one device.
#[derive(Default)]
struct Outcome {
    results: BTreeMap<&'static str, u32>,
    checked: u64,
    tainted: u64,
    /// What was run and compared.
    line: String,
    /// What is not as it should be, one line each.
    wrong: Vec<String>,
}

fn result_of(case: &Case, conclusion: &Conclusion) -> &'static str {
    match (conclusion.signature(case), &conclusion.finish) {
        (Some(signature), _) => signature.kind.name(),
        (None, Finish::Unsupported { .. }) => "not supported",
        (None, Finish::Judged(judgement)) if judgement.verdict == Verdict::Vacuous => "vacuous",
        (None, Finish::Judged(_)) => "pass",
        (None, other) => panic!("{other:?}"),
    }
}

/// Runs the corpus at every tier that the device offers and for which the cases are valid.
fn run_corpus(target: &Target, expectations: &Expectations) -> Outcome {
    run_entries(target, corpus(), expectations)
}

fn run_entries(target: &Target, entries: impl IntoIterator<Item = Entry>, expectations: &Expectations) -> Outcome {
    let facts = Facts::of(target);
    let mut outcome = Outcome::default();
    let tiers = || Tier::ALL.into_iter().filter(|&tier| target.capabilities.offers(tier));
    for entry in entries {
        if target.is_runtime() && entry.case.variant.is_optimised() {
            // It makes its own module: what is expected behind an optimiser is not expected of it.
            *outcome.results.entry("made by an optimiser").or_default() += 1;
            continue;
        }
        for tier in tiers() {
            let case = target.dressed(&Case { tier, ..entry.case.clone() }).into_owned();
            // Operands that are uniform in a tangle at one tier need not be at a weaker one.
            if tier != entry.case.tier && validate(&case).is_err() {
                *outcome.results.entry("not valid at another tier").or_default() += 1;
                continue;
            }
            tangle_runner::toolchain::compile_by(TANGLE.into());
            let missing = target.missing(&case);
            let conclusion = match missing.is_empty().then(|| prepare(case.clone())) {
                None => Conclusion::without_data(Finish::Unsupported { missing }),
                Some(Ok(prepared)) => target.run(&prepared),
                Some(Err(fault)) => Conclusion::from(&fault),
            };
            let result = result_of(&case, &conclusion);
            *outcome.results.entry(result).or_default() += 1;
            if let Finish::Judged(judgement) = &conclusion.finish {
                outcome.checked += judgement.counts.checked;
                outcome.tainted += judgement.counts.tainted;
            }
            let line = || format!("{} at tier {} on {} ({})", entry.name, tier.name(), target.name, facts.driver);
            match (facts.expects(expectations, &entry, tier), result) {
                (_, "not supported") | (None, "pass") => {}
                // glslang's mistakes are not those of a runtime's compiler.
                (Some(Expected { result: expected, .. }), "pass") if target.is_runtime() && expected == "toolchain" => {
                }
                // ARB_shader_group_vote promises next to nothing: what hangs on a vote is not compared.
                (None, "vacuous") if target.capabilities.dialect == Dialect::OpenGlArb => {}
                (Some(expected), result) if expected.result == result => {}
                (Some(Expected { result: expected, why, .. }), result) => {
                    outcome.wrong.push(format!("{}: {result}, but {expected} is expected ({why})", line()));
                }
                (None, result) => {
                    let described = tangle_campaign::finding::describe(&case, &conclusion.finish);
                    outcome.wrong.push(format!("{}: {result}\n{described}", line()));
                }
            }
        }
    }
    let results: Vec<String> = outcome.results.iter().map(|(result, n)| format!("{n} {result}")).collect();
    outcome.line = format!(
        "corpus on {}: {}; {} values checked, {} left open",
        target.name,
        results.join(", "),
        outcome.checked,
        outcome.tainted
    );
    assert!(outcome.checked > 0, "nothing was compared on {}", target.name);
    outcome
}

#[test]
fn the_corpus_on_every_vulkan_device() {
    let expectations = Expectations::read();
    let wrong = Mutex::new(Vec::new());
    each_target(|target| {
        let Outcome { wrong: found, line, .. } = run_corpus(target, &expectations);
        note!("{line}");
        if expectations.moves(&target.name) {
            let first_lines = found.iter().filter_map(|wrong| wrong.lines().next());
            first_lines.for_each(|line| note!("not held against it: {line}"));
        } else {
            lock(&wrong).extend(found);
        }
    });
    let wrong = lock(&wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_corpus_on_correct_reference_devices() {
    let expectations = Expectations::read();
    for name in
        ["reference", "reference:minimal", "reference@4", "reference@16", "reference:minimal@32", "reference@128"]
    {
        let target = Target::built_in(name).unwrap_or_else(|error| panic!("{error}"));
        let Outcome { wrong, line, .. } = run_corpus(&target, &expectations);
        note!("{line}");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The comparison can fail: each of these faults breaks a rule that a vector is about.
#[test]
fn faulty_devices_fail_on_the_corpus() {
    let expectations = Expectations::read();
    const FAULTS: [(&str, &str); 15] = [
        ("then_with_all_lanes", "vectors/V01"),
        ("loop_merge_loses_early_lanes", "vectors/V02"),
        ("break_ignored", "vectors/V03"),
        ("continue_breaks", "vectors/V04"),
        ("continue_lanes_lost", "vectors/V05"),
        ("early_return_lost", "vectors/V06"),
        ("switch_merge_loses_lanes", "vectors/V08"),
        ("fallthrough_lost", "vectors/V09"),
        ("short_circuit_with_all_lanes", "vectors/V10"),
        ("exclusive_is_inclusive", "vectors/V11"),
        ("cluster_ignored", "vectors/V13"),
        ("rotate_backwards", "vectors/V14"),
        ("inclusive_bit_count_off_by_one", "vectors/V15"),
        ("if_merge_loses_last_lane", "vectors/V16"),
        ("mask_always_full", "vectors/V16"),
    ];
    for (fault, case) in FAULTS {
        let target = Target::built_in(&format!("reference:{fault}")).unwrap_or_else(|error| panic!("{error}"));
        let vectors = corpus().into_iter().filter(|entry| entry.name.starts_with("vectors/"));
        let wrong = run_entries(&target, vectors, &expectations).wrong;
        let caught = wrong.iter().filter(|line| line.starts_with(case)).count();
        assert!(caught > 0, "{fault} is not caught by {case}, but by: {wrong:#?}");
        println!("{fault}: caught by {} of the vectors and tiers, {case} among them", wrong.len());
    }
    note!("corpus: {} planted faults, each caught by the vector that is about it", FAULTS.len());
}

/// An entry for a case that is not there would never be noticed.
#[test]
fn expectations_are_about_cases_that_exist() {
    let corpus = corpus();
    for expected in Expectations::read().expected {
        assert!(corpus.iter().any(|entry| matches(&expected.case, &entry.name)), "there is no {}", expected.case);
        assert!(!expected.why.is_empty(), "{} does not say why", expected.case);
    }
}

#[test]
fn patterns_stand_for_names() {
    for (pattern, name, yes) in [
        ("llvmpipe Mesa 22.3.*", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", true),
        ("llvmpipe Mesa 22.3.*", "llvmpipe Mesa 25.0.7", false),
        ("*LLVM 15*", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", true),
        ("vectors/V07", "vectors/V07", true),
        ("vectors/V0", "vectors/V07", false),
        ("*", "", true),
    ] {
        assert_eq!(matches(pattern, name), yes, "{pattern}, {name}");
    }
}
