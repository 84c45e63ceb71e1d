//! What tests of a running host need: other versions of a gate, and waiting to be told of a change.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Client, Http, Place};

/// The component with a custom section more: it behaves as before, and its digest is another one.
pub(crate) fn variant(component: &[u8], number: u8) -> Vec<u8> {
    // Section 0, seven bytes long, a name of four bytes and two bytes of content.
    let section = [0, 7, 4, b't', b'e', b's', b't', number, 0];
    [component, &section].concat()
}

/// Puts the bytes there in one step, as build tools do.
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path)).expect("put a file");
}

impl Place {
    /// Bytes of a built gate.
    pub(crate) fn gate_bytes(&self, name: &str) -> Vec<u8> {
        let known = Place::with("", &[name]);
        fs::read(known.path("gates").join(format!("{name}.wasm"))).expect("a built gate")
    }

    /// Puts bytes in the place of a gate.
    pub(crate) fn replace_gate(&self, name: &str, bytes: &[u8]) {
        put(&self.path("gates").join(format!("{name}.wasm")), bytes);
    }
}

impl Client {
    /// Waits until the host has said `count` times that the tools changed.
    pub(crate) fn told(&mut self, count: usize) {
        while self.times_told() < count {
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

    /// Lists the tools until they are as wanted: at first, and whenever the host says that they changed.
    pub(crate) fn wait_for_tools(&mut self, limit: Duration, wanted: impl Fn(&[String]) -> bool) {
        let end = Instant::now() + limit;
        loop {
            let told = self.times_told();
            let tools = self.tools();
            if wanted(&tools) {
                return;
            }
            while self.times_told() == told {
                match self.next_message_until(end) {
                    Some(message) => self.keep(message),
                    None => panic!("after {limit:?} the tools are {tools:?}; the log:\n{}", self.log()),
                }
            }
        }
    }

    /// Waits for the host to end though its standard input stays open.
    pub(crate) fn ended(mut self) -> std::process::ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for the host") {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "the host goes on; its log:\n{}", self.log());
            std::thread::yield_now();
        }
    }

    /// How often the host has said so as far as its messages were read.
    pub(crate) fn times_told(&self) -> usize {
        let changed = |m: &&Value| m["method"] == "notifications/tools/list_changed";
        self.notifications.iter().filter(changed).count()
    }
}

/// An event stream of a host over HTTP.
pub(crate) struct Events(Receiver<Value>);

impl Events {
    /// The next message of the server.
    pub(crate) fn next(&self) -> Value {
        self.0.recv_timeout(Duration::from_secs(60)).expect("an event")
    }
}

impl Http {
    /// Follows a response that does not end.
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

    /// Opens the stream on which a session hears of changes.
    pub(crate) fn events(&self, path: &str, session: &str) -> Events {
        let request = ureq::get(format!("{}{path}", self.base)).header("accept", "text/event-stream");
        Self::follow(request.header("mcp-session-id", session).call().expect("an event stream"))
    }
}
