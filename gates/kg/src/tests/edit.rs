//! Tests of `kg_edit`.

use gatehouse_sdk::{
    Fault, FaultKind,
    knowledge::{PatchReport, UnknownEdge, Unresolved, WriteMode},
    testing::Fake,
};
use serde_json::json;

use super::{call, data, refuses};

const TOOL: &str = "kg_edit";

fn report(changed: &[&str]) -> PatchReport {
    PatchReport {
        id: "Principle/A".into(),
        changed: changed.iter().map(|c| (*c).to_owned()).collect(),
        kept_file: None,
        file: Some("/srv/wiki/principles/A.md".into()),
        last_updated: Some("2026-11-21 23:00 GMT".into()),
        unresolved: vec![],
        unknown_edges: vec![],
    }
}

#[test]
fn given_fields_are_replaced_and_others_left_alone() {
    let host = Fake::new().patch(|id, changes, wiki_dir, stamp, mode| {
        assert_eq!(mode, WriteMode::Apply);
        assert_eq!((id, wiki_dir, stamp), ("Principle/A", Some("/srv/wiki"), true));
        assert_eq!((changes.overview.as_deref(), changes.content.as_deref()), (Some("new"), None));
        assert_eq!(changes.domains.as_deref(), Some(&[][..]));
        assert_eq!(changes.links.as_ref().unwrap()[0].target, "Implementation/B");
        assert!(changes.sources.is_none());
        let nowhere =
            Unresolved { page: id.into(), edge: "implemented_by".into(), target: "Implementation/B".into() };
        let unknown = UnknownEdge { edge: "needs".into(), links: 1, page: id.into() };
        Ok(PatchReport {
            unresolved: vec![nowhere],
            unknown_edges: vec![unknown],
            ..report(&["overview", "links"])
        })
    });
    let arguments = json!({
        "page_id": "Principle:A",
        "updates": {
            "overview": "new", "domains": [],
            "outgoing_links": [{"edge": "implemented_by", "target": "Implementation/B"}]
        },
        "wiki_dir": "/srv/wiki"
    });
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    let expected = "\
# Edited Principle/A

**Changed:** overview, links
**File:** `/srv/wiki/principles/A.md`
**Last updated:** 2026-11-21 23:00 GMT

## Unresolved links (1)

No such page yet:

- Principle/A: implemented_by → Implementation/B

## Unknown edges (1)

Stored as related:

- needs: 1 link in Principle/A
";
    assert_eq!(reply.text(), expected);
    assert_eq!(data(TOOL, &reply)["changed"], json!(["overview", "links"]));
}

#[test]
fn an_edit_without_effect_is_reported_and_the_stamp_is_optional() {
    let host = Fake::new().patch(|_, _, _, stamp, _| {
        assert!(!stamp);
        Ok(PatchReport { file: None, last_updated: None, ..report(&[]) })
    });
    let arguments = json!({"page_id": "Principle/A", "updates": {"content": "c"}, "auto_timestamp": false});
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    assert_eq!(reply.text(), "# Nothing to change in Principle/A\n\nThe page already has this content.\n");
    data(TOOL, &reply);
}

#[test]
fn a_dry_run_previews_the_edit_and_names_the_file() {
    let host = Fake::new().patch(|id, _, _, _, mode| {
        assert_eq!((id, mode), ("Principle/A", WriteMode::Preview));
        Ok(report(&["content"]))
    });
    let arguments = json!({"page_id": "Principle/A", "updates": {"content": "c"}, "dry_run": true});
    let reply = host.run(|| call(TOOL, arguments)).unwrap();
    let text = reply.text();
    assert!(text.starts_with("# Would edit Principle/A\n\nA dry run: nothing was changed.\n"), "{text}");
    let data = data(TOOL, &reply);
    assert_eq!(
        (&data["dry_run"], &data["affected_files"]),
        (&json!(true), &json!(["/srv/wiki/principles/A.md"]))
    );
}

#[test]
fn bad_edits_are_refused_before_anything_is_written() {
    assert!(refuses(TOOL, json!({"page_id": "Principle/A", "updates": {}})));
    assert!(refuses(TOOL, json!({"page_id": "Principle/A"})));
    assert!(refuses(TOOL, json!({"page_id": "Principle/A", "updates": {"title": "B"}})));
    let fault = Fake::new().run(|| call(TOOL, json!({"page_id": "A", "updates": {"content": ""}})));
    let fault = fault.unwrap_err();
    assert_eq!(fault.message, "page_id 'A' is not an id of the form Type/Name");
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
}

#[test]
fn a_missing_page_is_the_hosts_fault() {
    let fault = || Fault::not_found("Page not found: 'Principle/A'").hint("Nearest titles: 'B'.");
    let host = Fake::new().patch(move |_, _, _, _, _| Err(fault()));
    let answer = host.run(|| call(TOOL, json!({"page_id": "Principle/A", "updates": {"content": "c"}})));
    assert_eq!(answer.unwrap_err(), fault());
}
