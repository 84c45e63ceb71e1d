//! How pages are linked: what a page declares, and what is seen from either end.

use serde::{Deserialize, Serialize};

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
