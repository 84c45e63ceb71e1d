//! A fake server that requires a login, and its authorization server, which approves every request and records it.

use std::{
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::json;

use crate::support::server::{Seen, read};

pub(super) struct Authority {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// Deviations from an honest authorization server.
#[derive(Default, Clone, Copy)]
pub(super) struct Odd {
    /// The token endpoint has another origin.
    pub(super) token_elsewhere: bool,
    /// Tokens have expired when issued, and have no refresh token.
    pub(super) expires_immediately: bool,
}

impl Authority {
    pub(super) fn start() -> Self {
        Self::start_odd(Odd::default())
    }

    pub(super) fn start_odd(odd: Odd) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                answer(stream, &format!("http://{address}"), &kept, odd);
            }
        });
        Self { address, seen }
    }

    pub(super) fn bodies(&self, path: &str) -> Vec<String> {
        let seen = self.seen.lock().expect("memory");
        let to = seen.iter().filter(|seen| seen.target == path);
        to.map(|seen| String::from_utf8_lossy(&seen.body).into_owned()).collect()
    }
}

fn answer(mut stream: TcpStream, base: &str, memory: &Mutex<Vec<Seen>>, odd: Odd) {
    let Some(seen) = read(&mut BufReader::new(&stream)) else { return };
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
    let (status, headers, body) = match path {
        "/mcp" => (401, format!("www-authenticate: Bearer resource_metadata=\"{place}\"\r\n"), json!({})),
        "/.well-known/oauth-protected-resource/mcp" => {
            (200, String::new(), json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => {
            let endpoint = |name: &str| format!("{base}/{name}");
            let other = base.replace("127.0.0.1", "localhost");
            let token = if odd.token_elsewhere { format!("{other}/token") } else { endpoint("token") };
            let document = json!({
                "issuer": base,
                "authorization_endpoint": endpoint("authorize"),
                "token_endpoint": token,
                "registration_endpoint": endpoint("register"),
                "revocation_endpoint": endpoint("revoke"),
                "code_challenge_methods_supported": ["S256"],
            });
            (200, String::new(), document)
        }
        "/register" => (201, String::new(), json!({"client_id": "registered"})),
        "/authorize" => {
            let of = |name: &str| {
                let parameter = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
                parameter.expect("a parameter").replace("%3A", ":").replace("%2F", "/")
            };
            let back = format!("{}?code=secret-code&state={}", of("redirect_uri"), of("state"));
            (302, format!("location: {back}\r\n"), json!({}))
        }
        "/token" if odd.expires_immediately => {
            let tokens = json!({"access_token": "secret-access", "token_type": "Bearer", "expires_in": 0});
            (200, String::new(), tokens)
        }
        "/token" => {
            let tokens = json!({"access_token": "secret-access", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "secret-refresh"});
            (200, String::new(), tokens)
        }
        "/revoke" => (200, String::new(), json!({})),
        _ => (404, String::new(), json!({})),
    };
    memory.lock().expect("memory").push(seen);
    let body = body.to_string();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn get(url: &str) -> String {
    let (address, target) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {address}\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Follows the redirect of a login page, as a user who agrees would.
pub(super) fn browse(url: &str) {
    let answer = get(url);
    let place = answer.lines().find_map(|line| line.strip_prefix("location: ")).expect("a redirect");
    assert!(get(place).contains("You can close this window."));
}
