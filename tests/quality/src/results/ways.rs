//! What a client gets instead of a result, and what it asks for afterwards.

use anyhow::{Result, anyhow};
use gatehouse_core::ports::{Text as _, TokenCounter as _, text::Encoding};
use gatehouse_text::{Extractor, Tokens};

use super::gold::{Asked, Searched};

/// Bytes below which a result stays as it is, and below which it is not digested: the defaults of the gate that shortens.
const THRESHOLD: usize = 2_048;
const DIGEST_ABOVE: usize = 8_192;

/// Hundredths of its tokens that a lossless form may take.
const LOSSLESS: u32 = 60;

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
pub(super) fn short(text: &str, raw: usize) -> Result<Short> {
    let whole = || Short { way: "whole", text: text.to_owned(), tokens: raw };
    if text.len() < THRESHOLD {
        return Ok(whole());
    }
    if let Some(compact) = Extractor.compact(text).filter(|c| c.tokens_out * 100 <= c.tokens_in * LOSSLESS) {
        return Ok(Short { way: "lossless", text: compact.text, tokens: compact.tokens_out as usize });
    }
    if text.len() < DIGEST_ABOVE {
        return Ok(whole());
    }
    let budget = DIGEST.min(u32::try_from(raw)? * SHARE / 100);
    let digest = Extractor.digest(text, "", budget).map_err(|fault| anyhow!("{fault}"))?;
    Ok(Short { way: digest.kind, text: digest.text, tokens: digest.tokens_out as usize })
}

/// The beginning of a result, as long as its short form.
pub(super) fn cut(text: &str, tokens: usize) -> &str {
    Tokens.within(text, tokens, Encoding::O200k)
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
    let count = |text: &str| Tokens.count(text, Encoding::O200k);
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
