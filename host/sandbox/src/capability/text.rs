//! `text`: compressors that need no language model. Always granted. Longer texts are processed on a blocking thread.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use gatehouse_core::{fair_semaphore::FairSemaphore, outcome, ports};

use super::Capabilities;

/// Maximum bytes to extract from, more than any document that a model is shown, and maximum bytes of a query.
pub(crate) const MAX_DOCUMENT: usize = 4 << 20;

/// Maximum bytes to count or digest: any result. A gate's limit `copy` is usually less.
pub(crate) const MAX_RESULT: usize = 64 << 20;

/// Maximum bytes to process on the async thread. They take well under the two milliseconds after which a guest yields,
/// and less than waking another thread.
const MAX_INLINE_BYTES: usize = 8 << 10;

/// Concurrent work on longer texts: two of one principal and one of another. Work continues after its call ends.
static TURNS: LazyLock<FairSemaphore> = LazyLock::new(|| FairSemaphore::new(3));

/// True after the first work, which unpacks a vocabulary in about 50 ms.
static WARM: AtomicBool = AtomicBool::new(false);

impl Capabilities {
    /// Runs `work` on a text of `text_len` bytes, at most `limit`, and a query, when it is the gate's turn. `who` names
    /// the compressor in faults. Until the work ends, both texts count in the memory of the call.
    pub(crate) async fn text<T: Send + 'static>(
        &self,
        who: &'static str,
        (text_len, limit): (usize, usize),
        query_len: usize,
        work: impl FnOnce(&dyn ports::TextCompressor) -> Result<T, outcome::Fault> + Send + 'static,
    ) -> Result<T, outcome::Fault> {
        for (what, len, limit) in [("text", text_len, limit), ("query", query_len, MAX_DOCUMENT)] {
            if len > limit {
                let message = format!("{what} is too long for the {who}; the limit is {limit} bytes");
                return Err(outcome::Fault::exhausted(message));
            }
        }
        let bytes = text_len + query_len;
        let port = Arc::clone(&self.facts.ports.text);
        if bytes <= MAX_INLINE_BYTES && WARM.load(Ordering::Relaxed) {
            return work(&*port);
        }
        let mut held = self.budget.reserve();
        if !held.take(bytes) {
            let message =
                format!("a text of {bytes} bytes for the {who} exceeds the memory budget of this call");
            return Err(outcome::Fault::exhausted(message).hint("Pass less text per call."));
        }
        let turn = TURNS.acquire(self.principal(), &self.facts.gate).await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = (turn, held);
            let done = work(&*port);
            WARM.store(true, Ordering::Relaxed);
            done
        });
        work.await.unwrap_or_else(|_| Err(outcome::Fault::internal(format!("the text {who} failed"))))
    }
}
