//! Tests of `kg_index`.

use gatehouse_sdk::{
    FaultKind,
    knowledge::{IndexReport, PageType, TakenOver, UnknownEdge, Unresolved, WriteMode, Written},
    testing::Fake,
};
use serde_json::json;

use super::{call, data, refuses};

const TOOL: &str = "kg_index";

fn report(added: u32, unchanged: u32) -> IndexReport {
    IndexReport {
        added,
        updated: 0,
        unchanged,
        removed: 0,
        links: 7,
        unresolved: vec![],
        skipped: vec![],
        unknown_edges: vec![],
        taken_over: vec![],
        written: vec![],
    }
}

#[test]
fn a_folder_is_indexed_and_the_reply_counts() {
    let host = Fake::new().index(|root, options, mode| {
        assert_eq!((root, mode), (Some("/srv/wiki"), WriteMode::Apply));
        assert!(options.clear_existing && !options.accept_loss);
        assert_eq!(options.persist_path.as_deref(), Some("/srv/wiki/kg.index"));
        let link = |n: usize| Unresolved {
            page: "Principle/A".into(),
            edge: "implemented_by".into(),
            target: format!("Implementation/B{n}"),
        };
        let skipped = vec!["principles/broken.md: not UTF-8".into()];
        Ok(IndexReport { unresolved: (0..25).map(link).collect(), skipped, ..report(3, 0) })
    });
    let arguments =
        json!({"wiki_dir": "/srv/wiki", "clear_existing": true, "persist_path": "/srv/wiki/kg.index"});
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    let text = reply.text();
    let counts = "**Added:** 3 | **Updated:** 0 | **Unchanged:** 0 | **Removed:** 0 | **Links:** 7\n";
    assert!(text.starts_with(&format!("# Indexed `/srv/wiki`\n\n{counts}")), "{text}");
    assert!(
        text.contains("## Unresolved links (25)\n\nNo such page yet:\n\n- Principle/A: implemented_by → ")
    );
    assert!(text.contains("/B19\n- … and 5 more\n") && !text.contains("/B20"), "{text}");
    assert!(text.contains("## Skipped files (1)") && text.contains("- principles/broken.md: not UTF-8\n"));
    let data = data(TOOL, &reply);
    assert_eq!(data["unresolved_links"].as_array().unwrap().len(), 25);
    assert_eq!(data["unresolved_links"][24]["target"], "Implementation/B24");
}

#[test]
fn no_arguments_index_the_servers_own_wiki_and_no_change_says_so() {
    let host = Fake::new().index(|root, options, _| {
        assert!(root.is_none() && !options.clear_existing && options.persist_path.is_none());
        Ok(report(0, 99))
    });
    let reply = host.run(|| call(TOOL, json!({"wiki_dir": ""}))).unwrap();
    assert!(reply.text().starts_with("# Indexed the server's wiki\n"));
    assert!(reply.text().ends_with("\nNothing changed.\n"), "{}", reply.text());
    data(TOOL, &reply);
}

#[test]
fn a_dry_run_previews_and_names_the_files() {
    let host = Fake::new().index(|root, _, mode| {
        assert_eq!((root, mode), (Some("/srv/wiki"), WriteMode::Preview));
        Ok(report(3, 0))
    });
    let arguments = json!({"wiki_dir": "/srv/wiki", "persist_path": "/srv/wiki/kg.index", "dry_run": true});
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    let text = reply.text();
    assert!(text.starts_with("# Would index `/srv/wiki`\n\nA dry run: nothing was changed.\n"), "{text}");
    let data_of_reply = data(TOOL, &reply);
    assert_eq!(
        (&data_of_reply["dry_run"], &data_of_reply["affected_files"]),
        (&json!(true), &json!(["/srv/wiki/kg.index"]))
    );

    let file = "/srv/wiki/heuristics/X.md";
    let host = Fake::new().upsert(move |_, mode| {
        assert_eq!(mode, WriteMode::Preview);
        let written = Written { page: "Heuristic/X".into(), file: Some(file.into()) };
        Ok(IndexReport { written: vec![written], ..report(1, 0) })
    });
    let page = json!({"page_title": "X", "page_type": "Heuristic", "overview": "o", "content": "c"});
    let reply = host.run(|| call(TOOL, json!({"page_data": page, "dry_run": true}))).unwrap();
    assert_eq!(data(TOOL, &reply)["affected_files"], json!([file]));
}

#[test]
fn a_page_is_written_as_it_is_given() {
    let host = Fake::new().upsert(|drafts, mode| {
        assert_eq!(mode, WriteMode::Apply);
        let [draft] = drafts else { panic!("one draft") };
        assert_eq!((draft.title.as_str(), draft.page_type), ("Log_Flush", PageType::Heuristic));
        assert_eq!(draft.domains, ["Storage"]);
        let sources: Vec<_> = draft.sources.iter().map(|s| (s.kind.as_str(), s.title.as_str())).collect();
        assert_eq!(sources, [("Repo", "github.com/a/b"), ("Talk", "A talk"), ("Doc", "example.org/x")]);
        assert_eq!(draft.links[0].edge, "used_by");
        assert_eq!(draft.links[0].target, "Implementation/LogWriter");
        assert_eq!(draft.links[1].target, "Principle/WAL");
        let written = Written {
            page: "Heuristic/Log_Flush".into(),
            file: Some("/srv/wiki/heuristics/Log_Flush.md".into()),
        };
        Ok(IndexReport { written: vec![written], ..report(1, 0) })
    });
    let page = json!({
        "page_title": "Log_Flush", "page_type": "Heuristic", "overview": "o", "content": "c",
        "domains": ["Storage"],
        "sources": [
            "https://github.com/a/b",
            {"kind": "Talk", "title": "A talk", "url": "https://example.org/talk"},
            {"url": "https://example.org/x"}
        ],
        "outgoing_links": [
            {"edge": "used_by", "target": "Implementation/LogWriter"},
            {"edge": "related", "target": "Principle:WAL"}
        ]
    });
    let reply = host.run(|| call(TOOL, json!({"page_data": page, "clear_existing": false}))).unwrap();
    assert!(reply.text().starts_with("# Indexed Heuristic \"Log_Flush\"\n"), "{}", reply.text());
    assert!(reply.text().ends_with("\n**File:** `/srv/wiki/heuristics/Log_Flush.md`\n"), "{}", reply.text());
    assert_eq!(data(TOOL, &reply)["written"][0]["page"], "Heuristic/Log_Flush");
}

