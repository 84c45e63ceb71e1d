//! Every provider against a server on this machine that answers in the provider's shapes.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod composed;
mod embeddings;
mod faults;
mod limits;
mod plain;
mod real;
mod requests;
mod search;
mod support;
