//! Findings saved and reported: folders on disk, the story of the first wrong step, pages, bundles, baselines.
//!
//! In: a case, what the toolchain made of it, what a device did, the judgement and its signature. Out: a [`Finding`] on disk that needs
//! nothing else to be understood, and everything that people and CI read of it.
//!
//! For CI: [`baseline`] reads what is expected of cases. For people: [`tell`] takes the first wrong step apart. From this
//! [`mod@explain`] makes a text for the terminal, [`export`] a bundle that reproduces without tangle, [`html`] pages.
//!
//! ```text
//!                              story ──► report.txt ──► findings/<device>/<kind>-<hash>/
//!                                                                      │
//!                  terminal ◄── explain ◄─┐                          saved
//!         README.md, repro.c ◄── export ◄─┼─ tell, rule ◄─ Account ◄───┘
//!                      pages ◄── html ◄───┘
//! ```

pub mod baseline;
pub mod difference;
pub mod explain;
pub mod export;
pub mod finding;
pub mod html;
pub mod junit;
pub mod replay;
pub mod reporter;
pub mod saved;
pub mod story;
pub mod tell;
pub mod text;

pub use finding::{Finding, SaveError};
pub use reporter::{ReportError, Reporter};
pub use saved::SavedFinding;

/// The worked example of CONTRIBUTING.md compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
