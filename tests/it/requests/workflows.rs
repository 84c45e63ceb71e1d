//! Workflows apply on every path to a tool, with the shipped presets.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{from_stdin, requested};
use crate::support::{Client, Place, place::SHIPPED, place::repository};

struct Work {
    place: Place,
    folder: TempDir,
}

const SCRIPT: &str = "callMCPTool('s', 'echo', {text: 'hi'})";

impl Work {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let server = env!("CARGO_BIN_EXE_server-of-vices");
        let presets = std::fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
        let presets = presets.replace(
            "[gates.script]\ngrants = [\"catalog\", ",
            "[gates.script]\ngrants = [\"servers\", \"catalog\", ",
        );
        let work = format!(
            "{presets}\n[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\n[presets.work]\nextends = [\"gateway\", \"code\"]\n\
             listed = [\"*\"]\nservers = [\"s\"]\n{more}[[presets.work.workflow.refactor]]\nintents = [\"ANALYZE\"]\nproduces = \".analysis-done\"\n\
             roots = [{root:?}]\n[[presets.work.workflow.refactor]]\nrequires = [\".analysis-done\"]\nproduces = \"done\"\n"
        );
        Self { place: Place::with(&work, &SHIPPED), folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a path")
    }
}

/// Every way to call the server's tool `echo`, which declares no effect and therefore counts as the strongest.
fn ways(root: Option<&Path>) -> Vec<(&'static str, Value)> {
    let context = json!({"project_root": root});
    vec![
        (
            "request",
            json!({"intent": "EXECUTE", "action": "s/echo", "params": {"text": "hi"}, "context": context}),
        ),
        (
            "request",
            json!({"intent": "QUERY", "effect": "EXTERNAL_EXEC", "action": "s__echo", "params": {"text": "hi"}, "context": context}),
        ),
        ("call_tool", json!({"server": "s", "tool": "echo", "arguments": {"text": "hi"}})),
        ("s__echo", json!({"text": "hi"})),
        ("run_code", json!({"code": format!("return await {SCRIPT}")})),
    ]
}

#[test]
fn no_way_to_a_tool_leads_around_a_step() {
    let work = Work::new("");
    let project = format!("project = {:?}\n", work.root());
    let text = std::fs::read_to_string(work.place.path("presets.toml")).expect("presets");
    work.place
        .write("presets.toml", text.replace("listed = [\"*\"]\n", &format!("listed = [\"*\"]\n{project}")));
    let (done, analyzed) = (work.root().join(".refactor-done"), work.root().join(".analysis-done"));
    let mut client = Client::start(&work.place, "work");
    for (tool, arguments) in ways(None) {
        let result = client.call(tool, arguments.clone());
        assert!(result.to_string().contains(".analysis-done"), "{tool} {arguments}: {result}");
        assert!(!done.exists(), "{tool} {arguments}");
    }
    // Reading is not a step; a request with the intent takes the first step.
    assert!(!client.call("list_mcp_servers", json!({})).to_string().contains("requires the mark"));
    let response = requested(&mut client, json!({"intent": "ANALYZE", "action": "list_mcp_servers"}));
    assert_eq!(
        (&response["ok"], &response["meta"]["marks"]),
        (&json!(true), &json!([".analysis-done"])),
        "{response}"
    );
    assert!(analyzed.exists());
    for (tool, arguments) in ways(None) {
        let result = client.call(tool, arguments.clone());
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(done.exists(), "{tool} {arguments}: {result}");
        std::fs::remove_file(&done).expect("removed");
    }
}

