//! SPIRV-Cross, as a round trip: glslang's module of the GLSL becomes GLSL again, and that a module again. It has to mean what the first one
//! means. By the library where `./x setup` got it, in a process that is kept running, else by the program `spirv-cross`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use shaderc::SourceLanguage;
use tangle_features::Feature;
use tangle_program::case::{SpirvVersion, Stage, Tier};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed, installed_program};
use crate::server::{Kept, Server};
use crate::{glslang, started};

pub(crate) const GLSL: Compiler = Compiler {
    name: "spirv-cross",
    language: Language::Glsl,
    about: "SPIRV-Cross: SPIR-V to GLSL, between two runs of glslang",
    // The attributes of `main` are lost.
    promise: Tier::Plain,
    stages: |_| &[Stage::Compute],
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
    command: |_, _| {
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
    let library = library(path).filter(|_| !NO_LIBRARY.load(Ordering::Relaxed));
    let by_library = library.and_then(|library| match by_library(&library, call.prefix, &module) {
        // There is no Python that it runs in, say.
        Err(Failure::Absent(_)) => {
            NO_LIBRARY.store(true, Ordering::Relaxed);
            None
        }
        printed => Some(printed),
    });
    let source = by_library.unwrap_or_else(|| by_program(path, call.prefix, &module))?;
    glslang::module(&Call { source: &source, ..*call }, SourceLanguage::GLSL)
        .map_err(|failure| by("what it makes is no GLSL", failure))
}

/// SPIRV-Cross as a library, beside the program that `./x setup` got. It prints what the program prints, and need not be started for each module.
fn library(program: &Path) -> Option<PathBuf> {
    let folder = installed(GLSL.name).filter(|folder| program.starts_with(folder))?;
    let library = folder.join("lib/libspirv-cross-c-shared.so.0");
    library.is_file().then_some(library)
}

/// Answers a line for each module; see there.
const SCRIPT: &str = include_str!("spirv_cross.py");

/// The library does not run: the program does what it would do.
static NO_LIBRARY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static RUNNING: Kept = const { Kept::new() };
}

/// Ends the process, if there is one.
pub(crate) fn end() {
    RUNNING.with(Kept::end);
}

fn by_library(library: &Path, prefix: &[String], module: &[u32]) -> Result<String, Failure> {
    let start = || {
        let python = started::python().map_err(Failure::Absent)?;
        let mut command = started::command(Path::new(&python), prefix);
        command.args(["-I", "-c", SCRIPT]).arg(library);
        Server::start(&mut command, "SPIRV-Cross")
    };
    let digit = |number: u8| char::from_digit(number.into(), 16).unwrap_or('0');
    let bytes = module.iter().flat_map(|word| word.to_le_bytes());
    let line: String = bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    match RUNNING.with(|running| running.ask(library, &line, start))? {
        (kind, source) if kind == "glsl" => Ok(source),
        (kind, reason) if kind == "absent" => Err(Failure::Absent(reason)),
        (_, message) => Err(Failure::Refused(message)),
    }
}

fn by_program(program: &Path, prefix: &[String], module: &[u32]) -> Result<String, Failure> {
    let folder = started::folder(&[])?;
    let failed = |error: std::io::Error| Failure::Absent(format!("cannot write a module: {error}"));
    std::fs::write(folder.path().join("first.spv"), tangle_files::words::to_bytes(module)).map_err(failed)?;
    let mut command = started::command(program, prefix);
    command.args(["-V", "--version", "450", "first.spv", "--output", "second.comp"]).current_dir(folder.path());
    started::run(&mut command)?;
    Ok(String::from_utf8_lossy(&started::read(&folder, "second.comp")?).into_owned())
}

#[cfg(test)]
mod tests {
    use tangle_program::case::Case;

    use super::*;

    #[test]
    fn the_library_prints_what_the_program_prints() {
        let Ok(Found { path: Some(path), prefix, .. }) = GLSL.found() else { return };
        let Some(library) = library(&path) else { return };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/patterns");
        let mut compared = 0;
        for entry in std::fs::read_dir(root).expect("the corpus") {
            let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a text");
            let Ok(case) = Case::from_json(&text) else { continue };
            let (source, version) = (tangle_emit::source(&case), case.entry_point.spirv);
            let call = Call { source: &source, stage: Stage::Compute, version, path: Some(&path), prefix: &prefix };
            let Ok(module) = glslang::module(&call, SourceLanguage::GLSL) else { continue };
            let ends = |printed: Result<String, Failure>| printed.map(|text| text.trim_end().to_owned());
            let [by_library, by_program] =
                [by_library(&library, &prefix, &module), by_program(&path, &prefix, &module)].map(ends);
            match by_program {
                Err(Failure::Refused(_)) => assert!(matches!(by_library, Err(Failure::Refused(_))), "{source}"),
                printed => assert_eq!(by_library, printed, "{source}"),
            }
            compared += 1;
        }
        assert!(compared > 10, "{compared} modules");
    }
}
