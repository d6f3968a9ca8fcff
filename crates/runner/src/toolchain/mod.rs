//! GLSL → SPIR-V, and what SPIRV-Tools does with SPIR-V: validate, disassemble, optimise. What programs of unknown merit go through runs in
//! processes of its own ([`make`], [`read`]); the rest is for single modules and tests, in this process.
//!
//! The compiler is shaderc (glslang); SPIRV-Tools is inside the same static library and called through its C interface
//! (`spirv_tools.rs`). Versions are part of every result of tangle: [`version`].

mod apart;
mod spirv_tools;

use shaderc::{CompileOptions, Compiler, EnvVersion, OptimizationLevel, ShaderKind, SourceLanguage, TargetEnv};

pub(crate) use apart::run_if_requested;
pub use apart::{FAULT, check, compile_by, make, make_by, make_with_lines, read, slow};
pub use spirv_tools::AssemblyTarget;
use tangle_program::case::{SpirvVersion, Stage};

/// Version of the shaderc crate, which pins the sources of the compiler (`Cargo.toml` of the workspace).
const SHADERC_CRATE: &str = "0.10.1";

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolchainError {
    /// The GLSL is wrong, or the front end thinks so. The message has one line for each error, with line numbers.
    #[error("GLSL does not compile: {0}")]
    Compile(String),
    /// Another compiler refuses the shader, crashes or hangs.
    #[error("it does not compile: {0}")]
    Refused(String),
    /// The front end made a module that breaks the rules of SPIR-V or of Vulkan.
    #[error("SPIR-V is not valid: {0}")]
    Invalid(String),
    /// The optimiser failed: it says so, or it crashed or hung.
    #[error("spirv-opt {0}")]
    Optimiser(String),
    /// The optimiser made a module that breaks the rules of SPIR-V or of Vulkan.
    #[error("spirv-opt made SPIR-V that is not valid: {0}")]
    Spoilt(String),
    /// The front end's module does not promise what the shader asks for.
    #[error("{0}")]
    Weakened(String),
    /// What the optimiser made does not promise what the module before did.
    #[error("spirv-opt loses a promise: {0}")]
    WeakenedByOptimiser(String),
    /// It does not run here: nothing was said of any module.
    #[error("the shader toolchain does not run: {0}")]
    Internal(String),
}

thread_local! {
    /// Setting one up costs more than a compilation.
    static COMPILER: Result<Compiler, String> = Compiler::new().map_err(|error| error.to_string());
}

/// Compiles a shader, without optimisation. It is a compute shader unless it says another stage in a `#pragma shader_stage`. The module has
/// exactly the version asked for.
///
/// # Errors
///
/// [`ToolchainError::Compile`] when the source is at fault, else [`ToolchainError::Internal`].
pub fn compile(glsl: &str, version: SpirvVersion) -> Result<Vec<u32>, ToolchainError> {
    compile_with(glsl, Stage::Compute, &options(version)?)
}

/// As [`compile`], of a shader of any stage, with the lines of the source in the module (`OpLine`). `#pragma shader_stage` in the source counts more.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_with_lines(glsl: &str, stage: Stage, version: SpirvVersion) -> Result<Vec<u32>, ToolchainError> {
    let mut options = options(version)?;
    options.set_generate_debug_info();
    compile_with(glsl, stage, &options)
}

fn compile_with(glsl: &str, stage: Stage, options: &CompileOptions<'_>) -> Result<Vec<u32>, ToolchainError> {
    if glsl.contains('\0') {
        return Err(ToolchainError::Compile("the source contains a NUL character".to_owned()));
    }
    COMPILER.with(|compiler| {
        let compiler = compiler.as_ref().map_err(|error| ToolchainError::Internal(error.clone()))?;
        let kind = default_kind(stage);
        let name = format!("shader.{}", stage.glsl_extension());
        let compiled = compiler.compile_into_spirv(glsl, kind, &name, "main", Some(options));
        match compiled {
            Ok(module) => Ok(module.as_binary().to_vec()),
            Err(shaderc::Error::CompilationError(_, message)) => {
                Err(ToolchainError::Compile(message.trim().to_owned()))
            }
            Err(error) => Err(ToolchainError::Internal(error.to_string())),
        }
    })
}

