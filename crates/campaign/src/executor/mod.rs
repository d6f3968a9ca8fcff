//! What runs cases: one trait for every kind of device.
//!
//! An [`Executor`] describes itself and has [`Worker`]s, which take [`Task`]s and give [`Outcome`]s: plain data, whatever ran. Nothing
//! outside this module distinguishes kinds. A new kind is a module here that implements the two traits, and a row of [`BUILT_IN`] if
//! it is asked for by a word of its own; the devices of Vulkan and OpenGL drivers, and of WebGPU on these, are those that an inventory finds.

pub mod compiler;
pub mod driver;
pub mod interpreter;
pub mod reference;
mod traits;

use crossbeam_channel::bounded;
use tangle_runner::{Outcome, Terms};

use crate::prepare::Prepared;
pub use traits::{BuiltIn, Description, Economy, Executor, INPUTS, Runs, Task, Worker, subgroup_size};

/// Every kind that is part of tangle.
pub const BUILT_IN: [BuiltIn; 6] =
    [reference::BUILT_IN, interpreter::BUILT_IN, compiler::HLSL, compiler::SLANG, compiler::WGSL, compiler::GLSL];

/// The kind that a device's name begins with, if it is part of tangle.
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|kind| name.split([':', '@']).next() == Some(kind.word))
}

/// Has a worker run one case and waits for it. A failure that may have been nothing ([`Outcome::suspicion`]) has to occur again.
pub fn run(worker: &dyn Worker, prepared: &Prepared) -> Outcome {
    let outcome = run_once(worker, prepared, Terms::Usual);
    match outcome.suspicion().filter(|suspicion| suspicion.is_cleared_by_success()) {
        Some(suspicion) => run_once(worker, prepared, Terms::Again(suspicion)),
        None => outcome,
    }
}

pub(crate) fn run_once(worker: &dyn Worker, prepared: &Prepared, terms: Terms) -> Outcome {
    let (sender, receiver) = bounded(1);
    worker.submit(&Task { id: 0, prepared, cases: &[&prepared.case], terms }, &sender);
    drop(sender);
    let lost = |_| Outcome::WorkerLost { reason: "its supervisor ended".into() };
    receiver.recv().map_or_else(lost, |completion| completion.outcome)
}
