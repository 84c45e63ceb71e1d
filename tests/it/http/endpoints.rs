//! HTTP paths for programs without MCP; each path calls one tool of the preset.

use serde_json::{Value, json};

use super::TOKEN;
use crate::support::{Http, Place};

/// Presets that alias another gate's tool to the names that the paths call.
const PRESETS: &str = "[gates.kg]\ngrants = [\"knowledge\"]\n[presets.one]\ngates.kg = {}\n\
    aliases = { search_tools = \"search_knowledge\", call_tool = \"search_knowledge\" }\n[presets.none]\ngates.echo = {}\n";

fn post(host: &Http, path: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let (status, _, body) = host.post(path, body, headers);
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

#[test]
fn a_path_is_a_call_of_the_tool_that_its_preset_has() {
    let place = Place::with(PRESETS, &["kg", "echo"]);
    let host = Http::start(&place, "one", &[]);
    let query = json!({"query": "anything"});
    for path in ["/mcp/tools/search", "/mcp/p/one/tools/search"] {
        let (status, body) = post(&host, path, &query, &[]);
        assert_eq!(status, 200, "{body}");
        assert!(body.is_object() && body.get("content").is_none(), "data, and no result around it: {body}");
    }
    let (status, body) = post(&host, "/mcp/tools/call", &query, &[]);
    assert_eq!((status, &body["isError"]), (200, &json!(false)), "{body}");
    assert_eq!(body["content"][0]["type"], "text");
}

#[test]
fn what_is_wrong_has_a_status_and_the_parts_of_a_fault() {
    let place = Place::with(PRESETS, &["kg", "echo"]);
    let host = Http::start(&place, "one", &[]);
    let (status, body) = post(&host, "/mcp/tools/search", &json!({"query": 5}), &[]);
    assert_eq!((status, &body["error"]["type"]), (400, &json!("VALIDATION")), "{body}");
    let (status, body) = post(&host, "/mcp/tools/search", &json!([]), &[]);
    assert_eq!(status, 400, "{body}");
    assert!(
        body["error"]["message"].as_str().is_some_and(|reason| reason.contains("not a JSON object")),
        "{body}"
    );
    let (status, body) = post(&host, "/mcp/p/none/tools/search", &json!({"query": "x"}), &[]);
    assert_eq!(status, 404, "{body}");
    assert_eq!(body["error"]["message"], "preset 'none' has no tool 'search_tools'");
    assert_eq!(post(&host, "/mcp/servers", &json!({}), &[]).0, 405);
    assert_eq!(post(&host, "/mcp/p/nobody/tools/search", &json!({}), &[]).0, 404);
    assert_eq!(post(&host, "/mcp/tools/nothing", &json!({}), &[]).0, 404);
}

#[test]
fn nobody_comes_in_without_the_token() {
    let place = Place::with(PRESETS, &["kg", "echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let query = json!({"query": "x"});
    for path in ["/mcp/tools/search", "/mcp/tools/embed", "/mcp/refresh", "/mcp/servers", "/mcp/p/one/status"]
    {
        assert_eq!(post(&host, path, &query, &[]).0, 401, "{path}");
    }
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(post(&host, "/mcp/tools/search", &query, &[("authorization", &bearer)]).0, 200);
    assert_eq!(
        post(
            &host,
            "/mcp/tools/search",
            &query,
            &[("authorization", &bearer), ("origin", "http://page.example")]
        )
        .0,
        403
    );
}
