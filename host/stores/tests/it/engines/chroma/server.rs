//! ChromaDB servers for tests. `GATEHOUSE_TEST_CHROMA` is a Python interpreter with the package `chromadb`, which
//! contains the server.

use std::{
    env,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::missing_service;

const PYTHON: &str = "GATEHOUSE_TEST_CHROMA";

/// Python code that runs the server with the remaining arguments.
const RUN: &str =
    "import sys, chromadb_rust_bindings; chromadb_rust_bindings.cli(['chroma', 'run'] + sys.argv[1:])";

const COLLECTIONS: &str = "/api/v2/tenants/default_tenant/databases/default_database/collections";

/// Time limit to start; half a second is usual.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Server {
    port: u16,
    data: Option<TempDir>,
    process: Option<Child>,
}

impl Server {
    /// Starts a server. `None` if the program is missing.
    pub(super) async fn start() -> Option<Self> {
        if env::var_os(PYTHON).is_none() {
            missing_service(PYTHON);
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { port, data: None, process: None };
        server.run_empty().await;
        Some(server)
    }

    /// Returns a handle to the same server that does not stop it.
    pub(super) fn shared(&self) -> Self {
        Self { port: self.port, data: None, process: None }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) async fn run_empty(&mut self) {
        self.data = Some(tempfile::tempdir().unwrap());
        self.run().await;
    }

    pub(super) async fn run(&mut self) {
        assert!(self.process.is_none());
        let mut command = Command::new(env::var_os(PYTHON).unwrap());
        command.args(["-c", RUN, "--host", "127.0.0.1", "--port", &self.port.to_string(), "--path"]);
        command.arg(self.data.as_ref().unwrap().path()).env("ANONYMIZED_TELEMETRY", "False");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().unwrap());
        let end = Instant::now() + PATIENCE;
        while self.ask("GET", "/api/v2/heartbeat", None).await.is_none() {
            assert!(Instant::now() < end, "ChromaDB does not answer");
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    pub(super) async fn count(&self) -> u64 {
        let collection = self.collection().await;
        let count = self.ask("GET", &format!("{COLLECTIONS}/{collection}/count"), None).await;
        count.unwrap().as_u64().unwrap()
    }

    /// Returns the id of the collection, and creates it if needed.
    async fn collection(&self) -> String {
        let body = json!({"name": "mcp_artifacts", "get_or_create": true});
        self.ask("POST", COLLECTIONS, Some(body)).await.unwrap()["id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn fill(&self, dimension: usize) {
        let collection = self.collection().await;
        let body = json!({"ids": ["x"], "embeddings": [vec![0.5; dimension]], "metadatas": [{"x": 1}]});
        self.ask("POST", &format!("{COLLECTIONS}/{collection}/add"), Some(body)).await.unwrap();
    }

    pub(super) async fn remove(&self) {
        self.ask("DELETE", &format!("{COLLECTIONS}/mcp_artifacts"), None).await.unwrap();
    }

    /// Sends a request. `None` if the server is unreachable.
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        let body = body.map_or(String::new(), |body| body.to_string());
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
