//! What the cases of a campaign would cover, without any driver: generated, run and judged on the reference device.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use tangle_analysis::context::operations;
use tangle_oracle::coverage::Coverage;

use crate::plan::{Choice, Plan};
use crate::prepare::Prepared;
use crate::target::{Finish, Target};

/// Subgroup sizes that the reference device takes in turn.
const SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// Runs the first `cases` programs of the sequence with one input, each on one size of subgroup.
///
/// # Errors
/// If the sequence cannot be made.
pub fn measure(choice: Choice, cases: u64) -> anyhow::Result<Coverage> {
    let targets: Vec<Target> =
        SIZES.iter().map(|size| Target::built_in(&format!("reference@{size}"))).collect::<Result<_, _>>()?;
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
            let prepared = Prepared::without_module(case);
            if let Finish::Judged(judgement) = target.run(&prepared).finish {
                coverage.add(&operations(&prepared.case.program), &judgement.op_use);
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
