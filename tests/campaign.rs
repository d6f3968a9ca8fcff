//! Real campaigns, short ones, through the command: the statistics, the findings, resuming, and what happens when something breaks.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::*;
use serde_json::{Value, json};
use tangle_analysis::validate::validate;
use tangle_program::case::Case;
use tangle_program::subgroup::TABLE;

/// A reference device that fails often: operations are performed by all lanes, active or not.
const FAULTY: &str = "reference:mask_always_full";

/// A campaign in a folder of its own.
struct Campaign {
    folder: tempfile::TempDir,
    seed: u64,
    devices: Vec<String>,
    extra: Vec<String>,
}

impl Campaign {
    fn new(seed: u64, devices: &[&str]) -> Campaign {
        Campaign {
            folder: tempfile::tempdir().expect("a temporary folder"),
            seed,
            devices: devices.iter().map(ToString::to_string).collect(),
            extra: Vec::new(),
        }
    }

    fn with(mut self, extra: &[&str]) -> Campaign {
        self.extra.extend(extra.iter().map(ToString::to_string));
        self
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn summary_file(&self) -> PathBuf {
        self.folder.path().join("summary.json")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = tangle(["fuzz", "--minimize", "off", "--profile", "small", "--seed"]);
        command.arg(self.seed.to_string()).arg("--out").arg(self.out()).arg("--summary").arg(self.summary_file());
        for device in &self.devices {
            command.args(["--device", device]);
        }
        command.args(&self.extra).args(more);
        command
    }

    /// Runs to a number of cases and gives the exit code and the summary.
    #[track_caller]
    fn run_to(&self, cases: u64) -> (Ran, Value) {
        let ran = start(self.command(&["--cases", &cases.to_string()])).finish_within(LIMIT);
        assert!(matches!(ran.code(), 0 | 1), "{ran}");
        (ran, read_json(&self.summary_file()))
    }
}

// ---- the statistics ----

/// Cases whose results the statistics have.
fn accounted(entry: &Value) -> u64 {
    ["cases", "unsupported", "left_out"].map(|field| number(&entry[field])).iter().sum()
}

/// Checks that a campaign of so many cases is accounted for, to the last one, and gives the number of values checked.
#[track_caller]
fn check_statistics(campaign: &Campaign, summary: &Value, cases: u64) -> u64 {
    let names: Vec<&String> = summary["devices"].as_object().expect("devices").keys().collect();
    let mut wanted: Vec<&String> = campaign.devices.iter().collect();
    wanted.sort();
    assert_eq!(names, wanted, "every device is in the statistics");
    let mut checked = 0;
    for name in &campaign.devices {
        let entry = &summary["devices"][name];
        let verdicts = entry["verdicts"].as_object().expect("verdicts");
        let count = |field: &str| number(&entry["counts"][field]);
        assert_eq!(number(&entry["next_case"]), cases, "{name}");
        assert_eq!(accounted(entry), cases, "{name}: every case ran, was not supported or was left out");
        assert_eq!(
            verdicts.values().map(number).sum::<u64>(),
            number(&entry["cases"]),
            "{name}: every case has one verdict"
        );
        checked += count("checked");
        let can_run_few = devices().iter().any(|facts| facts.name == **name && !facts.has_basic_operations);
        if number(&entry["cases"]) == 0 && can_run_few {
            note!("{name} offers too little for the first {cases} cases");
        } else {
            assert!(number(&entry["cases"]) > 0, "{name} ran nothing");
            assert!(count("checked") > 0 && count("steps") > 0, "nothing was checked on {name}: {entry}");
        }
        for field in ["generate", "compile", "judge", "save", "driver", "worker"] {
            assert!(entry["times"][field].as_f64().is_some_and(|seconds| seconds >= 0.0), "{name}: {field}");
        }
    }
    assert!(summary["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    check_found_statistics(campaign, summary, cases);
    check_operations(summary);
    checked
}

/// The findings are those of the verdicts, and their folders are there.
#[track_caller]
fn check_found_statistics(campaign: &Campaign, summary: &Value, cases: u64) {
    let mut by_kind = BTreeMap::<(String, String), u64>::new();
    for entry in summary["findings"].as_array().expect("findings") {
        let (device, kind) = (text(&entry["device"]), text(&entry["kind"]));
        let found = number(&entry["cases"]);
        assert!(found > 0 && number(&entry["first_case"]) < cases && !text(&entry["detail"]).is_empty(), "{entry}");
        let folders = entry["folders"].as_array().expect("folders");
        // At most one for each program.
        let programs = found.div_ceil(8).min(5)..=found.min(5);
        assert!(programs.contains(&(folders.len() as u64)), "as many witnesses as there are, up to 5: {entry}");
        for folder in folders {
            check_finding(&campaign.out().join(text(folder)), entry);
        }
        *by_kind.entry((device, kind)).or_default() += found;
    }
    for (device, entry) in summary["devices"].as_object().expect("devices") {
        for (verdict, count) in entry["verdicts"].as_object().expect("verdicts") {
            if !["pass", "vacuous", "compiled"].contains(&verdict.as_str()) {
                let booked = by_kind.remove(&(device.clone(), verdict.clone()));
                assert_eq!(booked, count.as_u64(), "{device}: {verdict}");
            }
        }
    }
    assert!(by_kind.is_empty(), "findings without a verdict: {by_kind:?}");
}

#[track_caller]
fn check_operations(summary: &Value) {
    let operations = summary["operations"].as_object().expect("operations");
    let sum = |field: &str| operations.values().map(|used| number(&used[field])).sum::<u64>();
    assert!(operations.keys().all(|name| TABLE.iter().any(|info| info.name == name)), "only names of the table");
    for field in ["executed_full", "executed_partial", "checked_full", "checked_partial"] {
        assert!(sum(field) > 0, "no operation has {field}");
    }
}

/// A finding on disk: everything that `crates/report/src/finding.rs` lists, whole, and as the statistics say.
#[track_caller]
fn check_finding(folder: &Path, entry: &Value) {
    let kind = text(&entry["kind"]);
    let device = text(&entry["device"]);
    let at = |name: &str| folder.join(name);
    let case = Case::from_json(&read(&at("case.json"))).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    validate(&case).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(read(&at(&format!("shader.{}", case.extension()))).contains("void main()"));
    let finding = read_json(&at("finding.json"));
    assert_eq!((number(&finding["format"]), text(&finding["device"])), (1, device.clone()));
    assert_eq!((&finding["kind"], &finding["detail"]), (&entry["kind"], &entry["detail"]));
    assert!(finding["result"].is_object(), "{finding}");
    assert_eq!(text(&read_json(&at("device.json"))["name"]), device);
    let report = read(&at("report.txt"));
    let settings = if entry["debug_settings"] == json!(true) { ", with debug settings" } else { "" };
    assert!(report.starts_with(&format!("{kind}: {}{settings} on {device}\n", text(&entry["detail"]))), "{report}");
    let spirv = std::fs::read(at("shader.spv")).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(spirv.starts_with(&0x0723_0203u32.to_le_bytes()) && spirv.len() % 4 == 0, "{}", folder.display());
    assert!(read(&at("shader.spvasm")).contains("OpEntryPoint "));
    let invocations = case.entry_point.invocations() as usize;
    let read_back = ["value", "path", "lane_map"].contains(&kind.as_str());
    for name in ["lane-map.json", "observation.json"] {
        assert_eq!(at(name).exists(), read_back, "{}: {name}", folder.display());
        if read_back {
            let entries = read_json(&at(name)).as_array().map(Vec::len);
            assert_eq!(entries, Some(invocations), "{name} has all invocations");
        }
    }
    let files = if read_back { 9 } else { 7 };
    // What the driver's compiler made of it, where it says so.
    let files = files + usize::from(at("isa.txt").exists());
    assert_eq!(tree(folder).len(), files, "{:?}", tree(folder));
}

/// Every finding folder of a campaign, whether in the statistics or not.
fn finding_folders(out: &Path) -> Vec<PathBuf> {
    let findings = out.join("findings");
    tree(&findings)
        .into_iter()
        .filter(|path| path.components().count() == 2)
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .map(|path| findings.join(path))
        .collect()
}

/// What two campaigns over the same cases have in common: everything but times, and the order in which devices got to a finding.
fn timeless(summary: &Value) -> Value {
    let mut summary = summary.clone();
    for entry in summary["devices"].as_object_mut().expect("devices").values_mut() {
        let entry = entry.as_object_mut().expect("an entry");
        entry.remove("times");
        entry.remove("restarts");
    }
    let findings = summary["findings"].as_array_mut().expect("findings");
    findings.sort_by_key(|entry| (text(&entry["device"]), text(&entry["kind"]), text(&entry["detail"])));
    json!({ "devices": summary["devices"], "findings": summary["findings"], "operations": summary["operations"] })
}

/// Checks that two such values are equal; a failure shows the differences only.
#[track_caller]
fn assert_same(found: &Value, expected: &Value, why: &str) {
    fn compare(at: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
        match (found, expected) {
            (Value::Object(found), Value::Object(expected)) => {
                let keys: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
                for key in keys {
                    let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                    compare(&format!("{at}/{key}"), &value(found), &value(expected), differences);
                }
            }
            (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
                for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                    compare(&format!("{at}/{i}"), found, expected, differences);
                }
            }
            _ if found == expected => {}
            _ => differences.push(format!("{at}: {found}, expected {expected}")),
        }
    }
    let mut differences = Vec::new();
    compare("", found, expected, &mut differences);
    assert!(differences.is_empty(), "{why}:\n{}", differences.join("\n"));
}

// ---- tests ----

#[test]
fn a_short_campaign_on_every_device() {
    const CASES: u64 = 48;
    let mut names: Vec<&str> = devices().iter().map(|device| device.name.as_str()).collect();
    names.extend(["reference", "reference:minimal", FAULTY]);
    // The sequence depends on what the devices can do: the first seed with a program that shows the planted fault, and one for each device.
    let run = |seed| {
        let campaign = Campaign::new(seed, &names).with(&["--stats"]);
        let (ran, summary) = campaign.run_to(CASES);
        (campaign, ran, summary)
    };
    let shows = |summary: &Value| {
        summary["findings"].as_array().is_some_and(|findings| findings.iter().any(|entry| entry["device"] == FAULTY))
    };
    let ran_all = |summary: &Value| {
        let able = devices().iter().filter(|device| device.has_basic_operations);
        able.map(|device| &summary["devices"][&device.name]["cases"]).all(|cases| number(cases) > 0)
    };
    let found = (1..10).map(run).find(|(_, _, summary)| shows(summary) && ran_all(summary));
    let (campaign, ran, summary) = found.expect("the planted fault is found, and every device runs something");
    let checked = check_statistics(&campaign, &summary, CASES);
    assert_eq!(ran.code(), 1, "{ran}");
    for line in TABLE.iter().map(|info| info.name) {
        assert!(ran.stdout.contains(line), "--stats has no {line}");
    }
    for device in ["reference", "reference:minimal"] {
        let verdicts = summary["devices"][device]["verdicts"].as_object().expect("verdicts");
        assert!(
            verdicts.keys().all(|verdict| ["pass", "vacuous"].contains(&verdict.as_str())),
            "{device}: {verdicts:?}"
        );
    }
    note!("campaign: {CASES} cases on {}; {checked} values checked", names.join(", "));
    for entry in summary["findings"].as_array().expect("findings") {
        note!("campaign: {}: {}: {} ({} cases)", entry["device"], entry["kind"], entry["detail"], entry["cases"]);
    }
    findings_reproduce(&campaign, &summary);
}

/// `tangle run` and `tangle show` take a finding's folder, and the reference device does it again. Whether a driver does is a fact about the
/// driver: a crash of one of its threads may say another thing, or not come at all.
fn findings_reproduce(campaign: &Campaign, summary: &Value) {
    let (mut findings, mut reproduced) = (0, 0);
    for entry in summary["findings"].as_array().expect("findings") {
        let device = text(&entry["device"]);
        let folder = campaign.out().join(text(&entry["folders"][0]));
        let shown = run([Path::new("show"), &folder]).expect(0);
        let case = Case::from_json(&read(&folder.join("case.json"))).expect("the finding's case");
        assert_eq!(shown.stdout, read(&folder.join(format!("shader.{}", case.extension()))));
        let ran = run([Path::new("run"), &folder, Path::new("--json"), Path::new("--device"), Path::new(&device)]);
        let again = &ran.json()[0];
        let saved = read_json(&folder.join("finding.json"));
        // To the last word.
        let same = ["kind", "detail"].iter().all(|field| again["signature"][field] == entry[field])
            && again["result"] == saved["result"];
        if device == FAULTY {
            assert_eq!(ran.code(), 1, "{ran}");
            assert!(same, "{ran}\n{saved}");
        } else if !same {
            note!("{} is not the same again on {device}: {}", folder.display(), again["signature"]);
        }
        findings += 1;
        reproduced += u32::from(same);
    }
    note!("campaign: {reproduced} of {findings} findings reproduced with `tangle run`");
}

#[test]
fn a_campaign_resumes_where_it_stopped() {
    let mut names = vec!["reference:minimal", FAULTY];
    names.extend(quick_device().map(|device| device.name.as_str()));
    let whole = Campaign::new(7, &names);
    let parts = Campaign::new(7, &names);
    let (_, expected) = whole.run_to(40);
    parts.run_to(20);
    let findings = finding_folders(&parts.out());
    let (_, resumed) = parts.run_to(40);
    assert_same(&timeless(&resumed), &timeless(&expected), "20 and 20 cases are not 40");
    assert!(findings.iter().all(|folder| folder.is_dir()), "what was found before is still there");
    assert_eq!(tree(&parts.out().join("findings")), tree(&whole.out().join("findings")));
    let checked = check_statistics(&parts, &resumed, 40);
    let covered = |campaign: &Campaign| {
        let path = campaign.out();
        run(["coverage".as_ref(), path.as_os_str(), "--json".as_ref()]).expect(0).json()
    };
    let coverage = covered(&parts);
    assert_same(&coverage, &covered(&whole), "20 and 20 cases do not cover what 40 do");
    assert_eq!(coverage[FAULTY]["cases"], resumed["devices"][FAULTY]["cases"], "every case that ran counts");
    // There is nothing left to do: the statistics stay as they are.
    let (ran, again) = parts.run_to(40);
    assert_eq!(ran.code(), 1);
    assert_same(&timeless(&again), &timeless(&expected), "something was done again");
    note!("resume: 20 + 20 cases equal 40 on {}; {checked} values checked", names.join(", "));
}

/// Waits until a file or folder is there, and gives up when the command ends.
#[track_caller]
fn wait_for(running: &mut Running, what: &str, mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() {
        let ended = running.child.try_wait().expect("the child is ours");
        assert!(ended.is_none() && begin.elapsed() < LIMIT, "{what}: {ended:?} after {:?}", begin.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: kill takes any numbers; ours are a child's.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

/// Starts a campaign without an end, stops it with Ctrl-C as a terminal does, and gives how it ended.
fn interrupt(campaign: &Campaign) -> Ran {
    let mut command = campaign.command(&[]);
    // A terminal signals the whole foreground group.
    command.process_group(0);
    let mut running = start(command);
    wait_for(&mut running, "no findings", || finding_folders(&campaign.out()).len() >= 4);
    signal(-(running.child.id() as i32), libc::SIGINT);
    running.finish_within(LIMIT)
}

#[test]
fn ctrl_c_ends_a_campaign_between_cases() {
    let campaign = Campaign::new(3, &[FAULTY, "reference"]);
    let ran = interrupt(&campaign);
    assert_eq!(ran.code(), 1, "{ran}");
    let stopped = read_json(&campaign.summary_file());
    let state = read_json(&campaign.out().join("campaign.json"));
    assert_same(&timeless(&stopped), &timeless(&state["ledger"]), "what is reported is not what was saved");
    let farthest = |summary: &Value| {
        let entries = summary["devices"].as_object().expect("devices").values();
        entries.map(|entry| number(&entry["next_case"])).max().expect("a device")
    };
    let cases = farthest(&stopped) + 5;
    let (_, resumed) = campaign.run_to(cases);
    let once = Campaign::new(3, &[FAULTY, "reference"]);
    let (_, expected) = once.run_to(cases);
    assert_same(&timeless(&resumed), &timeless(&expected), "the interruption shows");
    note!("Ctrl-C: stopped after {} cases, resumed to {cases}: the same as one run", farthest(&stopped));
}

#[test]
fn ctrl_c_waits_for_the_cases_that_are_being_run() {
    let Some(device) = quick_device() else { return };
    let campaign = Campaign::new(4, &[&device.name, FAULTY]);
    let ran = interrupt(&campaign);
    assert_eq!(ran.code(), 1, "{ran}");
    let summary = read_json(&campaign.summary_file());
    let kinds: Vec<String> =
        summary["findings"].as_array().expect("findings").iter().map(|b| text(&b["kind"])).collect();
    assert!(!kinds.iter().any(|kind| ["crash", "hang", "device_lost"].contains(&kind.as_str())), "{kinds:?}");
    let in_flight = tree(&campaign.out().join("in-flight"));
    assert_eq!(in_flight.len(), 2, "a folder for each device and no case in them: {in_flight:?}");
    let entry = &summary["devices"][&device.name];
    assert_eq!(accounted(entry), number(&entry["next_case"]), "{entry}");
}

/// Processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name in parentheses: state, parent.
    let parent_of =
        |pid: u32| stat(pid).rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent_of(pid) == Some(parent)).collect()
}

#[test]
fn a_killed_campaign_loses_nothing() {
    let mut names = vec![FAULTY];
    names.extend(quick_device().map(|device| device.name.as_str()));
    let campaign = Campaign::new(5, &names).with(&["--jobs", "2"]);
    let mut running = start(campaign.command(&[]));
    let state_file = campaign.out().join("campaign.json");
    // The state is written as a whole now and then; the first one has no cases yet.
    let has_cases = || {
        let state: Value = std::fs::read(&state_file).ok().and_then(|json| serde_json::from_slice(&json).ok())?;
        state["ledger"]["devices"].as_object().filter(|devices| !devices.is_empty()).map(drop)
    };
    wait_for(&mut running, "no state with cases", || has_cases().is_some());
    wait_for(&mut running, "no findings", || finding_folders(&campaign.out()).len() >= 2);
    std::thread::sleep(Duration::from_millis(500));
    let pid = running.child.id();
    // Two workers for each Vulkan device; one that is being started or replaced may stand beside them.
    let workers = children(pid);
    assert!(workers.len() >= 2 * (names.len() - 1), "{workers:?}");
    signal(pid as i32, libc::SIGKILL);
    let killed = running.finish_within(LIMIT);
    assert_eq!(killed.status.code(), None, "{killed}");
    let begin = Instant::now();
    while workers.iter().any(|pid| Path::new(&format!("/proc/{pid}/exe")).exists()) {
        assert!(begin.elapsed() < LIMIT, "workers live on: {workers:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let state = read_json(&state_file);
    let before = finding_folders(&campaign.out());
    assert!(!before.is_empty());
    for folder in &before {
        check_finding(folder, &read_json(&folder.join("finding.json")));
    }
    let entries = state["ledger"]["devices"].as_object().expect("devices").values();
    let cases = entries.map(|entry| number(&entry["next_case"])).max().expect("a device") + 5;
    let (_, resumed) = campaign.run_to(cases);
    assert!(before.iter().all(|folder| folder.is_dir()), "what was found before is still there");
    let once = Campaign::new(5, &names);
    let (_, expected) = once.run_to(cases);
    assert_same(&timeless(&resumed), &timeless(&expected), "not every case is in the statistics, once");
    note!("SIGKILL: {} findings whole; resumed to {cases} cases: the same as one run", before.len());
}

#[test]
fn a_killed_report_leaves_the_last_whole_one() {
    let campaign = Campaign::new(5, &[FAULTY]);
    campaign.run_to(30);
    let page = campaign.out().join("page.html");
    let report = || {
        let mut command = tangle(["report"]);
        command.arg(campaign.out()).arg("--out").arg(&page);
        start(command)
    };
    let is_whole = || read(&page).trim_end().ends_with("</html>");
    report().finish_within(LIMIT).expect(0);
    assert!(is_whole());
    let before = tree(&campaign.out());
    // Killed a little later each time: before, while and after it is written.
    for wait in [0, 1, 2, 4, 8, 16, 32, 64] {
        let mut running = report();
        std::thread::sleep(Duration::from_millis(wait));
        let _ = running.child.kill();
        running.finish_within(LIMIT);
        assert!(is_whole(), "after {wait} ms");
    }
    report().finish_within(LIMIT).expect(0);
    assert!(is_whole());
    assert!(before.iter().all(|path| campaign.out().join(path).exists()), "a report takes nothing away");
}

#[test]
fn crashes_and_hangs_are_findings_and_the_campaign_goes_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "crash@3,hang@6,exit@9,garbage@12,lost@15,chatter@16");
    let file = file.to_str().expect("a path");
    let campaign = Campaign::new(2, &["null"]).with(&["--devices", file, "--jobs", "1", "--timeout", "1s"]).with(&[
        "--witnesses",
        "1",
        "--inputs",
        "1",
    ]);
    let ran = start(campaign.command(&["--cases", "20"])).finish_within(LIMIT).expect(1);
    let summary = read_json(&campaign.summary_file());
    let entry = &summary["devices"]["null"];
    // The null device runs nothing, so that what it does run breaks the first rule of the lane map.
    assert_eq!(entry["verdicts"], json!({ "crash": 3, "hang": 1, "device_lost": 1, "lane_map": 15 }), "{ran}");
    // Two for each fault: what fails so is given a second try. That of the hang comes last, and its worker is not replaced.
    assert_eq!(number(&entry["restarts"]), 9);
    let mut seen = BTreeMap::new();
    for entry in summary["findings"].as_array().expect("findings") {
        check_finding(&campaign.out().join(text(&entry["folders"][0])), entry);
        seen.insert(number(&entry["first_case"]), format!("{}: {}", text(&entry["kind"]), text(&entry["detail"])));
    }
    for (case, part) in [(3, "crash: "), (6, "hang: "), (9, "crash: "), (12, "crash: "), (15, "device_lost: ")] {
        assert!(seen[&case].starts_with(part), "case {case}: {seen:?}");
    }
    assert!(seen[&3].contains("SIGSEGV") || seen[&3].contains("signal 11"), "{seen:?}");
    let report = read(
        &finding_folders(&campaign.out())
            .into_iter()
            .find(|f| f.to_string_lossy().contains("/hang-"))
            .expect("a hang")
            .join("report.txt"),
    );
    assert!(report.contains("fault: hang in job 6"), "the driver's stderr is reported: {report}");
    note!("faults: {seen:?}");
}

/// What fails once, and not when it runs again alone, is kept apart: no finding, and nothing lost.
#[test]
fn a_crash_that_does_not_come_again_is_a_flake() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let faults = "crash@3!,lost@5!,crash@7,kill@9!";
    let file = null_devices_file(folder.path(), faults);
    let state = folder.path().join("had-").display().to_string();
    let entry = read(&file)
        .replace("TANGLE_WORKER_NULL", &format!("TANGLE_WORKER_FAULT_STATE = \"{state}\", TANGLE_WORKER_NULL"));
    std::fs::write(&file, entry).expect("the test's folder can be written");
    let file = file.to_str().expect("a path");
    let campaign = Campaign::new(2, &["null"]).with(&["--devices", file, "--jobs", "2", "--inputs", "1"]);
    let (ran, summary) = campaign.run_to(12);
    let entry = &summary["devices"]["null"];
    assert_eq!(entry["verdicts"], json!({ "crash": 1, "lane_map": 11 }), "{ran}");
    assert_eq!(number(&entry["killed"]), 1, "{entry}");
    let flakes = summary["flakes"].as_array().expect("flakes");
    let kinds: Vec<String> = flakes.iter().map(|flake| text(&flake["kind"])).collect();
    assert_eq!(kinds, ["crash", "device_lost"], "{summary}");
    for flake in flakes {
        let saved = campaign.out().join(text(&flake["folders"][0]));
        assert!(read(&saved.join("report.txt")).contains("It did not occur again when the case ran"), "{ran}");
        assert!(ran.stdout.contains(&format!("flake on null: {}: ", text(&flake["kind"]))), "{ran}");
    }
    let of_crash = |path: &PathBuf| path.to_string_lossy().contains("/crash-");
    assert_eq!(finding_folders(&campaign.out()).into_iter().filter(of_crash).count(), 1);
}

/// A driver that hangs when it is asked for its devices holds up no deadline.
#[test]
fn deadlines_hold_while_devices_come_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "silent");
    let (file, out) = (file.to_str().expect("a path"), folder.path().join("out"));
    let case = vector("V01");
    let of_null = |args: &[&str], out: &Path| {
        let mut command = tangle([args, &["--device", "null", "--devices", file]].concat());
        command.arg("--out").arg(out);
        start(command)
    };
    let minimize = of_null(&["minimize", case.to_str().expect("a path"), "--time", "1s"], &folder.path().join("small"));
    let fuzz = of_null(&["fuzz", "--time", "1s"], &folder.path().join("other"));
    let stopped = of_null(&["fuzz"], &out);
    // The handler is there when the campaign has its folder.
    while !out.join("campaign.lock").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(stopped.child.id() as i32, libc::SIGTERM);
    for ran in [minimize, stopped, fuzz] {
        let _ = ran.finish_within(LIMIT).fails_with(&["the time is over, and a device does not start"]);
    }
}

