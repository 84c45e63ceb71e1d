//! Gate files: a file that is not a gate of this contract is rejected by name and with the reason.

use std::fs;

use super::{refused, says, served};
use crate::support::Place;

/// Returns the error for `gates/weather.wasm` with this content; a second start must repeat it.
fn refuses_component(content: &[u8]) -> String {
    let place = Place::with("[presets.full]\ngates.weather = {}\n", &[]);
    place.write("gates/weather.wasm", content);
    let line = refused(&place, &[], &[]);
    assert_eq!(refused(&place, &[], &[]), line, "a cache must not change the answer");
    says(&line, &["preset 'full'", "gate 'weather' cannot be loaded", "gates/weather.wasm: "]);
    line
}

#[test]
fn garbage_is_no_gate() {
    says(&refuses_component(b"garbage"), &["is not WebAssembly"]);
    says(&refuses_component(b""), &["is not WebAssembly"]);
    says(&refuses_component(&[0; 4096]), &["is not WebAssembly"]);
}

#[test]
fn a_core_module_is_no_gate_and_the_right_target_is_named() {
    says(&refuses_component(b"\0asm\x01\0\0\0"), &["core WebAssembly module", "wasm32-wasip2"]);
}

#[test]
fn an_empty_component_is_no_gate() {
    says(
        &refuses_component(b"\0asm\x0d\0\x01\0"),
        &["is a component but not a gate", "gatehouse:gate/tools"],
    );
}

#[test]
fn half_a_gate_is_no_gate() {
    let whole = fs::read(Place::shipped().path("gates/idea.wasm")).expect("a gate");
    says(&refuses_component(&whole[..whole.len() / 2]), &["is not a valid component"]);
}

#[test]
fn a_missing_component_file_is_named() {
    let presets = "[gates.weather]\ncomponent = \"else/where.wasm\"\n[presets.full]\ngates.weather = {}\n";
    let line = refused(&Place::with(presets, &[]), &[], &[]);
    says(&line, &["preset 'full'", "gate 'weather'", "else/where.wasm", "No such file"]);
}

#[test]
fn a_folder_is_no_gate() {
    let place = Place::with("[presets.full]\ngates.weather = {}\n", &[]);
    fs::create_dir(place.path("gates/weather.wasm")).expect("a folder");
    says(&refused(&place, &[], &[]), &["weather.wasm: is not a file"]);
}

#[test]
fn a_component_may_lie_anywhere_and_its_path_starts_at_the_file() {
    let place = Place::with("", &["idea"]);
    fs::rename(place.path("gates/idea.wasm"), place.path("mine.wasm")).expect("rename");
    let presets = "[gates.mine]\ncomponent = \"../mine.wasm\"\n[presets.full]\ngates.mine = {}\n";
    place.write("conf/presets.toml", presets);
    assert_eq!(served(&place, &["--config", "conf/presets.toml"], &[]).tools(), ["wiki_idea_search"]);
}

#[test]
fn only_the_pinned_file_is_served() {
    let place = Place::with("[presets.full]\ngates.idea = {}\n", &["idea"]);
    let gate = place.run(&["gates", "inspect", "idea", "--json"]).json();
    let digest = gate["sha256"].as_str().expect("a digest");
    let pinned = |pin: &str| format!("[gates.idea]\nsha256 = \"{pin}\"\n[presets.full]\ngates.idea = {{}}\n");
    place.write("presets.toml", pinned(&digest.to_uppercase()));
    assert_eq!(served(&place, &[], &[]).tools(), ["wiki_idea_search"]);
    let other = "0".repeat(64);
    place.write("presets.toml", pinned(&other));
    says(
        &refused(&place, &[], &[]),
        &["idea.wasm: its SHA-256 is", digest, &format!("presets.toml pins {other}")],
    );
    place.write("presets.toml", pinned("abc"));
    says(&refused(&place, &[], &[]), &["presets.toml:2:10: 'abc' is not a SHA-256"]);
}

#[test]
fn a_gate_that_was_replaced_while_the_host_was_stopped_is_seen_for_what_it_is() {
    let place = Place::with("[presets.full]\ngates.idea = {}\n", &["idea", "code"]);
    assert_eq!(served(&place, &[], &[]).tools(), ["wiki_idea_search"]);
    fs::rename(place.path("gates/code.wasm"), place.path("gates/idea.wasm")).expect("rename");
    assert_eq!(served(&place, &[], &[]).tools(), ["wiki_code_search"]);
    place.write("gates/idea.wasm", "garbage");
    says(&refused(&place, &[], &[]), &["idea.wasm: is not WebAssembly"]);
}

#[test]
fn a_gate_of_another_contract_is_refused_and_the_contract_is_named() {
    let mut bytes = fs::read(Place::with("", &["echo"]).path("gates/echo.wasm")).expect("a gate");
    let (known, unknown) = (b"gatehouse:gate/tools@0.1.0", b"gatehouse:gate/tools@7.1.0");
    let places: Vec<usize> =
        (0..bytes.len() - known.len()).filter(|at| bytes[*at..].starts_with(known)).collect();
    assert!(!places.is_empty(), "the component names what it exports");
    for at in places {
        bytes[at..at + known.len()].copy_from_slice(unknown);
    }
    says(&refuses_component(&bytes), &["contract gatehouse:gate@0.1.0"]);
}

#[test]
fn a_file_of_a_size_that_no_gate_has_is_not_even_read() {
    let place = Place::with("[presets.full]\ngates.weather = {}\n", &[]);
    let file = fs::File::create(place.path("gates/weather.wasm")).expect("a file");
    file.set_len(257 << 20).expect("a long file without content");
    says(&refused(&place, &[], &[]), &["weather.wasm: is 269484032 bytes; the limit is 268435456"]);
}

#[test]
fn folders_that_cannot_be_used_cost_speed_and_what_is_kept_and_nothing_else() {
    let presets =
        "[gates.idea]\ngrants = [\"knowledge:read\"]\n[presets.full]\ngates.echo = {}\ngates.idea = {}\n";
    let place = Place::with(presets, &["echo", "idea"]);
    let state = place.write("not-a-folder", "a file");
    let mut client = crate::support::Client::raw(
        &place,
        &["serve", "--preset", "full"],
        &["GATEHOUSE_STATE", "XDG_CACHE_HOME"].map(|name| (name, state.to_str().expect("a path"))),
    );
    client.initialize("2025-11-25");
    assert_eq!(client.text("echo", serde_json::json!({"text": "still"})), "still");
    let error = client.fails("wiki_idea_search", serde_json::json!({"query": "anything"}));
    assert!(error.contains("not-a-folder"), "{error}");
    client.log_with("cannot store");
}
