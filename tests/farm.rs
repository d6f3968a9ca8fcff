//! A driver of one's own, a device to compare with, and campaigns in parts that are made one again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::*;
use serde_json::Value;

const FAULTY: &str = "reference:mask_always_full";

fn fuzz(out: &Path, more: &[&str]) -> std::process::Command {
    let mut command =
        tangle(["fuzz", "--minimize", "off", "--profile", "small", "--seed", "11", "--witnesses", "100000"]);
    command.arg("--out").arg(out).args(more);
    command
}

/// The folders of findings, `<device>/<name>`, that are whole.
fn findings(out: &Path) -> BTreeSet<String> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    below(out.join("findings"))
        .flat_map(|device| below(device.clone()).map(move |path| format!("{}/{}", name(&device), name(&path))))
        .filter(|path| !path.contains("/."))
        .collect()
}

/// What was counted, without times and what depends on the order of findings.
fn counted(out: &Path) -> Value {
    let mut ledger = read_json(&out.join("campaign.json"))["ledger"].clone();
    ledger["seconds"] = Value::Null;
    for device in ledger["devices"].as_object_mut().expect("devices").values_mut() {
        device["times"] = Value::Null;
        device["next_case"] = Value::Null;
    }
    let entries = ledger["findings"].as_array_mut().expect("findings");
    for entry in entries.iter_mut() {
        let folders = entry["folders"].as_array_mut().expect("folders");
        folders.sort_by_key(Value::to_string);
    }
    entries.sort_by_key(Value::to_string);
    ledger
}

fn merge(out: &Path, folders: &[PathBuf]) -> Ran {
    let mut command = tangle(["merge"]);
    command.args(folders).arg("--out").arg(out);
    finish(command)
}

#[test]
fn eight_shards_of_which_two_are_killed_are_what_one_campaign_finds() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| place.path().join(name);
    let (whole, cases) = (at("whole"), "640");
    finish(fuzz(&whole, &["--device", FAULTY, "--cases", cases])).expect(1);
    let shards: Vec<PathBuf> = (1..=8).map(|number| at(&format!("shard-{number}"))).collect();
    let shard = |number: usize| {
        let part = format!("{number}/8");
        fuzz(&shards[number - 1], &["--device", FAULTY, "--cases", cases, "--shard", &part])
    };
    for number in [3, 6] {
        let mut running = start(shard(number));
        let begin = Instant::now();
        while findings(&shards[number - 1]).is_empty() && begin.elapsed() < Duration::from_secs(600) {
            if running.child.try_wait().expect("it is ours").is_some() {
                break;
            }
        }
        running.child.kill().expect("it is ours");
        running.finish_within(LIMIT);
    }
    for number in [1, 2, 4, 5, 7, 8] {
        let code = finish(shard(number)).code();
        assert!(code < 2);
    }
    // What the killed ones saved is there, counted or not.
    let early = at("early");
    merge(&early, &shards).expect(1);
    let there: BTreeSet<String> = shards.iter().flat_map(|shard| findings(shard)).collect();
    assert_eq!(findings(&early), there);
    let counted_folders = |out: &Path| -> usize {
        let ledger = counted(out);
        let entries = ledger["findings"].as_array().expect("findings");
        entries.iter().map(|entry| entry["folders"].as_array().expect("folders").len()).sum()
    };
    assert_eq!(counted_folders(&early), there.len());
    // They go on, and a later state takes the place of an earlier one.
    for number in [3, 6] {
        assert!(finish(shard(number)).code() < 2);
    }
    merge(&early, &shards).expect(1);
    let expected = (findings(&whole), counted(&whole));
    assert!(expected.0.len() > 20, "{}", expected.0.len());
    assert_eq!((findings(&early), counted(&early)), expected);
    // In any order, in any steps, and twice.
    let (some, all) = (at("some"), at("all"));
    merge(&some, &[shards[6].clone(), shards[2].clone()]).expect(1);
    let mut rest: Vec<PathBuf> = shards.iter().rev().cloned().collect();
    rest.push(some);
    merge(&all, &rest).expect(1);
    merge(&all, &rest).expect(1);
    assert_eq!((findings(&all), counted(&all)), expected);
    note!("8 shards, 2 of them killed, and a merge: {} findings, as without shards", expected.0.len());
    // A merged folder is no campaign to go on with, and a campaign none to merge into.
    finish(fuzz(&all, &["--device", FAULTY, "--cases", cases])).fails_with(&["tangle merge"]);
    merge(&whole, &shards).fails_with(&["holds a campaign"]);
    merge(&at("none"), &[at("nowhere")]).fails_with(&["no campaign to merge", "nowhere"]);
    let report = at("page.json");
    let mut command = tangle(["report"]);
    command.arg(&all).arg("--out").arg(&report);
    finish(command).expect(0);
    assert_eq!(read_json(&report)["about"]["campaigns"], "8");
}

