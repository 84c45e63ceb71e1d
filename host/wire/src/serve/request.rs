//! What the host takes from a request besides what it asks: who asks, and what goes along with a call.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::Principal;
use rmcp::model::{Extensions, JsonObject, RequestMetaObject};

/// Who calls: over HTTP whom the request was admitted as, over stdio whoever started this process.
pub(super) fn principal(extensions: &Extensions) -> Principal {
    let admitted = extensions.get::<http::request::Parts>();
    admitted.and_then(|request| request.extensions.get::<Principal>()).cloned().unwrap_or_default()
}

/// The directory in which the client started this process. `None` over HTTP, where the client may be anywhere.
pub(super) fn working_directory(extensions: &Extensions) -> Option<PathBuf> {
    match extensions.get::<http::request::Parts>() {
        Some(_) => None,
        None => std::env::current_dir().ok(),
    }
}

/// What of a request's `_meta` goes to whoever runs the tool: not what the protocol says in it from one hop to the next.
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
