//! A `presets.toml` in the working folder may come from a stranger. It is used only if the command line or environment
//! names it, or if the user trusted its current content.

use std::{fs, process::Command};

use serde_json::json;

use super::says;
use crate::support::{Client, Place, place::Ran, server::Server};

const STRANGE: &str = "[gates.idea]\ngrants = [\"knowledge\"]\n[presets.full]\ngates.idea = {}\n";

/// A cloned repository with an untrusted `presets.toml`, and an operator with a file in the configuration home.
fn clone() -> Place {
    let place = Place::with(STRANGE, &["idea", "code"]);
    let gates = place.path("gates");
    let own = format!("[host]\ngates = [{gates:?}]\n[presets.full]\ngates.code = {{}}\n");
    place.write(".config/gatehouse/presets.toml", own);
    place
}

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = Ran(place.nameless(arguments).output().expect("run gatehouse"));
    assert_eq!(ran.code(), code, "{arguments:?}: {}{}", ran.stdout(), ran.stderr());
    ran
}

fn served(mut command: Command) -> Client {
    let mut client = Client::spawn({
        command.stdin(std::process::Stdio::piped());
        command
    });
    client.initialize("2025-11-25");
    client
}

fn local(place: &Place) -> String {
    place.path("presets.toml").canonicalize().expect("a path").display().to_string()
}

#[test]
fn a_file_of_the_working_folder_is_not_used_unless_it_is_named() {
    let place = clone();
    let mut client = served(place.nameless(&["serve"]));
    assert_eq!(client.tools(), ["wiki_code_search"]);
    let own = place.path(".config/gatehouse/presets.toml").display().to_string();
    let file = local(&place);
    says(
        &client.log(),
        &[
            &format!("warning: {file} is not used: it is not trusted. {own} is used instead."),
            &format!("run `gatehouse trust {file}`, or name it with --config"),
        ],
    );
    assert_eq!(served(place.nameless(&["serve", "--config", "presets.toml"])).tools(), ["wiki_idea_search"]);
    let mut named = place.nameless(&["serve"]);
    named.env("GATEHOUSE_CONFIG", "presets.toml");
    assert_eq!(served(named).tools(), ["wiki_idea_search"]);
}

#[test]
fn no_command_uses_it_and_each_says_so() {
    let place = clone();
    for arguments in [
        &["gates", "list"][..],
        &["presets", "list"],
        &["presets", "cost"],
        &["explain", "wiki_code_search"],
        &["status"],
        &["doctor"],
        &["allowed-tools", "full"],
        &["mcp-config", "full"],
    ] {
        let ran = run(&place, 0, arguments);
        says(&ran.stderr(), &["is not used: it is not trusted"]);
        // Both files use the same gates folder, so `gates list` shows the same gates; only their grants differ.
        let stdout = ran.stdout();
        let strange = if arguments[0] == "gates" { "knowledge" } else { "wiki_idea_search" };
        assert!(!stdout.contains(strange), "{arguments:?}: {stdout}");
    }
    assert_eq!(run(&place, 0, &["status", "--json"]).json()["config_passed_over"], json!(local(&place)));
    says(&run(&place, 0, &["doctor"]).stdout(), &["warn  configuration: ", "is not used: it is not trusted"]);
    run(&place, 0, &["gates", "add", "gates/idea.wasm"]);
    assert_eq!(fs::read_to_string(place.path("presets.toml")).expect("the file"), STRANGE);
}

#[test]
fn no_secret_leaves_by_a_file_that_is_not_trusted() {
    let server = Server::start();
    let rule = format!(
        "[gates.fetch.http]\n\"{}\" = {{ headers = {{ Authorization = \"Bearer ${{AWS_SECRET}}\" }} }}\n",
        server.host()
    );
    let place = Place::with(&format!("{rule}[presets.full]\ngates.fetch = {{}}\n"), &["fetch"]);
    for arguments in [&["serve"][..], &["presets", "check"], &["gates", "inspect", "fetch"], &["doctor"]] {
        let mut command = place.nameless(arguments);
        let output = command.env("AWS_SECRET", "0123456789abcdef").output().expect("run gatehouse");
        says(&String::from_utf8_lossy(&output.stderr), &["is not used: it is not trusted"]);
    }
    server.saw_nothing();
}

#[test]
fn trust_is_for_a_file_as_it_is_and_ends_with_a_change() {
    let place = clone();
    let file = local(&place);
    let stdout = run(&place, 0, &["trust"]).stdout();
    says(&stdout, &[&format!("trusted {file}")]);
    assert_eq!(served(place.nameless(&["serve"])).tools(), ["wiki_idea_search"]);
    says(&run(&place, 0, &["trust", "--list"]).stdout(), &["trusted", &file]);

    place.write("presets.toml", "[presets.full]\ngates.idea = {}\ngates.code = {}\n");
    let mut client = served(place.nameless(&["serve"]));
    assert_eq!(client.tools(), ["wiki_code_search"], "the operator's own");
    says(&client.log(), &["is not used: it has changed since it was trusted"]);
    says(&run(&place, 0, &["trust", "--list"]).stdout(), &["changed since", &file]);
    run(&place, 0, &["trust", "presets.toml"]);
    assert_eq!(served(place.nameless(&["serve"])).tools().len(), 2);

    run(&place, 0, &["trust", "--remove"]);
    assert_eq!(served(place.nameless(&["serve"])).tools(), ["wiki_code_search"]);
    says(&run(&place, 1, &["trust", "--remove"]).stderr(), &["was not trusted"]);
    assert_eq!(run(&place, 0, &["trust", "--list", "--json"]).json(), json!([]));
}

