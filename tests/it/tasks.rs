//! Tasks (SEP-2663) over stdio and HTTP: of gates, and of servers behind the host. The server is another Gatehouse.

use std::{fs, time::Instant};

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, host::PATIENCE, repository};

/// Presets with a gate whose slow calls become tasks.
fn presets() -> String {
    let text = fs::read_to_string(repository().join("tests/conformance/presets.toml")).expect("presets");
    text.replace("skills = [\"skills\"]\n", "")
}

fn place() -> Place {
    Place::with(&presets(), &["conformance"])
}

fn with_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Returns parameters as clients since 2026-07-28 send them.
fn params(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// Calls a tool with tasks, and returns the result of the request.
fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let called = params(json!({"name": tool, "arguments": arguments}), with_tasks());
    client.request("tools/call", called)["result"].clone()
}

fn begin(client: &mut Client, tool: &str, arguments: Value) -> String {
    let task = call(client, tool, arguments);
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    task["taskId"].as_str().expect("an ID").to_owned()
}

fn of_task(client: &mut Client, method: &str, id: &str, more: Value) -> Value {
    let mut asked = params(json!({"taskId": id}), with_tasks());
    asked.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    client.request(method, asked)
}

/// Polls until the task has this status.
fn until(client: &mut Client, id: &str, status: &str) -> Value {
    let start = Instant::now();
    loop {
        let polled = of_task(client, "tasks/get", id, json!({}))["result"].clone();
        if polled["status"] == status {
            return polled;
        }
        assert!(start.elapsed() < PATIENCE, "no {status}: {polled}");
    }
}

fn text(task: &Value) -> &str {
    task["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn client(place: &Place, preset: &str) -> Client {
    Client::raw(place, &["serve", "--preset", preset], &[])
}

/// Runs through the life of tasks of the tools with this prefix.
fn lives(client: &mut Client, prefix: &str) {
    let tool = |name: &str| format!("{prefix}{name}");
    let id = begin(client, &tool("slow_compute"), json!({"seconds": 1, "label": "sums"}));
    let done = until(client, &id, "completed");
    assert!(text(&done).contains("computed sums in 1 s"), "{done}");
    assert_eq!(until(client, &id, "completed")["result"], done["result"], "it can be fetched again");

    let id = begin(client, &tool("failing_job"), json!({}));
    let failed = until(client, &id, "completed");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert!(text(&failed).contains("the job failed"), "{failed}");

    let id = begin(client, &tool("confirm_delete"), json!({"filename": "a.txt"}));
    let asks = until(client, &id, "input_required");
    let questions = asks["inputRequests"].as_object().expect("questions");
    let (key, question) = questions.iter().next().expect("a question");
    assert!(question["params"]["message"].as_str().expect("a message").contains("Delete a.txt?"), "{asks}");
    let answer = json!({"action": "accept", "content": {"confirm": true}});
    let update = json!({"inputResponses": {key: answer, "unknown": answer}});
    assert_eq!(of_task(client, "tasks/update", &id, update)["result"], json!({"resultType": "complete"}));
    let done = until(client, &id, "completed");
    assert!(text(&done).contains("action=accept"), "{done}");

    let id = begin(client, &tool("slow_compute"), json!({"seconds": 80}));
    for _ in 0..2 {
        assert_eq!(
            of_task(client, "tasks/cancel", &id, json!({}))["result"],
            json!({"resultType": "complete"})
        );
    }
    until(client, &id, "cancelled");
}

#[test]
fn tasks_of_gates_complete_ask_and_are_cancelled() {
    let place = place();
    let mut client = client(&place, "conformance");
    lives(&mut client, "");
    let reply = call(&mut client, "greet", json!({"name": "Ada"}));
    assert_eq!(reply["content"][0]["text"], "Hello, Ada!", "fast calls are answered at once: {reply}");
    let unknown = of_task(&mut client, "tasks/get", "no-such-task", json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().expect("text").contains("Call the tool again"), "{unknown}");
    let without = client.request(
        "tools/call",
        params(json!({"name": "failing_job", "arguments": {}}), json!({"elicitation": {}})),
    );
    assert_eq!(without["error"]["code"], -32021, "{without}");
    assert!(without["error"]["message"].as_str().expect("text").contains("runs only as a task"), "{without}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn tasks_of_servers_reach_clients_with_and_without_tasks() {
    let behind = place();
    let server = Http::with(&behind, &["--preset", "conformance", "--log-calls"], &[]);
    let block = format!("[servers.up]\nurl = \"{}/mcp\"\n[presets.all]\nservers = [\"up\"]\n", server.base);
    let place = Place::with(&block, &[]);
    let mut modern = client(&place, "all");
    lives(&mut modern, "up__");
    server.log_with("outcome=\"timed-out\"");
    assert_eq!(modern.close(), Some(0));

    let mut old = client(&place, "all");
    old.initialize("2025-11-25");
    old.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "up__failing_job"));
    assert!(old.text("up__slow_compute", json!({"seconds": 1, "label": "sums"})).contains("computed sums"));
    let failed = old.call("up__failing_job", json!({}));
    assert_eq!(failed["content"][0]["text"], "the job failed [UNAVAILABLE]", "{failed}");
    assert_eq!(old.close(), Some(0));
}

#[test]
fn a_task_belongs_to_the_preset_of_its_call() {
    let other = "[presets.other]\ngates.conformance = {}\n";
    let place = Place::with(&(presets() + other), &["conformance"]);
    let host = Http::start(&place, "conformance", &[]);
    let send = |path: &str, method: &str, name: &str, sent: Value| {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params(sent, with_tasks())});
        let (_, _, body) = host.post(path, &message, &headers);
        let reply =
            body.lines().find_map(|line| line.strip_prefix("data: {")).map(|rest| format!("{{{rest}"));
        serde_json::from_str::<Value>(&reply.unwrap_or(body)).expect("a reply")
    };
    let arguments = json!({"name": "slow_compute", "arguments": {"seconds": 80}});
    let task = send("/mcp", "tools/call", "slow_compute", arguments);
    let id = task["result"]["taskId"].as_str().expect("an ID");
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = send("/mcp/p/other", method, id, json!({"taskId": id}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let polled = send("/mcp", "tasks/get", id, json!({"taskId": id}));
    assert_eq!(polled["result"]["status"], "working", "{polled}");
    send("/mcp", "tasks/cancel", id, json!({"taskId": id}));
}
