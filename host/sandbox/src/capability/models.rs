//! `models`: the language model, the embedding model and token counts. Granted as `models`: each question may
//! cost money, and what is in it leaves the host.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    call::ProgressSink,
    capability::{Access, Capability, Grants},
    json, names, outcome,
    ports::{
        embed::EmbedFor,
        llm::{Progress, Prompt},
        text::Encoding,
    },
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        models::{self as wit, Completion, Embeddings, Host, Options, Purpose, Serving},
        types::Fault,
    },
    state::State,
};

/// The most bytes of one question, its schema included: more than any model reads.
const MAX_QUESTION: usize = 2 << 20;

/// The most texts that are embedded or counted at once.
const MAX_TEXTS: usize = 1_000;

/// The most bytes of them, all together.
const MAX_TEXT: usize = 4 << 20;

/// Counting that goes on at the same time, over all gates. What a call began ends after the call did.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Progress that comes faster than this is thinned out.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// The most characters of what a search is for, as progress shows it.
const MAX_QUERY: usize = 200;

/// The capability of one call.
pub(crate) struct Models {
    gate: Arc<str>,
    grants: Arc<Grants>,
    /// None while a gate describes itself.
    open: Option<Open>,
    limit: u32,
    left: u32,
}

/// What a running call has.
#[derive(Clone)]
struct Open {
    models: crate::Models,
    deadline: Instant,
    progress: Option<Arc<dyn ProgressSink>>,
}

impl Models {
    pub(super) fn new(facts: &CallFacts) -> Self {
        let open = |client: &super::Client| Open {
            models: facts.ports.models.clone(),
            deadline: client.deadline,
            progress: client.progress.clone(),
        };
        Self {
            gate: Arc::clone(&facts.gate),
            grants: Arc::clone(&facts.grants),
            open: facts.call.as_ref().map(open),
            limit: facts.limits.model_calls,
            left: facts.limits.model_calls,
        }
    }

    /// The one way to the models: through the grant.
    fn granted(&self) -> Result<Open, outcome::Fault> {
        self.grants.require(&self.gate, Capability::Models, Access::Full)?;
        let describing = || outcome::Fault::denied("A gate that describes itself has no access to models.");
        self.open.clone().ok_or_else(describing)
    }

    /// The same, for a request to a model: there are only so many of them in a call.
    fn request(&mut self) -> Result<Open, outcome::Fault> {
        let open = self.granted()?;
        let Some(left) = self.left.checked_sub(1) else {
            return Err(outcome::Fault::exhausted(format!(
                "A call of gate '{}' may ask models {} times.",
                self.gate, self.limit
            ))
            .hint(format!(
                "Ask for less at once, or raise limits.model_calls under [gates.{}] in presets.toml.",
                self.gate
            )));
        };
        self.left = left;
        Ok(open)
    }
}

/// Tells the client how far an answer is, not too often, with a number that only grows.
struct ProgressReporter {
    sink: Option<Arc<dyn ProgressSink>>,
    steps: AtomicU64,
    last: Mutex<Option<Instant>>,
}

impl ProgressReporter {
    fn new(sink: Option<Arc<dyn ProgressSink>>) -> Self {
        Self { sink, steps: AtomicU64::new(0), last: Mutex::new(None) }
    }

    fn report(&self, step: Progress) {
        let Some(sink) = &self.sink else { return };
        let now = Instant::now();
        {
            let mut last = gatehouse_core::lock(&self.last);
            // A search is news; that there is more text is not, at this rate.
            let soon = last.is_some_and(|last| now - last < PROGRESS_INTERVAL);
            if soon && matches!(step, Progress::Writing(_)) {
                return;
            }
            *last = Some(now);
        }
        let message = match step {
            Progress::Searching(Some(query)) => {
                format!("searching the web: {}", names::quoted(&query, MAX_QUERY))
            }
            Progress::Searching(None) => "searching the web".to_owned(),
            Progress::Writing(characters) => format!("the model has written {characters} characters"),
        };
        sink.report(self.steps.fetch_add(1, Ordering::Relaxed) + 1, None, Some(message));
    }
}

