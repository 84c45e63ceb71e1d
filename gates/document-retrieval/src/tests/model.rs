//! Tests of the handling of model output.

use std::cell::Cell;

use gatehouse_sdk::models::Completion;

use super::*;

const TOOL: &str = "mfai_document_retrieval";

fn manual() -> String {
    format!(
        "# Calibration\nPest runs 40 models in 12 hours. Use `pestpp --run x`.\n{}",
        "filler ".repeat(3_000)
    )
}

/// Retrieves a document of 3,000 words; model requests take `answers` in turn.
fn retrieved(answers: Vec<Result<Completion, Fault>>) -> (Value, String) {
    let next = Cell::new(0);
    let host =
        host(&manual()).serving(Some("test/model"), None, "local/test").complete(move |prompt, options| {
            assert!(prompt.starts_with("Question: \"how to calibrate\"\n") && options.time_ms.is_some());
            let at = next.replace(next.get() + 1);
            answers.get(at).cloned().unwrap_or_else(|| panic!("{at} answers were enough"))
        });
    let reply = call(host, TOOL, question()).unwrap();
    (data(TOOL, &reply), reply.text())
}

fn completion(text: impl Into<String>) -> Result<Completion, Fault> {
    Ok(Completion::new("test/model", text))
}

#[test]
fn the_models_text_is_checked_and_completed_from_the_document() {
    let text = "# Calibration\nPest runs 40 models in 12 hours. It costs 99 dollars. Ask Mr Smith about it.\n\n\
                ```\npestpp --run x\n```\n```\nrm -rf /\n```\n";
    let (data, reply) = retrieved(vec![completion(text)]);
    let content = data["content"].as_str().unwrap();
    assert!(content.starts_with("# Calibration\nPest runs 40 models in 12 hours."), "{content}");
    for removed in ["99", "Smith", "rm -rf"] {
        assert!(!content.contains(removed), "{content}");
    }
    assert!(content.contains("\n---\nFrom the document itself:\n\n"), "{content}");
    assert_eq!(data["method"], "test/model");
    // The lines before the text, and the notes about it, take the rest of the 300.
    assert!((180..=260).contains(&data["token_count"].as_u64().unwrap()), "{data}");
    assert!(reply.contains("Removed from the model's text: 3 statements"), "{reply}");
}

#[test]
fn a_too_long_answer_is_requested_again_and_then_cut_at_a_sentence() {
    let long = "Pest runs 40 models. ".repeat(200);
    let (data, _) = retrieved(vec![completion(long.clone()), completion("Pest runs 40 models in 12 hours.")]);
    assert!(data["content"].as_str().unwrap().starts_with("Pest runs 40 models in 12 hours."));
    let (data, _) = retrieved(vec![completion(long.clone()), completion(long.clone())]);
    assert!((180..=260).contains(&data["token_count"].as_u64().unwrap()), "{data}");
    assert!(data["content"].as_str().unwrap().ends_with("models."));
    let (data, _) = retrieved(vec![completion(long), Err(Fault::unavailable("429"))]);
    assert!((180..=260).contains(&data["token_count"].as_u64().unwrap()), "{data}");
    assert_eq!(data["method"], "test/model");
}

#[test]
fn a_failing_model_falls_back_to_the_extractor() {
    let cut = Completion { cut_short: Some("limit".into()), ..Completion::new("test/model", "Half a") };
    for (answer, reason) in [
        (Err(Fault::unavailable("secret words of the provider")), "Unavailable"),
        (Ok(cut), "its answer was cut short"),
        (completion("  "), "its answer is empty"),
        (completion("In 1999 everything was 77 % better."), "the document supports nothing in its answer"),
    ] {
        let (data, reply) = retrieved(vec![answer]);
        assert_eq!(data["method"], "extractive");
        let note = format!("The language model did not shorten it ({reason}); the extractor did.");
        assert!(reply.contains(&note) && !reply.contains("secret"), "{reply}");
    }
}

#[test]
fn no_model_is_used_if_disabled() {
    let host = host(&manual()).serving(Some("test/model"), None, "local/test");
    let reply = call_with(host, TOOL, question(), "{\"budget_tokens\":300,\"use_llm\":false}").unwrap();
    assert_eq!(data(TOOL, &reply)["method"], "extractive");
}
