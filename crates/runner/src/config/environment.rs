//! The environment a worker starts with.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use tangle_features::Api;

use super::DriverConfig;

/// Set when a process is to be a worker; see [`crate::worker::run_if_requested`].
pub(crate) const WORKER_VARIABLE: &str = "TANGLE_WORKER";

/// What every worker gets: one driver and nothing between it and the program, and no compiled shader from yesterday.
const FIXED: [(&str, &str); 6] = [
    (WORKER_VARIABLE, "1"),
    // Overlays, capture tools and device selectors hook themselves in as implicit layers.
    ("VK_LOADER_LAYERS_DISABLE", "~implicit~"),
    // The same for Mesa's device selector under loaders before 1.3.234.
    ("NODEVICE_SELECT", "1"),
    // Disk caches: a hit would hide the compiler.
    ("MESA_SHADER_CACHE_DISABLE", "true"),
    ("MESA_GLSL_CACHE_DISABLE", "true"),
    ("__GL_SHADER_DISK_CACHE", "0"),
];

/// What a worker gets unless the parent's environment has it: the loader says on standard error why it cannot load a
/// driver, and those lines go into tangle's message.
const LOADER_ERRORS: (&str, &str) = ("VK_LOADER_DEBUG", "error");

/// Variables that would add or hide drivers behind the manifest's back.
const REMOVED: [&str; 3] = ["VK_ADD_DRIVER_FILES", "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"];

/// The whole environment of a worker: the parent's, what tangle sets, and over both what the driver's entry sets.
pub fn worker_environment(
    driver: &DriverConfig,
    parent: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = parent.into_iter().collect();
    environment.entry(LOADER_ERRORS.0.into()).or_insert_with(|| LOADER_ERRORS.1.into());
    let mut set = |name: &str, value: &OsStr| drop(environment.insert(name.into(), value.into()));
    FIXED.iter().for_each(|(name, value)| set(name, value.as_ref()));
    if let (Some(manifest), Api::OpenGl) = (&driver.manifest, driver.api) {
        set("__EGL_VENDOR_LIBRARY_FILENAMES", manifest.as_os_str());
    } else if let Some(manifest) = &driver.manifest {
        set("VK_DRIVER_FILES", manifest.as_os_str());
        set("VK_ICD_FILENAMES", manifest.as_os_str());
        REMOVED.iter().for_each(|name| drop(environment.remove(OsStr::new(name))));
    }
    environment.extend(driver.env.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn get<'a>(environment: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a str> {
        environment.get(OsStr::new(name)).and_then(|value| value.to_str())
    }

    #[test]
    fn the_entry_wins_over_tangle_and_tangle_over_the_parent() {
        let mut driver = DriverConfig::from_manifest("lvp", Path::new("/lvp.json"));
        driver.env.insert("MESA_SHADER_CACHE_DISABLE".into(), "false".into());
        let parent = [("HOME", "/root"), ("VK_ICD_FILENAMES", "/other.json"), ("VK_ADD_DRIVER_FILES", "/more.json")];
        let environment = worker_environment(&driver, parent.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(get(&environment, "HOME"), Some("/root"));
        assert_eq!(get(&environment, "VK_DRIVER_FILES"), Some("/lvp.json"));
        assert_eq!(get(&environment, "VK_ICD_FILENAMES"), Some("/lvp.json"));
        assert_eq!(get(&environment, "VK_ADD_DRIVER_FILES"), None);
        assert_eq!(get(&environment, "MESA_SHADER_CACHE_DISABLE"), Some("false"));
        assert_eq!(get(&environment, "VK_LOADER_LAYERS_DISABLE"), Some("~implicit~"));
        assert_eq!(get(&environment, "TANGLE_WORKER"), Some("1"));
        assert_eq!(get(&environment, "VK_LOADER_DEBUG"), Some("error"));
    }

    /// libglvnd, src/EGL/icd_enumeration.md: `__EGL_VENDOR_LIBRARY_FILENAMES` names the manifests that are used, and no others.
    #[test]
    fn a_manifest_of_opengl_is_no_manifest_of_vulkan() {
        let mut driver = DriverConfig::opengl("zink", Path::new("/50_mesa.json"));
        driver.env.insert("VK_DRIVER_FILES".into(), "/lvp.json".into());
        let environment = worker_environment(&driver, []);
        assert_eq!(get(&environment, "__EGL_VENDOR_LIBRARY_FILENAMES"), Some("/50_mesa.json"));
        assert_eq!(get(&environment, "VK_DRIVER_FILES"), Some("/lvp.json"));
        assert_eq!(get(&environment, "VK_ICD_FILENAMES"), None);
    }

    #[test]
    fn without_a_manifest_the_loader_is_left_alone() {
        let mut driver = DriverConfig::from_manifest("any", Path::new("/x.json"));
        driver.manifest = None;
        let environment = worker_environment(&driver, [("VK_DRIVER_FILES".into(), "/mine.json".into())]);
        assert_eq!(get(&environment, "VK_DRIVER_FILES"), Some("/mine.json"));
    }
}
