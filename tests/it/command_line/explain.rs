//! `gatehouse explain`: the reason a tool is or is not exposed.

use std::fs;

use super::run;
use crate::support::{Place, place::SHIPPED, repository};

const PRESETS: &str = "[presets.full]\ngates.kg = { include_content = false }\ndeny = [\"kg_*\"]\n\
                       aliases = { ask = \"search_knowledge\" }\n[presets.ideas]\ngates.idea = {}\n";

fn explain(tool: &str) -> (bool, String) {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let told = run(&place, 0, &["explain", tool, "--preset", "full", "--json"]).json();
    let why = told["why"].as_str().expect("a reason").to_owned();
    let exposed = told["exposed"].as_bool().expect("an answer");
    let text = run(&place, 0, &["explain", tool, "--preset", "full"]).stdout();
    assert_eq!(text, format!("{}: {why}\n", if exposed { "exposed" } else { "not exposed" }));
    (exposed, why)
}

#[test]
fn an_exposed_tool_is_told_with_its_gate_and_parameters() {
    let (exposed, why) = explain("search_knowledge");
    assert!(exposed && why.contains("'kg'") && why.contains("\"include_content\":false"), "{why}");
}

#[test]
fn an_alias_is_told_with_what_it_stands_for() {
    let (exposed, why) = explain("ask");
    assert!(exposed && why.contains("alias of 'search_knowledge'"), "{why}");
}

#[test]
fn a_denied_tool_is_told_with_the_glob_that_denies_it() {
    let (exposed, why) = explain("kg_edit");
    assert!(!exposed && why.contains("'kg'") && why.contains("denies 'kg_edit' by \"kg_*\""), "{why}");
}

#[test]
fn a_denied_alias_is_told_with_the_glob_that_denies_it() {
    let presets =
        "[presets.full]\ngates.idea = {}\naliases = { think = \"wiki_idea_search\" }\ndeny = [\"thin?\"]\n";
    let told = run(&Place::with(presets, &["idea"]), 0, &["explain", "think", "--json"]).json();
    let why = told["why"].as_str().expect("a reason");
    assert!(told["exposed"] == false && why.contains("denies 'think' by \"thin?\""), "{why}");
}

#[test]
fn a_tool_of_another_preset_is_told_with_that_preset() {
    let (exposed, why) = explain("wiki_idea_search");
    assert!(!exposed && why.ends_with("presets that expose it: ideas"), "{why}");
}

#[test]
fn an_unknown_tool_is_reported_with_the_nearest_of_any_preset() {
    let (exposed, why) = explain("serch_knowledge");
    assert!(!exposed && why.ends_with("Did you mean 'search_knowledge'?"), "{why}");
    // Only the preset 'ideas' exposes it.
    let (exposed, why) = explain("wiki_idea_serch");
    assert!(!exposed && why.ends_with("Did you mean 'wiki_idea_search'?"), "{why}");
}

#[test]
fn without_a_preset_it_asks_about_the_one_that_serve_would_choose() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    assert_eq!(run(&place, 0, &["explain", "ask", "--json"]).json()["preset"], "full");
    let mut command = place.command(&["explain", "ask", "--json"]);
    let output = command.env("MCP_PRESET", "ideas").output().expect("run gatehouse");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["preset"], &told["exposed"]), (&"ideas".into(), &false.into()));
}

#[test]
fn an_unknown_preset_is_wrong_usage() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let said = run(&place, 2, &["explain", "ask", "--preset", "idea"]).stderr();
    assert!(said.contains("--preset: unknown preset 'idea'. Did you mean 'ideas'?"), "{said}");
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
fn a_tool_behind_the_proxy_is_told_with_the_tool_that_calls_it_or_with_what_prevents_that() {
    let place = with_servers();
    let why = |tool: &str, preset: &str| {
        let told = run(&place, 0, &["explain", tool, "--preset", preset, "--json"]).json();
        (told["through"].as_str().map(str::to_owned), told["why"].as_str().expect("a reason").to_owned())
    };
    let (_, unasked) = why("s__echo", "work");
    let expected = "server 's' was never listed: run `gatehouse servers refresh s`";
    assert_eq!(unasked, expected);
    let (_, unasked) = why("echo", "work");
    assert!(unasked.contains("Servers that were never listed: brave (needs BRAVE_API_KEY), s."), "{unasked}");
    run(&place, 0, &["servers", "refresh", "s"]);

    let called = "'echo' of server 's' is called through call_tool in preset 'work'".to_owned();
    for name in ["s__echo", "echo", "s.echo"] {
        assert_eq!(why(name, "work"), (Some("call_tool".into()), called.clone()), "{name}");
    }
    let text = run(&place, 0, &["explain", "echo", "--preset", "work"]).stdout();
    assert_eq!(text, format!("callable: {called}\n"));
    let (through, told) = why("echo", "gateway");
    assert!(through.as_deref() == Some("request") && told.contains("through request in preset"), "{told}");

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
        let (through, told) = why(tool, preset);
        assert!(through.is_none() && told.contains(expected), "{tool} in {preset}: {told}");
    }

    let presets = fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", presets + "[presets.direct]\nservers = [\"s\"]\n");
    let (_, told) = why("echo", "direct");
    assert_eq!(told, "'echo' of server 's' is exposed as 's__echo'");
    let (_, told) = why("s__echo", "full");
    assert!(told.ends_with("presets that can call it: code, direct, gateway, proxy, work"), "{told}");
}
