//! Servers with empty caches, started alone and behind Gatehouse, four at a time.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Host, LIMIT};
use crate::support::{Client, Ran};

/// A client configuration whose servers are started instead, all of them.
const ALL_SERVERS: &str = "GATEHOUSE_TEST_CLAUDE_FILE";

/// Servers that CI starts.
const SOME_SERVERS: [&str; 6] = ["everything", "memory", "thinking", "time", "fetch", "calculator"];

const AT_A_TIME: usize = 4;

/// Longest that Gatehouse may take, as a multiple of the time of the servers alone.
const MAX_RATIO: f64 = 1.5;

/// Starts the servers alone, and returns those that list tools.
fn started_alone(host: &Host, servers: &[String]) -> Vec<String> {
    let (left, started) = (Mutex::new(servers.iter()), Mutex::new(Vec::new()));
    let start_next = || {
        while let Some(server) = { left.lock().expect("servers").next() } {
            // A server that does not start panics here, with the reason.
            let list = || {
                let mut client = host.raw(server);
                client.initialize("2025-11-25");
                client.request("tools/list", json!({}))["result"]["tools"]
                    .as_array()
                    .is_some_and(|tools| !tools.is_empty())
            };
            if catch_unwind(AssertUnwindSafe(list)).unwrap_or(false) {
                started.lock().expect("servers").push(server.clone());
            }
        }
    };
    thread::scope(|scope| {
        (0..AT_A_TIME).for_each(|_| drop(scope.spawn(start_next)));
    });
    started.into_inner().expect("servers")
}

/// Imports the servers, and returns the time until all `expected` ones are listed.
fn started_behind(host: &Host, expected: &[String]) -> Duration {
    let import = host.command(&["servers", "import", "--from", "claude-code", "--write"]).output();
    let import = Ran(import.expect("run gatehouse"));
    assert_eq!(import.code(), 0, "{}", import.stderr());
    let text = std::fs::read_to_string(host.place.path("presets.toml")).expect("presets.toml");
    host.place.write("presets.toml", format!("{text}\n[presets.all]\nservers = {}\n", json!(expected)));
    let began = Instant::now();
    let mut client = Client::spawn(host.command(&["serve", "--preset", "all"]));
    client.initialize("2025-11-25");
    client.wait_for_tools(2 * LIMIT, |tools| {
        expected.iter().all(|server| tools.iter().any(|tool| tool.starts_with(&format!("{server}__"))))
    });
    let time = began.elapsed();
    assert_eq!(client.close(), Some(0));
    time
}

/// The times are compared only on demand, because other tests share the machine in CI:
/// `GATEHOUSE_TEST_CLAUDE_FILE=~/.claude.json cargo nextest run real_servers::started --no-capture`.
#[test]
fn servers_that_start_alone_start_behind_gatehouse() {
    let (Some(alone), Some(behind)) = (Host::new(), Host::new()) else { return };
    let all = env::var_os(ALL_SERVERS);
    for host in [&alone, &behind] {
        if let Some(file) = &all {
            host.place.write(".claude.json", std::fs::read_to_string(file).expect("the servers"));
        }
    }
    let config = std::fs::read_to_string(alone.place.path(".claude.json")).expect("the servers");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let servers = config["mcpServers"].as_object().expect("servers").keys().cloned();
    let servers: Vec<String> =
        servers.filter(|server| all.is_some() || SOME_SERVERS.contains(&server.as_str())).collect();
    let began = Instant::now();
    let started = started_alone(&alone, &servers);
    let time_alone = began.elapsed();
    assert!(!started.is_empty(), "no server starts alone");
    let time_behind = started_behind(&behind, &started);
    eprintln!(
        "{} of {} servers: alone {time_alone:?}, behind Gatehouse {time_behind:?}",
        started.len(),
        servers.len()
    );
    if all.is_some() {
        assert!(time_behind <= time_alone.mul_f64(MAX_RATIO), "{time_alone:?} alone, {time_behind:?} behind");
    } else {
        assert_eq!(started.len(), SOME_SERVERS.len(), "{started:?}");
    }
}
