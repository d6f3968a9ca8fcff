//! The engine behind the `tangle` command: cases run on devices, judged and saved; campaigns, minimisation, replay.
//!
//! ```text
//!   plan ── which case comes when ──┐
//!   prepare ── case → job ──────────┼─► campaign ─► statistics (what was run, compared, found)
//!   target ── a device, judged ─────┘       └─────► findings on disk (tangle-report)
//!   executor ── what runs the cases of a device: Vulkan, the reference device
//!   capabilities ── what a device can run;  skips ── what a campaign leaves out on it, and why
//!   finding ── a conclusion as a finding, and in words
//!   isa ── what a driver's compiler made of a finding
//!   coverage ── what the cases of a campaign would cover, on the reference device
//!   everywhere ── cases on all devices in one go;  matrix ── devices against known bugs
//!   against ── a device whose failures are expected;  shard ── a part of the sequence
//!   reduce ── a failing case made small (tangle-minimizer)
//!   background ── findings made small while a campaign goes on;  minimized ── what that leaves on disk
//!   health ── whether a GPU still comes to the end of an empty program
//!   variants ── a case as every variant on every device: which stage is to blame
//!   proof ── the modules of a case executed: which step changed what it means
//!   blame ── what makes a failing case pass: switches of the driver, passes
//!   clearest ── at which tier a violation is beyond doubt
//!   retest ── the bugs of a book on the devices at hand
//!   bench ── what a case costs, and how fast a campaign is;  planted ── how many planted faults the cases show for a driver's time
//!   bisect ── which commit of a driver it was
//!   blackbox ── cases for others to run;  fuzzing ── what the cargo fuzz targets do
//!   corpus ── new cases for a regression corpus
//!   replay ── a folder of cases against what is expected of them
//! ```

pub mod against;
pub mod background;
pub mod bench;
pub mod bisect;
pub mod blackbox;
pub mod blame;
pub mod campaign;
pub mod capabilities;
pub mod clearest;
pub mod corpus;
pub mod counterfactual;
pub mod coverage;
mod crash_mark;
pub mod everywhere;
pub mod executor;
pub mod failure;
pub mod finding;
pub mod fuzzing;
mod health;
pub mod isa;
pub mod matrix;
pub mod minimized;
mod panics;
pub mod plan;
pub mod planted;
pub mod prepare;
pub mod proof;
pub mod reduce;
pub mod replay;
pub mod retest;
pub mod shard;
pub mod skips;
mod stack;
pub mod target;
pub mod variants;
