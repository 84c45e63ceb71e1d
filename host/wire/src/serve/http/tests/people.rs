//! Tests of several people on one host: credentials, and sessions that belong to whoever opened them.

use gatehouse_core::{
    Caller,
    ports::auth::{AuthRefusal, Authenticator, ProtectedResource, ResourceMetadata},
};

use super::*;

/// Knows the tokens `ann`, `bob` and `narrow`, which lacks a scope. Does not answer for `slow`.
struct People {
    metadata: Option<ResourceMetadata>,
    ann: Arc<Caller>,
}

impl People {
    fn new(base_url: Option<&str>) -> Arc<Self> {
        let metadata = base_url.map(|url| ResourceMetadata {
            base_url: url.into(),
            authorization_servers: vec!["https://id.example.com".into()],
            scopes: vec!["tools:read".into(), "tools:write".into()],
        });
        Arc::new(Self { metadata, ann: Caller::named("key:ann") })
    }
}

#[async_trait]
impl Authenticator for People {
    async fn authenticate(
        &self,
        token: &str,
        _: ProtectedResource<'_>,
        _: std::net::IpAddr,
    ) -> Result<Arc<Caller>, AuthRefusal> {
        match token {
            "ann" => Ok(Arc::clone(&self.ann)),
            "bob" => Ok(Caller::named("key:bob")),
            "narrow" => Err(AuthRefusal::InsufficientScope(vec!["tools:write".into()])),
            "slow" => Err(AuthRefusal::Unavailable("the issuer does not answer".into())),
            _ => Err(AuthRefusal::Invalid("the key is unknown or revoked".into())),
        }
    }

    fn metadata(&self) -> Option<&ResourceMetadata> {
        self.metadata.as_ref()
    }
}

async fn host(base_url: Option<&str>) -> (TestHost, Arc<People>) {
    let people = People::new(base_url);
    let credentials = Credentials { token: None, authenticator: Some(Arc::clone(&people) as _) };
    (TestHost::start(credentials).await, people)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).expect("a status")
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next().unwrap_or_default();
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(known, _)| *known == name)
        .map(|found| found.1)
}

fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

fn call() -> String {
    let params = json!({"name": "who", "arguments": {}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// Opens a session and returns its header.
async fn open(host: &TestHost, token: &str) -> String {
    let answer = host.send("POST", "/mcp", &bearer(token), &initialize()).await;
    assert_eq!(status(&answer), "200", "{answer}");
    format!("mcp-session-id: {}\r\n", header(&answer, "mcp-session-id").expect("a session"))
}

#[tokio::test]
async fn a_client_without_a_valid_credential_learns_how_to_sign_in() {
    let (host, _) = host(Some("https://tools.example.com")).await;
    let challenge = async |path: &str, headers: &str| {
        let answer = host.send("POST", path, headers, &call()).await;
        (status(&answer).to_owned(), header(&answer, "www-authenticate").map(str::to_owned))
    };
    let metadata = "resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp";
    let expected = format!("Bearer scope=\"tools:read tools:write\", {metadata}\"");
    assert_eq!(challenge("/mcp", "").await, ("401".into(), Some(expected.clone())));
    let twice = format!("{}{}", bearer("ann"), bearer("ann"));
    assert_eq!(challenge("/mcp", &twice).await.0, "401", "two credentials");
    assert_eq!(challenge("/mcp", "authorization: Basic YW5uOg==\r\n").await.0, "401");
    assert_eq!(challenge("/mcp?access_token=ann", "").await.0, "401", "a token in a URL is in every log");
    let expected =
        format!("Bearer error=\"invalid_token\", scope=\"tools:read tools:write\", {metadata}/p/a%20b\"");
    assert_eq!(challenge("/mcp/p/a%20b", &bearer("eve")).await, ("401".into(), Some(expected)));
    let expected = format!("Bearer error=\"insufficient_scope\", scope=\"tools:write\", {metadata}\"");
    assert_eq!(challenge("/mcp", &bearer("narrow")).await, ("403".into(), Some(expected)));
    assert_eq!(challenge("/mcp", &bearer("slow")).await, ("503".into(), None));
    assert_eq!(lock(&host.end().await.callers).len(), 0);
}

#[tokio::test]
async fn metadata_of_each_resource_needs_no_credential() {
    let (host, _) = host(Some("https://tools.example.com")).await;
    for (path, resource) in [("", ""), ("/mcp", "/mcp"), ("/mcp/p/dev", "/mcp/p/dev")] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let answer = host.send("GET", &path, "", "").await;
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["resource"], format!("https://tools.example.com{resource}"));
        assert_eq!(body["authorization_servers"], json!(["https://id.example.com"]));
        assert_eq!(body["scopes_supported"], json!(["tools:read", "tools:write"]));
    }
    for path in ["/mcp/p/", "/mcp/status", "/x", "x"] {
        let answer = host.send("GET", &format!("/.well-known/oauth-protected-resource{path}"), "", "").await;
        assert_eq!(status(&answer), "401", "{path}");
    }
    host.end().await;
    let (keys_only, _) = self::host(None).await;
    let answer = keys_only.send("GET", "/.well-known/oauth-protected-resource/mcp", "", "").await;
    assert_eq!(status(&answer), "404");
    let answer = keys_only.send("POST", "/mcp", "", &call()).await;
    assert_eq!((status(&answer), header(&answer, "www-authenticate")), ("401", Some("Bearer")));
    keys_only.end().await;
}

#[tokio::test]
async fn a_session_is_unknown_to_everybody_but_its_owner() {
    let (host, _) = host(None).await;
    let session = open(&host, "ann").await;
    for method in ["POST", "GET", "DELETE"] {
        let answer = host.send(method, "/mcp", &(bearer("bob") + &session), &call()).await;
        assert_eq!(status(&answer), "404", "{method}: {answer}");
        let resumed = bearer("bob") + &session + "last-event-id: 00000000.1.0\r\n";
        assert_eq!(status(&host.send(method, "/mcp", &resumed, &call()).await), "404", "{method}");
    }
    let answer = host.send("POST", "/mcp", &(bearer("ann") + &session), &call()).await;
    assert_eq!(status(&answer), "200", "{answer}");
    let forged = "mcp-session-id: 0a1b2c3d-0000-4000-8000-0123456789ab.2025-11-25\r\n";
    assert_eq!(status(&host.send("POST", "/mcp", &(bearer("ann") + forged), &call()).await), "404");
    assert_eq!(*lock(&host.end().await.callers), [Principal::Named("key:ann".into())]);
}

#[tokio::test]
async fn a_stream_of_changes_ends_with_its_credential() {
    let (host, people) = host(None).await;
    let session = open(&host, "ann").await;
    let head = format!(
        "GET /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: text/event-stream\r\n{}{session}\r\n",
        host.address,
        bearer("ann")
    );
    let mut client = TcpStream::connect(host.address).await.expect("connected");
    client.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = vec![0; 12];
    client.read_exact(&mut answer).await.expect("answered");
    assert_eq!(answer, b"HTTP/1.1 200");
    people.ann.ended.cancel();
    client.read_to_end(&mut answer).await.expect("the stream ends");
    host.end().await;
}
