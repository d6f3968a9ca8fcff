//! Compilers that are programs of their own: started for a shader, or kept running ([`Server`]), with limits that hold when nobody watches.
//!
//! The program runs under the process of the toolchain that started it and dies with it. Processor time and memory are limited by the system,
//! so that one that hangs or eats memory ends by itself, and what became of it is a message and no more.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use tangle_files::{linker, words};

use crate::compiler::Failure;
use crate::starter;

/// The most processor time, seconds: a hundred times what the slowest of them takes for a shader.
const SECONDS: libc::rlim_t = 20;

/// How much later the system kills what does not end by `SIGXCPU`, seconds.
const RESPITE: libc::rlim_t = 5;

/// The most memory, bytes.
const MEMORY: libc::rlim_t = 4 << 30;

/// The most that is read of what it says, bytes.
const SAID: u64 = 1 << 20;

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOutput {
    /// On its standard output.
    pub stdout: Vec<u8>,
    /// On its standard error output.
    pub stderr: String,
}

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
    starter::run(command).unwrap_or_else(|| run_here(command))
}

/// The same, by this process.
pub(crate) fn run_here(command: &mut Command) -> Result<ProgramOutput, Failure> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec nothing is called but setrlimit and prctl, which are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            let limit = |most| libc::rlimit { rlim_cur: most, rlim_max: most };
            // SIGXCPU comes first: SIGKILL alone may be anybody's.
            libc::setrlimit(libc::RLIMIT_CPU, &libc::rlimit { rlim_cur: SECONDS, rlim_max: SECONDS + RESPITE });
            libc::setrlimit(libc::RLIMIT_AS, &limit(MEMORY));
            libc::setrlimit(libc::RLIMIT_CORE, &limit(0));
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(|error| Failure::Absent(format!("cannot start {name}: {error}")))?;
    let stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(SAID).read_to_end(&mut text);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut stdout = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        let _ = pipe.by_ref().take(SAID).read_to_end(&mut stdout);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    }
    let status = child.wait().map_err(|error| Failure::Absent(format!("{name}: {error}")))?;
    let stderr = reader.join().unwrap_or_default();
    let said = stderr.trim();
    if status.success() { Ok(ProgramOutput { stdout, stderr }) } else { Err(ended(&name, status, said)) }
}

/// What is said of a program that ended and should not have.
fn ended(name: &str, status: ExitStatus, said: &str) -> Failure {
    let message = match (status.code(), status.signal()) {
        (_, Some(libc::SIGXCPU)) => format!("{name} does not end in {SECONDS} seconds\n{said}"),
        (_, Some(signal)) if is_from_outside(signal) => {
            return Failure::Absent(format!("{name} was killed by signal {signal}"));
        }
        (Some(code), _) if is_passed_on(code) => {
            return Failure::Absent(format!("{name} was killed: exit code {code}"));
        }
        (_, Some(signal)) => format!("{name} crashes with signal {signal}\n{said}"),
        (Some(_), _) if linker::lacks(said).is_some() => return Failure::Absent(unlinked(said)),
        (code, None) if said.is_empty() => format!("{name} fails with code {code:?}"),
        _ => said.to_owned(),
    };
    Failure::Refused(message)
}

/// What to do about a program or library that the dynamic linker cannot load.
pub(crate) fn unlinked(said: &str) -> String {
    let lacks = linker::lacks(said).unwrap_or_else(|| said.to_owned());
    let example = linker::example();
    format!(
        "{lacks}: start the compiler with the libraries that it was built for, --compiler-prefix '{example}', or name a script that does"
    )
}

/// True for a signal that a process does not cause by what it does: somebody sent it, or the system.
pub fn is_from_outside(signal: i32) -> bool {
    const FAULTS: [i32; 7] =
        [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
    !FAULTS.contains(&signal)
}

/// True for an exit code by which a shell or `timeout` that stands between passes such a signal on: 128 and its number.
pub fn is_passed_on(code: i32) -> bool {
    const PASSED_ON: [i32; 5] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGKILL, libc::SIGTERM];
    PASSED_ON.contains(&(code - 128))
}

/// A program that is kept running and answers a line with a line. It limits its own processor time, has
/// the memory of this process, and dies with this thread.
#[derive(Debug)]
pub struct Server {
    child: Child,
    name: &'static str,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: File,
}

impl Server {
    /// Starts it.
    ///
    /// # Errors
    /// [`Failure::Absent`] if it cannot be started.
    pub fn start(command: &mut Command, name: &'static str) -> Result<Server, Failure> {
        let failed = |error: std::io::Error| Failure::Absent(format!("cannot start {name}: {error}"));
        let stderr = tempfile::tempfile().map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.try_clone().map_err(failed)?);
        // SAFETY: between fork and exec nothing is called but prctl, which is async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(failed)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Server { child, name, stdin, stdout: BufReader::new(stdout), stderr }),
            _ => Err(Failure::Absent(format!("{name} has no pipes"))),
        }
    }

    /// What it answers to a line, which has no line end.
    ///
    /// # Errors
    /// As [`Server::line`].
    pub fn ask(&mut self, line: &str) -> Result<String, Failure> {
        match writeln!(self.stdin, "{line}").and_then(|()| self.stdin.flush()) {
            Ok(()) => self.line(),
            Err(_) => Err(self.ended()),
        }
    }

    /// The next line.
    ///
    /// # Errors
    /// [`Failure::Refused`] with what it said last if it ended.
    pub fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(_) if line.ends_with('\n') => Ok(line),
            _ => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> Failure {
        let Ok(status) = self.child.wait() else { return Failure::Absent(format!("{} is gone", self.name)) };
        let mut said = Vec::new();
        if self.stderr.rewind().is_ok() {
            let _ = (&self.stderr).take(SAID).read_to_end(&mut said);
        }
        ended(self.name, status, String::from_utf8_lossy(&said).trim())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_killed_from_outside_says_nothing_of_the_shader() {
        for (script, expected) in [
            ("kill -KILL $$", Failure::Absent("sh was killed by signal 9".into())),
            ("kill -TERM $$", Failure::Absent("sh was killed by signal 15".into())),
            ("exit 137", Failure::Absent("sh was killed: exit code 137".into())),
            ("echo no >&2; exit 1", Failure::Refused("no".into())),
            ("exit 2", Failure::Refused("sh fails with code Some(2)".into())),
            ("kill -SEGV $$", Failure::Refused("sh crashes with signal 11\n".into())),
            ("kill -XCPU $$", Failure::Refused(format!("sh does not end in {SECONDS} seconds\n"))),
        ] {
            assert_eq!(run(Command::new("/bin/sh").args(["-c", script])), Err(expected), "{script}");
        }
    }
}
