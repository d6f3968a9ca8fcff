//! Campaigns on a machine that breaks: whatever happens to one, the findings and counts at its end are those of one that nothing happened to.
//!
//! `TANGLE_TORTURE=50 cargo test --release --test command torture -- --nocapture` is the long form: so many disturbances of each kind.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::*;
use serde_json::{Value, json};

/// A reference device that fails often, and one that never does.
const DEVICES: [&str; 2] = ["reference:mask_always_full", "reference"];

/// Length of the sequence.
const CASES: &str = "160";

/// How many disturbances of each kind.
fn disturbances() -> u64 {
    std::env::var("TANGLE_TORTURE").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// A folder in memory, where no inode is used twice and nothing waits for a disk; elsewhere without one.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("tangle-torture").tempdir_in(place).expect("a temporary folder")
}

/// The library that breaks machines.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(TANGLE).parent().expect("a folder");
        let release: &[&str] = if folder.ends_with("release") { &["--release"] } else { &[] };
        let target = folder.parent().expect("a folder");
        let status = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--offline",
                "--package",
                "tangle-files",
                "--example",
                "broken_machine",
                "--target-dir",
            ])
            .arg(target)
            .args(release)
            .current_dir(root())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "the library cannot be built");
        folder.join("examples/libbroken_machine.so")
    })
}

/// A campaign in `out`, on a machine that is broken as these variables say.
fn campaign(out: &Path, jobs: u64, broken: &[(&str, String)]) -> Command {
    let mut command = tangle(["fuzz", "--minimize", "off", "--profile", "small", "--seed", "11", "--cases", CASES]);
    command.args(["--jobs", &jobs.to_string(), "--out"]).arg(out);
    for device in DEVICES {
        command.args(["--device", device]);
    }
    if !broken.is_empty() {
        command.env("LD_PRELOAD", library());
    }
    command.envs(broken.iter().map(|(name, value)| (name, value)));
    command
}

/// What must be the same: counts, findings, and the files of the findings.
fn result(out: &Path) -> (Value, Vec<PathBuf>) {
    let mut ledger = read_json(&out.join("campaign.json"))["ledger"].clone();
    for device in ledger["devices"].as_object_mut().expect("devices").values_mut() {
        let device = device.as_object_mut().expect("a device");
        device.remove("times");
        device.remove("restarts");
    }
    ledger["findings"].as_array_mut().expect("findings").sort_by_key(|entry| entry.to_string());
    let coverage = read_json(&out.join("coverage.json"))["devices"].clone();
    let result = json!({ "devices": ledger["devices"], "findings": ledger["findings"], "operations": ledger["operations"], "coverage": coverage });
    (result, tree(&out.join("findings")))
}

/// Of a campaign that nothing happens to.
fn undisturbed() -> &'static (Value, Vec<PathBuf>) {
    static RESULT: OnceLock<(Value, Vec<PathBuf>)> = OnceLock::new();
    RESULT.get_or_init(|| {
        let place = folder();
        let out = place.path().join("out");
        start(campaign(&out, 2, &[])).finish_within(LIMIT).expect(1);
        let (result, findings) = result(&out);
        assert!(findings.len() > 20, "{findings:?}");
        (result, findings)
    })
}

/// Lets a campaign go on to its end and compares.
#[track_caller]
fn ends_as_undisturbed(out: &Path, jobs: u64, what: &str) {
    let ran = start(campaign(out, jobs, &[])).finish_within(LIMIT).expect(1);
    let (expected, files) = undisturbed();
    let (found, there) = result(out);
    for part in ["devices", "findings", "operations", "coverage"] {
        assert!(
            found[part] == expected[part],
            "{what}: {part} differ\n{ran}\n{:#}\nexpected\n{:#}",
            found[part],
            expected[part]
        );
    }
    assert_eq!(&there, files, "{what}: {ran}");
}

/// Times that differ from one disturbance to the next, and are the same in every run of the test.
fn moment(number: u64) -> Duration {
    Duration::from_millis(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_900)
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: kill takes any numbers; ours are a child's, which is not waited for yet.
    unsafe { libc::kill(pid as i32, signal) };
}

#[test]
fn killed_again_and_again() {
    let place = folder();
    let out = place.path().join("out");
    for number in 0..disturbances() {
        let running = start(campaign(&out, 1 + number % 3, &[]));
        std::thread::sleep(moment(number));
        // Every third one ends cleanly, so that the campaign gets somewhere.
        signal(running.child.id(), if number % 3 == 2 { libc::SIGTERM } else { libc::SIGKILL });
        running.finish_within(LIMIT);
    }
    ends_as_undisturbed(&out, 2, "killed");
}

