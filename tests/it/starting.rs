//! Hosts whose presets take long to compose: messages during that time, and exits.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

use crate::support::{Client, Place};

/// A preset with a gate that exhausts its time for `describe` and is then rejected.
fn slow() -> Place {
    Place::with("[presets.p]\n[presets.p.gates.liar]\nlie = \"sleep\"\n", &["liar"])
}

const REFUSED: &str = "was stopped after 5 s";

#[test]
fn a_client_is_answered_before_the_preset_is_there_and_its_leaving_is_noticed() {
    let place = slow();
    let mut client = Client::raw(&place, &["serve", "--preset", "p"], &[]);
    let began = client.initialize("2025-11-25");
    assert_eq!(began["serverInfo"]["name"], "gatehouse", "{began}");
    assert!(began["capabilities"]["prompts"].is_object(), "any list may come: {began}");
    client.ask("tools/list", serde_json::json!({}));
    assert!(!client.log().contains(REFUSED), "{}", client.log());
    assert_eq!(client.close(), Some(0), "it does not wait for the gate");
}

#[test]
fn a_preset_that_cannot_be_composed_ends_the_host_with_the_reason() {
    let place = slow();
    let mut client = Client::raw(&place, &["serve", "--preset", "p"], &[]);
    client.initialize("2025-11-25");
    let log = client.log_with(REFUSED);
    assert!(log.contains("preset 'p'"), "{log}");
    assert_eq!(client.close(), Some(2));
}

#[test]
fn over_http_liveness_is_answered_before_the_presets_are_there() {
    let place = slow();
    let mut command = place.command(&["serve", "--preset", "p", "--http", "127.0.0.1:0"]);
    command.env("GATEHOUSE_LOG", "debug").stderr(Stdio::piped());
    let mut host = command.spawn().expect("start gatehouse");
    let mut lines = BufReader::new(host.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("listening; composing presets")).expect("it listens");
    let (_, address) = line.split_once("address=").expect("an address");
    let address = address.split_whitespace().next().expect("an address").to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let alive = get("/healthz");
    assert!(alive.starts_with("HTTP/1.1 200 ") && alive.ends_with("{\"status\":\"ok\"}"), "{alive}");
    let ready = get("/readyz");
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("\"status\":\"starting\""), "{ready}");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains(REFUSED)), "{rest:?}");
    assert_eq!(host.wait().expect("it ends").code(), Some(2));
}
