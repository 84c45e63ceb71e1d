//! `models`: the language model, the embedding model and token counts. Requests may cost money, and their content
//! leaves the host. `text`: compressors that need no language model, always granted. Longer texts are processed on a
//! blocking thread.

use std::{
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    call::ProgressSink,
    capability::{AccessLevel, Capability},
    fair_semaphore::FairSemaphore,
    json, names,
    outcome::{Fault, FaultKind},
    ports::{
        self,
        embed::EmbeddingPurpose,
        llm::{CompletionProgress, ModelCompletion, ModelPrompt},
        text::TokenEncoding,
    },
};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, time::Instant};

use super::{Capabilities, GrantedAccess, object};
use crate::limits::take_one;

/// Maximum bytes of a prompt with its schema; more than any model reads.
const MAX_QUESTION: usize = 2 << 20;

const MAX_TEXTS: usize = 1_000;

const MAX_TEXT: usize = 4 << 20;

/// Concurrent token counts, over all gates. A count continues after its call ends.
static COUNT_TURNS: Semaphore = Semaphore::const_new(2);

/// Minimum time between progress messages about writing; earlier ones are dropped.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum characters of a web search query in progress messages.
const MAX_QUERY: usize = 200;

impl Capabilities {
    pub(crate) fn models(&self) -> Result<&crate::ModelPorts, Fault> {
        Ok(&self.granted(Capability::Models, AccessLevel::Full)?.facts.ports.models)
    }

    /// Checks the grant and counts a request to a model.
    pub(super) fn model_request(&self, capability: Capability) -> Result<GrantedAccess<'_>, Fault> {
        let granted = self.granted(capability, AccessLevel::Full)?;
        let (left, limit) = (&self.model_requests_left, self.facts.limits.model_calls);
        take_one(left, &self.facts.gate, limit, "model requests", "model_calls")?;
        Ok(granted)
    }

    /// Sends a prompt to the language model, with `schema` (JSON) added. `time_ms` can shorten the deadline.
    pub(crate) async fn complete(
        &self,
        mut prompt: ModelPrompt,
        schema: Option<String>,
        time_ms: Option<u64>,
    ) -> Result<ModelCompletion, Fault> {
        let GrantedAccess { facts, call } = self.model_request(Capability::Models)?;
        prompt.schema = checked(&prompt, schema.as_deref())?;
        prompt.deadline = sooner(call.deadline.instant(), time_ms);
        let progress = ProgressReporter { sink: call.context.progress.clone(), last: Mutex::default() };
        let start = Instant::now();
        let prompt_bytes = prompt.text.len() + prompt.system.as_deref().map_or(0, str::len);
        let answer = facts.ports.models.llm.complete(prompt, &|step| progress.report(step)).await?;
        let (input, output) = answer.tokens.map_or((0, 0), |tokens| (tokens.input, tokens.output));
        match answer.tokens {
            Some(_) => call.context.notes.model_tokens.add(input + output),
            None => call.context.notes.model_tokens.add_bytes(prompt_bytes + answer.text.len()),
        }
        tracing::info!(
            target: "gate",
            gate = &*facts.gate,
            model = answer.model,
            input_tokens = input,
            output_tokens = output,
            sources = answer.sources.len(),
            cut_short = answer.cut_short.is_some(),
            ms = start.elapsed().as_millis() as u64,
            "a model answered"
        );
        Ok(answer)
    }

    /// Embeds texts. Returns the model's name and the vectors.
    pub(crate) async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<(String, Vec<Option<Vec<f32>>>), Fault> {
        let GrantedAccess { facts, call } = self.model_request(Capability::Models)?;
        bounded(texts)?;
        let embedder = &facts.ports.models.embedder;
        let late = |_| {
            Fault::new(
                FaultKind::TimedOut,
                "the embedding model did not finish before the deadline of the call",
            )
        };
        let vectors = tokio::time::timeout_at(call.deadline.instant(), embedder.embed(texts, purpose))
            .await
            .map_err(late)??;
        call.context.notes.model_tokens.add_bytes(texts.iter().map(String::len).sum());
        Ok((embedder.model().to_owned(), vectors))
    }

    pub(crate) async fn count_tokens(
        &self,
        texts: Vec<String>,
        encoding: TokenEncoding,
    ) -> Result<Vec<u32>, Fault> {
        let tokens = Arc::clone(&self.models()?.tokens);
        bounded(&texts)?;
        let closed = |_| Fault::unavailable("the token counter is closing");
        let turn = COUNT_TURNS.acquire().await.map_err(closed)?;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            texts.iter().map(|text| tokens.count(text, encoding) as u32).collect()
        });
        work.await.map_err(|_| Fault::internal("the token counter failed"))
    }
}

