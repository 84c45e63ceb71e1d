//! URIs of artifacts: `gatehouse://artifact/<id>`.

const PREFIX: &str = "gatehouse://artifact/";

pub(crate) const TEMPLATE: &str = "gatehouse://artifact/{id}";

pub(crate) fn from_id(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// Returns the ID in a URI, or the argument itself.
pub(crate) fn id(path: &str) -> &str {
    let path = path.trim();
    path.strip_prefix(PREFIX).unwrap_or(path)
}
