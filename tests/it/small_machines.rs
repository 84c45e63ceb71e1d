//! Hosts with little address space.

use std::process::Command;

use serde_json::json;

use crate::support::{Client, Place};

fn limited(command: &Command, bytes: u64) -> Command {
    let kib = (bytes >> 10).to_string();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v $0; exec \"$@\"", &kib]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().expect("a folder"));
    shell
}

#[test]
fn little_address_space_serves_with_a_smaller_pool_or_without_one() {
    let place = Place::with("[presets.one]\ngates.echo = {}\ngates.caller = {}\n", &["echo", "caller"]);
    let pool = |instances: u32| format!("the pool has {instances} instances");
    let none = || "gate memory is allocated per call".to_owned();
    for (gib, expected) in [(200, pool(80)), (60, pool(20)), (4, none()), (2, none())] {
        let command = place.command(&["serve", "--preset", "one"]);
        let mut client = Client::spawn(limited(&command, gib << 30));
        client.initialize("2025-11-25");
        let ids: Vec<u64> = (0..40)
            .map(|n| client.ask("tools/call", json!({"name": "echo", "arguments": {"text": n.to_string()}})))
            .collect();
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(client.answer(id)["result"]["content"][0]["text"], n.to_string(), "{gib} GiB");
        }
        let log = client.log();
        assert_eq!(log.matches(&expected).count(), 1, "{gib} GiB: {log}");
        assert!(log.contains(&format!("address space is limited to {gib} GiB (`ulimit -v`)")), "{log}");
        assert_eq!(client.close(), Some(0));
    }
}
