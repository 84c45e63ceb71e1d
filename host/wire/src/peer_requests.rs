//! Requests to and from a peer: which one a message answers or cancels, and waiting for an answer.

use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, JsonRpcMessage, RequestId,
    },
    service::{Peer, RequestHandle, ServiceError, ServiceRole},
};

/// Returns the ID of the request that a message answers.
pub(crate) fn answered_request<Q, R, N>(message: &JsonRpcMessage<Q, R, N>) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// Returns the ID of the request that a client's message cancels.
pub(crate) fn cancelled_request<Q, R>(
    message: &JsonRpcMessage<Q, R, ClientNotification>,
) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(sent) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &sent.notification else { return None };
    cancelled.params.request_id.as_ref()
}

/// Waits for the answer. Dropping the future cancels the request at the peer.
pub(crate) async fn await_answer<R>(
    handle: RequestHandle<R>,
    reason: &'static str,
) -> Result<R::PeerResp, ServiceError>
where
    R: ServiceRole<Not: From<CancelledNotification>>,
{
    let (peer, id) = (handle.peer.clone(), handle.id.clone());
    cancel_on_drop(&peer, id, reason, handle.await_response()).await
}

/// Waits for the answer to a request. Dropping the future cancels the request at the peer.
pub(crate) async fn cancel_on_drop<R, T>(
    peer: &Peer<R>,
    id: RequestId,
    reason: &'static str,
    answer: impl Future<Output = T>,
) -> T
where
    R: ServiceRole<Not: From<CancelledNotification>>,
{
    let mut guard = CancelOnDrop { peer: peer.clone(), id: Some(id), reason };
    let answer = answer.await;
    guard.id = None;
    answer
}

struct CancelOnDrop<R: ServiceRole<Not: From<CancelledNotification>>> {
    peer: Peer<R>,
    /// `None` once it is answered.
    id: Option<RequestId>,
    reason: &'static str,
}

impl<R: ServiceRole<Not: From<CancelledNotification>>> Drop for CancelOnDrop<R> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let (peer, reason) = (self.peer.clone(), self.reason.to_owned());
        tokio::spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some(reason));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}
