//! What a client gets instead of a result, and what it asks for afterwards.

use anyhow::{Result, anyhow};
use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor};

use super::gold::{Asked, Searched};

/// Bytes below which a result stays as it is: the default of the gate that shortens.
const THRESHOLD: usize = 2_048;

/// When a result is digested, and when a lossless form is good enough.
#[derive(Clone, Copy)]
pub(super) struct Policy {
    /// As the report names it.
    pub(super) name: &'static str,
    /// Bytes below which there is no digest.
    digest_above: usize,
    /// Hundredths of its tokens that the lossless form of a result may take: of one below `digest_above`, of a larger one.
    lossless: [u32; 2],
}

/// The gate's own first, then what it could do instead.
pub(super) const POLICIES: [Policy; 4] = [
    Policy { name: "digest from 5 KB, lossless to 30 %", digest_above: 5_120, lossless: [60, 30] },
    Policy { name: "digest from 5 KB, lossless to 60 %", digest_above: 5_120, lossless: [60, 60] },
    Policy { name: "digest from 8 KB, lossless to 30 %", digest_above: 8_192, lossless: [60, 30] },
    Policy { name: "digest from 8 KB, lossless to 60 %", digest_above: 8_192, lossless: [60, 60] },
];

/// Tokens of a digest at most, and in hundredths of the result's.
const DIGEST: u32 = 1_200;
const SHARE: u32 = 25;

/// Tokens that a call takes besides its question and what it brings: its name, its other arguments, the frame.
const CALL: usize = 60;

/// Tokens that a call may bring.
const REPLY: u32 = 1_000;

/// A result in short.
pub(super) struct Short {
    pub(super) way: &'static str,
    pub(super) text: String,
    pub(super) tokens: usize,
}

/// A result as a client gets it.
pub(super) fn short(text: &str, raw: usize, policy: Policy) -> Result<Short> {
    let whole = || Short { way: "whole", text: text.to_owned(), tokens: raw };
    if text.len() < THRESHOLD {
        return Ok(whole());
    }
    let large = text.len() >= policy.digest_above;
    let most = policy.lossless[usize::from(large)];
    if let Some(compact) = Extractor.compact(text).filter(|c| c.tokens_out * 100 <= c.tokens_in * most) {
        return Ok(Short { way: "lossless", text: compact.text, tokens: compact.tokens_out as usize });
    }
    if !large {
        return Ok(whole());
    }
    let budget = DIGEST.min(u32::try_from(raw)? * SHARE / 100);
    let digest = Extractor.digest(text, "", budget).map_err(|fault| anyhow!("{fault}"))?;
    Ok(Short { way: digest.kind, text: digest.text, tokens: digest.tokens_out as usize })
}

/// The beginning of a result, as long as its short form.
pub(super) fn cut(text: &str, tokens: usize) -> &str {
    BpeTokenCounter.token_prefix(text, tokens, TokenEncoding::O200k)
}

/// The sentences and lines that an extract without a question keeps, as long as the short form.
pub(super) fn extract(text: &str, tokens: usize) -> Result<String> {
    let budget = u32::try_from(tokens.max(64))?;
    Ok(Extractor.extract(text, "", budget).map_err(|fault| anyhow!("{fault}"))?.text)
}

/// What it takes to answer a question that the short form does not answer: tokens, and whether at most two calls do.
///
/// A program in jq is taken for right where the short form names all that it has to name. Everything else asks for what
/// the question is about: first an extract, then a digest with the question.
pub(super) fn follow(text: &str, short: &Searched, asked: &Asked) -> Result<(usize, bool)> {
    let count = |text: &str| BpeTokenCounter.count(text, TokenEncoding::O200k);
    let named = |key: &String| short.names(key);
    if !asked.keys.is_empty() && asked.keys.iter().all(named) {
        return Ok((CALL + count(&asked.keys.join(" ")) + count(&asked.answer()), true));
    }
    let question = CALL + count(&asked.q);
    let first = Extractor.extract(text, &asked.q, REPLY).map_err(|fault| anyhow!("{fault}"))?;
    let tokens = question + first.tokens_out as usize;
    if asked.is_answered(&Searched::of(&first.text)) {
        return Ok((tokens, true));
    }
    let second = Extractor.digest(text, &asked.q, REPLY).map_err(|fault| anyhow!("{fault}"))?;
    let both = Searched::of(&(first.text + "\n" + &second.text));
    Ok((tokens + question + second.tokens_out as usize, asked.is_answered(&both)))
}
