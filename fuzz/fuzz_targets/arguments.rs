//! See `gatehouse_core::fuzz::arguments`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gatehouse_core::fuzz::arguments(input));
