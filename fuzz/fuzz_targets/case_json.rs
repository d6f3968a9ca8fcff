//! Bytes → the case loader.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use tangle_campaign::fuzzing::{case_json, mutation};
use tangle_fuzz::RAW;

fuzz_target!(|bytes: &[u8]| case_json(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate_json(data, size, max_size, seed, RAW)
});
