//! See `gatehouse_wire::fuzz::manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gatehouse_wire::fuzz::manifest(input));
