//! Bundles run without tangle: the C program says of every device what tangle says, and so do Amber and VkRunner where they are
//! installed (or named by `TANGLE_AMBER` and `TANGLE_VKRUNNER`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::*;
use tangle_analysis::cost::log_stride;
use tangle_campaign::executor::reference::Reference;
use tangle_features::Api;
use tangle_oracle::faults::fragment::FragmentFault;
use tangle_oracle::faults::items::ItemFault;
use tangle_oracle::faults::workgroup::WorkgroupFault;
use tangle_oracle::judge::{Observation, Verdict, judge};
use tangle_oracle::map::SubgroupPromise;
use tangle_program::case::{Case, Draw, Items, Launch, Stage};
use tangle_program::map_buffer;
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

/// The Vulkan driver of a device, by the device's name.
fn driver(device: &str) -> Option<DriverConfig> {
    let name = device.split('#').next().unwrap_or(device);
    tangle_runner::drivers(None).ok()?.into_iter().find(|driver| driver.name == name && driver.api == Api::Vulkan)
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

/// The cases that bundles are made of: real failures of drivers, fragment shaders, and a few programs that are right on all.
fn cases() -> Vec<PathBuf> {
    let folders = ["corpus/regressions", "corpus/fragments"].map(|folder| root().join(folder));
    let files = folders.into_iter().flat_map(|folder| tree(&folder).into_iter().map(move |file| folder.join(file)));
    let is_case = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let vectors = ["V03", "V08", "V13", "V16"].map(vector);
    files.filter(is_case).chain(vectors).collect()
}

/// A bundle of a case as a device runs it, and the exit code that its program must have; `None` if the device cannot run it, or if there is
/// no module.
fn bundle_on(folder: &Path, case: &Path, device: &DeviceFacts) -> Option<(PathBuf, i32)> {
    let out = folder.join("bundle");
    let ran = run(["export", &shown(case), "--device", &device.name, "--out", &shown(&out)]);
    if ran.code() == 2 && ran.stderr.contains("cannot run the case") {
        return None;
    }
    ran.expect(0);
    // A compiler that fails leaves nothing to run.
    if !out.join("shader.spv").is_file() {
        return None;
    }
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
    let is_compared = |case: &Path, (device, driver): &(&DeviceFacts, DriverConfig)| {
        let folder = scratch();
        let Some((bundle, expected)) = bundle_on(folder.path(), case, device) else { return false };
        let (code, output) = on_driver(driver, &build(&bundle), &[]);
        assert_eq!(code, expected, "{} on {}: {output}", case.display(), device.name);
        true
    };
    // Each case on one device that runs it, so that each device has its share.
    let compare = |k: usize, case: &Path| {
        devices.iter().cycle().skip(k).take(devices.len()).any(|device| is_compared(case, device))
    };
    let cases = cases();
    let compared: usize = std::thread::scope(|scope| {
        let (cases, compare) = (&cases, &compare);
        let half = |first| move || (first..cases.len()).step_by(2).filter(|&k| compare(k, &cases[k])).count();
        let halves = [0, 1].map(|first| scope.spawn(half(first)));
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
    for (text, size, fault) in [
        (read(&vector("V16")), 8, "mask_always_full"),
        (in_stage("V16", Stage::Mesh), 8, "mask_always_full"),
        (in_stage("V16", Stage::Task), 8, "mask_always_full"),
        (in_stage("V16", Stage::Fragment), 8, "mask_always_full"),
        // Vertex shaders have subgroups on SwiftShader only, at tier plain.
        (in_stage("V04", Stage::Vertex).replace("\"maximal\"", "\"plain\""), 4, "mask_always_full"),
    ] {
        let folder = scratch();
        let case = shown(&folder.path().join("case.json"));
        std::fs::write(&case, &text).expect("it can be written");
        let stage = Case::from_json(&text).expect("a case").entry_point.stage.name();
        let found = folder.path().join("found");
        let planted = format!("reference:{fault}@{size}");
        run(["run", &case, "--save", &shown(&found), "--device", &planted]).expect(1);
        let finding = tree(&found).into_iter().find(|path| path.ends_with("finding.json")).expect("it was saved");
        let finding = found.join(finding).parent().expect("it is in a folder").to_owned();
        let bundle = export(folder.path(), &[&shown(&finding)]);
        let readme = read(&bundle.join("README.md"));
        for part in ["## How it fails", "## Why this is wrong", "## Reproduce", "## Environment", "| subgroup | lane |"]
        {
            assert!(readme.contains(part), "{stage}: {part}: {readme}");
        }
        // What the bundle expects holds for subgroups of this size, at the tier of the case.
        let Some(driver) = device_that_passes(&case, size).and_then(|device| driver(&device.name)) else {
            note!(
                "no device of this machine passes the {stage} shader with subgroups of {size}: its bundle is not run"
            );
            continue;
        };
        let (code, output) = on_driver(&driver, &build(&bundle), &["", "3"]);
        assert_eq!(code, PASSED, "{stage}: {output}");
        assert!(output.contains("0 of 3 runs failed"), "{stage}: {output}");
    }
}

/// Gives the exported program a lane map and logs in place of a device's, whose subgroups are of 8.
const FED: &str = r#"
#define main repro_main
#include "repro.c"
#undef main
int main(int argc, char **argv)
{
    static uint32_t map[BUFFER_LENGTH], logs[ALL * LOG_STRIDE];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(map, 4, BUFFER_LENGTH, file) != BUFFER_LENGTH || fread(logs, 4, ALL * LOG_STRIDE, file) != ALL * LOG_STRIDE)
        return OTHER;
    struct device device = {.subgroup = {.subgroupSize = 8}};
    struct work work = {0};
    work.buffers[MAP].words = map;
    work.buffers[LOG].words = logs;
    return judge(&device, &work);
}
"#;

/// Builds the program of a bundle so that [`fed`] can feed it.
#[track_caller]
fn build_fed(bundle: &Path) -> PathBuf {
    let source = bundle.join("fed.c");
    std::fs::write(&source, FED).expect("it can be written");
    let program = bundle.with_file_name("fed");
    compile(&source, &program).unwrap_or_else(|error| panic!("{}: {error}", bundle.display()));
    program
}

/// The exit code of an exported program that sees what a reference device makes of the case.
#[track_caller]
fn fed(program: &Path, case: &Case, seen: &Observation) -> i32 {
    let stride = log_stride(case) as usize;
    let padded = seen.logs.iter().flat_map(|log| log.iter().copied().chain(std::iter::repeat(0)).take(stride));
    let words = map_buffer::pack(&case.entry_point, &seen.map).into_iter().chain(padded);
    let file = program.with_file_name("seen");
    std::fs::write(&file, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).expect("it can be written");
    Command::new(program).arg(&file).output().expect("it was just built").status.code().unwrap_or(-1)
}

/// What a reference device makes of a case.
#[track_caller]
fn seen_by(device: &str, case: &Case) -> Observation {
    let device: Reference = device.parse().expect("there is such a device");
    device.observe(case).expect("it is well-formed")
}

/// Lane maps and logs of devices with planted faults: the program fails where tangle does.
#[test]
fn the_c_program_catches_planted_faults_of_every_stage() {
    if !can_build() {
        return;
    }
    let faults = [
        FragmentFault::ALL.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        ItemFault::ALL.iter().map(|fault| fault.name()).collect(),
        WorkgroupFault::ALL.iter().map(|fault| fault.name()).collect(),
        vec!["mask_always_full".into(), "elect_highest".into()],
    ];
    let promise = SubgroupPromise::vulkan(8, 8, 8);
    let corpus = |name: &str| read(&root().join(format!("corpus/{name}.json")));
    for (text, least) in [
        (corpus("fragments/demote_invocation"), 15),
        (corpus("fragments/terminate_helpers"), 10),
        (in_stage("V16", Stage::Fragment), 15),
        (in_stage("V16", Stage::Vertex), 8),
        (in_stage("V16", Stage::TessellationControl), 8),
        (in_stage("V16", Stage::TessellationEvaluation), 8),
        (in_stage("V16", Stage::Geometry), 8),
        (in_stage("V16", Stage::Mesh), 1),
        (in_stage("V16", Stage::Task), 1),
    ] {
        let folder = scratch();
        let file = folder.path().join("case.json");
        std::fs::write(&file, &text).expect("it can be written");
        let case = Case::from_json(&text).expect("a case");
        let program = build_fed(&export(folder.path(), &[&shown(&file), "--subgroup-size", "8"]));
        let stage = case.entry_point.stage.name();
        assert_eq!(fed(&program, &case, &seen_by("reference", &case)), PASSED, "{stage}");
        let mut caught = 0;
        for fault in faults.iter().flatten() {
            let seen = seen_by(&format!("reference:{fault}"), &case);
            let verdict = judge(&case, &seen, promise).verdict;
            let expected: &[i32] = match verdict {
                Verdict::Pass => &[PASSED],
                Verdict::Vacuous => &[PASSED, CANNOT_RUN],
                _ => &[FAILED],
            };
            let code = fed(&program, &case, &seen);
            assert!(expected.contains(&code), "{stage}, {fault}: {code} where tangle says {verdict:?}");
            caught += u32::from(code == FAILED);
        }
        assert!(caught >= least, "{stage}: {caught} faults are caught");
        note!("{stage}: the exported program catches {caught} planted faults");
    }
}

/// A vector as a case of another stage, at tier maximal, as JSON.
#[track_caller]
fn in_stage(vector_name: &str, stage: Stage) -> String {
    let mut case = Case::from_json(&read(&vector(vector_name))).expect("a case");
    let invocations = case.entry_point.invocations();
    case.entry_point.stage = stage;
    case.entry_point.spirv = case.entry_point.spirv.max(stage.first_spirv());
    if stage == Stage::Fragment {
        // Two quads, both with fragments and helpers. A triangle that ends outside of the framebuffer may be cut in two.
        assert_eq!(invocations, 8, "{vector_name} is another now");
        let triangles = vec![[[0, 0], [4, 0], [0, 2]]];
        case.entry_point.launch = Launch::Draw(Draw::new([4, 2], triangles));
    }
    if stage.item_names().is_some() {
        case.entry_point.launch = Launch::Items(Items { size: invocations, count: 1 });
        case.data.inputs.iter_mut().for_each(|input| input.resize((invocations * Items::EXECUTIONS) as usize, 0));
    }
    serde_json::to_string(&case).expect("it was JSON")
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
        let program = build_fed(&bundle);
        assert_eq!(fed(&program, &case, &seen_by(&faulty, &case)), FAILED, "{fault}");
        for right in ["reference", "reference:minimal"] {
            assert_eq!(
                fed(&program, &case, &seen_by(right, &case)),
                PASSED,
                "{fault}: {right} has another choice, and is right"
            );
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
    if !bundle.join(file).is_file() {
        return false;
    }
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

/// A bundle has the formats that can launch the stage, and its README names no other command.
#[test]
fn a_bundle_has_what_its_stage_can_have() {
    let fragments = read(&root().join("corpus/fragments/demote_in_loop.json"));
    for (case, command, has_amber) in [
        (fragments, "vkCmdDraw(commands, VERTICES", true),
        (in_stage("V16", Stage::Geometry), "vkCmdDraw(commands, VERTICES", true),
        (in_stage("V16", Stage::Mesh), "vkCmdDrawMeshTasksEXT", false),
    ] {
        let folder = scratch();
        let file = folder.path().join("case.json");
        std::fs::write(&file, case).expect("it can be written");
        let bundle = export(folder.path(), &[&shown(&file), "--subgroup-size", "8"]);
        let [program, readme] = ["repro.c", "README.md"].map(|name| read(&bundle.join(name)));
        assert!(program.contains(command) && !program.contains("vkCmdDispatch"), "{program}");
        assert_eq!(
            (bundle.join("case.amber").is_file(), bundle.join("case.shader_test").is_file()),
            (has_amber, false)
        );
        assert_eq!(readme.contains("amber -d -v"), has_amber, "{readme}");
        assert_eq!(readme.contains("Amber has no task and mesh shaders"), !has_amber, "{readme}");
        assert!(readme.contains("only compute shaders are exported to VkRunner"), "{readme}");
    }
}
