//! A host over HTTP, an MCP client for it, and raw connections.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::{Value, json};

use super::{host::PATIENCE, place::Place, session::reply_to};

pub(crate) struct Http {
    child: Child,
    /// `http://127.0.0.1:port`
    pub(crate) base: String,
    stderr: Arc<Mutex<String>>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Http {
    pub(crate) fn start(place: &Place, preset: &str, environment: &[(&str, &str)]) -> Self {
        Self::with(place, &["--preset", preset], environment)
    }

    pub(crate) fn with(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = place.command(&[&["serve", "--http", "127.0.0.1:0"], arguments].concat());
        command.envs(environment.iter().copied());
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("start gatehouse");
        let mut pipe = BufReader::new(child.stderr.take().expect("stderr"));
        let mut log = String::new();
        let base = loop {
            let mut line = String::new();
            let read = pipe.read_line(&mut line).expect("read stderr");
            assert!(read > 0, "the host ended: {log}");
            log.push_str(&line);
            if let Some(at) = line.find("http://") {
                let rest = &line[at..];
                break rest[..rest.find("/mcp").expect("/mcp")].to_owned();
            }
        };
        let stderr = Arc::new(Mutex::new(log));
        let kept = Arc::clone(&stderr);
        // Drain the pipe, or the host would lose lines of its log.
        std::thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                let mut kept = kept.lock().expect("stderr");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        Self { child, base, stderr }
    }

    /// `127.0.0.1:port`
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.stderr.lock().expect("stderr").clone()
    }

    pub(crate) fn log_with(&self, needle: &str) -> String {
        let start = Instant::now();
        loop {
            let log = self.log();
            if log.contains(needle) {
                return log;
            }
            assert!(start.elapsed() < PATIENCE, "no '{needle}' in the log:\n{log}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("wait for the host").code()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends bytes on a new connection, and returns the response once the host closes it.
    pub(crate) fn say(&self, text: impl AsRef<[u8]>) -> Response {
        let mut stream = self.connect();
        // The host may close before it has read everything.
        let _ = stream.write_all(text.as_ref());
        read_response(stream)
    }

    pub(crate) fn post(
        &self,
        path: &str,
        message: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, HashMap<String, String>, String) {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        let mut request = agent
            .post(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = request.send(message.to_string());
        let mut response =
            sent.unwrap_or_else(|error| panic!("no answer: {error}; the log:\n{}", self.log()));
        let headers = response.headers().iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
        let headers = headers.collect();
        (response.status().as_u16(), headers, response.body_mut().read_to_string().expect("a body"))
    }

    /// Opens a session of MCP 2025-11-25, and returns its id.
    pub(crate) fn session(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let (status, answered, body) = self.post(path, &message, headers);
        assert_eq!(status, 200, "{body}");
        let session = answered.get("mcp-session-id").expect("a session").clone();
        let mut with = headers.to_vec();
        with.push(("mcp-session-id", &session));
        let (status, ..) =
            self.post(path, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &with);
        assert_eq!(status, 202);
        session
    }

    pub(crate) fn request(&self, path: &str, session: &str, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let (status, _, body) = self.post(path, &message, &[("mcp-session-id", session)]);
        assert_eq!(status, 200, "{body}");
        reply_to(7, &body)
    }
}

/// Reads until the other side closes.
pub(crate) fn read_response(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the host neither answers nor closes");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_lowercase(), body: body.to_owned() }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
