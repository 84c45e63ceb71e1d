//! The network: MCP towards clients in [`serve`] and towards servers in [`downstream`], components from OCI registries
//! in [`registry`], descriptions of servers in [`mcp_registry`], HTTP requests of gates in [`outbound`].
//!
//! The only crate that uses rmcp and hyper. It does not know the sandbox, stores or models: a request becomes a
//! [`gatehouse_core::Call`] for the pipeline, and the outcome becomes a result.

mod connected_clients;
pub mod downstream;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod login;
pub mod mcp_registry;
pub mod outbound;
mod peer_requests;
pub mod registry;
pub mod serve;
pub mod skill_folders;
mod skills;

pub use connected_clients::ConnectedClients;

/// Bytes from which a message is parsed and hashed outside the async runtime. Smaller ones take less than a millisecond.
const MIN_LARGE_MESSAGE: usize = 64 << 10;

/// Returns the media type of a message in lower case, without parameters.
fn media_type(headers: &http::HeaderMap) -> String {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Capacity in bytes of the buffer for the next line.
const MAX_RETAINED_LINE: usize = 64 << 10;

/// Guard that runs a function when it is dropped.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    fn new(run: F) -> Self {
        Self(Some(run))
    }

    /// Drops the guard without a call of its function.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}
