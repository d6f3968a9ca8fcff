//! A small process that starts programs for this one.
//!
//! To start a program the system copies the memory map of the process that starts it, and either pays for the pages that it writes afterwards. With the memory
//! that glslang leaves behind that is a sixth of a round trip through SPIRV-Cross. A process that is forked before there is such memory stays small.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::compiler::Failure;
use crate::program::{self, ProgramOutput};

/// The longest message, bytes: what a program says on two outputs, each byte of which may become three, and the rest of the message.
const LONGEST: u32 = 8 << 20;

/// The process, if there is one.
static STARTER: Mutex<Option<Starter>> = Mutex::new(None);

#[derive(Debug)]
struct Starter {
    stream: UnixStream,
    process: libc::pid_t,
}

impl Drop for Starter {
    /// Waits for its end: the processor time of its programs is this process' from then on.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        // SAFETY: the call takes a number, and is not asked for the status.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// A program to run to its end.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    /// The program and its arguments.
    words: Vec<Vec<u8>>,
    /// The folder to start it in.
    folder: Option<Vec<u8>>,
    /// Changes of the environment.
    environment: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Request {
    fn of(command: &Command) -> Request {
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        Request {
            words: std::iter::once(command.get_program()).chain(command.get_args()).map(bytes).collect(),
            folder: command.get_current_dir().map(|folder| bytes(folder.as_os_str())),
            environment: command.get_envs().map(|(name, value)| (bytes(name), value.map(bytes))).collect(),
        }
    }

    fn command(self) -> Command {
        let mut words = self.words.into_iter().map(OsString::from_vec);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        for (name, value) in self.environment {
            let name = OsString::from_vec(name);
            match value {
                Some(value) => command.env(name, OsString::from_vec(value)),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = self.folder {
            command.current_dir(PathBuf::from(OsString::from_vec(folder)));
        }
        command
    }
}

/// Forks the process. Where that is not possible, since this process has several threads say, it starts its programs itself.
pub fn prepare() {
    let Ok((ours, theirs)) = UnixStream::pair() else { return };
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads != 1 {
        return;
    }
    // SAFETY: this process has one thread, so that no lock is held by another one, and the child may go on as any process.
    match unsafe { libc::fork() } {
        0 => {
            drop(ours);
            leave_outputs();
            let _ = serve(theirs);
            // SAFETY: _exit takes any number, and ends the process without touching memory of ours.
            unsafe { libc::_exit(0) }
        }
        process @ 1.. => *starter() = Some(Starter { stream: ours, process }),
        _ => {}
    }
}

/// Ends the process, if there is one.
pub fn end() {
    *starter() = None;
}

fn starter() -> MutexGuard<'static, Option<Starter>> {
    STARTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the process die with its parent, and hold none of its pipes open.
fn leave_outputs() {
    // SAFETY: the call takes numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        for output in 0..3 {
            // SAFETY: the call takes numbers of files; no object of Rust owns these three.
            unsafe { libc::dup2(null.as_raw_fd(), output) };
        }
    }
}

/// Runs a command to its end by the process; `None` if there is none.
pub(crate) fn run(command: &Command) -> Option<Result<ProgramOutput, Failure>> {
    let mut starter = starter();
    let Starter { stream, .. } = starter.as_mut()?;
    let answer = write(stream, &Request::of(command)).and_then(|()| read(stream));
    Some(answer.unwrap_or_else(|error| {
        *starter = None;
        Err(Failure::Absent(format!("the process that starts programs is gone: {error}")))
    }))
}

/// Runs programs until nobody asks any more.
fn serve(mut stream: UnixStream) -> io::Result<()> {
    loop {
        let request: Request = read(&mut stream)?;
        write(&mut stream, &program::run(&mut request.command()))?;
    }
}

fn write(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_le_bytes()[..], &bytes].concat())
}

fn read<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other("a message is too long"));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_run() {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        let server = std::thread::spawn(move || serve(theirs));
        let mut run = |command: &mut Command| -> Result<ProgramOutput, Failure> {
            write(&mut ours, &Request::of(command)).expect("it reads");
            read(&mut ours).expect("it answers")
        };
        let said = run(Command::new("/bin/sh")
            .args(["-c", "pwd; echo $A${HOME-none}; echo no >&2"])
            .current_dir("/proc")
            .env("A", "a b")
            .env_remove("HOME"));
        let expected = ProgramOutput { stdout: b"/proc\na bnone\n".to_vec(), stderr: "no\n".into() };
        assert_eq!(said, Ok(expected));
        assert_eq!(
            run(Command::new("/bin/sh").args(["-c", "echo no >&2; exit 1"])),
            Err(Failure::Refused("no".into()))
        );
        let absent = run(&mut Command::new("/nosuchprogram")).expect_err("there is none");
        assert!(matches!(absent, Failure::Absent(reason) if reason.contains("cannot start nosuchprogram")));
        drop(ours);
        assert!(server.join().expect("it ends").is_err());
    }
}
