//! `gatehouse servers login` and `logout`.

mod accounts;
mod authority;
mod callers;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use self::authority::{Authority, Odd, browse};
use crate::support::{Place, host::PATIENCE, terminal};

fn place(authority: &Authority) -> Place {
    let block = format!("[servers.git]\nurl = \"http://{}/mcp\"\noauth = {{}}\n", authority.address);
    let program = "[servers.local]\ncommand = \"true\"\n";
    let header = "[servers.keyed]\nurl = \"https://a.example\"\nheaders.Authorization = \"Bearer ${KEY}\"\n";
    Place::with(&format!("{block}{program}{header}[presets.a]\nservers = [\"git\"]\n"), &[])
}

/// Runs a login with a user who agrees. Returns standard output and standard error.
pub(crate) fn log_in(mut command: Command) -> (String, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("run gatehouse");
    let mut messages = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    loop {
        let begin = messages.len();
        assert!(stderr.read_line(&mut messages).expect("text") > 0, "no URL was printed:\n{messages}");
        let line = messages[begin..].trim();
        if line.starts_with("http://") {
            browse(line);
            break;
        }
    }
    stderr.read_to_string(&mut messages).expect("text");
    let mut out = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    assert!(child.wait().expect("an end").success(), "{messages}");
    (out, messages)
}

