//! A search, from the arguments to the reply. The three gates that search differ in their [`View`].

use gatehouse_sdk::{
    Count, Fault, Reply, context,
    knowledge::{self, Filters, PageType, SearchResult},
};

use crate::{
    Kind, code,
    data::{Found, HitData, Ordered, RELATED_MAX},
    nothing, one_line,
    rerank::Reranker,
};

/// Hits that a search returns at most, however many are asked for.
pub const TOP_K_MAX: u32 = 20;

/// What makes one search tool differ from another.
pub struct View {
    /// The heading: `# <heading>: "<query>"`.
    pub heading: &'static str,
    /// What there is none of when nothing was found: `No <subject> found for: "<query>"`.
    pub subject: &'static str,
    /// Types that the tool is about, or empty where the caller chooses.
    pub page_types: &'static [PageType],
    /// Characters of a content preview.
    pub preview_chars: usize,
    /// Who else may know, in the order to try.
    pub lookouts: &'static [Lookout],
}

/// Another tool that may know what this one does not.
pub struct Lookout {
    /// The name that its gate declares.
    pub tool: &'static str,
    /// What it does, as the end of a sentence that begins with its name.
    pub what: &'static str,
}

/// What a caller asks.
#[derive(Default)]
pub struct Query {
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
pub fn search(view: &View, ask: &Query, top_k: Count, include_content: bool) -> Result<Reply, Fault> {
    let result = find(view, ask, top_k.at_most(TOP_K_MAX))?;
    let (text, found) = worded(view, ask, result, include_content, None);
    Reply::markdown(text).structured(&found)
}

/// The same, with a language model to order what was found, where one serves. Not a choice within
/// [`search`]: a gate that never asks a model should not import the models.
pub(crate) fn search_and_rerank(
    view: &View,
    ask: &Query,
    top_k: Count,
    include_content: bool,
    deadline_ms: u64,
) -> Result<Reply, Fault> {
    let limit = top_k.at_most(TOP_K_MAX);
    let Some(reranker) = Reranker::serving(deadline_ms) else {
        return search(view, ask, top_k, include_content);
    };
    let mut result = find(view, ask, Reranker::candidates(limit))?;
    let reranked_by = reranker.order(&ask.query, &mut result.hits, limit as usize);
    result.hits.truncate(limit as usize);
    let (text, found) = worded(view, ask, result, include_content, reranked_by.as_deref());
    Reply::markdown(text).structured(&Ordered { found, reranked_by })
}

/// What the engine finds: no more than `limit` hits.
fn find(view: &View, ask: &Query, limit: u32) -> Result<SearchResult, Fault> {
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

/// What was found, as text and as data.
fn worded(
    view: &View,
    ask: &Query,
    result: SearchResult,
    include_content: bool,
    reranked_by: Option<&str>,
) -> (String, Found) {
    let hits = result.hits.iter();
    let preview = include_content.then_some(view.preview_chars);
    let found = Found {
        query: ask.query.clone(),
        found: hits.len(),
        hits: hits.clone().map(|hit| HitData::new(hit, preview)).collect(),
        unmatched_terms: result.unmatched_terms,
        note: result.note,
    };
    let text = if found.hits.is_empty() {
        nothing::text(view, ask, &found.unmatched_terms, found.note.as_deref())
    } else {
        let links = hits.map(|hit| hit.neighbours.len()).collect::<Vec<_>>();
        text(view, &found, &links, reranked_by)
    };
    (text, found)
}

/// The query as replies repeat it: on one line, shortened.
pub(crate) fn shown(query: &str) -> String {
    one_line(query, 200)
}

/// `links` says how many linked pages each hit has; the data names only the first few.
fn text(view: &View, found: &Found, links: &[usize], reranked_by: Option<&str>) -> String {
    let mut out = format!("# {}: \"{}\"\n\n", view.heading, shown(&found.query));
    out += &format!("Found **{}** relevant pages:\n", found.found);
    if let Some(model) = reranked_by {
        out += &format!("\nOrdered by {}; a score is half the engine's, half this order's.\n", code(model));
    }
    let reader = context::exposed_name("get_wiki_page");
    for (i, (hit, links)) in found.hits.iter().zip(links).enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, one_line(&hit.title, 300));
        out += &format!("**Type:** {} | **Score:** {:.2}\n", hit.page_type.name(), hit.score);
        if !hit.domains.is_empty() {
            out += &format!("**Domains:** {}\n", one_line(&hit.domains.join(", "), 500));
        }
        if !hit.overview.is_empty() {
            out += &format!("\n### Overview\n\n{}\n", hit.overview);
        }
        if let Some(preview) = hit.content_preview.as_deref().filter(|p| !p.is_empty()) {
            out += &format!("\n### Content Preview\n\n{preview}\n");
        }
        if let Some(reader) = &reader {
            out += &format!("\nFull page: {}\n", pointer(reader, &hit.id));
        }
        if *links > 0 {
            out += "\n### Related\n\n";
            for near in &hit.related {
                out += &related_line(&near.edge, near.outgoing, &near.id);
            }
            if *links > RELATED_MAX {
                out += &format!("- … and {} more\n", links - RELATED_MAX);
            }
        }
    }
    if !found.unmatched_terms.is_empty() {
        out += &format!("\n---\n\n{}\n", nothing::unmatched(&found.unmatched_terms));
    }
    if let Some(note) = &found.note {
        out += &format!("\n---\n\n{}\n", nothing::noted(note));
    }
    out
}

/// How to read a page whole: the tool's name as the caller has it, and the id to give it.
pub fn pointer(tool: &str, id: &str) -> String {
    format!("{} with page_title {}", code(tool), code(id))
}

/// `- implemented_by → Implementation/X`, or `- step ← Workflow/X` for a link that starts there.
pub fn related_line(edge: &str, outgoing: bool, id: &str) -> String {
    format!("- {} {} {}\n", one_line(edge, 100), if outgoing { '→' } else { '←' }, one_line(id, 300))
}
