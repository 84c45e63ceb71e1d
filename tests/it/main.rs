//! The promises of Gatehouse, one file a behaviour, tested on the built binary.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod support;

mod arguments;
mod backup;
mod clients;
mod command_line;
mod configuration;
mod documentation;
mod folders;
mod http;
mod knowledge;
mod languages;
mod liars;
mod nesting;
mod outbound;
mod protocol;
mod registry;
mod reload;
mod research;
mod reuse;
mod storage;
mod tidy;
mod tools;
mod vices;
