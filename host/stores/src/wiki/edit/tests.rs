//! Tests with a fixed page and with generated pages.

use gatehouse_core::{
    outcome::FaultKind,
    ports::knowledge::{PageChanges, PageLink, PageSource},
};
use proptest::prelude::*;

use super::*;
use crate::wiki::validate;

const PAGE: &str = "# Principle: Model_Loading\n\n{| class=\"wikitable\"\n|-\n! Knowledge Sources\n|\n* [[source::Repo|A|https://a]]\n* [[source::Doc|B|https://b]]\n|-\n! Domains\n| [[domain::LLMs]], [[domain::Fine_Tuning]]\n|-\n! Last Updated\n| [[last_updated::2026-01-09 12:00 GMT]]\n|}\n\n== Overview ==\nOld text.\n\n=== Description ===\nStep [[step::Principle:In_text]] here.\n```\n== Overview ==\n[[step::Principle:Code]]\n```\n\n== Related Pages ==\n=== By ===\n* [[implemented_by::Implementation:A_b]]\n* [[requires_env::Environment:E]]\n";
const NOW: &str = "2026-02-02 02:02 GMT";

fn edit(text: &str, changes: &PageChanges) -> Result<EditedPage, Fault> {
    apply(text, &validate::changes(changes)?, Some(NOW))
}

fn link(edge: &str, target: &str) -> PageLink {
    PageLink { edge: edge.into(), target: target.into() }
}

fn source(title: &str) -> PageSource {
    PageSource { kind: "Doc".into(), title: title.into(), url: "https://x".into() }
}

/// Returns the lines that only `old` contains, and those that only `new` contains.
fn diff(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
    let only = |a: &str, b: &str| {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    (only(old, new), only(new, old))
}

#[test]
fn an_overview_changes_and_nothing_else_but_the_date() {
    let edited =
        edit(PAGE, &PageChanges { overview: Some("New text.".into()), ..PageChanges::default() }).unwrap();
    assert_eq!(edited.changed, ["overview"]);
    let expected = PAGE.replace("Old text.", "New text.").replace("2026-01-09 12:00 GMT", NOW);
    assert_eq!(edited.text, expected);
}

#[test]
fn line_ends_of_the_file_stay() {
    let page = PAGE.replace('\n', "\r\n");
    let changes = PageChanges {
        overview: Some("a\nb".into()),
        domains: Some(vec!["X".into()]),
        sources: Some(vec![source("N"), source("M")]),
        links: Some(vec![link("related", "Heuristic/H")]),
        ..PageChanges::default()
    };
    let edited = edit(&page, &changes).unwrap().text;
    assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count());
    assert_eq!(parse(&edited).overview, "a\nb");
}

#[test]
fn domains_and_sources_change_where_they_stand() {
    let changes = PageChanges {
        domains: Some(vec!["New one".into(), "LLMs".into(), "X".into()]),
        sources: Some(vec![source("N")]),
        ..PageChanges::default()
    };
    let edited = edit(PAGE, &changes).unwrap();
    assert_eq!(edited.changed, ["domains", "sources"]);
    let (removed, added) = diff(PAGE, &edited.text);
    assert_eq!(removed.len(), 4);
    assert!(added.contains(&"| [[domain::New_one]], [[domain::LLMs]], [[domain::X]]".to_owned()));
    assert!(added.contains(&"* [[source::Doc|N|https://x]]".to_owned()));
}

#[test]
fn lists_can_be_emptied_and_filled_again() {
    let none = PageChanges {
        domains: Some(vec![]),
        sources: Some(vec![]),
        links: Some(vec![]),
        ..PageChanges::default()
    };
    let emptied = edit(PAGE, &none).unwrap();
    assert_eq!(emptied.changed, ["domains", "sources", "links"]);
    assert!(emptied.text.contains("Step [[Principle:In_text]] here."));
    let full = PageChanges {
        domains: Some(vec!["LLMs".into(), "Fine Tuning".into()]),
        sources: Some(parse(PAGE).sources),
        links: Some(parse(PAGE).links),
        ..PageChanges::default()
    };
    let filled = edit(&emptied.text, &full).unwrap().text;
    assert_eq!(parse(&filled).domains, parse(PAGE).domains);
    assert_eq!(filled.matches("! Domains").count(), 1, "{filled}");
    assert_eq!(filled.matches("! Knowledge Sources").count(), 1);
}

#[test]
fn links_that_stay_are_not_moved() {
    let changes = PageChanges {
        links: Some(vec![
            link("step", "Principle/In text"),
            link("implemented_by", "Implementation/A_b"),
            link("related", "Workflow/W"),
        ]),
        ..PageChanges::default()
    };
    let edited = edit(PAGE, &changes).unwrap();
    let (removed, added) = diff(PAGE, &edited.text);
    assert_eq!(removed[1..], ["* [[requires_env::Environment:E]]"]);
    assert_eq!(added[1..], ["* [[related::Workflow:W]]"]);
}

