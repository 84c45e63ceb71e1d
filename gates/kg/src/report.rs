//! Links that point nowhere, told the same way by `kg_index` and `kg_edit`.

use gatehouse_sdk::knowledge::Unresolved;
use gatehouse_wiki::one_line;
use schemars::JsonSchema;
use serde::Serialize;

/// Lines of a list that the text shows; the data has them all.
pub(crate) const SHOWN: usize = 20;

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

/// A heading with a count, a lead, and the first lines of a list; nothing for an empty list.
pub(crate) fn section(heading: &str, lead: &str, lines: impl ExactSizeIterator<Item = String>) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut out = format!("\n## {heading} ({count})\n\n{lead}\n\n");
    lines.take(SHOWN).for_each(|line| out += &format!("- {line}\n"));
    if count > SHOWN {
        out += &format!("- … and {} more\n", count - SHOWN);
    }
    out
}
