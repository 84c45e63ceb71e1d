//! A document made to fit: whole where it does, else shortened by the model, by the extractor, or by both.

use gatehouse_sdk::{Fault, documents::Fit, text};

use crate::{BudgetEncoding, Params, model};

/// Hundredths of the budget that are used at least.
const MIN_USED_PERCENT: u32 = 95;

/// Times that a budget is corrected until the count in the preset's vocabulary fits.
const MAX_CORRECTIONS: u32 = 6;

/// What the extractor's part is parted by from the model's.
const VERBATIM_SEPARATOR: &str = "\n\n---\nFrom the document itself:\n\n";

/// The smallest rest of a budget that the extractor is asked for.
const MIN_EXTRACT_TOKENS: u32 = 96;

/// A document that is to fit.
pub(crate) struct Request<'a> {
    pub(crate) params: &'a Params,
    pub(crate) query: &'a str,
    /// What the caller is doing; may be empty.
    pub(crate) context: &'a str,
    /// Tokens (o200k_base) of the whole document.
    pub(crate) tokens: u32,
    /// Milliseconds that are left of the call.
    pub(crate) time_ms: u64,
}

impl Request<'_> {
    /// What is looked for in the document.
    pub(crate) fn question(&self) -> String {
        format!("{}\n{}", self.query, self.context).trim().to_owned()
    }
}

/// A document that fits.
pub(crate) struct FittedDocument {
    pub(crate) text: String,
    pub(crate) tokens: u32,
    /// Of the whole, where it was shortened.
    pub(crate) original_tokens: Option<u32>,
    pub(crate) method: String,
    pub(crate) notes: Vec<String>,
}

/// The document within the budget.
pub(crate) fn fit_document(request: &Request<'_>, document: &str) -> Result<FittedDocument, Fault> {
    let whole = match request.params.encoding {
        BudgetEncoding::O200k => request.tokens,
        BudgetEncoding::Cl100k => request.params.count(document)?,
    };
    let budget = request.params.budget();
    if whole <= budget {
        let (text, method) = (document.to_owned(), "whole".to_owned());
        return Ok(FittedDocument { text, tokens: whole, original_tokens: None, method, notes: Vec::new() });
    }
    let mut notes = Vec::new();
    if request.params.use_llm {
        match model::condense(request, document) {
            Ok(Some(written)) => return with_extract(request, document, whole, written),
            Ok(None) => {}
            Err(why) => {
                notes.push(format!("The language model did not shorten it ({why}); the extractor did."))
            }
        }
    }
    let (text, tokens, off_topic) = extract(request, document, budget)?;
    notes.extend(off_topic);
    Ok(FittedDocument { text, tokens, original_tokens: Some(whole), method: "extractive".into(), notes })
}

/// What the model wrote, and what it left of the budget filled from the document itself.
fn with_extract(
    request: &Request<'_>,
    document: &str,
    whole: u32,
    written: model::CondensedText,
) -> Result<FittedDocument, Fault> {
    let budget = request.params.budget();
    let mut text = written.text;
    let mut tokens = request.params.count(&text)?;
    let mut notes = written.notes;
    let rest = budget.saturating_sub(tokens + request.params.count(VERBATIM_SEPARATOR)?);
    if tokens * 100 < budget * MIN_USED_PERCENT && rest >= MIN_EXTRACT_TOKENS {
        notes.push(format!(
            "{tokens} tokens were written by the model and checked against the document; the rest is the document's own text."
        ));
        let (filler, _, _) = extract(request, document, rest)?;
        let both = format!("{text}{VERBATIM_SEPARATOR}{filler}");
        let count = request.params.count(&both)?;
        if count <= budget {
            (text, tokens) = (both, count);
        }
    }
    Ok(FittedDocument { text, tokens, original_tokens: Some(whole), method: written.model, notes })
}

/// The extractor's text within so many tokens of the preset's vocabulary, and what to say of it.
fn extract(
    request: &Request<'_>,
    document: &str,
    budget: u32,
) -> Result<(String, u32, Option<String>), Fault> {
    // The extractor counts in o200k. Where the preset counts otherwise, the ratio is found by trying.
    let mut asked = budget;
    let mut best: Option<(String, u32)> = None;
    let mut off_topic = false;
    for _ in 0..MAX_CORRECTIONS {
        let extract = text::extract(document, &request.question(), asked)?;
        off_topic = extract.fit == Some(Fit::Nothing);
        let tokens = request.params.count(&extract.text)?;
        let enough = tokens <= budget && tokens * 100 >= budget * MIN_USED_PERCENT;
        if tokens <= budget && best.as_ref().is_none_or(|(_, most)| tokens > *most) {
            best = Some((extract.text, tokens));
        }
        if enough {
            break;
        }
        let scaled = u64::from(asked) * u64::from(budget) * 98 / 100 / u64::from(tokens.max(1));
        asked = u32::try_from(scaled).unwrap_or(budget).max(MIN_EXTRACT_TOKENS);
    }
    let (text, tokens) = best.ok_or_else(|| {
        Fault::internal(format!("the extractor found nothing of the document that fits {budget} tokens"))
    })?;
    let note = "Nothing in the document answers the query; what is kept is central to it.";
    Ok((text, tokens, off_topic.then(|| note.to_owned())))
}
