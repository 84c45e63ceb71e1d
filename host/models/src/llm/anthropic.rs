//! Anthropic: `POST /v1/messages`, with web search that the provider runs itself.

mod parser;

use gatehouse_core::ports::llm::{ModelPrompt, ReasoningDepth};
use parser::MessagesParser;
use serde_json::{Value, json};

use super::{LlmApi, LlmRequest, ParseEvents, ReasoningEffort, schema};

/// Default API version. It has no temperature; [`WITH_TEMPERATURE`] is the last version that does.
pub(crate) const VERSION: &str = "2026-10-21";

const WITH_TEMPERATURE: &str = "2023-06-01";

/// Default token limit; the API requires one.
const MAX_TOKENS: u32 = 16_384;

const MAX_SEARCHES: [u32; 2] = [5, 15];

pub(crate) struct AnthropicMessages {
    temperature: bool,
}

impl AnthropicMessages {
    pub(crate) fn from_version(version: &str) -> Self {
        Self { temperature: version == WITH_TEMPERATURE }
    }
}

impl LlmApi for AnthropicMessages {
    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut text = prompt.text.clone();
        let mut output = json!({});
        if takes_effort(model) {
            output["effort"] = json!(ReasoningEffort::from_prompt(prompt).word());
        }
        match &prompt.schema {
            // The API does not combine citations with an output format.
            Some(schema) if prompt.web_search => text.push_str(&schema::in_words(schema)),
            Some(schema) => output["format"] = json!({ "type": "json_schema", "schema": schema }),
            None => {}
        }
        let mut body = json!({
            "model": model,
            "max_tokens": prompt.max_tokens.unwrap_or(MAX_TOKENS),
            "messages": [{ "role": "user", "content": text }],
            "stream": true,
        });
        if let Some(system) = &prompt.system {
            body["system"] = json!(system);
        }
        if let Some(temperature) = prompt.temperature.filter(|_| self.temperature) {
            body["temperature"] = json!(temperature.min(1.0));
        }
        if output.as_object().is_some_and(|output| !output.is_empty()) {
            body["output_config"] = output;
        }
        if prompt.web_search {
            let searches = MAX_SEARCHES[usize::from(prompt.depth == ReasoningDepth::Deep)];
            body["tools"] =
                json!([{ "type": "web_search_20250305", "name": "web_search", "max_uses": searches }]);
        }
        ("v1/messages".to_owned(), body)
    }

    fn parser<'a>(&'a self, request: &'a LlmRequest<'a>) -> impl ParseEvents + 'a {
        MessagesParser::new(request.provider, &request.body)
    }
}

/// Returns `true` if a model accepts an effort. Models before Opus 4.5 and Sonnet 4.6 do not.
fn takes_effort(model: &str) -> bool {
    let before = [
        "claude-2",
        "claude-3",
        "claude-instant",
        "claude-haiku-4",
        "claude-sonnet-4-0",
        "claude-sonnet-4-2",
        "claude-sonnet-4-5",
        "claude-opus-4-0",
        "claude-opus-4-1",
        "claude-opus-4-2",
    ];
    model.starts_with("claude-") && !before.iter().any(|name| model.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_take_an_effort_are_known_by_their_names() {
        for model in ["claude-sonnet-5-5", "claude-opus-4-5", "claude-opus-4-8", "claude-sonnet-4-6"] {
            assert!(takes_effort(model), "{model}");
        }
        for model in ["claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-3-5-haiku-latest", "other"] {
            assert!(!takes_effort(model), "{model}");
        }
    }
}
