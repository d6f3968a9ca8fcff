//! Runs a folder of cases on devices and reads the outcomes against what is expected: what `tangle replay` does in CI.
//!
//! ```text
//!   folder ─► cases of this shard ─► every device ─► outcome ─► rule (baseline, flakes, skips; again if unexpected) ─► records
//!                                                                                                                      │
//!                                    summary for people, JUnit for machines, the baseline of what happened ◄───────────┘
//! ```
//!
//! The order of the records depends on nothing but the names of devices and cases.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tangle_identity::Kind;
use tangle_oracle::judge::Verdict;
use tangle_program::case::Case;
use tangle_report::baseline::{Baseline, KnownFlake, Outcome, Patterns, Status, Tally, rule};
pub use tangle_report::replay::{Record, Replay};

use crate::finding::describe;
use crate::fuzzing::input::has_name_of_input;
use crate::prepare::Prep;
pub use crate::shard::Shard;
use crate::target::{Conclusion, Finish, Target};

/// Runs of a case whose first outcome is unexpected, if nobody says otherwise.
pub const RUNS: u32 = 5;

/// What is expected, and which cases are run.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// What does not pass today.
    pub baseline: Baseline,
    /// Cases that may fail now and then: such failures are reported, and expected.
    pub flakes: Patterns,
    /// What is not run.
    pub skips: Patterns,
    /// Which part of the cases.
    pub shard: Shard,
    /// Runs of a case whose first outcome is unexpected.
    pub runs: u32,
    /// Counts the cases that are through, each on each device.
    pub done: Arc<AtomicUsize>,
    /// Is given each record as soon as it is there, in the order in which a device gets to the cases: a replay that is stopped has printed what it knows.
    pub each: fn(&Record),
}

impl Default for ReplayOptions {
    fn default() -> ReplayOptions {
        ReplayOptions {
            baseline: Baseline::default(),
            flakes: Patterns::default(),
            skips: Patterns::default(),
            shard: Shard::default(),
            runs: RUNS,
            done: Arc::default(),
            each: |_| (),
        }
    }
}

/// A case of a folder.
#[derive(Clone, Debug)]
pub struct NamedCase {
    /// Its path in the folder, without `.json`; of a finding, that of its folder.
    pub name: String,
    /// The case as it is in its file.
    pub case: Case,
}

/// The cases of a folder, at any depth, as names and files, by name: its JSON files, inputs of fuzz targets, and findings' folders. Other
/// JSON files of a finding are no cases.
///
/// # Errors
/// If the folder cannot be read.
pub fn find_cases(folder: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    let named = |file: PathBuf| {
        let path = file.strip_prefix(folder).unwrap_or(&file);
        let path =
            if path.ends_with("case.json") { path.parent().unwrap_or(path).into() } else { path.with_extension("") };
        // The folder itself is a finding.
        let path = if path.as_os_str().is_empty() { PathBuf::from("case") } else { path };
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        (parts.join("/"), file)
    };
    let mut cases: Vec<(String, PathBuf)> = files.into_iter().map(named).collect();
    cases.sort();
    Ok(cases)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    if let Some(case) = paths.iter().find(|path| path.ends_with("case.json")) {
        files.push(case.clone());
        return Ok(());
    }
    for path in paths {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") || has_name_of_input(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// A case, compiled when the first device wants it.
struct Shared<'a> {
    case: &'a NamedCase,
    prep: OnceLock<Prep>,
}

impl Shared<'_> {
    fn run(&self, target: &Target) -> Conclusion {
        target.run_dressed(self.prep.get_or_init(|| Prep::of(self.case.case.clone())))
    }
}

/// Runs the cases on the devices, all devices side by side.
pub fn replay(targets: &[Target], cases: &[NamedCase], options: &ReplayOptions) -> Replay {
    let shared: Vec<Shared<'_>> = cases
        .iter()
        .filter(|case| options.shard.has(&case.name))
        .map(|case| Shared { case, prep: OnceLock::new() })
        .collect();
    let mut all = Replay::default();
    std::thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> =
            targets.iter().map(|target| scope.spawn(move || on_device(target, shared, cases, options))).collect();
        for (thread, target) in threads.into_iter().zip(targets) {
            match thread.join() {
                Ok(part) => {
                    all.records.extend(part.records);
                    all.trouble.extend(part.trouble);
                }
                Err(_) => all.trouble.push(format!("device {}: its thread ended", target.name)),
            }
        }
    });
    all
}

