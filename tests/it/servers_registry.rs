//! `gatehouse servers search` and `add --from`, with a registry on this machine.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::support::{Place, server::serve_answers, terminal};

/// Serves a registry with these servers. Returns its URL.
fn registry(servers: Vec<Value>) -> String {
    let address = serve_answers(move |seen| {
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        let text = |server: &Value, key: &str| server["server"][key].as_str().expect("a text").to_owned();
        let wanted = query.split('&').find_map(|pair| pair.strip_prefix("search=")).unwrap_or_default();
        let answer = if path == "/v0.1/servers" {
            let is_wanted = |server: &&Value| text(server, "name").contains(wanted);
            let found: Vec<&Value> = servers.iter().filter(is_wanted).collect();
            Some(json!({"servers": found, "metadata": {"count": found.len()}}))
        } else {
            let is_asked = |server: &&Value| {
                let name = text(server, "name").replace('/', "%2F");
                let asked = path.strip_prefix(&format!("/v0.1/servers/{name}/versions/"));
                asked.is_some_and(|asked| asked == text(server, "version") || asked == "latest")
            };
            servers.iter().find(is_asked).cloned()
        };
        let (status, body) = answer.map_or((404, "{}".to_owned()), |answer| (200, answer.to_string()));
        (status, String::new(), body)
    });
    format!("http://{address}")
}

fn server(name: &str, description: &str, status: &str, package: Value) -> Value {
    let meta = json!({"io.modelcontextprotocol.registry/official": {"status": status}});
    let server = json!({"name": name, "description": description, "version": "1.2.3", "packages": [package]});
    json!({"server": server, "_meta": meta})
}

fn files() -> Value {
    json!({
        "registryType": "npm", "identifier": "@acme/files", "version": "1.2.3", "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "valueHint": "directory", "isRequired": true}],
        "environmentVariables": [{"name": "FILES_KEY", "isRequired": true, "isSecret": true, "description": "A key."}],
    })
}

fn servers() -> Vec<Value> {
    let latest = json!({"registryType": "npm", "identifier": "x", "version": "latest", "transport": {"type": "stdio"}});
    vec![
        server("io.acme/files", "Reads files\u{202e} of a directory.\n\u{1b}[2J", "active", files()),
        server("io.acme/old", "Was good.", "deleted", files()),
        server("io.acme/loose", "Changes every day.", "active", latest),
    ]
}

#[test]
fn a_server_is_found_and_added_with_its_version() {
    let base = registry(servers());
    let place = Place::with("", &[]);
    let found = place.run(&["servers", "search", "files", "--registry", &base]);
    let output = found.stdout();
    assert!(
        output.contains("io.acme/files") && output.contains("1.2.3") && !output.contains("io.acme/old"),
        "{output}"
    );
    assert!(!output.contains('\u{202e}') && !output.contains('\u{1b}'), "{output:?}");
    let all = place.run(&["servers", "search", "io.acme", "--registry", &base, "--json"]).json();
    assert_eq!(all.as_array().map(Vec::len), Some(3), "{all}");
    let none = place.run(&["servers", "search", "nothing", "--registry", &base]);
    assert_eq!((none.code(), none.stdout().trim()), (0, "no server matches 'nothing'"));

    let add = ["servers", "add", "files", "--from", "io.acme/files", "--registry", &*base];
    let ran = place.run(&add);
    assert!(ran.code() != 0 && ran.stderr().contains("add --set directory=VALUE"), "{}", ran.stderr());
    let add = [&add[..], &["--set", "directory=/srv"]].concat();
    let ran = place.run(&add);
    assert!(ran.stdout().contains("args = [\"-y\", \"@acme/files@1.2.3\", \"/srv\"]"), "{}", ran.stdout());
    assert!(ran.code() == 2 && ran.stderr().contains("add --yes"), "{}", ran.stderr());
    let listed = || place.run(&["servers", "list", "--json"]).stdout();
    assert!(!listed().contains("acme"), "nothing was written");
    let (mut typing, input) = terminal();
    typing.write_all(b"n\n").expect("typed");
    let ran = place.command(&add).stdin(input).output().expect("run gatehouse");
    assert_eq!(ran.status.code(), Some(2), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!listed().contains("acme"), "nothing was written");
    let ran = place.run(&[&add[..], &["--yes", "--tag", "work"]].concat());
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    assert!(ran.stderr().contains("Run `gatehouse servers env set FILES_KEY`: A key."), "{}", ran.stderr());
    let listed = listed();
    assert!(listed.contains("@acme/files@1.2.3") && listed.contains("work"), "{listed}");
}

#[test]
fn what_cannot_be_added_is_refused_with_the_reason() {
    let base = registry(servers());
    let place = Place::with("", &[]);
    for (from, reason) in [
        ("io.acme/nothing", "the registry has no server 'io.acme/nothing'"),
        ("io.acme/files@9.9.9", "the registry has no version '9.9.9' of server 'io.acme/files'"),
        ("io.acme/old", "'io.acme/old' was deleted from the registry"),
        ("io.acme/loose", "cannot add 'io.acme/loose': 'latest' is not an exact version"),
    ] {
        let ran = place.run(&["servers", "add", "x", "--from", from, "--registry", &base, "--yes"]);
        assert!(ran.code() != 0 && ran.stderr().contains(reason), "{from}: {}", ran.stderr());
    }
    for (registry, reason) in [
        ("http://registry.example.com", "expected https, or http on this machine"),
        ("http://127.0.0.1:1", "cannot use the registry 127.0.0.1"),
    ] {
        let ran = place.run(&["servers", "search", "x", "--registry", registry]);
        assert!(ran.code() != 0 && ran.stderr().contains(reason), "{registry}: {}", ran.stderr());
    }
}
