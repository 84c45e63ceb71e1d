//! Pages of the knowledge graph, what is asked of them and what comes back: nouns that engines, gates'
//! capabilities and the command line share.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::outcome::Fault;

/// The five kinds of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PageType {
    /// Steps that lead from a goal to a result.
    Workflow,
    /// An idea, independent of any code.
    Principle,
    /// Code that carries an idea out.
    Implementation,
    /// What code needs around it to run.
    Environment,
    /// A rule of thumb.
    Heuristic,
}

impl PageType {
    /// All five, in the order they are listed to people.
    pub const ALL: [Self; 5] =
        [Self::Workflow, Self::Principle, Self::Implementation, Self::Environment, Self::Heuristic];

    /// The name as it stands in ids and headings, `Workflow` for example.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "Workflow",
            Self::Principle => "Principle",
            Self::Implementation => "Implementation",
            Self::Environment => "Environment",
            Self::Heuristic => "Heuristic",
        }
    }

    /// The folder of a wiki that holds pages of this type, `workflows` for example.
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

/// Where a page's knowledge comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSource {
    /// For example Repo, Paper, Doc.
    pub kind: String,
    /// What to call it.
    pub title: String,
    /// Where it is.
    pub url: String,
}

/// A link as a page declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Link {
    /// One of [`EDGES`].
    pub edge: String,
    /// Id of the target, `Type/Name`.
    pub target: String,
}

/// The edges a page may declare. `used_by` and `required_by` are kept as the inverse of
/// `uses_heuristic` and `requires_env`; the others are kept as declared.
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

/// A page at the other end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Neighbour {
    /// The edge, as it is kept.
    pub edge: String,
    /// Whether the page that was asked for is where the edge starts.
    pub outgoing: bool,
    /// Id of the other page.
    pub id: String,
    /// Title of the other page.
    pub title: String,
}

/// A page, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// `Type/Name`.
    pub id: String,
    /// The heading, `_` shown as it stands.
    pub title: String,
    /// Its kind.
    pub page_type: PageType,
    /// The short text that search results show.
    pub overview: String,
    /// The text without heading and header table.
    pub content: String,
    /// Subjects, `_` shown as space.
    pub domains: Vec<String>,
    /// Where it comes from.
    pub sources: Vec<PageSource>,
    /// As the page says it.
    pub last_updated: Option<String>,
    /// Linked pages that exist, both directions, sorted.
    pub neighbours: Vec<Neighbour>,
}

/// What a search is narrowed to; empty lists narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filters {
    /// Only pages of these types.
    pub page_types: Vec<PageType>,
    /// Only pages with any of these domains (case ignored, `_` as space).
    pub domains: Vec<String>,
    /// Only hits with at least this score, 0 to 1.
    pub min_score: Option<f64>,
}

/// One page that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The page; its neighbours are those that exist, sorted.
    #[serde(flatten)]
    pub page: Page,
    /// 0 to 1, comparable within one search: half is the share of the best by words, half that of the best by
    /// meaning; 1 for a page that the query names. Without a model the best hit has 1.
    pub score: f64,
}

/// What a search found, best first; the same query gives the same order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// At most as many as were asked for.
    pub hits: Vec<Hit>,
    /// Words of the query that occur in no page.
    pub unmatched_terms: Vec<String>,
    /// What the caller should know of how it was found: that the model did not answer, or that pages still
    /// wait for their vectors. None where nothing was left out.
    pub note: Option<String>,
}

/// A page, or what comes near.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// The page.
    Found(Box<Page>),
    /// At most three titles that come nearest, nearest first.
    Missing(Vec<String>),
}

/// A page to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Becomes the heading, and with the type the id.
    pub title: String,
    /// Its kind.
    pub page_type: PageType,
    /// The short text.
    pub overview: String,
    /// The long text.
    pub content: String,
    /// Subjects.
    pub domains: Vec<String>,
    /// Where it comes from.
    pub sources: Vec<PageSource>,
    /// Links it declares.
    pub links: Vec<Link>,
}

/// What to change in a page; none leaves a field alone, a list replaces the whole list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// New overview.
    pub overview: Option<String>,
    /// New content.
    pub content: Option<String>,
    /// New domains.
    pub domains: Option<Vec<String>>,
    /// New sources.
    pub sources: Option<Vec<PageSource>>,
    /// New links.
    pub links: Option<Vec<Link>>,
}

/// A link to a page that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unresolved {
    /// Id of the page that declares it.
    pub page: String,
    /// The edge as declared.
    pub edge: String,
    /// The id that does not exist.
    pub target: String,
}

/// What writing pages did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    /// Pages that were not there before.
    pub added: u32,
    /// Pages whose text or header changed.
    pub updated: u32,
    /// Pages that are as they were.
    pub unchanged: u32,
    /// Pages that are gone.
    pub removed: u32,
    /// Links that the pages of this run declare.
    pub links: u32,
    /// Those of them that point nowhere, sorted.
    pub unresolved_links: Vec<Unresolved>,
    /// Files left out, each with the reason.
    pub skipped: Vec<String>,
}

/// What a patch did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchReport {
    /// The page.
    pub id: String,
    /// Fields whose value is now another one.
    pub changed: Vec<String>,
    /// The file that was rewritten, relative to its wiki folder.
    pub file: Option<String>,
    /// The file that the page came from and that was left as it is, because it lies outside the allowed
    /// wiki folders; indexing it again brings its text back.
    pub kept_file: Option<String>,
    /// The page's date afterwards.
    pub last_updated: Option<String>,
    /// Links of the page that point nowhere.
    pub unresolved_links: Vec<Unresolved>,
}

/// How much an engine holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Name of the engine, `sqlite` for example.
    pub engine: String,
    /// Pages.
    pub pages: u32,
    /// Links that resolve.
    pub links: u32,
    /// Pages per type, in the order of [`PageType::ALL`], without the types that have none.
    pub by_type: Vec<(PageType, u32)>,
}
