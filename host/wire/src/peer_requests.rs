//! Requests to and from a peer: which one a message answers or cancels, and waiting for an answer.

use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, JsonRpcMessage, RequestId,
    },
    service::{Peer, RequestHandle, ServiceError, ServiceRole},
};

use crate::OnDrop;

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
    let peer = peer.clone();
    let cancel = OnDrop::new(move || {
        tokio::spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    });
    let answer = answer.await;
    cancel.disarm();
    answer
}
