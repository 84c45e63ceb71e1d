//! Summaries of results, by a model or the local digest.

use gatehouse_sdk::{Fault, text, text::DigestResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Request, cache, counters, model, semantic};

const EXTRACTIVE: &str = "extractive";

/// Tokens of a short form's metadata and note.
const FRAME_TOKENS: u32 = 130;

const MIN_DIGEST_TOKENS: u32 = 64;

/// Minimum tokens for prose: fewer hardly answer a question.
const MIN_PROSE_TOKENS: u32 = 700;

/// Kinds of prose, as digests name them.
pub(super) const PROSE: [&str; 3] = ["Markdown", "text", "HTML"];

const MAX_STORED: usize = 1_500;

const FINDING_PREFIX: &str = "- ";
const UNVERIFIED_PREFIX: &str = "~ ";
/// Next steps by a model, which earlier versions stored.
const INSIGHT_PREFIX: &str = "> ";
const METHOD_PREFIX: &str = "method: ";
const ASKED_PREFIX: &str = "asked: ";

/// The arguments are stored so that searches find them too.
const MAX_ASKED: usize = 300;

/// Summary as tools return it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSummary {
    /// Counted by the digest.
    key_findings: Vec<String>,
    /// Written by a language model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unverified: Vec<String>,
    /// Method: `extractive`, or the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
}

impl StoredSummary {
    /// Parses the output of [`Summary::to_stored`]; other texts become one finding.
    pub(crate) fn read(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.lines() {
            match (
                line.strip_prefix(FINDING_PREFIX),
                line.strip_prefix(UNVERIFIED_PREFIX),
                line.strip_prefix(METHOD_PREFIX),
            ) {
                (Some(finding), ..) => summary.key_findings.push(finding.to_owned()),
                (_, Some(sentence), _) => summary.unverified.push(sentence.to_owned()),
                (.., Some(method)) => summary.method = Some(method.to_owned()),
                _ if (line.starts_with(ASKED_PREFIX) || line.starts_with(INSIGHT_PREFIX))
                    && summary != Self::default() => {}
                _ => return Self { key_findings: vec![text.to_owned()], ..Self::default() },
            }
        }
        summary
    }

    pub(crate) fn to_one_line(&self) -> String {
        self.key_findings.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Facts counted by the digest. Like the body, they are recomputed from the result each time.
    #[serde(skip)]
    pub(crate) findings: Vec<String>,
    /// Sentences of a model, which are checked but can still be wrong.
    pub(crate) unverified: Vec<String>,
    /// `extractive`, or the model as `provider/model`.
    pub(crate) method: String,
    /// The local digest without its findings.
    #[serde(skip)]
    pub(crate) body: String,
    #[serde(skip)]
    pub(crate) tokens_in: u32,
    /// Source of the summary if it was reused.
    #[serde(skip)]
    pub(crate) cached: Option<CacheHit>,
}

/// How a reused summary was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CacheHit {
    /// The same result of the same call.
    Exact,
    /// A similar result, with the cosine of both questions.
    Semantic(f64),
}

impl Summary {
    pub(crate) fn new(unverified: Vec<String>, method: String) -> Self {
        Self { findings: Vec::new(), unverified, method, body: String::new(), tokens_in: 0, cached: None }
    }

    /// Formats the summary for the artifact, which searches use: one line per finding (`- …`) and per sentence of a
    /// model (`~ …`), then the arguments and the method, up to [`MAX_STORED`] characters.
    pub(crate) fn to_stored(&self, arguments: &str) -> String {
        let question: String = arguments.split_whitespace().collect::<Vec<_>>().join(" ");
        let question_line =
            match question.char_indices().nth(MAX_ASKED).map_or(&*question, |(end, _)| &question[..end]) {
                "" => String::new(),
                question => format!("{ASKED_PREFIX}{question}\n"),
            };
        let end = format!("{question_line}{METHOD_PREFIX}{}", self.method);
        let mut remaining = MAX_STORED.saturating_sub(end.chars().count());
        let findings = self.findings.iter().map(|line| (FINDING_PREFIX, line));
        let unverified = self.unverified.iter().map(|line| (UNVERIFIED_PREFIX, line));
        let mut text = String::new();
        for (mark, line) in unverified.chain(findings) {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let line: String = line.chars().take(remaining.saturating_sub(mark.len() + 1)).collect();
            if !line.is_empty() {
                remaining = remaining.saturating_sub(mark.len() + line.chars().count() + 1);
                text += &format!("{mark}{line}\n");
            }
        }
        text + &end
    }
}

pub(super) fn summarize(request: &Request<'_>) -> Result<Summary, Fault> {
    let llm = model::serving(&request.call.params);
    let written = llm.and_then(|llm| summary_of_model(request, &llm));
    let mut summary = written.unwrap_or_else(|| Summary::new(Vec::new(), EXTRACTIVE.into()));
    let local = summary.unverified.is_empty();
    let unverified: String = summary.unverified.iter().map(|line| format!("{line}\n")).collect();
    let used = FRAME_TOKENS + if local { 0 } else { text::count(&unverified)? };
    let digest_budget = request.budget.saturating_sub(used).max(MIN_DIGEST_TOKENS);
    let mut digest = text::digest(request.text, &request.query, digest_budget)?;
    if digest_budget < MIN_PROSE_TOKENS && PROSE.contains(&digest.kind.as_str()) {
        digest = text::digest(request.text, &request.query, MIN_PROSE_TOKENS)?;
    }
    if local {
        counters::add("local");
    }
    summary.tokens_in = digest.tokens_in;
    summary.body = body(&digest);
    summary.findings = digest.findings;
    Ok(summary)
}

/// Returns a stored summary or a new one by the model, which is then stored. `None` if it has no sentence; that is stored,
/// too, so that the model is not paid again for the same result.
fn summary_of_model(request: &Request<'_>, llm: &str) -> Option<Summary> {
    let key = (!request.several).then(|| cache::key(request, llm));
    let earlier = key.as_ref().and_then(|key| {
        let same = cache::get(key).map(|summary| Summary { cached: Some(CacheHit::Exact), ..summary });
        same.or_else(|| semantic::find(request, llm))
    });
    let summary = earlier.or_else(|| model::summary(request))?;
    if summary.unverified.is_empty() {
        if let (None, Some(key)) = (summary.cached, &key) {
            cache::set(key, &summary, request.call.params.ttl_ms());
        }
        return None;
    }
    counters::add(match summary.cached {
        None => "written",
        Some(CacheHit::Exact) => "hit.exact",
        Some(CacheHit::Semantic(_)) => "hit.semantic",
    });
    if let (None, Some(key)) = (summary.cached, &key) {
        cache::set(key, &summary, request.call.params.ttl_ms());
        semantic::remember(request, llm, &summary);
    }
    Some(summary)
}

/// Returns the digest without its findings, which the short form lists separately.
fn body(digest: &DigestResult) -> String {
    let mut rest = digest.text.as_str();
    for finding in &digest.findings {
        let line = rest.strip_prefix("- ").unwrap_or(rest);
        match line.strip_prefix(finding.as_str()).and_then(|after| after.strip_prefix('\n')) {
            Some(after) => rest = after,
            None => break,
        }
    }
    rest.trim().to_owned()
}