/// A job that does not end, and its confirmation alone with ten times as much time, hold up neither a deadline nor a stop.
#[test]
fn deadlines_hold_while_a_driver_hangs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "hang@0,hang@1");
    let file = file.to_str().expect("a path");
    let case = vector("V01");
    let hangs = |args: &[&str], out: &str| {
        // A limit that no deadline waits for.
        let mut command = tangle([args, &["--device", "null", "--devices", file, "--timeout", "1h"]].concat());
        command.arg("--out").arg(folder.path().join(out));
        start(command)
    };
    let minimize = hangs(&["minimize", case.to_str().expect("a path"), "--time", "1s"], "small");
    let fuzz = hangs(&["fuzz", "--time", "1s", "--jobs", "1"], "timed");
    let stopped = hangs(&["fuzz"], "stopped");
    while !folder.path().join("stopped/campaign.lock").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(stopped.child.id() as i32, libc::SIGTERM);
    for (what, ran) in [("minimize --time", minimize), ("SIGTERM", stopped)] {
        let ran = ran.finish_within(LIMIT);
        assert!(matches!(ran.code(), 0..=2), "{what}: {ran}");
    }
    // Nothing was tested: that is no pass.
    let _ = fuzz.finish_within(LIMIT).fails_with(&["device null came to the end of no case"]);
}

