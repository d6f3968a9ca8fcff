//! The compilers of shading languages that tangle tests: one row each in [`TABLE`], one file each.
//!
//! A front end is a printer (`tangle_emit`, by [`Language`]) and a compiler: `hlsl@dxc`. A row says what a compiler is called, which language
//! it takes, how it is found, how a shader becomes SPIR-V, what of the language's share of cases it does not take, and which promise of
//! convergence its modules carry. Whoever lists, runs or leaves out compilers reads the table.
//!
//! ```text
//!   case ──► printer of the language ──► source ──► Compiler::compile ──► SPIR-V ──► spirv-val ──► interpreter, drivers
//! ```
//!
//! [`Compiler::compile`] runs in a process of the toolchain (`tangle_runner::toolchain`), which may crash, hang or eat all memory.
//! A compiler that is a program of its own is started from there, with limits of its own ([`started`]).
//!
//! GLSL by glslang, what every case is without a choice, has no row: it is `tangle_runner::toolchain::compile`.

mod clang;
mod dxc;
mod dxc_api;
pub mod faults;
mod glslang;
mod naga;
mod slang;
mod spirv_cross;
pub mod started;
mod tint;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tangle_analysis::validate::validate;
use tangle_features::{Feature, of_stages_only};
use tangle_program::case::{Case, SpirvVersion, Tier};
use tangle_program::tree::{Block, Expr, Function};
use tangle_program::variant::{FrontEnd, Language};

/// Every compiler.
pub static TABLE: &[Compiler] =
    &[glslang::HLSL, dxc::HLSL, slang::HLSL, clang::HLSL, naga::WGSL, tint::WGSL, spirv_cross::GLSL];

