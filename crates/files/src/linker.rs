//! What the dynamic linker says of a program or library that was built for another system.

use std::fs;
use std::path::{Path, PathBuf};

/// What is lacking, in words: `it needs GLIBC_2.38, and the C library of this system is older`; `None` if the linker says nothing of the kind.
///
/// Source of the messages' form: glibc, `elf/dl-version.c` and `elf/dl-load.c`.
pub fn lacks(said: &str) -> Option<String> {
    let version = said.lines().find_map(|line| {
        let (_, rest) = line.split_once("version `")?;
        let (version, rest) = rest.split_once('\'')?;
        rest.trim_start().starts_with("not found").then_some(version)
    });
    let library = || {
        said.lines().find_map(|line| {
            let (before, _) = line.split_once(": cannot open shared object file")?;
            Some(before.rsplit([' ', ':']).next()?.trim()).filter(|name| !name.is_empty())
        })
    };
    Some(match version {
        Some(version) if version.starts_with("GLIBC_") => {
            format!("it needs {version}, and the C library of this system is older")
        }
        Some(version) => format!("it needs {version}, and that library of this system is older"),
        None => format!("it needs {}, which this system does not have", library()?),
    })
}

/// A command that starts a program with other libraries: with those that the set-up got with drivers, of the newest suite, if there are any.
pub fn example() -> String {
    command(linkers().first().map(PathBuf::as_path))
}

fn command(linker: Option<&Path>) -> String {
    match linker {
        Some(linker) => format!("{} --library-path {}", linker.display(), linker.parent().unwrap_or(linker).display()),
        None => "/SYSROOT/lib64/ld-linux-x86-64.so.2 --library-path /SYSROOT/lib".into(),
    }
}

/// The dynamic linkers that the set-up got with drivers, of the newest suite first.
fn linkers() -> Vec<PathBuf> {
    let drivers = super::cache_folder().map(|cache| cache.join("drivers"));
    let suites = drivers.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let libraries = suites.flat_map(|suite| fs::read_dir(suite.path().join("lib")).into_iter().flatten().flatten());
    let is_linker = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ld-linux") && name.contains(".so.")
    };
    let mut linkers: Vec<PathBuf> = libraries.map(|entry| entry.path()).filter(is_linker).collect();
    linkers.sort_by_key(|path| (!path.components().any(|part| part.as_os_str() == "sid"), path.clone()));
    linkers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named() {
        let glibc = "ERROR: loader_scanned_icd_add: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /b/libvulkan_lvp.so)";
        let llvm = "ERROR: libLLVM.so.19.1: cannot open shared object file: No such file or directory";
        let program =
            "clang: error while loading shared libraries: libz3.so.4: cannot open shared object file: No such file";
        let stdcxx = "/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by x)";
        for (said, expected) in [
            (glibc, Some("it needs GLIBC_2.38, and the C library of this system is older")),
            (llvm, Some("it needs libLLVM.so.19.1, which this system does not have")),
            (program, Some("it needs libz3.so.4, which this system does not have")),
            (stdcxx, Some("it needs GLIBCXX_3.4.32, and that library of this system is older")),
            ("terminate called", None),
            ("error: profile version `6' not known", None),
        ] {
            assert_eq!(lacks(said).as_deref(), expected);
        }
    }

    #[test]
    fn an_example_has_the_folder_of_the_linker() {
        let linker = Path::new("/c/sid/lib/ld-linux-x86-64.so.2");
        assert_eq!(command(Some(linker)), "/c/sid/lib/ld-linux-x86-64.so.2 --library-path /c/sid/lib");
        assert!(command(None).starts_with("/SYSROOT/"));
    }
}
