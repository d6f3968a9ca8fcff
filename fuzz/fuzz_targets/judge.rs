//! Case → every device → verdict.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use tangle_campaign::fuzzing::{self, judge_on_devices, mutation};
use tangle_fuzz::{RAW, corpus, init, ways_of_devices};

fuzz_target!(init: { fuzzing::init(); init() }, |input: &[u8]| -> Corpus { corpus(judge_on_devices(input)) });

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate(data, size, max_size, seed, RAW, &ways_of_devices())
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    mutation::cross(one, other, out, seed, &ways_of_devices())
});
