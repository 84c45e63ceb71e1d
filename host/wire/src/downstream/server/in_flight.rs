//! What runs on the connection of a server: while there is something, it is not idle.

use gatehouse_core::lock;
use tokio::time::Instant;

use super::Server;

/// Something that runs on the connection: the server is not idle.
pub(super) struct InFlight<'a>(&'a Server);

impl<'a> InFlight<'a> {
    pub(super) fn begin(server: &'a Server) -> Self {
        lock(&server.inner).in_flight += 1;
        Self(server)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.in_flight -= 1;
        inner.last_used = Instant::now();
    }
}
