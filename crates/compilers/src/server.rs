//! Programs that are kept running and answer a line with a line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::compiler::Failure;
use crate::program::{SAID, ended};

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
            Ok(_) => Err(self.ended()),
            Err(error) => {
                let _ = self.child.kill();
                Err(Failure::Absent(format!("{}: {error}", self.name)))
            }
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

/// A [`Server`] of a thread: kept for the next question, and started anew for another place.
#[derive(Debug, Default)]
pub(crate) struct Kept(RefCell<Option<(PathBuf, Server)>>);

impl Kept {
    /// No process yet.
    pub(crate) const fn new() -> Kept {
        Kept(RefCell::new(None))
    }

    /// What the compiler at a place answers to a line: the name and the text of the one member of an object. If it dies of it, only a fresh
    /// process is to be believed.
    ///
    /// # Errors
    /// As [`Server::ask`], and those of `start`.
    pub(crate) fn ask(
        &self,
        place: &Path,
        line: &str,
        start: impl Fn() -> Result<Server, Failure>,
    ) -> Result<(String, String), Failure> {
        let kept = self.0.take().filter(|(of, _)| of == place);
        if let Some((_, mut server)) = kept
            && let Ok(answer) = server.ask(line)
        {
            return self.kept(place, server, &answer);
        }
        let mut server = start()?;
        let does_not = |name: &str, reason: &str| Failure::Absent(format!("{name} does not start: {reason}"));
        let first = server.line().map_err(|failure| match failure {
            Failure::Refused(reason) | Failure::Absent(reason) => does_not(server.name, &reason),
        })?;
        match member(&first)? {
            (kind, _) if kind == "ready" => {}
            (_, reason) => return Err(does_not(server.name, &reason)),
        }
        let answer = server.ask(line)?;
        self.kept(place, server, &answer)
    }

    /// Keeps a process whose answer can be read.
    fn kept(&self, place: &Path, server: Server, answer: &str) -> Result<(String, String), Failure> {
        let answer = member(answer)?;
        self.0.replace(Some((place.to_owned(), server)));
        Ok(answer)
    }

    /// Ends the process, if there is one.
    pub(crate) fn end(&self) {
        self.0.take();
    }
}

/// The name and the text of the one member of an object.
fn member(line: &str) -> Result<(String, String), Failure> {
    let members: BTreeMap<String, String> = serde_json::from_str(line).unwrap_or_default();
    let member = members.into_iter().next();
    member.ok_or_else(|| Failure::Absent(format!("a compiler answers: {}", line.chars().take(200).collect::<String>())))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_process_that_dies_is_believed_only_if_a_fresh_one_does() {
        let serve = |answer: &str| {
            let script = format!(
                "echo '{{\"ready\": \"1\"}}'; n=0; while read line; do n=$((n + 1)); {answer}; echo \"{{\\\"glsl\\\": \\\"$line\\\"}}\"; done"
            );
            move || Server::start(Command::new("/bin/sh").args(["-c", &script]), "sh")
        };
        let glsl = |text: &str| Ok(("glsl".to_owned(), text.to_owned()));
        let place = Path::new("/here");
        let kept = Kept::new();
        let second = serve("[ $n = 2 ] && kill -SEGV $$");
        assert_eq!(kept.ask(place, "a", &second), glsl("a"));
        assert_eq!(kept.ask(place, "b", &second), glsl("b"));
        let one = serve("[ $line = die ] && kill -SEGV $$");
        assert_eq!(kept.ask(Path::new("/there"), "c", &one), glsl("c"), "another place");
        assert_eq!(
            kept.ask(Path::new("/there"), "die", &one),
            Err(Failure::Refused("sh crashes with signal 11\n".into()))
        );
        assert_eq!(kept.ask(Path::new("/there"), "d", &one), glsl("d"));
        let absent = || Server::start(Command::new("/bin/sh").args(["-c", "echo '{\"absent\": \"no\"}'"]), "sh");
        assert_eq!(Kept::new().ask(place, "a", absent), Err(Failure::Absent("sh does not start: no".into())));
        for script in ["echo no >&2; exit 1", "kill -SEGV $$", "echo nonsense", "printf '\\377\\n'; cat"] {
            let start = || Server::start(Command::new("/bin/sh").args(["-c", script]), "sh");
            assert!(matches!(Kept::new().ask(place, "a", start), Err(Failure::Absent(_))), "{script}");
        }
    }
}
