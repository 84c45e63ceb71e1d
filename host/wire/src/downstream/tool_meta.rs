//! `_meta` of a server's tool.

use serde_json::{Map, Value};

use super::uri_mapper::APP_SCHEME;

/// Members that are the address of an interface: the older form of the extension `io.modelcontextprotocol/ui`, whose
/// `ui.resourceUri` is the newer one, and that of the OpenAI Apps SDK.
pub(super) const ADDRESS_KEYS: [&str; 2] = ["ui/resourceUri", "openai/outputTemplate"];

/// Prefix of keys that tell Claude Code what to load and how much to show. The preset decides that, not the server.
const CLIENT_KEYS: &str = "anthropic/";

/// Removes what a server must not decide for the client: what it loads, and an interface with another address than `ui://`,
/// such as `javascript:` or a file. `None` if nothing is left.
pub(super) fn cleaned(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    let is_interface = |address: &Value| address.as_str().is_some_and(|uri| uri.starts_with(APP_SCHEME));
    meta.retain(|key, value| {
        !key.starts_with(CLIENT_KEYS) && (!ADDRESS_KEYS.contains(&key.as_str()) || is_interface(value))
    });
    if let Some(Value::Object(interface)) = meta.get_mut("ui") {
        interface.retain(|key, value| key != "resourceUri" || is_interface(value));
    }
    (!meta.is_empty()).then_some(meta)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_decide_neither_what_clients_load_nor_foreign_addresses() {
        let meta = json!({
            "anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 900_000, "acme/kept": 1,
            "ui": {"resourceUri": "javascript:alert(1)", "visibility": ["app"]},
            "ui/resourceUri": "file:///etc/passwd", "openai/outputTemplate": "ui://board",
        });
        let Value::Object(meta) = meta else { panic!("an object") };
        let expected =
            json!({"acme/kept": 1, "ui": {"visibility": ["app"]}, "openai/outputTemplate": "ui://board"});
        assert_eq!(cleaned(meta).map(Value::Object), Some(expected));
    }
}
