//! Reading a session's stream as events, from its start or from where a client broke off.

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

/// How soon a client may come back for the rest.
const RETRY_DELAY: Duration = Duration::from_secs(3);

/// An error in the place of a reply that is not there any more.
fn lost_reply(request: RequestId) -> ServerJsonRpcMessage {
    let why =
        "The reply is not here any more: the host was restarted, or kept it as long as it could. Call again.";
    ServerJsonRpcMessage::error(ErrorData::internal_error(why, None), Some(request))
}

/// One connection's way through a stream. The stream knows that it is read for as long as this lives.
pub(super) struct EventReader {
    session: Arc<HttpSession>,
    stream: u64,
    /// The number of the next message.
    next: u64,
    primes: bool,
    request: Option<RequestId>,
    /// Which listener it is, of those that follow the changes.
    listener: Option<u64>,
    changes: watch::Receiver<()>,
}

/// What there is to send.
enum NextEvent {
    Event(u64, StreamMessage),
    Nothing,
    End,
}

impl EventReader {
    /// From its first message on.
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

    /// From this message on.
    pub(super) fn from_number(session: &Arc<HttpSession>, state: &mut State, stream: u64, next: u64) -> Self {
        let found = state.streams.get_mut(&stream);
        let (request, changes) = match found {
            Some(found) => {
                found.readers += 1;
                (found.request.clone(), found.changes())
            }
            // It has ended, which reading it will find out.
            None => (None, watch::Sender::new(()).subscribe()),
        };
        Self { session: Arc::clone(session), stream, next, primes: false, request, listener: None, changes }
    }

    /// The stream of changes, from this one or from the first that nobody was told.
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

    /// A stream of its own that says that the reply to this request is lost.
    pub(super) fn for_lost_reply(session: &Arc<HttpSession>, state: &mut State, request: RequestId) -> Self {
        let mut stream = MessageStream::new(Some(request.clone()), None, false);
        stream.push(Arc::new(lost_reply(request)));
        stream.over = true;
        let number = state.add(stream);
        Self::from_number(session, state, number, 1)
    }

    /// The events, as the protocol library sends them.
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
        // Another listener may be the one that is told from now on.
        stream.wake();
        if stream.over && !stream.known && stream.readers == 0 {
            state.streams.remove(&self.stream);
        }
    }
}
