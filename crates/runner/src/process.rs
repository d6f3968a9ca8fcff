//! One worker process, as its parent sees it: pipes, standard error, and its end.
//!
//! Three threads serve a worker, so that no pipe can block the one who watches the clock: one writes jobs, one reads the
//! protocol into a channel, one keeps the end of standard error.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};

use crate::config::{DriverConfig, WORKER_VARIABLE, manifest_problem, worker_environment};
use crate::error::StartProblem;
use crate::info::DeviceInfo;
use crate::meter::{Meter, TICK, Usage};
use crate::oom::OomKills;
use crate::outcome::{Shortage, WorkerEnd};
use crate::protocol::{self, FromWorker, ReadError, ToWorker};
use crate::stack;
use crate::worker::this_process::OUT_OF_MEMORY;
use tangle_features::Api;
use tangle_files::text::{Line, Lines};

/// How much of the end of a worker's standard error is kept, bytes.
const STDERR: usize = (8 << 10) + stack::BYTES;

/// How much of it is written to a file, bytes.
const LOG: u64 = 64 << 20;

/// How long a worker whose pipes are closed may take to be gone, before it is killed.
const GOING: Duration = Duration::from_secs(2);

/// The most devices of one driver.
const DEVICES: usize = 64;

/// How long to wait for the rest of standard error after the end of the process.
const STDERR_WAIT: Duration = Duration::from_millis(300);

/// A frame ready to be written, shared between the queue and the writer.
pub(crate) type Frame = Arc<[u8]>;

/// What the reading thread has to say.
pub(crate) enum Event {
    /// A message of the worker.
    Message(FromWorker),
    /// No more will come: the worker closed its end or died.
    Closed,
    /// Something came that is no message.
    Garbage(Line),
}

