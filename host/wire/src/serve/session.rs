//! One HTTP session. It forwards the client's messages to the handler, and puts each reply or notification on its
//! stream.
//!
//! A broken connection does not cancel calls: their messages wait on the stream.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, GetMeta, ProgressToken, ProtocolVersion, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    transport::streamable_http_server::SessionId,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    event_reader::EventReader,
    events::{EventId, MessageStream, ReplyStore},
    session_transport::SessionTransport,
    sessions::SessionRank,
};

/// Maximum client messages that wait for the handler.
const MAX_INBOX: usize = 16;

/// The stream for list and resource changes. Streams of requests have higher numbers.
pub(super) const CHANGES_STREAM: u64 = 0;

#[derive(Debug, thiserror::Error)]
#[error("session not found")]
pub(super) struct NoSession;

pub(super) struct HttpSession {
    pub(super) id: SessionId,
    /// True if the session was evicted, or opened before a restart, and then restored.
    pub(super) restored: bool,
    epoch: u32,
    kept: Arc<ReplyStore>,
    state: Mutex<State>,
}

pub(super) struct State {
    /// Channel to the handler. `None` after the session ends.
    inbox: Option<mpsc::Sender<ClientJsonRpcMessage>>,
    /// Receives the reply to `initialize`.
    opening: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    version: ProtocolVersion,
    initialized: bool,
    used: Instant,
    pub(super) streams: BTreeMap<u64, MessageStream>,
    last_stream: u64,
    pub(super) requests: HashMap<RequestId, u64>,
    pub(super) tokens: HashMap<ProgressToken, u64>,
    /// Open listeners for changes. Only the last one receives them.
    pub(super) listeners: Vec<u64>,
    pub(super) last_listener: u64,
    /// Number of the next change that has not been sent.
    pub(super) untold: u64,
}

impl State {
    pub(super) fn add(&mut self, stream: MessageStream) -> u64 {
        self.last_stream += 1;
        self.streams.insert(self.last_stream, stream);
        self.last_stream
    }
}

impl HttpSession {
    /// Creates a session and its transport. `restored` is the protocol version of a restored session, which counts as
    /// initialized.
    pub(super) fn new(
        id: SessionId,
        kept: Arc<ReplyStore>,
        restored: Option<ProtocolVersion>,
    ) -> (Arc<Self>, SessionTransport) {
        let (inbox, receiver) = mpsc::channel(MAX_INBOX);
        let state = State {
            inbox: Some(inbox),
            opening: None,
            initialized: restored.is_some(),
            used: Instant::now(),
            streams: BTreeMap::from([(CHANGES_STREAM, MessageStream::new(None, None, true))]),
            last_stream: CHANGES_STREAM,
            requests: HashMap::new(),
            tokens: HashMap::new(),
            listeners: Vec::new(),
            last_listener: 0,
            untold: 1,
            version: restored.clone().unwrap_or(ProtocolVersion::V_2025_03_26),
        };
        // Random, so that event IDs from an earlier session with this ID do not match.
        let epoch = RandomState::new().build_hasher().finish() as u32;
        let restored = restored.is_some();
        let session = Arc::new(Self { id, restored, epoch, kept, state: Mutex::new(state) });
        (Arc::clone(&session), SessionTransport { session, receiver })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        gatehouse_core::lock(&self.state)
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.state().version.clone()
    }

    pub(super) fn eviction_rank(&self) -> SessionRank {
        let state = self.state();
        SessionRank {
            runs: !state.requests.is_empty(),
            initialized: state.initialized,
            listens: !state.listeners.is_empty(),
            used: state.used,
        }
    }

    pub(super) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// True if streams start with an event that has an ID and no message. Clients before 2025-11-25 fail on it.
    pub(super) fn sends_priming_event(&self) -> bool {
        self.state().version >= ProtocolVersion::V_2025_11_25
    }

    pub(super) fn event_id(&self, stream: u64, number: u64, request: Option<RequestId>) -> String {
        EventId { epoch: self.epoch, stream, number, request }.to_string()
    }

    async fn forward_to_handler(&self, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        let inbox = self.state().inbox.clone().ok_or(NoSession)?;
        inbox.send(message).await.map_err(|_| NoSession)
    }

