//! What a driver's compiler makes of a case, up to where it dies: for findings, so that a driver engineer sees the machine code.
//!
//! Mesa's drivers print it on standard error when a variable asks for it; the case is run once more, by a worker of its own. A campaign
//! does that in a thread of its own ([`Queue`]), from what is saved: a campaign that was killed makes up for it when it is taken up again.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tangle_report::SavedFinding;

use crate::prepare::Prepared;
use crate::target::Target;

/// Name of the file in a finding's folder.
pub const FILE: &str = "isa.txt";

/// Longest dump that is kept, bytes.
const LONGEST: u64 = 8 << 20;

/// Findings that wait for their dump: device and folder.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(String, PathBuf)>,
    /// When to stop, known when no more will come.
    deadline: Option<Instant>,
}

impl Queue {
    /// Puts a saved finding into it, unless it has its dump.
    pub fn ask(&self, device: &str, folder: &Path) {
        if !folder.join(FILE).exists() {
            self.state().waiting.push_back((device.to_owned(), folder.to_owned()));
            self.moved.notify_all();
        }
    }

    /// Says that no more will come. What still waits after this time is left for the next run of the campaign.
    pub fn close(&self, within: Duration) {
        self.state().deadline = Some(Instant::now() + within);
        self.moved.notify_all();
    }

    /// Has `dump` do one after the other, until the queue is closed and empty, or its time is over.
    pub fn work(&self, mut dump: impl FnMut(&str, &Path)) {
        loop {
            let idle = |state: &mut State| state.waiting.is_empty() && state.deadline.is_none();
            let mut state = self.moved.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
            let is_late = state.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let next = if is_late { None } else { state.waiting.pop_front() };
            drop(state);
            let Some((device, folder)) = next else { return };
            dump(&device, &folder);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As [`dump`], for a finding on disk.
pub fn dump_saved(target: &Target, folder: &Path) {
    // Whoever looks at a finding that cannot be read sees the error.
    let Ok(SavedFinding { case, shader: Some(shader), .. }) = SavedFinding::read(folder) else { return };
    dump(target, &Prepared { case, shader: shader.source, spirv: shader.spirv }, folder);
}

/// Writes what the driver prints of a case to `isa.txt` in a folder; nothing where the driver prints nothing. Best effort: a finding
/// without it is a finding.
pub fn dump(target: &Target, prepared: &Prepared, folder: &Path) {
    if !target.executor.prints_machine_code() {
        return;
    }
    let partial = folder.join(format!(".{FILE}"));
    // What a run that was killed left behind.
    let _ = fs::remove_file(&partial);
    target.executor.print_machine_code(prepared, &partial);
    let mut text = Vec::new();
    let read = fs::File::open(&partial).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    if read.is_ok() && !text.is_empty() {
        let _ = fs::write(folder.join(FILE), text);
    }
    let _ = fs::remove_file(partial);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_hands_out_what_has_no_dump_until_its_time_is_over() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folders = ["one", "two", "three"].map(|name| place.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).expect("it is ours"));
        fs::write(folders[1].join(FILE), "ret").expect("it is ours");
        for (within, expected) in [(Duration::from_secs(10), vec![&folders[0], &folders[2]]), (Duration::ZERO, vec![])]
        {
            let queue = Queue::default();
            folders.iter().for_each(|folder| queue.ask("radv", folder));
            queue.close(within);
            let mut seen = Vec::new();
            queue.work(|device, folder| seen.push((device.to_owned(), folder.to_owned())));
            assert_eq!(seen.iter().map(|(_, folder)| folder).collect::<Vec<_>>(), expected);
            assert!(seen.iter().all(|(device, _)| device == "radv"));
        }
    }
}
