//! Tests of the gate's manifest and its cost.

use super::*;

#[test]
fn tool_definitions_are_short() {
    let manifest = conformance::describe(&crate::gate(), "{}");
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, crate::TOOLS);
    // Such JSON has more than four bytes per token.
    let listed: usize = manifest
        .tools
        .iter()
        .map(|tool| {
            let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
            json!({"name": tool.name, "description": tool.description, "inputSchema": input})
                .to_string()
                .len()
        })
        .sum();
    assert!(listed <= 1_900, "{listed} bytes");
    let fault = crate::gate().describe("{\"threshold\":4000}").unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("Did you mean 'threshold_bytes'?"));
}

#[test]
fn the_prompt_names_only_tools_that_the_preset_has() {
    let gate = crate::gate();
    let text = |host: Fake| {
        let messages = host.run(|| gate.get_prompt("{}", "gateway-init", "{}")).unwrap();
        let Content::Text(text) = &messages[0].content else { panic!("no text") };
        text.clone()
    };
    let all = text(Fake::new().exposes(crate::TOOLS));
    assert!(crate::TOOLS.iter().all(|tool| all.contains(&format!("`{tool}`"))), "{all}");
    assert!(all.len() <= 1_200, "{} bytes are more than 300 tokens", all.len());
    let some = text(Fake::new().exposes_as("get_workspace_file", "whole"));
    assert!(some.contains("- `whole` returns") && !some.contains("semantic_search"), "{some}");
}

#[test]
fn parts_of_results_are_marked_to_stay_inline() {
    let manifest = conformance::describe(&crate::gate(), "{}");
    let marked = manifest.tools.iter().filter_map(|tool| Some((tool.name.as_str(), tool.meta.as_deref()?)));
    let meta = r#"{"anthropic/maxResultSizeChars":100000}"#;
    assert_eq!(Vec::from_iter(marked), [("get_artifact_context", meta), ("get_workspace_file", meta)]);
}
