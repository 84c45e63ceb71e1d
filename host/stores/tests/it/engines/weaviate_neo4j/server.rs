//! The Bolt server for tests, ArcadeDB, which `cargo xtask test` installs and starts. Each test has its own database.

use std::{
    env,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::support::missing_service;

/// Variable with the HTTP and Bolt ports, such as `52480,57687`.
const PORTS: &str = "GATEHOUSE_TEST_ARCADEDB";

pub(super) const PASSWORD: &str = "playwithdata";

/// `root:playwithdata` in base 64.
const LOGIN: &str = "cm9vdDpwbGF5d2l0aGRhdGE=";

pub(super) struct Database {
    pub(super) name: String,
    http: SocketAddr,
    pub(super) bolt: SocketAddr,
}

impl Database {
    /// Creates a database. If the server is missing, prints how to get it and returns `None`.
    pub(super) fn fresh() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Ok(ports) = env::var(PORTS) else {
            missing_service(PORTS);
            return None;
        };
        let port = |text: &str| SocketAddr::from(([127, 0, 0, 1], text.trim().parse().expect("a port")));
        let (http, bolt) = ports.split_once(',').expect("two ports");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("wiki{}x{number}", std::process::id());
        let database = Self { name, http: port(http), bolt: port(bolt) };
        database.command("create");
        // ArcadeDB creates a full-text index in SQL only.
        let analyzer = r#"{\"analyzer\":\"org.apache.lucene.analysis.core.WhitespaceAnalyzer\",\"similarity\":\"BM25\"}"#;
        for statement in [
            "CREATE VERTEX TYPE WikiPage",
            "CREATE PROPERTY WikiPage.words STRING",
            &format!("CREATE INDEX ON WikiPage (words) FULL_TEXT METADATA {analyzer}"),
        ] {
            database.run("sql", statement);
        }
        Some(database)
    }

    /// Changes the graph unnoticed by the engine.
    pub(super) fn cypher(&self, statement: &str) {
        self.run("opencypher", statement);
    }

    fn run(&self, language: &str, statement: &str) {
        let body = format!(r#"{{"language":"{language}","command":"{statement}"}}"#);
        self.post(&format!("/api/v1/command/{}", self.name), &body);
    }

    fn command(&self, what: &str) {
        self.post("/api/v1/server", &format!(r#"{{"command":"{what} database {}"}}"#, self.name));
    }

    fn post(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(self.http).expect("ArcadeDB is there");
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {LOGIN}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{body}: {answer}");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.command("drop");
        }
    }
}
