//! Tests across crates are in `it/`, one file per behavior. `fixtures/gates/` has gates that misbehave on purpose, and
//! `floor/` the server that the benchmarks compare with.
