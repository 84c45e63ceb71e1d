//! The short form that a client gets of a result, and the follow-up calls.

use anyhow::{Result, anyhow};
use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor};

use super::gold::{Asked, Searched};

/// Bytes from which a result is shortened; the gate's default.
const THRESHOLD: usize = 2_048;

/// Limits for digests and lossless forms.
#[derive(Clone, Copy)]
pub(super) struct Policy {
    pub(super) name: &'static str,
    /// Bytes from which a result is digested.
    digest_above: usize,
    /// Maximum size of the lossless form, in percent of the result's tokens: below `digest_above`, and from there.
    lossless: [u32; 2],
}

/// The gate's own policy, then the alternatives.
pub(super) const POLICIES: [Policy; 4] = [
    Policy { name: "digest from 5 KB, lossless to 30 %", digest_above: 5_120, lossless: [60, 30] },
    Policy { name: "digest from 5 KB, lossless to 60 %", digest_above: 5_120, lossless: [60, 60] },
    Policy { name: "digest from 8 KB, lossless to 30 %", digest_above: 8_192, lossless: [60, 30] },
    Policy { name: "digest from 8 KB, lossless to 60 %", digest_above: 8_192, lossless: [60, 60] },
];

/// Maximum tokens of a digest, and maximum percent of the result's tokens.
const DIGEST: u32 = 1_200;
const SHARE: u32 = 25;

/// Tokens of a call apart from its question and reply: name, other arguments and framing.
const CALL: usize = 60;

const REPLY: u32 = 1_000;

/// Maximum bytes of a lossless form.
const LOSSLESS: usize = 40_000;

/// Minimum tokens for prose, and the kinds of it.
const PROSE_DIGEST: u32 = 700;
const PROSE: [&str; 3] = ["Markdown", "text", "HTML"];

pub(super) struct Short {
    pub(super) way: &'static str,
    pub(super) text: String,
    pub(super) tokens: usize,
}

/// Returns a result as a client gets it.
pub(super) fn short(text: &str, raw: usize, policy: Policy) -> Result<Short> {
    let whole = || Short { way: "whole", text: text.to_owned(), tokens: raw };
    if text.len() < THRESHOLD {
        return Ok(whole());
    }
    let large = text.len() >= policy.digest_above;
    let most = policy.lossless[usize::from(large)];
    let fits = |tokens_out: u32, tokens_in: u32| tokens_out * 100 <= tokens_in * most;
    let compact = Extractor.compact(text).filter(|compact| compact.text.len() <= LOSSLESS);
    if let Some(compact) = compact.filter(|compact| fits(compact.tokens_out, compact.tokens_in)) {
        return Ok(Short { way: "lossless", text: compact.text, tokens: compact.tokens_out as usize });
    }
    if !large {
        return Ok(whole());
    }
    let budget = DIGEST.min(u32::try_from(raw)? * SHARE / 100);
    let digested = |budget| Extractor.digest(text, "", budget).map_err(|fault| anyhow!("{fault}"));
    let mut digest = digested(budget)?;
    if budget < PROSE_DIGEST && PROSE.contains(&digest.kind) {
        digest = digested(PROSE_DIGEST)?;
        if digest.tokens_out as usize * 2 > raw {
            return Ok(whole());
        }
    }
    Ok(Short { way: digest.kind, text: digest.text, tokens: digest.tokens_out as usize })
}

pub(super) fn cut(text: &str, tokens: usize) -> &str {
    BpeTokenCounter.token_prefix(text, tokens, TokenEncoding::O200k)
}

pub(super) fn extract(text: &str, tokens: usize) -> Result<String> {
    let budget = u32::try_from(tokens.max(64))?;
    Ok(Extractor.extract(text, "", budget).map_err(|fault| anyhow!("{fault}"))?.text)
}

/// Returns the tokens of the follow-up calls for a question that the short form does not answer, and whether at most
/// two suffice.
///
/// A jq program counts as right if the short form has all names that it needs. Other questions ask for an extract, then
/// for a digest with the question.
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
