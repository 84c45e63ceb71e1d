//! Replies as text.

use gatehouse_sdk::context;
use gatehouse_wiki::{RelatedTool, code, one_line};

use crate::{
    Depth,
    args::Asked,
    items::{Item, Section, Texts},
    run::{Kind, Run},
    study::{RELATED, Reference, SECTIONS},
};

/// The reply of a tool that returns a list.
pub(crate) fn list(kind: &Kind, asked: &Asked, items: &[Item], run: &Run) -> String {
    if items.is_empty() {
        return nothing(kind.noun, kind.related, asked, run);
    }
    let mut out = format!("# {}: \"{}\"\n\n", kind.heading, shown(&asked.query));
    out += &format!("Found **{}** {}:\n", items.len(), kind.noun);
    out += &notes(run);
    for (i, item) in items.iter().enumerate() {
        out += &format!("\n---\n\n## [{}] {}\n\n", i + 1, item.title);
        out += &format!("**Source:** <{}>{}\n", item.url, item.evidence.remark());
        out += &sections(kind.sections, &item.texts, "###");
    }
    out + &account(run)
}

/// The reply of the study.
pub(crate) fn study(asked: &Asked, texts: &Texts, references: &[Reference], run: &Run) -> String {
    if texts.is_empty() {
        return nothing("study", &RELATED, asked, run);
    }
    let mut out = format!("# Research Study: \"{}\"\n", shown(&asked.query));
    out += &notes(run);
    out += &sections(&SECTIONS, texts, "##");
    if !references.is_empty() {
        out += "\n## References\n\n";
        for Reference { title, url, evidence } in references {
            out += &format!("- {title} <{url}>{}\n", evidence.remark());
        }
    }
    out + &account(run)
}

fn sections(sections: &[Section], texts: &Texts, mark: &str) -> String {
    let mut out = String::new();
    for section in sections {
        if let Some(text) = texts.get(section.key) {
            out += &format!("\n{mark} {}\n\n{text}\n", section.heading);
        }
    }
    out
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
fn nothing(noun: &str, related: &[RelatedTool], asked: &Asked, run: &Run) -> String {
    let mut out = format!("No {noun} found for: \"{}\"\n", shown(&asked.query));
    if run.left_out > 0 {
        out += &format!("\nLeft out, because they name no page: {}.\n", run.left_out);
    }
    out += "\nTry:\n- Broader or fewer terms\n- Other words for the same thing\n";
    if asked.depth == Depth::Light {
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
