//! The test-case language of tangle.
pub mod bounds;
pub mod case;
pub mod glsl;
pub mod json;
pub mod names;
pub mod needs;
pub mod ops;
pub mod subgroup;
pub mod tree;
pub mod types;
pub mod undefined;
pub mod uniform;
pub mod validate;
