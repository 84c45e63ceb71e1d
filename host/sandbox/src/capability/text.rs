//! `text`: the compressors that work without a language model. Always granted; CPU-bound, so work on longer texts
//! runs beside the runtime and not on it.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use gatehouse_core::{fair::FairTurns, outcome, ports};

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        text::{DigestResult, ExtractResult, Host},
        types::Fault,
    },
    state::State,
};

/// The most bytes of text that are worked on; more than any document a model is shown.
const MAX_TEXT: usize = 4 << 20;

/// Text up to this size takes well under two milliseconds, which is how often a guest that computes lets others
/// go on: less than it costs to wake another thread for it, several times a search.
const SMALL: usize = 8 << 10;

/// Longer work that goes on at the same time, over all gates: two texts of one gate, and the third of whoever comes
/// then. What a call began ends after the call did.
static TURNS: LazyLock<FairTurns> = LazyLock::new(|| FairTurns::new(3));

/// Whether any work was done yet. The first unpacks a vocabulary, which takes some 50 ms.
static WARM: AtomicBool = AtomicBool::new(false);

pub(crate) struct Text {
    gate: Arc<str>,
    port: Arc<dyn ports::Text>,
}

impl Text {
    pub(super) fn new(facts: &CallFacts) -> Self {
        Self { gate: Arc::clone(&facts.gate), port: Arc::clone(&facts.ports.text) }
    }

    /// Runs `work` when it is its turn; `who` is named in faults, `bytes` is the longest text it is given.
    async fn work<T: Send + 'static>(
        &self,
        who: &'static str,
        bytes: usize,
        work: impl FnOnce(&dyn ports::Text) -> Result<T, outcome::Fault> + Send + 'static,
    ) -> Result<T, outcome::Fault> {
        if bytes > MAX_TEXT {
            return Err(outcome::Fault::exhausted(format!("The text {who} takes at most {MAX_TEXT} bytes.")));
        }
        let port = Arc::clone(&self.port);
        if bytes <= SMALL && WARM.load(Ordering::Relaxed) {
            return work(&*port);
        }
        let turn = TURNS.take(&self.gate).await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let done = work(&*port);
            WARM.store(true, Ordering::Relaxed);
            done
        });
        work.await.unwrap_or_else(|_| Err(outcome::Fault::internal(format!("The text {who} failed."))))
    }
}

impl Host for State {
    async fn extract(&mut self, text: String, query: String, budget: u32) -> Result<ExtractResult, Fault> {
        let bytes = text.len().max(query.len());
        let work = move |port: &dyn ports::Text| port.extract(&text, &query, budget);
        let extract = self.capabilities.text.work("extractor", bytes, work).await?;
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
        let digest = self.capabilities.text.work("digester", bytes, work).await?;
        Ok(DigestResult {
            text: digest.text,
            findings: digest.findings,
            tokens_in: digest.tokens_in,
            tokens_out: digest.tokens_out,
            shortened: digest.shortened,
        })
    }
}
