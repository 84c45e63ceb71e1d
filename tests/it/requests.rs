//! The request envelope, through a real host: the tool `request`, the preset `gateway`, and `gatehouse request`.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use crate::support::{Client, Place, Ran};

fn requested(client: &mut Client, sent: Value) -> Value {
    let result = client.call("request", sent);
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
}

fn place() -> Place {
    let place = Place::shipped();
    place.sample_wiki();
    assert_eq!(place.run(&["kg", "index", "wiki"]).code(), 0);
    place
}

#[test]
fn one_tool_runs_every_other() {
    let place = place();
    let mut client = Client::start(&place, "gateway");
    assert_eq!(client.tools(), ["request"]);
    let sent =
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"query": "retry", "top_k": 1}});
    let told = requested(&mut client, sent);
    assert_eq!((&told["ok"], &told["meta"]["mcp_name"]), (&json!(true), &json!("idea")), "{told}");
    assert!(told["result"]["data"].to_string().to_lowercase().contains("retry"), "{told}");
    let told = requested(&mut client, json!({"intent": "QUERY", "action": "kg_edit", "params": {}}));
    assert_eq!(told["error"]["type"], "PERMISSION", "{told}");
    let told = requested(&mut client, json!({"intent": "QUERY", "action": "wiki_idea_serch"}));
    assert!(
        told["error"]["suggestion"].as_str().is_some_and(|next| next.contains("wiki_idea_search")),
        "{told}"
    );
    // The arguments are checked by the tool's own schema.
    let told = requested(
        &mut client,
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"qury": "x"}}),
    );
    assert_eq!(told["error"]["type"], "VALIDATION", "{told}");
    // What is not listed can be called by name, and is not protected by that.
    assert!(client.text("wiki_idea_search", json!({"query": "retry", "top_k": 1})).contains("etry"));
}

#[test]
fn a_request_can_do_no_more_than_its_preset() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n[gates.kg]\ngrants = [\"knowledge\"]\n\
        [presets.p]\ngates.kg = {}\ngates.proxy = { request = true }\ndeny = [\"kg_edit\"]\n\
        [presets.asked]\nextends = [\"p\"]\ngates.echo = {}\n[presets.asked.approve]\ntools = [\"echo\"]\n\
        [presets.bare]\ngates.echo = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["kg", "proxy", "echo"]);
    let mut client = Client::start(&place, "asked");
    let told = requested(&mut client, json!({"intent": "MODIFY", "action": "kg_edit", "params": {}}));
    assert!(
        told["error"]["message"].as_str().is_some_and(|why| why.contains("no action 'kg_edit'")),
        "{told}"
    );
    let told = requested(&mut client, json!({"intent": "QUERY", "action": "echo", "params": {"text": "hi"}}));
    assert_eq!(told["error"]["type"], "PERMISSION", "nobody is there to approve it: {told}");
    assert!(told["error"]["message"].as_str().is_some_and(|why| why.contains("approv")), "{told}");
}

#[test]
fn a_tool_that_takes_too_long_is_a_timeout() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n\
        [presets.p]\ngates.vices = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["vices", "proxy"]);
    let mut client = Client::start(&place, "p");
    let sent =
        json!({"intent": "EXECUTE", "action": "vice_sleep", "params": {}, "constraints": {"timeout_ms": 50}});
    let told = requested(&mut client, sent);
    assert_eq!(told["error"]["type"], "TIMEOUT", "{told}");
}

/// What `gatehouse request` prints for a text on its standard input.
fn from_stdin(place: &Place, text: &str, more: &[&str]) -> (i32, Value) {
    let mut command = place.command(&[&["request"], more].concat());
    let mut running = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gatehouse");
    running.stdin.take().expect("its input").write_all(text.as_bytes()).expect("sent");
    let ran = Ran(running.wait_with_output().expect("its end"));
    (ran.code(), serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.stderr())))
}

#[test]
fn a_shell_gets_json_whatever_happens() {
    let place = place();
    let sent =
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"query": "retry", "top_k": 1}});
    place.write("r.json", sent.to_string());
    let ran = place.run(&["request", "--file", "r.json"]);
    let told: Value = ran.json();
    assert_eq!((&told["ok"], &told["request"]["effect"]), (&json!(true), &json!("READ_ONLY")), "{told}");
    for (text, more, why) in [
        ("{", &[][..], "is not JSON"),
        ("[]", &[], "not a JSON object"),
        ("{}", &[], "intent is missing"),
        ("{}", &["--preset", "full"], "has no tool 'request'"),
        ("{}", &["--preset", "gatway"], "Did you mean 'gateway'?"),
        ("{}", &["--file", "nowhere.json"], "cannot be read from nowhere.json"),
    ] {
        let (code, told) = from_stdin(&place, text, more);
        assert_eq!(
            (code, &told["ok"], &told["error"]["type"]),
            (1, &json!(false), &json!("VALIDATION")),
            "{told}"
        );
        assert!(told["error"]["message"].as_str().is_some_and(|told| told.contains(why)), "{told}");
    }
}

#[test]
fn a_gate_whose_time_is_short_answers_all_the_same() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\nlimits = { time = \"2 s\" }\n\
        [presets.p]\ngates.vices = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["vices", "proxy"]);
    let mut client = Client::start(&place, "p");
    let told = requested(&mut client, json!({"intent": "EXECUTE", "action": "vice_sleep"}));
    assert_eq!((&told["error"]["type"], &told["ok"]), (&json!("TIMEOUT"), &json!(false)), "{told}");
}
