//! The bug book, and which commit it was.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::common::targets::{each_target, lock};
use crate::common::*;
use tangle_analysis::validate::validate;
use tangle_campaign::counterfactual::Failing;
use tangle_campaign::prepare::Prep;
use tangle_campaign::target::Target;
use tangle_identity::book::{Book, Record};
use tangle_identity::change::show_one_bug;
use tangle_identity::known::Effect;
use tangle_identity::{Change, Signature};
use tangle_program::case::Case;

const FAULTY: &str = "reference:if_merge_loses_last_lane";

fn bugs(folder: &Path, words: &[&str]) -> Ran {
    let mut command = tangle(["bugs"]);
    command.args(words).current_dir(folder);
    finish(command)
}

/// Saves the finding that a vector gives on a device with a fault.
fn finding(folder: &Path, device: &str) -> PathBuf {
    let mut command = tangle(["run", "--device", device, "--save"]);
    command.arg(folder.join("saved")).arg(vector("V16"));
    let ran = finish(command).expect(1);
    let path = ran.stderr.lines().find_map(|line| line.strip_prefix("saved ")).expect("it says where");
    PathBuf::from(path)
}

#[test]
fn a_bug_lives_in_the_book() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path();
    let finding = finding(folder, FAULTY).display().to_string();
    let ran = bugs(folder, &["add", &finding, "--id", "merge"]).expect(0);
    assert_eq!(ran.stdout.trim(), "known/merge.toml");
    bugs(folder, &["add", &finding, "--id", "merge-2"]).fails_with(&["the book has it: merge"]);
    let text = || fs::read_to_string(folder.join("known/merge.toml")).expect("it is there");
    assert!(text().contains("state = \"new\"") && text().contains("added from a finding"), "{}", text());
    // Both devices have the same driver and no version: the one with the fault decides.
    let ran = bugs(folder, &["retest", "--device", FAULTY, "--device", "reference"]).expect(0);
    assert!(ran.stdout.contains("2 results, 0 bugs changed, 1 of 1 open"), "{ran}");
    let before = text();
    let ran = bugs(folder, &["retest", "--device", "reference", "--dry-run"]).expect(0);
    assert!(ran.stdout.contains("fixed"), "{ran}");
    assert_eq!(text(), before);
    bugs(folder, &["retest", "--device", "reference"]).expect(0);
    assert!(text().contains("state = \"fixed\""), "{}", text());
    let ran = bugs(folder, &["retest", "--device", FAULTY]).expect(0);
    assert!(ran.stdout.contains("open again"), "{ran}");
    bugs(folder, &["set", "merge", "--tracker", "https://tracker.example/1"]).expect(0);
    assert!(text().contains("state = \"reported\""), "{}", text());
    let ran = bugs(folder, &["list"]).expect(0);
    assert!(ran.stdout.contains("merge") && ran.stdout.contains("reported"), "{ran}");
    // Campaigns read it.
    let mut command = tangle(["matrix", "known", "--device", FAULTY]);
    command.current_dir(folder);
    assert!(finish(command).expect(1).stdout.contains("merge"));
    let ran = bugs(folder, &["file", "merge", "--out", "attachments"]).expect(0);
    for part in ["Severity: hard", "SPV_KHR_maximal_reconvergence", "tangle+merge"] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    assert!(folder.join("attachments/repro.c").is_file(), "{:?}", tree(&folder.join("attachments")));
    let ran = bugs(folder, &["site", "site"]).expect(0);
    assert!(ran.stdout.contains("1 bugs, 1 with lanes"), "{ran}");
    let page = fs::read_to_string(folder.join("site/merge.html")).expect("it is there");
    for part in ["<svg", "open again", "https://tracker.example/1", "The first wrong step"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(fs::read_to_string(folder.join("site/index.html")).expect("it is there").contains("href=\"merge.html\""));
    // With what a campaign found, of which the site has pages: its folder may be elsewhere.
    let mut command = tangle(["fuzz", "--device", FAULTY, "--cases", "40", "--seed", "3", "--profile", "small"]);
    command.args(["--minimize", "off", "--out"]).arg(folder.join("campaign"));
    finish(command).expect(1);
    bugs(folder, &["site", "site", "--campaign", "campaign"]).expect(0);
    let pages: Vec<String> = tree(&folder.join("site")).iter().map(|page| page.display().to_string()).collect();
    let found = pages.iter().filter(|page| page.starts_with("campaign-1-")).count();
    assert!(found > 0, "{pages:?}");
    let mut links = 0;
    for page in &pages {
        let text = fs::read_to_string(folder.join("site").join(page)).expect("it is there");
        for address in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = address.split('#').next().unwrap_or_default();
            if address.starts_with("http") || file.is_empty() {
                continue;
            }
            links += 1;
            assert!(folder.join("site").join(file).is_file(), "{page}: {address}");
        }
    }
    assert!(links > found, "{links} links");
    bugs(folder, &["file", "none"]).fails_with(&["there is no bug none"]);
}

