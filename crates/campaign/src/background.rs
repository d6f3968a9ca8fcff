//! Findings made small while the campaign goes on, on a worker of their own.
//!
//! ```text
//!   campaign ── a finding is saved ──► queue ──► one at a time: reduce, at most a minute ──► <finding>/minimized/
//!                                                                            └─► name of the bug ──► statistics
//! ```
//!
//! The first witness of each signature comes first, what is slow to reproduce comes last. When the search is over, what is left in
//! the queue gets a little more time. What is not done then is reported, and a campaign that is taken up again goes on from what was reached.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tangle_identity::{Kind, Signature};
use tangle_program::case::Case;
use tangle_report::saved::Rate;

use crate::against::Against;
use crate::minimized::MinimizedPath;
use crate::reduce::{ReduceOptions, content_hash, reduce};
use crate::target::Target;
use crate::variants;

/// Opens another worker of a device.
pub type Opener = Box<dyn Fn(&str) -> anyhow::Result<Target> + Send + Sync>;

/// Longest time for one finding.
const EACH: Duration = Duration::from_secs(60);

/// Time between two looks at an empty queue.
const NAP: Duration = Duration::from_millis(50);

/// A saved finding to be made small.
#[derive(Clone, Debug)]
pub struct Request {
    /// The device.
    pub device: String,
    /// The case.
    pub case: Case,
    /// What it was found with.
    pub signature: Signature,
    /// Its folder.
    pub folder: PathBuf,
}

/// What came of a request.
#[derive(Debug)]
pub struct Small {
    /// The request.
    pub request: Request,
    /// The minimised case.
    pub case: Case,
    /// Its signature.
    pub signature: Signature,
    /// How often it fails.
    pub rate: Rate,
}

/// Makes findings small, one at a time.
pub struct Background {
    open: Opener,
    /// Every device of the campaign.
    devices: Vec<String>,
    /// A device that what is made small must not fail on.
    against: Option<Against>,
    queue: Mutex<BTreeMap<(u8, usize, u64), Request>>,
    number: AtomicU64,
    /// When to stop, known when the search is over.
    deadline: OnceLock<Instant>,
    /// Those that could not be made small, and why.
    unfinished: Mutex<BTreeMap<PathBuf, String>>,
    /// What is being done with which finding, and since when.
    current: Mutex<Option<(PathBuf, &'static str, Instant)>>,
}

impl Background {
    /// With something that opens workers, the names of the campaign's devices, and a device that what is made small must not fail on.
    pub fn new(open: Opener, devices: Vec<String>, against: Option<Against>) -> Background {
        Background {
            open,
            devices,
            against,
            queue: Mutex::default(),
            number: AtomicU64::new(0),
            deadline: OnceLock::new(),
            unfinished: Mutex::default(),
            current: Mutex::default(),
        }
    }

    /// Puts a finding into the queue: witness number `nth` of its signature, from 0.
    pub fn ask(&self, request: Request, nth: usize) {
        let Some(urgency) = urgency(request.signature.kind, nth) else { return };
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.queue().insert((urgency, nth, number), request);
    }

    /// How many are waiting.
    pub fn waiting(&self) -> usize {
        self.queue().len()
    }

    /// Says that the search is over, and how much time there is for what is left.
    pub fn wind_up(&self, time: Duration) {
        let _ = self.deadline.set(Instant::now() + time);
    }

    /// What it is doing, for people; `None` if nothing.
    pub fn doing(&self) -> Option<String> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (folder, doing, since) = current.as_ref()?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{doing} {name} for {} s; {} findings wait", since.elapsed().as_secs(), self.waiting()))
    }

