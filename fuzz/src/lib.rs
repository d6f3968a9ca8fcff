//! What the fuzz targets share: libFuzzer's side of [`tangle_campaign::fuzzing`].

use std::sync::atomic::AtomicU8;

use libfuzzer_sys::{Corpus, fuzzer_mutate};
use tangle_campaign::fuzzing::feedback::{COUNTERS, count_into};
use tangle_campaign::fuzzing::mutation::{RawMutation, Ways};
use tangle_campaign::fuzzing::{case_for_devices, input, runs_somewhere};

// SAFETY: libFuzzer reads this section, and nothing else, as counters of one byte each, which is what stands in it.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static EXTRA: [AtomicU8; COUNTERS] = [const { AtomicU8::new(0) }; COUNTERS];

/// libFuzzer's own mutation of bytes, `LLVMFuzzerMutate`.
pub const RAW: RawMutation = fuzzer_mutate;

/// Gives libFuzzer the extra counters. `TANGLE_FUZZ_WITHOUT=feedback` does not, for comparison.
pub fn init() {
    if !is_without("feedback") {
        count_into(&EXTRA);
    }
}

/// True if the user does without a part, to see what it brings.
fn is_without(part: &str) -> bool {
    std::env::var("TANGLE_FUZZ_WITHOUT").is_ok_and(|parts| parts.split(',').any(|without| without == part))
}

/// The answer to libFuzzer.
pub fn corpus(worth_keeping: bool) -> Corpus {
    if worth_keeping { Corpus::Keep } else { Corpus::Reject }
}

/// Cases for the reference device: everything goes.
pub fn ways() -> Ways<'static> {
    Ways { generate: &input::from_bytes, keep: &|_| true, mutate: !is_without("mutation") }
}

/// Cases for the devices that are open.
pub fn ways_of_devices() -> Ways<'static> {
    Ways { generate: &case_for_devices, keep: &runs_somewhere, ..ways() }
}
