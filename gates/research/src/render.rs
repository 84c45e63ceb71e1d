//! Formats replies as text.

use gatehouse_wiki::{RelatedTool, code, one_line};

use crate::{
    Depth,
    ask::ResearchRequest,
    items::ResearchItem,
    list::ListTool,
    run::ResearchRun,
    sections::{SectionTable, SectionTexts},
    study::{RELATED, StudyReference, StudySections},
};

/// Maximum characters of the query in a heading.
const MAX_QUERY_CHARS: usize = 200;

pub(crate) fn list<S: SectionTable>(
    tool: &ListTool,
    request: &ResearchRequest,
    items: &[ResearchItem<S>],
    run: &ResearchRun,
) -> String {
    if items.is_empty() {
        return nothing(tool.noun, tool.related, request, run);
    }
    let mut out = format!("# {}: \"{}\"\n\n", tool.heading, one_line(&request.query, MAX_QUERY_CHARS));
    out += &format!("Found **{}** {}:\n", items.len(), tool.noun);
    out += &notes(run);
    for (i, item) in items.iter().enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, item.title);
        out += &format!("**Source:** <{}>{}\n", item.url, item.evidence.remark());
        out += &item.texts.render("###");
    }
    out + &render_account(run)
}

pub(crate) fn study(
    request: &ResearchRequest,
    texts: &SectionTexts<StudySections>,
    references: &[StudyReference],
    run: &ResearchRun,
) -> String {
    if texts.by_key.is_empty() {
        return nothing("study", &RELATED, request, run);
    }
    let mut out = format!("# Research Study: \"{}\"\n", one_line(&request.query, MAX_QUERY_CHARS));
    out += &notes(run);
    out += &texts.render("##");
    if !references.is_empty() {
        out += "\n## References\n\n";
        for StudyReference { title, url, evidence } in references {
            out += &format!("- {title} <{url}>{}\n", evidence.remark());
        }
    }
    out + &render_account(run)
}

fn notes(run: &ResearchRun) -> String {
    let mut out = String::new();
    if let Some(reason) = &run.cut_short {
        out += &format!("\nThe answer was cut short: {reason}. The content here is complete.\n");
    }
    if run.pages_read == 0 {
        out += "\nThe provider does not report which pages the model read, so no source is confirmed.\n";
    }
    out
}

fn render_account(run: &ResearchRun) -> String {
    let read = match run.pages_read {
        0 => String::new(),
        pages => format!(", which read {pages} pages"),
    };
    let left_out = match run.left_out {
        0 => String::new(),
        left => format!(" Omitted because they name no page: {left}."),
    };
    format!("\n---\n\nAnswered by {}{read}.{left_out}\n", code(&run.model))
}

/// Formats the reply to an empty answer. Failures are faults instead.
fn nothing(noun: &str, related: &[RelatedTool], request: &ResearchRequest, run: &ResearchRun) -> String {
    let mut out = format!("No {noun} found for: \"{}\"\n", one_line(&request.query, MAX_QUERY_CHARS));
    if run.left_out > 0 {
        out += &format!("\nOmitted because they name no page: {}.\n", run.left_out);
    }
    out += "\nTry:\n- Broader or fewer terms\n- Other words for the same thing\n";
    if request.depth == Depth::Light {
        out += "- depth `deep`\n";
    }
    out + &RelatedTool::list(related)
}
