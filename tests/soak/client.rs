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
    session: String,
    next: u64,
}

impl Client {
    pub(super) fn open(address: &str, preset: &str) -> Self {
        let mut client = Self {
            address: address.to_owned(),
            path: format!("/mcp/p/{preset}"),
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
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
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
        let body = message.to_string();
        let mut head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             connection: close\r\ncontent-length: {}\r\n",
            self.path,
            self.address,
            body.len()
        );
        if !self.session.is_empty() {
            head.push_str(&format!("mcp-session-id: {}\r\n", self.session));
        }
        let exchange = || {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        exchange().map_err(|error| error.to_string())
    }
}
