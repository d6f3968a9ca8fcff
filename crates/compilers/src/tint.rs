//! Tint, Chrome's compiler of WGSL: as Dawn uses it on Vulkan, or somebody's own build of the program `tint`.
//!
//! Dawn comes as the Python package `wgpudawn`, and a script (`tint.py`) that is kept running has it dump the modules that it gives to
//! the Vulkan driver: with Dawn's choices of transforms for that driver, indices restricted to what they index among them, and arrays of the
//! workgroup filled with zeros. The driver is SwiftShader where the set-up has it, since Dawn asks for more than old drivers have.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use shaderc::{CompileOptions, EnvVersion, TargetEnv};
use tangle_features::Feature;
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed};
use crate::server::{Kept, Server};
use crate::started;

pub(crate) const WGSL: Compiler = Compiler {
    name: "tint",
    language: Language::Wgsl,
    about: "Tint, Chrome's shader compiler, in Dawn",
    promise: Tier::Plain,
    // With Dawn's toggle `use_spirv_1_4`, on by default where the driver takes it.
    least_spirv: SpirvVersion::V1_4,
    // SwiftShader has none, and without them Dawn refuses the shader.
    lacks_features: &[Feature::ShaderFloat16],
    lacks,
    fitted: None,
    find,
    compile,
    command: |_| Some("tint --format spirv --output-name shader.spv shader.wgsl".into()),
};

/// The most invocations of a workgroup, and the most in its third dimension, that every device has (WebGPU, Limits:
/// `maxComputeInvocationsPerWorkgroup`, `maxComputeWorkgroupSizeZ`).
const MOST_INVOCATIONS: u32 = 256;
const MOST_IN_Z: u32 = 64;

fn lacks(case: &Case) -> Vec<String> {
    let mut lacking = Vec::new();
    if case.entry_point.stage == Stage::Compute {
        let size = case.entry_point.workgroups().size;
        if size.iter().product::<u32>() > MOST_INVOCATIONS || size[2] > MOST_IN_Z {
            lacking.push("workgroups larger than WebGPU's limits".to_owned());
        }
    }
    lacking
}

/// The file of the Python package by which it is recognised.
const PACKAGE: &str = "wgpudawn/__init__.py";

fn find(named: Option<&Path>) -> Result<Found, String> {
    if let Some(path) = named {
        let version = path.display().to_string();
        return match path.is_file() || path.join(PACKAGE).is_file() {
            true => Ok(Found { path: Some(path.to_owned()), version, ..Found::default() }),
            false => {
                Err(format!("{version} is neither the program tint nor a folder with the Python package wgpudawn"))
            }
        };
    }
    let folder = installed(WGSL.name).ok_or_else(|| absent(WGSL.name))?;
    let version = std::fs::read_to_string(folder.join("version")).unwrap_or_default();
    Ok(Found { path: Some(folder), version: version.trim().to_owned(), ..Found::default() })
}

/// Answers a line for each shader; see there.
const SCRIPT: &str = include_str!("tint.py");

thread_local! {
    static RUNNING: Kept = const { Kept::new() };
}

/// Ends the process, if there is one.
pub(crate) fn end() {
    RUNNING.with(Kept::end);
}

fn start(folder: &Path) -> Result<Server, Failure> {
    let mut command = Command::new("python3");
    command.args(["-I", "-c", SCRIPT]).arg(folder);
    let swiftshader = tangle_files::cache_folder().map(|cache| cache.join("drivers/swiftshader/swiftshader.json"));
    if let Some(manifest) = swiftshader.filter(|manifest| manifest.is_file()) {
        command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", manifest);
    }
    Server::start(&mut command, "Dawn")
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(WGSL.name))) };
    if path.is_file() {
        return compile_by_program(path, call);
    }
    let line = Value::from(call.source).to_string();
    match RUNNING.with(|running| running.ask(path, &line, || start(path)))? {
        (kind, text) if kind == "spirv" => assembled(&text),
        (_, message) => Err(Failure::Refused(message)),
    }
}

/// The module of a text that has its version in a comment, as the disassembler of SPIRV-Tools writes it.
fn assembled(text: &str) -> Result<Vec<u32>, Failure> {
    let absent = |error: shaderc::Error| Failure::Absent(error.to_string());
    let mut options = CompileOptions::new().map_err(absent)?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_3 as u32);
    let module = shaderc::Compiler::new().map_err(absent)?.assemble(text, Some(&options));
    let refused = |reason: &str| Failure::Refused(format!("what it dumps cannot be assembled: {reason}"));
    let mut words = module.map_err(|error| refused(&error.to_string()))?.as_binary().to_vec();
    let version = text.lines().find_map(|line| line.strip_prefix("; Version: 1.")?.trim().parse::<u32>().ok());
    words[1] = 1 << 16 | version.ok_or_else(|| refused("it has no version"))? << 8;
    Ok(words)
}

fn compile_by_program(program: &Path, call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let folder = started::folder(&[("shader.wgsl", call.source)])?;
    let mut command = started::command(program, call.prefix);
    command.args(["--format", "spirv", "--output-name", "shader.spv", "shader.wgsl"]).current_dir(folder.path());
    started::run(&mut command)?;
    started::module(&started::read(&folder, "shader.spv")?)
}
