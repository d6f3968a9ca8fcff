//! Compiler, validator, optimiser and disassembler in a process of their own: on a program that they do not expect they may crash, hang,
//! or eat all memory.
//!
//! The process is this program started again with [`VARIABLE`] set. It is kept and used again, as many at once as there are callers, and
//! everything that one program needs is asked for at once. It speaks the protocol of the workers (`protocol.rs`), and says which step it
//! begins, so that a crash can be placed.
//!
//! A failure counts when it comes from a fresh process: one that has served before may have been spoilt by what it did then. What comes
//! from outside (a signal, the system's memory) does not count at all, and a time-out only if it comes again with nothing beside it and
//! ten times the time.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::select;
use tangle_compilers::{Call, Failure};
use tangle_files::module::instructions;
use tangle_files::text::Line;
use tangle_program::case::{SpirvVersion, Stage};
use tangle_program::variant::{FrontEnd, single_passes};

use super::{ToolchainError, compile, compile_with_lines, disassemble, optimise, validate};
use crate::meter::{Meter, TICK};
use crate::outcome::{Shortage, WorkerEnd};
use crate::process::{Event, Frame, WorkerProcess, piped, this_program};
use crate::protocol::{self, Answer, By, FromWorker, Request, Step, ToWorker};
use crate::scheduler::{Scheduler, Share};
use crate::worker;

/// Set when a process is to compile.
const VARIABLE: &str = "TANGLE_TOOLCHAIN";

/// The most time for one request, as the meter counts it.
const LIMIT: Duration = Duration::from_secs(20);

/// How many times as much it has with nothing beside it.
const CONFIRMATION: u32 = 10;

/// The most memory, bytes.
const MEMORY: libc::rlim_t = 4 << 30;

/// The longest answer, bytes: a module or its disassembly.
const LONGEST: u64 = 64 << 20;

/// After so many requests a process is replaced.
const REQUESTS: u32 = 1000;

/// How many fresh processes may be lost for reasons from outside before nothing more is tried, and the pause between them.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Test hook: environment variable with what goes wrong at which step: `optimise:crash`, `compile:kill`, `validate:spin`,
/// `optimise:garbage` for a module that is none, `compile:slow` for 3 seconds of processor time, `compile:and-is-or` for a module that
/// means something else, `optimise:and-is-or-after-ccp` for what a pass with such a mistake leaves.
pub const FAULT: &str = "TANGLE_TOOLCHAIN_FAULT";

/// The program that becomes the compilers, where it is not this one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Whether this program begins with [`run_if_requested`], so that it can be started again.
static CAN_SERVE: AtomicBool = AtomicBool::new(false);

/// Processes that have nothing to do.
static IDLE: Mutex<Vec<Server>> = Mutex::new(Vec::new());

/// Requests that timed out, and ended alone with more time.
static SLOW: AtomicU64 = AtomicU64::new(0);

/// Has another program become compiler, validator, optimiser and disassembler: for programs that cannot begin with
/// [`crate::worker::run_if_requested`], tests for instance. The first call counts.
pub fn compile_by(program: PathBuf) {
    PROGRAM.get_or_init(|| program);
}

/// How many requests timed out so far and ended when they ran alone with more time: slow, and no failures.
pub fn slow() -> u64 {
    SLOW.load(Ordering::Relaxed)
}

/// A valid module of a compute shader: compiled, validated, and where there are flags of `spirv-opt` optimised and validated again. In a
/// process of its own where the program begins with [`crate::worker::run_if_requested`] or [`compile_by`] names one that does; else in
/// this process, which goes with it if it crashes, and without the optimiser.
///
/// # Errors
///
/// That of the step that fails, crashes or hangs; [`ToolchainError::Internal`] if it could not be run.
pub fn make(glsl: &str, version: SpirvVersion, flags: &[String]) -> Result<Vec<u32>, ToolchainError> {
    make_request(Request::Make { source: glsl.to_owned(), by: None, version, flags: flags.to_owned() })
}

