//! MCP server that requires a login, and its authorization server, on one local port.
//!
//! Longer than 300 lines because the list of misbehaviors and the answers that implement them are read together.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatehouse_core::lock;
use gatehouse_net::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Misbehavior of the authorization server or of its MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misbehavior {
    NoMetadata,
    NoResourceMetadata,
    OtherResource,
    OtherIssuer,
    MetadataIsHtml,
    MetadataRedirects,
    NoS256,
    PlainToken,
    PrivateToken,
    TokenElsewhere,
    AuthorizationElsewhere,
    NoLife,
    NegativeLife,
    NoRegistration,
    RegistrationRefused,
    NamesIssuer,
    CodeUsed,
    TokenFails,
    TokenStuck,
    TokenLarge,
    TokenIsHtml,
    TokenOfOtherType,
    RefreshRefused,
    ClientUnknown,
    KeepsRefresh,
    NoRefresh,
    NoRevocation,
    RequiresNoLogin,
    RefusesToken,
    RefusesTokenWithoutChallenge,
    RequiresScope,
    RepliesWithError,
    /// The provider vouches for its user no longer.
    ExchangeRefused,
    /// The provider issues something else than an assertion.
    ExchangesToOther,
    NoIdToken,
    AssertionRefused,
    /// Optional lists of its metadata are null.
    NullLists,
    /// Errors of the token endpoint have status 200.
    ErrorIsSuccess,
}

#[derive(Default)]
struct State {
    misbehaviors: BTreeSet<Misbehavior>,
    seen: Vec<SeenRequest>,
    /// Code challenges by code.
    codes: BTreeMap<String, String>,
    access: String,
    refresh: String,
    id_token: String,
    number: u32,
}

pub(super) struct Authority {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Authority {
    pub(super) fn start(misbehaviors: &[Misbehavior]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let misbehaviors = misbehaviors.iter().copied().collect();
        let state = Arc::new(Mutex::new(State { misbehaviors, ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, address, &state));
            }
        });
        Self { address, state }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn start_to(&self, misbehavior: Misbehavior) {
        lock(&self.state).misbehaviors.insert(misbehavior);
    }

    pub(super) fn stop_to(&self, misbehavior: Misbehavior) {
        lock(&self.state).misbehaviors.remove(&misbehavior);
    }

    /// Invalidates the access token, as if it had expired.
    pub(super) fn expire(&self) {
        lock(&self.state).access.clear();
    }

    pub(super) fn tokens(&self) -> (String, String) {
        let state = lock(&self.state);
        (state.access.clone(), state.refresh.clone())
    }

    /// Replaces the ID token that it accepts.
    pub(super) fn accept_id_token(&self, token: &str) {
        token.clone_into(&mut lock(&self.state).id_token);
    }

    pub(super) fn seen(&self, path: &str) -> Vec<SeenRequest> {
        lock(&self.state).seen.iter().filter(|seen| seen.path == path).cloned().collect()
    }

    pub(super) fn renewals(&self) -> usize {
        let token = self.seen("/token");
        token
            .iter()
            .filter(|seen| seen.form.get("grant_type").is_some_and(|kind| kind == "refresh_token"))
            .count()
    }
}

