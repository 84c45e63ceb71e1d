//! Servers for commands: they are listed once, failures are remembered, and secrets have a private file.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    process::Stdio,
};

use serde_json::{Value, json};

use super::child;
use crate::support::{Client, Place, Ran};

/// A place without a `presets.toml`, as for a new user.
fn empty() -> Place {
    let place = Place::with("", &[]);
    fs::remove_file(place.path("presets.toml")).expect("remove presets.toml");
    place
}

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

/// Runs a command with this standard input.
fn run_with(place: &Place, arguments: &[&str], input: &str) -> Ran {
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("run gatehouse");
    running.stdin.take().expect("an input").write_all(input.as_bytes()).expect("write");
    Ran(running.wait_with_output().expect("run gatehouse"))
}

/// A server that records each of its starts, and fails after half a second.
fn failing(place: &Place) -> String {
    let script = format!("echo x >> {}; sleep 0.5; exit 3", place.path("starts").display());
    format!("[servers.broken]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n")
}

#[test]
fn a_command_waits_for_first_listings_and_remembers_failures() {
    let place = Place::with("", &[]);
    place.write("presets.toml", child("files", &[], "") + &failing(&place));
    let search = run(&place, 0, &["tools", "search", "echo a text"]);
    assert!(search.stdout().contains("files: echo"), "{}", search.stdout());
    assert!(search.stdout().contains("Not searched: broken ("), "{}", search.stdout());
    let starts = || fs::read_to_string(place.path("starts")).expect("starts").lines().count();
    let first = starts();
    let again = run(&place, 0, &["tools", "search", "echo a text"]);
    assert!(again.stdout().contains("Not searched: broken ("), "{}", again.stdout());
    assert_eq!(starts(), first, "a failed server is not started again for ten minutes");
    // With another variable it may work.
    assert_eq!(run_with(&place, &["servers", "env", "set", "ANY_KEY"], "value").code(), 0);
    run(&place, 0, &["tools", "search", "echo a text"]);
    assert!(starts() > first);
    let first = starts();
    // `servers refresh` always tries.
    place.run(&["servers", "refresh", "broken"]);
    assert!(starts() > first);
}

#[test]
fn an_added_server_is_listed_at_once_and_a_running_host_sees_it() {
    let place = empty();
    let mut client = Client::start(&place, "proxy");
    let (server, inner) =
        (crate::support::place::binary(), Place::with("[presets.one]\ngates.echo = {}\n", &["echo"]));
    let (server, file) = (server.display().to_string(), inner.path("presets.toml").display().to_string());
    let arguments = ["servers", "add", "files", "--", &server, "serve", "--preset", "one", "--config", &file];
    let added = run(&place, 0, &arguments);
    assert!(added.stdout().contains("server 'files': 2 tools"), "{}", added.stdout());
    while !client.text("list_mcp_servers", json!({})).contains("files") {}
    let listed = run(&place, 0, &["servers", "list"]);
    assert!(listed.stdout().contains("files"), "{}", listed.stdout());
}

#[test]
fn commands_that_check_start_no_server() {
    let place = Place::with("", &[]);
    place.write("presets.toml", failing(&place) + "[presets.one]\nservers = [\"broken\"]\n");
    for arguments in [&["presets", "check"][..], &["doctor"], &["status"], &["map"], &["presets", "list"]] {
        place.run(arguments);
        assert!(!place.path("starts").exists(), "{arguments:?}");
    }
    place.run(&["presets", "check", "--start-servers"]);
    assert!(place.path("starts").exists());
}

