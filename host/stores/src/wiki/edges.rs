//! What a declared edge means. Whichever way round a page writes it, the types at its two ends decide where it starts,
//! as far as they can: a Heuristic that writes `uses_heuristic` is the one that is used.

use std::collections::BTreeMap;

use gatehouse_core::ports::knowledge::{PageLink, PageType, UnknownEdge};

use super::ids;

/// At which end of an edge the page of its type stands.
#[derive(Clone, Copy)]
enum EdgeEnd {
    Start,
    Target,
}

/// Edges with an end that takes pages of one type, under the name that they are kept as.
const TYPED_EDGES: [(&str, PageType, EdgeEnd); 6] = [
    ("step", PageType::Workflow, EdgeEnd::Start),
    ("implements", PageType::Implementation, EdgeEnd::Start),
    ("implemented_by", PageType::Implementation, EdgeEnd::Target),
    ("realized_by", PageType::Workflow, EdgeEnd::Target),
    ("requires_env", PageType::Environment, EdgeEnd::Target),
    ("uses_heuristic", PageType::Heuristic, EdgeEnd::Target),
];

/// The edge that a link of a page of this type is kept as, and whether it is turned round: whether it starts at the
/// link's target. `used_by` and `required_by` say from the far end what `uses_heuristic` and `requires_env` say from
/// the near one.
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
        // Both ends fit, or none does: as it is declared.
        _ => (edge, inverse),
    }
}

/// Unknown edges, gathered over pages.
#[derive(Debug, Default)]
pub(crate) struct UnknownEdges(BTreeMap<String, (u32, String)>);

impl UnknownEdges {
    /// Notes those of one page, each as often as it is declared.
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
