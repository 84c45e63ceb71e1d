//! Diagram of links between wiki pages: a column for each type, orphans, and links to missing pages.

use std::collections::BTreeSet;

use gatehouse_core::ports::knowledge::PageType;
use gatehouse_stores::LinkedPage;

use super::{Diagram, DiagramTable, Tone};

/// Maximum pages that are drawn. Larger diagrams are unreadable.
const MAX_PAGES: usize = 400;

/// Maximum missing pages that are drawn. The table lists all links to them.
const MAX_MISSING_PAGES: usize = 100;

pub(crate) fn wiki(pages: &[LinkedPage]) -> Diagram {
    let mut map = Diagram {
        title: "Links between pages".into(),
        about: format!(
            "{} pages by type. Lines are links; those within a column bend to its right.",
            pages.len()
        ),
        legend: vec![
            (Tone::ReadOnly, "link"),
            (Tone::Mutating, "orphan: no link from or to it"),
            (Tone::Broken, "does not exist"),
        ],
        ..Diagram::default()
    };
    let linked: BTreeSet<&str> =
        pages.iter().flat_map(|page| page.links.iter().map(|link| link.target.as_str())).collect();
    let orphan = |page: &LinkedPage| page.links.is_empty() && !linked.contains(page.id.as_str());
    let mut drawn: Vec<&LinkedPage> = pages.iter().collect();
    // Pages with problems come first, then the most linked ones.
    drawn.sort_by_key(|page| (page.unresolved.is_empty() && !orphan(page), usize::MAX - page.links.len()));
    drawn.truncate(MAX_PAGES);
    drawn.sort_by(|a, b| a.id.cmp(&b.id));
    let drawn_ids: BTreeSet<&str> = drawn.iter().map(|page| page.id.as_str()).collect();
    let types: Vec<PageType> =
        PageType::ALL.into_iter().filter(|kind| drawn.iter().any(|page| page.page_type == *kind)).collect();
    let node = |map: &mut Diagram, id: &str| {
        let (kind, name) = id.split_once('/').unwrap_or(("", id));
        let column = types.iter().position(|page_type| page_type.as_str() == kind).unwrap_or(types.len());
        map.node(column, kind, &name.replace('_', " "))
    };
    for page in &drawn {
        let node = node(&mut map, &page.id);
        map.nodes[node].detail.clone_from(&page.id);
        if orphan(page) {
            map.nodes[node].tone = Tone::Mutating;
        }
    }
    let mut missing = BTreeSet::new();
    for page in &drawn {
        let from = node(&mut map, &page.id);
        for link in page
            .links
            .iter()
            .filter(|link| drawn_ids.contains(link.target.as_str()) && link.target != page.id)
        {
            let to = node(&mut map, &link.target);
            map.line(from, to, Tone::ReadOnly, false, link.edge.clone());
        }
        for link in &page.unresolved {
            if missing.len() == MAX_MISSING_PAGES && !missing.contains(link.target.as_str()) {
                continue;
            }
            missing.insert(link.target.as_str());
            let to = map.node(types.len(), "Pages that do not exist", &link.target);
            map.nodes[to].tone = Tone::Broken;
            map.line(from, to, Tone::Broken, true, link.edge.clone());
        }
    }
    if pages.is_empty() {
        map.notes.push("There are no pages. Run `gatehouse kg index DIR` to index a wiki.".into());
    }
    if drawn.len() < pages.len() {
        map.notes.push(format!(
            "{} of {} pages are drawn: those with something wrong, then those with the most links.",
            drawn.len(),
            pages.len()
        ));
    }
    if missing.len() == MAX_MISSING_PAGES {
        map.notes.push(format!(
            "{MAX_MISSING_PAGES} of the pages that do not exist are drawn; the table has all."
        ));
    }
    let orphans: Vec<Vec<String>> =
        pages.iter().filter(|page| orphan(page)).map(|page| vec![page.id.clone()]).collect();
    let unresolved: Vec<Vec<String>> = pages
        .iter()
        .flat_map(|page| {
            page.unresolved.iter().map(|link| vec![page.id.clone(), link.edge.clone(), link.target.clone()])
        })
        .collect();
    for (title, header, rows) in [
        ("Orphans", vec!["Page"], orphans),
        ("Links to pages that do not exist", vec!["Page", "Edge", "To"], unresolved),
    ] {
        if !rows.is_empty() {
            map.tables.push(DiagramTable { title: format!("{title} ({})", rows.len()), header, rows });
        }
    }
    map
}
