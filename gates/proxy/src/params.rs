//! Preset parameters.

use gatehouse_sdk::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// No doc comments: the schema would describe each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchMode {
    Semantic,
    Hybrid,
    Llm,
}

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Enable tools that change servers and delete metrics, for all presets. They also need the grant servers-admin.
    pub admin: bool,
    /// Ask clients to load search_tools and call_tool immediately, even if they search tools themselves.
    pub always_load: bool,
    /// Default selection mode of recommend_tools.
    pub(crate) search_mode: SearchMode,
    /// Show success rates in recommend_tools.
    pub include_metrics: bool,
    /// Enable the tool request: any tool by intent, effect and parameters, for agents that want one uniform tool. Tools
    /// of gates also need the grant catalog.
    pub request: bool,
    /// Number of other tools that a failed call suggests, at most 10.
    pub max_fallbacks: Count,
    /// After a failure, call_tool calls the best of those tools with the same arguments. None has a stronger effect.
    pub auto_retry_fallback: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            admin: false,
            always_load: true,
            search_mode: SearchMode::Hybrid,
            include_metrics: true,
            request: false,
            max_fallbacks: Count::new(3),
            auto_retry_fallback: false,
        }
    }
}

impl Params {
    pub(crate) fn suggestions(&self) -> u32 {
        self.max_fallbacks.at_most(10)
    }
}

/// Metadata that makes clients load a tool immediately.
pub(crate) fn always_load(params: &Params) -> Option<serde_json::Value> {
    params.always_load.then(|| serde_json::json!({"anthropic/alwaysLoad": true}))
}
