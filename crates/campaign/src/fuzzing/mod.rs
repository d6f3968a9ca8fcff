//! What the `cargo fuzz` targets do with their inputs; the targets themselves only call this.
//!
//! ```text
//!     ┌───── mutation: libFuzzer's mutator and crossover ◄─────┐
//!     ▼                                                        │
//!   input ──input──► case ──► predict            tangle's own invariants, no device ──┐
//!                     └─────► judge_on_devices   every device, judged ────────────────┴─► feedback: extra counters
//!
//!   bytes ─────► case_json     the loader alone
//!   bytes ─────► module        the interpreter, with modules that need not be valid
//! ```
//!
//! A violated invariant, or a finding that is not known yet, ends in a panic, as libFuzzer wants it. The message begins with
//! what is the same for all inputs that show the same thing.

mod devices;
pub mod feedback;
pub mod input;
pub mod mutation;

use std::collections::BTreeMap;

use tangle_analysis::validate::validate;
use tangle_emit::glsl;
use tangle_features::needs;
use tangle_interpreter::{self as spirv, Limits, Module, Pipeline, PipelineOptions};
use tangle_oracle::judge::{Judgement, Verdict, judge};
use tangle_oracle::map::{LaneMap, SubgroupPromise};
use tangle_oracle::reference::observe;
use tangle_oracle::rules::{Drawn, MinimalReconvergence, Rules};
use tangle_program::case::Case;
use tangle_program::variant::Variant;

use crate::prepare::prepare;
use feedback::Watched;

pub use devices::{case_for_devices, init, judge_on_devices, runs_somewhere};

/// Subgroup sizes that `predict` tries where the case requires none, as far as its operations allow them.
const SIZES: [u32; 3] = [4, 8, 32];

/// Bytes → the case loader: it never panics, and what it loads is written and loaded again as the same. What the checks and the
/// printer make of it must not panic either.
///
/// # Panics
/// If an invariant of tangle itself does not hold.
pub fn case_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let case = match Case::from_json(text) {
        Ok(case) => case,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty(), "an error without a message");
            return;
        }
    };
    let json = case.to_json();
    assert_eq!(Ok(&case), Case::from_json(&json).as_ref(), "a case changes in JSON");
    match validate(&case) {
        Ok(()) => assert!(!glsl::glsl(&case).is_empty(), "a case without a shader"),
        Err(invalid) => assert!(!invalid.to_string().is_empty(), "an error without a message"),
    }
}

/// Bytes of all buffers that a hostile module gets at most.
const BUFFERS: u64 = 1 << 20;

/// Bytes → words → the interpreter, which has to give an error or an outcome whatever they are. False if nothing was executed.
///
/// # Panics
/// If an invariant of the interpreter does not hold.
pub fn module(bytes: &[u8]) -> bool {
    let words = tangle_files::words::from_bytes(bytes);
    let pipeline = Module::parse(&words).and_then(|module| Pipeline::new(&module, &PipelineOptions::default()));
    let pipeline = match pipeline {
        Ok(pipeline) => pipeline,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error without a message");
            return false;
        }
    };
    let interface = pipeline.interface();
    let mut left = BUFFERS;
    let mut buffers = Vec::new();
    for binding in &interface.bindings {
        for element in 0..binding.count {
            let size = binding.size.saturating_add(binding.element.unwrap_or(0).saturating_mul(64));
            let Some(rest) = left.checked_sub(size.max(1)) else { break };
            left = rest;
            let (set, binding) = (binding.set, binding.binding);
            buffers.push(spirv::Buffer {
                set,
                binding,
                element,
                bytes: vec![0; size as usize],
                ..spirv::Buffer::default()
            });
        }
    }
    let draw = spirv::Draw::of(interface, [5, 3], &BTreeMap::new());
    let invocations = match interface.is_of_draw() {
        true => draw.len() as u32,
        false => interface.workgroup_size.iter().fold(1u32, |n, side| n.saturating_mul(*side)),
    };
    let dispatch = spirv::Dispatch {
        workgroups: if interface.is_of_draw() { [1; 3] } else { [2, 1, 1] },
        draw,
        lane_map: spirv::LaneMap::linear(invocations.min(1 << 14), 32),
        buffers,
        push: vec![0; interface.push_size.min(BUFFERS) as usize],
        limits: Limits { steps: 20_000, memory: 64 << 20 },
    };
    let Ok(outcome) = pipeline.run(&dispatch) else { return false };
    for state in outcome.buffers.iter().flat_map(|buffer| &buffer.states) {
        assert!(*state as usize <= outcome.reasons.len(), "a state without a reason");
    }
    true
}

