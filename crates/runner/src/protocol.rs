//! What parent and worker say to each other: frames of a mark, a length (4 bytes each, little-endian) and that many bytes
//! of postcard. The mark shows at once when something else got into the pipe.
//!
//! ```text
//!   parent                                worker
//!     Start { version, driver }    →                          only to the relay on another machine (worker/relay.rs)
//!     Hello { version }            →
//!                                  ←        Hello { version, devices | problem }
//!     Open { index, … }            →
//!                                  ←        Opened { problem }
//!     Job                          →                          jobs may follow each other without waiting
//!                                  ←        Started { id, stage }      for each stage, before it begins
//!                                  ←        Done { id, outcome }
//!                                  ←        Used { … }                only from the relay: what its worker has used up so far
//!                                  ←        Ended { end, … }           only from the relay: its worker is gone
//!     end of input                 →        the worker leaves
//!     Compile                      →                          to a process of the compilers (toolchain/apart.rs), and nothing else
//!                                  ←        Step, … , Answer
//! ```
//!
//! Nothing of a frame is believed: its length is bounded by what was asked for ([`SMALL`], [`Expected::bytes`](crate::check::Expected)),
//! and its memory grows as its bytes arrive.
//!
//! The thread that calls the driver writes the worker's frames itself, one after the other: when the process dies, all
//! that it had said is in the pipe, so the parent knows which job was being run and at which stage.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::DriverConfig;
use crate::info::{DeviceInfo, DriverMode};
use crate::job::Job;
use crate::meter::Usage;
use crate::outcome::{Outcome, Stage, WorkerEnd};
use tangle_features::Api;
use tangle_files::text::{Line, Lines};
use tangle_program::case::{self, SpirvVersion};

/// Changes whenever a frame changes its form, so that a worker of another version is recognised.
pub(crate) const VERSION: u32 = 0x7a61_000a;

/// First bytes of every frame.
const MARK: [u8; 4] = *b"tngl";

/// Bytes of mark and length.
const HEAD: usize = 8;

/// The longest message that does not carry buffers, bytes.
pub(crate) const SMALL: u64 = 1 << 20;

/// The longest job that is sent, bytes: what one may have of buffers ([`crate::check`]), and room for the rest.
pub(crate) const LARGEST_JOB: u64 = (1 << 30) + (64 << 20);

/// From the parent to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Before all else, to a relay: the worker to start.
    Start { version: u32, driver: DriverConfig },
    /// First of all. `prefix` is what stands before a process that the worker has load the driver, where it does not load it itself; `lock` is that of the GPU, if
    /// it is known which one it will be.
    Hello { version: u32, driver: String, mode: DriverMode, api: Api, prefix: Vec<String>, lock: Option<PathBuf> },
    /// Open the device with this index.
    Open { index: u32 },
    /// Run a job on the device that is open.
    Job(Job),
    /// Make a module of a source.
    Compile(Request),
}

/// What a process of the compilers is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A valid module of a shader, optimised if there are flags of `spirv-opt`.
    Make {
        source: String,
        /// `None` for GLSL by glslang.
        by: Option<By>,
        version: SpirvVersion,
        flags: Vec<String>,
    },
    /// A module of a shader in GLSL with the lines of its source, not validated.
    Lines { source: String, stage: case::Stage, version: SpirvVersion },
    /// Whether a module is valid.
    Check {
        #[serde(with = "crate::words::as_bytes")]
        module: Vec<u32>,
        version: SpirvVersion,
    },
    /// A module as text.
    Disassemble {
        #[serde(with = "crate::words::as_bytes")]
        module: Vec<u32>,
    },
}

/// A front end, and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct By {
    pub front_end: String,
    /// The stage of the shader.
    pub stage: case::Stage,
    /// The compiler's file.
    pub path: Option<PathBuf>,
    /// The command that starts it.
    pub prefix: Vec<String>,
}

/// What a process of the compilers does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Compile,
    Validate,
    Optimise,
    ValidateOptimised,
    Disassemble,
}

impl Step {
    /// Its name in test hooks.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Step::Compile => "compile",
            Step::Validate => "validate",
            Step::Optimise => "optimise",
            Step::ValidateOptimised => "validate-optimised",
            Step::Disassemble => "disassemble",
        }
    }
}

/// What comes of a request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The words of a module.
    Made(#[serde(with = "crate::words::as_bytes")] Vec<u32>),
    /// A text: a disassembly; nothing of a module that is only validated.
    Text(String),
    /// A step fails, and says why.
    Refused(Step, Lines),
    /// A compiler that is a program of its own does not run, or was killed from outside: nothing is said of the shader.
    Absent(Line),
}

