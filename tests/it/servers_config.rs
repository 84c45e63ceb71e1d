//! Servers in the configuration: declared, added, imported and exposed in presets, without starting one.

use serde_json::{Value, json};

use crate::support::{Place, place::Ran};

const GIT: &str = "# mine\n[servers.git]\ncommand = \"git-mcp\" # of ours\nargs = [\"--token\", \"${GIT_TOKEN}\"]\ntags = [\"work\"]\n";

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

fn presets(place: &Place) -> String {
    std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml")
}

#[test]
fn servers_are_listed_with_what_they_need_and_without_secrets() {
    let off = "[servers.off]\nurl = \"https://off.example/mcp\"\nenabled = false\n";
    let place = Place::with(&format!("{GIT}{off}"), &[]);
    let servers = run(&place, 0, &["servers", "list", "--json"]).json();
    assert_eq!(servers[0]["missing"], json!(["GIT_TOKEN"]));
    assert_eq!(servers[1]["enabled"], json!(false));
    let ran = place.command(&["servers", "list"]).env("GIT_TOKEN", "s3cret-value").output().expect("run");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.contains("git-mcp --token [secret]") && !text.contains("s3cret-value"), "{text}");
    let ran = run(&place, 0, &["doctor"]).stdout();
    assert!(ran.contains("warn  server git: program 'git-mcp' not found"), "{ran}");
    assert!(ran.contains("warn  server git: it needs the environment variable GIT_TOKEN"), "{ran}");
    assert!(!ran.contains("server off"), "{ran}");
}

#[test]
fn a_server_is_added_to_the_file_and_taken_out_again() {
    let place = Place::with(GIT, &[]);
    let add =
        ["servers", "add", "web", "--env", "API_KEY=0123456789", "--tag", "x", "--", "npx", "-y", "web-mcp"];
    let ran = run(&place, 0, &add);
    let block = "[servers.web]\ncommand = \"npx\"\nargs = [\"-y\", \"web-mcp\"]\nenv = { API_KEY = \"${API_KEY}\" }\ntags = [\"x\"]\n";
    assert_eq!(presets(&place), format!("{GIT}\n{block}"));
    assert!(ran.stderr().contains("Run `gatehouse servers env set API_KEY`"), "{}", ran.stderr());
    let all = format!("{}{}", ran.stdout(), ran.stderr());
    assert!(!all.contains("0123456789"), "{all}");
    assert!(run(&place, 2, &add).stderr().contains("it already has a server 'web'"));
    run(&place, 0, &["servers", "remove", "web"]);
    assert_eq!(presets(&place), GIT);
    let unknown = run(&place, 2, &["servers", "remove", "gitt"]).stderr();
    assert!(unknown.contains("there is no server 'gitt'. Did you mean 'git'?"), "{unknown}");
    let bad = run(&place, 2, &["servers", "add", "a__b", "--", "x"]).stderr();
    assert!(bad.contains("'a__b' cannot be the name of a server"), "{bad}");
    assert_eq!(presets(&place), GIT);
}

#[test]
fn secrets_among_arguments_are_shown_by_no_command_and_doctor_warns_of_them() {
    let place = Place::with("", &[]);
    let url = "https://a.example/mcp?api_key=url-12345678";
    let header = ["--header", "Authorization: Bearer live-12345678"];
    let add = [&["servers", "add", "web", "--", "npx", "mcp-remote", url][..], &header].concat();
    let added = run(&place, 0, &add);
    let block = "[servers.web]\ncommand = \"npx\"\nargs = [\"mcp-remote\", \"https://a.example/mcp?api_key=${WEB_API_KEY}\", \"--header\", \"Authorization: Bearer ${WEB_AUTHORIZATION}\"]\n";
    assert_eq!(presets(&place), block);
    let hint = "Run `gatehouse servers env set WEB_AUTHORIZATION`: its value is args[3] (Authorization) of the command line, without 'Bearer '.";
    assert!(added.stderr().contains(hint), "{}", added.stderr());
    place.write(
        "presets.toml",
        block.replace("${WEB_API_KEY}", "url-12345678").replace("${WEB_AUTHORIZATION}", "live-12345678"),
    );
    let listed = run(&place, 0, &["servers", "list"]);
    let doctor = place.run(&["doctor"]);
    for name in ["args[1] (api_key)", "args[3] (Authorization)"] {
        let wanted = format!("server web: the file contains the value of {name}");
        assert!(doctor.stdout().contains(&wanted), "{wanted}: {}", doctor.stdout());
    }
    for ran in [&added, &listed, &doctor] {
        let all = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(!all.contains("12345678"), "{all}");
    }
}

