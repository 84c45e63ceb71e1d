//! Helpers for tests of reloads: other versions of a gate, and waiting for notifications.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Client, Http, Place};

/// Adds a custom section to a component, which changes its digest but not its behavior.
pub(crate) fn variant(component: &[u8], number: u8) -> Vec<u8> {
    // Section 0 with seven bytes: the length of the name, four bytes of name and two bytes of content.
    let section = [0, 7, 4, b't', b'e', b's', b't', number, 0];
    [component, &section].concat()
}

pub(crate) fn put(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path)).expect("put a file");
}

impl Place {
    pub(crate) fn gate_bytes(&self, name: &str) -> Vec<u8> {
        let known = Place::with("", &[name]);
        fs::read(known.path("gates").join(format!("{name}.wasm"))).expect("a built gate")
    }

    pub(crate) fn replace_gate(&self, name: &str, bytes: &[u8]) {
        put(&self.path("gates").join(format!("{name}.wasm")), bytes);
    }
}

impl Client {
    /// Waits for the `count`th notification of changed tools.
    pub(crate) fn wait_for_list_changes(&mut self, count: usize) {
        while self.list_changes() < count {
            let message = self.next_message();
            self.keep(message);
        }
    }

    /// Returns the next message that is not about changed lists: servers list their tools when they are ready.
    pub(crate) fn next_question(&mut self) -> Value {
        loop {
            let message = self.next_message();
            let method = message["method"].as_str().unwrap_or_default();
            if !method.ends_with("/list_changed") {
                return message;
            }
        }
    }

    /// Lists the tools until `wanted` accepts them: at first, and after each notification.
    pub(crate) fn wait_for_tools(&mut self, limit: Duration, wanted: impl Fn(&[String]) -> bool) {
        let end = Instant::now() + limit;
        loop {
            let changes = self.list_changes();
            let tools = self.tools();
            if wanted(&tools) {
                return;
            }
            while self.list_changes() == changes {
                match self.next_message_until(end) {
                    Some(message) => self.keep(message),
                    None => panic!("after {limit:?} the tools are {tools:?}; the log:\n{}", self.log()),
                }
            }
        }
    }

    /// Waits for the host to exit while its standard input stays open.
    pub(crate) fn ended(mut self) -> std::process::ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for the host") {
                return status;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the host still runs; its log:\n{}",
                self.log()
            );
            std::thread::yield_now();
        }
    }

    /// Number of notifications of changed tools among the messages read so far.
    pub(crate) fn list_changes(&self) -> usize {
        let changed = |m: &&Value| m["method"] == "notifications/tools/list_changed";
        self.notifications.iter().filter(changed).count()
    }
}

pub(crate) struct Events(Receiver<Value>);

impl Events {
    pub(crate) fn next(&self) -> Value {
        self.0.recv_timeout(Duration::from_secs(60)).expect("an event")
    }
}

impl Http {
    pub(crate) fn follow(response: ureq::http::Response<ureq::Body>) -> Events {
        let (sender, events) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(response.into_body().into_reader()).lines().map_while(Result::ok);
            for data in lines.filter_map(|line| line.strip_prefix("data:").map(str::to_owned)) {
                let Ok(message) = serde_json::from_str(data.trim()) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Events(events)
    }

    pub(crate) fn events(&self, path: &str, session: &str) -> Events {
        let request = ureq::get(format!("{}{path}", self.base)).header("accept", "text/event-stream");
        Self::follow(request.header("mcp-session-id", session).call().expect("an event stream"))
    }
}