/// As [`make`], of a shader in another language, or by another compiler.
///
/// # Errors
///
/// As [`make`]; [`ToolchainError::Internal`] if the compiler is not here.
pub fn make_by(
    by: &FrontEnd,
    stage: Stage,
    source: &str,
    version: SpirvVersion,
    flags: &[String],
) -> Result<Vec<u32>, ToolchainError> {
    let found = tangle_compilers::found(by);
    let found = found.map_err(|reason| ToolchainError::Internal(format!("compiler {by}: {reason}")))?;
    let by = Some(By { front_end: by.to_string(), stage, path: found.path, prefix: found.prefix });
    match make_request(Request::Make { source: source.to_owned(), by, version, flags: flags.to_owned() }) {
        Err(ToolchainError::Compile(message)) => Err(ToolchainError::Refused(message)),
        made => made,
    }
}

/// A module with the lines of its source (`OpLine`), in a process as [`make`] has it. It is not validated.
///
/// # Errors
///
/// [`ToolchainError::Compile`] if the source is at fault, or the compiler crashes or hangs; [`ToolchainError::Internal`] if it could not be run.
pub fn make_with_lines(glsl: &str, stage: Stage, version: SpirvVersion) -> Result<Vec<u32>, ToolchainError> {
    make_request(Request::Lines { source: glsl.to_owned(), stage, version })
}

fn make_request(request: Request) -> Result<Vec<u32>, ToolchainError> {
    let optimises = matches!(&request, Request::Make { flags, .. } if !flags.is_empty());
    let answer = if is_apart() {
        ask(&request)?
    } else if !optimises {
        answer(&request, &mut |_| {})
    } else {
        return Err(ToolchainError::Internal("this program does not begin with worker::run_if_requested".into()));
    };
    match answer {
        Answer::Made(module) => Ok(module),
        Answer::Refused(step, message) => Err(failure(step, message.to_string())),
        Answer::Absent(reason) => Err(ToolchainError::Internal(reason.to_string())),
        Answer::Text(_) => Err(ToolchainError::Internal("the compilers' process gives another answer".into())),
    }
}

/// Validates a module that no compiler made, in a process as [`make`] has it.
///
/// # Errors
///
/// [`ToolchainError::Invalid`] with the validator's message; [`ToolchainError::Internal`] if it could not be run.
pub fn check(module: &[u32], version: SpirvVersion) -> Result<(), ToolchainError> {
    if !is_apart() {
        return validate(module, version).map_err(ToolchainError::Invalid);
    }
    match ask(&Request::Check { module: module.to_owned(), version })? {
        Answer::Text(_) => Ok(()),
        Answer::Refused(step, message) => Err(failure(step, message.to_string())),
        _ => Err(ToolchainError::Internal("the compilers' process gives another answer".into())),
    }
}

