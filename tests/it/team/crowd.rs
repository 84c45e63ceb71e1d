//! One person whose calls take all that they can get, and others who are served next to it.

use std::{io::Write as _, net::Shutdown, sync::mpsc, thread};

use serde_json::json;

use super::{Person, key};
use crate::support::{Http, Place, host::PATIENCE, http::read_response};

#[test]
fn slow_calls_of_one_person_leave_room_for_others_and_for_probes() {
    const PLACES: usize = 16;
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let place = Place::with(
        &format!(
            "[auth]\n[http]\nconnections = {PLACES}\n[servers.slow]\ncommand = {server:?}\nargs = [\"stdio\"]\n\
             timeout = \"10 min\"\n[presets.all]\ngates.echo = {{}}\nservers = [\"slow\"]\n"
        ),
        &["echo"],
    );
    let (ann, bob) = (key(&place, &["ann"]), key(&place, &["bob"]));
    let host = Http::start(&place, "all", &[]);
    let greedy = Person::connect(&host, &bob, "/mcp/p/all");
    let params = json!({"name": "slow__never", "arguments": {}});
    let (refused, refusals) = mpsc::channel();
    let streams: Vec<_> = (0..PLACES + 4)
        .map(|number| {
            let call = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).to_string();
            let head = format!(
                "POST /mcp/p/all HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, \
                 text/event-stream\r\nauthorization: {}\r\nmcp-session-id: {}\r\ncontent-length: {}\r\n\r\n",
                host.address(),
                greedy.bearer,
                greedy.session,
                call.len()
            );
            let mut stream = host.connect();
            stream.write_all((head + &call).as_bytes()).expect("a request");
            let (reader, refused) = (stream.try_clone().expect("a stream"), refused.clone());
            thread::spawn(move || refused.send(read_response(reader)));
            stream
        })
        .collect();
    // Seven eighths may be used by one person.
    for _ in 0..streams.len() - PLACES * 7 / 8 {
        let response = refusals.recv_timeout(PATIENCE).expect("a refusal");
        assert_eq!(response.status, 503, "{response:?}");
        assert!(response.body.contains("too many of your calls are running"), "{response:?}");
    }
    let other = Person::connect(&host, &ann, "/mcp/p/all");
    for number in 0..10 {
        let text = format!("call {number}");
        assert_eq!(other.call("echo", json!({"text": text})), text);
    }
    assert_eq!(host.say("GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").status, 200);
    streams.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
}

#[test]
fn a_script_ends_with_the_key_that_started_it() {
    let presets =
        "[auth]\n[gates.script]\ngrants = [\"catalog\"]\n[presets.all]\ngates.script = {}\ngates.echo = {}\n";
    let place = Place::with(presets, &["script", "echo"]);
    let bob = key(&place, &["bob"]);
    let host = Http::start(&place, "all", &[("GATEHOUSE_LOG", "info")]);
    let person = Person::connect(&host, &bob, "/mcp/p/all");
    // Work between the calls, so that the script reaches no other limit before.
    let code = "try { for (;;) { await tools.echo.echo({ text: 'x' }); for (let n = 0; n < 1e6; n++); } }
                catch (error) { return String(error); }";
    let answer = thread::scope(|scope| {
        let script = scope.spawn(|| person.call("run_code", json!({"code": code})));
        host.log_with("tool=echo");
        let ran = place.run(&["keys", "revoke", "bob"]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        script.join().expect("an answer")
    });
    assert!(answer.contains("the key or token of the caller was revoked"), "{answer}");
}
