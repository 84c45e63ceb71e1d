//! Strict parsing of `presets.toml`: each error has its line and column.

use super::{refused, refuses, says, served};
use crate::support::Place;

#[test]
fn an_unknown_key_has_its_line_and_column_and_the_nearest() {
    let cases = [
        ("[presets.full]\ngatez.kg = {}\n", ":2:1: unknown key 'gatez'. Did you mean 'gates'?"),
        (
            "[host]\n\n  default_presett = \"x\"\n",
            ":3:3: unknown key 'default_presett'. Did you mean 'default_preset'?",
        ),
        ("[gate.kg]\n", ":1:2: unknown key 'gate'. Did you mean 'gates'?"),
        ("[gates.kg]\nlimits = { tme = \"1 s\" }\n", ":2:12: unknown key 'tme'. Did you mean 'time'?"),
        ("[knowledge]\nwiki_root = []\n", ":2:1: unknown key 'wiki_root'. Did you mean 'wiki_roots'?"),
        (
            "zzz = 1\n",
            ":1:1: unknown key 'zzz'. There are: host, http, admin, auth, access, models, knowledge, documents, artifacts, ledger, audit, quotas, servers, proxy, gates, presets.",
        ),
    ];
    for (presets, expected) in cases {
        says(&refuses(presets), &[&format!("presets.toml{expected}")]);
    }
}

#[test]
fn a_wrong_value_has_its_line_and_column() {
    let cases = [
        ("[host]\ngates = \"gates\"\n", ":2:9: "),
        (
            "[host]\ndefault_preset = \"ful\"\n[presets.full]\n",
            ":2:18: unknown preset 'ful'. Did you mean 'full'?",
        ),
        ("[knowledge]\nengine = \"sqlit\"\n", ":2:10: 'sqlit' is not allowed here. Did you mean 'sqlite'?"),
        ("[gates.kg]\ngrants = [\"knowlege\"]\n", ":2:11: unknown grant 'knowlege'"),
        ("[gates.kg]\nlimits = { memory = \"lots\" }\n", ":2:21: invalid size 'lots'"),
        ("[gates.kg]\nlimits = { memory = \"64 GiB\" }\n", ":2:21: "),
        ("[gates.kg]\nlimits = { time = \"soon\" }\n", ":2:19: invalid duration 'soon'"),
        ("[gates.kg]\nlimits = { concurrency = 0 }\n", ":2:26: "),
        ("[presets.full]\nextends = \"ideation\"\n", ":2:11: "),
        ("[presets.full]\ngates.kg = true\n", ":2:12: "),
        ("[presets.full]\ngates.kg = {}\ngates.kg = {}\n", ":3:"),
        ("[presets.full\n", ":1:"),
    ];
    for (presets, expected) in cases {
        says(&refuses(presets), &[&format!("presets.toml{expected}")]);
    }
}

#[test]
fn nonsense_ends_the_start_and_never_panics() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let wide = format!("[presets.full]\n\"{}\" = 1\n", "k".repeat(1 << 20));
    let texts = [
        "\0",
        "\u{feff}=",
        "[[presets]]\n",
        "presets = 5\n",
        "[presets.\"\"]\ngates = 5\n",
        "= = =",
        &deep,
        &wide,
    ];
    for text in texts {
        let line = refuses(text);
        assert!(line.contains("presets.toml"), "{line}");
        assert!(!line.contains("panicked") && line.len() < 1000, "{line}");
    }
}

#[test]
fn a_file_that_is_not_text_is_named() {
    let place = Place::with("", &[]);
    place.write("presets.toml", [0xff, 0xfe, 0x00]);
    says(&refused(&place, &[], &[]), &["presets.toml: cannot be read: "]);
}

#[test]
fn the_named_file_must_be_there() {
    let place = Place::shipped();
    says(&refused(&place, &["--config", "nope.toml"], &[]), &["nope.toml: cannot be read: No such file"]);
    place.write("mine.toml", "[presets.full]\ngates.idea = {}\n");
    assert_eq!(served(&place, &["--config", "mine.toml"], &[]).tools(), ["wiki_idea_search"]);
}

#[test]
fn without_a_file_the_shipped_presets_are_built_in() {
    let place = Place::shipped();
    std::fs::remove_file(place.path("presets.toml")).expect("remove");
    assert_eq!(served(&place, &["--gates", "gates"], &[]).tools().len(), 13);
}

#[test]
fn the_users_file_is_found_in_the_configuration_home() {
    let place = Place::shipped();
    let file = place.path("xdg/gatehouse/presets.toml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::remove_file(place.path("presets.toml")).expect("remove");
    std::fs::write(&file, "[presets.full]\ngates.idea = {}\n").expect("write");
    let home = place.path("xdg").display().to_string();
    let environment = [("XDG_CONFIG_HOME", home.as_str())];
    assert_eq!(served(&place, &["--gates", "gates"], &environment).tools(), ["wiki_idea_search"]);
}

#[test]
fn an_invalid_log_filter_is_reported_and_serving_goes_on() {
    let place = Place::shipped();
    let mut client = served(&place, &["--preset", "merger"], &[("GATEHOUSE_LOG", "a=b=c")]);
    assert_eq!(client.tools().len(), 5);
    says(&client.log(), &["GATEHOUSE_LOG 'a=b=c' is not a filter"]);
}
