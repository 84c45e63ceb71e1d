//! Effects of server tools from `presets.toml`, reviews and annotations, with the shipped presets.

use serde_json::{Value, json};

use super::from_stdin;
use crate::support::{Client, Place, place::SHIPPED, place::repository};

fn place(tools: &Value, more: &str) -> Place {
    let place = Place::with("", &SHIPPED);
    let file = place.write("tools.json", tools.to_string());
    let record = place.path("record");
    let arguments =
        ["stdio".to_owned(), format!("tools={}", file.display()), format!("record={}", record.display())];
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let presets = std::fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    place.write(
        "presets.toml",
        format!("{presets}\n[servers.s]\ncommand = {server:?}\nargs = {arguments:?}\n{more}"),
    );
    place
}

fn tool(name: &str, annotations: Value) -> Value {
    let properties = json!({"symbol": {"type": "string"}, "text": {"type": "string"}, "preview": {"type": "boolean"}, "reply": {}});
    json!({"name": name, "description": format!("Does {name}."), "annotations": annotations,
        "inputSchema": {"type": "object", "properties": properties}})
}

fn requested(place: &Place, sent: &Value) -> Value {
    from_stdin(place, &sent.to_string(), &[]).1
}

fn request(place: &Place, intent: &str, action: &str, params: Value) -> Value {
    requested(place, &json!({"intent": intent, "action": action, "params": params}))
}

fn calls(place: &Place) -> String {
    let record = std::fs::read_to_string(place.path("record")).unwrap_or_default();
    record.lines().filter(|line| line.contains("tools/call")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_file_says_what_a_tool_without_annotations_does() {
    let tools = json!([tool("rename", json!({})), tool("find", json!({}))]);
    let bare = place(&tools, "");
    let response = request(&bare, "MODIFY", "s/rename", json!({}));
    assert_eq!(
        response["error"]["type"], "PERMISSION",
        "without an annotation it counts as the strongest: {response}"
    );

    let rules = "[servers.s.tools.rename]\neffect = \"mutating\"\ndry_run = \"preview\"\ntarget = \"symbol\"\nprecheck = \"find\"\n\
        [servers.s.tools.find]\neffect = \"read-only\"\n";
    let place = place(&tools, rules);
    let reply = json!({"symbol": "x", "reply": {"found": true}});
    let response = request(&place, "QUERY", "s/find", reply.clone());
    assert_eq!(
        (&response["ok"], &response["result"]["data"]["found"]),
        (&json!(true), &json!(true)),
        "{response}"
    );
    let response = request(&place, "QUERY", "s/rename", json!({}));
    assert!(response["error"]["message"].to_string().contains("requires effect MUTATING"), "{response}");
    let response = request(&place, "MODIFY", "s/rename", reply);
    assert_eq!(response["ok"], true, "{response}");
    let rehearsed = requested(
        &place,
        &json!({"intent": "MODIFY", "action": "s/rename", "params": {"reply": {}}, "constraints": {"dry_run": true}}),
    );
    assert_eq!(rehearsed["ok"], true, "{rehearsed}");
    let calls = calls(&place);
    assert_eq!(
        calls.lines().count(),
        4,
        "one of find, and one that checks, one of rename, one rehearsal: {calls}"
    );
}

#[test]
fn what_is_to_be_changed_is_looked_up_first() {
    let tools = json!([tool("rename", json!({}))]);
    let rules = "[servers.s.tools.rename]\neffect = \"mutating\"\ntarget = \"text\"\nprecheck = \"fails\"\n\
        [servers.s.tools.fails]\neffect = \"read-only\"\n";
    let place = place(&tools, rules);
    let response = request(&place, "MODIFY", "s/rename", json!({"text": "x", "reply": {}}));
    assert_eq!(response["error"]["type"], "VALIDATION", "{response}");
    assert!(
        response["error"]["message"].to_string().contains("did not pass 'fails': not today"),
        "{response}"
    );
    assert_eq!(calls(&place).lines().count(), 1, "the tool itself was not called");
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", presets.replace("precheck = \"fails\"", "precheck = \"gone\""));
    let response = request(&place, "MODIFY", "s/rename", json!({"text": "x", "reply": {}}));
    let reason = "cannot check 'rename' with 'gone': ";
    assert!(
        response["error"]["message"].as_str().is_some_and(|message| message.starts_with(reason)),
        "{response}"
    );
    assert_eq!(
        response["error"]["suggestion"], "Correct precheck under [servers.s.tools.rename].",
        "{response}"
    );
    assert_eq!(calls(&place).lines().count(), 1, "not called without its check either");
}

