//! Each feature of the matrix, used by one client with the servers of all versions that have it.

use std::{fs, time::Instant};

use serde_json::{Value, json};

use super::Pair;
use crate::support::host::PATIENCE;

pub(super) fn call(pair: &mut Pair) {
    pair.each(|pair, server| pair.echoes(server));
}

pub(super) fn progress(pair: &mut Pair) {
    pair.each(|pair, server| {
        let token = format!("token of {server}");
        let params = json!({"name": pair.tool(server, "progress"), "arguments": {},
            "_meta": {"progressToken": token}});
        let (_, result) = pair.client.call(&params);
        assert_eq!(result["content"][0]["text"], "done", "{server}: {result}");
        let notifications = pair.client.notifications("notifications/progress");
        let of_server = notifications.iter().filter(|one| one["progressToken"] == token);
        let messages: Vec<_> =
            of_server.map(|one| (one["progress"].as_f64(), one["total"].as_f64())).collect();
        assert_eq!(messages, [(Some(1.0), Some(4.0)), (Some(2.0), Some(4.0))], "{server}");
    });
}

pub(super) fn cancel(pair: &mut Pair) {
    pair.each(|pair, server| {
        let id = pair.client.ask("tools/call", json!({"name": pair.tool(server, "never"), "arguments": {}}));
        pair.wait_for_record(server, |count| count("tools/call never") > 0);
        pair.client.cancel(id);
        pair.wait_for_record(server, |count| count("notifications/cancelled") + count("closed") > 0);
    });
}

pub(super) fn form(pair: &mut Pair) {
    pair.asks("ask", |question, result| {
        assert!(question["message"].to_string().contains("Who are you?"), "{question}");
        assert!(result.contains("Ada"), "{result}");
    });
}

pub(super) fn url_form(pair: &mut Pair) {
    pair.asks("link", |question, result| {
        assert_eq!(question["url"], "https://example.com/login", "{question}");
        assert!(result.contains("accept"), "{result}");
    });
}

pub(super) fn sampling(pair: &mut Pair) {
    pair.asks("model", |question, result| {
        assert_eq!(question["messages"][0]["content"]["text"], "How many?", "{question}");
        assert!(result.contains("Seven."), "{result}");
    });
}

pub(super) fn list_changed(pair: &mut Pair) {
    changes(pair, |pair, server| {
        for list in ["tools", "resources", "prompts"] {
            pair.client.notification(&format!("notifications/{list}/list_changed"));
        }
        let grown = pair.tool(server, "grown");
        // The server's own notification may arrive before the host has listed the server again.
        while !pair.client.tools().contains(&grown) {
            pair.client.notification("notifications/tools/list_changed");
        }
    });
}

pub(super) fn resource_update(pair: &mut Pair) {
    changes(pair, |pair, server| {
        pair.client.wait_for_update(&format!("gatehouse://server/{server}/memo://1"));
    });
}

fn changes(pair: &mut Pair, check: fn(&mut Pair, &str)) {
    pair.each(|pair, server| {
        // The first call waits until the server is connected.
        pair.echoes(server);
        pair.client.listen(&format!("gatehouse://server/{server}/memo://1"));
        pair.wait_for_subscription(server);
        pair.change(server);
        check(pair, server);
    });
}

pub(super) fn session_expiry(pair: &mut Pair) {
    pair.each(|pair, server| {
        pair.echoes(server);
        let uri = format!("gatehouse://server/{server}/memo://1");
        pair.client.listen(&uri);
        pair.wait_for_subscription(server);
        pair.listening(server).control("/end-sessions");
        // The subscription goes on in the next session.
        pair.change(server);
        pair.client.wait_for_update(&uri);
        pair.client.replace_session();
        pair.echoes(server);
    });
}

pub(super) fn server_restart(pair: &mut Pair) {
    pair.each(|pair, server| {
        pair.echoes(server);
        pair.restart(server);
        pair.echoes(server);
    });
}

pub(super) fn token_refresh(pair: &mut Pair) {
    pair.each(|pair, server| {
        pair.echoes(server);
        pair.listening(server).control("/end-tokens");
        pair.echoes(server);
    });
}

pub(super) fn refusal(pair: &mut Pair) {
    pair.each(|pair, server| {
        pair.echoes(server);
        let login = format!("gatehouse servers login {server}");
        for (refusal, reason) in [("/refuse-403", "files:write"), ("/refuse-401", login.as_str())] {
            pair.listening(server).control(refusal);
            let params = json!({"name": pair.tool(server, "echo"), "arguments": {"text": "x"}});
            let (_, result) = pair.client.call(&params);
            let text = result.to_string();
            assert!(text.contains(reason) && text.contains(&login), "{server} {refusal}: {result}");
        }
    });
}

impl Pair {
    /// Does this with each server that has the feature.
    fn each(&mut self, check: impl Fn(&mut Self, &str)) {
        for server in self.servers.clone() {
            check(self, &server);
        }
    }

    fn tool(&self, server: &str, tool: &str) -> String {
        format!("{server}__{tool}")
    }

    fn echoes(&mut self, server: &str) {
        let params = json!({"name": self.tool(server, "echo"), "arguments": {"text": server}});
        let (_, result) = self.client.call(&params);
        assert_eq!(result["content"][0]["text"], server, "{result}; the log:\n{}", self.client.log());
    }

    fn change(&mut self, server: &str) {
        let (_, result) = self.client.call(&json!({"name": self.tool(server, "change"), "arguments": {}}));
        assert_eq!(result["content"][0]["text"], "changed", "{server}: {result}");
    }

    /// Calls a tool that asks. A client without the feature gets the reason instead.
    fn asks(&mut self, tool: &str, check: impl Fn(&Value, &str)) {
        self.each(|pair, server| {
            let (questions, result) =
                pair.client.call(&json!({"name": pair.tool(server, tool), "arguments": {}}));
            if pair.client_has_it {
                assert_eq!(questions.len(), 1, "{server}: {result}");
                check(&questions[0]["params"], &result.to_string());
            } else {
                assert_eq!(questions, [] as [Value; 0], "{server}");
                assert!(result.to_string().contains("the client 'test' cannot"), "{server}: {result}");
            }
        });
    }

    /// Waits until the server has the subscription: the acknowledgement to a client since 2026-07-28 comes earlier. Servers
    /// of that version have one subscription for lists, too.
    fn wait_for_subscription(&self, server: &str) {
        self.wait_for_record(server, |count| count("resources/subscribe") >= 1 || count("subscribed") >= 2);
    }

    /// Waits until the record of the server fits; `count` returns how often a line is in it.
    fn wait_for_record(&self, server: &str, fits: impl Fn(&dyn Fn(&str) -> usize) -> bool) {
        let start = Instant::now();
        loop {
            let record = fs::read_to_string(self.place.path(server)).unwrap_or_default();
            if fits(&|line| record.lines().filter(|one| *one == line).count()) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{server}: {record}");
            std::thread::yield_now();
        }
    }

    fn restart(&mut self, server: &str) {
        let Some(place) = self.listening.iter().position(|(name, _)| name == server) else {
            // A server over pipes ends in the middle of a call, which is not repeated.
            let (_, result) = self.client.call(&json!({"name": self.tool(server, "die"), "arguments": {}}));
            assert!(result.to_string().contains(server), "{result}");
            return;
        };
        let options = super::options(&self.place, server);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        self.listening[place].1.restart("http", &options);
    }
}
