//! Edits the content of a page and the overview within it.

use super::splice::{LineEnding, insert_block, replace, replace_core};
use crate::wiki::layout::PageLayout;

/// Replaces everything except the heading and the header table.
pub(super) fn set_content(text: &str, content: &str, eol: LineEnding) -> String {
    let parts = PageLayout::parse(text);
    let edited = set_after_header(text, parts.body_start(), content, eol);
    match parts.table {
        // Text between the heading and the table is content, too.
        Some(table) if !text[parts.heading_end..table.start].trim().is_empty() => {
            replace(&edited, parts.heading_end..table.start, eol.as_str())
        }
        _ => edited,
    }
}

fn set_after_header(text: &str, start: usize, content: &str, eol: LineEnding) -> String {
    if !text[start..].trim().is_empty() {
        return replace_core(text, start..text.len(), content, eol);
    }
    let needs_blank = start > 0 && !content.is_empty() && !text[start..].contains('\n');
    let block = if needs_blank { format!("\n{content}") } else { content.to_owned() };
    insert_block(text, text.len(), &block, eol)
}

/// Replaces the text under the overview heading. Creates the heading if it is missing.
pub(super) fn set_overview(text: &str, overview: &str, eol: LineEnding) -> String {
    let parts = PageLayout::parse(text);
    if let Some(section) = parts.overview() {
        return replace_core(text, section.body.clone(), overview, eol);
    }
    let block = format!("== Overview ==\n{overview}\n");
    let start = parts.body_start();
    let rest = &text[start..];
    if rest.trim().is_empty() {
        return set_after_header(text, start, block.trim_end(), eol);
    }
    // Insert before the first line that is not blank.
    let blank = rest.len() - rest.trim_start().len();
    let at = start + rest[..blank].rfind('\n').map_or(0, |at| at + 1);
    // An overview ends at the next heading, so text without a heading gets one.
    let headed = parts.sections.first().is_some_and(|section| section.heading.start == at);
    let block = if headed { block } else { format!("{block}\n== Description ==") };
    insert_block(text, at, &block, eol)
}
