//! The optimiser in a process of its own: on a module that it does not expect it may crash, hang, or eat all memory.
//!
//! The process is this program started again with [`VARIABLE`] set; it reads the module on standard input and writes the result on
//! standard output. It limits its own time and memory, so that nobody has to watch it.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::{ToolchainError, optimise, validate};
use crate::job::WorkerEnd;
use crate::process::this_program;
use crate::spirv::SpirvVersion;

/// Set when a process is to optimise: the SPIR-V version, and flags of `spirv-opt` with spaces between.
const VARIABLE: &str = "TANGLE_OPTIMISER";

/// Longest time for one module, seconds.
const SECONDS: libc::c_uint = 20;

/// The most memory, bytes.
const MEMORY: libc::rlim_t = 4 << 30;

/// Test hook: environment variable with what the optimiser is to do wrong: `crash`, or `garbage` for a module that is none.
const FAULT: &str = "TANGLE_OPTIMISER_FAULT";

/// Exit code when the optimiser says why it fails.
const REFUSED: i32 = 65;

/// The program that becomes an optimiser, where it is not this one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Has another program become the optimiser: for programs that cannot begin with [`crate::worker::run_if_requested`], tests for instance.
/// The first call counts.
pub fn optimise_by(program: PathBuf) {
    PROGRAM.get_or_init(|| program);
}

/// Runs the optimiser of SPIRV-Tools over a module, in a process of its own, and validates what it makes. The program has to begin with
/// [`crate::worker::run_if_requested`], or [`optimise_by`] to name one that does.
///
/// # Errors
///
/// [`ToolchainError::Optimiser`] if it fails, crashes or hangs; [`ToolchainError::Spoilt`] if the validator rejects what it made;
/// [`ToolchainError::Internal`] if it could not be run.
pub fn optimise_apart(module: &[u32], version: SpirvVersion, flags: &[String]) -> Result<Vec<u32>, ToolchainError> {
    let internal = |error: io::Error| ToolchainError::Internal(format!("cannot run the optimiser: {error}"));
    if std::env::var_os(VARIABLE).is_some() {
        // Started to be an optimiser, it asks for another, which would ask for another.
        return Err(ToolchainError::Internal("this program does not begin with worker::run_if_requested".into()));
    }
    let request = [&[version.to_string()], flags].concat().join(" ");
    let program = match PROGRAM.get() {
        Some(program) => program.clone(),
        None => this_program().map_err(internal)?,
    };
    let mut child = Command::new(program)
        .env(VARIABLE, request)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(internal)?;
    let bytes: Vec<u8> = module.iter().flat_map(|word| word.to_le_bytes()).collect();
    if let Some(mut input) = child.stdin.take() {
        // It reads everything before it writes anything. If it dies before, its end says more than the broken pipe.
        let _ = input.write_all(&bytes);
    }
    let output = child.wait_with_output().map_err(internal)?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let end = match (output.status.code(), output.status.signal()) {
        (Some(0), _) => {
            let optimised = from_bytes(&output.stdout);
            return validate(&optimised, version).map_err(ToolchainError::Spoilt).map(|()| optimised);
        }
        (Some(REFUSED), _) => return Err(ToolchainError::Optimiser(format!("fails: {words}"))),
        (_, Some(libc::SIGALRM)) => format!("does not end in {SECONDS} seconds"),
        (code, signal) => {
            let end = signal.map_or(WorkerEnd::Exit(code.unwrap_or(-1)), WorkerEnd::Signal);
            format!("{end} {words}").trim().to_owned()
        }
    };
    Err(ToolchainError::Optimiser(end))
}

/// Becomes an optimiser and never returns when the environment says so.
pub(crate) fn run_if_requested() {
    let Ok(request) = std::env::var(VARIABLE) else { return };
    let code = match serve(&request) {
        Ok(()) => 0,
        Err(problem) => {
            eprintln!("{problem}");
            REFUSED
        }
    };
    // SAFETY: _exit takes any number, and ends the process without touching memory of ours.
    unsafe { libc::_exit(code) }
}

fn serve(request: &str) -> Result<(), String> {
    limit();
    let mut words = request.split(' ').map(str::to_owned);
    let version = words.next().unwrap_or_default();
    let version = SpirvVersion::ALL.into_iter().find(|known| known.to_string() == version);
    let version = version.ok_or_else(|| format!("{VARIABLE} has no version: {request}"))?;
    let flags: Vec<String> = words.collect();
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let optimised = match std::env::var(FAULT).as_deref() {
        Ok("crash") => std::process::abort(),
        Ok("garbage") => vec![0; 5],
        _ => optimise(&from_bytes(&bytes), version, &flags)?,
    };
    let bytes: Vec<u8> = optimised.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut output = io::stdout().lock();
    output.write_all(&bytes).and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// Ends this process when it takes too long or too much.
fn limit() {
    let memory = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: both calls take plain numbers and touch no memory of ours but the structure.
    unsafe {
        libc::alarm(SECONDS);
        libc::setrlimit(libc::RLIMIT_AS, &memory);
    }
}

fn from_bytes(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}
