//! Warnings about preset patterns that match no tool; a typo in `deny` would expose tools.

use std::fs;

use super::run;
use crate::support::{Client, Place, place::SHIPPED, repository};

fn place(more: &str) -> Place {
    let shipped = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    Place::with(&format!("{shipped}\n{more}"), &SHIPPED)
}

fn warnings(place: &Place, preset: &str) -> Vec<String> {
    let report = run(place, 0, &["presets", "check", "--json"]).json();
    let all = report.as_array().expect("presets").iter();
    let of_preset = all.filter(|one| one["name"] == preset || one["preset"] == preset);
    let warnings = of_preset.flat_map(|one| one["warnings"].as_array().cloned().unwrap_or_default());
    warnings.filter_map(|reason| Some(reason.as_str()?.to_owned())).collect()
}

#[test]
fn a_typo_in_deny_is_reported_wherever_a_user_looks() {
    let place = place("[presets.reader]\nextends = [\"merger\"]\ndeny = [\"kgg_*\"]\n");
    let lines = fs::read_to_string(place.path("presets.toml")).expect("presets.toml").lines().count();
    let reason = format!(
        "presets.toml:{lines}:9: preset 'reader': deny pattern 'kgg_*' matches no tool; \
         `gatehouse presets show reader` lists the tools."
    );
    let messages = warnings(&place, "reader");
    assert!(messages.len() == 1 && messages[0].ends_with(&reason), "{messages:?}");
    let text = run(&place, 0, &["presets", "check"]).stdout();
    assert_eq!(text.matches("matches no").count(), 1, "{text}");
    assert!(text.lines().any(|line| line.starts_with("warning") && line.ends_with(&reason)), "{text}");
    let status = run(&place, 0, &["status"]).stdout();
    assert_eq!(status.lines().filter(|line| line.ends_with(&reason)).count(), 1, "{status}");
    let doctor = run(&place, 0, &["doctor"]).stdout();
    assert!(doctor.lines().any(|line| line.starts_with("warn") && line.ends_with(&reason)), "{doctor}");
    let mut client = Client::start(&place, "reader");
    assert!(client.tools().iter().any(|tool| tool == "kg_edit"));
    let log = client.log_with("matches no tool");
    assert!(log.lines().any(|line| line.contains("WARN") && line.contains("deny pattern 'kgg_*'")), "{log}");
}

#[test]
fn a_typo_in_filters_is_reported_and_default_targets_are_none() {
    let place = place(
        "[presets.reader]\nextends = [\"full\"]\nfilters.summarizer = [\"serch_*\", \"server:*\", \"kg.*\"]\n",
    );
    let lines = fs::read_to_string(place.path("presets.toml")).expect("presets.toml").lines().count();
    let reported = warnings(&place, "reader");
    let start =
        format!("presets.toml:{lines}:23: preset 'reader': filters pattern 'serch_*' matches no tool;");
    assert!(reported.len() == 1 && reported[0].contains(&start), "{reported:?}");
}

#[test]
fn the_shipped_presets_have_no_such_pattern() {
    let text = run(&Place::shipped(), 0, &["presets", "check"]).stdout();
    assert!(!text.contains("matches no"), "{text}");
}

#[test]
fn a_pattern_that_matches_in_a_preset_that_inherits_it_is_none() {
    let place = place(
        "[presets.safe]\ndeny = [\"kg_*\", \"kgg_*\"]\n[presets.a]\nextends = [\"safe\", \"merger\"]\n\
         [presets.b]\nextends = [\"safe\", \"context\"]\n",
    );
    let messages = warnings(&place, "safe");
    assert!(messages.len() == 1 && messages[0].contains("'safe': deny pattern 'kgg_*'"), "{messages:?}");
    assert_eq!([warnings(&place, "a"), warnings(&place, "b")], [const { Vec::<String>::new() }; 2]);
}

#[test]
fn tools_behind_the_proxy_count_once_they_are_known() {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let place = place(&format!(
        "[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\ntags = [\"work\"]\n[presets.work]\nextends = [\"proxy\"]\n\
         proxied = [\"tag:work\", \"tag:wrok\"]\ndeny = [\"s__kindz\", \"s__ec*\"]\n"
    ));
    let messages = warnings(&place, "work");
    assert!(
        messages.len() == 1 && messages[0].contains("proxied pattern 'tag:wrok' matches no server"),
        "{messages:?}"
    );
    run(&place, 0, &["servers", "refresh", "s"]);
    let messages = warnings(&place, "work");
    assert!(
        messages.len() == 2 && messages[0].contains("deny pattern 's__kindz' matches no tool"),
        "{messages:?}"
    );
    assert!(messages[0].ends_with("Did you mean 's__kinds'?"), "{messages:?}");
}
