//! A client of any protocol version, over stdio or HTTP.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
};

use serde_json::{Value, json};

use super::{NEW, Transport};
use crate::support::{Client, Http, Place, host::PATIENCE};

enum Link {
    Stdio(Client),
    Http(HttpLink),
}

struct HttpLink {
    host: Http,
    version: &'static str,
    session: Option<String>,
    sender: Sender<Value>,
    messages: Receiver<Value>,
    /// Connections of requests, by the request's id.
    connections: HashMap<u64, TcpStream>,
}

pub(super) struct MatrixClient {
    version: &'static str,
    link: Link,
    next: u64,
    /// Messages that nobody has asked for yet.
    kept: Vec<Value>,
}

/// Returns everything that a client of this version can declare.
fn capabilities(version: &str) -> Value {
    match version {
        "2024-11-05" | "2025-03-26" => json!({"sampling": {}}),
        "2025-06-18" => json!({"sampling": {}, "elicitation": {}}),
        _ => json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}}),
    }
}

impl MatrixClient {
    pub(super) fn start(place: &Place, version: &'static str, transport: Transport) -> Self {
        let link = match transport {
            Transport::Stdio => {
                let mut client = Client::raw(place, &["serve", "--preset", "all"], &[]);
                if version != NEW {
                    let answer = client.initialize_with(version, capabilities(version));
                    assert_eq!(answer["protocolVersion"], version);
                }
                Link::Stdio(client)
            }
            Transport::Http => {
                let (sender, messages) = channel();
                let host = Http::start(place, "all", &[]);
                let mut link =
                    HttpLink { host, version, session: None, sender, messages, connections: HashMap::new() };
                if version != NEW {
                    link.open_session();
                }
                Link::Http(link)
            }
        };
        // Ids of requests start high, so that they differ from that of `initialize`.
        Self { version, link, next: 100, kept: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        match &mut self.link {
            Link::Stdio(client) => client.send(message),
            Link::Http(link) => link.send(message),
        }
    }

    fn next_message(&mut self) -> Value {
        let kept = &self.kept;
        match &mut self.link {
            Link::Stdio(client) => client.next_message(),
            Link::Http(link) => link.messages.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                panic!("no message from the host ({error}) after {kept:?}; its log:\n{}", link.host.log())
            }),
        }
    }

    pub(super) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        if self.version == NEW {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = NEW.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities(NEW);
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the message that fits: one that arrived before, or the next one.
    fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.kept.iter().position(&fits) {
            return self.kept.remove(place);
        }
        loop {
            let message = self.next_message();
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    pub(super) fn notification(&mut self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method)["params"].clone()
    }

    /// Waits until the host reports a change of a resource.
    pub(super) fn wait_for_update(&mut self, uri: &str) {
        self.wait_for(|message| {
            message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
        });
    }

    /// Returns the notifications of this kind that have arrived.
    pub(super) fn notifications(&self, method: &str) -> Vec<&Value> {
        self.kept.iter().filter(|message| message["method"] == method).map(|one| &one["params"]).collect()
    }

    /// Returns the result or the error of a request without questions.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.wait_for(|message| message["id"] == id && message["method"].is_null());
        answer.get("result").or_else(|| answer.get("error")).cloned().unwrap_or_default()
    }

    pub(super) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}))["tools"].clone();
        let tools = listed.as_array().expect("tools").iter();
        tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Calls a tool, and answers each question. Returns the questions, and the result or error.
    pub(super) fn call(&mut self, params: &Value) -> (Vec<Value>, Value) {
        let mut questions = Vec::new();
        let mut params = params.clone();
        loop {
            let id = self.ask("tools/call", params.clone());
            let answer = loop {
                let message = self.wait_for(|message| !message["id"].is_null());
                if message["method"].is_null() {
                    break message;
                }
                let result = answer_to(&message);
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                questions.push(message);
            };
            assert_eq!(answer["id"], id, "{answer}");
            let result = &answer["result"];
            if result["resultType"] != "input_required" {
                return (questions, answer.get("result").unwrap_or(&answer["error"]).clone());
            }
            let asked = result["inputRequests"].as_object().expect("questions");
            let answers = asked.iter().map(|(name, question)| (name.clone(), answer_to(question)));
            params["inputResponses"] = answers.collect::<serde_json::Map<_, _>>().into();
            params["requestState"] = result["requestState"].clone();
            questions.extend(asked.values().cloned());
        }
    }

    /// Starts to receive notifications about lists and this resource.
    pub(super) fn listen(&mut self, uri: &str) {
        if self.version == NEW {
            let wanted = json!({"toolsListChanged": true, "promptsListChanged": true,
                "resourcesListChanged": true, "resourceSubscriptions": [uri]});
            self.ask("subscriptions/listen", json!({"notifications": wanted}));
            self.notification("notifications/subscriptions/acknowledged");
            return;
        }
        if let Link::Http(link) = &self.link {
            link.open_stream();
        }
        assert_eq!(self.request("resources/subscribe", json!({"uri": uri})), json!({}));
    }

    pub(super) fn cancel(&mut self, id: u64) {
        match &mut self.link {
            Link::Http(link) if self.version == NEW => {
                let connection = link.connections.remove(&id).expect("a request");
                connection.shutdown(Shutdown::Both).expect("an open connection");
            }
            _ => self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id}})),
        }
    }

    /// Ends its session, if it has one, and opens the next one.
    pub(super) fn replace_session(&mut self) {
        let Link::Http(link) = &mut self.link else { return };
        let Some(session) = link.session.take() else { return };
        let headers = [("mcp-session-id", session.as_str())];
        assert_eq!(link.host.send("DELETE", "/mcp", &headers, "").status, 204);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        assert_eq!(link.host.post("/mcp", &list, &headers).0, 404, "the session has ended");
        link.open_session();
    }

    pub(super) fn log(&self) -> String {
        match &self.link {
            Link::Stdio(client) => client.log(),
            Link::Http(link) => link.host.log(),
        }
    }
}