#[test]
fn missing_parts_of_a_page_are_created() {
    for page in [
        "",
        "# Principle: X",
        "# Principle: X\n",
        "only text",
        "\u{feff}= X =\r\ntext\r\n",
        "# X\n\n== Usage ==\nu",
    ] {
        let changes = PageChanges {
            overview: Some("Short.".into()),
            domains: Some(vec!["D d".into()]),
            sources: Some(vec![source("S")]),
            links: Some(vec![link("used_by", "Implementation/I")]),
            ..PageChanges::default()
        };
        let edited = edit(page, &changes).unwrap_or_else(|fault| panic!("{page:?}: {fault}")).text;
        let (old, new) = (parse(page), parse(&edited));
        assert_eq!((new.title, new.overview.as_str()), (old.title, "Short."), "{edited}");
        assert_eq!((new.domains[0].as_str(), new.last_updated.as_deref()), ("D d", Some(NOW)));
        assert!(page.trim().lines().all(|line| edited.contains(line)), "{edited}");
    }
}

#[test]
fn new_content_keeps_unmentioned_fields() {
    let changes = PageChanges { content: Some("== Usage ==\nOnly this.".into()), ..PageChanges::default() };
    let edited = edit(PAGE, &changes).unwrap();
    assert_eq!(edited.changed, ["content"]);
    let page = parse(&edited.text);
    assert_eq!((page.overview.as_str(), page.links.len()), ("Old text.", 3));
    assert!(page.content.contains("Only this.") && !page.content.contains("Description"));
}

#[test]
fn new_content_that_says_everything_is_the_content() {
    let content = "== Overview ==\nOther.\n\n== Related Pages ==\n* [[related::Workflow:W]]";
    let edited =
        edit(PAGE, &PageChanges { content: Some(content.into()), ..PageChanges::default() }).unwrap();
    assert_eq!(edited.changed, ["overview", "content", "links"]);
    assert_eq!(parse(&edited.text).content, content);
    assert_eq!(parse(&edited.text).domains, parse(PAGE).domains);
}

#[test]
fn the_same_values_change_nothing_not_even_the_date() {
    let page = parse(PAGE);
    let same = PageChanges {
        overview: Some(page.overview),
        content: Some(page.content),
        domains: Some(page.domains),
        sources: Some(page.sources),
        links: Some(page.links),
    };
    let edited = edit(PAGE, &same).unwrap();
    assert_eq!((edited.text.as_str(), edited.changed.len()), (PAGE, 0));
}

#[test]
fn values_that_would_be_read_as_something_else_are_refused() {
    for overview in
        ["== Heading ==", "a\n=== Usage ===\nb", "[[domain::X]]", "[[step::Principle:Y]]", "x\n```\ny"]
    {
        let fault = edit(PAGE, &PageChanges { overview: Some(overview.into()), ..PageChanges::default() })
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidArguments, "{overview}");
    }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,12}", "\\PC{0,12}", Just("a]b".to_owned()), Just("_x_".to_owned())]
}

/// Generates random sequences of page fragments.
fn pages() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("# Principle: X\n".to_owned()),
        Just("{|\n! Domains\n|\n|}\n".to_owned()),
        Just("| [[domain::A]], [[domain::B]]\n".to_owned()),
        Just("{|\n|}\n".to_owned()),
        Just("== Overview ==\n".to_owned()),
        Just("== Related Pages ==".to_owned()),
        Just("* [[step::Principle:P]]\r\n".to_owned()),
        Just("[[source::a|b|c]] [[last_updated::x]]".to_owned()),
        Just("```\n".to_owned()),
        Just("<pre>".to_owned()),
        Just("</pre>\n".to_owned()),
        Just("\u{feff}".to_owned()),
        words(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_is_read_back_exactly_or_refused(
        page in pages(),
        overview in proptest::option::of(words()),
        content in proptest::option::of(pages()),
        domains in proptest::option::of(proptest::collection::vec("[A-Za-z][a-z ]{0,5}", 0..4)),
        targets in proptest::option::of(proptest::collection::vec("[A-Z][a-z_ ]{0,4}", 0..4)),
    ) {
        let links = targets.map(|names| names.iter().map(|name| link("step", &format!("Principle/{name}"))).collect());
        let changes = PageChanges { overview, content, domains, sources: None, links };
        let Ok(changes) = validate::changes(&changes) else { return Ok(()) };
        if let Ok(edited) = apply(&page, &changes, Some(NOW)) {
            let (before, after) = (parse(&page), parse(&edited.text));
            prop_assert_eq!(before.title, after.title);
            if let Some(overview) = changes.overview {
                // If a page has no overview, it is derived from the content.
                let none = overview.is_empty() && !after.own_overview;
                prop_assert!(none || overview == after.overview, "{:?}", after.overview);
            }
            if let Some(domains) = changes.domains { prop_assert_eq!(domains, after.domains); }
            if let Some(links) = changes.links { prop_assert_eq!(ids::link_set(&links), ids::link_set(&after.links)); }
            if edited.changed.is_empty() { prop_assert_eq!(&page, &edited.text); }
            let again = apply(&edited.text, &PageChanges::default(), Some("other")).unwrap();
            prop_assert_eq!(again.text, edited.text);
        }
    }
}
