//! `tangle replay` and `tangle corpus add` as a CI uses them: files in, files and exit codes out, on the reference device with planted
//! faults.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::*;

/// A reference device on which the vector about elect fails.
const FAULTY: &str = "reference:elect_highest";

/// A folder with what a CI keeps.
struct Ci {
    folder: tempfile::TempDir,
}

impl Ci {
    fn new() -> Ci {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("corpus")).expect("it can be written");
        for name in ["V01", "V16", "V17"] {
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
            let is_file = !matches!(*option, "--shard" | "--runs" | "--device");
            let value = if is_file { self.path(value) } else { Path::new(value).to_owned() };
            command.arg(option).arg(value);
        }
        start(command).finish_within(LIMIT)
    }
}

#[test]
fn a_baseline_makes_a_known_failure_no_news_and_its_end_an_improvement() {
    let ci = Ci::new();
    let ran = ci.replay(FAULTY, &[("--baseline-out", "baseline.csv"), ("--junit", "junit.xml")]).expect(1);
    assert!(ran.stdout.contains("reference:elect_highest/V17: Fail, wrong in 5 of 5 runs"), "{ran}");
    assert_eq!(read(&ci.path("baseline.csv")), "reference:elect_highest/V17,Fail\n");
    let junit = quick_junit::Report::deserialize_from_str(&read(&ci.path("junit.xml"))).expect("JUnit");
    let suite = &junit.test_suites[0];
    assert_eq!((suite.name.as_str(), suite.tests, suite.failures, suite.errors), (FAULTY, 3, 1, 0));

    let ran = ci.replay(FAULTY, &[("--baseline", "baseline.csv")]).expect(0);
    assert!(ran.stdout.contains("ExpectedFail 1"), "{ran}");

    ci.write("all.csv", "# every device\n*/V17,Fail\n");
    let ran = ci.replay("reference", &[("--baseline", "all.csv")]).expect(1);
    assert!(ran.stdout.contains("reference/V17: UnexpectedImprovement(Pass)"), "{ran}");

    ci.write("gone.csv", "*/V17,Fail\n*/gone,Fail\n");
    let ran = ci.replay(FAULTY, &[("--baseline", "gone.csv")]).expect(1);
    assert!(ran.stdout.contains("reference:elect_highest/gone: Missing"), "{ran}");
}

#[test]
fn flakes_and_skips_files_silence_cases() {
    let ci = Ci::new();
    ci.write("list", "# known\nelect.*/V17$\n");
    let ran = ci.replay(FAULTY, &[("--flakes", "list")]).expect(0);
    assert!(ran.stdout.contains("KnownFlake 1"), "{ran}");
    let ran = ci.replay(FAULTY, &[("--skips", "list")]).expect(0);
    assert!(ran.stdout.contains("Skip 1: the skips file says so"), "{ran}");
}

#[test]
fn shards_share_the_cases_out() {
    let ci = Ci::new();
    let cases = |shard: &str| -> u32 {
        let ran = ci.replay("reference", &[("--shard", shard), ("--baseline-out", "ignored")]).expect(0);
        let count = ran.stdout.split(" of ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        count.unwrap_or(0)
    };
    assert_eq!(cases("1/2") + cases("2/2"), 3);
}

#[test]
fn what_cannot_be_read_is_named() {
    let ci = Ci::new();
    ci.write("bad.csv", "reference/V17,Fail\nreference/V17,Broken\n");
    ci.replay("reference", &[("--baseline", "bad.csv")]).fails_with(&["bad.csv", "line 2", "'Broken'"]);
    ci.write("bad.txt", "(\n");
    ci.replay("reference", &[("--flakes", "bad.txt")]).fails_with(&["bad.txt", "line 1"]);
    ci.replay("reference", &[("--skips", "nothing")]).fails_with(&["cannot read", "nothing"]);
    let ran = ci.replay("reference", &[("--shard", "3/2")]);
    assert_eq!(ran.code(), 2, "{ran}");
}