#[test]
fn a_page_without_a_file_says_so() {
    let written = || vec![Written { page: "Principle/A".into(), file: None }];
    let host = Fake::new().upsert(move |_, _| Ok(IndexReport { written: written(), ..report(1, 0) }));
    let page = json!({"page_title": "A", "page_type": "principle", "overview": "", "content": ""});
    let reply = host.run(|| call(TOOL, json!({ "page_data": page }))).unwrap();
    assert!(reply.text().contains("**File:** none; the page is only in the store"), "{}", reply.text());
}

#[test]
fn removing_unrecoverable_pages_requires_confirmation() {
    let host = Fake::new().index(|_, options, _| {
        assert!(options.clear_existing && options.accept_loss);
        Ok(report(1, 0))
    });
    let arguments = json!({"wiki_dir": "w", "clear_existing": true, "confirm": "all"});
    host.run(|| call(TOOL, arguments)).unwrap();
    assert!(refuses(TOOL, json!({"wiki_dir": "w", "clear_existing": true, "confirm": "yes"})));
}

#[test]
fn taken_over_pages_and_unknown_edges_are_reported() {
    let host = Fake::new().index(|_, _, _| {
        let taken = TakenOver {
            from: Some("/srv/old".into()),
            pages: (0..7).map(|i| format!("Principle/P{i}")).collect(),
        };
        let written = TakenOver { from: None, pages: vec!["Heuristic/H".into()] };
        let unknown = UnknownEdge { edge: "depends_on".into(), links: 4, page: "Principle/A".into() };
        Ok(IndexReport { taken_over: vec![taken, written], unknown_edges: vec![unknown], ..report(1, 0) })
    });
    let reply = host.run(|| call(TOOL, json!({"wiki_dir": "w"}))).unwrap();
    let expected = "
## Taken over (2)

Pages with these ids came from elsewhere before; the last one indexed wins:

- `/srv/old`: Principle/P0, Principle/P1, Principle/P2, Principle/P3, Principle/P4 and 2 more
- written by a caller: Heuristic/H

## Unknown edges (1)

Stored as related:

- depends_on: 4 links, the first in Principle/A
";
    assert!(reply.text().ends_with(expected), "{}", reply.text());
    assert_eq!(data(TOOL, &reply)["taken_over"][0]["pages"].as_array().unwrap().len(), 7);
}

#[test]
fn contradictory_arguments_are_rejected_before_writing() {
    let page = json!({"page_title": "A", "page_type": "Principle", "overview": "", "content": ""});
    let mut bad_link = page.clone();
    bad_link["outgoing_links"] = json!([{"edge": "related", "target": "nowhere"}]);
    let mut blank = page.clone();
    blank["page_title"] = json!(" ");
    for (arguments, message) in [
        (json!({"page_data": page, "wiki_dir": "w"}), "wiki_dir and page_data exclude each other"),
        (
            json!({"page_data": page, "clear_existing": true}),
            "clear_existing, confirm and persist_path cannot be used with page_data",
        ),
        (
            json!({"page_data": page, "persist_path": "p"}),
            "clear_existing, confirm and persist_path cannot be used with page_data",
        ),
        (json!({"wiki_dir": "w", "confirm": "all"}), "confirm requires clear_existing"),
        (json!({"page_data": bad_link}), "target 'nowhere' is not an id of the form Type/Name"),
        (json!({"page_data": blank}), "page_title is blank"),
    ] {
        // This fake host fails every request, so the faults come from the gate.
        let fault = Fake::new().run(|| call(TOOL, arguments)).unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::InvalidArguments, message));
        assert!(fault.hint.is_some());
    }
}

#[test]
fn malformed_pages_are_refused_by_the_schema() {
    let whole = json!({"page_title": "A", "page_type": "Principle", "overview": "", "content": ""});
    for (field, bad) in [
        ("page_type", json!("Recipe")),
        ("page_title", json!("")),
        ("colour", json!("red")),
        ("sources", json!([{"title": "no url"}])),
        ("sources", json!([7])),
        ("outgoing_links", json!([{"edge": "likes", "target": "Principle/B"}])),
        ("outgoing_links", json!([{"target": "Principle/B"}])),
    ] {
        let mut page = whole.clone();
        page[field] = bad;
        assert!(refuses(TOOL, json!({ "page_data": page })), "{page}");
    }
    assert!(!refuses(TOOL, json!({ "page_data": whole })));
}
