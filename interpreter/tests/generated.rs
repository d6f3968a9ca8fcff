//! Both oracles agree on generated cases: the tree's, and the interpreter's on the modules that compilers make of them.

use std::io::Write as _;

use crate::common::{Counts, NOT_DEFINED, case_of, compare, expect, module_of};
use tangle_interpreter::faults::Planted;
use tangle_program::case::{Case, FloatMode, Tier};

/// Seeds: `TANGLE_SEEDS=FIRST..END` has the test look at others, for as long as one likes.
fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TANGLE_SEEDS") else { return default };
    let ends = text.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    ends.map(|(first, end)| first..end).expect("TANGLE_SEEDS is FIRST..END")
}

#[test]
fn both_oracles_agree() {
    let mut wrong = Vec::new();
    let (mut skipped, mut undefined) = (0, 0);
    let mut too_open = Vec::new();
    for tier in Tier::ALL {
        let mut counts = Counts::default();
        for seed in seeds(0..60) {
            let (mut case, size, placement) = case_of(seed, tier);
            // Written before a compiler sees it, which may die of it; gone once both agree.
            let kept = std::env::var_os("TANGLE_KEEP").map(|folder| {
                let file = std::path::Path::new(&folder).join(format!("{}-{seed}.json", tier.name()));
                std::fs::write(&file, case.to_json()).expect("the folder is there");
                file
            });
            let module = match module_of(&mut case, seed) {
                Ok(Some(module)) => module,
                Ok(None) => {
                    skipped += 1;
                    continue;
                }
                Err(error) => {
                    wrong.push(format!("{} seed {seed}: {error}", tier.name()));
                    continue;
                }
            };
            if std::env::var("TANGLE_SHOW").is_ok_and(|show| show == format!("{}:{seed}", tier.name())) {
                println!("{}", tangle_emit::glsl::glsl(&case));
                println!("{}", tangle_runner::toolchain::disassemble(&module).unwrap_or_default());
            }
            if let Some(folder) = std::env::var_os("TANGLE_DUMP") {
                crate::common::dump(
                    &case,
                    &module,
                    size,
                    placement,
                    &std::path::Path::new(&folder).join(format!("{}-{seed}", tier.name())),
                );
            }
            let compared = expect(&case, size, placement).and_then(|expected| compare(&case, &module, &expected, None));
            match compared {
                Ok(found) => {
                    counts.add(found);
                    kept.into_iter().for_each(|file| std::fs::remove_file(file).expect("the file is there"));
                }
                Err(error) if error.starts_with(NOT_DEFINED) => undefined += 1,
                Err(difference) => {
                    let variant = &case.variant;
                    wrong.push(format!("{} seed {seed}, size {size}, {variant}: {difference}", tier.name()));
                }
            }
        }
        println!("tier {}: {counts:?}, {skipped} not optimised, {undefined} not defined", tier.name());
        if counts.compared <= 20 * counts.only_tree || counts.cases < 50 * counts.undecided {
            too_open.push(counts);
        }
    }
    for line in wrong.iter().take(60) {
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{} differences", wrong.len());
    assert!(too_open.is_empty(), "the interpreter leaves too much open: {too_open:?}");
}

/// The same of programs that ask for float controls, of which there are few (docs/rules.md, rules F6 to F9).
#[test]
fn both_oracles_agree_on_preserved_numbers() {
    let preserves = |(mode, _)| mode == FloatMode::SignedZeroInfNanPreserve;
    agree_on(10_000..10_400, |case| case.entry_point.float_controls.iter().any(preserves));
}

/// The same of those that ask for a direction of rounding (rules F10 and F11).
#[test]
fn both_oracles_agree_on_rounded_numbers() {
    let rounds = |(mode, _)| matches!(mode, FloatMode::RoundingModeRTE | FloatMode::RoundingModeRTZ);
    agree_on(20_000..20_600, |case| case.entry_point.float_controls.iter().any(rounds));
}

fn agree_on(seeds_of_each: std::ops::Range<u64>, is_meant: impl Fn(&Case) -> bool) {
    let mut wrong = Vec::new();
    for tier in Tier::ALL {
        let (mut counts, mut programs) = (Counts::default(), 0);
        for seed in seeds(seeds_of_each.clone()) {
            let (mut case, size, placement) = case_of(seed, tier);
            if !is_meant(&case) {
                continue;
            }
            programs += 1;
            let module = match module_of(&mut case, seed) {
                Ok(Some(module)) => module,
                Ok(None) => continue,
                Err(error) => {
                    wrong.push(format!("{} seed {seed}: {error}", tier.name()));
                    continue;
                }
            };
            match expect(&case, size, placement).and_then(|expected| compare(&case, &module, &expected, None)) {
                Ok(found) => counts.add(found),
                Err(error) if error.starts_with(NOT_DEFINED) => {}
                Err(difference) => {
                    wrong.push(format!("{} seed {seed}, size {size}, {}: {difference}", tier.name(), case.variant));
                }
            }
        }
        println!("tier {}: {counts:?} of {programs} programs", tier.name());
        assert!(programs > 20, "{programs}");
        if counts.compared <= 20 * counts.only_tree {
            wrong.push(format!("the interpreter leaves too much open: {counts:?}"));
        }
    }
    wrong.iter().take(30).for_each(|line| println!("{line}"));
    assert!(wrong.is_empty(), "{} differences", wrong.len());
}

/// Within so many seeds, of each tier, every fault has to be caught.
const SEEDS: u64 = 1000;

/// Each planted fault of the interpreter is caught by the comparison.
#[test]
fn planted_faults_are_caught() {
    let mut left: Vec<Planted> =
        Planted::ALL.iter().copied().filter(|fault| !Planted::BY_HAND.contains(fault)).collect();
    assert!(left.len() >= 40, "only {} faults", left.len());
    'search: for seed in seeds(0..SEEDS) {
        for tier in Tier::ALL {
            if left.is_empty() {
                break 'search;
            }
            let (mut case, size, placement) = case_of(seed, tier);
            let Ok(Some(module)) = module_of(&mut case, seed) else { continue };
            let Ok(expected) = expect(&case, size, placement) else { continue };
            left.retain(|&fault| {
                let missed = compare(&case, &module, &expected, Some(fault)).is_ok();
                if !missed {
                    // Past the capture of the test harness: the list is part of what the suite has to say.
                    let (name, tier) = (format!("{fault:?}"), tier.name());
                    writeln!(std::io::stderr(), "{name:28} caught by seed {seed:3} {tier:16}  {}", fault.about())
                        .expect("stderr is open");
                }
                missed
            });
        }
    }
    assert!(left.is_empty(), "not caught: {left:?}");
}