fn serve(mut stream: TcpStream, address: SocketAddr, state: &Mutex<State>) {
    let Some(seen) = read(&stream) else { return };
    let answer = {
        let mut state = lock(state);
        state.seen.push(seen.clone());
        state.answer(&seen, &format!("http://{address}"))
    };
    let Some((status, headers, body)) = answer else {
        // Hangs until the client disconnects.
        let _ = stream.read(&mut [0]);
        return;
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

type Answer = (u16, String, String);

fn json_of(status: u16, value: Value) -> Option<Answer> {
    Some((status, "content-type: application/json\r\n".into(), value.to_string()))
}

fn html() -> Option<Answer> {
    Some((200, "content-type: text/html\r\n".into(), "<p>Sign in".into()))
}

impl State {
    fn has(&self, misbehavior: Misbehavior) -> bool {
        self.misbehaviors.contains(&misbehavior)
    }

    fn answer(&mut self, seen: &SeenRequest, base: &str) -> Option<Answer> {
        let nothing = || Some((404, String::new(), String::new()));
        match seen.path.as_str() {
            "/mcp" | "/other" => self.server(seen, base),
            "/.well-known/oauth-protected-resource/mcp" => {
                if self.has(Misbehavior::NoMetadata) || self.has(Misbehavior::NoResourceMetadata) {
                    return nothing();
                }
                if self.has(Misbehavior::MetadataRedirects) {
                    return Some((302, format!("location: {base}/elsewhere\r\n"), String::new()));
                }
                if self.has(Misbehavior::MetadataIsHtml) {
                    return html();
                }
                let resource =
                    if self.has(Misbehavior::OtherResource) { "https://bank.example/mcp" } else { base };
                let scopes = ["read", "write"];
                json_of(
                    200,
                    json!({"resource": resource, "authorization_servers": [base], "scopes_supported": scopes}),
                )
            }
            "/.well-known/oauth-authorization-server" if !self.has(Misbehavior::NoMetadata) => {
                self.metadata(base)
            }
            "/register" if self.has(Misbehavior::RegistrationRefused) => {
                json_of(400, json!({"error": "invalid_redirect_uri"}))
            }
            "/register" => json_of(201, json!({"client_id": "registered-1"})),
            "/authorize" => self.authorize(seen, base),
            "/token" => self.token(seen, base),
            "/revoke" => Some((200, String::new(), String::new())),
            _ => nothing(),
        }
    }

    /// Echoes the credentials that it receives.
    fn server(&self, seen: &SeenRequest, base: &str) -> Option<Answer> {
        if self.has(Misbehavior::RefusesTokenWithoutChallenge) {
            return Some((401, String::new(), String::new()));
        }
        if self.has(Misbehavior::RequiresScope) {
            let wants = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"admin\"\r\n";
            return Some((403, wants.into(), String::new()));
        }
        if self.has(Misbehavior::RepliesWithError) {
            return Some((400, String::new(), format!("you said {}", seen.authorization)));
        }
        let known = !self.has(Misbehavior::RefusesToken)
            && !self.access.is_empty()
            && seen.authorization == format!("Bearer {}", self.access);
        if known && seen.method == "GET" {
            let events = format!(
                "event: endpoint\ndata: /mcp\n\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"echo\":\"{}\"}}}}\n\n",
                seen.authorization
            );
            return Some((200, "content-type: text/event-stream\r\n".into(), events));
        }
        if known || self.has(Misbehavior::RequiresNoLogin) {
            return json_of(200, json!({"jsonrpc": "2.0", "id": 1, "result": {"echo": seen.authorization}}));
        }
        let place = if self.has(Misbehavior::NoMetadata) || self.has(Misbehavior::NoResourceMetadata) {
            String::new()
        } else {
            format!(" resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"read\"")
        };
        Some((401, format!("www-authenticate: Bearer{place}\r\n"), String::new()))
    }

    fn metadata(&self, base: &str) -> Option<Answer> {
        // The same server at another origin.
        let elsewhere = base.replace("127.0.0.1", "localhost");
        let origin = |misbehavior: Misbehavior| if self.has(misbehavior) { &*elsewhere } else { base };
        let token = match () {
            () if self.has(Misbehavior::PlainToken) => "http://auth.example/token".to_owned(),
            () if self.has(Misbehavior::PrivateToken) => "https://169.254.169.254/token".to_owned(),
            () => format!("{}/token", origin(Misbehavior::TokenElsewhere)),
        };
        let mut document = json!({
            "issuer": if self.has(Misbehavior::OtherIssuer) { "https://evil.example" } else { base },
            "authorization_endpoint": format!("{}/authorize", origin(Misbehavior::AuthorizationElsewhere)),
            "token_endpoint": token,
            "registration_endpoint": format!("{base}/register"),
            "revocation_endpoint": format!("{base}/revoke"),
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": self.has(Misbehavior::NamesIssuer),
        });
        let fields = document.as_object_mut().expect("an object");
        for (misbehavior, field) in [
            (Misbehavior::NoS256, "code_challenge_methods_supported"),
            (Misbehavior::NoRegistration, "registration_endpoint"),
            (Misbehavior::NoRevocation, "revocation_endpoint"),
        ] {
            if self.has(misbehavior) {
                fields.remove(field);
            }
        }
        if self.has(Misbehavior::NullLists) {
            for list in ["scopes_supported", "token_endpoint_auth_methods_supported"] {
                document[list] = serde_json::Value::Null;
            }
        }
        json_of(200, document)
    }

    fn authorize(&mut self, seen: &SeenRequest, base: &str) -> Option<Answer> {
        self.number += 1;
        let code = format!("code-secret-{}", self.number);
        self.codes.insert(code.clone(), seen.query["code_challenge"].clone());
        let mut back = Url::parse(&seen.query["redirect_uri"]).expect("a redirect");
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &seen.query["state"]);
        if self.has(Misbehavior::NamesIssuer) {
            back.query_pairs_mut().append_pair("iss", base);
        }
        Some((302, format!("location: {back}\r\n"), String::new()))
    }

    fn token(&mut self, seen: &SeenRequest, base: &str) -> Option<Answer> {
        // Error messages quote the whole request, as careless servers do.
        let status = if self.has(Misbehavior::ErrorIsSuccess) { 200 } else { 400 };
        let refused = |error: &str| json_of(status, json!({"error": error, "error_description": seen.body}));
        match () {
            () if self.has(Misbehavior::TokenStuck) => return None,
            () if self.has(Misbehavior::TokenFails) => return Some((500, String::new(), seen.body.clone())),
            () if self.has(Misbehavior::TokenIsHtml) => return html(),
            () if self.has(Misbehavior::TokenLarge) => {
                return Some((200, String::new(), "x".repeat(1 << 20)));
            }
            () if self.has(Misbehavior::ClientUnknown) => return refused("invalid_client"),
            () => {}
        }
        let form = |name: &str| seen.form.get(name).map_or("", String::as_str);
        let grant = form("grant_type").rsplit(':').next().unwrap_or_default();
        if grant == "token-exchange" {
            if self.has(Misbehavior::ExchangeRefused) || form("subject_token") != self.id_token {
                return refused("invalid_request");
            }
            let kind = if self.has(Misbehavior::ExchangesToOther) { "access_token" } else { "id-jag" };
            self.number += 1;
            let assertion = format!("assertion-secret-{}-for-{}", self.number, form("audience"));
            return json_of(
                200,
                json!({"access_token": assertion, "token_type": "N_A",
                    "issued_token_type": format!("urn:ietf:params:oauth:token-type:{kind}")}),
            );
        }
        let to_client = matches!(grant, "client_credentials" | "jwt-bearer");
        if grant == "jwt-bearer" {
            if self.has(Misbehavior::AssertionRefused)
                || !form("assertion").ends_with(&format!("-for-{base}"))
            {
                return refused("invalid_grant");
            }
        } else if to_client {
            if !seen.authorization.starts_with("Basic ") {
                return refused("invalid_client");
            }
        } else if grant == "refresh_token" {
            if self.has(Misbehavior::RefreshRefused) || form("refresh_token") != self.refresh {
                return refused("invalid_grant");
            }
        } else {
            let challenge = self.codes.remove(form("code")).unwrap_or_default();
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(form("code_verifier").as_bytes()));
            if self.has(Misbehavior::CodeUsed) || challenge != proof {
                return refused("invalid_grant");
            }
        }
        self.number += 1;
        let number = self.number;
        self.access = format!("access-secret-{number}");
        let keeps = self.has(Misbehavior::KeepsRefresh) && !self.refresh.is_empty();
        let kind = if self.has(Misbehavior::TokenOfOtherType) { "mac" } else { "Bearer" };
        let life = match () {
            () if self.has(Misbehavior::NoLife) => json!(0),
            () if self.has(Misbehavior::NegativeLife) => json!("-5"),
            () => json!(3600),
        };
        let mut issued = json!({"access_token": self.access, "token_type": kind, "expires_in": life});
        // Some issue one for an assertion, too, against the specification.
        if !keeps && grant != "client_credentials" && !self.has(Misbehavior::NoRefresh) {
            self.refresh = format!("refresh-secret-{number}");
            issued["refresh_token"] = self.refresh.as_str().into();
        }
        if !to_client && !self.has(Misbehavior::NoIdToken) {
            self.id_token = format!("id-secret-{number}");
            issued["id_token"] = self.id_token.as_str().into();
        }
        json_of(200, issued)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct SeenRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) authorization: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) form: BTreeMap<String, String>,
    pub(super) body: String,
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://x/?{text}")).expect("a query");
    url.query_pairs().into_owned().collect()
}

fn read(stream: &TcpStream) -> Option<SeenRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut seen = SeenRequest { method, path: path.into(), query: pairs(query), ..SeenRequest::default() };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => value.clone_into(&mut seen.authorization),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).ok()?;
    seen.form = pairs(&seen.body);
    Some(seen)
}
