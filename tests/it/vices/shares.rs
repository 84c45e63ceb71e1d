//! Shared resources: a greedy gate cannot delay others for long.

use serde_json::json;

use crate::support::{Client, Place};

#[test]
fn a_greedy_gate_does_not_keep_another_from_the_extractor() {
    let presets =
        "[gates.vices]\nlimits = { time = \"60 s\" }\n[presets.p]\ngates.vices = {}\ngates.keeper = {}\n";
    let place = Place::with(presets, &["vices", "keeper"]);
    let mut client = Client::start(&place, "p");
    let shorten = json!({"name": "shorten", "arguments": {"name": "The needle lies here."}});
    assert!(client.text("shorten", shorten["arguments"].clone()).contains("needle"));
    let greedy = json!({"name": "vice_long_text", "arguments": {}});
    let asked: Vec<u64> = (0..60).map(|_| client.ask("tools/call", greedy.clone())).collect();
    let first = client.next_message();
    assert!(asked.iter().any(|id| first["id"] == *id), "{first}");
    client.keep(first);
    let other = client.ask("tools/call", shorten);
    let mut before = 0;
    let answer = loop {
        let message = client.next_message();
        if message["id"] == other {
            break message;
        }
        before += usize::from(asked.iter().any(|id| message["id"] == *id));
        client.keep(message);
    };
    assert!(answer.to_string().contains("needle"), "{answer}");
    eprintln!(
        "{before} of 59 long texts of the greedy gate were finished before the short text of another gate"
    );
    assert!(before < 30, "{before} of 59 came first");
}

#[test]
fn nested_calls_of_one_gate_leave_places_to_others() {
    let presets = "[gates.caller]\ngrants = [\"catalog\"]\n\
                   [presets.p]\ngates.caller = {}\ngates.vices = {}\ngates.echo = {}\n";
    let place = Place::with(presets, &["caller", "vices", "echo"]);
    let mut client = Client::start(&place, "p");
    let nested = |tool: &str| json!({"name": "run", "arguments": {"tool": tool, "arguments": {}}});
    for _ in 0..40 {
        client.ask("tools/call", nested("vice_sleep"));
    }
    // Forty calls exceed the number of slots, so each would wait until its deadline if nested calls held them all.
    for n in 0..40 {
        let arguments = json!({"tool": "echo", "arguments": {"text": format!("hello {n}")}});
        assert!(client.text("run", arguments).contains(&format!("hello {n}")));
    }
}
