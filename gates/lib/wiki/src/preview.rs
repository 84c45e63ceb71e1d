//! What of a page stands in a search's reply: all of it where that fits, else the part that answers the query.
//!
//! Prose is shortened by the host's extractor. A block of code is whole or absent: half a function helps nobody.
//! Pages about code show their code first, others show the blocks that have words of the query.

use std::collections::BTreeSet;

use gatehouse_sdk::{
    Fault,
    knowledge::{Hit, PageType},
    text,
};

use crate::body::{CodeBlock, PageBody, without_overview};

/// The fewest tokens that the host's extractor makes anything of.
const MIN_EXTRACT_TOKENS: u32 = 64;

/// Tokens of the line that says how much code was left out.
const MARK_TOKENS: u32 = 10;

/// Bytes of a token at most, in texts of some length; half of it is usual.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// Tokens of a preview beside pages that are shown whole.
const SIDE_PREVIEW_TOKENS: u32 = 80;

/// How much of the pages a search shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentBudget {
    /// Nothing but what they are about.
    None,
    /// The part that answers the query, of each page at most so many tokens.
    Previews(u32),
    /// The best pages whole and the others in part, all together at most so many tokens.
    Whole(u32),
}

/// What is shown of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePreview {
    pub(crate) text: String,
    /// Whether nothing but the overview was left out.
    pub(crate) whole: bool,
    tokens: u32,
}

pub(crate) fn previews(hits: &[Hit], query: &str, content: ContentBudget) -> Result<Vec<PagePreview>, Fault> {
    match content {
        ContentBudget::None => Ok(Vec::new()),
        ContentBudget::Previews(each) => hits.iter().map(|hit| preview(hit, query, each)).collect(),
        ContentBudget::Whole(all) => share_budget(hits, query, all),
    }
}

/// The best pages get what they need while the others still get a preview; the first that does not fit gets what is
/// left.
fn share_budget(hits: &[Hit], query: &str, all: u32) -> Result<Vec<PagePreview>, Fault> {
    let count = u32::try_from(hits.len()).unwrap_or(u32::MAX).max(1);
    let beside = SIDE_PREVIEW_TOKENS.min(all / count).max(MIN_EXTRACT_TOKENS);
    let (mut left, mut full) = (all, false);
    let mut previews = Vec::with_capacity(hits.len());
    for (hit, behind) in hits.iter().zip((0..count).rev()) {
        let room = if full { beside } else { left.saturating_sub(behind * beside).max(beside) };
        let preview = preview(hit, query, room)?;
        full |= !preview.whole;
        left = left.saturating_sub(preview.tokens);
        previews.push(preview);
    }
    Ok(previews)
}

/// The page within so many tokens, its overview aside.
fn preview(hit: &Hit, query: &str, budget: u32) -> Result<PagePreview, Fault> {
    let budget = budget.max(MIN_EXTRACT_TOKENS);
    let about_code = matches!(hit.page_type, PageType::Implementation);
    let content = without_overview(&hit.content, &hit.overview);
    let body = PageBody::parse(&content);
    let whole = body.text(about_code);
    if let Some(tokens) = fits(&whole, budget)? {
        return Ok(PagePreview { text: whole, whole: true, tokens });
    }
    let prose = body.prose();
    if body.code().next().is_none() {
        let shown = text::extract(&prose.text(false), query, budget)?;
        return Ok(PagePreview { text: shown.text, whole: false, tokens: shown.tokens_out });
    }
    let code =
        choose_code(&body, query, if about_code { budget - MARK_TOKENS } else { budget / 2 }, about_code)?;
    let room = (budget - MARK_TOKENS).saturating_sub(code.tokens);
    let prose = if room < MIN_EXTRACT_TOKENS || prose.is_empty() {
        String::new()
    } else {
        text::extract(&prose.text(false), query, room)?.text
    };
    let parts = if about_code { [code.text, prose] } else { [prose, code.text] };
    let parts = parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let tokens = text::tokens(&text)?;
    Ok(PagePreview { text, whole: false, tokens })
}

/// The tokens of a text that has no more than `budget`. Counting takes a millisecond for a few pages, so what is far
/// too long is not counted.
fn fits(text: &str, budget: u32) -> Result<Option<u32>, Fault> {
    if text.len() > budget as usize * MAX_BYTES_PER_TOKEN {
        return Ok(None);
    }
    Ok(Some(text::tokens(text)?).filter(|tokens| *tokens <= budget))
}

struct CodeExcerpt {
    text: String,
    tokens: u32,
}

/// The blocks of code that have most words of the query, whole and in the order of the page, within so many tokens;
/// with `any`, those without a word of it too. Says how much was left out.
fn choose_code(body: &PageBody<'_>, query: &str, room: u32, any: bool) -> Result<CodeExcerpt, Fault> {
    let words = words(query);
    let blocks: Vec<(usize, CodeBlock<'_>)> =
        body.code().map(|code| (matches(&code, &words), code)).collect();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(blocks[*i].0));
    let (mut taken, mut used) = (BTreeSet::new(), 0);
    for i in order {
        let (found, code) = &blocks[i];
        if !any && *found == 0 {
            break;
        }
        if let Some(tokens) = fits(&format!("{}\n{}\n", code.heading, code.text), room - used)? {
            taken.insert(i);
            used += tokens;
        }
    }
    let omitted = blocks.len() - taken.len();
    let (mut out, mut heading) = (String::new(), "");
    for i in taken {
        let code = &blocks[i].1;
        if code.heading != heading {
            heading = code.heading;
            out += &format!("{heading}\n");
        }
        out += &format!("{}\n", code.text.trim_end());
    }
    if omitted > 0 {
        let blocks = if omitted == 1 { "block" } else { "blocks" };
        out += &format!("[… {omitted} {blocks} of code omitted]\n");
    }
    Ok(CodeExcerpt { text: out, tokens: used })
}

/// Words of the query that may stand in code.
fn words(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2 || !word.is_ascii()).take(64).collect()
}

fn matches(code: &CodeBlock<'_>, words: &BTreeSet<String>) -> usize {
    let text = format!("{}\n{}", code.heading, code.text).to_lowercase();
    words.iter().filter(|word| text.contains(word.as_str())).count()
}

#[cfg(test)]
mod tests;