/// Workers are killed from outside, as the out-of-memory killer does it: their cases run again, and nothing of it is a finding.
#[test]
fn workers_are_killed_again_and_again() {
    let place = folder();
    let file = null_devices_file(place.path(), "");
    let run = |out: &Path, is_disturbed: bool| {
        let mut command = tangle(["fuzz", "--minimize", "off", "--profile", "small", "--seed", "11", "--cases"]);
        command.args([
            &(100 * disturbances()).to_string(),
            "--inputs",
            "1",
            "--jobs",
            "3",
            "--device",
            "null",
            "--devices",
        ]);
        let mut running = start({
            command.arg(&file).arg("--out").arg(out);
            command
        });
        let mut killed = 0;
        while is_disturbed && running.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // Time for a case to fail again alone.
            std::thread::sleep(Duration::from_millis(700));
            let workers = children(running.child.id());
            if let Some(worker) = workers.get(killed % workers.len().max(1)) {
                signal(*worker, libc::SIGKILL);
                killed += 1;
            }
        }
        let ran = running.finish_within(LIMIT).expect(1);
        let (mut result, findings) = result(out);
        for count in ["killed", "short_of_memory"] {
            result["devices"]["null"].as_object_mut().expect("a device").remove(count);
        }
        (result, findings, killed, ran)
    };
    let (expected, files, ..) = run(&place.path().join("undisturbed"), false);
    let (found, there, killed, ran) = run(&place.path().join("out"), true);
    assert!(killed > 0, "no worker was killed: {ran}");
    assert_eq!((found, there), (expected, files), "{killed} workers killed: {ran}");
}

/// The processes that a process started.
fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

#[test]
fn the_power_goes() {
    let mut place = folder();
    let shadows = folder();
    for number in 0..disturbances() {
        let shadow = shadows.path().join(number.to_string());
        fs::create_dir(&shadow).expect("it is ours");
        remember(place.path(), &shadow);
        let broken = [("BROKEN_MACHINE_SHADOW", shadow.display().to_string())];
        let mut running = start(campaign(&place.path().join("out"), 2, &broken));
        std::thread::sleep(Duration::from_millis(300) + moment(number));
        signal(running.child.id(), if number % 3 == 2 { libc::SIGTERM } else { libc::SIGKILL });
        let _ = running.child.wait();
        let after = folder();
        rebuild(place.path(), &shadow, after.path());
        place = after;
    }
    ends_as_undisturbed(&place.path().join("out"), 2, "without power");
}

/// Notes everything below a folder as synced.
fn remember(folder: &Path, shadow: &Path) {
    let inode = |path: &Path| fs::symlink_metadata(path).expect("it is there").ino();
    let mut lines = String::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        lines += &format!("{} {}\n", inode(&path), entry.file_name().to_string_lossy());
        if path.is_dir() {
            remember(&path, shadow);
        } else {
            fs::copy(&path, shadow.join(format!("{}.file", inode(&path)))).expect("it is ours");
        }
    }
    fs::write(shadow.join(format!("{}.folder", inode(folder))), lines).expect("it is ours");
}

/// Makes a folder of what the disk has after the power is gone.
fn rebuild(folder: &Path, shadow: &Path, to: &Path) {
    fn below(inode: &str, shadow: &Path, from: &Path, to: &Path) {
        for line in fs::read_to_string(shadow.join(format!("{inode}.folder"))).unwrap_or_default().lines() {
            let (inode, name) = line.split_once(' ').expect("inode and name");
            let (contents, from, to) = (shadow.join(format!("{inode}.file")), from.join(name), to.join(name));
            if from.is_dir() || shadow.join(format!("{inode}.folder")).exists() {
                fs::create_dir(&to).expect("it is ours");
                below(inode, shadow, &from, &to);
            } else if contents.exists() {
                fs::copy(contents, to).expect("it is ours");
            } else {
                fs::write(to, "").expect("it is ours");
            }
        }
    }
    below(&fs::metadata(folder).expect("it is there").ino().to_string(), shadow, folder, to);
}

/// A control group with a limit of memory, gone when dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// `None` where this user may not make one.
    fn new(name: &str, bytes: u64) -> Option<MemoryGroup> {
        // cgroups(7): version 1, and version 2.
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")].into_iter().find_map(
            |(root, limit)| {
                let folder = Path::new(root).join(name);
                fs::create_dir(&folder).ok()?;
                let group = MemoryGroup(folder);
                fs::write(group.0.join(limit), bytes.to_string()).ok().map(|()| group)
            },
        )
    }

    /// Has a command run in it.
    fn confine(&self, command: &Command) -> Command {
        let mut confined = Command::new("/bin/sh");
        confined.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        confined.arg(command.get_program()).args(command.get_args());
        confined.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        confined
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // What was started in it may be ending.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn memory_runs_out() {
    let mut ended = 0;
    for number in 0..disturbances() {
        let name = format!("tangle-torture-{}-{number}", std::process::id());
        let Some(group) = MemoryGroup::new(&name, (16 + 8 * (number % 8)) << 20) else {
            note!("memory: no control group can be made here");
            return;
        };
        let place = folder();
        let out = place.path().join("out");
        let ran = start(group.confine(&campaign(&out, 2, &[]))).finish_within(LIMIT);
        ended += u64::from(ran.status.code() != Some(1));
        drop(group);
        ends_as_undisturbed(&out, 2, "without memory");
    }
    assert!(ended > 0, "there was memory enough every time");
}

