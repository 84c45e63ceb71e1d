//! Tests of the conversion to MCP results.

use gatehouse_core::outcome::{EmbeddedResource, ResourceLink};

use super::*;

fn wire(outcome: Outcome) -> Value {
    serde_json::to_value(result(outcome, StructuredMode::Any).expect("a result")).expect("JSON")
}

#[test]
fn fault_becomes_a_result_with_its_hint() {
    let fault = Fault::not_found("Page not found: 'x'").hint("Try search_knowledge.");
    let value = wire(Err(fault));
    assert_eq!(value["isError"], true);
    assert_eq!(value["content"][0]["text"], "Page not found: 'x' [MCP_ERROR]\nTry search_knowledge.");
    assert!(value.get("structuredContent").is_none(), "{value}");
    assert_eq!(
        value["_meta"][FAULT_KEY],
        json!({"type": "MCP_ERROR", "message": "Page not found: 'x'", "recoverable": false, "suggestion": "Try search_knowledge."})
    );
}

#[test]
fn unknown_tool_is_a_protocol_error() {
    let fault = Fault::new(FaultKind::UnknownTool, "Unknown tool: 'x'.");
    assert_eq!(result(Err(fault), StructuredMode::None).expect_err("an error").code.0, -32602);
}

#[test]
fn structured_content_follows_the_mode_and_is_omitted_on_errors() {
    let reply = |content: Vec<ContentPart>, is_error| {
        Ok(Reply { content, structured: Some(json!({"n": 1})), is_error, meta: None })
    };
    let text = || vec![ContentPart::Text("one".into())];
    let sent = |outcome, structured| {
        let result = result(outcome, structured).expect("a result");
        let text = result.content[0].as_text().expect("text").text.clone();
        (text, result.structured_content.is_some())
    };
    for wanted in [StructuredMode::Any, StructuredMode::Objects] {
        assert_eq!(sent(reply(text(), false), wanted), ("one".into(), true));
        assert_eq!(sent(reply(text(), true), wanted), ("one".into(), false));
    }
    assert_eq!(sent(reply(text(), false), StructuredMode::None), ("one".into(), false));
    let alone = sent(reply(vec![], false), StructuredMode::None);
    assert_eq!(alone, ("{\"n\":1}".into(), false), "data alone is shown");
    let list = || Ok(Reply { structured: Some(json!([1, 2])), ..Reply::default() });
    assert_eq!(sent(list(), StructuredMode::Any), ("[1,2]".into(), true));
    assert_eq!(
        sent(list(), StructuredMode::Objects),
        ("[1,2]".into(), false),
        "older versions support only objects"
    );
}

#[test]
fn content_blocks_are_sent_unchanged() {
    let other = json!({"type": "text", "text": "hi", "annotations": {"audience": ["user"], "priority": 0.5}});
    let reply = Reply {
        content: vec![
            ContentPart::Text("plain".into()),
            ContentPart::Image(MediaData { data: vec![1, 2, 3], mime_type: "image/png".into() }),
            ContentPart::Audio(MediaData { data: vec![4], mime_type: "audio/wav".into() }),
            ContentPart::Link(ResourceLink {
                uri: "gatehouse://artifact/art-1".into(),
                name: "art-1".into(),
                title: None,
                description: None,
                mime_type: Some("text/plain".into()),
                size: Some(12),
                extra: Map::new(),
            }),
            ContentPart::Embedded(EmbeddedResource {
                uri: "test://e".into(),
                mime_type: None,
                body: ResourceBody::Blob(vec![255]),
                meta: json!({"ui": {"csp": {}}, FAULT_KEY: "no fault"}).as_object().cloned(),
            }),
            ContentPart::Other(other.as_object().cloned().unwrap_or_default()),
        ],
        structured: None,
        is_error: false,
        meta: json!({"example.com/n": [1], FAULT_KEY: "no fault"}).as_object().cloned(),
    };
    let value = wire(Ok(reply));
    let blocks = value["content"].as_array().expect("blocks");
    assert_eq!(blocks[1], json!({"type": "image", "data": "AQID", "mimeType": "image/png"}));
    assert_eq!(blocks[2]["data"], "BA==");
    assert_eq!(blocks[3]["size"], 12);
    assert_eq!(
        blocks[4]["resource"],
        json!({"uri": "test://e", "blob": "/w==", "_meta": {"ui": {"csp": {}}}})
    );
    assert_eq!(blocks[5], other);
    assert_eq!(value["_meta"], json!({"example.com/n": [1]}), "keys reserved for the host are removed");
}
