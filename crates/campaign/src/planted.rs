//! What a campaign is worth without a driver: in how many programs each planted fault shows, and how many faults that makes for the time that a
//! driver takes for the programs. A change of the generator's weights is judged by it in a minute.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tangle_generator::{Config, Profile, from_seed, vary};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::tree::{Expr, Function, Stmt, walk_block};

use crate::plan::{PROFILE_WEIGHTS, TIER_WEIGHTS};

/// Lanes of a subgroup, unless a case asks for others.
const SIZE: u32 = 8;
/// Seconds of the driver after which the faults found are counted.
const SECONDS: [u32; 3] = [5, 20, 60];

/// What a driver takes for a program, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverCost {
    /// By its statements, as Mesa 25.0.7's lavapipe does (docs/speed.md).
    Lavapipe,
    /// The same for every program.
    Fixed {
        /// Milliseconds to make the pipeline, once for each program.
        pipeline: f64,
        /// Milliseconds of a dispatch, one for each input.
        dispatch: f64,
    },
}

impl DriverCost {
    /// As measured on an NVIDIA H200 with driver 580.159 (docs/speed.md).
    const NVIDIA: DriverCost = DriverCost::Fixed { pipeline: 146.0, dispatch: 0.26 };

    /// For a program with so many inputs.
    fn of(self, case: &Case, inputs: NonZero<u32>) -> f64 {
        match self {
            DriverCost::Lavapipe => lavapipe(case),
            DriverCost::Fixed { pipeline, dispatch } => pipeline + dispatch * f64::from(inputs.get()),
        }
    }
}

impl FromStr for DriverCost {
    type Err = String;

    fn from_str(text: &str) -> Result<DriverCost, String> {
        match text {
            "lavapipe" => return Ok(DriverCost::Lavapipe),
            "nvidia" => return Ok(DriverCost::NVIDIA),
            _ => {}
        }
        let number = |text: &str| text.parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms >= 0.0);
        let both = text.split_once(',').and_then(|(pipeline, dispatch)| Some((number(pipeline)?, number(dispatch)?)));
        match both {
            Some((pipeline, dispatch)) if pipeline + dispatch > 0.0 => Ok(DriverCost::Fixed { pipeline, dispatch }),
            _ => Err("lavapipe, nvidia, or PIPELINE,DISPATCH in milliseconds".into()),
        }
    }
}

/// Which programs are looked at, and what they cost.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Seed of the first program; the others follow.
    pub first: u64,
    /// How many programs, of seeds that follow each other.
    pub programs: NonZero<u64>,
    /// With how many inputs each runs.
    pub inputs: NonZero<u32>,
    /// What a driver takes for each.
    pub cost: DriverCost,
}

/// In how many programs a fault shows.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The name of the planted fault, as in `reference:NAME`.
    pub fault: String,
    /// What is wrong with a device that has it, in a sentence.
    pub about: &'static str,
    /// Programs in which it shows.
    pub programs: u64,
}

/// How many faults are expected to be found.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Expected {
    /// In so many seconds of the driver.
    pub seconds: u32,
    /// How many faults are found, on average.
    pub faults: f64,
}

/// How much is expected of programs, and what it rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Worth {
    /// Programs that every fault was looked for in.
    pub programs: u64,
    /// Milliseconds that the driver takes for one, on average.
    pub program_ms: f64,
    /// How many faults are found as time goes on.
    pub expected: Vec<Expected>,
    /// Every fault, rarest first.
    pub faults: Vec<Shown>,
}

