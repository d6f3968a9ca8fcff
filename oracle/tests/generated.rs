//! Generated cases on the reference device: a correct one always passes, a faulty one is caught.

use std::io::Write as _;

use tangle_generator::{Config, from_seed};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Finest, Rules, Spec};
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::validate::validate;

const SIZES: [u32; 3] = [4, 8, 32];
const PROMISE: SizePromise = SizePromise { default: 8, min: 4, max: 128 };

fn run<R: Rules>(case: &Case, size: u32, rules: impl Fn() -> R) -> Judgement {
    let size = if let SubgroupSize::Required(size) = case.launch.subgroup_size { size } else { size };
    let map = LaneMap::linear(case, size);
    let observation = observe(case, &map, rules).expect("a generated case is well-formed");
    judge(case, &observation, SizePromise { default: size, ..PROMISE })
}

fn config(tier: Tier) -> Config {
    Config { tier, max_subgroup_size: 32, required_sizes: vec![4, 8, 16, 32], ..Config::default() }
}

#[test]
fn correct_devices_pass() {
    for tier in Tier::ALL {
        let mut checked = 0;
        let mut open = 0;
        for seed in 0..1500 {
            let case = from_seed(seed, &config(tier));
            validate(&case).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid}"));
            let size = SIZES[seed as usize % SIZES.len()];
            for judgement in [run(&case, size, || Spec), run(&case, size, || Finest)] {
                assert!(
                    matches!(judgement.verdict, Verdict::Pass | Verdict::Vacuous),
                    "tier {}, seed {seed}, size {size}: {:?} {:?}",
                    tier.name(),
                    judgement.verdict,
                    judgement.map_faults
                );
                checked += judgement.counts.checked;
                open += judgement.counts.tainted + judgement.counts.skipped;
            }
        }
        println!("tier {}: {checked} values checked, {open} not", tier.name());
        assert!(checked > open, "at tier {} most values are not checked: {checked} are, {open} are not", tier.name());
    }
}

/// The faults that a campaign must catch, each within this many cases.
const CASES: u64 = 2000;

#[test]
fn planted_faults_are_caught() {
    let mut missed = Vec::new();
    for &fault in Fault::ALL {
        let caught = (0..CASES).find(|&seed| {
            let tier = [Tier::Maximal, Tier::Maximal, Tier::SubgroupUniform, Tier::Plain][seed as usize % 4];
            let case = from_seed(seed, &config(tier));
            let judgement = run(&case, SIZES[seed as usize % SIZES.len()], || Planted(fault));
            matches!(judgement.verdict, Verdict::Mismatch(_))
        });
        match caught {
            // Past the capture of the test harness: the list is part of what the suite has to say.
            Some(seed) => {
                let (name, about) = (fault.name(), fault.about());
                writeln!(std::io::stderr(), "{name:32} caught by case {:4}  {about}", seed + 1)
                    .expect("stderr is open");
            }
            None => missed.push(fault.name()),
        }
    }
    assert!(missed.is_empty(), "not caught within {CASES} cases: {missed:?}");
}
