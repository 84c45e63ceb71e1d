//! The state of a response while it is streamed, and the web pages that it cites.

use gatehouse_core::{
    Fault,
    names::quoted,
    ports::llm::{CompletionProgress, ModelCompletion, OnCompletionProgress, TokenUsage, WebSource},
};
use serde_json::Value;
use url::Url;

use super::{LlmRequest, schema};
use crate::provider::{AttemptFailure, Provider};

const MAX_TEXT: usize = 1 << 20;

/// Characters between progress reports.
const PROGRESS_STEP_CHARS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFlow {
    More,
    Done,
}

/// Result of one event. An error ends the attempt.
pub(crate) type EventResult = Result<StreamFlow, AttemptFailure>;

pub(crate) struct PartialCompletion<'a> {
    provider: &'a Provider,
    pub(crate) text: String,
    pub(crate) sources: WebSources,
    pub(crate) model: Option<String>,
    pub(crate) tokens: Option<TokenUsage>,
    pub(crate) cut_short: Option<String>,
    /// True once the provider has ended the text; later events only add metadata.
    pub(crate) finished: bool,
    written: usize,
    reported: usize,
    on_progress: OnCompletionProgress<'a>,
}

impl<'a> PartialCompletion<'a> {
    pub(crate) fn new(provider: &'a Provider, on_progress: OnCompletionProgress<'a>) -> Self {
        Self {
            provider,
            text: String::new(),
            sources: WebSources::default(),
            model: None,
            tokens: None,
            cut_short: None,
            finished: false,
            written: 0,
            reported: 0,
            on_progress,
        }
    }

    /// Returns `Done` if there is no room for more.
    pub(crate) fn write(&mut self, piece: &str) -> StreamFlow {
        let room = MAX_TEXT - self.text.len();
        let prefix = &piece[..piece.floor_char_boundary(room)];
        self.text.push_str(prefix);
        self.written += prefix.chars().count();
        if !prefix.is_empty() && (self.reported == 0 || self.written >= self.reported + PROGRESS_STEP_CHARS) {
            self.reported = self.written;
            (self.on_progress)(CompletionProgress::Writing(self.written));
        }
        if prefix.len() < piece.len() {
            self.cut_short = Some("it is longer than 1 MiB".to_owned());
            return StreamFlow::Done;
        }
        StreamFlow::More
    }

    /// Reports a web search. Some providers do not send the query.
    pub(crate) fn report_search(&self, query: Option<&str>) {
        (self.on_progress)(CompletionProgress::Searching(
            query.map(|query| quoted(query, 200)).filter(|query| !query.is_empty()),
        ));
    }

    pub(crate) fn set_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| !model.is_empty()) {
            self.model = Some(quoted(model, 128));
        }
    }

    /// Records token usage; a missing number counts as zero.
    pub(crate) fn record_usage(&mut self, input: Option<u64>, output: Option<u64>) {
        if input.is_some() || output.is_some() {
            self.tokens = Some(TokenUsage { input: input.unwrap_or(0), output: output.unwrap_or(0) });
        }
    }

    /// Ends the attempt because the model refused to answer.
    pub(crate) fn refused(&self, reason: &str) -> EventResult {
        Err(AttemptFailure::refused(self.provider, reason))
    }

    /// Ends the attempt with an error of the provider.
    pub(crate) fn failed(&self, status: u16, body: &Value) -> EventResult {
        Err(AttemptFailure::from_error_body(self.provider, status, body, None))
    }

    /// Ends the attempt because of what the provider did.
    pub(crate) fn malformed(&self, what: &str) -> EventResult {
        Err(AttemptFailure::internal(self.provider, what))
    }

    /// Records the provider's reason for a text that is not whole.
    pub(crate) fn cut_short_by(&mut self, reason: &str) {
        self.cut_short = Some(self.provider.quote(reason));
    }

    pub(crate) fn out_of_tokens(&mut self) {
        self.cut_short = Some("the token limit was reached".to_owned());
    }

    /// Succeeds if there is text, unless the model refused to answer.
    pub(crate) fn end_with_failure(&mut self, failure: AttemptFailure) -> Result<(), AttemptFailure> {
        if self.finished {
            return Ok(());
        }
        if self.text.trim().is_empty() || failure.is_refusal() {
            return Err(failure);
        }
        self.cut_short = Some(failure.fault.message);
        Ok(())
    }

    pub(crate) fn finish(mut self, request: &LlmRequest<'_>) -> Result<ModelCompletion, AttemptFailure> {
        let provider = self.provider;
        if self.text.trim().is_empty() {
            let Some(reason) = self.cut_short else {
                return Err(AttemptFailure::internal(provider, "returned no text"));
            };
            return Err(AttemptFailure::permanent(
                Fault::exhausted(format!("{} returned no text: {reason}", provider.subject()))
                    .hint("Raise max_tokens; reasoning counts too."),
            ));
        }
        // Report the final length.
        if self.reported < self.written {
            (self.on_progress)(CompletionProgress::Writing(self.written));
        }
        if request.prompt.schema.is_some()
            && self.cut_short.is_none()
            && let Some(object) = schema::object_in(&self.text)
            && object.len() < self.text.len()
        {
            self.text = object.to_owned();
        }
        let model = self.model.as_deref().unwrap_or(request.model);
        Ok(ModelCompletion {
            model: provider.model(model),
            sources: self.sources.list(),
            text: self.text,
            tokens: self.tokens,
            cut_short: self.cut_short,
        })
    }
}

