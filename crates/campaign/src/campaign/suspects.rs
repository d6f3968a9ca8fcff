//! Programs that may have ended tangle itself, or the machine: they run again once, with nothing beside them, and are findings if it happens again.
//!
//! | the run before | its programs in flight |
//! |---|---|
//! | ended cleanly | are nothing special |
//! | was killed by somebody | are nothing special |
//! | crashed, was killed when memory ran out, or the machine went down | are suspects: each runs again alone |
//! | ended like that while a suspect ran alone | that one is guilty: a finding, and passed over |
//!
//! What happened is seen from the boot that the kernel names, from its count of processes that were killed for memory, and from a mark that a
//! crashing tangle leaves. A plain `kill -9` leaves none of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tangle_files::write_atomically;

use crate::crash_mark;

/// The file that says what runs, and what is suspected.
const FILE: &str = "suspects.json";

/// A program on a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Item {
    /// Name of the device.
    pub(super) device: String,
    /// Number of the program.
    pub(super) program: u64,
}

/// What a run leaves if it does not end cleanly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    /// The kernel's name of this boot: `/proc/sys/kernel/random/boot_id`.
    boot: String,
    /// Processes killed for memory since then: `oom_kill` in `/proc/vmstat`.
    killed_for_memory: u64,
    /// The suspect that runs alone.
    trial: Option<Item>,
}

/// The file's contents.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// `None` after a clean end.
    running: Option<Running>,
    suspects: BTreeSet<Item>,
    /// With what they ended.
    guilty: BTreeMap<String, BTreeMap<u64, String>>,
}

/// The suspects of a campaign.
pub(super) struct Suspects {
    folder: PathBuf,
    state: Mutex<State>,
    gate: Gate,
    /// The machine went down: what is in flight is synced from now on.
    pub(super) is_careful: bool,
}

impl Running {
    fn now() -> Running {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let count = line("/proc/vmstat").lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        let boot = line("/proc/sys/kernel/random/boot_id").trim().to_owned();
        Running { boot, killed_for_memory: count.unwrap_or(0), trial: None }
    }

    /// What ended, and how, if that was not somebody's wish.
    fn ended(&self, now: &Running, crashed: bool) -> Option<&'static str> {
        if self.boot != now.boot {
            Some("the machine went down")
        } else if crashed {
            Some("tangle crashed")
        } else if now.killed_for_memory > self.killed_for_memory {
            Some("tangle ended when memory ran out")
        } else {
            None
        }
    }
}

impl Suspects {
    /// Looks at how the last run in the folder ended; `in_flight` says what was in flight then. Gives sentences for people, too.
    ///
    /// # Errors
    /// If it cannot be noted that a campaign runs now.
    pub(super) fn begin(
        folder: &Path,
        in_flight: impl FnOnce() -> Vec<Item>,
    ) -> anyhow::Result<(Suspects, Vec<String>)> {
        let read = || serde_json::from_slice(&tangle_files::read(&folder.join(FILE), tangle_files::MOST).ok()?).ok();
        let mut state: State = read().unwrap_or_default();
        let crashed = crash_mark::is_there(folder);
        let (now, mut notes) = (Running::now(), Vec::new());
        let earlier = state.running.take();
        let how = earlier.as_ref().and_then(|earlier| earlier.ended(&now, crashed));
        let in_flight = in_flight();
        if let Some(how) = how {
            notes.push(state.suspect(how, earlier.and_then(|earlier| earlier.trial), in_flight));
        }
        let is_careful = how.is_some_and(|how| how.contains("machine"));
        state.running = Some(now);
        let suspects =
            Suspects { folder: folder.to_owned(), state: Mutex::new(state), gate: Gate::default(), is_careful };
        suspects.save(&suspects.state())?;
        crash_mark::prepare(folder).context("cannot prepare a mark for crashes")?;
        Ok((suspects, notes))
    }

