//! Cases for a black-box campaign, from a corpus and from the generator: what ClusterFuzz calls a black-box fuzzer.
//!
//! | share | a case is |
//! |---|---|
//! | 2 of 4 | one of the corpus, mutated up to [`MUTATIONS`] times |
//! | 1 of 4 | one of the corpus with a part of another |
//! | 1 of 4, all without a corpus | a new one |

use tangle_generator::{Config, Profile, from_seed};
use tangle_mutator::{Dice, cross, mutate};
use tangle_program::case::{Case, Tier};

/// How often a case is mutated at most.
const MUTATIONS: usize = 8;

/// Case number `number` of the campaign with this seed. The corpus holds valid cases.
pub fn case(seed: u64, number: u64, corpus: &[Case]) -> Case {
    let mut dice = Dice::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
    let way = dice.below(4);
    let (Some(one), Some(other)) = (dice.pick(corpus), dice.pick(corpus)) else { return new(&mut dice) };
    match way {
        0 => new(&mut dice),
        1 => cross(one, other, &mut dice, |_| true).unwrap_or_else(|| new(&mut dice)),
        _ => {
            (0..=dice.below(MUTATIONS)).fold(one.clone(), |case, _| mutate(&case, &mut dice, |_| true).unwrap_or(case))
        }
    }
}

fn new(dice: &mut Dice) -> Case {
    let config = Config {
        tier: dice.one(Tier::ALL),
        profile: dice.one(Profile::ALL).0,
        required_sizes: vec![4, 8, 16, 32, 64],
        ..Config::default()
    };
    from_seed(u64::from(dice.word()), &config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_analysis::validate::validate;

    #[test]
    fn cases_are_valid_and_differ_with_and_without_a_corpus() {
        let corpus: Vec<Case> = (0..3).map(|number| case(1, number, &[])).collect();
        for corpus in [&[][..], &corpus] {
            let cases: Vec<Case> = (0..40).map(|number| case(2, number, corpus)).collect();
            assert_eq!(cases, (0..40).map(|number| case(2, number, corpus)).collect::<Vec<_>>());
            for (i, case) in cases.iter().enumerate() {
                assert_eq!(validate(case), Ok(()));
                assert!(!cases[..i].contains(case), "case {i} comes twice");
            }
        }
    }
}