/// From the worker to the parent.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// Answer to [`ToWorker::Hello`]: the driver's devices, or why there are none.
    Hello { version: u32, devices: Result<Vec<DeviceInfo>, Line> },
    /// Answer to [`ToWorker::Open`]: what went wrong, if anything.
    Opened { problem: Option<Line> },
    /// The job is about to enter this stage.
    Started { id: u64, stage: Stage },
    /// The job is over.
    Done { id: u64, outcome: Outcome },
    /// A process of the compilers is about to begin this.
    Step(Step),
    /// It has done what it was asked for.
    Answer(Answer),
    /// What the relay's worker has used up so far; several times a second.
    Used(Usage),
    /// The relay's worker is gone, with the end of what it wrote on standard error. Without this message the connection is lost.
    Ended { end: WorkerEnd, stderr: Lines },
}

/// A whole frame, mark and length and all; `None` when the message is longer than [`LARGEST_JOB`].
pub(crate) fn encode(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; HEAD]).ok()?;
    let length = u32::try_from(frame.len() - HEAD).ok().filter(|length| u64::from(*length) <= LARGEST_JOB)?;
    frame[..4].copy_from_slice(&MARK);
    frame[4..HEAD].copy_from_slice(&length.to_le_bytes());
    Some(frame)
}

/// Writes one frame, and flushes: the other side may wait for it.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let frame = encode(message).ok_or_else(|| io::Error::other("a message is too long"))?;
    to.write_all(&frame)?;
    to.flush()
}

/// Reads one message of at most so many bytes; `None` when the input ends before one begins.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read, most: impl Fn() -> u64) -> Result<Option<T>, ReadError> {
    let Some(frame) = read_frame(from, most)? else { return Ok(None) };
    match postcard::take_from_bytes(&frame[HEAD..]) {
        Ok((message, [])) => Ok(Some(message)),
        Ok((_, rest)) => Err(ReadError::Garbage(format!("{} bytes after a message", rest.len()))),
        Err(error) => Err(ReadError::Garbage(error.to_string())),
    }
}

/// Reads one whole frame, mark and length and all; `None` when the input ends before one begins. `most` is asked when one has begun.
pub(crate) fn read_frame(from: &mut impl Read, most: impl Fn() -> u64) -> Result<Option<Vec<u8>>, ReadError> {
    let mut frame = Vec::with_capacity(HEAD);
    match from.take(HEAD as u64).read_to_end(&mut frame).map_err(ReadError::Io)? {
        0 => return Ok(None),
        _ if !frame.starts_with(&MARK[..frame.len().min(4)]) => return Err(ReadError::Garbage(shown(&frame))),
        count if count < HEAD => return Err(ReadError::Cut),
        _ => {}
    }
    let length = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
    if u64::from(length) > most() {
        return Err(ReadError::Garbage(format!("a message of {length} bytes, where at most {} can come", most())));
    }
    if from.take(length.into()).read_to_end(&mut frame).map_err(ReadError::Io)? < length as usize {
        return Err(ReadError::Cut);
    }
    Ok(Some(frame))
}

/// Bytes that are no frame, for a message.
fn shown(bytes: &[u8]) -> String {
    format!("`{}…`", bytes.escape_ascii())
}

