//! Sending a gate's requests to the network. The rules come along with every request; a client that
//! implements [`Http`] has no others.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{http::Rules, outcome::Fault};

/// The most bytes of a request's body.
pub const MAX_REQUEST_BODY: usize = 4 << 20;

/// The most bytes of a request's headers, names and values together.
pub const MAX_REQUEST_HEADERS: usize = 64 << 10;

/// The most bytes of a response's body: half of what may be copied to a guest at once.
pub const MAX_RESPONSE_BODY: usize = 8 << 20;

/// The most bytes of a response's headers, names and values together.
pub const MAX_RESPONSE_HEADERS: usize = 64 << 10;

/// What is done about a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Followed, each hop under the same rules.
    Follow,
    /// Given back as it is; who follows it sends a new request.
    Return,
}

/// One request of a gate.
#[derive(Clone)]
pub struct HttpRequest {
    /// GET, POST, …, not checked yet.
    pub method: String,
    /// Absolute, not checked yet.
    pub url: String,
    /// Name and value of each line, not checked yet.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// What is done about a redirect.
    pub redirects: Redirects,
    /// When it has to be over.
    pub deadline: Instant,
    /// Where the body of the answer is to fit in.
    pub room: Room,
}

/// What came back, without the secrets of the rules.
pub struct HttpResponse {
    /// 100 to 999.
    pub status: u16,
    /// Where it came from.
    pub url: String,
    /// Name, in lower case, and value of each line.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, whole.
    pub body: Vec<u8>,
    /// The room that the body takes up, for as long as somebody keeps it.
    pub held: Held,
}

impl fmt::Debug for HttpRequest {
    /// Shows neither headers nor body: they are not for the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpResponse {
    /// Shows neither headers nor body: they are not for the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Bytes that the answers of one call may take up at the same time.
#[derive(Debug, Clone)]
pub struct Room(Arc<AtomicUsize>);

/// A part of the room, given back when it is dropped.
#[derive(Debug)]
pub struct Held {
    room: Room,
    bytes: usize,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Begins to take room, with nothing.
    pub fn hold(&self) -> Held {
        Held { room: self.clone(), bytes: 0 }
    }
}

impl Held {
    /// Takes so many bytes more, or none where there is too little room.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self.room.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if taken {
            self.bytes += bytes;
        }
        taken
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// The way to the network.
#[async_trait]
pub trait Http: Send + Sync {
    /// Sends one request under these rules, hop by hop. Any status is an answer; a fault is `denied` where
    /// a rule forbids it, `unavailable` where the server cannot be reached, `timed-out` where it is too
    /// slow, `exhausted` where the answer is too large.
    async fn fetch(&self, rules: &Rules, request: HttpRequest) -> Result<HttpResponse, Fault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back_with_what_took_it() {
        let room = Room::new(10);
        let (mut one, mut other) = (room.hold(), room.hold());
        assert!(one.take(6) && !other.take(6) && other.take(4));
        drop(one);
        assert!(other.take(6) && !other.take(1));
    }
}
