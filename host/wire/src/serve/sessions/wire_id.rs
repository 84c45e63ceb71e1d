//! Session IDs as clients see them, without their seal. They contain all that is needed to restore a session.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use rmcp::model::{InitializeRequestParams, ProtocolVersion};

const ID_LENGTH: usize = 36;

/// Maximum length of what a client says about itself, as JSON. Beyond it, the parts that no host uses are left out.
const MAX_CLIENT_LEN: usize = 2 << 10;

/// Maximum characters of a client's name and version.
const MAX_NAME_CHARS: usize = 64;

/// Session ID in the form `<random>.<client>`, where the client is its `initialize` parameters.
#[derive(Debug, PartialEq)]
pub(crate) struct WireId<'a> {
    /// The random part.
    pub(crate) id: &'a str,
    encoded: &'a str,
}

impl<'a> WireId<'a> {
    pub(crate) fn text(
        id: &str,
        client: &InitializeRequestParams,
        version: &ProtocolVersion,
    ) -> Option<String> {
        let mut client = client.clone().with_protocol_version(version.clone());
        client.meta = None;
        let info = &mut client.client_info;
        (info.title, info.description, info.icons, info.website_url) = (None, None, None, None);
        info.name = info.name.chars().take(MAX_NAME_CHARS).collect();
        info.version = info.version.chars().take(MAX_NAME_CHARS).collect();
        let mut json = serde_json::to_vec(&client).ok()?;
        if json.len() > MAX_CLIENT_LEN {
            (client.capabilities.experimental, client.capabilities.extensions) = (None, None);
            json = serde_json::to_vec(&client).ok()?;
        }
        Some(format!("{id}.{}", BASE64.encode(json)))
    }

    /// Parses the output of [`Self::text`]. Rejects everything else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (id, encoded) = text.split_once('.')?;
        let shaped =
            id.len() == ID_LENGTH && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        shaped.then_some(Self { id, encoded })
    }

    /// Returns `initialize` parameters for a restored session. `None` if no client sent such.
    pub(crate) fn client(&self) -> Option<InitializeRequestParams> {
        let client: InitializeRequestParams =
            serde_json::from_slice(&BASE64.decode(self.encoded).ok()?).ok()?;
        client.protocol_version.has_initialize().then_some(client)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rmcp::model::{ClientCapabilities, ElicitationCapability, Implementation};
    use serde_json::json;

    use super::*;

    const ID: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";

    fn client() -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        InitializeRequestParams::new(capabilities, Implementation::new("test", "1"))
    }

    #[test]
    fn a_session_keeps_what_its_client_can_do() {
        let text = WireId::text(ID, &client(), &ProtocolVersion::V_2025_06_18).unwrap();
        let wire = WireId::parse(&text).unwrap();
        let restored = wire.client().unwrap();
        assert_eq!((wire.id, restored.client_info.name.as_str()), (ID, "test"));
        assert_eq!(restored.protocol_version, ProtocolVersion::V_2025_06_18);
        assert!(restored.capabilities.elicitation.is_some());
    }

    #[test]
    fn a_large_client_loses_what_no_host_uses() {
        let mut large = client();
        let extra = json!({ "x": "y".repeat(100_000) }).as_object().cloned().unwrap();
        large.capabilities.experimental = Some(BTreeMap::from([("e".to_owned(), extra)]));
        large.client_info.name = "n".repeat(100_000);
        let text = WireId::text(ID, &large, &ProtocolVersion::V_2025_11_25).unwrap();
        assert!(text.len() < 1_000, "{}", text.len());
        assert!(WireId::parse(&text).unwrap().client().unwrap().capabilities.elicitation.is_some());
    }

    #[test]
    fn other_texts_are_no_ids() {
        for wrong in [ID.to_owned(), format!("{}.e30", ID.to_uppercase()), ".e30".into(), String::new()] {
            assert_eq!(WireId::parse(&wrong), None, "{wrong:.60}");
        }
        for wrong in [".", ".e30", ".!", ".eyJhIjoxfQ"] {
            let text = format!("{ID}{wrong}");
            assert!(WireId::parse(&text).unwrap().client().is_none(), "{wrong}");
        }
        let stateless = WireId::text(ID, &client(), &ProtocolVersion::V_2026_07_28).unwrap();
        assert!(WireId::parse(&stateless).unwrap().client().is_none(), "this version has no sessions");
    }
}
