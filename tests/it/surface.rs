//! The tool surface: which tools each client lists, by its name, and what `presets cost --client` counts.

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, host::PATIENCE, session::events};

fn place() -> Place {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let presets = format!(
        "[servers.files]\ncommand = {server:?}\nargs = [\"stdio\"]\n\
        [gates.proxy]\ngrants = [\"servers\"]\n\
        [presets.work]\ngates.proxy = {{}}\nservers = [\"files\"]\nsurface = \"auto\"\npinned = [\"files__echo\"]\n\
        [presets.half]\nservers = [\"files\"]\nsurface = \"auto\"\n"
    );
    Place::with(&presets, &["proxy"])
}

/// Returns the tools that a client with this name lists, and its instructions.
fn listed(place: &Place, name: &str) -> (Client, Vec<Value>, String) {
    listed_in(place, "work", name)
}

fn listed_in(place: &Place, preset: &str, name: &str) -> (Client, Vec<Value>, String) {
    let mut client = Client::raw(place, &["serve", "--preset", preset], &[]);
    let info = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let opened = client.request("initialize", params);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let reply = client.request("tools/list", json!({}));
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
    (client, tools, opened["result"]["instructions"].as_str().unwrap_or_default().to_owned())
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn a_client_lists_the_servers_or_the_gate_and_can_call_both() {
    let place = place();
    for name in ["claude-code", "Visual Studio Code"] {
        let (mut client, tools, instructions) = listed(&place, name);
        assert!(!instructions.contains("\n- proxy: "), "{instructions}");
        assert!(names(&tools).iter().all(|tool| tool.starts_with("files__")), "{name}: {:?}", names(&tools));
        assert!(tools.len() > 1, "{name}: {tools:?}");
        let call = json!({"server": "files", "tool": "echo", "arguments": {"text": "one"}});
        assert_eq!(client.text("call_tool", call), "one", "{name}");
    }
    let (mut client, tools, instructions) = listed(&place, "some-agent");
    assert!(instructions.contains("\n- proxy: "), "{instructions}");
    let own = |tool: &&&str| tool.starts_with("files__");
    assert_eq!(names(&tools).iter().filter(own).collect::<Vec<_>>(), [&"files__echo"]);
    assert!(names(&tools).contains(&"call_tool") && names(&tools).contains(&"search_tools"));
    let pinned = tools.iter().find(|tool| tool["name"] == "files__echo").expect("the tool");
    assert_eq!(pinned["_meta"]["anthropic/alwaysLoad"], true, "{pinned}");
    assert_eq!(client.text("files__echo", json!({"text": "two"})), "two");
}

#[test]
fn claude_code_is_asked_to_show_long_results_of_filtered_tools() {
    let place = Place::shipped();
    let limits = |name: &str| {
        let (_, tools, _) = listed_in(&place, "proxy", name);
        let limit = |tool: &Value| {
            Some((tool["name"].clone(), tool["_meta"].get("anthropic/maxResultSizeChars")?.clone()))
        };
        tools.iter().filter_map(limit).collect::<Vec<_>>()
    };
    // The gate asks for the second one itself, for its pages.
    let pages = (json!("get_workspace_file"), json!(100_000));
    let expected = [(json!("call_tool"), json!(500_000)), pages.clone()];
    assert_eq!(limits("claude-code"), expected);
    assert_eq!(limits("some-agent"), [pages]);
}

#[test]
fn over_http_each_request_names_its_client() {
    let place = place();
    let host = Http::start(&place, "work", &[]);
    let count = |name: &str| {
        let meta = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": meta});
        let headers = [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")];
        let (_, _, body) = host.post("/mcp", &message, &headers);
        let reply = events(&body).last().expect("an event").message();
        let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone();
        names(&tools).into_iter().filter(|tool| tool.starts_with("files__")).count()
    };
    assert!(count("codex-mcp-client") > 1);
    assert_eq!(count("another"), 1);
}

#[test]
fn the_cost_of_a_question_depends_on_the_client() {
    let place = place();
    let cost = |client: &str, host_tokens: &str| {
        let costs = place
            .run(&["presets", "cost", "--client", client, "--host-tokens", host_tokens, "--json"])
            .json();
        let work = costs.as_array().expect("presets").iter().find(|one| one["preset"] == "work");
        work.unwrap_or_else(|| panic!("{costs}")).clone()
    };
    let number = |cost: &Value, key: &str| cost[key].as_u64().unwrap_or_else(|| panic!("{key}: {cost}"));
    let eager = cost("some-agent", "1000");
    assert_eq!(number(&eager, "requests"), 4, "search, schema, call and answer: {eager}");
    assert_eq!(number(&eager, "question"), 4 * (1000 + number(&eager, "start")) + 411, "{eager}");
    assert_eq!(number(&eager, "break_even"), number(&eager, "question") / 2 - 1000, "{eager}");
    let searching = cost("claude-code", "1000");
    assert_eq!((number(&searching, "requests"), &searching["break_even"]), (3, &Value::Null), "{searching}");
    assert!(number(&searching, "start") < number(&eager, "start"), "{searching}");
    let shown = place.run(&["presets", "cost", "--client", "claude-code", "--host-tokens", "30000"]).stdout();
    assert!(shown.contains("claude-code searches tools itself") && shown.contains("30000 tokens"), "{shown}");
    let refused = place.run(&["presets", "cost", "--client", "any", "--host-tokens", "18446744073709551615"]);
    assert!(refused.stderr().contains("is not in 0..=100000000"), "{}", refused.stderr());
    let refused = place.run(&["presets", "cost", "--host-tokens", "1"]);
    assert!(refused.code() == 2 && refused.stderr().contains("--client <NAME>"), "{}", refused.stderr());
}

#[test]
fn half_a_surface_is_reported() {
    let place = place();
    let checked = place.run(&["presets", "check"]).stdout();
    let expected = "preset 'half': surface = \"auto\" has no effect: add a gate that finds and calls the tools of servers";
    assert!(checked.contains(expected) && !checked.contains("'work'"), "{checked}");
    place.write("presets.toml", "[presets.p]\nsurface = \"lazy\"\n");
    let refused = place.run(&["presets", "check"]);
    assert!(
        refused.stderr().contains(":2:11: 'lazy' is not allowed here. There are: all, auto."),
        "{}",
        refused.stderr()
    );
}

#[test]
fn without_the_grant_every_client_keeps_the_tools_of_servers() {
    let place = place();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", presets.replace("grants = [\"servers\"]", "grants = [\"models\"]"));
    let (_, tools, _) = listed(&place, "some-agent");
    assert!(names(&tools).iter().filter(|tool| tool.starts_with("files__")).count() > 1, "{tools:?}");
    let checked = place.run(&["presets", "check"]).stdout();
    let expected =
        "preset 'work': surface = \"auto\" has no effect: add \"servers\" to the grants of the gate";
    assert!(checked.contains(expected), "{checked}");
}

#[test]
fn a_client_is_notified_if_only_its_surface_changes() {
    let place = place();
    let (mut client, tools, _) = listed(&place, "claude-code");
    assert!(!names(&tools).contains(&"call_tool"));
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", presets.replace("surface = \"auto\"", "surface = \"all\""));
    client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "call_tool"));
}
