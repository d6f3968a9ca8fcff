//! `tangle replay` and `tangle corpus add` as a CI uses them: files in, files and exit codes out, on the reference device with planted
//! faults.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::*;

/// A reference device on which the vector about merges fails.
const FAULTY: &str = "reference:if_merge_loses_last_lane";

/// A folder with what a CI keeps.
struct Ci {
    folder: tempfile::TempDir,
}

impl Ci {
    fn new() -> Ci {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("corpus")).expect("it can be written");
        for name in ["V02", "V09", "V16"] {
            let file = folder.path().join(format!("corpus/{name}.json"));
            fs::copy(vector(name), file).expect("it can be written");
        }
        Ci { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("it can be written");
    }

    #[track_caller]
    fn replay(&self, device: &str, more: &[(&str, &str)]) -> Ran {
        let mut command = tangle(["replay"]);
        command.arg(self.path("corpus")).args(["--device", device]);
        for (option, value) in more {
            let is_file = !matches!(*option, "--shard" | "--fraction" | "--fraction-start" | "--runs" | "--device");
            let value = if is_file { self.path(value) } else { Path::new(value).to_owned() };
            command.arg(option).arg(value);
        }
        finish(command)
    }
}

#[test]
fn a_known_failure_of_a_baseline_is_expected_and_its_end_an_improvement() {
    let ci = Ci::new();
    let ran = ci.replay(FAULTY, &[("--baseline-out", "baseline.csv"), ("--junit", "junit.xml")]).expect(1);
    assert!(ran.stdout.contains("reference:if_merge_loses_last_lane/V16: Fail, wrong in 5 of 5 runs"), "{ran}");
    assert_eq!(read(&ci.path("baseline.csv")), "reference:if_merge_loses_last_lane/V16,Fail\n");
    let junit = quick_junit::Report::deserialize_from_str(&read(&ci.path("junit.xml"))).expect("JUnit");
    let suite = &junit.test_suites[0];
    assert_eq!((suite.name.as_str(), suite.tests, suite.failures, suite.errors), (FAULTY, 3, 1, 0));

    let ran = ci.replay(FAULTY, &[("--baseline", "baseline.csv")]).expect(0);
    assert!(ran.stdout.contains("ExpectedFail 1"), "{ran}");

    ci.write("all.csv", "# every device\n*/V16,Fail\n");
    let ran = ci.replay("reference", &[("--baseline", "all.csv")]).expect(1);
    assert!(ran.stdout.contains("reference/V16: UnexpectedImprovement(Pass)"), "{ran}");

    ci.write("gone.csv", "*/V16,Fail\n*/gone,Fail\n");
    let ran = ci.replay(FAULTY, &[("--baseline", "gone.csv")]).expect(1);
    assert!(ran.stdout.contains("reference:if_merge_loses_last_lane/gone: Missing"), "{ran}");
}

#[test]
fn flakes_and_skips_files_silence_cases() {
    let ci = Ci::new();
    ci.write("list", "# known\nmerge.*/V16$\n");
    let ran = ci.replay(FAULTY, &[("--flakes", "list")]).expect(0);
    assert!(ran.stdout.contains("KnownFlake 1"), "{ran}");
    let ran = ci.replay(FAULTY, &[("--skips", "list")]).expect(0);
    assert!(ran.stdout.contains("Skip 1: the skips file says so"), "{ran}");
    // Several files, as Mesa's CI gives them to deqp-runner.
    ci.write("more", "/V02$");
    let ran = ci.replay(FAULTY, &[("--skips", "more"), ("--skips", "list")]).expect(0);
    assert!(ran.stdout.contains("Skip 2: the skips file says so"), "{ran}");
}

