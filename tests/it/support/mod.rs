//! Shared helpers: a host in its own folder, and a client that exchanges lines with it.

pub(crate) mod host;
pub(crate) mod http;
mod installed;
pub(crate) mod live;
pub(crate) mod place;
pub(crate) mod processes;
pub(crate) mod provider;
mod results;
pub(crate) mod server;
pub(crate) mod session;
mod terminal;

pub(crate) use host::Client;
pub(crate) use http::Http;
pub(crate) use installed::installed;
pub(crate) use live::{put, variant};
pub(crate) use place::{Place, Ran, SHIPPED, binary, repository};
pub(crate) use results::{fault_of, structured, text_of};
pub(crate) use terminal::terminal;
