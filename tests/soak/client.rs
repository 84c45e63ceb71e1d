//! A minimal HTTP client with one connection per request.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

/// Timeout of a read; some hostile calls never end by themselves.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Client {
    address: String,
    path: String,
    token: String,
    session: String,
    next: u64,
}

impl Client {
    pub(super) fn open(address: &str, token: &str, preset: &str) -> Self {
        let mut client = Self {
            address: address.to_owned(),
            path: format!("/mcp/p/{preset}"),
            token: token.to_owned(),
            session: String::new(),
            next: 1,
        };
        let info = json!({"name": "soak", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let answer =
            client.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        let answer = answer.expect("a session");
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        client.session = session.unwrap_or_else(|| panic!("no session: {answer}")).to_owned();
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("a session");
        client
    }

    /// Calls a tool and returns its result.
    ///
    /// # Errors
    /// The message received instead of a result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Reads a resource.
    pub(super) fn read(&mut self, uri: &str) -> Result<Value, String> {
        self.request("resources/read", json!({"uri": uri}))
    }

    /// Calls a tool with a token for progress, and reads only the beginning of the answer.
    pub(super) fn call_and_leave(&mut self, tool: &str, arguments: &Value) {
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": self.next}});
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        let Ok(mut stream) = self.send("POST", &request.to_string()) else { return };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = stream.read(&mut [0; 512]);
        std::thread::park_timeout(Duration::from_secs(1));
    }

    /// Opens a stream of changes, which stays open until it is dropped.
    pub(super) fn listen(&self) -> Option<TcpStream> {
        self.send("GET", "").ok()
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.post(&request)?;
        let messages = answer
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok());
        let mut own = messages.filter(|message: &Value| message["id"] == self.next);
        let message = own.next().ok_or_else(|| format!("no answer in {answer:.300}"))?;
        let result = &message["result"];
        if result["isError"] == true || message["error"].is_object() {
            Err(message.to_string())
        } else {
            Ok(result.clone())
        }
    }

    fn post(&self, message: &Value) -> Result<String, String> {
        let exchange = || {
            let mut stream = self.send("POST", &message.to_string())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        exchange().map_err(|error| error.to_string())
    }

    fn send(&self, method: &str, body: &str) -> std::io::Result<TcpStream> {
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.path,
            self.address,
            self.token,
            body.len()
        );
        if !self.session.is_empty() {
            head.push_str(&format!("mcp-session-id: {}\r\n", self.session));
        }
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
        Ok(stream)
    }
}
