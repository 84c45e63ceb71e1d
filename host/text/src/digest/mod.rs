//! Digests a document without a model. The same document always gives the same digest, byte for byte.
//!
//! [`kind`] detects the kind of the text, each kind returns sections of lines, and [`fit`] selects those that fit the
//! budget. Rows (JSON, JSON Lines, tables) are read as nodes ([`document`]) and grouped by place ([`profile`]) with
//! statistics ([`stats`]) and anomalies ([`anomalies`]). A digest does not replace the document, so callers must keep
//! that accessible.

mod anomalies;
pub(crate) mod cleaned_text;
mod code;
mod diff;
pub(crate) mod document;
mod errors;
mod fit;
mod html;
mod json;
mod json_form;
pub(crate) mod kind;
mod line_templates;
mod lines;
mod listing;
mod log;
mod markdown;
mod measure;
mod outcome;
mod profile;
mod row_names;
mod row_sampler;
mod rows;
mod scan;
mod settings;
mod severity;
mod sql;
mod stats;
mod symbol;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod timestamp;
mod trace;
pub(crate) mod value;

use gatehouse_core::{outcome::Fault, ports::text::DocumentDigest};

use crate::tokens;
use cleaned_text::{with_last_states, without_data};
use json_form::JsonForm;
use kind::{RecognizedText, TextSample};
pub use table::rows;

const MIN_BUDGET: usize = 64;

const MIN_THREADED_BYTES: usize = 64 << 10;

const MAX_FINDINGS: usize = 5;

/// See [`gatehouse_core::ports::TextCompressor::digest`].
pub(crate) fn digest(text: &str, query: &str, budget: u32) -> Result<DocumentDigest, Fault> {
    let max_tokens = budget as usize;
    let query = query.trim();
    let (tokens_in, kind, sections) = std::thread::scope(|scope| {
        // Counting a large document takes as long as analyzing it, so do both in parallel.
        let count = || tokens::count(text);
        let thread = (text.len() >= MIN_THREADED_BYTES).then(|| scope.spawn(count));
        let clean_text = without_data(with_last_states(text));
        let form = JsonForm::from_text(&clean_text, &TextSample::from_text(&clean_text));
        let of_form = form.and_then(|form| Some((form.kind, form.sections(query, max_tokens)?)));
        let (kind, sections) = match of_form {
            Some(of_form) => of_form,
            None => RecognizedText::from_text(&clean_text, query).sections(&clean_text, query, max_tokens),
        };
        let tokens = match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => count(),
        };
        (tokens, kind, sections)
    });
    let tokens_in = u32::try_from(tokens_in).unwrap_or(u32::MAX);
    let findings = |included: &dyn Fn(usize) -> bool| -> Vec<String> {
        let lines = sections.first().map_or(&[][..], |section| &section.lines);
        let lines = lines.iter().enumerate().filter(|(at, _)| included(*at));
        lines.map(|(_, line)| line.clone()).take(MAX_FINDINGS).collect()
    };
    if tokens_in <= budget {
        return Ok(DocumentDigest {
            text: text.to_owned(),
            findings: findings(&|_| true),
            kind,
            tokens_in,
            tokens_out: tokens_in,
            shortened: false,
        });
    }
    if max_tokens < MIN_BUDGET {
        return Err(Fault::invalid(format!(
            "a budget of {budget} tokens is too small for a digest of {tokens_in} tokens"
        ))
        .hint(format!("Use at least {MIN_BUDGET} tokens.")));
    }
    let fitted = fit::fit(&sections, max_tokens);
    Ok(DocumentDigest {
        findings: findings(&|at| fitted.kept[0][at]),
        text: fitted.text,
        kind,
        tokens_in,
        tokens_out: fitted.tokens as u32,
        shortened: true,
    })
}