/// What a driver does only with settings for debugging is a question of quality, and says so.
#[test]
fn what_needs_debug_settings_is_a_question_of_quality() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "crash@1,crash@2");
    for (debug, severity, code) in
        [("", "strong", 1), ("debug = true\n", "strong", 0), ("debug = true\n", "quality", 1)]
    {
        std::fs::write(&file, format!("{}{debug}", read(&null_devices_file(folder.path(), "crash@1,crash@2"))))
            .expect("the test's folder can be written");
        let devices = file.to_str().expect("a path");
        let campaign =
            Campaign::new(2, &["null"]).with(&["--devices", devices, "--fail-on", severity, "--inputs", "1"]);
        let ran = start(campaign.command(&["--cases", "2"])).finish_within(LIMIT).expect(code);
        let summary = read_json(&campaign.summary_file());
        let finding = &summary["findings"][0];
        assert_eq!(finding["debug_settings"] == json!(true), !debug.is_empty(), "{finding}");
        assert_eq!(ran.stdout.contains("with debug settings"), !debug.is_empty(), "{ran}");
    }
}

#[test]
fn a_driver_that_crashes_costs_one_case() {
    let Some(device) = quick_device() else { return };
    let campaign = Campaign::new(6, &[&device.name]).with(&["--tier", "plain", "--timeout", "2s", "--inputs", "1"]);
    let mut command = campaign.command(&["--cases", "12"]);
    command.env("TANGLE_WORKER_FAULT", "crash@4,hang@8");
    finish(command).expect(1);
    let faulty = read_json(&campaign.summary_file());
    let undisturbed = Campaign::new(6, &[&device.name]).with(&["--tier", "plain", "--inputs", "1"]);
    let (_, right) = undisturbed.run_to(12);
    let verdicts = |summary: &Value, kind: &str| {
        number(summary["devices"][&device.name]["verdicts"].get(kind).unwrap_or(&json!(0)))
    };
    assert_eq!((verdicts(&faulty, "crash"), verdicts(&faulty, "hang")), (1, 1), "{faulty}");
    let others = |summary: &Value| {
        ["pass", "vacuous", "value", "path", "lane_map"].map(|kind| verdicts(summary, kind)).iter().sum::<u64>()
    };
    assert_eq!(others(&faulty) + 2, others(&right), "the other cases got their verdicts");
    note!("crash and hang on {}: 2 findings, {} other cases judged", device.name, others(&faulty));
}

