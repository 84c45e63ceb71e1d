//! Exit codes, output streams and usage errors.

use std::process::Stdio;

use super::run;
use crate::{servers::child, support::Place};

const JSON: [&[&str]; 13] = [
    &["gates", "list"],
    &["gates", "inspect", "kg"],
    &["presets", "list"],
    &["presets", "show", "full"],
    &["presets", "check"],
    &["presets", "cost"],
    &["explain", "kg_edit"],
    &["kg", "index", "wiki"],
    &["kg", "search", "retry"],
    &["kg", "get", "Principle/Retry_With_Backoff"],
    &["status"],
    &["doctor"],
    &["cache", "size"],
];

#[test]
fn json_is_json_and_nothing_else() {
    let place = Place::shipped();
    place.sample_wiki();
    for arguments in JSON {
        let ran = run(&place, 0, &[arguments, &["--json"]].concat());
        let output = ran.json();
        assert!(output.is_object() || output.is_array(), "{arguments:?}: {output}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_wrong() {
    let place = Place::shipped();
    let cases: [(&[&str], &str); 8] = [
        (&["serv"], "'serve'"),
        (&["nonsense"], "unknown command 'nonsense'"),
        (&["allowed-tools"], "<PRESET>"),
        (&["explain"], "<TOOL>"),
        (&["gates", "inspect"], "<GATE>"),
        (&["presets", "cost", "--jsn"], "--json"),
        (&["serve", "--http", "somewhere"], "somewhere"),
        (&["completions", "cmd"], "bash"),
    ];
    for (arguments, hint) in cases {
        let ran = run(&place, 2, arguments);
        assert!(ran.stderr().contains(hint), "{arguments:?}: {}", ran.stderr());
        assert!(ran.stderr().starts_with("error: "), "{arguments:?}: {}", ran.stderr());
        assert_eq!(ran.stdout(), "", "{arguments:?}");
    }
    let ran = run(&place, 2, &["-q"]);
    assert!(ran.stderr().contains("Usage: gatehouse"), "{}", ran.stderr());
}

#[test]
fn wrong_configuration_ends_every_command_with_2() {
    let place = Place::with("[presets.full]\ngatez = {}\n", &[]);
    let commands: [&[&str]; 7] = [
        &["serve"],
        &["gates", "list"],
        &["presets", "check"],
        &["allowed-tools", "full"],
        &["mcp-config", "full"],
        &["explain", "x"],
        &["status"],
    ];
    for arguments in commands {
        let ran = run(&place, 2, arguments);
        assert!(
            ran.stderr().contains("presets.toml:2:1: unknown key 'gatez'"),
            "{arguments:?}: {}",
            ran.stderr()
        );
        assert_eq!(ran.stdout(), "", "{arguments:?}");
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let place = Place::with("", &[]);
    let help = run(&place, 0, &["--help"]);
    for command in
        ["serve", "gates", "presets", "allowed-tools", "mcp-config", "explain", "kg", "status", "doctor"]
    {
        assert!(help.stdout().contains(&format!("\n  {command} ")), "{}", help.stdout());
        let ran = run(&place, 0, &[command, "--help"]);
        assert!(ran.stdout().contains(&format!("Usage: gatehouse {command}")), "{}", ran.stdout());
    }
    assert!(run(&place, 0, &["--version"]).stdout().starts_with("gatehouse "));
    assert_eq!(help.stderr(), "");
}

#[test]
fn help_ends_with_examples_and_has_no_colours_beyond_terminals() {
    let place = Place::with("", &[]);
    for arguments in [&["--help"] as &[&str], &["serve", "--help"], &["gates", "add", "-h"]] {
        let help = run(&place, 0, arguments).stdout();
        assert!(help.contains("\nExamples:\n  gatehouse "), "{arguments:?}: {help}");
        assert!(!help.contains('\u{1b}'), "{arguments:?}: {help}");
    }
}

#[test]
fn quiet_leaves_out_remarks_and_nothing_that_went_wrong() {
    let place = Place::shipped();
    let warned = |place: &Place| place.nameless(&["presets", "list"]).output().expect("run gatehouse").stderr;
    assert_eq!(warned(&place), b"", "the shipped file would change nothing");
    let shipped = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", format!("{shipped}\n# Ours.\n"));
    let stderr = |arguments: &[&str]| {
        let output = place.nameless(arguments).output().expect("run gatehouse");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(stderr(&["presets", "list"]).contains("presets.toml is not used: it is not trusted"));
    assert_eq!(stderr(&["presets", "list", "-q"]), "");
    assert!(run(&place, 2, &["presets", "show", "nope", "-q"]).stderr().contains("unknown preset 'nope'"));
}

#[test]
fn a_shell_completes_commands_presets_gates_and_servers() {
    let place = Place::shipped();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&place, 0, &["completions", shell]).stdout();
        assert!(script.contains("GATEHOUSE_COMPLETE") && script.contains("gatehouse"), "{shell}: {script}");
    }
    let completed = |line: &[&str]| {
        let mut command = place.command(&[&["--", "gatehouse"], line].concat());
        command.env("GATEHOUSE_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", line.len().to_string());
        let output = command.env("_CLAP_IFS", " ").output().expect("run gatehouse");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(completed(&["allowed"]), "allowed-tools");
    assert_eq!(completed(&["presets", "show", "cont"]), "context");
    assert_eq!(completed(&["serve", "--preset", "me"]), "merger");
    assert_eq!(completed(&["gates", "inspect", "res"]), "research");
    place.write("presets.toml", "[servers.github]\nurl = \"https://a.example\"\n");
    assert_eq!(completed(&["servers", "login", ""]).split(' ').next(), Some("github"));
    run(&place, 0, &["keys", "create", "ada"]);
    assert_eq!(completed(&["keys", "revoke", ""]).split(' ').next(), Some("ada"));
    place.write("notes/one.md", "# One\n");
    run(&place, 0, &["docs", "add", "notes", "--name", "handbook"]);
    assert_eq!(completed(&["docs", "search", "hand"]), "handbook");
    place.write("presets.toml", child("mine", &[], ""));
    run(&place, 0, &["servers", "refresh"]);
    assert_eq!(completed(&["tools", "schema", "mine", "ech"]), "echo");
    place.write("presets.toml", "nonsense");
    assert_eq!(completed(&["presets", "show", "cont"]), "", "completion reports no errors");
}

#[test]
fn a_command_ends_quietly_when_its_reader_closes_the_pipe() {
    let place = Place::shipped();
    for arguments in [&["presets", "cost"] as &[&str], &["gates", "list", "--json"], &["completions", "bash"]]
    {
        let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.as_mut().map_err(|error| error.to_string()).expect("start gatehouse");
        drop(child.stdout.take());
        let mut text = String::new();
        let mut stderr = child.stderr.take().expect("stderr");
        std::io::Read::read_to_string(&mut stderr, &mut text).expect("read stderr");
        assert_eq!(child.wait().expect("wait for gatehouse").code(), Some(0), "{arguments:?}: {text}");
        assert_eq!(text, "", "{arguments:?}");
    }
}
