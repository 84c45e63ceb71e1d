//! Isolation per request: a server that is started for one request and ends with it.

use std::process::Command;

use serde_json::{Value, json};

use super::{child, recorded};
use crate::support::{
    Client, Place,
    processes::{below, end_all},
};

fn place(options: &[&str]) -> Place {
    let place = Place::with("[presets.p]\ngates.proxy = {}\n", &["proxy"]);
    let record = format!("record={}", place.path("record").display());
    let options: Vec<_> = options.iter().copied().chain([record.as_str()]).collect();
    let presets = format!(
        "{}[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n[presets.p]\ngates.proxy = {{ request = true }}\n\
         deny = [\"s__fails\"]\n",
        child("s", &options, "")
    );
    place.write("presets.toml", presets);
    place
}

fn sent(tool: &str, isolation: &str) -> Value {
    json!({"intent": "EXECUTE", "action": format!("s/{tool}"), "params": {"text": "hi"},
        "constraints": {"isolation": isolation}})
}

fn requested(client: &mut Client, sent: Value) -> Value {
    let result = client.call("request", sent);
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
}

#[test]
fn a_server_is_started_for_one_request_and_leaves_nothing() {
    let place = place(&[]);
    let mut client = Client::start(&place, "p");
    let response = requested(&mut client, sent("echo", "subprocess"));
    assert_eq!(
        (&response["ok"], &response["result"]["data"], &response["meta"]["isolation_used"]),
        (&json!(true), &json!("hi"), &json!("subprocess")),
        "{response}"
    );
    assert_eq!(recorded(&place, "start"), 2);
    end_all(&below(client.pid()));
    let response = requested(&mut client, sent("spawn", "subprocess"));
    assert_eq!(response["result"]["data"], "left behind", "{response}");
    assert_eq!(recorded(&place, "start"), 3);
    end_all(&below(client.pid()));
    let response = requested(&mut client, sent("die", "subprocess"));
    assert!(
        response["error"]["message"].as_str().is_some_and(|reason| reason.contains("did not answer: ")),
        "{response}"
    );
    end_all(&below(client.pid()));
    let response = requested(&mut client, sent("fails", "subprocess"));
    assert_eq!((&response["ok"], recorded(&place, "start")), (&json!(false), 4), "{response}");

    for _ in 0..2 {
        let response = requested(&mut client, sent("echo", "agent"));
        assert_eq!(response["meta"]["isolation_used"], "agent", "{response}");
    }
    assert_eq!(recorded(&place, "start"), 5, "one connection, which stays");
    let running = below(client.pid());
    assert!(running.values().any(|line| line.contains("server-of-vices")), "{running:?}");
    let response = requested(&mut client, sent("echo", "auto"));
    assert_eq!(
        (&response["meta"]["isolation_used"], &response["meta"]["isolation_reason"]),
        (&json!("agent"), &json!("it is already running"))
    );
    assert_eq!(client.close(), Some(0));
    end_all(&running);
}

#[test]
fn what_is_seldom_called_is_started_for_the_request() {
    let place = place(&[]);
    let mut client = Client::start(&place, "p");
    let response = requested(&mut client, sent("echo", "auto"));
    assert_eq!(response["meta"]["isolation_used"], "subprocess", "{response}");
    assert!(
        response["meta"]["isolation_reason"].as_str().is_some_and(|reason| reason.contains("called 0 times")),
        "{response}"
    );
    end_all(&below(client.pid()));
}

/// Sends a request whose server asks a question. Returns the call's id and the running processes.
fn in_the_middle(client: &mut Client) -> (u64, std::collections::BTreeMap<u32, String>) {
    client.initialize_with("2025-11-25", json!({"elicitation": {}}));
    let arguments = sent("ask", "subprocess");
    let call = client.ask("tools/call", json!({"name": "request", "arguments": arguments}));
    let question = client.next_message();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let running = below(client.pid());
    assert!(running.values().any(|line| line.contains("server-of-vices")), "{running:?}");
    (call, running)
}

#[test]
fn a_request_that_is_cancelled_takes_its_server_along() {
    let place = place(&[]);
    let mut client = Client::raw(&place, &["serve", "--preset", "p"], &[]);
    let (call, running) = in_the_middle(&mut client);
    let params = json!({"requestId": call});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    end_all(&running);
}

#[test]
fn a_host_that_is_killed_takes_it_along() {
    let place = place(&[]);
    let mut client = Client::raw(&place, &["serve", "--preset", "p"], &[]);
    let (_, running) = in_the_middle(&mut client);
    let killed = Command::new("kill").args(["-KILL", &client.pid().to_string()]).status().expect("kill");
    assert!(killed.success());
    end_all(&running);
}
