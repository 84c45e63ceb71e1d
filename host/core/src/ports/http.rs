//! HTTP requests of gates. Each request carries its rules; an [`HttpFetcher`] has no others.

use std::fmt;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{
    Fault, Principal,
    budget::{ByteBudget, ByteReservation},
    http::HttpRules,
};

/// Maximum bytes of a request body.
pub const MAX_REQUEST_BODY: usize = 4 << 20;

/// Maximum bytes of request headers, names and values together.
pub const MAX_REQUEST_HEADERS: usize = 64 << 10;

/// Maximum bytes of a response body: half of what can be copied to a guest in one call.
pub const MAX_RESPONSE_BODY: usize = 8 << 20;

/// Maximum bytes of response headers, names and values together.
pub const MAX_RESPONSE_HEADERS: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectMode {
    /// Follow them, checking each hop against the rules.
    Follow,
    /// Return them to the gate, which can send a new request.
    Return,
}

/// A request of a gate. Method, URL and headers are unchecked.
#[derive(Clone)]
pub struct HttpRequest {
    /// Principal whose call sends the request. Concurrent requests are shared fairly among principals.
    pub principal: Principal,
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Option<Vec<u8>>,
    pub redirects: RedirectMode,
    pub deadline: Instant,
    /// Budget for the response body.
    pub budget: ByteBudget,
}

/// A response, with the secrets of the rules redacted.
pub struct HttpResponse {
    /// 100 to 999.
    pub status: u16,
    /// The final URL, after redirects.
    pub url: String,
    /// Lower-case names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// Budget reserved for the body. Drop it with the body.
    pub reservation: ByteReservation,
}

impl fmt::Debug for HttpRequest {
    /// Omits URL, headers and body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

#[async_trait]
pub trait HttpFetcher: Send + Sync {
    /// Sends a request and follows redirects under `rules`. Any status is a success.
    ///
    /// # Errors
    ///
    /// `denied` if a rule forbids it, `unavailable` if the server is unreachable, `timed-out` after the deadline, and
    /// `exhausted` if the response is too large.
    async fn fetch(&self, rules: &HttpRules, request: HttpRequest) -> Result<HttpResponse, Fault>;
}