#[test]
fn workers_of_one_device_give_the_statistics_of_one_worker() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "crash@3,exit@9,lost@15,crash@16");
    let file = file.to_str().expect("a path");
    let with_jobs = |jobs: &'static str| {
        let campaign = Campaign::new(8, &["null", FAULTY]).with(&["--devices", file, "--jobs", jobs]);
        let (_, summary) = campaign.run_to(60);
        (timeless(&summary), tree(&campaign.out().join("findings")), campaign)
    };
    let (alone, findings, _) = with_jobs("1");
    let (together, same_findings, campaign) = with_jobs("3");
    assert_same(&together, &alone, "the number of workers shows in the statistics");
    assert_eq!(same_findings, findings);
    assert_eq!(tree(&campaign.out().join("in-flight")).len(), 2, "no case is in flight");
    // It goes on with another number.
    let parts = Campaign::new(8, &["null", FAULTY]).with(&["--devices", file]);
    // Not within a program that crashes, which would crash in both parts.
    for (jobs, cases) in [("4", "23"), ("1", "33"), ("2", "60")] {
        start(parts.command(&["--jobs", jobs, "--cases", cases])).finish_within(LIMIT).expect(1);
    }
    assert_same(&timeless(&read_json(&parts.summary_file())), &alone, "the parts are not the whole");
    note!("jobs: 1, 3, and 4 then 1 then 2 workers give the same statistics for 60 cases");
}

