//! Makes text fit a token budget by leaving out what does not answer the query, without a model.
//!
//! Chunks of about 120 tokens are ranked ([`rank`]; [`summary`] where there is no query), taken by rank
//! while they fit, and printed in the order of the document with a mark for each gap ([`keep`]).

mod keep;
mod rank;
mod summary;
#[cfg(test)]
mod tests;
mod vectors;

use gatehouse_core::{
    outcome::Fault,
    ports::{
        Text, TokenCounter,
        text::{Digest, Encoding, Extract},
    },
};

use crate::{Tokens, chunks::chunks, digest};

/// Tokens per chunk. Measured together with the kernel of [`rank`].
const CHUNK: usize = 120;

/// Chunks that a budget should hold at least, and the fewest tokens of one.
const HELD: usize = 8;
const MIN_CHUNK: usize = 24;

/// The smallest budget that can hold a chunk and its gap marks.
const MIN_BUDGET: usize = 64;

/// The extractor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractor;

impl Text for Extractor {
    fn extract(&self, text: &str, query: &str, budget: u32) -> Result<Extract, Fault> {
        let budget = budget as usize;
        let whole = Tokens.count(text, Encoding::O200k);
        let tokens_in = whole as u32;
        if whole <= budget {
            return Ok(Extract { text: text.into(), tokens_in, tokens_out: tokens_in, shortened: false });
        }
        if budget < MIN_BUDGET {
            return Err(Fault::invalid(format!(
                "A budget of {budget} tokens is too small to extract from {whole} tokens."
            ))
            .hint(format!("Give at least {MIN_BUDGET}.")));
        }
        let chunks = chunks(text, CHUNK.min((budget / HELD).max(MIN_CHUNK)), &Tokens);
        let pieces: Vec<&str> = chunks.iter().map(|c| &text[c.start..c.end]).collect();
        let asked = Some(query).filter(|query| !query.trim().is_empty());
        let ranks = asked.and_then(|query| rank::ranks(&pieces, query, budget));
        let ranks = ranks.unwrap_or_else(|| summary::ranks(&pieces));
        let (text, tokens) = keep::Selection::fitting(text, &chunks, &ranks, budget);
        Ok(Extract { text, tokens_in, tokens_out: tokens as u32, shortened: true })
    }

    fn digest(&self, document: &str, query: &str, budget: u32) -> Result<Digest, Fault> {
        digest::digest(document, query, budget)
    }
}
