//! Session IDs as clients see them. They contain all that is needed to restore a session.

use std::fmt;

use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};

const ID_LENGTH: usize = 36;

/// Client name in a session from before a restart of the host.
pub(crate) const UNKNOWN_CLIENT: &str = "unknown";

/// Session ID in the form `<random>.<protocol version>`.
#[derive(Debug, PartialEq)]
pub(crate) struct WireId<'a> {
    /// The random part. Only clients that know it can use the session.
    pub(crate) id: &'a str,
    pub(crate) version: ProtocolVersion,
}

impl<'a> WireId<'a> {
    pub(crate) fn new(id: &'a str, version: &ProtocolVersion) -> Self {
        Self { id, version: version.clone() }
    }

    /// Parses the output of `Display`. Rejects everything else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (id, version) = text.split_once('.')?;
        let shaped =
            id.len() == ID_LENGTH && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        let known = |known: &&ProtocolVersion| known.as_str() == version && known.has_initialize();
        let version = ProtocolVersion::KNOWN_VERSIONS.iter().find(known)?.clone();
        shaped.then_some(Self { id, version })
    }

    /// Returns `initialize` parameters for a restored session.
    pub(crate) fn client(&self) -> InitializeRequestParams {
        let info = Implementation::new(UNKNOWN_CLIENT, UNKNOWN_CLIENT);
        let client = InitializeRequestParams::new(ClientCapabilities::default(), info);
        client.with_protocol_version(self.version.clone())
    }
}

impl fmt::Display for WireId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.version.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_host_gave_out_is_read() {
        let id = "0a1b2c3d-0000-4000-8000-0123456789ab";
        let wire = WireId::new(id, &ProtocolVersion::V_2025_11_25);
        assert_eq!(WireId::parse(&wire.to_string()), Some(wire));
        let wrong = [
            id.to_owned(),
            format!("{id}."),
            format!("{id}.2026-07-28"),
            format!("{id}.2025-11-26"),
            format!("{}.2025-11-25", id.to_uppercase()),
            format!("{}.2025-11-25", "a".repeat(1 << 20)),
            ".2025-11-25".into(),
        ];
        for wrong in wrong {
            assert_eq!(WireId::parse(&wrong), None, "{wrong:.60}");
        }
    }
}
