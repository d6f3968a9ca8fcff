//! Planted faults on the reference device: what is left of a generated case that fails.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tangle_analysis::validate::validate;
use tangle_emit::glsl::glsl;
use tangle_generator::{Config, from_seed};
use tangle_minimizer::{Check, MinimizeOptions, Minimized, Progress, Size, TABLE, minimize, statements};
use tangle_oracle::faults::{Fault, Planted};
use tangle_oracle::judge::{Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_program::case::{Case, SubgroupSize, Tier};
use tangle_program::tree::SiteId;
use tangle_program::variant::Variant;

/// The reference device with a fault.
fn verdict(case: &Case, fault: Fault) -> Verdict {
    let size = if let SubgroupSize::Required(size) = case.entry_point.subgroup_size { size } else { 8 };
    let map = LaneMap::linear(case, size);
    let promise = SubgroupPromise::vulkan(8, 4, 128);
    match observe(case, &map, || Planted::new(fault)) {
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

/// Some faults need what few programs have.
const CASES: u64 = 20_000;

/// The first generated case that shows a fault, and the site of its first wrong step.
fn first_failing(fault: Fault) -> (Case, Option<SiteId>) {
    let found = (0..CASES).find_map(|seed| {
        let tier = [Tier::Maximal, Tier::Maximal, Tier::SubgroupUniform, Tier::Plain][seed as usize % 4];
        let sizes = vec![4, 8, 16, 32];
        let case = from_seed(seed, &Config { tier, max_subgroup_size: 32, required_sizes: sizes, ..Config::default() });
        match verdict(&case, fault) {
            Verdict::Mismatch(mismatch) => Some((case, Some(mismatch.site).filter(|site| *site > 0))),
            _ => None,
        }
    });
    found.unwrap_or_else(|| panic!("no case shows {}", fault.name()))
}

fn reduce(case: &Case, fault: Fault, options: &MinimizeOptions) -> Minimized {
    reduce_until(case, fault, options, |_| ControlFlow::Continue(()))
}

fn reduce_until(
    case: &Case,
    fault: Fault,
    options: &MinimizeOptions,
    progress: impl FnMut(&Progress<'_>) -> ControlFlow<()>,
) -> Minimized {
    let answers = |cases: &[Case]| cases.iter().map(|case| check(case, fault)).collect();
    minimize(case, options, answers, progress)
}

/// Lines of the functions, without what every shader begins with.
fn lines(case: &Case) -> usize {
    let text = glsl(case);
    let body = text.split("entry_mask.w;\n").nth(1).unwrap_or_default();
    body.lines().filter(|line| !line.is_empty() && *line != "}").count()
}

#[test]
fn planted_faults_become_small() {
    let mut sizes = Vec::new();
    let mut all_lines = Vec::new();
    for &fault in Fault::ALL {
        let (case, focus) = first_failing(fault);
        let started = Instant::now();
        let minimized = reduce(&case, fault, &MinimizeOptions { focus, ..MinimizeOptions::default() });
        let after = statements(&minimized.case.program);
        println!(
            "{:32} {:3} -> {after:2} statements, {:4} tried, {:3} accepted, {:.2} s",
            fault.name(),
            statements(&case.program),
            minimized.tried,
            minimized.accepted,
            started.elapsed().as_secs_f64(),
        );
        assert!(minimized.finished);
        assert_eq!(check(&minimized.case, fault), Check::Fails, "{}", fault.name());
        if let Some(neighbour) = &minimized.neighbour {
            assert_eq!(check(neighbour, fault), Check::Passes, "{}", fault.name());
        }
        // A hundred components that a function reads may take many variables.
        if fault == Fault::SpilledOperandLost {
            assert!(after <= 50, "{after} statements");
            continue;
        }
        sizes.push(after);
        all_lines.push(lines(&minimized.case));
    }
    sizes.sort_unstable();
    all_lines.sort_unstable();
    let median = sizes[sizes.len() / 2];
    println!("median {median}, largest {:?}; lines: median {}", sizes.last(), all_lines[all_lines.len() / 2]);
    assert!(median <= 4 && sizes.last() <= Some(&12), "statements: {sizes:?}");
    assert!(all_lines[all_lines.len() / 2] <= 8, "lines: {all_lines:?}");
}

/// A few faults of different kinds.
const SOME: [Fault; 5] = [
    Fault::ContinueBreaks,
    Fault::EarlyReturnNoCopyOut,
    Fault::ShortCircuitWithAllLanes,
    Fault::LoopSeesLeftLanes,
    Fault::ScanReversed,
];

#[test]
fn the_result_does_not_depend_on_the_batches() {
    for fault in SOME {
        let (case, focus) = first_failing(fault);
        let with = |batch| {
            let minimized = reduce(&case, fault, &MinimizeOptions { focus, batch, ..MinimizeOptions::default() });
            (minimized.case, minimized.neighbour, minimized.accepted)
        };
        let one = with(1);
        assert_eq!(one, with(1), "{}", fault.name());
        assert_eq!(one, with(3), "{}", fault.name());
        assert_eq!(one, with(16), "{}", fault.name());
    }
}

#[test]
fn it_is_1_minimal_without_a_focus_too() {
    for fault in SOME {
        let (case, _) = first_failing(fault);
        let minimized = reduce(&case, fault, &MinimizeOptions::default());
        assert!(minimized.finished);
        for pass in TABLE {
            for candidate in (pass.candidates)(&minimized.case).filter(|candidate| validate(candidate).is_ok()) {
                assert_ne!(check(&candidate, fault), Check::Fails, "{}: pass {}", fault.name(), pass.name);
            }
        }
        // Once more finds nothing.
        let again = reduce(&minimized.case, fault, &MinimizeOptions::default());
        assert_eq!((again.case, again.accepted), (minimized.case, 0), "{}", fault.name());
    }
}

#[test]
fn stopped_it_gives_the_best_so_far_and_can_go_on() {
    for fault in SOME {
        let (case, focus) = first_failing(fault);
        let mut best = case.clone();
        let stopped =
            reduce_until(&case, fault, &MinimizeOptions { focus, ..MinimizeOptions::default() }, |progress| {
                assert_eq!(progress.size, Size::of(progress.best));
                if progress.improved {
                    assert!(progress.size < Size::of(&best));
                    best = progress.best.clone();
                }
                if progress.accepted == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        assert!(!stopped.finished);
        assert_eq!((&stopped.case, stopped.accepted), (&best, 5), "{}", fault.name());
        assert_eq!(check(&stopped.case, fault), Check::Fails);
        let rest = reduce(&stopped.case, fault, &MinimizeOptions::default());
        assert!(rest.finished && Size::of(&rest.case) < Size::of(&stopped.case), "{}", fault.name());
    }
}

#[test]
fn limits_end_the_search() {
    let (case, _) = first_failing(Fault::ScanReversed);
    let few = reduce(
        &case,
        Fault::ScanReversed,
        &MinimizeOptions { candidates: Some(3), batch: 1, ..MinimizeOptions::default() },
    );
    assert_eq!((few.tried, few.finished), (3, false));
    let short = MinimizeOptions { time: Some(Duration::ZERO), batch: 1, ..MinimizeOptions::default() };
    assert_eq!(reduce(&case, Fault::ScanReversed, &short).tried, 1);
}

#[test]
fn a_judge_that_cannot_go_on_ends_the_search() {
    let (case, _) = first_failing(Fault::ScanReversed);
    let minimized = minimize(&case, &MinimizeOptions::default(), |_| Vec::new(), |_| ControlFlow::Continue(()));
    assert_eq!((minimized.case, minimized.tried, minimized.finished), (case, 0, false));
}

/// What only shows in an optimised module is never said to show without.
#[test]
fn an_answer_is_for_one_variant() {
    let fault = Fault::ALL[0];
    let (mut case, focus) = first_failing(fault);
    case.variant = Variant::Size;
    let answers = |cases: &[Case]| {
        let answer = |case: &Case| if case.variant == Variant::Size { check(case, fault) } else { Check::Passes };
        cases.iter().map(answer).collect()
    };
    let options = MinimizeOptions { focus, ..MinimizeOptions::default() };
    let minimized = minimize(&case, &options, answers, |_| ControlFlow::Continue(()));
    assert_eq!(minimized.case.variant, Variant::Size);
    assert_eq!(minimized.case.program, reduce(&case, fault, &options).case.program);
}
