//! Tells a JSON document by its shape, without a model.
//!
//! The text is read ([`document`]), its places are found ([`profile`]) and measured ([`stats`]); what is
//! unusual ([`unusual`]) makes the findings, tables and columns ([`columns`]) the body, and rows that match
//! the query or stand for the others ([`rows`]) the end. [`fit`] keeps it within the budget. The same
//! document gives the same digest, byte for byte. A digest is an index and no replacement: whoever shows
//! it keeps the document within reach.

mod columns;
mod document;
mod fit;
mod measure;
mod profile;
mod rows;
mod scan;
mod stats;
mod unusual;
mod value;
mod words;

use gatehouse_core::{
    outcome::Fault,
    ports::{
        TokenCounter,
        text::{Digest, Encoding},
    },
};

use crate::Tokens;
use document::Document;
use fit::Section;
use stats::Stats;

/// The smallest budget that can hold anything.
const MIN_BUDGET: usize = 64;

/// A digest takes at most this share of the document, however large the budget: what costs more is no
/// digest.
const SHARE: usize = 4;

/// But this much is worth having.
const WORTH: usize = 256;

/// Findings are three to five where the budget allows.
const FINDINGS: std::ops::RangeInclusive<usize> = 3..=5;

/// Characters of the longest finding.
const LONGEST: usize = 360;

/// Tells `document` within `budget` tokens. See [`gatehouse_core::ports::Text::digest`].
pub(crate) fn digest(text: &str, query: &str, budget: u32) -> Result<Digest, Fault> {
    let budget = budget as usize;
    let document = Document::read(text).map_err(|e| {
        Fault::invalid(format!("The document is no JSON: byte {} should be {}.", e.at, e.wanted))
            .hint("Use 'extract' for text that is not JSON.")
    })?;
    let tokens_in = Tokens.count(text, Encoding::O200k);
    let whole = tokens_in <= budget;
    if budget < MIN_BUDGET && !whole {
        return Err(Fault::invalid(format!(
            "A budget of {budget} tokens is too small for a digest of {tokens_in} tokens."
        ))
        .hint(format!("Give at least {MIN_BUDGET}.")));
    }
    let places = profile::places(&document);
    let stats: Vec<Stats> = places.iter().map(|place| Stats::of(&document, &place.values)).collect();
    let largest = rows::largest(&document, &places);
    let odd = unusual::unusual(&document, &places, &stats);
    let mut told: Vec<String> = odd.into_iter().map(|odd| sentence(&odd.text)).collect();
    let rest = told.split_off(told.len().min(FINDINGS.end() - 1));
    let facts = columns::overview(&document, &places, &stats, &largest);
    // What stands out comes first, and at least one sentence tells what it stands out from.
    let wanted = (told.len() + 1).max(*FINDINGS.start());
    let missing = wanted.saturating_sub(told.len());
    told.extend(facts.iter().take(missing).map(|fact| sentence(fact)));
    if whole {
        let tokens = tokens_in as u32;
        return Ok(Digest {
            text: text.to_owned(),
            findings: told,
            tokens_in: tokens,
            tokens_out: tokens,
            shortened: false,
        });
    }
    let goal = budget.min((tokens_in / SHARE).max(WORTH));
    let matches = match query.trim() {
        "" => Vec::new(),
        query => rows::matching(&document, query, goal * 35 / 100),
    };
    let sections = [
        Section { title: "", share: 35, lines: told },
        Section { title: "Rows that match the query:", share: 40, lines: matches },
        Section { title: "Tables:", share: 20, lines: columns::tables(&document, &places) },
        Section { title: "Single values:", share: 10, lines: columns::singles(&document, &places) },
        Section {
            title: "Columns:",
            share: 25,
            lines: columns::columns(&document, &places, &stats, &largest),
        },
        Section { title: "Also unusual:", share: 15, lines: rest },
        Section {
            title: "Sample rows:",
            share: 20,
            lines: rows::samples(&document, &places, goal * 18 / 100),
        },
    ];
    let fitted = fit::fit(&sections, goal);
    Ok(Digest {
        findings: sections[0]
            .lines
            .iter()
            .zip(&fitted.kept[0])
            .filter(|(_, kept)| **kept)
            .map(|(l, _)| l.clone())
            .collect(),
        tokens_in: tokens_in as u32,
        tokens_out: fitted.tokens as u32,
        text: fitted.text,
        shortened: true,
    })
}

/// A finding as a sentence of bounded length.
fn sentence(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
