//! The process that has Dawn: how it starts, what it says, how it ends.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde::Deserialize;
use tangle_compilers::started;

use crate::outcome::{Stage, Times};
use crate::worker::this_process::{self, leave};

/// Environment variable of a worker with the folder of the Python package `wgpudawn`, where it is not the one that `./x setup` got.
pub const RUNTIME_VARIABLE: &str = "TANGLE_WEBGPU_RUNTIME";

/// The program of the process, which speaks to Dawn.
const SCRIPT: &str = include_str!("dawn.py");

/// The longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// The process that has Dawn, while it runs.
pub(super) struct Runtime {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What it says first.
pub(super) struct Ready {
    /// The version of Dawn.
    pub(super) version: String,
    /// All that it has on Vulkan.
    pub(super) adapters: Vec<Adapter>,
}

/// An adapter, in WebGPU's words.
#[derive(Debug, Deserialize)]
pub(super) struct Adapter {
    pub(super) device: String,
    pub(super) description: String,
    pub(super) backend: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) vendor_id: u32,
    pub(super) device_id: u32,
    pub(super) subgroup_min_size: u32,
    pub(super) subgroup_max_size: u32,
    pub(super) features: Vec<String>,
    pub(super) limits: BTreeMap<String, u64>,
}

/// A job in its words.
pub(super) struct Asked {
    /// The job as a line of JSON.
    pub(super) line: String,
    /// What is in buffers.
    pub(super) words: Vec<u8>,
    /// How many bytes come back.
    pub(super) expected: u64,
}

/// What came of a job.
pub(super) enum Reply {
    /// It ran; `words` are all buffers that come back, one behind the other.
    Done { times: Times, words: Vec<u32> },
    /// A function failed: the kind of error, the function, and what it says.
    Failed { kind: String, call: String, message: String },
    /// There was no memory.
    OutOfMemory { call: String, message: String },
    /// The device is lost.
    Lost,
}

/// A line; every member of one that is not there is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    ready: Option<String>,
    adapters: Vec<Adapter>,
    absent: Option<String>,
    opened: bool,
    broken: Option<String>,
    stage: Option<String>,
    launch: u32,
    done: Option<Spent>,
    processor_us: u64,
    bytes: u64,
    failed: Option<FailedCall>,
    lost: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spent {
    module_us: u64,
    pipeline_us: u64,
    prepare_us: u64,
    submit_wait_us: u64,
    read_back_us: u64,
}

#[derive(Debug, Deserialize)]
struct FailedCall {
    kind: String,
    call: String,
    message: String,
}

impl Runtime {
    /// Starts it, and hears which adapters there are.
    pub(super) fn start(prefix: &[String]) -> Result<(Runtime, Ready), String> {
        let named = std::env::var_os(RUNTIME_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let folder = named.or_else(|| tangle_compilers::installed("tint"));
        let folder = folder.ok_or("there is no WebGPU runtime: ./x setup --compilers tint gets Dawn")?;
        let python = started::python()?;
        let mut words = prefix.iter().chain([&python]);
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).args(["-I", "-B", "-c", SCRIPT]).arg(folder);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("Dawn does not start: {}: {error}", command.get_program().display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("Dawn has no pipes".to_owned());
        };
        let mut runtime = Runtime { child, input, output: BufReader::new(output) };
        match runtime.hear()? {
            Said { ready: Some(version), adapters, .. } => Ok((runtime, Ready { version, adapters })),
            Said { absent: Some(why), .. } => Err(format!("Dawn does not start: {why}")),
            other => Err(unexpected(&other)),
        }
    }

    /// Has it open an adapter.
    pub(super) fn open(&mut self, index: u32) -> Result<(), String> {
        self.say(&serde_json::json!({ "open": index }).to_string(), &[])?;
        match self.hear()? {
            Said { opened: true, .. } => Ok(()),
            Said { broken: Some(why), .. } => Err(why),
            other => Err(unexpected(&other)),
        }
    }

