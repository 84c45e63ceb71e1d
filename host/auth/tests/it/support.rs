//! A clock, a key store in memory, signing keys, and an issuer that answers over HTTP.
//!
//! Longer than 300 lines because the issuer needs all of these.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use gatehouse_auth::{AuthSettings, HostAuthenticator, IssuerSettings, NewApiKey, SigningAlgorithm};
use gatehouse_core::{
    Caller, Fault,
    ports::{
        Authenticator as _, Clock, KeyStore,
        auth::{AuthRefusal, ProtectedResource},
        keys::{KeyRecord, KeySecret},
    },
};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// Address of most clients.
pub(crate) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) const BASE: &str = "https://tools.example";

/// Noon of a day, in milliseconds.
pub(crate) const NOON: u64 = 1_767_960_000_000;

pub(crate) struct FakeClock(AtomicU64);

impl FakeClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(NOON)))
    }

    /// Starts at the time of the system, for tokens that another program issues.
    pub(crate) fn at_system_time() -> Arc<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
        Arc::new(Self(AtomicU64::new(now.as_millis() as u64)))
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Moves the timer of the runtime. Requests need a running timer, so it is paused only for that moment.
pub(crate) async fn advance(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[derive(Default)]
pub(crate) struct MemoryKeys {
    pub(crate) keys: Mutex<BTreeMap<String, KeyRecord>>,
    pub(crate) version: AtomicU64,
    pub(crate) questions: AtomicU64,
    pub(crate) uses: Mutex<Vec<(String, u64)>>,
    pub(crate) broken: Mutex<bool>,
}

impl MemoryKeys {
    /// Adds a key and returns its text.
    pub(crate) fn create(&self, name: &str, change: impl FnOnce(&mut KeyRecord)) -> String {
        let new = NewApiKey::generate(NOON).expect("a key");
        let mut key = KeyRecord {
            name: name.into(),
            groups: Vec::new(),
            presets: None,
            created_at: NOON,
            expires_at: None,
            secrets: vec![new.secret],
        };
        change(&mut key);
        self.keys.lock().expect("keys").insert(name.into(), key);
        self.version.fetch_add(1, Ordering::Relaxed);
        new.token
    }

    pub(crate) fn remove(&self, name: &str) {
        self.keys.lock().expect("keys").remove(name);
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl KeyStore for MemoryKeys {
    async fn version(&self) -> Result<u64, Fault> {
        if *self.broken.lock().expect("a flag") {
            return Err(Fault::unavailable("the disk is gone"));
        }
        self.questions.fetch_add(1, Ordering::Relaxed);
        Ok(self.version.load(Ordering::Relaxed))
    }

    async fn list(&self) -> Result<Vec<KeyRecord>, Fault> {
        Ok(self.keys.lock().expect("keys").values().cloned().collect())
    }

    async fn add(&self, _: KeyRecord) -> Result<(), Fault> {
        unreachable!("commands add keys")
    }

    async fn rotate(&self, _: &str, _: KeySecret, _: u64, _: Option<u64>) -> Result<(), Fault> {
        unreachable!("commands rotate keys")
    }

    async fn revoke(&self, _: &str) -> Result<(), Fault> {
        unreachable!("commands revoke keys")
    }

    async fn record_use(&self, id: &str, at: u64) -> Result<(), Fault> {
        self.uses.lock().expect("uses").push((id.into(), at));
        Ok(())
    }
}

/// A private key with its algorithm.
pub(crate) enum Signer {
    Rsa(RsaKeyPair, &'static str),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    pub(crate) fn rsa(number: u8, algorithm: &'static str) -> Self {
        let pem = if number == 1 { include_str!("rsa-1.pem") } else { include_str!("rsa-2.pem") };
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(body).expect("base64");
        Self::Rsa(RsaKeyPair::from_pkcs8(&der).expect("an RSA key"), algorithm)
    }

    pub(crate) fn ec() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &signature::ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        Self::Ec(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key"))
    }

    pub(crate) fn ed() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self::Ed(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"))
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_, algorithm) => algorithm,
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa(key, _) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "kid": kid, "use": "sig", "n": text(&n), "e": text(&e)})
            }
            Self::Ec(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": text(&point[1..33]), "y": text(&point[33..])})
            }
            Self::Ed(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": text(key.public_key().as_ref())})
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key, algorithm) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding: &dyn signature::RsaEncoding = match *algorithm {
                    "PS256" => &signature::RSA_PSS_SHA256,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                key.sign(padding, &random, message, &mut signature).expect("signed");
                signature
            }
            Self::Ec(key) => key.sign(&random, message).expect("signed").as_ref().to_vec(),
            Self::Ed(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// Signs a token with these header fields in addition to `alg`, which they may replace.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let mut fields = json!({"alg": self.algorithm()});
        merge(&mut fields, header);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&fields), part(claims));
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(self.sign(message.as_bytes())))
    }
}

