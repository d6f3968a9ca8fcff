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
mod compiler;
mod dxc;
mod dxc_api;
pub mod faults;
mod glslang;
mod naga;
mod program;
mod server;
mod slang;
mod spirv_cross;
pub mod started;
mod starter;
mod tint;

use std::path::PathBuf;

use tangle_analysis::validate::validate;
use tangle_program::case::Case;
use tangle_program::variant::FrontEnd;

pub use compiler::{Call, Compiler, Failure, Found, OwnBuild, installed, set_own_build};
pub use starter::prepare as prepare_starter;

/// Every compiler, one row for each of its languages.
pub static TABLE: &[Compiler] =
    &[glslang::HLSL, dxc::HLSL, slang::HLSL, slang::SLANG, clang::HLSL, naga::WGSL, tint::WGSL, spirv_cross::GLSL];

/// The row of a front end; `None` if there is none. `clang.base` and `clang.patched` are builds of `clang`.
pub fn row(front_end: &FrontEnd) -> Option<&'static Compiler> {
    TABLE.iter().find(|row| row.language == front_end.language && row.name == front_end.base())
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
        Ok(found) if !(row.stages)(&found).contains(&case.entry_point.stage) => {
            vec![format!("{} shaders with {front_end}", case.entry_point.stage.name())]
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
    let Some(fitted) = row.fitted else { return of_language };
    let mut of_compiler = of_language.clone();
    fitted(&mut of_compiler);
    if of_compiler != of_language && validate(&of_compiler).is_ok() { of_compiler } else { of_language }
}

/// Ends what was started in this thread and is kept running, so that its processor time counts as this process'.
pub fn end_started() {
    starter::end();
    tint::end();
    spirv_cross::end();
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

#[cfg(test)]
mod tests {
    use tangle_features::Feature;
    use tangle_program::case::Stage;

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
        let place = OwnBuild { path: "/bin/sh".into(), prefix: vec!["nice".into()] };
        set_own_build("clang.patched", place.clone());
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
            let without: Vec<Feature> = row.without(&Found::default()).collect();
            for feature in [Feature::SubgroupShuffle, Feature::SubgroupQuad] {
                let is_own = row.lacks_features.contains(&feature);
                assert_eq!(without.contains(&feature), is_own, "{} {feature:?}", row.front_end());
            }
            let is_given = (row.stages)(&Found::default()).contains(&Stage::Fragment);
            assert_eq!(without.contains(&Feature::SubgroupsInFragment), !is_given, "{}", row.front_end());
        }
    }
}
