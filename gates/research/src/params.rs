//! What a preset may set.

use gatehouse_sdk::{Count, models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How hard the model tries. `light`: a few pages, seconds. `deep`: many pages, minutes.
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

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// How hard the model tries unless the call says otherwise: light or deep.
    pub default_depth: Depth,
    /// Ideas or implementations that a call returns unless it says otherwise; more than 20 count as 20.
    pub default_top_k: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self { default_depth: Depth::Deep, default_top_k: Count::new(5) }
    }
}
