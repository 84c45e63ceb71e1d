//! `text`: the compressors that work without a language model. Always granted.

use gatehouse_core::ports::{self, text};

use super::gatehouse::gate::{
    text::{DigestResult, ExtractResult, Host},
    types::Fault,
};
use crate::state::State;

impl Host for State {
    async fn extract(&mut self, text: String, query: String, budget: u32) -> Result<ExtractResult, Fault> {
        let bytes = text.len().max(query.len());
        let work = move |port: &dyn ports::Text| port.extract(&text, &query, budget);
        Ok(self.capabilities.text("extractor", bytes, work).await?.into())
    }

    async fn digest(&mut self, document: String, query: String, budget: u32) -> Result<DigestResult, Fault> {
        let bytes = document.len().max(query.len());
        let work = move |port: &dyn ports::Text| port.digest(&document, &query, budget);
        Ok(self.capabilities.text("digester", bytes, work).await?.into())
    }
}

records! {
    text::Extract => ExtractResult { text, tokens_in, tokens_out, shortened };
    text::Digest => DigestResult { text, findings, tokens_in, tokens_out, shortened };
}
