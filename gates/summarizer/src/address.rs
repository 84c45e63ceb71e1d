//! Addresses of artifacts: `gatehouse://artifact/<id>`.

const PREFIX: &str = "gatehouse://artifact/";

/// The family of addresses, as a template of RFC 6570.
pub(crate) const TEMPLATE: &str = "gatehouse://artifact/{id}";

pub(crate) fn from_id(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// The id in an address, or the id itself.
pub(crate) fn id(path: &str) -> &str {
    let path = path.trim();
    path.strip_prefix(PREFIX).unwrap_or(path)
}
