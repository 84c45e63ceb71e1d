//! Checks of the Host and Origin headers, on every path and before any other answer.

use super::{STATELESS, TOKEN, list};
use crate::support::{Http, Place};

const PATHS: [&str; 8] = ["/mcp", "/mcp/", "/mcp/p/one", "/mcp/p/none", "/none", "/", "/healthz", "/readyz"];

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n";

const PAGE: &str = "http://localhost:6274";

fn open() -> String {
    format!("[http]\nallowed_hosts = [\"gatehouse.corp\"]\nallowed_origins = [\"{PAGE}\"]\n{PRESETS}")
}

#[test]
fn foreign_hosts_and_pages_are_refused_on_every_path() {
    let place = Place::with(PRESETS, &["echo"]);
    let host = Http::start(&place, "one", &[]);
    let own = format!("host: {}", host.address());
    let cases = [
        (403, "host: evil.example".to_owned()),
        (403, "host: localhost.evil.example".to_owned()),
        (400, "host: a b".to_owned()),
        (400, format!("{own}\r\nhost: evil.example")),
        (400, format!("{own}\r\n{own}")),
        (400, "x-none: 1".to_owned()),
        (403, format!("{own}\r\norigin: http://evil.example")),
        (403, format!("{own}\r\norigin: null")),
        (400, format!("{own}\r\norigin: {0}\r\norigin: {0}", host.base)),
        (400, format!("{own}\r\norigin: {}\r\norigin: http://evil.example", host.base)),
    ];
    for path in PATHS {
        for method in ["GET", "POST", "OPTIONS"] {
            for (status, headers) in &cases {
                let response =
                    host.say(format!("{method} {path} HTTP/1.1\r\n{headers}\r\ncontent-length: 0\r\n\r\n"));
                assert_eq!(response.status, *status, "{method} {path} {headers}: {response:?}");
                assert!(!response.head.contains("access-control"), "{response:?}");
            }
        }
        let whole = host.say(format!("GET http://evil.example{path} HTTP/1.1\r\n{own}\r\n\r\n"));
        assert_eq!(whole.status, 403, "{path}: {whole:?}");
    }
}

#[test]
fn a_host_that_is_named_in_the_configuration_is_known() {
    let place = Place::with(&open(), &["echo"]);
    let host = Http::start(&place, "one", &[]);
    let with = |name: &str| {
        let headers = [STATELESS[0], STATELESS[1], ("host", name)];
        host.post("/mcp", &list(), &headers).0
    };
    assert_eq!(with("gatehouse.corp"), 200);
    assert_eq!(with("Gatehouse.Corp:9000"), 200);
    assert_eq!(with("localhost"), 200);
    assert_eq!(with("gatehouse.corp.evil.example"), 403);
}

#[test]
fn a_page_that_is_named_in_the_configuration_may_call_and_no_other() {
    let place = Place::with(&open(), &["echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let preflight = |origin: &str| {
        let asked =
            "access-control-request-method: POST\r\naccess-control-request-headers: mcp-param-path,x-evil";
        let address = host.address();
        host.say(format!("OPTIONS /mcp HTTP/1.1\r\nhost: {address}\r\norigin: {origin}\r\n{asked}\r\nconnection: close\r\n\r\n"))
    };
    let allowed = preflight(PAGE);
    assert_eq!(allowed.status, 204, "{allowed:?}");
    assert!(allowed.head.contains(&format!("access-control-allow-origin: {PAGE}")), "{allowed:?}");
    let headers = allowed.head.lines().find(|line| line.starts_with("access-control-allow-headers"));
    let headers = headers.expect("headers");
    for name in [
        "authorization",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "mcp-param-path",
    ] {
        assert!(headers.contains(name), "{headers}");
    }
    assert!(!headers.contains("x-evil"), "{headers}");
    let methods = allowed.head.lines().find(|line| line.starts_with("access-control-allow-methods"));
    assert!(methods.is_some_and(|line| line.contains("delete")), "{allowed:?}");
    for other in ["http://localhost:6275", "https://localhost:6274", "http://evil.example", &host.base] {
        let refused = preflight(other);
        assert!(!refused.head.contains("access-control-"), "{other}: {refused:?}");
        assert_ne!(refused.status, 204, "{other}: {refused:?}");
    }

    let bearer = format!("Bearer {TOKEN}");
    let call = |extra: &[(&str, &str)]| {
        host.post("/mcp", &list(), &[&STATELESS, extra, &[("origin", PAGE)]].concat())
    };
    let (status, headers, body) = call(&[("authorization", &bearer)]);
    assert_eq!(status, 200, "{body}");
    assert_eq!(headers.get("access-control-allow-origin").map(String::as_str), Some(PAGE));
    let exposed = headers.get("access-control-expose-headers").map(String::as_str);
    assert!(exposed.is_some_and(|names| names.contains("mcp-session-id")), "{headers:?}");
    let (status, headers, _) = call(&[]);
    assert_eq!(status, 401, "a page needs the token too");
    assert_eq!(
        headers.get("access-control-allow-origin").map(String::as_str),
        Some(PAGE),
        "and can read the answer"
    );
}

#[test]
fn a_refusal_waits_for_no_body() {
    let place = Place::with(PRESETS, &["echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let address = host.address();
    for (status, headers) in
        [(401, format!("host: {address}\r\nauthorization: Bearer wrong")), (403, "host: evil.example".into())]
    {
        let response =
            host.say(format!("POST /mcp HTTP/1.1\r\n{headers}\r\ncontent-length: 1000000\r\n\r\n{{"));
        assert_eq!(response.status, status, "{response:?}");
    }
}

#[test]
fn probes_need_no_token_and_tell_no_secret() {
    let presets = format!("{PRESETS}[presets.broken]\ngates.missing = {{}}\n");
    let place = Place::with(&presets, &["echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let ask = |method: &str, path: &str| {
        let address = host.address();
        host.say(format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"))
    };
    let health = ask("GET", "/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#), "{health:?}");
    let ready = ask("GET", "/readyz");
    let expected = r#"{"status":"degraded","presets":1,"not_served":["broken"]}"#;
    assert_eq!((ready.status, ready.body.as_str()), (200, expected), "{ready:?}");
    assert_eq!(ask("HEAD", "/healthz").status, 200);
    assert_eq!(ask("POST", "/readyz").status, 405);
    assert_eq!(ask("GET", "/mcp").status, 401);
}
