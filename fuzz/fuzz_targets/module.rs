//! Bytes → the SPIR-V interpreter. Needs no device.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use tangle_campaign::fuzzing::{module, mutation};
use tangle_fuzz::{RAW, corpus};

fuzz_target!(|bytes: &[u8]| -> Corpus { corpus(module(bytes)) });

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate_module(data, size, max_size, seed, RAW)
});
