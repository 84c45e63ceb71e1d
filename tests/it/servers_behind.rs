//! Servers end to end: exposed directly, changed by the preset, reloaded, and called from the command line. The server
//! is another host with its own folder.

use serde_json::{Value, json};

use crate::support::{
    Client, Place,
    host::PATIENCE,
    place::{Ran, binary},
};

fn inner() -> Place {
    Place::with("[presets.one]\ngates.echo = {}\n", &["echo"])
}

fn server(name: &str, inner: &Place) -> String {
    let config = inner.path("presets.toml");
    let (command, state) = (binary(), inner.path("state"));
    format!(
        "[servers.{name}]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"one\", \"--config\", {config:?}]\n\
         env = {{ GATEHOUSE_STATE = {state:?} }}\ntags = [\"work\"]\n"
    )
}

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

#[test]
fn a_preset_shows_the_tools_of_a_server_and_calls_them() {
    let inner = inner();
    let preset = "[presets.full]\nservers = [\"far\"]\ndeny = [\"far__big\"]\n\
        [presets.full.tools.far__echo]\nname = \"say\"\nfixed = { text = \"fixed\" }\n[presets.plain]\nservers = [\"far\"]\n";
    let place = Place::with(&format!("{}{preset}", server("far", &inner)), &[]);
    let mut client = Client::start(&place, "plain");
    assert_eq!(client.tools(), ["far__big", "far__echo"]);
    assert_eq!(client.text("far__echo", json!({"text": "hello"})), "hello");
    assert!(client.fails("far__echo", json!({"text": 5})).contains("text"));
    assert_eq!(client.close(), Some(0));
    let mut client = Client::start(&place, "full");
    assert_eq!(client.tools(), ["say"]);
    assert_eq!(client.text("say", json!({})), "fixed");
    assert!(client.fails("say", json!({"text": "mine"})).contains("text"), "a fixed argument cannot be set");
    assert_eq!(client.call("far__big", json!({}))["message"], "Unknown tool: 'far__big'.");
}

#[test]
fn commands_know_the_tools_of_servers() {
    let inner = inner();
    let place = Place::with(&format!("{}[presets.full]\nservers = [\"far\"]\n", server("far", &inner)), &[]);
    assert_eq!(run(&place, 0, &["call", "far__echo", "{\"text\": \"hello\"}"]).stdout(), "hello\n");
    let tools = run(&place, 0, &["allowed-tools", "full"]).json();
    assert_eq!(tools, json!(["mcp__gatehouse__far__big", "mcp__gatehouse__far__echo"]));
    let shown = run(&place, 0, &["presets", "show", "full", "--json"]).json();
    assert_eq!((&shown["servers"], &shown["tools"][0]["server"]), (&json!(["far"]), &json!("far")));
    let reason = run(&place, 0, &["explain", "far__echo"]).stdout();
    assert!(reason.contains("'far__echo' comes from server 'far', which calls it 'echo'"), "{reason}");
    assert_eq!(
        run(&place, 0, &["servers", "refresh", "--json"]).json()["unchanged"],
        2,
        "they are known by now"
    );
    let unknown = run(&place, 1, &["servers", "refresh", "fra"]).stderr();
    assert!(unknown.contains("unknown server 'fra'"), "{unknown}");
}

