//! Contract tests of `wiki_code_search`.

use gatehouse_wiki::focused_tests::FocusedGateTests;

const GATE: FocusedGateTests = FocusedGateTests {
    gate: gate_code::gate,
    tool: "wiki_code_search",
    heading: "Code Search",
    subject: "implementation knowledge",
    page_types: "[PageType::Implementation, PageType::Environment]",
    related: [
        ("wiki_idea_search", "knows principles and heuristics"),
        ("research_implementation", "searches the web for code"),
    ],
};

#[test]
fn describe_is_deterministic_and_shows_the_parameters() {
    GATE.describe_is_deterministic_and_shows_the_parameters();
}

#[test]
fn searches_only_its_page_types_with_top_k_of_call_or_preset() {
    GATE.searches_only_its_page_types_with_top_k_of_call_or_preset();
}

#[test]
fn the_best_pages_are_whole_within_the_budget() {
    GATE.the_best_pages_are_whole_within_the_budget();
}

#[test]
fn a_page_can_be_read_whole_by_its_id() {
    GATE.a_page_can_be_read_whole_by_its_id();
}

#[test]
fn query_and_page_exclude_each_other() {
    GATE.query_and_page_exclude_each_other();
}

#[test]
fn an_empty_result_suggests_exposed_tools() {
    GATE.an_empty_result_suggests_exposed_tools();
}

#[test]
fn a_failing_engine_is_a_fault() {
    GATE.a_failing_engine_is_a_fault();
}
