//! Servers that start slowly, hang or exit during startup: effects on other servers and the client, error reports, and
//! cleanup.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{child, recorded};
use crate::support::{
    Client, Http, Place, Ran,
    host::PATIENCE,
    processes::{below, end_all},
    text_of,
};

fn shipped_with(blocks: &str) -> Place {
    let place = Place::shipped();
    add(&place, blocks);
    place
}

fn add(place: &Place, blocks: &str) {
    let presets = fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", format!("{presets}\n{blocks}"));
}

fn shell(name: &str, script: &str, more: &str) -> String {
    format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n{more}\n")
}

fn pipe(place: &Place) -> PathBuf {
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    pipe
}

/// Opens the pipe for a server that waits for it; waits for the server.
fn release(pipe: PathBuf) {
    let (opened, is_open) = channel();
    std::thread::spawn(move || opened.send(fs::File::options().write(true).open(pipe)));
    is_open.recv_timeout(PATIENCE).expect("a server that waits").expect("open the pipe");
}

/// A client that caches lists asks again while a server starts, and is told of no tool of another server.
#[test]
fn a_list_without_a_starting_server_is_not_cached() {
    let place = Place::with("", &["echo"]);
    let waits = shell("slow", &format!("cat {}", pipe(&place).display()), "");
    let blocks = child("fast", &[], "") + &waits;
    place.write("presets.toml", blocks + "[presets.all]\nservers = [\"fast\", \"slow\"]\n");
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let listed = client.request("tools/list", json!({"_meta": meta}));
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(0), &json!("private")));
    assert!(listed.to_string().contains("fast__echo"), "{listed}");
    let called = client.request("tools/call", json!({"name": "slow__echo", "arguments": {}, "_meta": meta}));
    let called = called.to_string();
    assert!(called.contains("server 'slow' is still starting"), "{called}");
    assert!(called.contains("Call the tool again later") && !called.contains("fast"), "{called}");
    let mut older = Client::start(&place, "all");
    let listed = older.request("tools/list", json!({}));
    assert!(listed["result"].get("ttlMs").or(listed["result"].get("cacheScope")).is_none(), "{listed}");
}

fn file(place: &Place, name: &str) -> String {
    let start = Instant::now();
    loop {
        match fs::read_to_string(place.path(name)) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(start.elapsed() < PATIENCE, "no {name}"),
        }
        std::thread::yield_now();
    }
}

fn slow_and_others(place: &Place, pipe: &Path) -> String {
    let slow = [format!("after={}", pipe.display()), format!("record={}", place.path("record").display())];
    let slow: Vec<_> = slow.iter().map(String::as_str).collect();
    let others = [("hanging", &["start=never"][..]), ("dying", &["start=crash"]), ("well", &[])];
    child("slow", &slow, "") + &others.map(|(name, options)| child(name, options, "")).concat()
}

fn called(client: &mut Client, server: &str, text: &str) -> Value {
    let call = json!({"server": server, "tool": "echo", "arguments": {"text": text}});
    client.call("call_tool", call)
}

#[test]
fn a_failed_start_names_the_error_and_the_variables_that_it_did_not_get() {
    let settings = "[proxy]\nmax_connection_retries = 0\n";
    let script = "env > environment; echo starting >&2; echo 'Error: no way out' >&2; echo '}' >&2; exit 5";
    let place = shipped_with(&format!("{settings}{}", shell("s", script, "")));
    let refresh = |environment: &[(&str, &str)]| {
        let mut command = place.command(&["servers", "refresh", "s"]);
        let ran = Ran(command.envs(environment.iter().copied()).output().expect("run gatehouse"));
        assert_eq!(ran.code(), 1, "{}", ran.stderr());
        (ran.stderr(), file(&place, "environment"))
    };
    let passed = [
        ("SSL_CERT_FILE", "/etc/ssl/own.pem"),
        ("https_proxy", "http://proxy.example:3128"),
        ("NPM_CONFIG_REGISTRY", "https://npm.example/"),
        ("UV_DEFAULT_INDEX", "https://pypi.example/simple"),
    ];
    let (reason, environment) = refresh(&passed);
    assert!(
        reason.contains("it exited during startup (exit status: 5); stderr: Error: no way out."),
        "{reason}"
    );
    for (name, value) in passed {
        assert!(environment.contains(&format!("{name}={value}\n")), "{name}: {environment}");
    }
    let withheld = [
        ("HTTPS_PROXY", "http://me:5ecret-word@proxy.example:3128"),
        ("UV_PUBLISH_TOKEN", "5ecret-word"),
        ("UNRELATED_TOKEN", "5ecret-word"),
    ];
    let (reason, environment) = refresh(&withheld);
    assert!(!format!("{reason}{environment}").contains("5ecret"), "{reason}{environment}");
    let named = "set for the host but not passed on: HTTPS_PROXY (its value looks like an address with a user name or \
        password), UV_PUBLISH_TOKEN (its name sounds like a credential); [servers.s] can pass them on: \
        env = { HTTPS_PROXY = \"${HTTPS_PROXY}\" }";
    assert!(reason.contains(named) && !reason.contains("UNRELATED"), "{reason}");
    let doctor = place.command(&["doctor"]).envs(withheld).output().expect("run gatehouse");
    let doctor = Ran(doctor).stdout();
    let line = "HTTPS_PROXY is set, but not passed on to s: its value looks like an address";
    assert!(doctor.contains(line) && !doctor.contains("UNRELATED"), "{doctor}");
    add(&place, "[servers.s.env]\nHTTPS_PROXY = \"${HTTPS_PROXY}\"\n");
    let (reason, environment) = refresh(&withheld[..1]);
    assert!(environment.contains("HTTPS_PROXY=http://me:5ecret-word@"), "{environment}");
    assert!(!reason.contains("not passed on") && !reason.contains("5ecret"), "{reason}");
}

