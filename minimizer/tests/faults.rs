//! Planted faults on the reference device: what is left of a generated case that fails.

use std::ops::ControlFlow;
use std::time::Instant;

use tangle_generator::{Config, from_seed};
use tangle_minimizer::{Check, Minimized, Options, minimize, statements};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_oracle::reference::observe;
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::glsl::glsl;
use tangle_program::validate::validate;

/// The reference device with a fault.
fn verdict(case: &Case, fault: Fault) -> Verdict {
    let size = if let SubgroupSize::Required(size) = case.launch.subgroup_size { size } else { 8 };
    let map = LaneMap::linear(case, size);
    let promise = SizePromise { default: 8, min: 4, max: 128 };
    match observe(case, &map, || Planted(fault)) {
        Ok(observation) => judge(case, &observation, promise).verdict,
        Err(error) => Verdict::Invalid(error.to_string()),
    }
}

fn check(case: &Case, fault: Fault) -> Check {
    assert_eq!(validate(case), Ok(()), "only valid candidates are checked");
    match verdict(case, fault) {
        Verdict::Mismatch(_) => Check::Fails,
        Verdict::Pass => Check::Passes,
        Verdict::Vacuous | Verdict::LaneMap | Verdict::Invalid(_) => Check::Other,
    }
}

fn first_failing(fault: Fault) -> Option<(Case, u32)> {
    (0..2000).find_map(|seed| {
        let tier = [Tier::Maximal, Tier::Maximal, Tier::SubgroupUniform, Tier::Plain][seed as usize % 4];
        let case = from_seed(seed, &Config { tier, max_subgroup_size: 32, required_sizes: vec![4, 8, 16, 32], ..Config::default() });
        match verdict(&case, fault) {
            Verdict::Mismatch(mismatch) => Some((case, mismatch.site)),
            _ => None,
        }
    })
}

fn reduce(case: &Case, site: u32, fault: Fault, options: &Options) -> Minimized {
    let options = Options { focus: (site > 0).then_some(site), ..options.clone() };
    minimize(
        case,
        &options,
        |cases| {
            let mut answers = Vec::new();
            for case in cases {
                answers.push(check(case, fault));
                if answers.last() == Some(&Check::Fails) {
                    break;
                }
            }
            answers
        },
        |_| ControlFlow::Continue(()),
    )
}

#[test]
#[ignore]
fn survey() {
    let mut sizes = Vec::new();
    for &fault in Fault::ALL {
        let Some((case, site)) = first_failing(fault) else { continue };
        let started = Instant::now();
        let minimized = reduce(&case, site, fault, &Options::default());
        let count = statements(&minimized.case.program);
        sizes.push(count);
        println!(
            "{:32} {:4} -> {count:3} statements, {:5} tried, {:3} accepted, {:.1} s, finished {}",
            fault.name(),
            statements(&case.program),
            minimized.tried,
            minimized.accepted,
            started.elapsed().as_secs_f64(),
            minimized.finished
        );
        if std::env::var_os("SHOW").is_some() {
            let text = glsl(&minimized.case);
            println!("{}", &text[text.find("0x74616E67u;\n").map_or(0, |at| at + 13)..]);
            println!("{:?} {:?}", minimized.case.launch, minimized.case.data);
        }
    }
    sizes.sort();
    println!("median {}, largest {:?}", sizes[sizes.len() / 2], sizes.last());
}
