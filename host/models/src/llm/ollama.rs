//! Ollama: `POST /api/chat`, a JSON object a line. It cannot search the web.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::llm::{Completion, Llm, OnProgress, Prompt},
};
use serde_json::{Value, json};

use super::{Flow, LlmRequest, ParseEvents, PartialCompletion, no_web};
use crate::provider::{Failure, Framing, Provider};

pub(crate) struct Ollama {
    provider: Provider,
    model: String,
    name: String,
}

impl Ollama {
    pub(crate) fn new(provider: Provider, model: String) -> Self {
        let name = provider.model(&model);
        Self { provider, model, name }
    }

    fn body(&self, prompt: &Prompt) -> Value {
        let mut messages = Vec::new();
        if let Some(system) = &prompt.system {
            messages.push(json!({ "role": "system", "content": system }));
        }
        messages.push(json!({ "role": "user", "content": prompt.text }));
        let mut body = json!({ "model": self.model, "messages": messages, "stream": true });
        if let Some(schema) = &prompt.schema {
            body["format"] = json!(schema);
        }
        if let Some(tokens) = prompt.max_tokens {
            body["options"]["num_predict"] = json!(tokens);
        }
        if let Some(temperature) = prompt.temperature {
            body["options"]["temperature"] = json!(temperature);
        }
        body
    }
}

#[async_trait]
impl Llm for Ollama {
    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(&self, prompt: Prompt, on_progress: OnProgress<'_>) -> Result<Completion, Fault> {
        if prompt.web_search {
            return Err(no_web(&self.name, "Choose openai, gemini or anthropic as llm in [models]."));
        }
        let request = LlmRequest {
            provider: &self.provider,
            prompt: &prompt,
            model: &self.model,
            path: "api/chat".to_owned(),
            body: self.body(&prompt),
            framing: Framing::Lines,
        };
        request.ask(|| Parser(&self.provider), on_progress).await
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
            partial.cut_short = Some("the limit of tokens was reached".to_owned());
        }
        partial.finished = true;
        Ok(Flow::Done)
    }
}
