//! SPIRV-Cross, as a round trip: glslang's module of the GLSL becomes GLSL again, and that a module again. It has to mean what the first one
//! means. By the program `spirv-cross`.

use std::path::Path;

use shaderc::SourceLanguage;
use tangle_features::Feature;
use tangle_program::case::{SpirvVersion, Stage, Tier};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed, installed_program};
use crate::{glslang, started};

pub(crate) const GLSL: Compiler = Compiler {
    name: "spirv-cross",
    language: Language::Glsl,
    about: "SPIRV-Cross: SPIR-V to GLSL, between two runs of glslang",
    // The attributes of `main` are lost.
    promise: Tier::Plain,
    least_spirv: SpirvVersion::V1_3,
    // "Invalid group operation." is what it says of partitioned operations; subgroup operations on integers of 8, 16 and 64 bits miss their
    // extension in what it prints. The execution modes of derivative groups and of float controls are lost in it without a word. GLSL has no operator for remainders
    // of negative numbers.
    lacks_features: &[
        Feature::ComputeDerivativeGroupQuads,
        Feature::ComputeDerivativeGroupLinear,
        Feature::SubgroupPartitioned,
        Feature::QuadControl,
        Feature::ExpectAssume,
        Feature::IntegerDotProduct,
        Feature::Maintenance8,
        Feature::ShaderInt8,
        Feature::ShaderInt16,
        Feature::ShaderInt64,
        Feature::ShaderFloat16,
        Feature::SharedInt64Atomics,
        Feature::BufferInt64Atomics,
    ],
    lacks: |case| {
        let stage = case.entry_point.stage;
        if stage == Stage::Compute { Vec::new() } else { vec![format!("stage {} in this round trip", stage.name())] }
    },
    fitted: None,
    find,
    compile,
    command: |_| {
        Some(
            "spirv-cross -V --version 450 first.spv --output second.comp # between two runs of glslangValidator".into(),
        )
    },
};

fn find(named: Option<&Path>) -> Result<Found, String> {
    let (path, prefix) = match named {
        Some(path) => (path.to_owned(), Vec::new()),
        None => installed_program(&installed(GLSL.name).ok_or_else(|| absent(GLSL.name))?, "spirv-cross"),
    };
    if !path.is_file() {
        return Err(format!("there is no {}", path.display()));
    }
    let version = path.parent().and_then(|folder| std::fs::read_to_string(folder.join("version")).ok());
    let version = version.map_or_else(|| path.display().to_string(), |version| version.trim().to_owned());
    Ok(Found { path: Some(path), prefix, version })
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(GLSL.name))) };
    let by = |who: &str, failure| match failure {
        Failure::Refused(message) => Failure::Refused(format!("{who}: {message}")),
        absent => absent,
    };
    let module = glslang::module(call, SourceLanguage::GLSL).map_err(|failure| by("glslang, before it", failure))?;
    let bytes = tangle_files::words::to_bytes(&module);
    let folder = started::folder(&[])?;
    let failed = |error: std::io::Error| Failure::Absent(format!("cannot write a module: {error}"));
    std::fs::write(folder.path().join("first.spv"), bytes).map_err(failed)?;
    let mut command = started::command(path, call.prefix);
    command.args(["-V", "--version", "450", "first.spv", "--output", "second.comp"]).current_dir(folder.path());
    started::run(&mut command)?;
    let source = String::from_utf8_lossy(&started::read(&folder, "second.comp")?).into_owned();
    glslang::module(&Call { source: &source, ..*call }, SourceLanguage::GLSL)
        .map_err(|failure| by("what it makes is no GLSL", failure))
}
