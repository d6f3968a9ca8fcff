//! Bytes → case → every Vulkan device → verdict.
#![no_main]

libfuzzer_sys::fuzz_target!(init: tangle::fuzzing::init(), |bytes: &[u8]| tangle::fuzzing::judge_on_devices(bytes));
