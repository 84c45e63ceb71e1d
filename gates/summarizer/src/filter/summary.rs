//! What a result says in short, whoever told it.

use gatehouse_sdk::{Fault, text, text::DigestResult};
use serde::{Deserialize, Serialize};

use super::{Request, cache, counters, model, semantic};

/// What the local digest is called where methods are told.
const EXTRACTIVE: &str = "extractive";

/// Tokens of a short form that are neither findings nor body: its metadata and its note.
const FRAME: u32 = 130;

/// The smallest budget of a digest.
const LEAST: u32 = 64;

/// Characters of the findings that are kept beside the artifact, for searches.
const TOLD: usize = 1_500;

/// What a result says in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) findings: Vec<String>,
    /// What follows from them for the reader; only a model tells any.
    #[serde(default)]
    pub(crate) insights: Vec<String>,
    /// `extractive`, or the model as `provider/model`.
    pub(crate) method: String,
    /// The body: what the local digest tells beside its findings. It is made anew from the result itself each time.
    #[serde(skip)]
    pub(crate) body: String,
    #[serde(skip)]
    pub(crate) tokens_in: u32,
    /// Which earlier summary this is.
    #[serde(skip)]
    pub(crate) cached: Option<Cached>,
}

/// Where an earlier summary was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cached {
    /// The same result of the same call.
    Exact,
    /// A result as good as the same, to a question with this cosine to the one asked.
    Semantic(f64),
}

impl Summary {
    /// What a model told, without the body.
    pub(crate) fn written(findings: Vec<String>, insights: Vec<String>, method: String) -> Self {
        Self { findings, insights, method, body: String::new(), tokens_in: 0, cached: None }
    }

    /// The findings as one text.
    pub(crate) fn told(&self) -> String {
        let all = self.findings.join(" ");
        all.char_indices().nth(TOLD).map_or(all.as_str(), |(end, _)| &all[..end]).to_owned()
    }
}

/// The summary of a result: an earlier one, the model's, or the local digest.
pub(super) fn of(request: &Request<'_>) -> Result<Summary, Fault> {
    let Some(llm) = model::serving(&request.call.params) else { return local(request) };
    let exact = (!request.several).then(|| cache::Key::of(request, &llm));
    let earlier = exact.as_ref().and_then(|exact| {
        let same = cache::get(exact).map(|found| Summary { cached: Some(Cached::Exact), ..found });
        same.or_else(|| semantic::find(request, &llm))
    });
    let mut summary = match earlier {
        Some(earlier) => earlier,
        None => match model::summary(request) {
            Some(written) => written,
            None => return local(request),
        },
    };
    match summary.cached {
        None => counters::add("written"),
        Some(Cached::Exact) => counters::add("hit.exact"),
        Some(Cached::Semantic(_)) => counters::add("hit.semantic"),
    }
    if let (None, Some(exact)) = (summary.cached, &exact) {
        cache::set(exact, &summary, request.call.params.ttl_ms());
        semantic::remember(request, &llm, &summary);
    }
    let told: String =
        summary.findings.iter().chain(&summary.insights).map(|line| format!("{line}\n")).collect();
    let left = request.budget.saturating_sub(FRAME + text::count(&told)?).max(LEAST);
    let digest = text::digest(request.text, &request.query, left)?;
    summary.tokens_in = digest.tokens_in;
    // The digest's own findings too: the model's were made for somebody who does not know the question.
    summary.body = digest.text;
    Ok(summary)
}

/// The local digest.
fn local(request: &Request<'_>) -> Result<Summary, Fault> {
    let budget = request.budget.saturating_sub(FRAME).max(LEAST);
    let digest = text::digest(request.text, &request.query, budget)?;
    counters::add("local");
    Ok(Summary {
        body: body(&digest),
        findings: digest.findings,
        insights: Vec::new(),
        method: EXTRACTIVE.into(),
        tokens_in: digest.tokens_in,
        cached: None,
    })
}

/// A digest begins with its findings; here they stand before it already.
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
