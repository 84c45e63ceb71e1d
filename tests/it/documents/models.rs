//! Documents shortened by a language model, with a real gate and host and a fake provider. If the provider fails, the
//! reader still gets text from the document.

use serde_json::{Value, json};

use super::{add, manual, question};
use crate::support::{
    Client, Place,
    provider::{
        Answer, End, Provider,
        wire::{ALL, KEY, Wire},
    },
    structured,
};

const QUESTION: &str = "how is the pressure sensor calibrated?";

/// A model's summary: two sentences from the document and two invented ones.
const WRITTEN: &str = "# Manual of the Brewing Machine\n\nTurn the brass screw until the gauge shows 2.75 bar. \
                       Then wait for ninety seconds. It takes 4711 minutes in all. Call Ferdinand if it drifts.\n";

fn failed(reason: &str) -> Value {
    json!([format!("The language model did not shorten it ({reason}); the extractor did.")])
}

fn host(wire: Wire, provider: &Provider, time: &str) -> (Place, Client) {
    let presets = format!(
        "{}[gates.document-retrieval]\ngrants = [\"documents\", \"models\"]\nlimits = {{ time = \"{time}\" }}\n\
         [presets.documents]\ngates.document-retrieval = {{}}\n",
        wire.configuration(provider.address)
    );
    let place = Place::with("[models]\nllm = \"off\"\n", &["document-retrieval"]);
    place.write("docs/manual.md", manual());
    add(&place);
    place.write("presets.toml", structured(&presets));
    let mut client = Client::raw(&place, &["serve", "--preset", "documents"], &[(wire.variable(), KEY)]);
    client.initialize("2025-11-25");
    (place, client)
}

fn retrieved(client: &mut Client) -> Value {
    let data =
        client.call("mfai_document_retrieval", question(QUESTION, "text"))["structuredContent"].clone();
    let tokens = data["token_count"].as_u64().expect("a count");
    assert!((7_600..=8_000).contains(&tokens), "{tokens} tokens: {data}");
    assert!(data["content"].as_str().is_some_and(|text| text.contains("2.75 bar")), "{data}");
    data
}

#[test]
fn every_provider_shortens_and_what_it_makes_up_is_left_out() {
    for wire in ALL {
        let (head, tail) = WRITTEN.split_at(40);
        let provider = Provider::saying([wire.writes(&[head, tail])]);
        let (_place, mut client) = host(wire, &provider, "60 s");
        let data = retrieved(&mut client);
        let text = data["content"].as_str().expect("content");
        assert!(
            text.starts_with("# Manual of the Brewing Machine\n\nTurn the brass screw"),
            "{wire:?}: {text}"
        );
        assert!(text.contains("\nFrom the document itself:\n"), "the rest of the budget is the document's");
        assert!(!text.contains("4711") && !text.contains("Ferdinand"), "{wire:?}: {text}");
        assert!(data["method"].as_str().is_some_and(|method| method.ends_with("-test")), "{data}");
        let notes = data["notes"].to_string();
        assert!(
            notes.contains("2 statements with a number, name or code that is not in the document"),
            "{notes}"
        );
        let (_, body) = provider.only();
        let body = body.to_string();
        assert!(
            body.contains(QUESTION) && body.contains("press RESET twice"),
            "{wire:?} did not read the document"
        );
        assert!(
            !body.contains("web_search") && !body.contains("googleSearch"),
            "{wire:?} was to search the web"
        );
        assert!(!client.log().contains(KEY) && !client.log().contains("brass screw"));
    }
}

#[test]
fn a_provider_that_fails_costs_the_model_and_not_the_answer() {
    let status = |status, body: Value| Answer::Whole(status, "retry-after-ms: 1\r\n", body.to_string());
    let busy = status("429 Too Many Requests", json!({"error": {"message": "slow down"}}));
    let broken = status("500 Oops", json!({"error": {"message": "oops"}}));
    let page = Answer::Whole("200 OK", "content-type: text/html\r\n", "<html>a login page</html>".into());
    for wire in ALL {
        let mut answers = vec![
            ("wrong key", wire.wrong_key()),
            ("cut at once", wire.breaks_off(&[], End::Cut)),
            ("cut in a sentence", wire.breaks_off(&[&WRITTEN[..60]], End::Cut)),
        ];
        if matches!(wire, Wire::OpenAi) {
            answers.extend([
                ("busy", busy.clone()),
                ("broken", broken.clone()),
                ("a page", page.clone()),
                ("nothing but invention", wire.writes(&["Ask Ferdinand, he has 4711 of them."])),
                ("silence", wire.writes(&[""])),
            ]);
        }
        for (what, answer) in answers {
            let provider = Provider::saying([answer]);
            let (_place, mut client) = host(wire, &provider, "60 s");
            let data = retrieved(&mut client);
            assert_eq!(data["method"], "extractive", "{wire:?}, {what}: {data}");
            let notes = data["notes"].to_string();
            assert!(notes.contains("The language model did not shorten it ("), "{wire:?}, {what}: {notes}");
            assert!(!notes.contains(KEY) && !client.log().contains(KEY), "{notes}");
            assert!(!provider.seen().is_empty(), "{wire:?}, {what}: it was asked");
        }
    }
}

#[test]
fn a_provider_that_is_busy_at_first_is_asked_again() {
    let wire = Wire::OpenAi;
    let busy =
        Answer::Whole("429 Too Many Requests", "retry-after-ms: 1\r\n", json!({"error": {}}).to_string());
    let provider = Provider::saying([busy.clone(), busy, wire.writes(&[WRITTEN])]);
    let (_place, mut client) = host(wire, &provider, "60 s");
    assert_eq!(retrieved(&mut client)["method"], "openai/gpt-test");
    assert_eq!(provider.seen().len(), 3);
}

#[test]
fn a_provider_that_is_slow_leaves_time_for_the_extractor() {
    let wire = Wire::OpenAi;
    let provider = Provider::saying([wire.breaks_off(&[&WRITTEN[..60]], End::Stuck)]);
    let (_place, mut client) = host(wire, &provider, "16 s");
    let data = retrieved(&mut client);
    assert_eq!(
        (&data["method"], &data["notes"]),
        (&json!("extractive"), &failed("its answer was cut short"))
    );
    provider.left();
    let provider = Provider::saying([wire.breaks_off(&[], End::Stuck)]);
    let (_place, mut client) = host(wire, &provider, "16 s");
    let data = retrieved(&mut client);
    assert_eq!((&data["method"], &data["notes"]), (&json!("extractive"), &failed("TimedOut")));
    provider.left();
}
