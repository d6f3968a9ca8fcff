//! DXC, Microsoft's DirectXShaderCompiler, with its SPIR-V back end: the library `libdxcompiler.so` in this process, or somebody's own build of the
//! program `dxc`.
//!
//! The language is HLSL 2021, in which `&&`, `||` and `?:` evaluate what they need and no more (DirectXShaderCompiler wiki, "HLSL 2021").

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use tangle_features::Feature;
use tangle_program::case::{SpirvVersion, Stage, Tier};
use tangle_program::variant::Language;

use crate::compiler::{Call, Compiler, Failure, Found, absent, installed};
use crate::dxc_api::Library;
use crate::started;

pub(crate) const HLSL: Compiler = Compiler {
    name: "dxc",
    language: Language::Hlsl,
    about: "DirectXShaderCompiler",
    promise: Tier::Plain,
    stages,
    least_spirv: SpirvVersion::V1_3,
    // WaveMatch and WaveMultiPrefix* came to its SPIR-V back end with 1.8.2405 (pull requests 6596 and 6608).
    lacks_features: &[Feature::SubgroupPartitioned, Feature::SharedInt64Atomics, Feature::BufferInt64Atomics],
    lacks: |_| Vec::new(),
    fitted: None,
    find,
    compile,
    command: |version, stage| Some(format!("dxc {} shader.hlsl -Fo shader.spv", arguments(version, stage).join(" "))),
};

/// DXC 1.7 writes task and mesh shaders with SPV_NV_mesh_shader, whatever extensions are allowed, and makes no valid fragment shader that asks for its lane: the
/// variable is not decorated `Flat` (VUID-StandaloneSpirv-Flat-04744).
fn stages(found: &Found) -> &'static [Stage] {
    const ALL: &[Stage] = &[Stage::Compute, Stage::Fragment, Stage::Task, Stage::Mesh];
    if found.path.as_deref().is_some_and(is_before_1_8) { &ALL[..1] } else { ALL }
}

/// The name of the library in the folder that the set-up makes.
const LIBRARY: &str = "libdxcompiler.so";

fn find(named: Option<&Path>) -> Result<Found, String> {
    let (path, version) = match named {
        Some(path) => (path.to_owned(), None),
        None => {
            let folder = installed(HLSL.name).ok_or_else(|| absent(HLSL.name))?;
            (folder.join(LIBRARY), std::fs::read_to_string(folder.join("version")).ok())
        }
    };
    if !path.is_file() {
        return Err(format!("there is no {}", path.display()));
    }
    let version = version.map_or_else(|| path.display().to_string(), |version| version.trim().to_owned());
    Ok(Found { path: Some(path), version, ..Found::default() })
}

/// The shader profile of a stage.
const fn profile(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "cs_6_6",
        Stage::Task => "as_6_6",
        Stage::Mesh => "ms_6_6",
        Stage::Fragment => "ps_6_6",
        Stage::Vertex => "vs_6_6",
        Stage::TessellationControl => "hs_6_6",
        Stage::TessellationEvaluation => "ds_6_6",
        Stage::Geometry => "gs_6_6",
    }
}

/// `discard` makes a helper of a lane in modules for Vulkan 1.3, and in others where the extension is asked for, which leaves out all that are not; else it is
/// `OpKill`, which may end the invocation (DirectXShaderCompiler, `docs/SPIR-V.rst`).
const FRAGMENT: [&str; 4] = [
    "-fspv-extension=KHR",
    "-fspv-extension=SPV_EXT_demote_to_helper_invocation",
    "-fspv-extension=SPV_EXT_descriptor_indexing",
    "-fspv-extension=SPV_EXT_shader_viewport_index_layer",
];

/// Those that decide on the module.
fn arguments(version: SpirvVersion, stage: Stage) -> Vec<&'static str> {
    let environment = match version {
        // Its versions before 1.7.2207 know no environment with SPIR-V 1.4; a module of 1.3 is good for whoever takes 1.4.
        SpirvVersion::V1_3 | SpirvVersion::V1_4 => "-fspv-target-env=vulkan1.1",
        SpirvVersion::V1_5 => "-fspv-target-env=vulkan1.2",
        SpirvVersion::V1_6 => "-fspv-target-env=vulkan1.3",
    };
    let fixed = ["-T", profile(stage), "-E", "main", "-spirv", environment, "-HV", "2021", "-enable-16bit-types"];
    let demotes = stage == Stage::Fragment && version < SpirvVersion::V1_6;
    fixed.into_iter().chain(FRAGMENT.into_iter().filter(|_| demotes)).collect()
}

thread_local! {
    static LOADED: RefCell<Option<(PathBuf, Library)>> = const { RefCell::new(None) };
}

/// True of a library that is known to be older than DXC 1.8: what is known of it stands in a file beside it.
fn is_before_1_8(library: &Path) -> bool {
    let said = library.parent().and_then(|folder| std::fs::read_to_string(folder.join("version")).ok());
    let version = said.as_deref().and_then(|said| said.strip_prefix("DXC 1."));
    let minor = version.and_then(|version| version.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    minor.is_some_and(|minor| minor < 8)
}

fn compile_by_library(library: &Library, call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    // Profile and entry point are arguments of their own.
    let arguments = arguments(call.version, call.stage).split_off(4);
    match library.compile(call.source, "main", profile(call.stage), &arguments)? {
        Ok(module) => started::module(&module),
        Err(said) => {
            let said = String::from_utf8_lossy(&said).replace('\0', "");
            Err(Failure::Refused(first_error(&said).unwrap_or_else(|| "it fails and says nothing".into())))
        }
    }
}

/// What it says from its first error on: warnings may come before it.
fn first_error(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.contains("error:")).collect();
    let text = if lines.is_empty() { said.trim().to_owned() } else { lines.join("\n") };
    Some(text).filter(|text| !text.is_empty())
}

fn compile(call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let Some(path) = call.path else { return Err(Failure::Absent(absent(HLSL.name))) };
    if !path.to_string_lossy().contains(".so") {
        return compile_by_program(path, call);
    }
    LOADED.with(|loaded| {
        let mut loaded = loaded.borrow_mut();
        match &*loaded {
            Some((there, library)) if there == path => compile_by_library(library, call),
            _ => {
                let library = Library::open(path, is_before_1_8(path)).map_err(Failure::Absent)?;
                compile_by_library(&loaded.insert((path.to_owned(), library)).1, call)
            }
        }
    })
}

fn compile_by_program(program: &Path, call: &Call<'_>) -> Result<Vec<u32>, Failure> {
    let folder = started::folder(&[("shader.hlsl", call.source)])?;
    let mut command = started::command(program, call.prefix);
    command
        .args(arguments(call.version, call.stage))
        .args(["shader.hlsl", "-Fo", "shader.spv"])
        .current_dir(folder.path());
    started::run(&mut command)?;
    started::module(&started::read(&folder, "shader.spv")?)
}
