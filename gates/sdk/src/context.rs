//! Facts about the call that is running, and the way to speak while it runs. Always granted.

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::context as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::context as host;

pub use crate::bindings::gatehouse::gate::context::Level;

/// Writes a line to the host's log under the gate's name. `fields` is a JSON object of extra fields, or
/// empty. Never log arguments or replies: they may hold what their owner wants kept.
pub fn log(level: Level, message: &str, fields: &str) {
    host::log(level, message, fields);
}

/// Tells the client how far a long call has come.
pub fn progress(done: u64, total: Option<u64>, message: Option<&str>) {
    host::progress(done, total, message);
}

/// The wall clock: milliseconds since 1970-01-01T00:00:00Z.
pub fn now() -> u64 {
    host::now()
}

/// Whether the client has given the call up. Long loops ask this and stop.
pub fn cancelled() -> bool {
    host::cancelled()
}

/// The name under which the caller's preset exposes the tool that some gate declares as `tool`, or none
/// when the caller does not have it. Ask before a reply names a tool.
pub fn exposed_name(tool: &str) -> Option<String> {
    host::exposed_name(tool)
}