    /// Says that the campaign ended as it should.
    ///
    /// # Errors
    /// If that cannot be noted.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        let mut state = self.state();
        state.running = None;
        self.save(&state)
    }

    /// How a program ends tangle or the machine, if it is known to.
    pub(super) fn guilty(&self, device: &str, program: u64) -> Option<String> {
        self.state().guilty.get(device)?.get(&program).cloned()
    }

    /// True if a program is to run alone.
    pub(super) fn is_suspect(&self, device: &str, program: u64) -> bool {
        self.state().suspects.contains(&Item { device: device.to_owned(), program })
    }

    /// Waits until nothing else runs, and runs a suspect. Whoever calls has nothing in flight.
    ///
    /// # Errors
    /// If it cannot be noted before.
    pub(super) fn run_alone<T>(&self, device: &str, program: u64, run: impl FnOnce() -> T) -> anyhow::Result<T> {
        let item = Item { device: device.to_owned(), program };
        let _alone = self.gate.close();
        self.note_trial(Some(item.clone()))?;
        let result = run();
        self.state().suspects.remove(&item);
        self.note_trial(None)?;
        Ok(result)
    }

    /// Takes part in what runs side by side; `None` while a suspect runs, or waits to run, alone.
    pub(super) fn enter(&self) -> Option<Pass<'_>> {
        self.gate.enter()
    }

    fn note_trial(&self, trial: Option<Item>) -> anyhow::Result<()> {
        let mut state = self.state();
        if let Some(running) = &mut state.running {
            running.trial = trial;
        }
        self.save(&state)
    }

    fn save(&self, state: &State) -> anyhow::Result<()> {
        write_atomically(&self.folder.join(FILE), &serde_json::to_vec_pretty(state)?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes note of what ran when something ended; says so.
    fn suspect(&mut self, how: &str, trial: Option<Item>, in_flight: Vec<Item>) -> String {
        if let Some(item) = trial {
            self.suspects.remove(&item);
            let note = format!(
                "{how} twice while {} ran program {}: it is a finding and passed over",
                item.device, item.program
            );
            self.guilty.entry(item.device).or_default().insert(item.program, how.to_owned());
            return note;
        }
        let count = in_flight.len();
        self.suspects.extend(in_flight);
        format!("{how} in the last run: {count} programs that ran then run again alone")
    }
}

/// Lets many in, or one alone.
#[derive(Default)]
struct Gate {
    state: Mutex<Open>,
    moved: Condvar,
}

#[derive(Default)]
struct Open {
    inside: usize,
    closed: bool,
}

/// Being one of many; ends when dropped.
pub(super) struct Pass<'a>(&'a Gate);

/// Being alone; ends when dropped.
struct Alone<'a>(&'a Gate);

impl Gate {
    fn enter(&self) -> Option<Pass<'_>> {
        let mut open = self.open();
        if open.closed {
            // Whoever asks has others to look after, or looks again soon.
            drop(self.moved.wait_timeout(open, Duration::from_millis(20)));
            return None;
        }
        open.inside += 1;
        Some(Pass(self))
    }

    fn close(&self) -> Alone<'_> {
        let free = self.moved.wait_while(self.open(), |open| open.closed);
        free.unwrap_or_else(PoisonError::into_inner).closed = true;
        drop(self.moved.wait_while(self.open(), |open| open.inside > 0));
        Alone(self)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.open().inside -= 1;
        self.0.moved.notify_all();
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.open().closed = false;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(program: u64) -> Item {
        Item { device: "lvp".into(), program }
    }

    #[test]
    fn only_what_nobody_wished_makes_suspects() {
        let running = |boot: &str, killed_for_memory| Running { boot: boot.into(), killed_for_memory, trial: None };
        let before = running("a", 3);
        let table = [
            (running("a", 3), false, None),
            (running("a", 3), true, Some("tangle crashed")),
            (running("a", 4), false, Some("tangle ended when memory ran out")),
            (running("b", 0), false, Some("the machine went down")),
        ];
        for (now, crashed, expected) in table {
            assert_eq!(before.ended(&now, crashed), expected);
        }
    }

    #[test]
    fn a_suspect_runs_alone_and_is_guilty_if_it_happens_again() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let begin = |in_flight: &[u64]| {
            let items = in_flight.iter().map(|&program| item(program)).collect();
            Suspects::begin(place.path(), || items).expect("it can be written")
        };
        let crash = || fs::write(place.path().join("crashed"), "crashed").expect("ours");
        let (first, notes) = begin(&[3]);
        assert!(notes.is_empty() && !first.is_suspect("lvp", 3), "{notes:?}");
        crash();
        let (second, notes) = begin(&[3, 4]);
        assert!(
            notes[0].contains("tangle crashed") && second.is_suspect("lvp", 3) && second.is_suspect("lvp", 4),
            "{notes:?}"
        );
        second.run_alone("lvp", 4, || assert!(second.enter().is_none(), "it is alone")).expect("it can be written");
        assert!(!second.is_suspect("lvp", 4) && second.enter().is_some());
        let during = second
            .run_alone("lvp", 3, || fs::read(place.path().join(FILE)).expect("it is there"))
            .expect("it can be written");
        fs::write(place.path().join(FILE), during).expect("ours");
        crash();
        let (third, notes) = begin(&[3]);
        assert!(notes[0].contains("passed over"), "{notes:?}");
        assert_eq!(third.guilty("lvp", 3).as_deref(), Some("tangle crashed"));
        assert!(!third.is_suspect("lvp", 3));
        third.end().expect("it can be written");
        let (fourth, notes) = begin(&[5]);
        assert!(notes.is_empty() && !fourth.is_suspect("lvp", 5) && fourth.guilty("lvp", 3).is_some(), "{notes:?}");
    }
}
