//! How pages are linked: what a page declares, and what is seen from either end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A link as a page declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageLink {
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
pub struct PageNeighbor {
    /// The edge, as it is kept.
    pub edge: String,
    /// Whether the page that was asked for is where the edge starts.
    pub outgoing: bool,
    /// Id of the other page.
    pub id: String,
    /// Title of the other page.
    pub title: String,
}

impl PageNeighbor {
    /// The neighbours of a page, sorted, each pair of pages once for what their edge means: an edge and its inverse say
    /// one thing, and so do two pages that name each other as related. What starts at the page that was asked for is
    /// kept.
    pub fn deduplicate(found: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut once: BTreeMap<(String, &'static str, bool), Self> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for near in found {
            let meaning = match (near.edge.as_str(), near.outgoing) {
                ("implements", outgoing) => ("implemented_by", !outgoing),
                ("implemented_by", outgoing) => ("implemented_by", outgoing),
                ("related", _) => ("related", true),
                _ => {
                    others.insert(near);
                    continue;
                }
            };
            let kept = once.entry((near.id.clone(), meaning.0, meaning.1)).or_insert_with(|| near.clone());
            if near.outgoing && !kept.outgoing {
                *kept = near;
            }
        }
        others.extend(once.into_values());
        others.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(edge: &str, outgoing: bool, id: &str) -> PageNeighbor {
        PageNeighbor { edge: edge.into(), outgoing, id: id.into(), title: String::new() }
    }

    #[test]
    fn an_edge_and_its_inverse_are_one() {
        let both = vec![
            near("implements", false, "Implementation/A"),
            near("implemented_by", true, "Implementation/A"),
            near("related", false, "Principle/B"),
            near("related", true, "Principle/B"),
            near("related", false, "Principle/C"),
            near("step", false, "Workflow/W"),
            near("step", false, "Workflow/W"),
            near("implemented_by", false, "Implementation/A"),
        ];
        let kept = [
            near("implemented_by", false, "Implementation/A"),
            near("implemented_by", true, "Implementation/A"),
            near("related", false, "Principle/C"),
            near("related", true, "Principle/B"),
            near("step", false, "Workflow/W"),
        ];
        assert_eq!(PageNeighbor::deduplicate(both.clone()), kept);
        assert_eq!(PageNeighbor::deduplicate(both.into_iter().rev()), kept);
    }
}