/// Returns the answer of a user who agrees, or of a model.
fn answer_to(question: &Value) -> Value {
    match (question["method"].as_str(), question["params"]["mode"].as_str()) {
        (Some("elicitation/create"), Some("url")) => json!({"action": "accept"}),
        (Some("elicitation/create"), _) => json!({"action": "accept", "content": {"name": "Ada"}}),
        _ => json!({"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "Seven."}}),
    }
}

impl HttpLink {
    fn open_session(&mut self) {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": self.version, "capabilities": capabilities(self.version),
            "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let (status, headers, body) = self.host.post("/mcp", &message, &[]);
        assert!(status == 200 && body.contains(self.version), "{body}");
        let session = headers.get("mcp-session-id").expect("a session").clone();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.host.post("/mcp", &ready, &[("mcp-session-id", &session)]).0, 202);
        self.session = Some(session);
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = Vec::new();
        if self.version >= "2025-06-18" {
            headers.push(("mcp-protocol-version", self.version));
        }
        headers.extend(self.session.as_deref().map(|session| ("mcp-session-id", session)));
        headers
    }

    fn send(&mut self, message: &Value) {
        let mut headers = self.headers();
        let params = &message["params"];
        if self.version == NEW {
            headers.extend(message["method"].as_str().map(|method| ("mcp-method", method)));
            headers.extend(params["name"].as_str().or(params["uri"].as_str()).map(|name| ("mcp-name", name)));
        }
        let request = self.host.bare("POST", "/mcp", &headers, &message.to_string());
        let stream = self.receive(&request);
        if let (Some(id), true) = (message["id"].as_u64(), message["method"].is_string()) {
            self.connections.insert(id, stream);
        }
    }

    fn open_stream(&self) {
        self.receive(&self.host.bare("GET", "/mcp", &self.headers(), ""));
    }

    /// Sends a request, waits for the head of its answer if that is a stream, and passes on its messages.
    fn receive(&self, request: &str) -> TcpStream {
        let mut stream = self.host.connect();
        stream.write_all(request.as_bytes()).expect("a request");
        let lines = BufReader::new(stream.try_clone().expect("a stream"));
        let sender = self.sender.clone();
        let (head_sender, head) = channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if line.is_empty() {
                    let _ = head_sender.send(());
                }
                let message = line.strip_prefix("data:").unwrap_or(&line).trim();
                if message.starts_with('{') {
                    let _ = sender.send(serde_json::from_str(message).expect("a message"));
                }
            }
        });
        if request.starts_with("GET") {
            head.recv_timeout(PATIENCE).expect("a stream");
        }
        stream
    }
}
