//! The recipe of docs/team.md, as printed: two keys, and what each opens.

use serde_json::json;

use super::{Person, key};
use crate::support::{Http, Place, place::repository};

#[test]
fn the_recipe_works_as_printed() {
    let page = std::fs::read_to_string(repository().join("docs/team.md")).expect("docs/team.md");
    let block = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let place = Place::with(block, &[]);
    let check = place.run(&["presets", "check"]);
    assert_eq!(check.code(), 0, "{}{}", check.stdout(), check.stderr());
    let (ann, bob) = (key(&place, &["ann", "--group", "dev", "--expires", "90d"]), key(&place, &["bob"]));
    let host = Http::with(&place, &[], &[]);
    let tools = Person::connect(&host, &ann, "/mcp/p/proxy").tools();
    assert!(tools.iter().any(|tool| tool == "call_tool"), "{tools:?}");
    assert!(!Person::connect(&host, &bob, "/mcp/p/documents").tools().is_empty());
    let headers = [("authorization", &*format!("Bearer {bob}"))];
    let (status, _, body) =
        host.post("/mcp/p/proxy", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}), &headers);
    assert_eq!(status, 404, "{body}");
    assert!(
        body.contains("unknown preset 'proxy'. There are: documents.") && !body.contains("shipped"),
        "{body}"
    );
    for (who, expected) in [("key:ann", "\nallowed:"), ("key:bob", "not allowed:")] {
        let explained = place.run(&["explain", "search_tools", "--preset", "proxy", "--as", who]).stdout();
        assert!(explained.contains(expected), "{explained}");
    }
}
