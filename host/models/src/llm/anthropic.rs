//! Anthropic: `POST /v1/messages`, with web search that the provider runs itself.

use gatehouse_core::ports::llm::{ModelPrompt, ReasoningDepth};
use serde_json::{Value, json};

use super::{EventResult, LlmApi, ParseEvents, PartialCompletion, ReasoningEffort, StreamFlow, schema, set};

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
        set(&mut body, "system", prompt.system.as_deref());
        let temperature = prompt.temperature.filter(|_| self.temperature);
        set(&mut body, "temperature", temperature.map(|temperature| temperature.min(1.0)));
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

    fn parser(&self, _prompt: &ModelPrompt) -> impl ParseEvents {
        MessagesParser::default()
    }
}

/// Returns `true` if a model accepts an effort. Models before Opus 4.5 and Sonnet 4.6 do not.
fn takes_effort(model: &str) -> bool {
    let before = "2 3 instant haiku-4 sonnet-4-0 sonnet-4-2 sonnet-4-5 opus-4-0 opus-4-1 opus-4-2";
    let is_later = |rest: &str| !before.split(' ').any(|name| rest.starts_with(name));
    model.strip_prefix("claude-").is_some_and(is_later)
}

/// Maximum turns of a response, including continuations after a pause.
const MAX_TURNS: usize = 5;

/// Maximum blocks of a turn. A search and its result are two.
const MAX_BLOCKS: usize = 512;

/// Maximum bytes of blocks that are stored to be sent back.
const MAX_KEPT: usize = 8 << 20;

/// Stores blocks as received, because a paused model needs them back to continue.
#[derive(Default)]
struct MessagesParser {
    blocks: Vec<Value>,
    /// Blocks of earlier turns.
    before: Vec<Value>,
    /// Partial JSON arguments of the open block.
    arguments: String,
    kept: usize,
    /// Turns after the first.
    continued: usize,
    paused: bool,
    input: u64,
    /// Output tokens of earlier turns.
    output: u64,
    /// Output tokens of this turn.
    output_now: u64,
}

impl MessagesParser {
    fn begin(&mut self, block: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        self.kept += block.to_string().len();
        if self.blocks.len() >= MAX_BLOCKS || self.kept > MAX_KEPT {
            return partial.malformed("sent a response with too many parts");
        }
        self.blocks.push(block.clone());
        self.arguments.clear();
        if block["type"] == "web_search_tool_result" {
            for result in block["content"].as_array().into_iter().flatten() {
                partial.sources.read(result["url"].as_str(), result["title"].as_str());
            }
        }
        Ok(partial.write(block["text"].as_str().unwrap_or_default()))
    }

    fn grow(&mut self, delta: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        self.kept += delta.to_string().len();
        if self.kept > MAX_KEPT {
            return partial.malformed("sent a response with too many parts");
        }
        let Some(block) = self.blocks.last_mut() else { return Ok(StreamFlow::More) };
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                append(block, "text", &delta["text"]);
                return Ok(partial.write(delta["text"].as_str().unwrap_or_default()));
            }
            "input_json_delta" => self.arguments.push_str(delta["partial_json"].as_str().unwrap_or_default()),
            "thinking_delta" => append(block, "thinking", &delta["thinking"]),
            "signature_delta" => append(block, "signature", &delta["signature"]),
            "citations_delta" => {
                let citation = &delta["citation"];
                partial.sources.quoted(citation["url"].as_str(), citation["title"].as_str());
                match block["citations"].as_array_mut() {
                    Some(citations) => citations.push(citation.clone()),
                    None => block["citations"] = json!([citation]),
                }
            }
            _ => {}
        }
        Ok(StreamFlow::More)
    }

    fn end(&mut self, partial: &PartialCompletion<'_>) {
        let Some(block) = self.blocks.last_mut().filter(|_| !self.arguments.is_empty()) else { return };
        if let Ok(input) = serde_json::from_str::<Value>(&self.arguments) {
            if block["name"] == "web_search" {
                partial.report_search(input["query"].as_str());
            }
            block["input"] = input;
        }
        self.arguments.clear();
    }

    fn message(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        let usage = &event["usage"];
        self.output_now = usage["output_tokens"].as_u64().unwrap_or(self.output_now);
        partial.record_usage(Some(self.input), Some(self.output + self.output_now));
        let delta = &event["delta"];
        match delta["stop_reason"].as_str() {
            None => return Ok(StreamFlow::More),
            Some("refusal") => {
                let details = &delta["stop_details"];
                let reason = details["explanation"].as_str().or(details["category"].as_str());
                return partial.refused(reason.unwrap_or_default());
            }
            Some("max_tokens") => partial.out_of_tokens(),
            Some("model_context_window_exceeded") => {
                partial.cut_short = Some("the context of the model is full".to_owned());
            }
            Some("pause_turn") => self.paused = true,
            Some(_) => {}
        }
        partial.finished = true;
        Ok(StreamFlow::More)
    }
}

impl ParseEvents for MessagesParser {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                partial.set_model(&event["message"]["model"]);
                let usage = &event["message"]["usage"];
                // Cached tokens count as input.
                let keys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
                self.input += keys.iter().filter_map(|key| usage[*key].as_u64()).sum::<u64>();
            }
            "content_block_start" => return self.begin(&event["content_block"], partial),
            "content_block_delta" => return self.grow(&event["delta"], partial),
            "content_block_stop" => self.end(partial),
            "message_delta" => return self.message(event, partial),
            "message_stop" => return Ok(StreamFlow::Done),
            "error" => return partial.failed(0, event),
            _ => {}
        }
        Ok(StreamFlow::More)
    }

    fn continuation(&mut self, first: &Value) -> Option<Value> {
        if !std::mem::take(&mut self.paused) || self.continued + 1 >= MAX_TURNS {
            return None;
        }
        self.continued += 1;
        self.output += std::mem::take(&mut self.output_now);
        // The API rejects empty text blocks.
        self.blocks.retain(|block| block["type"] != "text" || block["text"] != "");
        self.before.append(&mut self.blocks);
        let mut body = first.clone();
        let message = json!({ "role": "assistant", "content": self.before });
        body["messages"].as_array_mut()?.push(message);
        Some(body)
    }
}

fn append(block: &mut Value, key: &str, piece: &Value) {
    let Some(piece) = piece.as_str() else { return };
    match &mut block[key] {
        Value::String(text) => text.push_str(piece),
        other => *other = json!(piece),
    }
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
