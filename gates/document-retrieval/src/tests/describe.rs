//! Tool descriptions and argument schemas.

use super::*;

#[test]
fn the_description_shows_the_budget_and_parameters_are_checked() {
    let manifest = conformance::describe(&crate::gate(), "{\"budget_tokens\":4000}");
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["list_repositories_with_navigation", "mfai_document_retrieval", "read_repository_file"]
    );
    assert!(manifest.tools[1].description.contains("at most 4000 tokens"));
    assert!(manifest.tools.iter().all(|tool| tool.output_schema.is_some() && tool.idempotent));
    let fault = crate::gate().describe("{\"budget\":4000}").unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("Did you mean 'budget_tokens'?"));
    assert!(crate::gate().describe("{\"encoding\":\"gpt2\"}").is_err());
}

#[test]
fn arguments_match_the_schema() {
    let accepts = |arguments: Value| {
        conformance::accepts(&crate::gate(), "mfai_document_retrieval", &arguments.to_string())
    };
    assert!(accepts(question()));
    assert!(!accepts(json!({"query": "q", "repository": "r"})));
    assert!(!accepts(json!({"query": "q", "repository": "r", "search_type": "vector"})));
    assert!(!accepts(json!({"query": "q", "repository": "r", "search_type": "text", "limit": 3})));
}