/// A row.
pub struct Compiler {
    /// The name behind the `@`.
    pub name: &'static str,
    /// What it compiles.
    pub language: Language,
    /// What it is, for lists.
    pub about: &'static str,
    /// The strongest tier whose promise its modules can carry.
    pub promise: Tier,
    /// Features of Vulkan whose cases are not generated for it, beside those that the language has not.
    pub lacks_features: &'static [Feature],
    /// The oldest SPIR-V that it makes.
    pub least_spirv: SpirvVersion,
    /// What of a case it does not take although the language has it, in words; empty if it takes all.
    pub lacks: fn(&Case) -> Vec<String>,
    /// Replaces in a random case what it does not take.
    pub fitted: fn(&mut Case),
    /// Finds it: at a place that somebody named, or else where `./x setup` and the system have it.
    pub find: fn(Option<&Path>) -> Result<Found, String>,
    /// Makes SPIR-V of a shader whose entry point is `main`, with the target environment that goes with the version.
    pub compile: fn(&Call<'_>) -> Result<Vec<u32>, Failure>,
    /// The command line that does the same, for reports; `None` if there is none. `shader.hlsl`, or with the extension of its
    /// language, is the source, `shader.spv` the module.
    pub command: fn(SpirvVersion) -> Option<String>,
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

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The shader.
    pub source: &'a str,
    /// The version of SPIR-V.
    pub version: SpirvVersion,
    /// The compiler's file, as [`Compiler::find`] gave it.
    pub path: Option<&'a Path>,
    /// The command that starts it, as [`found`] gave it.
    pub prefix: &'a [String],
}

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The features of Vulkan that neither it nor its language knows, and those of the stages that it is not given: all but compute.
    pub fn without(&self) -> impl Iterator<Item = Feature> {
        let promise = [
            (Tier::SubgroupUniform, Feature::SubgroupUniformControlFlow),
            (Tier::Maximal, Feature::MaximalReconvergence),
        ];
        let unpromised = promise.into_iter().filter(|(tier, _)| *tier > self.promise).map(|(_, feature)| feature);
        let of_language: &[Feature] = match self.language {
            Language::Glsl => &[],
            Language::Hlsl => &[
                Feature::SubgroupClustered,
                Feature::SubgroupRotateClustered,
                Feature::QuadControl,
                Feature::Maintenance4,
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
        let of_stages = of_stages_only().iter();
        of_language.iter().chain(self.lacks_features).copied().chain(unpromised).chain(of_stages)
    }

    /// Finds it, at a place that [`set_place`] named if it did.
    ///
    /// # Errors
    /// Why it is not there, and how to get it.
    pub fn found(&self) -> Result<Found, String> {
        self.found_as(self.name)
    }

    /// Finds a build of it by the build's name.
    fn found_as(&self, name: &str) -> Result<Found, String> {
        let place = place(name);
        if place.is_none() && name != self.name {
            return Err(format!("it is a build of your own: --compiler {name}=PATH"));
        }
        let Place { path, prefix } = place.unwrap_or_default();
        let found = (self.find)(Some(path).filter(|path| !path.as_os_str().is_empty()).as_deref())?;
        Ok(Found { prefix, ..found })
    }
}

/// The row of a front end; `None` if there is none. `clang.base` and `clang.patched` are builds of `clang`.
pub fn row(front_end: &FrontEnd) -> Option<&'static Compiler> {
    let name = front_end.compiler.split('.').next().unwrap_or_default();
    TABLE.iter().find(|row| row.language == front_end.language && row.name == name)
}

/// Finds the compiler of a front end, which may be a build of one's own beside others of the same compiler.
///
/// # Errors
/// Why it is not there, and how to get it.
pub fn found(front_end: &FrontEnd) -> Result<Found, String> {
    row(front_end).ok_or_else(|| "no compiler is called so".to_owned())?.found_as(&front_end.compiler)
}

/// The front ends that a word names: `dxc`, with the language `hlsl@dxc`, or a build of one's own, `dxc.patched`.
pub fn named(word: &str) -> Vec<FrontEnd> {
    let as_word = |row: &Compiler| {
        let compiler = word.strip_prefix(row.language.name()).and_then(|rest| rest.strip_prefix('@')).unwrap_or(word);
        let text = format!("{}@{compiler}", row.language.name());
        text.parse().ok().filter(|front_end| self::row(front_end).is_some_and(|own| std::ptr::eq(own, row)))
    };
    TABLE.iter().filter_map(as_word).collect()
}

/// What is wrong with a case for a front end: what its compiler does not take, or that it is not here. Empty if it can be compiled.
pub fn missing(front_end: &FrontEnd, case: &Case) -> Vec<String> {
    let Some(row) = row(front_end) else { return vec![format!("compiler {front_end} (unknown)")] };
    match found(front_end) {
        Ok(_) if case.entry_point.spirv < row.least_spirv => {
            vec![format!("SPIR-V {} with {front_end}", case.entry_point.spirv)]
        }
        Ok(_) => (row.lacks)(case),
        Err(reason) => vec![format!("compiler {front_end} ({reason})")],
    }
}

/// The nearest to a random case that a front end can say ([`tangle_emit::fitted`]), as far as that is a valid one.
pub fn fitted(front_end: &FrontEnd, mut case: Case) -> Case {
    let Some(row) = row(front_end) else { return tangle_emit::fitted(front_end.language, case) };
    case.entry_point.spirv = case.entry_point.spirv.max(row.least_spirv);
    let of_language = tangle_emit::fitted(front_end.language, case);
    let mut of_compiler = of_language.clone();
    (row.fitted)(&mut of_compiler);
    if validate(&of_compiler).is_ok() { of_compiler } else { of_language }
}

/// Has every expression of a case be changed, operands before what they are operands of. The function that it is in is given without its body.
fn change_exprs(case: &mut Case, change: &mut dyn FnMut(&Function, &mut Expr)) {
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
        let declarations = Function { body: Block::new(), ..function.clone() };
        of_block(&declarations, &mut function.body, change);
    }
}

/// Where somebody's own build of a compiler is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its file or folder.
    pub path: PathBuf,
    /// A command that starts it, if it is a program: another C library's `ld-linux-x86-64.so.2 --library-path FOLDER`, say.
    pub prefix: Vec<String>,
}

/// The places that somebody named.
static PLACES: Mutex<BTreeMap<String, Place>> = Mutex::new(BTreeMap::new());

/// Has a compiler, or a build of one, be the one at this place.
pub fn set_place(name: &str, place: Place) {
    PLACES.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name.to_owned(), place);
}

