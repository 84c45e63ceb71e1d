//! OpenAI: the Responses API, which can search the web, and Chat Completions, which every compatible server
//! has.

mod chat;
mod responses;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::llm::{Completion, Llm, OnProgress, Prompt},
};
use serde_json::{Map, Value, json};

use super::{LlmRequest, no_web, schema};
use crate::provider::{Framing, Provider};

/// Where OpenAI itself is.
pub(crate) const HOST: &str = "api.openai.com";

pub(crate) struct OpenAi {
    provider: Provider,
    model: String,
    name: String,
    responses: bool,
}

impl OpenAi {
    /// With Responses or with Chat Completions.
    pub(crate) fn new(provider: Provider, model: String, responses: bool) -> Self {
        let name = provider.model(&model);
        Self { provider, model, name, responses }
    }
}

#[async_trait]
impl Llm for OpenAi {
    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn web_model(&self) -> Option<&str> {
        self.responses.then_some(&*self.name)
    }

    async fn complete(&self, prompt: Prompt, on_progress: OnProgress<'_>) -> Result<Completion, Fault> {
        if prompt.web_search && !self.responses {
            return Err(no_web(&self.name, "Set api = \"responses\" under [models.openai] in presets.toml."));
        }
        let (path, body) = match self.responses {
            true => ("responses", responses::body(&self.model, &prompt)),
            false => ("chat/completions", chat::body(&self.model, &prompt, self.provider.is_at(HOST))),
        };
        let request = LlmRequest {
            provider: &self.provider,
            prompt: &prompt,
            model: &self.model,
            path: path.to_owned(),
            body,
            framing: Framing::Sse,
        };
        let provider = &self.provider;
        match self.responses {
            true => request.ask(|| responses::Parser { provider }, on_progress).await,
            false => request.ask(|| chat::Parser::new(provider), on_progress).await,
        }
    }
}

/// Whether a model thinks before it writes: it takes an effort and no temperature.
fn thinks(model: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let of_o = model.strip_prefix('o').is_some_and(digit);
    (of_o || model.starts_with("gpt-5")) && !model.contains("-chat")
}

/// A schema as both APIs take it. Without the strict mode, for schemas it does not know, it is a wish.
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
