//! What runs on the connection of a server: while there is something, it is not idle.

use gatehouse_core::lock;
use tokio::time::Instant;

use super::DownstreamServer;

/// Something that runs on the connection: the server is not idle.
pub(super) struct InFlightGuard<'a>(&'a DownstreamServer);

impl<'a> InFlightGuard<'a> {
    pub(super) fn begin(server: &'a DownstreamServer) -> Self {
        lock(&server.inner).in_flight += 1;
        Self(server)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.in_flight -= 1;
        inner.last_used = Instant::now();
    }
}