/// A worker that was started: its process, and what comes from it.
pub(crate) struct WorkerProcess {
    child: Child,
    frames: Option<Sender<Frame>>,
    events: Receiver<Event>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when standard error has been read to its end.
    stderr_open: Receiver<()>,
    /// The longest message that may come, bytes.
    most: Arc<AtomicU64>,
    /// How many processes the system had killed for want of memory when this one started.
    oom_kills: OomKills,
    is_remote: bool,
    /// What a worker on another machine has used up, as its relay says.
    used_there: Option<Usage>,
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
            return Err(StartProblem::Manifest(problem.into()));
        }
        let command = if driver.is_remote() { remote_command(driver) } else { worker_command(driver, worker)? };
        let program = command.get_program().to_string_lossy().into_owned();
        let mut process = WorkerProcess::launch(command, log)
            .map_err(|error| StartProblem::Spawn { program: program.into(), reason: error.to_string().into() })?;
        if driver.is_remote() {
            process.is_remote = true;
            let there = DriverConfig { remote: Vec::new(), ..driver.clone() };
            process.say(&ToWorker::Start { version: protocol::VERSION, driver: there });
        }
        Ok(process)
    }

    /// Starts a process that speaks the protocol, with its three streams as pipes.
    pub(crate) fn launch(mut command: Command, log: Option<&Path>) -> std::io::Result<WorkerProcess> {
        let mut child = command.spawn()?;
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
        let most = Arc::new(AtomicU64::new(protocol::SMALL));
        let bound = Arc::clone(&most);
        std::thread::spawn(move || read_messages(stdout, &bound, &to_read));
        Ok(WorkerProcess {
            child,
            frames: Some(frames),
            events,
            tail,
            stderr_open,
            most,
            oom_kills: OomKills::now(),
            is_remote: false,
            used_there: None,
        })
    }

    /// Queues a frame for the worker. Whether it arrives shows in the events.
    pub(crate) fn send(&self, frame: Frame) {
        if let Some(frames) = &self.frames {
            let _ = frames.send(frame);
        }
    }

    /// Lets messages of this many bytes come.
    pub(crate) fn expect(&self, bytes: u64) {
        self.most.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The longest message that may come, bytes, for another thread to set.
    pub(crate) fn bound(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.most)
    }

    /// What the worker has used up since it began.
    pub(crate) fn usage(&self) -> Option<Usage> {
        if self.is_remote { self.used_there } else { Usage::of(self.child.id()) }
    }

    /// Takes the relay's word for it.
    pub(crate) fn note_usage(&mut self, usage: Usage) {
        self.used_there = Some(usage);
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
    pub(crate) fn greet(
        &mut self,
        driver: &DriverConfig,
        lock: Option<&Path>,
        wait: &Wait,
    ) -> Result<Vec<DeviceInfo>, StartProblem> {
        let hello = ToWorker::Hello {
            version: protocol::VERSION,
            driver: driver.name.clone(),
            mode: driver.mode,
            api: driver.api,
            prefix: driver.prefix.clone(),
            lock: lock.map(Path::to_owned),
        };
        self.say(&hello);
        let mut devices = match self.answer(wait)? {
            FromWorker::Hello { version: protocol::VERSION, devices } => {
                devices.map_err(|reason| self.refused(reason))?
            }
            FromWorker::Hello { version, .. } => {
                return Err(StartProblem::Protocol(format!("version {version:#x}").into()));
            }
            other => return Err(StartProblem::Protocol(format!("unexpected {other:?}").into())),
        };
        // Names are ours to give, and the folders of a campaign have them.
        for (index, info) in (0..).zip(&mut devices) {
            info.name = if index == 0 { driver.name.clone() } else { format!("{}#{index}", driver.name) };
            (info.driver, info.index) = (driver.name.clone(), index);
            (info.mode, info.debug) = (driver.mode, driver.debug);
        }
        if devices.len() > DEVICES {
            return Err(StartProblem::Protocol(format!("{} devices", devices.len()).into()));
        }
        Ok(devices)
    }

    /// Has the worker open one of its devices.
    pub(crate) fn open(&mut self, index: u32, wait: &Wait) -> Result<(), StartProblem> {
        self.say(&ToWorker::Open { index });
        match self.answer(wait)? {
            FromWorker::Opened { problem: None } => Ok(()),
            FromWorker::Opened { problem: Some(problem) } => Err(self.refused(problem)),
            other => Err(StartProblem::Protocol(format!("unexpected {other:?}").into())),
        }
    }

    fn refused(&mut self, reason: Line) -> StartProblem {
        StartProblem::Refused { reason, stderr: self.kill().1 }
    }

    /// The next message; any other event, and a wait that is too long, is a problem, and the worker is gone.
    fn answer(&mut self, wait: &Wait) -> Result<FromWorker, StartProblem> {
        let mut meter = Meter::new(wait.limit);
        let begin = Instant::now();
        let event = loop {
            select! {
                recv(self.events) -> event => match event.unwrap_or(Event::Closed) {
                    Event::Message(FromWorker::Used(usage)) => self.note_usage(usage),
                    event => break event,
                },
                recv(wait.cancelled) -> _ => break Event::Garbage("cancelled".into()),
                default(TICK) => {
                    let stalled = self.usage().and_then(|usage| meter.look(Instant::now(), usage, TICK));
                    // A connection that is being made uses nothing up, and nobody says how it gets on.
                    let is_unheard = self.is_remote && self.used_there.is_none() && begin.elapsed() >= wait.limit;
                    if stalled.is_some() || is_unheard {
                        let (_, stderr) = self.kill();
                        return Err(StartProblem::Silent { seconds: wait.limit.as_secs_f64(), stderr });
                    }
                }
            }
        };
        match event {
            Event::Message(FromWorker::Ended { end, stderr }) => {
                self.kill();
                Err(StartProblem::Died { end: end.to_string().into(), stderr })
            }
            Event::Message(message) => Ok(message),
            Event::Closed => {
                let (end, stderr) = self.reap();
                Err(StartProblem::Died { end: end.to_string().into(), stderr })
            }
            Event::Garbage(what) => {
                self.kill();
                Err(StartProblem::Protocol(what))
            }
        }
    }

    /// Waits for a worker that has closed its pipes, and takes the end of its standard error.
    pub(crate) fn reap(&mut self) -> (WorkerEnd, Lines) {
        match self.wait_until(Instant::now() + GOING) {
            Some(status) => (self.end_of(status), self.stderr()),
            None => self.kill(),
        }
    }

    fn end_of(&self, status: ExitStatus) -> WorkerEnd {
        match end_of(status) {
            WorkerEnd::Signal(libc::SIGKILL) if self.oom_kills.any_until(&OomKills::now()) => {
                WorkerEnd::OutOfMemory(Shortage::System)
            }
            WorkerEnd::Exit(OUT_OF_MEMORY) => WorkerEnd::OutOfMemory(Shortage::Allocation),
            end => end,
        }
    }

    /// Kills the worker with whatever it started, and takes the end of its standard error.
    pub(crate) fn kill(&mut self) -> (WorkerEnd, Lines) {
        self.kill_within(GOING)
    }

    /// The same, with so much time for the kernel to take apart what it had on a device.
    pub(crate) fn kill_within(&mut self, patience: Duration) -> (WorkerEnd, Lines) {
        self.frames = None;
        self.signal_group();
        // A process inside a hung kernel driver cannot be reaped; it must not take the campaign with it.
        let end = self.wait_until(Instant::now() + patience).map_or(WorkerEnd::Signal(libc::SIGKILL), end_of);
        (end, self.stderr())
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

    fn stderr(&self) -> Lines {
        let _ = self.stderr_open.recv_timeout(STDERR_WAIT);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        stack::first(&bytes)
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
    /// The most that it may use up ([`Meter`]).
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
    // A runtime is in a process of its own, which then has the prefix.
    let prefix = driver.prefix.iter().filter(|_| driver.api != Api::WebGpu);
    let mut words = prefix.map(PathBuf::from).chain([program]);
    let first = words.next().unwrap_or_default();
    let mut command = Command::new(first);
    command.args(words).env_clear().envs(worker_environment(driver, std::env::vars_os()));
    Ok(piped(command))
}

pub(crate) fn piped(mut command: Command) -> Command {
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
        .map_err(|error| StartProblem::Spawn { program: "(this program)".into(), reason: error.to_string().into() })
}

/// Where this program can be started from again.
pub(crate) fn this_program() -> std::io::Result<PathBuf> {
    // Under a prefix command /proc/self/exe of the worker is the prefix, so the real path is found out here.
    let program = std::env::current_exe()?;
    // Rebuilt while it runs, it is gone from its path; the kernel still has it.
    Ok(if program.exists() { program } else { PathBuf::from(format!("/proc/{}/exe", std::process::id())) })
}

pub(crate) fn end_of(status: ExitStatus) -> WorkerEnd {
    match (status.signal(), status.code()) {
        (Some(signal), _) => WorkerEnd::Signal(signal),
        (None, code) => WorkerEnd::Exit(code.unwrap_or(-1)),
    }
}

fn keep_tail(mut stderr: impl Read, mut log: Option<File>, tail: &Mutex<VecDeque<u8>>, _done: Sender<()>) {
    let mut chunk = [0; 4096];
    let mut logged = 0;
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        if let Some(log) = log.as_mut().filter(|_| logged < LOG) {
            let _ = log.write_all(&chunk[..count]);
            logged += count as u64;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&chunk[..count]);
        let surplus = tail.len().saturating_sub(STDERR);
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

fn read_messages(mut stdout: ChildStdout, most: &AtomicU64, events: &Sender<Event>) {
    loop {
        let event = match protocol::read(&mut stdout, || most.load(Ordering::Relaxed)) {
            Ok(Some(message)) => Event::Message(message),
            Ok(None) | Err(ReadError::Cut | ReadError::Io(_)) => Event::Closed,
            Err(ReadError::Garbage(what)) => Event::Garbage(what.into()),
        };
        let last = !matches!(event, Event::Message(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}