/// Maximum pages. Pages that were only read are dropped first.
const MAX_SOURCES: usize = 64;

const MAX_URL: usize = 2048;

const MAX_TITLE: usize = 300;

/// Web pages in order of mention, with cited ones first: absolute http(s) URLs without duplicates.
#[derive(Debug, Default)]
pub(crate) struct WebSources {
    quoted: Vec<WebSource>,
    read: Vec<WebSource>,
}

impl WebSources {
    pub(crate) fn quoted(&mut self, url: Option<&str>, title: Option<&str>) {
        add(&mut self.quoted, url, title);
    }

    pub(crate) fn read(&mut self, url: Option<&str>, title: Option<&str>) {
        add(&mut self.read, url, title);
    }

    fn list(self) -> Vec<WebSource> {
        let mut sources = self.quoted;
        for WebSource { url, title } in self.read {
            add(&mut sources, Some(&url), title.as_deref());
        }
        sources
    }
}

fn add(list: &mut Vec<WebSource>, url: Option<&str>, title: Option<&str>) {
    let Some(url) = url.and_then(web) else { return };
    let title = title.map(|title| quoted(title.trim(), MAX_TITLE)).filter(|title| !title.is_empty());
    match list.iter().position(|source| source.url == url) {
        Some(known) => list[known].title = list[known].title.take().or(title),
        None if list.len() < MAX_SOURCES => list.push(WebSource { url, title }),
        None => {}
    }
}

/// Parses a web URL and returns its canonical form.
fn web(text: &str) -> Option<String> {
    if text.len() > MAX_URL {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    (plain && web && url.as_str().len() <= MAX_URL).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_addresses_of_the_web_each_once() {
        let mut sources = WebSources::default();
        sources.read(Some("https://a.example/read"), Some("Read"));
        sources.quoted(Some("HTTPS://A.example:443/x"), None);
        sources.quoted(Some("https://a.example/x"), Some(" A\ntitle "));
        sources.quoted(Some("http://b.example"), None);
        sources.read(Some("http://b.example/"), Some("B"));
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL));
        for bad in
            ["javascript:alert(1)", "/relative", "file:///etc/passwd", "https://u:p@a.example", "", &long]
        {
            sources.quoted(Some(bad), Some("bad"));
        }
        let found: Vec<_> = sources.list().into_iter().map(|source| (source.url, source.title)).collect();
        let page = |url: &str, title: &str| (url.to_owned(), Some(title.to_owned()));
        let expected = [
            page("https://a.example/x", "A title"),
            page("http://b.example/", "B"),
            page("https://a.example/read", "Read"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut sources = WebSources::default();
        (0..1000).for_each(|n| sources.read(Some(&format!("https://a.example/{n}")), None));
        (0..40).for_each(|n| sources.quoted(Some(&format!("https://b.example/{n}")), None));
        let list = sources.list();
        assert_eq!(list.len(), MAX_SOURCES);
        assert_eq!(list[0].url, "https://b.example/0");
        assert_eq!(list[40].url, "https://a.example/0");
    }
}
