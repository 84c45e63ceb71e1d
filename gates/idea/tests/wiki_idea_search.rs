//! Tests of `wiki_idea_search`: its texts and its types of page. gates/lib/wiki tests what it shares with other gates.

use gate_idea::gate;
use gatehouse_sdk::{
    Reply, conformance,
    knowledge::{Hit, PageType},
    testing::{self, Fake},
};
use gatehouse_wiki::fixture::{self, found, hit, stocked};

const TOOL: &str = "wiki_idea_search";

fn call(host: Fake) -> Reply {
    host.run(|| testing::call(&gate(), TOOL, "{\"query\":\"q\"}", "{}")).expect("a reply")
}

#[test]
fn the_manifest_has_this_tool_alone() {
    let manifest = conformance::describe(&gate(), "{}");
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, [TOOL]);
}

#[test]
fn it_searches_its_page_types_and_names_itself_as_the_reader() {
    let host = stocked(9).exposes([TOOL]).search(|_, filters, _| {
        assert_eq!(filters.page_types, [PageType::Principle, PageType::Heuristic]);
        let content = "lorem ipsum\n".repeat(5_000);
        Ok(found(vec![Hit { content, ..hit(1.0) }]))
    });
    let reply = call(host);
    conformance::structured(&gate(), TOOL, &reply);
    let text = reply.text();
    assert!(text.starts_with("# Idea Search: \"q\"\n"), "{text}");
    let pointer = "Full page: `wiki_idea_search` with page `Principle/Acme_Cache_Invalidation`\n";
    assert!(text.contains(pointer), "{text}");
}

#[test]
fn an_empty_result_suggests_exposed_tools() {
    let reply =
        call(fixture::host(vec![]).exposes(["search_knowledge", "wiki_code_search", "research_idea"]));
    let expected = "No conceptual knowledge found for: \"q\"\n\nTry:\n- Broader or fewer terms\n\
                    - Other words for the same thing\n\
                    - `search_knowledge` searches pages of every type\n\
                    - `wiki_code_search` knows code and environments\n\
                    - `research_idea` searches the web for ideas\n";
    assert_eq!(reply.text(), expected);
}
