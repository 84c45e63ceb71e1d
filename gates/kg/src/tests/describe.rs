//! Tests of the gate's manifest.

use gatehouse_sdk::{Effect, FaultKind, conformance};

use crate::gate;

#[test]
fn describe_is_deterministic_and_complete() {
    let manifest = conformance::describe(&gate(), "{}");
    let tools: Vec<&str> = manifest.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(tools, ["search_knowledge", "get_wiki_page", "kg_index", "kg_edit", "get_page_structure"]);
    for tool in &manifest.tools {
        assert!(tool.output_schema.is_some() && tool.title.is_some() && !tool.open_world);
        let writes = ["kg_index", "kg_edit"].contains(&tool.name.as_str());
        assert_eq!(tool.effect == Effect::Mutating, writes, "{}", tool.name);
        assert_eq!(tool.idempotent, tool.name != "kg_edit", "{}", tool.name);
    }
}

#[test]
fn descriptions_follow_the_parameters() {
    let with = conformance::describe(&gate(), "{\"include_content\":true}");
    let without = conformance::describe(&gate(), "{\"include_content\":false}");
    assert!(with.tools[0].description.contains("content preview"));
    assert!(!without.tools[0].description.contains("content preview"));
    assert_eq!(conformance::describe(&gate(), "{}"), with);
}

#[test]
fn unknown_parameters_are_refused() {
    let fault = gate().describe("{\"include_contents\":true}").unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    assert_eq!(fault.message, "unknown parameter 'include_contents'");
    assert_eq!(fault.hint.as_deref(), Some("Did you mean 'include_content'?"));
    assert!(gate().describe("{\"include_content\":1}").is_err());
}

/// Every conversation pays for these descriptions. Four bytes per token is a safe estimate. `x-` keywords are not sent
/// to clients.
#[test]
fn the_tools_are_cheap_to_list() {
    let manifest = conformance::describe(&gate(), "{}");
    let shown = |schema: &str| {
        let mut schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        schema.as_object_mut().unwrap().retain(|key, _| !key.starts_with("x-"));
        schema.to_string().len()
    };
    let bytes: usize = manifest.tools.iter().map(|t| t.description.len() + shown(&t.input_schema)).sum();
    assert!(bytes < 1500 * 4, "{bytes} bytes");
}
