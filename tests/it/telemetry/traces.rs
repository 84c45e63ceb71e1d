//! Traces, as a collector receives them.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::mpsc,
};

use serde_json::json;

use super::{ADMIN, call, get, metrics_of, place, wait_for_server};
use crate::support::{Http, host::PATIENCE, installed, session::reply_to};

/// The trace of a client, its span, and the trace of its HTTP request.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A span as the collector prints it.
#[derive(Debug, Default)]
struct Span {
    trace: String,
    parent: String,
    id: String,
    name: String,
    kind: String,
    lines: Vec<String>,
}

struct Collector {
    child: Child,
    endpoint: String,
    lines: mpsc::Receiver<String>,
}

impl Collector {
    /// Starts the collector on free ports. `None` if it is not installed.
    fn start() -> Option<Self> {
        let python = installed("GATEHOUSE_TEST_ROTEL")?;
        let find = "import os, rotel; print(os.path.join(os.path.dirname(rotel.__file__), 'rotel-agent'))";
        let found = Command::new(python).args(["-c", find]).output().expect("python");
        let program = String::from_utf8(found.stdout).expect("a path").trim().to_owned();
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [http, grpc] = ports.map(|port| port.local_addr().expect("an address").to_string());
        let mut child = Command::new(program)
            .args([
                "start",
                "--exporter",
                "blackhole",
                "--debug-log",
                "traces",
                "--debug-log-verbosity",
                "detailed",
            ])
            .args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rotel");
        let output = BufReader::new(child.stdout.take().expect("stdout"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let collector = Self { child, endpoint: format!("http://{http}"), lines };
        while !collector.next().contains("Starting Rotel") {}
        Some(collector)
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the collector")
    }

    /// Returns the next span with this name. Its own lines end with the next span.
    fn span(&self, name: &str) -> Span {
        let mut span = Span::default();
        loop {
            let line = self.next();
            if line.starts_with("Span #") {
                span = Span::default();
            }
            let member = |label: &str| Some(line.trim().strip_prefix(label)?.split_once(": ")?.1.to_owned());
            if let Some(value) = member("Trace ID") {
                span.trace = value;
            } else if let Some(value) = member("Parent ID") {
                span.parent = value;
            } else if let Some(value) = member("ID") {
                span.id = value;
            } else if let Some(value) = member("Name") {
                span.name = value;
            } else if let Some(value) = member("Kind") {
                span.kind = value;
            } else {
                span.lines.push(line.trim().to_owned());
            }
            // The last line that every span has.
            if span.name == name && span.trace == TRACE && line.trim().starts_with("Status message") {
                return span;
            }
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_collector_gets_the_request_its_nested_call_and_the_request_to_the_server() {
    let Some(collector) = Collector::start() else { return };
    let (place, calls) = place("");
    let environment =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    let host = Http::start(&place, "all", &environment);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    let params = json!({
        "name": "run",
        "arguments": {"tool": "many__look", "arguments": {}},
        "_meta": {"traceparent": format!("00-{TRACE}-{SPAN}-01")},
    });
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let (status, _, body) = host.post("/mcp", &request, &[("mcp-session-id", &session)]);
    assert_eq!((status, reply_to(7, &body)["result"]["isError"].clone()), (200, json!(false)), "{body}");
    let passed = calls.recv_timeout(PATIENCE).expect("a call of the server");
    // Spans are exported in the order of their ends.
    let to_server = collector.span("tools/call look");
    let nested = collector.span("tools/call many__look");
    let outer = collector.span("tools/call run");
    assert_eq!((&*outer.parent, &*outer.kind), (SPAN, "SPAN_KIND_SERVER"));
    assert_eq!((&nested.parent, &*nested.kind), (&outer.id, "SPAN_KIND_INTERNAL"));
    assert_eq!((&to_server.parent, &*to_server.kind), (&nested.id, "SPAN_KIND_CLIENT"));
    let traceparent = format!("00-{TRACE}-{}-01", to_server.id);
    assert_eq!(passed["_meta"]["traceparent"], traceparent, "the server continues our span");
}

#[test]
fn a_client_that_knows_only_headers_is_continued_and_so_are_servers() {
    let (place, calls) = place("");
    // Nobody listens there; spans have ids all the same.
    let host = Http::start(&place, "all", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")]);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    let call = |headers: &[(&str, &str)]| {
        let params = json!({"name": "many__look", "arguments": {}});
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        host.post("/mcp", &request, &[&[("mcp-session-id", &*session)], headers].concat());
        let passed = calls.recv_timeout(PATIENCE).expect("a call of the server");
        let traceparent = passed["_meta"]["traceparent"].as_str().expect("our span").to_owned();
        assert_eq!(passed["header"], traceparent);
        traceparent
    };
    let continued = call(&[("traceparent", &format!("00-{TRACE}-{SPAN}-01"))]);
    assert!(continued.starts_with(&format!("00-{TRACE}-")) && !continued.contains(SPAN), "{continued}");
    for odd in ["", "00-0-0-00", "ff-x", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
        let own = call(&[("traceparent", odd)]);
        assert!(own.len() == 55 && !own.contains(TRACE), "{odd}: {own}");
    }
}

#[test]
fn spans_that_are_not_sampled_are_continued_and_not_sent() {
    let (place, calls) = place(ADMIN);
    // Nobody listens there.
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_off"),
    ];
    let host = Http::start(&place, "all", &environment);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    call(&host, &session, "many__look", json!({}));
    let passed = calls.recv_timeout(PATIENCE).expect("a call of the server");
    let traceparent = passed["_meta"]["traceparent"].as_str().expect("our span");
    assert!(traceparent.starts_with("00-") && traceparent.ends_with("-00"), "{traceparent}");
    assert!(get(&metrics_of(&host), &[]).1.contains("gatehouse_span_losses_total 0"));
}

#[test]
fn a_collector_that_is_down_costs_a_line_and_a_count() {
    let (place, _calls) = place(ADMIN);
    let environment =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    let host = Http::start(&place, "all", &environment);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    assert_eq!(call(&host, &session, "many__look", json!({}))["result"]["isError"], json!(false));
    host.log_with("cannot send traces; calls continue");
    let (_, text) = get(&metrics_of(&host), &[]);
    let lost =
        text.lines().find_map(|line| line.strip_prefix("gatehouse_span_losses_total ")).expect("a count");
    assert!(lost.parse::<u64>().expect("a number") > 0, "{text}");
}

#[test]
fn settings_that_the_exporter_would_ignore_are_refused() {
    let (place, _calls) = place("");
    for (name, value) in
        [("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]
    {
        let mut command = place.command(&["serve", "--http", "0", "--preset", "all"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318").env(name, value);
        let ran = command.output().expect("run gatehouse");
        assert_eq!(ran.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(stderr.contains(&format!("invalid value for {name}: '{value}'; expected")), "{stderr}");
        // Over stdio, they may be those of the client.
        let mut command = place.command(&["serve", "--preset", "all"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318").env(name, value);
        let ran = command.output().expect("run gatehouse");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && stderr.contains("sending no traces: invalid value"), "{stderr}");
    }
}
