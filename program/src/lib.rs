//! The test-case language of tangle.
pub mod case;
pub mod ops;
pub mod subgroup;
pub mod tree;
pub mod types;
