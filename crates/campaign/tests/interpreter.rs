//! The interpreter as a device: what the toolchain makes of generated programs means what the programs mean.

use std::collections::BTreeMap;

use tangle_campaign::plan::{Choice, Plan};
use tangle_campaign::prepare::{Prep, Prepared, prepare};
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_identity::{Kind, Status};
use tangle_oracle::judge::Counts;
use tangle_program::case::{Case, Stage};
use tangle_program::tree::Stmt;
use tangle_program::variant::{Freedom, Printing, Variant};

/// The result of so many cases.
#[derive(Debug, Default)]
struct Results {
    statuses: BTreeMap<Status, u64>,
    counts: Counts,
    /// What the interpreter does not run.
    missing: BTreeMap<String, u64>,
    findings: Vec<(u64, Kind, String)>,
}

fn run(name: &str, cases: u64) -> Results {
    run_as(name, cases, |_| Variant::Unoptimised)
}

/// As the variant of a case's number. Compilers in processes of their own are this program, which a test is not: the command line's
/// tests run the variants with an optimiser.
fn run_as(name: &str, cases: u64, variant: impl Fn(u64) -> Variant) -> Results {
    run_until(name, cases, variant, |_| false)
}

/// The same, up to the first case that ends it.
fn run_until(name: &str, cases: u64, variant: impl Fn(u64) -> Variant, ends: impl Fn(Kind) -> bool) -> Results {
    let target = Target::built_in(name).expect("it is built in");
    // Modules are printed of shaders with workgroups only.
    let is_printed = variant(0).is_printed();
    let stages = Stage::ALL.into_iter().filter(|stage| is_printed && stage.has_workgroups()).collect();
    let choice = Choice { seed: 7, stages, ..Choice::default() };
    let plan = Plan::new(choice, std::slice::from_ref(&target)).expect("a plan");
    let mut results = Results::default();
    for index in 0..cases {
        let Some(case) = plan.case(index) else { continue };
        let prep = Prep::of(Case { variant: variant(index), ..case });
        let conclusion = match &prep {
            Prep::Ready(prepared) => target.run(prepared),
            Prep::Faulty(_, fault) => Conclusion::from(fault),
        };
        *results.statuses.entry(conclusion.status(prep.case())).or_default() += 1;
        match &conclusion.finish {
            Finish::Judged(judgement) => results.counts.add(judgement.counts),
            Finish::Unsupported { missing } => *results.missing.entry(missing.join(", ")).or_default() += 1,
            _ => {}
        }
        if let Some(found) = conclusion.signature(prep.case()) {
            results.findings.push((index, found.kind, found.to_string()));
            if ends(found.kind) {
                break;
            }
        }
    }
    results
}

#[test]
fn generated_modules_mean_what_their_programs_mean() {
    let results = run("interpreter", 320);
    println!("{results:?}");
    assert_eq!(results.findings, []);
    assert!(results.statuses[&Status::Pass] >= 270, "{results:?}");
    let Counts { checked, tainted, skipped, .. } = results.counts;
    assert!(checked > 100_000 && checked > tainted + skipped, "{results:?}");
}

/// All freedoms, or those of the bits of the number.
fn printed(index: u64) -> Variant {
    let is_used = |number: usize| index.is_multiple_of(3) || index >> (number % 8) & 1 == 1;
    let freedoms = (0..).zip(Freedom::ALL).filter(|(number, _)| is_used(*number)).map(|(_, &freedom)| freedom);
    Variant::Printed(Printing::new(index as u32, freedoms.collect()))
}

#[test]
fn printed_modules_mean_what_their_programs_mean() {
    let results = run_as("interpreter", 320, printed);
    println!("{results:?}");
    assert_eq!(results.findings, []);
    assert!(results.statuses[&Status::Pass] >= 270, "{results:?}");
    let Counts { checked, tainted, skipped, .. } = results.counts;
    assert!(checked > 100_000 && checked > tainted + skipped, "{results:?}");
}

/// A printer that puts what stands behind a selection into its arms merges too late: lanes are apart that have to be together.
#[test]
fn a_wrong_merge_is_found() {
    let mut case = Case::from_json(include_str!("../../../corpus/vectors/V01.json")).expect("a case of the corpus");
    case.variant = Variant::Printed(Printing::PLAIN);
    let target = Target::built_in("interpreter").expect("it is built in");
    let right = prepare(case.clone()).expect("a valid module");
    assert_eq!(target.run(&right).status(&case), Status::Pass);
    let mut late = case.clone();
    let body = &mut late.program.functions.last_mut().expect("main").body;
    let at = body.iter().position(|stmt| matches!(stmt, Stmt::If { .. })).expect("a selection");
    let behind = body.split_off(at + 1);
    let Some(Stmt::If { then, otherwise, .. }) = body.last_mut() else { unreachable!("it was just found") };
    then.extend(behind.iter().cloned());
    otherwise.extend(behind);
    let wrong = tangle_emit::spirv::module(&late, &Printing::PLAIN);
    let conclusion = target.run(&Prepared { spirv: wrong, ..right });
    assert!(conclusion.signature(&case).is_some_and(|found| found.kind == Kind::Value), "{:?}", conclusion.finish);
}

/// Some of the first hundred cases shows the fault.
fn is_found(fault: &str, variant: impl Fn(u64) -> Variant) {
    let is_wrong = |kind: Kind| matches!(kind, Kind::Value | Kind::Path);
    let results = run_until(&format!("interpreter:{fault}@16"), 100, variant, is_wrong);
    println!("{fault}: {:?}", results.statuses);
    assert!(results.findings.iter().any(|&(_, kind, _)| is_wrong(kind)), "{fault}: {results:?}");
}

#[test]
fn planted_faults_are_found_without_a_front_end() {
    for fault in ["selection_not_merged", "merge_loses_lane"] {
        is_found(fault, printed);
    }
}

#[test]
fn planted_faults_are_found() {
    for fault in ["merge_loses_lane", "exclusive_is_inclusive", "sub_is_add"] {
        is_found(fault, |_| Variant::Unoptimised);
    }
    assert!(Target::built_in("interpreter:no_such_fault").is_err());
    assert!(Target::built_in("interpreter@9").is_err());
}

/// A driver is worth more inputs to a program than the interpreter, more long loops and larger programs; what campaigns have in common is a program.
#[test]
fn cases_are_made_of_what_pays() {
    for (names, inputs, long_loops, is_halved) in [
        (&["interpreter"][..], 2, 16, true),
        (&["interpreter", "interpreter@32"], 2, 16, true),
        (&["reference"], 8, 1, false),
        (&["interpreter", "reference"], 8, 1, false),
    ] {
        let targets: Vec<Target> = names.iter().map(|name| Target::built_in(name).expect("it is built in")).collect();
        let economy = Target::economy(&targets);
        let found = (economy.inputs.get(), economy.long_loops.get(), economy.is_halved);
        assert_eq!(found, (inputs, long_loops, is_halved), "{names:?}");
    }
}
