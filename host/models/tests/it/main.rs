//! Tests every provider against a local server that responds in its format.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod composed;
mod embeddings;
mod faults;
mod limits;
mod plain;
mod real;
mod requests;
mod search;
mod support;
