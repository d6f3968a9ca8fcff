//! A driver of one's own: a manifest, a driver library or a build folder of Mesa, given by its path, without an entry in a devices file.
//!
//! | path | is |
//! |---|---|
//! | a file that ends in `.json` | a manifest of the Vulkan loader (Vulkan-Loader, `docs/LoaderDriverInterface.md`, "Driver Manifest File Format") |
//! | a library, `libvulkan_lvp.so` say | a driver: a manifest is written for it into a temporary folder |
//! | a folder | a build folder of Meson, as `meson devenv` takes it, or what `ninja install` made: the manifests `*_devenv_icd*.json`, else those in `vulkan/icd.d`, else the libraries `libvulkan_*.so`; the folders of its libraries come first in `LD_LIBRARY_PATH` |
//!
//! Source of the names in a build folder: Mesa, `src/gallium/targets/lavapipe/meson.build` and those of the other Vulkan drivers (`devenv`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tangle_files::linker;

use super::discover::{fit_name, manifests_at, short_name};
use super::{ConfigError, DriverConfig, drivers, name_problem};
use crate::error::StartProblem;
use crate::info::DriverMode;

/// Which drivers there are to choose from.
#[derive(Clone, Debug, Default)]
pub struct Drivers {
    /// Those that were given by their paths. Where there are any, only they run unless others are named.
    pub own: Vec<DriverConfig>,
    /// The devices file, where it is not the usual one ([`super::devices_file`]).
    pub file: Option<PathBuf>,
}

impl Drivers {
    /// Those of a devices file and of the system.
    pub fn listed(file: Option<&Path>) -> Drivers {
        Drivers { own: Vec::new(), file: file.map(Path::to_owned) }
    }

    /// Those that run if none is named.
    ///
    /// # Errors
    /// When the devices file cannot be read or is wrong.
    pub fn unless_named(&self) -> Result<Vec<DriverConfig>, ConfigError> {
        if self.own.is_empty() { drivers(self.file.as_deref()) } else { Ok(self.own.clone()) }
    }

    /// Those that can be named.
    ///
    /// # Errors
    /// When the devices file cannot be read or is wrong.
    pub fn all(&self) -> Result<Vec<DriverConfig>, ConfigError> {
        let listed = drivers(self.file.as_deref())?;
        let is_own = |driver: &DriverConfig| self.own.iter().any(|own| own.name == driver.name);
        Ok(self.own.iter().cloned().chain(listed.into_iter().filter(|driver| !is_own(driver))).collect())
    }

    /// Adds the drivers at a path. A name is given (`NAME=PATH`) or made from that of the library: `my-lvp`.
    ///
    /// # Errors
    /// When there is no driver at the path, or the name is unfit or taken.
    pub fn add(&mut self, text: &str, how: &Start) -> Result<(), OwnError> {
        let (name, path) = match text.split_once('=') {
            // A path may have `=` in it.
            Some((name, path)) if !name.contains('/') && !Path::new(text).exists() => (Some(name), Path::new(path)),
            _ => (None, Path::new(text)),
        };
        let found = find(path)?;
        let is_one = found.manifests.len() == 1;
        for manifest in &found.manifests {
            let name = match name {
                Some(name) if is_one => name.to_owned(),
                Some(name) => format!("{name}-{}", driver_name(manifest)),
                None => self.free_name(&format!("my-{}", driver_name(manifest))),
            };
            if let Some(problem) = name_problem(&name) {
                return Err(OwnError(problem));
            }
            if self.own.iter().any(|own| own.name == name) {
                return Err(OwnError(format!("two drivers are named `{name}`")));
            }
            self.own.push(entry(&name, manifest, &found.libraries, how));
        }
        Ok(())
    }

    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| self.own.iter().all(|own| own.name != *name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }
}

/// How drivers of one's own are started.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Environment of the worker, over all else.
    pub env: BTreeMap<String, String>,
    /// Command put before the worker.
    pub prefix: Vec<String>,
    /// Whether they run what they compile.
    pub mode: DriverMode,
}

/// There is no driver that could be used at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OwnError(String);

/// What is at a path.
struct Found {
    manifests: Vec<PathBuf>,
    /// Folders of libraries that the drivers may need.
    libraries: Vec<PathBuf>,
}

fn find(path: &Path) -> Result<Found, OwnError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.is_dir() {
        return find_in(&path);
    }
    if !path.exists() {
        return Err(OwnError(format!("there is no {}", path.display())));
    }
    let manifest = match path.extension() == Some(OsStr::new("json")) {
        true => path,
        false if is_library(&path) => written_manifest(&path)?,
        false => {
            return Err(OwnError(format!(
                "{} is no driver: a manifest (.json), a library (.so) or a build folder is",
                path.display()
            )));
        }
    };
    Ok(Found { manifests: vec![manifest], libraries: Vec::new() })
}

/// True of the name of a shared library: `libx.so`, `libx.so.1`.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