fn on_device(target: &Target, shared: &[Shared<'_>], cases: &[NamedCase], options: &ReplayOptions) -> Replay {
    let mut part = Replay::default();
    for (done, shared) in shared.iter().enumerate() {
        let name = &shared.case.name;
        if done > 0 {
            options.done.fetch_add(1, Ordering::Relaxed);
        }
        let record = if let Some(reason) = part.trouble.first() {
            missing(&target.name, name, format!("not run: {reason}"))
        } else if options.skips.have(&target.name, name) {
            Record { status: Status::Skip, ..missing(&target.name, name, "the skips file says so".into()) }
        } else {
            let mut trouble = None;
            // What is said of a result is said of the case as it ran.
            let own = NamedCase { name: name.clone(), case: target.dressed(&shared.case.case).into_owned() };
            let record = on_case(&target.name, &own, options, || {
                let conclusion = shared.run(target);
                if let Finish::NoWorker { reason } = &conclusion.finish {
                    trouble.get_or_insert_with(|| format!("device {}: {reason}", target.name));
                }
                conclusion
            });
            part.trouble.extend(trouble);
            record
        };
        (options.each)(&record);
        part.records.push(record);
    }
    let is_there = |name: &str| cases.iter().any(|case| case.name == name);
    for name in options.baseline.named(&target.name) {
        if options.shard.has(name) && !is_there(name) && !part.records.iter().any(|record| record.case == name) {
            let record = missing(&target.name, name, "the baseline has it, the folder does not".into());
            (options.each)(&record);
            part.records.push(record);
        }
    }
    part.records.sort_by(|a, b| a.case.cmp(&b.case));
    part
}

fn missing(device: &str, case: &str, detail: String) -> Record {
    Record {
        device: device.into(),
        case: case.into(),
        status: Status::Missing,
        outcome: Outcome::Skip,
        tally: Tally { failed: 0, runs: 0 },
        detail,
        time: Duration::ZERO,
        checked: 0,
        severity: None,
    }
}

/// Runs one case as often as it takes to know what its outcome means. `run` is the device.
fn on_case(device: &str, case: &NamedCase, options: &ReplayOptions, mut run: impl FnMut() -> Conclusion) -> Record {
    let started = Instant::now();
    let known = if options.flakes.have(device, &case.name) { KnownFlake::Yes } else { KnownFlake::No };
    let mut detail = None;
    let mut checked = None;
    let mut severity = None;
    let ruling = rule(options.baseline.expected(device, &case.name), known, options.runs, || {
        let conclusion = run();
        let outcome = outcome(&case.case, &conclusion);
        // Of several ways to fail, the one that rests on most.
        let rests_on = conclusion.signature(&case.case).map(|signature| signature.severity());
        severity = severity.into_iter().chain(rests_on).min();
        if outcome != Outcome::Pass {
            detail.get_or_insert_with(|| detail_of(&case.case, &conclusion));
        }
        checked.get_or_insert(match &conclusion.finish {
            Finish::Judged(judgement) => judgement.counts.checked,
            _ => 0,
        });
        outcome
    });
    Record {
        device: device.into(),
        case: case.name.clone(),
        status: ruling.status,
        outcome: ruling.outcome,
        tally: ruling.tally,
        detail: detail.unwrap_or_default(),
        time: started.elapsed(),
        checked: checked.unwrap_or(0),
        severity,
    }
}

fn outcome(case: &Case, conclusion: &Conclusion) -> Outcome {
    match (conclusion.signature(case).map(|signature| signature.kind), &conclusion.finish) {
        (Some(Kind::Crash | Kind::DeviceLost | Kind::OutOfMemory | Kind::Implausible), _) => Outcome::Crash,
        (Some(Kind::Hang), _) => Outcome::Timeout,
        (Some(_), _) => Outcome::Fail,
        (None, Finish::Unsupported { .. } | Finish::NoWorker { .. } | Finish::Failed(_)) => Outcome::Skip,
        (None, Finish::Judged(judgement)) if judgement.verdict == Verdict::Vacuous => Outcome::Vacuous,
        (None, _) => Outcome::Pass,
    }
}

fn detail_of(case: &Case, conclusion: &Conclusion) -> String {
    match (&conclusion.finish, conclusion.signature(case)) {
        (Finish::Unsupported { missing }, _) => format!("the device lacks {}", missing.join(", ")),
        (finish, Some(signature)) => format!("{signature}\n{}", describe(case, finish)),
        (finish, None) => describe(case, finish),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> NamedCase {
        let text = include_str!("../../../corpus/vectors/V16.json");
        NamedCase { name: "vectors/V16".into(), case: Case::from_json(text).expect("a case") }
    }

    fn reference(name: &str) -> Target {
        Target::built_in(name).expect("a reference device")
    }

    #[test]
    fn a_device_that_fails_now_and_then_has_a_flake() {
        let (good, bad) = (reference("reference"), reference("reference:if_merge_loses_last_lane"));
        let case = case();
        let prepared = crate::prepare::prepare(case.case.clone()).expect("it compiles");
        let flakes = Patterns::parse("V16").expect("patterns");
        for (flakes, status) in [(Patterns::default(), Status::Flake), (flakes, Status::KnownFlake)] {
            let mut runs = 0;
            let options = ReplayOptions { flakes, ..ReplayOptions::default() };
            let record = on_case("flaky", &case, &options, || {
                runs += 1;
                if runs % 3 == 1 { &bad } else { &good }.run(&prepared)
            });
            assert_eq!((record.status, record.tally), (status, Tally { failed: 2, runs: 5 }));
            let replay = Replay { records: vec![record], trouble: Vec::new() };
            assert_eq!(replay.baseline(), "# flake, wrong in 2 of 5 runs: flaky/vectors/V16\n");
        }
    }

    #[test]
    fn the_baseline_of_what_happened_leaves_nothing_unexpected() {
        let target = [reference("reference:if_merge_loses_last_lane"), reference("reference@4")];
        let cases = [case()];
        let first = replay(&target, &cases, &ReplayOptions::default());
        assert_eq!(
            first.unexpected().map(Record::name).collect::<Vec<_>>(),
            ["reference:if_merge_loses_last_lane/vectors/V16"]
        );
        let baseline = Baseline::parse(&first.baseline()).expect("a baseline");
        let again = replay(&target, &cases, &ReplayOptions { baseline: baseline.clone(), ..ReplayOptions::default() });
        assert_eq!(again.unexpected().count(), 0, "{}", again.summary());
        let renamed = [NamedCase { name: "vectors/other".into(), ..case() }];
        let moved = replay(&target, &renamed, &ReplayOptions { baseline, ..ReplayOptions::default() });
        assert!(moved.unexpected().any(|record| record.status == Status::Missing), "{}", moved.summary());
    }
}