#[test]
fn a_program_is_asked_to_end_before_it_is_killed() {
    let tidy =
        "trap 'echo tidied >> tidied; exit 0' TERM; echo up > tidy; while :; do sleep 600 & wait $!; done";
    let stubborn = "trap '' TERM; echo up > stubborn; while :; do sleep 600; done";
    let blocks = [shell("tidy", tidy, "preconnect = true"), shell("stubborn", stubborn, "preconnect = true")];
    let place = shipped_with(&blocks.concat());
    let client = Client::start(&place, "proxy");
    file(&place, "tidy");
    file(&place, "stubborn");
    let running = below(client.pid());
    assert!(running.len() >= 4, "{running:?}");
    let killed = Command::new("kill").args(["-KILL", &client.pid().to_string()]).status().expect("kill");
    assert!(killed.success());
    assert_eq!(file(&place, "tidied"), "tidied\n", "asked once");
    end_all(&running);
}

#[test]
fn one_that_does_not_answer_in_time_is_quoted_and_ended_gently() {
    let script = "trap 'echo tidied >> tidied; exit 0' TERM; echo 'error: no route to the registry' >&2; echo up > up; \
        while :; do sleep 600 & wait $!; done";
    let settings = "[proxy]\nconnection_timeout = 2\nmax_connection_retries = 0\n";
    let place = shipped_with(&format!("{settings}{}", shell("s", script, "")));
    let mut client = Client::start(&place, "proxy");
    let reply = called(&mut client, "s", "hello").to_string();
    assert!(
        reply.contains(
            "it did not answer within 2 s (`connection_timeout`); stderr: error: no route to the registry"
        ),
        "{reply}"
    );
    // A silent program is started a second time.
    assert!(file(&place, "tidied").starts_with("tidied\n"));
}

#[test]
fn a_call_waits_for_a_slow_server_and_other_servers_hang_and_die_by_themselves() {
    let place = Place::shipped();
    let pipe = pipe(&place);
    let blocks = slow_and_others(&place, &pipe);
    add(&place, &format!("[proxy]\nmax_connection_retries = 0\n{blocks}"));
    let mut client = Client::start(&place, "proxy");
    let call = |server: &str| {
        json!({"name": "call_tool", "arguments":
            {"server": server, "tool": "echo", "arguments": {"text": server}}})
    };
    let slow = client.ask("tools/call", call("slow"));
    let hanging = client.ask("tools/call", call("hanging"));
    let died = called(&mut client, "dying", "hello").to_string();
    let error = "it exited during startup (exit status: 1); stderr: Error [ERR_MODULE_NOT_FOUND]: Cannot find \
        package 'left-pad'";
    assert!(died.contains(error), "{died}");
    assert_eq!(text_of(&called(&mut client, "well", "at once")), "at once");
    release(pipe);
    assert_eq!(text_of(&client.answer(slow)["result"]), "slow");
    assert_eq!(recorded(&place, "start"), 1);
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": hanging}}),
    );
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_server_that_is_shown_directly_appears_when_it_is_ready() {
    let place = Place::shipped();
    let pipe = pipe(&place);
    let blocks = slow_and_others(&place, &pipe);
    let preset =
        "[presets.all]\nextends = [\"documents\"]\nservers = [\"slow\", \"hanging\", \"dying\", \"well\"]\n";
    add(&place, &format!("{blocks}{preset}"));
    let begin = Instant::now();
    let mut client = Client::start(&place, "all");
    // Longer than the wait for servers without a listing, so the attempt must continue without a waiting client.
    client.wait_for_tools(PATIENCE, |tools| tools.contains(&"well__echo".into()));
    assert!(client.tools().iter().all(|tool| !tool.starts_with("slow__")));
    let listed = client.list_changes();
    release(pipe);
    client.wait_for_tools(PATIENCE, |tools| tools.contains(&"slow__echo".into()));
    assert!(client.list_changes() > listed, "the client is notified");
    assert_eq!(client.text("slow__echo", json!({"text": "ready"})), "ready");
    assert_eq!(recorded(&place, "start"), 1, "a single attempt, which continued");
    assert!(client.tools().iter().all(|tool| !tool.starts_with("hanging__") && !tool.starts_with("dying__")));
    assert!(begin.elapsed() < Duration::from_secs(50), "the servers that hang and die delay nothing");
}

#[test]
fn a_server_that_no_served_preset_reaches_is_not_started() {
    let place = Place::with("", &[]);
    let record = format!("record={}", place.path("record").display());
    let blocks = [child("unreached", &[&record], ""), child("shown", &[], "")].concat();
    // The file has no preset with the gate `proxy`. The shipped one has, but is not served.
    place.write(
        "presets.toml",
        format!(
            "[host]\ndefault_preset = \"mine\"\n{blocks}[presets.mine]\ngates.code = {{}}\nservers = [\"shown\"]\n"
        ),
    );
    let http = Http::with(&place, &[], &[]);
    let session = http.session("/mcp", &[]);
    let listed = http.request("/mcp", &session, "tools/list", json!({})).to_string();
    assert!(listed.contains("shown__echo"), "{listed}");
    assert_eq!(recorded(&place, "start"), 0);
}
