//! Metrics for operators, as a real Prometheus scrapes them, and traces, as a real collector receives them.

mod prometheus;
mod traces;

use std::sync::mpsc;

use serde_json::{Value, json};

use crate::support::{Http, Place, host::PATIENCE, server::serve_answers, session::reply_to};

const ADMIN: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";

/// Returns the address of `/metrics`.
fn metrics_of(host: &Http) -> String {
    let log = host.log_with("/metrics");
    let at = log.split("metrics for operators: ").nth(1).expect("the address");
    at.split_whitespace().next().expect("the address").to_owned()
}

/// Requests a URL. Returns the status and the body.
fn get(url: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .build()
        .into();
    let request = headers.iter().fold(agent.get(url), |request, (name, value)| request.header(*name, *value));
    let mut response = request.call().expect("an answer");
    (response.status().as_u16(), response.body_mut().read_to_string().expect("a body"))
}

/// Starts an MCP server with the tools `look` and `fail`. Returns its URL, and the parameters of its calls.
fn server() -> (String, mpsc::Receiver<Value>) {
    let (sender, calls) = mpsc::channel();
    let address = serve_answers(move |seen| {
        if seen.method != "POST" {
            return (405, String::new(), String::new());
        }
        let message: Value = serde_json::from_slice(&seen.body).expect("JSON");
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
        let params = &message["params"];
        let result = match message["method"].as_str().expect("a method") {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "many", "version": "1"},
            }),
            "tools/list" => json!({"tools": [tool("look"), tool("fail")]}),
            "tools/call" => {
                let mut call = params.clone();
                call["header"] = seen.header("traceparent").into();
                sender.send(call).expect("the test");
                json!({"content": [{"type": "text", "text": "seen"}], "isError": params["name"] == "fail"})
            }
            _ => return (if message.get("id").is_some() { 404 } else { 202 }, String::new(), String::new()),
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        (200, "content-type: application/json\r\n".into(), body)
    });
    (format!("http://{address}/mcp"), calls)
}

fn place(more: &str) -> (Place, mpsc::Receiver<Value>) {
    let (url, calls) = server();
    let presets = format!(
        "{more}[servers.many]\nurl = {url:?}\n[gates.caller]\ngrants = [\"catalog\"]\n\
         [presets.all]\ngates.caller = {{}}\ngates.echo = {{}}\nservers = [\"many\"]\n"
    );
    (Place::with(&presets, &["caller", "echo"]), calls)
}

