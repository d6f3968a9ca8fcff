//! What a row says of a compiler, how it is found, and what compilers share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use tangle_features::{Feature, FeatureSet, Vulkan, for_stage, of_stages_only};
use tangle_program::case::{Case, SpirvVersion, Stage, Tier};
use tangle_program::tree::{Block, Expr, Function};
use tangle_program::variant::{FrontEnd, Language};

/// A compiler of a language: a row of [`TABLE`](crate::TABLE).
pub struct Compiler {
    /// The name behind the `@`.
    pub name: &'static str,
    /// The language that it compiles to SPIR-V.
    pub language: Language,
    /// What it is, for lists.
    pub about: &'static str,
    /// The stages whose shaders it is given, by which of it is there.
    pub stages: fn(&Found) -> &'static [Stage],
    /// The strongest tier whose promise its modules can carry.
    pub promise: Tier,
    /// Features of Vulkan whose cases are not generated for it, beside those that the language has not.
    pub lacks_features: &'static [Feature],
    /// The oldest SPIR-V that it makes.
    pub least_spirv: SpirvVersion,
    /// What of a case it does not take although the language has it, in words; empty if it takes all.
    pub lacks: fn(&Case) -> Vec<String>,
    /// Replaces in a random case what it does not take, if it does not take all that its language says.
    pub fitted: Option<fn(&mut Case)>,
    /// Finds it: at a place that somebody named, or else where `./x setup` and the system have it.
    pub find: fn(Option<&Path>) -> Result<Found, String>,
    /// Makes SPIR-V of a shader of a stage whose entry point is `main`, with the target environment that goes with the version.
    pub compile: fn(&Call<'_>) -> Result<Vec<u32>, Failure>,
    /// The command line that does the same, for reports; `None` if there is none. `shader.hlsl`, or with the extension of its
    /// language, is the source, `shader.spv` the module.
    pub command: fn(SpirvVersion, Stage) -> Option<String>,
}

/// A compiler that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The file: a library or a program; `None` for one that is part of tangle.
    pub path: Option<PathBuf>,
    /// The command that starts it, if it is a program that has to be started by another one.
    pub prefix: Vec<String>,
    /// Its version, on one line.
    pub version: String,
}

/// One compilation: what is compiled, and by which file.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The source of the shader, in the compiler's language.
    pub source: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The version of SPIR-V.
    pub version: SpirvVersion,
    /// The compiler's file, as [`Compiler::find`] gave it.
    pub path: Option<&'a Path>,
    /// The command that starts it, as [`found`](crate::found) gave it.
    pub prefix: &'a [String],
}

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The compiler refuses the shader, crashes or hangs, and says or shows so.
    Refused(String),
    /// It does not run here, or was killed from outside: nothing is said of the shader.
    Absent(String),
}

impl Compiler {
    /// The name with the language.
    pub fn front_end(&self) -> FrontEnd {
        FrontEnd { language: self.language, compiler: self.name.to_owned() }
    }

    /// The features of Vulkan that it or its language does not know, float controls, and those of the stages that it is not given.
    pub fn without(&self, found: &Found) -> impl Iterator<Item = Feature> {
        let promise = [
            (Tier::SubgroupUniform, Feature::SubgroupUniformControlFlow),
            (Tier::Maximal, Feature::MaximalReconvergence),
        ];
        let unpromised = promise.into_iter().filter(|(tier, _)| *tier > self.promise).map(|(_, feature)| feature);
        let of_language: &[Feature] = match self.language {
            Language::Glsl => &[],
            Language::Hlsl | Language::Slang => &[
                Feature::SubgroupClustered,
                Feature::QuadControl,
                Feature::Maintenance4,
                Feature::Maintenance8,
                Feature::ExpectAssume,
                Feature::IntegerDotProduct,
                Feature::ShaderInt8,
            ],
            Language::Wgsl => &[
                Feature::SubgroupClustered,
                Feature::SubgroupRotateClustered,
                Feature::SubgroupPartitioned,
                Feature::QuadControl,
                Feature::Maintenance4,
                Feature::ExpectAssume,
                Feature::ShaderInt8,
                Feature::ShaderInt16,
                Feature::ShaderInt64,
                Feature::ShaderFloat64,
                Feature::SharedInt64Atomics,
                Feature::BufferInt64Atomics,
            ],
        };
        // What Slang has beside HLSL.
        let of_hlsl = (self.language == Language::Hlsl).then_some(Feature::SubgroupRotateClustered);
        let of_own: FeatureSet = (self.stages)(found).iter().flat_map(|&stage| for_stage(stage).iter()).collect();
        let of_stages = of_stages_only().without(of_own).iter();
        // HLSL, Slang and WGSL cannot say them, and SPIRV-Cross loses them.
        let float_controls = tangle_features::TABLE.iter().filter(|row| matches!(row.vulkan, Vulkan::FloatControl(_)));
        let float_controls = float_controls.map(|row| row.feature);
        let own = of_language.iter().chain(self.lacks_features).copied().chain(of_hlsl).chain(float_controls);
        own.chain(unpromised).chain(of_stages)
    }

