//! What becomes of a verdict: a finding with a name, saved as a folder, told in words.
//!
//! In: a case, what the toolchain made of it, what a device did, and the judgement. Out: a [`Signature`] under which findings of one
//! kind are counted together, a [`Finding`] on disk that needs nothing else to be understood, and the story of the first wrong
//! step.
//!
//! For CI and campaigns: [`baseline`] reads what is expected of cases, [`known`] recognises bugs that are known, by signature or by the
//! [`skeleton`](mod@skeleton) of the minimal program.
//!
//! [`stage`] tells from runs of all variants on all devices which stage is to blame.
//!
//! For people: an [`Account`] says what every lane had to do and did, step by step; [`tell`] takes the first wrong step apart, [`rule`]
//! names the rule that it breaks. From these [`mod@explain`] makes a text for the terminal, [`export`] a bundle that reproduces without
//! tangle, [`html`] pages.
//!
//! ```text
//!   Judgement, crash, time-out ──► signature ──► count, or save
//!                                                   │
//!                              story ──► report.txt ┴─► findings/<device>/<kind>-<hash>/
//!                                                                      │
//!                  terminal ◄── explain ◄─┐                          saved
//!         README.md, repro.c ◄── export ◄─┼─ tell, rule ◄─ Account ◄───┘
//!                      pages ◄── html ◄───┘
//! ```

pub mod account;
pub mod baseline;
pub mod difference;
pub mod explain;
pub mod export;
pub mod finding;
pub mod flow;
pub mod html;
pub mod known;
pub mod rule;
pub mod saved;
pub mod signature;
pub mod skeleton;
pub mod stage;
pub mod story;
pub mod tell;

pub use account::Account;
pub use finding::{Finding, SaveError};
pub use known::{DeviceId, Known};
pub use saved::SavedFinding;
pub use signature::{Kind, Signature};
pub use skeleton::skeleton;
