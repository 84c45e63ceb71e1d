//! Tests of servers that are added at run time.

use std::fs;

use serde_json::json;

use super::*;
use crate::config::ConfigText;

fn added(state: &Path, content: &str) -> FileServerStore {
    let text = ConfigText { file: Some(state.join("presets.toml")), content: content.into() };
    let config = Config::from_text(&text, None, Some(state), &Env::default()).expect("valid");
    FileServerStore::new(Arc::new(config), Env::default())
}

fn definition(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[test]
fn added_servers_are_private_and_stay_until_removed() {
    let state = tempfile::tempdir().expect("a folder");
    let servers = added(state.path(), "");
    assert!(servers.snapshot().servers.is_empty() && servers.snapshot().problems.is_empty());
    let git =
        definition(json!({"command": "git-mcp", "env": {"TOKEN": "${GATEHOUSE_TEST_NONE}"}, "timeout": 5}));
    let kept = servers.store("git", &git).expect("kept");
    assert_eq!(kept.definition.missing, ["GATEHOUSE_TEST_NONE"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(file(state.path())).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let another_host = added(state.path(), "");
    another_host.store("web", &definition(json!({"url": "https://a.example/mcp"}))).expect("kept");
    assert_eq!(servers.snapshot().servers.keys().collect::<Vec<_>>(), ["git", "web"]);
    assert_eq!(servers.snapshot().servers["git"], kept);
    assert_eq!((servers.forget("git"), servers.forget("git")), (Ok(true), Ok(false)));
    assert_eq!(another_host.snapshot().servers.keys().collect::<Vec<_>>(), ["web"]);
}

#[test]
fn rules_for_tools_of_added_servers_are_in_presets_toml() {
    let state = tempfile::tempdir().expect("a folder");
    added(state.path(), "").store("git", &definition(json!({"command": "git-mcp"}))).expect("kept");
    let rules =
        "[servers.git.tools.log]\neffect = \"read-only\"\n[servers.hg.tools.log]\neffect = \"mutating\"\n";
    let servers = added(state.path(), rules);
    let now = servers.snapshot();
    let rule = &now.servers["git"].definition.tools["log"];
    assert_eq!(rule.effect, Some(gatehouse_core::Effect::ReadOnly));
    assert_eq!(now.problems.len(), 1, "{:?}", now.problems);
    assert!(now.problems[0].starts_with("[servers.hg.tools] is not used: "), "{:?}", now.problems);
    let own = definition(json!({"command": "x", "tools": {"log": {"effect": "read-only"}}}));
    assert!(servers.store("own", &own).is_err(), "a tool that adds a server does not decide its effects");
}

#[test]
fn declared_servers_win_and_are_not_changed() {
    let state = tempfile::tempdir().expect("a folder");
    let free = added(state.path(), "");
    free.store("git", &definition(json!({"command": "mine"}))).expect("kept");
    let servers = added(state.path(), "[servers.git]\ncommand = \"theirs\"\n");
    let refused = servers.store("git", &definition(json!({"command": "x"}))).expect_err("refused");
    assert_eq!(refused.kind, gatehouse_core::FaultKind::Denied);
    assert!(servers.forget("git").is_err());
    let now = servers.snapshot();
    assert!(now.servers.is_empty());
    assert!(
        now.problems[0].ends_with("server 'git' is ignored: presets.toml declares it"),
        "{:?}",
        now.problems
    );
}

#[test]
fn invalid_definitions_are_refused_by_key() {
    let state = tempfile::tempdir().expect("a folder");
    let servers = added(state.path(), "");
    for (name, bad, wanted) in [
        ("git", json!({"comand": "x"}), "unknown key 'comand'. Did you mean 'command'?"),
        ("git", json!({"command": null}), "'command' is null; remove it instead"),
        ("git", json!({}), "needs a command (a program) or a url"),
        ("git", json!({"command": "x", "env": {"A": null}}), "contains null"),
        ("git", json!({"command": "x", "args": ["y".repeat(70_000)]}), "is longer than 64 KiB"),
        ("a/b", json!({"command": "x"}), "'a/b' cannot be the name of a server"),
    ] {
        let fault = servers.store(name, &definition(bad)).expect_err(wanted);
        assert_eq!(fault.kind, gatehouse_core::FaultKind::InvalidArguments);
        assert!(fault.message.contains(wanted) && !fault.message.ends_with(".."), "{}", fault.message);
    }
    fs::create_dir_all(state.path().join("servers")).expect("made");
    fs::write(file(state.path()), "{\"servers\": {}, \"x\": 1}").expect("written");
    assert!(servers.snapshot().problems[0].contains("is damaged"));
    assert!(servers.store("git", &definition(json!({"command": "x"}))).is_err(), "what is there is not lost");
}
