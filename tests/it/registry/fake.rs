//! A fake registry with the answers that a test needs.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::Place;

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const WASM: &str = "application/wasm";

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    /// Headers, with names in lower case.
    pub(super) headers: HashMap<String, String>,
}

pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Declared length of the body. `None` if the end of the connection ends it.
    length: Option<usize>,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), length: Some(body.len()), body }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn declaring(mut self, length: Option<usize>) -> Self {
        self.length = length;
        self
    }
}

pub(super) struct Fake {
    /// `127.0.0.1:port`
    pub(super) address: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Fake {
    /// Starts a registry that answers every request with `answer`, until the process ends.
    pub(super) fn start(answer: impl Fn(&Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                kept.lock().expect("seen").push(request.clone());
                write(stream, answer(&request));
            }
        });
        Self { address, seen }
    }

    pub(super) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("seen").clone()
    }

    pub(super) fn reference(&self) -> String {
        format!("oci://{}/echo:1", self.address)
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.take_while(|line| !line.is_empty());
    let headers = headers.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Request { path, headers: headers.collect() })
}

fn write(mut stream: TcpStream, answer: Answer) {
    let mut head = format!("HTTP/1.1 {} Fake\r\nconnection: close\r\n", answer.status);
    for (name, value) in answer.headers {
        write!(head, "{name}: {value}\r\n").expect("text");
    }
    if let Some(length) = answer.length {
        write!(head, "content-length: {length}\r\n").expect("text");
    }
    // Ignore a client that stopped reading.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(b"\r\n"));
    let _ = stream.write_all(&answer.body);
}

pub(super) fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

pub(super) fn echo() -> Vec<u8> {
    std::fs::read(Place::with("", &["echo"]).path("gates/echo.wasm")).expect("a gate")
}

pub(super) fn layer(kind: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len()})
}

pub(super) fn manifest(layers: &[Value]) -> Value {
    let config =
        json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers})
}

pub(super) fn honest(manifest: &Value, blob: Vec<u8>) -> impl Fn(&Request) -> Answer + Send + 'static {
    let manifest = manifest.to_string();
    move |request| match request.path.contains("/manifests/") {
        true => Answer::new(200, manifest.clone()).header("content-type", MANIFEST),
        false => Answer::new(200, blob.clone()),
    }
}
