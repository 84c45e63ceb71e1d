//! Gates from and to an OCI registry: a gate that is published, installed and served is the same file throughout, and
//! no answer of a registry installs another.

mod adversary;
mod credentials;
mod fake;
mod files;
mod server;
mod update;

use std::fs;

use self::server::Registry;
use crate::support::{Client, Place, place::Ran};

/// A file with comments and uneven spacing, which edits must preserve.
const PRESETS: &str = "\
# what we serve
[host]
default_preset =   \"full\"  # the one

[gates.idea] # keep
grants = [\"knowledge:read\"]

[presets.full]
gates.echo = {}   # from a registry
# the end
";

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    run_with(place, code, arguments, &[])
}

fn run_with(place: &Place, code: i32, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = place.command(arguments);
    let ran = Ran(command.envs(environment.iter().copied()).output().expect("run gatehouse"));
    assert!(!ran.stderr().contains("panicked"), "{arguments:?}: {}", ran.stderr());
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

fn presets(place: &Place) -> String {
    fs::read_to_string(place.path("presets.toml")).expect("presets.toml")
}

fn components(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("state/components")).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn publish(registry: &Registry, gate: &str, to: &str) -> String {
    let author = Place::with("", &[gate]);
    let reference = format!("oci://{}/{to}", registry.address);
    let report =
        run(&author, 0, &["gates", "push", &format!("gates/{gate}.wasm"), &reference, "--json"]).json();
    report["reference"].as_str().expect("a reference").to_owned()
}

fn tools(place: &Place) -> Vec<String> {
    let mut client = Client::raw(place, &["serve"], &[]);
    client.initialize("2025-11-25");
    client.tools()
}

fn refused(place: &Place) -> String {
    run(place, 2, &["serve"]).stderr()
}

#[test]
fn what_is_published_is_installed_and_served_and_nothing_in_its_place() {
    let Some(registry) = Registry::start("") else { return };
    let reference = publish(&registry, "echo", "acme/gates/echo:1.0");
    assert!(reference.starts_with(&format!("oci://{}/acme/gates/echo@sha256:", registry.address)));

    let place = Place::with(PRESETS, &[]);
    let ran = run(&place, 0, &["gates", "add", &reference]);
    let file = components(&place).pop().expect("a component");
    let sha256 = file.trim_end_matches(".wasm");
    says(
        &ran.stdout(),
        &["installed gate 'echo'", &reference, sha256, "granted      nothing", "gates.echo = {}"],
    );
    let block = format!("\n[gates.echo]\ncomponent = \"{reference}\"\nsha256 = \"{sha256}\"\n");
    assert_eq!(presets(&place).replace(&block, ""), PRESETS, "{}", presets(&place));
    assert!(tools(&place).contains(&"echo".to_owned()));

    let another = Place::with("", &["idea"]);
    fs::copy(another.path("gates/idea.wasm"), place.path("state/components").join(&file)).expect("replace");
    says(&refused(&place), &["its SHA-256 is", &format!("presets.toml pins {sha256}")]);
    // The same command repairs it, because the file does not match the manifest.
    run(&place, 0, &["gates", "add", &reference]);
    assert!(tools(&place).contains(&"echo".to_owned()));
}

#[test]
fn the_same_file_is_the_same_artifact() {
    let Some(registry) = Registry::start("") else { return };
    let first = publish(&registry, "echo", "echo:1");
    assert_eq!(publish(&registry, "echo", "echo:1"), first, "published twice");
    assert_eq!(publish(&registry, "echo", "echo"), first, "under another tag");
    let author = Place::with("", &["echo"]);
    fs::rename(author.path("gates/echo.wasm"), author.path("other.wasm")).expect("rename");
    let to = format!("oci://{}/echo:2", registry.address);
    let ran = run(&author, 0, &["gates", "push", "other.wasm", &to]);
    assert_eq!(ran.stdout().trim(), first, "from a file of another name");
    says(&ran.stderr(), &["published echo", "the tag 2", &format!("gatehouse gates add {first} --sha256 ")]);
}

#[test]
fn adding_twice_is_adding_once_and_an_update_says_what_changes() {
    let Some(registry) = Registry::start("") else { return };
    let first = publish(&registry, "echo", "echo:1");
    let place = Place::with(PRESETS, &[]);
    let tagged = format!("oci://{}/echo:1", registry.address);
    run(&place, 0, &["gates", "add", &tagged]);
    let (written, files) = (presets(&place), components(&place));
    // The tag remains next to the digest, for later updates.
    let tag_kept = |reference: &str| reference.replace("echo@", "echo:1@");
    says(&written, &[&format!("component = \"{}\"", tag_kept(&first))]);
    says(&run(&place, 0, &["gates", "add", &tagged]).stdout(), &["gate 'echo' is already installed"]);
    assert_eq!((presets(&place), components(&place)), (written.clone(), files.clone()));

    let commented = written.replace("sha256 = ", "grants = [] # none\nsha256 = ");
    place.write("presets.toml", &commented);
    let second = publish(&registry, "vices", "echo:1");
    let ran = run(&place, 0, &["gates", "add", &tagged]);
    let old = files[0].trim_end_matches(".wasm").to_owned();
    let new = components(&place).into_iter().find(|file| *file != files[0]).expect("another component");
    let new = new.trim_end_matches(".wasm");
    says(
        &ran.stdout(),
        &[&format!("updated gate 'echo': SHA-256 {old} -> {new}"), "asks for     ", "knowledge"],
    );
    says(&ran.stdout(), &["grants = [\"knowledge\"]", "\"knowledge:read\" instead"]);
    assert_eq!(presets(&place), commented.replace(&tag_kept(&first), &tag_kept(&second)).replace(&old, new));
}

#[test]
fn a_shared_file_installs_what_it_names() {
    let Some(registry) = Registry::start("") else { return };
    let reference = publish(&registry, "echo", "tools/parrot:1");
    let place = Place::with(PRESETS, &[]);
    run(&place, 0, &["gates", "add", &reference, "--name", "echo"]);
    let shared = presets(&place);

    let other = Place::with(&shared, &[]);
    let command = format!("gate 'echo' is not installed; run `gatehouse gates add {reference} --name echo`");
    says(&refused(&other), &[&command]);
    let listed = run(&other, 1, &["gates", "list"]).stdout();
    says(&listed, &["not installed"]);
    says(&run(&other, 0, &["gates", "add"]).stdout(), &[&format!("installed gate 'echo' from {reference}")]);
    assert_eq!((presets(&other), components(&other)), (shared.clone(), components(&place)));
    assert!(tools(&other).contains(&"echo".to_owned()));
    says(&run(&other, 0, &["gates", "add"]).stdout(), &["gate 'echo' is installed"]);

    let wrong = "0".repeat(64);
    let file = components(&place).pop().expect("a component");
    let pinned = Place::with(&shared.replace(file.trim_end_matches(".wasm"), &wrong), &[]);
    says(
        &run(&pinned, 1, &["gates", "add"]).stdout(),
        &["cannot be installed", &format!("expected {wrong}")],
    );
    assert!(components(&pinned).is_empty());
}

#[test]
fn what_is_no_gate_is_not_published() {
    let Some(registry) = Registry::start("") else { return };
    let place = Place::with("", &["echo"]);
    let to = format!("oci://{}/echo:1", registry.address);
    place.write("core.wasm", b"\0asm\x01\0\0\0");
    let ran = run(&place, 1, &["gates", "push", "core.wasm", &to]);
    says(&ran.stderr(), &["core.wasm", "is a core WebAssembly module"]);
    place.write("text.wasm", "text");
    says(&run(&place, 1, &["gates", "push", "text.wasm", &to]).stderr(), &["is not WebAssembly"]);
    says(&run(&place, 1, &["gates", "push", "nothing.wasm", &to]).stderr(), &["nothing.wasm"]);
    let pinned = format!("{to}@sha256:{}", "0".repeat(64));
    says(&run(&place, 2, &["gates", "push", "gates/echo.wasm", &pinned]).stderr(), &["remove @sha256:"]);
    says(
        &run(&place, 2, &["gates", "push", "gates/echo.wasm", "ghcr.io/x"]).stderr(),
        &["invalid reference"],
    );
    says(&run(&place, 1, &["gates", "add", &to, "--name", "x"]).stderr(), &[&format!("{to} not found")]);
}