#[test]
fn without_a_file_a_server_is_added_to_the_data_folder() {
    let place = Place::with("", &[]);
    let built_in = |arguments: &[&str]| run(&place, 0, &[arguments, &["--config", "built-in"]].concat());
    built_in(&["servers", "add", "web", "--url", "https://web.example/mcp"]);
    let kept: Value =
        serde_json::from_slice(&std::fs::read(place.path("state/servers/added.json")).expect("kept"))
            .expect("JSON");
    assert_eq!(kept, json!({"servers": {"web": {"url": "https://web.example/mcp"}}}));
    assert_eq!(built_in(&["servers", "list", "--json"]).json()[0]["from"], "added");
    built_in(&["servers", "remove", "web"]);
    assert_eq!(built_in(&["servers", "list", "--json"]).json(), json!([]));
}

#[test]
fn without_a_file_imported_servers_are_written_where_added_ones_are() {
    let place = Place::with("", &[]);
    let here = place.folder.path().canonicalize().expect("a path");
    let server = |command: &str| json!({"mcpServers": {"local": {"command": command, "args": ["--token", "t-12345678"]}}});
    let other = here.join("elsewhere");
    let mut file = json!({"projects": {here.to_str().expect("UTF-8"): server("mine")}});
    file["projects"][other.to_str().expect("UTF-8")] = server("theirs");
    place.write(".claude.json", file.to_string());
    let import = ["servers", "import", "--from", "claude-code", "--config", "built-in", "--write"];
    let written = run(&place, 0, &import);
    let added = place.path("state/servers/added.json");
    assert_eq!(written.stdout(), format!("wrote server 'local' into {}\n", added.display()));
    let elsewhere = format!(".claude.json has servers of other projects: {} (1).", other.display());
    assert!(written.stderr().contains(&elsewhere), "{}", written.stderr());
    let kept: Value = serde_json::from_slice(&std::fs::read(&added).expect("kept")).expect("JSON");
    let local = json!({"command": "mine", "args": ["--token", "${LOCAL_TOKEN}"]});
    assert_eq!(kept, json!({"servers": {"local": local}}));
    let listed = run(&place, 0, &["servers", "list", "--json", "--config", "built-in"]).json();
    assert_eq!((&listed[0]["name"], &listed[0]["from"]), (&json!("local"), &json!("added")));
    let again = run(&place, 0, &import);
    assert!(
        again.stderr().contains("is left out: `servers add` already added the same 'local'"),
        "{}",
        again.stderr()
    );
    let tools = run(&place, 0, &["tools", "search", "anything", "--preset", "proxy", "--config", "built-in"]);
    assert!(tools.stdout().contains("local"), "{}", tools.stdout());
}

