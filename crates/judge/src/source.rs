//! Files that can be judged, and the modules in them.

use std::path::{Path, PathBuf};

use tangle_program::case::{SpirvVersion, Stage};
use tangle_runner::toolchain::{self, AssemblyTarget};

use crate::amber::{Language, Script, ScriptError, Shader};
use crate::contents::{ContentsError, read_bounded};

/// The largest file that is read.
const MAX_FILE: u64 = 64 << 20;

/// SPIR-V's magic number, little-endian (SPIR-V 1.6 §2.3).
const MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Source {
    /// One module, valid SPIR-V.
    Module(Vec<u32>),
    /// A script of AmberScript, with its modules.
    Script(Box<Script>),
}

/// Why a file cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ContentsError),
    /// It is none of the formats.
    #[error("{} is no SPIR-V module, SPIR-V assembly (.spvasm), compute, task or mesh shader in GLSL (.comp, .task, .mesh) or AmberScript (.amber)", .0.display())]
    Format(PathBuf),
    /// The script cannot be run.
    #[error("{}, {error}", path.display())]
    Script {
        /// The file of the script.
        path: PathBuf,
        /// What is wrong with it.
        error: ScriptError,
    },
    /// There is no valid module.
    #[error("{name}: {problem}")]
    Module {
        /// The file, or the shader in a script.
        name: String,
        /// Messages of the compiler, assembler or validator.
        problem: String,
    },
}

impl Source {
    /// Reads a file by its contents and its extension. `target` is what GLSL and assembly are made for, as in [`AssemblyTarget::parse`].
    ///
    /// # Errors
    /// If there is no valid module in it.
    pub fn read(path: &Path, target: Option<&str>) -> Result<Source, SourceError> {
        let bytes = read_bounded(path, MAX_FILE)?;
        let name = path.display().to_string();
        if bytes.starts_with(&MAGIC) {
            return Ok(Source::Module(checked(&name, words(&name, &bytes)?)?));
        }
        let text = String::from_utf8(bytes).map_err(|_| SourceError::Format(path.to_owned()))?;
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension {
            _ if text.starts_with("#!amber") => {
                let script = Script::parse(&text, path.parent().unwrap_or(Path::new(".")))
                    .map_err(|error| SourceError::Script { path: path.to_owned(), error })?;
                Ok(Source::Script(Box::new(script)))
            }
            "spvasm" | "asm" => Ok(Source::Module(assembly(&name, &text, target)?)),
            _ => {
                let is_it = |stage: &Stage| stage.glsl_extension() == extension;
                let stage = if extension == "glsl" { Some(Stage::Compute) } else { Stage::ALL.into_iter().find(is_it) };
                let language = Language::Glsl(stage.ok_or_else(|| SourceError::Format(path.to_owned()))?);
                let target = target.unwrap_or("spv1.5").into();
                Ok(Source::Module(module(&name, &Shader { language, target, source: text, line: 1 })?))
            }
        }
    }
}

/// The words of a file.
fn words(name: &str, bytes: &[u8]) -> Result<Vec<u32>, SourceError> {
    if !bytes.len().is_multiple_of(4) {
        let problem = format!("{} bytes are no whole number of words", bytes.len());
        return Err(SourceError::Module { name: name.into(), problem });
    }
    Ok(tangle_files::words::from_bytes(bytes))
}

/// The module of an assembly file: for the version that the disassembler noted in it, else for the newest for which it is valid.
fn assembly(name: &str, text: &str, target: Option<&str>) -> Result<Vec<u32>, SourceError> {
    let made = |target: &str| {
        let source = text.to_owned();
        module(name, &Shader { language: Language::Assembly, target: target.into(), source, line: 1 })
    };
    let noted =
        text.lines().find_map(|line| line.strip_prefix("; Version: ")).map(|version| format!("spv{}", version.trim()));
    if let Some(target) = target.or(noted.as_deref()) {
        return made(target);
    }
    // `BufferBlock` went with 1.4, and other things came.
    made("spv1.6").or_else(|newest| made("spv1.3").map_err(|_| newest))
}

/// The module of a shader: compiled or assembled, and validated.
///
/// # Errors
/// If there is none.
pub fn module(name: &str, shader: &Shader) -> Result<Vec<u32>, SourceError> {
    let failed = |problem: String| SourceError::Module { name: name.into(), problem };
    let words = match shader.language {
        Language::Glsl(stage) => {
            let version = glsl_version(&shader.target)
                .ok_or_else(|| failed(format!("'{}' is no target for GLSL", shader.target)))?;
            toolchain::make_with_lines(&shader.source, stage, version).map_err(|error| failed(error.to_string()))?
        }
        Language::Assembly => {
            // Amber's default, which is also the oldest.
            let name = if shader.target.is_empty() { "spv1.0" } else { &shader.target };
            let target = AssemblyTarget::parse(name).ok_or_else(|| failed(format!("'{name}' is no target")))?;
            toolchain::assemble(&shader.source, target).map_err(failed)?
        }
    };
    checked(name, words)
}

/// The version of SPIR-V that GLSL is compiled to. Those before 1.3 lack nothing but what GLSL has no words for.
fn glsl_version(target: &str) -> Option<SpirvVersion> {
    Some(match target {
        "" | "spv1.0" | "spv1.1" | "spv1.2" | "spv1.3" | "vulkan1.0" | "vulkan1.1" => SpirvVersion::V1_3,
        "spv1.4" => SpirvVersion::V1_4,
        "spv1.5" | "vulkan1.2" => SpirvVersion::V1_5,
        "spv1.6" | "vulkan1.3" => SpirvVersion::V1_6,
        _ => return None,
    })
}

fn checked(name: &str, words: Vec<u32>) -> Result<Vec<u32>, SourceError> {
    // Vulkan 1.3 takes every version of SPIR-V up to 1.6. The layout of blocks is a matter of the device's features.
    match toolchain::validate_scalar_layout(&words, SpirvVersion::V1_6) {
        Ok(()) => Ok(words),
        Err(problem) => Err(SourceError::Module { name: name.into(), problem: format!("not valid: {problem}") }),
    }
}
