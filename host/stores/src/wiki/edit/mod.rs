//! Edits the text of a page and leaves all other bytes unchanged.
//!
//! The result is parsed again. An edit is rejected if the parsed values differ from the requested ones. Writes no
//! files.

mod splice;
mod tags;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{PageChanges, PageSource},
};

use super::{
    ids,
    layout::PageLayout,
    parse::{ParsedPage, parse},
};

use splice::{LineEnding, insert_block, replace, replace_core};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditedPage {
    /// New text, or the old text if nothing changed.
    pub(crate) text: String,
    /// Names of changed fields, in the order of [`PageChanges`].
    pub(crate) changed: Vec<&'static str>,
}

/// Applies validated changes to the text of a page. If anything changes, sets the page's date to `stamp`.
///
/// # Errors
///
/// Returns `invalid-arguments` if a value would not parse back unchanged.
pub(crate) fn apply(text: &str, changes: &PageChanges, stamp: Option<&str>) -> Result<EditedPage, Fault> {
    let before = parse(text);
    let eol = LineEnding::from_text(text);
    let new_content = changes.content.as_deref().filter(|content| *content != before.content);
    let mut edited = match new_content {
        Some(content) => set_content(text, content, eol),
        None => text.to_owned(),
    };
    let target = EditTarget::new(changes, &before, new_content.map(|_| parse(&edited)));
    let now = parse(&edited);
    // A page without an overview does not need a heading for an empty one.
    if now.overview != target.overview && (now.own_overview || !target.overview.is_empty()) {
        edited = set_overview(&edited, &target.overview, eol);
    }
    edited = tags::set_domains(&edited, &target.domains, eol);
    edited = tags::set_sources(&edited, &target.sources, eol);
    edited = tags::set_links(&edited, &target.links, eol);
    if let Some(date) = &target.last_updated {
        edited = tags::set_date(&edited, date, eol);
    }
    let after = parse(&edited);
    verify(&target, &before, &after)?;
    let only_content = PageChanges { content: None, ..changes.clone() } == PageChanges::default();
    if only_content && new_content.is_some_and(|content| !after.content.contains(content)) {
        return Err(unreadable("content"));
    }
    let changed = differences(&before, &after, new_content.is_some());
    if changed.is_empty() {
        return Ok(EditedPage { text: text.to_owned(), changed });
    }
    if let Some(date) = stamp {
        edited = tags::set_date(&edited, date, eol);
        verify(&target.with_date(date), &before, &parse(&edited))?;
    }
    Ok(EditedPage { text: edited, changed })
}

/// Field values that the page must have after the edit.
pub(crate) struct EditTarget {
    pub(crate) overview: String,
    pub(crate) domains: Vec<String>,
    pub(crate) sources: Vec<PageSource>,
    pub(crate) links: Vec<gatehouse_core::ports::knowledge::PageLink>,
    pub(crate) last_updated: Option<String>,
}

impl EditTarget {
    /// Determines the target values. A field that `changes` omits takes its value from the new content, or from the old
    /// page if the new content does not contain the field.
    pub(crate) fn new(
        changes: &PageChanges,
        before: &ParsedPage,
        with_new_content: Option<ParsedPage>,
    ) -> Self {
        let new_page = with_new_content.unwrap_or_else(|| before.clone());
        // An overview derived from the content changes with the content.
        let overview = match (new_page.own_overview, before.own_overview) {
            (false, true) => before.overview.clone(),
            _ => new_page.overview.clone(),
        };
        fn list<T: Clone>(requested_list: &Option<Vec<T>>, new_list: Vec<T>, before: &[T]) -> Vec<T> {
            match requested_list {
                Some(requested_list) => requested_list.clone(),
                None if new_list.is_empty() => before.to_vec(),
                None => new_list,
            }
        }
        Self {
            overview: changes.overview.clone().unwrap_or(overview),
            domains: list(&changes.domains, new_page.domains, &before.domains),
            sources: list(&changes.sources, new_page.sources, &before.sources),
            links: list(&changes.links, new_page.links, &before.links),
            last_updated: new_page.last_updated.or_else(|| before.last_updated.clone()),
        }
    }

    fn with_date(mut self, date: &str) -> Self {
        self.last_updated = Some(date.to_owned());
        self
    }
}

fn differences(before: &ParsedPage, after: &ParsedPage, new_content: bool) -> Vec<&'static str> {
    let fields = [
        ("overview", before.overview != after.overview),
        ("content", new_content && before.content != after.content),
        ("domains", before.domains != after.domains),
        ("sources", before.sources != after.sources),
        ("links", ids::link_set(&before.links) != ids::link_set(&after.links)),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

fn verify(target: &EditTarget, before: &ParsedPage, after: &ParsedPage) -> Result<(), Fault> {
    let fields = [
        ("title", before.title == after.title && before.page_type == after.page_type),
        (
            "overview",
            target.overview == after.overview || (target.overview.is_empty() && !after.own_overview),
        ),
        ("domains", target.domains == after.domains),
        ("sources", target.sources == after.sources),
        ("links", ids::link_set(&target.links) == ids::link_set(&after.links)),
        ("last_updated", target.last_updated == after.last_updated),
    ];
    match fields.into_iter().find(|(_, kept)| !kept) {
        Some((field, _)) => Err(unreadable(field)),
        None => Ok(()),
    }
}

fn unreadable(field: &str) -> Fault {
    Fault::invalid(format!("the edit would change how the page is parsed: {field} would differ from the requested \
    value")).hint(
        "Remove headings (== … ==), tables, tags ([[…::…]]) and unclosed code fences from short fields; nothing was \
        changed.",
    )
}

/// Replaces everything except the heading and the header table.
fn set_content(text: &str, content: &str, eol: LineEnding) -> String {
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
fn set_overview(text: &str, overview: &str, eol: LineEnding) -> String {
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

#[cfg(test)]
mod tests;
