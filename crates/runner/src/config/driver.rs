//! A driver: how to start a worker on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tangle_features::Api;
use tangle_files::text::Line;

use crate::info::DriverMode;

/// The longest `timeout_s` and `--timeout`: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest name of a driver, characters.
const LONGEST_NAME: usize = 64;

/// Devices without a driver have these names.
const RESERVED: [&str; 2] = ["reference", "interpreter"];

/// What keeps a word from being the name of a driver, which is also the name of a folder, a column, and an argument; `None` if nothing does.
pub fn name_problem(name: &str) -> Option<String> {
    let is_fit = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let shown = Line::from(name);
    if !name.starts_with(char::is_alphanumeric) || !name.chars().all(is_fit) {
        return Some(format!(
            "`{shown}` cannot name a driver: letters, digits, `.`, `-`, `_` and `+`, a letter or digit first"
        ));
    }
    if name.chars().count() > LONGEST_NAME {
        return Some(format!("`{shown}` cannot name a driver: it has more than {LONGEST_NAME} characters"));
    }
    RESERVED.contains(&name).then(|| format!("`{name}` cannot name a driver: it names a device of tangle's own"))
}

/// How to start a worker on one driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverConfig {
    /// Unique name on this machine.
    pub name: String,
    /// The interface that its devices are driven by.
    #[serde(default)]
    pub api: Api,
    /// The driver manifest (JSON) that the Vulkan loader, or for OpenGL libglvnd's libEGL, is pointed at. Without one
    /// they look for themselves. For WebGPU it is that of the Vulkan driver beneath.
    #[serde(default)]
    pub manifest: Option<PathBuf>,
    /// Command put before the worker, for example another libc's `ld-linux-x86-64.so.2 --library-path …`, or `qemu-aarch64`.
    #[serde(default)]
    pub prefix: Vec<String>,
    /// Command that starts `tangle-worker` on another machine: `ssh host /path/to/tangle-worker`. Manifest, prefix, worker and
    /// environment are then those of that machine.
    #[serde(default)]
    pub remote: Vec<String>,
    /// Worker executable, where it is not this program itself: one built for another architecture.
    #[serde(default)]
    pub worker: Option<PathBuf>,
    /// Environment of the worker, over what tangle sets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The most processor time for one job, seconds; see [`crate::DeviceOptions::timeout`].
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// How many workers a campaign may run on this driver at once.
    #[serde(default)]
    pub jobs: Option<u32>,
    /// Whether the driver runs what it compiles.
    #[serde(default)]
    pub mode: DriverMode,
    /// True if `env` has settings that the driver has for debugging only, so that no user's results depend on them: what is found is then of severity
    /// *quality*.
    #[serde(default)]
    pub debug: bool,
}

impl DriverConfig {
    /// A driver of which only the manifest is known.
    pub fn from_manifest(name: &str, manifest: &Path) -> DriverConfig {
        DriverConfig {
            name: name.to_owned(),
            api: Api::Vulkan,
            manifest: Some(manifest.to_owned()),
            prefix: Vec::new(),
            remote: Vec::new(),
            worker: None,
            env: BTreeMap::new(),
            timeout_s: None,
            jobs: None,
            mode: DriverMode::Execute,
            debug: false,
        }
    }

    /// An OpenGL driver of which only the manifest of libglvnd is known.
    pub fn opengl(name: &str, manifest: &Path) -> DriverConfig {
        DriverConfig { api: Api::OpenGl, ..DriverConfig::from_manifest(name, manifest) }
    }

    /// True if its workers run on another machine.
    pub fn is_remote(&self) -> bool {
        !self.remote.is_empty()
    }

    /// The most time for one job, where the entry says it.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_s
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map(|time| time.min(LONGEST_TIMEOUT))
    }
}

/// The file that a path leads to, as far as it is known.
pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
