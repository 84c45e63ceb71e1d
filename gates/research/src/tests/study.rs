//! Tests of `research_study`.

use gatehouse_sdk::models::{Completion, WebSource};
use serde_json::json;

use super::{answer, call, data, host};

const TOOL: &str = "research_study";

#[test]
fn a_study_reads_as_specified() {
    let text = json!({
        "study": {
            "key_takeaways": ["Cache less.", "Measure."], "abstract": "It depends.", "background": "Caches.",
            "comparison": "| a | b |\n|---|---|\n| 1 | 2 |", "implementation_guide": "## Step one\nDo it.",
            "evaluation": "p99.", "limitations": "Small sample."
        },
        "references": [
            {"title": "On caches", "url": "https://e.org/caches"},
            {"title": "No page", "url": "see above"},
            {"title": "Again", "url": "https://e.org/caches/"},
            {"title": "Invented", "url": "https://no.where/x"}
        ]
    });
    let source =
        |url: &str, title: Option<&str>| WebSource { url: url.into(), title: title.map(str::to_owned) };
    let sources = vec![source("https://e.org/caches", None), source("https://f.org/read", Some("Read it"))];
    let answer = Completion { sources, ..answer(text.to_string(), &[]) };
    let reply = call(host(answer), TOOL, json!({"query": "to cache or not", "depth": "light"})).unwrap();
    let expected = "\
# Research Study: \"to cache or not\"

## Key Takeaways

- Cache less.
- Measure.

## Abstract

It depends.

## Background

Caches.

## Comparison

| a | b |
|---|---|
| 1 | 2 |

## Implementation Guide

##### Step one
Do it.

## Evaluation

p99.

## Limitations

Small sample.

## References

- On caches <https://e.org/caches>
- Invented <https://no.where/x> (not among the pages that the model read)
- Read it <https://f.org/read>

---

Answered by `test/model-1`, which read 2 pages. Omitted because they name no page: 1.
";
    assert_eq!(reply.text(), expected);
    let data = data(TOOL, &reply);
    assert_eq!((&data["abstract"], &data["depth"]), (&json!("It depends."), &json!("light")));
    assert_eq!(
        data["references"][1],
        json!({"title": "Invented", "url": "https://no.where/x", "evidence": "none"})
    );
    assert_eq!((&data["left_out"], &data["tokens"]["output"]), (&json!(1), &json!(340)));
}

#[test]
fn complete_sections_of_a_truncated_answer_are_used() {
    let text = "{\"study\":{\"key_takeaways\":\"Take it.\",\"abstract\":\"So.\",\"background\":\"It beg";
    let answer =
        Completion { cut_short: Some("the limit of tokens was reached".into()), ..answer(text, &[]) };
    let reply = call(host(answer), TOOL, json!({"query": "q"})).unwrap();
    let head = "# Research Study: \"q\"\n\nThe answer was cut short: the limit of tokens was reached. The content here is complete.\n";
    let text = reply.text();
    assert!(
        text.starts_with(head) && text.contains("## Abstract\n\nSo.\n") && !text.contains("It beg"),
        "{text}"
    );
    assert_eq!(data(TOOL, &reply)["cut_short"], "the limit of tokens was reached");
}

#[test]
fn truncated_references_are_used() {
    let text = "{\"study\":{\"abstract\":\"See \\\"references\\\": [x].\"},\"references\":[\
                {\"title\":\"A\",\"url\":\"https://a.org/\"},{\"title\":\"B\",\"url\":\"https://b.o";
    let reply = call(host(answer(text, &[])), TOOL, json!({"query": "q"})).unwrap();
    let data = data(TOOL, &reply);
    assert_eq!(data["references"].as_array().unwrap().len(), 1);
    assert_eq!(data["cut_short"], "its text ends or breaks in the middle");
}

#[test]
fn an_empty_study_is_reported() {
    let text = "{\"study\":{\"key_takeaways\":\"\",\"abstract\":\" \"},\"references\":[]}";
    let host = host(answer(text, &[])).exposes(["research_idea", "search_knowledge"]);
    let reply = call(host, TOOL, json!({"query": "q", "depth": "light"})).unwrap();
    let expected = "\
No study found for: \"q\"

Try:
- Broader or fewer terms
- Other words for the same thing
- depth `deep`
- `research_idea` searches the web for ideas
- `search_knowledge` searches the wiki
";
    assert_eq!(reply.text(), expected);
    data(TOOL, &reply);
}
