//! URIs, mapped in both directions.

use gatehouse_core::outcome::ResourceLink;
use serde_json::json;

use super::*;

#[test]
fn every_uri_is_mapped_back_unchanged() {
    let mapper = UriMapper::new("notes");
    let family = &mapper.family;
    assert_eq!(family.check(), Ok(()));
    for uri in [
        "memo://one",
        "file:///a%20b?x=1#y",
        "memo://My Note",
        "memo://\u{e4}/{id}",
        "~odd",
        "100%",
        "%7E",
        "a\u{202e}b\n",
        "ui://",
        "ui://notes/My View.html",
        "ui://~odd",
    ] {
        let exposed = mapper.to_exposed(uri).expect("short enough");
        let of_apps = exposed.starts_with("ui://");
        assert!(family.matches(&exposed) != of_apps, "{exposed}");
        assert_eq!(mapper.app_family.matches(&exposed), of_apps, "{exposed}");
        assert_eq!(mapper.to_upstream(&exposed).as_deref(), Some(uri));
    }
    assert_eq!(mapper.to_exposed("memo://one").as_deref(), Some("gatehouse://server/notes/memo://one"));
    assert_eq!(mapper.to_exposed("ui://a/b.html").as_deref(), Some("ui://server/notes/a/b.html"));
    assert_eq!(mapper.to_exposed(""), None);
    assert_eq!(mapper.to_exposed(&"x".repeat(MAX_URI_BYTES)), None);
    for foreign in [
        "memo://one",
        "gatehouse://server/note/x",
        "gatehouse://server/notes/",
        "gatehouse://server/notes/~%ff",
        "ui://server/notes/",
        "ui://a/b.html",
    ] {
        assert_eq!(mapper.to_upstream(foreign), None, "{foreign}");
    }
}

#[test]
fn expanded_templates_are_uris_of_the_server() {
    let mapper = UriMapper::new("files");
    let own = UriTemplate { uri_template: "file:///{+path}".into(), ..mapper.family.clone() };
    let template = mapper.template(own);
    assert_eq!(template.check(), Ok(()));
    let uri = "gatehouse://server/files/file:///a/b%20c";
    assert!(template.matches(uri));
    assert_eq!(mapper.to_upstream(uri).as_deref(), Some("file:///a/b%20c"));
}

#[test]
fn links_are_mapped_to_readable_uris() {
    let mapper = UriMapper::new("s");
    let link = |uri: &str| {
        let mut content = ContentPart::Link(ResourceLink {
            uri: uri.into(),
            name: "x".into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            extra: Map::new(),
        });
        mapper.map(&mut content);
        match content {
            ContentPart::Link(link) => link.uri,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(link("memo://1"), "gatehouse://server/s/memo://1");
    assert_eq!(link("https://example.com/1"), "https://example.com/1");
    let noted = json!({"type": "resource", "resource": {"uri": "memo://2", "text": "", "_meta": {}}});
    let mut noted = ContentPart::Other(noted.as_object().cloned().expect("an object"));
    mapper.map(&mut noted);
    assert!(
        matches!(noted, ContentPart::Other(block) if block["resource"]["uri"] == "gatehouse://server/s/memo://2")
    );
}

#[test]
fn addresses_of_interfaces_are_mapped_in_every_form() {
    let mapper = UriMapper::new("s");
    let tool = |meta: Value| {
        let mut tool: ToolSpec = serde_json::from_value(json!({
            "name": "show", "title": null, "description": "", "input_schema": {}, "output_schema": null,
            "intent": "query", "effect": "read-only", "idempotent": true, "open_world": false, "dry_run": null,
            "meta": null,
        }))
        .expect("a tool");
        tool.meta = meta.as_object().cloned().map(Arc::new);
        Arc::new(tool)
    };
    let meta = json!({"ui": {"resourceUri": "ui://v", "visibility": ["app"]}, "ui/resourceUri": "ui://v",
        "openai/outputTemplate": "ui://v", "other": "ui://v"});
    let mapped = mapper.map_tool(&tool(meta)).meta.as_deref().cloned().map(Value::Object);
    let expected = json!({"ui": {"resourceUri": "ui://server/s/v", "visibility": ["app"]},
        "ui/resourceUri": "ui://server/s/v", "openai/outputTemplate": "ui://server/s/v", "other": "ui://v"});
    assert_eq!(mapped, Some(expected));
    for meta in [json!(null), json!({}), json!({"ui": 5}), json!({"ui": {"resourceUri": "https://x"}})] {
        let plain = tool(meta);
        assert!(Arc::ptr_eq(&plain, &mapper.map_tool(&plain)), "{:?}", plain.meta);
    }
}