const fn default_kind(stage: Stage) -> ShaderKind {
    match stage {
        Stage::Compute => ShaderKind::DefaultCompute,
        Stage::Task => ShaderKind::DefaultTask,
        Stage::Mesh => ShaderKind::DefaultMesh,
        Stage::Fragment => ShaderKind::DefaultFragment,
        Stage::Vertex => ShaderKind::DefaultVertex,
        Stage::TessellationControl => ShaderKind::DefaultTessControl,
        Stage::TessellationEvaluation => ShaderKind::DefaultTessEvaluation,
        Stage::Geometry => ShaderKind::DefaultGeometry,
    }
}

/// Compiles and validates.
///
/// # Errors
///
/// As [`compile`], and [`ToolchainError::Invalid`] when the validator rejects what the front end made.
pub fn compile_and_validate(glsl: &str, version: SpirvVersion) -> Result<Vec<u32>, ToolchainError> {
    let module = compile(glsl, version)?;
    validate(&module, version).map_err(ToolchainError::Invalid)?;
    Ok(module)
}

fn options(version: SpirvVersion) -> Result<CompileOptions<'static>, ToolchainError> {
    let mut options = CompileOptions::new().map_err(|error| ToolchainError::Internal(error.to_string()))?;
    // Vulkan 1.1 takes SPIR-V 1.4 as an extension. The version of SPIR-V is set by itself, because that of Vulkan would
    // imply another one.
    let (vulkan, spirv) = match version {
        SpirvVersion::V1_3 => (EnvVersion::Vulkan1_1, shaderc::SpirvVersion::V1_3),
        SpirvVersion::V1_4 => (EnvVersion::Vulkan1_1, shaderc::SpirvVersion::V1_4),
        SpirvVersion::V1_5 => (EnvVersion::Vulkan1_2, shaderc::SpirvVersion::V1_5),
        SpirvVersion::V1_6 => (EnvVersion::Vulkan1_3, shaderc::SpirvVersion::V1_6),
    };
    options.set_target_env(TargetEnv::Vulkan, vulkan as u32);
    options.set_target_spirv(spirv);
    options.set_source_language(SourceLanguage::GLSL);
    options.set_optimization_level(OptimizationLevel::Zero);
    options.set_suppress_warnings();
    Ok(options)
}

/// Checks a module against SPIR-V and against the Vulkan version that goes with `version`.
///
/// # Errors
///
/// The validator's message.
pub fn validate(module: &[u32], version: SpirvVersion) -> Result<(), String> {
    spirv_tools::Context::new(version).validate(module)
}

/// Checks a module as [`validate`] does, for a device with `scalarBlockLayout` and `workgroupMemoryExplicitLayoutScalarBlockLayout`.
///
/// # Errors
///
/// The validator's message.
pub fn validate_scalar_layout(module: &[u32], version: SpirvVersion) -> Result<(), String> {
    spirv_tools::Context::new(version).validate_scalar_layout(module)
}

/// The module as text, with friendly names and indentation.
///
/// # Errors
///
/// The message of SPIRV-Tools when the words are no SPIR-V.
pub fn disassemble(module: &[u32]) -> Result<String, String> {
    spirv_tools::Context::new(SpirvVersion::V1_6).disassemble(module)
}

/// The module of an assembly text (`spirv-as`).
///
/// # Errors
///
/// The assembler's message, with the line.
pub fn assemble(text: &str, target: AssemblyTarget) -> Result<Vec<u32>, String> {
    spirv_tools::assemble(text, target)
}

/// Runs the optimiser of SPIRV-Tools over a module, with flags of `spirv-opt`: `-O`, `-Os`, `--merge-return`. It runs in this process,
/// which it takes along if it crashes; see [`make`].
///
/// # Errors
///
/// The optimiser's messages. Its result is not validated here.
pub fn optimise(module: &[u32], version: SpirvVersion, flags: &[String]) -> Result<Vec<u32>, String> {
    spirv_tools::optimise(module, version, flags)
}

/// Versions of everything a module goes through, on one line.
pub fn version() -> String {
    format!("shaderc crate {SHADERC_CRATE}, glslang {}, SPIRV-Tools {}", glslang_version(), optimiser_version())
}

/// The version of glslang.
pub fn glslang_version() -> String {
    spirv_tools::glslang_version()
}

