//! `gatehouse explain`: the reason a tool is or is not exposed.

use std::fs;

use super::run;
use crate::support::{Place, place::SHIPPED, repository};

const PRESETS: &str = "[presets.full]\ngates.kg = { include_content = false }\ndeny = [\"kg_*\"]\n\
                       aliases = { ask = \"search_knowledge\" }\n[presets.ideas]\ngates.idea = {}\n";

fn explain(tool: &str) -> (bool, String) {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let explanation = run(&place, 0, &["explain", tool, "--preset", "full", "--json"]).json();
    let reason = explanation["reason"].as_str().expect("a reason").to_owned();
    let exposed = explanation["exposed"].as_bool().expect("an answer");
    let text = run(&place, 0, &["explain", tool, "--preset", "full"]).stdout();
    assert_eq!(text, format!("{}: {reason}\n", if exposed { "exposed" } else { "not exposed" }));
    (exposed, reason)
}

#[test]
fn an_exposed_tool_is_explained_with_its_gate_and_parameters() {
    let (exposed, reason) = explain("search_knowledge");
    assert!(exposed && reason.contains("'kg'") && reason.contains("\"include_content\":false"), "{reason}");
}

#[test]
fn an_alias_is_explained_with_what_it_stands_for() {
    let (exposed, reason) = explain("ask");
    assert!(exposed && reason.contains("alias of 'search_knowledge'"), "{reason}");
}

#[test]
fn a_denied_tool_is_explained_with_the_glob_that_denies_it() {
    let (exposed, reason) = explain("kg_edit");
    assert!(
        !exposed && reason.contains("'kg'") && reason.contains("denies 'kg_edit' by \"kg_*\""),
        "{reason}"
    );
}

#[test]
fn a_denied_alias_is_explained_with_the_glob_that_denies_it() {
    let presets =
        "[presets.full]\ngates.idea = {}\naliases = { think = \"wiki_idea_search\" }\ndeny = [\"thin?\"]\n";
    let explanation = run(&Place::with(presets, &["idea"]), 0, &["explain", "think", "--json"]).json();
    let reason = explanation["reason"].as_str().expect("a reason");
    assert!(explanation["exposed"] == false && reason.contains("denies 'think' by \"thin?\""), "{reason}");
}

#[test]
fn a_tool_of_another_preset_is_explained_with_that_preset() {
    let (exposed, reason) = explain("wiki_idea_search");
    assert!(!exposed && reason.ends_with("presets that expose it: ideas"), "{reason}");
}

#[test]
fn an_unknown_tool_is_reported_with_the_nearest_of_any_preset() {
    let (exposed, reason) = explain("serch_knowledge");
    assert!(!exposed && reason.ends_with("Did you mean 'search_knowledge'?"), "{reason}");
    // Only the preset 'ideas' exposes it.
    let (exposed, reason) = explain("wiki_idea_serch");
    assert!(!exposed && reason.ends_with("Did you mean 'wiki_idea_search'?"), "{reason}");
}

#[test]
fn without_a_preset_it_asks_about_the_one_that_serve_would_choose() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    assert_eq!(run(&place, 0, &["explain", "ask", "--json"]).json()["preset"], "full");
    let mut command = place.command(&["explain", "ask", "--json"]);
    let output = command.env("MCP_PRESET", "ideas").output().expect("run gatehouse");
    let explanation: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&explanation["preset"], &explanation["exposed"]), (&"ideas".into(), &false.into()));
}

#[test]
fn an_unknown_preset_is_wrong_usage() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let stderr = run(&place, 2, &["explain", "ask", "--preset", "idea"]).stderr();
    assert!(stderr.contains("--preset: unknown preset 'idea'. Did you mean 'ideas'?"), "{stderr}");
}

fn with_servers() -> Place {
    let shipped = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let more = format!(
        "[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\n[servers.brave]\ncommand = {server:?}\nargs = [\"stdio\"]\n\
         env = {{ KEY = \"${{BRAVE_API_KEY}}\" }}\n[servers.off]\ncommand = {server:?}\nenabled = false\n\
         [presets.work]\nextends = [\"proxy\"]\nproxied = [\"s\"]\ndeny = [\"s__kin*\"]\n\
         [presets.work.tools.s__progress]\nhide = true\n"
    );
    Place::with(&format!("{shipped}\n{more}"), &SHIPPED)
}

#[test]
fn a_tool_behind_the_proxy_is_explained_with_the_tool_that_calls_it_or_with_what_prevents_that() {
    let place = with_servers();
    let reason = |tool: &str, preset: &str| {
        let explanation = run(&place, 0, &["explain", tool, "--preset", preset, "--json"]).json();
        (
            explanation["through"].as_str().map(str::to_owned),
            explanation["reason"].as_str().expect("a reason").to_owned(),
        )
    };
    let (_, unasked) = reason("s__echo", "work");
    let expected = "server 's' was never listed: run `gatehouse servers refresh s`";
    assert_eq!(unasked, expected);
    let (_, unasked) = reason("echo", "work");
    assert!(unasked.contains("Servers that were never listed: brave (needs BRAVE_API_KEY), s."), "{unasked}");
    run(&place, 0, &["servers", "refresh", "s"]);

    let called = "'echo' of server 's' is called through call_tool in preset 'work'".to_owned();
    for name in ["s__echo", "echo", "s.echo"] {
        assert_eq!(reason(name, "work"), (Some("call_tool".into()), called.clone()), "{name}");
    }
    let text = run(&place, 0, &["explain", "echo", "--preset", "work"]).stdout();
    assert_eq!(text, format!("callable: {called}\n"));
    let (through, message) = reason("echo", "gateway");
    assert!(
        through.as_deref() == Some("request") && message.contains("through request in preset"),
        "{message}"
    );

    for (tool, preset, expected) in [
        ("s__kinds", "work", "preset 'work' denies 's__kinds' by \"s__kin*\""),
        ("s__progress", "work", "preset 'work' hides 's__progress' by [presets.work.tools]"),
        ("brave__search", "work", "server 'brave' was never listed: it needs BRAVE_API_KEY"),
        ("off__x", "work", "server 'off' is disabled; set enabled = true under [servers.off]"),
        ("s__ecko", "work", "but not this one. Did you mean 's__echo'?"),
        (
            "echo",
            "full",
            "nor has a gate that may call servers; presets that can call it: code, gateway, proxy, work",
        ),
    ] {
        let (through, message) = reason(tool, preset);
        assert!(through.is_none() && message.contains(expected), "{tool} in {preset}: {message}");
    }

    let presets = fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", presets + "[presets.direct]\nservers = [\"s\"]\n");
    let (_, message) = reason("echo", "direct");
    assert_eq!(message, "'echo' of server 's' is exposed as 's__echo'");
    let (_, message) = reason("s__echo", "full");
    assert!(message.ends_with("presets that can call it: code, direct, gateway, proxy, work"), "{message}");
}
