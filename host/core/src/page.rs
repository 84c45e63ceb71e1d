//! Pages of the knowledge graph, with queries and results, shared by engines, gate capabilities and the CLI.

mod links;
mod results;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::outcome::Fault;

pub use links::{EDGES, PageLink, PageNeighbor};
pub use results::{
    EngineStatistics, IndexReport, MatchQuality, PageFilters, PageHit, PageLocation, PageLookup,
    PageSearchResult, PatchReport, TakenOverPages, UnknownDomain, UnknownEdge, UnresolvedLink,
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

impl PageType {
    /// All types in display order.
    pub const ALL: [Self; 5] =
        [Self::Workflow, Self::Principle, Self::Implementation, Self::Environment, Self::Heuristic];

    /// Returns the name in ids and headings, such as `Workflow`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "Workflow",
            Self::Principle => "Principle",
            Self::Implementation => "Implementation",
            Self::Environment => "Environment",
            Self::Heuristic => "Heuristic",
        }
    }

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

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
