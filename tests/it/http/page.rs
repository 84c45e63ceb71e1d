//! The page that a browser gets at the host's address.

use super::{STATELESS, TOKEN, list};
use crate::support::{Http, Place};

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n[presets.broken]\ngates.missing = {}\n";

fn open(host: &Http, method: &str, path: &str) -> crate::support::http::Response {
    let (name, value) = BROWSER;
    host.say(format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{name}: {value}\r\n\r\n",
        host.address()
    ))
}

#[test]
fn a_browser_is_shown_the_presets_and_how_to_connect() {
    let place = Place::with(PRESETS, &["echo"]);
    let host = Http::start(&place, "one", &[]);
    for path in ["/", "/mcp"] {
        let page = open(&host, "GET", path);
        assert_eq!(page.status, 200, "{page:?}");
        for header in [
            "content-type: text/html; charset=utf-8",
            "content-security-policy: default-src 'none'; style-src 'sha256-",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(page.head.contains(header), "{header}: {page:?}");
        }
        let address = host.address();
        assert!(
            page.body.contains(&format!("claude mcp add --transport http gatehouse http://{address}/mcp")),
            "{page:?}"
        );
        assert!(page.body.contains(&format!("<code>http://{address}/mcp/p/one</code>")), "{page:?}");
        assert!(page.body.contains("broken") && page.body.contains("cannot be served"), "{page:?}");
    }
    for (method, path) in [("POST", "/mcp"), ("GET", "/mcp/p/one"), ("GET", "/sse"), ("DELETE", "/")] {
        let answer = open(&host, method, path);
        assert!(answer.status >= 400 && !answer.body.contains("<html"), "{method} {path}: {answer:?}");
    }
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
}

#[test]
fn without_the_token_a_browser_learns_no_preset() {
    let place = Place::with(PRESETS, &["echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let page = open(&host, "GET", "/");
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("Bearer $GATEHOUSE_TOKEN"), "{page:?}");
    assert!(!page.body.contains("broken") && !page.body.contains("/mcp/p/"), "{page:?}");
    assert!(!page.body.contains(TOKEN), "{page:?}");
    let foreign =
        host.say("GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\naccept: text/html\r\n\r\n");
    assert_eq!(foreign.status, 403, "{foreign:?}");
}
