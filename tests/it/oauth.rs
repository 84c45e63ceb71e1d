//! Callers of a host with `[auth]`: API keys that are created, rotated and revoked while it runs, and users of an OpenID
//! provider.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::support::{Http, Place, host::PATIENCE, installed, repository};

const BASE: &str = "https://tools.example";

const STATELESS: [(&str, &str); 2] = [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")];

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn place(auth: &str) -> Place {
    let presets = "[presets.one]\ngates.echo = {}\n[presets.two]\ngates.echo = {}\n";
    Place::with(&format!("{auth}\n{presets}"), &["echo"])
}

/// Lists the tools of a path. Returns the status, the challenge and the body.
fn list(host: &Http, path: &str, token: Option<&str>) -> (u16, String, String) {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = STATELESS.to_vec();
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let (status, headers, body) = host.post(path, &message, &headers);
    (status, headers.get("www-authenticate").cloned().unwrap_or_default(), body)
}

fn status(host: &Http, path: &str, token: &str) -> u16 {
    list(host, path, Some(token)).0
}

/// Waits until a token has this status.
fn becomes(host: &Http, token: &str, wanted: u16) {
    let start = Instant::now();
    while status(host, "/mcp", token) != wanted {
        assert!(start.elapsed() < PATIENCE, "the token does not become {wanted}");
    }
}

fn keys(place: &Place, arguments: &[&str]) -> String {
    let ran = place.run(&[&["keys"], arguments].concat());
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    ran.stdout().trim_end().to_owned()
}

#[test]
fn keys_change_while_the_host_runs() {
    let place = place("[auth]");
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let (refused, challenge, _) = list(&host, "/mcp", None);
    assert_eq!((refused, challenge.as_str()), (401, "Bearer"));
    assert_eq!(status(&host, "/mcp", TOKEN), 401, "the file does not allow the token of the host");
    let old = keys(&place, &["create", "ci"]);
    becomes(&host, &old, 200);
    let new = keys(&place, &["rotate", "ci"]);
    becomes(&host, &new, 200);
    assert_eq!(status(&host, "/mcp", &old), 200, "both work");
    // The host records a use in the background.
    let start = Instant::now();
    while !keys(&place, &["list", "--json"]).contains("\"last_used_at_ms\": 1") {
        assert!(start.elapsed() < PATIENCE, "the use is not recorded");
    }
    keys(&place, &["revoke", "ci"]);
    becomes(&host, &new, 401);
    let (_, challenge, body) = list(&host, "/mcp", Some(&old));
    assert_eq!(challenge, "Bearer error=\"invalid_token\"");
    assert!(body.contains("unknown or revoked API key"), "{body}");
    let log = host.log();
    assert!(!log.contains(&old) && !log.contains(&new), "no secret is logged");
}

#[test]
fn the_token_of_the_host_works_if_the_file_says_so() {
    let place = place("[auth]\ntoken = true");
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    assert_eq!(status(&host, "/mcp", TOKEN), 200);
    let key = keys(&place, &["create", "ci"]);
    becomes(&host, &key, 200);
}

/// The program `tests/fixtures/servers/oidc.mjs`, which ends with its standard input.
struct Provider {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Provider {
    fn start() -> Option<(Self, String)> {
        let (node, package) = (installed("GATEHOUSE_TEST_NODE")?, installed("GATEHOUSE_TEST_OIDC_PROVIDER")?);
        let mut command = Command::new(node);
        command.arg(repository().join("tests/fixtures/servers/oidc.mjs")).arg(package);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("start node");
        let requests = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut provider = Self { child, requests, answers };
        let issuer = provider.answer()["issuer"].as_str().expect("an issuer").to_owned();
        Some((provider, issuer))
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").expect("written");
        self.answer()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn users_of_a_provider_sign_in() {
    let Some((mut provider, issuer)) = Provider::start() else { return };
    let place = place(&format!(
        "[auth]\nurl = \"{BASE}\"\n[auth.issuers.corp]\nissuer = \"{issuer}\"\nscopes = {{ \"tools.read\" = \"read-only\" }}"
    ));
    let host = Http::start(&place, "one", &[]);
    let (refused, challenge, _) = list(&host, "/mcp/p/two", None);
    let metadata = format!("{BASE}/.well-known/oauth-protected-resource/mcp/p/two");
    assert_eq!(refused, 401);
    assert_eq!(challenge, format!("Bearer scope=\"tools.read\", resource_metadata=\"{metadata}\""));
    let at = format!("{}/.well-known/oauth-protected-resource/mcp/p/two", host.base);
    let shown = ureq::get(at).call().expect("metadata").body_mut().read_to_string().expect("a body");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["resource"], format!("{BASE}/mcp/p/two"));
    assert_eq!(shown["authorization_servers"], json!([issuer]));
    let mut sign_in =
        |scope: &str| provider.ask(&json!({"sign_in": {"resource": shown["resource"], "scope": scope}}));
    let (tokens, narrow) = (sign_in("tools.read"), sign_in("tools.write"));
    let text = |value: &Value| value.as_str().expect("a token").to_owned();
    let token = text(&tokens["access_token"]);
    assert_eq!(status(&host, "/mcp/p/two", &token), 200);
    for (path, token) in [
        ("/mcp", &token),
        ("/mcp/p/one", &token),
        ("/mcp/p/two", &text(&tokens["id_token"])),
        ("/mcp/p/two", &text(&tokens["refresh_token"])),
        ("/mcp/p/two", &token[..token.len() - 4].to_owned()),
    ] {
        let (refused, challenge, body) = list(&host, path, Some(token));
        assert_eq!(refused, 401, "{path}: {body}");
        assert!(challenge.starts_with("Bearer error=\"invalid_token\", scope="), "{challenge}");
        assert!(!body.contains(&**token) && !host.log().contains(&**token), "no token is quoted");
    }
    let (forbidden, challenge, _) = list(&host, "/mcp/p/two", Some(&text(&narrow["access_token"])));
    assert_eq!(forbidden, 403);
    assert!(
        challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"tools.read\""),
        "{challenge}"
    );
    let refresh = json!({"refresh": tokens["refresh_token"], "resource": shown["resource"]});
    let renewed = provider.ask(&refresh);
    assert_eq!(status(&host, "/mcp/p/two", &text(&renewed["access_token"])), 200);
}
