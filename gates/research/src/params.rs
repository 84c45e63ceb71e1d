//! Preset parameters.

use gatehouse_sdk::{Count, models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Research effort. `light`: a few pages, seconds. `deep`: many pages, minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "a variant with a description is a schema of its own, without a type")]
pub enum Depth {
    Light,
    Deep,
}

impl From<Depth> for models::Depth {
    fn from(depth: Depth) -> Self {
        match depth {
            Depth::Light => Self::Light,
            Depth::Deep => Self::Deep,
        }
    }
}

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Default effort of a call: light or deep.
    pub default_depth: Depth,
    /// Default number of ideas or implementations per call, at most 20.
    pub default_top_k: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self { default_depth: Depth::Deep, default_top_k: Count::new(5) }
    }
}
