//! The table of subgroup operations: one row describes one operation completely.
//!
//! Generator, printer, validator, analyses, oracle, minimizer, reports, coverage table and documentation all read [`TABLE`]. A row holds the
//! names, the category (with the extension to enable and the Vulkan feature to ask for), the operands and the result, the allowed types, which
//! lanes it waits for, where its result is defined, how taint spreads through it, whether all lanes get the same, how well its results stand,
//! the sentence of the specification, and the *meaning*: a function of the scope-restricted tangle `T` (the lanes of one subgroup that execute this
//! dynamic instance, SPIR-V 1.6 §2.2.5) and of each lane's operands.
//!
//! - [`table`]: the rows. A new operation is a row there, a function in `meaning.rs`, and lines in `tests.rs`.
//! - `row.rs`: what a row is made of.
//! - `meaning.rs`: what they compute.
//! - `size.rs`: how many lanes there can be.
//! - `tests.rs`: expectations written by hand.
//!
//! Sources: SPIR-V 1.6 rev 6 §3.3.24 "Non-Uniform Instructions", GL_KHR_shader_subgroup rev 8, SPV_KHR_subgroup_rotate,
//! GL_EXT_shader_quad_control and GL_NV_shader_subgroup_partitioned; docs/rules.md, rules P1 to P16.

mod fold;
mod meaning;
mod row;
mod size;
mod table;
#[cfg(test)]
mod tests;

pub use fold::Fold;
pub use row::{
    Category, Component, Defined, Gives, Instance, Meaning, Param, Reach, Severity, Spread, Ub, Uniform, first_lanes,
    lanes,
};
pub use size::{MAX_SUBGROUP_SIZE, is_subgroup_size, parse_subgroup_size};
pub(crate) use table::serialize_spirv_name;
pub use table::{OpInfo, SubgroupOp, TABLE};