#[test]
fn approvals_go_by_the_same_effect() {
    let tools = json!([tool("rename", json!({}))]);
    let rules = "[servers.s.tools.rename]\neffect = \"mutating\"\n\
        [presets.asked]\nextends = [\"proxy\"]\n[presets.asked.approve]\neffect = \"external-exec\"\n";
    let place = place(&tools, rules);
    let mut client = Client::start(&place, "asked");
    let call =
        |tool: &str| json!({"server": "s", "tool": tool, "arguments": {"text": "x", "reply": {"done": 1}}});
    let done = client.call("call_tool", call("rename"));
    assert_ne!(done["isError"], true, "{done}");
    // A command cannot ask.
    let asked = place.run(&["call", "call_tool", &call("echo").to_string(), "--preset", "asked"]).stdout();
    assert!(asked.contains("requires user approval"), "{asked}");
}

#[test]
fn a_hint_makes_a_tool_stricter_at_once_and_weaker_after_a_review() {
    let listing = |hints: Value| json!([tool("t", hints)]);
    let place = place(&listing(json!({})), "");
    let now_says = |hints: Value| {
        place.write("tools.json", listing(hints).to_string());
        assert_eq!(place.run(&["servers", "refresh", "s"]).code(), 0);
    };
    let reads = || request(&place, "QUERY", "s/t", json!({"reply": {}}))["ok"] == true;
    now_says(json!({}));
    assert!(!reads());
    now_says(json!({"readOnlyHint": true}));
    assert!(!reads(), "an annotation alone changes nothing");
    let waits = place.run(&["servers", "review", "s", "--json"]).json();
    assert_eq!(
        (&waits[0]["held_back"], &waits[0]["counts_as"]["effect"]),
        (&json!(false), &json!("external-exec")),
        "{waits}"
    );
    let shown = place.run(&["servers", "review"]).stdout();
    assert!(
        shown.contains("Until you approve it, it counts as external-exec. The server says: read-only"),
        "{shown}"
    );
    let digest = format!("t@{}", waits[0]["digest"].as_str().expect("a digest"));
    assert_eq!(place.run(&["servers", "review", "s", "--approve", &digest]).code(), 0);
    assert!(reads());
    assert_eq!(place.run(&["servers", "review", "--json"]).json(), json!([]));
    now_says(json!({"destructiveHint": true}));
    assert!(!reads(), "a stricter effect applies immediately");
    now_says(json!({"readOnlyHint": true}));
    assert!(reads(), "the accepted annotation is back");
}

#[test]
fn a_tool_that_was_not_listed_for_a_while_does_not_come_back_weaker() {
    let place = place(&json!([tool("t", json!({}))]), "");
    let now_lists = |tools: Value| {
        place.write("tools.json", tools.to_string());
        assert_eq!(place.run(&["servers", "refresh", "s"]).code(), 0);
    };
    now_lists(json!([tool("t", json!({}))]));
    now_lists(json!([]));
    now_lists(json!([tool("t", json!({"readOnlyHint": true}))]));
    let response = request(&place, "QUERY", "s/t", json!({"reply": {}}));
    assert_eq!(response["error"]["type"], "PERMISSION", "{response}");
}

#[test]
fn lines_that_cannot_hold_are_in_the_log() {
    let rules =
        "[servers.s.tools.rename]\ndry_run = \"symbol\"\n[servers.s.tools.renam]\neffect = \"read-only\"\n";
    let place = place(&json!([tool("rename", json!({}))]), rules);
    let mut client = Client::start(&place, "gateway");
    let sent = json!({"intent": "EXECUTE", "action": "s/rename", "constraints": {"dry_run": true}});
    let response = super::requested(&mut client, sent);
    assert!(
        response["error"]["message"].to_string().contains("does not support constraints.dry_run"),
        "{response}"
    );
    client.log_with("tool 'rename' has no boolean argument 'symbol', so dry_run is not used");
    client.log_with("the server lists no tool 'renam'. Did you mean 'rename'?");
    assert_eq!(calls(&place), "");
}
