//! Searches pages and formats the reply. Each search tool has its own [`SearchView`].

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

/// Larger `top_k` values are reduced to this.
pub const MAX_TOP_K: u32 = 20;

/// Properties that differ between search tools.
pub struct SearchView {
    pub tool: &'static str,
    /// The heading: `# <heading>: "<query>"`.
    pub heading: &'static str,
    /// Noun in `No <subject> found for: "<query>"`.
    pub subject: &'static str,
    /// Empty if the caller selects the types.
    pub page_types: &'static [PageType],
    /// Suggested for an empty result, in order.
    pub related: &'static [RelatedTool],
}

pub struct RelatedTool {
    pub tool: &'static str,
    /// End of a sentence that starts with the tool's name.
    pub what: &'static str,
}

/// Search arguments.
#[derive(Default)]
pub struct PageQuery {
    pub query: String,
    /// Used if the view leaves the types to the caller.
    pub page_types: Vec<Kind>,
    pub domains: Vec<String>,
    pub min_score: Option<f64>,
}

/// Searches pages and formats the reply. An empty result is a reply; a failing engine is a fault.
pub fn search(
    view: &SearchView,
    query: &PageQuery,
    top_k: Count,
    content: ContentBudget,
) -> Result<Reply, Fault> {
    let (text, RankedResults { found, .. }) = search_plain(view, query, top_k, content)?;
    Reply::markdown(text).structured(&found)
}

/// Searches and reranks if a language model is available. Separate from [`search`] so that gates without models do not
/// import them.
pub(crate) fn search_and_rerank(
    view: &SearchView,
    query: &PageQuery,
    top_k: Count,
    content: ContentBudget,
    deadline_ms: u64,
) -> Result<(String, RankedResults), Fault> {
    let limit = top_k.at_most(MAX_TOP_K);
    let Some(reranker) = Reranker::serving(deadline_ms) else {
        return search_plain(view, query, top_k, content);
    };
    let mut result = find(view, query, Reranker::candidates(limit))?;
    let reranked_by = reranker.order(&query.query, &mut result.hits, limit as usize);
    result.hits.truncate(limit as usize);
    let (text, found) = render_results(view, query, result, content, reranked_by.as_deref())?;
    Ok((text, RankedResults { found, reranked_by }))
}

/// Searches without reranking, in the reply format of [`search_and_rerank`].
pub(crate) fn search_plain(
    view: &SearchView,
    query: &PageQuery,
    top_k: Count,
    content: ContentBudget,
) -> Result<(String, RankedResults), Fault> {
    let result = find(view, query, top_k.at_most(MAX_TOP_K))?;
    let (text, found) = render_results(view, query, result, content, None)?;
    Ok((text, RankedResults { found, reranked_by: None }))
}

fn find(view: &SearchView, query: &PageQuery, limit: u32) -> Result<SearchResult, Fault> {
    let filters = Filters {
        page_types: if view.page_types.is_empty() {
            query.page_types.iter().map(|k| k.0).collect()
        } else {
            view.page_types.to_vec()
        },
        domains: query.domains.clone(),
        min_score: query.min_score,
    };
    let mut result = knowledge::search(&query.query, &filters, limit)?;
    result.hits.truncate(limit as usize);
    Ok(result)
}

/// Formats results as text and data. Pages with [`Fit::Nothing`] are not hits.
fn render_results(
    view: &SearchView,
    query: &PageQuery,
    result: SearchResult,
    content: ContentBudget,
    reranked_by: Option<&str>,
) -> Result<(String, SearchResults), Fault> {
    let (hits, near): (Vec<Hit>, Vec<Hit>) = result.hits.into_iter().partition(|hit| hit.fit != Fit::Nothing);
    let mut previews = previews(&hits, &query.query, content)?.into_iter();
    let found = SearchResults {
        query: query.query.clone(),
        found: hits.len(),
        hits: hits.iter().map(|hit| HitData::new(hit, previews.next())).collect(),
        unmatched_terms: result.unmatched_terms,
        unknown_domains: result.unknown_domains.into_iter().map(DomainData::new).collect(),
        note: result.note,
    };
    let text = if hits.is_empty() {
        no_results::text(view, query, &found, &near)
    } else {
        text(view, &found, &hits, reranked_by)
    };
    Ok((text, found))
}

pub(crate) fn shorten_query(query: &str) -> String {
    one_line(query, 200)
}

/// `hits` has two values that `found` lacks: the number of linked pages and the fit.
fn text(view: &SearchView, found: &SearchResults, hits: &[Hit], reranked_by: Option<&str>) -> String {
    let mut out = format!("# {}: \"{}\"\n\n", view.heading, shorten_query(&found.query));
    out += &no_results::missing_names(found);
    out += &format!("**Verdict:** {}\n", verdict(hits));
    out += &format!("Found **{}** relevant pages:\n", found.found);
    if let Some(model) = reranked_by {
        out +=
            &format!("\nOrdered by {}; each score averages the engine's score and this rank.\n", code(model));
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

/// Scores are comparable only within one search, so replies begin with a verdict.
fn verdict(hits: &[Hit]) -> &'static str {
    let has = |fit| hits.iter().any(|hit| hit.fit == fit);
    if has(Fit::Names) {
        "fits by name"
    } else if has(Fit::Good) {
        "fits"
    } else {
        "may fit"
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

/// Formats a link: `- implemented_by → Implementation/X`, or `- step ← Workflow/X` if it starts at the other page.
pub(crate) fn related_line(edge: &str, outgoing: bool, id: &str) -> String {
    format!("- {} {} {}\n", one_line(edge, 100), if outgoing { '→' } else { '←' }, one_line(id, 300))
}
