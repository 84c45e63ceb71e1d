//! Tests of the gate, with a fake host.

mod attacks;
mod calls;
mod corpus;
mod fuzz;
mod locale;
mod stored;

use gatehouse_sdk::{Content, Effect, Fault, Reply, catalog::Entry, testing};

fn entry(source: &str, tool: &str) -> Entry {
    Entry {
        name: tool.into(),
        source: source.into(),
        tool: tool.into(),
        title: None,
        description: format!("Does {tool}."),
        effect: Effect::ReadOnly,
        idempotent: true,
        dry_run: None,
        structured: false,
    }
}

fn host() -> testing::Fake {
    let entries = vec![
        entry("kg", "search"),
        entry("kg", "fail"),
        entry("my-server", "get-it"),
        entry("my-server", "call_tool"),
        entry("script", "run_code"),
        entry("script", "tool_types"),
    ];
    let schema = r#"{"type":"object","properties":{"query":{"type":"string"},"top_k":{"type":"integer"}},"required":["query"],"additionalProperties":false}"#;
    testing::Fake::new()
        .exposes(["run_code", "tool_types"])
        .tools(move || Ok(entries.clone()))
        .schema(move |tool| Ok(if tool == "search" { schema.into() } else { "{\"type\":\"object\"}".into() }))
        .output_schema(|_| Ok(None))
        .call(|tool, arguments| match tool {
            "search" => {
                let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
                Reply::markdown("found").structured(&serde_json::json!({"hits": [arguments["query"]]}))
            }
            "get-it" if arguments.contains("ids") => Ok(Reply::markdown(
                "[{\"id\": 418502930602131457}, {\"id\": 418502930602131458}, {\"id\": 7}]",
            )),
            "get-it" if arguments.contains("ped") => {
                let kind = if arguments.contains("unwrapped") { "declared" } else { "wrapped" };
                let meta = serde_json::json!({ "gatehouse/server-data": kind }).to_string();
                let reply = Reply::markdown("3").structured(&serde_json::json!({"result": [1, 2]}))?;
                Ok(Reply { meta: Some(meta), ..reply })
            }
            "get-it" if arguments.contains("json") => Ok(Reply::markdown(" {\"rows\": [1, 2]}")),
            "get-it" => Ok(Reply::markdown(format!("text of {arguments}"))),
            "fail" => Err(Fault::denied("not for you").hint("Ask the operator.")),
            other => Err(Fault::internal(other)),
        })
}

fn run_with(code: &str, timeout_ms: u32, params: &str) -> (bool, String) {
    let arguments = serde_json::json!({"code": code, "timeout_ms": timeout_ms}).to_string();
    let reply = host().run(|| testing::call(&crate::gate(), "run_code", &arguments, params)).unwrap();
    let blocks = reply.content.iter().map(|block| match block {
        Content::Text(text) => text.as_str(),
        other => panic!("not a text: {other:?}"),
    });
    (reply.is_error, blocks.collect::<Vec<_>>().join("\n\n"))
}

fn run(code: &str) -> String {
    run_with(code, 20_000, "{}").1
}
