//! Gates that misdescribe themselves: each lie is rejected or cleaned, and reported; the host keeps running.

use serde_json::json;

use crate::support::{Client, Place, fault_of};

fn place(lie: &str) -> Place {
    Place::with(
        &format!("[presets.p]\ngates.liar = {{ lie = \"{lie}\" }}\n[presets.honest]\ngates.liar = {{}}\n"),
        &["liar"],
    )
}

/// Returns the error for a preset with this lie, and checks that the honest preset works.
fn refusal(lie: &str) -> String {
    let place = place(lie);
    let ran = place.run(&["presets", "check"]);
    assert_ne!(ran.code(), 0, "{lie}: {}", ran.stdout());
    let mut honest = Client::start(&place, "honest");
    assert_eq!(honest.text("lied", json!({})), "true");
    let output = ran.stdout() + &ran.stderr();
    let line = output.lines().find(|line| line.contains("gate 'liar'"));
    line.unwrap_or_else(|| panic!("{lie}: {output}")).to_owned()
}

#[test]
fn lies_about_tools_are_refused_by_name() {
    for (lie, expected) in [
        ("twice", "tool 'lied': is listed twice"),
        ("schema", "tool 'lied': its input schema"),
        ("no_json", "input-schema of tool 'lied' is not JSON"),
        ("no_object", "tool 'lied': its input schema is not of type object"),
        ("output", "tool 'lied': its output schema"),
        ("params", "params-schema"),
        ("crowd", "lists 600 tools; the limit is 512"),
        ("name", "contains '\\u{202e}'"),
        ("long", "tool 'lied': its description is longer than 65536 bytes"),
        ("hidden_name", "tool 'lied': its input schema has hidden characters in '\\u{61}\\u{200b}'"),
        ("stray_name", "tool 'lied': its input schema has hidden characters in '\\u{61}\\u{2800}'"),
        ("deep", "params-schema is not JSON: recursion limit exceeded"),
    ] {
        let message = refusal(lie);
        assert!(
            message.contains("gate 'liar' broke the contract") && message.contains(expected),
            "{lie}: {message}"
        );
        assert!(message.len() < 1_000, "{lie}: {} bytes", message.len());
    }
}

#[test]
fn a_describe_that_does_not_answer_is_ended() {
    for (lie, expected) in [
        ("loop", "gate 'liar' was stopped after 5 s"),
        ("sleep", "gate 'liar' was stopped after 5 s"),
        ("trap", "gate 'liar' trapped"),
        ("many", "gate 'liar' sent more than 16 MiB in one transfer"),
        ("flood", "gate 'liar' sent more than 16 MiB in one transfer"),
        ("fault", "no"),
    ] {
        let message = refusal(lie);
        assert!(message.contains(expected), "{lie}: {message}");
    }
}

#[test]
fn invisible_characters_are_removed_and_logged() {
    let place = place("hidden");
    let mut client = Client::start(&place, "p");
    let listed = client.request("tools/list", json!({}));
    let tool = &listed["result"]["tools"][0];
    assert_eq!((&tool["description"], &tool["title"]), (&json!("Lies."), &json!("Liar")), "{tool}");
    assert_eq!(tool["inputSchema"]["properties"]["a"]["description"], "bc");
    let log = client.log_with("tool=\"lied\" count=25");
    assert!(log.contains("removed invisible characters") && log.contains("gate=\"liar\""), "{log}");
    Client::start(&place, "p").log_with("removed invisible characters");
}

#[test]
fn what_shows_nothing_where_it_stands_is_taken_out_too() {
    let place = place("stray");
    let mut client = Client::start(&place, "p");
    let tool = &client.request("tools/list", json!({}))["result"]["tools"][0];
    // Variation selectors remain if they select a form, and blanks if they separate words.
    assert_eq!(
        (&tool["description"], &tool["title"]),
        (&json!("Lies."), &json!("☀\u{fe0f} 1\u{fe0f}\u{20e3}"))
    );
    client.log_with("tool=\"lied\" count=6");
}

#[test]
fn inspection_shows_what_was_taken_out() {
    let place = place("");
    let report = place.run(&["gates", "inspect", "liar", "--json"]).json();
    // Inspection describes a gate without parameters, which is honest except for its version.
    assert_eq!((&report["version"], &report["removed_characters"]), (&json!("1"), &json!({"": 1})));
    let text = place.run(&["gates", "inspect", "liar"]).stdout();
    assert!(
        text.contains("WARNING      1 invisible characters were removed from the texts of the gate"),
        "{text}"
    );
}

#[test]
fn a_tool_that_is_listed_and_does_not_exist_fails_its_own_call() {
    let place = place("ghost");
    let mut client = Client::start(&place, "p");
    assert_eq!(client.tools(), ["ghost", "lied"]);
    assert!(client.fails("ghost", json!({})).contains("there is no 'ghost'"));
    assert_eq!(client.text("lied", json!({})), "true");
}

#[test]
fn a_gate_that_throws_dice_is_heard_once() {
    let place = place("dice");
    let listed =
        |place: &Place| Client::start(place, "p").request("tools/list", json!({}))["result"]["tools"].clone();
    let first = listed(&place);
    assert_eq!(listed(&place), first);
    assert_eq!(listed(&place), first);
}

#[test]
fn a_reply_that_breaks_its_promise_is_the_gates_fault() {
    for (lie, expected) in [
        (
            "mismatch",
            "the reply of 'lied' does not match its output schema: 'n' must be an integer, got a string",
        ),
        ("nothing", "the reply of 'lied' has no structured data, but the tool declares an output schema"),
        ("unlike", "structured reply is not JSON"),
        ("nested", "structured reply is not JSON"),
        ("no_reply", "does not match its output schema: the members must be an object, got an array"),
    ] {
        let mut client = Client::start(&place(lie), "p");
        let result = client.call("lied", json!({}));
        let error = fault_of(&result);
        assert_eq!(error["type"], "UNKNOWN", "{lie}: {result}");
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.starts_with("gate 'liar' broke the contract: ") && message.contains(expected),
            "{lie}: {message}"
        );
    }
}