#[test]
fn secrets_of_imported_servers_have_a_private_file() {
    let place = empty();
    let (token, server) = (
        "ghp_0123456789abcdefghij0123456789abcdef",
        "[ \"$API_TOKEN\" = ghp_0123456789abcdefghij0123456789abcdef ]",
    );
    let script = format!("{server} && echo found > {}", place.path("found").display());
    let client = json!({"mcpServers": {"tracker": {"command": "sh", "args": ["-c", script.replace(token, "\"$WANTED\"")],
        "env": {"API_TOKEN": token, "WANTED": token}}}});
    place.write(".cursor/mcp.json", client.to_string());
    let imported = run(&place, 0, &["servers", "import", "--write", "--with-secrets"]);
    let shown = format!("{}{}", imported.stdout(), imported.stderr());
    assert!(shown.contains("secrets into") && !shown.contains(token), "{shown}");
    let file = place.path(".config/gatehouse/environment");
    let about = fs::metadata(&file).expect("a file");
    assert_eq!(about.mode() & 0o777, 0o600);
    assert!(place.path("found").exists(), "the server was started with its secret: {shown}");
    let set = run_with(&place, &["servers", "env", "set", "OTHER_KEY"], "it's \"quoted\" $x\n");
    assert_eq!(set.code(), 0, "{}", set.stderr());
    let names: Value = run(&place, 0, &["servers", "env", "list", "--json"]).json();
    assert!(names.as_array().expect("names").contains(&json!("OTHER_KEY")), "{names}");
    // No program inherits what its definition does not name.
    let seen = place.path("seen");
    place.write(
        "presets.toml",
        format!("[servers.spy]\ncommand = \"sh\"\nargs = [\"-c\", \"env > {}\"]\n", seen.display()),
    );
    place.run(&["tools", "search", "x"]);
    let environment = fs::read_to_string(&seen).expect("the environment of the program");
    assert!(!environment.contains("OTHER_KEY") && !environment.contains(token), "{environment}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("chmod");
    let refused = run(&place, 2, &["status"]);
    assert!(refused.stderr().contains("chmod 600"), "{}", refused.stderr());
}

#[test]
fn concurrent_commands_lose_no_variable() {
    let place = Place::with("", &[]);
    let names: Vec<String> = (0..6).map(|number| format!("KEY_{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope
                .spawn(|| assert_eq!(run_with(&place, &["servers", "env", "set", name], "secret").code(), 0));
        }
    });
    let listed: Vec<String> =
        serde_json::from_value(run(&place, 0, &["servers", "env", "list", "--json"]).json()).expect("names");
    assert_eq!(listed, names);
    let refused = run_with(&place, &["servers", "env", "set", "1KEY"], "");
    assert!(refused.code() == 2 && refused.stderr().contains("1KEY: "), "{}", refused.stderr());
}

#[test]
fn a_search_fits_only_when_no_server_is_still_starting() {
    let place = Place::with("", &[]);
    let slow = "[servers.slow]\ncommand = \"sleep\"\nargs = [\"600\"]\n[servers.a]\ncommand = \"x\"\nenv = { K = \"${NO_SUCH_A}\" }\n\
        [servers.b]\ncommand = \"x\"\nenv = { K = \"${NO_SUCH_B}\" }\n";
    place.write("presets.toml", child("files", &[], ""));
    run(&place, 0, &["servers", "refresh"]);
    place.write("presets.toml", child("files", &[], "") + slow);
    let mut client = Client::start(&place, "proxy");
    let found = client.text("search_tools", json!({"query": "echo"}));
    assert!(found.contains("Still starting: slow") && !found.contains("Fits:\n"), "{found}");
    assert!(found.contains("Not searched: a, b (variables not set)."), "{found}");
}

#[test]
fn the_first_words_of_a_new_user_lead_on() {
    let place = empty();
    let alone = run(&place, 0, &[]);
    assert!(
        alone.stdout().lines().count() <= 10 && alone.stdout().contains("servers import"),
        "{}",
        alone.stdout()
    );
    let search = run(&place, 0, &["tools", "search", "x"]);
    assert!(
        search.stderr().contains("there are no servers: run `gatehouse servers import`"),
        "{}",
        search.stderr()
    );
    for (arguments, expected) in [
        (&["preset"][..], "unknown command 'preset'. Did you mean 'presets'?"),
        (&["call", "search_knowlege"], "Did you mean 'search_knowledge'? `gatehouse presets show full`"),
        (&["restore", "/nope"], "/nope: cannot be read"),
    ] {
        let ran = place.run(arguments);
        assert_ne!(ran.code(), 0);
        assert!(ran.stderr().contains(expected), "{}", ran.stderr());
    }
    let quiet = Client::start(&place, "proxy");
    assert!(!quiet.log().contains("WARN"), "{}", quiet.log());
}
