//! What to say when a search finds nothing: that it found nothing, and what may help. "Nothing found"
//! is an answer; an engine that cannot be reached is a fault and never gets here.

use gatehouse_sdk::{context, knowledge};

use crate::{
    code, one_line,
    search::{Query, View, shown},
};

/// The reply to a search without hits.
pub(crate) fn text(view: &View, ask: &Query, unmatched: &[String], note: Option<&str>) -> String {
    let mut out = format!("No {} found for: \"{}\"\n", view.subject, shown(&ask.query));
    if is_empty() {
        out += "\nThe knowledge graph holds no pages yet.";
        if let Some(tool) = context::exposed_name("kg_index") {
            out += &format!(" {} indexes a wiki folder.", code(&tool));
        }
        out += "\n";
    }
    if !unmatched.is_empty() {
        out += &format!("\n{}\n", self::unmatched(unmatched));
    }
    if let Some(note) = note {
        out += &format!("\n{}\n", noted(note));
    }
    out += "\nTry:\n- Broader or fewer terms\n";
    let filters = filters(ask);
    if !filters.is_empty() {
        out += &format!("- Drop the filters: {}\n", filters.join(", "));
    }
    out += "- Other words for the same thing\n";
    for lookout in view.lookouts {
        if let Some(tool) = context::exposed_name(lookout.tool) {
            out += &format!("- {} {}\n", code(&tool), lookout.what);
        }
    }
    out
}

/// `No page contains: a, b`
pub(crate) fn unmatched(terms: &[String]) -> String {
    format!("No page contains: {}", one_line(&terms.join(", "), 200))
}

/// `Note: …`, on one line.
pub(crate) fn noted(note: &str) -> String {
    format!("Note: {}", one_line(note, 500))
}

/// The filters that the caller set, each with its value.
fn filters(ask: &Query) -> Vec<String> {
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
