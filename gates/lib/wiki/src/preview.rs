//! Selects the part of a page that a search reply shows: the whole page, or the part that answers the query.
//!
//! The host's extractor shortens prose. A code block is included whole or omitted. Pages about code show it first;
//! others show only blocks with query words.

use std::collections::BTreeSet;

use gatehouse_sdk::{
    Fault,
    knowledge::{Hit, PageType},
    text,
};

use crate::body::{CodeBlock, PageBody, without_overview};

/// Minimum useful budget for the host's extractor.
const MIN_EXTRACT_TOKENS: u32 = 64;

/// For the line that reports omitted code.
const MARK_TOKENS: u32 = 10;

/// Upper bound for long texts; usually about half.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// For a preview next to pages that are shown whole.
const SIDE_PREVIEW_TOKENS: u32 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentBudget {
    /// Overviews only.
    None,
    /// Up to this many tokens per page, from the parts that answer the query.
    Previews(u32),
    /// Up to this many tokens in total: the best pages whole, parts of the others.
    Whole(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePreview {
    pub(crate) text: String,
    /// True if nothing but the overview is omitted.
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

/// Gives the best pages what they need while reserving previews for the rest. The first page that does not fit gets the
/// remainder.
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
        let extract = text::extract(&prose.text(false), query, budget)?;
        return Ok(PagePreview { text: extract.text, whole: false, tokens: extract.tokens_out });
    }
    let room = if about_code { budget - MARK_TOKENS } else { budget / 2 };
    let (code, tokens) = choose_code(&body, query, room, about_code)?;
    let room = (budget - MARK_TOKENS).saturating_sub(tokens);
    let prose = if room < MIN_EXTRACT_TOKENS || prose.is_empty() {
        String::new()
    } else {
        text::extract(&prose.text(false), query, room)?.text
    };
    let parts = if about_code { [code, prose] } else { [prose, code] };
    let parts = parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let tokens = text::count(&text)?;
    Ok(PagePreview { text, whole: false, tokens })
}

/// Returns the token count, or `None` if it exceeds `budget`. Clearly longer texts are not counted, because that takes
/// about a millisecond per few pages.
fn fits(text: &str, budget: u32) -> Result<Option<u32>, Fault> {
    if text.len() > budget as usize * MAX_BYTES_PER_TOKEN {
        return Ok(None);
    }
    Ok(Some(text::count(text)?).filter(|tokens| *tokens <= budget))
}

/// Returns the code blocks with the most query words that fit, whole and in page order, and their tokens. `any` permits
/// blocks without query words.
fn choose_code(body: &PageBody<'_>, query: &str, room: u32, any: bool) -> Result<(String, u32), Fault> {
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
    Ok((out, used))
}

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
