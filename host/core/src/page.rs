//! Pages of the knowledge graph, with queries and results, shared by engines, gate capabilities and the CLI.

mod results;

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{Fault, util::enum_words};

pub use results::{
    EngineStatistics, IndexReport, MatchQuality, PageFilters, PageHit, PageLocation, PageLookup,
    PageSearchResult, PatchReport, SearchResult, TakenOverPages, UnknownDomain, UnknownEdge, UnresolvedLink,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PageType {
    /// Steps from a goal to a result.
    Workflow,
    /// An idea, independent of code.
    Principle,
    /// Code that implements an idea.
    Implementation,
    /// Requirements for running code.
    Environment,
    Heuristic,
}

// The words are in ids and headings.
enum_words! { PageType {
    Workflow: "Workflow", Principle: "Principle", Implementation: "Implementation", Environment: "Environment",
    Heuristic: "Heuristic",
} }

impl PageType {
    /// Returns the wiki directory for pages of this type, such as `workflows`.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Workflow => "workflows",
            Self::Principle => "principles",
            Self::Implementation => "implementations",
            Self::Environment => "environments",
            Self::Heuristic => "heuristics",
        }
    }
}

impl FromStr for PageType {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|t| t.as_str().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Fault::invalid(format!("'{text}' is not a page type"))
                .hint("Page types are Workflow, Principle, Implementation, Environment and Heuristic.")
        })
    }
}

/// Origin of a page's knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSource {
    /// Such as Repo, Paper or Doc.
    pub kind: String,
    pub title: String,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnowledgePage {
    /// `Type/Name`.
    pub id: String,
    /// The heading, with `_` unchanged.
    pub title: String,
    pub page_type: PageType,
    /// Short text for search results.
    pub overview: String,
    /// Text without the heading and header table.
    pub content: String,
    /// Subjects, with `_` as a space.
    pub domains: Vec<String>,
    pub sources: Vec<PageSource>,
    /// As written in the page.
    pub last_updated: Option<String>,
    /// Linked pages that exist, in both directions, sorted.
    pub neighbours: Vec<PageNeighbor>,
}

/// A page to write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// The heading; with the type it forms the id.
    pub title: String,
    pub page_type: PageType,
    pub overview: String,
    pub content: String,
    pub domains: Vec<String>,
    pub sources: Vec<PageSource>,
    pub links: Vec<PageLink>,
}

/// Changes to a page. `None` leaves a field unchanged; a list replaces the old one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageChanges {
    pub overview: Option<String>,
    pub content: Option<String>,
    pub domains: Option<Vec<String>>,
    pub sources: Option<Vec<PageSource>>,
    pub links: Option<Vec<PageLink>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageLink {
    /// Edge type, from [`EDGES`].
    pub edge: String,
    /// Target id, `Type/Name`.
    pub target: String,
}

/// Edge types that a page may declare.
///
/// `used_by` and `required_by` are stored as the inverse `uses_heuristic` and `requires_env`; the others as declared.
pub const EDGES: [&str; 11] = [
    "step",
    "implements",
    "implemented_by",
    "realized_by",
    "requires_env",
    "required_by",
    "uses_heuristic",
    "used_by",
    "consumes",
    "produces",
    "related",
];

/// A linked page, seen from the other end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageNeighbor {
    pub edge: String,
    /// True if the edge starts at the page that was looked up.
    pub outgoing: bool,
    pub id: String,
    pub title: String,
}

impl PageNeighbor {
    /// Returns sorted neighbors without duplicates.
    ///
    /// An edge and its inverse are duplicates, and so are mutual `related` edges. Prefers outgoing edges.
    pub fn deduplicate(neighbors: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut unique: BTreeMap<(String, &'static str, bool), Self> = BTreeMap::new();
        let mut results = BTreeSet::new();
        for neighbor in neighbors {
            let meaning = match (neighbor.edge.as_str(), neighbor.outgoing) {
                ("implements", outgoing) => ("implemented_by", !outgoing),
                ("implemented_by", outgoing) => ("implemented_by", outgoing),
                ("related", _) => ("related", true),
                _ => {
                    results.insert(neighbor);
                    continue;
                }
            };
            let existing =
                unique.entry((neighbor.id.clone(), meaning.0, meaning.1)).or_insert_with(|| neighbor.clone());
            if neighbor.outgoing && !existing.outgoing {
                *existing = neighbor;
            }
        }
        results.extend(unique.into_values());
        results.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbor(edge: &str, outgoing: bool, id: &str) -> PageNeighbor {
        PageNeighbor { edge: edge.into(), outgoing, id: id.into(), title: String::new() }
    }

    #[test]
    fn an_edge_and_its_inverse_are_one() {
        let both = vec![
            neighbor("implements", false, "Implementation/A"),
            neighbor("implemented_by", true, "Implementation/A"),
            neighbor("related", false, "Principle/B"),
            neighbor("related", true, "Principle/B"),
            neighbor("related", false, "Principle/C"),
            neighbor("step", false, "Workflow/W"),
            neighbor("step", false, "Workflow/W"),
            neighbor("implemented_by", false, "Implementation/A"),
        ];
        let expected = [
            neighbor("implemented_by", false, "Implementation/A"),
            neighbor("implemented_by", true, "Implementation/A"),
            neighbor("related", false, "Principle/C"),
            neighbor("related", true, "Principle/B"),
            neighbor("step", false, "Workflow/W"),
        ];
        assert_eq!(PageNeighbor::deduplicate(both.clone()), expected);
        assert_eq!(PageNeighbor::deduplicate(both.into_iter().rev()), expected);
    }
}
