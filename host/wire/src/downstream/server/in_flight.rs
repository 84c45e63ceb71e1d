//! Use of a connection, which keeps it from being closed as idle.

use gatehouse_core::lock;
use tokio::time::Instant;

use super::DownstreamServer;

/// Marks the server as in use, so that it does not count as idle, until it is dropped.
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