fn place(name: &str) -> Option<Place> {
    PLACES.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(name).cloned()
}

/// Starts a compiler that is a program, and says what is wrong if the system cannot: a library is missing or too old, say.
///
/// # Errors
/// What is wrong, and how to mend it, in a line.
pub fn check_start(found: &Found) -> Result<(), String> {
    let is_program = |path: &&PathBuf| path.is_file() && !path.to_string_lossy().contains(".so");
    let Some(path) = found.path.as_ref().filter(is_program) else { return Ok(()) };
    // What a compiler says to it is its own business.
    match started::run(started::command(path, &found.prefix).arg("--version")) {
        Err(Failure::Absent(reason)) => Err(reason),
        Ok(_) | Err(Failure::Refused(_)) => Ok(()),
    }
}

/// The folder into which `./x setup --compilers` puts a compiler.
pub fn installed(name: &str) -> Option<PathBuf> {
    Some(tangle_files::cache_folder()?.join("compilers").join(name)).filter(|folder| folder.is_dir())
}

/// What to say of a compiler that is not there.
fn absent(name: &str) -> String {
    format!("it is not here: ./x setup --compilers {name}, or --compiler {name}=PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for row in TABLE {
            let text = row.front_end().to_string();
            assert_eq!(text.parse(), Ok(row.front_end()), "{text}");
            assert_eq!(named(&text), [row.front_end()], "{text}");
            assert!(named(row.name).contains(&row.front_end()));
        }
    }

    #[test]
    fn builds_of_a_compiler_have_names_of_their_own() {
        let front_end: FrontEnd = "hlsl@clang.patched".parse().expect("a front end");
        assert_eq!(named("clang.patched"), std::slice::from_ref(&front_end));
        assert_eq!(named("hlsl@clang.patched"), std::slice::from_ref(&front_end));
        for wrong in ["clan", "clangs.a", "wgsl@clang.a", "hlsl@", ".a", ""] {
            assert_eq!(named(wrong), [], "{wrong}");
        }
        assert!(row(&front_end).is_some_and(|row| row.name == "clang"));
        let absent = found(&front_end).expect_err("nobody named it");
        assert!(absent.contains("--compiler clang.patched=PATH"), "{absent}");
        let place = Place { path: "/bin/sh".into(), prefix: vec!["nice".into()] };
        set_place("clang.patched", place.clone());
        let found = found(&front_end).expect("it is named");
        assert_eq!((found.path, found.prefix), (Some(place.path), place.prefix));
    }

    #[test]
    fn a_program_that_the_system_cannot_start_is_told_from_one_that_refuses() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let started = |script: &str, prefix: &[&str]| {
            let path = folder.path().join("compiler");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("ours");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("ours");
            let prefix = prefix.iter().map(|&word| word.into()).collect();
            check_start(&Found { path: Some(path), prefix, version: String::new() })
        };
        assert_eq!(started("echo unknown option >&2; exit 1", &[]), Ok(()));
        assert_eq!(started("test \"$A\" = 1 || kill -KILL $$", &["env", "A=1"]), Ok(()));
        let lacks = "echo \"clang: version \\`GLIBC_2.99' not found (required by clang)\" >&2; exit 1";
        let said = started(lacks, &[]).expect_err("it cannot start");
        assert!(said.contains("it needs GLIBC_2.99") && said.contains("--compiler-prefix '"), "{said}");
        let said = started("", &["nosuchprogram"]).expect_err("it cannot start");
        assert!(said.contains("cannot start nosuchprogram"), "{said}");
    }

    /// Fragment shaders need shuffles and quads, too: a compiler that is not given them has these nevertheless.
    #[test]
    fn what_a_stage_needs_is_left_to_compute_shaders() {
        for row in TABLE {
            let without: Vec<Feature> = row.without().collect();
            for feature in [Feature::SubgroupShuffle, Feature::SubgroupQuad] {
                let is_own = row.lacks_features.contains(&feature);
                assert_eq!(without.contains(&feature), is_own, "{} {feature:?}", row.front_end());
            }
            assert!(without.contains(&Feature::SubgroupsInFragment), "{}", row.front_end());
        }
    }
}
