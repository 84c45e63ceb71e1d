//! A search, from the arguments to the reply. The three gates that search differ in their [`SearchView`].

use gatehouse_sdk::{
    Count, Fault, Reply,
    knowledge::{self, Filters, Fit, Hit, PageType, SearchResult},
};

use crate::{
    ContentBudget, Kind, code,
    data::{DomainData, HitData, MAX_RELATED, RankedResults, SearchResults},
    no_results, one_line,
    preview::previews,
    quote::{fenced, quoted},
    reader,
    rerank::Reranker,
};

/// Hits that a search returns at most, however many are asked for.
pub const MAX_TOP_K: u32 = 20;

/// What makes one search tool differ from another.
pub struct SearchView {
    /// The name of the tool.
    pub tool: &'static str,
    /// The heading: `# <heading>: "<query>"`.
    pub heading: &'static str,
    /// What there is none of when nothing was found: `No <subject> found for: "<query>"`.
    pub subject: &'static str,
    /// Types that the tool is about, or empty where the caller chooses.
    pub page_types: &'static [PageType],
    /// Who else may know, in the order to try.
    pub related: &'static [RelatedTool],
}

/// Another tool that may know what this one does not.
pub struct RelatedTool {
    /// The name that its gate declares.
    pub tool: &'static str,
    /// What it does, as the end of a sentence that begins with its name.
    pub what: &'static str,
}

/// What a caller asks.
#[derive(Default)]
pub struct PageQuery {
    /// In the caller's words.
    pub query: String,
    /// Types to narrow to, where the view leaves that to the caller.
    pub page_types: Vec<Kind>,
    /// Domains to narrow to.
    pub domains: Vec<String>,
    /// Hits that score lower are left out.
    pub min_score: Option<f64>,
}

/// Searches and words the reply. Nothing found is a reply, a failing engine is its fault.
pub fn search(
    view: &SearchView,
    ask: &PageQuery,
    top_k: Count,
    content: ContentBudget,
) -> Result<Reply, Fault> {
    let (text, RankedResults { found, .. }) = search_plain(view, ask, top_k, content)?;
    Reply::markdown(text).structured(&found)
}

/// The same, with a language model to order what was found, where one serves. Not a choice within
/// [`search`]: a gate that never asks a model should not import the models.
pub(crate) fn search_and_rerank(
    view: &SearchView,
    ask: &PageQuery,
    top_k: Count,
    content: ContentBudget,
    deadline_ms: u64,
) -> Result<(String, RankedResults), Fault> {
    let limit = top_k.at_most(MAX_TOP_K);
    let Some(reranker) = Reranker::serving(deadline_ms) else {
        return search_plain(view, ask, top_k, content);
    };
    let mut result = find(view, ask, Reranker::candidates(limit))?;
    let reranked_by = reranker.order(&ask.query, &mut result.hits, limit as usize);
    result.hits.truncate(limit as usize);
    let (text, found) = render_results(view, ask, result, content, reranked_by.as_deref())?;
    Ok((text, RankedResults { found, reranked_by }))
}

/// The same without a model, as a tool answers that might have asked one.
pub(crate) fn search_plain(
    view: &SearchView,
    ask: &PageQuery,
    top_k: Count,
    content: ContentBudget,
) -> Result<(String, RankedResults), Fault> {
    let result = find(view, ask, top_k.at_most(MAX_TOP_K))?;
    let (text, found) = render_results(view, ask, result, content, None)?;
    Ok((text, RankedResults { found, reranked_by: None }))
}

fn find(view: &SearchView, ask: &PageQuery, limit: u32) -> Result<SearchResult, Fault> {
    let filters = Filters {
        page_types: if view.page_types.is_empty() {
            ask.page_types.iter().map(|k| k.0).collect()
        } else {
            view.page_types.to_vec()
        },
        domains: ask.domains.clone(),
        min_score: ask.min_score,
    };
    let mut result = knowledge::search(&ask.query, &filters, limit)?;
    result.hits.truncate(limit as usize);
    Ok(result)
}

