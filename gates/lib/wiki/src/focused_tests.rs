//! Tests that every gate built with [`focused_gate`](crate::focused_gate) must pass (feature `testing`). They panic on
//! failure.

#![allow(clippy::unwrap_used, reason = "test code")]

use gatehouse_sdk::{
    Fault, FaultKind, Gate, Reply, conformance,
    knowledge::{Hit, Lookup, Page},
};
use serde_json::{Value, json};

use crate::{
    FocusedParams,
    fixture::{self, found, hit, lookup, page, reader, stocked},
};

/// A gate under test and its expected properties.
pub struct FocusedGateTests {
    pub gate: fn() -> Gate<FocusedParams>,
    pub tool: &'static str,
    /// Heading of its replies.
    pub heading: &'static str,
    /// Noun in replies without hits.
    pub subject: &'static str,
    /// Searched types, in `Debug` format.
    pub page_types: &'static str,
    /// Suggested tools, each with its text.
    pub related: [(&'static str, &'static str); 2],
}

impl FocusedGateTests {
    fn call(&self, arguments: Value, params: &str) -> Result<Reply, Fault> {
        conformance::call(&(self.gate)(), self.tool, &arguments, params)
    }

    pub fn describe_is_deterministic_and_shows_the_parameters(&self) {
        let manifest = conformance::describe(&(self.gate)(), "{\"top_k\":10,\"include_content\":false}");
        let tool = &manifest.tools[0];
        assert_eq!(manifest.tools.len(), 1);
        assert!(tool.description.contains("up to 10 pages") && !tool.description.contains(" content,"));
        assert!(tool.input_schema.contains("\"default\":10"), "{}", tool.input_schema);
        assert!(tool.idempotent && !tool.open_world && tool.output_schema.is_some());
        let manifest = conformance::describe(&(self.gate)(), "{\"top_k\":1000000000000}");
        assert!(manifest.tools[0].description.contains("up to 20 pages"));
        let fault = (self.gate)().describe("{\"use_llm_rerank\":true}").unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("Did you mean 'use_llm_reranker'?"));
        assert!(
            (self.gate)().describe("{\"top_k\":0}").unwrap_err().message.starts_with("parameter 'top_k': ")
        );
    }

    pub fn searches_only_its_page_types_with_top_k_of_call_or_preset(&self) {
        for (arguments, params, expected) in [
            (json!({"query": "q"}), "{}", 5),
            (json!({"query": "q"}), "{\"top_k\":10}", 10),
            (json!({"query": "q", "top_k": 3}), "{\"top_k\":10}", 3),
            (json!({"query": "q", "top_k": 1e30}), "{}", 20),
        ] {
            let page_types = self.page_types;
            let host = stocked(9).search(move |_, filters, limit| {
                assert_eq!(format!("{:?}", filters.page_types), page_types);
                assert_eq!((limit, filters.min_score), (expected, None));
                Ok(found(vec![hit(1.0)]))
            });
            host.run(|| self.call(arguments, params)).unwrap();
        }
        assert!(!conformance::accepts(
            &(self.gate)(),
            self.tool,
            "{\"query\":\"q\",\"page_types\":[\"Workflow\"]}"
        ));
    }

    pub fn the_best_pages_are_whole_within_the_budget(&self) {
        for (params, expected) in [
            ("{}", [true, true, true, true, true]),
            ("{\"content_tokens\":1000}", [true, true, false, false, false]),
            ("{\"content_tokens\":1}", [false; 5]),
        ] {
            let host = fixture::host(long()).exposes([self.tool]);
            let reply = host.run(|| self.call(json!({"query": "why"}), params)).unwrap();
            let text = reply.text();
            let head = format!(
                "# {}: \"why\"\n\n**Verdict:** fits\nFound **5** relevant pages:\n\n---\n\n## [1] Cache_Invalidation\n",
                self.heading
            );
            assert!(text.starts_with(&head), "{text}");
            let data = conformance::structured(&(self.gate)(), self.tool, &reply);
            let hits = data["hits"].as_array().unwrap();
            let whole: Vec<bool> = hits.iter().map(|hit| hit["whole"] == true).collect();
            assert_eq!(whole, expected, "{params}");
            let words = |hit: &Value| hit["content_preview"].as_str().unwrap().split_whitespace().count();
            let all: usize = hits.iter().map(words).sum();
            assert!(all <= if params == "{}" { 2_500 } else { 1_000 }, "{params}: {all}");
            let pointer = format!("Full page: `{}` with page `Principle/Acme_Cache_Invalidation`", self.tool);
            assert_eq!(text.matches(&pointer).count(), expected.iter().filter(|whole| !**whole).count());
            assert_eq!(text.matches("\n### Content Preview\n").count(), text.matches(&pointer).count());
        }
    }

    pub fn a_page_can_be_read_whole_by_its_id(&self) {
        let id = "Principle/Acme_Cache_Invalidation";
        let host = || {
            let read = move |asked: &str| {
                assert_eq!(asked, id);
                Ok(lookup(Page { content: "lorem ipsum\n".repeat(5_000), ..page() }))
            };
            reader().read(read).exposes([self.tool])
        };
        let reply = host().run(|| self.call(json!({"page": id, "query": ""}), "{}")).unwrap();
        let page = conformance::structured(&(self.gate)(), self.tool, &reply)["page"].clone();
        let next = page["next_offset"].as_u64().unwrap();
        let pointer = format!("Next: `{}` with page `{id}`, offset {next}\n", self.tool);
        assert!(reply.text().contains(&pointer), "{}", reply.text());
        assert!(reply.text().split_whitespace().count() <= 8_000);
        let reply = host().run(|| self.call(json!({"page": id, "offset": next}), "{}")).unwrap();
        assert!(reply.text().contains(", the end\n"), "{}", reply.text());
    }

    pub fn query_and_page_exclude_each_other(&self) {
        for (arguments, message) in [
            (json!({}), "query is missing"),
            (json!({"query": " "}), "query is missing"),
            (json!({"query": "q", "page": "Principle/A"}), "query and page cannot be combined"),
            (json!({"query": "q", "offset": 5}), "offset requires page, not query"),
        ] {
            let fault = reader().run(|| self.call(arguments, "{}")).unwrap_err();
            assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::InvalidArguments, message));
            assert!(fault.hint.is_some());
        }
        let host = reader().exposes([self.tool]).read(|_| Ok(Lookup::Missing(vec!["B".into()])));
        let fault = host.run(|| self.call(json!({"page": "A"}), "{}")).unwrap_err();
        assert_eq!(fault.message, "Page not found: 'A'");
        let hint = format!("Nearest titles: 'B'. Use {} to find pages by content.", self.tool);
        assert_eq!(fault.hint, Some(hint));
    }

    pub fn an_empty_result_suggests_exposed_tools(&self) {
        let empty = || fixture::host(vec![]);
        let reply = empty()
            .exposes(self.related.map(|(tool, _)| tool))
            .run(|| self.call(json!({"query": "q", "domains": ["X"]}), "{}"))
            .unwrap();
        let related = self.related.map(|(tool, what)| format!("- `{tool}` {what}\n")).concat();
        let expected = format!(
            "No {} found for: \"q\"\n\nTry:\n- Broader or fewer terms\n- Drop the filters: domains (X)\n\
         - Other words for the same thing\n{related}",
            self.subject
        );
        assert_eq!(reply.text(), expected);
        conformance::structured(&(self.gate)(), self.tool, &reply);
        let alone = empty().run(|| self.call(json!({"query": "q"}), "{}")).unwrap();
        assert!(alone.text().ends_with("- Other words for the same thing\n"), "{}", alone.text());
    }

    pub fn a_failing_engine_is_a_fault(&self) {
        let host = stocked(9).search(|_, _, _| Err(Fault::unavailable("knowledge engine 'x': refused")));
        assert_eq!(
            host.run(|| self.call(json!({"query": "q"}), "{}")).unwrap_err().kind,
            FaultKind::Unavailable
        );
    }
}

/// Returns pages of 300 words each.
fn long() -> Vec<Hit> {
    let page = |n: usize| Hit { content: format!("{n}: {}", "lorem ipsum\n".repeat(150)), ..hit(0.5) };
    (0..5).map(page).collect()
}
