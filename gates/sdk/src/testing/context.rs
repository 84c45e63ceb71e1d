//! Facts about the running call and its messages, for the current [`Fake`](super::Fake).

use super::current;
use crate::context::{ClientInfo, Level, MessageLevel};

/// Writes a line to the host's log. `fields` is a JSON object of extra fields, or empty. Never log arguments or
/// replies: they may be confidential.
pub fn log(level: Level, message: &str, fields: &str) {
    current().reported.borrow_mut().push(format!("{level:?}: {message} {fields}").trim_end().to_owned());
}

/// Reports progress to the client.
pub fn progress(done: u64, total: Option<u64>, message: Option<&str>) {
    let total = total.map(|t| format!("/{t}")).unwrap_or_default();
    current().reported.borrow_mut().push(format!("{done}{total} {}", message.unwrap_or_default()));
}

/// Returns the wall clock: milliseconds since 1970-01-01T00:00:00Z.
pub fn now() -> u64 {
    current().now.get()
}

/// Returns the milliseconds left for this call.
pub fn remaining() -> u64 {
    current().remaining.unwrap_or(super::DEADLINE_MS)
}

/// Returns whether the client has canceled the call. Check this in long loops.
pub fn cancelled() -> bool {
    current().cancelled
}

/// Returns the name under which the caller's preset exposes a tool, given the name that its gate declares. `None` if
/// the preset hides it. Check this before a reply mentions another tool.
pub fn exposed_name(tool: &str) -> Option<String> {
    current().exposed.get(tool).cloned()
}

/// Returns the client of this call and its capabilities.
pub fn client() -> ClientInfo {
    current().client.clone().unwrap_or_else(ClientInfo::unknown)
}

/// Sends the client a log message; `data` is JSON.
pub fn message(level: MessageLevel, data: &str) {
    current().reported.borrow_mut().push(format!("{level:?} to the client: {data}"));
}
