//! What can be known of a case without running it; first of all whether it is valid.
//!
//! Pure functions of a [`Case`](tangle_program::case::Case); nothing here knows of randomness, devices or expectations.
//!
//! ```text
//!    Case ──validate──► Ok, or what is wrong and where
//!             rests on  bounds     ranges of values, cost of a run
//!                       exact      what floats may be
//!                       undefined  values that may be poison
//!                       uniform    operands that must be equal over a tangle
//!                       races      barriers, and who may touch shared memory between them
//!                       leaving    loops that all lanes leave by themselves
//!                       names      identifiers that the languages of shaders leave free
//! ```
//!
//! - [`divergence`]: where control flow may part the lanes of a subgroup.
//! - [`idiom`]: shapes of expressions that compilers recognise.
//! - [`context`]: where the operations of a program stand, for statistics.
//!
//! What is valid is decided here once, so that nobody else has to be careful: a generator that makes an invalid case, or a
//! minimizer that tries one, learns it from [`validate::validate`]; the emitters, the oracle and the executors are only given
//! valid ones.

pub mod bounds;
pub mod context;
pub mod cost;
pub mod divergence;
pub mod exact;
mod extent;
pub mod idiom;
pub mod info;
mod interval;
mod known_bits;
pub mod leaving;
pub mod names;
mod pass;
pub mod races;
pub mod undefined;
pub mod uniform;
pub mod validate;
