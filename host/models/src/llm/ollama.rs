//! Ollama: `POST /api/chat`, with one JSON object per line. Has no web search.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Value, json};

use super::{EventResult, LlmApi, ParseEvents, PartialCompletion, StreamFlow, messages, set};
use crate::provider::StreamFraming;

pub(crate) struct OllamaChat;

impl LlmApi for OllamaChat {
    const FRAMING: StreamFraming = StreamFraming::Lines;

    const NO_WEB: Option<&'static str> = Some("Choose openai, gemini or anthropic as llm in [models].");

    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut body = json!({ "model": model, "messages": messages(prompt), "stream": true });
        set(&mut body, "format", prompt.schema.clone());
        if let Some(tokens) = prompt.max_tokens {
            body["options"]["num_predict"] = json!(tokens);
        }
        if let Some(temperature) = prompt.temperature {
            body["options"]["temperature"] = json!(temperature);
        }
        ("api/chat".to_owned(), body)
    }

    fn parser(&self, _prompt: &ModelPrompt) -> impl ParseEvents {
        OllamaParser
    }
}

struct OllamaParser;

impl ParseEvents for OllamaParser {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult {
        if event.get("error").is_some() {
            // The model's runner crashed, usually because it ran out of memory.
            return partial.failed(500, event);
        }
        partial.set_model(&event["model"]);
        if partial.write(event["message"]["content"].as_str().unwrap_or_default()) == StreamFlow::Done {
            return Ok(StreamFlow::Done);
        }
        if event["done"] != true {
            return Ok(StreamFlow::More);
        }
        partial.record_usage(event["prompt_eval_count"].as_u64(), event["eval_count"].as_u64());
        if event["done_reason"] == "length" {
            partial.out_of_tokens();
        }
        partial.finished = true;
        Ok(StreamFlow::Done)
    }
}
