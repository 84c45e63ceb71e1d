//! Links that point nowhere, edges that nobody knows and pages that two folders hold, told the same way by `kg_index`
//! and `kg_edit`.

use gatehouse_sdk::knowledge::{TakenOver, UnknownEdge, Unresolved};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::Serialize;

/// Lines of a list that the text shows; the data has them all.
pub(crate) const MAX_SHOWN_LINES: usize = 20;

/// Line of a reply where nothing was changed because that was asked for.
pub(crate) const DRY_RUN: &str = "A dry run: nothing was changed.\n";

/// True if a flag can be left out of a reply.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// A link to a page that does not exist.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnresolvedData {
    /// Id of the page that declares it.
    page: String,
    /// Kind of link.
    edge: String,
    /// The id that does not exist.
    target: String,
}

pub(crate) fn unresolved_data(all: Vec<Unresolved>) -> Vec<UnresolvedData> {
    all.into_iter().map(|Unresolved { page, edge, target }| UnresolvedData { page, edge, target }).collect()
}

/// The section about links that point nowhere, or nothing.
pub(crate) fn unresolved(all: &[Unresolved]) -> String {
    let line = |u: &Unresolved| one_line(&format!("{}: {} → {}", u.page, u.edge, u.target), 600);
    section("Unresolved links", "No such page yet:", all.iter().map(line))
}

// What an agent pays for in each list of tools says only what its names do not.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EdgeData {
    edge: String,
    links: u32,
    page: String,
}

pub(crate) fn edge_data(all: Vec<UnknownEdge>) -> Vec<EdgeData> {
    all.into_iter().map(|UnknownEdge { edge, links, page }| EdgeData { edge, links, page }).collect()
}

/// The section about edges that nobody knows, or nothing.
pub(crate) fn unknown_edges(all: &[UnknownEdge]) -> String {
    let line = |u: &UnknownEdge| {
        let links = if u.links == 1 { "1 link".to_owned() } else { format!("{} links, the first", u.links) };
        one_line(&format!("{}: {links} in {}", u.edge, u.page), 600)
    };
    section("Unknown edges", "Kept as related:", all.iter().map(line))
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

/// Ids that one line names.
const MAX_NAMED_IDS: usize = 5;

/// The section about pages that another folder held, or nothing.
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
        "Pages with these ids came from elsewhere before; whichever is indexed last counts:",
        all.iter().map(line),
    )
}

/// A heading with a count, a lead, and the first lines of a list; nothing for an empty list.
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
