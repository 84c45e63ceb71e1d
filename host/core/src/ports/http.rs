//! Sending a gate's requests to the network. The rules come along with every request; a client that
//! implements [`HttpFetcher`] has no others.

use std::fmt;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{
    budget::{ByteBudget, ByteReservation},
    http::HttpRules,
    outcome::Fault,
};

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
pub enum RedirectMode {
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
    pub redirects: RedirectMode,
    /// When it has to be over.
    pub deadline: Instant,
    /// What the body of the answer is to fit in.
    pub budget: ByteBudget,
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
    /// What the body takes of the budget, for as long as somebody keeps it.
    pub reservation: ByteReservation,
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

/// The way to the network.
#[async_trait]
pub trait HttpFetcher: Send + Sync {
    /// Sends one request under these rules, hop by hop. Any status is an answer; a fault is `denied` where
    /// a rule forbids it, `unavailable` where the server cannot be reached, `timed-out` where it is too
    /// slow, `exhausted` where the answer is too large.
    async fn fetch(&self, rules: &HttpRules, request: HttpRequest) -> Result<HttpResponse, Fault>;
}
