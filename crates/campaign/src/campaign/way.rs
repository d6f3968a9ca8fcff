//! What the workers of a device share on its way through the sequence.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::in_flight::Batch;
use super::queue::OrderedQueue;
use super::record::Entered;

/// What the names of files begin with that say which program runs in this process.
pub(super) const RUNNING: &str = "running-";

/// A device's way through the programs of its campaign's shard, by their places in it: the result of the cases of each.
pub(super) type Queue = OrderedQueue<Vec<(u64, Entered)>>;

/// A program on its way through a device.
pub(super) enum NextProgram {
    /// The device may have it.
    Ready(Batch),
    /// It is through, or cannot run.
    Completed(Vec<(u64, Entered)>),
}

/// The file that says which program runs in this process: what takes tangle with it is known by it, and it costs next to nothing.
pub(super) struct Running {
    file: File,
    path: PathBuf,
}

impl Running {
    /// The file of a worker, by its number among those of its device.
    pub(super) fn of_worker(folder: &Path, number: usize) -> anyhow::Result<Running> {
        let path = folder.join(format!("{RUNNING}{number}"));
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Running { file, path })
    }

    pub(super) fn note(&self, program: u64) -> anyhow::Result<()> {
        let written = self.file.write_all_at(&program.to_le_bytes(), 0);
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Best effort: what is counted is not taken for what ran.
        let _ = fs::remove_file(&self.path);
    }
}