/// How deep below a build folder manifests and libraries are: `build/src/nouveau/vulkan/`.
const DEEPEST: usize = 6;

fn find_in(folder: &Path) -> Result<Found, OwnError> {
    let mut files = Vec::new();
    walk(folder, DEEPEST, &mut files);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_devenv = |path: &&PathBuf| name(path).contains("_devenv_icd") && name(path).ends_with(".json");
    let is_driver =
        |path: &&PathBuf| name(path).starts_with("libvulkan_") && name(path).ends_with(".so") && !path.is_symlink();
    let mut manifests: Vec<PathBuf> = files.iter().filter(is_devenv).cloned().collect();
    // A manifest may be there before its library is built, or although only one of several drivers was.
    manifests.retain(|manifest| super::manifest_problem(manifest).is_none());
    if manifests.is_empty() {
        let installed =
            files.iter().filter(|path| path.parent().is_some_and(|parent| parent.ends_with("vulkan/icd.d")));
        let mut folders: Vec<PathBuf> = installed.filter_map(|path| path.parent().map(Path::to_owned)).collect();
        folders.dedup();
        manifests = folders.iter().flat_map(|folder| manifests_at(folder)).collect();
    }
    if manifests.is_empty() {
        manifests =
            files.iter().filter(is_driver).map(|library| written_manifest(library)).collect::<Result<_, _>>()?;
    }
    if manifests.is_empty() {
        return Err(OwnError(format!(
            "no Vulkan driver in {}: no manifest *_devenv_icd*.json or vulkan/icd.d/*.json whose library is built, and no libvulkan_*.so",
            folder.display()
        )));
    }
    let mut libraries: Vec<PathBuf> =
        files.iter().filter(|path| is_library(path)).filter_map(|path| path.parent().map(Path::to_owned)).collect();
    libraries.sort();
    libraries.dedup();
    Ok(Found { manifests, libraries })
}

/// The files below a folder, by name. Objects of a build (`*.p` folders) and hidden folders have none that matter.
fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 && !name.ends_with(".p") && !name.starts_with('.') => {
                walk(&path, depth - 1, files);
            }
            Ok(kind) if kind.is_file() || kind.is_symlink() => files.push(path),
            _ => {}
        }
    }
}

/// Writes a manifest for a library, into the folder for temporary files; the same one every time.
fn written_manifest(library: &Path) -> Result<PathBuf, OwnError> {
    let library = library.canonicalize().unwrap_or_else(|_| library.to_owned());
    let wrong = |error: std::io::Error| OwnError(format!("cannot write a manifest for {}: {error}", library.display()));
    let path = library.display().to_string();
    // FNV-1a, 64 bit: a name that depends on nothing but the path.
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let stem = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("tangle-manifests-{user}")).join(format!("{hash:016x}"));
    fs::create_dir_all(&folder).map_err(wrong)?;
    let text = serde_json::json!({
        "file_format_version": "1.0.0",
        // Loaders take the version that the library says where it is higher.
        "ICD": { "library_path": path, "api_version": "1.4.0" },
    });
    let file = folder.join(format!("{stem}.json"));
    tangle_files::write_atomically(&file, format!("{text:#}\n").as_bytes())
        .map_err(|error| wrong(std::io::Error::other(error)))?;
    Ok(file)
}

/// `lvp` of `lvp_devenv_icd.x86_64.json`, `lvp_icd.x86_64.json` or a manifest of `libvulkan_lvp.so`.
fn driver_name(manifest: &Path) -> String {
    let stem = manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = stem.replace("_devenv_icd", "_icd");
    let stem = stem.split(".so").next().unwrap_or(&stem);
    let stem = stem.strip_prefix("libvulkan_").or_else(|| stem.strip_prefix("libvk_")).unwrap_or(stem);
    fit_name(&short_name(stem))
}

fn entry(name: &str, manifest: &Path, libraries: &[PathBuf], how: &Start) -> DriverConfig {
    let mut env = how.env.clone();
    if !libraries.is_empty() && !env.contains_key(LIBRARIES) {
        let others = std::env::var_os(LIBRARIES).filter(|value| !value.is_empty());
        let paths = libraries.iter().cloned().chain(others.iter().flat_map(std::env::split_paths));
        // A folder with a colon in its name cannot be in the list.
        if let Some(joined) = std::env::join_paths(paths).ok().and_then(|joined| joined.into_string().ok()) {
            env.insert(LIBRARIES.into(), joined);
        }
    }
    if driver_name(manifest) == "lvp" && std::env::var_os(LAVAPIPE_THREADS).is_none() {
        // As in the entries of the set-up: campaigns run a worker for each processor.
        env.entry(LAVAPIPE_THREADS.into()).or_insert_with(|| "1".into());
    }
    let prefix = how.prefix.clone();
    DriverConfig { prefix, env, mode: how.mode, ..DriverConfig::from_manifest(name, manifest) }
}

