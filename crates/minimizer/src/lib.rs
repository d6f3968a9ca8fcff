//! Makes a failing case small.
//!
//! In: a case, and somebody who says of any case whether it *fails the same way* (the judge: it runs the case on the device and asks
//! the oracle). Out: the smallest case found that still fails, and the nearest one that passes. Meaning may change at every step; the
//! kind of failure may not.
//!
//! ```text
//!            ┌───────────── a candidate failed: it is the case now ◄───────────┐
//!            ▼                                                                 │
//!   case ─► pass: candidates, largest reduction first ─► smaller? new? valid? ─┴► check, in batches
//!            │ no candidate of the pass fails                                          (the judge)
//!            ▼
//!          next pass … until no pass makes progress: the case is 1-minimal for the passes
//! ```
//!
//! - [`TABLE`] lists the passes; each is a function from a case to candidates ([`passes`]).
//! - [`Size`] orders cases. A candidate is tried only if it is smaller, so the minimizer ends.
//! - The result depends on the answers alone, not on how many candidates are given at a time: of a batch, the first that fails
//!   counts, and what was asked of those behind it is forgotten.
//! - Whoever calls may stop it at any time and has the best case so far. To go on later, start with that case.

pub mod access;
mod engine;
mod hide;
pub mod passes;
pub mod size;

use std::ops::ControlFlow;
use std::time::Duration;

use tangle_program::case::Case;
use tangle_program::tree::SiteId;

pub use hide::{hide_constants, uniforms_in_variables};
pub use passes::{Pass, TABLE};
pub use size::{Size, statements};

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
    /// Its size.
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

/// What came of it.
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

/// Minimises a case that fails.
///
/// `check` judges candidates, all of them valid. It gives one answer for each, in order; it may leave out those behind the first
/// [`Check::Fails`]. Other answers that are missing mean that it cannot go on, and end the search. `progress` is called after every
/// batch, and may end the search, too.
pub fn minimize(
    case: &Case,
    options: &MinimizeOptions,
    check: impl FnMut(&[Case]) -> Vec<Check>,
    progress: impl FnMut(&Progress<'_>) -> ControlFlow<()>,
) -> Minimized {
    engine::Engine::new(case, options, check, progress).run()
}
