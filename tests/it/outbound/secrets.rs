//! Credentials are sent only to their server, and are redacted from everything that returns.

use serde_json::json;

use super::{error, fetch, host_of};
use crate::support::{Place, server::Server};

const TOKEN: &str = "s3cret/weather+token";

fn block(server: &Server, variable: &str) -> String {
    format!("\"{}\" = {{ headers = {{ Authorization = \"Bearer ${{{variable}}}\" }} }}\n", server.host())
}

#[test]
fn a_secret_reaches_its_server_and_nobody_else() {
    let server = Server::start();
    let environment = [("WEATHER_TOKEN", TOKEN), ("GATEHOUSE_LOG", "trace")];
    let (_place, mut client) = host_of("fetch", &block(&server, "WEATHER_TOKEN"), &environment);
    let own = json!({"url": server.url("/echo"), "headers": ["Authorization: Bearer mine", "X-Own: 1"]});
    let text = client.text("fetch", own);
    let sent = format!("Bearer {TOKEN}");
    let seen = server.only();
    assert_eq!(seen.header("authorization"), Some(sent.as_str()), "the rule's header wins: {seen:?}");
    assert_eq!(seen.headers.iter().filter(|line| line.starts_with("authorization:")).count(), 1);
    assert!(text.contains("x-echo: Bearer [redacted]"), "{text}");
    assert!(text.contains("authorization: Bearer [redacted]") && text.contains("x-own: 1"), "{text}");
    let led = fetch(&mut client, &server.url("/tell"));
    assert!(led.starts_with(&format!("200 {}\n", server.url("/ok?token=[redacted]"))), "{led}");
    let log = client.log_with("request of a gate");
    assert!(log.contains("request of a gate"), "{log}");
    for output in [text, led, client.log()] {
        assert!(!output.contains(TOKEN) && !output.contains("s3cret"), "{output}");
    }
}

#[test]
fn a_secret_is_known_in_every_disguise_that_a_server_puts_it_in_by_itself() {
    let server = Server::start();
    // Only characters that can be in a header name.
    let token = "S3cret&weather+'token";
    let (_place, mut client) =
        host_of("fetch", &block(&server, "WEATHER_TOKEN"), &[("WEATHER_TOKEN", token)]);
    let response = fetch(&mut client, &server.url("/disguised"));
    assert!(
        response.contains("<p>[redacted]</p> [redacted] [redacted]") && response.contains("x-kept: 1"),
        "{response}"
    );
    assert!(!response.to_lowercase().contains("s3cret"), "{response}");
}

#[test]
fn what_is_compressed_unasked_is_read_before_it_is_handed_on() {
    let server = Server::start();
    let environment = [("WEATHER_TOKEN", TOKEN)];
    let (_place, mut client) = host_of("fetch", &block(&server, "WEATHER_TOKEN"), &environment);
    let response = fetch(&mut client, &server.url("/gzip"));
    assert!(response.ends_with("identity said Bearer [redacted]"), "{response}");
    assert!(!response.contains("content-encoding"), "{response}");
    let (kind, text) = error(&mut client, "fetch", json!({"url": server.url("/br")}));
    assert!(kind == "UNAVAILABLE" && text.contains("unsupported encoding: br"), "{kind}: {text}");
}

#[test]
fn a_redirect_carries_no_credential_to_another_host() {
    let (first, second, third) = (Server::start(), Server::start(), Server::start());
    let lines = [block(&first, "FIRST"), block(&second, "SECOND"), format!("\"{}\" = {{}}\n", third.host())];
    let environment = [("FIRST", "first-secret"), ("SECOND", "second-secret")];
    let (_place, mut client) = host_of("fetch", &lines.concat(), &environment);
    let inner = second.url(&format!("/redirect?status=307&to={}", third.url("/echo")));
    let url = first.url(&format!("/redirect?status=307&to={inner}"));
    let headers = ["Cookie: own=1", "X-Own: 1"];
    let text = client.text("fetch", json!({"url": url, "headers": headers}));
    assert!(text.starts_with("200 "), "{text}");
    let carried = |server: &Server| {
        let seen = server.only();
        let header = |name| seen.header(name).map(str::to_owned);
        (header("authorization"), header("cookie"), header("x-own"))
    };
    let one = Some("1".to_owned());
    assert_eq!(carried(&first), (Some("Bearer first-secret".into()), Some("own=1".into()), one.clone()));
    assert_eq!(carried(&second), (Some("Bearer second-secret".into()), None, one.clone()));
    assert_eq!(carried(&third), (None, None, one));
    assert!(!format!("{:?}", third.only()).contains("secret"), "no Referer either");
}

#[test]
fn a_variable_that_is_not_set_stops_its_host_alone() {
    let (with, without) = (Server::start(), Server::start());
    let lines = [block(&with, "WEATHER_TOKEN"), format!("\"{}\" = {{}}\n", without.host())];
    let (place, mut client) = host_of("fetch", &lines.concat(), &[]);
    let reason = format!(
        "header Authorization for {} needs the environment variable WEATHER_TOKEN, which is not set",
        with.host()
    );
    let (kind, text) = error(&mut client, "fetch", json!({"url": with.url("/")}));
    assert!(kind == "UNAVAILABLE" && text.contains(&reason), "{kind}: {text}");
    with.saw_nothing();
    assert!(fetch(&mut client, &without.url("/")).ends_with("ok"));
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.code(), 0, "a warning is not a failure: {}", doctor.stdout());
    assert!(doctor.stdout().contains(&format!("warn  gate fetch: {reason}")), "{}", doctor.stdout());
    let checks = place.run(&["doctor", "--json"]).json();
    let warned = checks
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["check"] == "gate fetch" && check["warning"].is_string());
    assert_eq!(warned.count(), 1, "{checks}");
}

#[test]
fn a_secret_does_not_show_in_what_the_command_line_prints() {
    let server = Server::start();
    let presets = format!(
        "[gates.fetch.http]\n{}[presets.full]\ngates.fetch = {{}}\n",
        block(&server, "WEATHER_TOKEN")
    );
    let place = Place::with(&presets, &["fetch"]);
    for command in
        [&["doctor"][..], &["status"], &["gates", "inspect", "fetch", "--json"], &["presets", "show", "full"]]
    {
        let ran = place.command(command).env("WEATHER_TOKEN", TOKEN).output().expect("run gatehouse");
        let output = [ran.stdout, ran.stderr].concat();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&output));
        assert!(!String::from_utf8_lossy(&output).contains("s3cret"), "{command:?}");
    }
}
