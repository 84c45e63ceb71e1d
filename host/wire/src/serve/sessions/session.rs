//! One HTTP session. It forwards the client's messages to the handler, and puts each reply or notification on its
//! stream.
//!
//! A broken connection does not cancel calls: their messages wait on the stream.
//!
//! Longer than 300 lines because the session, its state and its transport share private fields.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hasher, RandomState},
    io,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use futures_util::future::ready;
use gatehouse_core::Principal;
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, Extensions, GetExtensions, GetMeta,
        InitializeRequestParams, ProgressToken, ProtocolVersion, RequestId, ServerJsonRpcMessage,
        ServerNotification, ServerResult,
    },
    service::{OriginatingRequestId, Peer},
    transport::{Transport, streamable_http_server::SessionId},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    SessionRank,
    event_reader::EventReader,
    events::{EventId, MessageStream},
    reply_store::ReplyStore,
    wire_id::WireId,
};
use crate::{
    peer_requests::{answered_request, cancelled_request},
    serve::{handler::Handler, operation::record_session},
};

/// Maximum client messages that wait for the handler.
const MAX_INBOX: usize = 16;

/// The stream for list and resource changes. Streams of requests have higher numbers.
pub(crate) const CHANGES_STREAM: u64 = 0;

#[derive(Debug, thiserror::Error)]
#[error("session not found")]
pub(crate) struct NoSession;

pub(crate) struct HttpSession {
    pub(crate) id: SessionId,
    /// The only principal that may use the session.
    pub(crate) owner: Principal,
    /// True if the session was evicted, or opened before a restart, and then restored.
    pub(crate) restored: bool,
    opened: Instant,
    epoch: u32,
    replies: Arc<ReplyStore>,
    state: Mutex<SessionState>,
    /// Set once the client is initialized.
    handler: OnceLock<(Arc<Handler>, Peer<RoleServer>)>,
}

pub(crate) struct SessionState {
    /// Channel to the handler. `None` after the session ends.
    inbox: Option<mpsc::Sender<ClientJsonRpcMessage>>,
    /// Receives the reply to `initialize`.
    initialize_reply: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    /// Description that the client gave of itself. `None` before `initialize`.
    client: Option<InitializeRequestParams>,
    version: ProtocolVersion,
    initialized: bool,
    used: Instant,
    pub(crate) streams: BTreeMap<u64, MessageStream>,
    last_stream: u64,
    pub(crate) requests: HashMap<RequestId, u64>,
    pub(crate) tokens: HashMap<ProgressToken, u64>,
    /// Open listeners for changes. Only the last one receives them.
    pub(crate) listeners: Vec<u64>,
    pub(crate) last_listener: u64,
    /// Number of the next change that has not been sent.
    pub(crate) next_unsent: u64,
}

impl SessionState {
    pub(crate) fn add(&mut self, stream: MessageStream) -> u64 {
        self.last_stream += 1;
        self.streams.insert(self.last_stream, stream);
        self.last_stream
    }

    /// Removes what leads to an ended stream. A later request may have the same ID or token.
    fn forget(&mut self, request: Option<&RequestId>, token: Option<ProgressToken>, stream: u64) {
        if let Some(request) = request.filter(|request| self.requests.get(request) == Some(&stream)) {
            self.requests.remove(request);
        }
        if let Some(token) = token.filter(|token| self.tokens.get(token) == Some(&stream)) {
            self.tokens.remove(&token);
        }
    }

