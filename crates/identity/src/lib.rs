//! What a finding is: which findings show one bug, which bug that is, and which stage and rule it is about.
//!
//! In: a case, what a device did, and the judgement. Out: a [`Signature`] under which findings of one kind are counted together, the
//! [`skeleton`](mod@skeleton) that minimal programs of one bug share, the [`change`] without which it passes, the bug in a list of [`known`] ones, the [`stage`] to blame.
//!
//! An [`Account`] says what every lane had to do and did, step by step, and [`flow`] who has to be where between the steps; [`rule`]
//! names the rule that the first wrong step breaks.
//!
//! ```text
//!   Judgement, crash, time-out ──► signature ──┐
//!                 minimal case ──► skeleton ───┴─► known
//!   all variants on all devices ─► stage;  a driver's switches ─► switches;  two bugs of a book ─► duplicates
//!   case, lane map, observation ─► account, flow ─► rule
//! ```

pub mod account;
pub mod book;
pub mod bug;
pub mod change;
pub mod driver;
pub mod duplicates;
mod entry;
pub mod failure;
pub mod flow;
pub mod known;
pub mod normal_form;
pub mod pattern;
pub mod place;
pub mod quotation;
pub mod rule;
pub mod signature;
pub mod skeleton;
pub mod stage;
pub mod status;
pub mod switches;
pub mod trace;

pub use account::Account;
pub use bug::BugId;
pub use change::Change;
pub use driver::DriverId;
pub use known::{DeviceId, Known};
pub use place::CrashPlace;
pub use signature::{Detail, Kind, Signature};
pub use skeleton::{Skeleton, operators, skeleton};
pub use status::Status;
