//! Compilers as devices: random cases through glslang's HLSL front end, which is always there, and planted faults of a compiler.

use tangle_campaign::finding::describe;
use tangle_campaign::plan::{Choice, Plan};
use tangle_campaign::prepare::{Prepared, prepare};
use tangle_campaign::target::{Conclusion, Finish, Target};
use tangle_compilers::TABLE;
use tangle_compilers::faults::FAULTS;
use tangle_identity::Status;
use tangle_oracle::judge::Verdict;
use tangle_program::case::{Case, Stage};
use tangle_runner::toolchain::compile_by;

/// Compilers that crash do it in a process of their own.
fn target(name: &str) -> Target {
    compile_by(env!("CARGO_BIN_EXE_tangle").into());
    Target::built_in(name).expect("it is part of tangle")
}

/// So many programs of a seed, as the device can run them.
fn cases(target: &Target, programs: u64) -> Vec<Case> {
    cases_of(&[], target, programs)
}

/// The same of these stages, or of a mixture.
fn cases_of(stages: &[Stage], target: &Target, programs: u64) -> Vec<Case> {
    let choice = Choice { seed: 13, stages: stages.iter().copied().collect(), ..Choice::default() };
    let plan = Plan::new(choice, std::slice::from_ref(target)).expect("it offers a tier");
    let programs = (0..programs).filter_map(|program| plan.case(program * plan.inputs()));
    programs.map(|case| target.fitted(&case).into_owned()).filter(|case| target.missing(case).is_empty()).collect()
}

/// Those that the compiler translates well, and how many values were compared.
fn right(target: &Target, programs: u64) -> (Vec<Prepared>, u64) {
    let mut checked = 0;
    let passes = |prepared: &Prepared| match target.run(prepared).finish {
        Finish::Judged(judgement) if judgement.verdict == Verdict::Pass => {
            checked += judgement.counts.checked;
            true
        }
        _ => false,
    };
    let prepared: Vec<Prepared> = cases(target, programs).into_iter().filter_map(|case| prepare(case).ok()).collect();
    (prepared.into_iter().filter(passes).collect(), checked)
}

#[test]
fn planted_faults_of_glslang_are_found() {
    planted_faults_are_found("hlsl@glslang", 600);
}

#[test]
fn planted_faults_of_naga_are_found() {
    planted_faults_are_found("wgsl@naga", 300);
}

/// Of the other compilers that are here. Few programs, so that not every fault shows in them.
#[test]
fn planted_faults_of_started_compilers_are_found() {
    for (compiler, programs) in
        [("hlsl@dxc", 60), ("hlsl@slang", 24), ("slang@slang", 24), ("wgsl@tint", 60), ("glsl@spirv-cross", 40)]
    {
        let found =
            tangle_compilers::named(compiler).iter().all(|front_end| tangle_compilers::found(front_end).is_ok());
        if !found {
            println!("note: {compiler} is not here");
            continue;
        }
        let (prepared, _) = right(&target(compiler), programs);
        let (planted, missed) = planted_and_missed(compiler, &prepared);
        assert!(planted >= 8 && missed.len() * 4 <= planted, "{compiler}: {planted} planted, missed: {missed:?}");
    }
}

fn planted_faults_are_found(compiler: &str, programs: u64) {
    let (prepared, checked) = right(&target(compiler), programs);
    assert!(prepared.len() > 15 && checked > 5_000, "{} programs, {checked} values", prepared.len());
    let (planted, missed) = planted_and_missed(compiler, &prepared);
    assert!(planted >= 15, "{planted}");
    // A shift of numbers without their highest bit is the same, arithmetic or not.
    assert!(missed.len() * 20 <= planted, "missed: {missed:?}");
}

/// A compiler that makes a loop endless is found by what the program needs, and the finding says how much that is.
#[test]
fn a_module_that_does_not_end_is_found() {
    let (prepared, _) = right(&target("wgsl@naga"), 40);
    let faulty = target("wgsl@naga:lose-step");
    let endless = prepared.iter().find_map(|prepared| match faulty.run(prepared) {
        conclusion @ Conclusion { finish: Finish::Endless { .. }, .. } => Some((&prepared.case, conclusion)),
        _ => None,
    });
    let (case, conclusion) = endless.expect("a program has a loop that counts");
    let signature = conclusion.signature(case).map(|signature| signature.to_string());
    assert_eq!(signature.as_deref(), Some("toolchain: the module does not end: the program does"));
    let said = describe(case, &conclusion.finish);
    assert!(
        said.starts_with("the module does not end: ") && said.contains(" instructions are enough; after "),
        "{said}"
    );
}

