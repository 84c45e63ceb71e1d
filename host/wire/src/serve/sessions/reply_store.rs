//! Replies that clients did not receive, for those that resume their streams.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use gatehouse_core::{Principal, lock};

use super::session::HttpSession;

/// Maximum total size of retained replies, in bytes.
const MAX_RETAINED_BYTES: usize = 32 << 20;

pub(crate) const REPLY_RETENTION: Duration = Duration::from_secs(5 * 60);

/// Finished streams of all sessions that clients may still resume. If there are too many, the oldest of the principal
/// with most bytes is dropped first.
#[derive(Default)]
pub(crate) struct ReplyStore(Mutex<EndedStreams>);

#[derive(Default)]
struct EndedStreams {
    bytes: usize,
    /// Bytes of each principal.
    owners: HashMap<Principal, usize>,
    streams: VecDeque<EndedStream>,
}

struct EndedStream {
    owner: Principal,
    session: Weak<HttpSession>,
    stream: u64,
    bytes: usize,
    since: Instant,
}

impl ReplyStore {
    /// Retains a finished stream. The caller must not hold the lock of the session state.
    pub(crate) fn retain(&self, session: &Arc<HttpSession>, stream: u64, bytes: usize, now: Instant) {
        let owner = session.owner.clone();
        let mut queue = lock(&self.0);
        queue.bytes += bytes;
        *queue.owners.entry(owner.clone()).or_default() += bytes;
        let ended = EndedStream { owner, session: Arc::downgrade(session), stream, bytes, since: now };
        queue.streams.push_back(ended);
        drop(queue);
        self.sweep(now);
    }

    /// Drops streams beyond the limits of age and size.
    pub(crate) fn sweep(&self, now: Instant) {
        loop {
            let Some(ended) = lock(&self.0).next_dropped(now) else { return };
            if let Some(session) = ended.session.upgrade() {
                session.release_stream(ended.stream);
            }
        }
    }
}

impl EndedStreams {
    /// Removes a stream beyond the limits. `None` if all are within them.
    fn next_dropped(&mut self, now: Instant) -> Option<EndedStream> {
        let old = |ended: &mut EndedStream| now.saturating_duration_since(ended.since) > REPLY_RETENTION;
        let mut dropped = self.streams.pop_front_if(old);
        if dropped.is_none() && self.bytes > MAX_RETAINED_BYTES {
            let largest = self.owners.iter().max_by_key(|(_, bytes)| **bytes)?.0;
            let oldest = self.streams.iter().position(|ended| ended.owner == *largest)?;
            dropped = self.streams.remove(oldest);
        }
        let ended = dropped?;
        self.bytes -= ended.bytes;
        if let Some(held) = self.owners.get_mut(&ended.owner) {
            *held -= ended.bytes;
            if *held == 0 {
                self.owners.remove(&ended.owner);
            }
        }
        Some(ended)
    }
}
