//! Functions of OpenGL that failed.

use glow::HasContext as _;
use tangle_files::text::{Line, Lines};

use crate::outcome::{Outcome, Shortage, Stage};

/// A function of OpenGL that failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// It did not do what it should, and said this.
    Error { call: &'static str, result: String },
    /// There is no memory.
    OutOfMemory { call: &'static str },
    /// The context is lost.
    Lost,
}

impl Failure {
    pub(super) fn outcome(self, stage: Stage) -> Outcome {
        match self {
            Failure::Error { call, result } => {
                Outcome::OpenGlError { call: call.into(), result: Line::from(result), stage }
            }
            Failure::OutOfMemory { call } => Outcome::OutOfMemory {
                shortage: Shortage::Call { call: call.into(), result: "GL_OUT_OF_MEMORY".into() },
                stage,
                stderr: Lines::default(),
            },
            Failure::Lost => Outcome::DeviceLost { stage },
        }
    }
}

/// The first error of a context since the last time that this was asked, with all of them forgotten.
pub(super) fn check(gl: &glow::Context, call: &'static str) -> Result<(), Failure> {
    // SAFETY: the context is current.
    let next = || match unsafe { gl.get_error() } {
        glow::NO_ERROR => None,
        error => Some(error),
    };
    let Some(first) = next() else { return Ok(()) };
    // A lost context says so for ever.
    for _ in 0..16 {
        if next().is_none() {
            break;
        }
    }
    Err(match first {
        glow::CONTEXT_LOST => Failure::Lost,
        glow::OUT_OF_MEMORY => Failure::OutOfMemory { call },
        error => Failure::Error { call, result: error_name(error) },
    })
}

/// The name of an error (OpenGL 4.6, §2.3.1).
fn error_name(error: u32) -> String {
    match error {
        glow::INVALID_ENUM => "GL_INVALID_ENUM".into(),
        glow::INVALID_VALUE => "GL_INVALID_VALUE".into(),
        glow::INVALID_OPERATION => "GL_INVALID_OPERATION".into(),
        glow::INVALID_FRAMEBUFFER_OPERATION => "GL_INVALID_FRAMEBUFFER_OPERATION".into(),
        other => format!("GL error {other:#x}"),
    }
}
