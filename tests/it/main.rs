//! The promises of Gatehouse, one file a behaviour, tested on the built binary.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod support;

mod arguments;
mod asking;
mod backup;
mod cache;
mod client_matrix;
mod clients;
mod command_line;
mod configuration;
mod documentation;
mod documents;
mod filters;
mod folders;
mod graph;
mod http;
mod instructions;
mod knowledge;
mod languages;
mod leaving;
mod ledger;
mod liars;
mod logins;
mod malformed;
mod map;
mod nesting;
mod outbound;
mod packages;
mod private;
mod protocol;
mod proxy;
mod reference_servers;
mod registry;
mod reload;
mod research;
mod resources;
mod restarted;
mod results;
mod reuse;
mod schemas;
mod servers;
mod servers_behind;
mod servers_config;
mod servers_offers;
mod sessions;
mod storage;
mod structured;
mod summaries;
mod tidy;
mod tools;
mod tools_of_servers;
mod upgrading;
mod vices;
mod watching;
