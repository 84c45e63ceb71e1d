//! OpenAI: the Responses API, which supports web search, and Chat Completions, which compatible servers have.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Map, Value, json};

use super::{
    EventResult, LlmApi, ParseEvents, PartialCompletion, ReasoningEffort, StreamFlow, messages, schema, set,
};

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

/// Minimum of `max_output_tokens`.
const MIN_TOKENS: u32 = 16;

/// `POST /responses`.
pub(crate) struct OpenAiResponses;

impl LlmApi for OpenAiResponses {
    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let effort = ReasoningEffort::from_prompt(prompt).word();
        // Do not let the provider store the prompt.
        let mut body = json!({ "model": model, "input": prompt.text, "stream": true, "store": false });
        set(&mut body, "instructions", prompt.system.as_deref());
        set(&mut body, "max_output_tokens", prompt.max_tokens.map(|tokens| tokens.max(MIN_TOKENS)));
        if thinks(model) {
            body["reasoning"] = json!({ "effort": effort });
        } else {
            set(&mut body, "temperature", prompt.temperature);
        }
        if let Some(schema) = &prompt.schema {
            body["text"] = json!({ "format": format(schema) });
        }
        if prompt.web_search {
            body["tools"] = json!([{ "type": "web_search", "search_context_size": effort }]);
            body["include"] = json!(["web_search_call.action.sources"]);
        }
        ("responses".to_owned(), body)
    }

    fn parser(&self, _prompt: &ModelPrompt) -> impl ParseEvents {
        ResponsesParser
    }
}

struct ResponsesParser;

impl ParseEvents for ResponsesParser {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        match event["type"].as_str().unwrap_or_default() {
            "response.created" => partial.set_model(&event["response"]["model"]),
            "response.output_text.delta" => {
                return Ok(partial.write(event["delta"].as_str().unwrap_or_default()));
            }
            "response.output_text.annotation.added" => cited(&event["annotation"], partial),
            "response.output_item.added" if event["item"]["type"] == "web_search_call" => {
                partial.report_search(None)
            }
            "response.output_item.done" => item(&event["item"], partial),
            "response.refusal.done" => {
                return partial.refused(event["refusal"].as_str().unwrap_or_default());
            }
            "response.completed" | "response.incomplete" => return end(&event["response"], partial),
            "response.failed" => return partial.failed(0, &event["response"]),
            // The event is the error or contains it, depending on the server.
            "error" => return partial.failed(0, event),
            _ => {}
        }
        Ok(StreamFlow::More)
    }
}

fn end(response: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
    partial.set_model(&response["model"]);
    let usage = &response["usage"];
    partial.record_usage(usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64());
    // Some servers send items only here.
    response["output"].as_array().into_iter().flatten().for_each(|entry| item(entry, partial));
    match response["incomplete_details"]["reason"].as_str() {
        None => {}
        Some("content_filter") => return partial.refused("blocked by its content filter"),
        Some("max_output_tokens") => partial.out_of_tokens(),
        Some(other) => partial.cut_short_by(other),
    }
    partial.finished = true;
    Ok(StreamFlow::Done)
}

/// Reads a complete item: a search, or a message with citations.
fn item(item: &Value, partial: &mut PartialCompletion<'_>) {
    let action = &item["action"];
    if item["type"] == "web_search_call" {
        if let Some(query) = action["query"].as_str().filter(|_| !partial.finished) {
            partial.report_search(Some(query));
        }
        for source in action["sources"].as_array().into_iter().flatten() {
            partial.sources.read(source["url"].as_str(), source["title"].as_str());
        }
        partial.sources.read(action["url"].as_str(), None);
    }
    for part in item["content"].as_array().into_iter().flatten() {
        part["annotations"].as_array().into_iter().flatten().for_each(|note| cited(note, partial));
    }
}

fn cited(note: &Value, partial: &mut PartialCompletion<'_>) {
    if note["type"] == "url_citation" {
        partial.sources.quoted(note["url"].as_str(), note["title"].as_str());
    }
}

/// `POST /chat/completions`.
pub(crate) struct ChatCompletions {
    /// True for OpenAI itself, where the token limit has a newer name that few other servers know.
    pub(crate) official: bool,
}

impl LlmApi for ChatCompletions {
    const NO_WEB: Option<&'static str> =
        Some("Set api = \"responses\" under [models.openai] in presets.toml.");

    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut body = json!({
            "model": model,
            "messages": messages(prompt),
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        let limit = if self.official { "max_completion_tokens" } else { "max_tokens" };
        set(&mut body, limit, prompt.max_tokens);
        if self.official && thinks(model) {
            body["reasoning_effort"] = json!(ReasoningEffort::from_prompt(prompt).word());
        } else {
            set(&mut body, "temperature", prompt.temperature);
        }
        if let Some(schema) = &prompt.schema {
            let mut format = format(schema);
            format.as_object_mut().map(|format| format.remove("type"));
            body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
        }
        ("chat/completions".to_owned(), body)
    }

    fn parser(&self, _prompt: &ModelPrompt) -> impl ParseEvents {
        ChatParser { refusal: String::new() }
    }
}

struct ChatParser {
    refusal: String,
}

impl ParseEvents for ChatParser {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return partial.failed(0, event);
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
            _ if !self.refusal.is_empty() => return partial.refused(&self.refusal),
            Some("content_filter") => return partial.refused("blocked by its content filter"),
            Some("length") => partial.out_of_tokens(),
            Some(_) => {}
        }
        // Usage follows in a later event.
        partial.finished = true;
        Ok(StreamFlow::More)
    }
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
