//! Transport of a client that may connect before its preset is composed. The handshake is answered soon, because clients
//! have short timeouts and gates can take long to compile. Other requests wait. Unanswered requests are recorded.

use std::{collections::VecDeque, future::pending, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::InFlightRequests;
use crate::peer_requests::answered_request;

/// Maximum wait of the first request for the preset. If it is ready by then, the reply describes it completely.
const MAX_PRESET_WAIT: Duration = Duration::from_secs(1);

/// Maximum queued messages. More are not read until these are forwarded.
const MAX_HELD_MESSAGES: usize = 64;

pub(crate) struct StartupTransport<T> {
    transport: T,
    in_flight: Arc<InFlightRequests>,
    /// Cancelled once the preset is composed.
    composed: CancellationToken,
    held: VecDeque<RxJsonRpcMessage<RoleServer>>,
    answer_at: Instant,
    ended: bool,
}

impl<T> StartupTransport<T> {
    pub(crate) fn new(transport: T, in_flight: Arc<InFlightRequests>, composed: CancellationToken) -> Self {
        let (held, answer_at) = (VecDeque::new(), Instant::now());
        Self { transport, in_flight, composed, held, answer_at, ended: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for StartupTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = answered_request(&message).cloned();
        let (sending, in_flight) = (self.transport.send(message), Arc::clone(&self.in_flight));
        async move {
            let sent = sending.await;
            in_flight.remove(answered.as_ref());
            sent
        }
    }

    /// Cancel-safe: messages stay queued until they are returned.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while !self.composed.is_cancelled() {
            if self.ended && self.held.is_empty() {
                return None;
            }
            let opens = self.held.front().is_some_and(is_opening_request);
            let (answer_at, room) = (self.answer_at, !self.ended && self.held.len() < MAX_HELD_MESSAGES);
            let patience = async { if opens { sleep_until(answer_at).await } else { pending().await } };
            tokio::select! {
                biased;
                () = self.composed.cancelled() => {}
                message = self.in_flight.receive(&mut self.transport), if room => match message {
                    Some(message) if is_ping(&message) => return Some(message),
                    Some(JsonRpcMessage::Notification(told)) if self.held.is_empty() => {
                        return Some(JsonRpcMessage::Notification(told));
                    }
                    Some(message) => {
                        if self.held.is_empty() {
                            self.answer_at = Instant::now() + MAX_PRESET_WAIT;
                        }
                        self.held.push_back(message);
                    }
                    None => self.ended = true,
                },
                () = patience => return self.held.pop_front(),
            }
        }
        match self.held.pop_front() {
            Some(message) => Some(message),
            None if self.ended => None,
            None => self.in_flight.receive(&mut self.transport).await,
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}

/// True for requests that describe the server and do not use the preset.
fn is_opening_request(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(asked) = message else { return false };
    matches!(asked.request, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_))
}

fn is_ping(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(asked) = message else { return false };
    matches!(asked.request, ClientRequest::PingRequest(_))
}

#[cfg(test)]
mod tests;
