//! Preset parameters, and the tool arguments that they complete.

use gatehouse_sdk::{Call, Count, models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Research effort. `light`: a few pages, seconds. `deep`: many pages, minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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

pub(crate) const MAX_TOP_K: u32 = 20;

/// Arguments of the tools that return a list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindingListArgs {
    /// Your question, in your own words, with its purpose.
    #[schemars(length(min = 1, max = 8192))]
    pub(crate) query: String,
    /// Items to return, at most 20.
    pub(crate) top_k: Option<Count>,
    /// light: a few pages, seconds. deep: many pages, minutes.
    pub(crate) depth: Option<Depth>,
}

/// Arguments of the study.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyArgs {
    /// The question to study, in your own words.
    #[schemars(length(min = 1, max = 8192))]
    pub(crate) query: String,
    /// light: a few pages, seconds. deep: many pages, minutes.
    pub(crate) depth: Option<Depth>,
}

pub(crate) struct ResearchRequest {
    pub(crate) query: String,
    pub(crate) depth: Depth,
    pub(crate) deadline_ms: u64,
}

impl ResearchRequest {
    pub(crate) fn new(call: &Call<Params>, query: String, depth: Option<Depth>) -> Self {
        Self { query, depth: depth.unwrap_or(call.params.default_depth), deadline_ms: call.deadline_ms }
    }
}
