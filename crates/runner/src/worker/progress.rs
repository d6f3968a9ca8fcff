//! How far a job has come, and what its stages took: the same for every API.

use std::time::Instant;

use crate::outcome::Stage;

/// The stage of a job, announced before it begins, so that the parent knows where a worker died.
pub(super) struct Progress<'a> {
    announce: &'a mut dyn FnMut(Stage),
    /// The one that was entered last.
    pub(super) stage: Stage,
}

impl<'a> Progress<'a> {
    /// Announces the first stage.
    pub(super) fn begin(announce: &'a mut dyn FnMut(Stage)) -> Progress<'a> {
        let mut progress = Progress { announce, stage: Stage::Check };
        progress.enter(Stage::Check);
        progress
    }

    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        (self.announce)(stage);
    }
}

/// Microseconds since an instant.
pub(super) fn micros(since: Instant) -> u64 {
    since.elapsed().as_micros() as u64
}
