//! A host over stdio and its client. Both end with the test.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    place::Place,
    results::{fault_of, text_of},
};

/// Maximum wait for any event; a longer wait fails the test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    early: HashMap<u64, Value>,
    pub(crate) notifications: Vec<Value>,
    next: u64,
    stderr: Arc<Mutex<String>>,
}

impl Client {
    pub(crate) fn start(place: &Place, preset: &str) -> Self {
        let mut client = Self::raw(place, &["serve", "--preset", preset], &[]);
        client.initialize("2025-11-25");
        client
    }

    pub(crate) fn raw(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = place.command(arguments);
        command.envs(environment.iter().copied());
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start gatehouse");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"not protocol": line}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let (kept, pipe) = (Arc::clone(&stderr), BufReader::new(child.stderr.take().expect("stderr")));
        std::thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                let mut kept = kept.lock().expect("stderr");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, early: HashMap::new(), notifications: Vec::new(), next: 1, stderr }
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    pub(crate) fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let answer = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("the host listens");
        stdin.write_all(line.as_ref()).and_then(|()| stdin.write_all(b"\n")).expect("write to the host");
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        if let Some(answer) = self.early.remove(&id) {
            return answer;
        }
        loop {
            let message = self.next_message();
            match message["id"].as_u64() {
                Some(answered) if answered == id => return message,
                _ => self.keep(message),
            }
        }
    }

    pub(crate) fn keep(&mut self, message: Value) {
        match message["id"].as_u64() {
            Some(id) => drop(self.early.insert(id, message)),
            None => self.notifications.push(message),
        }
    }

    pub(crate) fn next_message(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(error) => panic!("no message from the host ({error}); its log:\n{}", self.log()),
        }
    }

    /// Returns the next message of the host. `None` if none arrives before `end`.
    pub(super) fn next_message_until(&mut self, end: Instant) -> Option<Value> {
        self.lines.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        answer.get("result").or_else(|| answer.get("error")).cloned().expect("a result or an error")
    }

    /// Calls a tool that must succeed, and returns its text.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        text_of(&result)
    }

    /// Calls a tool that must fail, and returns its text.
    pub(crate) fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        fault_of(&result);
        text_of(&result)
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
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

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes standard input, and waits for the answer to an earlier request.
    pub(crate) fn leave(mut self, id: u64) -> Value {
        self.stdin.take();
        self.answer(id)
    }

    /// Closes standard input, waits for the host to exit, and returns the exit code.
    pub(crate) fn close(mut self) -> Option<i32> {
        self.stdin.take();
        self.child.wait().expect("wait for the host").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