/// How many faults have a place in these programs, and the names of those that none of them shows.
fn planted_and_missed(compiler: &str, prepared: &[Prepared]) -> (usize, Vec<&'static str>) {
    let mut missed = Vec::new();
    let mut planted = 0;
    for fault in FAULTS {
        let faulty = target(&format!("{compiler}:{}", fault.name));
        let changed: Vec<&Prepared> =
            prepared.iter().filter(|prepared| fault.plant(&prepared.spirv).is_some()).collect();
        // A fault of what none of the programs does says nothing.
        if changed.len() < 3 {
            continue;
        }
        planted += 1;
        let is_found = |prepared: &&Prepared| faulty.run(prepared).signature(&prepared.case).is_some();
        if !changed.iter().any(is_found) {
            missed.push(fault.name);
        }
    }
    println!("{compiler}: {planted} of {} faults planted, missed: {missed:?}", FAULTS.len());
    (planted, missed)
}

/// Of what is fitted to a compiler nothing turns out to be something that cannot be run.
#[test]
fn compilers_run_what_is_fitted_to_them() {
    for row in TABLE {
        let name = row.front_end().to_string();
        if let Err(reason) = row.found() {
            println!("note: {name}: {reason}");
            continue;
        }
        let target = target(&name);
        let prepared: Vec<_> = cases(&target, 96).into_iter().take(12).map(prepare).collect();
        let (mut right, mut open) = (0, 0);
        for conclusion in prepared.iter().map(|prepared| match prepared {
            Ok(prepared) => target.run(prepared),
            Err(fault) => Conclusion::from(fault),
        }) {
            if let Finish::Unsupported { missing } = &conclusion.finish {
                // What the tier leaves open is nothing that the compiler or the interpreter lacks, and what Clang says of some floats nothing that a case asks for.
                let expected = ["a decision", "the decoration FPFastMathMode"];
                let is_expected = |what: &String| expected.iter().any(|start| what.starts_with(start));
                assert!(missing.iter().all(is_expected), "{name}: {missing:?}");
                open += 1;
            }
            let judged = matches!(&conclusion.finish, Finish::Judged(judged) if judged.verdict == Verdict::Pass);
            right += u32::from(judged);
        }
        println!("note: {name}: {right} of {} programs are right, {open} open", prepared.len());
        assert!(prepared.len() >= 8 && open <= 1, "{name}");
    }
}

/// A compiler that is given shaders of other stages than compute has modules of each that are executed, and nothing of them is wrong.
#[test]
fn compilers_run_every_stage_that_they_are_given() {
    for row in TABLE {
        let name = row.front_end().to_string();
        let Ok(found) = row.found() else { continue };
        let stages: Vec<Stage> =
            (row.stages)(&found).iter().copied().filter(|&stage| stage != Stage::Compute).collect();
        if stages.is_empty() {
            continue;
        }
        let target = target(&name);
        for stage in stages {
            let cases: Vec<Case> = cases_of(&[stage], &target, 40).into_iter().take(6).collect();
            assert!(cases.len() >= 4 && cases.iter().all(|case| case.entry_point.stage == stage), "{name}, {stage:?}");
            let mut checked = 0;
            for case in cases {
                // What is refused is a bug of the compiler's, or nothing that this is about.
                let Ok(prepared) = prepare(case) else { continue };
                match target.run(&prepared).finish {
                    Finish::Judged(judged) => {
                        assert!(
                            matches!(judged.verdict, Verdict::Pass | Verdict::Vacuous),
                            "{name}: {:?} of\n{}",
                            judged.verdict,
                            prepared.shader
                        );
                        checked += judged.counts.checked;
                    }
                    Finish::Unsupported { missing } => assert!(missing[0].starts_with("a decision"), "{missing:?}"),
                    _ => {}
                }
            }
            println!("note: {name}: {checked} values of {} shaders compared", stage.name());
            assert!(checked > 200, "{name}: {checked} values of {} shaders", stage.name());
        }
    }
}

#[test]
fn a_compiler_runs_no_other_modules_than_its_own() {
    let target = target("hlsl@glslang");
    let case = Case::from_json(include_str!("../corpus/vectors/V01.json")).expect("a case of the corpus");
    assert_eq!(target.missing(&case).last().map(String::as_str), Some("modules that hlsl@glslang did not make"));
    let dressed = target.dressed(&case).into_owned();
    assert_eq!(dressed.variant.to_string(), "hlsl@glslang");
    assert_eq!(target.missing(&dressed), Vec::<String>::new());
    let prepared = prepare(dressed).expect("it compiles");
    assert!(prepared.shader.contains("RWStructuredBuffer<uint> log_words;"), "{}", prepared.shader);
    assert_eq!(target.run(&prepared).status(&prepared.case), Status::Pass);
    let Err(error) = Target::built_in("hlsl@cg") else { panic!("there is no such compiler") };
    assert!(error.to_string().contains("no compiler is called hlsl@cg; there are: hlsl@glslang"), "{error}");
    assert!(Target::built_in("hlsl@glslang:nothing").is_err());
}
