//! A whole login at a real authorization server, the npm package `oidc-provider`: a code with PKCE, refresh, another
//! key, revocation, and tokens that are not for this host.
//!
//! `GATEHOUSE_TEST_NODE` is a Node program, and `GATEHOUSE_TEST_OIDC_PROVIDER` a directory with the package. `cargo xtask
//! test` installs both.

use std::{collections::BTreeMap, env, process::Stdio, sync::Arc, time::Duration};

use gatehouse_auth::{
    AuthSettings, HostAuthenticator, IntrospectionSettings, IssuerSettings, SigningAlgorithm, Url,
};
use gatehouse_core::{
    Effect,
    http::Secret,
    ports::{
        Authenticator as _,
        auth::{AuthRefusal, ProtectedResource},
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::support::{BASE, FakeClock, LOCAL, MemoryKeys, advance};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/servers/oidc.mjs");

struct Provider {
    _child: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    issuer: String,
}

fn installed(variable: &str) -> Option<std::ffi::OsString> {
    let found = env::var_os(variable);
    if found.is_none() {
        assert!(env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(), "{variable} is not set");
        eprintln!("SKIPPED: {variable} is not set; `cargo xtask test` installs what it names and sets it");
    }
    found
}

impl Provider {
    async fn start() -> Option<Self> {
        let (node, package) = (installed("GATEHOUSE_TEST_NODE")?, installed("GATEHOUSE_TEST_OIDC_PROVIDER")?);
        let mut command = Command::new(node);
        command.arg(PROGRAM).arg(package).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().expect("start node");
        let requests = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut provider = Self { _child: child, requests, answers, issuer: String::new() };
        let issuer = provider.answer().await["issuer"].as_str().expect("an issuer").to_owned();
        Some(Self { issuer, ..provider })
    }

    async fn answer(&mut self) -> Value {
        let line = self.answers.next_line().await.expect("a pipe").expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    async fn ask(&mut self, request: Value) -> Value {
        self.requests.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        self.answer().await
    }

    async fn sign_in(&mut self, path: &str, scope: &str) -> Value {
        self.ask(json!({"sign_in": {"resource": format!("{BASE}{path}"), "scope": scope}})).await
    }

    fn host(&self, change: impl FnOnce(&mut IssuerSettings)) -> HostAuthenticator {
        self.host_at(FakeClock::at_system_time(), change)
    }

    fn host_at(&self, clock: Arc<FakeClock>, change: impl FnOnce(&mut IssuerSettings)) -> HostAuthenticator {
        let mut issuer = IssuerSettings {
            name: "corp".into(),
            issuer: self.issuer.clone(),
            audience: None,
            user_claim: "sub".into(),
            groups_claim: "groups".into(),
            algorithms: SigningAlgorithm::DEFAULTS.to_vec(),
            scopes: BTreeMap::from([
                ("tools.read".to_owned(), Effect::ReadOnly),
                ("tools.write".to_owned(), Effect::Mutating),
            ]),
            introspection: Some(IntrospectionSettings {
                url: Url::parse(&format!("{}/token/introspection", self.issuer)).expect("a URL"),
                client_id: "host".into(),
                client_secret: Ok(Secret::new("host-secret")),
            }),
        };
        change(&mut issuer);
        let settings = AuthSettings { token: false, base_url: Some(BASE.into()), issuers: vec![issuer] };
        HostAuthenticator::new(&settings, Arc::new(MemoryKeys::default()), clock)
    }
}

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name}: {tokens}"))
}

async fn refusal(host: &HostAuthenticator, token: &str, resource: ProtectedResource<'_>) -> String {
    match host.authenticate(token, resource, LOCAL).await {
        Err(AuthRefusal::Invalid(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_user_signs_in_and_refreshes() {
    let Some(mut provider) = Provider::start().await else { return };
    let host = provider.host(|_| {});
    let tokens = provider.sign_in("/mcp", "tools.read").await;
    let token = text(&tokens, "access_token");
    let caller = host.authenticate(token, ProtectedResource::Default, LOCAL).await.expect("a caller");
    assert_eq!((caller.principal.as_str(), caller.effect), ("corp:ada", Some(Effect::ReadOnly)));
    assert_eq!(caller.groups, ["dev".into()]);
    let other = ProtectedResource::Preset("dev");
    assert_eq!(refusal(&host, token, other).await, "the token is for another audience");
    // The provider introspects refresh tokens as active, but without an audience.
    for (name, reason) in
        [("id_token", "the token is not an access token"), ("refresh_token", "the token has no audience")]
    {
        let refused = refusal(&host, text(&tokens, name), ProtectedResource::Default).await;
        assert_eq!(refused, reason, "{name}");
    }
    let refresh = json!({"refresh": tokens["refresh_token"], "resource": format!("{BASE}/mcp")});
    let renewed = provider.ask(refresh).await;
    assert_ne!(text(&renewed, "access_token"), token);
    let again = host.authenticate(text(&renewed, "access_token"), ProtectedResource::Default, LOCAL).await;
    assert_eq!(again.expect("a caller").principal, caller.principal);
}

#[tokio::test]
async fn a_new_key_of_the_provider_is_fetched() {
    let Some(mut provider) = Provider::start().await else { return };
    let host = provider.host(|_| {});
    let path = "/mcp/p/dev";
    let old = provider.sign_in(path, "tools.write").await;
    let preset = ProtectedResource::Preset("dev");
    assert!(host.authenticate(text(&old, "access_token"), preset, LOCAL).await.is_ok());
    provider.ask(json!({"rotate": true})).await;
    let new = provider.sign_in(path, "tools.write").await;
    assert_eq!(
        refusal(&host, text(&new, "access_token"), preset).await,
        "the token is signed with an unknown key"
    );
    advance(Duration::from_secs(60)).await;
    for tokens in [&new, &old] {
        let caller = host.authenticate(text(tokens, "access_token"), preset, LOCAL).await.expect("a caller");
        assert_eq!(caller.effect, Some(Effect::Mutating));
    }
}

#[tokio::test]
async fn an_opaque_token_is_revoked() {
    let Some(mut provider) = Provider::start().await else { return };
    let host = provider.host(|_| {});
    let tokens = provider.sign_in("/mcp/p/opaque", "tools.read").await;
    let (token, preset) = (text(&tokens, "access_token"), ProtectedResource::Preset("opaque"));
    assert!(!token.contains('.'));
    let caller = host.authenticate(token, preset, LOCAL).await.expect("a caller");
    assert_eq!((caller.principal.as_str(), caller.effect), ("corp:ada", Some(Effect::ReadOnly)));
    assert_eq!(refusal(&host, token, ProtectedResource::Default).await, "the token is for another audience");
    provider.ask(json!({"revoke": token})).await;
    assert!(host.authenticate(token, preset, LOCAL).await.is_ok(), "it is checked once a minute");
    advance(Duration::from_secs(60)).await;
    assert_eq!(refusal(&host, token, preset).await, "unknown token");
}

#[tokio::test]
async fn the_provider_alone_does_not_decide() {
    let Some(mut provider) = Provider::start().await else { return };
    let tokens = provider.sign_in("/mcp", "tools.read").await;
    let token = text(&tokens, "access_token");
    let resource = ProtectedResource::Default;
    let other = provider.host(|issuer| {
        issuer.algorithms = vec![SigningAlgorithm::parse("EdDSA").expect("an algorithm")];
    });
    let reason = refusal(&other, token, resource).await;
    assert_eq!(reason, "the token is signed with an algorithm that is not allowed");
    let scopes = provider.host(|issuer| {
        issuer.scopes.remove("tools.read");
    });
    assert_eq!(
        scopes.authenticate(token, resource, LOCAL).await.map(drop),
        Err(AuthRefusal::InsufficientScope(vec!["tools.write".into()]))
    );
    // Tokens work for five minutes, and clocks may differ by one.
    assert!(provider.host(|_| {}).authenticate(token, resource, LOCAL).await.is_ok());
    let clock = FakeClock::at_system_time();
    clock.advance(Duration::from_secs(360));
    let late = provider.host_at(clock, |_| {});
    assert_eq!(refusal(&late, token, resource).await, "the token has expired");
}
