//! Which drivers there are: those of a `devices.toml` and those installed in the system.

mod discover;
mod driver;
mod environment;
mod file;
mod own;

use std::path::{Path, PathBuf};

use serde::Deserialize;

pub(crate) use discover::manifest_problem;
pub use discover::{SystemPaths, installed_drivers, installed_opengl};
use driver::canonical;
pub use driver::{DriverConfig, LONGEST_TIMEOUT, name_problem};
pub(crate) use environment::WORKER_VARIABLE;
pub use environment::worker_environment;
pub use file::read_text;
pub use own::{Drivers, OwnError, Start, advice};

use crate::error::ConfigError;
use crate::info::DriverMode;
use tangle_features::Api;
use tangle_files::text::Line;

/// The most workers of one device.
pub const MOST_JOBS: u32 = 256;

/// The longest devices file, bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The contents of a `devices.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DevicesFile {
    #[serde(default)]
    driver: Vec<DriverConfig>,
}

/// Every driver of this machine: those of the devices file first, then those installed in the system.
///
/// The devices file is `explicit`, else `$TANGLE_DEVICES`, else `devices.toml` in tangle's cache folder if it is there.
/// An installed driver whose manifest the file already names is left out.
///
/// # Errors
///
/// When the devices file cannot be read or is wrong.
pub fn drivers(explicit: Option<&Path>) -> Result<Vec<DriverConfig>, ConfigError> {
    let mut drivers = match devices_file(explicit) {
        Some(path) => read_devices_file(&path)?,
        None => Vec::new(),
    };
    let paths = SystemPaths::from_environment();
    add_installed(&mut drivers, installed_drivers(&paths));
    add_installed(&mut drivers, installed_opengl(&paths));
    Ok(drivers)
}

/// Where the devices file is, if there is to be one.
pub fn devices_file(explicit: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = explicit {
        return Some(path.to_owned());
    }
    if let Some(path) = std::env::var_os("TANGLE_DEVICES").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    Some(cache_folder()?.join("devices.toml")).filter(|path| path.exists())
}

pub use tangle_files::cache_folder;

/// Reads a devices file. Relative paths in it count from its own folder.
///
/// # Errors
///
/// When it cannot be read, is not TOML, has an unknown or wrong entry, or names two drivers the same.
fn read_devices_file(path: &Path) -> Result<Vec<DriverConfig>, ConfigError> {
    let text =
        read_text(path, LONGEST_FILE).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    parse_devices_file(path, &text)
}

fn parse_devices_file(path: &Path, text: &str) -> Result<Vec<DriverConfig>, ConfigError> {
    let wrong = |line, message: &str| ConfigError::Wrong {
        path: path.to_owned(),
        line,
        // A message quotes what is in the file.
        message: Line::from(message.split_whitespace().collect::<Vec<_>>().join(" ")).to_string(),
    };
    let file: DevicesFile = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        wrong(line_of(text, offset), error.message())
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut drivers: Vec<DriverConfig> = Vec::new();
    for (index, mut driver) in file.driver.into_iter().enumerate() {
        let problem = entry_problem(&driver, &drivers);
        if let Some(problem) = problem {
            return Err(wrong(entry_line(text, index), &problem));
        }
        if !driver.is_remote() {
            for path in [&mut driver.manifest, &mut driver.worker].into_iter().flatten() {
                *path = absolute(folder, path);
            }
        }
        drivers.push(driver);
    }
    Ok(drivers)
}

/// What is wrong with an entry that TOML cannot see.
fn entry_problem(driver: &DriverConfig, earlier: &[DriverConfig]) -> Option<String> {
    if let Some(problem) = name_problem(&driver.name) {
        return Some(problem);
    }
    if earlier.iter().any(|other| other.name == driver.name) {
        return Some(format!("a second driver named `{}`", driver.name));
    }
    let longest = LONGEST_TIMEOUT.as_secs();
    if driver.timeout_s.is_some_and(|seconds| !(0.001..=longest as f64).contains(&seconds)) {
        return Some(format!("timeout_s must be a number of seconds from 0.001 to {longest}"));
    }
    let relative = || [&driver.manifest, &driver.worker].into_iter().flatten().find(|path| path.is_relative());
    if let Some(path) = driver.is_remote().then(relative).flatten() {
        return Some(format!("{} must be the whole path on the remote machine", path.display()));
    }
    if driver.jobs.is_some_and(|jobs| !(1..=MOST_JOBS).contains(&jobs)) {
        return Some(format!("jobs must be from 1 to {MOST_JOBS}"));
    }
    None
}

fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let joined = folder.join(path);
    std::path::absolute(&joined).unwrap_or(joined)
}

/// Line, from 1, of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}

/// Line of the `[[driver]]` heading with this index.
fn entry_line(text: &str, index: usize) -> usize {
    let headings = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[driver]]"));
    headings.map(|(line, _)| line + 1).nth(index).unwrap_or(1)
}

