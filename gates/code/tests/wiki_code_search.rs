//! Contract tests of `wiki_code_search`.

use gatehouse_wiki::promises::FocusedPromises;

const GATE: FocusedPromises = FocusedPromises {
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
fn describe_is_deterministic_and_tells_the_parameters() {
    GATE.describe_is_deterministic_and_tells_the_parameters();
}

#[test]
fn only_its_own_types_are_searched_and_top_k_comes_from_call_preset_or_default() {
    GATE.only_its_own_types_are_searched_and_top_k_comes_from_call_preset_or_default();
}

#[test]
fn the_best_pages_come_whole_as_far_as_the_budget_goes() {
    GATE.the_best_pages_come_whole_as_far_as_the_budget_goes();
}

#[test]
fn a_page_that_was_found_is_read_whole_by_its_id() {
    GATE.a_page_that_was_found_is_read_whole_by_its_id();
}

#[test]
fn a_call_asks_for_one_thing() {
    GATE.a_call_asks_for_one_thing();
}

#[test]
fn nothing_found_ends_with_the_siblings_that_the_caller_has() {
    GATE.nothing_found_ends_with_the_siblings_that_the_caller_has();
}

#[test]
fn a_failing_engine_is_its_fault() {
    GATE.a_failing_engine_is_its_fault();
}