fn call(host: &Http, session: &str, tool: &str, arguments: Value) -> Value {
    host.request("/mcp", session, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Waits until the preset has the tools of the server.
fn wait_for_server(host: &Http, session: &str) {
    let start = std::time::Instant::now();
    while !host.request("/mcp", session, "tools/list", json!({})).to_string().contains("many__look") {
        assert!(start.elapsed() < PATIENCE, "the server is not listed");
        std::thread::yield_now();
    }
}

#[test]
fn operators_see_what_the_host_does_and_no_names_of_strangers() {
    let (place, _calls) = place(ADMIN);
    let host = Http::start(&place, "all", &[]);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    call(&host, &session, "echo", json!({"text": "a secret"}));
    call(&host, &session, "run", json!({"tool": "many__look", "arguments": {}}));
    call(&host, &session, "many__fail", json!({}));
    call(&host, &session, "a-name-of-a-stranger", json!({}));
    let (status, text) = get(&metrics_of(&host), &[]);
    assert_eq!(status, 200, "{text}");
    let labels = "network_transport=\"tcp\",mcp_protocol_version=\"2025-11-25\"} 1";
    for line in [
        &format!(
            "mcp_server_operation_duration_seconds_count{{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"echo\",error_type=\"\",{labels}"
        ),
        &format!(
            "mcp_server_operation_duration_seconds_count{{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"many__fail\",error_type=\"tool_error\",{labels}"
        ),
        &format!(
            "mcp_server_operation_duration_seconds_count{{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"\",error_type=\"-32602\",{labels}"
        ),
        "mcp_client_operation_duration_seconds_count{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"look\",error_type=\"\",network_transport=\"tcp\",server=\"many\"} 1",
        "mcp_client_operation_duration_seconds_count{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"fail\",error_type=\"tool_error\",network_transport=\"tcp\",server=\"many\"} 1",
        "gatehouse_calls_total{source=\"gate 'echo'\",outcome=\"ok\"} 1",
        "gatehouse_circuit_open{server=\"many\"} 0",
        "gatehouse_presets{state=\"served\"} 1",
        "gatehouse_audit_losses_total 0",
    ] {
        assert!(text.lines().any(|shown| shown == line), "no {line}\n{text}");
    }
    assert!(text.contains("gatehouse_gate_wait_seconds_count{gate=\"echo\"} 1"), "{text}");
    for hidden in ["secret", "stranger", "127.0.0.1", &session] {
        assert!(!text.contains(hidden), "{hidden} is in:\n{text}");
    }
}

#[test]
fn the_listener_serves_nothing_else() {
    let (place, _calls) = place(ADMIN);
    let host = Http::start(&place, "all", &[]);
    let metrics = metrics_of(&host);
    let base = metrics.trim_end_matches("/metrics");
    assert_eq!(get(&format!("{base}/mcp"), &[]).0, 404);
    assert_eq!(get(&metrics, &[("host", "evil.example")]).0, 403);
    assert_eq!(get(&metrics, &[("origin", "https://evil.example")]).0, 403);
    assert_eq!(get(&format!("{}/metrics", host.base), &[]).0, 404, "not among clients");
    let port = base.rsplit(':').next().expect("a port");
    let taken = place.write("taken.toml", format!("[admin]\nlisten = \"{port}\"\n[presets.all]\n"));
    let taken = taken.to_string_lossy();
    let ran = place.run(&["serve", "--http", "0", "--config", &taken]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("[admin] listen: cannot listen on 127.0.0.1:"), "{}", ran.stderr());
}

#[test]
fn with_people_only_operators_read_it_and_they_get_no_preset_for_that() {
    let rules = "[auth]\n[[access]]\nwho = [\"key:prometheus\"]\nadmin = true\n\
                 [[access]]\nwho = [\"key:ann\"]\ntools = [\"*\"]\n[quotas.everyone]\nwho = [\"*\"]\ncalls = \"100 per hour\"\n";
    let (place, _calls) = place(&format!("{ADMIN}{rules}"));
    let key = |name: &str| {
        let ran = place.run(&["keys", "create", name]);
        format!("Bearer {}", ran.stdout().trim())
    };
    let (ann, prometheus) = (key("ann"), key("prometheus"));
    let host = Http::start(&place, "all", &[]);
    let metrics = metrics_of(&host);
    let session = host.session("/mcp/p/all", &[("authorization", &ann)]);
    let echo = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}});
    let (status, _, body) =
        host.post("/mcp/p/all", &echo, &[("authorization", &ann), ("mcp-session-id", &session)]);
    assert_eq!((status, reply_to(7, &body)["result"]["isError"].clone()), (200, json!(false)), "{body}");
    assert_eq!(get(&metrics, &[]).0, 401);
    let (status, refusal) = get(&metrics, &[("authorization", &ann)]);
    assert!(status == 403 && refusal.contains("admin = true"), "{status} {refusal}");
    let (status, text) = get(&metrics, &[("authorization", &prometheus)]);
    assert!(status == 200 && text.contains("gatehouse_quota_calls_total{quota=\"everyone\"} 1"), "{text}");
    assert!(!text.contains("ann"), "{text}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (status, _, body) = host.post("/mcp/p/all", &list, &[("authorization", &prometheus)]);
    assert_eq!(status, 404, "{body}");
}

#[test]
fn each_line_of_a_call_names_it_and_no_person() {
    let (place, _calls) = place("[auth]\n");
    let ann = format!("Bearer {}", place.run(&["keys", "create", "ann"]).stdout().trim());
    let arguments = ["--preset", "all", "--log-calls", "--log-format", "json"];
    // Nobody listens there; spans have ids all the same.
    let host = Http::with(&place, &arguments, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")]);
    let bearer = [("authorization", &*ann)];
    let session = host.session("/mcp/p/all", &bearer);
    let headers = [bearer[0], ("mcp-session-id", &*session)];
    let echo = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}});
    host.post("/mcp/p/all", &echo, &headers);
    let log = host.log_with("\"message\":\"tools/call\"");
    let line = log.lines().find(|line| line.contains("\"message\":\"tools/call\"")).expect("a line");
    let members: Value = serde_json::from_str(line).expect("JSON");
    let text = |key: &str| members[key].as_str().unwrap_or_else(|| panic!("no {key}: {line}")).to_owned();
    assert_eq!(text("gen_ai.tool.name"), "echo");
    let id = text("gatehouse.call.id");
    assert!(id.len() == 36 && &id[14..15] == "7", "a UUID of version 7: {id}");
    assert_eq!((text("trace_id").len(), text("span_id").len()), (32, 16));
    assert!(!text("service.instance.id").is_empty() && !log.contains("key:ann"), "{log}");
    let known = place.run(&["principals", "show", "key:ann"]);
    assert!(known.stdout().contains(&text("enduser.pseudo.id")), "{} {}", known.stdout(), known.stderr());
}

#[test]
fn beyond_loopback_it_needs_people() {
    let (place, _calls) = place("[admin]\nlisten = \"0.0.0.0:0\"\n");
    let ran = place.run(&["serve", "--http", "0", "--preset", "all"]);
    assert_eq!(ran.code(), 2);
    let stderr = ran.stderr();
    assert!(stderr.contains("without [auth]") && stderr.contains("admin = true"), "{stderr}");
}