/// Each case has a line, those that do not run, too.
#[test]
fn every_case_has_a_line() {
    let ci = Ci::new();
    ci.write("list", "reference/V09\n");
    let mut command = tangle(["replay", "--device", "reference", "--verbose", "--skips"]);
    command.arg(ci.path("list")).arg(ci.path("corpus"));
    let ran = finish(command).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("reference/")).collect();
    assert_eq!(lines.len(), 3, "{ran}");
    for (line, (case, status)) in lines.iter().zip([("V02", "Pass"), ("V09", "Skip"), ("V16", "Pass")]) {
        assert!(line.starts_with(&format!("reference/{case}: {status}")), "{ran}");
    }
}

#[test]
fn shards_share_the_cases_out() {
    let ci = Ci::new();
    let cases = |part: &[(&str, &str)]| -> u32 {
        let ran = ci.replay("reference", part).expect(0);
        let count = ran.stdout.split(" of ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        count.unwrap_or(0)
    };
    let (first, second) = (cases(&[("--shard", "1/2")]), cases(&[("--shard", "2/2")]));
    assert_eq!(first + second, 3);
    // The same in deqp-runner's words.
    assert_eq!(cases(&[("--fraction", "2")]), first);
    assert_eq!(cases(&[("--fraction", "2"), ("--fraction-start", "2")]), second);
}

#[test]
fn what_cannot_be_read_is_named() {
    let ci = Ci::new();
    ci.write("bad.csv", "reference/V16,Fail\nreference/V16,Broken\n");
    ci.replay("reference", &[("--baseline", "bad.csv")]).fails_with(&["bad.csv", "line 2", "'Broken'"]);
    ci.write("bad.txt", "(\n");
    ci.replay("reference", &[("--flakes", "bad.txt")]).fails_with(&["bad.txt", "line 1"]);
    ci.replay("reference", &[("--skips", "nothing")]).fails_with(&["cannot read", "nothing"]);
    let ran = ci.replay("reference", &[("--shard", "3/2")]);
    assert_eq!(ran.code(), 2, "{ran}");
}

#[test]
fn a_corpus_takes_a_minimised_finding_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let campaign = |more: &[&str]| {
        let mut command = tangle(["fuzz", "--profile", "small", "--seed", "5", "--cases", "60", "--witnesses", "1"]);
        command.args(["--device", FAULTY, "--out"]).arg(&out).args(more);
        finish(command)
    };
    campaign(&["--minimize", "off"]).expect(1);
    let finding = tree(&out.join("findings")).into_iter().find(|path| path.ends_with("case.json")).expect("a finding");
    let finding = out.join("findings").join(finding.parent().expect("its folder"));
    let corpus = folder.path().join("corpus");
    let add = |more: &[&str]| {
        let mut command = tangle(["corpus", "add"]);
        command.arg(&finding).args(["--guards", "lanes come back after an if", "--to"]).arg(&corpus).args(more);
        finish(command)
    };
    add(&[]).fails_with(&["is not minimised"]);
    let added = add(&["--minimize", "--device", FAULTY]).expect(0);
    let file = PathBuf::from(added.stdout.trim());
    assert!(read(&file).contains("lanes come back after an if"), "{added}");
    add(&["--minimize", "--device", FAULTY]).fails_with(&["is the same test"]);
    let replayed = run([Path::new("replay"), &corpus, Path::new("--device"), Path::new(FAULTY)]).expect(1);
    assert!(replayed.stdout.contains("Fail, wrong in 5 of 5 runs"), "{replayed}");
    run([Path::new("replay"), &corpus, Path::new("--device"), Path::new("reference")]).expect(0);
}

/// Writes a known-bugs file and gives the exit code of a short campaign with it.
#[track_caller]
fn campaign_with_known(known: &str, more: &[&str]) -> (Ran, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, out, summary) = (folder.path().join("k.toml"), folder.path().join("out"), folder.path().join("s.json"));
    fs::write(&file, known).expect("it can be written");
    let mut command = tangle(["fuzz", "--profile", "small", "--seed", "5", "--device", FAULTY, "--out"]);
    command.arg(&out).arg("--known").arg(&file).arg("--summary").arg(&summary).args(more);
    let ran = finish(command);
    (ran, read_json(&summary))
}

