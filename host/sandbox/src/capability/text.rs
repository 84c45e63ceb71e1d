//! `text`: the compressors that work without a language model. Always granted; CPU-bound, so the work
//! runs beside the runtime and not on it.

use std::sync::Arc;

use gatehouse_core::{outcome, ports};
use tokio::sync::Semaphore;

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        text::{ExtractResult, Host},
        types::Fault,
    },
    state::State,
};

/// The most bytes of text that are worked on; more than any document a model is shown.
const MAX_TEXT: usize = 4 << 20;

/// Work that goes on at the same time, over all gates. What a call began ends after the call did.
static TURNS: Semaphore = Semaphore::const_new(2);

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
        if text.len() > MAX_TEXT || query.len() > MAX_TEXT {
            return Err(outcome::Fault::exhausted(format!(
                "The text extractor takes at most {MAX_TEXT} bytes."
            ))
            .into());
        }
        let port = Arc::clone(&self.capabilities.text.port);
        let closed = |_| outcome::Fault::unavailable("The text extractor is closing.");
        let turn = TURNS.acquire().await.map_err(closed)?;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            port.extract(&text, &query, budget)
        });
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
