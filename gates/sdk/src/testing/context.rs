//! What a gate hears and says about the running call, as the [`Fake`](super::Fake) in place has it.

use super::current;
use crate::context::{ClientInfo, Level, MessageLevel};

/// Writes a line to the host's log under the gate's name. `fields` is a JSON object of extra fields, or
/// empty. Never log arguments or replies: they may hold what their owner wants kept.
pub fn log(level: Level, message: &str, fields: &str) {
    current().reported.borrow_mut().push(format!("{level:?}: {message} {fields}").trim_end().to_owned());
}

/// Tells the client how far a long call has come.
pub fn progress(done: u64, total: Option<u64>, message: Option<&str>) {
    let total = total.map(|t| format!("/{t}")).unwrap_or_default();
    current().reported.borrow_mut().push(format!("{done}{total} {}", message.unwrap_or_default()));
}

/// The wall clock: milliseconds since 1970-01-01T00:00:00Z.
pub fn now() -> u64 {
    current().now.get()
}

/// Milliseconds that are left of the call's time.
pub fn remaining() -> u64 {
    current().remaining.unwrap_or(super::DEADLINE_MS)
}

/// Whether the client has given the call up. Long loops ask this and stop.
pub fn cancelled() -> bool {
    current().cancelled
}

/// The name under which the caller's preset exposes the tool that some gate declares as `tool`, or none
/// when the caller does not have it. Ask before a reply names a tool.
pub fn exposed_name(tool: &str) -> Option<String> {
    current().exposed.get(tool).cloned()
}

/// The client of this call, in its own words, and what it can do.
pub fn client() -> ClientInfo {
    current().client.clone().unwrap_or_else(ClientInfo::unknown)
}

/// Tells the client something beside the reply; `data` is JSON.
pub fn message(level: MessageLevel, data: &str) {
    current().reported.borrow_mut().push(format!("{level:?} to the client: {data}"));
}
