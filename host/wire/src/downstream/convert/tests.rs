//! Tests of tools, schemas and content of servers.

use super::*;

fn tool_with(annotations: Value) -> ToolSpec {
    let listed = json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": annotations});
    tool(serde_json::from_value(listed).expect("a tool"))
}

#[test]
fn missing_annotations_count_as_the_worst_case() {
    let plain = tool_with(json!({}));
    assert_eq!((plain.effect, plain.open_world, plain.idempotent), (Effect::ExternalExec, true, false));
    assert_eq!(tool_with(json!({"readOnlyHint": true})).effect, Effect::ReadOnly);
    let own = json!({"destructiveHint": false, "openWorldHint": false});
    assert_eq!(tool_with(own).effect, Effect::Mutating);
    let adds = tool_with(json!({"destructiveHint": false}));
    assert_eq!((adds.effect, adds.is_destructive()), (Effect::ExternalExec, false));
    assert!(plain.is_destructive() && !tool_with(json!({"readOnlyHint": true})).is_destructive());
}

#[test]
fn every_kind_of_content_is_converted_without_loss() {
    let blocks = json!([
        {"type": "text", "text": "plain"},
        {"type": "text", "text": "noted", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": "AQI=", "mimeType": "image/png"},
        {"type": "audio", "data": "not base64!", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://1", "text": "one"}},
        {"type": "resource_link", "uri": "x://2", "name": "two", "size": 7, "icons": [{"src": "javascript:x"}]},
    ]);
    let result = json!({"content": blocks, "structuredContent": {"n": 1}, "isError": true});
    let reply = reply(serde_json::from_value(result).expect("a result"));
    assert!(reply.is_error && reply.structured.is_some());
    let [plain, noted, image, audio, resource, link] = reply.content.try_into().expect("six blocks");
    assert_eq!(plain, ContentPart::Text("plain".into()));
    assert!(matches!(noted, ContentPart::Other(block) if block["annotations"]["audience"][0] == "user"));
    assert!(matches!(image, ContentPart::Image(image) if image.data == [1, 2]));
    assert!(matches!(audio, ContentPart::Other(block) if block["data"] == "not base64!"), "as it came");
    assert!(matches!(resource, ContentPart::Embedded(one) if one.body == ResourceBody::Text("one".into())));
    assert!(matches!(link, ContentPart::Link(link) if link.size == Some(7) && link.extra.is_empty()));
}

#[test]
fn null_keywords_are_removed_and_null_data_stays() {
    let schema = json!({"type": null, "required": null, "description": "x", "properties": {
        "a": {"type": "string", "default": null, "enum": null, "anyOf": [{"const": null, "items": null}]},
        "b": {"enum": ["x", null], "examples": [null]}}});
    let cleaned = with_type(without_nulls(Arc::new(schema.as_object().cloned().expect("an object"))));
    let expected = json!({"type": "object", "description": "x", "properties": {
        "a": {"type": "string", "default": null, "anyOf": [{"const": null}]},
        "b": {"enum": ["x", null], "examples": [null]}}});
    assert_eq!(json!(*cleaned), expected);
    let plain = Arc::new(expected.as_object().cloned().expect("an object"));
    assert!(Arc::ptr_eq(&plain, &with_type(without_nulls(Arc::clone(&plain)))), "unchanged");
}
