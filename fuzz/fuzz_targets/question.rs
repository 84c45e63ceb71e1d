//! See `gatehouse_stores::fuzz::question`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gatehouse_stores::fuzz::question(input));
