//! Facts about the running call, and logging, progress and messages. Always granted.

pub use crate::bindings::gatehouse::gate::context::{ClientInfo, Level, MessageLevel};
#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::context::{
    cancelled, client, exposed_name, log, message, now, progress, remaining,
};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::context::{cancelled, client, exposed_name, log, message, now, progress, remaining};

impl ClientInfo {
    /// Returns a client without capabilities.
    pub fn unknown() -> Self {
        Self {
            name: String::new(),
            version: String::new(),
            protocol: String::new(),
            forms: false,
            urls: false,
            sampling: false,
            messages: None,
        }
    }
}
