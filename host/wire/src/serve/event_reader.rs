//! Reader of a session's stream as events.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{self, Stream as Events};
use rmcp::{
    model::{ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::sync::watch;

use super::{
    events::{MessageStream, StreamMessage},
    session::{CHANGES_STREAM, HttpSession, State},
};

const RETRY_DELAY: Duration = Duration::from_secs(3);

fn lost_reply(request: RequestId) -> ServerJsonRpcMessage {
    let why = "the reply is no longer available: it expired, or the host restarted. Repeat the request.";
    ServerJsonRpcMessage::error(ErrorData::internal_error(why, None), Some(request))
}

/// A connection's position in a stream. The stream counts as read until this is dropped.
pub(super) struct EventReader {
    session: Arc<HttpSession>,
    stream: u64,
    next: u64,
    primes: bool,
    request: Option<RequestId>,
    /// Listener number, on the stream of changes.
    listener: Option<u64>,
    changes: watch::Receiver<()>,
}

enum NextEvent {
    Event(u64, StreamMessage),
    Nothing,
    End,
}

impl EventReader {
    pub(super) fn from_start(
        session: &Arc<HttpSession>,
        state: &mut State,
        stream: u64,
        primes: bool,
    ) -> Self {
        let mut follow = Self::from_number(session, state, stream, 1);
        follow.primes = primes;
        follow
    }

    pub(super) fn from_number(session: &Arc<HttpSession>, state: &mut State, stream: u64, next: u64) -> Self {
        let found = state.streams.get_mut(&stream);
        let (request, changes) = match found {
            Some(found) => {
                found.readers += 1;
                (found.request.clone(), found.changes())
            }
            // The stream has ended; the next read notices that.
            None => (None, watch::Sender::new(()).subscribe()),
        };
        Self { session: Arc::clone(session), stream, next, primes: false, request, listener: None, changes }
    }

    /// Reads changes from message `next`, or from the first that has not been sent.
    pub(super) fn changes(
        session: &Arc<HttpSession>,
        state: &mut State,
        next: Option<u64>,
        primes: bool,
    ) -> Self {
        state.last_listener += 1;
        let listener = state.last_listener;
        state.listeners.push(listener);
        if let Some(next) = next {
            state.untold = state.untold.min(next);
        }
        let next = state.untold;
        if let Some(stream) = state.streams.get(&CHANGES_STREAM) {
            stream.wake();
        }
        let mut follow = Self::from_number(session, state, CHANGES_STREAM, next);
        (follow.primes, follow.listener) = (primes, Some(listener));
        follow
    }

    pub(super) fn for_lost_reply(session: &Arc<HttpSession>, state: &mut State, request: RequestId) -> Self {
        let mut stream = MessageStream::new(Some(request.clone()), None, false);
        stream.push(Arc::new(lost_reply(request)));
        stream.over = true;
        let number = state.add(stream);
        Self::from_number(session, state, number, 1)
    }

    pub(super) fn events(self) -> impl Events<Item = ServerSseMessage> + Send + Sync + 'static {
        stream::unfold(self, |mut follow| async move { Some((follow.event().await?, follow)) })
    }

    async fn event(&mut self) -> Option<ServerSseMessage> {
        if std::mem::take(&mut self.primes) {
            let id = self.session.event_id(self.stream, self.next - 1, self.request.clone());
            return Some(ServerSseMessage::priming(id, RETRY_DELAY));
        }
        loop {
            self.changes.borrow_and_update();
            match self.next_event() {
                NextEvent::Event(number, message) => {
                    self.next = number + 1;
                    let mut event = ServerSseMessage::default();
                    event.event_id = Some(self.session.event_id(self.stream, number, self.request.clone()));
                    event.message = Some(message);
                    return Some(event);
                }
                NextEvent::End => return None,
                NextEvent::Nothing => self.changes.changed().await.ok()?,
            }
        }
    }

    fn next_event(&self) -> NextEvent {
        let mut state = self.session.state();
        let told = self.listener.is_none() || self.listener == state.listeners.last().copied();
        let next = if self.listener.is_some() { self.next.max(state.untold) } else { self.next };
        let Some(stream) = state.streams.get(&self.stream) else { return NextEvent::End };
        match stream.read(next).filter(|_| told) {
            Some((number, message)) => {
                if self.listener.is_some() {
                    state.untold = number + 1;
                }
                NextEvent::Event(number, message)
            }
            None if stream.over => NextEvent::End,
            None => NextEvent::Nothing,
        }
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.session.touch();
        let mut state = self.session.state();
        if let Some(listener) = self.listener {
            state.listeners.retain(|known| *known != listener);
        }
        let Some(stream) = state.streams.get_mut(&self.stream) else { return };
        stream.readers = stream.readers.saturating_sub(1);
        // Another listener may now receive changes.
        stream.wake();
        if stream.over && !stream.known && stream.readers == 0 {
            state.streams.remove(&self.stream);
        }
    }
}