    /// Returns the stream for a message: that of its request, else the stream of changes. `None` if its request is
    /// over.
    fn stream_of(&self, message: &ServerJsonRpcMessage) -> Option<u64> {
        match message {
            ServerJsonRpcMessage::Response(response) => self.requests.get(&response.id).copied(),
            ServerJsonRpcMessage::Error(error) => match &error.id {
                Some(id) => self.requests.get(id).copied(),
                None => Some(CHANGES_STREAM),
            },
            ServerJsonRpcMessage::Notification(message) => Some(match &message.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.tokens.get(&progress.params.progress_token).copied().unwrap_or(CHANGES_STREAM)
                }
                notification => self.related_stream(notification.extensions()),
            }),
            ServerJsonRpcMessage::Request(message) => Some(self.related_stream(message.request.extensions())),
        }
    }

    fn related_stream(&self, extensions: &Extensions) -> u64 {
        let request = extensions.get::<OriginatingRequestId>();
        request.and_then(|request| self.requests.get(&request.0)).copied().unwrap_or(CHANGES_STREAM)
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        record_session(&self.state().version, self.opened.elapsed());
    }
}

impl HttpSession {
    /// Creates a session and its transport. `restored` is the client of a restored session, which counts as
    /// initialized.
    pub(crate) fn new(
        id: SessionId,
        owner: Principal,
        replies: Arc<ReplyStore>,
        restored: Option<InitializeRequestParams>,
    ) -> (Arc<Self>, SessionTransport) {
        let (inbox, receiver) = mpsc::channel(MAX_INBOX);
        let state = SessionState {
            inbox: Some(inbox),
            initialize_reply: None,
            initialized: restored.is_some(),
            used: Instant::now(),
            streams: BTreeMap::from([(CHANGES_STREAM, MessageStream::new(None, None, true))]),
            last_stream: CHANGES_STREAM,
            requests: HashMap::new(),
            tokens: HashMap::new(),
            listeners: Vec::new(),
            last_listener: 0,
            next_unsent: 1,
            version: restored
                .as_ref()
                .map_or(ProtocolVersion::V_2025_03_26, |client| client.protocol_version.clone()),
            client: restored.clone(),
        };
        // Random, so that event IDs from an earlier session with this ID do not match.
        let epoch = RandomState::new().build_hasher().finish() as u32;
        let restored = restored.is_some();
        let (state, handler) = (Mutex::new(state), OnceLock::new());
        let opened = Instant::now();
        let session = Arc::new(Self { id, owner, restored, opened, epoch, replies, state, handler });
        (Arc::clone(&session), SessionTransport { session, receiver })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SessionState> {
        gatehouse_core::lock(&self.state)
    }

    /// Returns the text from which the session can be restored. `None` before `initialize`.
    pub(crate) fn wire_id(&self) -> Option<String> {
        let state = self.state();
        WireId::text(&self.id, state.client.as_ref()?, &state.version)
    }

    pub(crate) fn eviction_rank(&self) -> SessionRank {
        let state = self.state();
        SessionRank {
            runs: !state.requests.is_empty(),
            initialized: state.initialized,
            listens: !state.listeners.is_empty(),
            used: state.used,
        }
    }

    /// Returns how long no connection has read from this session. `None` while one does.
    pub(crate) fn time_disconnected(&self) -> Option<Duration> {
        let state = self.state();
        let is_read = state.streams.values().any(|stream| stream.readers > 0);
        (!is_read).then(|| state.used.elapsed())
    }

    pub(crate) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Lets requests of the session run on this handler directly.
    pub(in crate::serve) fn attach(self: &Arc<Self>, handler: Handler, peer: Peer<RoleServer>) {
        let _ = handler.client.session.set(Arc::downgrade(self));
        // A client may send `initialized` again.
        let _ = self.handler.set((Arc::new(handler), peer));
    }

    /// Returns the handler of this session, and its client. `None` before the client is initialized.
    pub(in crate::serve) fn handler(&self) -> Option<(Arc<Handler>, Peer<RoleServer>)> {
        self.handler.get().cloned()
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        self.state().version.clone()
    }

    /// True if streams start with an event that has an ID and no message. Clients before 2025-11-25 fail on it.
    pub(crate) fn sends_priming_event(&self) -> bool {
        self.state().version >= ProtocolVersion::V_2025_11_25
    }

    pub(crate) fn event_id(&self, stream: u64, number: u64, request: Option<RequestId>) -> String {
        EventId { epoch: self.epoch, stream, number, request }.to_string()
    }

    async fn forward_to_handler(&self, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        let inbox = self.state().inbox.clone().ok_or(NoSession)?;
        inbox.send(message).await.map_err(|_| NoSession)
    }

    pub(crate) async fn initialize(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, NoSession> {
        let (initialize_reply, answer) = oneshot::channel();
        {
            let mut state = self.state();
            state.initialize_reply = Some(initialize_reply);
            if let ClientJsonRpcMessage::Request(request) = &message
                && let ClientRequest::InitializeRequest(request) = &request.request
            {
                state.client = Some(request.params.clone());
            }
        }
        self.forward_to_handler(message).await?;
        answer.await.map_err(|_| NoSession)
    }

    /// Forwards a request, and returns a reader of its reply stream.
    pub(crate) async fn request(
        self: &Arc<Self>,
        message: ClientJsonRpcMessage,
    ) -> Result<EventReader, NoSession> {
        let ClientJsonRpcMessage::Request(request) = &message else { return Err(NoSession) };
        let (id, token) = (request.id.clone(), request.request.get_meta().get_progress_token());
        let resumable = self.sends_priming_event();
        let reader = self.open_stream(id.clone(), MessageStream::new(Some(id), token, resumable))?;
        self.forward_to_handler(message).await?;
        Ok(reader)
    }

    /// Begins a request that runs outside of the handler's loop, and returns a reader of its stream. The client cannot
    /// resume the stream until it is [opened](EventReader::open_to_client).
    pub(crate) fn begin_call(
        self: &Arc<Self>,
        id: RequestId,
        token: Option<ProgressToken>,
        cancel: CancellationToken,
    ) -> Result<EventReader, NoSession> {
        let mut stream = MessageStream::new(Some(id.clone()), token, false);
        stream.cancel = Some(cancel.drop_guard());
        self.open_stream(id, stream)
    }

    fn open_stream(self: &Arc<Self>, id: RequestId, stream: MessageStream) -> Result<EventReader, NoSession> {
        let send_priming_event = self.sends_priming_event();
        let mut state = self.state();
        if state.inbox.is_none() {
            return Err(NoSession);
        }
        state.initialized = true;
        let token = stream.token.clone();
        let number = state.add(stream);
        state.requests.insert(id, number);
        state.tokens.extend(token.map(|token| (token, number)));
        let mut reader = EventReader::from_number(self, &mut state, number, 1);
        reader.send_priming_event = send_priming_event;
        Ok(reader)
    }

    pub(crate) async fn accept(self: &Arc<Self>, mut message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        if let ClientJsonRpcMessage::Notification(notification) = &mut message
            && matches!(notification.notification, ClientNotification::InitializedNotification(_))
        {
            self.state().initialized = true;
            // For the handler of the notification.
            notification.notification.extensions_mut().insert(Arc::downgrade(self));
        }
        // The handler does not reply to a cancelled request.
        if let Some(id) = cancelled_request(&message) {
            self.finish_request(id);
        }
        self.forward_to_handler(message).await
    }

    /// Reads the stream of changes, from the first one that has not been sent.
    pub(crate) fn listen(self: &Arc<Self>) -> EventReader {
        let send_priming_event = self.sends_priming_event();
        EventReader::changes(self, &mut self.state(), None, send_priming_event)
    }

    /// Resumes a stream after the given event. If its reply was dropped, the reader yields an error.
    pub(crate) fn resume(self: &Arc<Self>, after: &EventId) -> EventReader {
        let mut state = self.state();
        let ours = after.epoch == self.epoch;
        let is_of_request = |stream: &MessageStream| stream.request == after.request;
        match &after.request {
            None => {
                EventReader::changes(self, &mut state, ours.then_some(after.number.saturating_add(1)), false)
            }
            Some(_) if ours && state.streams.get(&after.stream).is_some_and(is_of_request) => {
                EventReader::from_number(self, &mut state, after.stream, after.number.saturating_add(1))
            }
            Some(request) => EventReader::for_lost_reply(self, &mut state, request.clone()),
        }
    }

    pub(crate) fn deliver(self: &Arc<Self>, message: ServerJsonRpcMessage) {
        let mut state = self.state();
        let answered = answered_request(&message).cloned();
        if answered.is_some()
            && let Some(initialize_reply) = state.initialize_reply.take()
        {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(result) = &response.result
            {
                state.version = result.protocol_version.clone();
            }
            let _ = initialize_reply.send(message);
            return;
        }
        let number = state.stream_of(&message);
        let next_unsent = state.next_unsent;
        let Some(stream) = number.and_then(|number| state.streams.get_mut(&number)) else { return };
        // One pending notification per list or resource is enough.
        if number == Some(CHANGES_STREAM) && stream.announces_change(next_unsent, &message) {
            return;
        }
        stream.resumable |= answered.is_none();
        stream.push(Arc::new(message));
        drop(state);
        if let Some(id) = answered {
            self.finish_request(&id);
        }
    }

    /// Puts the reply of a call on its stream, and ends that. Another request may have the same ID by now.
    pub(crate) fn deliver_reply(self: &Arc<Self>, number: u64, reply: ServerJsonRpcMessage) {
        let mut state = self.state();
        let Some(stream) = state.streams.get_mut(&number).filter(|stream| !stream.finished) else { return };
        stream.push(Arc::new(reply));
        drop(state);
        self.finish_stream(number);
    }

    /// Ends the stream of a request after its last message.
    fn finish_request(self: &Arc<Self>, request: &RequestId) {
        let number = self.state().requests.get(request).copied();
        if let Some(number) = number {
            self.finish_stream(number);
        }
    }

    fn finish_stream(self: &Arc<Self>, number: u64) {
        let mut state = self.state();
        state.used = Instant::now();
        let Some(stream) = state.streams.get_mut(&number) else { return };
        stream.finished = true;
        stream.notify_readers();
        let (resumable, readers, token) = (stream.resumable, stream.readers, stream.token.take());
        let (request, cancel) = (stream.request.clone(), stream.cancel.take());
        let bytes = if resumable { stream.bytes() } else { 0 };
        state.forget(request.as_ref(), token, number);
        if !resumable && readers == 0 {
            state.streams.remove(&number);
        }
        drop(state);
        // Stops the background work of the call, too.
        drop(cancel);
        if resumable {
            self.replies.retain(self, number, bytes, Instant::now());
        }
    }

    /// Ends a request whose reply is sent without a stream. Returns false if the stream has messages, or has ended.
    pub(crate) fn end_silent_call(&self, id: &RequestId, number: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        if !state.streams.get(&number).is_some_and(MessageStream::is_silent) {
            return false;
        }
        let mut stream = state.streams.remove(&number);
        let token = stream.as_mut().and_then(|stream| stream.token.take());
        state.forget(Some(id), token, number);
        drop(state);
        drop(stream);
        true
    }

    /// Drops a stored stream as soon as it has no readers.
    pub(crate) fn release_stream(&self, number: u64) {
        let mut state = self.state();
        let Some(stream) = state.streams.get_mut(&number) else { return };
        stream.resumable = false;
        if stream.readers == 0 {
            state.streams.remove(&number);
        }
    }

    /// Closes the session. The handler stops when its inbox closes.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.inbox = None;
        state.initialize_reply = None;
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        streams.values().for_each(MessageStream::notify_readers);
    }
}

/// The handler's transport of a session.
pub(crate) struct SessionTransport {
    session: Arc<HttpSession>,
    receiver: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.session.deliver(message);
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.receiver.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.close();
        Ok(())
    }
}
