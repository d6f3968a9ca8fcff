//! Sizes and costs over many seeds: `cargo run --release -p tangle-generator --example survey -- [PROFILE] [TIER]`
use std::time::Instant;
use tangle_generator::{Config, Profile, from_seed};
use tangle_program::bounds;
use tangle_program::case::Tier;
use tangle_program::tree::walk_block;

fn main() {
    for (profile, _) in Profile::ALL {
        for tier in Tier::ALL {
            let config = Config { profile, tier, ..Config::default() };
            let start = Instant::now();
            let n = 3000;
            let cases: Vec<_> = (0..n).map(|seed| from_seed(seed, &config)).collect();
            let time = start.elapsed();
            let mut statements = 0;
            let (mut max_words, mut max_steps, mut words, mut steps, mut functions) = (0, 0, 0, 0, 0);
            for case in &cases {
                let cost = bounds::cost(case);
                max_words = max_words.max(cost.log_words);
                max_steps = max_steps.max(cost.steps);
                words += cost.log_words;
                steps += cost.steps;
                functions += case.program.functions.len();
                for function in &case.program.functions {
                    walk_block(&function.body, &mut |_| statements += 1);
                }
            }
            println!(
                "{:10} {:16} {:7.0}/s  statements {:4}  functions {:.1}  words {:4} (max {max_words})  steps {:5} (max {max_steps})",
                profile.name(), tier.name(), n as f64 / time.as_secs_f64(), statements / n, functions as f64 / n as f64, words / n, steps / n
            );
        }
    }
}
