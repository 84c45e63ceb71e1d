//! `gatehouse mcp-config`: the printed configuration works in each client.

use std::process::Command;

use serde_json::{Value, json};

use super::run;
use crate::support::{Client, Place, place::binary};

/// Clients, with the key of their server list and whether an entry names its transport.
const CLIENTS: [(&str, &str, bool); 5] = [
    ("claude", "mcpServers", true),
    ("cursor", "mcpServers", false),
    ("vscode", "servers", true),
    ("codex", "mcp_servers", false),
    ("gemini", "mcpServers", false),
];

fn entry(place: &Place, client: &str, servers: &str, server: &str, more: &[&str]) -> Value {
    let ran = run(place, 0, &[&["mcp-config", "full", "--client", client], more].concat());
    let parsed: Value = match client {
        "codex" => toml::from_str(&ran.stdout()).expect("TOML"),
        _ => ran.json(),
    };
    parsed[servers][server].clone()
}

#[test]
fn every_client_gets_the_shape_it_reads() {
    let place = Place::shipped();
    let config = place.path("presets.toml").canonicalize().expect("presets.toml");
    for (client, servers, typed) in CLIENTS {
        let server_entry = entry(&place, client, servers, "gatehouse", &[]);
        assert_eq!(server_entry["command"], json!(binary()), "{client}: {server_entry}");
        assert_eq!(
            server_entry["args"],
            json!(["serve", "--preset", "full", "--config", config]),
            "{client}: {server_entry}"
        );
        assert_eq!(
            server_entry.get("type"),
            typed.then(|| json!("stdio")).as_ref(),
            "{client}: {server_entry}"
        );
    }
}

#[test]
fn every_client_gets_the_address_of_a_running_host() {
    let place = Place::shipped();
    for (client, servers, typed) in CLIENTS {
        for url in ["http://127.0.0.1:8642", "http://127.0.0.1:8642/", "http://127.0.0.1:8642/mcp"] {
            let server_entry = entry(&place, client, servers, "wiki", &["--server", "wiki", "--http", url]);
            // Gemini CLI uses `url` for the old SSE transport.
            let key = if client == "gemini" { "httpUrl" } else { "url" };
            assert_eq!(
                server_entry[key], "http://127.0.0.1:8642/mcp/p/full",
                "{client} {url}: {server_entry}"
            );
            assert_eq!(server_entry.get("command"), None, "{client}: {server_entry}");
            assert_eq!(
                server_entry.get("type"),
                typed.then(|| json!("http")).as_ref(),
                "{client}: {server_entry}"
            );
        }
    }
}

#[test]
fn a_token_is_named_and_never_printed() {
    let place = Place::shipped();
    for (client, ..) in CLIENTS {
        let arguments = ["mcp-config", "full", "--client", client, "--http", "http://10.0.0.1:8642"];
        let mut command = place.command(&arguments);
        let output = command.env("GATEHOUSE_TOKEN", "a-very-secret-token-of-32-letters").output();
        let text = String::from_utf8(output.expect("run gatehouse").stdout).expect("UTF-8");
        assert!(text.contains("GATEHOUSE_TOKEN") && !text.contains("secret"), "{client}: {text}");
    }
}

fn started(place: &Place, entry: &Value) -> Client {
    let arguments = entry["args"].as_array().expect("arguments").iter();
    let mut command = Command::new(entry["command"].as_str().expect("a command"));
    command.args(arguments.map(|argument| argument.as_str().expect("text")));
    command
        .current_dir("/")
        .env_clear()
        .env("HOME", place.folder.path())
        .env("GATEHOUSE_STATE", place.path("state"));
    Client::spawn(command)
}

#[test]
fn the_configuration_starts_a_host_from_anywhere() {
    let place = Place::shipped();
    let mut client = started(&place, &entry(&place, "claude", "mcpServers", "gatehouse", &[]));
    client.initialize("2025-11-25");
    assert_eq!(client.tools().len(), 13, "{}", client.log());
}

#[test]
fn the_configuration_keeps_the_folder_of_gates() {
    let place = Place::with("[presets.full]\ngates.idea = {}\n", &["idea"]);
    std::fs::rename(place.path("gates"), place.path("elsewhere")).expect("rename");
    let server_entry = entry(&place, "claude", "mcpServers", "gatehouse", &["--gates", "elsewhere"]);
    let mut client = started(&place, &server_entry);
    client.initialize("2025-11-25");
    assert_eq!(client.tools(), ["wiki_idea_search"]);
}

#[test]
fn a_client_gets_one_configuration_wherever_it_starts_the_host() {
    let place = Place::with("[presets.full]\ngates.idea = {}\n", &["idea"]);
    // The file in this folder is not trusted, so the shipped presets are used.
    let output = place.nameless(&["mcp-config", "full", "--gates", "gates"]).output().expect("run gatehouse");
    assert!(String::from_utf8_lossy(&output.stderr).contains("The built-in presets are used instead."));
    let config: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let entry = &config["mcpServers"]["gatehouse"];
    let arguments: Vec<&str> =
        entry["args"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(arguments[..5], ["serve", "--preset", "full", "--config", "user"]);
    // The pasted configuration also wins over a trusted file in the working folder.
    for gate in ["kg", "code", "research", "document-retrieval", "summarizer"] {
        place.add_gate(gate);
    }
    assert!(place.nameless(&["trust"]).status().expect("run gatehouse").success());
    let mut command = place.nameless(&arguments);
    command.env_remove("GATEHOUSE_CONFIG");
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25");
    assert_eq!(client.tools().len(), 13, "{}", client.log());
    // A file that is written later counts for the same configuration.
    place.write(".config/gatehouse/presets.toml", "[presets.full]\ngates.idea = {}\n");
    let mut command = place.nameless(&arguments);
    command.env_remove("GATEHOUSE_CONFIG");
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25");
    assert_eq!(client.tools(), ["wiki_idea_search"]);
    let status = place.nameless(&["status", "--config", "built-in"]).output().expect("run gatehouse");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        status.contains("over stdio, /") && status.contains(".config/gatehouse/presets.toml"),
        "{status}"
    );
}

#[test]
fn wrong_names_and_addresses_are_refused() {
    let place = Place::shipped();
    let stderr = run(&place, 2, &["mcp-config", "ful"]).stderr();
    assert!(stderr.contains("Did you mean 'full'?"), "{stderr}");
    let stderr = run(&place, 2, &["mcp-config", "full", "--http", "localhost:8642"]).stderr();
    assert!(stderr.contains("'localhost:8642' is not a URL such as http://"), "{stderr}");
    let stderr = run(&place, 2, &["mcp-config", "full", "--client", "emacs"]).stderr();
    assert!(stderr.contains("claude, cursor, vscode, codex, gemini"), "{stderr}");
}
