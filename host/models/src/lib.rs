//! The only crate that calls models. Providers are in `embed/` and `llm/`, one file each.
//!
//! It knows no database, no gate and no sandbox. What needs no model, token counts and the local embedder, comes in as
//! ports.

pub mod config;
mod embed;
mod hints;
mod llm;
mod models;
mod no_model;
mod provider;

pub use config::ModelsConfig;
pub use models::{ConfiguredModels, LocalModels, MissingModels};
