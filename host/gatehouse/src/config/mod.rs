//! Configuration: what was typed ([`raw`]) becomes what cannot be wrong ([`checked`]).

pub(crate) mod checked;
pub(crate) mod component;
pub(crate) mod docker;
pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod error;
mod folders;
mod http;
mod knowledge;
mod limits;
pub(crate) mod locate;
mod models;
pub(crate) mod raw;
pub(crate) mod schema;
pub(crate) mod trust;

pub(crate) use checked::{Config, GateConfig};
pub(crate) use env::Env;
pub(crate) use error::{ConfigError, Text};
pub(crate) use knowledge::KnowledgeConfig;
pub(crate) use raw::KnowledgeEngine;

/// Whether a gate may be called so: a file's stem, and a part of paths.
pub(crate) fn is_gate_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
}
