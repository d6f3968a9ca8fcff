//! Every candidate of every pass, on generated cases.

use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_generator::{Config, from_seed};
use tangle_minimizer::{Size, TABLE};
use tangle_program::case::Case;
use tangle_program::case::Tier;
use tangle_program::json::JsonError;

#[test]
fn candidates_are_smaller_and_mostly_valid() {
    for pass in TABLE {
        let (mut valid, mut all) = (0, 0);
        for seed in 0..20 {
            let tier = Tier::ALL[seed as usize % 3];
            let case = from_seed(seed, &Config { tier, ..Config::default() });
            let size = Size::of(&case);
            // A prime, so that no kind of edit is always left out.
            for candidate in (pass.candidates)(&case).step_by(7) {
                assert!(Size::of(&candidate) < size, "pass {}, seed {seed}", pass.name);
                all += 1;
                if validate(&candidate).is_ok() {
                    valid += 1;
                    assert!(!glsl(&candidate).is_empty());
                }
            }
        }
        println!("{:12} {valid:6} of {all:6} candidates are valid", pass.name);
        // A pass that changes every type at once is valid for few of the programs that are not small yet.
        assert!(valid * 10 >= all, "pass {}: {valid} of {all} candidates are valid", pass.name);
    }
}

#[test]
fn candidates_survive_json() {
    for seed in 0..10 {
        let case = from_seed(seed, &Config::default());
        for pass in TABLE {
            for candidate in (pass.candidates)(&case).step_by(53).filter(|candidate| validate(candidate).is_ok()) {
                let read: Result<Case, JsonError> = Case::from_json(&candidate.to_json());
                assert_eq!(read.as_ref(), Ok(&candidate), "pass {}, seed {seed}", pass.name);
            }
        }
    }
}
