//! Only hosts in `presets.toml` are reachable, in every spelling and through redirects.

use serde_json::json;

use super::{error, fails, fetch, host, with};
use crate::support::{Place, server::Server};

#[test]
fn what_is_named_is_reached() {
    let server = Server::start();
    let (_place, mut client) = host(&format!("\"{}\" = {{}}", server.host()));
    let headers = ["X-Own: 1", "Host: evil.example", "Transfer-Encoding: chunked", "Accept-Encoding: br"];
    let arguments =
        json!({"url": server.url("/a?b=c#d"), "method": "post", "headers": headers, "body": "hello"});
    let text = client.text("fetch", arguments);
    assert!(text.starts_with(&format!("200 {}\n", server.url("/a?b=c"))), "{text}");
    assert!(text.contains("content-type: text/plain\n") && text.ends_with("\n\nok"), "{text}");
    let seen = server.only();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/a?b=c"));
    assert_eq!(seen.body, b"hello");
    assert_eq!(seen.header("host"), Some(server.address.to_string().as_str()));
    assert_eq!((seen.header("x-own"), seen.header("accept-encoding")), (Some("1"), Some("identity")));
    assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("gatehouse/")), "{seen:?}");
    let text = fetch(&mut client, &server.url("/status?code=404"));
    assert!(text.starts_with("404 ") && text.ends_with("as asked"), "any status is an answer: {text}");
}

#[test]
fn without_a_block_nothing_is_reached() {
    let server = Server::start();
    let (_place, mut client) = with("[presets.web]\ngates.fetch = {}\n", "fetch", &[]);
    let text = fails(&mut client, "PERMISSION", &server.url("/"));
    let line = format!("add \"{}\" = {{}} under [gates.fetch.http] in presets.toml", server.host());
    assert!(text.contains("gate 'fetch' may not reach") && text.contains(&line), "{text}");
    server.saw_nothing();
}

#[test]
fn other_hosts_ports_and_schemes_are_denied_with_the_line_to_add() {
    let (named, other) = (Server::start(), Server::start());
    let block = format!("\"{}\" = {{}}\n\"{}\" = {{}}", named.host(), other.address);
    let (_place, mut client) = host(&block);
    for (url, key) in [
        ("https://other.example/".to_owned(), "other.example".to_owned()),
        (other.url("/"), other.host()),
        (format!("https://{}/", named.address), named.address.to_string()),
        ("http://127.0.0.1/".to_owned(), "http://127.0.0.1".to_owned()),
    ] {
        let text = fails(&mut client, "PERMISSION", &url);
        assert!(text.contains(&format!("add \"{key}\" = {{}} under [gates.fetch.http]")), "{url}: {text}");
    }
    other.saw_nothing();
    // The rule allows https, but the server does not support TLS.
    let text = fails(&mut client, "UNAVAILABLE", &format!("https://{}/", other.address));
    assert!(text.contains(&format!("cannot reach {}", other.address)), "{text}");
    assert!(fetch(&mut client, &named.url("/")).ends_with("ok"));
}

#[test]
fn an_address_is_the_same_in_every_spelling_and_no_other_one() {
    let server = Server::start();
    let port = server.address.port();
    let (_place, mut client) = host(&format!("\"http://0x7f.0.0.1:{port}\" = {{}}"));
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "017700000001", "127.0.0.1."] {
        assert!(fetch(&mut client, &format!("http://{host}:{port}/")).ends_with("ok"), "{host}");
    }
    let reached = server.connections();
    for host in ["[::ffff:127.0.0.1]", "[::1]", "localhost", "127.0.0.2", "127.1.0.1", "[::127.0.0.1]", "0"] {
        fails(&mut client, "PERMISSION", &format!("http://{host}:{port}/"));
    }
    assert_eq!(server.connections(), reached);
}

#[test]
fn names_are_compared_without_case_and_trailing_dot() {
    let server = Server::start();
    let port = server.address.port();
    let (_place, mut client) = host(&format!("\"http://LOCALHOST.:{port}\" = {{}}"));
    assert!(fetch(&mut client, &format!("HTTP://LocalHost.:{port}/")).ends_with("ok"));
    assert_eq!(server.only().header("host"), Some(format!("localhost:{port}").as_str()));
    for host in ["localhost.evil.example", "a.localhost", "127.0.0.1"] {
        fails(&mut client, "PERMISSION", &format!("http://{host}:{port}/"));
    }
}

