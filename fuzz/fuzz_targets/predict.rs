//! Case → GLSL → SPIR-V → prediction, and tangle's own invariants. Needs no device.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use tangle_campaign::fuzzing::{mutation, predict};
use tangle_fuzz::{RAW, corpus, init, ways};

fuzz_target!(init: init(), |input: &[u8]| -> Corpus { corpus(predict(input)) });

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate(data, size, max_size, seed, RAW, &ways())
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    mutation::cross(one, other, out, seed, &ways())
});
