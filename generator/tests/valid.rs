use tangle_generator::{Config, Profile, from_seed};
use tangle_program::case::Tier;
use tangle_program::validate::validate;

#[test]
fn every_case_is_valid() {
    for (profile, _) in Profile::ALL {
        for tier in Tier::ALL {
            let config = Config { profile, tier, ..Config::default() };
            let n = 2000;
            let mut bad = std::collections::BTreeMap::new();
            for seed in 0..n {
                let case = from_seed(seed, &config);
                if let Err(e) = validate(&case) {
                    let entry = bad.entry(e.reason.clone()).or_insert((0, seed, e.path.clone()));
                    entry.0 += 1;
                }
            }
            println!("{} {}: {bad:#?}", profile.name(), tier.name());
        }
    }
}