#[test]
fn the_disk_is_full() {
    for number in 0..disturbances() {
        let place = folder();
        let out = place.path().join("out");
        let jobs = if number % 2 == 0 { 1 } else { 8 };
        let after = 20 + number * 37 % 100;
        let broken = [("BROKEN_MACHINE_FULL_AFTER", after.to_string())];
        let ran = start(campaign(&out, jobs, &broken)).finish_within(LIMIT);
        let _ = ran.fails_with(&["No space left on device"]);
        ends_as_undisturbed(&out, jobs, &format!("full after {after} with {jobs} workers"));
    }
}

#[test]
fn stopped_and_with_another_clock() {
    let place = folder();
    let out = place.path().join("out");
    for number in 0..disturbances() {
        let days = if number % 2 == 0 { 400 } else { -400 };
        let broken = [("BROKEN_MACHINE_CLOCK", (days * 86_400).to_string())];
        let running = start(campaign(&out, 2, &broken));
        for _ in 0..3 {
            std::thread::sleep(moment(number) / 4);
            signal(running.child.id(), libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(300));
            signal(running.child.id(), libc::SIGCONT);
        }
        signal(running.child.id(), libc::SIGTERM);
        running.finish_within(LIMIT);
    }
    ends_as_undisturbed(&out, 2, "stopped");
}

#[test]
fn a_torn_state_and_a_torn_finding_heal() {
    let place = folder();
    let out = place.path().join("out");
    let mut half = campaign(&out, 2, &[]);
    half.args(["--time", "2s"]);
    start(half).finish_within(LIMIT);
    let state = fs::read(out.join("campaign.json")).expect("it is there");
    fs::write(out.join("campaign.json"), &state[..state.len() / 2]).expect("it is ours");
    let ran = start(campaign(&out, 2, &[])).finish_within(LIMIT).expect(1);
    assert!(ran.stderr.contains("note: ") && ran.stderr.contains("campaign.json is damaged"), "{ran}");
    ends_as_undisturbed(&out, 2, "torn");
    let is_finding = |path: &&PathBuf| path.components().count() == 2;
    let torn = tree(&out.join("findings"))
        .iter()
        .find(is_finding)
        .map(|path| out.join("findings").join(path))
        .expect("a finding");
    fs::write(torn.join("finding.json"), "").expect("it is ours");
    let ran = start(campaign(&out, 2, &[])).finish_within(LIMIT).expect(1);
    assert!(ran.stderr.contains("finding.json") && ran.stderr.contains("set aside"), "{ran}");
}

/// Waits until something is so.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_case_that_crashes_tangle_runs_again_alone_and_is_then_passed_over() {
    let place = folder();
    let out = place.path().join("out");
    // While the driver hangs in program 6, tangle crashes.
    let file = null_devices_file(place.path(), "hang@6");
    let command = |devices: &Path| {
        let mut command = tangle(["fuzz", "--minimize", "off", "--profile", "small", "--seed", "2", "--cases", "20"]);
        command.args(["--inputs", "1", "--jobs", "1", "--timeout", "5m", "--device", "null", "--devices"]).arg(devices);
        command.arg("--out").arg(&out);
        command
    };
    let crash = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let running = start(command(&file));
        wait_until(what, is_so);
        std::thread::sleep(Duration::from_millis(300));
        signal(running.child.id(), libc::SIGSEGV);
        running.finish_within(LIMIT)
    };
    let in_flight = |case: u64| out.join(format!("in-flight/null/{case}.json")).exists();
    crash("case 6 is not in flight alone", &mut || in_flight(6) && !in_flight(5));
    let suspects = || fs::read_to_string(out.join("suspects.json")).unwrap_or_default();
    let is_tried = || suspects().parse::<Value>().is_ok_and(|state| state["running"]["trial"]["program"] == 6);
    let ran = crash("case 6 is not tried alone", &mut || is_tried());
    assert!(ran.stderr.contains("note: tangle crashed in the last run: "), "{ran}");
    let ran = start(command(&file)).finish_within(LIMIT).expect(1);
    assert!(ran.stderr.contains("note: tangle crashed twice while null ran program 6"), "{ran}");
    let state = read_json(&out.join("campaign.json"));
    let device = &state["ledger"]["devices"]["null"];
    assert_eq!((number(&device["next_case"]), &device["verdicts"]["crash"]), (20, &json!(1)), "{device}");
    let is_crash = |path: &PathBuf| path.to_string_lossy().contains("/crash-");
    assert!(tree(&out.join("findings")).iter().any(is_crash), "it is kept: {ran}");
}
