//! What the cases of a campaign would cover, without any driver: generated, run and judged on the reference device.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use tangle_analysis::context::{Placed, operations};
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
    measure_those(choice, cases, |_| true)
}

/// Adds to a table what fills its gaps: of the first `cases` programs of the sequence those run that have an operation where a gap is.
///
/// # Errors
/// If the sequence cannot be made.
pub fn fill(coverage: &mut Coverage, choice: Choice, cases: u64) -> anyhow::Result<()> {
    let gaps = coverage.gaps();
    let stands_in_gap = |placed: &Placed| gaps.iter().any(|gap| gap.may_be_filled_by(placed));
    coverage.merge(&measure_those(choice, cases, |program| program.iter().any(stands_in_gap))?);
    Ok(())
}

/// [`measure`] of the programs with the operations that are asked for.
fn measure_those(choice: Choice, cases: u64, wanted: impl Fn(&[Placed]) -> bool + Sync) -> anyhow::Result<Coverage> {
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
            let program = operations(&case.program);
            if !wanted(&program) {
                continue;
            }
            let target = &targets[index as usize % targets.len()];
            let prepared = Prepared::without_module(case);
            if let Finish::Judged(judgement) = target.run(&prepared).finish {
                coverage.add(prepared.case.entry_point.stage, &program, &judgement.op_use);
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
    use tangle_program::ops::Intrinsic;
    use tangle_program::subgroup::{Category, TABLE};
    use tangle_program::types::{Scalar, Type};

    /// Pairs that have no floor, with the reason; a type stands for vectors of it, too, and a width for vectors of all types.
    const RARE: [(&str, &[&str], &str); 7] = [
        ("Mix", &["bool"], "conditions are chosen by `?:` and `&&`"),
        ("Expect", &["x2", "x3", "x4"], "hints are in few programs, and are about numbers"),
        (
            "subgroupExclusiveMin",
            &["f16", "f32", "f64"],
            "the first lane has an infinity, which nothing may be computed from (rule F5)",
        ),
        ("subgroupExclusiveMax", &["f16", "f32", "f64"], "the same"),
        (
            "FromBits",
            &["u16", "u32", "u64", "x2", "x3", "x4"],
            "a tenth of the programs asks for float controls, each of one type",
        ),
        ("FromAllBits", &["u16", "u32", "u64", "x2", "x3", "x4"], "the same"),
        ("ToBits", &["f16", "f32", "f64", "x2", "x3", "x4"], "the same"),
    ];

    /// A pair is in one of so many programs. There are more than 2,000 pairs of a subgroup operation and a vector: with eight of them in each program they come
    /// about every 400 programs.
    fn floor(pair: &Pair) -> Option<u64> {
        let is_rare = |(first, types, _): &(&str, &[&str], &str)| {
            let is_of = |ty: &&str| pair.second.ends_with(ty) || pair.second.starts_with(&format!("{ty}x"));
            *first == pair.first && types.iter().any(is_of)
        };
        // One in thirteen programs asks for a direction of rounding, each of one or two types.
        let is_rounded = |op: &Intrinsic| op.rounded().is_some() && format!("{op:?}") == pair.first;
        if RARE.iter().any(is_rare) || Intrinsic::ALL.iter().any(is_rounded) {
            return None;
        }
        let Ok(ty) = pair.second.parse::<Type>() else { return Some(300) };
        // In fragment shaders only, where control flow is uniform.
        let is_derivative = TABLE.iter().any(|info| info.category == Category::Derivative && info.name == pair.first);
        match (pair.kind, ty) {
            (Kind::Nested | Kind::Sequence, _) | (_, Type { width: 1, .. }) => Some(300),
            (Kind::Operation, _) => (!is_derivative).then_some(1_000),
            (Kind::Operator, Type { scalar: Scalar::Bool | Scalar::Int | Scalar::Uint, .. }) => Some(600),
            (Kind::Operator, _) => Some(3_000),
        }
    }

    #[test]
    fn no_pair_is_rare() {
        let found = pairs(Choice { seed: 1, ..Choice::default() }, 18_000).expect("the sequence can be made");
        let rare: Vec<_> = tangle_generator::pairs::possible()
            .into_iter()
            .map(|pair| (found.count(&pair), pair))
            .filter(|(count, pair)| floor(pair).is_some_and(|floor| count * floor < found.programs))
            .collect();
        assert_eq!(rare, [], "of {} programs", found.programs);
    }
}