/// Why no frame could be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The pipe failed, as the system says.
    #[error("{0}")]
    Io(io::Error),
    /// The input ended inside a frame: the other side died while writing.
    #[error("the input ends inside a frame")]
    Cut,
    /// The bytes are no frame.
    #[error("{0}")]
    Garbage(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other() {
        let messages = [
            FromWorker::Started { id: 3, stage: Stage::Wait { launch: 1 } },
            FromWorker::Done { id: 3, outcome: Outcome::Unsupported { missing: vec!["shaderInt8".into()] } },
        ];
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| write(&mut bytes, message).unwrap());
        let mut input = bytes.as_slice();
        for message in &messages {
            assert_eq!(read::<FromWorker>(&mut input, || SMALL).unwrap().as_ref(), Some(message));
        }
        assert!(read::<FromWorker>(&mut input, || SMALL).unwrap().is_none());
    }

    #[test]
    fn a_frame_is_no_longer_than_what_can_come() {
        let mut frame = encode(&FromWorker::Opened { problem: None }).unwrap();
        frame[4..HEAD].copy_from_slice(&u32::MAX.to_le_bytes());
        // The bytes would go on for ever.
        let mut input = frame.as_slice().chain(io::repeat(0));
        let Err(ReadError::Garbage(what)) = read::<FromWorker>(&mut input, || 9) else { panic!("4 GiB are too many") };
        assert_eq!(what, "a message of 4294967295 bytes, where at most 9 can come");
        let mut longer = encode(&FromWorker::Opened { problem: None }).unwrap();
        longer.push(0);
        longer[4] += 1;
        assert!(matches!(read::<FromWorker>(&mut longer.as_slice(), || 9), Err(ReadError::Garbage(_))));
    }

    /// Every kind of message, with something in it.
    fn messages() -> Vec<FromWorker> {
        use crate::outcome::{Completed, LaunchOutput, ReadBack, Shortage, Stall};
        use crate::worker::null::null_device;
        let stage = Stage::Wait { launch: 3 };
        let words: Vec<u32> = (0..64).map(|n| n % 5).collect();
        let buffers = vec![ReadBack::trimmed(&words, Some(8)), ReadBack::trimmed(&words, None)];
        let launches = vec![LaunchOutput { buffers, ..LaunchOutput::default() }; 2];
        let short =
            vec![
                LaunchOutput { buffers: vec![ReadBack::trimmed(&words[1..], Some(8)); 2], ..LaunchOutput::default() };
                2
            ];
        let done = |outcome| FromWorker::Done { id: 1, outcome };
        vec![
            FromWorker::Hello { version: VERSION, devices: Ok(vec![null_device("x", DriverMode::Execute)]) },
            FromWorker::Hello { version: VERSION, devices: Err("no device".into()) },
            FromWorker::Opened { problem: Some("no".into()) },
            FromWorker::Started { id: 1, stage },
            FromWorker::Used(Usage::default()),
            done(Outcome::Completed(Completed { launches, ..Completed::default() })),
            done(Outcome::Completed(Completed { launches: short, ..Completed::default() })),
            done(Outcome::Unsupported { missing: vec!["shaderInt8".into(); 3] }),
            done(Outcome::VulkanError { call: "vkA".into(), result: "VK_B".into(), stage }),
            done(Outcome::OutOfMemory { shortage: Shortage::Allocation, stage, stderr: "x".into() }),
            done(Outcome::TimedOut {
                stage,
                how: Stall::Device,
                after: std::time::Duration::from_secs(1),
                stderr: "x".into(),
            }),
            FromWorker::Ended { end: WorkerEnd::Signal(11), stderr: "x".into() },
        ]
    }

    /// The most memory that this process has had, KiB.
    fn peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim_end_matches("kB").trim().parse().unwrap()
    }

    #[test]
    fn twenty_thousand_spoilt_frames_do_no_harm() {
        use crate::check::Expected;
        use crate::job::{Buffer, BufferKind, Init, Launch, ReadBackMode};
        let buffer = |binding, read_back| Buffer {
            binding,
            kind: BufferKind::Storage,
            init: Init::Zero { words: 64 },
            read_back,
        };
        let buffers = vec![buffer(0, ReadBackMode::Slices(8)), buffer(1, ReadBackMode::Whole)];
        let launch = Launch { groups: [1; 3], buffers, ..Launch::default() };
        let expected = Expected::of(&Job { launches: vec![launch; 2], ..Job::default() }, DriverMode::Execute);
        let frames: Vec<Vec<u8>> = messages().iter().filter_map(encode).collect();
        let (before, mut read_whole, mut fit, mut refused) = (peak(), 0, 0, 0);
        for number in 0..20_000 {
            let mut frame = frames[number % frames.len()].clone();
            crate::worker::fault::mutate(&mut frame, number as u64);
            match read::<FromWorker>(&mut frame.as_slice(), || expected.bytes()) {
                Ok(Some(FromWorker::Done { outcome: Outcome::Completed(completed), .. })) => {
                    match expected.problem(&completed) {
                        None => {
                            fit += 1;
                            let buffers = completed.launches.iter().flat_map(|launch| &launch.buffers);
                            assert!(buffers.map(|buffer| buffer.to_words().len()).all(|words| words == 64));
                        }
                        Some(problem) => {
                            refused += 1;
                            assert!(problem.len() < 300);
                        }
                    }
                }
                Ok(Some(message)) => {
                    read_whole += 1;
                    assert!(!format!("{message:?}").contains('\x1b'));
                }
                Ok(None) | Err(_) => {}
            }
        }
        assert!(read_whole > 100 && fit > 10 && refused > 10, "{read_whole} {fit} {refused}");
        assert!(peak() - before < 1 << 20, "{} KiB more", peak() - before);
    }

    #[test]
    fn a_cut_frame_is_told_from_garbage() {
        let frame = encode(&FromWorker::Opened { problem: None }).unwrap();
        for length in [1, 3, 5, frame.len() - 1] {
            assert!(matches!(read::<FromWorker>(&mut &frame[..length], || SMALL), Err(ReadError::Cut)), "{length}");
        }
        let noise = b"segfault at 0x0 in lvp";
        let Err(ReadError::Garbage(what)) = read::<FromWorker>(&mut &noise[..], || SMALL) else {
            panic!("noise is no frame")
        };
        assert_eq!(what, "`segfault…`");
        let mut wrong = frame.clone();
        wrong[HEAD] = 0x77;
        assert!(matches!(read::<FromWorker>(&mut wrong.as_slice(), || SMALL), Err(ReadError::Garbage(_))));
    }
}
