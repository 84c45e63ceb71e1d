//! Summaries by a language model, with a real gate and host and a fake provider.

use serde_json::{Value, json};

use super::{PRESETS, log, shortened};
use crate::support::{
    Client, Place,
    provider::{
        Answer, End, Provider,
        wire::{ALL, KEY, Wire},
    },
};

fn host(wire: Wire, provider: &Provider) -> (Place, Client) {
    let presets = format!("{}{PRESETS}", wire.configuration(provider.address));
    let place = Place::with(&presets, &["echo", "summarizer"]);
    let mut client = Client::raw(&place, &["serve", "--preset", "work"], &[(wire.variable(), KEY)]);
    client.initialize("2025-11-25");
    (place, client)
}

/// A model's summary of the log; two findings and one insight are invented.
fn says() -> String {
    json!({
        "keyFindings": [
            "ERROR store: disk quota exceeded on volume nimbus-7.",
            "The GET requests were answered in 39 ms at most.",
            "Volume nimbus-9 is failing too.",
            "All lines are of 2026-11-22.",
            "The outage cost 48,113 orders."
        ],
        "actionableInsights": ["Free space on nimbus-7.", "Call Ferdinand."]
    })
    .to_string()
}

#[test]
fn every_provider_summarises_and_what_it_makes_up_is_left_out() {
    for wire in ALL {
        let provider = Provider::saying([wire.writes(&[&says()])]);
        let (_place, mut client) = host(wire, &provider);
        let (short, id) = shortened(&mut client, &log());
        assert!(short.contains("-test\""), "{wire:?} is the method: {short}");
        assert!(
            short.contains("\"unverified\":[\"ERROR store: disk quota exceeded on volume nimbus-7.\""),
            "{short}"
        );
        for made_up in ["nimbus-9", "48,113", "Ferdinand", "Free space"] {
            assert!(!short.contains(made_up), "{wire:?}: {made_up} in {short}");
        }
        let asked = provider.seen().len();
        assert!(shortened(&mut client, &log()).0.contains("\"cache\":\"exact\""), "the same summary again");
        assert_eq!(provider.seen().len(), asked, "{wire:?} was asked again");
        let read = client.request("resources/read", json!({"uri": format!("gatehouse://artifact/{id}")}));
        assert_eq!(read["result"]["contents"][0]["text"], log());
        assert!(!client.log().contains(KEY) && !client.log().contains("nimbus-7"));
    }
}

#[test]
fn whatever_becomes_of_the_model_the_local_digest_serves() {
    let status = |status, body: Value| Answer::Whole(status, "retry-after-ms: 1\r\n", body.to_string());
    let wire = Wire::Gemini;
    for (what, answer) in [
        ("wrong key", wire.wrong_key()),
        ("busy", status("429 Too Many Requests", json!({"error": {"message": "slow down"}}))),
        ("broken", status("500 Oops", json!({"error": {"message": "oops"}}))),
        ("a page", Answer::Whole("200 OK", "content-type: text/html\r\n", "<html></html>".into())),
        ("cut", wire.breaks_off(&[&says()[..40]], End::Cut)),
        ("prose", wire.writes(&["I would rather not."])),
        (
            "lies only",
            wire.writes(&[r#"{"keyFindings":["Ferdinand has 48,113 of them."],"actionableInsights":[]}"#]),
        ),
    ] {
        let provider = Provider::saying([answer]);
        let (_place, mut client) = host(wire, &provider);
        let (short, _) = shortened(&mut client, &log());
        assert!(short.contains("\"method\":\"extractive\""), "{what}: {short}");
        assert!(short.contains("disk quota exceeded") && !short.contains("Ferdinand"), "{what}: {short}");
        assert!(!provider.seen().is_empty(), "{what}: it was asked");
    }
}

#[test]
fn calls_at_the_same_time_make_one_summary_and_what_happened_is_counted() {
    const CALLS: usize = 8;
    let wire = Wire::Gemini;
    let provider = Provider::saying([wire.writes(&[&says()])]);
    let (place, mut client) = host(wire, &provider);
    let call = json!({"name": "echo", "arguments": {"text": log()}});
    let asked: Vec<u64> = (0..CALLS).map(|_| client.ask("tools/call", call.clone())).collect();
    let findings = asked.into_iter().map(|id| {
        let answer = client.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str::<Value>(text).expect("JSON")["unverified"].clone()
    });
    let findings: Vec<Value> = findings.collect();
    assert_eq!(findings, vec![findings[0].clone(); CALLS]);
    assert_eq!(provider.seen().len(), 1, "the model was asked more than once");
    assert!(shortened(&mut client, &log()).0.contains("\"cache\":\"exact\""));
    let status = place.run(&["status", "--json"]).json();
    assert!(status["counts"]["summarizer"]["hit.exact"].as_u64().is_some_and(|hits| hits >= 1), "{status}");
    assert!(place.run(&["status"]).stdout().contains("counts     summarizer: "));
}
