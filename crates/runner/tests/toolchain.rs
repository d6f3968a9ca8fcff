//! The compilers in processes of their own: what goes wrong there is a failure of its step, or nobody's.

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Instant;

use common::worker_exe;
use tangle_program::case::Stage;
use tangle_runner::SpirvVersion;
use tangle_runner::toolchain::{FAULT, compile_and_validate, compile_by, make, make_by, read};

const SHADER: &str = "#version 460
    layout(local_size_x = 8) in;
    layout(set = 0, binding = 0) buffer Log { uint words[]; };
    void main() {
        uint sum = 0u;
        for (uint i = 0u; i < 8u; i++) { sum += words[i] * 3u; }
        words[gl_LocalInvocationIndex] = sum;
    }";

/// Not a test of its own: compiles a shader, and prints the result.
#[test]
#[ignore = "started by another test"]
fn compiles() {
    compile_by(worker_exe());
    for _ in 0..3 {
        match make(SHADER, SpirvVersion::V1_3, &["-O".to_owned()]) {
            Ok(module) => println!("=made {}.", read(&module).unwrap().contains("OpReturn")),
            Err(error) => println!("={error}."),
        }
    }
}

/// What a program gets whose compilers have this fault.
fn with(fault: &str) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "compiles"])
        .env(FAULT, fault)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let results = text.lines().filter_map(|line| line.split_once('=')?.1.split_once('.'));
    results.map(|(result, _)| result.to_owned()).collect()
}

/// What is said of a process that was killed while the system killed for want of memory.
const SHORT_OF_MEMORY: &str = "ran out of memory: killed by the system's out-of-memory killer";

#[test]
fn what_goes_wrong_is_a_failure_of_its_step() {
    for (fault, expected) in [
        ("", "made true"),
        ("compile:crash", "GLSL does not compile: the compiler killed by SIGABRT"),
        ("validate:crash", "SPIR-V is not valid: the validator killed by SIGABRT"),
        ("optimise:crash", "spirv-opt killed by SIGABRT"),
        ("optimise:garbage", "spirv-opt made SPIR-V that is not valid: "),
        ("validate-optimised:crash", "spirv-opt made SPIR-V that is not valid: the validator killed by SIGABRT"),
        // Nobody's.
        (
            "optimise:kill",
            "the shader toolchain does not run: 4 of its processes were killed: spirv-opt killed by SIGKILL",
        ),
        (
            "compile:kill",
            "the shader toolchain does not run: 4 of its processes were killed: GLSL does not compile: the compiler",
        ),
    ] {
        // Where the system kills something else of this machine for want of memory, it cannot be told who killed the compiler.
        let results = with(fault).into_iter();
        let results: Vec<String> = results.map(|result| result.replace(SHORT_OF_MEMORY, "killed by SIGKILL")).collect();
        assert_eq!(results.len(), 3, "{fault}");
        assert!(results.iter().all(|result| result.starts_with(expected)), "{fault}: {results:?}");
    }
}

/// A compiler that the out-of-memory killer or somebody else ends has not refused the shader.
#[test]
fn a_compiler_that_is_killed_from_outside_is_no_failure_of_its_shader() {
    compile_by(worker_exe());
    let folder = tempfile::tempdir().unwrap();
    let (compiler, front_end) = (folder.path().join("slangc"), "hlsl@slang".parse().unwrap());
    let place = tangle_compilers::OwnBuild { path: compiler.clone(), ..Default::default() };
    tangle_compilers::set_own_build("slang", place);
    for (script, expected) in [
        ("kill -KILL $$", "the shader toolchain does not run: hlsl@slang does not run: slangc was killed by signal 9"),
        (
            "echo \"slangc: error while loading shared libraries: libx.so: cannot open shared object file: No such file\"; exit 127",
            "the shader toolchain does not run: hlsl@slang does not run: it needs libx.so, which this system does not have",
        ),
        ("kill -SEGV $$", "it does not compile: slangc crashes with signal 11"),
        // Once only.
        (
            "test -e ../again || { touch ../again; kill -KILL $$; }; echo error: no; exit 1",
            "it does not compile: error: no",
        ),
    ] {
        let script = script.replace("../again", &folder.path().join("again").display().to_string());
        std::fs::write(&compiler, format!("#!/bin/sh\n({script}) >&2\n")).unwrap();
        std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
        let said = make_by(&front_end, Stage::Compute, "", SpirvVersion::V1_3, &[]).unwrap_err().to_string();
        assert!(said.starts_with(expected), "{script}: {said}");
    }
}

/// Not a test: says what a process of its own costs.
#[test]
#[ignore = "measures"]
fn speed() {
    compile_by(worker_exe());
    let shaders: Vec<String> = (0..300).map(|n| SHADER.replace("* 3u", &format!("* {n}u"))).collect();
    let time = |what: &str, make: &dyn Fn(&str)| {
        let begin = Instant::now();
        shaders.iter().for_each(|shader| make(shader));
        println!("{what}: {:.0} µs", begin.elapsed().as_secs_f64() * 1e6 / shaders.len() as f64);
    };
    for _ in 0..3 {
        time("in this process", &|shader| drop(compile_and_validate(shader, SpirvVersion::V1_3).unwrap()));
        time("in another", &|shader| drop(make(shader, SpirvVersion::V1_3, &[]).unwrap()));
    }
}