#[test]
fn only_what_the_other_device_does_right_counts() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let faulty = ["--device", "reference:elect_highest", "--cases", "300", "--inputs", "1"];
    let with = |name: &str, more: &[&str]| {
        let out = place.path().join(name);
        let ran = finish(fuzz(&out, &[&faulty[..], more].concat()));
        (ran, out)
    };
    // The same fault under another name.
    let (ran, out) = with("same", &["--against", "reference:elect_highest@8"]);
    assert_eq!((ran.code(), findings(&out).len()), (0, 0), "{ran}");
    let known = counted(&out)["known"].as_array().map_or(0, Vec::len);
    assert_eq!(known, 1, "it is counted");
    let (ran, out) = with("right", &["--against", "reference"]);
    assert_eq!(ran.code(), 1, "{ran}");
    let all = findings(&out).len();
    let (ran, out) = with("first", &["--against", "reference", "--until-first"]);
    assert_eq!((ran.code(), findings(&out).len()), (1, 1), "{ran}");
    assert!(all > 1);
    let finding = out.join("findings").join(findings(&out).first().expect("one"));
    let finding = read_json(&finding.join("finding.json"));
    assert_eq!((&finding["seed"], finding["number"].as_u64().is_some()), (&Value::from(11), true));
    // It goes on behind it.
    let (_, out) = with("first", &["--against", "reference", "--until-first"]);
    assert_eq!(findings(&out).len(), 2);
    let (ran, _) = with("itself", &["--against", "reference:elect_highest"]);
    ran.fails_with(&["no other device"]);
}

#[test]
fn processor_time_ends_a_campaign() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let ran = finish(fuzz(&place.path().join("out"), &["--device", "reference", "--cpu-time", "1s"]));
    // The compilers may have been wrong.
    assert!(ran.code() < 2);
    let cases = number(&counted(&place.path().join("out"))["devices"]["reference"]["cases"]);
    assert!(cases > 0);
    note!("a second of processor time: {cases} cases on the reference device");
}

#[test]
fn a_driver_by_its_path_needs_no_entry() {
    let none = tempfile::NamedTempFile::new().expect("a temporary file");
    let empty = none.path().display().to_string();
    let listed = tangle_runner::drivers(None).expect("the devices file is good");
    let execute = |driver: &&tangle_runner::DriverConfig| {
        driver.mode == tangle_runner::DriverMode::Execute
            && driver.api == tangle_runner::Api::Vulkan
            && !driver.is_remote()
            && driver.manifest.is_some()
    };
    let Some(driver) = listed.iter().find(execute) else {
        note!("--driver is not tested: there is no driver here that runs what it compiles");
        return;
    };
    let manifest = driver.manifest.as_deref().expect("it has one").display().to_string();
    let library = read_json(Path::new(&manifest))["ICD"]["library_path"].as_str().expect("a library").to_owned();
    let mut ways = vec![("mine".to_owned(), format!("mine={manifest}"))];
    if Path::new(&library).is_absolute() {
        ways.push(("mine".to_owned(), format!("mine={library}")));
    }
    for (name, path) in ways {
        let mut words = vec!["--devices".to_owned(), empty.clone(), "--driver".into(), path.clone()];
        words.extend(driver.env.iter().flat_map(|(name, value)| ["--driver-env".into(), format!("{name}={value}")]));
        if !driver.prefix.is_empty() {
            words.extend(["--driver-prefix".into(), driver.prefix.join(" ")]);
        }
        let mut command = tangle(["devices", "--json"]);
        command.args(&words);
        let devices = finish(command).expect(0).json();
        let names: Vec<&str> = devices["devices"]
            .as_array()
            .expect("devices")
            .iter()
            .filter_map(|device| device["name"].as_str())
            .collect();
        assert_eq!(names, [name.as_str()], "only that driver runs");
        let mut command = tangle(["run", "--json"]);
        command.arg(root().join("corpus/regressions/reduction_in_loop_used_after.json")).args(&words);
        let ran = finish(command);
        assert!(ran.code() < 2, "{ran}");
        assert_eq!(ran.json()[0]["device"], name.as_str());
    }
    note!("--driver: {} by its path", driver.name);
    finish(tangle(["devices", "--driver", "/nowhere/build"])).fails_with(&["--driver", "there is no /nowhere/build"]);
}
