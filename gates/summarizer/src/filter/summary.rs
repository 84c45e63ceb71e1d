//! What a result says in short, whoever told it.

use gatehouse_sdk::{Fault, text, text::DigestResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Request, cache, counters, model, semantic};

/// What the local digest is called where methods are told.
const EXTRACTIVE: &str = "extractive";

/// Tokens of a short form that are neither findings nor body: its metadata and its note.
const FRAME_TOKENS: u32 = 130;

/// The smallest budget of a digest.
const MIN_DIGEST_TOKENS: u32 = 64;

/// Maximum characters of a summary as it is stored with the artifact.
const MAX_STORED: usize = 1_500;

const FINDING_PREFIX: &str = "- ";
const UNVERIFIED_PREFIX: &str = "~ ";
/// Next steps in a model's words, which earlier versions stored.
const INSIGHT_PREFIX: &str = "> ";
const METHOD_PREFIX: &str = "method: ";
const ASKED_PREFIX: &str = "asked: ";

/// Maximum characters of what was asked, as stored: a result is found by the words that it answers, too.
const MAX_ASKED: usize = 300;

/// A summary as tools return it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSummary {
    /// Counted by the digest.
    key_findings: Vec<String>,
    /// In a language model's words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unverified: Vec<String>,
    /// How it was made: `extractive`, or the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
}

impl StoredSummary {
    /// Reads what [`Summary::stored`] wrote. Other texts, of gates that store artifacts of their own, are one finding.
    pub(crate) fn read(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.lines() {
            match (
                line.strip_prefix(FINDING_PREFIX),
                line.strip_prefix(UNVERIFIED_PREFIX),
                line.strip_prefix(METHOD_PREFIX),
            ) {
                (Some(finding), ..) => summary.key_findings.push(finding.to_owned()),
                (_, Some(said), _) => summary.unverified.push(said.to_owned()),
                (.., Some(method)) => summary.method = Some(method.to_owned()),
                _ if (line.starts_with(ASKED_PREFIX) || line.starts_with(INSIGHT_PREFIX))
                    && summary != Self::default() => {}
                _ => return Self { key_findings: vec![text.to_owned()], ..Self::default() },
            }
        }
        summary
    }

    /// Returns the findings in one line.
    pub(crate) fn to_one_line(&self) -> String {
        self.key_findings.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What a result says in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// What the digest counted. It is made anew from the result itself each time, like the body.
    #[serde(skip)]
    pub(crate) findings: Vec<String>,
    /// Sentences of a model, which are held against the result and may be wrong all the same.
    pub(crate) unverified: Vec<String>,
    /// `extractive`, or the model as `provider/model`.
    pub(crate) method: String,
    /// The body: what the local digest tells beside its findings.
    #[serde(skip)]
    pub(crate) body: String,
    #[serde(skip)]
    pub(crate) tokens_in: u32,
    /// Which earlier summary this is.
    #[serde(skip)]
    pub(crate) cached: Option<CacheHit>,
}

/// Where an earlier summary was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CacheHit {
    /// The same result of the same call.
    Exact,
    /// A result as good as the same, to a question with this cosine to the one asked.
    Semantic(f64),
}

impl Summary {
    /// What a model told, without the digest.
    pub(crate) fn from_model(unverified: Vec<String>, method: String) -> Self {
        Self { findings: Vec::new(), unverified, method, body: String::new(), tokens_in: 0, cached: None }
    }

    /// Returns the summary as it is stored with the artifact: a line for each finding (`- …`) and each sentence of a model
    /// (`~ …`), then what was asked and the method. Searches go by this text. Lines that do not fit [`MAX_STORED`] are left out.
    pub(crate) fn to_stored(&self, asked: &str) -> String {
        let asked: String = asked.split_whitespace().collect::<Vec<_>>().join(" ");
        let asked = match asked.char_indices().nth(MAX_ASKED).map_or(&*asked, |(end, _)| &asked[..end]) {
            "" => String::new(),
            asked => format!("{ASKED_PREFIX}{asked}\n"),
        };
        let end = format!("{asked}{METHOD_PREFIX}{}", self.method);
        let mut left = MAX_STORED.saturating_sub(end.chars().count());
        let findings = self.findings.iter().map(|line| (FINDING_PREFIX, line));
        let unverified = self.unverified.iter().map(|line| (UNVERIFIED_PREFIX, line));
        let mut text = String::new();
        for (mark, line) in unverified.chain(findings) {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let line: String = line.chars().take(left.saturating_sub(mark.len() + 1)).collect();
            if !line.is_empty() {
                left = left.saturating_sub(mark.len() + line.chars().count() + 1);
                text += &format!("{mark}{line}\n");
            }
        }
        text + &end
    }
}

/// The summary of a result: an earlier one, the model's, or the local digest.
pub(super) fn summarize(request: &Request<'_>) -> Result<Summary, Fault> {
    let Some(llm) = model::serving(&request.call.params) else { return local_digest(request) };
    let exact = (!request.several).then(|| cache::SummaryKey::from_request(request, &llm));
    let earlier = exact.as_ref().and_then(|exact| {
        let same = cache::get(exact).map(|found| Summary { cached: Some(CacheHit::Exact), ..found });
        same.or_else(|| semantic::find(request, &llm))
    });
    let mut summary = match earlier {
        Some(earlier) => earlier,
        None => match model::summary(request) {
            Some(written) => written,
            None => return local_digest(request),
        },
    };
    match summary.cached {
        None => counters::add("written"),
        Some(CacheHit::Exact) => counters::add("hit.exact"),
        Some(CacheHit::Semantic(_)) => counters::add("hit.semantic"),
    }
    if let (None, Some(exact)) = (summary.cached, &exact) {
        cache::set(exact, &summary, request.call.params.ttl_ms());
        semantic::remember(request, &llm, &summary);
    }
    let told: String = summary.unverified.iter().map(|line| format!("{line}\n")).collect();
    let left = request.budget.saturating_sub(FRAME_TOKENS + text::count(&told)?).max(MIN_DIGEST_TOKENS);
    let digest = text::digest(request.text, &request.query, left)?;
    summary.tokens_in = digest.tokens_in;
    summary.body = body(&digest);
    summary.findings = digest.findings;
    Ok(summary)
}

/// The local digest.
fn local_digest(request: &Request<'_>) -> Result<Summary, Fault> {
    let budget = request.budget.saturating_sub(FRAME_TOKENS).max(MIN_DIGEST_TOKENS);
    let digest = text::digest(request.text, &request.query, budget)?;
    counters::add("local");
    Ok(Summary {
        body: body(&digest),
        findings: digest.findings,
        unverified: Vec::new(),
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
