//! Tests of the messages for parser errors.

use super::*;
use crate::config::{Config, Env};

fn error_of(content: &str) -> String {
    let text = ConfigText { file: Some("/p".into()), content: content.into() };
    let error = Config::parse(&text, &Env::default()).map(drop).expect_err(content).to_string();
    error.strip_prefix("/p:").expect("a place in the file").to_owned()
}

#[test]
fn typographic_quotes_have_a_location() {
    assert_eq!(error_of("[host]\nstate = “x”\n"), "2:9: “ is a typographic quote: write \" instead");
    assert_eq!(error_of("[host]\nstate = ‘x’\n"), "2:9: ‘ is a typographic quote: write ' instead");
    assert_eq!(error_of("[host]\nstate = \"x”\n"), "2:11: ” is a typographic quote: write \" instead");
}

#[test]
fn syntax_errors_name_the_correction() {
    for (text, words) in [
        ("[host]\nstate = yes\n", "2:9: 'yes' is not a value: write \"yes\" for a string;"),
        ("[host]\nstate = \"x\n", "2:11: this string is not closed"),
        ("[host]\nstate = \"C:\\users\"\n", "a backslash in \"…\" starts an escape: write '…'"),
        ("[host]\nstate: 'x'\n", "2:8: a key without a value: write key = value"),
        ("[host\nx = 1\n", "1:6: this block name is not closed: write ]"),
        ("[host]\ngates = [\"a\" \"b\"]\n", "a comma is missing"),
        ("[host]\ngates = [\n\"a\",\n\n[presets.a]\ndeny = []\n", "2:9: this list is not closed: write ]"),
        ("[host]\ngates = [\"a\"\nstate = \"x\"\n", "2:9: this list is not closed"),
        ("[host]\ngates = [\n\"a\"\n", "2:9: this list is not closed"),
        ("x = [\n[1]\n[2]\n]\n", "3:1: a comma is missing"),
        ("{\"host\": 1}", "1:1: neither a key nor a block"),
    ] {
        assert!(error_of(text).contains(words), "{text}: {}", error_of(text));
    }
}

#[test]
fn duplicate_keys_name_the_line_of_the_first() {
    assert_eq!(
        error_of("[host]\nstate = \"a\"\n\nstate = \"b\"\n"),
        "4:1: host.state is defined twice, first in line 2; remove one of them"
    );
    assert!(
        error_of("[presets.a]\n[presets.b]\n[presets.a]\n").starts_with("3:10: presets.a is defined twice")
    );
}

#[test]
fn wrong_types_name_the_key_the_type_and_the_purpose() {
    assert_eq!(
        error_of("[presets.a]\ndeny = \"x\"\n"),
        "2:8: presets.a.deny must be a list of strings, not the string \"x\": write deny = [\"x\"]. deny is: \
        Globs over tool names to remove."
    );
    for (text, words) in [
        (
            "[gates.a.limits]\ncalls = \"4\"",
            "gates.a.limits.calls must be a whole number, 0 or more, not the string \"4\": write 4",
        ),
        (
            "[gates.a]\ngrants = [5]",
            "an entry of gates.a.grants must be a string, not the number 5: write \"5\", in quotes",
        ),
        (
            "[gates.a.limits]\ntime = 10",
            "not the number 10: write it with a unit, in quotes, for example \"30 s\"",
        ),
        ("[gates.a.limits]\nmemory = 1.5", "with a unit, in quotes, for example \"64 MiB\""),
        (
            "[presets.a]\ngates.kg = true",
            "presets.a.gates.kg must be a block of keys, not true: write kg = {}",
        ),
        ("[presets.a]\nstructured = \"true\"", "presets.a.structured must be true, false or \"auto\""),
        (
            "[presets.a]\nstructured = \"automatic\"",
            "must be true, false or \"auto\", not the string \"automatic\"",
        ),
        ("[knowledge]\nengine = 5", "knowledge.engine must be one of \"sqlite\", \"postgres\""),
        ("[presets.\"a b\"]\ndeny = 1", "presets.\"a b\".deny must be"),
    ] {
        assert!(error_of(text).contains(words), "{text}: {}", error_of(text));
    }
    let secret = error_of("[models.openai]\napi_key = 12345678\n");
    assert!(secret.contains("api_key must be a string") && !secret.contains("12345678"), "{secret}");
    let secret = error_of("[models.openai]\napi_key = sk-12345678\n");
    assert!(secret.contains("is not a value") && !secret.contains("12345678"), "{secret}");
}

#[test]
fn unknown_keys_name_their_block_and_where_they_belong() {
    assert_eq!(
        error_of("[ledger]\nwiki_roots = []\n").split(" Under ").next(),
        Some("2:1: unknown key 'wiki_roots'. It belongs under [knowledge].")
    );
    assert!(error_of("[ledger]\nx = []\n").contains(" Under [ledger] there are: "));
    let top = error_of("[recommend_tools]\n");
    assert!(top.contains("parameters of the gate proxy") && !top.contains("There are"), "{top}");
    let top = error_of("[mcp_client_proxy]\nmax_connection_retries = 5\n");
    assert!(top.contains("unknown key 'mcp_client_proxy'. Write [proxy], with "), "{top}");
    assert!(!error_of("[zzz]\n").contains("recommend_tools"));
}

fn validate(content: String) -> Result<(), ConfigError> {
    ConfigText { file: Some("/p.toml".into()), content }.check_nesting()
}

#[test]
fn brackets_are_counted_as_the_parser_sees_them() {
    assert_eq!(validate(include_str!("../../../../../presets.toml").into()), Ok(()));
    // Brackets in strings and comments do not count, and a table's heading closes itself.
    let many = "a = \"[[[{{{\" # {{{{{[[[\n[x]\nb = [{ c = [1] }]\n".repeat(100);
    assert_eq!(validate(many), Ok(()));
    assert_eq!(validate(format!("a = {}1{}", "[".repeat(60), "]".repeat(60))), Ok(()));
    for deep in
        ["{ a = ".repeat(5_000), "a = [".to_owned() + &"[\n".repeat(5_000), "{ a = \"}\", b = ".repeat(5_000)]
    {
        let reason = validate(deep).expect_err("refused");
        assert!(reason.message.starts_with("more than 64 brackets are open here"), "{reason}");
    }
    let stray = format!("a = 1\nb = }}\n{}", "{ a = ] ".repeat(5_000));
    assert_eq!(
        validate(stray).expect_err("refused"),
        ConfigError::new("/p.toml:2:5", "this bracket closes nothing that is open here")
    );
}
