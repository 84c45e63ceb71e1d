//! Large results in the shipped presets: those with forwarding tools summarize them, store them in full for searches,
//! and exempt tools that return file content.

mod shapes;

use serde_json::{Value, json};

use crate::support::{Client, Place, place::binary, text_of};

fn place() -> Place {
    place_with(&rows(250))
}

/// Returns a place with a server whose tools give this reply.
fn place_with(reply: &Value) -> Place {
    let place = Place::shipped();
    let tool = |name: &str, does: &str| {
        json!({"name": name, "description": does, "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}, "reply": reply})
    };
    let tools = json!([tool("search", "Searches the archive."), tool("read_file", "Reads a file.")]);
    let file = place.write("tools.json", tools.to_string());
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let arguments = ["stdio".to_owned(), format!("tools={}", file.display())];
    place.write(
        "presets.toml",
        format!("{presets}\n[servers.archive]\ncommand = {server:?}\nargs = {arguments:?}\n"),
    );
    place
}

/// Rows of about 80 bytes that no lossless encoding makes much shorter.
fn rows(count: u64) -> Value {
    let row = |n: u64| {
        json!({"id": n, "state": if n.is_multiple_of(7) { "late" } else { "sent" }, format!("option{}", n % 5): {"by": n * 31 % 89},
            "note": format!("call {} again about {}", n * 7_919 % 1_000, n * 37 % 91)})
    };
    json!({"rows": (0..count).map(row).collect::<Vec<_>>()})
}

fn arguments() -> Value {
    json!({"query": "authentication patterns"})
}

/// Returns the summary: the first block, or the data of an envelope.
fn head(reply: &Value) -> Value {
    let first = reply["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}"));
    let first: Value = serde_json::from_str(first).unwrap_or_else(|error| panic!("{error}: {first}"));
    first.pointer("/result/data").cloned().unwrap_or(first)
}

#[track_caller]
fn is_short(reply: &Value) -> String {
    let bytes = reply["content"].to_string().len();
    assert!(bytes * 3 < rows(250).to_string().len(), "{bytes} bytes: {reply}");
    let head = head(reply);
    assert_eq!(head["metadata"]["toolName"], "archive__search", "{head}");
    assert_eq!(head["metadata"]["serverId"], "archive", "{head}");
    head["metadata"]["artifactId"].as_str().unwrap_or_else(|| panic!("nothing is stored: {head}")).to_owned()
}

#[track_caller]
fn is_whole(reply: &Value) {
    assert!(reply["content"].to_string().contains("call 99 again about"), "{reply}");
    assert!(!reply["content"].to_string().contains("artifactId"), "{reply}");
}

fn call_tool(tool: &str) -> Value {
    json!({"server": "archive", "tool": tool, "arguments": arguments()})
}

fn script(tool: &str) -> Value {
    json!({"input": arguments(), "code":
        format!("const data = await callMCPTool('archive', '{tool}', input); return data")})
}

fn request(tool: &str) -> Value {
    json!({"intent": "EXECUTE", "action": format!("archive/{tool}"), "params": arguments()})
}

#[test]
fn every_preset_with_forwarding_tools_shortens_what_they_bring() {
    type Arguments = fn(&str) -> Value;
    let ways: [(&str, &str, Arguments); 4] = [
        ("proxy", "call_tool", call_tool),
        ("code", "call_tool", call_tool),
        ("code", "run_code", script),
        ("gateway", "request", request),
    ];
    for (preset, tool, arguments) in ways {
        let place = place();
        let mut client = Client::start(&place, preset);
        let short = client.call(tool, arguments("search"));
        let id = is_short(&short);
        let found = client.text("semantic_search", json!({"query": "authentication patterns"}));
        assert!(found.contains(&id) && found.contains("\"keyFindings\":["), "{preset} {tool}: {found}");
        is_whole(&client.call(tool, arguments("read_file")));
        let status = place.run(&["status"]).stdout();
        let saved =
            status.lines().find(|line| line.starts_with("saved")).unwrap_or_else(|| panic!("{status}"));
        assert!(saved.contains("tokens today") && !saved.contains(" 0 tokens"), "{saved}");
    }
}

#[test]
fn parts_of_results_of_megabytes_are_selected() {
    let place = place_with(&Value::String(rows(110_000).to_string()));
    let mut client = Client::start(&place, "proxy");
    let late = ".rows | map(select(.state == \"late\")) | length";
    let arguments = json!({"server": "archive", "tool": "search", "arguments": {}, "select": late});
    let selected = client.call("call_tool", arguments)["content"].take();
    assert_eq!(selected[0]["text"], "15715", "{selected}");
    let note = selected[1]["text"].as_str().unwrap_or_default();
    assert!(note.starts_with("select: 1 value of a result of 8"), "{selected}");
    let id = is_short(&client.call("call_tool", call_tool("search")));
    let part = client.call("get_workspace_file", json!({"path": id, "jq": late}));
    assert_eq!(part["content"][1]["text"], "15715", "{part}");
}

#[test]
fn a_script_that_calls_several_tools_is_the_origin_and_one_excluded_tool_excludes_its_reply() {
    let place = place();
    let mut client = Client::start(&place, "code");
    let code = |first: &str, second: &str| {
        format!(
            "await callMCPTool('archive', '{first}', {{}}); return await callMCPTool('archive', '{second}', input)"
        )
    };
    let both = client.call("run_code", json!({"input": arguments(), "code": code("read_file", "search")}));
    is_whole(&both);
    let twice = client.call("run_code", json!({"input": arguments(), "code": code("search", "search")}));
    assert_eq!(head(&twice)["metadata"]["toolName"], "run_code", "{twice}");
}

#[test]
fn tools_that_are_not_listed_are_found_and_called() {
    let place = place();
    let mut client = Client::start(&place, "proxy");
    let listed = client.tools();
    assert!(
        listed.contains(&"semantic_search".to_owned()) && listed.contains(&"get_workspace_file".to_owned())
    );
    assert!(!listed.iter().any(|tool| tool == "search_workspace" || tool == "pin_artifact"), "{listed:?}");
    let id = is_short(&client.call("call_tool", call_tool("search")));
    let found = client.text("search_tools", json!({"query": "list stored results by tags"}));
    assert!(found.contains("summarizer: search_workspace("), "{found}");
    let of =
        |tool: &str, arguments: Value| json!({"server": "summarizer", "tool": tool, "arguments": arguments});
    let pinned = client.text("call_tool", of("pin_artifact", json!({"id": id, "tags": ["mine"]})));
    assert!(pinned.starts_with(&format!("{id} is pinned.")), "{pinned}");
    let kept = client.text("call_tool", of("search_workspace", json!({"tags": ["mine"]})));
    assert!(kept.contains(&id) && kept.contains("pinned"), "{kept}");
    let missing = text_of(&client.call("call_tool", of("pin_artifact", json!({"id": "art-000000000000"}))));
    assert!(missing.contains("EXECUTION_ERROR"), "the artifact is missing, not the tool: {missing}");
    let unknown = text_of(&client.call("call_tool", of("search_wokspace", json!({}))));
    assert!(unknown.contains("summarizer"), "{unknown}");
}

#[test]
fn the_summarizer_has_no_tools_where_nothing_can_be_shortened() {
    let place = place();
    let mut client = Client::start(&place, "full");
    assert!(!client.tools().iter().any(|tool| tool == "semantic_search"), "full has no server");
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write(
        "presets.toml",
        format!("{presets}\n[presets.mine]\nextends = [\"full\"]\nservers = [\"archive\"]\n"),
    );
    let mut client = Client::start(&place, "mine");
    assert!(client.tools().iter().any(|tool| tool == "semantic_search"));
    assert_eq!(is_short(&client.call("archive__search", arguments())).len(), "art-000000000000".len());
    is_whole(&client.call("archive__read_file", arguments()));
}

#[test]
fn links_in_replies_of_servers_behind_the_proxy_can_be_read() {
    let inner = "[gates.summarizer]\ngrants = [\"artifacts\", \"kv\"]\n[presets.one]\ngates.echo = {}\ngates.summarizer = {}\n\
                 filters = { summarizer = [\"echo.*\"] }\n";
    let inner = Place::with(inner, &["echo", "summarizer"]);
    let place = Place::shipped();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    let (command, config, state) = (binary(), inner.path("presets.toml"), inner.path("state"));
    let server = format!(
        "[servers.far]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"one\", \"--config\", {config:?}]\n\
         env = {{ GATEHOUSE_STATE = {state:?} }}\n"
    );
    place.write("presets.toml", format!("{presets}\n{server}"));
    let mut client = Client::start(&place, "proxy");
    let text = rows(250).to_string();
    let reply =
        client.call("call_tool", json!({"server": "far", "tool": "echo", "arguments": {"text": text}}));
    let blocks = reply["content"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let link =
        blocks.iter().find(|block| block["type"] == "resource_link").unwrap_or_else(|| panic!("{reply}"));
    let uri = link["uri"].as_str().expect("an address");
    assert!(uri.starts_with("gatehouse://server/far/"), "{uri}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], text, "{read}");
    let listed = client.request("resources/list", json!({}));
    assert!(!listed.to_string().contains("gatehouse://server/far"), "they are read, not listed: {listed}");
    let unknown = client.request("resources/read", json!({"uri": "gatehouse://server/other/x"}));
    assert!(unknown["error"].is_object(), "{unknown}");
}

#[test]
fn types_say_how_scripts_reach_tools_of_servers() {
    let mut client = Client::start(&place(), "code");
    let found = "Find tools of MCP servers with search_tools, and call them as tools.<server>.<tool>(args).";
    let none = client.text("tool_types", json!({"query": "xyzzy"}));
    assert!(none.contains("No declared tool matches.") && none.contains(found), "{none}");
    let server = text_of(&client.call("tool_types", json!({"source": "git"})));
    assert!(server.contains("source 'git' has no declared tools") && server.contains(found), "{server}");
}
