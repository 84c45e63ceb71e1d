//! Large requests on separate threads. Parsing some megabytes blocks a thread for half a second, which would delay
//! small requests.

use tokio_util::task::AbortOnDropHandle;

use super::reply::{BoxResponse, refuse};
use crate::serve::workers::Workers;

/// Smaller bodies parse in less than a millisecond.
const MIN_LARGE_BODY: usize = 64 << 10;

pub(super) struct LargeRequests {
    pub(super) workers: Workers,
}

impl LargeRequests {
    /// Answers a request with a body of `size` bytes. Dropping the future cancels the request.
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
            refuse(http::StatusCode::INTERNAL_SERVER_ERROR, "the host failed on this request")
        })
    }
}
