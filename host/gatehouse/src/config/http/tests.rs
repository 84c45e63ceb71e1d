//! Tests of the HTTP rules of gates.

use super::*;
use crate::config::Config;

fn rules(content: &str) -> Result<HttpRules, String> {
    let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
    // A variable of the list: tests cannot set others in the process environment.
    let env = Env::from_pairs([("GATEHOUSE_TOKEN", "0123456789abcdef")]);
    let config = Config::parse(&text, &env).map_err(|error| error.to_string())?;
    let rules = config.gates["weather"].settings.http.clone().ok_or("no block")?;
    Ok((*rules).clone())
}

fn error(block: &str) -> String {
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
    let why =
        "header X-Key for a.example needs the environment variable GATEHOUSE_TEST_UNSET, which is not set";
    assert_eq!(rules(block).expect("valid").problems(), [why]);
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
    let grants = super::super::checked::Config::parse(
        &ConfigText { file: None, content: "[gates.weather]\ngrants = [\"http\"]\n".into() },
        &Env::default(),
    );
    let why = grants.expect_err("refused").to_string();
    assert!(
        why.contains(":2:11: 'http' is not granted by an entry; write a block [gates.<name>.http]"),
        "{why}"
    );
}