#[test]
fn servers_of_other_clients_are_shown_and_written_where_they_are_named() {
    let place = Place::with(GIT, &[]);
    place.write(
        ".mcp.json",
        r#"{"mcpServers": {"git": {"command": "theirs"}, "hub": {"command": "npx", "args": ["hub"], "env": {"HUB_TOKEN": "ghp_0123456789abcdef"}}}}"#,
    );
    place.write(".cursor/mcp.json", r#"{"mcpServers": {"docs": {"url": "https://docs.example/mcp"}}}"#);
    // The place's home is also the working folder, where only Cursor's file counts as the user's.
    let unnamed = run(&place, 0, &["servers", "import"]);
    assert_eq!(unnamed.stdout(), "[servers.docs]\nurl = \"https://docs.example/mcp\"\n\n");
    assert!(unnamed.stderr().contains(".mcp.json is skipped; name it to import it"), "{}", unnamed.stderr());
    let named = run(&place, 0, &["servers", "import", ".mcp.json"]);
    let block =
        "[servers.hub]\ncommand = \"npx\"\nargs = [\"hub\"]\nenv = { HUB_TOKEN = \"${HUB_TOKEN}\" }\n";
    assert_eq!(named.stdout(), format!("{block}\n"));
    assert!(
        named.stderr().contains("is left out: presets.toml already has another 'git'"),
        "{}",
        named.stderr()
    );
    assert!(named.stderr().contains("env set HUB_TOKEN"), "{}", named.stderr());
    assert_eq!(presets(&place), GIT, "showing changes nothing");
    let report = run(&place, 0, &["servers", "import", "--from", "claude-code", "--write", "--json"]).json();
    assert_eq!(report["servers"][0]["name"], "hub");
    assert_eq!(presets(&place), format!("{GIT}\n{block}"));
    assert!(!report.to_string().contains("ghp_"), "{report}");
}

#[test]
fn an_untrusted_file_declares_nothing_and_trust_shows_what_it_would_start() {
    let place = Place::with(GIT, &[]);
    let ran = place.nameless(&["servers", "list", "--json"]).output().expect("run");
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "[]");
    let report = run(&place, 0, &["trust", "--json"]).json();
    assert_eq!(report["allows"]["servers"], json!(["git: git-mcp --token ${GIT_TOKEN}"]));
}

#[test]
fn a_preset_changes_tools_of_gates_too_and_a_call_goes_through_it() {
    let tools = "[presets.full.tools.say]\nname = \"repeat\"\n[presets.full.tools.ech]\nhide = true\n";
    let place = Place::with(&format!("[presets.full]\ngates.echo = {{}}\n{tools}"), &["echo"]);
    let reason = run(&place, 1, &["presets", "show", "full"]).stderr();
    assert!(
        reason.contains("tools names '") && reason.contains("which no gate of the preset has"),
        "{reason}"
    );
    let place = Place::with("[presets.full]\ngates.echo = {}\n", &["echo"]);
    let listed = run(&place, 0, &["presets", "show", "full", "--json"]).json();
    let tool = listed["tools"][0]["name"].as_str().expect("a tool").to_owned();
    let changed =
        format!("[presets.full]\ngates.echo = {{}}\n[presets.full.tools.{tool}]\nname = \"renamed\"\n");
    place.write("presets.toml", changed);
    let explanation = run(&place, 0, &["explain", "renamed"]).stdout();
    assert!(
        explanation.contains(&format!("'renamed' comes from gate 'echo', which calls it '{tool}'")),
        "{explanation}"
    );
    let unknown = run(&place, 1, &["call", &tool]).stderr();
    assert!(unknown.contains(&format!("has no tool '{tool}'")), "{unknown}");
    place.write(
        "presets.toml",
        format!("[presets.full]\ngates.echo = {{}}\n[presets.full.tools.{tool}]\nhide = true\n"),
    );
    let explanation = run(&place, 0, &["explain", &tool]).stdout();
    assert!(explanation.contains(&format!("preset 'full' hides '{tool}'")), "{explanation}");
}

#[test]
fn a_call_from_the_command_line_passes_the_checks_that_a_clients_call_passes() {
    let place = Place::with("[presets.full]\ngates.kg = {}\n[gates.kg]\ngrants = [\"knowledge\"]\n", &["kg"]);
    let ran = run(&place, 1, &["call", "search_knowledge", "{\"query\": 5}"]);
    assert!(ran.stderr().contains("query"), "{}", ran.stderr());
    let found = run(&place, 0, &["call", "search_knowledge", "{\"query\": \"x\"}", "--json"]).json();
    assert_eq!(found["content"][0]["type"], "text");
    assert!(
        run(&place, 2, &["call", "search_knowledge", "{"]).stderr().contains("the arguments are not JSON")
    );
}