/// Each input of a program has a number, a verdict and, if it is one, a finding of its own that replays; a program that crashes costs one.
#[test]
fn inputs_of_a_program_are_cases_of_their_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "crash@1");
    let devices = ["null", FAULTY];
    let campaign =
        |seed| Campaign::new(seed, &devices).with(&["--devices", file.to_str().expect("a path"), "--inputs", "4"]);
    let needs_other_data =
        |folder: &PathBuf| Case::from_json(&read(&folder.join("case.json"))).expect("a case").origin.data.is_some();
    // Which data a fault needs depends on the programs, and so does which of them the null device can run: the first seed with a fault that the first
    // data do not show, and with a program that the null device crashes at.
    let run_whole = |seed| {
        let whole = campaign(seed);
        let (_, summary) = whole.run_to(22);
        (seed, whole, summary)
    };
    let found = (1..20).map(run_whole).find(|(_, whole, summary)| {
        let crashed = summary["devices"]["null"]["verdicts"].get("crash").is_some();
        crashed && finding_folders(&whole.out()).iter().any(needs_other_data)
    });
    let (seed, whole, summary) = found.expect("a finding needs other data than the first");
    let entry = &summary["devices"]["null"];
    // The other inputs of the program that crashed are left out; whole programs may be not supported.
    let (left_out, unsupported) = (number(&entry["left_out"]), number(&entry["unsupported"]));
    assert_eq!(entry["verdicts"], json!({ "crash": 1, "lane_map": 18 - unsupported }), "{entry}");
    assert_eq!((left_out, accounted(entry)), (3, 22), "{entry}");
    let parts = campaign(seed);
    for cases in [3, 10, 22] {
        parts.run_to(cases);
    }
    assert_same(&timeless(&read_json(&parts.summary_file())), &timeless(&summary), "the parts are not the whole");
    for folder in finding_folders(&whole.out()) {
        if !folder.to_string_lossy().contains("crash-") {
            let device = text(&read_json(&folder.join("finding.json"))["device"]);
            let args =
                ["run", folder.to_str().expect("a path"), "--devices", file.to_str().expect("a path"), "--device"];
            run([&args[..], &[&device]].concat()).expect(1);
        }
    }
}

