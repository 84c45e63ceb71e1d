//! Normalizes declared edges. The page types at both ends determine the direction where possible: a Heuristic that
//! declares `uses_heuristic` is the target of the edge, not its start.

use std::collections::BTreeMap;

use gatehouse_core::ports::knowledge::{PageLink, PageType, UnknownEdge};

use super::ids;

/// End of an edge that requires a page type.
#[derive(Clone, Copy)]
enum EdgeEnd {
    Start,
    Target,
}

/// Stored edges with a required page type at one end.
const TYPED_EDGES: [(&str, PageType, EdgeEnd); 6] = [
    ("step", PageType::Workflow, EdgeEnd::Start),
    ("implements", PageType::Implementation, EdgeEnd::Start),
    ("implemented_by", PageType::Implementation, EdgeEnd::Target),
    ("realized_by", PageType::Workflow, EdgeEnd::Target),
    ("requires_env", PageType::Environment, EdgeEnd::Target),
    ("uses_heuristic", PageType::Heuristic, EdgeEnd::Target),
];

/// Returns the stored edge of a link, and whether it is inverse, that is, starts at the link's target. `used_by` and
/// `required_by` are the inverse of `uses_heuristic` and `requires_env`.
pub(crate) fn stored_edge(page: PageType, link: &PageLink) -> (&str, bool) {
    let (edge, inverse) = match link.edge.as_str() {
        "used_by" => ("uses_heuristic", true),
        "required_by" => ("requires_env", true),
        other => (other, false),
    };
    let target = ids::split_loose(&link.target).map(|(page_type, _)| page_type);
    let typed = TYPED_EDGES.iter().find(|(name, ..)| *name == edge);
    match (typed, target) {
        (Some((_, wanted, end)), Some(target)) if (page == *wanted) != (target == *wanted) => {
            let starts_here = match end {
                EdgeEnd::Start => page == *wanted,
                EdgeEnd::Target => target == *wanted,
            };
            (edge, !starts_here)
        }
        // Both ends match, or neither does: keep the declared direction.
        _ => (edge, inverse),
    }
}

/// Counts of unknown edges, with the first page that declares each.
#[derive(Debug, Default)]
pub(crate) struct UnknownEdges(BTreeMap<String, (u32, String)>);

impl UnknownEdges {
    pub(crate) fn note(&mut self, page: &str, edges: &[String]) {
        for edge in edges {
            let (links, first) = self.0.entry(edge.clone()).or_insert_with(|| (0, page.to_owned()));
            *links += 1;
            if page < first.as_str() {
                page.clone_into(first);
            }
        }
    }

    pub(crate) fn into_list(self) -> Vec<UnknownEdge> {
        self.0.into_iter().map(|(edge, (links, page))| UnknownEdge { edge, links, page }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(page: PageType, edge: &str, target: &str) -> (String, bool) {
        let link = PageLink { edge: edge.into(), target: target.into() };
        let (edge, inverse) = stored_edge(page, &link);
        (edge.to_owned(), inverse)
    }

    #[test]
    fn the_types_at_both_ends_decide_the_direction() {
        use PageType::{Environment, Heuristic, Implementation, Principle, Workflow};
        for (page, edge, target, kept, inverse) in [
            (Implementation, "uses_heuristic", "Heuristic/H", "uses_heuristic", false),
            (Heuristic, "uses_heuristic", "Implementation/X", "uses_heuristic", true),
            (Heuristic, "used_by", "Implementation/X", "uses_heuristic", true),
            (Implementation, "used_by", "Heuristic/H", "uses_heuristic", false),
            (Environment, "requires_env", "Implementation/X", "requires_env", true),
            (Workflow, "required_by", "Environment/E", "requires_env", false),
            (Environment, "required_by", "Workflow/W", "requires_env", true),
            (Principle, "implements", "Implementation/X", "implements", true),
            (Implementation, "implemented_by", "Principle/P", "implemented_by", true),
            (Workflow, "realized_by", "Principle/P", "realized_by", true),
            (Principle, "step", "Workflow/W", "step", true),
            (Workflow, "step", "Principle/P", "step", false),
        ] {
            assert_eq!(means(page, edge, target), (kept.to_owned(), inverse), "{page} {edge} {target}");
        }
    }

    #[test]
    fn where_the_types_do_not_decide_the_page_is_believed() {
        use PageType::{Heuristic, Principle, Workflow};
        for (page, edge, target, inverse) in [
            (Heuristic, "uses_heuristic", "Heuristic/H", false),
            (Heuristic, "used_by", "Heuristic/H", true),
            (Principle, "requires_env", "Principle/P", false),
            (Workflow, "step", "Workflow/W", false),
            (Principle, "produces", "Implementation/X", false),
            (Principle, "related", "Workflow/W", false),
        ] {
            assert_eq!(means(page, edge, target).1, inverse, "{page} {edge} {target}");
        }
    }
}
