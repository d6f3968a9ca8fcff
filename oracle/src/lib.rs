//! Says what every lane of a case must log, and judges what a device did.
//!
//! In: a case, the lane map that the device showed, and its logs. Out: a verdict with the first wrong step, and counts of what was
//! compared. No randomness, no devices, no files: the same input gives the same answer.
//!
//! ```text
//!   case ─► lower ─► machine ◄── rules (Spec; a fault; a reference device)
//!                      │  ▲
//!            predict ◄─┘  └── observed: where the tier leaves open who is together, what the device logged is followed
//!               │
//!   logs ─► judge ─► verdict, counts          map: is the lane map itself legal?
//! ```
//!
//! - [`predict`] and [`judge`] are what callers use; [`map`] checks lane maps.
//! - [`rules`] holds what a device may do in its own way; [`reference`](mod@reference) runs a case by them, and [`faults`] breaks one at a time, so that
//!   every check is seen to fail.
//! - [`observed`] judges open tangles (docs/rules.md, section O).
//! - [`relation`] finds the few words of an observation that already say that it is wrong there.
//! - [`coverage`] counts operations by type and context.
//!
//! docs/oracle-rules.md says where each rule is, and how to add one.

mod contended;
pub mod coverage;
pub mod faults;
mod fragment;
mod items;
pub mod judge;
mod layout;
mod lower;
mod machine;
pub mod map;
pub mod mask;
mod observation;
pub mod observed;
pub mod predict;
pub mod reference;
pub mod relation;
pub mod rules;
mod value;
