//! Calls that need the user's approval: direct calls, calls by another tool, and server tools called through `proxy`.

use std::fs;

use serde_json::{Value, json};

use super::stateless;
use crate::support::{
    Client, Http, Place,
    session::{events, message},
    text_of,
};

fn place(approve: &str) -> Place {
    let presets = format!(
        "[gates.caller]\ngrants = [\"catalog\"]\n[presets.all]\ngates.caller = {{}}\ngates.echo = {{}}\n\
         [presets.all.approve]\n{approve}\n"
    );
    Place::with(&presets, &["caller", "echo"])
}

fn client(place: &Place) -> Client {
    let mut client = Client::raw(place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", json!({"elicitation": {}}));
    client
}

fn allows(allow: bool) -> Value {
    json!({"action": "accept", "content": {"allow": allow}})
}

/// Calls a tool and answers each question with `answer`. Returns the questions and the result.
fn answered(client: &mut Client, tool: &str, arguments: Value, answer: &Value) -> (Vec<String>, Value) {
    let call = client.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let mut asked = Vec::new();
    loop {
        let message = client.next_message();
        if message["id"] == json!(call) && message.get("method").is_none() {
            return (asked, message["result"].clone());
        }
        assert_eq!(message["method"], "elicitation/create", "{message}");
        asked.extend(message["params"]["message"].as_str().map(str::to_owned));
        client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
    }
}

#[test]
fn what_a_rule_names_runs_when_a_person_allows_it() {
    let place = place("tools = [\"echo\"]\nremember = \"session\"");
    let mut client = client(&place);
    let (asked, result) = answered(&mut client, "echo", json!({"text": "no"}), &allows(false));
    assert_eq!(asked.len(), 1);
    assert_eq!(result["isError"], true);
    assert!(text_of(&result).contains("the user was asked whether 'echo' may run, and declined"), "{result}");
    let many = json!({"calls": [{"tool": "echo", "arguments": {"text": "a"}},
        {"tool": "echo", "arguments": {"text": "b"}}, {"tool": "echo", "arguments": {"text": "a"}}]});
    let (asked, result) = answered(&mut client, "run_many", many, &allows(true));
    assert_eq!(asked.len(), 1, "read-only tools are approved once: {asked:?}");
    let begins = "May 'echo' run (echo of gate 'echo', read-only, called by 'run_many')? Approval applies until the \
                  session ends, with any arguments.\nArguments: {\"text\":\"";
    assert!(asked[0].starts_with(begins), "{}", asked[0]);
    assert_eq!(text_of(&result).lines().count(), 3, "{result}");
    assert_eq!(client.text("echo", json!({"text": "known"})), "known");
    let mut another = self::client(&place);
    let (asked, _) = answered(&mut another, "echo", json!({"text": "x"}), &allows(true));
    assert_eq!(asked.len(), 1, "another session");
}

#[test]
fn a_caller_that_cannot_be_asked_gets_the_way_out() {
    let place = place("effect = \"read-only\"");
    let call = place.run(&["call", "echo", "{\"text\": \"x\"}", "--preset", "all"]);
    assert_eq!(call.code(), 1);
    let output = format!("{}{}", call.stdout(), call.stderr());
    assert!(output.contains("requires user approval, but the caller is not an MCP client"), "{output}");
    assert!(output.contains("[presets.all.approve]"), "{output}");
}

#[test]
fn a_client_without_sessions_repeats_its_call_with_the_approval() {
    let place = place("tools = [\"echo\"]");
    let host = Http::start(&place, "all", &[]);
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    let post = |params: Value| {
        let (_, _, body) = host.post("/mcp", &message(1, "tools/call", params), &headers);
        let last = events(&body).last().map(|event| event.message());
        last.unwrap_or_else(|| serde_json::from_str(&body).unwrap_or_else(|_| panic!("no answer: {body}")))
    };
    let mut params = stateless("echo", json!({"text": "hello"}));
    let response = post(params.clone());
    assert_eq!(response["result"]["resultType"], "input_required", "{response}");
    params["requestState"] = response["result"]["requestState"].clone();
    params["inputResponses"] = json!({"1": allows(true)});
    let mut other = params.clone();
    other["arguments"]["text"] = json!("something else");
    assert_eq!(post(other)["error"]["code"], -32602, "an approval is for the arguments that were shown");
    assert_eq!(text_of(&post(params)["result"]), "hello");
}

#[test]
fn a_tool_of_a_server_is_asked_about_and_what_passes_the_call_on_is_not() {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let place = Place::with("[presets.all]\n", &["proxy"]);
    let record = place.path("record");
    place.write(
        "presets.toml",
        format!(
            "[servers.s]\ncommand = {server:?}\nargs = [\"stdio\", {:?}]\n[gates.proxy]\ngrants = [\"servers\"]\n\
             [presets.all]\ngates.proxy = {{}}\n[presets.all.approve]\neffect = \"external-exec\"\n",
            format!("record={}", record.display())
        ),
    );
    let calls = || fs::read_to_string(&record).unwrap_or_default().matches("tools/call").count();
    let mut client = client(&place);
    let arguments = json!({"server": "s", "tool": "echo", "arguments": {"text": "hello"}});
    let (asked, result) = answered(&mut client, "call_tool", arguments.clone(), &allows(false));
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(
        asked[0].starts_with("May 's__echo' run (echo of server 's', external-exec, called by 'call_tool')?"),
        "{}",
        asked[0]
    );
    let error: Value = serde_json::from_str(&text_of(&result)).expect("JSON");
    assert_eq!((&error["error_code"], calls()), (&json!("DENIED"), 0), "{error}");
    let (asked, result) = answered(&mut client, "call_tool", arguments, &allows(true));
    assert_eq!((asked.len(), text_of(&result).as_str(), calls()), (1, "hello", 1));
}
