//! In how many programs of a campaign's mixture each planted fault shows: what a change of the generator's weights buys, without a driver.
//!
//! `cargo run --release -p tangle-campaign --example shown -- [--programs N] [--inputs N] [--first SEED]`: of N programs (300), each with so many
//! inputs (2). A line for each fault, rarest first; then what a campaign is expected to find, by programs and by what they cost a driver as
//! lavapipe is: there almost all of a program's time goes to the compiler, and half of that to stores, which are compiled lane by lane
//! (measured on Mesa 25.0.7; docs/speed.md). With `--density NAME` all programs log that much.

use tangle_campaign::plan::{PROFILE_WEIGHTS, TIER_WEIGHTS};
use tangle_generator::{Config, Density, Profile, from_seed, vary};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Verdict, judge};
use tangle_oracle::map::{LaneMap, SizePromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::Spec;
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::tree::{Expr, Function, Stmt, walk_block};

fn main() {
    let (programs, inputs, first) = (argument("--programs", 300), argument("--inputs", 2), argument("--first", 0));
    let tiers: Vec<Tier> = TIER_WEIGHTS.iter().flat_map(|&(tier, times)| vec![tier; times as usize]).collect();
    let profiles: Vec<Profile> =
        PROFILE_WEIGHTS.iter().flat_map(|&(profile, times)| vec![profile; times as usize]).collect();
    let density = argument_text("--density").map(|name| {
        Density::ALL.into_iter().find(|density| format!("{density:?}").to_lowercase() == name).expect("a density")
    });
    let mut shown = vec![0_u64; Fault::ALL.len()];
    let mut milliseconds = 0.0;
    for number in first..first + programs {
        // The two cycles have no divisor in common with each other: every pair comes.
        let (tier, profile) = (tiers[number as usize % tiers.len()], profiles[number as usize * 5 % profiles.len()]);
        let config = Config { tier, profile, max_subgroup_size: 8, min_subgroup_size: 8, density, ..Config::default() };
        let case = from_seed(number, &config);
        milliseconds += cost(&case);
        let cases: Vec<Case> = std::iter::once(Some(case.clone()))
            .chain((1..inputs as u32).map(|input| vary(&case, input)))
            .flatten()
            .collect();
        for (shown, &fault) in shown.iter_mut().zip(Fault::ALL) {
            *shown += u64::from(cases.iter().any(|case| shows(case, fault)));
        }
    }
    let share = |shown: u64| shown as f64 / programs as f64;
    let mut rows: Vec<(u64, Fault)> = shown.iter().copied().zip(Fault::ALL.iter().copied()).collect();
    rows.sort();
    for (shown, fault) in &rows {
        println!("{:6.2} %  {:32} {}", 100.0 * share(*shown), fault.name(), fault.about());
    }
    let expected = |budget: f64| -> f64 { shown.iter().map(|&shown| 1.0 - (1.0 - share(shown)).powf(budget)).sum() };
    for budget in [10, 30, 100, 300] {
        println!("after {budget} programs: {:.1} of {} faults", expected(f64::from(budget)), rows.len());
    }
    let each = milliseconds / programs as f64;
    for seconds in [5, 20, 60] {
        let found = expected(f64::from(seconds) * 1000.0 / each);
        println!("after {seconds} s of {each:.0} ms a program: {found:.1} of {} faults", rows.len());
    }
    println!("median share: {:.2} %", 100.0 * share(rows[rows.len() / 2].0));
}

/// What a program costs lavapipe, in milliseconds; functions are inlined where they are called.
fn cost(case: &Case) -> f64 {
    let mut of = Vec::new();
    for function in &case.program.functions {
        let mut sum = 0.0;
        walk_block(&function.body, &mut |stmt| sum += statement_cost(stmt, function, &of));
        of.push(sum);
    }
    30.0 + of.last().copied().unwrap_or(0.0)
}

fn statement_cost(stmt: &Stmt, function: &Function, called: &[f64]) -> f64 {
    let words =
        |value: &Expr| value.ty(function).map_or(1.0, |ty| (ty.components() * ty.scalar.words() as usize) as f64);
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

fn argument_text(name: &str) -> Option<String> {
    std::env::args().skip_while(|text| text != name).nth(1)
}

/// The number behind an option, or this default.
fn argument(name: &str, default: u64) -> u64 {
    argument_text(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} takes a number")))
}

fn shows(case: &Case, fault: Fault) -> bool {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { 8 };
    let map = LaneMap::linear(case, size);
    let right = observe(case, &map, || Spec).expect("a generated case is well-formed");
    let faulty = observe(case, &map, || Planted::new(fault)).expect("a generated case is well-formed");
    if right.logs == faulty.logs {
        return false;
    }
    let promise = SizePromise { default: size, min: 4, max: 128 };
    matches!(judge(case, &faulty, promise).verdict, Verdict::Mismatch(_))
}
