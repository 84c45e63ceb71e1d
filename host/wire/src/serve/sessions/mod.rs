//! HTTP sessions of one preset.
//!
//! A session holds only streams, and its ID contains all that is needed to restore it. So sessions that were evicted,
//! or that predate a restart, continue with the client's next request. IDs are sealed for the principal that opened the
//! session: for everybody else they are unknown.
//!
//! Longer than 300 lines because the table of sessions and its use by rmcp share private fields.

mod event_reader;
pub(crate) mod events;
pub(crate) mod reply_store;
mod session;
pub(crate) mod wire_id;

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::{Duration, Instant},
};

use futures_util::Stream;
use gatehouse_core::Principal;
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, InitializeRequestParams, ServerJsonRpcMessage},
    service::serve_directly_with_ct,
    transport::{
        TransportAdapterIdentity,
        common::server_side_http::session_id,
        streamable_http_server::{SessionId, SessionManager, session::ServerSseMessage},
    },
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    event_reader::EventReader,
    session::{HttpSession, NoSession},
};
use self::{events::EventId, reply_store::ReplyStore, session::SessionTransport, wire_id::WireId};
use crate::serve::{handler::Handler, seal::SealKeys};

/// Request that rmcp answers on this task. It does not pass requests on to session managers.
struct CurrentRequest {
    /// Principal that owns the sessions which the request opens or restores.
    owner: Principal,
    /// Stream of the request, if it runs already.
    begun: RefCell<Option<EventReader>>,
}

tokio::task_local! {
    static CURRENT: CurrentRequest;
}

/// Answers a request of a principal with rmcp. `begun` is its stream if it runs already.
pub(crate) async fn with_owner<T>(
    owner: Principal,
    begun: Option<EventReader>,
    answer: impl Future<Output = T>,
) -> T {
    CURRENT.scope(CurrentRequest { owner, begun: RefCell::new(begun) }, answer).await
}

fn owner() -> Principal {
    CURRENT.try_with(|request| request.owner.clone()).unwrap_or_default()
}

/// Maximum sessions per preset. Of the principal with the most sessions, the one with the lowest rank is evicted.
const MAX_SESSIONS: usize = 1_000;

/// Maximum idle time. Idle sessions take little memory, and users take breaks.
const MAX_IDLE: Duration = Duration::from_secs(12 * 3600);

/// Maximum idle time before the client sends `initialized`.
const MAX_UNINITIALIZED: Duration = Duration::from_secs(60);

const SWEEP_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum IDs to remember of sessions that their clients ended, so that these are not restored.
const MAX_ENDED_IDS: usize = 1_000;

/// Eviction order of sessions; the lowest is evicted first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionRank {
    pub(crate) runs: bool,
    pub(crate) initialized: bool,
    pub(crate) listens: bool,
    pub(crate) used: Instant,
}

impl SessionRank {
    fn is_over(&self, now: Instant) -> bool {
        let idle = now.saturating_duration_since(self.used);
        let rest = if self.initialized { MAX_IDLE } else { MAX_UNINITIALIZED };
        !self.runs && !self.listens && idle > rest
    }
}

pub(crate) struct Sessions {
    open: Mutex<SessionTable>,
    /// Prototype of the handlers of restored sessions.
    handler: Handler,
    replies: Arc<ReplyStore>,
    seal: Arc<SealKeys>,
    end: CancellationToken,
    me: Weak<Self>,
}

#[derive(Default)]
struct SessionTable {
    sessions: HashMap<SessionId, Arc<HttpSession>>,
    ended: VecDeque<SessionId>,
}