/// A worker program that starts only as often as there are files to take, and else dies.
fn limited_worker(folder: &Path, lives: usize) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let script = folder.join("limited.sh");
    let text = format!(
        "#!/bin/sh\nfor life in {}/life-*; do rm \"$life\" 2>/dev/null && exec \"$@\"; done\necho no life left >&2\nexit 1\n",
        folder.display()
    );
    std::fs::write(&script, text).expect("the test's folder can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for life in 0..lives {
        std::fs::write(folder.join(format!("life-{life}")), "").expect("the test's folder can be written");
    }
    script
}

#[test]
fn a_lost_worker_leaves_its_cases_to_the_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // One life for the probe, one for each of two workers, and one for the second try: the one that crashes does not come back.
    let script = limited_worker(folder.path(), 4);
    let file = folder.path().join("null.toml");
    let entry = format!(
        "[[driver]]\nname = \"null\"\nprefix = [\"{}\"]\nenv = {{ TANGLE_WORKER_NULL = \"1\", TANGLE_WORKER_FAULT = \"crash@7\" }}\n",
        script.display()
    );
    std::fs::write(&file, entry).expect("the test's folder can be written");
    let file = file.to_str().expect("a path");
    let campaign = Campaign::new(2, &["null"]).with(&["--devices", file, "--jobs", "2", "--inputs", "1"]);
    let (ran, summary) = campaign.run_to(40);
    assert_eq!(summary["devices"]["null"]["verdicts"], json!({ "crash": 1, "lane_map": 39 }), "{ran}");
    assert!(ran.stderr.contains("warning: device null lost 1 of its 2 workers"), "{ran}");
    assert!(ran.stderr.contains("no life left"), "it says why: {ran}");
}