#[test]
fn the_project_is_the_only_root_of_the_client_or_where_it_works() {
    let work = Work::new("");
    let analyze = || json!({"intent": "ANALYZE", "action": "list_mcp_servers"});
    let mut client = Client::start(&work.place, "work");
    let response = requested(&mut client, analyze());
    assert!(
        response["error"]["suggestion"].to_string().contains("under [presets.work] in presets.toml"),
        "{response}"
    );
    assert_eq!(client.close(), Some(0));

    let mark = work.root().join(".analysis-done");
    let mut client = Client::raw(&work.place, &["serve", "--preset", "work"], &[]);
    client.initialize_with("2025-11-25", json!({"roots": {}}));
    let id = client.ask("tools/call", json!({"name": "request", "arguments": analyze()}));
    let asked = client.next_message();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!([{"uri": format!("file://{}", work.root().display())}]);
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
    let answer = client.answer(id);
    assert!(answer["result"]["content"][0]["text"].to_string().contains(".analysis-done"), "{answer}");
    std::fs::remove_file(&mark).expect("the mark");

    let mut command = work.place.command(&["request", "--preset", "work"]);
    command.current_dir(work.root()).arg("--file").arg(work.place.write("r.json", analyze().to_string()));
    let ran = command.output().expect("run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(mark.exists(), "on the command line the working folder is the project");
}

#[test]
fn a_client_that_repeats_its_requests_is_asked_for_its_roots() {
    let work = Work::new("");
    let mut client = Client::raw(&work.place, &["serve", "--preset", "work"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    });
    let mut params = json!({"name": "request", "arguments": {"intent": "ANALYZE", "action": "list_mcp_servers"}, "_meta": meta});
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    let roots = json!([{"uri": format!("file://{}", work.root().display())}]);
    params["inputResponses"] = json!({"roots": {"roots": roots}});
    let reply = client.request("tools/call", params);
    assert!(reply["result"]["content"][0]["text"].to_string().contains(".analysis-done"), "{reply}");
    assert!(work.root().join(".analysis-done").exists());
}

#[test]
fn a_workflow_that_no_tool_can_satisfy_is_refused_with_what_to_add() {
    let presets = std::fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let workflow = "[presets.work]\nextends = [\"context\"]\n[presets.work.workflow.w]\nintents = [\"ANALYZE\"]\nproduces = \"a\"\nroots = [\"/w\"]\n";
    let place = Place::with(&format!("{presets}\n{workflow}"), &SHIPPED);
    let checked = place.run(&["presets", "check"]);
    let output = checked.stdout() + &checked.stderr();
    assert!(
        checked.code() != 0 && output.contains("no tool can take the step ANALYZE of workflow 'w'"),
        "{output}"
    );
    place.write("presets.toml", format!("{presets}\n{}", workflow.replace("\"context\"", "\"gateway\"")));
    let checked = place.run(&["presets", "check"]);
    assert_eq!(checked.code(), 0, "{}", checked.stderr());
}

#[test]
fn the_gate_that_takes_requests_may_have_any_name() {
    let root = tempfile::tempdir().expect("a folder");
    let real = root.path().canonicalize().expect("a path");
    let presets = format!(
        "[gates.mine]\ngrants = [\"servers\", \"catalog\"]\n[presets.gateway]\ngates.echo = {{}}\ngates.mine = {{ request = true }}\n\
         project = {real:?}\n[presets.gateway.workflow.w]\nintents = [\"EXECUTE\"]\nrequires = [\"plan\"]\nroots = [{real:?}]\n"
    );
    let place = Place::with(&presets, &["echo"]);
    std::fs::write(place.path("gates/mine.wasm"), crate::support::place::built("proxy")).expect("a gate");
    let (_, response) = from_stdin(
        &place,
        "{\"intent\": \"EXECUTE\", \"action\": \"echo\", \"params\": {\"text\": \"x\"}}",
        &[],
    );
    assert!(response["error"]["message"].to_string().contains("requires the mark 'plan'"), "{response}");
    let (_, response) = from_stdin(
        &place,
        "{\"intent\": \"QUERY\", \"action\": \"echo\", \"params\": {\"text\": \"x\"}}",
        &[],
    );
    assert_eq!(response["ok"], true, "{response}");
}
