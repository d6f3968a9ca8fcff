//! The drivers installed in the system, found where the Vulkan loader looks for them.
//!
//! Source: Vulkan-Loader, `docs/LoaderDriverInterface.md`, "Driver Discovery on Linux".

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{DriverConfig, read_text};

/// The longest manifest, bytes. Real ones have 200.
pub(super) const LONGEST_MANIFEST: u64 = 1 << 20;

/// Where the loader would look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPaths {
    /// Manifests or folders of manifests that the user names (`VK_DRIVER_FILES`, `VK_ICD_FILENAMES`); when there are
    /// any, nothing else counts.
    pub named: Vec<PathBuf>,
    /// The same in addition to the folders (`VK_ADD_DRIVER_FILES`).
    pub added: Vec<PathBuf>,
    /// Folders, those that come first win.
    pub folders: Vec<PathBuf>,
    /// Folders of libglvnd's manifests of EGL drivers.
    pub egl: Vec<PathBuf>,
}

impl SystemPaths {
    /// As the environment of this process says.
    pub fn from_environment() -> SystemPaths {
        SystemPaths::new(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// As the environment read through `variable` says.
    pub fn new(variable: impl Fn(&str) -> Option<OsString>) -> SystemPaths {
        let list = |name: &str| -> Vec<PathBuf> {
            variable(name).map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
        };
        let list_or = |name: &str, default: &str| match variable(name) {
            Some(value) => std::env::split_paths(&value).collect::<Vec<_>>(),
            None => std::env::split_paths(default).collect(),
        };
        let home = |name: &str, below: &str| match variable(name) {
            Some(value) => Some(PathBuf::from(value)),
            None => Some(PathBuf::from(variable("HOME")?).join(below)),
        };
        let mut named = list("VK_DRIVER_FILES");
        if named.is_empty() {
            named = list("VK_ICD_FILENAMES");
        }
        let mut roots: Vec<PathBuf> = home("XDG_CONFIG_HOME", ".config").into_iter().collect();
        roots.extend(list_or("XDG_CONFIG_DIRS", "/etc/xdg"));
        roots.push(PathBuf::from("/etc"));
        roots.extend(home("XDG_DATA_HOME", ".local/share"));
        roots.extend(list_or("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
        let folders = roots.iter().map(|root| root.join("vulkan/icd.d")).collect();
        let mut egl = list("__EGL_VENDOR_LIBRARY_FILENAMES");
        if egl.is_empty() {
            egl = list_or("__EGL_VENDOR_LIBRARY_DIRS", "/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d");
        }
        SystemPaths { named, added: list("VK_ADD_DRIVER_FILES"), folders, egl }
    }

    /// Every manifest there, each once.
    fn manifests(&self) -> Vec<PathBuf> {
        let places: Vec<&PathBuf> = match self.named.is_empty() {
            true => self.added.iter().chain(&self.folders).collect(),
            false => self.named.iter().collect(),
        };
        let mut seen = BTreeSet::new();
        let files = places.into_iter().flat_map(|place| manifests_at(place));
        files.filter(|file| seen.insert(super::driver::canonical(file))).collect()
    }
}

/// The manifest at a path, or those in the folder at a path, in the order of their names.
pub(super) fn manifests_at(place: &Path) -> Vec<PathBuf> {
    if !place.is_dir() {
        return if place.exists() { vec![place.to_owned()] } else { Vec::new() };
    }
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

/// One driver entry for every installed manifest that can be read and is of this architecture.
pub fn installed_drivers(paths: &SystemPaths) -> Vec<DriverConfig> {
    let mut drivers: Vec<DriverConfig> = Vec::new();
    for manifest in paths.manifests() {
        if !names_a_driver_for_us(&manifest) {
            continue;
        }
        let stem = fit_name(&manifest.file_stem().unwrap_or_default().to_string_lossy());
        let mut name = fit_name(&short_name(&stem));
        if drivers.iter().any(|driver| driver.name == name) {
            name = stem;
        }
        drivers.push(DriverConfig::from_manifest(&name, &manifest));
    }
    drivers
}

/// One entry for every OpenGL driver that is installed for EGL.
///
/// Source: libglvnd, `src/EGL/icd_enumeration.md`.
pub fn installed_opengl(paths: &SystemPaths) -> Vec<DriverConfig> {
    let mut drivers: Vec<DriverConfig> = Vec::new();
    for manifest in paths.egl.iter().flat_map(|place| manifests_at(place)) {
        // `50_mesa` → `mesa`: the number is for the order.
        let stem = manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = fit_name(&format!("gl-{}", stem.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_')));
        if !drivers.iter().any(|driver| driver.name == name) {
            drivers.push(DriverConfig::opengl(&name, &manifest));
        }
    }
    drivers
}

/// The nearest word that can name a driver.
pub(super) fn fit_name(stem: &str) -> String {
    let is_fit = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let name: String = stem.chars().take(48).map(|c| if is_fit(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    if super::driver::name_problem(name).is_none() { name.to_owned() } else { format!("driver-{name}") }
}

/// The name of a driver by its manifest's: `lvp` of `lvp_icd.x86_64`.
pub(super) fn short_name(stem: &str) -> String {
    let name = stem.strip_suffix(&format!(".{}", std::env::consts::ARCH)).unwrap_or(stem);
    name.strip_suffix("_icd").unwrap_or(name).to_owned()
}

/// False for a manifest that says it is for another pointer width. A manifest that cannot be read is kept: its driver
/// then gets an error line instead of vanishing.
fn names_a_driver_for_us(manifest: &Path) -> bool {
    let json = read_text(manifest, LONGEST_MANIFEST).ok().and_then(|text| serde_json::from_str(&text).ok());
    let json: serde_json::Value = json.unwrap_or_default();
    json["ICD"]["library_arch"].as_str().is_none_or(|width| width == usize::BITS.to_string())
}

/// What is wrong with a manifest that would keep the loader from finding its driver.
pub(crate) fn manifest_problem(manifest: &Path) -> Option<String> {
    let text = match read_text(manifest, LONGEST_MANIFEST) {
        Ok(text) => text,
        Err(error) => return Some(format!("cannot read manifest {}: {error}", manifest.display())),
    };
    let json: serde_json::Value = match serde_json::from_str(&text) {
        Ok(json) => json,
        Err(error) => return Some(format!("manifest {} is not JSON: {error}", manifest.display())),
    };
    let Some(library) = json["ICD"]["library_path"].as_str() else {
        return Some(format!("manifest {} has no ICD.library_path", manifest.display()));
    };
    // A bare file name is looked up by the dynamic linker; every other path is relative to the manifest.
    let path = manifest.parent().unwrap_or(Path::new("")).join(library);
    (library.contains('/') && !path.exists())
        .then(|| format!("manifest {} names {}, which is not there", manifest.display(), path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(pairs: &[(&str, &str)]) -> SystemPaths {
        SystemPaths::new(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    fn write_manifest(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_loaders_folders_are_searched_in_order() {
        let folders = paths(&[("HOME", "/home/me"), ("XDG_DATA_DIRS", "/x:/y")]).folders;
        let expected = ["/home/me/.config", "/etc/xdg", "/etc", "/home/me/.local/share", "/x", "/y"];
        assert_eq!(folders, expected.map(|root| PathBuf::from(root).join("vulkan/icd.d")));
    }

    #[test]
    fn the_users_own_choice_comes_first() {
        assert_eq!(paths(&[("VK_ICD_FILENAMES", "/a.json")]).named, [PathBuf::from("/a.json")]);
        let both = paths(&[("VK_ICD_FILENAMES", "/a.json"), ("VK_DRIVER_FILES", "/b.json:/c.json")]);
        assert_eq!(both.named, [PathBuf::from("/b.json"), PathBuf::from("/c.json")]);
    }

    #[test]
    fn manifests_become_drivers() {
        let folder = tempfile::tempdir().unwrap();
        let good = r#"{ "file_format_version": "1.0.0", "ICD": { "library_path": "lib.so", "api_version": "1.3.0" } }"#;
        let arch = std::env::consts::ARCH;
        write_manifest(folder.path(), &format!("lvp_icd.{arch}.json"), good);
        write_manifest(folder.path(), "lvp_icd.json", good);
        let broken = write_manifest(folder.path(), "broken.json", "{");
        write_manifest(folder.path(), "other.json", r#"{ "ICD": { "library_path": "l.so", "library_arch": "16" } }"#);
        write_manifest(folder.path(), "readme.txt", good);
        let system = SystemPaths { folders: vec![folder.path().to_owned()], ..SystemPaths::default() };
        assert!(manifest_problem(&broken).unwrap().contains("is not JSON"));
        let stem = format!("lvp_icd.{arch}");
        let names: Vec<String> = installed_drivers(&system).into_iter().map(|driver| driver.name).collect();
        assert_eq!(names, ["broken", "lvp", stem.as_str()]);
    }

    #[test]
    fn manifests_of_libglvnd_become_opengl_drivers() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{ "file_format_version": "1.0.0", "ICD": { "library_path": "libEGL_mesa.so.0" } }"#;
        for name in ["50_mesa.json", "10_nvidia.json", "60_mesa.json", "readme"] {
            write_manifest(folder.path(), name, text);
        }
        let found = installed_opengl(&SystemPaths { egl: vec![folder.path().to_owned()], ..SystemPaths::default() });
        let names: Vec<&str> = found.iter().map(|driver| driver.name.as_str()).collect();
        assert_eq!(names, ["gl-nvidia", "gl-mesa"]);
        assert!(found.iter().all(|driver| driver.api == tangle_features::Api::OpenGl));
        assert_eq!(paths(&[]).egl.len(), 2);
        assert_eq!(paths(&[("__EGL_VENDOR_LIBRARY_FILENAMES", "/a.json")]).egl, [PathBuf::from("/a.json")]);
    }

    #[test]
    fn an_installed_driver_has_a_fit_name() {
        for (stem, name) in [
            ("lvp_icd.x86_64", "lvp_icd.x86_64"),
            ("..", "driver-"),
            ("-rf a/b#1", "rf-a-b-1"),
            ("reference", "driver-reference"),
        ] {
            assert_eq!(fit_name(stem), name);
            assert_eq!(super::super::name_problem(name), None);
        }
    }

    #[test]
    fn a_manifest_says_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |text: &str| manifest_problem(&write_manifest(folder.path(), "a.json", text)).unwrap_or_default();
        assert!(problem("{}").contains("has no ICD.library_path"));
        assert!(problem(r#"{"ICD":{"library_path":"./gone.so"}}"#).contains("gone.so, which is not there"));
        assert_eq!(problem(r#"{"ICD":{"library_path":"libvulkan_lvp.so"}}"#), "");
        assert!(manifest_problem(&folder.path().join("none.json")).unwrap().contains("cannot read manifest"));
    }

    #[test]
    fn an_empty_folder_has_no_driver() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("nowhere");
        let system = SystemPaths { folders: vec![folder.path().to_owned(), missing], ..SystemPaths::default() };
        assert_eq!(installed_drivers(&system), []);
    }
}
