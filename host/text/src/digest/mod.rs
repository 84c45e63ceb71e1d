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
#[cfg(test)]
mod tests;
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
use document::Parsed;
use fit::Section;
use profile::Place;
use stats::Stats;
use unusual::Odd;

/// The smallest budget that can hold anything.
const MIN_BUDGET: usize = 64;

/// A digest takes at most this share of the document, however large the budget: what costs more is no
/// digest.
const SHARE: usize = 4;

/// But this much is worth having.
const WORTH: usize = 256;

/// Bytes from which a document is counted on a thread of its own.
const LARGE: usize = 64 << 10;

/// Findings are three to five where the budget allows.
const FINDINGS: std::ops::RangeInclusive<usize> = 3..=5;

/// Characters of the longest finding.
const LONGEST: usize = 360;

/// Tells `text` within `budget` tokens. See [`gatehouse_core::ports::Text::digest`].
pub(crate) fn digest(text: &str, query: &str, budget: u32) -> Result<Digest, Fault> {
    let budget = budget as usize;
    let document = Parsed::read(text).map_err(|e| {
        Fault::invalid(format!("The document is no JSON: byte {} should be {}.", e.at, e.wanted))
            .hint("Use 'extract' for text that is not JSON.")
    })?;
    let (tokens_in, look) = std::thread::scope(|scope| {
        // Counting a large document takes as long as understanding it, so the two go on at once.
        let count = || Tokens.count(text, Encoding::O200k);
        let aside = (text.len() >= LARGE).then(|| scope.spawn(count));
        let look = Look::at(&document);
        let tokens = match aside {
            Some(aside) => aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => count(),
        };
        (tokens, look)
    });
    let mut told: Vec<String> = look.odd.iter().map(|odd| sentence(&odd.text)).collect();
    let rest = told.split_off(told.len().min(FINDINGS.end() - 1));
    let facts = columns::overview(&document, &look.places, &look.stats, &look.largest);
    // What stands out comes first, and at least one sentence tells what it stands out from.
    let missing = (told.len() + 1).max(*FINDINGS.start()) - told.len();
    told.extend(facts.iter().take(missing).map(|fact| sentence(fact)));
    if tokens_in <= budget {
        let (text, tokens) = (text.to_owned(), tokens_in as u32);
        return Ok(Digest { text, findings: told, tokens_in: tokens, tokens_out: tokens, shortened: false });
    }
    if budget < MIN_BUDGET {
        return Err(Fault::invalid(format!(
            "A budget of {budget} tokens is too small for a digest of {tokens_in} tokens."
        ))
        .hint(format!("Give at least {MIN_BUDGET}.")));
    }
    let goal = budget.min((tokens_in / SHARE).max(WORTH));
    let sections = look.sections(&document, query.trim(), goal, told, rest);
    let fitted = fit::fit(&sections, goal);
    let kept = sections[0].lines.iter().zip(&fitted.kept[0]).filter(|(_, kept)| **kept);
    Ok(Digest {
        findings: kept.map(|(line, _)| line.clone()).collect(),
        text: fitted.text,
        tokens_in: tokens_in as u32,
        tokens_out: fitted.tokens as u32,
        shortened: true,
    })
}

/// What is known of a document before anything is told.
struct Look {
    places: Vec<Place>,
    stats: Vec<Stats>,
    /// The places of the largest tables.
    largest: Vec<usize>,
    odd: Vec<Odd>,
}

impl Look {
    fn at(document: &Parsed<'_>) -> Self {
        let places = profile::places(document);
        let stats: Vec<Stats> = places.iter().map(|place| Stats::of(document, &place.values)).collect();
        let largest = rows::largest(document, &places);
        let odd = unusual::unusual(document, &places, &stats);
        Self { places, stats, largest, odd }
    }

    /// All that there is to tell, in the order of the digest.
    fn sections(
        &self,
        document: &Parsed<'_>,
        query: &str,
        goal: usize,
        findings: Vec<String>,
        rest: Vec<String>,
    ) -> [Section; 7] {
        let Self { places, stats, largest, .. } = self;
        let matches =
            if query.is_empty() { Vec::new() } else { rows::matching(document, query, goal * 35 / 100) };
        let columns = columns::columns(document, places, stats, largest);
        let samples = rows::samples(document, places, goal * 18 / 100);
        [
            Section { title: "", share: 35, lines: findings },
            Section { title: "Rows that match the query:", share: 40, lines: matches },
            Section { title: "Tables:", share: 20, lines: columns::tables(places) },
            Section { title: "Single values:", share: 10, lines: columns::singles(document, places) },
            Section { title: "Columns:", share: 25, lines: columns },
            Section { title: "Also unusual:", share: 15, lines: rest },
            Section { title: "Sample rows:", share: 20, lines: samples },
        ]
    }
}

/// A finding as a sentence of bounded length.
fn sentence(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
