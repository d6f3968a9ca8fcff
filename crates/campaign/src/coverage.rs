//! What the cases of a campaign would cover, without any driver: generated, run and judged on the reference device.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use tangle_analysis::context::operations;
use tangle_generator::pairs::Pairs;
use tangle_oracle::coverage::Coverage;

use crate::plan::{Choice, Plan};
use crate::prepare::Prepared;
use crate::target::{Finish, Target};

/// Subgroup sizes that the reference device takes in turn.
const SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// What stands together in the first `cases` programs of the sequence; none is run.
///
/// # Errors
/// If the sequence cannot be made.
pub fn pairs(choice: Choice, cases: u64) -> anyhow::Result<Pairs> {
    let plan = plan(choice, &targets()?)?;
    let mut pairs = Pairs::default();
    (0..cases).filter_map(|index| plan.case(index)).for_each(|case| pairs.add(&case.program));
    Ok(pairs)
}

fn targets() -> anyhow::Result<Vec<Target>> {
    SIZES.iter().map(|size| Target::built_in(&format!("reference@{size}"))).collect()
}

/// Each program with one input.
fn plan(choice: Choice, targets: &[Target]) -> anyhow::Result<Plan> {
    Plan::new(Choice { inputs: NonZero::<u32>::MIN, ..choice }, targets)
}

/// Runs the first `cases` programs of the sequence with one input, each on one size of subgroup.
///
/// # Errors
/// If the sequence cannot be made.
pub fn measure(choice: Choice, cases: u64) -> anyhow::Result<Coverage> {
    let targets = targets()?;
    let plan = plan(choice, &targets)?;
    let next = AtomicU64::new(0);
    let some = || {
        let mut coverage = Coverage::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= cases {
                return coverage;
            }
            let Some(case) = plan.case(index) else { continue };
            let target = &targets[index as usize % targets.len()];
            let prepared = Prepared::without_module(case);
            if let Finish::Judged(judgement) = target.run(&prepared).finish {
                coverage.add(prepared.case.entry_point.stage, &operations(&prepared.case.program), &judgement.op_use);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    Ok(std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let mut sum = Coverage::default();
        // A thread that panics has counted part of its cases: so does this.
        let joined = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.for_each(|part| sum.merge(&part));
        sum
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangle_generator::pairs::{Kind, Pair};

    /// Bools, ints and uints, and what has no type.
    const COMMON: [&str; 4] = ["-", "bool", "i32", "u32"];

    /// What is rare on the common types; no control construct is.
    const RARE: [(&str, &str); 3] = [("Mix", "bool"), ("Unpack16", "i32"), ("Unpack8", "i32")];

    #[test]
    fn common_pairs_are_in_one_of_300_programs() {
        let found = pairs(Choice { seed: 1, ..Choice::default() }, 9_000).expect("the sequence can be made");
        let is_common = |pair: &Pair| match pair.kind {
            Kind::Nested | Kind::Sequence => true,
            Kind::Operation | Kind::Operator => {
                let is_rare = RARE.contains(&(pair.first.as_str(), pair.second.as_str()));
                COMMON.contains(&pair.second.as_str()) && !is_rare
            }
        };
        let rare: Vec<_> = found.rarer_than(300).into_iter().filter(|(pair, _)| is_common(pair)).collect();
        assert_eq!(rare, [], "of {} programs", found.programs);
    }
}
