//! Reader of a session's stream as events.

use std::{sync::Arc, task::Poll, time::Duration};

use futures_util::stream::{self, Stream as Events};
use rmcp::{
    model::{ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::sync::watch;

use super::{
    events::{MessageStream, StreamMessage},
    session::{CHANGES_STREAM, HttpSession, SessionState},
};

const RETRY_DELAY: Duration = Duration::from_secs(3);

fn lost_reply(request: RequestId) -> ServerJsonRpcMessage {
    let reason = "the reply is no longer available: it expired, or the host restarted. Repeat the request.";
    ServerJsonRpcMessage::error(ErrorData::internal_error(reason, None), Some(request))
}

/// A connection's position in a stream. The stream counts as read until this is dropped.
pub(crate) struct EventReader {
    session: Arc<HttpSession>,
    stream: u64,
    next: u64,
    pub(super) send_priming_event: bool,
    request: Option<RequestId>,
    /// Listener number, on the stream of changes.
    listener: Option<u64>,
    changes: watch::Receiver<()>,
}

impl EventReader {
    pub(crate) fn from_number(
        session: &Arc<HttpSession>,
        state: &mut SessionState,
        stream: u64,
        next: u64,
    ) -> Self {
        let message_stream = state.streams.get_mut(&stream);
        let (request, changes) = match message_stream {
            Some(message_stream) => {
                message_stream.readers += 1;
                (message_stream.request.clone(), message_stream.changes())
            }
            // The stream has ended; the next read notices that.
            None => (None, watch::Sender::new(()).subscribe()),
        };
        Self {
            session: Arc::clone(session),
            stream,
            next,
            send_priming_event: false,
            request,
            listener: None,
            changes,
        }
    }

    /// Reads changes from message `next`, or from the first that has not been sent.
    pub(crate) fn changes(
        session: &Arc<HttpSession>,
        state: &mut SessionState,
        next: Option<u64>,
        send_priming_event: bool,
    ) -> Self {
        state.last_listener += 1;
        let listener = state.last_listener;
        state.listeners.push(listener);
        if let Some(next) = next {
            state.next_unsent = state.next_unsent.min(next);
        }
        let next = state.next_unsent;
        if let Some(stream) = state.streams.get(&CHANGES_STREAM) {
            stream.notify_readers();
        }
        let mut reader = Self::from_number(session, state, CHANGES_STREAM, next);
        (reader.send_priming_event, reader.listener) = (send_priming_event, Some(listener));
        reader
    }

    pub(crate) fn for_lost_reply(
        session: &Arc<HttpSession>,
        state: &mut SessionState,
        request: RequestId,
    ) -> Self {
        let mut stream = MessageStream::new(Some(request.clone()), None, false);
        stream.push(Arc::new(lost_reply(request)));
        stream.finished = true;
        let number = state.add(stream);
        Self::from_number(session, state, number, 1)
    }

    pub(crate) fn stream(&self) -> u64 {
        self.stream
    }

    /// Waits until there is a message to read, or the stream ends.
    pub(crate) async fn wait_for_message(&mut self) {
        loop {
            self.changes.borrow_and_update();
            if self.next_event().is_ready() || self.changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Lets the client resume the stream, whose events it is going to read.
    pub(crate) fn open_to_client(&self) {
        let mut state = self.session.state();
        // Nothing would release an ended stream.
        if let Some(stream) = state.streams.get_mut(&self.stream).filter(|stream| !stream.finished) {
            stream.resumable |= self.send_priming_event;
        }
    }

    pub(crate) fn events(self) -> impl Events<Item = ServerSseMessage> + Send + Sync + 'static {
        stream::unfold(self, |mut reader| async move { Some((reader.event().await?, reader)) })
    }

    async fn event(&mut self) -> Option<ServerSseMessage> {
        if std::mem::take(&mut self.send_priming_event) {
            let id = self.session.event_id(self.stream, self.next - 1, self.request.clone());
            return Some(ServerSseMessage::priming(id, RETRY_DELAY));
        }
        loop {
            self.changes.borrow_and_update();
            match self.next_event() {
                Poll::Ready(Some((number, message))) => {
                    self.next = number + 1;
                    let mut event = ServerSseMessage::default();
                    event.event_id = Some(self.session.event_id(self.stream, number, self.request.clone()));
                    event.message = Some(message);
                    return Some(event);
                }
                Poll::Ready(None) => return None,
                Poll::Pending => self.changes.changed().await.ok()?,
            }
        }
    }

    /// Returns the next event. `None` at the end of the stream.
    fn next_event(&self) -> Poll<Option<(u64, StreamMessage)>> {
        let mut state = self.session.state();
        let is_active_listener = self.listener.is_none() || self.listener == state.listeners.last().copied();
        let next = if self.listener.is_some() { self.next.max(state.next_unsent) } else { self.next };
        let Some(stream) = state.streams.get(&self.stream) else { return Poll::Ready(None) };
        match stream.read(next).filter(|_| is_active_listener) {
            Some((number, message)) => {
                if self.listener.is_some() {
                    state.next_unsent = number + 1;
                }
                Poll::Ready(Some((number, message)))
            }
            None if stream.finished => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.session.touch();
        let mut state = self.session.state();
        if let Some(listener) = self.listener {
            state.listeners.retain(|id| *id != listener);
        }
        let Some(stream) = state.streams.get_mut(&self.stream) else { return };
        stream.readers = stream.readers.saturating_sub(1);
        // Another listener may now receive changes.
        stream.notify_readers();
        if stream.finished && !stream.resumable && stream.readers == 0 {
            state.streams.remove(&self.stream);
        }
    }
}