/// The version of SPIRV-Tools, whose optimiser it is.
pub fn optimiser_version() -> String {
    spirv_tools::spirv_tools_version()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::inspect;
    use tangle_features::Feature;

    const SHADER: &str = "#version 460
        #extension GL_KHR_shader_subgroup_ballot : require
        #extension GL_EXT_maximal_reconvergence : require
        layout(local_size_x = 8, local_size_y = 2) in;
        layout(set = 0, binding = 0) buffer Log { uint words[]; };
        void main() [[maximally_reconverges]] {
            uint unused = 1u + 2u;
            words[gl_LocalInvocationIndex] = subgroupBallot((gl_LocalInvocationIndex & 1u) != 0u).x;
        }";

    #[test]
    fn every_version_compiles_validates_and_says_what_it_needs() {
        for version in SpirvVersion::ALL {
            let module = compile_and_validate(SHADER, version).unwrap();
            let facts = inspect(&module, &[]).unwrap();
            assert_eq!(facts.version_word, version.word());
            assert_eq!(facts.local_size, Some([8, 2, 1]));
            assert!(facts.features.contains(Feature::SubgroupBallot));
            assert!(facts.features.contains(Feature::MaximalReconvergence));
        }
    }

    #[test]
    fn a_compile_error_has_its_line() {
        let error = compile("#version 460\nvoid main() { x = 1; }\n", SpirvVersion::V1_3).unwrap_err();
        let ToolchainError::Compile(message) = error else { panic!("{error}") };
        assert!(message.contains("shader.comp:2:") && message.contains("'x' : undeclared identifier"), "{message}");
        assert!(matches!(compile("\0", SpirvVersion::V1_3), Err(ToolchainError::Compile(_))));
    }

    #[test]
    fn the_validator_rejects_a_module_of_a_newer_version() {
        let module = compile(SHADER, SpirvVersion::V1_5).unwrap();
        assert!(validate(&module, SpirvVersion::V1_3).unwrap_err().contains("Invalid SPIR-V binary version"));
        assert!(validate(&module[..module.len() - 1], SpirvVersion::V1_5).is_err());
        assert!(validate(&[], SpirvVersion::V1_5).is_err());
    }

    #[test]
    fn disassembly_has_names_and_no_colour() {
        let module = compile(SHADER, SpirvVersion::V1_3).unwrap();
        let text = disassemble(&module).unwrap();
        assert!(text.contains("OpExecutionMode %main MaximallyReconvergesKHR"), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(disassemble(&[1, 2, 3]).is_err());
    }

    #[test]
    fn assembly_is_the_inverse_of_disassembly_and_errors_have_their_line() {
        let target = AssemblyTarget::parse("spv1.3").unwrap();
        let module = compile(SHADER, SpirvVersion::V1_3).unwrap();
        let again = assemble(&disassemble(&module).unwrap(), target).unwrap();
        assert_eq!(again[1], SpirvVersion::V1_3.word());
        validate(&again, SpirvVersion::V1_3).unwrap();
        let error = assemble("OpCapability Shader\nOpNonsense\n", target).unwrap_err();
        assert!(error.starts_with("line 2: ") && error.contains("OpNonsense"), "{error}");
    }

    #[test]
    fn optimisers_make_the_module_smaller_and_keep_it_valid() {
        let module = compile(SHADER, SpirvVersion::V1_5).unwrap();
        for flag in ["-O", "-Os"] {
            let optimised = optimise(&module, SpirvVersion::V1_5, &[flag.to_owned()]).unwrap();
            validate(&optimised, SpirvVersion::V1_5).unwrap();
            assert!(optimised.len() < module.len());
        }
        assert!(optimise(&[1, 2, 3], SpirvVersion::V1_5, &["-Os".to_owned()]).is_err());
        assert!(optimise(&module, SpirvVersion::V1_5, &["--melt".to_owned()]).unwrap_err().contains("--melt"));
    }

    #[test]
    fn the_version_names_all_three() {
        let version = version();
        for part in ["shaderc crate 0.10.1", "glslang 15.", "SPIRV-Tools v20"] {
            assert!(version.contains(part), "{version}");
        }
        assert_eq!(version.lines().count(), 1);
    }

    #[test]
    fn the_crate_version_is_the_one_in_the_lock_file() {
        let workspace = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
        assert!(workspace.contains(&format!("shaderc = {{ version = \"={SHADERC_CRATE}\"")));
    }
}
