//! Modules with flipped bits: an error or some outcome, never a panic, never more than the limits.

mod common;

use common::{case_of, compiled, dispatch, maps, options};
use tangle_interpreter::{Limits, Module, Pipeline};
use tangle_program::case::Tier;

/// How many; `TANGLE_FLIPS=N` for more.
fn flips() -> u64 {
    std::env::var("TANGLE_FLIPS").ok().and_then(|text| text.parse().ok()).unwrap_or(600)
}

/// A number that looks random (splitmix64).
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[test]
fn flipped_bits_give_no_panic() {
    let mut modules = Vec::new();
    for seed in 0..12 {
        let (case, size, seat) = case_of(seed, Tier::ALL[seed as usize % 3]);
        modules.extend(compiled(&case).ok().map(|module| (case, module, size, seat)));
    }
    let (mut parsed, mut ran, mut ended) = (0, 0, 0);
    for number in 0..flips() {
        let (case, module, size, seat) = &modules[number as usize % modules.len()];
        let mut words = module.clone();
        for flip in 0..1 + number % 4 / 3 {
            let at = mix(number * 4 + flip);
            // Half of them in functions, which stand at the end.
            let first = if number % 2 == 0 { 0 } else { words.len() / 2 };
            let word = first + (at >> 8) as usize % (words.len() - first);
            // Mostly small changes: another id, another literal.
            let bit = if number % 3 == 0 { at % 32 } else { at % 8 };
            words[word] ^= 1 << bit;
        }
        let Ok(module) = Module::parse(&words) else { continue };
        parsed += 1;
        let Ok(pipeline) = Pipeline::new(&module, &options(case)) else { continue };
        let (_, lane_map) = maps(case, *size, *seat);
        let limits = Limits { steps: 20_000, memory: 64 << 20 };
        let dispatch = tangle_interpreter::Dispatch { limits, ..dispatch(case, lane_map) };
        ran += 1;
        if let Ok(outcome) = pipeline.run(&dispatch) {
            ended += 1;
            let _ = outcome.reasons.iter().map(ToString::to_string).count();
        }
    }
    println!("{} flipped, {parsed} parsed, {ran} decoded, {ended} ended", flips());
    assert!(ended > flips() / 20, "{ended} of {} modules ran", flips());
}

#[test]
fn words_that_are_no_module_are_errors() {
    for words in [&[][..], &[0x0723_0203], &[0x0723_0203, 0x0001_0300, 0, 8, 0], &[1, 2, 3, 4, 5, 6]] {
        let refused = Module::parse(words).and_then(|module| Pipeline::new(&module, &Default::default()));
        assert!(refused.is_err());
    }
}
