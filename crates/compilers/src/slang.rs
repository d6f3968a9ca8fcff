//! Slang, which takes its own language and HLSL, by its command `slangc`. A process for each shader takes some 0.3 seconds, most of them for Slang's own library of
//! declarations.
//!
//! `-O0` leaves out what `spirv-opt` would do, which Slang has in a library of another package.

use std::path::Path;

use tangle_features::Feature;
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::tree::{Stmt, walk_block};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed};
use crate::started;

/// `slangc` with shaders in Slang itself.
pub(crate) const SLANG: Compiler = Compiler {
    name: "slang",
    language: Language::Slang,
    about: "Slang, by its command slangc",
    // The attribute MaximallyReconverges: "Emits `MaximallyReconvergesKHR` execution mode when producing SPIR-V." (core.meta.slang)
    promise: Tier::Maximal,
    stages: |_| &[Stage::Compute, Stage::Task, Stage::Mesh, Stage::Fragment],
    // What it makes for 1.3 says that it is 1.4.
    least_spirv: SpirvVersion::V1_4,
    lacks_features: &[
        Feature::SharedInt64Atomics,
        Feature::BufferInt64Atomics,
        // There is no attribute for it.
        Feature::SubgroupUniformControlFlow,
    ],
    lacks,
    fitted: Some(fitted),
    find,
    compile: |call| compile(call, Language::Slang),
    command: |version, stage| Some(format!("slangc {}", arguments(version, stage, Language::Slang).join(" "))),
};

pub(crate) const HLSL: Compiler = Compiler {
    name: "slang",
    language: Language::Hlsl,
    about: "Slang, by its command slangc, with HLSL",
    promise: Tier::Plain,
    compile: |call| compile(call, Language::Hlsl),
    command: |version, stage| Some(format!("slangc {}", arguments(version, stage, Language::Hlsl).join(" "))),
    ..SLANG
};

fn find(named: Option<&Path>) -> Result<Found, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => installed(HLSL.name).ok_or_else(|| absent(HLSL.name))?.join("slangc"),
    };
    if !path.is_file() {
        return Err(format!("there is no {}", path.display()));
    }
    let version = path.parent().and_then(|folder| std::fs::read_to_string(folder.join("version")).ok());
    let version = version.map_or_else(|| path.display().to_string(), |version| version.trim().to_owned());
    Ok(Found { path: Some(path), version, ..Found::default() })
}

/// Attributes of a switch, which it takes before an `if` only, and `discard` before SPIR-V 1.6: that is `OpKill`, which may end the invocation.
fn lacks(case: &Case) -> Vec<String> {
    let mut attribute = false;
    for function in &case.program.functions {
        walk_block(&function.body, &mut |stmt| {
            attribute |= matches!(stmt, Stmt::Switch { control, .. } if !control.is_unspecified());
        });
    }
    let discards = case.program.demotes() && case.entry_point.spirv < SpirvVersion::V1_6;
    let lacking =
        [(attribute, "attributes of a switch, with Slang"), (discards, "discard before SPIR-V 1.6, with Slang")];
    lacking.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what.to_owned()).collect()
}

fn fitted(case: &mut Case) {
    if case.program.demotes() {
        case.entry_point.spirv = SpirvVersion::V1_6;
    }
}

/// What it calls a stage.
const fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "compute",
        Stage::Task => "amplification",
        Stage::Mesh => "mesh",
        Stage::Fragment => "fragment",
        Stage::Vertex => "vertex",
        Stage::TessellationControl => "hull",
        Stage::TessellationEvaluation => "domain",
        Stage::Geometry => "geometry",
    }
}

fn arguments(version: SpirvVersion, stage: Stage, language: Language) -> Vec<&'static str> {
    let profile = match version {
        SpirvVersion::V1_3 => "sm_6_6+spirv_1_3",
        SpirvVersion::V1_4 => "sm_6_6+spirv_1_4",
        SpirvVersion::V1_5 => "sm_6_6+spirv_1_5",
        SpirvVersion::V1_6 => "sm_6_6+spirv_1_6",
    };
    let language = ["-lang", language.name(), source_file(language)];
    let fixed = ["-target", "spirv", "-O0", "-entry", "main", "-warnings-disable", "41012,41024"];
    let rest = ["-stage", stage_name(stage), "-o", "shader.spv", "-profile", profile];
    language.into_iter().chain(fixed).chain(rest).collect()
}

const fn source_file(language: Language) -> &'static str {
    if matches!(language, Language::Slang) { "shader.slang" } else { "shader.hlsl" }
}

fn compile(call: &Call<'_>, language: Language) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(HLSL.name))) };
    let folder = started::folder(&[(source_file(language), call.source)])?;
    let mut command = started::command(path, call.prefix);
    command.args(arguments(call.version, call.stage, language)).current_dir(folder.path());
    if let Some(libraries) = path.parent() {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    match started::run(&mut command) {
        Err(Failure::Refused(said)) => Err(Failure::Refused(from_first_error(&said))),
        Err(failure) => Err(failure),
        Ok(_) => started::module(&started::read(&folder, "shader.spv")?),
    }
}

/// What it says from its first error on: warnings come before it.
fn from_first_error(said: &str) -> String {
    let lines: Vec<&str> =
        said.lines().skip_while(|line| !line.starts_with("error") && !line.contains("internal")).collect();
    if lines.is_empty() { said.to_owned() } else { lines.join("\n") }
}