/// Sets the fields of `changes`. Null removes a field.
pub(crate) fn merge(value: &mut Value, changes: &Value) {
    for (name, change) in changes.as_object().expect("an object") {
        let fields = value.as_object_mut().expect("an object");
        if change.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), change.clone());
        }
    }
}

/// Answers of the issuer, which tests change.
pub(crate) struct IssuerState {
    pub(crate) metadata: Value,
    pub(crate) jwks: Value,
    pub(crate) introspection: Value,
    /// Status of every answer.
    pub(crate) status: u16,
    /// Requests: path, authorization and body.
    pub(crate) seen: Vec<(String, String, String)>,
}

/// An issuer on loopback, with one key, and an authenticator that trusts it under the name `idp`.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<IssuerState>>,
    pub(crate) signer: Signer,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) host: HostAuthenticator,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        Self::start_with(Signer::ec(), |_| {}).await
    }

    pub(crate) async fn start_with(signer: Signer, change: impl FnOnce(&mut IssuerSettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/jwks")});
        let state = Arc::new(Mutex::new(IssuerState {
            metadata,
            jwks: json!({"keys": [signer.jwk("one")]}),
            introspection: json!({"active": false}),
            status: 200,
            seen: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move { answer(stream, &shared).await });
            }
        });
        let mut issuer = IssuerSettings {
            name: "idp".into(),
            issuer: url.clone(),
            audience: None,
            user_claim: "sub".into(),
            groups_claim: "groups".into(),
            algorithms: SigningAlgorithm::DEFAULTS.to_vec(),
            scopes: BTreeMap::new(),
            introspection: None,
        };
        change(&mut issuer);
        let settings = AuthSettings { token: false, base_url: Some(BASE.into()), issuers: vec![issuer] };
        let clock = FakeClock::new();
        let host =
            HostAuthenticator::new(&settings, Arc::new(MemoryKeys::default()), Arc::clone(&clock) as _);
        Self { url, state, signer, clock, host }
    }

    /// Returns the claims of a good token, with changes.
    pub(crate) fn claims(&self, changes: Value) -> Value {
        let now = NOON / 1_000;
        let mut claims = json!({
            "iss": self.url,
            "sub": "ada",
            "aud": format!("{BASE}/mcp"),
            "exp": now + 3_600,
            "iat": now,
            "client_id": "agent",
            "jti": "1",
        });
        merge(&mut claims, &changes);
        claims
    }

    /// Signs a good token, with changes.
    pub(crate) fn token(&self, header: Value, claims: Value) -> String {
        let mut fields = json!({"typ": "at+jwt", "kid": "one"});
        merge(&mut fields, &header);
        self.signer.token(&fields, &self.claims(claims))
    }

    pub(crate) async fn verify(&self, token: &str) -> Result<Arc<Caller>, AuthRefusal> {
        self.verify_from(token, LOCAL).await
    }

    pub(crate) async fn verify_from(&self, token: &str, client: IpAddr) -> Result<Arc<Caller>, AuthRefusal> {
        self.host.authenticate(token, ProtectedResource::Default, client).await
    }

    /// Returns the reason that a token is refused.
    pub(crate) async fn refusal(&self, token: &str) -> String {
        match self.verify(token).await {
            Err(AuthRefusal::Invalid(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut IssuerState)) {
        change(&mut self.state.lock().expect("a state"));
    }

    /// Returns the number of requests for a path.
    pub(crate) fn requests(&self, path: &str) -> usize {
        self.state.lock().expect("a state").seen.iter().filter(|(seen, ..)| seen == path).count()
    }
}

async fn answer(mut stream: TcpStream, state: &Mutex<IssuerState>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let (status, reply) = {
        let mut state = state.lock().expect("a state");
        let body = String::from_utf8_lossy(&body).into_owned();
        state.seen.push((path.clone(), header("authorization"), body));
        match path.as_str() {
            "/.well-known/oauth-authorization-server" => (state.status, state.metadata.clone()),
            "/jwks" => (state.status, state.jwks.clone()),
            "/introspect" => (state.status, state.introspection.clone()),
            _ => (404, json!({})),
        }
    };
    let reply = reply.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", reply.len());
    stream.write_all(format!("{head}{reply}").as_bytes()).await.ok()
}