fn add_installed(drivers: &mut Vec<DriverConfig>, installed: Vec<DriverConfig>) {
    // What only compiles, or is on another machine, does not stand for the hardware of this one.
    let runs_here = |driver: &&DriverConfig| driver.mode == DriverMode::Execute && !driver.is_remote();
    let listed = drivers.iter().filter(runs_here);
    // A manifest of libglvnd is no driver by itself: the environment says which of Mesa's it is.
    let listed = listed.filter(|driver| driver.api == Api::Vulkan || driver.env.is_empty() && driver.prefix.is_empty());
    let known: Vec<PathBuf> = listed.filter_map(|driver| driver.manifest.as_deref()).map(canonical).collect();
    for mut driver in installed {
        // An entry with a prefix or an environment of its own is another way to run the same driver, but then the
        // user has said how this driver is to be run.
        if driver.manifest.as_deref().map(canonical).is_some_and(|manifest| known.contains(&manifest)) {
            continue;
        }
        while drivers.iter().any(|other| other.name == driver.name) {
            driver.name.push_str("-system");
        }
        drivers.push(driver);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<Vec<DriverConfig>, String> {
        parse_devices_file(Path::new("/lab/devices.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_full_entry_is_read() {
        let text = r#"
            [[driver]]
            name = "lavapipe-sid"
            manifest = "sid/lvp.json"
            prefix = ["/sid/ld-linux-x86-64.so.2", "--library-path", "/sid/lib"]
            env = { LP_NATIVE_VECTOR_WIDTH = "128" }
            timeout_s = 2.5
            jobs = 2

            [[driver]]
            name = "radv"
            mode = "compile-only"
        "#;
        let drivers = parse(text).unwrap();
        assert_eq!(drivers[0].manifest.as_deref(), Some(Path::new("/lab/sid/lvp.json")));
        assert_eq!(drivers[0].prefix.len(), 3);
        assert_eq!(drivers[0].env["LP_NATIVE_VECTOR_WIDTH"], "128");
        assert_eq!(drivers[0].timeout(), Some(Duration::from_millis(2500)));
        assert_eq!(drivers[0].jobs, Some(2));
        assert_eq!(drivers[1].mode, DriverMode::CompileOnly);
    }

    #[test]
    fn errors_say_file_and_line() {
        let cases = [
            ("[[driver]]\nname = \"a\"\nmanifset = \"x\"\n", "/lab/devices.toml:3: unknown field `manifset`"),
            ("[[driver]]\nname = 3\n", "/lab/devices.toml:2: invalid type"),
            ("[[driver]\n", "/lab/devices.toml:1: "),
            ("[[driver]]\nname=\"a\"\n[[driver]]\nname=\"a\"\n", "/lab/devices.toml:3: a second driver named `a`"),
            ("[[driver]]\nname=\"a\"\ntimeout_s=-1\n", "/lab/devices.toml:1: timeout_s must be"),
            ("[[driver]]\nname=\"a b\"\n", "/lab/devices.toml:1: `a b` cannot name a driver"),
            ("[[driver]]\nname=\"a\"\njobs=0\n", "/lab/devices.toml:1: jobs must be from 1 to 256"),
            ("[[driver]]\nname=\"a\"\njobs=100000\n", "/lab/devices.toml:1: jobs must be from 1 to 256"),
            ("[[driver]]\nname=\"a\"\ntimeout_s=9e18\n", "/lab/devices.toml:1: timeout_s must be"),
            ("[[driver]]\nname=\"a\"\ntimeout_s=nan\n", "/lab/devices.toml:1: timeout_s must be"),
            ("[[driver]]\nname=\"a\"\ntimeout_s=1e-300\n", "/lab/devices.toml:1: timeout_s must be"),
            ("[[driver]]\nname=\"..\"\n", "/lab/devices.toml:1: `..` cannot name a driver"),
            ("[[driver]]\nname=\"a/b\"\n", "/lab/devices.toml:1: `a/b` cannot name a driver"),
            ("[[driver]]\nname=\"-a\"\n", "/lab/devices.toml:1: `-a` cannot name a driver"),
            ("[[driver]]\nname=\"\"\n", "/lab/devices.toml:1: `` cannot name a driver"),
            ("[[driver]]\nname=\"a\\u001b[31mb\"\n", "/lab/devices.toml:1: `ab` cannot name a driver"),
            ("[[driver]]\nname=\"reference\"\n", "/lab/devices.toml:1: `reference` cannot name a driver"),
            (
                "[[driver]]\nname=\"a\"\nremote=[\"ssh\"]\nmanifest=\"b\"\n",
                "/lab/devices.toml:1: b must be the whole path on the remote",
            ),
            ("\n[[driver]]\nmanifest=\"a\"\n", "/lab/devices.toml:2: missing field `name`"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_devices_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.toml");
        std::fs::write(&path, "#".repeat(2 << 20)).unwrap();
        let error = read_devices_file(&path).unwrap_err().to_string();
        assert!(error.ends_with("it has more than 1048576 bytes"), "{error}");
        let error = read_devices_file(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "cannot read devices file /dev/zero: it is no regular file");
        let name = "x".repeat(65);
        assert!(parse(&format!("[[driver]]\nname = \"{name}\"")).unwrap_err().contains("more than 64 characters"));
    }

    #[test]
    fn installed_drivers_give_way_to_the_file() {
        let compiles = "[[driver]]\nname=\"radv\"\nmanifest=\"/c.json\"\nmode=\"compile-only\"\n";
        let elsewhere =
            "[[driver]]\nname=\"far\"\nmanifest=\"/b.json\"\nremote=[\"ssh\", \"far\", \"/tangle-worker\"]\n";
        let text = format!("[[driver]]\nname=\"lvp\"\nmanifest=\"/a.json\"\n{compiles}{elsewhere}");
        let mut drivers = parse(&text).unwrap();
        let installed = vec![
            DriverConfig::from_manifest("same", Path::new("/a.json")),
            DriverConfig::from_manifest("lvp", Path::new("/b.json")),
            DriverConfig::from_manifest("radeon", Path::new("/c.json")),
        ];
        add_installed(&mut drivers, installed);
        let names: Vec<&str> = drivers.iter().map(|driver| driver.name.as_str()).collect();
        assert_eq!(names, ["lvp", "radv", "far", "lvp-system", "radeon"]);
    }
}