#[test]
fn a_device_without_workers_ends_and_the_others_go_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = null_devices_file(folder.path(), "quit@5");
    let devices = ["null", "reference"];
    let campaign =
        Campaign::new(2, &devices).with(&["--devices", file.to_str().expect("a path"), "--jobs", "2", "--inputs", "1"]);
    let ran = start(campaign.command(&["--cases", "30"])).finish_within(LIMIT);
    let ran = ran.fails_with(&["device null has no worker any more and stopped at case 5", "quit before job 5"]);
    assert!(ran.stdout.contains("reference: "), "the statistics are printed: {ran}");
    let summary = read_json(&campaign.summary_file());
    assert_eq!(number(&summary["devices"]["reference"]["next_case"]), 30);
    assert_eq!(number(&summary["devices"]["null"]["next_case"]), 5);
    // With the driver repaired, the device catches up.
    null_devices_file(folder.path(), "");
    start(campaign.command(&["--cases", "30"])).finish_within(LIMIT).expect(1);
    let summary = read_json(&campaign.summary_file());
    for device in devices {
        let entry = &summary["devices"][device];
        assert_eq!((number(&entry["next_case"]), accounted(entry)), (30, 30), "{entry}");
    }
}

#[test]
fn a_driver_that_does_not_come_back_ends_the_campaign_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Four jobs are sent ahead: the crash comes again alone before that.
    let file = null_devices_file(folder.path(), "crash@2,quit@9");
    let file = file.to_str().expect("a path");
    let campaign = Campaign::new(2, &["null"]).with(&["--devices", file, "--jobs", "1", "--inputs", "1"]);
    let ran = start(campaign.command(&["--cases", "20"])).finish_within(LIMIT);
    let _ = ran.fails_with(&["device null", "gave up", "quit before job 9"]);
    let saved = tree(&campaign.out().join("findings"));
    assert!(saved.iter().any(|path| path.to_string_lossy().contains("crash-")), "{saved:?}");
    let state = read_json(&campaign.out().join("campaign.json"));
    assert_eq!(number(&state["ledger"]["devices"]["null"]["next_case"]), 9, "{state}");
    // With the driver repaired it goes on with the case that it had not run.
    null_devices_file(folder.path(), "");
    start(campaign.command(&["--cases", "20"])).finish_within(LIMIT).expect(1);
    let summary = read_json(&campaign.summary_file());
    assert_eq!(summary["devices"]["null"]["verdicts"], json!({ "crash": 1, "lane_map": 19 }));
}

