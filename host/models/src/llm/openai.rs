//! OpenAI: the Responses API, which supports web search, and Chat Completions, which compatible servers have.

mod chat;
mod responses;

use serde_json::{Map, Value, json};

pub(crate) use self::{chat::ChatCompletions, responses::OpenAiResponses};
use super::schema;

pub(crate) const HOST: &str = "api.openai.com";

/// Returns `true` if a model reasons: it accepts an effort but no temperature.
fn thinks(model: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let of_o = model.strip_prefix('o').is_some_and(digit);
    (of_o || model.starts_with("gpt-5")) && !model.contains("-chat")
}

/// Returns a schema for both APIs. Without strict mode, the model may deviate from it.
fn format(schema: &Map<String, Value>) -> Value {
    json!({ "type": "json_schema", "name": "answer", "strict": schema::is_strict(schema), "schema": schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_think_are_known_by_their_names() {
        for model in ["o3", "o4-mini", "gpt-5", "gpt-5.4-mini", "gpt-5.6-sol"] {
            assert!(thinks(model), "{model}");
        }
        for model in ["gpt-4.1", "gpt-4o", "gpt-5-chat-latest", "omni", "llama", ""] {
            assert!(!thinks(model), "{model}");
        }
    }
}
