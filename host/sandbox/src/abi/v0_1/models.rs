//! `models`: the language model, the embedding model and token counts. Requires the grant `models`.

use gatehouse_core::ports::{embed::EmbeddingPurpose, llm as core, text};
use tokio::time::Instant;

use super::gatehouse::gate::{models as wit, types::Fault};
use crate::state::State;

impl wit::Host for State {
    async fn complete(&mut self, prompt: String, options: wit::Options) -> Result<wit::Completion, Fault> {
        let prompt = core::ModelPrompt {
            system: options.system,
            text: prompt,
            schema: None,
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            web_search: options.web_search,
            depth: options.depth.into(),
            deadline: Instant::now(),
        };
        Ok(self.capabilities.complete(prompt, options.schema, options.time_ms).await?.into())
    }

    async fn embed(&mut self, texts: Vec<String>, purpose: wit::Purpose) -> Result<wit::Embeddings, Fault> {
        let (model, vectors) = self.capabilities.embed(&texts, purpose.into()).await?;
        Ok(wit::Embeddings { model, vectors })
    }

    async fn count_tokens(&mut self, texts: Vec<String>, encoding: wit::Encoding) -> Result<Vec<u32>, Fault> {
        let encoding = match encoding {
            wit::Encoding::O200kBase => text::TokenEncoding::O200k,
            wit::Encoding::Cl100kBase => text::TokenEncoding::Cl100k,
        };
        Ok(self.capabilities.count_tokens(texts, encoding).await?)
    }

    async fn which(&mut self) -> Result<wit::Serving, Fault> {
        let models = self.capabilities.models()?;
        Ok(wit::Serving {
            llm: models.llm.model().map(str::to_owned),
            web_search: models.llm.web_model().map(str::to_owned),
            embedding: models.embedder.model().to_owned(),
        })
    }
}

enums! {
    wit::Depth => core::ReasoningDepth { Light, Deep }
    wit::Purpose => EmbeddingPurpose { Query, Document }
}

records! {
    core::WebSource => wit::WebSource { url, title };
    core::TokenUsage => wit::TokenUse { input, output };
    core::ModelCompletion => wit::Completion { text, model, cut_short } [sources] (tokens);
}