    /// Has it run a job, and says which stage begins. The error is that nothing is known of the job.
    pub(super) fn run(&mut self, asked: &Asked, mut enter: impl FnMut(Stage)) -> Result<Reply, String> {
        self.say(&asked.line, &asked.words)?;
        loop {
            match self.hear()? {
                Said { stage: Some(name), launch, .. } => enter(stage(&name, launch).ok_or("Dawn names no stage")?),
                Said { done: Some(spent), processor_us, bytes, .. } if bytes == asked.expected => {
                    let mut words = vec![0; bytes as usize];
                    if self.output.read_exact(&mut words).is_err() {
                        self.end_as_it_did();
                    }
                    let words =
                        words.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
                    let times = Times {
                        module_us: spent.module_us,
                        pipeline_us: spent.pipeline_us,
                        prepare_us: spent.prepare_us,
                        submit_wait_us: spent.submit_wait_us,
                        read_back_us: spent.read_back_us,
                        processor_us,
                        ..Times::default()
                    };
                    return Ok(Reply::Done { times, words: words.collect() });
                }
                Said { failed: Some(FailedCall { kind, call, message }), .. } => {
                    return Ok(match kind.as_str() {
                        "GPUOutOfMemoryError" => Reply::OutOfMemory { call, message },
                        _ => Reply::Failed { kind, call, message },
                    });
                }
                Said { lost: Some(_), .. } => return Ok(Reply::Lost),
                Said { broken: Some(why), .. } => return Err(format!("Dawn's process: {why}")),
                other => return Err(unexpected(&other)),
            }
        }
    }

    fn say(&mut self, line: &str, words: &[u8]) -> Result<(), String> {
        let written = self.input.write_all(line.as_bytes()).and_then(|()| self.input.write_all(b"\n"));
        if written.and_then(|()| self.input.write_all(words)).and_then(|()| self.input.flush()).is_err() {
            self.end_as_it_did();
        }
        Ok(())
    }

    /// The next line. Without one the process is gone, and this one goes as it went.
    fn hear(&mut self) -> Result<Said, String> {
        let mut line = Vec::new();
        let read = (&mut self.output).take(LONGEST).read_until(b'\n', &mut line);
        if read.is_err() || line.is_empty() {
            self.end_as_it_did();
        }
        let shown = || format!("Dawn's process says: {}", String::from_utf8_lossy(&line[..line.len().min(100)]));
        serde_json::from_slice(&line).map_err(|_| shown())
    }

    /// Ends the worker by what ended the process: whoever watches the worker then knows of it what there is to know.
    fn end_as_it_did(&mut self) -> ! {
        match self.child.wait() {
            Ok(status) => end_as(status),
            Err(_) => leave(this_process::ExitStatus::Failed),
        }
    }
}

fn end_as(status: ExitStatus) -> ! {
    if let Some(number) = status.signal() {
        // SAFETY: both take any number; this process has nothing to write of a crash that is not its own.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
    }
    match status.code().filter(|code| *code != 0) {
        // SAFETY: _exit takes any number, and ends the process without touching memory of ours.
        Some(code) => unsafe { libc::_exit(code) },
        None => leave(this_process::ExitStatus::Failed),
    }
}

fn unexpected(said: &Said) -> String {
    format!("Dawn's process gives an answer that was not asked for: {said:?}").chars().take(200).collect()
}

fn stage(name: &str, launch: u32) -> Option<Stage> {
    Some(match name {
        "module" => Stage::Module,
        "pipeline" => Stage::Pipeline,
        "prepare" => Stage::Prepare { launch },
        "submit" => Stage::Submit { launch },
        "wait" => Stage::Wait { launch },
        "read_back" => Stage::ReadBack { launch },
        "cleanup" => Stage::Cleanup,
        _ => return None,
    })
}
