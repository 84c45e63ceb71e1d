//! Replies as text.

use gatehouse_sdk::context;
use gatehouse_wiki::{RelatedTool, code, one_line};

use crate::{
    Depth,
    args::ResearchRequest,
    items::Item,
    list::ListTool,
    run::Run,
    sections::{Sections, Texts},
    study::{RELATED, Reference, StudySections},
};

/// The reply of a tool that returns a list.
pub(crate) fn list<S: Sections>(
    tool: &ListTool,
    request: &ResearchRequest,
    items: &[Item<S>],
    run: &Run,
) -> String {
    if items.is_empty() {
        return nothing(tool.noun, tool.related, request, run);
    }
    let mut out = format!("# {}: \"{}\"\n\n", tool.heading, shown(&request.query));
    out += &format!("Found **{}** {}:\n", items.len(), tool.noun);
    out += &notes(run);
    for (i, item) in items.iter().enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, item.title);
        out += &format!("**Source:** <{}>{}\n", item.url, item.evidence.remark());
        out += &item.texts.render("###");
    }
    out + &account(run)
}

/// The reply of the study.
pub(crate) fn study(
    request: &ResearchRequest,
    texts: &Texts<StudySections>,
    references: &[Reference],
    run: &Run,
) -> String {
    if texts.by_key.is_empty() {
        return nothing("study", &RELATED, request, run);
    }
    let mut out = format!("# Research Study: \"{}\"\n", shown(&request.query));
    out += &notes(run);
    out += &texts.render("##");
    if !references.is_empty() {
        out += "\n## References\n\n";
        for Reference { title, url, evidence } in references {
            out += &format!("- {title} <{url}>{}\n", evidence.remark());
        }
    }
    out + &account(run)
}

/// What a reader has to know before the rest.
fn notes(run: &Run) -> String {
    let mut out = String::new();
    if let Some(why) = &run.cut_short {
        out += &format!("\nThe answer was cut short: {why}. What is here is whole.\n");
    }
    if run.pages_read == 0 {
        out += "\nThe provider does not say which pages the model read, so no source is confirmed.\n";
    }
    out
}

/// Who answered, at the end.
fn account(run: &Run) -> String {
    let read = match run.pages_read {
        0 => String::new(),
        pages => format!(", which read {pages} pages"),
    };
    let left_out = match run.left_out {
        0 => String::new(),
        left => format!(" Left out, because they name no page: {left}."),
    };
    format!("\n---\n\nAnswered by {}{read}.{left_out}\n", code(&run.model))
}

/// An answer that holds nothing is an answer; a failure never gets here.
fn nothing(noun: &str, related: &[RelatedTool], request: &ResearchRequest, run: &Run) -> String {
    let mut out = format!("No {noun} found for: \"{}\"\n", shown(&request.query));
    if run.left_out > 0 {
        out += &format!("\nLeft out, because they name no page: {}.\n", run.left_out);
    }
    out += "\nTry:\n- Broader or fewer terms\n- Other words for the same thing\n";
    if request.depth == Depth::Light {
        out += "- depth `deep`\n";
    }
    for related in related {
        if let Some(tool) = context::exposed_name(related.tool) {
            out += &format!("- {} {}\n", code(&tool), related.what);
        }
    }
    out
}

/// The query on one line, shortened.
fn shown(query: &str) -> String {
    one_line(query, 200)
}