const LIBRARIES: &str = "LD_LIBRARY_PATH";
const LAVAPIPE_THREADS: &str = "LP_NUM_THREADS";

/// What a driver lacks that does not start because of a library, and how to give it, in a line; `None` if it is something else.
pub fn advice(problem: &StartProblem) -> Option<String> {
    let (StartProblem::Refused { stderr, .. }
    | StartProblem::Died { stderr, .. }
    | StartProblem::Silent { stderr, .. }) = problem
    else {
        return None;
    };
    let lacks = linker::lacks(stderr)?;
    let example = linker::example();
    Some(format!(
        "{lacks}: start it with the libraries that it was built for, --driver-prefix '{example}', or name their folder, --driver-env {LIBRARIES}=FOLDER"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        path.to_owned()
    }

    fn manifest(library: &Path) -> String {
        format!(r#"{{ "ICD": {{ "library_path": "{}", "api_version": "1.4.0" }} }}"#, library.display())
    }

    /// Name, manifest's file name and whether there is a library path, of all drivers at some paths.
    fn found(paths: &[&str]) -> Result<Vec<(String, String, bool)>, String> {
        let mut drivers = Drivers::default();
        for path in paths {
            drivers.add(path, &Start::default()).map_err(|error| error.to_string())?;
        }
        let row = |driver: &DriverConfig| {
            let file = driver.manifest.as_deref().and_then(Path::file_name).unwrap_or_default();
            (driver.name.clone(), file.to_string_lossy().into_owned(), driver.env.contains_key(LIBRARIES))
        };
        Ok(drivers.own.iter().map(row).collect())
    }

    #[test]
    fn a_manifest_a_library_and_a_build_folder_are_drivers() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        let text = |path: &Path| path.display().to_string();
        let lvp = put(&at("build/src/gallium/targets/lavapipe/libvulkan_lvp.so"), "");
        let devenv = put(&at("build/src/gallium/targets/lavapipe/lvp_devenv_icd.x86_64.json"), &manifest(&lvp));
        put(&at("build/src/amd/vulkan/radeon_devenv_icd.x86_64.json"), &manifest(&at("gone.so")));
        put(&at("build/src/libfoo.so.p/libvulkan_not.so"), "");
        let bare = put(&at("bare/src/libvulkan_lvp.so"), "");
        let radeon = put(&at("prefix/lib/libvulkan_radeon.so"), "");
        put(&at("prefix/share/vulkan/icd.d/radeon_icd.x86_64.json"), &manifest(&radeon));
        let row = |name: &str, file: &str, has: bool| (name.to_owned(), file.to_owned(), has);
        let own = "lvp_devenv_icd.x86_64.json";
        let table: [(&[&str], Vec<(String, String, bool)>); 6] = [
            (&[&text(&devenv)], vec![row("my-lvp", own, false)]),
            (&[&text(&lvp)], vec![row("my-lvp", "libvulkan_lvp.so.json", false)]),
            (&[&text(&at("build"))], vec![row("my-lvp", own, true)]),
            (&[&text(&at("prefix"))], vec![row("my-radeon", "radeon_icd.x86_64.json", true)]),
            (
                &[&text(&bare), &text(&at("build")), &format!("patched={}", at("build").display())],
                vec![
                    row("my-lvp", "libvulkan_lvp.so.json", false),
                    row("my-lvp-2", own, true),
                    row("patched", own, true),
                ],
            ),
            (&[&text(&at("bare"))], vec![row("my-lvp", "libvulkan_lvp.so.json", true)]),
        ];
        for (paths, expected) in table {
            assert_eq!(found(paths), Ok(expected), "{paths:?}");
        }
        let written = written_manifest(&lvp).unwrap();
        assert_eq!(crate::config::manifest_problem(&written), None);
        let problems = [
            (text(&at("none")), "there is no "),
            (text(&at("build/src/amd")), "no Vulkan driver in "),
            (format!("a b={}", lvp.display()), "`a b` cannot name a driver"),
            (text(&put(&at("x.txt"), "")), "is no driver"),
        ];
        for (path, problem) in problems {
            let error = found(&[&path]).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        let twice = [format!("a={}", lvp.display()), format!("a={}", lvp.display())];
        assert_eq!(found(&[&twice[0], &twice[1]]), Err("two drivers are named `a`".into()));
    }

    #[test]
    fn a_library_that_is_missing_is_named_with_what_to_do() {
        let stderr = "ERROR: libLLVM.so.19.1: cannot open shared object file: No such file or directory".to_owned();
        let said = advice(&StartProblem::Refused { reason: "it does not start".into(), stderr: stderr.into() })
            .expect("advice");
        assert!(said.starts_with("it needs libLLVM.so.19.1, which this system does not have: start it with"), "{said}");
        assert!(said.contains("--driver-prefix '") && said.contains("--driver-env LD_LIBRARY_PATH=FOLDER"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
}
