//! Helpers for sessions over HTTP: raw requests, events of a stream, and a client that disconnects.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::http::{Http, Response};

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    /// Data as sent; empty for an event that only names the stream.
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("no message: {self:?}"))
    }
}

/// Returns the events of a reply. One that is plain JSON counts as an event without an ID.
pub(crate) fn events(body: &str) -> Vec<Event> {
    if body.starts_with('{') {
        return vec![Event { id: None, data: body.to_owned() }];
    }
    let mut events = Vec::new();
    let mut event = Event::default();
    let mut given = false;
    for line in body.lines().map(str::trim_end) {
        let field = |name: &str| line.strip_prefix(name).map(|value| value.trim_start().to_owned());
        if let Some(id) = field("id:") {
            event.id = Some(id);
        } else if let Some(data) = field("data:") {
            event.data.push_str(&data);
            given = true;
        } else if line.is_empty() {
            events.extend(given.then(|| std::mem::take(&mut event)));
            given = false;
        }
    }
    events
}

/// Returns the reply to a request.
pub(crate) fn reply_to(id: u64, body: &str) -> Value {
    let messages =
        events(body).into_iter().filter(|event| !event.data.is_empty()).map(|event| event.message());
    messages.into_iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("no answer in {body}"))
}

pub(crate) fn message(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

impl Http {
    /// Returns the bytes of a request that closes its connection.
    pub(crate) fn bare(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{more}content-length: {}\r\n\r\n{body}",
            self.address(),
            body.len()
        )
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.say(self.bare(method, path, headers, body))
    }

    /// Opens a session without the `initialized` notification. Returns its id and the events of the answer.
    pub(crate) fn initialize(&self, path: &str, version: &str) -> (String, Vec<Event>) {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let (status, headers, body) = self.post(path, &message(1, "initialize", params), &[]);
        assert_eq!(status, 200, "{body}");
        (headers.get("mcp-session-id").expect("a session").clone(), events(&body))
    }

    /// Posts to a session and disconnects after the first event, which it returns.
    pub(crate) fn break_off(&self, path: &str, session: &str, message: &Value) -> Event {
        let mut stream = self.connect();
        let request = self.bare("POST", path, &[("mcp-session-id", session)], &message.to_string());
        stream.write_all(request.as_bytes()).expect("a request");
        let mut text = String::new();
        for line in BufReader::new(stream).lines() {
            text.push_str(&line.expect("a line"));
            text.push('\n');
            if let Some(event) = events(&text).into_iter().next() {
                return event;
            }
        }
        panic!("no event: {text}")
    }

    /// Returns the events after this one, until the host ends the stream.
    pub(crate) fn resume(&self, path: &str, session: &str, after: &Event) -> Vec<Event> {
        let id = after.id.as_deref().expect("an id");
        let request = ureq::get(format!("{}{path}", self.base)).header("accept", "text/event-stream");
        let request = request.header("mcp-session-id", session).header("last-event-id", id);
        let mut response = request.call().expect("a stream");
        events(&response.body_mut().read_to_string().expect("events"))
    }

    pub(crate) fn killed_and_restarted(self, place: &super::Place, preset: &str) -> Self {
        let address = self.address().to_owned();
        drop(self);
        Self::spawn(place.command(&["serve", "--preset", preset, "--http", &address]))
    }
}