/// What was found, as text and as data. A page that says nothing about what was asked is no hit.
fn render_results(
    view: &SearchView,
    ask: &PageQuery,
    result: SearchResult,
    content: ContentBudget,
    reranked_by: Option<&str>,
) -> Result<(String, SearchResults), Fault> {
    let (hits, near): (Vec<Hit>, Vec<Hit>) = result.hits.into_iter().partition(|hit| hit.fit != Fit::Nothing);
    let mut previews = previews(&hits, &ask.query, content)?.into_iter();
    let found = SearchResults {
        query: ask.query.clone(),
        found: hits.len(),
        hits: hits.iter().map(|hit| HitData::new(hit, previews.next())).collect(),
        unmatched_terms: result.unmatched_terms,
        unknown_domains: result.unknown_domains.into_iter().map(DomainData::new).collect(),
        note: result.note,
    };
    let text = if hits.is_empty() {
        no_results::text(view, ask, &found, &near)
    } else {
        text(view, &found, &hits, reranked_by)
    };
    Ok((text, found))
}

/// The query as replies repeat it: on one line, shortened.
pub(crate) fn shorten_query(query: &str) -> String {
    one_line(query, 200)
}

/// The hits are at hand for what the data has not: how many linked pages each has, and how well it fits.
fn text(view: &SearchView, found: &SearchResults, hits: &[Hit], reranked_by: Option<&str>) -> String {
    let mut out = format!("# {}: \"{}\"\n\n", view.heading, shorten_query(&found.query));
    out += &no_results::missing_names(found);
    out += &format!("**Best fit:** {}\n", best_fit(hits));
    out += &format!("Found **{}** relevant pages:\n", found.found);
    if let Some(model) = reranked_by {
        out += &format!("\nOrdered by {}; a score is half the engine's, half this order's.\n", code(model));
    }
    for (i, (data, hit)) in found.hits.iter().zip(hits).enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, one_line(&data.title, 300));
        out += &one_hit(view, data, hit);
    }
    if let Some(note) = &found.note {
        out += &format!("\n---\n\n{}\n", no_results::render_note(note));
    }
    out
}

/// How well the best of the hits answers, in words: scores say it only within one search.
fn best_fit(hits: &[Hit]) -> &'static str {
    let has = |fit| hits.iter().any(|hit| hit.fit == fit);
    if has(Fit::Names) {
        "names the query"
    } else if has(Fit::Good) {
        "good"
    } else {
        "weak; may not answer the query"
    }
}

fn one_hit(view: &SearchView, data: &HitData, hit: &Hit) -> String {
    let mut out = format!("**Type:** {} | **Score:** {:.2}\n", data.page_type.name(), data.score);
    if !data.domains.is_empty() {
        out += &format!("**Domains:** {}\n", one_line(&data.domains.join(", "), 500));
    }
    if !data.overview.is_empty() {
        out += &format!("\n### Overview\n\n{}", quoted(&data.overview));
    }
    let preview = data.content_preview.as_deref().filter(|preview| !preview.trim().is_empty());
    if let Some(preview) = preview {
        let heading = if data.whole { "Content" } else { "Content Preview" };
        out += &format!("\n### {heading}\n\n{}", fenced(preview));
    }
    let id = code(&one_line(&data.id, 300));
    out += &match reader::pointer(view.tool, &data.id).filter(|_| !data.whole) {
        Some(pointer) => format!("\nFull page: {pointer}\n"),
        None => format!("\nId: {id}\n"),
    };
    if !data.related.is_empty() {
        out += "\n### Related\n\n";
        for near in &data.related {
            out += &related_line(&near.edge, near.outgoing, &near.id);
        }
        if hit.neighbours.len() > MAX_RELATED {
            out += &format!("- … and {} more\n", hit.neighbours.len() - MAX_RELATED);
        }
    }
    out
}

/// `- implemented_by → Implementation/X`, or `- step ← Workflow/X` for a link that starts there.
pub(crate) fn related_line(edge: &str, outgoing: bool, id: &str) -> String {
    format!("- {} {} {}\n", one_line(edge, 100), if outgoing { '→' } else { '←' }, one_line(id, 300))
}