/// Reports the progress of a completion to the client at a limited rate, with increasing numbers.
struct ProgressReporter {
    sink: Option<Arc<dyn ProgressSink>>,
    /// Number and time of the last step.
    last: Mutex<(u64, Option<Instant>)>,
}

impl ProgressReporter {
    fn report(&self, step: CompletionProgress) {
        let Some(sink) = &self.sink else { return };
        let now = Instant::now();
        let mut last = gatehouse_core::lock(&self.last);
        // Searches are always reported; written text only at the limited rate.
        let soon = last.1.is_some_and(|last| now - last < PROGRESS_INTERVAL);
        if soon && matches!(step, CompletionProgress::Writing(_)) {
            return;
        }
        let number = last.0 + 1;
        *last = (number, Some(now));
        drop(last);
        let message = match step {
            CompletionProgress::Searching(Some(query)) => {
                format!("searching the web: {}", names::quoted(&query, MAX_QUERY))
            }
            CompletionProgress::Searching(None) => "searching the web".to_owned(),
            CompletionProgress::Writing(characters) => {
                format!("the model has written {characters} characters")
            }
        };
        sink.report(number as f64, None, Some(message));
    }
}

fn checked(prompt: &ModelPrompt, schema: Option<&str>) -> Result<Option<Map<String, Value>>, Fault> {
    let optional = [prompt.system.as_deref(), schema].into_iter().flatten();
    let size = prompt.text.len() + optional.map(str::len).sum::<usize>();
    if size > MAX_QUESTION {
        return Err(Fault::exhausted(format!("prompt is {size} bytes; the limit is {MAX_QUESTION}")));
    }
    if prompt.text.trim().is_empty() {
        return Err(Fault::invalid("the prompt is empty"));
    }
    if let Some(temperature) = prompt.temperature.filter(|t| !(0.0..=2.0).contains(t)) {
        return Err(Fault::invalid(format!("invalid temperature {temperature}: expected 0 to 2")));
    }
    schema.map(|schema| object("response schema", json::parse(schema)).map_err(Fault::invalid)).transpose()
}

/// Returns the earlier of the call's deadline and the gate's own time limit.
fn sooner(deadline: Instant, time_ms: Option<u64>) -> Instant {
    let limit = time_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    limit.map_or(deadline, |limit| limit.min(deadline))
}

fn bounded(texts: &[String]) -> Result<(), Fault> {
    let bytes: usize = texts.iter().map(String::len).sum();
    if texts.len() > MAX_TEXTS || bytes > MAX_TEXT {
        return Err(Fault::exhausted(format!(
            "{} texts with {bytes} bytes given; the limit is {MAX_TEXTS} texts with {MAX_TEXT} bytes",
            texts.len()
        )));
    }
    Ok(())
}

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
        work: impl FnOnce(&dyn ports::TextCompressor) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        for (what, len, limit) in [("text", text_len, limit), ("query", query_len, MAX_DOCUMENT)] {
            if len > limit {
                let message = format!("{what} is too long for the {who}; the limit is {limit} bytes");
                return Err(Fault::exhausted(message));
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
            return Err(Fault::exhausted(message).hint("Pass less text per call."));
        }
        let turn = TURNS.acquire(self.principal(), &self.facts.gate).await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = (turn, held);
            let done = work(&*port);
            WARM.store(true, Ordering::Relaxed);
            done
        });
        work.await.unwrap_or_else(|_| Err(Fault::internal(format!("the text {who} failed"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_ends_with_its_own_time_or_with_the_call() {
        let before = Instant::now();
        let deadline = before + Duration::from_secs(30);
        assert_eq!(sooner(deadline, None), deadline);
        let own = sooner(deadline, Some(8_000));
        let eight = Duration::from_secs(8);
        assert!(own >= before + eight && own <= Instant::now() + eight, "{own:?}");
        assert_eq!(sooner(deadline, Some(60_000)), deadline);
        assert_eq!(sooner(deadline, Some(u64::MAX)), deadline);
    }
}
