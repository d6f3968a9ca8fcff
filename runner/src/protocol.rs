//! What parent and worker say to each other: frames of a mark, a length (4 bytes each, little-endian) and that many bytes
//! of postcard. The mark tells at once when something else got into the pipe.
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
//!                                  ←        Ended { end, … }           only from the relay: its worker is gone
//!     end of input                 →        the worker leaves
//! ```
//!
//! The thread that calls the driver writes the worker's frames itself, one after the other: when the process dies, all
//! that it had said is in the pipe, so the parent knows which job was being run and at which stage.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::DriverConfig;
use crate::info::{DeviceInfo, DriverMode};
use crate::job::{Job, Outcome, Stage, WorkerEnd};

/// Changes whenever a frame changes its form, so that a worker of another version is told apart.
pub(crate) const VERSION: u32 = 0x7a61_0002;

/// First bytes of every frame.
const MARK: [u8; 4] = *b"tngl";

/// Bytes of mark and length.
const HEAD: usize = 8;

/// From the parent to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Before all else, to a relay: the worker to start.
    Start { version: u32, driver: DriverConfig },
    /// First of all.
    Hello { version: u32, driver: String, mode: DriverMode },
    /// Open the device with this index; a dispatch that takes longer than this is reported as timed out.
    Open { index: u32, wait_limit_ms: u64 },
    /// Run a job.
    Job(Job),
}

/// From the worker to the parent.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// Answer to [`ToWorker::Hello`]: the driver's devices, or why there are none.
    Hello { version: u32, devices: Result<Vec<DeviceInfo>, String> },
    /// Answer to [`ToWorker::Open`]: what went wrong, if anything.
    Opened { problem: Option<String> },
    /// The job is about to enter this stage.
    Started { id: u64, stage: Stage },
    /// The job is over.
    Done { id: u64, outcome: Outcome },
    /// The relay's worker is gone, with the last that it wrote on standard error. Without this word the connection is lost.
    Ended { end: WorkerEnd, last_words: String },
}

/// A whole frame, mark and length and all; `None` when the message is too long for one (4 GiB).
pub(crate) fn encode(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; HEAD]).ok()?;
    let length = u32::try_from(frame.len() - HEAD).ok()?;
    frame[..4].copy_from_slice(&MARK);
    frame[4..HEAD].copy_from_slice(&length.to_le_bytes());
    Some(frame)
}

/// Writes one frame.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let frame = encode(message).ok_or_else(|| io::Error::other("a message is too long"))?;
    to.write_all(&frame)?;
    to.flush()
}

/// Reads one message; `None` when the input ends before one begins.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, ReadError> {
    let Some(frame) = read_frame(from)? else { return Ok(None) };
    postcard::from_bytes(&frame[HEAD..]).map(Some).map_err(|error| ReadError::Garbage(error.to_string()))
}

/// Reads one whole frame, mark and length and all; `None` when the input ends before one begins.
pub(crate) fn read_frame(from: &mut impl Read) -> Result<Option<Vec<u8>>, ReadError> {
    let mut frame = Vec::with_capacity(HEAD);
    match from.take(HEAD as u64).read_to_end(&mut frame).map_err(ReadError::Io)? {
        0 => return Ok(None),
        _ if !frame.starts_with(&MARK[..frame.len().min(4)]) => return Err(ReadError::Garbage(shown(&frame))),
        count if count < HEAD => return Err(ReadError::Cut),
        _ => {}
    }
    let length = u32::from_le_bytes([frame[4], frame[5], frame[6], frame[7]]);
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
    /// The pipe failed.
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
            assert_eq!(read::<FromWorker>(&mut input).unwrap().as_ref(), Some(message));
        }
        assert!(read::<FromWorker>(&mut input).unwrap().is_none());
    }

    #[test]
    fn a_cut_frame_is_told_from_garbage() {
        let frame = encode(&FromWorker::Opened { problem: None }).unwrap();
        for length in [1, 3, 5, frame.len() - 1] {
            assert!(matches!(read::<FromWorker>(&mut &frame[..length]), Err(ReadError::Cut)), "{length}");
        }
        let noise = b"segfault at 0x0 in lvp";
        let Err(ReadError::Garbage(what)) = read::<FromWorker>(&mut &noise[..]) else { panic!("noise is no frame") };
        assert_eq!(what, "`segfault…`");
        let mut wrong = frame.clone();
        wrong[HEAD] = 0x77;
        assert!(matches!(read::<FromWorker>(&mut wrong.as_slice()), Err(ReadError::Garbage(_))));
    }
}
