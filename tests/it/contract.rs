//! Compatibility with contract 0.1.0: every later host loads a component that imports all of its functions and exports
//! all of its interfaces. The fixture's README describes how it was built.

use std::fs;

use serde_json::json;

use crate::support::{Client, Place, repository};

const PRESETS: &str =
    "[presets.p]\ngates.contract = {}\ngates.echo = {}\n[presets.p.filters]\ncontract = [\"echo\"]\n";

const FUNCTIONS: u64 = 69;

fn place() -> Place {
    let place = Place::with(PRESETS, &["echo"]);
    let component = repository().join("tests/fixtures/contract-0.1.0/contract.wasm");
    fs::copy(component, place.path("gates/contract.wasm")).expect("the component");
    place
}

#[test]
fn a_component_of_the_contract_0_1_0_is_served() {
    let place = place();
    let mut client = Client::start(&place, "p");
    assert_eq!(client.tools(), ["big", "echo", "imported", "tokens"]);
    assert_eq!(client.text("imported", json!({})), FUNCTIONS.to_string());
    assert!(
        client.text("tokens", json!({"text": "some words"})).parse::<u32>().is_ok_and(|tokens| tokens > 3)
    );
    let long = "y\n".repeat(2_000);
    assert_eq!(client.text("echo", json!({"text": long})), "filtered");

    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["arguments"][0]["name"], "word", "{prompts}");
    let name = &prompts["result"]["prompts"][0]["name"];
    let prompt = client.request("prompts/get", json!({"name": name, "arguments": {}}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Hello.", "{prompt}");
    let asked =
        json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "word", "value": "h"}});
    let completed = client.request("completion/complete", asked);
    assert_eq!(completed["result"]["completion"]["values"], json!(["hello"]), "{completed}");

    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["title"], "Notes", "{templates}");
    let resources = client.request("resources/list", json!({}));
    let resource = &resources["result"]["resources"][0];
    assert_eq!((&resource["title"], &resource["size"]), (&json!("One"), &json!(8)), "{resources}");
    let read = client.request("resources/read", json!({"uri": resource["uri"]}));
    assert_eq!(read["result"]["contents"][0]["text"], "the note", "{read}");
}

#[test]
fn it_keeps_the_contract_whatever_it_is_called_with() {
    let place = place();
    let ran = place.run(&["gates", "check", "gates/contract.wasm"]);
    assert_eq!(ran.code(), 0, "{}{}", ran.stdout(), ran.stderr());
}
