//! Bytes → case → GLSL → SPIR-V → prediction, and tangle's own invariants. Needs no device.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tangle::fuzzing::predict(bytes));
