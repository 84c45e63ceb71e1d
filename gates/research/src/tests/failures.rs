//! Tests of incomplete, unusable and empty answers.

use gatehouse_sdk::{Fault, FaultKind, models::Completion, testing::Fake};
use serde_json::json;

use super::{answer, call, data, host};

const TOOL: &str = "research_idea";
const ITEM: &str = "{\"title\":\"A\",\"url\":\"https://a.org/\",\"description\":\"First.\"}";

fn query() -> serde_json::Value {
    json!({"query": "q"})
}

#[test]
fn json_is_found_inside_fences_and_words() {
    for text in [
        format!("{{\"items\":[{ITEM}]}}"),
        format!("```json\n{{\"items\": [{ITEM}]}}\n```"),
        format!("Here {{as asked}}:\n\n{{\"items\":[{ITEM}]}}\n\nI hope that helps! {{\"items\":[]}}"),
        format!("{{\"thoughts\":\"items\"}} {{\"items\":[{ITEM}]}}"),
    ] {
        let reply = call(host(answer(&text, &[])), TOOL, query()).unwrap();
        let data = data(TOOL, &reply);
        assert_eq!((&data["found"], data.get("cut_short")), (&json!(1), None), "{text}");
    }
}

#[test]
fn complete_items_before_a_cut_are_used_and_the_cut_is_reported() {
    let whole = format!(
        "```json\n{{\"items\":[{ITEM},{{\"title\":\"B\",\"url\":\"https://b.org/\",\"description\":\"Sec"
    );
    let cut = Completion { cut_short: Some("the connection\nbroke.".into()), ..answer(whole.clone(), &[]) };
    for (answer, reason) in
        [(cut, "the connection broke"), (answer(whole, &[]), "its text ends or breaks in the middle")]
    {
        let reply = call(host(answer), TOOL, query()).unwrap();
        let note = format!(
            "Found **1** ideas:\n\nThe answer was cut short: {reason}. The content here is complete.\n"
        );
        assert!(reply.text().contains(&note) && !reply.text().contains("Sec"), "{}", reply.text());
        assert_eq!(data(TOOL, &reply)["cut_short"], reason);
    }
    // Cut at every byte: the result is a shorter list or a fault, never a partial item.
    let text = format!("{{\"items\":[{ITEM},{ITEM}],\"more\":1}}").replacen("a.org", "b.org", 1);
    for end in 0..text.len() {
        match call(host(answer(&text[..end], &[])), TOOL, query()) {
            Ok(reply) => {
                let data = data(TOOL, &reply);
                let found = data["found"].as_u64().unwrap();
                assert!(found == 2 || found == 1 && data["cut_short"].is_string(), "{end}: {data}");
                assert!(data["ideas"].as_array().unwrap().iter().all(|idea| idea["description"] == "First."));
            }
            Err(fault) => assert_eq!(fault.kind, FaultKind::Unavailable, "{end}"),
        }
    }
}

#[test]
fn an_unreadable_answer_is_a_failure() {
    let unusable = "research failed: the answer of model 'test/model-1' does not have the requested form";
    for text in
        ["", "I could not find anything.", "{\"items\":\"none\"}", "[]", "{\"ideas\":[]}", "{\"items\":"]
    {
        let fault = call(host(answer(text, &[])), TOOL, query()).unwrap_err();
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true), "{text}");
        assert_eq!(fault.message, unusable, "{text}");
        assert!(fault.hint.is_some());
    }
    for tool in [TOOL, "research_study"] {
        let cut =
            Completion { cut_short: Some("time is up".into()), ..answer("{\"items\":[{\"title\":\"A", &[]) };
        let fault = call(host(cut), tool, query()).unwrap_err();
        assert!(
            fault.message.ends_with("was cut short before any part was complete: time is up"),
            "{fault:?}"
        );
    }
}

#[test]
fn an_empty_result_has_suggestions() {
    let tools = ["wiki_idea_search", "research_implementation", "kg_edit"];
    let host = host(answer("{\"items\":[]}", &["https://a.org/"])).exposes(tools);
    let reply = call(host, TOOL, query()).unwrap();
    let expected = "\
No ideas found for: \"q\"

Try:
- Broader or fewer terms
- Other words for the same thing
- `wiki_idea_search` knows principles and heuristics of the wiki
- `research_implementation` searches the web for code
";
    assert_eq!((reply.text().as_str(), reply.is_error), (expected, false));
    assert_eq!(data(TOOL, &reply)["ideas"], json!([]));

    let renamed =
        super::host(answer("{\"items\":[{\"title\":\"x\"}]}", &[])).exposes_as("search_knowledge", "find");
    let text =
        call(renamed, "research_implementation", json!({"query": "q", "depth": "light"})).unwrap().text();
    assert!(
        text.starts_with("No implementations found for: \"q\"\n\nOmitted because they name no page: 1.\n")
    );
    assert!(text.ends_with("- depth `deep`\n- `find` searches pages of every type in the wiki\n"), "{text}");
}

#[test]
fn a_host_fault_is_unchanged() {
    for tool in [TOOL, "research_implementation", "research_study"] {
        let fault = Fault::unavailable("no language model is configured").hint("Set OPENAI_API_KEY, or …");
        let host_fault = fault.clone();
        let host = Fake::new().complete(move |_, _| Err(host_fault.clone()));
        assert_eq!(call(host, tool, query()).unwrap_err(), fault);
    }
}