/// Looks for every planted fault in programs of the default mixture on the reference device.
pub fn worth(question: &Question) -> Worth {
    let next = AtomicU64::new(0);
    let some = || {
        let mut sum = Sum { milliseconds: 0.0, shown: vec![0; Fault::ALL.len()] };
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= question.programs.get() {
                return sum;
            }
            sum.add(question, question.first + number);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let parts: Vec<Sum> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        // A thread that panics has counted part of its programs: so does this.
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let programs = question.programs.get();
    let program_ms = parts.iter().map(|part| part.milliseconds).sum::<f64>() / programs as f64;
    let shown = |k: usize| parts.iter().map(|part| part.shown[k]).sum::<u64>();
    let of_fault =
        |(k, fault): (usize, &Fault)| Shown { fault: fault.name(), about: fault.about(), programs: shown(k) };
    let mut faults: Vec<Shown> = Fault::ALL.iter().enumerate().map(of_fault).collect();
    faults.sort_by(|a, b| (a.programs, &a.fault).cmp(&(b.programs, &b.fault)));
    let expected = SECONDS.map(|seconds| Expected {
        seconds,
        faults: expected(&faults, programs, f64::from(seconds) * 1000.0 / program_ms),
    });
    Worth { programs, program_ms, expected: expected.into(), faults }
}

/// How many faults so many programs are expected to show, of whom each shows in a share of programs.
fn expected(faults: &[Shown], programs: u64, budget: f64) -> f64 {
    faults.iter().map(|shown| 1.0 - (1.0 - shown.programs as f64 / programs as f64).powf(budget)).sum()
}

struct Sum {
    milliseconds: f64,
    /// By the number of the fault.
    shown: Vec<u64>,
}

impl Sum {
    fn add(&mut self, question: &Question, seed: u64) {
        let case = from_seed(seed, &config(seed));
        self.milliseconds += question.cost.of(&case, question.inputs);
        let varied = (1..question.inputs.get()).filter_map(|input| vary(&case, input));
        let cases: Vec<Case> = std::iter::once(case.clone()).chain(varied).collect();
        for (shown, &fault) in self.shown.iter_mut().zip(Fault::ALL) {
            *shown += u64::from(cases.iter().any(|case| shows(case, fault)));
        }
    }
}

/// Tier and profile of a program. The two cycles have no divisor in common: every pair comes.
fn config(seed: u64) -> Config {
    let tiers: Vec<Tier> = TIER_WEIGHTS.iter().flat_map(|&(tier, times)| vec![tier; times as usize]).collect();
    let profiles: Vec<Profile> =
        PROFILE_WEIGHTS.iter().flat_map(|&(profile, times)| vec![profile; times as usize]).collect();
    let (tier, profile) = (tiers[seed as usize % tiers.len()], profiles[seed as usize * 5 % profiles.len()]);
    let turn = Some(seed);
    Config { tier, profile, max_subgroup_size: SIZE, min_subgroup_size: SIZE, turn, ..Config::default() }
}

fn shows(case: &Case, fault: Fault) -> bool {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { SIZE };
    let map = LaneMap::linear(case, size);
    let right = observe(case, &map, || Spec).expect("a generated case is well-formed");
    let faulty = observe(case, &map, || Planted::new(fault)).expect("a generated case is well-formed");
    if right.logs == faulty.logs {
        return false;
    }
    let promise = SubgroupPromise::vulkan(size, 4, 128);
    matches!(judge(case, &faulty, promise).verdict, Verdict::Mismatch(_))
}

/// There almost all of a program's time goes to the compiler, and half of that to stores, which are compiled lane by lane; functions are
/// inlined where they are called.
fn lavapipe(case: &Case) -> f64 {
    let mut of = Vec::new();
    for function in &case.program.functions {
        let mut sum = 0.0;
        walk_block(&function.body, &mut |stmt| sum += statement(stmt, function, &of));
        of.push(sum);
    }
    30.0 + of.last().copied().unwrap_or(0.0)
}

fn statement(stmt: &Stmt, function: &Function, called: &[f64]) -> f64 {
    let words = |value: &Expr| value.ty(function).map_or(1.0, |ty| ty.words() as f64);
    let own = match stmt {
        Stmt::Log { values, .. } => 5.4 * (1.0 + values.iter().map(words).sum::<f64>()),
        Stmt::Store { .. } | Stmt::Atomic(_) => 5.4,
        Stmt::Call { function, .. } => called[*function as usize],
        _ => 0.3,
    };
    let mut operations = 0;
    stmt.direct_exprs().for_each(|expr| {
        expr.walk(&mut |part| {
            operations += i32::from(matches!(part, Expr::Subgroup(call) if call.op.fold().is_some()))
        });
    });
    own + 3.0 * f64::from(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_names() {
        let fixed = |pipeline, dispatch| Ok(DriverCost::Fixed { pipeline, dispatch });
        for (text, cost) in [
            ("lavapipe", Ok(DriverCost::Lavapipe)),
            ("nvidia", fixed(146.0, 0.26)),
            ("85,30", fixed(85.0, 30.0)),
            ("0,1.5", fixed(0.0, 1.5)),
        ] {
            assert_eq!(text.parse(), cost);
        }
        for text in ["", "mesa", "85", "85,", "-1,2", "0,0", "NaN,1"] {
            assert!(text.parse::<DriverCost>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_rarest_fault_comes_first_and_time_finds_more() {
        let programs = NonZero::new(4).expect("it is not 0");
        let question = Question { first: 3, programs, inputs: NonZero::<u32>::MIN, cost: DriverCost::NVIDIA };
        let worth = worth(&question);
        assert_eq!(worth.faults.len(), Fault::ALL.len());
        assert!(worth.faults.is_sorted_by_key(|shown| shown.programs) && worth.faults[0].programs == 0);
        assert!((worth.program_ms - 146.26).abs() < 1e-9);
        let found: Vec<f64> = worth.expected.iter().map(|expected| expected.faults).collect();
        let shown = worth.faults.iter().filter(|shown| shown.programs > 0).count() as f64;
        assert!(found.is_sorted() && found[0] > 0.0 && found[2] <= shown, "{found:?} of {shown}");
    }
}