    /// Finds it, at a place that [`set_own_build`] named if it did.
    ///
    /// # Errors
    /// Why it is not there, and how to get it.
    pub fn found(&self) -> Result<Found, String> {
        self.found_as(self.name)
    }

    /// Finds a build of it by the build's name.
    pub(crate) fn found_as(&self, name: &str) -> Result<Found, String> {
        let place = place(name);
        if place.is_none() && name != self.name {
            return Err(format!("it is a build of your own: --compiler {name}=PATH"));
        }
        let OwnBuild { path, prefix } = place.unwrap_or_default();
        let found = (self.find)(Some(path).filter(|path| !path.as_os_str().is_empty()).as_deref())?;
        Ok(if prefix.is_empty() { found } else { Found { prefix, ..found } })
    }
}

/// Where somebody's own build of a compiler is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnBuild {
    /// Its file or folder.
    pub path: PathBuf,
    /// A command that starts it, if it is a program: another C library's `ld-linux-x86-64.so.2 --library-path FOLDER`, say.
    pub prefix: Vec<String>,
}

/// The places that somebody named.
static OWN_BUILDS: Mutex<BTreeMap<String, OwnBuild>> = Mutex::new(BTreeMap::new());

/// Has a compiler, or a build of one, be the one at this place.
pub fn set_own_build(name: &str, place: OwnBuild) {
    OWN_BUILDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name.to_owned(), place);
}

fn place(name: &str) -> Option<OwnBuild> {
    OWN_BUILDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(name).cloned()
}

/// The folder into which `./x setup --compilers` puts a compiler.
pub fn installed(name: &str) -> Option<PathBuf> {
    Some(tangle_files::cache_folder()?.join("compilers").join(name)).filter(|folder| folder.is_dir())
}

/// A program in the folder of a compiler that `./x setup` got, and the command that starts it: the dynamic linker beside it, if its libraries need another
/// one than the system's. The script of the program's name does the same for people, and costs a shell.
pub(crate) fn installed_program(folder: &Path, name: &str) -> (PathBuf, Vec<String>) {
    let Ok(loader) = std::fs::read_to_string(folder.join("loader")) else { return (folder.join(name), Vec::new()) };
    let libraries = folder.join("lib");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let prefix = vec![text(&libraries.join(loader.trim())), "--library-path".into(), text(&libraries)];
    (folder.join("program"), prefix)
}

/// What to say of a compiler that is not there.
pub(crate) fn absent(name: &str) -> String {
    format!("it is not here: ./x setup --compilers {name}, or --compiler {name}=PATH")
}

/// Has every expression of a case be changed, operands before what they are operands of. The function that it is in is given without its body.
pub(crate) fn change_exprs(case: &mut Case, change: &mut dyn FnMut(&Function, &mut Expr)) {
    fn of_expr(function: &Function, expr: &mut Expr, change: &mut dyn FnMut(&Function, &mut Expr)) {
        expr.operands_mut().into_iter().for_each(|operand| of_expr(function, operand, change));
        change(function, expr);
    }
    fn of_block(function: &Function, block: &mut Block, change: &mut dyn FnMut(&Function, &mut Expr)) {
        for stmt in block {
            stmt.direct_exprs_mut().into_iter().for_each(|expr| of_expr(function, expr, change));
            stmt.nested_blocks_mut().into_iter().for_each(|block| of_block(function, block, change));
        }
    }
    for function in &mut case.program.functions {
        function.change_body(|function, body| of_block(function, body, change));
    }
}
