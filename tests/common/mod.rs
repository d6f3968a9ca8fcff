//! What the tests of the command share: running it, the devices there are, and saying what was compared.

#![allow(dead_code, reason = "every test program uses some of it")]

pub mod expectations;
pub mod targets;

use std::fmt;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The command that Cargo built beside the tests.
pub const TANGLE: &str = env!("CARGO_BIN_EXE_tangle");

/// Longest time for one run of the command: so long that only one that never ends needs it, on a machine however busy.
pub const LIMIT: Duration = Duration::from_secs(1800);

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says something that is seen although the test passes: what was compared, what could not be.
pub fn write_note(text: fmt::Arguments<'_>) {
    // Not `eprintln!`, which the test harness keeps to itself.
    let _ = writeln!(std::io::stderr(), "note: {text}");
}

/// `write_note(format_args!(…))`
#[macro_export]
macro_rules! note {
    ($($arg:tt)*) => { $crate::common::write_note(format_args!($($arg)*)) };
}

#[allow(unused_imports, reason = "not every test program uses it")]
pub use crate::note;

/// A finished run of the command.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The exit code, after a check that nothing panicked.
    #[track_caller]
    pub fn code(&self) -> i32 {
        assert!(!self.stderr.contains("panicked"), "{self}");
        self.status.code().unwrap_or_else(|| panic!("no exit code: {self}"))
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    /// Checks that the run failed with one error line that has all these parts.
    #[track_caller]
    pub fn fails_with(self, parts: &[&str]) -> Ran {
        assert_eq!(self.code(), 2, "{self}");
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "not one error line: {self}");
        for part in parts {
            assert!(errors[0].contains(part), "'{part}' is not in the error: {self}");
        }
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n-- stdout\n{}\n-- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}

/// The command with these arguments, in an environment without test hooks.
pub fn tangle<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<std::ffi::OsStr>,
{
    let mut command = Command::new(TANGLE);
    // Whatever a test forgets to place does not land in the checkout.
    command.args(args).current_dir(std::env::temp_dir());
    for hook in ["TANGLE_WORKER", "TANGLE_WORKER_NULL", "TANGLE_WORKER_FAULT", "RUST_BACKTRACE"] {
        command.env_remove(hook);
    }
    command
}

/// A run that goes on.
pub struct Running {
    pub child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

/// Starts a command.
pub fn start(mut command: Command) -> Running {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let stdout = reader(child.stdout.take().expect("it is piped"));
    let stderr = reader(child.stderr.take().expect("it is piped"));
    Running { child, stdout, stderr }
}

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    /// Waits for the end, but not for ever.
    #[track_caller]
    pub fn finish_within(mut self, limit: Duration) -> Ran {
        let begin = Instant::now();
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                break status;
            }
            if begin.elapsed() > limit && !timed_out {
                timed_out = true;
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let ran = Ran {
            status,
            stdout: self.stdout.join().unwrap_or_default(),
            stderr: self.stderr.join().unwrap_or_default(),
        };
        assert!(!timed_out, "still running after {limit:?}: {ran}");
        ran
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn finish(command: Command) -> Ran {
    start(command).finish_within(LIMIT)
}

/// Runs tangle with these arguments to its end.
#[track_caller]
pub fn run<I, S>(args: I) -> Ran
where
    I: IntoIterator<Item = S>,
    S: AsRef<std::ffi::OsStr>,
{
    finish(tangle(args))
}

/// A Vulkan device of this machine, as `tangle devices --json` lists it.
#[derive(Clone, Debug)]
pub struct DeviceFacts {
    pub name: String,
    /// True if its results may change from one day to the next without a change here: `corpus/expectations.toml` says why.
    pub moves: bool,
    /// Invocations in a subgroup unless a case requires another size.
    pub subgroup_size: u64,
    /// False of OpenGL drivers that have `GL_ARB_shader_ballot` and `GL_ARB_shader_group_vote` only: few programs need no more.
    pub has_basic_operations: bool,
}

/// Every device that runs what it compiles, but WebGPU runtimes, which run on these (`tests/source_faults.rs`). Empty without any driver.
pub fn devices() -> &'static [DeviceFacts] {
    static DEVICES: OnceLock<Vec<DeviceFacts>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let ran = run(["devices", "--json"]);
        let all = ran.json();
        for problem in all["problems"].as_array().into_iter().flatten() {
            note!("driver {} cannot be tested: {}", problem["driver"], problem["problem"]);
        }
        let expectations = expectations::Expectations::read();
        let facts = |info: &Value| DeviceFacts {
            name: text(&info["name"]),
            moves: expectations.moves(&text(&info["name"])),
            subgroup_size: number(&info["subgroup"]["size"]),
            has_basic_operations: info["subgroup"]["operations"]
                .as_array()
                .is_some_and(|all| all.contains(&"basic".into())),
        };
        let executing = all["devices"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|info| info["mode"] == "execute" && info["webgpu"].is_null());
        let devices: Vec<DeviceFacts> = executing.map(facts).collect();
        if devices.is_empty() {
            note!("THERE IS NO VULKAN DRIVER: only the reference device is tested (./x setup gets drivers)");
        }
        devices
    })
}

/// The device whose programs compile fastest, of those that stay as they are.
pub fn quick_device() -> Option<&'static DeviceFacts> {
    let stays = || devices().iter().filter(|device| !device.moves);
    stays().find(|device| device.name.contains("swiftshader")).or_else(|| stays().next()).or_else(|| devices().first())
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

#[track_caller]
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[track_caller]
pub fn read_json(path: &Path) -> Value {
    let text = read(path);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything below a folder, as sorted relative paths.
pub fn tree(folder: &Path) -> Vec<PathBuf> {
    fn walk(folder: &Path, base: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            all.extend(path.strip_prefix(base).map(Path::to_owned));
            if path.is_dir() {
                walk(&path, base, all);
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, folder, &mut all);
    all.sort();
    all
}

/// A vector of the corpus.
pub fn vector(name: &str) -> PathBuf {
    root().join(format!("corpus/vectors/{name}.json"))
}

/// A devices file with one driver that needs no Vulkan: the worker's null device, with faults.
pub fn null_devices_file(folder: &Path, faults: &str) -> PathBuf {
    let path = folder.join("null.toml");
    let entry = format!(
        "[[driver]]\nname = \"null\"\nenv = {{ TANGLE_WORKER_NULL = \"1\", TANGLE_WORKER_FAULT = \"{faults}\" }}\n"
    );
    std::fs::write(&path, entry).expect("the test's folder can be written");
    path
}
