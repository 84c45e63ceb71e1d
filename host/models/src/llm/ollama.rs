//! Ollama: `POST /api/chat`, a JSON object a line. It cannot search the web.

use gatehouse_core::ports::llm::ModelPrompt;
use serde_json::{Value, json};

use super::{Flow, LlmApi, LlmRequest, ParseEvents, PartialCompletion};
use crate::provider::{Failure, Framing, Provider};

pub(crate) struct OllamaChat;

impl LlmApi for OllamaChat {
    const FRAMING: Framing = Framing::Lines;

    const NO_WEB: Option<&'static str> = Some("Choose openai, gemini or anthropic as llm in [models].");

    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value) {
        let mut messages = Vec::new();
        if let Some(system) = &prompt.system {
            messages.push(json!({ "role": "system", "content": system }));
        }
        messages.push(json!({ "role": "user", "content": prompt.text }));
        let mut body = json!({ "model": model, "messages": messages, "stream": true });
        if let Some(schema) = &prompt.schema {
            body["format"] = json!(schema);
        }
        if let Some(tokens) = prompt.max_tokens {
            body["options"]["num_predict"] = json!(tokens);
        }
        if let Some(temperature) = prompt.temperature {
            body["options"]["temperature"] = json!(temperature);
        }
        ("api/chat".to_owned(), body)
    }

    fn parser<'a>(&'a self, request: &'a LlmRequest<'a>) -> impl ParseEvents + 'a {
        Parser(request.provider)
    }
}

struct Parser<'a>(&'a Provider);

impl ParseEvents for Parser<'_> {
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> Result<Flow, Failure> {
        if event.get("error").is_some() {
            // The model's runner has died, as a rule for want of memory.
            return Err(Failure::said(self.0, 500, event, None));
        }
        partial.named(&event["model"]);
        if partial.write(event["message"]["content"].as_str().unwrap_or_default()) == Flow::Done {
            return Ok(Flow::Done);
        }
        if event["done"] != true {
            return Ok(Flow::More);
        }
        partial.cost(event["prompt_eval_count"].as_u64(), event["eval_count"].as_u64());
        if event["done_reason"] == "length" {
            partial.out_of_tokens();
        }
        partial.finished = true;
        Ok(Flow::Done)
    }
}