impl Host for State {
    async fn complete(&mut self, prompt: String, options: Options) -> Result<Completion, Fault> {
        let open = self.capabilities.models.request()?;
        let prompt = asked(prompt, options, open.deadline)?;
        let reporter = ProgressReporter::new(open.progress);
        let begun = Instant::now();
        let answer = open.models.llm.complete(prompt, &|step| reporter.report(step)).await?;
        let (input, output) = answer.tokens.map_or((0, 0), |tokens| (tokens.input, tokens.output));
        tracing::info!(
            target: "gate",
            gate = &*self.capabilities.models.gate,
            model = answer.model,
            input_tokens = input,
            output_tokens = output,
            sources = answer.sources.len(),
            cut_short = answer.cut_short.is_some(),
            ms = begun.elapsed().as_millis() as u64,
            "a model answered"
        );
        Ok(answer.into())
    }

    async fn embed(&mut self, texts: Vec<String>, purpose: Purpose) -> Result<Embeddings, Fault> {
        let open = self.capabilities.models.request()?;
        bounded(&texts)?;
        let purpose = match purpose {
            Purpose::Query => EmbedFor::Query,
            Purpose::Document => EmbedFor::Document,
        };
        let embedder = open.models.embedder;
        let late = |_| {
            outcome::Fault::new(
                outcome::FaultKind::TimedOut,
                "The embedding model took longer than the call may.",
            )
        };
        let vectors =
            tokio::time::timeout_at(open.deadline, embedder.embed(&texts, purpose)).await.map_err(late)??;
        Ok(Embeddings { model: embedder.model().to_owned(), vectors })
    }

    async fn count_tokens(&mut self, texts: Vec<String>, encoding: wit::Encoding) -> Result<Vec<u32>, Fault> {
        let open = self.capabilities.models.granted()?;
        bounded(&texts)?;
        let encoding = match encoding {
            wit::Encoding::O200kBase => Encoding::O200k,
            wit::Encoding::Cl100kBase => Encoding::Cl100k,
        };
        let closed = |_| outcome::Fault::unavailable("The token counter is closing.");
        let turn = TURNS.acquire().await.map_err(closed)?;
        let tokens = open.models.tokens;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            texts.iter().map(|text| tokens.count(text, encoding) as u32).collect()
        });
        work.await.map_err(|_| outcome::Fault::internal("The token counter failed.").into())
    }

    async fn which(&mut self) -> Result<Serving, Fault> {
        let models = self.capabilities.models.granted()?.models;
        Ok(Serving {
            llm: models.llm.model().map(str::to_owned),
            web_search: models.llm.web_model().map(str::to_owned),
            embedding: models.embedder.model().to_owned(),
        })
    }
}

/// A question, checked.
fn asked(text: String, options: Options, deadline: Instant) -> Result<Prompt, outcome::Fault> {
    let size = text.len()
        + options.system.as_ref().map_or(0, String::len)
        + options.schema.as_ref().map_or(0, String::len);
    if size > MAX_QUESTION {
        return Err(outcome::Fault::exhausted(format!(
            "A question to a model may have {MAX_QUESTION} bytes; this one has {size}."
        )));
    }
    if text.trim().is_empty() {
        return Err(outcome::Fault::invalid("The question to the model is empty."));
    }
    if let Some(temperature) = options.temperature.filter(|t| !(0.0..=2.0).contains(t)) {
        return Err(outcome::Fault::invalid(format!("A temperature is 0 to 2, not {temperature}.")));
    }
    let schema = match options.schema.as_deref().map(json::parse) {
        None => None,
        Some(Ok(Value::Object(schema))) => Some(schema),
        Some(Ok(_)) => return Err(outcome::Fault::invalid("The schema of the answer is not a JSON object.")),
        Some(Err(why)) => return Err(outcome::Fault::invalid(format!("The schema of the answer {why}."))),
    };
    Ok(Prompt {
        system: options.system,
        text,
        schema,
        max_tokens: options.max_tokens,
        temperature: options.temperature,
        web_search: options.web_search,
        depth: options.depth.into(),
        deadline: sooner(deadline, options.time_ms),
    })
}

/// When a question has to be over: with the call, or after the time that the gate gives it.
fn sooner(deadline: Instant, time_ms: Option<u64>) -> Instant {
    let own = time_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    own.map_or(deadline, |own| own.min(deadline))
}

fn bounded(texts: &[String]) -> Result<(), outcome::Fault> {
    let bytes: usize = texts.iter().map(String::len).sum();
    if texts.len() > MAX_TEXTS || bytes > MAX_TEXT {
        return Err(outcome::Fault::exhausted(format!(
            "At most {MAX_TEXTS} texts of {MAX_TEXT} bytes in all at once; these are {} of {bytes}.",
            texts.len()
        )));
    }
    Ok(())
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
