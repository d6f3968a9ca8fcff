//! The search: runs the passes until none of them makes progress.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tangle_analysis::validate::validate;
use tangle_program::case::Case;
use tangle_program::tree::SiteId;

use crate::passes::{Pass, TABLE, slice};
use crate::size::Size;

/// How a case is minimised.
#[derive(Clone, Debug)]
pub struct MinimizeOptions {
    /// How long at most; `None` for no end.
    pub time: Option<Duration>,
    /// How many candidates are given to the judge at most; `None` for no end.
    pub candidates: Option<u64>,
    /// How many candidates are given to the judge at a time, at most. Does not change the result.
    pub batch: usize,
    /// The log site where the failure shows. The case with that site only is tried first.
    pub focus: Option<SiteId>,
}

impl Default for MinimizeOptions {
    fn default() -> MinimizeOptions {
        MinimizeOptions { time: None, candidates: None, batch: 4, focus: None }
    }
}

/// What the judge says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// It fails the same way.
    Fails,
    /// The device did everything right, and something was compared.
    Passes,
    /// Neither: it fails in another way, nothing was compared, the device cannot run it.
    Other,
}

/// Where the minimizer is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The smallest case so far that fails.
    pub best: &'a Case,
    /// The size of `best`.
    pub size: Size,
    /// The pass that runs.
    pub pass: &'static str,
    /// Candidates that the judge was asked about.
    pub tried: u64,
    /// Candidates that became the best case.
    pub accepted: u64,
    /// True if `best` is new since the last call: the moment to save it.
    pub improved: bool,
}

/// What the minimiser ends with.
#[derive(Clone, Debug)]
pub struct Minimized {
    /// The smallest case found that fails.
    pub case: Case,
    /// Of the candidates made from `case`, the one that passes and differs least.
    pub neighbour: Option<Case>,
    /// Candidates that the judge was asked about.
    pub tried: u64,
    /// Candidates that became the best case.
    pub accepted: u64,
    /// True if no candidate of any pass fails; false if it was stopped before that was known.
    pub finished: bool,
}

/// What a device sees of a case, as a hash. Cases with one key have one answer.
type Key = [u64; 2];

fn key(case: &Case) -> Key {
    [0u8, 1].map(|half| {
        let mut hasher = DefaultHasher::new();
        (half, &case.program, case.tier, &case.variant, &case.entry_point, &case.data).hash(&mut hasher);
        hasher.finish()
    })
}

/// A candidate that is worth an answer.
struct Candidate {
    /// Its place among the candidates of the pass.
    position: usize,
    key: Key,
    case: Case,
    size: Size,
}

/// The result of a part of the search.
enum Step {
    /// A candidate failed and is the best case now; it was at this position.
    Accepted(usize),
    /// No candidate is left.
    Exhausted,
    /// The search is over.
    Stopped,
}

pub struct Engine<'a, C, P> {
    options: &'a MinimizeOptions,
    check: C,
    progress: P,
    started: Instant,
    best: Case,
    size: Size,
    /// Every answer so far.
    known: HashMap<Key, Check>,
    /// How many candidates to ask about at a time: few after a success, more after failures.
    batch: usize,
    tried: u64,
    accepted: u64,
}