impl SessionTable {
    /// Removes and returns a session if the table is full: the lowest-ranked of the principal with the most sessions, so
    /// that no caller can end the sessions of others by opening many.
    fn make_room(&mut self) -> Option<Arc<HttpSession>> {
        if self.sessions.len() < MAX_SESSIONS {
            return None;
        }
        let mut counts: HashMap<&Principal, usize> = HashMap::new();
        for session in self.sessions.values() {
            *counts.entry(&session.owner).or_default() += 1;
        }
        let max_count = counts.values().copied().max()?;
        let of_largest = self.sessions.values().filter(|session| counts[&session.owner] == max_count);
        let least = of_largest.min_by_key(|session| session.eviction_rank())?.id.clone();
        self.sessions.remove(&least)
    }

    /// Returns a session that belongs to this principal, and counts that as use.
    fn owned(&self, id: &str, owner: &Principal) -> Option<Arc<HttpSession>> {
        let session = self.sessions.get(id).filter(|session| session.owner == *owner)?;
        session.touch();
        Some(Arc::clone(session))
    }

    fn has_ended(&self, id: &str) -> bool {
        self.ended.iter().any(|ended| **ended == *id)
    }

    fn take_expired(&mut self, now: Instant) -> Vec<Arc<HttpSession>> {
        let resting = |_: &SessionId, session: &mut Arc<HttpSession>| session.eviction_rank().is_over(now);
        self.sessions.extract_if(resting).map(|(_, session)| session).collect()
    }
}

impl Sessions {
    /// Creates the table. Cancelling `end` closes every session; `replies` is shared by all presets.
    pub(crate) fn new(
        handler: Handler,
        replies: Arc<ReplyStore>,
        seal: Arc<SealKeys>,
        end: CancellationToken,
    ) -> Arc<Self> {
        let sessions = Arc::new_cyclic(|me| Self {
            open: Mutex::default(),
            handler,
            replies,
            seal,
            end,
            me: me.clone(),
        });
        tokio::spawn(sweep(Arc::downgrade(&sessions)));
        sessions
    }

    fn open(&self) -> MutexGuard<'_, SessionTable> {
        gatehouse_core::lock(&self.open)
    }

    /// Returns the ID to send to the client that opened this session.
    pub(crate) fn sealed_id(&self, id: &str, owner: &Principal) -> Option<String> {
        let session = self.open().owned(id, owner)?;
        self.seal.seal(&session.wire_id()?, owner)
    }

    /// Opens an ID that a client sent. `None` if it was not sealed for this principal, or its session has ended.
    pub(crate) fn open_id(&self, sealed: &str, owner: &Principal) -> Option<String> {
        let id = self.seal.open(sealed, owner)?;
        let is_known = WireId::parse(&id).is_some_and(|wire| !self.open().has_ended(wire.id));
        is_known.then_some(id)
    }

    /// Returns the session with this ID. Restores it if necessary.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<HttpSession>, NoSession> {
        let (owner, wire) = (owner(), WireId::parse(id).ok_or(NoSession)?);
        let open = self.open();
        if open.sessions.contains_key(wire.id) {
            return open.owned(wire.id, &owner).ok_or(NoSession);
        }
        if open.has_ended(wire.id) {
            return Err(NoSession);
        }
        let client = wire.client().ok_or(NoSession)?;
        let (session, transport) =
            HttpSession::new(wire.id.into(), owner, Arc::clone(&self.replies), Some(client.clone()));
        self.insert(open, &session);
        self.serve(Arc::clone(&session), transport, client);
        Ok(session)
    }

    fn insert(&self, mut open: MutexGuard<'_, SessionTable>, session: &Arc<HttpSession>) {
        let room = open.make_room();
        open.sessions.insert(session.id.clone(), Arc::clone(session));
        drop(open);
        self.release(room);
    }

    /// Returns the session with this ID if it is in memory and belongs to this principal.
    pub(crate) fn open_session(&self, id: &str, owner: &Principal) -> Option<Arc<HttpSession>> {
        self.open().owned(WireId::parse(id)?.id, owner)
    }

    fn serve(&self, session: Arc<HttpSession>, transport: SessionTransport, client: InitializeRequestParams) {
        let handler = self.handler.for_another_client();
        let running = serve_directly_with_ct::<RoleServer, _, _, io::Error, TransportAdapterIdentity>(
            handler,
            transport,
            Some(client),
            self.end.child_token(),
        );
        // The client does not send `initialized` again.
        let handler @ Handler { served, client, .. } = running.service();
        let (caller, peer) = (handler.caller(), running.peer().clone());
        session.attach(handler.clone(), peer.clone());
        served.clients.rejoin(Arc::clone(client), caller, peer, &served.catalog(caller));
        let me = self.me.clone();
        tokio::spawn(async move {
            let _ = running.waiting().await;
            if let Some(me) = me.upgrade() {
                let mut open = me.open();
                if open
                    .sessions
                    .get(&session.id)
                    .is_some_and(|open_session| Arc::ptr_eq(open_session, &session))
                {
                    open.sessions.remove(&session.id);
                }
            }
        });
    }

    fn release(&self, room: impl IntoIterator<Item = Arc<HttpSession>>) {
        for session in room {
            tracing::debug!(session = %session.id, "closed an expired or evicted session");
            session.close();
        }
    }
}

