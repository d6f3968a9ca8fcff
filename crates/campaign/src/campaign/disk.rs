//! How much of the disk a campaign may take.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a campaign takes, and may take, in bytes.
#[derive(Debug)]
pub(super) struct Disk {
    used: AtomicU64,
    most: u64,
}

impl Disk {
    pub(super) fn new(folder: &Path, most: u64) -> Disk {
        Disk { used: AtomicU64::new(tangle_files::size(folder)), most }
    }

    /// Counts what was written.
    pub(super) fn add(&self, written: &Path) {
        self.used.fetch_add(tangle_files::size(written), Ordering::Relaxed);
    }

    /// Counts everything again: minimised findings and machine code are written by others.
    pub(super) fn measure(&self, folder: &Path) {
        self.used.store(tangle_files::size(folder), Ordering::Relaxed);
    }

    /// # Errors
    /// If nothing more may be written.
    pub(super) fn check(&self, folder: &Path) -> anyhow::Result<()> {
        let used = self.used.load(Ordering::Relaxed);
        anyhow::ensure!(
            used < self.most,
            "{} takes {} MB, and may take {} MB: the campaign ends here, and goes on with a larger --max-disk",
            folder.display(),
            used >> 20,
            self.most >> 20
        );
        Ok(())
    }
}
