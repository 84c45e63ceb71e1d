//! What a preset may set.

use gatehouse_sdk::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// How tools are chosen for a task. Documented for readers of the source only: a schema would tell each value apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchMode {
    // By what they do.
    Semantic,
    // By that, and by how their calls went.
    Hybrid,
    // By a language model.
    Llm,
}

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Have tools that change servers and forget metrics, for all presets. They need the grant servers-admin as well.
    pub admin: bool,
    /// Ask clients to load search_tools and call_tool at once, though they search tools themselves.
    pub always_load: bool,
    /// How recommend_tools chooses, unless a call says otherwise.
    pub(crate) search_mode: SearchMode,
    /// Have recommend_tools say how often calls succeeded.
    pub include_metrics: bool,
    /// Have the tool request: any tool by intent, effect and parameters, for agents that want one uniform tool. Tools of gates
    /// need the grant catalog as well.
    pub request: bool,
    /// How many other tools a failed call suggests; more than 10 count as 10.
    pub max_fallbacks: Count,
    /// Have call_tool call the best of those other tools with the same arguments after a failure. None has a stronger effect.
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
    /// How many other tools a failed call suggests.
    pub(crate) fn suggestions(&self) -> u32 {
        self.max_fallbacks.at_most(10)
    }
}

/// The hint that has clients load a tool at once.
pub(crate) fn always_load(params: &Params) -> Option<serde_json::Value> {
    params.always_load.then(|| serde_json::json!({"anthropic/alwaysLoad": true}))
}
