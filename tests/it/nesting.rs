//! Gates that call tools: limited to the caller's tools, the declared effect, and a maximum depth.

use serde_json::json;

use crate::support::{Client, Place, fault_of};

const PRESETS: &str = "[gates.caller]\ngrants = [\"catalog\"]\n[gates.kg]\ngrants = [\"knowledge\"]\n\
    [presets.all]\ngates.caller = {}\ngates.echo = {}\ngates.kg = {}\ndeny = [\"big\"]\n";

fn host(presets: &str) -> (Place, Client) {
    let place = Place::with(presets, &["caller", "echo", "kg", "vices"]);
    let client = Client::start(&place, "all");
    (place, client)
}

#[test]
fn a_gate_sees_and_calls_what_its_caller_may() {
    let (_place, mut client) = host(PRESETS);
    let listed = client.text("list", json!({}));
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(" (").next()).collect();
    assert_eq!(names, client.tools());
    assert!(
        listed.contains("echo (echo) of echo: ") && listed.contains("kg_edit (kg_edit) of kg: "),
        "{listed}"
    );
    assert_eq!(client.text("run", json!({"tool": "echo", "arguments": {"text": "hi"}})), "hi");
    let hidden = client.fails("run", json!({"tool": "big", "arguments": {}}));
    assert!(hidden.contains("Unknown tool: 'big'"), "{hidden}");
    let wrong = client.fails("run", json!({"tool": "echo", "arguments": {"text": 5}}));
    assert!(wrong.contains("text"), "{wrong}");
}

#[test]
fn a_tool_does_no_more_than_it_declares() {
    let (_place, mut client) = host(PRESETS);
    let edit = json!({"page_id": "Principle/X", "overview": "new"});
    let denied = client.call("run", json!({"tool": "kg_edit", "arguments": edit}));
    assert_eq!(fault_of(&denied)["type"], "PERMISSION", "{denied}");
    let message = fault_of(&denied)["message"].as_str().expect("a message");
    assert_eq!(message, "'run' is declared read-only and cannot call 'kg_edit', which is mutating");
    let reached = client.fails("run_and_change", json!({"tool": "kg_edit", "arguments": edit}));
    assert!(reached.contains("Principle/X") || reached.contains("page"), "{reached}");
    let around = json!({"tool": "run_and_change", "arguments": {"tool": "kg_edit", "arguments": edit}});
    assert!(client.fails("run", around).contains("is declared read-only"));
}

#[test]
fn a_batch_runs_at_once_and_counts_each_of_its_calls() {
    let presets = PRESETS.replace("[gates.kg]", "limits = { calls = 3 }\n[gates.kg]");
    let (_place, mut client) = host(&presets);
    let echo = |text: &str| json!({"tool": "echo", "arguments": {"text": text}});
    let reply = client.text("run_many", json!({"calls": [echo("one"), {"tool": "lost"}, echo("three")]}));
    let lines: Vec<&str> = reply.lines().collect();
    assert!(lines[0].contains("one") && lines[2].contains("three"), "in their order: {reply}");
    assert!(lines[1].starts_with("Unknown tool: 'lost'."), "{reply}");
    let reply = client.text("run_many", json!({"calls": [echo("1"), echo("2"), echo("3"), echo("4")]}));
    assert_eq!(reply.lines().collect::<Vec<_>>(), ["4 calls in one batch; the limit is 3"; 4]);
}

#[test]
fn calls_nest_four_deep_and_no_deeper() {
    // Concurrency is 1, but a gate that calls itself must not wait for itself.
    let presets = PRESETS.replace("[gates.kg]", "limits = { concurrency = 1 }\n[gates.kg]");
    let (_place, mut client) = host(&presets);
    assert_eq!(client.text("dive", json!({"depth": 4})), "the bottom");
    let deep = client.fails("dive", json!({"depth": 5}));
    assert!(deep.contains("calls nest at most 4 deep"), "{deep}");
    let ids: Vec<u64> = (0..8)
        .map(|_| client.ask("tools/call", json!({"name": "dive", "arguments": {"depth": 4}})))
        .collect();
    for id in ids {
        assert_eq!(client.answer(id)["result"]["content"][0]["text"], "the bottom");
    }
}

#[test]
fn a_nested_call_ends_with_the_deadline_of_the_call_around_it() {
    let presets = "[gates.caller]\ngrants = [\"catalog\"]\nlimits = { time = \"300 ms\" }\n\
        [presets.all]\ngates.caller = {}\ngates.vices = {}\n";
    let (_place, mut client) = host(presets);
    let ended = client.call("run", json!({"tool": "vice_loop"}));
    assert_eq!(fault_of(&ended)["type"], "TIMEOUT", "{ended}");
    assert_eq!(client.text("run", json!({"tool": "well_behaved"})), "fine");
}

#[test]
fn without_the_grant_it_sees_nothing() {
    let (_place, mut client) = host("[presets.all]\ngates.caller = {}\ngates.echo = {}\n");
    for (tool, arguments) in [("list", json!({})), ("run", json!({"tool": "echo"}))] {
        let denied = client.fails(tool, arguments);
        assert!(denied.contains("has no grant 'catalog'") && denied.contains("[gates.caller]"), "{denied}");
    }
}
