//! `tangle minimize`: from a finding to a small one, in the folder beside it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_minimizer::statements;
use tangle_program::case::Case;

/// A reference device that fails often, and one that does not fail.
const FAULTY: &str = "reference:mask_always_full";
const RIGHT: &str = "reference";

/// A finding of a short campaign.
struct Finding {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn finding() -> Finding {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let mut command =
        tangle(["fuzz", "--minimize", "off", "--seed", "5", "--cases", "40", "--device", FAULTY, "--out"]);
    command.arg(&out);
    finish(command).expect(1);
    let files = tree(&out.join("findings")).into_iter().filter(|path| path.ends_with("case.json"));
    let folders = files.map(|file| out.join("findings").join(file.parent().expect("its folder")));
    let path = folders.max_by_key(|folder| statements(&case_in(folder).program)).expect("a finding");
    Finding { _folder: folder, path }
}

fn case_in(folder: &Path) -> Case {
    case_from(&folder.join("case.json"))
}

#[track_caller]
fn case_from(file: &Path) -> Case {
    let case = Case::from_json(&read(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert_eq!(validate(&case), Ok(()), "{}", file.display());
    case
}

fn minimize(case: &Path, more: &[&str]) -> Command {
    let mut command = tangle(["minimize"]);
    command.arg(case).args(more);
    command
}

#[track_caller]
fn run_minimize(case: &Path, more: &[&str]) -> Ran {
    start(minimize(case, more)).finish_within(LIMIT)
}

/// Runs a case on a device; true if it is a finding.
#[track_caller]
fn fails_on(case: &Path, device: &str) -> bool {
    let mut command = tangle(["run"]);
    command.arg(case).args(["--device", device]);
    finish(command).code() == 1
}

#[test]
fn a_finding_becomes_a_small_one_beside_it() {
    let finding = finding();
    let before = tree(&finding.path);
    let original = read(&finding.path.join("case.json"));
    let ran = run_minimize(&finding.path, &[]).expect(0);
    assert!(ran.stdout.contains("void main()") && ran.stdout.contains("fails always"), "{ran}");

    let small = finding.path.join("minimized");
    assert!(statements(&case_in(&small).program) <= 6, "{ran}");
    assert_eq!(case_in(&small).origin.seed, case_in(&finding.path).origin.seed);
    assert!(case_in(&small).origin.minimized_from.is_some());
    assert!(fails_on(&small, FAULTY) && !fails_on(&small, RIGHT));
    assert!(!fails_on(&small.join("neighbour.json"), FAULTY), "the neighbour passes");
    let record = read_json(&small.join("minimized.json"));
    assert_eq!(record["finished"], true);
    assert_eq!(record["fails_after"]["failed"], record["fails_after"]["runs"]);
    for file in ["shader.comp", "report.txt", "finding.json", "device.json", "neighbour.comp", "variants.json"] {
        assert!(small.join(file).exists(), "{file}");
    }

    // The original is as it was, and nothing else is left over.
    assert_eq!(read(&finding.path.join("case.json")), original);
    let after = tree(&finding.path).into_iter().filter(|path| !path.starts_with("minimized")).collect::<Vec<_>>();
    assert_eq!(after, before);

    // The same again gives the same, and clears away what a run left that was killed while it saved.
    let first = read(&small.join("case.json"));
    let nobody = u32::MAX;
    for left in ["partial", "old"] {
        std::fs::create_dir(finding.path.join(format!("minimized.{nobody}.{left}"))).expect("a folder");
    }
    run_minimize(&finding.path, &[]).expect(0);
    assert_eq!(read(&small.join("case.json")), first);
    let folders = std::fs::read_dir(&finding.path).expect("a folder").flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(folders.map(|entry| entry.file_name()).collect::<Vec<_>>(), ["minimized"]);
}

#[test]
fn the_table_of_variants_is_made_anew_on_the_devices_that_it_had() {
    let finding = finding();
    run_minimize(&finding.path, &[]).expect(0);
    let small = finding.path.join("minimized");
    let columns = || {
        let table = read_json(&small.join("variants.json"));
        table["columns"].as_array().expect("columns").iter().map(|c| c["device"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(columns(), [FAULTY]);
    let mut all = tangle(["run"]);
    all.arg(&small).args(["--variants", "--device", RIGHT, "--device", FAULTY]);
    start(all).finish_within(LIMIT).expect(1);
    run_minimize(&finding.path, &[]).expect(0);
    assert_eq!(columns(), [FAULTY, RIGHT]);
}

#[test]
fn what_another_case_reached_is_left_alone() {
    let (one, other) = (finding(), finding());
    let out = one.path.with_file_name("small.json").display().to_string();
    let file = one.path.join("case.json");
    run_minimize(&file, &["--device", FAULTY, "--out", &out, "--tries", "4"]).expect(0);
    std::fs::remove_file(&out).expect("the result");
    // The same case again goes on; another does not.
    let ran = run_minimize(&file, &["--device", FAULTY, "--out", &out, "--tries", "1"]).expect(0);
    assert!(ran.stderr.contains("going on"), "{ran}");
    std::fs::remove_file(&out).expect("the result");
    let mut case = case_in(&other.path);
    case.about = "another".into();
    let file = other.path.with_file_name("other.json");
    std::fs::write(&file, case.to_json()).expect("a case");
    let ran = run_minimize(&file, &["--device", FAULTY, "--out", &out]).expect(0);
    assert!(!ran.stderr.contains("going on"), "{ran}");
}

#[test]
fn what_is_stopped_is_saved_and_goes_on_later() {
    let finding = finding();
    let small = finding.path.join("minimized");
    let ran = run_minimize(&finding.path, &["--tries", "4"]).expect(0);
    assert!(ran.stderr.contains("not finished"), "{ran}");
    let reached = case_in(&small);
    assert!(statements(&reached.program) < statements(&case_in(&finding.path).program), "{ran}");

    let ran = run_minimize(&finding.path, &[]).expect(0);
    assert!(ran.stderr.contains("going on from an earlier run"), "{ran}");
    let smallest = case_in(&small);
    assert!(smallest != reached && statements(&smallest.program) <= statements(&reached.program), "{ran}");
    assert_eq!(smallest.origin.minimized_from, reached.origin.minimized_from, "still from the original");
    assert!(tree(&finding.path).iter().all(|path| !path.to_string_lossy().contains("best")), "{ran}");
}

#[test]
fn a_killed_run_loses_nothing() {
    let finding = finding();
    let best = finding.path.join("minimized.best.json");
    // Killed a little later each time: before, while and after something was saved.
    for wait in [0, 2, 4, 8, 12, 16, 24, 32, 48, 64] {
        let mut running = start(minimize(&finding.path, &[]));
        std::thread::sleep(Duration::from_millis(wait));
        let _ = running.child.kill();
        running.finish_within(LIMIT);
        case_in(&finding.path);
        if best.exists() {
            case_from(&best);
        }
        let small = finding.path.join("minimized");
        if small.exists() {
            assert!(fails_on(&small, FAULTY), "whole or not at all");
        }
    }
    // Killed once more when something is reached: the next run goes on from there.
    let _ = std::fs::remove_file(&best);
    let mut running = start(minimize(&finding.path, &[]));
    while !best.exists() && running.child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = running.child.kill();
    running.finish_within(LIMIT);
    let reached = best.exists().then(|| statements(&case_from(&best).program));
    let ran = run_minimize(&finding.path, &[]).expect(0);
    assert_eq!(ran.stderr.contains("going on from an earlier run"), reached.is_some(), "{ran}");
    let small = statements(&case_in(&finding.path.join("minimized")).program);
    assert!(small <= 6 && reached.is_none_or(|reached| small <= reached), "{small} {reached:?}");
    assert!(!best.exists());
}

#[test]
fn a_case_alone_goes_where_it_is_told() {
    let finding = finding();
    let file = finding.path.join("case.json");
    let small = finding.path.with_file_name("small.json");
    let out = small.display().to_string();
    run_minimize(&file, &[]).fails_with(&["--device"]);
    run_minimize(&file, &["--device", FAULTY, "--out", &out]).expect(0);
    assert!(statements(&case_from(&small).program) <= 6);
    // An older result of the same case makes way.
    run_minimize(&file, &["--device", FAULTY, "--out", &out]).expect(0);
}

#[test]
fn nothing_else_is_overwritten() {
    let finding = finding();
    let original = read(&finding.path.join("case.json"));
    let path = |name: &str| finding.path.join(name).display().to_string();
    run_minimize(&finding.path, &["--out", &path("case.json")]).fails_with(&["is there already"]);
    run_minimize(&finding.path, &["--out", &path(".")]).fails_with(&["is there already"]);
    assert_eq!(read(&finding.path.join("case.json")), original);
}

#[test]
fn what_does_not_fail_is_an_error() {
    let finding = finding();
    run_minimize(&finding.path, &["--device", RIGHT]).fails_with(&["does not fail on reference"]);
    assert!(!finding.path.join("minimized").exists());
    run_minimize(Path::new("/no/such/case.json"), &["--device", RIGHT]).fails_with(&["cannot read"]);
}
