//! Search results reordered by a language model, end to end.

use serde_json::{Value, json};

use crate::support::{
    Client, Place,
    provider::{
        End, Provider,
        wire::{KEY, Wire},
    },
    structured, text_of,
};

fn host(provider: &Provider, time: &str) -> (Place, Client) {
    let wire = Wire::OpenAi;
    let presets = format!(
        "{}[gates.idea]\ngrants = [\"knowledge:read\", \"models\"]\nlimits = {{ time = \"{time}\" }}\n\
         [presets.ideas]\ngates.idea = {{}}\n[presets.plain]\ngates.idea = {{ use_llm_reranker = false }}\n\
         [host]\ndefault_preset = \"ideas\"\n",
        wire.configuration(provider.address)
    );
    let place = Place::with(&structured(&presets), &["idea"]);
    let wiki = place.sample_wiki();
    place.run(&["kg", "index", &wiki.display().to_string(), "--json"]).json();
    let mut client = Client::raw(&place, &["serve", "--preset", "ideas"], &[(wire.variable(), KEY)]);
    client.initialize("2025-11-25");
    (place, client)
}

fn search(client: &mut Client) -> Value {
    let result = client.call("wiki_idea_search", json!({"query": "when to retry a call", "top_k": 3}));
    assert_ne!(result["isError"], true, "{result}");
    result
}

fn ids(result: &Value) -> Vec<String> {
    let hits = result["structuredContent"]["hits"].as_array().expect("hits").iter();
    hits.map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
}

fn engines(place: &Place) -> Vec<String> {
    ids(&search(&mut Client::start(place, "plain")))
}

#[test]
fn a_model_orders_what_the_engine_found() {
    let wire = Wire::OpenAi;
    let provider = Provider::saying([wire.says(&["{\"order\":", "[3,1,2]}"])]);
    let (place, mut client) = host(&provider, "30 s");
    let plain = engines(&place);
    let result = search(&mut client);
    assert_eq!(ids(&result), [2, 0, 1].map(|place: usize| plain[place].clone()));
    assert!(text_of(&result).contains("\n\nOrdered by `openai/gpt-test`; "), "{result}");
    assert_eq!(result["structuredContent"]["reranked_by"], "openai/gpt-test");
    let (_, body) = provider.only();
    assert!(body.get("tools").is_none(), "an order needs no web: {body}");
    let asked = body["input"].as_str().expect("a question");
    assert!(asked.contains("\"number\":6") && !asked.contains("\"number\":7"), "six for three: {asked}");
}

#[test]
fn a_model_that_fails_or_hangs_leaves_the_engines_order() {
    let wire = Wire::OpenAi;
    let provider = Provider::saying([
        wire.wrong_key(),
        wire.says(&["All of them are good."]),
        wire.breaks_off(&["{\"order\":[3,"], End::Cut),
        wire.breaks_off(&[], End::Stuck),
    ]);
    let (place, mut client) = host(&provider, "4 s");
    let plain = engines(&place);
    for turn in 0..4 {
        let result = search(&mut client);
        assert_eq!(ids(&result), plain, "{turn}");
        assert!(!text_of(&result).contains("Ordered by"), "{turn}: {result}");
        assert_eq!(result["structuredContent"].get("reranked_by"), None, "{turn}");
    }
    provider.left();
    client.log_with("using the engine's order");
    assert!(!client.log().contains("when to retry a call"), "{}", client.log());
}
