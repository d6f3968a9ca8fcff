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
mod overflow;
pub mod passes;
pub mod size;

use std::ops::ControlFlow;

use tangle_program::case::Case;

pub use engine::{Check, MinimizeOptions, Minimized, Progress};
pub use hide::{hide_constants, uniforms_in_variables};
pub use overflow::Small;
pub use passes::{Pass, TABLE};
pub use size::{Size, expressions, statements};

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
