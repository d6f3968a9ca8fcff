//! Sizes, costs and contents of the cases of many seeds:
//! `cargo run --release -p tangle-generator --example survey -- [PROFILE]`. With a profile also what its programs are made of.

use std::time::Instant;

use tangle_analysis::cost::cost;
use tangle_generator::stats::Construct;
use tangle_generator::{Config, Profile, Stats, from_seed};
use tangle_program::case::{Case, Tier};
use tangle_program::subgroup::TABLE;

const SEEDS: u64 = 3_000;

fn main() {
    let chosen = std::env::args().nth(1).map(|name| Profile::from_name(&name).unwrap_or_else(|| panic!("no '{name}'")));
    println!(
        "{:10} {:16} {:>8} {:>10} {:>9} {:>9} {:>7}",
        "profile", "tier", "cases/s", "statements", "functions", "log words", "steps"
    );
    for (profile, _) in Profile::ALL {
        if chosen.is_none_or(|chosen| chosen == profile) {
            Tier::ALL.into_iter().for_each(|tier| row(profile, tier));
        }
    }
    if let Some(profile) = chosen {
        contents(profile);
    }
}

fn row(profile: Profile, tier: Tier) {
    let config = Config { profile, tier, ..Config::default() };
    let start = Instant::now();
    let cases: Vec<Case> = (0..SEEDS).map(|seed| from_seed(seed, &config)).collect();
    let rate = SEEDS as f64 / start.elapsed().as_secs_f64();
    let stats = total(&cases);
    let mean = |sum: u64| sum as f64 / SEEDS as f64;
    println!(
        "{:10} {:16} {rate:8.0} {:10.0} {:9.1} {:9.0} {:7.0}",
        profile.name(),
        tier.name(),
        mean(stats.statements),
        mean(stats.functions),
        mean(cases.iter().map(|case| cost(case).log_words).sum()),
        mean(cases.iter().map(|case| cost(case).steps).sum()),
    );
}

fn total(cases: &[Case]) -> Stats {
    let mut stats = Stats::default();
    cases.iter().for_each(|case| stats.merge(&Stats::of(case)));
    stats
}

/// For 100 programs of tier maximal.
fn contents(profile: Profile) {
    let config = Config { profile, ..Config::default() };
    let cases: Vec<Case> = (0..SEEDS).map(|seed| from_seed(seed, &config)).collect();
    let stats = total(&cases);
    let per_100 = |count: u64| count as f64 * 100.0 / SEEDS as f64;
    println!("\nin 100 programs:");
    for &construct in Construct::ALL {
        println!("{:8.1}  {}", per_100(stats.construct(construct)), construct.about());
    }
    for info in &TABLE {
        println!("{:8.1}  {}", per_100(stats.operation(info.op)), info.name);
    }
}
