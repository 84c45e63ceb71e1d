//! The promises of Gatehouse, one file a behaviour, tested on the built binary.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod support;

mod arguments;
mod clients;
mod command_line;
mod configuration;
mod documentation;
mod http;
mod knowledge;
mod languages;
mod outbound;
mod protocol;
mod tidy;
mod tools;
mod vices;