/// The module as text, with friendly names and indentation, in a process as [`make`] has it.
///
/// # Errors
///
/// The message of SPIRV-Tools when the words are no SPIR-V, or how the process ended.
pub fn read(module: &[u32]) -> Result<String, String> {
    if !is_apart() {
        return disassemble(module);
    }
    match ask(&Request::Disassemble { module: module.to_owned() }) {
        Ok(Answer::Text(text)) => Ok(text),
        Ok(Answer::Refused(_, message)) => Err(message.to_string()),
        Ok(_) => Err("the compilers' process gives another answer".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn is_apart() -> bool {
    CAN_SERVE.load(Ordering::Relaxed) || PROGRAM.get().is_some()
}

/// What a step says, as an error of that step.
fn failure(step: Step, message: String) -> ToolchainError {
    match step {
        Step::Compile => ToolchainError::Compile(message),
        Step::Validate => ToolchainError::Invalid(message),
        Step::Optimise => ToolchainError::Optimiser(message),
        Step::ValidateOptimised => ToolchainError::Spoilt(message),
        Step::Disassemble => ToolchainError::Internal(message),
    }
}

/// A process that compiles.
struct Server {
    process: WorkerProcess,
    served: u32,
}

/// How a process was lost over a request.
struct Lost {
    step: Step,
    how: How,
    stderr: String,
}

enum How {
    Ended(WorkerEnd),
    /// A compiler that it started was lost.
    Absent(Line),
    TimedOut,
}

impl Lost {
    /// True if the reason may be another than the request.
    fn is_from_outside(&self) -> bool {
        match &self.how {
            How::Ended(WorkerEnd::OutOfMemory(Shortage::System)) => true,
            How::Ended(end) => end.is_from_outside(),
            How::Absent(_) => true,
            How::TimedOut => false,
        }
    }

    fn into_error(self) -> ToolchainError {
        let how = match self.how {
            How::Absent(reason) => return ToolchainError::Internal(reason.to_string()),
            How::Ended(end) => end.to_string(),
            How::TimedOut => format!("does not end in {} seconds", (LIMIT * CONFIRMATION).as_secs()),
        };
        let who = match self.step {
            Step::Optimise => "",
            Step::Compile => "the compiler ",
            Step::Validate | Step::ValidateOptimised => "the validator ",
            Step::Disassemble => "the disassembler ",
        };
        let said = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        failure(self.step, format!("{who}{how} {said}").trim().to_owned())
    }
}

/// Has a process answer, and finds out whose fault it is when it does not.
fn ask(request: &Request) -> Result<Answer, ToolchainError> {
    let frame = protocol::encode(&ToWorker::Compile(request.clone()));
    let frame: Frame = frame.ok_or_else(|| ToolchainError::Internal("the shader is too long".into()))?.into();
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(server) = idle {
        // Whatever becomes of it, only a fresh process is to be believed.
        if let Ok(answer) = server.serve(&frame, LIMIT) {
            return Ok(answer);
        }
    }
    match fresh(&frame, LIMIT)? {
        Err(Lost { how: How::TimedOut, .. }) => confirm(&frame),
        result => result.map_err(Lost::into_error),
    }
}

/// Has a fresh process answer. What is lost for a reason from outside is tried again.
fn fresh(frame: &Frame, limit: Duration) -> Result<Result<Answer, Lost>, ToolchainError> {
    let internal = |error: io::Error| ToolchainError::Internal(format!("cannot start the compilers: {error}"));
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match Server::start().map_err(internal)?.serve(frame, limit) {
            Err(lost) if lost.is_from_outside() => last = Some(lost),
            result => return Ok(result),
        }
    }
    match last.map(Lost::into_error) {
        // It says itself what does not run.
        Some(ToolchainError::Internal(reason)) => {
            Err(ToolchainError::Internal(format!("{reason} ({ATTEMPTS} attempts)")))
        }
        lost => {
            let how = lost.map_or_else(String::new, |lost| lost.to_string());
            Err(ToolchainError::Internal(format!("{ATTEMPTS} of its processes were killed: {how}")))
        }
    }
}

/// Runs a request again that timed out: with nothing beside it.
fn confirm(frame: &Frame) -> Result<Answer, ToolchainError> {
    static SHARE: OnceLock<Share> = OnceLock::new();
    let share = SHARE.get_or_init(|| Scheduler::of_this_process().share(1.0));
    let request = share.request(true);
    let _turn = request.granted().recv().map(|grant| share.begin(grant));
    let answer = fresh(frame, LIMIT * CONFIRMATION)?.map_err(Lost::into_error)?;
    SLOW.fetch_add(1, Ordering::Relaxed);
    Ok(answer)
}

impl Server {
    fn start() -> io::Result<Server> {
        let program = PROGRAM.get().cloned().map_or_else(this_program, Ok)?;
        let mut command = Command::new(program);
        command.env(VARIABLE, "1");
        let process = WorkerProcess::launch(piped(command), None)?;
        process.expect(LONGEST);
        Ok(Server { process, served: 0 })
    }

    /// Has it answer. It is kept if it does.
    fn serve(mut self, frame: &Frame, limit: Duration) -> Result<Answer, Lost> {
        self.process.send(Frame::clone(frame));
        let mut meter = Meter::new(limit);
        let mut step = Step::Compile;
        let (how, stderr) = loop {
            let event = select! {
                recv(self.process.events()) -> event => event.unwrap_or(Event::Closed),
                default(TICK) => match self.process.usage().and_then(|usage| meter.look(Instant::now(), usage, TICK)) {
                    Some(_) => break (How::TimedOut, self.process.kill().1),
                    None => continue,
                },
            };
            match event {
                Event::Message(FromWorker::Step(begun)) => step = begun,
                Event::Message(FromWorker::Answer(answer)) => {
                    self.served += 1;
                    if self.served < REQUESTS {
                        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
                    } else {
                        self.process.close(Duration::from_secs(1));
                    }
                    return match answer {
                        Answer::Absent(reason) => Err(Lost { step, how: How::Absent(reason), stderr: String::new() }),
                        answer => Ok(answer),
                    };
                }
                Event::Closed => {
                    let (end, stderr) = self.process.reap();
                    break (How::Ended(end), stderr);
                }
                Event::Message(_) => {
                    break (How::Ended(WorkerEnd::Garbage("another message".into())), self.process.kill().1);
                }
                Event::Garbage(what) => break (How::Ended(WorkerEnd::Garbage(what)), self.process.kill().1),
            }
        };
        Err(Lost { step, how, stderr: stderr.to_string() })
    }
}

/// Becomes compiler, validator, optimiser and disassembler, and never returns, when the environment says so. Else remembers that this
/// program can.
pub(crate) fn run_if_requested() {
    if std::env::var_os(VARIABLE).is_none() {
        CAN_SERVE.store(true, Ordering::Relaxed);
        return;
    }
    let code = match serve() {
        Ok(()) => 0,
        Err(problem) => {
            eprintln!("tangle's compilers: {problem}");
            70
        }
    };
    tangle_compilers::end_started();
    // SAFETY: _exit takes any number, and ends the process without touching memory of ours.
    unsafe { libc::_exit(code) }
}

/// Answers until the parent has no more to ask.
fn serve() -> Result<(), String> {
    tangle_compilers::prepare_starter();
    limit_memory();
    worker::leave_without_memory();
    let mut output = worker::this_process::take_stdout().map_err(|error| error.to_string())?;
    let mut input = io::stdin().lock();
    loop {
        let request = match protocol::read(&mut input, || LONGEST) {
            Ok(Some(ToWorker::Compile(request))) => request,
            Ok(None) => return Ok(()),
            Ok(Some(_)) => return Err("an unexpected message".into()),
            Err(error) => return Err(error.to_string()),
        };
        limit_time();
        let mut unwritten = None;
        let answer = answer(&request, &mut |step| {
            unwritten = protocol::write(&mut output, &FromWorker::Step(step)).err();
        });
        protocol::write(&mut output, &FromWorker::Answer(answer)).map_err(|error| error.to_string())?;
        if let Some(error) = unwritten {
            return Err(error.to_string());
        }
    }
}

/// Does what is asked for; says before each step that it begins.
fn answer(request: &Request, begin: &mut dyn FnMut(Step)) -> Answer {
    let mut step = Step::Disassemble;
    let mut enter = |next| {
        step = next;
        begin(next);
        fault(next)
    };
    let result = match request {
        Request::Disassemble { module } => {
            enter(Step::Disassemble);
            disassemble(module).map(Answer::Text)
        }
        Request::Check { module, version } => {
            enter(Step::Validate);
            validate(module, *version).map(|()| Answer::Text(String::new()))
        }
        Request::Lines { source, stage, version } => {
            enter(Step::Compile);
            match compile_with_lines(source, *stage, *version) {
                Ok(module) => Ok(Answer::Made(module)),
                Err(ToolchainError::Compile(message)) => Err(message),
                Err(error) => Ok(Answer::Absent(error.to_string().into())),
            }
        }
        Request::Make { source, by, version, flags } => made(source, by.as_ref(), *version, flags, &mut enter),
    };
    result.unwrap_or_else(|message| Answer::Refused(step, message.into()))
}

/// Compiles: GLSL by glslang, or as a front end says.
fn compiled(source: &str, by: Option<&By>, version: SpirvVersion) -> Result<Vec<u32>, Failure> {
    let Some(By { front_end: name, stage, path, prefix }) = by else {
        return compile(source, version).map_err(|error| match error {
            ToolchainError::Compile(message) => Failure::Refused(message),
            error => Failure::Refused(error.to_string()),
        });
    };
    let absent = |problem: String| Failure::Absent(format!("{name} does not run: {problem}"));
    let front_end: FrontEnd = name.parse().map_err(absent)?;
    let row = tangle_compilers::row(&front_end).ok_or_else(|| absent("no compiler is called so".into()))?;
    (row.compile)(&Call { source, stage: *stage, version, path: path.as_deref(), prefix }).map_err(|failure| {
        match failure {
            Failure::Absent(message) => absent(message),
            refused => refused,
        }
    })
}

fn made(
    source: &str,
    by: Option<&By>,
    version: SpirvVersion,
    flags: &[String],
    enter: &mut dyn FnMut(Step) -> Option<String>,
) -> Result<Answer, String> {
    let planted = enter(Step::Compile);
    let mut module = match compiled(source, by, version) {
        Ok(module) => module,
        Err(Failure::Refused(message)) => return Err(message),
        Err(Failure::Absent(reason)) => return Ok(Answer::Absent(reason.into())),
    };
    if planted.as_deref() == Some(AND_IS_OR) {
        and_is_or(&mut module);
    }
    enter(Step::Validate);
    validate(&module, version)?;
    if flags.is_empty() {
        return Ok(Answer::Made(module));
    }
    let optimised = match enter(Step::Optimise).as_deref() {
        Some("garbage") => vec![0; 5],
        Some(planted) if planted.starts_with(AND_IS_OR) => {
            let flags = single_passes(flags);
            let wrong = planted[AND_IS_OR.len()..].strip_prefix("-after-").map(|pass| format!("--{pass}"));
            let end = flags.iter().position(|flag| Some(flag) == wrong.as_ref()).map_or(0, |at| at + 1);
            let mut module = optimise(&module, version, &flags[..end])?;
            if end > 0 {
                and_is_or(&mut module);
            }
            optimise(&module, version, &flags[end..])?
        }
        _ => optimise(&module, version, flags).map_err(|message| format!("fails: {message}"))?,
    };
    enter(Step::ValidateOptimised);
    validate(&optimised, version)?;
    Ok(Answer::Made(optimised))
}

const AND_IS_OR: &str = "and-is-or";

/// A mistake of a compiler: `OpBitwiseOr` instead of `OpBitwiseAnd`. The module stays valid.
fn and_is_or(module: &mut [u32]) {
    const AND: u32 = 199;
    const OR: u32 = 197;
    let found = instructions(module).flatten().filter(|instruction| instruction.opcode() == AND);
    for at in found.map(|instruction| instruction.at).collect::<Vec<_>>() {
        module[at] = module[at] & !0xFFFF | OR;
    }
}

/// Goes wrong where [`FAULT`] says so, in a process that was started to compile.
fn fault(step: Step) -> Option<String> {
    std::env::var_os(VARIABLE)?;
    let fault = std::env::var(FAULT).ok()?;
    let kind = fault.strip_prefix(step.name())?.strip_prefix(':')?;
    match kind {
        "crash" => std::process::abort(),
        "kill" => drop(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok()),
        "spin" => worker::fault::compute(u64::MAX),
        "slow" => worker::fault::compute(3000),
        _ => {}
    }
    Some(kind.to_owned())
}

/// Ends this process when it takes too much.
fn limit_memory() {
    let memory = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: the call reads the structure, and touches no other memory of ours.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &memory) };
}

/// Ends this process when it computes for ever although nobody watches it any more: its parent was killed.
fn limit_time() {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let end = libc::timeval { tv_sec: (LIMIT * CONFIRMATION * 2).as_secs() as libc::time_t, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: end };
    // SAFETY: the call reads the structure; the old value is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) };
}
