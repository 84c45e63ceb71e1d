//! Outbound networking: HTTP clients, TLS, bounded bodies, error descriptions and backoff.
//!
//! Only this crate depends on the HTTP client and the TLS library. Callers decide which addresses are allowed, which
//! data is sent, and how answers are used.

mod backoff;
mod http;
mod tls;

pub use backoff::{Backoff, CircuitBreaker};
pub use http::{
    BodyError, HttpClients, exchange, http_cause, plain_cause, read_body, read_body_while, root_cause,
};
pub use reqwest::{
    Body, Client, ClientBuilder, Error, Method, Request, RequestBuilder, Response, StatusCode, Url, dns,
    header,
};
pub use tls::{TrustRoots, install_crypto, random_bytes, tls_config};
