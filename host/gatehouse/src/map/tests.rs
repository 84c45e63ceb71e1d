//! Tests of layout and rendering with arbitrary names.

use gatehouse_core::ports::knowledge::{PageLink, PageType};
use gatehouse_stores::LinkedPage;
use proptest::prelude::*;

use super::{
    Diagram, Tone, dot, html,
    layout::{BOX, MAX_CELLS, cut, layout},
    wiki,
};

fn page(id: &str, links: &[&str], unresolved: &[&str]) -> LinkedPage {
    let kind = id.split('/').next().unwrap_or_default();
    let link = |target: &&str| PageLink { edge: "related".into(), target: (*target).to_owned() };
    LinkedPage {
        id: id.into(),
        page_type: kind.parse::<PageType>().expect("a type"),
        links: links.iter().map(link).collect(),
        unresolved: unresolved.iter().map(link).collect(),
    }
}

/// Creates three columns of boxes with these names, each linked to the next.
fn named(names: &[String]) -> Diagram {
    let mut map = Diagram { title: "t".into(), ..Diagram::default() };
    let nodes: Vec<usize> =
        names.iter().enumerate().map(|(place, name)| map.node(place % 3, "group", name)).collect();
    nodes.windows(2).for_each(|two| map.line(two[0], two[1], Tone::ReadOnly, false, "to"));
    map
}

#[test]
fn orphans_and_links_to_nowhere_are_marked() {
    let pages = [
        page("Heuristic/Alone", &[], &[]),
        page("Principle/A", &["Principle/B", "Workflow/C"], &["Principle/Gone", "odd"]),
        page("Principle/B", &[], &[]),
        page("Workflow/C", &["Principle/A"], &[]),
    ];
    let map = wiki(&pages);
    let tone = |name: &str| map.nodes.values().find(|node| node.name == name).expect("a box").tone;
    assert_eq!((tone("Alone"), tone("A"), tone("B")), (Tone::Mutating, Tone::Plain, Tone::Plain));
    assert_eq!((tone("Principle/Gone"), tone("odd")), (Tone::Broken, Tone::Broken));
    assert_eq!(map.lines.values().filter(|line| line.tone == Tone::Broken && line.dashed).count(), 2);
    let titles: Vec<&str> = map.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["Orphans (1)", "Links to pages that do not exist (2)"]);
    assert_eq!(map.tables[0].rows, [["Heuristic/Alone"]]);
    assert!(map.notes.is_empty(), "{:?}", map.notes);
    assert!(wiki(&[]).notes[0].contains("gatehouse kg index"));
}

#[test]
fn broken_links_are_drawn_in_large_diagrams() {
    let mut pages: Vec<_> =
        (0..600).map(|n| page(&format!("Principle/P{n:03}"), &["Principle/P000"], &[])).collect();
    pages.push(page("Principle/Z", &[], &["Principle/Gone"]));
    let map = wiki(&pages);
    assert!(map.nodes.values().any(|node| node.name == "Z"));
    assert_eq!(
        map.notes,
        ["400 of 601 pages are drawn: those with something wrong, then those with the most links."]
    );
}

#[test]
fn the_same_map_is_the_same_picture() {
    let pages = [page("Principle/A", &["Principle/B"], &["x"]), page("Principle/B", &["Principle/A"], &[])];
    let draw = || html("t", "a", &[wiki(&pages)]);
    assert_eq!(draw(), draw());
}

#[test]
fn pages_that_do_not_exist_are_drawn_up_to_a_bound_and_listed_all() {
    let nowhere: Vec<String> = (0..20_000).map(|number| format!("Nowhere/{number}")).collect();
    let nowhere: Vec<&str> = nowhere.iter().map(String::as_str).collect();
    let page = page("Principle/Full_Of_Mistakes", &[], &nowhere);
    let map = wiki(&[page]);
    assert_eq!(map.nodes.len(), 101);
    assert_eq!(map.tables[1].rows.len(), 20_000);
    assert!(
        map.notes.iter().any(|note| note.contains("100 of the pages that do not exist")),
        "{:?}",
        map.notes
    );
}

proptest! {
    #[test]
    fn no_name_does_more_than_stand_there(names in prop::collection::vec(".{1,60}|<script>x</script>|\"><img src=//x>|\\\\\"; n9 \\[", 1..20)) {
        let map = named(&names);
        let page = html(&names[0], &names[0], std::slice::from_ref(&map));
        // Only known tags occur.
        let tags: Vec<&str> = page.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap_or_default()).collect();
        let known = ["!doctype", "html", "/html", "head", "/head", "meta", "title", "/title", "style", "/style", "body", "/body",
            "h1", "/h1", "h2", "/h2", "p", "/p", "ul", "/ul", "li", "/li", "i", "/i", "div", "/div", "svg", "/svg", "path", "/path",
            "g", "/g", "rect", "text", "/text"];
        for tag in tags {
            prop_assert!(known.contains(&tag), "{tag}");
        }
        let graph = dot(&[map]);
        for line in graph.lines() {
            // Unescaped quotes come in pairs.
            let mut open = false;
            let mut letters = line.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => { letters.next(); }
                    '"' => open = !open,
                    _ => {}
                }
            }
            prop_assert!(!open, "{line}");
        }
    }

    #[test]
    fn no_box_lies_on_another(names in prop::collection::vec(".{1,60}", 1..60)) {
        let map = named(&names);
        let placed = layout(&map);
        for (place, one) in placed.boxes.iter().enumerate() {
            prop_assert!(one.right() <= placed.width && one.y + BOX <= placed.height);
            for other in &placed.boxes[place + 1..] {
                let apart = one.right() <= other.x || other.right() <= one.x
                    || one.y + BOX <= other.y || other.y + BOX <= one.y;
                prop_assert!(apart, "{} and {}", one.label, other.label);
            }
        }
    }
}

#[test]
fn labels_are_cut_by_cells() {
    let cells = MAX_CELLS;
    assert_eq!(cut(&"é".repeat(cells)), "é".repeat(cells));
    assert_eq!(cut(&"é".repeat(cells + 1)), "é".repeat(cells - 1) + "…");
    assert_eq!(cut(&"数".repeat(cells)), "数".repeat(cells / 2 - 1) + "…");
}