impl<'a, C, P> Engine<'a, C, P>
where
    C: FnMut(&[Case]) -> Vec<Check>,
    P: FnMut(&Progress<'_>) -> ControlFlow<()>,
{
    pub fn new(case: &Case, options: &'a MinimizeOptions, check: C, progress: P) -> Engine<'a, C, P> {
        Engine {
            options,
            check,
            progress,
            started: Instant::now(),
            best: case.clone(),
            size: Size::of(case),
            known: HashMap::from([(key(case), Check::Fails)]),
            batch: 1,
            tried: 0,
            accepted: 0,
        }
    }

    pub fn run(mut self) -> Minimized {
        let finished = self.search();
        Minimized { neighbour: self.neighbour(), case: self.best, tried: self.tried, accepted: self.accepted, finished }
    }

    /// True if it came to its end by itself.
    fn search(&mut self) -> bool {
        if let Some(site) = self.options.focus {
            let focused = Case { program: slice::only(&self.best.program, site), ..self.best.clone() };
            if let Step::Stopped = self.step("focus", std::iter::once(focused).enumerate()) {
                return false;
            }
        }
        loop {
            let before = self.size;
            for pass in TABLE {
                if !self.exhaust(pass) {
                    return false;
                }
            }
            if self.size == before {
                return true;
            }
        }
    }

    /// Tries the candidates of a pass to the last one. After a success it goes on at the same place with those of the new
    /// case: what came before failed a moment ago. False if the search is over.
    fn exhaust(&mut self, pass: &Pass) -> bool {
        let mut position = 0;
        loop {
            let best = self.best.clone();
            match self.step(pass.name, (pass.candidates)(&best).enumerate().skip(position)) {
                Step::Accepted(at) => position = at,
                Step::Exhausted => return true,
                Step::Stopped => return false,
            }
        }
    }

    /// Asks about candidates, batch by batch, until one fails.
    fn step(&mut self, pass: &'static str, candidates: impl Iterator<Item = (usize, Case)>) -> Step {
        let mut candidates = candidates;
        loop {
            let mut batch: Vec<Candidate> = Vec::new();
            while batch.len() < self.batch {
                let Some((position, case)) = candidates.next() else { break };
                let Some(candidate) = self.consider(position, case) else { continue };
                if batch.iter().any(|other| other.key == candidate.key) {
                    continue;
                }
                let fails = self.known.get(&candidate.key) == Some(&Check::Fails);
                batch.push(candidate);
                if fails {
                    break;
                }
            }
            let asked = batch.iter().filter(|candidate| !self.known.contains_key(&candidate.key)).count();
            if batch.is_empty() {
                return Step::Exhausted;
            }
            if !self.ask(&batch[..asked]) {
                return Step::Stopped;
            }
            let failed = batch.into_iter().find(|candidate| self.known.get(&candidate.key) == Some(&Check::Fails));
            let position = failed.map(|candidate| self.accept(candidate));
            self.batch = if position.is_some() { 1 } else { self.batch * 2 }.clamp(1, self.options.batch.max(1));
            let progress = Progress {
                best: &self.best,
                size: self.size,
                pass,
                tried: self.tried,
                accepted: self.accepted,
                improved: position.is_some(),
            };
            if (self.progress)(&progress).is_break() || self.is_over() {
                return Step::Stopped;
            }
            if let Some(position) = position {
                return Step::Accepted(position);
            }
        }
    }

    /// A candidate that is smaller, valid, and not known not to fail.
    fn consider(&self, position: usize, case: Case) -> Option<Candidate> {
        let size = Size::of(&case);
        if size >= self.size || validate(&case).is_err() {
            return None;
        }
        let key = key(&case);
        match self.known.get(&key) {
            Some(Check::Passes | Check::Other) => None,
            Some(Check::Fails) | None => Some(Candidate { position, key, case, size }),
        }
    }

    /// Notes the answers for the candidates. False if some are missing: the judge cannot go on.
    fn ask(&mut self, candidates: &[Candidate]) -> bool {
        if candidates.is_empty() {
            return true;
        }
        let cases: Vec<Case> = candidates.iter().map(|candidate| candidate.case.clone()).collect();
        let answers = (self.check)(&cases);
        let counted =
            answers.iter().position(|answer| *answer == Check::Fails).map_or(answers.len(), |first| first + 1);
        for (candidate, answer) in candidates.iter().zip(&answers[..counted]) {
            self.known.insert(candidate.key, *answer);
            self.tried += 1;
        }
        answers.len() >= candidates.len() || answers.contains(&Check::Fails)
    }

    fn accept(&mut self, candidate: Candidate) -> usize {
        self.best = candidate.case;
        self.size = candidate.size;
        self.accepted += 1;
        candidate.position
    }

    fn is_over(&self) -> bool {
        self.options.time.is_some_and(|time| self.started.elapsed() >= time)
            || self.options.candidates.is_some_and(|most| self.tried >= most)
    }

    /// The nearest candidate of the best case that is known to pass: rather another expression than another statement, rather that than
    /// other data or another launch, and then what is least smaller.
    fn neighbour(&self) -> Option<Case> {
        let candidates = TABLE.iter().flat_map(|pass| (pass.candidates)(&self.best));
        let passing = candidates.filter_map(|case| {
            let size = Size::of(&case);
            let passes =
                size < self.size && validate(&case).is_ok() && self.known.get(&key(&case)) == Some(&Check::Passes);
            passes.then_some((self.distance(&case, size), case))
        });
        // Of equals the first.
        passing.min_by_key(|(distance, _)| *distance).map(|(_, case)| case)
    }

    fn distance(&self, case: &Case, size: Size) -> (u8, u64) {
        let same_program = case.program == self.best.program;
        if same_program {
            return if case.data == self.best.data {
                (3, 0)
            } else {
                (2, self.size.data - size.data.min(self.size.data))
            };
        }
        let code = self.size.code.abs_diff(size.code);
        let exprs = self.size.exprs.abs_diff(size.exprs);
        if code == 0 { (0, exprs) } else { (1, code * 64 + exprs) }
    }
}
