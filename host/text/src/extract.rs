//! Shortens text to a token budget by dropping the parts that do not answer the query, without a model.
//!
//! The text is split into chunks ([`crate::layout`], [`crate::chunks`]). Chunks are ranked together with their headings
//! ([`rank`], or [`summary`] without a query), taken by rank while they fit, and printed in document order ([`keep`])
//! with a mark for each gap ([`mark`]).

mod keep;
mod mark;
mod part;
mod rank;
mod source_lines;
mod summary;
#[cfg(test)]
mod tests;
mod vectors;

use gatehouse_core::{
    outcome::Fault,
    page::MatchQuality,
    ports::{
        TextCompressor,
        text::{CompactText, DocumentDigest, TextExtract},
    },
};

pub(crate) use self::source_lines::with_lines;
use crate::{
    chunks::{Chunk, ChunkSizes, chunks},
    compact, digest,
    digest::cleaned_text::without_pictures,
    layout::{SpanKind, TextLayout},
    tokens,
};

/// Tokens per chunk. Measured together with the kernel of [`rank`].
const CHUNK_TOKENS: usize = 120;

const MIN_CHUNKS: usize = 8;
const MIN_CHUNK: usize = 24;

/// Minimum budget: one chunk and its gap marks.
const MIN_BUDGET: usize = 64;

/// Maximum share of the budget for a block that stays whole. With larger ones, few tables fill the budget, and the rows
/// that answer the query are in others: at 8,000 tokens, tables retained 0.46 of the answers, and 1.00 with this.
const MAX_BLOCK_SHARE: usize = 8;

const MAX_RANKED_HEADINGS: usize = 2;

#[derive(Debug, Clone, Copy, Default)]
pub struct Extractor;

impl TextCompressor for Extractor {
    fn count(&self, text: &str) -> u32 {
        u32::try_from(tokens::count(text)).unwrap_or(u32::MAX)
    }

    fn extract(&self, text: &str, query: &str, budget: u32) -> Result<TextExtract, Fault> {
        let tokens_in = self.count(text);
        let question = Some(query).filter(|query| !query.trim().is_empty());
        let fits = tokens_in <= budget;
        if !fits && (budget as usize) < MIN_BUDGET {
            return Err(Fault::invalid(format!(
                "a budget of {budget} tokens is too small to extract from {tokens_in} tokens"
            ))
            .hint(format!("Use at least {MIN_BUDGET} tokens.")));
        }
        let whole = |fit| {
            let text = text.to_owned();
            Ok(TextExtract { text, tokens_in, tokens_out: tokens_in, shortened: false, fit })
        };
        if fits && question.is_none() {
            return whole(None);
        }
        let budget = budget as usize;
        let visible_text = if fits { text.into() } else { without_pictures(text) };
        let layout = TextLayout::from_text(&visible_text);
        let sizes = ChunkSizes {
            prose: CHUNK_TOKENS.min((budget / MIN_CHUNKS).max(MIN_CHUNK)),
            block: (budget / MAX_BLOCK_SHARE).max(MIN_CHUNK),
        };
        let chunks = chunks(&visible_text, &layout, sizes);
        let ranked = RankedChunks::new(&visible_text, &layout, &chunks);
        let tokens: Vec<usize> = ranked.chunks.iter().map(|at| chunks[*at].tokens).collect();
        let ranking = question.map(|query| rank::ranks(&ranked.texts(), &tokens, query, budget));
        let named = question.is_some_and(|query| rank::names_heading(&visible_text, &layout, query));
        let fit = ranking.as_ref().map(|ranking| if named { MatchQuality::Names } else { ranking.fit });
        if fits {
            return whole(fit);
        }
        let ranks = ranking.and_then(|ranking| ranking.ranks);
        let ranks = ranks.unwrap_or_else(|| summary::ranks(&ranked.texts()));
        let ranks = ranked.spread(&ranks, chunks.len());
        let (text, tokens) = keep::ChunkSelection::fitting(&visible_text, &layout, &chunks, &ranks, budget);
        Ok(TextExtract { text, tokens_in, tokens_out: tokens as u32, shortened: true, fit })
    }

    fn compact(&self, text: &str) -> Option<CompactText> {
        compact::compact(text)
    }

    fn digest(&self, document: &str, query: &str, budget: u32) -> Result<DocumentDigest, Fault> {
        digest::digest(document, query, budget)
    }
}

/// The chunks to rank: all except headings with content.
struct RankedChunks {
    chunks: Vec<usize>,
    texts: Vec<String>,
}

impl RankedChunks {
    fn new(text: &str, layout: &TextLayout, chunks: &[Chunk]) -> Self {
        let leads = |at: usize| {
            let next = chunks.get(at + 1);
            chunks[at].kind == SpanKind::Heading
                && next.is_some_and(|next| layout.path(next.section).any(|h| Some(h) == chunks[at].section))
        };
        let ranked: Vec<usize> = (0..chunks.len()).filter(|at| !leads(*at)).collect();
        let with_headings = |at: &usize| {
            let chunk = &chunks[*at];
            let mut ranked = String::new();
            let own_headings = usize::from(chunk.kind == SpanKind::Heading);
            for heading in layout.path(chunk.section).skip(own_headings).take(MAX_RANKED_HEADINGS) {
                let heading = &layout.headings[heading];
                ranked.push_str(&mark::name(&text[heading.start..heading.end], CHUNK_TOKENS));
                ranked.push('\n');
            }
            ranked + &text[chunk.start..chunk.end]
        };
        let texts = ranked.iter().map(with_headings).collect();
        Self { chunks: ranked, texts }
    }

    fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }

    fn spread(&self, ranks: &[f64], chunks: usize) -> Vec<Option<f64>> {
        let mut chunk_ranks = vec![None; chunks];
        self.chunks.iter().zip(ranks).for_each(|(at, rank)| chunk_ranks[*at] = Some(*rank));
        chunk_ranks
    }
}
