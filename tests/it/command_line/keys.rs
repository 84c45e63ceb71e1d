//! `gatehouse keys`: a key is printed once and stored as a hash; it is listed, rotated and revoked.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use super::run;
use crate::support::Place;

const AUTH: &str = "[auth]\n[presets.dev]\n[presets.ops]\n";

/// Lists the keys, without times.
fn listed(place: &Place) -> Value {
    run(place, 0, &["keys", "list", "--json"]).json()
}

fn is_key(text: &str) -> bool {
    let parts: Vec<&str> = text.split('_').collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(&*parts, ["ghk", id, secret] if id.len() == 12 && secret.len() == 64 && digits(id) && digits(secret))
}

#[test]
fn a_key_is_printed_once_and_stored_as_a_hash() {
    let place = Place::with(AUTH, &[]);
    let empty = run(&place, 0, &["keys", "list"]);
    assert!(empty.stdout().contains("There are no keys."), "{}", empty.stdout());
    assert!(!place.path("state/auth.db").exists(), "listing creates nothing");
    let arguments = ["--group", "ops", "--group", "dev", "--preset", "dev", "--expires", "90d"];
    let created = run(&place, 0, &[&["keys", "create", "ci"], &arguments[..]].concat());
    let token = created.stdout().trim_end().to_owned();
    assert!(is_key(&token), "standard output has only the key: {token}");
    assert!(created.stderr().contains("shown only now"), "{}", created.stderr());
    let (id, secret) = token.strip_prefix("ghk_").and_then(|rest| rest.split_once('_')).expect("parts");
    for entry in fs::read_dir(place.path("state")).expect("a folder").flatten() {
        let content = fs::read(entry.path()).unwrap_or_default();
        let contains = content.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!contains, "{} has the secret", entry.path().display());
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
    }
    let keys = listed(&place);
    let key = &keys[0];
    assert_eq!(
        (&key["name"], &key["principal"], &key["groups"], &key["presets"]),
        (&json!("ci"), &json!("key:ci"), &json!(["dev", "ops"]), &json!(["dev"]))
    );
    let lifetime =
        key["expires_at_ms"].as_u64().expect("a time") - key["created_at_ms"].as_u64().expect("a time");
    assert_eq!(lifetime, 90 * 24 * 3_600_000);
    assert_eq!((&key["secrets"][0]["id"], &key["last_used_at_ms"]), (&json!(id), &Value::Null));
    let table = run(&place, 0, &["keys", "list"]);
    assert!(table.stdout().contains("ci") && table.stdout().contains("in 89 d"), "{}", table.stdout());
    assert!(!keys.to_string().contains(secret) && !table.stdout().contains(secret));
}

#[test]
fn keys_are_rotated_and_revoked() {
    let place = Place::with(AUTH, &[]);
    let first = run(&place, 0, &["keys", "create", "ci", "--json"]).json()["token"].clone();
    let rotated = run(&place, 0, &["keys", "rotate", "ci"]);
    assert!(is_key(rotated.stdout().trim_end()) && first != rotated.stdout().trim_end());
    assert!(rotated.stderr().contains("works for another 24 h"), "{}", rotated.stderr());
    let secrets = listed(&place)[0]["secrets"].as_array().expect("secrets").len();
    assert_eq!(secrets, 2, "both work");
    run(&place, 0, &["keys", "rotate", "ci", "--grace", "0h", "--expires", "1h"]);
    let key = listed(&place)[0].clone();
    assert_eq!(key["secrets"].as_array().expect("secrets").len(), 1, "{key}");
    assert!(key["expires_at_ms"].is_u64());
    assert_eq!(run(&place, 0, &["keys", "revoke", "ci"]).stdout(), "revoked ci\n");
    assert_eq!(listed(&place), json!([]));
}

#[test]
fn mistakes_say_what_to_do() {
    let place = Place::with(AUTH, &[]);
    run(&place, 0, &["keys", "create", "ci"]);
    let cases: [(i32, &[&str], &str); 9] = [
        (2, &["create", "CI"], "1 to 64 characters a-z, 0-9 and -"),
        (2, &["create", "a", "--preset", "deb"], "unknown preset 'deb'. Did you mean 'dev'?"),
        (2, &["create", "a", "--group", "group:dev"], "without the prefix"),
        (2, &["create", "a", "--expires", "soon"], "90d, 12h or 30min"),
        (2, &["create", "a", "--expires", "0d"], "cannot expire immediately"),
        (1, &["create", "ci"], "key 'ci' exists already. Run `gatehouse keys rotate ci`"),
        (1, &["rotate", "cj"], "unknown key 'cj'. Run `gatehouse keys list`."),
        (1, &["revoke", "x"], "unknown key 'x'. Run `gatehouse keys list`."),
        (2, &["rotate", "ci", "--grace", "1y"], "90d, 12h or 30min"),
    ];
    for (code, arguments, reason) in cases {
        let ran = run(&place, code, &[&["keys"], arguments].concat());
        assert!(ran.stderr().contains(reason), "{arguments:?}: {}", ran.stderr());
        assert_eq!(ran.stdout(), "", "{arguments:?}");
    }
    let without = Place::with("", &[]);
    let warned = run(&without, 0, &["keys", "create", "ci"]);
    assert!(warned.stderr().contains("presets.toml has no [auth]"), "{}", warned.stderr());
}
