//! Bundles run without tangle: the C program says of every device what tangle says, and so do Amber and VkRunner where they are
//! installed (or named by `TANGLE_AMBER` and `TANGLE_VKRUNNER`).

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::*;
use tangle_analysis::cost::log_stride;
use tangle_campaign::executor::reference::Reference;
use tangle_program::case::Case;
use tangle_runner::DriverConfig;

const PASSED: i32 = 0;
const FAILED: i32 = 1;
const CANNOT_RUN: i32 = 77;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// V01 with another tier, which every device offers, and another subgroup size.
fn v01(folder: &Path, tier: &str, size: &str) -> String {
    let text = read(&vector("V01"));
    let (old_tier, old_size) = ("\"tier\": \"maximal\"", "\"subgroup_size\": \"default\"");
    assert!(text.contains(old_tier) && text.contains(old_size), "V01 is another now");
    let text = text.replace(old_tier, &format!("\"tier\": \"{tier}\""));
    let text = text.replace(old_size, &format!("\"subgroup_size\": {size}"));
    let path = folder.join(format!("{}.json", size.replace(|c: char| !c.is_alphanumeric(), "")));
    std::fs::write(&path, text).expect("it can be written");
    shown(&path)
}

/// Exports, and gives the folder of the bundle.
#[track_caller]
fn export(folder: &Path, arguments: &[&str]) -> PathBuf {
    let out = folder.join("bundle");
    let mut all = vec!["export"];
    all.extend(arguments);
    let place = out.display().to_string();
    all.extend(["--out", &place]);
    run(all).expect(0);
    out
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// True if C programs for Vulkan can be built here; says so if not.
fn can_build() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let folder = scratch();
        let source = folder.path().join("probe.c");
        std::fs::write(&source, "#include <vulkan/vulkan.h>\nint main(void) { return 0; }\n").expect("it can be written");
        let can = compile(&source, &folder.path().join("probe")).is_ok();
        if !can {
            note!("NO C COMPILER WITH vulkan.h AND libvulkan (Debian: apt install gcc libvulkan-dev): exported C programs are not run");
        }
        can
    })
}

/// A device with subgroups of this size that passes a case.
fn device_that_passes(case: &str, size: u64) -> Option<&'static DeviceFacts> {
    let has_size = |device: &&DeviceFacts| device.subgroup_size == size;
    // Exit code 1 is a failure, 2 that the device cannot run the case.
    let passes = |device: &&DeviceFacts| run(["run", case, "--device", &device.name]).code() == 0;
    devices().iter().filter(has_size).find(passes)
}