    pub(super) async fn initialize(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, NoSession> {
        let (opening, answer) = oneshot::channel();
        self.state().opening = Some(opening);
        self.forward_to_handler(message).await?;
        answer.await.map_err(|_| NoSession)
    }

    /// Forwards a request, and returns a reader of its reply stream.
    pub(super) async fn request(
        self: &Arc<Self>,
        message: ClientJsonRpcMessage,
    ) -> Result<EventReader, NoSession> {
        let ClientJsonRpcMessage::Request(request) = &message else { return Err(NoSession) };
        let (id, token) = (request.id.clone(), request.request.get_meta().get_progress_token());
        let primes = self.sends_priming_event();
        let follow = {
            let mut state = self.state();
            state.initialized = true;
            let number = state.add(MessageStream::new(Some(id.clone()), token.clone(), primes));
            state.requests.insert(id, number);
            state.tokens.extend(token.map(|token| (token, number)));
            EventReader::from_start(self, &mut state, number, primes)
        };
        self.forward_to_handler(message).await?;
        Ok(follow)
    }

    /// Forwards a notification or a response.
    pub(super) async fn accept(self: &Arc<Self>, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        if let ClientJsonRpcMessage::Notification(notification) = &message {
            match &notification.notification {
                ClientNotification::InitializedNotification(_) => self.state().initialized = true,
                // The handler does not reply to a cancelled request.
                ClientNotification::CancelledNotification(cancelled) => {
                    if let Some(id) = &cancelled.params.request_id {
                        self.end(id);
                    }
                }
                _ => {}
            }
        }
        self.forward_to_handler(message).await
    }

    /// Reads the stream of changes, from the first one that has not been sent.
    pub(super) fn listen(self: &Arc<Self>) -> EventReader {
        let primes = self.sends_priming_event();
        EventReader::changes(self, &mut self.state(), None, primes)
    }

    /// Resumes a stream after the given event. If its reply was dropped, the reader yields an error.
    pub(super) fn resume(self: &Arc<Self>, after: &EventId) -> EventReader {
        let mut state = self.state();
        let ours = after.epoch == self.epoch;
        match &after.request {
            None => EventReader::changes(self, &mut state, ours.then_some(after.number + 1), false),
            Some(request)
                if ours
                    && state
                        .streams
                        .get(&after.stream)
                        .is_some_and(|s| s.request.as_ref() == Some(request)) =>
            {
                EventReader::from_number(self, &mut state, after.stream, after.number + 1)
            }
            Some(request) => EventReader::for_lost_reply(self, &mut state, request.clone()),
        }
    }

    pub(super) fn deliver(self: &Arc<Self>, message: ServerJsonRpcMessage) {
        let mut state = self.state();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if answered.is_some()
            && let Some(opening) = state.opening.take()
        {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(result) = &response.result
            {
                state.version = result.protocol_version.clone();
            }
            let _ = opening.send(message);
            return;
        }
        let number = state.stream_of(&message);
        let untold = state.untold;
        let Some(stream) = number.and_then(|number| state.streams.get_mut(&number)) else { return };
        // One pending notification per list is enough.
        if number == Some(CHANGES_STREAM) && stream.next() > untold && stream.announces_list(untold, &message)
        {
            return;
        }
        stream.known |= answered.is_none();
        stream.push(Arc::new(message));
        drop(state);
        if let Some(id) = answered {
            self.end(&id);
        }
    }

    /// Ends the stream of a request after its last message.
    fn end(self: &Arc<Self>, request: &RequestId) {
        let mut state = self.state();
        state.used = Instant::now();
        let Some(number) = state.requests.remove(request) else { return };
        let Some(stream) = state.streams.get_mut(&number) else { return };
        stream.over = true;
        stream.wake();
        let (known, readers, token) = (stream.known, stream.readers, stream.token.take());
        let bytes = if known { stream.bytes() } else { 0 };
        if let Some(token) = token.filter(|token| state.tokens.get(token) == Some(&number)) {
            state.tokens.remove(&token);
        }
        if !known && readers == 0 {
            state.streams.remove(&number);
        }
        drop(state);
        if known {
            self.kept.keep(self, number, bytes, Instant::now());
        }
    }

    /// Drops a stored stream as soon as it has no readers.
    pub(super) fn forget(&self, number: u64) {
        let mut state = self.state();
        let Some(stream) = state.streams.get_mut(&number) else { return };
        stream.known = false;
        if stream.readers == 0 {
            state.streams.remove(&number);
        }
    }

    /// Closes the session. The handler stops when its inbox closes.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.inbox = None;
        state.opening = None;
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        streams.values().for_each(MessageStream::wake);
    }
}
