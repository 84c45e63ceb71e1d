//! Structured replies: clients get output schemas and structured content only if their preset enables them, tools that
//! call tools always do, and errors have neither.

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, fault_of, text_of};

const PRESETS: &str = "[gates.caller]\ngrants = [\"catalog\"]\n[gates.kg]\ngrants = [\"knowledge\"]\n\
    [presets.text]\ngates.caller = {}\ngates.kg = {}\n\
    [presets.data]\nextends = [\"text\"]\nstructured = true\n\
    [presets.more]\nextends = [\"data\"]\n[presets.less]\nextends = [\"data\"]\nstructured = false\n";

fn place() -> Place {
    Place::with(PRESETS, &["caller", "kg"])
}

fn tool(client: &mut Client, name: &str) -> Value {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name).expect("the tool").clone()
}

#[test]
fn clients_get_data_only_where_their_preset_says_so() {
    let place = place();
    for (preset, structured) in [("text", false), ("data", true), ("more", true), ("less", false)] {
        let mut client = Client::start(&place, preset);
        let listed = tool(&mut client, "get_page_structure");
        assert_eq!(listed.get("outputSchema").is_some(), structured, "{preset}: {listed}");
        let result = client.call("get_page_structure", json!({"page_type": "heuristic"}));
        assert!(text_of(&result).contains("Reasoning"), "{result}");
        assert_eq!(result.get("structuredContent").is_some(), structured, "{preset}: {result}");
        assert!(result.get("_meta").is_none(), "{result}");
    }
}

#[test]
fn clients_get_data_by_their_name_where_the_preset_says_auto() {
    let place =
        Place::with(&PRESETS.replace("structured = true", "structured = \"auto\""), &["caller", "kg"]);
    for (name, structured) in
        [("mcp", true), ("inspector-client", true), ("claude-code", false), ("new", false)]
    {
        let mut client = Client::raw(&place, &["serve", "--preset", "data"], &[]);
        let info = json!({"name": name, "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        client.request("initialize", params);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = tool(&mut client, "get_page_structure");
        assert_eq!(listed.get("outputSchema").is_some(), structured, "{name}: {listed}");
        let result = client.call("get_page_structure", json!({"page_type": "heuristic"}));
        assert_eq!(result.get("structuredContent").is_some(), structured, "{name}: {result}");
    }
}

#[test]
fn tools_that_call_tools_always_get_data() {
    let place = place();
    let mut client = Client::start(&place, "text");
    let run = json!({"tool": "get_page_structure", "arguments": {"page_type": "heuristic"}});
    let data: Value = serde_json::from_str(&client.text("data", run)).expect("data");
    assert_eq!(data["page_type"], "Heuristic", "{data}");
}

#[test]
fn a_fault_says_its_type_in_the_text_and_its_parts_in_meta() {
    let place = place();
    for preset in ["text", "data"] {
        let mut client = Client::start(&place, preset);
        let result = client.call("get_page_structure", json!({"page_type": "herustic"}));
        let fault = fault_of(&result);
        assert_eq!(
            (&fault["type"], &fault["recoverable"]),
            (&json!("VALIDATION"), &json!(false)),
            "{result}"
        );
        assert!(fault["suggestion"].as_str().is_some_and(|next| next.starts_with("Expected: {")), "{result}");
        assert!(text_of(&result).starts_with("invalid arguments: "), "{result}");
    }
}

#[test]
fn data_that_is_no_object_goes_to_clients_that_know_it() {
    let presets = "[presets.p]\ngates.keeper = {}\ngates.caller = {}\nstructured = true\n[gates.caller]\ngrants = [\"catalog\"]\n";
    let place = Place::with(presets, &["keeper", "caller"]);
    let mut older = Client::start(&place, "p");
    assert!(tool(&mut older, "numbers").get("outputSchema").is_none());
    let result = older.call("numbers", json!({}));
    assert_eq!((text_of(&result).as_str(), result.get("structuredContent")), ("1, 2", None), "{result}");
    // Tools that call tools get structured data regardless of the client.
    assert_eq!(older.text("data", json!({"tool": "numbers", "arguments": {}})), "[1,2]");

    let host = Http::start(&place, "p", &[]);
    let asked = |method: &str, name: Option<&str>| {
        let about = "io.modelcontextprotocol";
        let meta = json!({
            format!("{about}/protocolVersion"): "2026-07-28",
            format!("{about}/clientInfo"): {"name": "test", "version": "1"},
            format!("{about}/clientCapabilities"): {},
        });
        let mut params = json!({"_meta": meta});
        let mut headers = vec![("mcp-method", method), ("mcp-protocol-version", "2026-07-28")];
        if let Some(name) = name {
            params["name"] = name.into();
            params["arguments"] = json!({});
            headers.push(("mcp-name", name));
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (status, _, body) = host.post("/mcp", &message, &headers);
        assert_eq!(status, 200, "{body}");
        let event = body.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or(&body).to_owned();
        serde_json::from_str::<Value>(event.trim()).expect("JSON")["result"].clone()
    };
    let listed = asked("tools/list", None);
    let numbers = listed["tools"].as_array().expect("tools").iter().find(|tool| tool["name"] == "numbers");
    let numbers = numbers.expect("the tool");
    assert_eq!(numbers["outputSchema"]["type"], "array", "{listed}");
    let picture =
        json!([{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png", "sizes": ["1x1"]}]);
    assert_eq!(numbers["icons"], picture);
    assert_eq!(asked("tools/call", Some("numbers"))["structuredContent"], json!([1, 2]));
}

#[test]
fn a_gate_hears_what_its_client_says_beside_the_arguments() {
    let place = Place::with("[presets.p]\ngates.keeper = {}\n", &["keeper"]);
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("meta", json!({})), "none");
    let meta = json!({"example.com/trace": "abc", "progressToken": 7});
    let answer = client.request("tools/call", json!({"name": "meta", "arguments": {}, "_meta": meta}));
    let heard: Value = serde_json::from_str(&text_of(&answer["result"])).expect("JSON");
    assert_eq!(heard, json!({"example.com/trace": "abc"}), "gates do not see metadata for the host");
}
