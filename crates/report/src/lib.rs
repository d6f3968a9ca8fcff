//! Findings saved and reported: folders on disk, the story of the first wrong step, pages, bundles, baselines.
//!
//! In: a case, what the toolchain made of it, what a device did, the judgement and its signature. Out: a [`Finding`] on disk that needs
//! nothing else to be understood, and everything that people and CI read of it.
//!
//! Reports are made from models: [`Analysis`] (a finding taken apart), [`campaign::Campaign`], [`replay::Replay`], [`matrix::Matrix`],
//! [`module::ModuleReport`] (somebody else's shader) and the coverage of devices. Each format is a [`Reporter`] of them. [`export`] makes a bundle that reproduces without tangle; [`baseline`] reads what is expected of cases.
//!
//! ```text
//!   story ──► report.txt ──► findings/<device>/<kind>-<hash>/
//!                                      │
//!                                    saved ──► Subject ──► Analysis (account, wrong_step, rules)
//!                                                              │
//!                     README.md, repro.c, … ◄── export ◄───────┤
//!          text, Markdown, HTML, JUnit, JSON ◄── reporter ◄────┴── Campaign (statistics), Replay, Matrix
//! ```

pub mod baseline;
pub mod campaign;
pub mod difference;
pub mod export;
pub mod finding;
pub mod html;
pub mod matrix;
pub mod module;
pub mod replay;
pub mod reporter;
pub mod saved;
pub mod statistics;
pub mod story;
pub mod subject;
pub mod text;
pub mod wrong_step;

pub use finding::{Finding, SaveError};
pub use reporter::{ReportError, Reporter};
pub use saved::SavedFinding;
pub use subject::{Analysis, Subject};

/// The worked example of CONTRIBUTING.md compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
