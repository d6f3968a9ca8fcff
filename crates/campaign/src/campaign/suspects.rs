//! Programs that may have ended tangle itself, or the machine: they run again once, with nothing beside them, and are findings if it happens again.
//!
//! | the run before | its programs in flight |
//! |---|---|
//! | ended cleanly | are nothing special |
//! | was killed by somebody | are nothing special |
//! | crashed, was killed when memory ran out, or the machine went down | are suspects: each runs again alone |
//! | ended like that while a suspect ran alone | that one is guilty: a finding, and passed over |
//!
//! What happened is seen from the boot that the kernel names, from the counts of processes that were killed for memory (those of this process's
//! control group, where the kernel keeps them), and from a mark that a crashing tangle leaves. A plain `kill -9` leaves none of these: the counts are
//! noted anew while the campaign runs, so that what was killed long before is not held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tangle_files::write_atomically;
use tangle_runner::OomKills;

use super::folder::set_aside;
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

/// How a run ended that did not end as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ended {
    /// The machine went down, and tangle with it: this boot is another.
    #[serde(rename = "machine_down", alias = "the machine went down")]
    MachineDown,
    /// By a signal of its own.
    #[serde(rename = "crashed", alias = "tangle crashed")]
    Crashed,
    /// By the system, for want of memory.
    #[serde(rename = "out_of_memory", alias = "tangle ended when memory ran out")]
    OutOfMemory,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::MachineDown => "the machine went down",
            Ended::Crashed => "tangle crashed",
            Ended::OutOfMemory => "tangle ended when memory ran out",
        })
    }
}

/// What a run leaves if it does not end cleanly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    /// The kernel's name of this boot: `/proc/sys/kernel/random/boot_id`.
    boot: String,
    /// When this was noted last; `None` of versions that did not.
    #[serde(default)]
    kills: Option<OomKills>,
    /// The suspect that runs alone.
    trial: Option<Item>,
}

/// What is written to [`FILE`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// `None` after a clean end.
    running: Option<Running>,
    suspects: BTreeSet<Item>,
    /// With what they ended.
    guilty: BTreeMap<String, BTreeMap<u64, Ended>>,
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
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        Running { boot, kills: Some(OomKills::now()), trial: None }
    }

    /// How it ended, if that was not somebody's wish.
    fn ended(&self, now: &Running, crashed: bool) -> Option<Ended> {
        let killed = || Some(self.kills.as_ref()?.any_until(now.kills.as_ref()?));
        if self.boot != now.boot {
            Some(Ended::MachineDown)
        } else if crashed {
            Some(Ended::Crashed)
        } else if killed().unwrap_or(false) {
            Some(Ended::OutOfMemory)
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
        let (mut state, problem) = read(&folder.join(FILE))?;
        let crashed = crash_mark::is_there(folder);
        let now = Running::now();
        let mut notes: Vec<String> = problem.into_iter().collect();
        let earlier = state.running.take();
        let how = earlier.as_ref().and_then(|earlier| earlier.ended(&now, crashed));
        let in_flight = in_flight();
        if let Some(how) = how {
            notes.push(state.suspect(how, earlier.and_then(|earlier| earlier.trial), in_flight));
        }
        let is_careful = how == Some(Ended::MachineDown);
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

    /// Notes what was killed for memory so far: that was not the end of this run.
    ///
    /// # Errors
    /// If that cannot be noted.
    pub(super) fn note_survival(&self) -> anyhow::Result<()> {
        let (kills, mut state) = (Some(OomKills::now()), self.state());
        match &mut state.running {
            Some(running) if running.kills != kills => running.kills = kills,
            _ => return Ok(()),
        }
        self.save(&state)
    }

    /// How a program ends tangle or the machine, if it is known to.
    pub(super) fn guilty(&self, device: &str, program: u64) -> Option<Ended> {
        self.state().guilty.get(device)?.get(&program).copied()
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

/// The state in a folder, and what is wrong with it: one that cannot be read is set aside.
fn read(file: &Path) -> anyhow::Result<(State, Option<String>)> {
    let problem = match tangle_files::read(file, tangle_files::MOST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((State::default(), None)),
        Err(error) => error.to_string(),
        Ok(text) => match serde_json::from_slice(&text) {
            Ok(state) => return Ok((state, None)),
            Err(error) => error.to_string(),
        },
    };
    Ok((State::default(), Some(set_aside(file, &problem)?)))
}

impl State {
    /// Takes note of what ran when something ended; says so.
    fn suspect(&mut self, how: Ended, trial: Option<Item>, in_flight: Vec<Item>) -> String {
        if let Some(item) = trial {
            self.suspects.remove(&item);
            let note = format!(
                "{how} twice while {} ran program {}: it is a finding and passed over",
                item.device, item.program
            );
            self.guilty.entry(item.device).or_default().insert(item.program, how);
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
        let kills = |machine| OomKills { machine, group: None };
        let running = |boot: &str, machine| Running { boot: boot.into(), kills: Some(kills(machine)), trial: None };
        let table = [
            (running("a", 3), running("a", 3), false, None),
            (running("a", 3), running("a", 3), true, Some(Ended::Crashed)),
            (running("a", 3), running("a", 4), false, Some(Ended::OutOfMemory)),
            (running("a", 3), running("b", 0), false, Some(Ended::MachineDown)),
        ];
        for (before, now, crashed, expected) in table {
            assert_eq!(before.ended(&now, crashed), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn what_was_killed_for_memory_before_is_not_held_against_a_later_kill() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (first, _) = Suspects::begin(place.path(), || vec![item(3)]).expect("it can be written");
        // As if something had been killed since the last note.
        if let Some(running) = &mut first.state().running {
            running.kills = Some(OomKills::default());
        }
        let before = OomKills::now();
        first.note_survival().expect("it can be written");
        let noted: State = read(&place.path().join(FILE)).expect("it is there").0;
        let kills = noted.running.expect("it runs").kills.expect("they are counted");
        assert!([before, OomKills::now()].contains(&kills), "{kills:?}");
    }

    #[test]
    fn a_file_of_older_versions_is_read_and_a_broken_one_is_told() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let file = place.path().join(FILE);
        let begin = || Suspects::begin(place.path(), Vec::new).expect("it can be written");
        let old = r#"{"running":{"boot":"x","killed_for_memory":7,"trial":null},"suspects":[],"guilty":{"lvp":{"3":"tangle crashed"}}}"#;
        fs::write(&file, old).expect("it is ours");
        let (suspects, notes) = begin();
        assert_eq!(suspects.guilty("lvp", 3), Some(Ended::Crashed));
        assert!(notes[0].contains("the machine went down"), "{notes:?}");
        fs::write(&file, "{").expect("it is ours");
        let (suspects, notes) = begin();
        assert_eq!(suspects.guilty("lvp", 3), None);
        assert!(
            notes[0].contains("suspects.json is damaged") && file.with_extension("json.damaged").exists(),
            "{notes:?}"
        );
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
        assert_eq!(third.guilty("lvp", 3), Some(Ended::Crashed));
        assert!(!third.is_suspect("lvp", 3));
        third.end().expect("it can be written");
        let (fourth, notes) = begin(&[5]);
        assert!(notes.is_empty() && !fourth.is_suspect("lvp", 5) && fourth.guilty("lvp", 3).is_some(), "{notes:?}");
    }
}
