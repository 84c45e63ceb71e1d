//! `text`: the compressors that work without a language model. Always granted.

use gatehouse_core::ports;

use super::gatehouse::gate::{
    text::{DigestResult, ExtractResult, Host},
    types::Fault,
};
use crate::state::State;

impl Host for State {
    async fn extract(&mut self, text: String, query: String, budget: u32) -> Result<ExtractResult, Fault> {
        let bytes = text.len().max(query.len());
        let work = move |port: &dyn ports::Text| port.extract(&text, &query, budget);
        let extract = self.capabilities.text("extractor", bytes, work).await?;
        Ok(ExtractResult {
            text: extract.text,
            tokens_in: extract.tokens_in,
            tokens_out: extract.tokens_out,
            shortened: extract.shortened,
        })
    }

    async fn digest(&mut self, document: String, query: String, budget: u32) -> Result<DigestResult, Fault> {
        let bytes = document.len().max(query.len());
        let work = move |port: &dyn ports::Text| port.digest(&document, &query, budget);
        let digest = self.capabilities.text("digester", bytes, work).await?;
        Ok(DigestResult {
            text: digest.text,
            findings: digest.findings,
            tokens_in: digest.tokens_in,
            tokens_out: digest.tokens_out,
            shortened: digest.shortened,
        })
    }
}
