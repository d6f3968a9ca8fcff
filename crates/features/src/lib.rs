//! The Vulkan features that a case can need, one row for each ([`TABLE`]): what in a case asks for it, how a Vulkan device says that it has
//! it and how it is enabled, how OpenGL says it, which parts of a SPIR-V module need it, what is left out without it, and how the exported programs ask for it.
//!
//! Everything that deals with features reads the table: [`needs`] (what a case needs), [`left_out`] (what a campaign leaves out on a device),
//! the worker of a Vulkan device (queries and enables what the rows say), its check of modules, and the exports. A new feature is a row here,
//! and the code that uses it.

mod left_out;
mod needs;
mod row;
mod set;
mod stage;
mod table;

pub use left_out::{LeftOut, left_out};
pub use needs::{
    Needs, for_category, for_float_control, for_resource, for_scalar, for_stage, for_tier, mode_of_tier, needs,
    of_stages_only,
};
pub use row::{Ask, Member, OpenGl, Origin, Spirv, Vulkan};
pub use set::{FeatureSet, UnknownFeature};
pub use stage::StageFlags;
pub use table::{Feature, FeatureRow, TABLE};
pub use tangle_program::api::Api;
