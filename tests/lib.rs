//! Tests that cross a crate boundary stand in `it/`, one file a behaviour; gates that misbehave on
//! purpose in `fixtures/gates/`, the floor that the bench compares with in `floor/`.
