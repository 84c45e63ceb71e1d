//! Searches pages and formats the reply. Each search tool has its own [`SearchView`].

use gatehouse_sdk::{
    Count, Fault, Reply, context,
    knowledge::{self, Filters, Fit, Hit, PageType},
};

use crate::{
    ContentBudget, Kind, code,
    data::{DomainData, HitData, MAX_RELATED, RankedResults, SearchResults},
    one_line,
    page::pointer,
    preview::previews,
    quote::{fenced, quoted},
};

/// Larger `top_k` values are reduced to this.
pub const MAX_TOP_K: u32 = 20;

/// Maximum characters of the query in a heading.
const MAX_QUERY_CHARS: usize = 200;

/// Pages that a reply shows or names, as far as there are as many.
const NEAREST_PAGES: usize = 5;

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

impl RelatedTool {
    /// Formats one list item for each of these tools that the caller has.
    pub fn list(tools: &[Self]) -> String {
        let line = |tool: &Self| {
            let name = context::exposed_name(tool.tool)?;
            Some(format!("- {} {}\n", code(&name), tool.what))
        };
        tools.iter().filter_map(line).collect()
    }
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

type RankFn = fn(&mut Vec<Hit>, usize) -> Option<String>;

/// Searches pages and formats the reply. An empty result is a reply; a failing engine is a fault.
pub fn search(
    view: &SearchView,
    query: &PageQuery,
    top_k: Count,
    content: ContentBudget,
) -> Result<Reply, Fault> {
    let (text, RankedResults { found, .. }) = ranked_search(view, query, top_k, content, None::<RankFn>)?;
    Reply::markdown(text).structured(&found)
}

/// Searches twice as many pages as the reply shows if `rank` is set. It moves the best ones to the front and returns the
/// model that ordered them. Generic, so that gates without models do not import them.
pub(crate) fn ranked_search<R: FnOnce(&mut Vec<Hit>, usize) -> Option<String>>(
    view: &SearchView,
    query: &PageQuery,
    top_k: Count,
    content: ContentBudget,
    rank: Option<R>,
) -> Result<(String, RankedResults), Fault> {
    let top_k = top_k.at_most(MAX_TOP_K);
    let page_types = match view.page_types {
        [] => query.page_types.iter().map(|kind| kind.0).collect(),
        types => types.to_vec(),
    };
    let filters = Filters { page_types, domains: query.domains.clone(), min_score: query.min_score };
    let limit = if rank.is_some() { top_k * 2 } else { top_k };
    let mut result = knowledge::search(&query.query, &filters, limit)?;
    result.hits.truncate(limit as usize);
    let reranked_by = rank.and_then(|rank| rank(&mut result.hits, top_k as usize));
    result.hits.truncate(top_k as usize);
    // Pages with `Fit::Nothing` are not hits.
    let (hits, near_hits): (Vec<Hit>, Vec<Hit>) =
        result.hits.into_iter().partition(|hit| hit.fit != Fit::Nothing);
    let mut previews = previews(&hits, &query.query, content)?.into_iter();
    let results = SearchResults {
        query: query.query.clone(),
        found: hits.len(),
        hits: hits.iter().map(|hit| HitData::new(hit, previews.next())).collect(),
        unmatched_terms: result.unmatched_terms,
        unknown_domains: result.unknown_domains.into_iter().map(DomainData::new).collect(),
        note: result.note,
    };
    let text = match hits.is_empty() {
        true => no_results(view, query, &results, &near_hits),
        false => text(view, &results, &hits, &near_hits, reranked_by.as_deref()),
    };
    Ok((text, RankedResults { found: results, reranked_by }))
}

/// `hits` has two values that `results` lacks: the number of linked pages and the fit.
fn text(
    view: &SearchView,
    results: &SearchResults,
    hits: &[Hit],
    near_hits: &[Hit],
    reranked_by: Option<&str>,
) -> String {
    let mut out = format!("# {}: \"{}\"\n\n", view.heading, one_line(&results.query, MAX_QUERY_CHARS));
    out += &missing_names(results);
    out += &format!("**Verdict:** {}\n", verdict(hits));
    out += &format!("Found **{}** relevant pages:\n", results.found);
    let near_hits = &near_hits[..near_hits.len().min(NEAREST_PAGES.saturating_sub(hits.len()))];
    if !near_hits.is_empty() {
        out += &format!("Less near: {}\n", ids(near_hits));
    }
    if let Some(model) = reranked_by {
        out +=
            &format!("\nOrdered by {}; each score averages the engine's score and this rank.\n", code(model));
    }
    for (i, (data, hit)) in results.hits.iter().zip(hits).enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, one_line(&data.title, 300));
        out += &one_hit(view, data, hit);
    }
    if let Some(note) = &results.note {
        out += &format!("\n---\n\n{}\n", render_note(note));
    }
    out
}

