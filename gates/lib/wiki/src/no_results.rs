//! What a search did not find: words and domains that no page has, and what may help where there is no hit at all.
//! "Nothing found" is an answer; an engine that cannot be reached is a fault and never gets here.

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

/// Pages that are named as the nearest, where none fits.
const MAX_NEAR: usize = 3;

/// The reply to a search without hits; `near` came nearest and says nothing about what was asked.
pub(crate) fn text(view: &SearchView, ask: &PageQuery, found: &SearchResults, near: &[Hit]) -> String {
    let mut out = format!("No {} found for: \"{}\"\n\n", view.subject, shorten_query(&ask.query));
    if is_empty() {
        out += "The knowledge graph holds no pages yet.";
        if let Some(tool) = context::exposed_name("kg_index") {
            out += &format!(" {} indexes a wiki folder.", code(&tool));
        }
        out += "\n\n";
    }
    out += &missing_names(found);
    if !near.is_empty() {
        let ids = near.iter().take(MAX_NEAR).map(|hit| code(&one_line(&hit.id, 300)));
        let ids = ids.collect::<Vec<_>>().join(", ");
        out += &format!("Nothing fits. Nearest, about something else: {ids}\n\n");
    }
    if let Some(note) = &found.note {
        out += &format!("{}\n\n", render_note(note));
    }
    out += "Try:\n- Broader or fewer terms\n";
    let filters = filters(ask);
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

/// What no page has, with a blank line behind it: it tells how far the hits may be trusted, so it comes first.
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

/// `Note: …`, on one line.
pub(crate) fn render_note(note: &str) -> String {
    format!("Note: {}", one_line(note, 500))
}

fn filters(ask: &PageQuery) -> Vec<String> {
    let mut set = Vec::new();
    if !ask.page_types.is_empty() {
        let names: Vec<&str> = ask.page_types.iter().map(|k| k.name()).collect();
        set.push(format!("page_types ({})", names.join(", ")));
    }
    if !ask.domains.is_empty() {
        set.push(format!("domains ({})", one_line(&ask.domains.join(", "), 200)));
    }
    if let Some(score) = ask.min_score {
        set.push(format!("min_score ({score})"));
    }
    set
}

/// Whether there are no pages at all. Only asked when nothing was found; an engine that cannot say is
/// not worth a fault here.
fn is_empty() -> bool {
    knowledge::stats().is_ok_and(|s| s.pages == 0)
}
