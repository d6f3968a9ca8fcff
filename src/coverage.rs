//! What the cases of a campaign would cover, without any driver: generated, run and judged on the reference device.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use tangle_oracle::coverage::Coverage;
use tangle_program::context::operations;

use crate::plan::{Choice, Plan};
use crate::target::{Backend, Finish, Target};

/// Subgroup sizes that the reference device takes in turn.
const SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// Runs the first `cases` programs of the sequence with one input, each on one size of subgroup.
///
/// # Errors
/// If the sequence cannot be made.
pub fn measure(choice: Choice, cases: u64) -> anyhow::Result<Coverage> {
    let targets: Vec<Target> =
        SIZES.iter().map(|size| Target::reference(&format!("reference@{size}"))).collect::<Result<_, _>>()?;
    let plan = Plan::new(Choice { inputs: NonZero::<u32>::MIN, ..choice }, &targets)?;
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
            let Backend::Reference(reference, _) = &target.backend else { continue };
            if let Finish::Judged(judgement) = target.run_reference(reference, &case).finish {
                coverage.add(&operations(&case.program), &judgement.op_use);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    Ok(std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let mut sum = Coverage::default();
        running.into_iter().flat_map(|thread| thread.join()).for_each(|part| sum.merge(&part));
        sum
    }))
}