fn ids(hits: &[Hit]) -> String {
    hits.iter().map(|hit| code(&one_line(&hit.id, 300))).collect::<Vec<_>>().join(", ")
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
    out += &match pointer(view.tool, &data.id).filter(|_| !data.whole) {
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

/// Formats the reply to a search without hits. `near_hits` holds the nearest pages, which do not answer the query.
fn no_results(view: &SearchView, query: &PageQuery, results: &SearchResults, near_hits: &[Hit]) -> String {
    let mut out =
        format!("No {} found for: \"{}\"\n\n", view.subject, one_line(&query.query, MAX_QUERY_CHARS));
    // If the engine cannot count its pages, the reply does not claim that there are none.
    if knowledge::stats().is_ok_and(|stats| stats.pages == 0) {
        out += "The knowledge graph has no pages yet.";
        if let Some(tool) = context::exposed_name("kg_index") {
            out += &format!(" {} indexes a wiki directory.", code(&tool));
        }
        out += "\n\n";
    }
    out += &missing_names(results);
    if !near_hits.is_empty() {
        let near_hits = &near_hits[..near_hits.len().min(NEAREST_PAGES)];
        out += &format!("Nothing fits. Nearest: {}\n\n", ids(near_hits));
    }
    if let Some(note) = &results.note {
        out += &format!("{}\n\n", render_note(note));
    }
    out += "Try:\n- Broader or fewer terms\n";
    let filters = filters(query);
    if !filters.is_empty() {
        out += &format!("- Drop the filters: {}\n", filters.join(", "));
    }
    out + "- Other words for the same thing\n" + &RelatedTool::list(view.related)
}

/// Returns the terms and domains that no page has. It limits the value of the hits, so it comes first.
fn missing_names(results: &SearchResults) -> String {
    let mut out = String::new();
    if !results.unmatched_terms.is_empty() {
        out += &format!("No page contains: {}\n", one_line(&results.unmatched_terms.join(", "), 200));
    }
    for DomainData { domain, nearest } in &results.unknown_domains {
        let nearest = match nearest.as_slice() {
            [] => String::new(),
            near => format!("; nearest: {}", one_line(&near.join(", "), 300)),
        };
        out += &format!("No page has the domain '{}'{nearest}\n", one_line(domain, 100));
    }
    if out.is_empty() { out } else { out + "\n" }
}

fn render_note(note: &str) -> String {
    format!("Note: {}", one_line(note, 500))
}

fn filters(query: &PageQuery) -> Vec<String> {
    let mut set = Vec::new();
    if !query.page_types.is_empty() {
        let names: Vec<&str> = query.page_types.iter().map(|k| k.name()).collect();
        set.push(format!("page_types ({})", names.join(", ")));
    }
    if !query.domains.is_empty() {
        set.push(format!("domains ({})", one_line(&query.domains.join(", "), 200)));
    }
    if let Some(score) = query.min_score {
        set.push(format!("min_score ({score})"));
    }
    set
}
