//! How often every mutator changes a generated case and keeps it valid, and how much of it stays the same.

use std::collections::BTreeMap;

use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_generator::{Config, Profile, from_seed};
use tangle_minimizer::{expressions, statements};
use tangle_mutator::{Dice, TABLE, cross, mutate};
use tangle_program::case::{Case, Tier};

/// For each mutator: the least share of single tries, in percent, that give a valid case that differs.
const FLOORS: [(&str, usize); 15] = [
    ("wrap", 75),
    ("jump", 60),
    ("condition", 75),
    ("attribute", 75),
    ("after-loop", 50),
    ("move", 75),
    ("splice", 60),
    ("family", 60),
    ("duplicate", 70),
    ("expression", 75),
    ("number", 75),
    ("observe", 75),
    ("launch", 65),
    ("data", 80),
    ("shrink", 40),
];

/// Cases that every mutator is tried on.
const CASES: u64 = 1_000;

fn case(seed: u64) -> Case {
    let profiles = Profile::ALL;
    let config = Config {
        profile: profiles[seed as usize % profiles.len()].0,
        tier: Tier::ALL[seed as usize / profiles.len() % Tier::ALL.len()],
        required_sizes: vec![8, 16, 32],
        ..Config::default()
    };
    from_seed(seed, &config)
}

/// The share of the lines of a shader that another one has, too, in percent.
fn common_lines(old: &str, new: &str) -> usize {
    let mut lines = BTreeMap::<&str, isize>::new();
    old.lines().for_each(|line| *lines.entry(line.trim()).or_default() += 1);
    let common = new.lines().filter(|line| {
        lines.get_mut(line.trim()).is_some_and(|left| {
            *left -= 1;
            *left >= 0
        })
    });
    100 * common.count() / old.lines().count().max(1)
}

#[test]
fn every_mutator_mostly_works_and_changes_little() {
    let cases: Vec<Case> = (0..CASES).map(case).collect();
    let mut failures = Vec::new();
    println!("{:<12} {:>8} {:>6} {:>14}", "mutator", "valid", "floor", "lines kept");
    for mutator in TABLE {
        let floor = FLOORS.iter().find(|(name, _)| *name == mutator.name).expect("every mutator has a floor").1;
        let (mut made, mut kept) = (0, Vec::new());
        for (seed, case) in (0..).zip(&cases) {
            let Some(mutant) = mutator.apply(case, &mut Dice::new(seed)) else { continue };
            assert_ne!(&mutant, case, "{}", mutator.name);
            assert_eq!(validate(&mutant), Ok(()), "{}", mutator.name);
            made += 1;
            if seed % 8 == 0 {
                kept.push(common_lines(&glsl(case), &glsl(&mutant)));
            }
        }
        kept.sort_unstable();
        let (share, median) = (made * 100 / cases.len(), kept.get(kept.len() / 2).copied().unwrap_or(100));
        println!("{:<12} {share:>6} % {floor:>4} % {median:>12} %", mutator.name);
        if share < floor || median < 80 {
            failures.push(mutator.name);
        }
    }
    assert!(failures.is_empty(), "below their floors: {failures:?}");
}

#[test]
fn mutation_and_crossover_nearly_always_find_something() {
    let (mut mutants, mut crossed) = (0, 0);
    for seed in 0..300 {
        let (one, other) = (case(seed), case(seed + 1));
        mutants += usize::from(mutate(&one, &mut Dice::new(seed), |_| true).is_some());
        crossed += usize::from(cross(&one, &other, &mut Dice::new(seed), |_| true).is_some());
    }
    assert!(mutants >= 295, "{mutants} of 300");
    assert!(crossed >= 255, "{crossed} of 300");
}

#[test]
fn the_same_dice_make_the_same_mutant() {
    for seed in 0..50 {
        let case = case(seed);
        let mutant = |seed| mutate(&case, &mut Dice::new(seed), |_| true);
        assert_eq!(mutant(seed), mutant(seed));
    }
}

#[test]
fn long_chains_of_mutations_stay_valid_and_small() {
    for seed in 0..6 {
        let mut case = case(seed);
        let size = |case: &Case| (statements(&case.program), expressions(&case.program));
        let before = size(&case);
        let mut dice = Dice::new(seed);
        for _ in 0..300 {
            if let Some(mutant) = mutate(&case, &mut dice, |_| true) {
                case = mutant;
            }
        }
        assert_eq!(validate(&case), Ok(()));
        let (statements, expressions) = size(&case);
        assert!(statements <= before.0.max(320) && expressions <= before.1.max(4_000), "{statements}, {expressions}");
    }
}