#[test]
fn trust_is_for_the_path_and_lies_where_no_repository_can_put_it() {
    let place = clone();
    run(&place, 0, &["trust"]);
    let elsewhere = Place::with(STRANGE, &[]);
    let other = elsewhere.path("presets.toml").canonicalize().expect("a path");
    let mut command = place.nameless(&["serve"]);
    command.current_dir(other.parent().expect("a folder"));
    assert_eq!(served(command).tools(), ["wiki_code_search"]);
    // A list in the data folder has no effect: a repository could set that folder in the environment.
    let list = fs::read(place.path(".local/share/gatehouse/trust/trusted.json")).expect("the list");
    let text = String::from_utf8(list).expect("UTF-8").replace(&local(&place), &other.display().to_string());
    place.write("state/trust/trusted.json", text);
    let mut command = place.nameless(&["serve"]);
    command.current_dir(other.parent().expect("a folder"));
    assert_eq!(served(command).tools(), ["wiki_code_search"]);
    place.write(".local/share/gatehouse/trust/trusted.json", "{}}");
    let mut client = served(place.nameless(&["serve"]));
    assert_eq!(client.tools(), ["wiki_code_search"]);
    says(&client.log(), &["is not used: ", "the list of trusted files is damaged"]);
}

#[test]
fn a_trusted_file_is_found_from_subfolders_and_an_untrusted_one_is_reported() {
    let place = clone();
    place.write("sub/deep/notes.md", "");
    let below = |arguments: &[&str]| {
        let output = place.nameless(arguments).current_dir(place.path("sub/deep")).output();
        Ran(output.expect("run gatehouse"))
    };
    // Without `.git` the folder above is not part of the project, so its file is ignored silently.
    assert_eq!(below(&["presets", "list"]).stderr(), "");
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    says(&below(&["presets", "list"]).stderr(), &[&format!("{} is not used", local(&place))]);
    run(&place, 0, &["trust"]);
    let shown = below(&["presets", "show", "full"]);
    assert_eq!(shown.stderr(), "");
    says(&shown.stdout(), &["wiki_idea_search"]);
    // An untrusted file that is nearer does not hide a trusted one.
    place.write("sub/presets.toml", STRANGE);
    let shown = below(&["presets", "show", "full"]);
    let nearer = place.path("sub/presets.toml").canonicalize().expect("a path");
    says(&shown.stderr(), &[&format!("{} is not used", nearer.display()), &local(&place)]);
    says(&shown.stdout(), &["wiki_idea_search"]);
}

#[test]
fn what_a_file_may_do_is_shown_and_a_broken_one_is_not_trusted() {
    let rule = "[gates.weather.http]\n\"api.example.com\" = { headers = { A = \"${AWS_SECRET}\" } }\n\
                [gates.weather]\ngrants = [\"knowledge\"]\n[presets.full]\ngates.weather = {}\n";
    let place = Place::with(rule, &[]);
    let report = run(&place, 0, &["trust", "--json"]).json();
    assert_eq!(report["allows"]["hosts"], json!(["weather: api.example.com"]));
    assert_eq!(report["allows"]["variables"], json!(["AWS_SECRET"]));
    assert_eq!(report["allows"]["grants"], json!(["weather: knowledge, http"]));
    place.write("broken.toml", "[host]\ngatez = []\n");
    says(&run(&place, 2, &["trust", "broken.toml"]).stderr(), &["broken.toml:2:1: unknown key 'gatez'"]);
    says(&run(&place, 1, &["trust", "nowhere.toml"]).stderr(), &["nowhere.toml: cannot be read"]);
    assert_eq!(run(&place, 0, &["trust", "--list", "--json"]).json().as_array().map(Vec::len), Some(1));
}

#[test]
fn a_running_host_follows_a_trusted_file_when_it_is_trusted_again() {
    let place = clone();
    run(&place, 0, &["trust"]);
    let mut client = served(place.nameless(&["serve"]));
    assert_eq!(client.tools(), ["wiki_idea_search"]);
    place.write("presets.toml", "[presets.full]\ngates.idea = {}\ngates.code = {}\n");
    client.log_with("it has changed since it was trusted; to apply the change, run `gatehouse trust ");
    assert_eq!(client.tools(), ["wiki_idea_search"]);
    run(&place, 0, &["trust"]);
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), ["wiki_code_search", "wiki_idea_search"]);
}

#[test]
fn a_running_host_follows_a_named_file_at_once() {
    let place = clone();
    let mut client = served(place.nameless(&["serve", "--config", "presets.toml"]));
    assert_eq!(client.tools(), ["wiki_idea_search"]);
    place.write("presets.toml", "[presets.full]\ngates.idea = {}\ngates.code = {}\n");
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), ["wiki_code_search", "wiki_idea_search"]);
}

#[test]
fn a_gate_that_is_added_leaves_a_trusted_file_trusted() {
    let place = clone();
    run(&place, 0, &["trust"]);
    run(&place, 0, &["gates", "add", "gates/code.wasm"]);
    says(&fs::read_to_string(place.path("presets.toml")).expect("the file"), &["[gates.code]"]);
    assert_eq!(served(place.nameless(&["serve"])).tools(), ["wiki_idea_search"]);
}

#[test]
fn a_project_that_was_made_here_is_trusted_as_it_was_made() {
    let place = clone();
    run(&place, 0, &["gates", "new", "weather"]);
    let project = place.path("weather");
    let used = || {
        let mut command = place.nameless(&["status", "--json"]);
        Ran(command.current_dir(&project).output().expect("run gatehouse")).json()["config"].clone()
    };
    let file = project.join("presets.toml");
    assert_eq!(used(), json!(file.canonicalize().expect("a path")));
    fs::write(&file, STRANGE).expect("write");
    assert_eq!(used(), json!(place.path(".config/gatehouse/presets.toml").canonicalize().expect("a path")));
}
