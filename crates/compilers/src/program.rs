//! A program that is run to its end, with limits that hold when nobody watches.

use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use tangle_files::linker;

use crate::compiler::Failure;

/// The most processor time, seconds: a hundred times what the slowest of them takes for a shader.
const SECONDS: libc::rlim_t = 20;

/// How much later the system kills what does not end by `SIGXCPU`, seconds.
const RESPITE: libc::rlim_t = 5;

/// The most memory, bytes.
const MEMORY: libc::rlim_t = 4 << 30;

/// The most that is read of what it says, bytes.
pub(crate) const SAID: u64 = 1 << 20;

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOutput {
    /// On its standard output.
    pub stdout: Vec<u8>,
    /// On its standard error output.
    pub stderr: String,
}

/// Runs a command to its end, by this process.
///
/// # Errors
/// [`Failure::Absent`] if it cannot be started, or is killed from outside; [`Failure::Refused`] with what it said if it fails, crashes or does
/// not end.
pub(crate) fn run(command: &mut Command) -> Result<ProgramOutput, Failure> {
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
pub(crate) fn ended(name: &str, status: ExitStatus, said: &str) -> Failure {
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