#[test]
fn the_switch_that_makes_a_crash_go_away_is_named() {
    let place = tempfile::tempdir().expect("a temporary folder");
    // A driver that dies in every job, unless a variable says otherwise.
    let always: Vec<String> = (0..200).map(|job| format!("crash@{job}")).collect();
    let file = null_devices_file(place.path(), &always.join(","));
    let text = read(&file) + "mode = \"compile-only\"\n";
    fs::write(&file, text).expect("ours");
    let blame = |switch: &str| {
        let mut command = tangle(["blame", "--device", "null", "--switch", switch, "--devices"]);
        command.arg(&file).arg(vector("V16"));
        finish(command).expect(0)
    };
    let ran = blame("TANGLE_WORKER_FAULT=chatter@999");
    assert!(ran.stdout.contains("It passes with TANGLE_WORKER_FAULT=chatter@999. It fails as before with"), "{ran}");
    let ran = blame("TANGLE_WORKER_OTHER=1");
    assert!(ran.stdout.contains("No switch makes it pass."), "{ran}");
}

#[test]
fn a_fault_of_calls_is_gone_when_the_optimiser_takes_them_away() {
    // Two planted faults: one is of calls, which the optimiser inlines, and one of operations that stay.
    for (fault, name, says) in [
        ("return_ends_invocation", "V06", "It passes with spirv-opt-O, spirv-opt-Os"),
        ("inactive_lanes_take_part", "V02", "No switch makes it pass. It fails as before with"),
    ] {
        let mut command = tangle(["blame", "--device", &format!("interpreter:{fault}")]);
        command.arg(vector(name));
        let ran = finish(command).expect(0);
        assert!(ran.stdout.contains(says) && ran.stdout.contains("fails with driver-unoptimised"), "{ran}");
    }
}

/// The book of the checkout: a list has no state, no versions and no history, and `retest` would leave it alone.
#[test]
fn the_own_book_has_pages_only_and_each_has_a_case() {
    let book = Book::read(&root().join("known")).expect("it can be read");
    assert_eq!(book.lists, Vec::<PathBuf>::new(), "a list of bugs is no page");
    assert!(!book.records.is_empty());
    for record in &book.records {
        let id = &record.id;
        assert!(!record.title.is_empty() && !record.drivers.is_empty() && !record.history.is_empty(), "{id}");
        let path = record.shown_by().unwrap_or_else(|| panic!("{id} has no case"));
        let case = Case::from_json(&read(&book.folder.join(path))).unwrap_or_else(|error| panic!("{id}: {error}"));
        validate(&case).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(!record.ranges().is_empty(), "{id} has no version that was tried");
        let tried = record.versions.iter().all(|seen| record.is_about("", &seen.driver) || !record.devices.is_empty());
        assert!(tried, "{id} has versions of drivers that it does not name");
    }
    note!("{} bugs in known/", book.records.len());
}

/// What makes modules is tried without any driver: the compilers that are linked in, and those that the set-up got. What a version does that the page
/// does not have is printed, and one that it has must do as it says.
#[test]
fn bugs_of_compilers_show_where_their_pages_say() {
    let book = Book::read(&root().join("known")).expect("it can be read");
    let ids = book.records.iter().filter(|record| record.is_of_compiler()).map(|record| record.id.as_str());
    let words: Vec<&str> = ["retest", "--dry-run"].into_iter().chain(ids).collect();
    let ran = bugs(root(), &words).expect(0);
    for part in ["does not show any more", "where it did not before", "open again", "fixed: "] {
        assert!(!ran.stdout.contains(part), "{part}: {ran}");
    }
    let last = ran.stdout.lines().last().unwrap_or_default();
    let results: usize = last.split(' ').next().and_then(|word| word.parse().ok()).expect("a number of results");
    // glslang, naga and the optimiser are always here.
    assert!(results >= 18, "{ran}");
    note!("bugs of compilers: {last}");
}

