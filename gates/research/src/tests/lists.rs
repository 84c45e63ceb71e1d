//! Tests of `research_idea` and `research_implementation`.

use std::{cell::RefCell, rc::Rc};

use gatehouse_sdk::{
    models::{Depth, Options},
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::{answer, call, data, host, ideas};

const PAGE: &str = "https://example.org/backoff";

fn idea() -> Value {
    json!({
        "title": "Retry with backoff", "url": PAGE, "description": "Wait longer each time.",
        "how_to_apply": "1. Catch.\n2. Wait.", "when_to_use": "On 503.", "trade_offs": "Latency.",
        "examples": "", "prerequisites": "Idempotency."
    })
}

#[test]
fn ideas_read_as_specified() {
    let text = json!({"items": [idea()]}).to_string();
    let host = host(answer(text, &[PAGE, "https://example.org/other"]));
    let (reply, heard) = host.run_and_hear(|| {
        testing::call(&crate::gate(), "research_idea", "{\"query\":\"how to retry\"}", "{}").unwrap()
    });
    let expected = "\
# Research Ideas: \"how to retry\"

Found **1** ideas:

---

## [1] Retry with backoff

**Source:** <https://example.org/backoff>

### Description

Wait longer each time.

### How to Apply

1. Catch.
2. Wait.

### When to Use

On 503.

### Trade-offs

Latency.

### Prerequisites

Idempotency.

---

Answered by `test/model-1`, which read 2 pages.
";
    assert_eq!(reply.text(), expected);
    let expected = json!({
        "query": "how to retry", "found": 1,
        "ideas": [{
            "title": "Retry with backoff", "url": PAGE, "evidence": "page", "description": "Wait longer each time.",
            "how_to_apply": "1. Catch.\n2. Wait.", "when_to_use": "On 503.", "trade_offs": "Latency.",
            "prerequisites": "Idempotency."
        }],
        "depth": "deep", "left_out": 0, "pages_read": 2, "model": "test/model-1",
        "tokens": {"input": 1200, "output": 340}
    });
    assert_eq!(data("research_idea", &reply), expected);
    let [line] = heard.as_slice() else { panic!("{heard:?}") };
    assert!(line.starts_with("Level::Info: research {\"tool\":\"research_idea\""), "{line}");
    assert!(line.contains("\"tokens\":{\"input\":1200,\"output\":340}") && !line.contains("retry"), "{line}");
}

#[test]
fn implementations_read_as_specified() {
    let item = json!({
        "title": "backon", "url": "https://docs.rs/backon", "description": "A crate.",
        "code_snippet": "use backon::Retryable;\n# not a heading\nfetch.retry(policy).await?;\n",
        "dependencies": ["backon 1.5", "tokio 1"], "configuration": {"max_times": 3, "jitter": true},
        "pitfalls": null, "performance": 12
    });
    let text = json!({"items": [item]}).to_string();
    let host = host(answer(text, &["http://www.docs.rs/backon/?utm_source=x#top"]));
    let reply = call(host, "research_implementation", json!({"query": "retry in Rust"})).unwrap();
    let expected = "\
# Research Implementations: \"retry in Rust\"

Found **1** implementations:

---

## [1] backon

**Source:** <https://docs.rs/backon>

### Description

A crate.

### Code Snippet

```
use backon::Retryable;
# not a heading
fetch.retry(policy).await?;
```

### Dependencies

- backon 1.5
- tokio 1

### Configuration

- max_times: 3
- jitter: true

### Performance

12

---
";
    assert!(reply.text().starts_with(expected), "{}", reply.text());
    let data = data("research_implementation", &reply);
    assert_eq!((&data["found"], &data["implementations"][0]["evidence"]), (&json!(1), &json!("page")));
    assert!(data["implementations"][0].get("pitfalls").is_none());
}

fn asked(tool: &str, arguments: &str, params: &str) -> (String, Options) {
    let asked: Rc<RefCell<Vec<(String, Options)>>> = Rc::default();
    let kept = Rc::clone(&asked);
    let host = Fake::new().complete(move |prompt, options| {
        kept.borrow_mut().push((prompt.to_owned(), options.clone()));
        Ok(answer("{\"items\":[],\"study\":{},\"references\":[]}", &[]))
    });
    host.run(|| testing::call(&crate::gate(), tool, arguments, params)).unwrap();
    let asked = asked.borrow();
    let [one] = asked.as_slice() else { panic!("{} questions", asked.len()) };
    one.clone()
}

#[test]
fn the_question_has_web_search_depth_and_a_schema() {
    let (prompt, options) = asked("research_idea", "{\"query\":\"why\\n\\\"Ignore\\\"\"}", "{}");
    assert!(
        prompt.starts_with("Find up to 5 different ideas ")
            && prompt.ends_with("\n\n\"why\\n\\\"Ignore\\\"\"\n")
    );
    assert!(options.web_search && options.depth == Depth::Deep);
    // The deadline of the test call is 30 s; some of it is reserved for the reply.
    assert_eq!(options.time_ms, Some(28_000));
    let schema: Value = serde_json::from_str(options.schema.as_deref().unwrap()).unwrap();
    let item = &schema["properties"]["items"]["items"];
    let keys = [
        "title",
        "url",
        "description",
        "how_to_apply",
        "when_to_use",
        "trade_offs",
        "examples",
        "prerequisites",
    ];
    assert_eq!((&item["required"], &item["additionalProperties"]), (&json!(keys), &json!(false)));
    let system = options.system.unwrap();
    assert!(keys.iter().all(|key| system.contains(&format!("\"{key}\": \""))), "{system}");
    assert!(system.contains("Read widely"));

    let light = "{\"default_depth\":\"light\",\"default_top_k\":3}";
    let (prompt, options) = asked("research_implementation", "{\"query\":\"q\"}", light);
    assert!(prompt.starts_with("Find up to 3 implementations ") && options.depth == Depth::Light);
    assert!(options.system.unwrap().contains("A few good pages"));
    let (prompt, options) =
        asked("research_implementation", "{\"query\":\"q\",\"depth\":\"deep\",\"top_k\":1e30}", light);
    assert!(prompt.starts_with("Find up to 20 ") && options.depth == Depth::Deep);
}

#[test]
fn no_more_than_top_k_and_none_without_a_page() {
    let item =
        |i: usize| json!({"title": format!("T{i}"), "url": format!("https://e.org/{i}"), "description": "d"});
    let mut items: Vec<Value> = (0..9).map(item).collect();
    for url in
        ["", "e.org/x", "/x", "ftp://e.org/x", "javascript:alert(1)", "https://", "none", "https://u@e.org/"]
    {
        items.insert(0, json!({"title": "bad", "url": url, "description": "d"}));
    }
    items.insert(0, json!({"title": "bad", "description": "d"}));
    items.insert(0, json!("bad"));
    items.insert(0, json!({"title": " ", "url": "https://e.org/empty", "description": ""}));
    let text = json!({"items": items}).to_string();
    for (top_k, found) in [(2, 2), (5, 5), (9, 9), (20, 9)] {
        let arguments = json!({"query": "q", "top_k": top_k});
        let reply = call(host(answer(text.clone(), &[])), "research_idea", arguments).unwrap();
        let data = data("research_idea", &reply);
        assert_eq!((&data["found"], &data["left_out"]), (&json!(found), &json!(11)));
        assert!(reply.text().contains(&format!("Found **{found}** ideas:\n")));
        assert!(
            reply.text().contains("Omitted because they name no page: 11.") && !reply.text().contains("bad")
        );
    }
}

#[test]
fn items_of_one_page_are_one() {
    let items = json!([
        {"title": "Backoff", "url": "https://e.org/a", "description": "One.", "examples": ""},
        {"title": "backoff", "url": "http://www.e.org/a/?utm_source=x#y", "description": "One.", "examples": "E."},
        {"title": "Jitter", "url": "https://e.org/a", "description": "Two."},
        {"title": "Other", "url": "https://e.org/b", "description": "Three."},
    ]);
    let data = data("research_idea", &ideas(items, &[]));
    assert_eq!(data["found"], 2);
    let first = &data["ideas"][0];
    assert_eq!((&first["title"], &first["url"]), (&json!("Backoff · Jitter"), &json!("https://e.org/a")));
    assert_eq!((&first["description"], &first["examples"]), (&json!("One.\n\nTwo."), &json!("E.")));
}

#[test]
fn a_page_that_the_model_did_not_read_is_marked() {
    let item = |title: &str, url: &str| json!({"title": title, "url": url, "description": "d"});
    let items = json!([
        item("read", "https://a.org/read"),
        item("site", "https://a.org/else"),
        item("made up", "https://b.org/x")
    ]);
    let reply = ideas(items.clone(), &["https://a.org/read"]);
    let text = reply.text();
    assert!(text.contains("<https://a.org/read>\n"), "{text}");
    assert!(text.contains("<https://a.org/else> (the model read this site, but not this page)\n"), "{text}");
    assert!(text.contains("<https://b.org/x> (not among the pages that the model read)\n"), "{text}");
    let evidence = |reply| {
        data("research_idea", reply)["ideas"]
            .as_array()
            .unwrap()
            .iter()
            .map(|idea| idea["evidence"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(evidence(&reply), ["page", "site", "none"]);

    let reply = ideas(items, &[]);
    let note = "Found **3** ideas:\n\nThe provider does not report which pages the model read, so no source is confirmed.\n";
    assert!(reply.text().contains(note) && !reply.text().contains("not among"), "{}", reply.text());
    assert_eq!(evidence(&reply), ["unknown"; 3]);
}
