//! Configuration: what was typed ([`raw`]) becomes what cannot be wrong ([`checked`]).

pub(crate) mod checked;
pub(crate) mod env;
pub(crate) mod error;
mod http;
pub(crate) mod locate;
pub(crate) mod raw;
pub(crate) mod schema;

pub(crate) use checked::{Config, GateConfig};
pub(crate) use env::Env;
pub(crate) use error::ConfigError;