/// Builds with the command that the README names, and all warnings as errors.
fn compile(source: &Path, program: &Path) -> Result<(), String> {
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    let built = Command::new("cc").args(strict).arg(source).arg("-lvulkan").arg("-o").arg(program).output();
    match built {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn build(bundle: &Path) -> PathBuf {
    let program = bundle.with_file_name("repro");
    compile(&bundle.join("repro.c"), &program).unwrap_or_else(|error| panic!("{}: {error}", bundle.display()));
    program
}

/// The driver of a device, by the device's name.
fn driver(device: &str) -> Option<DriverConfig> {
    let name = device.split('#').next().unwrap_or(device);
    tangle_runner::drivers(None).ok()?.into_iter().find(|driver| driver.name == name)
}

/// Runs a program as tangle starts its workers on a driver.
fn on_driver(driver: &DriverConfig, program: &Path, arguments: &[&str]) -> (i32, String) {
    let mut words: Vec<String> = driver.prefix.clone();
    words.push(shown(program));
    words.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(&driver.env).env("VK_LOADER_LAYERS_DISABLE", "~implicit~");
    if let Some(manifest) = &driver.manifest {
        command.env("VK_DRIVER_FILES", manifest).env("VK_ICD_FILENAMES", manifest);
    }
    let ran = finish(command);
    (ran.status.code().unwrap_or(-1), format!("{}{}", ran.stdout, ran.stderr))
}

/// The cases that bundles are made of: real failures of drivers, and a few programs that are right on all.
fn cases() -> Vec<PathBuf> {
    let regressions = root().join("corpus/regressions");
    let files = tree(&regressions).into_iter().map(|file| regressions.join(file));
    let is_case = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let vectors = ["V03", "V08", "V13", "V16"].map(vector);
    files.filter(is_case).chain(vectors).collect()
}

/// A bundle of a case as a device runs it, and the exit code that its program must have; `None` if the device cannot run it.
fn bundle_on(folder: &Path, case: &Path, device: &DeviceFacts) -> Option<(PathBuf, i32)> {
    let out = folder.join("bundle");
    let ran = run(["export", &shown(case), "--device", &device.name, "--out", &shown(&out)]);
    if ran.code() == 2 && ran.stderr.contains("cannot run the case") {
        return None;
    }
    ran.expect(0);
    let fails = read(&out.join("README.md")).contains("## How it fails");
    Some((out, if fails { FAILED } else { PASSED }))
}

// ---- the C program ----

#[test]
fn the_c_program_says_what_tangle_says() {
    if !can_build() {
        return;
    }
    // At another vector width a driver runs the same programs: once is enough, since every program is built anew.
    let devices = devices().iter().filter(|device| !device.name.contains("-w"));
    let devices: Vec<_> = devices.filter_map(|device| Some((device, driver(&device.name)?))).collect();
    let compare = |case: &Path| {
        let mut compared = 0;
        for (device, driver) in &devices {
            let folder = scratch();
            let Some((bundle, expected)) = bundle_on(folder.path(), case, device) else { continue };
            let (code, output) = on_driver(driver, &build(&bundle), &[]);
            assert_eq!(code, expected, "{} on {}: {output}", case.display(), device.name);
            compared += 1;
        }
        compared
    };
    let cases = cases();
    let (half, rest) = cases.split_at(cases.len() / 2);
    let compared: u32 = std::thread::scope(|scope| {
        let halves = [half, rest].map(|cases| scope.spawn(move || cases.iter().map(|case| compare(case)).sum::<u32>()));
        halves.map(|half| half.join().expect("a failed comparison says so itself")).iter().sum()
    });
    note!("{compared} exported C programs agree with tangle");
}

#[test]
fn the_c_program_sees_a_planted_wrong_expectation() {
    let Some(device) = quick_device().filter(|_| can_build()) else { return };
    let driver = driver(&device.name).expect("its driver is listed");
    let folder = scratch();
    let case = v01(folder.path(), "plain", "\"default\"");
    let bundle = export(folder.path(), &[&case, "--device", &device.name]);
    let source = read(&bundle.join("repro.c"));
    for (planted, what) in [
        // The first word of the first log that is a value: it follows its site.
        ("@", "a wrong value"),
        ("#", "a wrong site"),
    ] {
        let changed = plant(&source, planted == "@");
        std::fs::write(bundle.join("repro.c"), changed).expect("it can be written");
        let (code, output) = on_driver(&driver, &build(&bundle), &[]);
        assert_eq!(code, FAILED, "{what}: {output}");
        assert!(output.contains("invocations go wrong; first in workgroup 0"), "{what}: {output}");
    }
}

/// Changes the first expected word, or the one after it.
fn plant(source: &str, value: bool) -> String {
    let table = "static const uint32_t expected_log[EXPECTED_WORDS + 1] = {\n    ";
    let at = source.find(table).expect("the table is there") + table.len();
    let mut words: Vec<&str> = source[at..].splitn(3, ", ").collect();
    words[usize::from(value)] = "0x7777";
    format!("{}{}", &source[..at], words.join(", "))
}

#[test]
fn the_c_program_runs_only_where_it_can_judge() {
    let Some(device) = quick_device().filter(|_| can_build()) else { return };
    let driver = driver(&device.name).expect("its driver is listed");
    for (launch, size, says) in [
        ("{\"required\": 128}", "128", "lacks the subgroup size"),
        // The device's own size is another.
        ("\"default\"", "64", "places invocations in other lanes or subgroups"),
    ] {
        let folder = scratch();
        let file = v01(folder.path(), "plain", launch);
        let bundle = export(folder.path(), &[&file, "--subgroup-size", size]);
        let program = build(&bundle);
        let (code, output) = on_driver(&driver, &program, &[]);
        assert_eq!((code, output.contains(says)), (CANNOT_RUN, true), "{says}: {output}");
        let (code, output) = on_driver(&driver, &program, &["no device has this name"]);
        assert_eq!((code, output.contains("CANNOT RUN")), (CANNOT_RUN, true), "{output}");
    }
}

#[test]
fn a_finding_elsewhere_passes_on_a_right_device() {
    if !can_build() {
        return;
    }
    let case = shown(&vector("V16"));
    // What the bundle expects holds for subgroups of 8, the reference device's, at the tier of the case.
    let Some(driver) = device_that_passes(&case, 8).and_then(|device| driver(&device.name)) else {
        note!("no device of this machine passes V16 with subgroups of 8: the bundle of a finding elsewhere is not run");
        return;
    };
    let folder = scratch();
    let found = folder.path().join("found");
    let planted = "reference:mask_always_full";
    run(["run", &case, "--save", &shown(&found), "--device", planted]).expect(1);
    let finding = tree(&found).into_iter().find(|path| path.ends_with("finding.json")).expect("it was saved");
    let finding = found.join(finding).parent().expect("it is in a folder").to_owned();
    let bundle = export(folder.path(), &[&shown(&finding)]);
    let readme = read(&bundle.join("README.md"));
    for part in ["## How it fails", "## Why this is wrong", "## Reproduce", "## Environment", "| subgroup | lane |"] {
        assert!(readme.contains(part), "{part}: {readme}");
    }
    let (code, output) = on_driver(&driver, &build(&bundle), &["", "3"]);
    assert_eq!(code, PASSED, "{output}");
    assert!(output.contains("0 of 3 runs failed"), "{output}");
}

/// Gives the exported program logs in place of a device's.
const FED: &str = r#"
#define main repro_main
#include "repro.c"
#undef main
int main(int argc, char **argv)
{
    static uint32_t logs[ALL * LOG_STRIDE];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(logs, 4, ALL * LOG_STRIDE, file) != ALL * LOG_STRIDE)
        return OTHER;
    return check_logs(expected_map, logs) && check_relations(expected_map, logs) ? PASSED : FAILED;
}
"#;

/// The exit code of an exported program that sees what a reference device logs.
#[track_caller]
fn fed(program: &Path, case: &Case, device: &str) -> i32 {
    let device: Reference = device.parse().expect("there is such a device");
    let stride = log_stride(case) as usize;
    let logs = device.observe(case).expect("it is well-formed").logs;
    let padded = logs.iter().flat_map(|log| log.iter().copied().chain(std::iter::repeat(0)).take(stride));
    let file = program.with_file_name("logs");
    std::fs::write(&file, padded.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).expect("it can be written");
    Command::new(program).arg(&file).status().expect("it was just built").code().unwrap_or(-1)
}

/// A segment of a switch with two labels: at tier plain it is the device's choice whether lanes with different selectors are together.
#[test]
fn bundles_check_the_relation_that_is_broken_in_an_open_tangle() {
    let mut together = read_json(&root().join("corpus/regressions/cluster_in_switch_segment.json"));
    let body = "/program/functions/0/body/0/switch/arms/0/body";
    let body = together.pointer_mut(body).and_then(|body| body.as_array_mut()).expect("the segment");
    let sum = serde_json::json!({"group_non_uniform": {"op": "GroupNonUniformAdd Reduce", "args": [{"u32": 1}]}});
    body[0]["log"]["values"][0] = sum;
    let ballot = body[0]["log"]["values"][1].clone();
    let mut alone = together.clone();
    alone["program"]["functions"][0]["body"][0]["switch"]["arms"][0]["body"][0]["log"]["values"] = vec![ballot].into();
    for (json, fault, words) in [
        // Sums of seven lanes, where there are four or eight.
        (&together, "open_reduce_without_first", 8),
        // A ballot of eight lanes, of which four see another.
        (&alone, "open_ballot_inconsistent", 2),
        // A ballot without the lane itself.
        (&alone, "open_ballot_without_self", 1),
    ] {
        let folder = scratch();
        let file = folder.path().join("case.json");
        std::fs::write(&file, json.to_string()).expect("it can be written");
        let case = Case::from_json(&json.to_string()).expect("a case");
        let faulty = format!("reference:{fault}");
        let bundle = export(folder.path(), &[&shown(&file), "--device", &faulty]);
        let [source, amber, vkrunner] =
            ["repro.c", "case.amber", "case.shader_test"].map(|name| read(&bundle.join(name)));
        let [relations, all_words] = ["#define RELATIONS ", "#define RELATION_WORDS "].map(|define| {
            let number =
                source.lines().find_map(|line| line.strip_prefix(define)?.split(' ').next()?.parse::<usize>().ok());
            number.expect("it is defined")
        });
        assert!(relations > 0 && all_words == words * relations, "{fault}: {all_words} words in {relations} relations");
        assert!(amber.contains("RUN relations_pipeline 1 1 1\nEXPECT broken IDX 0 EQ 0"), "{amber}");
        assert_eq!(vkrunner.matches(" != ").count(), if words == 1 { relations } else { 0 }, "{vkrunner}");
        assert_eq!(vkrunner.contains("not words with each other"), words > 1, "{vkrunner}");
        if !can_build() {
            continue;
        }
        let fed_source = bundle.join("fed.c");
        std::fs::write(&fed_source, FED).expect("it can be written");
        let program = folder.path().join("fed");
        compile(&fed_source, &program).unwrap_or_else(|error| panic!("{fault}: {error}"));
        assert_eq!(fed(&program, &case, &faulty), FAILED, "{fault}");
        for right in ["reference", "reference:minimal"] {
            assert_eq!(fed(&program, &case, right), PASSED, "{fault}: {right} has another choice, and is right");
        }
    }
}

// ---- the other formats ----

#[test]
fn amber_and_vkrunner_say_what_tangle_says() {
    let tools = [("TANGLE_AMBER", "amber", "case.amber"), ("TANGLE_VKRUNNER", "vkrunner", "case.shader_test")];
    for (variable, name, file) in tools {
        let Some(tool) = find_tool(variable, name) else {
            note!(
                "{name} is not installed ({variable} can name it): exported {file} are checked by their grammar only"
            );
            continue;
        };
        let mut compared = 0;
        for device in devices() {
            let Some(driver) = driver(&device.name) else { continue };
            for case in cases() {
                let folder = scratch();
                let Some((bundle, expected)) = bundle_on(folder.path(), &case, device) else { continue };
                if !can_carry(&bundle, file) {
                    continue;
                }
                let script = shown(&bundle.join(file));
                let version = amber_version(&bundle);
                let arguments: &[&str] =
                    if name == "amber" { &["-d", "-q", "-v", &version, &script] } else { &[&script] };
                let (code, output) = on_driver(&driver, &tool, arguments);
                assert_eq!(code, expected, "{} on {}: {output}", case.display(), device.name);
                compared += 1;
            }
        }
        note!("{compared} exported {file} agree with tangle in {name}");
    }
}

fn find_tool(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(PathBuf::from(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Neither checks the rules of the lane map. VkRunner cannot require a subgroup size, and its C version cannot find devices of
/// Vulkan 1.3.
fn can_carry(bundle: &Path, file: &str) -> bool {
    let script = read(&bundle.join(file));
    if script.contains("It expects nothing") {
        return false;
    }
    file == "case.amber" || !(script.contains("It cannot require") || script.contains("vulkan 1.3"))
}

fn amber_version(bundle: &Path) -> String {
    let script = read(&bundle.join("case.amber"));
    let run = script.lines().find_map(|line| line.strip_prefix("# Run: amber -d -v ")).expect("it says how it is run");
    run.split(' ').next().expect("a version").to_owned()
}

// ---- bundles ----

#[test]
fn a_bundle_is_the_same_every_time() {
    let folder = scratch();
    let arguments = ["export", &shown(&vector("V03")), "--subgroup-size", "8", "--out"];
    let places = ["a", "b"].map(|name| folder.path().join(name));
    for place in &places {
        run(arguments.iter().copied().chain([shown(place).as_str()])).expect(0);
    }
    let files = tree(&places[0]);
    assert_eq!(files, tree(&places[1]));
    assert_eq!(files.len(), 7, "{files:?}");
    for file in files {
        assert!(std::fs::read(places[0].join(&file)).ok() == std::fs::read(places[1].join(&file)).ok(), "{file:?}");
    }
}

#[test]
fn a_bundle_overwrites_nothing_but_a_bundle() {
    let folder = scratch();
    std::fs::write(folder.path().join("thesis.txt"), "years of work").expect("it can be written");
    let case = shown(&vector("V03"));
    let out = shown(folder.path());
    run(["export", &case, "--subgroup-size", "8", "--out", &out]).fails_with(&["holds other files", "thesis.txt"]);
    assert_eq!(tree(folder.path()).len(), 1);
    let bundle = export(folder.path(), &[&case, "--subgroup-size", "8"]);
    std::fs::write(bundle.join("README.md"), "old").expect("it can be written");
    export(folder.path(), &[&case, "--subgroup-size", "8"]);
    assert!(read(&bundle.join("README.md")).contains("## Reproduce"));
}

#[test]
fn what_cannot_be_exported_is_told() {
    let folder = scratch();
    let out = shown(&folder.path().join("bundle"));
    let open = v01(folder.path(), "plain", "\"default\"");
    let required = v01(folder.path(), "plain", "{\"required\": 8}");
    for (arguments, parts) in [
        (vec![open.as_str()], ["--device", "--subgroup-size"]),
        (vec![&open, "--subgroup-size", "24"], ["power of two", "128"]),
        (vec![&required, "--subgroup-size", "16"], ["requires", "8"]),
        (vec!["/nowhere/at/all"], ["/nowhere/at/all", "No such file"]),
    ] {
        let mut all = vec!["export"];
        all.extend(arguments);
        all.extend(["--out", &out]);
        run(all).fails_with(&parts);
    }
    assert!(!Path::new(&out).exists());
}

/// A folder with the name of a compute bundle and a shader of another stage in it would be a false reproducer.
#[test]
fn a_shader_of_another_stage_is_not_exported_as_a_compute_shader() {
    let folder = scratch();
    let case = shown(&root().join("corpus/fragments/demote_in_loop.json"));
    let out = shown(&folder.path().join("bundle"));
    let refused = ["no bundle has fragment shaders yet", "compute"];
    run(["export", &case, "--subgroup-size", "8", "--out", &out]).fails_with(&refused);
    let book = folder.path().join("book");
    std::fs::create_dir(&book).expect("ours");
    let page = format!("id = \"a\"\ncase = \"{case}\"\n");
    std::fs::write(book.join("a.toml"), page).expect("ours");
    let book = shown(&book);
    let file = ["bugs", "file", "a", "--book", &book, "--device", "reference"];
    run(file.into_iter().chain(["--out", &out])).fails_with(&refused);
    assert!(!Path::new(&out).exists());
    // The text alone is of any stage, and names no program that is not there.
    let ran = run(file).expect(0);
    assert!(ran.stdout.contains("fragment shaders") && !ran.stdout.contains("repro.c"), "{ran}");
}
