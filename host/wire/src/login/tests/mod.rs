//! Logins at a local authorization server, honest or misbehaving.

mod authority;
mod endpoints;
mod identity;
mod making;
mod renewing;
mod sending;
mod signing_in;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use gatehouse_core::{Fault, lock, ports::Clock};
use gatehouse_net::Url;
use tempfile::TempDir;

use self::authority::{Authority, Misbehavior};
use super::{LoginDialog, LoginEndpoints, LoginId, LoginSettings, LoginState, Logins};

/// 2026-11-23T00:00:00Z in milliseconds.
const START_MS: u64 = 1_795_392_000_000;

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct TestDialog {
    browser: fn(Url),
    confirms: Option<bool>,
    asked: Mutex<Vec<LoginEndpoints>>,
    shown: Mutex<Vec<String>>,
}

impl Default for TestDialog {
    fn default() -> Self {
        Self { browser: browse, confirms: None, asked: Mutex::default(), shown: Mutex::default() }
    }
}

#[async_trait]
impl LoginDialog for TestDialog {
    async fn confirm(&self, endpoints: &LoginEndpoints) -> Option<bool> {
        lock(&self.asked).push(endpoints.clone());
        self.confirms
    }

    fn show(&self, issuer: &Url, address: &Url) {
        lock(&self.shown).push(issuer.to_string());
        let (browser, address) = (self.browser, address.clone());
        std::thread::spawn(move || browser(address));
    }
}

struct Fixture {
    authority: Authority,
    directory: TempDir,
    clock: Arc<TestClock>,
}

impl Fixture {
    fn with(misbehaviors: &[Misbehavior]) -> Self {
        let clock = Arc::new(TestClock(AtomicU64::new(START_MS)));
        Self {
            authority: Authority::start(misbehaviors),
            directory: tempfile::tempdir().expect("a directory"),
            clock,
        }
    }

    fn host(&self) -> Logins {
        Logins::new(self.directory.path().join("logins"), Arc::clone(&self.clock) as _)
    }

    fn url(&self) -> String {
        self.authority.url("/mcp")
    }

    fn target(&self) -> Url {
        Url::parse(&self.url()).expect("a URL")
    }

    fn advance(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    async fn log_in(&self) -> Result<LoginState, Fault> {
        self.log_in_with(&LoginSettings::default(), browse).await
    }

    async fn log_in_with(&self, settings: &LoginSettings, browser: fn(Url)) -> Result<LoginState, Fault> {
        self.log_in_as(settings, &TestDialog { browser, ..TestDialog::default() }).await
    }

    async fn log_in_as(&self, settings: &LoginSettings, dialog: &TestDialog) -> Result<LoginState, Fault> {
        self.host().log_in(&git(), &self.url(), settings, dialog).await
    }

    async fn logged_in(&self) -> Logins {
        self.log_in().await.expect("a login");
        self.host()
    }

    async fn token(&self, host: &Logins) -> Result<Option<String>, Fault> {
        let token = host.bearer(&git(), &self.url(), &self.target()).await?;
        Ok(token.map(|token| token.reveal().to_owned()))
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("logins/git.json")).expect("a login on disk")
    }

    fn files(&self) -> Vec<String> {
        names(&self.directory.path().join("logins"))
    }
}

fn git() -> LoginId {
    LoginId::shared("git")
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn get(url: &Url) -> String {
    let address = (url.host_str().expect("a host"), url.port().expect("a port"));
    let mut stream = TcpStream::connect(address).expect("a listener");
    let target = &url.as_str()[url.origin().ascii_serialization().len()..];
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn agree(url: &Url) -> Url {
    let answer = get(url);
    let target = answer.lines().find_map(|line| line.strip_prefix("location: ")).expect("a redirect");
    Url::parse(target).expect("a URL")
}

fn browse(url: Url) {
    get(&agree(&url));
}
