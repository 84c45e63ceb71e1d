//! `POST /responses`: requests and response events.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Value, json};

use super::{format, thinks};
use crate::{
    llm::{LlmApi, LlmRequest, ParseEvents, PartialCompletion, ReasoningEffort, StreamFlow},
    provider::{AttemptFailure, Provider},
};

const MIN_TOKENS: u32 = 16;

pub(crate) struct OpenAiResponses;

impl LlmApi for OpenAiResponses {
    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let effort = ReasoningEffort::from_prompt(prompt).word();
        // Do not let the provider store the prompt.
        let mut body = json!({ "model": model, "input": prompt.text, "stream": true, "store": false });
        if let Some(system) = &prompt.system {
            body["instructions"] = json!(system);
        }
        if let Some(tokens) = prompt.max_tokens {
            body["max_output_tokens"] = json!(tokens.max(MIN_TOKENS));
        }
        if thinks(model) {
            body["reasoning"] = json!({ "effort": effort });
        } else if let Some(temperature) = prompt.temperature {
            body["temperature"] = json!(temperature);
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

    fn parser<'a>(&'a self, request: &'a LlmRequest<'a>) -> impl ParseEvents + 'a {
        ResponsesParser { provider: request.provider }
    }
}

struct ResponsesParser<'a> {
    provider: &'a Provider,
}

impl ParseEvents for ResponsesParser<'_> {
    fn event(
        &mut self,
        event: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
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
                let why = event["refusal"].as_str().unwrap_or_default();
                return Err(AttemptFailure::refused(self.provider, why));
            }
            "response.completed" | "response.incomplete" => return self.end(&event["response"], partial),
            "response.failed" => {
                return Err(AttemptFailure::from_error_body(self.provider, 0, &event["response"], None));
            }
            // The event is the error or contains it, depending on the server.
            "error" => return Err(AttemptFailure::from_error_body(self.provider, 0, event, None)),
            _ => {}
        }
        Ok(StreamFlow::More)
    }
}

impl ResponsesParser<'_> {
    fn end(
        &self,
        response: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
        partial.set_model(&response["model"]);
        let usage = &response["usage"];
        partial.record_usage(usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64());
        // Some servers send items only here.
        response["output"].as_array().into_iter().flatten().for_each(|entry| item(entry, partial));
        match response["incomplete_details"]["reason"].as_str() {
            None => {}
            Some("content_filter") => {
                return Err(AttemptFailure::refused(self.provider, "blocked by its content filter"));
            }
            Some("max_output_tokens") => partial.out_of_tokens(),
            Some(other) => partial.cut_short = Some(self.provider.quote(other)),
        }
        partial.finished = true;
        Ok(StreamFlow::Done)
    }
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
