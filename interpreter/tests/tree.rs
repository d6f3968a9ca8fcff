//! The programs that show the planted faults of the tree oracle.

#[path = "../../oracle/tests/common/mod.rs"]
mod common;
#[path = "../../oracle/tests/planted/mod.rs"]
pub mod planted;
