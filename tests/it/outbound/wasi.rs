//! `wasi:http` has the same rules and limits as the capability `http`.

use serde_json::{Value, json};

use super::{error, host_of};
use crate::support::{Client, Place, server::Server};

fn host(server: &Server, rule: &str, environment: &[(&str, &str)]) -> (Place, Client) {
    host_of("wasi-fetch", &format!("\"{}\" = {rule}", server.host()), environment)
}

fn to(server: &Server, path: &str) -> Value {
    json!({"authority": server.address.to_string(), "path": path})
}

#[test]
fn what_is_named_is_reached_with_its_credential() {
    let server = Server::start();
    let rule = "{ headers = { Authorization = \"Bearer ${TOKEN}\" } }";
    let (_place, mut client) = host(&server, rule, &[("TOKEN", "s3cret-token"), ("GATEHOUSE_LOG", "trace")]);
    let mut arguments = to(&server, "/echo?a=b");
    arguments["headers"] = json!(["Authorization: Bearer mine", "X-Own: 1"]);
    arguments["body_bytes"] = json!(100_000);
    let text = client.text("wasi_fetch", arguments);
    assert!(text.starts_with("200\n") && text.contains("x-echo: Bearer [redacted]"), "{text}");
    let seen = server.only();
    assert_eq!((seen.method.as_str(), seen.body.len()), ("POST", 100_000));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret-token"));
    assert_eq!(seen.header("x-own"), Some("1"));
    client.log_with("request of a gate");
    assert!(!text.contains("s3cret") && !client.log().contains("s3cret"), "{text}");
}

#[test]
fn what_is_not_named_is_denied_and_the_operator_hears_why() {
    let (named, other) = (Server::start(), Server::start());
    let (_place, mut client) = host(&named, "{}", &[]);
    let user = json!({"authority": format!("user@{}", named.address)});
    let https = json!({"authority": named.address.to_string(), "https": true});
    for arguments in [to(&other, "/"), user, https] {
        let (_, text) = error(&mut client, "wasi_fetch", arguments);
        assert!(text.contains("HttpRequestDenied"), "{text}");
    }
    named.saw_nothing();
    other.saw_nothing();
    let line = format!("add \"{}\" = {{}} under [gates.wasi-fetch.http]", other.host());
    client.log_with(&line);
}

#[test]
fn without_a_block_it_is_denied() {
    let server = Server::start();
    let (_place, mut client) = super::with("[presets.web]\ngates.wasi-fetch = {}\n", "wasi-fetch", &[]);
    let (_, text) = error(&mut client, "wasi_fetch", to(&server, "/"));
    assert!(text.contains("HttpRequestDenied"), "{text}");
    server.saw_nothing();
}

#[test]
fn a_redirect_is_given_back_as_it_is() {
    let (server, other) = (Server::start(), Server::start());
    let (_place, mut client) = host(&server, "{}", &[]);
    let path = format!("/redirect?status=302&to={}", other.url("/"));
    let text = client.text("wasi_fetch", to(&server, &path));
    assert!(text.starts_with("302\n") && text.contains(&format!("location: {}", other.url("/"))), "{text}");
    other.saw_nothing();
}

#[test]
fn the_same_limits_hold() {
    let server = Server::start();
    let (_place, mut client) = host(&server, "{}", &[]);
    let (_, text) = error(&mut client, "wasi_fetch", to(&server, "/flood"));
    assert!(text.contains("answered with more than 8 MiB"), "{text}");
    let mut large = to(&server, "/");
    large["body_bytes"] = json!((4 << 20) + 1);
    let before = server.seen().len();
    let (_, text) = error(&mut client, "wasi_fetch", large);
    assert!(text.contains("larger than 4194304 bytes"), "{text}");
    assert_eq!(server.seen().len(), before, "it was not sent");
    let mut often = to(&server, "/");
    often["times"] = json!(65);
    let (_, text) = error(&mut client, "wasi_fetch", often);
    assert!(text.contains("limit of 64 HTTP requests in one call"), "{text}");
    assert_eq!(server.seen().len(), before + 64);
    let text = client.text("wasi_fetch", to(&server, "/big?bytes=5000000"));
    assert!(text.len() > 5_000_000, "{} bytes", text.len());
}

#[test]
fn a_server_that_does_not_go_on_ends_the_call_at_its_deadline() {
    let server = Server::start();
    let presets = format!(
        "[gates.wasi-fetch]\nlimits = {{ time = \"1 s\" }}\n[gates.wasi-fetch.http]\n\"{}\" = {{}}\n[presets.web]\ngates.wasi-fetch = {{}}\n",
        server.host()
    );
    let (_place, mut client) = super::with(&presets, "wasi-fetch", &[]);
    let (kind, text) = error(&mut client, "wasi_fetch", to(&server, "/stuck"));
    assert!(kind == "TIMEOUT" || text.contains("HttpResponseTimeout"), "{kind}: {text}");
    assert!(client.text("wasi_fetch", to(&server, "/")).ends_with("ok"));
}
