//! A server as it describes itself, in any era. Unreadable parts count as missing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of MCP in which connections begin with discovery.
pub(in crate::downstream) const DISCOVERY_VERSION: &str = "2026-07-28";

/// Latest version of MCP that has the handshake.
pub(in crate::downstream) const HANDSHAKE_VERSION: &str = "2025-11-25";

/// Key of the server's name in the `_meta` of results, since 2026-07-28.
pub(in crate::downstream) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::downstream) enum Lifecycle {
    /// `server/discover`, since MCP 2026-07-28. Requests are independent of each other.
    Discovery,
    /// `initialize`, up to MCP 2025-11-25.
    Handshake,
}

impl Lifecycle {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Discovery => Self::Handshake,
            Self::Handshake => Self::Discovery,
        }
    }
}

#[derive(Debug, Clone)]
pub(in crate::downstream) struct ServerInfo {
    pub(in crate::downstream) lifecycle: Lifecycle,
    pub(in crate::downstream) protocol: String,
    pub(in crate::downstream) name: String,
    pub(in crate::downstream) version: String,
    pub(in crate::downstream) instructions: String,
    capabilities: Map<String, Value>,
}

impl ServerInfo {
    /// Reads the result of `server/discover`.
    ///
    /// # Errors
    /// The reason, as a clause, if it is no such result or the server does not support this version.
    pub(in crate::downstream) fn from_discovery(result: Value) -> Result<Self, String> {
        let invalid = || "it answered `server/discover` with an unexpected result".to_owned();
        let Value::Object(result) = result else { return Err(invalid()) };
        let versions = result.get("supportedVersions").and_then(Value::as_array).ok_or_else(invalid)?;
        if !versions.iter().any(|version| version == DISCOVERY_VERSION) {
            return Err(format!("it does not support MCP {DISCOVERY_VERSION}"));
        }
        let about = result.get("_meta").and_then(|meta| meta.get(SERVER_INFO)).cloned();
        Ok(Self::new(Lifecycle::Discovery, DISCOVERY_VERSION.into(), about.as_ref(), result))
    }

    /// Reads the result of `initialize`.
    ///
    /// # Errors
    /// The reason, as a clause, if it is no such result.
    pub(in crate::downstream) fn from_handshake(result: Value) -> Result<Self, String> {
        let Value::Object(mut result) = result else {
            return Err("it answered `initialize` with an unexpected result".into());
        };
        let Some(Value::String(protocol)) = result.shift_remove("protocolVersion") else {
            return Err("it answered `initialize` without a protocol version".into());
        };
        let about = result.shift_remove("serverInfo");
        Ok(Self::new(Lifecycle::Handshake, protocol, about.as_ref(), result))
    }

    fn new(
        lifecycle: Lifecycle,
        protocol: String,
        about: Option<&Value>,
        mut result: Map<String, Value>,
    ) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let about = |key: &str| text(about.and_then(|about| about.get(key)));
        let capabilities = match result.get_mut("capabilities").map(Value::take) {
            Some(Value::Object(capabilities)) => capabilities,
            _ => Map::new(),
        };
        Self {
            lifecycle,
            protocol,
            name: about("name"),
            version: about("version"),
            instructions: text(result.get("instructions")),
            capabilities,
        }
    }

    pub(in crate::downstream) fn is_since_2026(&self) -> bool {
        self.lifecycle == Lifecycle::Discovery
    }

    pub(in crate::downstream) fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Returns true if the server declares an option of a capability, such as `subscribe` of `resources`.
    pub(in crate::downstream) fn has_option(&self, capability: &str, option: &str) -> bool {
        self.capabilities.get(capability).and_then(|value| value.get(option)) == Some(&Value::Bool(true))
    }

    pub(in crate::downstream) fn has_extension(&self, extension: &str) -> bool {
        let extensions = self.capabilities.get("extensions");
        extensions.and_then(|extensions| extensions.get(extension)).is_some_and(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_handshake_needs_only_a_version() {
        let result = json!({"protocolVersion": "2025-03-26", "serverInfo": {"name": "kelp"}, "capabilities": {
            "tools": {}, "prompts": null, "resources": {"subscribe": true, "listChanged": "yes"}}});
        let info = ServerInfo::from_handshake(result).expect("an answer");
        assert_eq!((&*info.name, &*info.version, &*info.protocol), ("kelp", "", "2025-03-26"));
        assert!(info.has("tools") && !info.has("prompts") && !info.has("logging") && !info.is_since_2026());
        assert!(info.has_option("resources", "subscribe") && !info.has_option("resources", "listChanged"));
        let odd = json!({"protocolVersion": "1", "capabilities": [], "serverInfo": 5});
        assert!(ServerInfo::from_handshake(odd).is_ok());
        for bad in [json!(null), json!({}), json!({"protocolVersion": 5})] {
            assert!(ServerInfo::from_handshake(bad).is_err());
        }
    }

    #[test]
    fn discovery_needs_the_version() {
        let discovered = |versions: Value| {
            ServerInfo::from_discovery(
                json!({"supportedVersions": versions, "_meta": {SERVER_INFO: {"name": "n"}},
                "capabilities": {"extensions": {"a/b": {}}}}),
            )
        };
        let info = discovered(json!(["2025-11-25", "2026-07-28"])).expect("an answer");
        assert!(info.is_since_2026() && info.has_extension("a/b") && info.name == "n");
        assert!(discovered(json!(["2025-11-25"])).is_err() && discovered(json!({})).is_err());
        // Some servers answer any request, with the result of a tool.
        assert!(ServerInfo::from_discovery(json!({"content": [], "isError": true})).is_err());
    }
}
