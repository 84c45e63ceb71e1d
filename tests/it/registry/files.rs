//! `gates add` locally: names, files, and edits of `presets.toml`.

use std::fs;

use super::{
    PRESETS, components,
    fake::{Answer, Fake, WASM, echo, honest, layer, manifest},
    presets, run, says, tools,
};
use crate::support::Place;

fn registry() -> Fake {
    let wasm = echo();
    Fake::start(honest(&manifest(&[layer(WASM, &wasm)]), wasm))
}

fn reference(fake: &Fake, name: &str) -> String {
    format!("oci://{}/acme/{name}", fake.address)
}

#[test]
fn a_stranger_does_not_choose_whose_grants_he_gets() {
    let fake = registry();
    let place = Place::with(PRESETS, &["code"]);
    let stderr = run(&place, 2, &["gates", "add", &reference(&fake, "idea")]).stderr();
    says(&stderr, &["gate 'idea' already exists, and is granted knowledge:read", "--name idea"]);
    let stderr = run(&place, 2, &["gates", "add", &reference(&fake, "code")]).stderr();
    says(&stderr, &["gate 'code' already exists, and is granted nothing"]);
    let stderr = run(&place, 2, &["gates", "add", &reference(&fake, "a.b")]).stderr();
    says(&stderr, &["'a.b' cannot be the name of a gate", "--name"]);
    assert!(fake.seen().is_empty(), "nothing is brought before the name is clear");
    assert_eq!(presets(&place), PRESETS);

    let ran = run(&place, 0, &["gates", "add", &reference(&fake, "idea"), "--name", "idea", "--json"]);
    assert_eq!(ran.json()["granted"], serde_json::json!(["knowledge:read"]));
    says(&presets(&place), &["[gates.idea] # keep\ngrants = [\"knowledge:read\"]\ncomponent = \"oci://"]);
}

#[test]
fn a_broken_or_missing_file_is_reported_before_anything_is_brought() {
    let fake = registry();
    let place = Place::with("[host]\ngatez = []\n", &[]);
    let stderr = run(&place, 2, &["gates", "add", &reference(&fake, "echo")]).stderr();
    says(&stderr, &["presets.toml:2:1: unknown key 'gatez'"]);
    fs::remove_file(place.path("presets.toml")).expect("remove");
    let stderr = run(&place, 2, &["gates", "add", &reference(&fake, "echo")]).stderr();
    says(&stderr, &["there is no presets.toml", "--config FILE"]);
    assert!(fake.seen().is_empty());
    let file = place.write("elsewhere/other.toml", PRESETS);
    let config = file.to_str().expect("UTF-8");
    run(&place, 0, &["gates", "add", &reference(&fake, "echo"), "--config", config]);
    assert!(!place.path("presets.toml").exists());
    says(&fs::read_to_string(&file).expect("the file"), &["[gates.echo]"]);
    for wrong in [["--sha256", "abc"], ["--name", "a/b"]] {
        let arguments = [&["gates", "add", "oci://127.0.0.1:1/x", "--config", config], &wrong[..]].concat();
        run(&place, 2, &arguments);
    }
    says(&run(&place, 2, &["gates", "add", "--name", "x"]).stderr(), &["REFERENCE"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_mode_a_mode() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fake = registry();
    let place = Place::with("", &[]);
    let real = place.write("real/presets.toml", PRESETS);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
    fs::remove_file(place.path("presets.toml")).expect("remove");
    symlink(&real, place.path("presets.toml")).expect("link");
    run(&place, 0, &["gates", "add", &reference(&fake, "echo")]);
    assert!(place.path("presets.toml").is_symlink());
    says(&fs::read_to_string(&real).expect("the file"), &["[gates.echo]"]);
    assert_eq!(fs::metadata(&real).expect("meta").permissions().mode() & 0o777, 0o640);
    let names = fs::read_dir(place.path("real")).expect("the folder").count();
    assert_eq!(names, 1, "nothing is left behind");
    let folder = fs::metadata(place.path("state/components")).expect("meta").permissions().mode();
    assert_eq!(folder & 0o777, 0o700);

    // A link at the component's path is replaced; its target stays unchanged.
    let file = place.path("state/components").join(components(&place).pop().expect("a component"));
    let victim = place.write("victim", "precious");
    fs::remove_file(&file).expect("remove");
    symlink(&victim, &file).expect("link");
    run(&place, 0, &["gates", "add", &reference(&fake, "echo")]);
    assert!(!file.is_symlink());
    assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
}

#[test]
fn a_file_beside_the_configuration_is_pinned_where_it_is() {
    let place = Place::with(PRESETS, &[]);
    place.write("mine/echo.wasm", echo());
    let report = run(&place, 0, &["gates", "add", "mine/echo.wasm", "--json"]).json();
    let sha256 = report["sha256"].as_str().expect("a digest");
    says(
        &presets(&place),
        &[&format!("[gates.echo]\ncomponent = \"mine/echo.wasm\"\nsha256 = \"{sha256}\"\n")],
    );
    assert!(components(&place).is_empty());
    assert!(tools(&place).contains(&"echo".to_owned()));
    says(&run(&place, 0, &["gates", "add", "mine/echo.wasm"]).stdout(), &["is already installed"]);
    let wrong = "0".repeat(64);
    says(&run(&place, 1, &["gates", "add", "mine/echo.wasm", "--sha256", &wrong]).stderr(), &[", expected "]);
    says(
        &run(&place, 1, &["gates", "add", "nowhere.wasm"]).stderr(),
        &["nowhere.wasm", "begins with oci://"],
    );
    place.write("text.wasm", "text");
    says(&run(&place, 1, &["gates", "add", "text.wasm"]).stderr(), &["text.wasm: is not WebAssembly"]);
}

#[test]
fn a_file_from_elsewhere_is_copied_and_writes_over_nothing_of_others() {
    let elsewhere = Place::with("", &["echo", "idea"]);
    let from = |name: &str| elsewhere.path(&format!("gates/{name}.wasm")).display().to_string();
    let place = Place::with(PRESETS, &[]);
    run(&place, 0, &["gates", "add", &from("echo")]);
    says(&presets(&place), &["component = \"gates/echo.wasm\""]);
    assert!(tools(&place).contains(&"echo".to_owned()));

    fs::copy(from("idea"), from("echo")).expect("a new build");
    says(&run(&place, 0, &["gates", "add", &from("echo")]).stdout(), &["updated gate 'echo'", " -> "]);
    assert_eq!(tools(&place), ["wiki_idea_search"]);

    place.write("gates/echo.wasm", "my own work");
    let stderr = run(&place, 2, &["gates", "add", &from("echo")]).stderr();
    says(&stderr, &["gate 'echo' already exists"]);
    let stderr = run(&place, 1, &["gates", "add", &from("echo"), "--name", "echo"]).stderr();
    says(&stderr, &["gates/echo.wasm already exists with other content"]);
    assert_eq!(fs::read_to_string(place.path("gates/echo.wasm")).expect("the file"), "my own work");
}

#[test]
fn nothing_to_install_is_reported() {
    let place = Place::with(PRESETS, &[]);
    says(&run(&place, 0, &["gates", "add"]).stdout(), &["names no gate from a registry"]);
    let empty_registry = Fake::start(|_| Answer::new(404, ""));
    let stderr = run(&place, 1, &["gates", "add", &empty_registry.reference()]).stderr();
    says(&stderr, &[&format!("{} not found", empty_registry.reference())]);
}
