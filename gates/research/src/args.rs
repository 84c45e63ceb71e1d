//! Tool arguments and their defaults.

use gatehouse_sdk::{Call, Count};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Depth, Params};

pub(crate) const MAX_TOP_K: u32 = 20;

/// Arguments of the tools that return a list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArgs {
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
