//! Caller, working directory and metadata of a request.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::Principal;
use rmcp::model::{Extensions, JsonObject, RequestMetaObject};

/// Returns the caller: over HTTP the authenticated principal, over stdio the local user.
pub(super) fn principal(extensions: &Extensions) -> Principal {
    let admitted = extensions.get::<http::request::Parts>();
    admitted.and_then(|request| request.extensions.get::<Principal>()).cloned().unwrap_or_default()
}

/// Returns the directory in which the client started this process. `None` over HTTP.
pub(super) fn working_directory(extensions: &Extensions) -> Option<PathBuf> {
    match extensions.get::<http::request::Parts>() {
        Some(_) => None,
        None => std::env::current_dir().ok(),
    }
}

/// Returns the `_meta` to forward to the tool, without members that concern a single hop.
pub(super) fn passed_on(meta: &RequestMetaObject) -> Option<Arc<JsonObject>> {
    let hop = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
    if meta.keys().all(|key| hop(key)) {
        return None;
    }
    let passed = meta.iter().filter(|(key, _)| !hop(key));
    Some(Arc::new(passed.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

#[cfg(test)]
mod tests {
    use rmcp::model::MetaObject;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_belongs_to_one_hop_is_not_passed_on() {
        let meta = |meta: serde_json::Value| {
            let meta = meta.as_object().cloned().expect("an object");
            passed_on(&RequestMetaObject(MetaObject(meta))).map(|meta| json!(*meta))
        };
        let hop = json!({"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        assert_eq!(meta(hop), None);
        let more = json!({"progressToken": 1, "traceparent": "00-1-2-01", "example.com/x": {"y": 1}});
        assert_eq!(meta(more), Some(json!({"traceparent": "00-1-2-01", "example.com/x": {"y": 1}})));
    }
}