    fn now(&self, doing: Option<(PathBuf, &'static str)>) {
        let doing = doing.map(|(folder, doing)| (folder, doing, Instant::now()));
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    /// Works through the queue until the search is over, and a little longer. `stop` ends it at once.
    pub fn work(&self, stop: &AtomicBool, mut done: impl FnMut(Small)) {
        let mut workers = BTreeMap::<String, Vec<Target>>::new();
        while !self.is_over() && !stop.load(Ordering::SeqCst) {
            let Some((_, request)) = self.queue().pop_first() else {
                if self.deadline.get().is_some() {
                    break;
                }
                std::thread::sleep(NAP);
                continue;
            };
            self.now(Some((request.folder.clone(), "minimising")));
            match self.minimize(&request, &mut workers, stop) {
                Ok(small) => done(small),
                Err(reason) => drop(self.unfinished().insert(request.folder, reason)),
            }
            self.now(None);
        }
        let mut unfinished = self.unfinished();
        for request in std::mem::take(&mut *self.queue()).into_values() {
            unfinished.insert(request.folder, "there was no time left".into());
        }
    }

    /// The folders of those that are not minimised, with the reasons.
    pub fn left_over(&self) -> BTreeMap<PathBuf, String> {
        self.unfinished().clone()
    }

    fn minimize(
        &self,
        request: &Request,
        workers: &mut BTreeMap<String, Vec<Target>>,
        stop: &AtomicBool,
    ) -> Result<Small, String> {
        let started = Instant::now();
        self.open(&request.device, workers)?;
        let targets = workers.get(&request.device).map_or(&[][..], Vec::as_slice);
        let original = &request.case;
        let place = MinimizedPath::of(&request.folder);
        let start = place.unfinished(original).unwrap_or_else(|| original.clone());
        let options = ReduceOptions {
            time: Some(EACH),
            from: Some(content_hash(original)),
            against: self.against.clone(),
            ..ReduceOptions::default()
        };
        let reduction = reduce(targets, &start, Some(&request.signature), &options, stop, |progress| {
            let is_noted = !progress.improved || place.note(original, progress.best).is_ok();
            if self.is_over() || !is_noted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let reduction = reduction.map_err(|error| format!("{error:#}"))?;
        let is_smaller = reduction.minimized.accepted > 0;
        if reduction.minimized.finished || is_smaller {
            place.save(&targets[0], original, &reduction, started.elapsed()).map_err(|error| format!("{error:#}"))?;
        }
        if !reduction.minimized.finished {
            return Err("there was no time left".into());
        }
        let case = reduction.minimized.case;
        let small = Small { request: request.clone(), signature: reduction.signature, case, rate: reduction.after };
        self.now(Some((small.request.folder.clone(), "looking for the stage to blame for")));
        self.blame(&small, &place, workers)?;
        Ok(small)
    }

    /// Opens a worker of a device, unless there is one.
    fn open(&self, device: &str, workers: &mut BTreeMap<String, Vec<Target>>) -> Result<(), String> {
        if !workers.contains_key(device) {
            let target = (self.open)(device).map_err(|error| format!("{error:#}"))?;
            workers.insert(device.to_owned(), vec![target]);
        }
        Ok(())
    }

    /// Runs a minimised case as every variant on every device, and saves the table beside it.
    fn blame(
        &self,
        small: &Small,
        place: &MinimizedPath,
        workers: &mut BTreeMap<String, Vec<Target>>,
    ) -> Result<(), String> {
        if !variants::are_telling(small.signature.kind) {
            return Ok(());
        }
        for device in &self.devices {
            // The table is worth having without a device that does not come up.
            let _ = self.open(device, workers);
        }
        let targets = self.devices.iter().filter_map(|device| workers.get(device)?.first());
        variants::save(&variants::table(targets, &small.case), place.path()).map_err(|error| format!("{error:#}"))
    }

    fn is_over(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| Instant::now() >= *deadline)
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, BTreeMap<(u8, usize, u64), Request>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unfinished(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, String>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Small numbers come first; `None`: not at all.
const fn urgency(kind: Kind, nth: usize) -> Option<u8> {
    match kind {
        Kind::Value | Kind::Path => Some(0),
        // One witness says it all.
        Kind::LaneMap | Kind::VulkanError | Kind::OpenGlError | Kind::Toolchain if nth == 0 => Some(0),
        // Every candidate that fails costs a worker, or the whole time limit.
        Kind::Crash | Kind::DeviceLost | Kind::OutOfMemory | Kind::Implausible if nth == 0 => Some(1),
        Kind::Hang if nth == 0 => Some(2),
        _ => None,
    }
}