#[test]
fn names_of_users_and_things_that_are_no_urls_are_refused() {
    let server = Server::start();
    let (_place, mut client) = host(&format!("\"{}\" = {{}}", server.host()));
    let address = server.address;
    for url in [format!("http://user@{address}/"), format!("http://user:pass@{address}/")] {
        let text = fails(&mut client, "PERMISSION", &url);
        assert!(text.contains("requested a URL with credentials") && !text.contains("pass@"), "{text}");
    }
    fails(&mut client, "PERMISSION", &format!("http://{address}@evil.example/"));
    for url in ["file:///etc/passwd", "/etc/passwd", "", "gopher://127.0.0.1/", "http://"] {
        fails(&mut client, "VALIDATION", url);
    }
    for method in ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX: y"] {
        let (kind, text) = error(&mut client, "fetch", json!({"url": server.url("/"), "method": method}));
        assert!(kind == "VALIDATION" && text.contains("unsupported method"), "{text}");
    }
    let header = json!({"url": server.url("/"), "headers": ["X: a\r\nHost: evil"]});
    assert_eq!(error(&mut client, "fetch", header).0, "VALIDATION");
    server.saw_nothing();
}

#[test]
fn a_redirect_is_followed_as_far_as_the_rules_go() {
    let (named, forbidden) = (Server::start(), Server::start());
    let (_place, mut client) = host(&format!("\"{}\" = {{}}", named.host()));
    let led = |status: u16, to: &str| named.url(&format!("/redirect?status={status}&to={to}"));
    let text = fetch(&mut client, &led(302, "/there"));
    assert!(text.starts_with(&format!("200 {}\n", named.url("/there"))), "{text}");
    for to in [forbidden.url("/"), format!("//{}/", forbidden.address), "https://evil.example/".into()] {
        let text = fails(&mut client, "PERMISSION", &led(307, &to));
        assert!(text.contains("answered with a redirect: gate 'fetch' may not reach"), "{text}");
    }
    fails(&mut client, "PERMISSION", &led(302, &format!("http://user@{}/", named.address)));
    fails(&mut client, "VALIDATION", &led(302, "file:///etc/passwd"));
    forbidden.saw_nothing();
    let text = fails(&mut client, "UNAVAILABLE", &named.url("/loop"));
    assert!(text.contains("redirects more than 5 times"), "{text}");
}

#[test]
fn a_redirected_post_becomes_what_browsers_make_of_it() {
    let server = Server::start();
    let (_place, mut client) = host(&format!("\"{}\" = {{}}", server.host()));
    for (status, method, body) in [(303, "GET", ""), (302, "GET", ""), (307, "POST", "hello")] {
        let url = server.url(&format!("/redirect?status={status}&to=/there"));
        client.text("fetch", json!({"url": url, "method": "POST", "body": "hello"}));
        let last = server.seen().pop().expect("a request");
        assert_eq!((last.target.as_str(), last.method.as_str()), ("/there", method), "{status}");
        assert_eq!(String::from_utf8_lossy(&last.body), body, "{status}");
    }
}

#[test]
fn inspect_shows_what_is_asked_and_whom_it_may_reach() {
    let place = Place::with("[gates.fetch.http]\n\"*.example.com\" = {}\n", &["fetch", "wasi-fetch"]);
    let report = place.run(&["gates", "inspect", "fetch", "--json"]).json();
    assert_eq!(report["asks"], json!(["http"]), "{report}");
    assert_eq!(
        (&report["granted"], &report["http"]),
        (&json!(["http"]), &json!(["*.example.com"])),
        "{report}"
    );
    let text = place.run(&["gates", "inspect", "fetch"]).stdout();
    assert!(text.contains("http         *.example.com"), "{text}");
    let report = place.run(&["gates", "inspect", "wasi-fetch", "--json"]).json();
    assert_eq!((&report["asks"], &report["not_granted"]), (&json!(["http"]), &json!(["http"])), "{report}");
    let text = place.run(&["gates", "inspect", "wasi-fetch"]).stdout();
    let line = "not granted  http (write a block [gates.wasi-fetch.http] in presets.toml)";
    assert!(text.contains(line), "{text}");
}
