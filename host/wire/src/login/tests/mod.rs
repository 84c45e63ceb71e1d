//! Logins at a local authorization server, honest or misbehaving.

mod authority;
mod endpoints;
mod making;
mod renewing;
mod request;
mod sending;
mod vice;

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
use gatehouse_core::{Fault, lock, ports::clock::Clock};
use gatehouse_net::Url;
use tempfile::TempDir;

use self::{authority::Authority, vice::Vice};
use super::{LoginDialog, LoginEndpoints, LoginSettings, LoginState, Logins};

/// 2026-11-23T00:00:00Z in milliseconds.
const NOON: u64 = 1_795_392_000_000;

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Desk {
    browser: fn(Url),
    confirms: Option<bool>,
    asked: Mutex<Vec<LoginEndpoints>>,
    shown: Mutex<Vec<String>>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { browser: browse, confirms: None, asked: Mutex::default(), shown: Mutex::default() }
    }
}

#[async_trait]
impl LoginDialog for Desk {
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

struct Place {
    authority: Authority,
    folder: TempDir,
    clock: Arc<TestClock>,
}

impl Place {
    fn with(vices: &[Vice]) -> Self {
        let clock = Arc::new(TestClock(AtomicU64::new(NOON)));
        Self { authority: Authority::start(vices), folder: tempfile::tempdir().expect("a folder"), clock }
    }

    fn host(&self) -> Logins {
        Logins::new(self.folder.path().join("logins"), Arc::clone(&self.clock) as _)
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
        self.log_in_as(settings, &Desk { browser, ..Desk::default() }).await
    }

    async fn log_in_as(&self, settings: &LoginSettings, desk: &Desk) -> Result<LoginState, Fault> {
        self.host().log_in("git", &self.url(), settings, desk).await
    }

    async fn logged_in(&self) -> Logins {
        self.log_in().await.expect("a login");
        self.host()
    }

    async fn token(&self, host: &Logins) -> Result<Option<String>, Fault> {
        let token = host.bearer("git", &self.url(), &self.target()).await?;
        Ok(token.map(|token| token.reveal().to_owned()))
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("logins/git.json")).expect("a login on disk")
    }

    fn files(&self) -> Vec<String> {
        names(&self.folder.path().join("logins"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn get(url: &Url) -> String {
    let address = (url.host_str().expect("a host"), url.port().expect("a port"));
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let target = &url.as_str()[url.origin().ascii_serialization().len()..];
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn agree(url: &Url) -> Url {
    let answer = get(url);
    let place = answer.lines().find_map(|line| line.strip_prefix("location: ")).expect("a redirect");
    Url::parse(place).expect("a URL")
}

fn browse(url: Url) {
    get(&agree(&url));
}
