//! One worker process, as its parent sees it: pipes, last words, and its end.
//!
//! Three threads serve a worker, so that no pipe can block the one who watches the clock: one writes jobs, one reads the
//! protocol into a channel, one keeps the tail of standard error.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};

use crate::config::{DriverConfig, WORKER_VARIABLE, manifest_problem, worker_environment};
use crate::error::StartProblem;
use crate::info::DeviceInfo;
use crate::job::WorkerEnd;
use crate::protocol::{self, FromWorker, ReadError, ToWorker};

/// How much of a worker's standard error is kept, bytes.
const LAST_WORDS: usize = 8 << 10;

/// How long a worker whose pipes are closed may take to be gone, before it is killed.
const GOING: Duration = Duration::from_secs(2);

/// How long to wait for the rest of standard error after the end of the process.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(300);

/// A frame ready to be written, shared between the queue and the writer.
pub(crate) type Frame = Arc<[u8]>;

/// What the reading thread has to say.
pub(crate) enum Event {
    /// A message.
    Message(FromWorker),
    /// No more will come: the worker closed its end or died.
    Closed,
    /// Something came that is no message.
    Garbage(String),
}

/// A running worker.
pub(crate) struct WorkerProcess {
    child: Child,
    frames: Option<Sender<Frame>>,
    events: Receiver<Event>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when standard error has been read to its end.
    stderr_open: Receiver<()>,
}

impl WorkerProcess {
    /// Starts a worker for a driver. The calling thread must outlive it: Linux kills the worker when that thread ends.
    pub(crate) fn spawn(driver: &DriverConfig, worker: Option<&Path>) -> Result<WorkerProcess, StartProblem> {
        WorkerProcess::spawn_logged(driver, worker, None)
    }

