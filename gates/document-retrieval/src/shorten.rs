//! Shortens a document to a budget: by the model, the extractor, or both.

use gatehouse_sdk::{Fault, documents::Fit, text};

use crate::{Params, model};

const MIN_USED_PERCENT: u32 = 95;

/// Attempts to match a budget in the preset's vocabulary.
const MAX_CORRECTIONS: u32 = 6;

const VERBATIM_SEPARATOR: &str = "\n\n---\nFrom the document itself:\n\n";

/// Minimum tokens to quote after a model's text.
const MIN_FILLER_TOKENS: u32 = 96;

/// Minimum budget of the extractor.
pub(crate) const MIN_EXTRACT_TOKENS: u32 = 64;

/// Name of the method without a model.
pub(crate) const EXTRACTIVE: &str = "extractive";

pub(crate) const OFF_TOPIC: &str = "Nothing in the document answers the query; these are its central parts.";

pub(crate) struct Request<'a> {
    pub(crate) params: &'a Params,
    /// Tokens for the text of the document.
    pub(crate) budget: u32,
    pub(crate) query: &'a str,
    /// The caller's task; may be empty.
    pub(crate) context: &'a str,
    pub(crate) time_ms: u64,
}

impl Request<'_> {
    pub(crate) fn question(&self) -> String {
        format!("{}\n{}", self.query, self.context).trim().to_owned()
    }
}

pub(crate) struct FittedDocument {
    pub(crate) text: String,
    pub(crate) tokens: u32,
    pub(crate) method: String,
    pub(crate) notes: Vec<String>,
}

/// Shortens a document that exceeds the budget.
pub(crate) fn shorten_document(request: &Request<'_>, document: &str) -> Result<FittedDocument, Fault> {
    let budget = request.budget;
    let mut notes = Vec::new();
    if request.params.use_llm {
        match model::condense(request, document) {
            Ok(Some(written)) => return with_extract(request, document, written),
            Ok(None) => {}
            Err(reason) => {
                notes.push(format!("The language model did not shorten it ({reason}); the extractor did."))
            }
        }
    }
    let (text, tokens, off_topic) = extract(request, document, budget)?;
    notes.extend(off_topic);
    Ok(FittedDocument { text, tokens, method: EXTRACTIVE.into(), notes })
}

/// Fills the budget that the model left with text from the document.
fn with_extract(
    request: &Request<'_>,
    document: &str,
    written: model::CondensedText,
) -> Result<FittedDocument, Fault> {
    let budget = request.budget;
    let mut text = written.text;
    let mut tokens = request.params.count(&text)?;
    let mut notes = written.notes;
    let rest = budget.saturating_sub(tokens + request.params.count(VERBATIM_SEPARATOR)?);
    if tokens * 100 < budget * MIN_USED_PERCENT && rest >= MIN_FILLER_TOKENS {
        notes.push(format!(
            "The model wrote {tokens} tokens, which were checked against the document; the rest is quoted from it."
        ));
        let (filler, _, _) = extract(request, document, rest)?;
        let both = format!("{text}{VERBATIM_SEPARATOR}{filler}");
        let count = request.params.count(&both)?;
        if count <= budget {
            (text, tokens) = (both, count);
        }
    }
    Ok(FittedDocument { text, tokens, method: written.model, notes })
}

/// Extracts at most `budget` tokens. Also returns their count, and a note if nothing in the document answers the query.
fn extract(
    request: &Request<'_>,
    document: &str,
    budget: u32,
) -> Result<(String, u32, Option<String>), Fault> {
    // The extractor counts in o200k; find the ratio to other vocabularies by trial.
    let mut target_tokens = budget;
    let mut best: Option<(String, u32)> = None;
    let mut off_topic = false;
    for _ in 0..MAX_CORRECTIONS {
        let extract = text::extract(document, &request.question(), target_tokens)?;
        off_topic = extract.fit == Some(Fit::Nothing);
        let tokens = request.params.count(&extract.text)?;
        let enough = tokens <= budget && tokens * 100 >= budget * MIN_USED_PERCENT;
        if tokens <= budget && best.as_ref().is_none_or(|(_, best_tokens)| tokens > *best_tokens) {
            best = Some((extract.text, tokens));
        }
        if enough {
            break;
        }
        let scaled = u64::from(target_tokens) * u64::from(budget) * 98 / 100 / u64::from(tokens.max(1));
        target_tokens = u32::try_from(scaled).unwrap_or(budget).max(MIN_EXTRACT_TOKENS);
    }
    let (text, tokens) = best.ok_or_else(|| {
        Fault::internal(format!("the extractor found no part of the document that fits in {budget} tokens"))
            .hint("Raise budget_tokens in the preset.")
    })?;
    Ok((text, tokens, off_topic.then(|| OFF_TOPIC.to_owned())))
}