/// Removes expired sessions and replies until the table is dropped.
async fn sweep(sessions: Weak<Sessions>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let Some(sessions) = sessions.upgrade() else { return };
        let now = Instant::now();
        let resting = sessions.open().take_expired(now);
        sessions.release(resting);
        sessions.replies.sweep(now);
    }
}

impl SessionManager for Sessions {
    type Error = NoSession;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), NoSession> {
        let (session, transport) = HttpSession::new(session_id(), owner(), Arc::clone(&self.replies), None);
        self.insert(self.open(), &session);
        Ok((session.id.clone(), transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, NoSession> {
        let session = self.open().sessions.get(id).cloned().ok_or(NoSession)?;
        session.initialize(message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, NoSession> {
        Ok(self.find(id).is_ok())
    }

    /// rmcp calls this with the created ID when the handler ends, and with the wire ID when the client ends the
    /// session.
    async fn close_session(&self, id: &SessionId) -> Result<(), NoSession> {
        let wire = WireId::parse(id);
        let mut open = self.open();
        let session_id = wire.as_ref().map_or(&**id, |wire| wire.id);
        let created = |session: &Arc<HttpSession>| wire.is_some() || !session.restored;
        let session = open.sessions.get(session_id).filter(|session| created(session)).cloned();
        if let Some(session) = &session {
            open.sessions.remove(&session.id);
        }
        if let Some(wire) = wire {
            open.ended.truncate(MAX_ENDED_IDS - 1);
            open.ended.push_front(wire.id.into());
        }
        drop(open);
        if let Some(session) = session {
            session.close();
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        let reader = CURRENT.try_with(|request| request.begun.take());
        let reader = match reader.ok().flatten() {
            Some(reader) => reader,
            None => self.find(id)?.request(message).await?,
        };
        Ok(reader.events())
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        self.find(id)?.accept(message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        Ok(self.find(id)?.listen().events())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        let session = self.find(id)?;
        // Event IDs in another format come from older hosts, which only sent changes.
        let after = EventId::parse(&last_event_id);
        Ok(after.map_or_else(|| session.listen(), |after| session.resume(&after)).events())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_needed_session_is_evicted() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let eviction_rank =
            |runs, initialized, listens, used| SessionRank { runs, initialized, listens, used: at(used) };
        let order = [
            eviction_rank(false, false, false, 9),
            eviction_rank(false, true, false, 1),
            eviction_rank(false, true, false, 2),
            eviction_rank(false, true, true, 0),
            eviction_rank(true, true, false, 0),
        ];
        assert!(order.is_sorted());
        let (unready, rested) = (&order[0], &order[1]);
        assert!(!unready.is_over(at(69)) && unready.is_over(at(70)));
        assert!(!rested.is_over(at(12 * 3600)) && rested.is_over(at(12 * 3600 + 2)));
        assert!(order[3..].iter().all(|used| !used.is_over(at(1 << 20))), "active sessions do not expire");
    }
}
