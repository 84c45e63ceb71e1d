//! Links between pages, as declared and as seen from either end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

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
    pub fn deduplicate(found: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut unique: BTreeMap<(String, &'static str, bool), Self> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for neighbor in found {
            let meaning = match (neighbor.edge.as_str(), neighbor.outgoing) {
                ("implements", outgoing) => ("implemented_by", !outgoing),
                ("implemented_by", outgoing) => ("implemented_by", outgoing),
                ("related", _) => ("related", true),
                _ => {
                    others.insert(neighbor);
                    continue;
                }
            };
            let existing =
                unique.entry((neighbor.id.clone(), meaning.0, meaning.1)).or_insert_with(|| neighbor.clone());
            if neighbor.outgoing && !existing.outgoing {
                *existing = neighbor;
            }
        }
        others.extend(unique.into_values());
        others.into_iter().collect()
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