/// A page says how its failure is recognised; another failure of the same program is not taken for it.
#[test]
fn another_failure_of_a_compiler_is_not_the_bug() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let case = root().join("corpus/regressions/hlsl_all_equal_of_vector.json");
    for (signature, result) in
        [("Expected operand to be vector bool", "shows on hlsl@glslang"), ("killed by SIGSEGV", "")]
    {
        let page = format!(
            "id = 'a'\ndrivers = ['hlsl@glslang']\nsignature = '{signature}'\nexample = '{}'\n",
            case.display()
        );
        fs::create_dir_all(place.path().join("known")).expect("ours");
        fs::write(place.path().join("known/a.toml"), page).expect("ours");
        let ran = bugs(place.path(), &["retest", "--dry-run"]).expect(0);
        assert!(ran.stdout.contains(result), "{ran}");
        assert_eq!(ran.stdout.starts_with("0 results"), result.is_empty(), "{ran}");
    }
}

/// A repository with so many commits, each of which chooses a device.
fn repository(folder: &Path, commits: u32, device: impl Fn(u32) -> String) {
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).current_dir(folder).status();
        assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    let mut stream = String::new();
    for number in 0..commits {
        let (subject, chosen) = (format!("commit {number}"), device(number));
        stream += &format!("commit refs/heads/main\ncommitter x <x@example.com> {} +0000\n", 1_000_000 + number);
        stream +=
            &format!("data {}\n{subject}\nM 100644 inline source\ndata {}\n{chosen}\n", subject.len(), chosen.len());
    }
    let file = folder.join("stream");
    fs::write(&file, stream).expect("it can be written");
    let import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .stdin(fs::File::open(&file).expect("it is there"))
        .current_dir(folder)
        .status();
    assert!(import.is_ok_and(|status| status.success()));
    fs::remove_file(file).expect("ours");
    git(&["checkout", "--quiet", "main"]);
}