#[test]
fn a_server_that_cannot_be_started_takes_nothing_else_with_it() {
    let inner = inner();
    let broken = "[servers.gone]\ncommand = \"./no-such-program\"\n[servers.poor]\ncommand = \"x\"\nenv = { A = \"${GATEHOUSE_TEST_UNSET}\" }\n";
    let preset =
        "[proxy]\nmax_connection_retries = 0\n[presets.full]\nservers = [\"far\", \"gone\", \"poor\"]\n";
    let place = Place::with(&format!("{}{broken}{preset}", server("far", &inner)), &[]);
    let mut client = Client::start(&place, "full");
    assert_eq!(client.tools(), ["far__big", "far__echo"]);
    let log = client.log_with("server 'poor' does not list its tools");
    assert!(log.contains("server 'gone' does not list its tools"), "{log}");
    assert!(log.contains("GATEHOUSE_TEST_UNSET"), "{log}");
    let hosts = |place: &Place| run(place, 0, &["servers", "status", "--json"]).json()["hosts"].clone();
    let states = |hosts: &Value| -> Vec<String> {
        let servers = hosts[0]["servers"].as_array().into_iter().flatten();
        servers.map(|server| server["state"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let start = std::time::Instant::now();
    while states(&hosts(&place)) != ["connected", "failed", "failed"] {
        assert!(start.elapsed() < PATIENCE, "{}", hosts(&place));
    }
}

#[test]
fn clients_are_notified_when_a_server_lists_other_tools_and_servers_come_and_go_with_the_file() {
    let inner = inner();
    let blocks = server("far", &inner);
    let place = Place::with(&format!("{blocks}[presets.full]\nservers = [\"far\"]\n"), &[]);
    let mut client = Client::start(&place, "full");
    assert_eq!(client.tools(), ["far__big", "far__echo"]);
    inner.write("presets.toml", "[presets.one]\ngates.echo = {}\ndeny = [\"big\"]\n");
    client.wait_for_tools(PATIENCE, |tools| tools == ["far__echo"]);
    let second = server("near", &inner);
    place.write("presets.toml", format!("{blocks}{second}[presets.full]\nservers = [\"far\", \"near\"]\n"));
    client.wait_for_tools(PATIENCE, |tools| tools == ["far__echo", "near__echo"]);
    place.write("presets.toml", format!("{second}[presets.full]\nservers = [\"near\"]\n"));
    client.wait_for_tools(PATIENCE, |tools| tools == ["near__echo"]);
    assert_eq!(client.text("near__echo", json!({"text": "hello"})), "hello");
}

#[test]
fn a_subagent_is_made_for_a_server() {
    let inner = inner();
    let gates = "[gates.proxy]\ngrants = [\"servers\"]\n";
    let presets = "[presets.full]\nservers = [\"far\"]\n[presets.found]\ngates.proxy = {}\n[presets.none]\nproxied = []\n";
    let place = Place::with(&format!("{}{gates}{presets}", server("far", &inner)), &["proxy"]);
    let made = |arguments: &[&str]| place.run(&[&["agent-template", "far"], arguments].concat());
    let text = made(&["--strategy", "agent"]).stdout();
    assert!(text.starts_with("---\nname: far-gateway\ndescription: \""), "{text}");
    assert!(
        text.contains("tools: mcp__gatehouse__far__big, mcp__gatehouse__far__echo\nmodel: inherit\n---"),
        "{text}"
    );
    // A server's text must not be in the instructions of a subagent that may have a shell.
    assert!(text.contains("- `echo`\n") && text.contains("Among its tools: big, echo."), "{text}");
    for duty in
        ["1. Activate the context", "2. Validate first", "3. Assess the impact", "4. One complete answer"]
    {
        assert!(text.contains(duty), "{text}");
    }
    let text = made(&["--preset", "found", "--strategy", "agent"]).stdout();
    assert!(text.contains("mcp__gatehouse__call_tool") && text.contains("`server: \"far\"`"), "{text}");
    // No other preset than the one that was asked for.
    let refused = made(&["--preset", "found", "--strategy", "subprocess"]);
    assert!(refused.stderr().contains("preset 'found' lacks the tool `request`"), "{}", refused.stderr());
    let shipped = made(&["--preset", "gateway", "--strategy", "subprocess"]).stdout();
    assert!(shipped.contains("request --preset gateway --config"), "{shipped}");
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", format!("{presets}[presets.sent]\ngates.proxy = {{ request = true }}\n"));
    let auto = made(&["--preset", "sent"]).stdout();
    assert!(auto.contains("<!-- strategy: subprocess (its tools were called 0 times"), "{auto}");
    assert!(auto.contains("tools: Bash\n") && auto.contains("\"isolation\": \"subprocess\""), "{auto}");
    let file = place.path("agents/far-gateway.md");
    let output = made(&["--preset", "sent", "--out", file.to_str().expect("a path")]).stdout();
    assert!(output.contains("far-gateway.md (subprocess: "), "{output}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file").trim_end(), auto.trim_end());
    assert!(
        made(&["--preset", "none", "--strategy", "agent"]).stderr().contains("has no access to server 'far'")
    );
    let unknown = place.run(&["agent-template", "fra"]).stderr();
    assert!(unknown.contains("unknown server 'fra'"), "{unknown}");
}

#[test]
#[cfg(unix)]
fn the_commands_of_a_subagent_work_from_any_directory() {
    let inner = inner();
    let place = Place::shipped();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", format!("{presets}{}", server("far", &inner)));
    let text = run(&place, 0, &["agent-template", "far", "--preset", "gateway", "--strategy", "subprocess"])
        .stdout();
    let blocks: Vec<&str> =
        text.split("```bash\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [request, schema] = blocks.as_slice() else { panic!("{text}") };
    let elsewhere = Place::with("", &[]);
    let shell = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).current_dir(elsewhere.path("")).env_clear();
        let ran = Ran(command.env("PATH", "/usr/bin:/bin").output().expect("sh"));
        assert_eq!(ran.code(), 0, "{script}\n{}{}", ran.stdout(), ran.stderr());
        ran.stdout()
    };
    let sent =
        request.replace("far/TOOL", "far/echo").replace("\"params\": {}", "\"params\": {\"text\": \"hi\"}");
    let response: Value = serde_json::from_str(&shell(&sent)).expect("JSON");
    assert_eq!((&response["ok"], &response["result"]["data"]), (&json!(true), &json!("hi")), "{response}");
    assert!(shell(&schema.replace("TOOL", "echo")).contains("text"));
}
