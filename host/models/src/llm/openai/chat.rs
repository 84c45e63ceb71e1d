//! `POST /chat/completions`: requests and response events.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Value, json};

use super::{format, thinks};
use crate::{
    llm::{LlmApi, LlmRequest, ParseEvents, PartialCompletion, ReasoningEffort, StreamFlow},
    provider::{AttemptFailure, Provider},
};

pub(crate) struct ChatCompletions {
    /// True for OpenAI itself, where the token limit has a newer name that few other servers know.
    pub(crate) official: bool,
}

impl LlmApi for ChatCompletions {
    const NO_WEB: Option<&'static str> =
        Some("Set api = \"responses\" under [models.openai] in presets.toml.");

    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut messages = Vec::new();
        if let Some(system) = &prompt.system {
            messages.push(json!({ "role": "system", "content": system }));
        }
        messages.push(json!({ "role": "user", "content": prompt.text }));
        let mut body = json!({
            "model": model,
            "messages": messages,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if let Some(tokens) = prompt.max_tokens {
            body[if self.official { "max_completion_tokens" } else { "max_tokens" }] = json!(tokens);
        }
        if self.official && thinks(model) {
            body["reasoning_effort"] = json!(ReasoningEffort::from_prompt(prompt).word());
        } else if let Some(temperature) = prompt.temperature {
            body["temperature"] = json!(temperature);
        }
        if let Some(schema) = &prompt.schema {
            let mut format = format(schema);
            format.as_object_mut().map(|format| format.remove("type"));
            body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
        }
        ("chat/completions".to_owned(), body)
    }

    fn parser<'a>(&'a self, request: &'a LlmRequest<'a>) -> impl ParseEvents + 'a {
        ChatParser { provider: request.provider, refusal: String::new() }
    }
}

struct ChatParser<'a> {
    provider: &'a Provider,
    refusal: String,
}

impl ParseEvents for ChatParser<'_> {
    fn event(
        &mut self,
        event: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(AttemptFailure::from_error_body(self.provider, 0, event, None));
        }
        partial.set_model(&event["model"]);
        let usage = &event["usage"];
        partial.record_usage(usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64());
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        // A refusal arrives in pieces, and the finish reason ends it.
        let piece = delta["refusal"].as_str().unwrap_or_default();
        if self.refusal.len() < 1000 {
            self.refusal.push_str(piece);
        }
        if let Some(text) = delta["content"].as_str()
            && partial.write(text) == StreamFlow::Done
        {
            return Ok(StreamFlow::Done);
        }
        match choice["finish_reason"].as_str() {
            None => return Ok(StreamFlow::More),
            _ if !self.refusal.is_empty() => {
                return Err(AttemptFailure::refused(self.provider, &self.refusal));
            }
            Some("content_filter") => {
                return Err(AttemptFailure::refused(self.provider, "blocked by its content filter"));
            }
            Some("length") => partial.out_of_tokens(),
            Some(_) => {}
        }
        // Usage follows in a later event.
        partial.finished = true;
        Ok(StreamFlow::More)
    }
}
