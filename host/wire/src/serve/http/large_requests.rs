//! Requests whose bodies take long to parse are answered on threads of their own: a body of some megabytes holds up a
//! thread for half a second, and small requests would wait behind it.

use tokio_util::task::AbortOnDropHandle;

use super::reply::{BoxResponse, refuse};
use crate::serve::workers::Workers;

/// Bytes of a body that parse in less than a millisecond.
const MIN_LARGE_BODY: usize = 64 << 10;

/// The threads, which start with the first large request.
pub(super) struct LargeRequests {
    pub(super) workers: Workers,
}

impl LargeRequests {
    /// Gives the answer to a request of `size` bytes. Dropping this ends the request, wherever it runs.
    pub(super) async fn answer(
        &self,
        size: usize,
        answer: impl Future<Output = BoxResponse> + Send + 'static,
    ) -> BoxResponse {
        if size < MIN_LARGE_BODY {
            return answer.await;
        }
        let Some(threads) = self.workers.handle() else { return answer.await };
        let task = AbortOnDropHandle::new(threads.spawn(answer));
        task.await.unwrap_or_else(|_| {
            refuse(http::StatusCode::INTERNAL_SERVER_ERROR, "The host failed on this request.")
        })
    }
}
