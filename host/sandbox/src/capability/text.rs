//! `text`: the compressors that work without a language model. Always granted; CPU-bound, so work on longer texts
//! runs beside the runtime and not on it.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use gatehouse_core::{fair_semaphore::FairSemaphore, outcome, ports};

use super::Capabilities;

/// The most bytes of text that are worked on; more than any document a model is shown.
const MAX_TEXT: usize = 4 << 20;

/// Text up to this size takes well under two milliseconds, which is how often a guest that computes lets others
/// go on: less than it costs to wake another thread for it, several times a search.
const MAX_INLINE_BYTES: usize = 8 << 10;

/// Longer work that goes on at the same time, over all gates: two texts of one gate, and the third of whoever comes
/// then. What a call began ends after the call did.
static TURNS: LazyLock<FairSemaphore> = LazyLock::new(|| FairSemaphore::new(3));

/// Whether any work was done yet. The first unpacks a vocabulary, which takes some 50 ms.
static WARM: AtomicBool = AtomicBool::new(false);

impl Capabilities {
    /// Works on text when it is the gate's turn; `who` is named in faults, `bytes` is the longest text it is given.
    pub(crate) async fn text<T: Send + 'static>(
        &self,
        who: &'static str,
        bytes: usize,
        work: impl FnOnce(&dyn ports::TextCompressor) -> Result<T, outcome::Fault> + Send + 'static,
    ) -> Result<T, outcome::Fault> {
        if bytes > MAX_TEXT {
            return Err(outcome::Fault::exhausted(format!("The text {who} takes at most {MAX_TEXT} bytes.")));
        }
        let port = Arc::clone(&self.facts.ports.text);
        if bytes <= MAX_INLINE_BYTES && WARM.load(Ordering::Relaxed) {
            return work(&*port);
        }
        let turn = TURNS.acquire(&self.facts.gate).await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let done = work(&*port);
            WARM.store(true, Ordering::Relaxed);
            done
        });
        work.await.unwrap_or_else(|_| Err(outcome::Fault::internal(format!("The text {who} failed."))))
    }
}
