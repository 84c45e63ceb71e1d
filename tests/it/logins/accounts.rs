//! An MCP server on which every person has an account, and its authorization server. Its tool says whose token it got.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::support::server::{Seen, serve_answers};

pub(super) struct Accounts {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Accounts {
    pub(super) fn start() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let address = serve_answers(move |seen| {
            let base = format!("http://{}", seen.header("host").expect("a host"));
            let answered = answer(&seen, &base);
            kept.lock().expect("memory").push(seen);
            answered
        });
        Self { address, seen }
    }

    /// Returns the bodies that were sent to a path.
    pub(super) fn bodies(&self, path: &str) -> Vec<String> {
        let seen = self.seen.lock().expect("memory");
        let to = seen.iter().filter(|seen| seen.target == path);
        to.map(|seen| String::from_utf8_lossy(&seen.body).into_owned()).collect()
    }
}

fn answer(seen: &Seen, base: &str) -> (u16, String, String) {
    let json_of = |value: Value| (200, "content-type: application/json\r\n".to_owned(), value.to_string());
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let of = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    match path {
        "/mcp" => {
            let token = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer secret-"));
            match token {
                Some(name) if seen.method == "POST" => speak(&seen.body, name),
                Some(_) => (405, String::new(), String::new()),
                None => {
                    let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
                    let wants = format!("www-authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
                    (401, wants, String::new())
                }
            }
        }
        "/.well-known/oauth-protected-resource/mcp" => {
            json_of(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => json_of(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "revocation_endpoint": format!("{base}/revoke"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => (201, String::new(), json!({"client_id": "registered"}).to_string()),
        "/authorize" => {
            let part = |name: &str| of(name).expect("a parameter").replace("%3A", ":").replace("%2F", "/");
            let back =
                format!("{}?code=code-{}&state={}", part("redirect_uri"), part("account"), part("state"));
            (302, format!("location: {back}\r\n"), String::new())
        }
        "/token" => {
            let form = String::from_utf8_lossy(&seen.body);
            let code = form.split('&').find_map(|pair| pair.strip_prefix("code=code-")).expect("a code");
            json_of(
                json!({"access_token": format!("secret-{code}"), "token_type": "Bearer", "expires_in": 3600}),
            )
        }
        "/revoke" => json_of(json!({})),
        _ => (404, String::new(), String::new()),
    }
}

/// Answers a message of MCP for the person with this account.
fn speak(body: &[u8], name: &str) -> (u16, String, String) {
    let message: Value = serde_json::from_slice(body).expect("JSON");
    let result = match message["method"].as_str().expect("a method") {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "accounts", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "whoami",
            "description": "Says whose account is used.",
            "inputSchema": {"type": "object"},
        }]}),
        "tools/call" => json!({"content": [{"type": "text", "text": format!("account of {name}")}]}),
        _ if message.get("id").is_none() => return (202, String::new(), String::new()),
        _ => json!({}),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    (200, "content-type: application/json\r\n".into(), answer.to_string())
}
