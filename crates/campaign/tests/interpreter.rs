//! The interpreter as a device: what the toolchain makes of generated programs means what the programs mean.

use std::collections::BTreeMap;

use tangle_campaign::plan::{Choice, Plan};
use tangle_campaign::prepare::Prep;
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_identity::Kind;
use tangle_oracle::judge::Counts;
use tangle_program::case::Case;
use tangle_program::variant::Variant;

/// What came of so many cases.
#[derive(Debug, Default)]
struct Results {
    statuses: BTreeMap<&'static str, u64>,
    counts: Counts,
    /// What the interpreter does not run.
    missing: BTreeMap<String, u64>,
    findings: Vec<(u64, Kind, String)>,
}

fn run(name: &str, cases: u64) -> Results {
    let target = Target::built_in(name).expect("it is built in");
    let plan = Plan::new(Choice { seed: 7, ..Choice::default() }, std::slice::from_ref(&target)).expect("a plan");
    let mut results = Results::default();
    for index in 0..cases {
        let Some(case) = plan.case(index) else { continue };
        // Compilers in processes of their own are this program, which a test is not: the command line's tests run the other variants.
        let prep = Prep::of(Case { variant: Variant::Unoptimised, ..case });
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
        let signature = conclusion.signature(prep.case());
        results.findings.extend(signature.map(|found| (index, found.kind, found.to_string())));
    }
    results
}

#[test]
fn generated_modules_mean_what_their_programs_mean() {
    let results = run("interpreter", 300);
    println!("{results:?}");
    assert_eq!(results.findings, []);
    assert!(results.statuses["pass"] >= 270, "{results:?}");
    let Counts { checked, tainted, skipped, .. } = results.counts;
    assert!(checked > 100_000 && checked > tainted + skipped, "{results:?}");
}

#[test]
fn planted_faults_are_found() {
    for fault in ["merge_loses_lane", "exclusive_is_inclusive", "sub_is_add"] {
        let results = run(&format!("interpreter:{fault}@16"), 100);
        let is_wrong = |kind: Kind| matches!(kind, Kind::Value | Kind::Path);
        println!("{fault}: {:?}", results.statuses);
        assert!(results.findings.iter().any(|&(_, kind, _)| is_wrong(kind)), "{fault}: {results:?}");
    }
    assert!(Target::built_in("interpreter:no_such_fault").is_err());
    assert!(Target::built_in("interpreter@9").is_err());
}
