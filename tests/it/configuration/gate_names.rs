//! Gate names cannot be mistaken for an option or lead out of a folder.

use super::{refused, refuses, says};
use crate::support::{Client, Place, place::built};

const WHY: &str =
    "'--x' cannot be the name of a gate: a gate's name has at most 64 letters, digits, _ and -, and begins";

#[test]
fn presets_toml_and_the_environment_name_no_such_gate() {
    says(&refuses("[gates.\"--x\"]\ngrants = []\n[presets.full]\n"), &["presets.toml:1:8: ", WHY]);
    says(&refuses("[presets.full]\ngates.\"--x\" = {}\n"), &["presets.toml:2:7: ", WHY]);
    let place = Place::with("[presets.full]\n", &[]);
    says(&refused(&place, &[], &[("MCP_ENABLED_GATES", "kg,--x")]), &["MCP_ENABLED_GATES: ", WHY]);
}

#[test]
fn a_file_with_such_a_name_is_ignored_with_a_warning() {
    let place = Place::with("[presets.full]\ngates.echo = {}\n", &["echo"]);
    place.write("gates/--x.wasm", built("echo"));
    let listed = place.run(&["gates", "list"]);
    assert!(!listed.stdout().contains("--x") && listed.stdout().contains("echo"), "{}", listed.stdout());
    says(&listed.stderr(), &["a file in ", "gates is ignored: ", WHY]);
    says(&place.run(&["doctor"]).stdout(), &["warn  gates: a file in ", WHY]);
    let client = Client::start(&place, "full");
    says(&client.log_with("is ignored"), &[WHY]);
}

#[test]
fn no_command_makes_such_a_gate() {
    let place = Place::with("[presets.full]\n", &[]);
    place.write("elsewhere/--x.wasm", built("echo"));
    let before = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    for arguments in [
        &["gates", "add", "elsewhere/--x.wasm"][..],
        &["gates", "add", "elsewhere/--x.wasm", "--name=--x"],
        &["gates", "new", "--", "--x"],
    ] {
        let ran = place.run(arguments);
        assert_eq!(ran.code(), 2, "{arguments:?}: {}", ran.stderr());
        says(&ran.stderr(), &["'--x' cannot be the name of a gate"]);
    }
    assert_eq!(std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml"), before);
    assert!(!place.path("--x").exists());
}
