//! The only crate that calls models. Providers are in `embed/` and `llm/`, one file each.
//!
//! It uses no database, gate or sandbox. Token counts and the local embedder are passed in as ports.

pub mod config;
mod embed;
mod llm;
mod models;
mod no_model;
mod provider;

pub use config::ModelsConfig;
pub use models::{ConfiguredModels, LocalModels, MissingModels};