#[test]
fn a_known_bug_is_set_aside_and_an_unknown_one_is_not() {
    let by_signature = "[[bug]]\nname = 'merge'\nsignature = '^(value|path): '\ndevices = ['reference:*']\n";
    let (ran, summary) = campaign_with_known(by_signature, &["--cases", "40", "--minimize", "off"]);
    let ran = ran.expect(0);
    assert!(ran.stdout.contains("known on reference:if_merge_loses_last_lane: merge ("), "{ran}");
    assert!(summary["findings"].as_array().is_some_and(Vec::is_empty), "nothing is saved: {summary}");

    let of_others = by_signature.replace("reference:", "lavapipe");
    let (ran, _) = campaign_with_known(&of_others, &["--cases", "40", "--minimize", "off"]);
    ran.expect(1);
    let (ran, summary) = campaign_with_known(
        "[[bug]]\nname = 'a'\nsignature = 'no such thing'\navoid = ['subgroupElect']\n",
        &["--cases", "40", "--minimize", "off", "--avoid-known", "--stats"],
    );
    ran.expect(1);
    let elect = &summary["operations"]["subgroupElect"];
    assert!(elect.is_null() || number(&elect["executed_full"]) + number(&elect["executed_partial"]) == 0, "{elect}");
}

#[test]
fn a_campaign_minimises_in_the_background_and_groups_by_what_is_left() {
    let (ran, summary) = campaign_with_known("", &["--time", "8s", "--witnesses", "2"]);
    let ran = ran.expect(1);
    let bugs = summary["bugs"].as_array().expect("bugs");
    let findings = summary["findings"].as_array().expect("findings");
    assert!(!bugs.is_empty() && bugs.len() <= findings.len(), "{ran}");
    for bug in bugs {
        assert!(text(&bug["name"]).starts_with("wrong result: ") && number(&bug["statements"]) <= 12, "{bug}");
        assert!(text(&bug["representative"]).ends_with("/minimized"), "{bug}");
    }
    // What was minimised to known bugs is not new, although its signature is not listed.
    let skeleton = |bug: &serde_json::Value| text(&bug["name"]).trim_start_matches("wrong result: ").to_owned();
    let known: Vec<String> = bugs.iter().map(skeleton).collect();
    let entries =
        known.iter().enumerate().map(|(i, skeleton)| format!("[[bug]]\nname = 'b{i}'\nskeleton = '''{skeleton}'''\n"));
    let (_, again) = campaign_with_known(&entries.collect::<String>(), &["--time", "8s", "--witnesses", "2"]);
    for bug in again["bugs"].as_array().into_iter().flatten().filter(|bug| known.contains(&skeleton(bug))) {
        assert!(bug["known"].is_string(), "{bug}");
    }
}

#[test]
fn what_a_killed_campaign_minimised_is_in_the_summary_of_the_next() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (out, summary) = (folder.path().join("out"), folder.path().join("s.json"));
    let campaign = || {
        let mut command = tangle(["fuzz", "--profile", "small", "--seed", "5", "--device", FAULTY, "--time", "6s"]);
        command.args(["--witnesses", "1", "--out"]).arg(&out).arg("--summary").arg(&summary);
        let ran = finish(command).expect(1);
        (ran, read_json(&summary)["bugs"].clone())
    };
    let (ran, before) = campaign();
    assert!(before.as_array().is_some_and(|bugs| !bugs.is_empty()), "{ran}");
    // As if it had been killed before it wrote its state.
    let file = out.join("campaign.json");
    let mut state = read_json(&file);
    state["ledger"]["bugs"] = serde_json::json!([]);
    fs::write(&file, state.to_string()).expect("it can be written");
    let (ran, after) = campaign();
    let names = |bugs: &serde_json::Value| {
        let all = bugs.as_array().into_iter().flatten().map(|bug| text(&bug["name"]).to_owned());
        all.collect::<std::collections::BTreeSet<_>>()
    };
    assert!(names(&after).is_superset(&names(&before)), "{ran}\n{before}\n{after}");
}