    /// The same, with all that it writes on standard error appended to a file.
    pub(crate) fn spawn_logged(
        driver: &DriverConfig,
        worker: Option<&Path>,
        log: Option<&Path>,
    ) -> Result<WorkerProcess, StartProblem> {
        let manifest = driver.manifest.as_deref().filter(|_| !driver.is_remote());
        if let Some(problem) = manifest.and_then(manifest_problem) {
            return Err(StartProblem::Manifest(problem));
        }
        let mut command = if driver.is_remote() { remote_command(driver) } else { worker_command(driver, worker)? };
        let mut child = command.spawn().map_err(|error| StartProblem::Spawn {
            program: command.get_program().to_string_lossy().into_owned(),
            reason: error.to_string(),
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all three were asked for") };
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (stderr_done, stderr_open) = bounded(0);
        let kept = Arc::clone(&tail);
        // Without the file there is no log; the worker is none the worse for it.
        let log = log.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
        std::thread::spawn(move || keep_tail(stderr, log, &kept, stderr_done));
        let (frames, to_write) = unbounded();
        std::thread::spawn(move || write_frames(stdin, &to_write));
        let (to_read, events) = unbounded();
        std::thread::spawn(move || read_messages(stdout, &to_read));
        let process = WorkerProcess { child, frames: Some(frames), events, tail, stderr_open };
        if driver.is_remote() {
            let there = DriverConfig { remote: Vec::new(), ..driver.clone() };
            process.say(&ToWorker::Start { version: protocol::VERSION, driver: there });
        }
        Ok(process)
    }

    /// Queues a frame for the worker. Whether it arrives shows in the events.
    pub(crate) fn send(&self, frame: Frame) {
        if let Some(frames) = &self.frames {
            let _ = frames.send(frame);
        }
    }

    /// A second way to queue frames, for another thread.
    pub(crate) fn frames(&self) -> Sender<Frame> {
        // A worker that was closed takes no frames.
        self.frames.clone().unwrap_or_else(|| unbounded().0)
    }

    fn say(&self, message: &ToWorker) {
        protocol::encode(message).into_iter().for_each(|frame| self.send(frame.into()));
    }

    /// Where messages and the end of them come in.
    pub(crate) fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// Greets the worker and waits for the list of its devices.
    pub(crate) fn greet(&mut self, driver: &DriverConfig, wait: &Wait) -> Result<Vec<DeviceInfo>, StartProblem> {
        let hello = ToWorker::Hello { version: protocol::VERSION, driver: driver.name.clone(), mode: driver.mode };
        self.say(&hello);
        match self.answer(wait)? {
            FromWorker::Hello { version: protocol::VERSION, devices } => devices.map_err(|reason| self.refused(reason)),
            FromWorker::Hello { version, .. } => Err(StartProblem::Protocol(format!("version {version:#x}"))),
            other => Err(StartProblem::Protocol(format!("unexpected {other:?}"))),
        }
    }

    /// Has the worker open one of its devices.
    pub(crate) fn open(&mut self, index: u32, wait_limit: Duration, wait: &Wait) -> Result<(), StartProblem> {
        let open = ToWorker::Open { index, wait_limit_ms: wait_limit.as_millis() as u64 };
        self.say(&open);
        match self.answer(wait)? {
            FromWorker::Opened { problem: None } => Ok(()),
            FromWorker::Opened { problem: Some(problem) } => Err(self.refused(problem)),
            other => Err(StartProblem::Protocol(format!("unexpected {other:?}"))),
        }
    }

    fn refused(&mut self, reason: String) -> StartProblem {
        StartProblem::Refused { reason, last_words: self.kill().1 }
    }

    /// The next message; any other event, and a wait that is too long, is a problem, and the worker is gone.
    fn answer(&mut self, wait: &Wait) -> Result<FromWorker, StartProblem> {
        let event = select! {
            recv(self.events) -> event => event.unwrap_or(Event::Closed),
            recv(wait.cancelled) -> _ => Event::Garbage("cancelled".to_owned()),
            default(wait.limit) => {
                let (_, last_words) = self.kill();
                return Err(StartProblem::Silent { seconds: wait.limit.as_secs_f64(), last_words });
            }
        };
        match event {
            Event::Message(FromWorker::Ended { end, last_words }) => {
                self.kill();
                Err(StartProblem::Died { end: end.to_string(), last_words })
            }
            Event::Message(message) => Ok(message),
            Event::Closed => {
                let (end, last_words) = self.reap();
                Err(StartProblem::Died { end: end.to_string(), last_words })
            }
            Event::Garbage(what) => {
                self.kill();
                Err(StartProblem::Protocol(what))
            }
        }
    }

    /// Waits for a worker that has closed its pipes, and takes its last words.
    pub(crate) fn reap(&mut self) -> (WorkerEnd, String) {
        match self.wait_until(Instant::now() + GOING) {
            Some(status) => (end_of(status), self.last_words()),
            None => self.kill(),
        }
    }

    /// Kills the worker with whatever it started, and takes its last words.
    pub(crate) fn kill(&mut self) -> (WorkerEnd, String) {
        self.frames = None;
        self.signal_group();
        // A process inside a hung kernel driver cannot be reaped; it must not take the campaign with it.
        let end = self.wait_until(Instant::now() + GOING).map_or(WorkerEnd::Signal(libc::SIGKILL), end_of);
        (end, self.last_words())
    }

    /// Closes the worker's input, which ends it when it is idle, and kills it when it is not.
    pub(crate) fn close(&mut self, patience: Duration) {
        self.frames = None;
        if self.wait_until(Instant::now() + patience).is_none() {
            self.kill();
        }
    }

    fn signal_group(&self) {
        // The worker leads a process group of its own, so a prefix command that forked goes with it.
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        let mut pause = Duration::from_micros(200);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    fn last_words(&self) -> String {
        let _ = self.stderr_open.recv_timeout(LAST_WORDS_WAIT);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal_group();
            let _ = self.wait_until(Instant::now() + GOING);
        }
    }
}

/// How long to wait for a starting worker.
pub(crate) struct Wait {
    /// At most this long.
    pub(crate) limit: Duration,
    /// Disconnected when nobody wants the worker any more.
    pub(crate) cancelled: Receiver<()>,
}

/// The command that starts the relay; it has the environment of this process, which ssh and its like need.
fn remote_command(driver: &DriverConfig) -> Command {
    let mut words = driver.remote.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).env_remove(WORKER_VARIABLE);
    piped(command)
}

fn worker_command(driver: &DriverConfig, worker: Option<&Path>) -> Result<Command, StartProblem> {
    let program = worker_program(driver, worker)?;
    let mut words = driver.prefix.iter().map(PathBuf::from).chain([program]);
    let first = words.next().unwrap_or_default();
    let mut command = Command::new(first);
    command.args(words).env_clear().envs(worker_environment(driver, std::env::vars_os()));
    Ok(piped(command))
}

fn piped(mut command: Command) -> Command {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C in the terminal is for the parent, which ends its workers between cases.
        .process_group(0);
    command
}

/// The executable to run as the worker: the driver's own, the caller's, or this program.
fn worker_program(driver: &DriverConfig, worker: Option<&Path>) -> Result<PathBuf, StartProblem> {
    if let Some(program) = driver.worker.as_deref().or(worker) {
        return Ok(program.to_owned());
    }
    this_program()
        .map_err(|error| StartProblem::Spawn { program: "(this program)".to_owned(), reason: error.to_string() })
}

/// Where this program can be started from again.
pub(crate) fn this_program() -> std::io::Result<PathBuf> {
    // Under a prefix command /proc/self/exe of the worker is the prefix, so the real path is found out here.
    let program = std::env::current_exe()?;
    // Rebuilt while it runs, it is gone from its path; the kernel still has it.
    Ok(if program.exists() { program } else { PathBuf::from(format!("/proc/{}/exe", std::process::id())) })
}

fn end_of(status: ExitStatus) -> WorkerEnd {
    match (status.signal(), status.code()) {
        (Some(signal), _) => WorkerEnd::Signal(signal),
        (None, code) => WorkerEnd::Exit(code.unwrap_or(-1)),
    }
}

fn keep_tail(mut stderr: impl Read, mut log: Option<File>, tail: &Mutex<VecDeque<u8>>, _done: Sender<()>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        if let Some(log) = &mut log {
            let _ = log.write_all(&chunk[..count]);
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&chunk[..count]);
        let surplus = tail.len().saturating_sub(LAST_WORDS);
        tail.drain(..surplus);
    }
}

fn write_frames(mut stdin: ChildStdin, frames: &Receiver<Frame>) {
    for frame in frames {
        // A worker that is gone shows at the reading end, with its reason.
        if stdin.write_all(&frame).is_err() {
            return;
        }
    }
}

fn read_messages(mut stdout: ChildStdout, events: &Sender<Event>) {
    loop {
        let event = match protocol::read(&mut stdout) {
            Ok(Some(message)) => Event::Message(message),
            Ok(None) | Err(ReadError::Cut | ReadError::Io(_)) => Event::Closed,
            Err(ReadError::Garbage(what)) => Event::Garbage(what),
        };
        let last = !matches!(event, Event::Message(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}
