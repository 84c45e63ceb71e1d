//! Five hundred reloads under load: no lost calls, no needless notifications, and stable memory.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use super::running_host;
use crate::support::variant;

const RELOADS: usize = 500;
const EVERY: Duration = Duration::from_millis(20);
const IN_FLIGHT: usize = 8;

#[test]
fn reloads_under_load_lose_nothing_and_leave_nothing() {
    let (place, mut client) = running_host();
    let echo = place.gate_bytes("echo");
    let versions = [variant(&echo, 1), variant(&echo, 2)];
    let (mut reloads, mut calls, mut early) = (0, 0_u64, 0);
    let mut flying: Vec<u64> = Vec::new();
    let mut last = Instant::now();
    place.replace_gate("echo", &versions[0]);
    while reloads < RELOADS {
        while flying.len() < IN_FLIGHT {
            flying.push(client.ask("tools/call", json!({"name": "echo", "arguments": {"text": "on"}})));
        }
        let answer = client.answer(flying.remove(0));
        assert_eq!(answer["result"]["content"][0]["text"], "on", "{answer}");
        calls += 1;
        if last.elapsed() >= EVERY {
            last = Instant::now();
            if client.log().matches("was reloaded").count() > reloads {
                reloads += 1;
                place.replace_gate("echo", &versions[reloads % 2]);
            }
            if reloads == RELOADS / 10 && early == 0 {
                early = resident(client.pid());
            }
        }
    }
    for id in flying {
        assert_eq!(client.answer(id)["result"]["isError"], false);
    }
    let late = resident(client.pid());
    assert_eq!(client.list_changes(), 0, "the list never changed");
    eprintln!("{calls} calls over {reloads} reloads; resident {early} KiB after 50, {late} KiB at the end");
    assert!(late < early + 16 * 1024, "resident memory went from {early} to {late} KiB");
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}
