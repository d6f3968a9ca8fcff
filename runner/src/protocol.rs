//! What parent and worker say to each other: frames of a length (4 bytes, little-endian) and that many bytes of postcard.
//!
//! ```text
//!   parent                                worker
//!     Hello { version }            →
//!                                  ←        Hello { version, devices | problem }
//!     Open { index, … }            →
//!                                  ←        Opened { problem }
//!     Job                          →                          jobs may follow each other without waiting
//!                                  ←        Started { id, stage }      for each stage, before it begins
//!                                  ←        Done { id, outcome }
//!     end of input                 →        the worker leaves
//! ```
//!
//! The thread that calls the driver writes the worker's frames itself, one after the other: when the process dies, all
//! that it had said is in the pipe, so the parent knows which job was being run and at which stage.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::info::{DeviceInfo, DriverMode};
use crate::job::{Job, Outcome, Stage};

/// Changes whenever a frame changes its form, so that a worker of another version is told apart.
pub(crate) const VERSION: u32 = 0x7a61_0001;

/// Longest frame that is believed, bytes; something longer is not the protocol.
const MAX_FRAME: usize = 1 << 30;

/// From the parent to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
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
}

/// A whole frame, length and all.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let frame = postcard::to_extend(message, vec![0; 4]);
    // Plain data in memory always has an encoding; the only error is a sequence of unknown length, which is not in it.
    let mut frame = frame.expect("plain data is encodable");
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame
}

/// Writes one frame.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(message))?;
    to.flush()
}

/// Reads one frame; `None` when the input ends before one begins.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, ReadError> {
    let mut length = [0; 4];
    let mut have = 0;
    while have < length.len() {
        match from.read(&mut length[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(ReadError::Cut),
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ReadError::Io(error)),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(ReadError::Garbage(format!("a frame of {length} bytes")));
    }
    let mut body = Vec::new();
    // Not allocated beforehand: a length made of garbage must not cost a gigabyte.
    if from.take(length as u64).read_to_end(&mut body).map_err(ReadError::Io)? < length {
        return Err(ReadError::Cut);
    }
    postcard::from_bytes(&body).map(Some).map_err(|error| ReadError::Garbage(error.to_string()))
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
        let frame = encode(&FromWorker::Opened { problem: None });
        assert!(matches!(read::<FromWorker>(&mut &frame[..3]), Err(ReadError::Cut)));
        assert!(matches!(read::<FromWorker>(&mut &frame[..frame.len() - 1]), Err(ReadError::Cut)));
        let noise = b"segfault at 0x0 in lvp";
        assert!(matches!(read::<FromWorker>(&mut &noise[..]), Err(ReadError::Garbage(_))));
        let mut wrong = frame.clone();
        wrong[4] = 0x77;
        assert!(matches!(read::<FromWorker>(&mut wrong.as_slice()), Err(ReadError::Garbage(_))));
    }
}
