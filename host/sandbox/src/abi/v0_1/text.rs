//! `text`: compressors that need no language model. Always granted.

use gatehouse_core::ports::{self, text};

use super::gatehouse::gate::{
    text::{CompactResult, DigestResult, ExtractResult, Host},
    types::Fault,
};
use crate::{
    capability::models::{MAX_DOCUMENT, MAX_RESULT},
    state::State,
};

impl Host for State {
    async fn extract(&mut self, text: String, query: String, budget: u32) -> Result<ExtractResult, Fault> {
        let (text_len, query_len) = ((text.len(), MAX_DOCUMENT), query.len());
        let work = move |port: &dyn ports::TextCompressor| port.extract(&text, &query, budget);
        Ok(self.capabilities.text("extractor", text_len, query_len, work).await?.into())
    }

    async fn count(&mut self, text: String) -> Result<u32, Fault> {
        let text_len = (text.len(), MAX_RESULT);
        let work = move |port: &dyn ports::TextCompressor| Ok(port.count(&text));
        Ok(self.capabilities.text("token counter", text_len, 0, work).await?)
    }

    async fn compact(&mut self, text: String) -> Result<Option<CompactResult>, Fault> {
        let text_len = (text.len(), MAX_RESULT);
        let work = move |port: &dyn ports::TextCompressor| Ok(port.compact(&text));
        Ok(self.capabilities.text("compactor", text_len, 0, work).await?.map(Into::into))
    }

    async fn digest(&mut self, document: String, query: String, budget: u32) -> Result<DigestResult, Fault> {
        let (text_len, query_len) = ((document.len(), MAX_RESULT), query.len());
        let work = move |port: &dyn ports::TextCompressor| port.digest(&document, &query, budget);
        Ok(self.capabilities.text("digester", text_len, query_len, work).await?.into())
    }
}

records! {
    text::TextExtract => ExtractResult { text, tokens_in, tokens_out, shortened } [] (fit);
    text::CompactText => CompactResult { text, tokens_in, tokens_out };
    text::DocumentDigest => DigestResult { text, findings, kind, tokens_in, tokens_out, shortened };
}