#[test]
fn a_server_is_logged_in_to_and_out_of() {
    let authority = Authority::start();
    let place = place(&authority);
    let logins = || place.run(&["servers", "status", "--json"]).json()["logins"].clone();
    assert_eq!(logins(), json!({"git": {"state": "none"}}));
    let status = place.run(&["servers", "status"]).stdout();
    assert!(status.contains("login to 'git': needs `gatehouse servers login git`"), "{status}");
    let (out, stderr) = log_in(place.command(&["servers", "login", "git", "--no-browser", "--json"]));
    let until = serde_json::from_str::<Value>(&out).expect("JSON");
    assert_eq!((&until["logged_in"], &until["renewable"]), (&json!(true), &json!(true)));
    assert!(!format!("{out}{stderr}").contains("secret-"), "{out}{stderr}");
    let file = place.path("state/logins/git.json");
    assert_eq!(fs::metadata(&file).expect("a login").permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).expect("a login").contains("secret-refresh"));

    let status = place.run(&["servers", "status"]).stdout();
    let held = status.lines().find(|line| line.starts_with("login to 'git': the login is valid for "));
    assert!(held.is_some_and(|line| line.ends_with("is renewed before it expires")), "{status}");
    let login = &logins()["git"];
    assert_eq!((&login["state"], &login["renewable"]), (&json!("valid"), &json!(true)), "{login}");
    assert_eq!(login["until_ms"], until["until_ms"]);
    let ran = place.run(&["servers", "logout", "git", "--json"]);
    assert_eq!(ran.json(), json!({"server": "git", "logged_in": false, "revoked": true, "reason": null}));
    assert!(authority.bodies("/revoke")[0].contains("token=secret-refresh"));
    assert!(!file.exists());
    let ran = place.run(&["servers", "logout", "git"]);
    assert_eq!((ran.code(), ran.stderr().trim()), (1, "error: there is no login to 'git'"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_of_the_desktop_is_opened() {
    let authority = Authority::start();
    let place = place(&authority);
    let opener =
        place.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" > \"$0.new\"; mv \"$0.new\" \"$0.opened\"\n");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = place.command(&["servers", "login", "git"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path("bin").display()));
    let (out, stderr) = log_in(command);
    assert!(out.starts_with("logged in to 'git'; the login is valid for "), "{out}");
    let (opened, start) = (place.path("bin/xdg-open.opened"), Instant::now());
    while !opened.exists() {
        assert!(start.elapsed() < PATIENCE, "no browser was opened");
        std::thread::yield_now();
    }
    let opened = fs::read_to_string(opened).expect("an address");
    assert!(opened.contains("/authorize?") && stderr.contains(opened.trim()), "{opened}\n{stderr}");
    let issuer = format!("Logging in to 'git' at http://{}/\n", authority.address);
    assert!(stderr.starts_with(&issuer), "the issuer is shown first: {stderr}");
}

#[test]
fn endpoints_at_other_hosts_are_confirmed_once_at_a_terminal() {
    let authority = Authority::start_odd(Odd { token_elsewhere: true, ..Odd::default() });
    let place = place(&authority);
    let login = ["servers", "login", "git", "--no-browser"];
    let ran = place.run(&login);
    let (issuer, token) =
        (format!("http://{}/", authority.address), format!("http://localhost:{}", authority.address.port()));
    let advice = format!("set issuer = \"{issuer}\" in [servers.git.oauth] of presets.toml");
    let stderr = ran.stderr();
    assert!(stderr.contains(&format!("token at {token}")) && stderr.contains(&advice), "{stderr}");
    let question = format!("The authorization server {issuer} of 'git' has endpoints at other hosts:\n\n");
    let (mut typing, input) = terminal();
    typing.write_all(b"n\n").expect("typed");
    let ran = place.command(&login).stdin(input).output().expect("run gatehouse");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(
        stderr.starts_with(&question) && stderr.contains(&format!("  token          {token}\n")),
        "{stderr}"
    );
    assert!(stderr.ends_with("the login to 'git' was not confirmed\n"), "{stderr}");
    assert_eq!((ran.status.code(), authority.bodies("/register").len()), (Some(1), 0), "{stderr}");

    let (mut typing, input) = terminal();
    typing.write_all(b"y\n").expect("typed");
    let mut command = place.command(&login);
    command.stdin(input);
    assert!(log_in(command).1.contains("Log in there? [y/N] Logging in to 'git'"));
    let (_, stderr) = log_in(place.command(&login));
    assert!(stderr.starts_with("Logging in to 'git'"), "the answer is in the login: {stderr}");
}

#[test]
fn a_login_that_is_over_when_it_is_made_fails() {
    let authority = Authority::start_odd(Odd { expires_immediately: true, ..Odd::default() });
    let place = place(&authority);
    let mut command = place.command(&["servers", "login", "git", "--no-browser"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("run gatehouse");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = stderr.by_ref().lines().map_while(Result::ok);
    browse(lines.find(|line| line.trim().starts_with("http://")).expect("an address").trim());
    let reason = lines.last().expect("a reason");
    assert!(reason.contains("the login to 'git' has already expired: http://127.0.0.1"), "{reason}");
    assert_eq!(child.wait().expect("an end").code(), Some(1), "{reason}");
    assert!(!place.path("state/logins/git.json").exists());
}

#[test]
fn impossible_logins_are_refused_with_the_reason() {
    let authority = Authority::start();
    let place = place(&authority);
    for (server, code, reason) in [
        ("gitt", 2, "there is no server 'gitt'. Did you mean 'git'?"),
        ("local", 2, "server 'local' is a program; only servers with a url have logins"),
        ("keyed", 2, "server 'keyed' needs the environment variable KEY, which is not set"),
    ] {
        let ran = place.run(&["servers", "login", server]);
        assert_eq!((ran.code(), ran.stderr().trim()), (code, &*format!("error: {reason}")), "{server}");
    }
    let mut keyed = place.command(&["servers", "login", "keyed"]);
    let ran = keyed.env("KEY", "0123456789").output().expect("run gatehouse");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(stderr.contains("has an Authorization header in its block; remove it to log in"), "{stderr}");
}

#[test]
fn keys_of_a_login_are_checked() {
    for (keys, reason) in [
        ("client_secret = \"x\"", "client_secret requires client_id"),
        ("client_id = \"x\"", "client_id needs an issuer; write issuer = \"https://…\""),
        ("client_id = \"x\", client_secret = \"y\"", "client_secret needs an issuer; write issuer = "),
        ("scopes = [\"read write\"]", "'read write' is not a scope; scopes are a list of words"),
        ("issuer = \"auth.example\"", "issuer must be an address such as https://auth.example.com"),
        ("redirect_port = 70000", "redirect_port must be 1 to 65535, not 70000"),
        ("client = \"x\"", "unknown key 'client'"),
    ] {
        let place =
            Place::with(&format!("[servers.git]\nurl = \"https://a.example\"\noauth = {{ {keys} }}\n"), &[]);
        let ran = place.run(&["servers", "list"]);
        assert!(ran.code() == 2 && ran.stderr().contains(reason), "{keys}: {}", ran.stderr());
    }
    let place = Place::with("[servers.git]\ncommand = \"x\"\noauth = {}\n", &[]);
    let stderr = place.run(&["servers", "list"]).stderr();
    assert!(stderr.contains("oauth requires url; a program logs in by itself"), "{stderr}");
}
