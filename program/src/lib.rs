//! The test-case language of tangle: what a case is, when it is valid, and how it reads as JSON and as GLSL.
//!
//! Every other room speaks in these types. This one knows nothing of randomness, devices or expectations: it is all pure functions
//! of a [`Case`](case::Case).
//!
//! ```text
//!    JSON ◄──json──► Case ──validate──► Ok, or what is wrong and where
//!                     │                    rests on bounds    (ranges of values, cost of a run)
//!                     │                             exact     (what floats may be)
//!                     │                             undefined (values that may be poison)
//!                     │                             uniform   (operands that must be equal over a tangle)
//!                     │                             races     (barriers, and who may touch shared memory between them)
//!                     │                             names     (identifiers that GLSL leaves free)
//!                     ├──glsl──► a compute shader, with the line of every statement
//!                     └──needs─► what a device must offer
//! ```
//!
//! A case is a program with its data, its launch and its convergence tier:
//!
//! - [`tree`]: the program: functions, statements, expressions.
//! - [`types`]: bool, integers, floats and their vectors.
//! - [`control`]: what is asked of the compiler for a branch or a loop.
//! - [`ops`]: operators and built-in functions on a lane's own values, and what they compute.
//! - [`memory`]: shared arrays, atomics, barriers.
//! - [`subgroup`]: the table of subgroup operations; one row says everything about one operation, its meaning included.
//! - [`case`]: all of it together, and the interface between a printed shader and who runs it.
//! - [`context`]: where the operations of a program stand, for statistics.
//! - [`variant`]: ways from the shader to what the driver compiles.
//!
//! What is valid is decided here once, so that nobody else has to be careful: a generator that makes an invalid case, or a
//! minimizer that tries one, learns it from [`validate::validate`]; the printer, the oracle and the runner are only given valid
//! ones.

pub mod bounds;
pub mod case;
pub mod context;
pub mod control;
pub mod divergence;
pub mod exact;
pub mod float;
pub mod glsl;
pub mod json;
pub mod memory;
pub mod names;
pub mod needs;
pub mod ops;
pub mod races;
pub mod subgroup;
pub mod tree;
pub mod types;
pub mod undefined;
pub mod uniform;
pub mod validate;
pub mod variant;
