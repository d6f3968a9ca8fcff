//! Findings that the first versions of tangle saved (format 1) stay readable: `tests/format-1/` has three of them as they were. They are never
//! made anew.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::*;
use tangle_identity::Kind;
use tangle_report::SavedFinding;

/// The folders; what is in them that later findings have, too; the kind; what is reported.
const FINDINGS: [(&str, &[&str], Kind, &str); 3] = [
    ("value", &["lane-map.json", "observation.json", "neighbour.json"], Kind::Value, "does not keep the value of"),
    ("crash", &["minimized.json", "neighbour.json"], Kind::Crash, "worker killed by SIGSEGV"),
    ("table", &["observation.json", "variants.json"], Kind::Value, "stage to blame: "),
];

/// A copy in a folder of its own: a finding of a campaign stands beside others.
fn copy(name: &str, to: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1").join(name);
    let folder = to.join(name);
    fs::create_dir(&folder).expect("a folder");
    for file in tree(&from) {
        fs::copy(from.join(&file), folder.join(&file)).expect("it can be copied");
    }
    folder
}

#[test]
fn findings_of_format_1_are_read_whole() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    for (name, files, kind, _) in FINDINGS {
        let folder = copy(name, scratch.path());
        assert!(files.iter().all(|file| folder.join(file).exists()), "{name}: {files:?}");
        assert_eq!(read_json(&folder.join("finding.json"))["format"], 1, "{name}");
        let finding = SavedFinding::read(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(finding.signature.kind, kind, "{name}");
        assert!(finding.shader.is_some() || folder.join("shader.comp").exists(), "{name}");
        assert_eq!(finding.observation.is_some(), folder.join("observation.json").exists(), "{name}");
        assert_eq!(finding.neighbour.is_some(), folder.join("neighbour.json").exists(), "{name}");
        assert_eq!(finding.variants.is_some(), folder.join("variants.json").exists(), "{name}");
        // What was wrong then is wrong by the rules of today.
        let again = finding.judgement().and_then(|judgement| tangle_identity::Signature::of(&finding.case, &judgement));
        assert!(again.is_none_or(|again| again.kind == kind) && (kind == Kind::Crash || finding.observation.is_some()));
    }
}

#[test]
fn a_lane_map_without_its_invocations_is_an_error() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = copy("value", scratch.path());
    let finding = folder.to_str().expect("a path");
    for (map, part) in [("[]", "lane-map.json: it has 0 rows"), ("[[]]", "lane-map.json"), ("{}", "lane-map.json")] {
        fs::write(folder.join("lane-map.json"), map).expect("it is ours");
        for command in [&["explain", finding][..], &["report", finding, "--out", "page.html"]] {
            let ran = start(tangle(command)).finish_within(LIMIT).expect(2);
            assert!(ran.stderr.contains(part) && ran.stderr.lines().count() == 1, "{ran}");
        }
    }
}

#[test]
fn findings_of_format_1_are_taken_by_every_command() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    for (name, _, _, reported) in FINDINGS {
        let folder = copy(name, scratch.path());
        let finding = folder.to_str().expect("a path");
        let beside = |name: &str| scratch.path().join(name).display().to_string();
        let (bundle, page, corpus) = (beside("bundle"), beside("page.html"), beside("corpus"));
        let run = |arguments: &[&str], code| start(tangle(arguments)).finish_within(LIMIT).expect(code);
        run(&["show", finding], 0);
        run(&["run", finding, "--device", "reference"], 0);
        let explained = run(&["explain", finding], 1);
        assert!(explained.stdout.contains(reported), "{explained}");
        run(&["export", finding, "--out", &bundle], 0);
        run(&["report", finding, "--out", &page], 0);
        run(&["replay", finding, "--device", "reference"], 0);
        run(&["corpus", "add", finding, "--to", &corpus, "--guards", name], 0);
        run(&["minimize", finding, "--device", "reference"], 2);
    }
}
