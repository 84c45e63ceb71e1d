//! Tests of `[gates.NAME]`.

use super::*;
use crate::config::{PlainError, tests::parse};

fn rules(content: &str) -> Result<HttpRules, PlainError> {
    // A variable of the list: tests cannot set others in the process environment.
    let env = Env::from_pairs([("GATEHOUSE_TOKEN", "0123456789abcdef")]);
    let config = parse(content, &env)?;
    let rules = config.gates["weather"].settings.http.clone().ok_or("no block")?;
    Ok((*rules).clone())
}

fn error(block: &str) -> PlainError {
    rules(&format!("[gates.weather.http]\n{block}\n")).expect_err("refused")
}

#[test]
fn a_block_becomes_rules() {
    let block = "[gates.weather.http]\n\"api.weather.gov\" = { headers = { Authorization = \"Bearer ${GATEHOUSE_TOKEN}\" } }\n\"*.example.com\" = {}\n\"http://127.0.0.1:8080\" = {}\n\"wiki.corp\" = { private = true }\n";
    let rules = rules(block).expect("valid");
    assert_eq!(rules.hosts(), ["*.example.com", "api.weather.gov", "http://127.0.0.1:8080", "wiki.corp"]);
    let permit = rules.check("https://api.weather.gov/").expect("allowed");
    assert_eq!(permit.headers, [("Authorization", &Secret::new("Bearer 0123456789abcdef"))]);
    assert!(!format!("{rules:?}").contains("0123456789abcdef"), "{rules:?}");
    assert_eq!(rules.redactor().redact_text("0123456789abcdef".into()), "[redacted]");
}

#[test]
fn unset_variables_are_problems_and_not_errors() {
    let block =
        "[gates.weather.http]\n\"a.example\" = { headers = { X-Key = \"${GATEHOUSE_TEST_UNSET}\" } }\n";
    let reason =
        "header X-Key for a.example needs the environment variable GATEHOUSE_TEST_UNSET, which is not set";
    assert_eq!(rules(block).expect("valid").problems(), [reason]);
}

#[test]
fn every_mistake_has_its_place() {
    assert!(
        error("\"*\" = {}").starts_with("/etc/gh/presets.toml:2:1: '*' has a `*`"),
        "{}",
        error("\"*\" = {}")
    );
    assert!(error("\"a.example/x\" = {}").contains(":2:1: 'a.example/x' is not a host"));
    let twice = error("\"a.example\" = {}\n\"A.example.\" = {}");
    assert!(twice.contains("repeats a.example, which another line already names"), "{twice}");
    let unknown = error("\"a.example\" = { header = {} }");
    assert!(unknown.contains(":2:17: unknown key 'header'. Did you mean 'headers'?"), "{unknown}");
    assert!(
        error("\"a.example\" = { headers = { Host = \"x\" } }").contains(":2:29: header 'Host' is set by")
    );
    assert!(
        error("\"a.example\" = { headers = { \"a b\" = \"x\" } }").contains(":2:29: 'a b' is not a valid")
    );
    assert!(error("\"a.example\" = { headers = { A = \"${\" } }").contains(":2:33: '${' is not closed"));
    let reason = rules("[gates.weather]\ngrants = [\"http\"]\n").expect_err("refused");
    assert!(
        reason.contains(":2:11: 'http' is not granted by an entry; write a block [gates.<name>.http]"),
        "{reason}"
    );
}

#[test]
fn references_name_files_in_the_data_directory() {
    let parse = |content: &str| parse(content, &Env::from_pairs([("GATEHOUSE_STATE", "/state")]));
    let (digest, pin) = ("0".repeat(64), "AB".repeat(32));
    let component = format!("component = \"oci://ghcr.io/acme/weather@sha256:{digest}\"");
    let config = parse(&format!("[gates.weather]\n{component}\nsha256 = \"{pin}\"\n")).expect("valid");
    let gate = &config.gates["weather"];
    let file = gate.component.as_ref().expect("a file").display().to_string();
    assert_eq!(file, format!("/state/components/{}.wasm", pin.to_lowercase()));
    assert_eq!(gate.origin.as_ref().map(|origin| origin.short_name()), Some("weather"));

    let error = parse(&format!("[gates.weather]\n{component}\n")).map(|_| ()).expect_err("refused");
    assert!(
        error.starts_with("/etc/gh/presets.toml:2:13: a component from a registry needs sha256"),
        "{error}"
    );
    let error = parse("[gates.a]\ncomponent = \"oci://ghcr.io/a:1\"").map(|_| ()).expect_err("refused");
    assert!(error.contains(":2:13: 'oci://ghcr.io/a:1' has no digest"), "{error}");
    let error = parse("[gates.a]\ncomponent = \"oci://ghcr.io\"").map(|_| ()).expect_err("refused");
    assert!(error.contains(":2:13: invalid reference 'oci://ghcr.io'"), "{error}");
}

#[test]
fn only_plain_absolute_names_are_folders() {
    assert_eq!(folder_parts("/data/v1.2"), Some(vec!["data", "v1.2"]));
    for bad in ["", "/", "data", "/a//b", "/a/", "/..", "/a/../b", "/.git", "/a b", "/ä", "/a\0"] {
        assert_eq!(folder_parts(bad), None, "{bad:?}");
    }
    assert!(nested("/a/b", "/a") && nested("/a", "/a/b") && !nested("/ab", "/a") && !nested("/a", "/b"));
}
