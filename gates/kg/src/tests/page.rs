//! Tests of `get_wiki_page`.

use gatehouse_sdk::{
    Fault, FaultKind, Reply,
    knowledge::{FoundPage, Lookup, Page},
    testing::Fake,
};
use gatehouse_wiki::fixture;
use serde_json::json;

use super::{call, data};

const TOOL: &str = "get_wiki_page";

#[test]
fn a_page_is_shown_whole() {
    let host = fixture::reader().read(|asked| {
        assert_eq!(asked, "Cache Invalidation");
        Ok(fixture::lookup(fixture::page()))
    });
    let reply = host.run(|| call(TOOL, json!({"page_title": "Cache Invalidation"}))).unwrap();
    let expected = "\
# Cache_Invalidation

**Type:** Principle | **Id:** `Principle/Acme_Cache_Invalidation`
**Domains:** Caching, Distributed Systems
**Last updated:** 2026-01-09 12:00 GMT

## Overview

> Deciding when a cached answer may no longer be given.

## Content

```
== Overview ==
Deciding when a cached answer may no longer be given.

=== Description ===
An answer is stored with what it depends on.
```

## Sources

- Paper: On Caches <https://example.org/caches>

## Related pages

- implemented_by → Implementation/Acme_Cache
- step ← Workflow/Acme_Deploy
";
    assert_eq!(reply.text(), expected);
    let data = data(TOOL, &reply);
    assert_eq!(data["sources"][0]["url"], "https://example.org/caches");
    assert_eq!(data["related"].as_array().unwrap().len(), 2);
}

#[test]
fn a_bare_page_is_valid() {
    let bare = || {
        let mut page = fixture::page();
        (page.overview, page.content, page.last_updated) = (String::new(), String::new(), None);
        (page.domains, page.sources, page.neighbours) = (vec![], vec![], vec![]);
        page
    };
    let host = fixture::reader().read(move |_| Ok(fixture::lookup(bare())));
    let reply = host.run(|| call(TOOL, json!({"page_title": "x"}))).unwrap();
    assert_eq!(
        reply.text(),
        "# Cache_Invalidation\n\n**Type:** Principle | **Id:** `Principle/Acme_Cache_Invalidation`\n"
    );
    assert!(data(TOOL, &reply).get("last_updated").is_none());
}

fn read(page: &Page, offset: usize) -> Result<Reply, Fault> {
    let page = page.clone();
    let host = fixture::reader().exposes([TOOL]).read(move |_| Ok(fixture::lookup(page.clone())));
    host.run(|| call(TOOL, json!({"page_title": "x", "offset": offset})))
}

#[test]
fn a_long_page_comes_in_pieces_that_are_the_page() {
    let mut page = fixture::page();
    page.content = (0..5_000).map(|i| format!("Line {i} of Ümläut, with ``` and words.\n")).collect();
    page.content += "the end";
    page.neighbours =
        (0..5_000).map(|i| fixture::near("related", true, &format!("Principle/P{i}"))).collect();
    let (mut offset, mut whole, mut pieces) = (0, String::new(), 0);
    loop {
        let reply = read(&page, offset).unwrap();
        let text = reply.text();
        let words = text.split_whitespace().count();
        assert!(words <= 8_000, "{words}");
        let data = data(TOOL, &reply);
        let content = data["content"].as_str().unwrap();
        assert!(text.contains(content) && content.starts_with(if pieces == 0 { "Line 0 " } else { "Line " }));
        assert_eq!(text.contains("## Related pages") && text.contains("## Overview"), pieces == 0);
        whole += content;
        pieces += 1;
        let Some(next) = data["next_offset"].as_u64() else {
            assert!(text.contains(", the end\n"), "{text}");
            break;
        };
        assert!(words > 7_000, "{words}");
        let pointer = format!("Next: `get_wiki_page` with page_title `{}`, offset {next}\n", page.id);
        assert!(text.contains(&pointer), "{text}");
        offset = usize::try_from(next).unwrap();
    }
    assert_eq!(whole, page.content);
    assert!(pieces > 3, "{pieces}");
    let fault = read(&page, page.content.chars().count()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    assert!(fault.message.contains("is beyond the end of"), "{}", fault.message);
}

#[test]
fn an_overview_that_only_the_head_has_is_read_to_its_end() {
    let mut page = fixture::page();
    page.overview = format!("{}last words", "word ".repeat(400));
    let reply = read(&page, 0).unwrap();
    assert!(data(TOOL, &reply)["content"].as_str().unwrap().contains("last words\n\n== Overview =="));
}

#[test]
fn pages_that_share_a_title_are_named() {
    let found =
        || FoundPage { page: fixture::page(), namesakes: vec!["Heuristic/B".into(), "Principle/C".into()] };
    let host = fixture::reader().read(move |_| Ok(Lookup::Found(found())));
    let reply = host.run(|| call(TOOL, json!({"page_title": "x"}))).unwrap();
    assert!(reply.text().contains("**Same title:** `Heuristic/B`, `Principle/C`\n"), "{}", reply.text());
    assert_eq!(data(TOOL, &reply)["same_title"], json!(["Heuristic/B", "Principle/C"]));
}

#[test]
fn a_missing_page_names_the_nearest_titles() {
    let near = || vec!["LoRA".to_owned(), "QLoRA".into(), "DoRA".into(), "too many".into()];
    let host = Fake::new().read(move |_| Ok(Lookup::Missing(near()))).exposes(["search_knowledge"]);
    let fault = host.run(|| call(TOOL, json!({"page_title": "Lora\n"}))).unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::NotFound, "Page not found: 'Lora'"));
    let hint = "Nearest titles: 'LoRA', 'QLoRA', 'DoRA'. Use search_knowledge to find pages by content.";
    assert_eq!(fault.hint.as_deref(), Some(hint));

    let host = Fake::new().read(|_| Ok(Lookup::Missing(vec![])));
    assert_eq!(host.run(|| call(TOOL, json!({"page_title": "x"}))).unwrap_err().hint, None);
}

#[test]
fn a_fault_passes_through() {
    let fault = || Fault::denied("gate 'kg' may not use knowledge").hint("add grants = [\"knowledge:read\"]");
    let host = Fake::new().read(move |_| Err(fault()));
    assert_eq!(host.run(|| call(TOOL, json!({"page_title": "x"}))).unwrap_err(), fault());
}
