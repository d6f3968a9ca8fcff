//! Ties the rooms together: cases run on devices, judged, saved; campaigns; the `tangle` command's subcommands stand on this.
//!
//! ```text
//!   plan ── which case comes when ──┐
//!   prepare ── case → job ──────────┼─► campaign ─► ledger (what was run, compared, found)
//!   target ── a device, judged ─────┘       └─────► findings on disk (tangle-triage)
//!   capabilities ── what a device can run
//!   reduce ── a failing case made small (tangle-minimizer)
//!   replay ── a folder of cases against what is expected of them
//! ```

pub mod campaign;
pub mod capabilities;
pub mod fuzzing;
pub mod ledger;
pub mod plan;
pub mod prepare;
pub mod reduce;
pub mod replay;
pub mod target;