/// What rests on less than a sentence at tier plain is found at the tier at which it is wrong beyond doubt.
#[test]
fn a_doubtful_mismatch_is_judged_at_tier_maximal_when_it_is_found() {
    let flags = ["--tier", "plain", "--stage", "compute", "--inputs", "1"];
    let campaign = Campaign::new(3, &["reference:elect_highest"]).with(&flags);
    let (_, summary) = campaign.run_to(400);
    let mut tiers = std::collections::BTreeMap::<String, usize>::new();
    for folder in finding_folders(&campaign.out()) {
        let finding = read_json(&folder.join("finding.json"));
        let case = Case::from_json(&read(&folder.join("case.json"))).expect("the finding's case");
        let severity = finding["mismatch"]["severity"].as_str().unwrap_or("hard").to_owned();
        *tiers.entry(format!("{:?} {severity}", case.tier)).or_default() += 1;
    }
    assert!(tiers.contains_key("Maximal hard"), "{tiers:?}");
    assert!(!tiers.contains_key("Plain strong"), "the device is as wrong at tier maximal: {tiers:?}");
    findings_reproduce(&campaign, &summary);
}

#[test]
fn programs_that_are_avoided_are_counted() {
    let run = |extra: &[&str]| Campaign::new(4, &["reference"]).with(extra).run_to(60);
    // One by one, and in whatever order three workers get through them.
    let avoided = ["1", "3", "3"].map(|jobs| {
        let (ran, summary) = run(&["--without", "DivergentLoop", "--jobs", jobs]);
        let avoided = number(&summary["devices"]["reference"]["avoided"]);
        assert!(avoided > 0 && ran.stdout.contains(" programs avoided;"), "{avoided}: {ran}");
        avoided
    });
    assert_eq!(avoided, [avoided[0]; 3]);
    let (ran, summary) = run(&[]);
    assert_eq!(number(&summary["devices"]["reference"]["avoided"]), 0);
    assert!(!ran.stdout.contains("avoided"), "{ran}");
}
