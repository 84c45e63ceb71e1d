//! `get_wiki_page`

use gatehouse_sdk::{Fault, FaultKind, knowledge::Lookup, testing::Fake};
use gatehouse_wiki::fixture;
use serde_json::json;

use super::{call, data};

const TOOL: &str = "get_wiki_page";

#[test]
fn a_page_is_shown_whole() {
    let host = Fake::new().read(|asked| {
        assert_eq!(asked, "Cache Invalidation");
        Ok(Lookup::Found(fixture::page()))
    });
    let reply = host.run(|| call(TOOL, json!({"page_title": "Cache Invalidation"}))).unwrap();
    let expected = "\
# Cache_Invalidation

**Type:** Principle | **Id:** `Principle/Acme_Cache_Invalidation`
**Domains:** Caching, Distributed Systems
**Last updated:** 2026-01-09 12:00 GMT

## Overview

Deciding when a kept answer may no longer be given.

## Content

== Overview ==
Deciding when a kept answer may no longer be given.

=== Description ===
An answer is kept with what it depends on.

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
fn a_bare_page_is_a_page() {
    let bare = || {
        let mut page = fixture::page();
        (page.overview, page.content, page.last_updated) = (String::new(), String::new(), None);
        (page.domains, page.sources, page.neighbours) = (vec![], vec![], vec![]);
        page
    };
    let host = Fake::new().read(move |_| Ok(Lookup::Found(bare())));
    let reply = host.run(|| call(TOOL, json!({"page_title": "x"}))).unwrap();
    assert_eq!(
        reply.text(),
        "# Cache_Invalidation\n\n**Type:** Principle | **Id:** `Principle/Acme_Cache_Invalidation`\n"
    );
    assert!(data(TOOL, &reply).get("last_updated").is_none());
}

#[test]
fn a_missing_page_names_the_nearest_titles() {
    let near = || vec!["LoRA".to_owned(), "QLoRA".into(), "DoRA".into(), "too many".into()];
    let host = Fake::new().read(move |_| Ok(Lookup::Missing(near()))).exposes(["search_knowledge"]);
    let fault = host.run(|| call(TOOL, json!({"page_title": "Lora\n"}))).unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::NotFound, "Page not found: 'Lora'"));
    let hint = "Nearest titles: 'LoRA', 'QLoRA', 'DoRA'. search_knowledge finds pages by what they say.";
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
