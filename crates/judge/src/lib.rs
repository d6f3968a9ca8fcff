//! Judges a shader that tangle did not make: what its buffers must hold, what is open and why, and where its behaviour is undefined.
//!
//! In: a file (SPIR-V, its assembly, a compute, task or mesh shader in GLSL, or AmberScript) and what it is to be run with. Out: the interpreter's
//! outcome, for people and as JSON. Nothing here says what an instruction means: that is `tangle-interpreter`'s.
//!
//! ```text
//!   file ─► source ─┬─ a module ─► run ──► Judged: outcome of one dispatch      compare: two of them
//!                   │                                                            made: one, and what a command makes of it
//!                   └─ amber ────► script ─► what became of every EXPECT
//! ```

pub mod amber;
mod bound;
pub mod compare;
pub mod contents;
pub mod data;
pub mod device;
pub mod edit;
pub mod finding;
pub mod made;
pub mod reduce;
pub mod run;
pub mod script;
pub mod source;
mod steps;