#[test]
fn the_commit_is_found_among_two_hundred() {
    if Command::new("git").arg("--version").output().is_err() {
        note!("bisect is not tested: there is no git");
        return;
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("driver");
    fs::create_dir(&folder).expect("ours");
    // The "driver" is a device of tangle's own; the build chooses it, fails in every ninth commit, and counts itself.
    repository(&folder, 200, |number| match number {
        _ if number % 9 == 4 => "broken".into(),
        0..=122 => "reference".into(),
        _ => FAULTY.into(),
    });
    let build = "! grep -q broken source && cp source built && echo x >> ../builds";
    let finding = finding(place.path(), FAULTY).display().to_string();
    let old = "main~199";
    let bisect = |more: &[&str]| {
        let mut command = tangle(["bisect", &finding, "--build", build, "--device", "@built", "--old", old]);
        command.arg(vector("V16")).args(more).current_dir(&folder);
        finish(command)
    };
    let ran = bisect(&[]).expect(0);
    assert_eq!(
        ran.stdout.matches("(\"commit 123\"), which is the first such commit of 199 commits").count(),
        2,
        "{ran}"
    );
    let builds = fs::read_to_string(place.path().join("builds")).expect("it counts").lines().count();
    // Both ends, and the logarithm of what is between; the second case needs none of its own.
    assert!((2 + 7..=2 + 8).contains(&builds), "{builds} builds: {ran}");
    note!("199 commits: {builds} builds for two cases");
    bisect(&[]).expect(0);
    let again = fs::read_to_string(place.path().join("builds")).expect("it counts").lines().count();
    assert_eq!(again, builds, "what was built is remembered");
    let head =
        Command::new("git").args(["symbolic-ref", "--short", "HEAD"]).current_dir(&folder).output().expect("git runs");
    assert_eq!(String::from_utf8_lossy(&head.stdout).trim(), "main", "it is left as it was");
    bisect(&["--first-good"]).fails_with(&["no case says where to look"]);
    let try_patch = |device: &str, more: &[&str]| {
        fs::write(folder.join("source"), device).expect("ours");
        let mut command = tangle(["try-patch", &finding, "--build", build, "--device", "@built"]);
        command.args(more).current_dir(&folder);
        finish(command)
    };
    // A patch that takes the fault away.
    let ran = try_patch("reference", &["--cpu-time", "1s", "--out", "../patch"]);
    assert!(ran.code() < 2 && ran.stdout.contains("known cases: 1 fixed, 0 new, 0 unchanged"), "{ran}");
    // And one that puts another one in.
    let more = ["--base", "main~199", "--cpu-time", "2s", "--out", "../patch-2"];
    let ran = try_patch("reference:elect_highest", &more).expect(1);
    assert!(ran.stdout.contains("new in the campaign: "), "{ran}");
    let mut command = tangle(["bisect", &finding, "--build", build, "--device", "@built", "--old", old]);
    command.current_dir(&folder);
    finish(command).fails_with(&["has changes that are not committed"]);
}

/// What `spirv-opt` did is entered as its bug, with the pass: a program of another shape, or another pass, is another bug.
#[test]
fn a_bug_of_the_optimiser_is_entered_as_such() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let case = root().join("known/spirv-opt-nonuniform-in-unrolled-loop/case.json");
    let mut command = tangle(["minimize", "--device", "interpreter@4", "--time", "60s", "--out"]);
    command.arg(place.path().join("small")).arg(case);
    finish(command).expect(0);
    bugs(place.path(), &["add", "small", "--id", "unroll"]).expect(0);
    let page = fs::read_to_string(place.path().join("known/unroll.toml")).expect("it is there");
    for line in
        ["drivers = [\"spirv-opt\"]", "pass = \"loop-unroll\"", "signature = \"toolchain: the module has undefined"]
    {
        assert!(page.contains(line), "{line}\n{page}");
    }
    bugs(place.path(), &["add", "small", "--id", "again"]).fails_with(&["the book has it: unroll"]);
    let other = page.replace("loop-unroll", "loop-invariant-code-motion").replace("id = \"unroll\"", "id = \"other\"");
    fs::remove_file(place.path().join("known/unroll.toml")).expect("it is there");
    fs::write(place.path().join("known/other.toml"), other).expect("it can be written");
    bugs(place.path(), &["add", "small", "--id", "again"]).expect(0);
}

/// What a page says that its programs pass without is so, on each device here that shows the bug.
#[test]
fn pages_pass_with_the_changes_that_they_name() {
    let book = Book::read(&root().join("known")).expect("it is good");
    let case = |record: &Record| {
        let case = record.case.as_ref().or(record.example.as_ref())?;
        let file = book.file(&record.id);
        let text = read(&file.parent().expect("a folder").join(case));
        Some(Case::from_json(&text).expect("a case"))
    };
    let pages: Vec<(&Record, Case)> = book
        .records
        .iter()
        .filter(|record| !record.passes_without.is_empty())
        .filter_map(|record| Some((record, case(record)?)))
        .collect();
    assert!(pages.len() > 2);
    let seen = Mutex::new(BTreeSet::new());
    let look = |target: &Target| {
        let driver = target.driver_id().name;
        for (record, case) in pages.iter().filter(|(record, _)| record.is_about(&target.name, &driver)) {
            let signature = target.run_dressed(&Prep::of(case.clone())).signature(case);
            let has_effect = |signature: &Signature| Effect::of(signature.kind) == Some(record.effect);
            let Some(signature) = signature.filter(has_effect) else { continue };
            let Some(failing) = Failing::confirm(target, case, &signature) else { continue };
            let changes = failing.passes_without();
            let own: BTreeSet<Change> = record.passes_without.iter().copied().collect();
            assert!(show_one_bug(&changes, &own), "{} on {}: {changes:?}", record.id, target.name);
            lock(&seen).insert(&record.id);
        }
    };
    each_target(look);
    note!("changes: {} of {} pages shown by devices here", lock(&seen).len(), pages.len());
}
