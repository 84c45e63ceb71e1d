//! Tells a document in short, without a model.
//!
//! What it is is decided first ([`kind`]); each kind says what there is to tell, in sections of lines; [`fit`] keeps
//! them within the budget. Rows (JSON, JSON Lines, tables) are read as nodes ([`document`]), their places are found
//! ([`profile`]) and measured ([`stats`]); what is unusual ([`unusual`]) makes the findings, tables and columns
//! ([`tables`], [`columns`], [`overview`]) the body, and rows that match the query or stand for the others ([`rows`]) the end. The same document
//! gives the same digest, byte for byte. A digest is an index and no replacement: whoever shows it keeps the document
//! within reach.

mod anomalies;
mod code;
mod columns;
mod diff;
pub(crate) mod document;
mod error_words;
mod errors;
mod fit;
mod html;
mod json;
pub(crate) mod kind;
mod line_templates;
mod lines;
mod listing;
mod log;
mod markdown;
mod measure;
mod overview;
mod profile;
mod prose;
#[cfg(test)]
mod questions;
mod row_names;
mod rows;
mod scan;
mod settings;
mod sql;
mod stats;
mod symbol;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod timestamp;
mod trace;
#[cfg(test)]
mod truth;
pub(crate) mod value;

use gatehouse_core::{
    outcome::Fault,
    ports::{
        TokenCounter,
        text::{DocumentDigest, TokenEncoding},
    },
};

use crate::BpeTokenCounter;
use kind::RecognizedText;

/// The smallest budget that can hold anything.
const MIN_BUDGET: usize = 64;

/// Bytes from which a document is counted on a thread of its own.
const MIN_THREADED_BYTES: usize = 64 << 10;

/// Findings that are given at most.
const MAX_FINDINGS: usize = 5;

/// Tells `text` within `budget` tokens. See [`gatehouse_core::ports::Text::digest`].
pub(crate) fn digest(text: &str, query: &str, budget: u32) -> Result<DocumentDigest, Fault> {
    let goal = budget as usize;
    let query = query.trim();
    let (tokens_in, kind, sections) = std::thread::scope(|scope| {
        // Counting a large document takes as long as understanding it, so the two go on at once.
        let count = || BpeTokenCounter.count(text, TokenEncoding::O200k);
        let aside = (text.len() >= MIN_THREADED_BYTES).then(|| scope.spawn(count));
        let recognised = RecognizedText::from_text(text);
        let sections = recognised.sections(text, query, goal);
        let tokens = match aside {
            Some(aside) => aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => count(),
        };
        (tokens, recognised.name(), sections)
    });
    let tokens_in = u32::try_from(tokens_in).unwrap_or(u32::MAX);
    let findings = |kept: &dyn Fn(usize) -> bool| -> Vec<String> {
        let lines = sections.first().map_or(&[][..], |section| &section.lines);
        let kept = lines.iter().enumerate().filter(|(at, _)| kept(*at));
        kept.map(|(_, line)| line.clone()).take(MAX_FINDINGS).collect()
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
    if goal < MIN_BUDGET {
        return Err(Fault::invalid(format!(
            "A budget of {budget} tokens is too small for a digest of {tokens_in} tokens."
        ))
        .hint(format!("Give at least {MIN_BUDGET}.")));
    }
    let fitted = fit::fit(&sections, goal);
    Ok(DocumentDigest {
        findings: findings(&|at| fitted.kept[0][at]),
        text: fitted.text,
        kind,
        tokens_in,
        tokens_out: fitted.tokens as u32,
        shortened: true,
    })
}
