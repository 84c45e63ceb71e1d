//! `text`: the compressors that work without a language model. Always granted; CPU-bound, so the work
//! runs beside the runtime and not on it.

use std::sync::Arc;

use gatehouse_core::{outcome, ports};

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        text::{ExtractResult, Host},
        types::Fault,
    },
    state::State,
};

pub(crate) struct Text {
    port: Arc<dyn ports::Text>,
}

impl Text {
    pub(super) fn new(facts: &CallFacts) -> Self {
        Self { port: Arc::clone(&facts.ports.text) }
    }
}

impl Host for State {
    async fn extract(&mut self, text: String, query: String, budget: u32) -> Result<ExtractResult, Fault> {
        let port = Arc::clone(&self.capabilities.text.port);
        let work = tokio::task::spawn_blocking(move || port.extract(&text, &query, budget));
        let extract = match work.await {
            Ok(result) => result?,
            Err(_) => return Err(outcome::Fault::internal("The text extractor failed.").into()),
        };
        Ok(ExtractResult {
            text: extract.text,
            tokens_in: extract.tokens_in,
            tokens_out: extract.tokens_out,
            shortened: extract.shortened,
        })
    }
}
