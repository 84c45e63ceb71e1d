//! Tests of the gate's manifest.

use gatehouse_sdk::{Effect, Intent, conformance};
use serde_json::Value;

use crate::{
    gate, list::IdeaSections, list::ImplementationSections, sections::SectionTable, study::StudySections,
};

#[test]
fn describe_is_deterministic_and_complete() {
    let manifest = conformance::describe(&gate(), "{}");
    let tools: Vec<&str> = manifest.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(tools, ["research_idea", "research_implementation", "research_study"]);
    for tool in &manifest.tools {
        assert!(tool.output_schema.is_some() && tool.title.is_some(), "{}", tool.name);
        assert_eq!((tool.effect, tool.intent), (Effect::ReadOnly, Intent::Analyze));
        assert!(tool.open_world && !tool.idempotent && tool.dry_run.is_none());
    }
    assert_eq!(conformance::describe(&gate(), "{}"), manifest);
}

#[test]
fn parameters_are_the_defaults_that_schemas_show() {
    let defaults = |params: &str| {
        let manifest = conformance::describe(&gate(), params);
        manifest
            .tools
            .iter()
            .map(|tool| {
                let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
                let of = |name: &str| schema["properties"][name]["default"].clone();
                (of("depth"), of("top_k"))
            })
            .collect::<Vec<_>>()
    };
    let list = ("deep".into(), 5.into());
    assert_eq!(defaults("{}"), [list.clone(), list, ("deep".into(), Value::Null)]);
    let list = ("light".into(), 3.into());
    let light = defaults("{\"default_depth\":\"light\",\"default_top_k\":3}");
    assert_eq!(light, [list.clone(), list, ("light".into(), Value::Null)]);
    assert_eq!(defaults("{\"default_top_k\":1e30}")[0].1, 20);
    let manifest = conformance::describe(&gate(), "{\"default_top_k\":3}");
    assert!(manifest.tools[0].description.contains("up to 3 ideas"), "{}", manifest.tools[0].description);

    for (bad, message) in [
        ("{\"default_depth\":\"deeper\"}", "parameter 'default_depth': "),
        ("{\"default_top_k\":0}", "parameter 'default_top_k': "),
        ("{\"depth\":\"deep\"}", "unknown parameter 'depth'"),
    ] {
        let fault = gate().describe(bad).unwrap_err();
        assert!(fault.message.starts_with(message), "{}", fault.message);
    }
}

#[test]
fn arguments_are_bounded() {
    let gate = gate();
    for tool in ["research_idea", "research_implementation", "research_study"] {
        for good in ["{\"query\":\"q\"}", "{\"query\":\"q\",\"depth\":\"light\"}"] {
            assert!(conformance::accepts(&gate, tool, good), "{tool}: {good}");
        }
        let long = format!("{{\"query\":\"{}\"}}", "x".repeat(8_193));
        for bad in [
            "{}",
            "{\"query\":\"\"}",
            "{\"query\":\"q\",\"depth\":\"wide\"}",
            "{\"query\":\"q\",\"k\":1}",
            &long,
        ] {
            assert!(!conformance::accepts(&gate, tool, bad), "{tool}: {bad}");
        }
        let takes_top_k = conformance::accepts(&gate, tool, "{\"query\":\"q\",\"top_k\":3}");
        assert_eq!(takes_top_k, tool != "research_study");
    }
}

#[test]
fn every_section_is_a_field_of_the_data() {
    let manifest = conformance::describe(&gate(), "{}");
    let schema = |tool: usize| -> Value {
        serde_json::from_str(manifest.tools[tool].output_schema.as_deref().unwrap()).unwrap()
    };
    let item = |tool: usize, list: &str| schema(tool)["properties"][list]["items"]["properties"].clone();
    for (sections, fields) in [
        (IdeaSections::ALL, item(0, "ideas")),
        (ImplementationSections::ALL, item(1, "implementations")),
        (StudySections::ALL, schema(2)["properties"].clone()),
    ] {
        for section in sections {
            assert_eq!(fields[section.key]["type"], "string", "{} in {fields}", section.key);
        }
    }
}

/// Every conversation pays for these descriptions. Four bytes per token is a safe estimate.
#[test]
fn the_tools_are_cheap_to_list() {
    let manifest = conformance::describe(&gate(), "{}");
    let bytes: usize = manifest.tools.iter().map(|t| t.description.len() + t.input_schema.len()).sum();
    assert!(bytes < 800 * 4, "{bytes} bytes");
}
