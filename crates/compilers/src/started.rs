//! Compilers that are programs of their own: started for a shader, or kept running (`server.rs`), with limits that hold when nobody watches (`program.rs`).
//!
//! The program runs under the process of the toolchain that started it and dies with it. Processor time and memory are limited by the system,
//! so that one that hangs or eats memory ends by itself, and what became of it is a message and no more.

use std::path::Path;
use std::process::{Command, Stdio};

use tangle_files::words;

use crate::compiler::Failure;
pub use crate::program::{ProgramOutput, is_from_outside, is_passed_on};
use crate::{program, starter};

/// The command that starts a program, by another one if it has to be.
pub fn command(program: &Path, prefix: &[String]) -> Command {
    let Some((first, rest)) = prefix.split_first() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(rest).arg(program);
    command
}

/// Runs a command to its end, by the process that [`prepare_starter`](crate::prepare_starter) makes if there is one.
///
/// # Errors
/// [`Failure::Absent`] if it cannot be started, or is killed from outside; [`Failure::Refused`] with what it said if it fails, crashes or does
/// not end.
pub fn run(command: &mut Command) -> Result<ProgramOutput, Failure> {
    starter::run(command).unwrap_or_else(|| program::run(command))
}

/// Where the system's Python is: a dynamic linker that starts it needs the file.
///
/// # Errors
/// If there is none, in a line.
pub fn python() -> Result<String, String> {
    let output = Command::new("python3")
        .args(["-I", "-c", "import sys; print(sys.executable)"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("there is no Python: python3: {error}"))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() && !path.is_empty() {
        true => Ok(path),
        false => Err("there is no Python: python3 does not start".to_owned()),
    }
}

/// The words of a module that a compiler wrote.
///
/// # Errors
/// If it is none.
pub fn module(bytes: &[u8]) -> Result<Vec<u32>, Failure> {
    let whole = bytes.len().is_multiple_of(4) && bytes.get(..4) == Some(&spirv::MAGIC_NUMBER.to_le_bytes()[..]);
    if !whole {
        return Err(Failure::Refused(format!("it writes {} bytes that are no SPIR-V", bytes.len())));
    }
    Ok(words::from_bytes(bytes))
}

/// A folder with these files, gone when it is dropped.
///
/// # Errors
/// If it cannot be made.
pub fn folder(files: &[(&str, &str)]) -> Result<tempfile::TempDir, Failure> {
    let failed = |error: std::io::Error| Failure::Absent(format!("cannot write a shader: {error}"));
    let folder = tempfile::Builder::new().prefix("tangle-compiler").tempdir().map_err(failed)?;
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).map_err(failed)?;
    }
    Ok(folder)
}

/// What a program wrote to a file of the folder.
///
/// # Errors
/// If there is no such file: the program did not say that it failed, and made nothing.
pub fn read(folder: &tempfile::TempDir, name: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(folder.path().join(name)).map_err(|error| Failure::Refused(format!("it writes no module: {error}")))
}