/// Case → validate → JSON → print → compile, without the optimiser → predict at several subgroup sizes, and the reference device passes. No driver. False if
/// the case is not worth keeping: it is not valid, or nothing is compared.
///
/// # Panics
/// If an invariant of tangle itself does not hold.
pub fn predict(input: &[u8]) -> bool {
    let Some(case) = input::case(input) else { return false };
    assert_eq!(Some(&case), input::case(input).as_ref(), "the generator is not deterministic");
    if let Err(invalid) = validate(&case) {
        panic!("the generator made an invalid case: {invalid}");
    }
    let read = Case::from_json(&case.to_json()).unwrap_or_else(|error| panic!("a case does not read back: {error}"));
    assert_eq!(case, read, "a case changes in JSON");
    // The optimiser is a program of its own, which cannot be started here; it changes nothing of what is checked.
    let case = Case { variant: Variant::Unoptimised, ..case };
    let prepared = prepare(case).unwrap_or_else(|fault| panic!("toolchain: {fault}\n{}", fault.shader));
    let case = &prepared.case;
    let sizes = case.entry_point.subgroup_size.required().map_or_else(|| SIZES.to_vec(), |size| vec![size]);
    let least = needs(case).min_subgroup_size;
    let mut compared = false;
    for size in sizes.into_iter().filter(|size| *size >= least) {
        compared |= passes(case, size, Watched::default);
        compared |= passes(case, size, || MinimalReconvergence);
        compared |= passes(case, size, || Drawn::new(size.into()));
    }
    compared
}

/// True if a device with these rules passes and something was compared.
fn passes<R: Rules>(case: &Case, size: u32, rules: impl FnMut() -> R) -> bool {
    let map = LaneMap::linear(case, size);
    let observation = match observe(case, &map, rules) {
        Ok(observation) => observation,
        Err(error) => panic!("the reference device cannot run a valid case: {error}"),
    };
    let Judgement { verdict, map_faults, .. } =
        judge(case, &observation, SubgroupPromise::vulkan(size, size.min(4), 128));
    let fine = matches!(verdict, Verdict::Pass | Verdict::Vacuous) && map_faults.is_empty();
    assert!(fine, "a correct device does not pass: {verdict:?} {map_faults:?}");
    verdict == Verdict::Pass
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_the_mutator_makes_is_executed() {
        let raw: mutation::RawMutation = |_, size, _| size;
        let mut data = vec![0; 1 << 18];
        let size = mutation::mutate_module(&mut data, 0, 1 << 18, 1, raw);
        assert!(module(&data[..size]));
        // Cut off anywhere it is an error, or executed.
        for size in (0..size).step_by(4) {
            module(&data[..size]);
        }
    }

    /// Under cargo fuzz, and here, this program cannot be started again as an optimiser.
    #[test]
    fn a_case_with_another_variant_is_predicted_without_the_optimiser() {
        let mut case =
            Case::from_json(include_str!("../../../../corpus/vectors/V01.json")).expect("a case of the corpus");
        case.variant = Variant::Size;
        assert!(predict(case.to_json().as_bytes()));
    }
}
