//! Terms and domains without matches, and the reply to a search without hits.

use gatehouse_sdk::{
    context,
    knowledge::{self, Hit},
};

use crate::{
    code,
    data::{DomainData, SearchResults},
    one_line,
    search::{PageQuery, SearchView, shorten_query},
};

const MAX_NEAR: usize = 3;

/// `near` holds the nearest pages, which do not answer the query.
pub(crate) fn text(view: &SearchView, query: &PageQuery, found: &SearchResults, near: &[Hit]) -> String {
    let mut out = format!("No {} found for: \"{}\"\n\n", view.subject, shorten_query(&query.query));
    if is_empty() {
        out += "The knowledge graph has no pages yet.";
        if let Some(tool) = context::exposed_name("kg_index") {
            out += &format!(" {} indexes a wiki directory.", code(&tool));
        }
        out += "\n\n";
    }
    out += &missing_names(found);
    if !near.is_empty() {
        let ids = near.iter().take(MAX_NEAR).map(|hit| code(&one_line(&hit.id, 300)));
        let ids = ids.collect::<Vec<_>>().join(", ");
        out += &format!("Nothing fits. Nearest: {ids}\n\n");
    }
    if let Some(note) = &found.note {
        out += &format!("{}\n\n", render_note(note));
    }
    out += "Try:\n- Broader or fewer terms\n";
    let filters = filters(query);
    if !filters.is_empty() {
        out += &format!("- Drop the filters: {}\n", filters.join(", "));
    }
    out += "- Other words for the same thing\n";
    for related in view.related {
        if let Some(tool) = context::exposed_name(related.tool) {
            out += &format!("- {} {}\n", code(&tool), related.what);
        }
    }
    out
}

/// Returns the terms and domains that no page has. It limits the value of the hits, so it comes first.
pub(crate) fn missing_names(found: &SearchResults) -> String {
    let mut out = String::new();
    if !found.unmatched_terms.is_empty() {
        out += &format!("No page contains: {}\n", one_line(&found.unmatched_terms.join(", "), 200));
    }
    for unknown in &found.unknown_domains {
        out += &unknown_domain(unknown);
    }
    if out.is_empty() { out } else { out + "\n" }
}

fn unknown_domain(unknown: &DomainData) -> String {
    let nearest = match unknown.nearest.as_slice() {
        [] => String::new(),
        near => format!("; nearest: {}", one_line(&near.join(", "), 300)),
    };
    format!("No page has the domain '{}'{nearest}\n", one_line(&unknown.domain, 100))
}

pub(crate) fn render_note(note: &str) -> String {
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

/// Called only for empty results, so an error counts as false.
fn is_empty() -> bool {
    knowledge::stats().is_ok_and(|s| s.pages == 0)
}
