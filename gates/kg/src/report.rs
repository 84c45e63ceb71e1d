//! Reports of unresolved links, unknown edges and pages from other folders, shared by `kg_index` and `kg_edit`.

use gatehouse_sdk::knowledge::{TakenOver, UnknownEdge, Unresolved};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) const MAX_SHOWN_LINES: usize = 20;

pub(crate) const DRY_RUN: &str = "A dry run: nothing was changed.\n";

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// Link to a missing page.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnresolvedData {
    /// Page that declares it.
    page: String,
    /// Link type.
    edge: String,
    /// Missing page.
    target: String,
}

pub(crate) fn unresolved_data(all: Vec<Unresolved>) -> Vec<UnresolvedData> {
    all.into_iter().map(|Unresolved { page, edge, target }| UnresolvedData { page, edge, target }).collect()
}

pub(crate) fn unresolved(all: &[Unresolved]) -> String {
    let line = |u: &Unresolved| one_line(&format!("{}: {} → {}", u.page, u.edge, u.target), 600);
    section("Unresolved links", "No such page yet:", all.iter().map(line))
}

// No descriptions: agents pay for them in each list of tools.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EdgeData {
    edge: String,
    links: u32,
    page: String,
}

pub(crate) fn edge_data(all: Vec<UnknownEdge>) -> Vec<EdgeData> {
    all.into_iter().map(|UnknownEdge { edge, links, page }| EdgeData { edge, links, page }).collect()
}

pub(crate) fn unknown_edges(all: &[UnknownEdge]) -> String {
    let line = |u: &UnknownEdge| {
        let links = if u.links == 1 { "1 link".to_owned() } else { format!("{} links, the first", u.links) };
        one_line(&format!("{}: {links} in {}", u.edge, u.page), 600)
    };
    section("Unknown edges", "Stored as related:", all.iter().map(line))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TakenOverData {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    pages: Vec<String>,
}

pub(crate) fn taken_over_data(all: Vec<TakenOver>) -> Vec<TakenOverData> {
    all.into_iter().map(|TakenOver { from, pages }| TakenOverData { from, pages }).collect()
}

const MAX_NAMED_IDS: usize = 5;

pub(crate) fn taken_over(all: &[TakenOver]) -> String {
    let line = |taken: &TakenOver| {
        let from =
            taken.from.as_deref().map_or("written by a caller".into(), |root| code(&one_line(root, 300)));
        let named =
            taken.pages.iter().take(MAX_NAMED_IDS).map(|id| one_line(id, 300)).collect::<Vec<_>>().join(", ");
        match taken.pages.len().saturating_sub(MAX_NAMED_IDS) {
            0 => format!("{from}: {named}"),
            more => format!("{from}: {named} and {more} more"),
        }
    };
    section(
        "Taken over",
        "Pages with these ids came from elsewhere before; the last one indexed wins:",
        all.iter().map(line),
    )
}

/// Formats a heading with a count, a lead and the first lines; empty for an empty list.
pub(crate) fn section(heading: &str, lead: &str, lines: impl ExactSizeIterator<Item = String>) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut out = format!("\n## {heading} ({count})\n\n{lead}\n\n");
    lines.take(MAX_SHOWN_LINES).for_each(|line| out += &format!("- {line}\n"));
    if count > MAX_SHOWN_LINES {
        out += &format!("- … and {} more\n", count - MAX_SHOWN_LINES);
    }
    out
}
