//! The test-case language of tangle: what a case is, and how it reads as JSON.
//!
//! Every other crate speaks in these types. This one knows nothing of validity, languages of shaders, randomness, devices or
//! expectations: it is the data and pure functions of it.
//!
//! A case is a program with its data, its launch and its convergence tier:
//!
//! - [`tree`]: the program: functions, statements, expressions.
//! - [`types`]: bool, integers, floats and their vectors; [`float`]: the numbers of the floating-point types;
//!   [`float_controls`]: what a module asks of them; [`rounding`]: what is rounded as it asks.
//! - [`control`]: what is asked of the compiler for a branch or a loop.
//! - [`ops`]: operators and built-in functions on a lane's own values, and what they compute.
//! - [`memory`]: shared arrays, atomics, barriers; [`resource`]: arrays of descriptors.
//! - [`subgroup`]: the table of subgroup operations; one row says everything about one operation, its meaning included.
//! - [`entry_point`]: the stage, what starts it, and how an invocation is identified.
//! - [`case`]: all of it together, and the interface between a printed shader and who runs it; [`json`]: its text.
//! - [`api`]: the interfaces that it runs through.
//! - [`map_buffer`]: how a shader stores its lane map.
//! - [`needs`]: what a device must offer to run it.
//! - [`variant`]: ways from the shader to what the driver compiles.
//! - [`text`]: names and sentences as people read them.

pub mod api;
pub mod case;
pub mod control;
pub mod entry_point;
pub mod float;
pub mod float_controls;
mod format_1;
pub mod interface;
pub mod json;
pub mod map_buffer;
pub mod memory;
pub mod needs;
pub mod ops;
pub mod resource;
pub mod rounding;
pub mod rule;
pub mod subgroup;
pub mod text;
pub mod tree;
pub mod types;
pub mod variant;
